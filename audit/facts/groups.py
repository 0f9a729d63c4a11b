"""Groups of responses with equal rewards: they have no advantage, and teach nothing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from audit.facts.training_logs import ArmLog, RunLog
from audit.pointer import join

# How a run may count such groups; where it has both, the first is meant for what was drawn.
ZERO_KEYS = ("zero_advantage_groups", "zero_advantage_groups_retained")


@dataclass(frozen=True, slots=True)
class GroupCount:
    """Groups without advantage among the groups that were drawn, and where that is recorded."""

    without: int
    drawn: int
    pointer: str

    @property
    def share(self) -> float:
        """Their share of all groups."""
        return self.without / self.drawn


def groups_of_arm(arm: ArmLog) -> GroupCount | None:
    """Return the groups of the runs that tell; None where none does."""
    counts = [count for count in map(groups_of_run, arm.runs) if count is not None]
    drawn = sum(count.drawn for count in counts)
    if drawn <= 0:
        return None
    pointer = join(arm.runs[0].run.pointer, "sampling")
    return GroupCount(sum(count.without for count in counts), drawn, pointer)


def groups_of_run(log: RunLog) -> GroupCount | None:
    """Return the groups of one run: as it counted them, else as its log holds them.

    A count above all groups drawn is of something else, and the log then decides.
    """
    recorded = recorded_without(log)
    drawn = _drawn(log)
    if recorded is not None and drawn and recorded <= drawn:
        return GroupCount(recorded, drawn, join(log.run.pointer, "sampling"))
    flat = [
        step.get("zero_advantage_groups", flat_groups(step.get("rewards"), log.group_size))
        for step in log.steps
    ]
    known = [
        (count, len(step["rewards"]) // log.group_size)
        if step.get("rewards") and log.group_size
        else (count, log.groups)
        for step, count in zip(log.steps, flat, strict=True)
        if count is not None
    ]
    if not known or log.rejects:
        return None
    without, drawn = (sum(counts) for counts in zip(*known, strict=True))
    return GroupCount(without, drawn, join(log.run.pointer, "training"))


def recorded_without(log: RunLog) -> int | None:
    """Return the groups without advantage as the run counted them; None where it did not."""
    sampling = log.run.sampling
    count = next((sampling[key] for key in ZERO_KEYS if key in sampling), None)
    return None if count is None else int(count)


def _drawn(log: RunLog) -> int:
    # A log that leaves out steps does not hold all the groups that were counted.
    trained = len(log.steps) * log.groups if log.full else 0
    outside = log.rejects or not log.full
    attempted = log.run.sampling.get("tasks_attempted") if outside else None
    return int(attempted or trained)


def expected_without(log: RunLog) -> int | None:
    """Return how many groups a full log says had no advantage; None where it cannot be told."""
    if not log.full:
        return None
    if log.rejects:
        attempted = log.run.sampling.get("tasks_attempted")
        return None if attempted is None else int(attempted) - len(log.steps) * log.groups
    flat = [flat_groups(step.get("rewards"), log.group_size) for step in log.steps]
    return None if None in flat else sum(count or 0 for count in flat)


def flat_groups(rewards: list[float] | None, size: int | None) -> int | None:
    """Return how many groups have equal rewards; None where it cannot be told."""
    if rewards is None or not size or len(rewards) % size:
        return None
    starts = range(0, len(rewards), size)
    return sum(rewards[at : at + size].count(rewards[at]) == size for at in starts)


def groups_by_step(log: RunLog) -> Iterable[float | None]:
    """Yield each step's share of attempted groups that gave no advantage.

    Where such groups are rejected, ``training_row`` counts the rows read, so the gap between two
    steps is the number rejected before the later one.
    """
    before = -1
    for step in log.steps:
        row = step.get("training_row")
        if row is not None:
            attempted, before = row - before, row
            yield (attempted - 1) / attempted if attempted > 0 else None
        else:
            yield _of_step(log, step)


def _of_step(log: RunLog, step: dict[str, Any]) -> float | None:
    counted, drawn = step.get("zero_advantage_groups"), log.run.telemetry.get("groups_per_step")
    if drawn and counted is not None and counted <= drawn:
        return float(counted / drawn)
    size, rewards = log.run.telemetry.get("responses_per_group"), step.get("rewards") or []
    flat = flat_groups(rewards, size)
    return None if flat is None or not rewards or not size else flat * size / len(rewards)
