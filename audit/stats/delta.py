"""The verdict's statistic: treatment minus control with training seeds nested in the arms."""

from __future__ import annotations

from fractions import Fraction
from math import lcm
from typing import TYPE_CHECKING, Any

from audit.stats.clusters import Clusters, between_clusters, clusters_of, seed_by_cluster
from audit.stats.exact import (
    IntMatrix,
    Moments,
    Outcomes,
    comparable,
    fits,
    moments,
    outcomes,
    replicated,
    split_samples,
    task_differences,
    variance,
)
from audit.stats.paired import seed_correlation
from audit.stats.pivot import Pivot, hulled_interval, interval
from audit.stats.quantiles import check_level
from audit.stats.records import ArmVariance, SeedDelta

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from numpy.typing import ArrayLike


def seed_delta(
    control: ArrayLike,
    treatment: ArrayLike,
    *,
    samples: Any,
    paired: bool = False,
    level: float = 0.95,
    floor_samples: int | None = None,
    clusters: Sequence[Hashable] | None = None,
) -> SeedDelta:
    """Compare two arms of independent training runs on the same tasks.

    Parameters
    ----------
    control, treatment : array of int, shape (seeds, tasks)
        Right answers of each run on each task; the tasks in the same order.
    samples : int, array of int, or tuple of two of these
        Answers drawn for each cell; a tuple gives (control, treatment). Tasks weigh the same
        however many samples a cell has.
    paired : bool
        Pairing of the seeds was declared: row i of both arms shares its seed. Used from three
        seeds per arm; at two the unpaired analysis stands, and ``.paired`` is False.
    level : float
        Confidence level.
    floor_samples : int, optional
        Independent samples behind a cell where ``samples`` is only its denominator, as for
        pass@k; used in the variance of an arm without any error or success. Else the harmonic
        mean of ``samples``, rounded down.
    clusters : sequence, shape (tasks,), optional
        Label of the cluster of each task, for tasks that may share what a recipe does to them.
        Changes the interval, never delta: tasks weigh the same.

    Returns
    -------
    SeedDelta

    Raises
    ------
    InsufficientData
        An arm has one run (reason ``"one-seed"``), or there is one task or one cluster
        (``"few-tasks"``).
    ValueError
        Counts are not whole numbers between 0 and samples, or shapes do not match.

    Notes
    -----
    For each arm, v = max(s2, q / T), u = v / S; for the comparison x = max(V_t - q_A / S_A -
    q_B / S_B, 0) / T. The benchmark's own interval has variance u_A + u_B with Welch's degrees
    of freedom, at most those of equal variances. The interval for new tasks adds x, with degrees
    of freedom as for seeds nested in arms, and is widened to hold the former. All but the square
    root and the quantile is rational arithmetic.

    With clusters, q and V_t are the mean squares of the ratio form corrected for unequal weights
    (`audit.stats.clusters`), C takes the place of T, and the degrees of freedom count x with its
    own, (sum w^2)^2 / sum w^4 - 1, since few clusters leave it uncertain.

    References
    ----------
    Welch 1947; Satterthwaite 1946; Hillis 2007, Stat Med 26:596 (paired); Hillis 2014, Stat Med
    33:330 (nested).
    """
    check_level(level)
    samples_c, samples_t = split_samples(samples)
    arm_c = outcomes(control, samples_c, "control")
    arm_t = outcomes(treatment, samples_t, "treatment")
    comparable(arm_c, arm_t)
    replicated(arm_c, "control")
    replicated(arm_t, "treatment")
    if paired and arm_c.seeds != arm_t.seeds:
        raise ValueError(f"paired arms need equal seeds, got {arm_c.seeds} and {arm_t.seeds}")
    groups = None if clusters is None else clusters_of(clusters, arm_c.tasks)
    parts = (ArmParts(arm_c, floor_samples, groups), ArmParts(arm_t, floor_samples, groups))
    return compared(*parts, paired=paired, level=level, clusters=groups)


def compared(
    control: ArmParts,
    treatment: ArmParts,
    *,
    paired: bool,
    level: float,
    clusters: Clusters | None,
) -> SeedDelta:
    """Return the record of two arms whose components are known; see `seed_delta`."""
    parts = (control, treatment)
    arm_c, arm_t = control.source, treatment.source
    declared, paired = paired, paired and arm_c.seeds >= 3
    v_t = difference_variance(*task_differences(arm_c, arm_t), clusters)
    squares = paired_squares(arm_c, arm_t, v_t, clusters) if paired else None
    fixed, raw, x = (
        _paired(parts, squares, clusters) if squares else _unpaired(parts, v_t, clusters)
    )
    return SeedDelta(
        delta=float(fixed.delta),
        fixed=interval(fixed, level),
        random=hulled_interval(fixed, raw, level),
        raw=interval(raw, level),
        control=control.record(),
        treatment=treatment.record(),
        x=float(x),
        v_t=float(v_t),
        df_eq=float(equal_variance_df(arm_c.seeds, arm_t.seeds)),
        paired=paired,
        tasks=arm_c.tasks,
        samples=min(arm_c.samples, arm_t.samples),
        ms_seed=float(squares[0]) if squares else None,
        ms_task=float(squares[1]) if squares else None,
        ms_seed_task=float(squares[2]) if squares else None,
        seed_correlation=_run_correlation(arm_c, arm_t) if declared else None,
        clusters=None if clusters is None else clusters.count,
        effective_clusters=None if clusters is None else float(clusters.effective),
        fixed_pivot=fixed,
        raw_pivot=raw,
    )


class ArmParts:
    """Exact variance components of one arm.

    ``units`` counts what ``q`` is the mean square over with the seeds: tasks, or clusters.
    A matrix that is not ``bounded`` by 0 and 1 has no end at which all answers are alike.
    """

    __slots__ = ("identical", "moments", "q", "saturated", "seeds", "source", "tasks", "u",
                 "units", "v")  # fmt: skip

    def __init__(
        self,
        arm: Outcomes,
        floor_samples: int | None = None,
        clusters: Clusters | None = None,
        *,
        bounded: bool = True,
    ) -> None:
        self.source = arm
        self.seeds, self.tasks = arm.seeds, arm.tasks
        self.moments: Moments = moments(arm.right, arm.denominator, arm.denominator)
        self.q, self.units = self.moments.q, arm.tasks
        if clusters is not None:
            self.q = seed_by_cluster(arm.right, arm.denominator, clusters)
            self.units = clusters.count
        self.v = max(self.moments.s2, self.q / self.units)
        self.saturated = bounded and self.moments.mean in (0, 1)
        if self.saturated:
            self.v = saturated_variance(arm.seeds, arm.tasks, floor_samples or int(arm.harmonic))
        self.identical = not self.saturated and self.moments.s2 == 0 == self.moments.q
        self.u = self.v / arm.seeds

    def record(self) -> ArmVariance:
        """Return the components as floats."""
        own = self.moments
        return ArmVariance(
            mean=float(own.mean),
            seeds=self.seeds,
            samples=self.source.samples,
            harmonic_samples=float(self.source.harmonic),
            s2=float(own.s2),
            q=float(self.q),
            v=float(self.v),
            u=float(self.u),
            floored=self.v > own.s2,
            saturated=self.saturated,
            identical=self.identical,
        )


def saturated_variance(seeds: int, tasks: int, samples: int) -> Fraction:
    """Return the variance of a run mean where every answer is right, or every one wrong.

    p(1 - p) / (T k) at p = 1 / (n + 2), n = S T k: as if two more answers had been drawn.
    """
    n = seeds * tasks * samples
    return Fraction(n + 1, (n + 2) ** 2 * tasks * samples)


def equal_variance_df(seeds_control: int, seeds_treatment: int) -> Fraction:
    """Return Welch's degrees of freedom were the arms' variances equal; 2S - 2 when balanced."""
    a, b = Fraction(1, seeds_control), Fraction(1, seeds_treatment)
    return (a + b) ** 2 / (a * a / (seeds_control - 1) + b * b / (seeds_treatment - 1))


def welch(u: tuple[Fraction, Fraction], seeds: tuple[int, int]) -> Fraction:
    """Return Welch's degrees of freedom, at most those of equal variances."""
    limit = equal_variance_df(*seeds)
    total = u[0] + u[1]
    if total == 0:
        return limit
    return min(total**2 / (u[0] ** 2 / (seeds[0] - 1) + u[1] ** 2 / (seeds[1] - 1)), limit)


def difference_variance(
    values: IntMatrix, denominator: int, clusters: Clusters | None = None
) -> Fraction:
    """Return the variance over tasks, or over clusters, of per-task differences."""
    if clusters is None:
        return variance(values, denominator)
    return between_clusters(values, denominator, clusters)


def _unpaired(
    parts: tuple[ArmParts, ArmParts], v_t: Fraction, clusters: Clusters | None
) -> tuple[Pivot, Pivot, Fraction]:
    a, b = parts
    delta = b.moments.mean - a.moments.mean
    u = a.u + b.u
    x = max(v_t - a.q / a.seeds - b.q / b.seeds, Fraction(0)) / a.units
    fixed = Pivot(delta, u, welch((a.u, b.u), (a.seeds, b.seeds)))
    spread = a.u**2 / (a.seeds - 1) + b.u**2 / (b.seeds - 1)
    spread += cluster_spread(x, clusters)
    df = random_df(
        u, x, spread, seeds_df=a.seeds + b.seeds - 2, tasks_df=tasks_df(a.tasks, clusters)
    )
    if u:
        df = min(df, equal_variance_df(a.seeds, b.seeds) * ((u + x) / u) ** 2)
    return fixed, Pivot(delta, u + x, df), x


def random_df(
    u: Fraction, x: Fraction, spread: Fraction, *, seeds_df: int, tasks_df: Fraction
) -> Fraction:
    """Return the degrees of freedom of u + x.

    Parameters
    ----------
    u, x : Fraction
        Variance of delta from training and evaluation, and from the choice of tasks.
    spread : Fraction
        Satterthwaite's sum: each part squared over its degrees of freedom.
    seeds_df, tasks_df : int, Fraction
        The larger of these is the most there can be.
    """
    limit = max(Fraction(seeds_df), tasks_df)
    return min((u + x) ** 2 / spread, limit) if spread else limit


def tasks_df(tasks: int, clusters: Clusters | None) -> Fraction:
    """Return the degrees of freedom of the variance between tasks, or between clusters."""
    return Fraction(tasks - 1) if clusters is None else clusters.df


def cluster_spread(x: Fraction, clusters: Clusters | None) -> Fraction:
    """Return the share of x in Satterthwaite's sum: only with clusters is it taken as uncertain."""
    return Fraction(0) if clusters is None else x * x / clusters.df


def paired_squares(
    control: Outcomes, treatment: Outcomes, v_t: Fraction, clusters: Clusters | None
) -> tuple[Fraction, Fraction, Fraction]:
    """Mean squares over seeds, over tasks, and of their interaction, of the differences."""
    common = lcm(control.denominator, treatment.denominator)
    bound = control.tasks * (control.seeds * common) ** 2
    cells = fits(treatment.right, bound) * (common // treatment.denominator) - fits(
        control.right, bound
    ) * (common // control.denominator)
    own = moments(cells, common, common)
    if clusters is None:
        return control.tasks * own.s2, control.seeds * v_t, own.q
    crossed = seed_by_cluster(cells, common, clusters)
    return clusters.count * own.s2, control.seeds * v_t, crossed


def _paired(
    parts: tuple[ArmParts, ArmParts],
    squares: tuple[Fraction, Fraction, Fraction],
    clusters: Clusters | None,
) -> tuple[Pivot, Pivot, Fraction]:
    a, b = parts
    delta = b.moments.mean - a.moments.mean
    ms_seed, ms_task, ms_seed_task = squares
    cells = a.seeds * a.units
    u = max(ms_seed, ms_seed_task) / cells
    if u == 0:
        # Differences that no seed changes carry no estimate; the arms' own variances stand.
        u = a.u + b.u
    x = max(ms_task - ms_seed_task, Fraction(0)) / cells
    seeds_df = a.seeds - 1
    spread = u * u / seeds_df + cluster_spread(x, clusters)
    df = random_df(u, x, spread, seeds_df=seeds_df, tasks_df=tasks_df(a.tasks, clusters))
    return Pivot(delta, u, Fraction(seeds_df)), Pivot(delta, u + x, df), x


def _run_correlation(control: Outcomes, treatment: Outcomes) -> float | None:
    rows_c = [Fraction(int(r), control.denominator) for r in control.right.sum(axis=1)]
    rows_t = [Fraction(int(r), treatment.denominator) for r in treatment.right.sum(axis=1)]
    return seed_correlation(rows_c, rows_t)
