"""How many evaluations of one model are evaluations of their own, and no copies."""

from __future__ import annotations

from collections.abc import Sequence

from audit.analysis.measures import MeasuredRun
from audit.analysis.outcomes import TaskOutcomes


def distinct_evaluations(runs: Sequence[MeasuredRun]) -> int:
    """Return the number of evaluations of one model, a copy counted once.

    Equal outcomes show a copy (or one sampling seed used again) where some task is answered both
    right and wrong: then answers are drawn, and drawing again gives others. Deterministic decoding
    gives the same answer to every sample of a task.
    """
    seen: list[TaskOutcomes] = []
    for run in runs:
        own = run.outcomes
        if own is None:
            continue
        drawn = any(0 < c < k for c, k in zip(own.counts, own.samples, strict=True))
        if not (drawn and any(_by_task(own, one) == _by_task(one, own) for one in seen)):
            seen.append(own)
    return len(seen)


def _by_task(own: TaskOutcomes, other: TaskOutcomes) -> object:
    """Return what can be compared: the lists, keyed by task where the orders differ."""
    if own.ids == other.ids or own.ids is None or other.ids is None:
        return own.counts, own.samples
    return dict(zip(own.ids, zip(own.counts, own.samples, strict=True), strict=True))
