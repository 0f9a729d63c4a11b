"""Seeds that both arms share although no pairing was declared: shown, and never decisive."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from math import sqrt
from typing import Generic, TypeVar

from audit.stats.decimals import fractions
from audit.stats.paired import paired_t, seed_correlation
from audit.stats.pivot import IntervalEstimate
from audit.stats.quantiles import t_quantile
from audit.stats.records import PairedT

# Fewer pairs say nothing about a correlation.
FEWEST_PAIRS = 4
_AGAINST = -0.3

Label = TypeVar("Label", bound=Hashable)


@dataclass(frozen=True, slots=True)
class SharedSeeds(Generic[Label]):
    """What the seeds that both arms have in common show; see `shared_seeds`.

    Attributes
    ----------
    seeds : tuple
        Seeds of both arms, in the control's order.
    control_only, treatment_only : tuple
        Seeds without a partner.
    correlation : float or None
        Pearson's r of the paired run means; None below two pairs or where an arm does not vary.
    critical : float or None
        Value below which r is negative at a one-sided 10%; None below three pairs.
    interval : PairedT, IntervalEstimate or None
        Of the paired differences; None below two pairs.
    agrees : bool or None
        Whether that interval lies on the same side of 0 as the unpaired one; None below four
        pairs, and where the unpaired interval includes 0.
    """

    seeds: tuple[Label, ...]
    control_only: tuple[Label, ...]
    treatment_only: tuple[Label, ...]
    correlation: float | None
    critical: float | None
    interval: PairedT | IntervalEstimate | None
    agrees: bool | None

    @property
    def pairs(self) -> int:
        """Number of shared seeds."""
        return len(self.seeds)

    @property
    def warns(self) -> bool:
        """Whether a reader should look: four pairs or more disagree, or have r below -0.3."""
        against = self.correlation is not None and self.correlation < _AGAINST
        return self.pairs >= FEWEST_PAIRS and (against or self.agrees is False)

    @property
    def runs_against(self) -> bool:
        """Whether the correlation is negative at a one-sided 10%."""
        if self.correlation is None or self.critical is None:
            return False
        return self.correlation < self.critical


def shared_seeds(
    control: Mapping[Label, object],
    treatment: Mapping[Label, object],
    *,
    unpaired: IntervalEstimate,
    paired: IntervalEstimate | None = None,
) -> SharedSeeds[Label]:
    """Return what the seeds show that both arms share.

    Parameters
    ----------
    control, treatment : mapping of seed to score
        Run means, score units.
    unpaired : IntervalEstimate
        The interval that decides, at its own level: that of a look in a plan.
    paired : IntervalEstimate, optional
        Interval of the paired analysis of the shared runs at the same level, where outcomes per
        task are known; by default Student's on the differences of the run means.

    Returns
    -------
    SharedSeeds

    Notes
    -----
    Two arms trained independently from one seed have no known reason to run against each other,
    and given normal seeds a negative r says nothing about the difference: it is shown, with the
    paired interval, and the verdict stays the unpaired one.
    """
    seeds = tuple(seed for seed in control if seed in treatment)
    correlation: float | None = None
    interval: PairedT | IntervalEstimate | None = paired
    if len(seeds) >= 2:
        before, after = [control[s] for s in seeds], [treatment[s] for s in seeds]
        correlation = seed_correlation(before, after)
        if interval is None:
            interval = _differences(before, after, unpaired.level)
    side = _side(unpaired)
    agrees = None
    if len(seeds) >= FEWEST_PAIRS and side != 0 and interval is not None:
        agrees = _side(interval) == side
    return SharedSeeds(
        seeds=seeds,
        control_only=tuple(seed for seed in control if seed not in treatment),
        treatment_only=tuple(seed for seed in treatment if seed not in control),
        correlation=correlation,
        critical=critical_correlation(len(seeds)) if len(seeds) > 2 else None,
        interval=interval,
        agrees=agrees,
    )


def critical_correlation(pairs: int, *, one_sided: float = 0.1) -> float:
    """Return the value below which a correlation is negative at a one-sided error rate.

    Parameters
    ----------
    pairs : int
        At least 3.
    one_sided : float
        Error rate.

    Notes
    -----
    q / sqrt(n - 2 + q^2), q the lower quantile of Student's t with n - 2 degrees of freedom.
    """
    if pairs < 3:
        raise ValueError(f"a correlation is judged from 3 pairs, got {pairs}")
    q = t_quantile(pairs - 2, 1 - 2 * one_sided)
    return -q / sqrt(pairs - 2 + q * q)


def _differences(before: list[object], after: list[object], level: float) -> PairedT:
    a, b = fractions(before, "control mean"), fractions(after, "treatment mean")
    return paired_t([y - x for x, y in zip(a, b, strict=True)], level=level)


def _side(interval: IntervalEstimate | PairedT) -> int:
    """1 above 0, -1 below, 0 where 0 is included."""
    return (interval.low > 0) - (interval.high < 0)
