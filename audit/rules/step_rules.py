"""STEP: a training log is complete, and as long and wide as its protocol states."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from audit.facts.training_logs import ArmLog, RunLog, step_pointer
from audit.finding import ERROR
from audit.pointer import join
from audit.rules.check import CheckResult, Failed, Passed, Unchecked
from audit.rules.rule import rule

_SPARSE = "the log leaves out steps or responses (telemetry.level)"


@rule("STEP001", "step-numbers", ERROR, each=RunLog)
def step_numbers(log: RunLog) -> Iterator[CheckResult]:
    """The steps of a full log are not numbered 1, 2, 3 and so on.

    Why
        A gap means that a step was removed; curves and counts then describe another run.
    Fix
        Write every step, or set telemetry.level to sparse.
    Bad
        "training": [{"step": 1}, {"step": 3}]
    Good
        "training": [{"step": 1}, {"step": 2}]
    """
    if not log.full:
        yield Unchecked(_SPARSE, log.run.pointer)
        return
    wrong = 0
    for place, step in enumerate(log.steps):
        number = step.get("step", place + 1)
        if number != place + 1:
            wrong += 1
            pointer = step_pointer(log, place, "step")
            yield Failed(pointer, "a step out of order", str(place + 1), str(number))
    yield Passed(len(log.steps) - wrong)


@rule("STEP002", "step-count", ERROR, each=RunLog)
def step_count(log: RunLog) -> Iterator[CheckResult]:
    """A finished run logs more or fewer steps than its protocol states.

    Why
        Either the log is incomplete or the run was shorter than the recipe says.
    Fix
        Log every step, correct protocol.steps, or record the true status of the run.
    Bad
        "protocol": {"steps": 4} with three entries in "training"
    Good
        "protocol": {"steps": 3} with three entries in "training"
    """
    planned = log.run.protocol.get("steps")
    pointer = join(log.run.pointer, "protocol", "steps")
    if planned is None:
        yield Unchecked("protocol.steps is not recorded", log.run.pointer)
    elif not log.full or not log.run.finished:
        yield Unchecked(_SPARSE if not log.full else "the run did not finish", log.run.pointer)
    elif planned != len(log.steps):
        message = "the log has another number of steps"
        yield Failed(pointer, message, str(len(log.steps)), str(planned))
    else:
        yield Passed()


@rule("STEP003", "inner-updates", ERROR, each=RunLog)
def inner_updates(log: RunLog) -> Iterator[CheckResult]:
    """The updates of a step are not 1 to m, with m the protocol's inner_updates.

    Why
        The number of updates on one batch decides whether a clip can act at all.
    Fix
        Log every optimizer step under its number; correct protocol.inner_updates.
    Bad
        "inner_updates": 2 with "updates": [{"inner_update": 1}]
    Good
        "inner_updates": 2 with "updates": [{"inner_update": 1}, {"inner_update": 2}]
    """
    held = 0
    counts = [len(step["updates"]) for step in log.whole_steps if "updates" in step]
    planned = log.run.protocol.get("inner_updates")
    if planned is not None and counts and planned not in counts:
        pointer = join(log.run.pointer, "protocol", "inner_updates")
        yield Failed(pointer, "no step has so many updates", str(max(counts)), str(planned))
        planned = None
    for place, step in enumerate(log.steps):
        updates = step.get("updates") or ()
        if (
            planned not in (None, len(updates))
            and "updates" in step
            and place < len(log.whole_steps)
        ):
            pointer = step_pointer(log, place, "updates")
            yield Failed(pointer, "another number of updates", str(planned), str(len(updates)))
        for index, update in enumerate(updates):
            number = update.get("inner_update", index + 1)
            if number == index + 1:
                held += 1
                continue
            pointer = step_pointer(log, place, "updates", index, "inner_update")
            yield Failed(pointer, "an update out of order", str(index + 1), str(number))
    yield Passed(held)


@rule("STEP004", "group-size", ERROR, each=RunLog)
def group_size(log: RunLog) -> Iterator[CheckResult]:
    """A step does not have groups x responses rewards and advantages.

    Why
        An advantage is relative to its group; with a response missing it cannot be recomputed.
    Fix
        Write one reward and one advantage per response; state telemetry.groups_per_step and
        telemetry.responses_per_group.
    Bad
        "group": 4 with "rewards": [0, 1, 1]
    Good
        "group": 4 with "rewards": [0, 1, 1, 0]
    """
    held = 0
    size = log.group_size
    planned = log.run.protocol.get("group")
    if size is None:
        yield Unchecked("neither protocol.group nor telemetry.responses_per_group", log.run.pointer)
        return
    if planned not in (None, size):
        pointer = join(log.run.pointer, "telemetry", "responses_per_group")
        yield Failed(pointer, "not the group of the protocol", str(planned), str(size))
    if not log.full and "groups_per_step" not in log.run.telemetry:
        yield Unchecked("a sparse log of steps with different numbers of groups", log.run.pointer)
        return
    expected = size * log.groups
    sizes = [len(step["rewards"]) for step in log.whole_steps if "rewards" in step]
    if sizes and expected not in sizes:
        pointer = join(log.run.pointer, "protocol", "group")
        yield Failed(pointer, "no step has so many rewards", actual=str(expected))
        return
    for place, step in enumerate(log.whole_steps):
        for name in ("rewards", "advantages"):
            if name in step and len(step[name]) != expected:
                pointer, length = step_pointer(log, place, name), str(len(step[name]))
                yield Failed(pointer, "not groups x responses values", str(expected), length)
            elif name in step:
                held += 1
    yield Passed(held)


@rule("STEP005", "audit-count", ERROR, each=ArmLog, missing="no full log of responses")
def audit_count(arm: ArmLog) -> Iterator[CheckResult]:
    """An update does not audit every response exactly once.

    Why
        A response that is left out may be the one that was clipped.
    Fix
        Write one audit per response; where an update trains on part of them, name each by its
        sequence.
    Bad
        four rewards, three response_audits without "sequence"
    Good
        four rewards, two response_audits with "sequence": 1 and "sequence": 3
    """
    held = 0
    sequences = arm.sequences
    for update in arm.updates:
        log, step, _, document, first, end = update  # faster than by name, in a loop this long
        if "response_audits" not in document or not log.full:
            continue
        responses = len(log.steps[step].get("rewards") or ())
        problem = None
        if sequences is not None:
            problem = _sequence_problem(sequences[first:end], responses)
        elif responses and end - first != responses:
            problem = f"{end - first}"
        if problem is None:
            held += 1
        else:
            pointer = join(update.pointer, "response_audits")
            yield Failed(pointer, "not one audit per response", str(responses), problem)
    yield Passed(held)


def _sequence_problem(sequences: list[Any], responses: int) -> str | None:
    named = [number for number in sequences if number is not None]
    if not named:
        return None if len(sequences) == responses else f"{len(sequences)} without sequence"
    if len(named) != len(sequences):
        return "some without sequence"
    if len(set(named)) != len(named):
        return "duplicate sequence"
    return f"sequence {max(named)}" if responses and max(named) >= responses else None
