"""The bootstrap over tasks without Monte Carlo."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from audit.errors import InsufficientData
from audit.stats.distributions import normal_cdf, normal_ppf
from audit.stats.exact import comparable, outcomes, split_samples, task_differences
from audit.stats.lattice import LARGEST_WORK, Lattice, coarser, lattice, reduced
from audit.stats.quantiles import check_level
from audit.stats.resampling import BootstrapDistribution, LatticePmf, resampled_sum

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def exact_bootstrap(
    differences: ArrayLike | Sequence[object],
    *,
    kind: str = "percentile",
    level: float = 0.95,
) -> BootstrapDistribution:
    """Return the bootstrap interval of a mean that infinitely many resamples would give.

    Parameters
    ----------
    differences : sequence of numbers, shape (tasks,)
        Per-task differences, on a lattice as `audit.stats.lattice.lattice` finds it; where that is
        too fine to count out, rounded to 1/4096.
    kind : {"percentile", "bca"}
    level : float
        Confidence level.

    Returns
    -------
    BootstrapDistribution

    Raises
    ------
    InsufficientData
        Fewer than two differences (reason ``"too-few-differences"``), or too many on
        too wide a range (``"too-large"``).
    ValueError
        A value is no finite number, or ``kind`` is unknown.

    Notes
    -----
    The distribution of the resampled sum is the transform of one draw to the power T. Quantiles
    mirror each other: inf{x: P(X <= x) >= a/2} and sup{x: P(X >= x) >= a/2}. For BCa z0 takes
    half the probability of the observed mean, and the acceleration is the skewness / 6 sqrt(T).
    One-seed data stay one-seed data: no bootstrap over tasks sees the training.

    References
    ----------
    Efron 1987 (BCa); Pagano & Tritchler 1983 (characteristic functions).
    """
    return _bootstrap(lattice(differences), kind, level)


def exact_bootstrap_counts(
    control: ArrayLike,
    treatment: ArrayLike,
    *,
    samples: Any,
    kind: str = "percentile",
    level: float = 0.95,
) -> BootstrapDistribution:
    """Return `exact_bootstrap` of the per-task differences of two arms' mean scores.

    Parameters
    ----------
    control, treatment : array of int, shape (tasks,) or (seeds, tasks)
        Right answers; the lattice is built from them, not from rates.
    samples : int, array of int, or tuple of two of these
        Answers drawn for each cell; a tuple gives (control, treatment).
    kind, level
        As for `exact_bootstrap`.

    Returns
    -------
    BootstrapDistribution
    """
    samples_c, samples_t = split_samples(samples)
    arm_c = outcomes(control, samples_c, "control")
    arm_t = outcomes(treatment, samples_t, "treatment")
    comparable(arm_c, arm_t)
    return _bootstrap(reduced(*task_differences(arm_c, arm_t)), kind, level)


def _bootstrap(points: Lattice, kind: str, level: float) -> BootstrapDistribution:
    check_level(level)
    if kind not in ("percentile", "bca"):
        raise ValueError(f"kind must be 'percentile' or 'bca', got {kind!r}")
    tasks = len(points.numerators)
    if tasks < 2:
        raise InsufficientData(
            f"a bootstrap needs at least 2 differences, got {tasks}", reason="too-few-differences"
        )
    if tasks * points.range > LARGEST_WORK:
        points = coarser(points)
    values = points.numerators
    if tasks * points.range > LARGEST_WORK:
        raise InsufficientData(
            f"{tasks} tasks on a lattice of {points.range} steps are too many to count out",
            reason="too-large",
        )
    pmf = resampled_sum([(1.0, values)], tasks)
    total, variance, accel = _shape(values)
    z0 = _bias(pmf, total)
    tail = (1 - level) / 2
    tails = (tail, tail) if kind == "percentile" else _bca_tails(z0, accel, tail)
    scale = tasks * points.denominator
    return BootstrapDistribution(
        low=pmf.lower_quantile(tails[0]) / scale,
        high=pmf.upper_quantile(tails[1]) / scale,
        level=level,
        kind=kind,
        method="rounded-lattice" if points.rounded else "exact",
        mean=total / scale,
        sd=sqrt(variance / (tasks * points.denominator**2)),
        p_le_zero=pmf.below(1),
        z0=z0,
        accel=accel,
        pmf=pmf.probabilities,
        start=pmf.start,
        denominator=scale,
    )


def _shape(values: Any) -> tuple[int, Fraction, float]:
    """Return the total, the variance (ddof 0) and the acceleration, from exact moments."""
    points, counts = np.unique(values, return_counts=True)
    pairs = [(int(v), int(c)) for v, c in zip(points, counts, strict=True)]
    n = sum(c for _, c in pairs)
    total = sum(c * v for v, c in pairs)
    # Deviations times n are whole numbers.
    second = sum(c * (n * v - total) ** 2 for v, c in pairs)
    third = sum(c * (n * v - total) ** 3 for v, c in pairs)
    accel = third / (6 * second * sqrt(second)) if second else 0.0
    return total, Fraction(second, n**3), accel


def _bias(pmf: LatticePmf, observed: int) -> float:
    middle = pmf.below(observed) + pmf.at(observed) / 2
    return normal_ppf(min(max(middle, 0.0), 1.0))


def _bca_tails(z0: float, accel: float, tail: float) -> tuple[float, float]:
    """Return the probability below the lower and above the upper end."""
    z = normal_ppf(tail)
    low, high = z0 + z, z0 - z
    return (
        normal_cdf(z0 + low / (1 - accel * low)),
        normal_cdf(-(z0 + high / (1 - accel * high))),
    )
