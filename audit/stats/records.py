"""Frozen records that the statistics return; the standard library only."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from audit.stats.pivot import IntervalEstimate, Pivot, hulled_interval, interval
from audit.stats.quantiles import chi2_quantile


@dataclass(frozen=True, slots=True)
class ArmVariance:
    """Variance components of one arm, in squared score units.

    Attributes
    ----------
    mean : float
        Mean score over seeds and tasks.
    seeds : int
        Training runs.
    samples : int
        Smallest number of samples drawn for a task.
    harmonic_samples : float
        Harmonic mean of the samples of its cells.
    s2 : float
        Variance of the run means (ddof 1).
    q : float
        Seed x task mean square, or seed x cluster, which holds the sampling noise of the
        evaluation.
    v : float
        Variance of one run mean after the floor, ``max(s2, q / tasks)`` (or clusters).
    u : float
        Variance of the arm's mean, ``v / seeds``.
    floored : bool
        The floor, not ``s2``, gave ``v``.
    saturated : bool
        Every answer of every run is right, or every one is wrong.
    identical : bool
        Runs equal on every task in an arm not saturated: copies, not replications.
    """

    mean: float
    seeds: int
    samples: int
    harmonic_samples: float
    s2: float
    q: float
    v: float
    u: float
    floored: bool
    saturated: bool
    identical: bool


@dataclass(frozen=True, slots=True)
class SeedDelta:
    """Treatment minus control with both intervals; see `seed_delta`.

    Attributes
    ----------
    delta : float
        Difference of the arms' mean scores.
    fixed, random : IntervalEstimate
        For the mean over these tasks, and for new tasks like them.
    raw : IntervalEstimate
        The random-task interval before it is widened to hold ``fixed``.
    control, treatment : ArmVariance
    x : float
        Variance of delta that comes from the choice of tasks.
    v_t : float
        Variance over tasks, or clusters, of the per-task differences (ddof 1).
    df_eq : float
        Degrees of freedom were the arms' variances equal.
    paired : bool
        Whether the paired analysis was used.
    tasks, samples : int
        Common tasks; smallest number of samples of a cell.
    ms_seed, ms_task, ms_seed_task : float or None
        Mean squares of the paired differences; None when unpaired.
    seed_correlation : float or None
        Correlation of the arms' run means, pairing declared; shown, never acted on.
    clusters : int or None
        Clusters of tasks, where the interval is about these.
    effective_clusters : float or None
        Clusters of equal size that would weigh as much.
    """

    delta: float
    fixed: IntervalEstimate
    random: IntervalEstimate
    raw: IntervalEstimate
    control: ArmVariance
    treatment: ArmVariance
    x: float
    v_t: float
    df_eq: float
    paired: bool
    tasks: int
    samples: int
    ms_seed: float | None
    ms_task: float | None
    ms_seed_task: float | None
    seed_correlation: float | None
    clusters: int | None
    effective_clusters: float | None
    fixed_pivot: Pivot = field(repr=False)
    raw_pivot: Pivot = field(repr=False)

    @property
    def u(self) -> float:
        """Variance of delta from training and evaluation, the tasks being these."""
        return float(self.fixed_pivot.variance)

    def at(self, level: float) -> SeedDelta:
        """Return the same comparison at another confidence level."""
        return replace(
            self,
            fixed=interval(self.fixed_pivot, level),
            raw=interval(self.raw_pivot, level),
            random=hulled_interval(self.fixed_pivot, self.raw_pivot, level),
        )


@dataclass(frozen=True, slots=True)
class BaseDelta:
    """A trained arm minus the untrained base; see `base_delta`.

    Attributes are those of `SeedDelta`, with for the base its ``base_mean``, its number of
    ``evaluations``, ``w2`` (variance of one evaluation's mean), ``u0 = w2 / evaluations`` and
    ``w_task = tasks * w2``.
    """

    delta: float
    fixed: IntervalEstimate
    random: IntervalEstimate
    raw: IntervalEstimate
    treatment: ArmVariance
    base_mean: float
    evaluations: int
    w2: float
    u0: float
    w_task: float
    x: float
    v_t: float
    tasks: int
    samples: int
    base_samples: int
    fixed_pivot: Pivot = field(repr=False)
    raw_pivot: Pivot = field(repr=False)

    @property
    def u(self) -> float:
        """Variance of delta, the tasks being these."""
        return float(self.fixed_pivot.variance)

    def at(self, level: float) -> BaseDelta:
        """Return the same comparison at another confidence level."""
        return replace(
            self,
            fixed=interval(self.fixed_pivot, level),
            raw=interval(self.raw_pivot, level),
            random=hulled_interval(self.fixed_pivot, self.raw_pivot, level),
        )


@dataclass(frozen=True, slots=True)
class ScoreArm:
    """One arm of which only one score per run is known; variances in squared score units."""

    mean: float
    seeds: int
    s2: float
    floor: float
    v: float
    u: float
    floored: bool


@dataclass(frozen=True, slots=True)
class ScoreDelta:
    """Treatment minus control from one score per run, on this benchmark; see `score_delta`.

    Attributes
    ----------
    delta : float
    fixed : IntervalEstimate
        For the mean over these tasks; nothing can be said about other tasks.
    control, treatment : ScoreArm
    df_eq : float
    answers : int or None
        Answers behind one score; None where unknown.
    unit : float or None
        Unit of the last printed decimal, which sets the floor where the answers are unknown.
    """

    delta: float
    fixed: IntervalEstimate
    control: ScoreArm
    treatment: ScoreArm
    df_eq: float
    answers: int | None
    unit: float | None
    fixed_pivot: Pivot = field(repr=False)

    def at(self, level: float) -> ScoreDelta:
        """Return the same comparison at another confidence level."""
        return replace(self, fixed=interval(self.fixed_pivot, level))


@dataclass(frozen=True, slots=True)
class PairedT:
    """Student's interval for the mean of paired differences.

    ``delta`` is another name of ``mean``.
    """

    mean: float
    sd: float
    se: float
    df: float
    low: float
    high: float
    p_value: float
    level: float
    n: int

    @property
    def delta(self) -> float:
        """The mean difference."""
        return self.mean


@dataclass(frozen=True, slots=True)
class NoiseFloor:
    """What two evaluations of one model may differ by; see `noise_floor`.

    Attributes
    ----------
    value : float or None
        The floor in score units; None where it cannot be had, with ``reason``.
    reason : str or None
        ``"no-variation-seen"``, ``"deterministic-eval"`` or ``"too-few-evaluations"``.
    method : str
        ``"shrink4"``, ``"t-run"`` or ``"none"``.
    run_std : float or None
        Standard deviation of the evaluations' means (ddof 1).
    run_std_interval : tuple of float, or None
        Chi-square interval of ``run_std``.
    sampling_sd : float or None
        Standard deviation of one evaluation's mean from the per-task variation alone.
    printed : float or None
        The form often printed, Phi^-1(.975) sqrt(2) run_std; too small at few runs.
    t_form : float or None
        The same with Student's quantile.
    bernoulli_bound : float or None
        Bound from the mean rate alone.
    f_statistic, f_p_value : float or None
        Run-level against per-task variation.
    """

    value: float | None
    reason: str | None
    method: str
    run_std: float | None
    run_std_interval: tuple[float, float] | None
    sampling_sd: float | None
    printed: float | None
    t_form: float | None
    bernoulli_bound: float | None
    f_statistic: float | None
    f_p_value: float | None
    runs: int
    tasks: int | None
    samples: int | None
    level: float

    def for_seeds(
        self, seeds_control: int, seeds_treatment: int, *, checkpoints: int = 1
    ) -> float | None:
        """Return the floor of a difference of means over that many runs per arm, or None.

        With ``checkpoints`` each run's score is a mean over so many evaluations.
        """
        if self.value is None:
            return None
        share: float = ((1 / seeds_control + 1 / seeds_treatment) / (2 * checkpoints)) ** 0.5
        return self.value * share


@dataclass(frozen=True, slots=True)
class SeedSpread:
    """Standard deviation between training runs, net of evaluation noise; see `seed_spread`.

    Attributes
    ----------
    sd, low, high : float
        Estimate and interval, score units.
    total_sd : float
        Standard deviation of the run means as seen.
    noise_sd : float
        The share of the evaluation in it.
    df : int
    p_zero : float or None
        Probability of so large a spread were there no seed variance; None without noise.
    kind : str
        ``"general"``, ``"benchmark"`` or ``"scores"``.
    """

    sd: float
    low: float
    high: float
    total_sd: float
    noise_sd: float
    df: int
    p_zero: float | None
    kind: str
    level: float
    variance: float = field(repr=False)
    noise_variance: float = field(repr=False)

    def upper(self, level_one_sided: float = 0.8) -> float:
        """Return the one-sided upper confidence limit of the standard deviation.

        Power-constrained: a total variance below the noise counts as the noise.
        """
        held = max(self.variance, self.noise_variance)
        scaled = self.df * held / chi2_quantile(self.df, 1 - level_one_sided)
        root: float = max(scaled - self.noise_variance, 0.0) ** 0.5
        return root


@dataclass(frozen=True, slots=True)
class Components:
    """What a planner needs to know of a comparison.

    Attributes
    ----------
    seed_sd_control, seed_sd_treatment : float
        Standard deviation between training runs of an arm, score units.
    seed_task_sd : float
        Seed x task standard deviation of one cell's true rate.
    sampling_variance : float
        Mean p(1 - p): variance of one sampled answer.
    task_effect_sd : float
        Standard deviation over tasks of the true difference.
    """

    seed_sd_control: float
    seed_sd_treatment: float
    seed_task_sd: float
    sampling_variance: float
    task_effect_sd: float

    def with_seed_sd(self, seed_sd: float) -> Components:
        """Return the same with that standard deviation between the runs of both arms."""
        return replace(self, seed_sd_control=seed_sd, seed_sd_treatment=seed_sd)

    def on_unit_scale(self, width: float) -> Components:
        """Return components measured on a scale that wide as the planner takes them, on [0, 1]."""
        if not width > 0:
            raise ValueError(f"a scale must have a width above 0, got {width}")
        return Components(
            self.seed_sd_control / width,
            self.seed_sd_treatment / width,
            self.seed_task_sd / width,
            self.sampling_variance / width**2,
            self.task_effect_sd / width,
        )


@dataclass(frozen=True, slots=True)
class Replication:
    """Agreement of several runs of one study; see `replication`.

    Attributes
    ----------
    z : float or None
        First minus second over their joint standard error; None unless there are two.
    q, df, p_value : float, int, float
        Cochran's Q.
    birge : float
        sqrt(q / df).
    omega, omega_interval : float, tuple of float
        Standard deviation of delta across re-trainings that the printed intervals leave out.
    per_arm_sd, per_arm_interval : float, tuple of float
        The same for one arm, omega / sqrt(2).
    """

    z: float | None
    q: float
    df: int
    p_value: float
    birge: float
    omega: float
    omega_interval: tuple[float, float]
    per_arm_sd: float
    per_arm_interval: tuple[float, float]
    standard_errors: tuple[float, ...]
    level: float


@dataclass(frozen=True, slots=True)
class Proportion:
    """A rate with its interval."""

    rate: float
    low: float
    high: float
    level: float


@dataclass(frozen=True, slots=True)
class HolmResult:
    """Holm's step-down over a family of p-values, in the order given."""

    rejected: tuple[bool, ...]
    adjusted: tuple[float, ...]
    level: float


__all__ = [
    "ArmVariance",
    "BaseDelta",
    "Components",
    "HolmResult",
    "IntervalEstimate",
    "NoiseFloor",
    "PairedT",
    "Pivot",
    "Proportion",
    "Replication",
    "ScoreArm",
    "ScoreDelta",
    "SeedDelta",
    "SeedSpread",
]
