"""Whether a study that was run again came to the same difference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from audit.analysis.analysis import analyse
from audit.analysis.comparisons import Comparison
from audit.analysis.numbers import Interval
from audit.analysis.rounds import compare_rounds
from audit.claims import BASE
from audit.errors import InsufficientData, UsageError
from audit.policy import Policy
from audit.results import Results

if TYPE_CHECKING:
    from audit.stats import Replication


@dataclass(frozen=True, slots=True)
class Agreement:
    """Two runs of one study side by side.

    ``deltas`` and ``intervals`` are those of the first and the second file; ``correlation`` is
    that of the differences by seed, None below three shared seeds.
    """

    names: tuple[str, str]
    subject: str
    deltas: tuple[float, float]
    intervals: tuple[Interval, Interval]
    replication: Replication
    shared_seeds: int
    correlation: float | None

    @property
    def conflict(self) -> bool:
        """Whether they differ by more than their intervals allow."""
        return self.replication.p_value < 1 - self.replication.level


def agreement_of(first: Results, second: Results, metric: str | None, policy: Policy) -> Agreement:
    """Compare the same difference of two files.

    Parameters
    ----------
    first, second : Results
    metric : str, optional
        Name of the metric; else the first that both have.
    policy : Policy

    Raises
    ------
    UsageError
        The files share no comparison, or one has no interval.
    """
    one, other = _shared(first, second, metric, policy)
    intervals = (_interval(one, first), _interval(other, second))
    deltas = (one.delta or 0.0, other.delta or 0.0)
    level = intervals[0].level
    ends = [_ends(d, i, level) for d, i in zip(deltas, intervals, strict=True)]
    try:
        found = compare_rounds(deltas, ends, level)
    except ValueError as error:
        raise UsageError(f"cannot be compared: {error}") from None
    shared, correlation = _by_seed(one, other)
    return Agreement(
        names=(first.name, second.name),
        subject=f"{one.arm} over {one.against}, {one.metric}",
        deltas=deltas,
        intervals=intervals,
        replication=found,
        shared_seeds=shared,
        correlation=correlation,
    )


def _shared(
    first: Results, second: Results, metric: str | None, policy: Policy
) -> tuple[Comparison, Comparison]:
    theirs = [c for c in analyse(second, policy=policy).comparisons if metric in (None, c.metric)]
    for own in analyse(first, policy=policy).comparisons:
        if own.against == BASE or metric not in (None, own.metric):
            continue
        for other in theirs:
            if (own.metric, own.benchmark, own.arm, own.against) == (
                other.metric,
                other.benchmark,
                other.arm,
                other.against,
            ):
                return own, other
    names = f"{first.name} and {second.name}"
    raise UsageError(f"{names} share no comparison: metric, benchmark and arms must be the same")


def _interval(comparison: Comparison, results: Results) -> Interval:
    """Return the deciding interval, else that over tasks or as printed."""
    found = comparison.deciding
    interval = found if isinstance(found, Interval) else comparison.description.one_seed
    if interval is None or not interval.se or comparison.delta is None:
        raise UsageError(
            f"no interval for {comparison.arm} over {comparison.against}: "
            f"{comparison.verdict.line or 'no outcomes per task and none printed'}",
            path=results.name,
        )
    return interval


def _ends(delta: float, interval: Interval, level: float) -> tuple[float, float]:
    from audit.stats.quantiles import normal_quantile

    half = normal_quantile(level) * (interval.se or 0.0)
    return delta - half, delta + half


def _by_seed(one: Comparison, other: Comparison) -> tuple[int, float | None]:
    from audit.stats import seed_correlation

    own = {pair.seed: pair.delta for pair in one.description.pairs}
    again = {pair.seed: pair.delta for pair in other.description.pairs}
    shared = sorted(own.keys() & again.keys())
    if len(shared) < 3:
        return len(shared), None
    try:
        found = seed_correlation([own[s] for s in shared], [again[s] for s in shared])
    except InsufficientData:
        found = None
    return len(shared), found
