"""Power of the verdict's own rule, and the seeds, tasks or effect that reach a wanted power.

All figures are on a scale of [0, 1]: divide effects and standard deviations by the width of the
metric's scale first (`Components.on_unit_scale`), and multiply effects found by it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from math import ceil, log
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.polynomial import chebyshev

from audit.errors import InsufficientData
from audit.stats.delta import equal_variance_df
from audit.stats.distributions import (
    chi2_ppf,
    normal_cdf,
    normal_cdf_grid,
    normal_ppf,
    t_two_sided_ppf,
)
from audit.stats.quantiles import check_level
from audit.stats.records import Components

if TYPE_CHECKING:
    from numpy.typing import NDArray

    FloatArray = NDArray[np.float64]

# A level, or the level at which a study with that many seeds per arm will be judged.
Level: TypeAlias = float | Callable[[int], float]

# Fewer seeds per arm carry no claim.
FEWEST_SEEDS = 3
_QUANTILES = 60
# The logarithm of a t quantile is smooth in 1 / df: between df and twice as many a polynomial of
# this degree is off by less than 1e-14.
_DEGREE = 20
_LAST_OCTAVE = 11


@dataclass(frozen=True, slots=True)
class _Design:
    """Half-widths the rule may come to, how often each, and the true standard error."""

    half_widths: FloatArray
    times: FloatArray
    se: float

    def mean(self, values: FloatArray) -> float:
        """Return the mean of what depends on the half-width."""
        return float(values @ self.times / self.times.sum())


def power(
    effect: float,
    *,
    components: Components,
    seeds: int | tuple[int, int],
    tasks: int,
    samples: int,
    level: float = 0.95,
) -> float:
    """Return the probability that the random-task interval excludes 0.

    Parameters
    ----------
    effect : float
        True difference.
    components : Components
    seeds : int, or tuple of two
        Training runs of each arm, at least 2.
    tasks, samples : int
        Tasks, and answers drawn for each by each run.
    level : float
        Confidence level of the interval.

    Returns
    -------
    float

    Raises
    ------
    InsufficientData
        An arm has one run (reason ``"one-seed"``).
    ValueError
        A component is negative, or tasks or samples are too few.

    Notes
    -----
    The rule of `seed_delta` at the 60 x 60 mid-quantiles of the arms' chi-square variances,
    averaged; the variance from the choice of tasks counts as known. No random number.
    """
    design = _design(components, _pair(seeds), tasks, samples, level)
    return _power(effect, design)


def minimum_detectable_effect(
    *,
    components: Components,
    seeds: int | tuple[int, int],
    tasks: int,
    samples: int,
    target_power: float = 0.8,
    level: float = 0.95,
) -> float | None:
    """Return the smallest effect in (0, 1] seen with that power.

    Parameters are those of `power`. None: no effect on this scale would be seen.
    """
    design = _design(components, _pair(seeds), tasks, samples, level)
    if _power(1.0, design) < target_power:
        return None
    low, high = 0.0, 1.0
    while high - low > 1e-12:
        middle = (low + high) / 2
        low, high = (middle, high) if _power(middle, design) < target_power else (low, middle)
    return high


def seeds_needed(
    effect: float,
    *,
    components: Components,
    tasks: int,
    samples: int,
    target_power: float = 0.8,
    level: Level = 0.95,
    least: int = FEWEST_SEEDS,
    limit: int = 1000,
) -> int | None:
    """Return the fewest seeds per arm, from ``least``, that see ``effect`` with that power.

    None where ``limit`` seeds do not. ``level`` may be a function of the seeds per arm: the level
    at which a look of a plan, or a later look without one, will be judged. Other parameters are
    those of `power`.
    """

    def reached(seeds: int) -> bool:
        design = _design(components, (seeds, seeds), tasks, samples, _level_at(level, seeds))
        return _power(effect, design) >= target_power

    reach = _reach(_level_at(level, limit), target_power)

    def near(seeds: int) -> bool:
        return reach * _standard_error(components, (seeds, seeds), tasks, samples) <= abs(effect)

    return _smallest(reached, least, limit, near)


def gain_probability(
    effect: float,
    *,
    components: Components,
    seeds: int | tuple[int, int],
    tasks: int,
    samples: int,
    level: float = 0.95,
) -> float:
    """Return the probability that the random-task interval lies above 0.

    Parameters are those of `power`, which counts an interval below 0 as well.
    """
    design = _design(components, _pair(seeds), tasks, samples, level)
    if design.se == 0:
        return float(effect > 0)
    return design.mean(normal_cdf_grid((effect - design.half_widths) / design.se))


def standard_error(
    *, components: Components, seeds: int | tuple[int, int], tasks: int, samples: int
) -> float:
    """Return the true standard error of the difference; parameters are those of `power`."""
    return _standard_error(components, _pair(seeds), tasks, samples)


def half_width_quantiles(
    number: int,
    *,
    components: Components,
    seeds: tuple[int, int],
    tasks: int,
    samples: int,
    level: float = 0.95,
) -> FloatArray:
    """Return so many mid-quantiles of the half-width that the interval of a study will have.

    Other parameters are those of `power`.
    """
    design = _design(components, seeds, tasks, samples, level)
    found = np.repeat(design.half_widths, design.times.astype(int))
    quantiles: FloatArray = np.quantile(found, (np.arange(number) + 0.5) / number)
    return quantiles


def equivalence_power(
    margin: float,
    *,
    effect: float = 0.0,
    components: Components,
    seeds: int | tuple[int, int],
    tasks: int,
    samples: int,
    level: float = 0.95,
) -> float:
    """Return the probability that two one-sided tests show the arms to be within a margin.

    Parameters
    ----------
    margin : float
        Largest difference that counts as none, above 0.
    effect : float
        True difference.
    level : float
        One minus the error rate of each one-sided test; the interval within the margin is the
        one at 2 level - 1.

    Returns
    -------
    float

    Notes
    -----
    Mean of max(0, Phi((m - d - h) / se) - Phi((-m - d + h) / se)) over the half-widths h of
    `power`, whose other parameters these are. Schuirmann 1987.
    """
    design = _design(components, _pair(seeds), tasks, samples, 2 * level - 1)
    return _equivalence(margin, effect, design)


def equivalence_seeds_needed(
    margin: float,
    *,
    effect: float = 0.0,
    components: Components,
    tasks: int,
    samples: int,
    target_power: float = 0.8,
    level: Level = 0.95,
    least: int = FEWEST_SEEDS,
    limit: int = 1000,
) -> int | None:
    """Return the fewest seeds per arm that show equivalence with that power.

    None where ``limit`` seeds do not. Parameters are those of `equivalence_power` and
    `seeds_needed`.
    """

    def reached(seeds: int) -> bool:
        narrow = 2 * _level_at(level, seeds) - 1
        design = _design(components, (seeds, seeds), tasks, samples, narrow)
        return _equivalence(margin, effect, design) >= target_power

    reach = _reach(2 * _level_at(level, limit) - 1, (1 + target_power) / 2)

    def near(seeds: int) -> bool:
        room = margin - abs(effect)
        return reach * _standard_error(components, (seeds, seeds), tasks, samples) <= room

    return _smallest(reached, least, limit, near)


def tasks_at_least(
    effect: float, *, task_effect_sd: float, target_power: float = 0.8, level: float = 0.95
) -> int | None:
    """Return the tasks without which no number of seeds sees ``effect`` with that power.

    Notes
    -----
    With ever more seeds the standard error tends to tau = task_effect_sd / sqrt(T), and an effect
    below (Phi^-1(0.5 + level / 2) + Phi^-1(power)) tau, 2.802 tau, stays unseen. None where the
    effect is 0.
    """
    if effect == 0:
        return None
    reach = _reach(level, target_power)
    return max(2, _ceiling((reach * task_effect_sd / effect) ** 2))


def equivalence_tasks_at_least(
    margin: float,
    *,
    effect: float = 0.0,
    task_effect_sd: float,
    target_power: float = 0.8,
    level: float = 0.95,
) -> int | None:
    """Return the tasks without which no number of seeds shows equivalence with that power.

    Notes
    -----
    The limit of `equivalence_power` at a standard error of tau = task_effect_sd / sqrt(T): for an
    effect of 0 a margin below (Phi^-1(level) + Phi^-1((1 + power) / 2)) tau, 2.926 tau, is never
    shown; for larger ones margin - |effect| below (Phi^-1(level) + Phi^-1(power)) tau, 2.487 tau.
    Also at least 3 / margin tasks: a class of 3 of T tasks may be missed entirely. None where the
    effect is not inside the margin.
    """
    if abs(effect) >= margin:
        return None
    z = normal_ppf(check_level(level))
    least = max(2, _ceiling(3 / margin))
    if task_effect_sd == 0:
        return least

    def shown(tau: float) -> float:
        h = z * tau
        return max(
            0.0, normal_cdf((margin - effect - h) / tau) - normal_cdf((h - margin - effect) / tau)
        )

    low, high = 0.0, margin
    while high - low > 1e-12 * margin:
        middle = (low + high) / 2
        low, high = (middle, high) if shown(middle) >= target_power else (low, middle)
    return max(least, _ceiling((task_effect_sd / high) ** 2))


def tasks_needed(
    effect: float,
    *,
    components: Components,
    seeds: int | tuple[int, int],
    samples: int,
    target_power: float = 0.8,
    level: float = 0.95,
    limit: int = 100_000,
) -> int | None:
    """Return the fewest tasks, from 2, that see ``effect`` with that power.

    None where ``limit`` tasks do not: what is left is variance between seeds. Other parameters
    are those of `power`.
    """
    pair = _pair(seeds)

    def reached(tasks: int) -> bool:
        return _power(effect, _design(components, pair, tasks, samples, level)) >= target_power

    reach = _reach(level, target_power)

    def near(tasks: int) -> bool:
        return reach * _standard_error(components, pair, tasks, samples) <= abs(effect)

    return _smallest(reached, 2, limit, near)


def samples_needed(
    effect: float,
    *,
    components: Components,
    seeds: int | tuple[int, int],
    tasks: int,
    target_power: float = 0.8,
    level: float = 0.95,
    limit: int = 4096,
) -> int | None:
    """Return the fewest samples per task that see ``effect`` with that power.

    None where ``limit`` samples do not. Other parameters are those of `power`.
    """
    pair = _pair(seeds)

    def reached(samples: int) -> bool:
        return _power(effect, _design(components, pair, tasks, samples, level)) >= target_power

    reach = _reach(level, target_power)

    def near(samples: int) -> bool:
        return reach * _standard_error(components, pair, tasks, samples) <= abs(effect)

    return _smallest(reached, 1, limit, near)


def _pair(seeds: int | tuple[int, int]) -> tuple[int, int]:
    pair = seeds if isinstance(seeds, tuple) else (seeds, seeds)
    if min(pair) < 2:
        raise InsufficientData(
            f"power needs at least 2 seeds per arm, got {min(pair)}", reason="one-seed"
        )
    return pair


def _smallest(
    reached: Callable[[int], bool],
    start: int,
    limit: int,
    near: Callable[[int], bool],
) -> int | None:
    """Return the smallest number from ``start`` that reaches, or None where ``limit`` does not.

    ``near`` is a cheap test that turns true near there: the search goes outwards from that place,
    by steps that double, and halves the last.
    """
    limit = max(limit, start)
    failed, tried = start - 1, limit
    while tried - failed > 1:
        middle = (failed + tried) // 2
        failed, tried = (failed, middle) if near(middle) else (middle, tried)
    step = 1
    if reached(tried):
        while (failed := max(tried - step, start - 1)) >= start and reached(failed):
            tried, step = failed, 2 * step
    else:
        failed = tried
        while failed < limit and not reached(tried := min(failed + step, limit)):
            failed, step = tried, 2 * step
        if failed == limit:
            return None
    while tried - failed > 1:
        middle = (failed + tried) // 2
        failed, tried = (failed, middle) if reached(middle) else (middle, tried)
    return tried


def _reach(level: float, target_power: float) -> float:
    """Return how many standard errors an effect is that a known spread shows with that power."""
    return normal_ppf(0.5 + check_level(level) / 2) + normal_ppf(target_power)


def _level_at(level: Level, seeds: int) -> float:
    return level(seeds) if callable(level) else level


def _ceiling(value: float) -> int:
    """Round up, but not for a last digit's sake."""
    return ceil(value * (1 - 1e-12))


def _power(effect: float, design: _Design) -> float:
    if design.se == 0:
        return float(effect != 0)
    h = design.half_widths
    above, below = (normal_cdf_grid((sign * effect - h) / design.se) for sign in (1, -1))
    return design.mean(above + below)


def _equivalence(margin: float, effect: float, design: _Design) -> float:
    if not margin > 0:
        raise ValueError(f"margin must be above 0, got {margin}")
    if design.se == 0:
        return float(abs(effect) < margin)
    h = design.half_widths
    below = normal_cdf_grid((margin - effect - h) / design.se)
    inside = below - normal_cdf_grid((h - margin - effect) / design.se)
    return design.mean(np.maximum(inside, 0))


@lru_cache(maxsize=512)
def _design(
    components: Components, seeds: tuple[int, int], tasks: int, samples: int, level: float
) -> _Design:
    check_level(level)
    se = _standard_error(components, seeds, tasks, samples)
    noise = _noise(components, tasks, samples)
    x = components.task_effect_sd**2 / tasks
    v_a = components.seed_sd_control**2 + noise
    v_b = components.seed_sd_treatment**2 + noise
    if v_a + v_b == 0:
        return _Design(np.array([_known(seeds, tasks, x, level)]), np.ones(1), se)
    u_a = np.maximum(v_a * _chi2_means(seeds[0]), noise) / seeds[0]
    u_b = np.maximum(v_b * _chi2_means(seeds[1]), noise) / seeds[1]
    rows, columns, times = _pairs(alike=v_a == v_b and seeds[0] == seeds[1])
    half = _half_widths(u_a[rows], u_b[columns], x, seeds, tasks, level)
    return _Design(half, times, se)


@lru_cache(maxsize=2)
def _pairs(*, alike: bool) -> tuple[Any, Any, FloatArray]:
    """Return which quantile of each arm goes with which, each pair once where arms are alike."""
    if alike:
        rows, columns = np.triu_indices(_QUANTILES)
        return rows, columns, np.where(rows == columns, 1.0, 2.0)
    rows, columns = np.divmod(np.arange(_QUANTILES**2), _QUANTILES)
    return rows, columns, np.ones(_QUANTILES**2)


def _noise(components: Components, tasks: int, samples: int) -> float:
    """Variance of one run's mean that is not the seed's alone: seed x task and sampling."""
    return (components.seed_task_sd**2 + components.sampling_variance / samples) / tasks


def _standard_error(
    components: Components, seeds: tuple[int, int], tasks: int, samples: int
) -> float:
    if tasks < 2 or samples < 1:
        raise ValueError(f"a design needs 2 tasks and 1 sample, got {tasks} and {samples}")
    parts = (
        components.seed_sd_control,
        components.seed_sd_treatment,
        components.seed_task_sd,
        components.sampling_variance,
        components.task_effect_sd,
    )
    if not all(np.isfinite(parts)) or min(parts) < 0:
        raise ValueError(f"components must be finite and not negative, got {parts}")
    noise = _noise(components, tasks, samples)
    v_a = components.seed_sd_control**2 + noise
    v_b = components.seed_sd_treatment**2 + noise
    x = components.task_effect_sd**2 / tasks
    return float(np.sqrt(v_a / seeds[0] + v_b / seeds[1] + x))


def _known(seeds: tuple[int, int], tasks: int, x: float, level: float) -> float:
    """Half-width where runs do not differ at all."""
    return float(t_two_sided_ppf(level, max(sum(seeds) - 2, tasks - 1)) * np.sqrt(x))


@lru_cache(maxsize=256)
def _chi2_means(seeds: int) -> Any:
    """Mid-quantiles of chi-square / df with seeds - 1 degrees of freedom."""
    df = seeds - 1
    return np.array([chi2_ppf((n + 0.5) / _QUANTILES, df) / df for n in range(_QUANTILES)])


def _half_widths(
    u_a: Any, u_b: Any, x: float, seeds: tuple[int, int], tasks: int, level: float
) -> FloatArray:
    """Half-widths of the rule of `seed_delta`, the wider of its two intervals."""
    df_eq = float(equal_variance_df(*seeds))
    u = u_a + u_b
    spread = u_a**2 / (seeds[0] - 1) + u_b**2 / (seeds[1] - 1)
    total = u + x
    df_fixed = np.minimum(u**2 / spread, df_eq)
    limit = max(sum(seeds) - 2, tasks - 1)
    df_raw = np.minimum(np.minimum(total**2 / spread, df_eq * (total / u) ** 2), limit)
    fixed = _t_quantiles(df_fixed, level) * np.sqrt(u)
    widest: FloatArray = np.maximum(fixed, _t_quantiles(df_raw, level) * np.sqrt(total))
    return widest


def _t_quantiles(df: FloatArray, level: float) -> FloatArray:
    """Two-sided quantiles of Student's t for a grid of degrees of freedom, by interpolation."""
    octaves = np.minimum(np.frexp(df)[1], _LAST_OCTAVE)
    found = np.empty_like(df)
    for octave in range(int(octaves.min()), int(octaves.max()) + 1):
        here = octaves == octave
        centre, half, terms = _t_octave(octave, level)
        found[here] = chebyshev.chebval((1 / df[here] - centre) / half, terms)
    return np.asarray(np.exp(found))


@lru_cache(maxsize=1024)
def _t_octave(octave: int, level: float) -> tuple[float, float, FloatArray]:
    """Return centre and half-width in 1 / df of an octave below 2^octave, and Chebyshev's terms.

    The last octave has no upper end.
    """
    low, high = (0.0 if octave == _LAST_OCTAVE else 0.5**octave), 0.5 ** (octave - 1)
    centre, half = (low + high) / 2, (high - low) / 2

    def exact(places: Any) -> Any:
        return np.array([log(t_two_sided_ppf(level, 1 / (centre + half * p))) for p in places])

    return centre, half, chebyshev.chebinterpolate(exact, _DEGREE)
