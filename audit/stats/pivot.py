"""From an exact variance and its degrees of freedom to an interval: the first float is here."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import sqrt

from audit.stats.quantiles import check_level, t_quantile, t_two_sided_p


@dataclass(frozen=True, slots=True)
class IntervalEstimate:
    """A two-sided interval for a difference of scores.

    Attributes
    ----------
    low, high : float
        Ends, score units.
    se : float
        Standard error.
    df : float
        Degrees of freedom of Student's t.
    p_value : float
        Two-sided, for a difference of 0.
    level : float
        Confidence level.
    """

    low: float
    high: float
    se: float
    df: float
    p_value: float
    level: float


@dataclass(frozen=True, slots=True)
class Pivot:
    """An exact difference, its variance and degrees of freedom, before a level is chosen."""

    delta: Fraction
    variance: Fraction
    df: Fraction

    @property
    def se(self) -> float:
        """Standard error."""
        return sqrt(self.variance)

    def half_width(self, level: float) -> float:
        """Return the half-width of the interval at that level."""
        return t_quantile(float(self.df), level) * self.se

    @property
    def p_value(self) -> float:
        """Two-sided p-value; a variance of 0 leaves no doubt either way."""
        if self.delta == 0:
            return 1.0
        if self.variance == 0:
            return 0.0
        return t_two_sided_p(float(self.delta) / self.se, float(self.df))


def interval(pivot: Pivot, level: float) -> IntervalEstimate:
    """Return delta -/+ t sqrt(variance)."""
    half = pivot.half_width(check_level(level))
    return _around(pivot, half, pivot.p_value, level)


def hulled_interval(fixed: Pivot, raw: Pivot, level: float) -> IntervalEstimate:
    """Return the wider of two intervals, with the larger p-value.

    A luckily small seed variance raises the degrees of freedom of the random-task interval and
    could make a claim about new tasks more certain than the same claim about these.
    """
    half_fixed, half_raw = fixed.half_width(check_level(level)), raw.half_width(level)
    binding = raw if half_raw >= half_fixed else fixed
    p_value = max(fixed.p_value, raw.p_value)
    return _around(binding, max(half_fixed, half_raw), p_value, level)


def _around(pivot: Pivot, half: float, p_value: float, level: float) -> IntervalEstimate:
    delta = float(pivot.delta)
    return IntervalEstimate(
        low=delta - half,
        high=delta + half,
        se=pivot.se,
        df=float(pivot.df),
        p_value=p_value,
        level=level,
    )
