"""Power of the verdict's own rule, and the seeds, tasks or effect that reach a wanted power."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import chdtri, ndtr, stdtrit

from audit.errors import InsufficientData
from audit.stats.delta import equal_variance_df
from audit.stats.quantiles import check_level
from audit.stats.records import Components

if TYPE_CHECKING:
    from numpy.typing import NDArray

    FloatArray = NDArray[np.float64]

_QUANTILES = 60


@dataclass(frozen=True, slots=True)
class _Design:
    """Half-widths the rule may come to, equally likely, and the true standard error."""

    half_widths: FloatArray
    se: float


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
        True difference, score units.
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
    level: float = 0.95,
    limit: int = 1000,
) -> int | None:
    """Return the fewest seeds an arm, from 2, that see ``effect`` with that power.

    None where ``limit`` seeds do not. Other parameters are those of `power`.
    """

    def reached(seeds: int) -> bool:
        design = _design(components, (seeds, seeds), tasks, samples, level)
        return _power(effect, design) >= target_power

    return _smallest(reached, 2, limit)


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

    return _smallest(reached, 2, limit)


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
    """Return the fewest samples a task that see ``effect`` with that power.

    None where ``limit`` samples do not. Other parameters are those of `power`.
    """
    pair = _pair(seeds)

    def reached(samples: int) -> bool:
        return _power(effect, _design(components, pair, tasks, samples, level)) >= target_power

    return _smallest(reached, 1, limit)


def _pair(seeds: int | tuple[int, int]) -> tuple[int, int]:
    pair = seeds if isinstance(seeds, tuple) else (seeds, seeds)
    if min(pair) < 2:
        raise InsufficientData(
            f"power needs at least 2 seeds an arm, got {min(pair)}", reason="one-seed"
        )
    return pair


def _smallest(reached: Callable[[int], bool], start: int, limit: int) -> int | None:
    """Return the smallest number that reaches, by steps that grow, then by halving the last."""
    failed, tried = start - 1, start
    while not reached(tried):
        if tried == limit:
            return None
        failed, tried = tried, min(max(tried + 1, tried * 5 // 4), limit)
    while tried - failed > 1:
        middle = (failed + tried) // 2
        failed, tried = (failed, middle) if reached(middle) else (middle, tried)
    return tried


def _power(effect: float, design: _Design) -> float:
    if design.se == 0:
        return float(effect != 0)
    h = design.half_widths
    above, below = ndtr((effect - h) / design.se), ndtr((-h - effect) / design.se)
    return float((above + below).mean())


@lru_cache(maxsize=128)
def _design(
    components: Components, seeds: tuple[int, int], tasks: int, samples: int, level: float
) -> _Design:
    check_level(level)
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
    noise = (components.seed_task_sd**2 + components.sampling_variance / samples) / tasks
    x = components.task_effect_sd**2 / tasks
    v_a = components.seed_sd_control**2 + noise
    v_b = components.seed_sd_treatment**2 + noise
    se = float(np.sqrt(v_a / seeds[0] + v_b / seeds[1] + x))
    if v_a + v_b == 0:
        return _Design(np.array([_known(seeds, tasks, x, level)]), se)
    u_a = np.maximum(v_a * _chi2_means(seeds[0]), noise)[:, None] / seeds[0]
    u_b = np.maximum(v_b * _chi2_means(seeds[1]), noise)[None, :] / seeds[1]
    half = _half_widths(u_a, u_b, x, seeds, tasks, level)
    return _Design(half.ravel(), se)


def _known(seeds: tuple[int, int], tasks: int, x: float, level: float) -> float:
    """Half-width where runs do not differ at all."""
    return float(stdtrit(max(sum(seeds) - 2, tasks - 1), 0.5 + level / 2) * np.sqrt(x))


def _chi2_means(seeds: int) -> Any:
    """Mid-quantiles of chi-square / df with seeds - 1 degrees of freedom."""
    upper = 1 - (np.arange(_QUANTILES) + 0.5) / _QUANTILES
    return chdtri(seeds - 1, upper) / (seeds - 1)


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
    quantile = 0.5 + level / 2
    fixed = stdtrit(df_fixed, quantile) * np.sqrt(u)
    widest: FloatArray = np.maximum(fixed, stdtrit(df_raw, quantile) * np.sqrt(total))
    return widest
