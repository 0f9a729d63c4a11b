"""One decision from primary claims and guardrails: non-inferiority, and ship, discuss or don't."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING

from audit.stats.decimals import fractions
from audit.stats.multiple import holm
from audit.stats.pivot import hulled_interval, interval
from audit.stats.quantiles import check_level, t_upper_tail
from audit.stats.records import ScoreDelta

if TYPE_CHECKING:
    from audit.stats.averages import AverageDelta
    from audit.stats.pivot import Pivot
    from audit.stats.records import BaseDelta, SeedDelta

SHIP, DISCUSS, DONT = "ship", "discuss", "don't"


@dataclass(frozen=True, slots=True)
class NonInferiority:
    """Whether a metric is no worse than by a margin; see `non_inferiority`.

    Attributes
    ----------
    low, high : float
        The interval with its sign turned so that above 0 is better.
    margin : float
    p_value : float
        One-sided, for a loss of the margin.
    """

    low: float
    high: float
    margin: float
    p_value: float

    @property
    def holds(self) -> bool:
        """The interval lies above minus the margin."""
        return self.low > -self.margin

    @property
    def worse(self) -> bool:
        """The interval lies below minus the margin."""
        return self.high < -self.margin

    @property
    def loss_within_margin(self) -> bool:
        """It holds, and the interval lies below 0: a loss that the margin allows."""
        return self.holds and self.high < 0


@dataclass(frozen=True, slots=True)
class ShipDecision:
    """What primary claims and guardrails come to; see `ship_decision`.

    Attributes
    ----------
    word : str
        ``"ship"``, ``"discuss"`` or ``"don't"``.
    gains, losses : tuple of int
        Places of the primary claims that are gains after Holm, and that are losses.
    worse : tuple of int
        Places of the guardrails that are worse than their margin.
    not_shown : tuple of int
        Places of the guardrails neither worse nor non-inferior.
    refused_primary, refused_guardrails : tuple of int
    """

    word: str
    gains: tuple[int, ...]
    losses: tuple[int, ...]
    worse: tuple[int, ...]
    not_shown: tuple[int, ...]
    refused_primary: tuple[int, ...]
    refused_guardrails: tuple[int, ...]


def non_inferiority(
    result: SeedDelta | BaseDelta | AverageDelta | ScoreDelta,
    margin: object,
    *,
    higher_is_better: bool = True,
    level: float = 0.95,
) -> NonInferiority:
    """Return whether the treatment is worse by less than a margin.

    Parameters
    ----------
    result : SeedDelta, BaseDelta, AverageDelta or ScoreDelta
        Judged for new tasks, a ScoreDelta for its own.
    margin : number
        Above 0, on the scale of ``result``.
    higher_is_better : bool
    level : float
        Confidence level of the two-sided interval.

    Returns
    -------
    NonInferiority

    Raises
    ------
    ValueError
        The margin is not above 0.

    Notes
    -----
    p = max over the intervals for new tasks and for these of P(t > (delta + margin) / se).
    """
    (width,) = fractions([margin], "margin")
    if width <= 0:
        raise ValueError(f"margin must be above 0, got {margin}")
    check_level(level)
    if isinstance(result, ScoreDelta):
        pivots, ends = [result.fixed_pivot], interval(result.fixed_pivot, level)
    else:
        pivots = [result.fixed_pivot, result.raw_pivot]
        ends = hulled_interval(result.fixed_pivot, result.raw_pivot, level)
    sign = 1 if higher_is_better else -1

    def tail(pivot: Pivot) -> float:
        above = sign * pivot.delta + width
        if pivot.variance == 0:
            return 0.0 if above > 0 else 1.0
        return t_upper_tail(float(above) / sqrt(pivot.variance), float(pivot.df))

    low, high = (ends.low, ends.high) if higher_is_better else (-ends.high, -ends.low)
    return NonInferiority(low, high, float(width), max(map(tail, pivots)))


def ship_decision(
    primary: Sequence[tuple[float, float] | None],
    guardrails: Sequence[tuple[float, float, float] | None],
    *,
    p_values: Sequence[float] | None = None,
    level: float = 0.95,
) -> ShipDecision:
    """Return ship, discuss or don't.

    Parameters
    ----------
    primary : sequence of (low, high) or None
        Interval of each primary claim, above 0 better; None where the claim is refused.
    guardrails : sequence of (low, high, margin) or None
        The same of each guardrail with its margin.
    p_values : sequence of float, optional
        Two-sided, for Holm over the primary claims; a refused one counts as 1. Needed for two
        primary claims or more.
    level : float
        Confidence level of the intervals.

    Returns
    -------
    ShipDecision

    Raises
    ------
    ValueError
        Several primary claims without a p-value for each.

    Notes
    -----
    ``ship`` needs a primary gain after Holm, every guardrail non-inferior, and nothing refused;
    ``don't`` a primary loss or a guardrail worse than its margin. Shipping needs all guardrails
    at once (an intersection-union test), so they need no correction.

    References
    ----------
    Holm 1979; Berger 1982, Technometrics 24:295.
    """
    if p_values is None and len(primary) < 2:
        p_values = [0.0] * len(primary)
    if p_values is None or len(p_values) != len(primary):
        raise ValueError("every one of several primary claims needs a p-value")
    given = [1.0 if ends is None else p for ends, p in zip(primary, p_values, strict=True)]
    kept = holm(given, level=level).rejected if given else ()
    gains = [i for i, ends in enumerate(primary) if ends and ends[0] > 0 and kept[i]]
    losses = [i for i, ends in enumerate(primary) if ends and ends[1] < 0]
    judged = [(i, NonInferiority(*g, p_value=1.0)) for i, g in enumerate(guardrails) if g]
    worse = [i for i, guard in judged if guard.worse]
    not_shown = [i for i, guard in judged if not guard.worse and not guard.holds]
    refused = [i for i, ends in enumerate(primary) if ends is None]
    unguarded = [i for i, guard in enumerate(guardrails) if guard is None]
    word = DISCUSS
    if losses or worse:
        word = DONT
    elif gains and not (not_shown or refused or unguarded):
        word = SHIP
    places = (gains, losses, worse, not_shown, refused, unguarded)
    return ShipDecision(word, *map(tuple, places))
