"""How a run's score moves along its training: between runs, along them, and at the end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import inf, sqrt
from typing import TYPE_CHECKING

import numpy as np

from audit.errors import InsufficientData
from audit.stats.decimals import fractions, mean, sample_variance
from audit.stats.delta import welch
from audit.stats.distributions import f_ppf
from audit.stats.pivot import IntervalEstimate, Pivot, interval
from audit.stats.quantiles import check_level

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


@dataclass(frozen=True, slots=True)
class LastContrast:
    """Last checkpoint minus the mean over checkpoints, compared between arms.

    Attributes
    ----------
    control, treatment : float
        Mean over the runs of an arm of its last score minus its mean score.
    estimate : IntervalEstimate
        Of treatment minus control.
    differs : bool
        That interval excludes 0: the arms part at the end, and a mean over checkpoints does not
        speak for the last one.
    """

    control: float
    treatment: float
    estimate: IntervalEstimate
    differs: bool


def last_contrast(
    control: Sequence[Sequence[object]],
    treatment: Sequence[Sequence[object]],
    *,
    level: float = 0.95,
) -> LastContrast:
    """Compare between arms how far the last checkpoint lies from the mean over checkpoints.

    Parameters
    ----------
    control, treatment : sequence of sequence of numbers, shape (seeds, checkpoints)
        Scores of each run, the last checkpoint last (`PooledCheckpoints.scores`).
    level : float
        Confidence level.

    Returns
    -------
    LastContrast

    Raises
    ------
    InsufficientData
        An arm has one run (reason ``"one-seed"``).
    ValueError
        A run has fewer than two checkpoints.

    Notes
    -----
    Welch's interval for the mean of d = last - mean, a run giving one d; degrees of freedom at
    most those of equal variances, as in the verdict.
    """
    check_level(level)
    d_c, d_t = _last_minus_mean(control, "control"), _last_minus_mean(treatment, "treatment")
    seeds = (len(d_c), len(d_t))
    u = (sample_variance(d_c) / seeds[0], sample_variance(d_t) / seeds[1])
    difference = mean(d_t) - mean(d_c)
    estimate = interval(Pivot(difference, u[0] + u[1], welch(u, seeds)), level)
    return LastContrast(
        control=float(mean(d_c)),
        treatment=float(mean(d_t)),
        estimate=estimate,
        differs=estimate.low > 0 or estimate.high < 0,
    )


def _last_minus_mean(scores: Sequence[Sequence[object]], name: str) -> list[Fraction]:
    rows = [fractions(row, f"{name} score") for row in scores]
    if len(rows) < 2:
        raise InsufficientData(f"{name} has one training run, needs at least 2", reason="one-seed")
    if min(len(row) for row in rows) < 2:
        raise ValueError(f"{name} has a run with fewer than 2 checkpoints")
    return [row[-1] - mean(row) for row in rows]


@dataclass(frozen=True, slots=True)
class AlongRun:
    """Variance between runs and along them; see `along_run`.

    Attributes
    ----------
    between_sd : float
        Standard deviation between runs that all their checkpoints share.
    along_sd : float
        Standard deviation along a run, evaluation noise included.
    share_along : float
        Share of one checkpoint's variance that lies along the run.
    share_low, share_high : float
        Its interval; exact where checkpoints are independent, and wide at few runs.
    runs, checkpoints : int
    level : float
    """

    between_sd: float
    along_sd: float
    share_along: float
    share_low: float
    share_high: float
    runs: int
    checkpoints: int
    level: float


def along_run(scores: ArrayLike, *, level: float = 0.95) -> AlongRun:
    """Split the variance of one checkpoint's score into between and along runs.

    Parameters
    ----------
    scores : array of float, shape (seeds, checkpoints)
        Scores of the runs of one arm, at least 2 x 2.
    level : float
        Confidence level.

    Returns
    -------
    AlongRun

    Raises
    ------
    InsufficientData
        One run (reason ``"one-seed"``).
    ValueError
        One checkpoint, or a value that is not finite.

    Notes
    -----
    Two-way analysis of variance without replication: MSB between runs, MSW of what runs and
    checkpoints leave; along^2 = MSW, between^2 = max(MSB - MSW, 0) / K. The interval is that of
    F = MSB / MSW with R - 1 and (R - 1)(K - 1) degrees of freedom. Checkpoints so close that they
    are correlated make the share along the run too small.
    """
    tail = (1 - check_level(level)) / 2
    table = np.asarray(scores, dtype=np.float64)
    if table.ndim != 2 or table.shape[1] < 2 or not np.isfinite(table).all():
        raise ValueError("scores must be finite, runs x checkpoints, with at least 2 checkpoints")
    runs, checkpoints = table.shape
    if runs < 2:
        raise InsufficientData("a spread needs at least 2 runs", reason="one-seed")
    of_runs = table.mean(axis=1)
    rest = table - of_runs[:, None] - table.mean(axis=0) + table.mean()
    between = checkpoints * float(of_runs.var(ddof=1))
    df = (runs - 1, (runs - 1) * (checkpoints - 1))
    along = float((rest**2).sum()) / df[1]
    ratio = between / along if along > 0 else inf

    def share(quantile: float) -> float:
        along_part: float = 1 / (1 + max((ratio / quantile - 1) / checkpoints, 0.0))
        return along_part

    return AlongRun(
        between_sd=sqrt(max(between - along, 0.0) / checkpoints),
        along_sd=sqrt(along),
        share_along=share(1.0),
        share_low=share(f_ppf(tail, *df)),
        share_high=share(f_ppf(1 - tail, *df)),
        runs=runs,
        checkpoints=checkpoints,
        level=level,
    )


def seed_sd_over_checkpoints(seed_sd: float, along_sd: float, checkpoints: int) -> float:
    """Return the standard deviation between runs of a mean over independent checkpoints.

    sqrt(seed_sd^2 + along_sd^2 / K); both net of evaluation noise, or both with it.
    """
    if checkpoints < 1 or min(seed_sd, along_sd) < 0:
        raise ValueError("checkpoints must be at least 1 and standard deviations not negative")
    return sqrt(seed_sd**2 + along_sd**2 / checkpoints)


def cheapest_checkpoints(
    *, between_sd: float, along_sd: float, run_cost: float, evaluation_cost: float, most: int
) -> int:
    """Return the number of checkpoints that sees an effect at the least cost.

    Parameters
    ----------
    between_sd, along_sd : float
        Of `along_run`, at the spacing that is planned.
    run_cost, evaluation_cost : float
        Of training one run, and of evaluating one of its checkpoints, in one unit.
    most : int
        Checkpoints that fit at that spacing.

    Notes
    -----
    Cost (c_r + K c_e) (s_P^2 + s_W^2 / K) is least at sqrt((c_r / c_e) s_W^2 / s_P^2); of the
    whole numbers beside it the cheaper, from 1 to ``most``.
    """
    if min(between_sd, along_sd, run_cost, evaluation_cost) < 0 or most < 1:
        raise ValueError("costs and standard deviations must not be negative, most at least 1")

    def cost(k: int) -> float:
        return (run_cost + k * evaluation_cost) * (between_sd**2 + along_sd**2 / k)

    return min(range(1, most + 1), key=lambda k: (cost(k), k))
