"""START: arms at one seed start from the same model and the same first batch."""

from __future__ import annotations

from collections.abc import Iterator

from audit.facts.starts import INITIAL_PARAMETERS, PairedStart
from audit.finding import INFO, WARNING
from audit.pointer import join
from audit.rules.case import Case
from audit.rules.check import CheckResult, Failed, Passed, Unchecked
from audit.rules.protocol_rules import START_FIELDS
from audit.rules.rule import rule


@rule(
    "START001",
    "arms-start-alike",
    WARNING,
    each=Case,
    missing="no two arms have a training log at one seed",
)
def arms_start_alike(case: Case) -> Iterator[CheckResult]:
    """Two arms at one seed do not start from the same first batch.

    Until the first optimizer step both arms are the same model with the same random numbers. Row,
    rewards, advantages, loss and gradient of step 1 must agree, and the log ratios after it.

    Why
        Only then do seeds pair the arms; otherwise a difference at one seed is a difference between
        two independent runs.
    Fix
        Set every seed right before model and trainer are built, and evaluate outside that
        stream of random numbers. Without that, compare the arms unpaired.
    Bad
        seed 42: "rewards": [0, 1, 0, 1] in one arm and [0, 0, 1, 1] in the other at step 1
    Good
        seed 42: step 1 has the same row, rewards, loss and gradient in both arms
    """
    mechanism = case.results.block("change").get("mechanism")
    if mechanism not in (None, "clip"):
        yield Unchecked(f"the arms may differ from the start: the change is of kind {mechanism}")
        return
    seen = [start for start in case.starts if start.logged]
    for start in case.starts:
        if not start.logged:
            yield Unchecked("no step 1 to compare with the top arm's", start.other.pointer)
        elif start.differences:
            yield _differs(start)
        else:
            yield Passed()
    if seen and not any(start.differences for start in seen):
        message = (
            f"arms at one seed start alike ({len(seen)} of {len(seen)} seeds): seeds pair the arms"
        )
        yield Failed("", message, severity=INFO)


def _differs(start: PairedStart) -> Failed:
    first, *others = start.differences
    more = f", and {len(others)} more of step 1" if others else ""
    message = f"not the start of {start.top.arm} at seed {start.top.seed}{more}"
    return Failed(first.pointer, message, first.expected, first.actual)


@rule(
    "START002",
    "initial-parameters",
    WARNING,
    each=PairedStart,
    needs=("hashes",),
    missing="no two arms have hashes of their initial parameters at one seed",
)
def initial_parameters(start: PairedStart) -> Failed | Unchecked | None:
    """Two arms at one seed start from different trainable parameters.

    Why
        The arms then differ in more than the change under study.
    Fix
        Build the model right after setting the seed; write the hash before the first step.
    Bad
        seed 42: "initial_parameters_sha256" differs between the arms
    Good
        seed 42: the same hash in both arms
    """
    if any(start.top.protocol.get(f) != start.other.protocol.get(f) for f in START_FIELDS):
        return Unchecked("their protocols name other starting parameters", start.other.pointer)
    hashes = start.hashes
    if hashes is None or hashes[0] == hashes[1]:
        return None
    pointer = join(start.other.pointer, INITIAL_PARAMETERS)
    message = f"not the initial parameters of {start.top.arm} at seed {start.top.seed}"
    return Failed(pointer, message, *hashes)
