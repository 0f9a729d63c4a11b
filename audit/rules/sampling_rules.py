"""SAMPLE: what training drew, counted twice: rows, groups without advantage, tokens."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from audit.facts.groups import ZERO_KEYS, expected_without, flat_groups
from audit.facts.tokens import GENERATED
from audit.facts.training_logs import RunLog, step_pointer
from audit.finding import ERROR, WARNING
from audit.pointer import join
from audit.results import Run
from audit.rules.case import Case
from audit.rules.check import CheckResult, Failed, Passed, Unchecked
from audit.rules.rule import rule


@rule("SAMPLE001", "training-rows", ERROR, each=RunLog)
def training_rows(log: RunLog) -> Iterator[CheckResult]:
    """Training rows do not increase up to tasks_attempted - 1.

    Why
        Where groups without variance are drawn again, row numbers count the attempts: the last
        trained row is the last attempt.
    Fix
        Correct the rows or tasks_attempted; where rows are drawn in another order, state it as
        telemetry.row_order, or telemetry.zero_groups as kept.
    Bad
        "training_row": 3 after "training_row": 5
    Good
        "training_row": 5, then 6, with "tasks_attempted": 7
    """
    rows = [step["training_row"] for step in log.steps if "training_row" in step]
    if not log.in_order or not log.full:
        reason = (
            "rows count attempts only in a full log of one group per step, drawn in order, with "
            "flat groups rejected"
        )
        yield Unchecked(reason, log.run.pointer)
        return
    if not rows or len(rows) < len(log.steps):
        yield Unchecked("training_row is not recorded in every step", log.run.pointer)
        return
    last, held = -1, 0
    for place, row in enumerate(rows):
        if row <= last:
            pointer = step_pointer(log, place, "training_row")
            yield Failed(pointer, "not after the row before", f"at least {last + 1}", str(row))
        else:
            held += 1
        last = row
    attempted = log.run.sampling.get("tasks_attempted")
    if attempted is None:
        yield Unchecked("sampling.tasks_attempted is not recorded", log.run.pointer)
    elif log.run.finished and last != attempted - 1:
        pointer = step_pointer(log, len(rows) - 1, "training_row")
        yield Failed(pointer, "not the last task attempted", str(attempted - 1), str(last))
    else:
        held += 1
    yield Passed(held)


@rule("SAMPLE002", "zero-groups", ERROR, each=RunLog)
def zero_groups(log: RunLog) -> Iterator[CheckResult]:
    """The count of groups without advantage does not follow from the log.

    Why
        Rejected groups are samples that were paid for; kept ones are batches that taught nothing.
    Fix
        Count again: attempted minus trained where groups are rejected, flat groups where they are
        kept.
    Bad
        "zero_advantage_groups": 2, "tasks_attempted": 4 with three steps of one group
    Good
        "zero_advantage_groups": 1, "tasks_attempted": 4 with three steps of one group
    """
    expected = expected_without(log)
    recorded = [name for name in ZERO_KEYS if name in log.run.sampling]
    if expected is None or not recorded:
        yield Unchecked("sampling or the log does not say how many groups", log.run.pointer)
    for name in recorded:
        value = log.run.sampling[name]
        if expected is not None and value != expected:
            pointer = join(log.run.pointer, "sampling", name)
            yield Failed(pointer, "not what the log gives", str(expected), str(value))
        elif expected is not None:
            yield Passed()


@rule(
    "SAMPLE003",
    "zero-groups-of-step",
    ERROR,
    each=RunLog,
    missing="no step counts its groups without advantage",
)
def zero_groups_of_step(log: RunLog) -> Iterator[CheckResult]:
    """A step's count of groups without advantage contradicts its rewards.

    Why
        The share of flat groups tells how much of a batch could teach anything.
    Fix
        Count the groups whose rewards are all equal.
    Bad
        "zero_advantage_groups": 1, "rewards": [0, 1, 0, 1]
    Good
        "zero_advantage_groups": 0, "rewards": [0, 1, 0, 1]
    """
    held = 0
    for place, step in enumerate(log.steps):
        recorded = step.get("zero_advantage_groups")
        if recorded is None:
            continue
        flat = flat_groups(step.get("rewards"), log.group_size)
        if flat is None:
            continue
        if recorded == flat:
            held += 1
        else:
            pointer = step_pointer(log, place, "zero_advantage_groups")
            yield Failed(pointer, "not what the rewards give", str(flat), str(recorded))
    yield Passed(held)


@rule("SAMPLE004", "rejected-called-retained", WARNING, each=Case)
def rejected_called_retained(case: Case) -> Iterator[CheckResult]:
    """Groups that were rejected are counted as retained.

    Why
        Readers take retained groups for part of the training batches, but these were sampled, paid
        for and discarded.
    Fix
        Call it zero_advantage_groups, and say in telemetry.zero_groups what became of them.
    Bad
        "zero_advantage_groups_retained": 4, "tasks_attempted": 7 with three steps
    Good
        "zero_advantage_groups": 4, "tasks_attempted": 7, "telemetry": {"zero_groups": "rejected"}
    """
    hits = []
    for arm in case.logs:
        for log in arm.runs:
            retained = log.run.sampling.get("zero_advantage_groups_retained")
            if retained and log.rejects and retained == expected_without(log):
                hits.append((log.run.pointer, retained))
    if hits:
        groups = sum(count for _, count in hits)
        yield Failed(
            join(hits[0][0], "sampling", "zero_advantage_groups_retained"),
            f"attempted - trained, so rejected groups: {groups} in {len(hits)} runs",
            "a name that says rejected",
            "retained",
        )
    else:
        yield Passed()


@rule("SAMPLE005", "training-tokens", ERROR, each=RunLog)
def training_tokens(log: RunLog) -> Iterator[CheckResult]:
    """The tokens generated in training are not those of the audits, or out of reach.

    Where every response is audited with its tokens they are the sum, or more where groups were
    rejected; otherwise they lie between 1 and max_tokens for each response drawn.

    Why
        Token counts are the compute that arms are compared by.
    Fix
        Count the tokens of every group drawn, rejected ones too.
    Bad
        "tasks_attempted": 4, "group": 4, "max_tokens": 512 with 9000 tokens
    Good
        "tasks_attempted": 4, "group": 4, "max_tokens": 512 with 4513 tokens
    """
    tokens = log.run.sampling.get(GENERATED)
    if tokens is None:
        yield Unchecked("sampling does not count tokens", log.run.pointer)
        return
    low, high = _token_range(log)
    if low is None and high is None:
        yield Unchecked("neither audits nor max_tokens bound the tokens", log.run.pointer)
    elif (low is None or low <= tokens) and (high is None or tokens <= high):
        yield Passed()
    else:
        pointer = join(log.run.pointer, "sampling", GENERATED)
        expected = f"{low}" if low == high else f"{low} to {high}"
        yield Failed(pointer, "not the tokens of the responses", expected, str(tokens))


def _token_range(log: RunLog) -> tuple[int | None, int | None]:
    """Fewest and most tokens that were generated; None where nothing bounds them."""
    audited = _audited_tokens(log)
    if audited is not None and not log.rejects:
        return audited, audited
    attempted, limit = log.run.sampling.get("tasks_attempted"), log.run.protocol.get("max_tokens")
    if attempted is None or log.group_size is None:
        return audited, None
    responses = int(attempted) * log.group_size
    return max(responses, audited or 0), None if limit is None else responses * int(limit)


def _audited_tokens(log: RunLog) -> int | None:
    """Sum the tokens of every response once; None where one is missing."""
    total = 0
    for step in log.steps if log.full else ():
        tokens: dict[Any, Any] = {}
        for update in step.get("updates") or ():
            for place, audit in enumerate(update.get("response_audits") or ()):
                tokens[audit.get("sequence", place)] = audit.get("tokens")
        if None in tokens.values() or len(tokens) != len(step.get("rewards") or ()):
            return None
        total += sum(tokens.values())
    return total or None


@rule(
    "SAMPLE006",
    "retained-groups",
    WARNING,
    each=Run,
    missing="no run counts its groups without advantage twice",
)
def retained_groups(run: Run) -> Iterator[CheckResult]:
    """More groups without advantage were retained than there were in all.

    Why
        The two counts contradict each other; all figures on groups without advantage use the count
        of all of them.
    Fix
        Write both counts from one counter: retained groups are part of all groups.
    Bad
        "zero_advantage_groups": 2, "zero_advantage_groups_retained": 15
    Good
        "zero_advantage_groups": 15, "zero_advantage_groups_retained": 2
    """
    every, retained = (run.sampling.get(key) for key in ZERO_KEYS)
    if every is None or retained is None:
        return
    if retained <= every:
        yield Passed()
    else:
        pointer = join(run.pointer, "sampling", ZERO_KEYS[1])
        message = "more than all groups without advantage"
        yield Failed(pointer, message, f"at most {every}", str(retained))
