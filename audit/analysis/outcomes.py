"""Outcomes of one evaluation per task, as whole numbers of right answers out of drawn ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import comb, lcm

from audit.column import Column, largest, total
from audit.results import Evaluation

# Scores that are no fractions with a small denominator are put on this lattice (error 5e-10).
_FINE = 2**30
_LARGEST_DENOMINATOR = 4096
_SAME = 1e-9
_MOST_ANSWERS = 2**53


@dataclass(frozen=True)
class TaskOutcomes:
    """One model's answers to a list of tasks.

    Attributes
    ----------
    ids : tuple of str, or None
        Names of the tasks.
    counts, samples : list of int
        Right answers, and answers drawn, for each task; 0 drawn means not evaluated.
    errored, unparsed : list of int, or None
        Answers that ended in an error, and those in which no answer was found; both count as
        wrong above.
    clusters : list of str, or None
        Group of each task.
    independent : int or None
        Independent answers behind a task where ``samples`` is only a denominator.
    greedy : bool
        Decoding was declared deterministic.
    lengths : list of float, or None
        Mean length of the answers of each task, tokens.
    """

    ids: tuple[str, ...] | None
    counts: list[int]
    samples: list[int]
    errored: list[int] | None = None
    unparsed: list[int] | None = None
    clusters: list[str] | None = None
    independent: int | None = None
    greedy: bool = False
    lengths: list[float] | None = None

    @cached_property
    def mean(self) -> Fraction:
        """Mean over the evaluated tasks, each with equal weight."""
        drawn = self.samples
        k = drawn[0]
        if k and drawn.count(k) == len(drawn):
            return Fraction(total(self.counts), len(drawn) * k)
        rates = [Fraction(c, k) for c, k in zip(self.counts, drawn, strict=True) if k]
        return sum(rates, Fraction(0)) / len(rates) if rates else Fraction(0)


def task_outcomes(
    evaluation: Evaluation, low: float | None, high: float | None, attempts: int | None
) -> TaskOutcomes | str | None:
    """Return an evaluation's outcomes; what is wrong with them; or None where it has none.

    Parameters
    ----------
    evaluation : Evaluation
    low, high : float or None
        Scale of the metric, for scores that are not counts.
    attempts : int or None
        Count a task as the share of subsets of so many answers that hold a right one (pass@k).
    """
    if not evaluation.per_task:
        return None
    counted = _from_counts(evaluation)
    found = counted if counted is not None else _from_scores(evaluation, low, high)
    if isinstance(found, str):
        return found
    fault = _fault(found, evaluation)
    if fault is not None:
        return fault
    return found if attempts is None else _any_of(found, attempts)


def summed(checkpoints: Sequence[TaskOutcomes]) -> TaskOutcomes:
    """Return the answers of several checkpoints of one run as those of one evaluation.

    Independent answers of a task remain those of one checkpoint.
    """
    first = checkpoints[0]
    if len(checkpoints) == 1:
        return first

    def total(lists: Iterable[list[int] | None]) -> list[int] | None:
        known = [values for values in lists if values is not None]
        return [sum(column) for column in zip(*known, strict=True)] if known else None

    return replace(
        first,
        counts=total(one.counts for one in checkpoints) or [],
        samples=total(one.samples for one in checkpoints) or [],
        errored=total(one.errored for one in checkpoints),
        unparsed=total(one.unparsed for one in checkpoints),
        independent=first.independent or min(k for k in first.samples if k),
        lengths=None,
    )


def _from_counts(evaluation: Evaluation) -> TaskOutcomes | None:
    if evaluation.counts is None or evaluation.samples is None:
        return None
    return _described(evaluation, whole(evaluation.counts), whole(evaluation.samples), None)


def whole(numbers: list[int]) -> list[int]:
    """Return counts as whole numbers: JSON may write 4 as 4.0."""
    if isinstance(numbers, Column) and numbers.whole:
        return numbers
    return numbers if set(map(type, numbers)) <= {int} else [int(number) for number in numbers]


def _from_scores(
    evaluation: Evaluation, low: float | None, high: float | None
) -> TaskOutcomes | str:
    scores = evaluation.scores or []
    if low is None or high is None or high <= low:
        return "the metric's scale has no bounds, so its scores cannot be compared"
    width = Fraction(repr(float(high))) - Fraction(repr(float(low)))
    if scores and not low <= min(scores) <= max(scores) <= high:
        return f"a score lies outside the metric's scale, {low:g} to {high:g}"
    bottom = Fraction(repr(float(low)))
    # Of very many tasks few have a score of their own.
    rates = {score: (Fraction(repr(float(score))) - bottom) / width for score in set(scores)}
    denominator = _denominator(rates.values())
    right = {score: round(rate * denominator) for score, rate in rates.items()}
    counts = Column([right[score] for score in scores])
    return _described(evaluation, counts, Column([denominator] * len(counts)), 1)


def _denominator(rates: Iterable[Fraction]) -> int:
    """Return the least denominator up to 4096 that explains every rate, else a fine lattice."""
    common = 1
    for rate in set(rates):
        near = rate.limit_denominator(_LARGEST_DENOMINATOR)
        common = lcm(common, near.denominator)
        if abs(near - rate) > _SAME or common > _LARGEST_DENOMINATOR:
            return _FINE
    return common


def _described(
    evaluation: Evaluation, counts: list[int], samples: list[int], independent: int | None
) -> TaskOutcomes:
    clusters = evaluation.document.get("clusters")
    errored, unparsed = (_tally(evaluation, key) for key in ("errored", "unparsed"))
    return TaskOutcomes(
        ids=evaluation.task_ids,
        counts=counts,
        samples=samples,
        errored=errored,
        unparsed=unparsed,
        clusters=None if clusters is None else [str(cluster) for cluster in clusters],
        independent=independent,
        greedy=evaluation.greedy,
        lengths=evaluation.document.get("mean_tokens"),
    )


def _tally(evaluation: Evaluation, key: str) -> list[int] | None:
    counts = evaluation.document.get(key)
    return None if counts is None else whole(counts)


def _fault(found: TaskOutcomes, evaluation: Evaluation) -> str | None:
    import numpy as np

    tasks = len(found.counts)
    if not tasks or not any(found.samples):
        return "no task was evaluated"
    lists = (found.samples, found.ids, found.errored, found.unparsed, found.clusters)
    if any(values is not None and len(values) != tasks for values in lists):
        return "its lists have different lengths"
    if largest(found.samples) > _MOST_ANSWERS:
        return "a task has more answers than can be counted exactly"
    if found.ids is not None and len(evaluation.task_set) != tasks:
        return "duplicate task id"
    right, drawn = np.asarray(found.counts), np.asarray(found.samples)
    if (right > drawn).any():
        return "a task has more right answers than answers"
    if found.errored is not None and (right + np.asarray(found.errored) > drawn).any():
        return "right and errored answers of a task are more than its answers"
    return None


def _any_of(found: TaskOutcomes, attempts: int) -> TaskOutcomes | str:
    """Turn right answers into right subsets of ``attempts`` answers (Chen et al. 2021)."""
    drawn = [k for k in found.samples if k]
    if min(drawn) < attempts:
        return f"pass@{attempts} needs {attempts} answers per task, a task has {min(drawn)}"
    every = {k: comb(k, attempts) for k in set(found.samples)}
    counts = [
        every[k] - comb(k - c, attempts) if k else 0
        for c, k in zip(found.counts, found.samples, strict=True)
    ]
    return replace(
        found,
        counts=counts,
        samples=[every[k] if k else 0 for k in found.samples],
        errored=None,
        unparsed=None,
        independent=max(min(drawn) // attempts, 1),
    )
