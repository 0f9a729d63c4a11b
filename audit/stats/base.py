"""A trained arm against the untrained base, which has re-evaluations but no seeds."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from audit.errors import InsufficientData
from audit.stats.clusters import Clusters, clusters_of
from audit.stats.delta import ArmParts, cluster_spread, difference_variance, random_df, tasks_df
from audit.stats.exact import Outcomes, comparable, fits, outcomes, replicated, task_differences
from audit.stats.pivot import Pivot, hulled_interval, interval
from audit.stats.quantiles import check_level
from audit.stats.records import BaseDelta

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from numpy.typing import ArrayLike


def base_delta(
    base: ArrayLike,
    treatment: ArrayLike,
    *,
    samples: ArrayLike,
    base_samples: ArrayLike | None = None,
    level: float = 0.95,
    clusters: Sequence[Hashable] | None = None,
) -> BaseDelta:
    """Compare a trained arm with the one model it started from.

    Parameters
    ----------
    base : array of int, shape (evaluations, tasks)
        Right answers of each re-evaluation of the base.
    treatment : array of int, shape (seeds, tasks)
        Right answers of each training run, tasks in the same order.
    samples, base_samples : int or array of int
        Answers drawn for each cell; the base's are those of the arm unless given.
    level : float
        Confidence level.
    clusters : sequence, shape (tasks,), optional
        Label of the cluster of each task, as for `seed_delta`.

    Returns
    -------
    BaseDelta

    Raises
    ------
    InsufficientData
        The arm has one run (reason ``"one-seed"``), the base one evaluation
        (``"too-few-evaluations"``), or there is one task (``"few-tasks"``).
    ValueError
        Counts are not whole numbers between 0 and samples, or shapes do not match.

    Notes
    -----
    With w2 the variance of one evaluation's mean and u_0 = w2 / R, the benchmark's own variance
    is u_B + u_0, its degrees of freedom Satterthwaite's with S_B - 1 and T(R - 1). For new tasks
    x = max(V_t - q_B / S_B - T w2 / R, 0) / T is added, and the interval widened to hold the
    former. With clusters C takes the place of T there, as for `seed_delta`.

    References
    ----------
    Satterthwaite 1946; Hillis 2014, Stat Med 33:330.
    """
    check_level(level)
    zero = outcomes(base, samples if base_samples is None else base_samples, "base")
    arm = outcomes(treatment, samples, "treatment")
    comparable(zero, arm)
    replicated(arm, "treatment")
    if zero.seeds < 2:
        raise InsufficientData(
            "base has one evaluation, needs at least 2", reason="too-few-evaluations"
        )
    groups = None if clusters is None else clusters_of(clusters, arm.tasks)
    own = ArmParts(arm, clusters=groups)
    w2 = evaluation_variance(zero)
    u0 = w2 / zero.seeds
    v_t = difference_variance(*task_differences(zero, arm), groups)
    x = max(v_t - own.q / arm.seeds - own.units * u0, Fraction(0)) / own.units
    base_mean = outcome_mean(zero)
    fixed = _pivot(own, base_mean, u0, zero.seeds, Fraction(0), groups)
    raw = _pivot(own, base_mean, u0, zero.seeds, x, groups)
    return BaseDelta(
        delta=float(fixed.delta),
        fixed=interval(fixed, level),
        random=hulled_interval(fixed, raw, level),
        raw=interval(raw, level),
        treatment=own.record(),
        base_mean=float(base_mean),
        evaluations=zero.seeds,
        w2=float(w2),
        u0=float(u0),
        w_task=float(arm.tasks * w2),
        x=float(x),
        v_t=float(v_t),
        tasks=arm.tasks,
        samples=arm.samples,
        base_samples=zero.samples,
        fixed_pivot=fixed,
        raw_pivot=raw,
    )


def evaluation_variance(evaluations: Outcomes) -> Fraction:
    """Return w2, the variance of one evaluation's mean from the variation within tasks.

    sum_t sum_r (Y_rt - mean_r Y_rt)^2 / (T^2 (R - 1)), from at least two evaluations.
    """
    runs, tasks, k = evaluations.seeds, evaluations.tasks, evaluations.denominator
    right = fits(evaluations.right, tasks * (runs * k) ** 2)
    columns = right.sum(axis=0)
    within = runs * int((right * right).sum()) - int((columns * columns).sum())
    return Fraction(within, runs * (runs - 1) * tasks**2 * k**2)


def outcome_mean(evaluations: Outcomes) -> Fraction:
    """Return the exact mean over evaluations and tasks."""
    cells = evaluations.seeds * evaluations.tasks * evaluations.denominator
    return Fraction(sum(int(r) for r in evaluations.right.sum(axis=1)), cells)


def _pivot(
    own: ArmParts,
    base_mean: Fraction,
    u0: Fraction,
    evaluations: int,
    x: Fraction,
    clusters: Clusters | None,
) -> Pivot:
    u = own.u + u0
    spread = own.u**2 / (own.seeds - 1) + u0**2 / (own.tasks * (evaluations - 1))
    spread += cluster_spread(x, clusters)
    df = random_df(u, x, spread, seeds_df=own.seeds - 1, tasks_df=tasks_df(own.tasks, clusters))
    return Pivot(own.moments.mean - base_mean, u + x, df)
