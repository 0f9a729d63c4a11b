"""Whether the runs of an arm are replications of each other, or copies."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from audit.analysis.measures import MeasuredRun
from audit.analysis.outcomes import TaskOutcomes

# With fewer answers than this two honest runs may agree on every task by chance.
_ENOUGH_ANSWERS = 30


def distinct_runs(runs: Sequence[MeasuredRun]) -> int:
    """Return the number of training runs, one seed counted once; unlabelled runs each count."""
    seeds = {run.seed for run in runs if run.seed is not None}
    return len(seeds) + sum(run.seed is None for run in runs)


def repeated_seed(runs: Sequence[MeasuredRun]) -> int | None:
    """Return a seed that stands more than once."""
    seen: set[int] = set()
    for run in runs:
        if run.seed is not None and run.seed in seen:
            return run.seed
        if run.seed is not None:
            seen.add(run.seed)
    return None


def copied_runs(runs: Sequence[MeasuredRun]) -> str | None:
    """Return which two runs are one and the same, and by what, or None.

    Equal outcomes count from 30 answers on, and not where every answer is right or every one
    wrong; equal parameters after training or equal training logs always count.
    """
    for one, other in combinations(runs, 2):
        evidence = _evidence(one, other)
        if evidence is not None:
            return f"runs {one.label} and {other.label} have the same {evidence}"
    return None


def _evidence(one: MeasuredRun, other: MeasuredRun) -> str | None:
    if one.run is not None and other.run is not None:
        final = one.run.document.get("final_parameters_sha256")
        if final is not None and final == other.run.document.get("final_parameters_sha256"):
            return "parameters after training"
        if _logged(one) and one.run.training == other.run.training:
            return "training log"
    return "outcomes on every task" if _same_outcomes(one, other) else None


def _logged(run: MeasuredRun) -> bool:
    """Whether the log holds what differs between two runs: rewards or losses."""
    steps = run.run.training if run.run is not None else []
    return any(step.get("rewards") or step.get("updates") for step in steps)


def _same_outcomes(one: MeasuredRun, other: MeasuredRun) -> bool:
    a, b = one.outcomes, other.outcomes
    if a is None or b is None or _by_task(a, b) != _by_task(b, a):
        return False
    drawn = min(k for k in a.samples if k)
    answers = len(a.counts) * (a.independent or drawn)
    saturated = not any(a.counts) or a.counts == a.samples
    return answers >= _ENOUGH_ANSWERS and not saturated


def _by_task(own: TaskOutcomes, other: TaskOutcomes) -> object:
    """Return what can be compared: the lists, keyed by task where the orders differ."""
    if own.ids == other.ids or own.ids is None or other.ids is None:
        return own.counts, own.samples
    return dict(zip(own.ids, zip(own.counts, own.samples, strict=True), strict=True))
