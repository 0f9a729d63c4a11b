"""STEP: a training log is complete, and as long and wide as its protocol states."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from audit.finding import Severity
from audit.pointer import join
from audit.rules.rule import Case, Found, Held, Outcome, Rule, Skipped
from audit.rules.telemetry import ArmLog, RunLog, each_arm, each_run, step_pointer

_SPARSE = "the log leaves out steps or responses (telemetry.level)"


def step_numbers(case: Case) -> Iterator[Outcome]:
    """The steps of a full log are not numbered 1, 2, 3 and so on.

    Why
        A gap is a step that was taken out; curves and counts then describe another run.
    Fix
        Write every step, or set telemetry.level to sparse.
    Bad
        "training": [{"step": 1}, {"step": 3}]
    Good
        "training": [{"step": 1}, {"step": 2}]
    """
    return each_run(case, _step_numbers)


def _step_numbers(log: RunLog) -> Iterator[Outcome]:
    if not log.full:
        yield Skipped(_SPARSE, log.run.pointer)
        return
    wrong = 0
    for place, step in enumerate(log.steps):
        number = step.get("step", place + 1)
        if number != place + 1:
            wrong += 1
            pointer = step_pointer(log, place, "step")
            yield Found(pointer, "a step out of order", str(place + 1), str(number))
    yield Held(len(log.steps) - wrong)


def step_count(case: Case) -> Iterator[Outcome]:
    """A finished run logs another number of steps than its protocol states.

    Why
        Either the log is cut or the run was shorter than the recipe says.
    Fix
        Log every step, or correct protocol.steps, or give the run the status it has.
    Bad
        "protocol": {"steps": 4} with three entries in "training"
    Good
        "protocol": {"steps": 3} with three entries in "training"
    """
    return each_run(case, _step_count)


def _step_count(log: RunLog) -> Iterator[Outcome]:
    planned = log.run.protocol.get("steps")
    pointer = join(log.run.pointer, "protocol", "steps")
    if planned is None:
        yield Skipped("protocol.steps is not recorded", log.run.pointer)
    elif not log.full or not log.run.finished:
        yield Skipped(_SPARSE if not log.full else "the run did not finish", log.run.pointer)
    elif planned != len(log.steps):
        message = "the log has another number of steps"
        yield Found(pointer, message, str(len(log.steps)), str(planned))
    else:
        yield Held()


def inner_updates(case: Case) -> Iterator[Outcome]:
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
    return each_run(case, _inner_updates)


def _inner_updates(log: RunLog) -> Iterator[Outcome]:
    held = 0
    counts = [len(step["updates"]) for step in log.whole_steps if "updates" in step]
    planned = log.run.protocol.get("inner_updates")
    if planned is not None and counts and planned not in counts:
        pointer = join(log.run.pointer, "protocol", "inner_updates")
        yield Found(pointer, "no step has so many updates", str(max(counts)), str(planned))
        planned = None
    for place, step in enumerate(log.steps):
        updates = step.get("updates") or ()
        if (
            planned not in (None, len(updates))
            and "updates" in step
            and place < len(log.whole_steps)
        ):
            pointer = step_pointer(log, place, "updates")
            yield Found(pointer, "another number of updates", str(planned), str(len(updates)))
        for index, update in enumerate(updates):
            number = update.get("inner_update", index + 1)
            if number == index + 1:
                held += 1
                continue
            pointer = step_pointer(log, place, "updates", index, "inner_update")
            yield Found(pointer, "an update out of order", str(index + 1), str(number))
    yield Held(held)


def group_size(case: Case) -> Iterator[Outcome]:
    """A step does not hold groups x responses rewards and advantages.

    Why
        An advantage is relative to its group; with a response missing it cannot be recomputed.
    Fix
        Write one reward and one advantage a response; state telemetry.groups_per_step and
        telemetry.responses_per_group.
    Bad
        "group": 4 with "rewards": [0, 1, 1]
    Good
        "group": 4 with "rewards": [0, 1, 1, 0]
    """
    return each_run(case, _group_size)


def _group_size(log: RunLog) -> Iterator[Outcome]:
    held = 0
    size = log.group_size
    planned = log.run.protocol.get("group")
    if size is None:
        yield Skipped("neither protocol.group nor telemetry.responses_per_group", log.run.pointer)
        return
    if planned not in (None, size):
        pointer = join(log.run.pointer, "telemetry", "responses_per_group")
        yield Found(pointer, "not the group of the protocol", str(planned), str(size))
    expected = size * log.groups
    sizes = [len(step["rewards"]) for step in log.whole_steps if "rewards" in step]
    if sizes and expected not in sizes:
        pointer = join(log.run.pointer, "protocol", "group")
        yield Found(pointer, "no step has so many rewards", actual=str(expected))
        return
    for place, step in enumerate(log.whole_steps):
        for name in ("rewards", "advantages"):
            if name in step and len(step[name]) != expected:
                pointer, length = step_pointer(log, place, name), str(len(step[name]))
                yield Found(pointer, "not groups x responses values", str(expected), length)
            elif name in step:
                held += 1
    yield Held(held)


def audit_count(case: Case) -> Iterator[Outcome]:
    """An update does not audit every response once.

    Why
        A response that is left out may be the one that was clipped.
    Fix
        Write one audit a response; where an update trains on part of them, give each its sequence.
    Bad
        four rewards, three response_audits without "sequence"
    Good
        four rewards, two response_audits with "sequence": 1 and "sequence": 3
    """
    return each_arm(case, _audit_count)


def _audit_count(arm: ArmLog) -> Iterator[Outcome]:
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
            yield Found(pointer, "not one audit a response", str(responses), problem)
    if held:
        yield Held(held)
    else:
        yield Skipped("no full log of responses", arm.arm.pointer)


def _sequence_problem(sequences: list[Any], responses: int) -> str | None:
    named = [number for number in sequences if number is not None]
    if not named:
        return None if len(sequences) == responses else f"{len(sequences)} without sequence"
    if len(named) != len(sequences):
        return "some without sequence"
    if len(set(named)) != len(named):
        return "a sequence twice"
    return f"sequence {max(named)}" if responses and max(named) >= responses else None


RULES = (
    Rule("STEP001", "step-numbers", Severity.ERROR, step_numbers),
    Rule("STEP002", "step-count", Severity.ERROR, step_count),
    Rule("STEP003", "inner-updates", Severity.ERROR, inner_updates),
    Rule("STEP004", "group-size", Severity.ERROR, group_size),
    Rule("STEP005", "audit-count", Severity.ERROR, audit_count),
)
