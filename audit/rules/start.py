"""START: arms at one seed start from the same model and the same first batch."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from audit.finding import Severity
from audit.pointer import join
from audit.results import Run
from audit.rules.protocol import starts_apart
from audit.rules.rule import Case, Found, Held, Outcome, Rule, Skipped

# One computation on one GPU repeats to about 1e-6 where sums are not ordered; 1e-4 leaves room,
# and two independent batches differ in the first digits.
_RELATIVE = 1e-4
# Losses of a first update are float noise around 0.
_ABSOLUTE = 1e-6


def pairs_at_one_seed(case: Case) -> Iterator[tuple[Run, Run]]:
    """Yield runs of the top arm and of each control that carry one seed."""
    arms = case.results.arms
    top = {run.seed: run for run in arms[0].runs if run.seed is not None} if arms else {}
    for arm in arms[1:]:
        for run in arm.runs:
            if run.seed in top:
                yield top[run.seed], run


def arms_start_alike(case: Case) -> Iterator[Outcome]:
    """Two arms at one seed do not start from the same first batch.

    Until the first optimizer step both arms are the same model with the same random numbers. Row,
    rewards, advantages, loss and gradient of step 1 must agree, and the log ratios after it.

    Why
        Only then do seeds pair the arms: a difference by seed is otherwise a difference of two
        independent runs.
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
        yield Skipped(f"the arms may differ from the start: the change is of kind {mechanism}")
        return
    alike = seen = 0
    for top, control in pairs_at_one_seed(case):
        if not _comparable(top, control):
            yield Skipped("no step 1 to compare with the top arm's", control.pointer)
            continue
        seen += 1
        differences = list(_differences(top, control))
        if not differences:
            alike += 1
            yield Held()
            continue
        path, expected, actual = differences[0]
        more = f", and {len(differences) - 1} more of step 1" if len(differences) > 1 else ""
        message = f"not the start of {top.arm} at seed {top.seed}{more}"
        yield Found(join(control.pointer, "training", 0, *path), message, expected, actual)
    if seen and alike == seen:
        message = f"arms at one seed start alike ({alike} of {seen} seeds): seeds pair the arms"
        yield Found("", message, severity=Severity.INFO)
    elif not seen:
        yield Skipped("no two arms with telemetry at one seed")


def _comparable(top: Run, control: Run) -> bool:
    steps = [run.training[0].get("step", 1) if run.training else None for run in (top, control)]
    return steps == [1, 1]


def _differences(top: Run, control: Run) -> Iterator[tuple[tuple[str | int, ...], str, str]]:
    """Yield paths below step 1 at which two runs differ, with both values as text."""
    one, other = top.training[0], control.training[0]
    same_formula = top.telemetry.get("advantage") == control.telemetry.get("advantage")
    names = ["training_row", "training_rows", "rewards"] + ["advantages"] * same_formula
    for name in names:
        if name in one and name in other:
            yield from _unequal((name,), one[name], other[name])
    updates = list(zip(one.get("updates") or (), other.get("updates") or (), strict=False))
    for place, (a, b) in enumerate(updates[:2]):
        path: tuple[str | int, ...] = ("updates", place)
        for name in ("loss", "gradient_l2_norm") if place == 0 else ():
            if name in a and name in b and same_formula:
                yield from _unequal((*path, name), a[name], b[name])
        if _same_rate(top, control):
            audits = zip(
                a.get("response_audits") or (), b.get("response_audits") or (), strict=False
            )
            for index, (x, y) in enumerate(audits):
                below = (*path, "response_audits", index)
                for name in ("sequence", "tokens", "max_abs_log_ratio"):
                    if name in x and name in y:
                        yield from _unequal((*below, name), x[name], y[name])


def _same_rate(top: Run, control: Run) -> bool:
    return top.protocol.get("learning_rate") == control.protocol.get("learning_rate")


def _unequal(
    path: tuple[str | int, ...], one: Any, other: Any
) -> Iterator[tuple[tuple[str | int, ...], str, str]]:
    if isinstance(one, list):
        if len(one) != len(other):
            yield path, f"{len(one)} values", f"{len(other)} values"
        for index, (a, b) in enumerate(zip(one, other, strict=False)):
            yield from _unequal((*path, index), a, b)
    elif one != other and not (_is_real(one, other) and _near(one, other)):
        yield path, repr(one), repr(other)


def _is_real(*values: float) -> bool:
    return any(isinstance(value, float) for value in values)


def _near(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=_RELATIVE, abs_tol=_ABSOLUTE)


def initial_parameters(case: Case) -> Iterator[Outcome]:
    """Two arms at one seed start from different trainable parameters.

    Why
        The arms then differ in more than the change that is studied.
    Fix
        Build the model right after setting the seed; write the hash before the first step.
    Bad
        seed 42: "initial_parameters_sha256" differs between the arms
    Good
        seed 42: the same hash in both arms
    """
    if starts_apart(case.results):
        yield Skipped("the arms start from other parameters on purpose, as change.fields says")
        return
    seen = False
    for top, control in pairs_at_one_seed(case):
        hashes = [run.document.get("initial_parameters_sha256") for run in (top, control)]
        if None in hashes:
            continue
        seen = True
        if hashes[0] == hashes[1]:
            yield Held()
            continue
        pointer = join(control.pointer, "initial_parameters_sha256")
        message = f"not the initial parameters of {top.arm} at seed {top.seed}"
        yield Found(pointer, message, str(hashes[0]), str(hashes[1]))
    if not seen:
        yield Skipped("no two arms with hashes of their initial parameters at one seed")


RULES = (
    Rule("START001", "arms-start-alike", Severity.WARNING, arms_start_alike),
    Rule("START002", "initial-parameters", Severity.WARNING, initial_parameters),
)
