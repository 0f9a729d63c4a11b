"""The bootstrap over seeds and tasks without Monte Carlo, up to the sizes it can be counted out."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import factorial, gcd, lcm, prod, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from audit.errors import InsufficientData
from audit.stats.exact import (
    IntMatrix,
    Outcomes,
    comparable,
    fits,
    moments,
    outcomes,
    replicated,
    split_samples,
    task_differences,
)
from audit.stats.exact import variance as integer_variance
from audit.stats.lattice import LARGEST_WORK
from audit.stats.quantiles import check_level
from audit.stats.resampling import BootstrapDistribution, resampled_sum

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

LARGEST_PAIRED, LARGEST_UNPAIRED = 6, 4


def two_level_bootstrap(
    control: ArrayLike,
    treatment: ArrayLike,
    *,
    samples: Any,
    paired: bool = False,
    level: float = 0.95,
) -> BootstrapDistribution:
    """Return the percentile interval of resampled seeds crossed with resampled tasks.

    One resample of tasks is shared by all seeds of both arms. A description, never the verdict:
    it shrinks the variance between seeds by (S - 1) / S and takes normal for t quantiles.

    Parameters
    ----------
    control, treatment : array of int, shape (seeds, tasks)
        Right answers.
    samples : int, array of int, or tuple of two of these
        Answers drawn for each cell; a tuple gives (control, treatment).
    paired : bool
        Row i of both arms shares its seed and is drawn together.
    level : float
        Confidence level.

    Returns
    -------
    BootstrapDistribution

    Raises
    ------
    InsufficientData
        More than 6 paired or 4 unpaired seeds, or a lattice too fine (reason ``"too-large"``;
        `two_level_sd` still applies); one seed, or one task.
    ValueError
        Counts are not whole numbers between 0 and samples, or shapes do not match.

    Notes
    -----
    Summed over the compositions of S seeds into draws, of which there are C(2S - 1, S) an arm,
    with their multinomial weights: one transform each, one inverse transform for all.

    References
    ----------
    Owen 2007 (crossed resampling); McCullagh 2000.
    """
    check_level(level)
    arm_c, arm_t = _arms(control, treatment, samples, paired)
    largest = LARGEST_PAIRED if paired else LARGEST_UNPAIRED
    if max(arm_c.seeds, arm_t.seeds) > largest:
        raise InsufficientData(
            f"two levels can be counted out to {largest} seeds, "
            f"got {max(arm_c.seeds, arm_t.seeds)}",
            reason="too-large",
        )
    populations = _paired(arm_c, arm_t) if paired else _unpaired(arm_c, arm_t)
    weighted, denominator = _in_lowest_terms(*populations)
    span = max(int(v.max()) for _, v in weighted) - min(int(v.min()) for _, v in weighted)
    if arm_c.tasks * span > LARGEST_WORK:
        raise InsufficientData(
            f"{arm_c.tasks} tasks on a lattice of {span} steps are too many to count out",
            reason="too-large",
        )
    pmf = resampled_sum([(w, v.astype(np.int64)) for w, v in weighted], arm_c.tasks)
    differences, common = task_differences(arm_c, arm_t)
    tail, scale = (1 - level) / 2, arm_c.tasks * denominator
    return BootstrapDistribution(
        low=pmf.lower_quantile(tail) / scale,
        high=pmf.upper_quantile(tail) / scale,
        level=level,
        kind="percentile",
        method="exact",
        mean=float(Fraction(int(differences.sum()), arm_c.tasks * common)),
        sd=_sd(arm_c, arm_t, paired),
        p_le_zero=pmf.below(1),
        z0=0.0,
        accel=0.0,
        pmf=pmf.probabilities,
        start=pmf.start,
        denominator=scale,
    )


def two_level_sd(
    control: ArrayLike, treatment: ArrayLike, *, samples: Any, paired: bool = False
) -> float:
    """Return the standard deviation of `two_level_bootstrap` at any number of seeds.

    Parameters are those of `two_level_bootstrap`.

    Notes
    -----
    sqrt(var_s(D_s.) / S + var_t(D_.t) / T + mean(R^2) / (S T)) with ddof 0 and R what rows and
    columns leave of D; unpaired, the first and the last term are sums over the arms.
    """
    return _sd(*_arms(control, treatment, samples, paired), paired)


def _arms(
    control: ArrayLike, treatment: ArrayLike, samples: Any, paired: bool
) -> tuple[Outcomes, Outcomes]:
    samples_c, samples_t = split_samples(samples)
    arm_c = outcomes(control, samples_c, "control")
    arm_t = outcomes(treatment, samples_t, "treatment")
    comparable(arm_c, arm_t)
    replicated(arm_c, "control")
    replicated(arm_t, "treatment")
    if paired and arm_c.seeds != arm_t.seeds:
        raise ValueError(f"paired arms need equal seeds, got {arm_c.seeds} and {arm_t.seeds}")
    return arm_c, arm_t


def _compositions(total: int, parts: int) -> Iterator[tuple[int, ...]]:
    if parts == 1:
        yield (total,)
        return
    for first in range(total + 1):
        for rest in _compositions(total - first, parts - 1):
            yield (first, *rest)


def _draws(seeds: int) -> list[tuple[float, Any]]:
    """Return how often each seed may be drawn, with the probability of each composition."""
    every = factorial(seeds)
    return [
        (every / prod(factorial(n) for n in c) / seeds**seeds, np.array(c))
        for c in _compositions(seeds, seeds)
    ]


def _differences(control: Outcomes, treatment: Outcomes) -> tuple[Any, int]:
    common = lcm(control.denominator, treatment.denominator)
    bound = control.seeds * control.tasks * (2 * common) ** 2 * control.seeds
    upper = fits(treatment.right, bound) * (common // treatment.denominator)
    return upper - fits(control.right, bound) * (common // control.denominator), common


def _paired(control: Outcomes, treatment: Outcomes) -> tuple[list[tuple[float, Any]], int]:
    cells, common = _differences(control, treatment)
    weighted = [(weight, n @ cells) for weight, n in _draws(control.seeds)]
    return weighted, control.seeds * common


def _unpaired(control: Outcomes, treatment: Outcomes) -> tuple[list[tuple[float, Any]], int]:
    scale_c, scale_t = control.seeds * control.denominator, treatment.seeds * treatment.denominator
    common = lcm(scale_c, scale_t)
    bound = common * 2
    lower = fits(control.right, bound) * (common // scale_c)
    upper = fits(treatment.right, bound) * (common // scale_t)
    below = [(weight, n @ lower) for weight, n in _draws(control.seeds)]
    above = [(weight, n @ upper) for weight, n in _draws(treatment.seeds)]
    return [(w * v, high - low) for w, high in above for v, low in below], common


def _in_lowest_terms(
    weighted: list[tuple[float, Any]], denominator: int
) -> tuple[list[tuple[float, Any]], int]:
    divisor = denominator
    for _, values in weighted:
        divisor = gcd(divisor, int(np.gcd.reduce(values)))
        if divisor == 1:
            break
    return [(w, v // divisor) for w, v in weighted], denominator // divisor


def _sd(control: Outcomes, treatment: Outcomes, paired: bool) -> float:
    tasks = control.tasks
    over_tasks = integer_variance(*task_differences(control, treatment)) * (tasks - 1) / tasks
    if paired:
        cells, common = _differences(control, treatment)
        own = _seed_terms(cells, common)
    else:
        own = sum((_seed_terms(a.right, a.denominator) for a in (control, treatment)), Fraction(0))
    return sqrt(own + over_tasks / tasks)


def _seed_terms(cells: IntMatrix, denominator: int) -> Fraction:
    """Return var_s / S + mean(R^2) / (S T), both with ddof 0."""
    seeds, tasks = int(cells.shape[0]), int(cells.shape[1])
    own = moments(cells, denominator, denominator)
    between = own.s2 * (seeds - 1) / seeds / seeds
    crossed = own.q * (seeds - 1) * (tasks - 1) / (seeds * tasks) ** 2
    return between + crossed
