"""One statistical comparison in the units of its metric."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from audit.analysis.measures import Measure
from audit.analysis.settings import Settings
from audit.analysis.verdict import Decision, decide
from audit.stats.records import BaseDelta, IntervalEstimate, Pivot, ScoreDelta, SeedDelta

if TYPE_CHECKING:
    from audit.stats import AverageDelta


def has_width(low: float, high: float) -> bool:
    """Whether printed ends make an interval: in order, apart, of a size to compute with."""
    return 1e-9 < high - low < 1e9 and abs(low) < 1e9


def is_level(level: float) -> bool:
    """Whether a printed confidence level is one to compute with."""
    return 0.01 <= level <= 1 - 1e-9


@dataclass(frozen=True, slots=True)
class Interval:
    """An interval for a difference, in the metric's units.

    ``about`` says of what: ``tasks`` (new tasks), ``benchmark`` (these tasks, new runs) or
    ``these-runs`` (new tasks, but these very models: no training variance in it). ``method`` is
    ``welch-hillis``, ``paired-hillis``, ``floored-welch``, ``base``, ``task-t``, ``paired-t`` or
    ``printed``.
    """

    low: float
    high: float
    level: float
    about: str
    method: str
    se: float | None = None
    df: float | None = None
    p_value: float | None = None


@dataclass(frozen=True, slots=True)
class Reading:
    """How answers and tasks entered a test.

    Attributes
    ----------
    errors : str
        Errored answers counted as ``wrong``, ``dropped``, or ``worst for treatment`` (``control``).
    grouping : str
        ``tasks`` (each on its own), ``clusters`` (declared) or ``stems`` (read from task ids).
    missing : str
        ``none``, ``dropped``, or filled ``against treatment`` (``control``).
    """

    errors: str = "wrong"
    grouping: str = "tasks"
    missing: str = "none"


@dataclass(frozen=True, slots=True)
class Numbers:
    """The result of one of the tests, with the scale of the metric.

    ``result`` is on [0, 1]; ``tasks`` is the number of independent tasks (effective clusters where
    tasks are grouped), of answers where only scores are known, None where not even those.
    """

    result: SeedDelta | BaseDelta | ScoreDelta | AverageDelta
    measure: Measure
    tasks: int | None
    fewest_runs: int
    reading: Reading = Reading()

    @property
    def missing(self) -> str:
        """How missing tasks entered."""
        return self.reading.missing

    @property
    def span(self) -> float:
        """Width of the metric's scale."""
        return self.measure.span or 1.0

    @property
    def delta(self) -> float:
        """Treatment minus control."""
        return self.result.delta * self.span

    @property
    def method(self) -> str:
        """Name of the test."""
        if isinstance(self.result, ScoreDelta):
            return "floored-welch"
        if isinstance(self.result, BaseDelta):
            return "base"
        return "paired-hillis" if self.result.paired else "welch-hillis"

    def interval(self, about: str, level: float) -> Interval | None:
        """Return the interval about ``tasks`` or ``benchmark``; None where not measured."""
        estimate = self.estimate(about, level)
        if estimate is None:
            return None
        span = self.span
        return Interval(
            low=estimate.low * span,
            high=estimate.high * span,
            level=level,
            about=about,
            method=self.method,
            se=estimate.se * span,
            df=estimate.df,
            p_value=estimate.p_value,
        )

    def estimate(self, about: str, level: float) -> IntervalEstimate | None:
        """Return the same on a scale of [0, 1]; None where not measured."""
        result = self.result
        if result.fixed.level != level:
            result = result.at(level)
        if about == "benchmark":
            return result.fixed
        return None if isinstance(result, ScoreDelta) else result.random

    def about(self, settings: Settings) -> str:
        """Return what the deciding interval is about: a file of scores tells of its tasks only."""
        return "benchmark" if isinstance(self.result, ScoreDelta) else settings.target

    def improvement(self, about: str, level: float) -> tuple[float, float]:
        """Return the interval with its sign turned so that above 0 is better, metric units."""
        estimate = self.estimate(about, level)
        assert estimate is not None  # callers ask for what `about` returned
        low, high = estimate.low * self.span, estimate.high * self.span
        return (low, high) if self.measure.higher_is_better else (-high, -low)

    def decision(self, settings: Settings) -> Decision:
        """Return the word these numbers carry."""
        about = self.about(settings)
        return decide(
            self.improvement(about, settings.level),
            self.improvement(about, settings.equivalence_level),
            settings=settings,
            tasks=self.tasks,
            fewest_runs=self.fewest_runs,
            room=self.has_room(settings.margin),
            span=self.span,
        )

    def has_room(self, margin: float) -> bool:
        """Whether a difference of ``margin`` either way would lie on the scale of the metric.

        Where nothing is ever right, or all is, no loss could have been seen and none is excluded.
        """
        from audit.stats.scales import has_room

        result = self.result
        mean = result.base_mean if isinstance(result, BaseDelta) else result.control.mean
        return has_room(mean, margin / self.span)

    def two_sided_p_value(self, settings: Settings, difference: float = 0.0) -> float:
        """Return the p-value of a true difference, about what the deciding interval is about.

        ``difference`` is treatment minus control in the metric's units.
        """
        null = Fraction(repr(difference / self.span))
        return max(_moved(pivot, null).p_value for pivot in self._pivots(self.about(settings)))

    def p_value(self, about: str, direction: str, beyond: float = 0.0) -> float:
        """Return the two-sided p-value of a gain or loss of ``beyond``, 1 on its wrong side."""
        sign = 1 if (direction == "gain") == self.measure.higher_is_better else -1
        null = Fraction(repr(beyond / self.span))
        pivots = self._pivots(about)
        if any(sign * pivot.delta <= null for pivot in pivots):
            return 1.0
        return max(_moved(pivot, sign * null).p_value for pivot in pivots)

    def equivalence_p_value(self, about: str, margin: float) -> float:
        """Return the larger of the two one-sided p-values of a difference of ``margin``."""
        bound = Fraction(repr(margin / self.span))
        pivots = self._pivots(about)
        if any(abs(pivot.delta) >= bound for pivot in pivots):
            return 1.0
        return max(
            _moved(pivot, bound if pivot.delta >= 0 else -bound).p_value / 2 for pivot in pivots
        )

    def non_inferiority_p_value(self, about: str, margin: float) -> float:
        """Return the one-sided p-value of a loss of ``margin`` or more."""
        bound = Fraction(repr(margin / self.span))
        sign = 1 if self.measure.higher_is_better else -1
        pivots = self._pivots(about)
        if any(sign * pivot.delta + bound <= 0 for pivot in pivots):
            return 1.0
        return max(_moved(pivot, -sign * bound).p_value / 2 for pivot in pivots)

    def _pivots(self, about: str) -> list[Pivot]:
        result = self.result
        if about == "benchmark" or isinstance(result, ScoreDelta):
            return [result.fixed_pivot]
        return [result.fixed_pivot, result.raw_pivot]


def _moved(pivot: Pivot, null: Fraction) -> Pivot:
    return replace(pivot, delta=pivot.delta - null)
