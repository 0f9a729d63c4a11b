"""The mean over several benchmarks that the same runs were evaluated on."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from audit.errors import InsufficientData
from audit.stats.clusters import Clusters, clusters_of
from audit.stats.decimals import fractions, mean, sample_variance
from audit.stats.delta import (
    ArmParts,
    difference_variance,
    equal_variance_df,
    paired_squares,
    random_df,
    tasks_df,
    welch,
)
from audit.stats.exact import comparable, outcomes, replicated, split_samples, task_differences
from audit.stats.pivot import IntervalEstimate, Pivot, hulled_interval, interval
from audit.stats.quantiles import check_level
from audit.stats.records import ScoreArm, ScoreDelta
from audit.stats.scores import ScoreFloor, ScoreParts, delta_of_scores, score_floor

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

WEIGHTS = ("macro", "micro")


@dataclass(frozen=True, slots=True)
class BenchmarkCounts:
    """Counts of both arms on one benchmark; the rows are the same runs on every benchmark.

    Attributes
    ----------
    control, treatment : array of int, shape (seeds, tasks)
        Right answers.
    samples : int, array of int, or tuple of two of these
        Answers drawn for each cell; a tuple gives (control, treatment).
    clusters : sequence, shape (tasks,), optional
    floor_samples : int, optional
        As for `seed_delta`.
    """

    control: ArrayLike
    treatment: ArrayLike
    samples: Any
    clusters: Sequence[Hashable] | None = None
    floor_samples: int | None = None


@dataclass(frozen=True, slots=True)
class BenchmarkScores:
    """One score for each run of both arms on one benchmark.

    Attributes
    ----------
    control, treatment : sequence of numbers, shape (seeds,)
        On the scale from 0 to 1.
    answers : int, optional
        Answers behind a score, as for `score_delta`.
    unit : number, optional
        Unit of the last printed decimal, as for `score_delta`.
    tasks : int, optional
        Tasks of the benchmark, by which it weighs in a micro average.
    """

    control: Sequence[object]
    treatment: Sequence[object]
    answers: int | None = None
    unit: object = None
    tasks: int | None = None


@dataclass(frozen=True, slots=True)
class AverageDelta:
    """Difference of the arms' means over benchmarks; see `average_delta`.

    Attributes
    ----------
    delta : float
    fixed, random : IntervalEstimate
        For these tasks, and for new tasks like them; the benchmarks are these in both.
    raw : IntervalEstimate
        The random-task interval before it is widened to hold ``fixed``.
    control, treatment : ScoreArm
        Mean and variances of the runs' averages.
    weights, deltas : tuple of float
        Weight and difference of each benchmark.
    tasks : tuple of int
    x : float
        Variance of delta that comes from the choice of tasks.
    tasks_df : float
        Degrees of freedom of the variance between tasks.
    paired : bool
    """

    delta: float
    fixed: IntervalEstimate
    random: IntervalEstimate
    raw: IntervalEstimate
    control: ScoreArm
    treatment: ScoreArm
    weights: tuple[float, ...]
    deltas: tuple[float, ...]
    tasks: tuple[int, ...]
    x: float
    tasks_df: float
    paired: bool
    fixed_pivot: Pivot = field(repr=False)
    raw_pivot: Pivot = field(repr=False)

    @property
    def u(self) -> float:
        """Variance of delta from training and evaluation, the tasks being these."""
        return float(self.fixed_pivot.variance)

    def at(self, level: float) -> AverageDelta:
        """Return the same comparison at another confidence level."""
        return replace(
            self,
            fixed=interval(self.fixed_pivot, level),
            raw=interval(self.raw_pivot, level),
            random=hulled_interval(self.fixed_pivot, self.raw_pivot, level),
        )


def average_delta(
    benchmarks: Sequence[BenchmarkCounts],
    *,
    weights: str = "macro",
    paired: bool = False,
    level: float = 0.95,
) -> AverageDelta:
    """Compare two arms by the mean over several benchmarks.

    Parameters
    ----------
    benchmarks : sequence of BenchmarkCounts
    weights : {"macro", "micro"}
        Benchmarks weigh the same, or as their tasks.
    paired : bool
        As for `seed_delta`.
    level : float
        Confidence level.

    Returns
    -------
    AverageDelta

    Raises
    ------
    InsufficientData
        No benchmark (reason ``"not-measured"``), benchmarks of different runs
        (``"incomplete"``), and as for `seed_delta`.

    Notes
    -----
    Benchmarks share the runs, so the variance is that of the runs' own averages
    M_s = sum_b w_b m_sb: u = sum over arms of max(var M, sum_b w_b^2 q_b / T_b) / S. Adding the
    variances of benchmarks as if they were independent makes up to a third of the nulls a gain
    or a loss. x = sum_b w_b^2 max(V_b - q_Ab / S_A - q_Bb / S_B, 0) / T_b, with
    (sum z)^2 / sum(z^2 / (T_b - 1)), z_b = w_b^2 V_b / T_b, in the place of T - 1. One benchmark
    alone gives `seed_delta`.

    References
    ----------
    Satterthwaite 1946; Hillis 2014, Stat Med 33:330.
    """
    check_level(level)
    if not benchmarks:
        raise InsufficientData("no benchmark given", reason="not-measured")
    measured = list(map(_Measured, benchmarks))
    for one in measured[1:]:
        if one.seeds != measured[0].seeds:
            raise InsufficientData(
                "the runs of an arm were not all evaluated on every benchmark",
                reason="incomplete",
            )
    shares = _shares(weights, [one.tasks for one in measured])
    seeds = measured[0].seeds
    if paired and seeds[0] != seeds[1]:
        raise ValueError(f"paired arms need equal seeds, got {seeds[0]} and {seeds[1]}")
    paired = paired and seeds[0] >= 3
    arms = [_averaged([one.arms[side] for one in measured], shares) for side in (0, 1)]
    delta = arms[1].mean - arms[0].mean
    u = [arm.v / arm.seeds for arm in arms]
    total, x_parts = sum(u, Fraction(0)), [one.x for one in measured]
    if paired:
        own, x_parts = _paired_parts(measured, shares)
        # Differences that no seed changes carry no estimate; the arms' own variances stand.
        total = own or total
    x_parts = [w * w * x for w, x in zip(shares, x_parts, strict=True)]
    x = sum(x_parts, Fraction(0))
    seeds_df = seeds[0] - 1 if paired else seeds[0] + seeds[1] - 2
    if paired:
        spread, fixed_df = total * total / seeds_df, Fraction(seeds_df)
    else:
        spread = u[0] ** 2 / (seeds[0] - 1) + u[1] ** 2 / (seeds[1] - 1)
        fixed_df = welch((u[0], u[1]), seeds)
    spread += sum(
        (part * part / one.tasks_df
         for part, one in zip(x_parts, measured, strict=True) if one.clusters is not None),
        Fraction(0),
    )  # fmt: skip
    between = _pooled_df(measured, shares)
    df = random_df(total, x, spread, seeds_df=seeds_df, tasks_df=between)
    if not paired and total:
        df = min(df, equal_variance_df(*seeds) * ((total + x) / total) ** 2)
    fixed, raw = Pivot(delta, total, fixed_df), Pivot(delta, total + x, df)
    return AverageDelta(
        delta=float(delta),
        fixed=interval(fixed, level),
        random=hulled_interval(fixed, raw, level),
        raw=interval(raw, level),
        control=arms[0].record(),
        treatment=arms[1].record(),
        weights=tuple(map(float, shares)),
        deltas=tuple(float(one.delta) for one in measured),
        tasks=tuple(one.tasks for one in measured),
        x=float(x),
        tasks_df=float(between),
        paired=paired,
        fixed_pivot=fixed,
        raw_pivot=raw,
    )


def average_score_delta(
    benchmarks: Sequence[BenchmarkScores], *, weights: str = "macro", level: float = 0.95
) -> ScoreDelta:
    """Compare two arms by the mean over benchmarks of one score per run, on these tasks alone.

    Parameters
    ----------
    benchmarks : sequence of BenchmarkScores
    weights : {"macro", "micro"}
        For micro each benchmark needs its number of tasks.
    level : float
        Confidence level.

    Returns
    -------
    ScoreDelta
        ``answers`` and ``unit`` are None: each benchmark has its own.

    Notes
    -----
    v = max(var M, sum_b w_b^2 f_b), f_b the floor of `score_delta` on that benchmark.
    """
    check_level(level)
    if not benchmarks:
        raise InsufficientData("no benchmark given", reason="not-measured")
    tasks = [one.tasks for one in benchmarks]
    if weights == "micro" and any(number is None for number in tasks):
        raise InsufficientData("a micro average needs the tasks of every benchmark",
                               reason="not-measured")  # fmt: skip
    shares = _shares(weights, [number or 1 for number in tasks])
    floors = [
        score_floor([*b.control, *b.treatment], answers=b.answers, unit=b.unit) for b in benchmarks
    ]
    arms = [
        _averaged_scores([getattr(b, side) for b in benchmarks], floors, shares, side)
        for side in ("control", "treatment")
    ]
    return delta_of_scores(*arms, level=level)


class _Measured:
    """Exact parts of one benchmark."""

    def __init__(self, given: BenchmarkCounts) -> None:
        samples_c, samples_t = split_samples(given.samples)
        control = outcomes(given.control, samples_c, "control")
        treatment = outcomes(given.treatment, samples_t, "treatment")
        comparable(control, treatment)
        replicated(control, "control")
        replicated(treatment, "treatment")
        self.tasks = control.tasks
        self.clusters: Clusters | None = None
        if given.clusters is not None:
            self.clusters = clusters_of(given.clusters, self.tasks)
        self.arms = tuple(
            ArmParts(arm, given.floor_samples, self.clusters) for arm in (control, treatment)
        )
        self.seeds = (control.seeds, treatment.seeds)
        a, b = self.arms
        self.v_t = difference_variance(*task_differences(control, treatment), self.clusters)
        self.x = max(self.v_t - a.q / a.seeds - b.q / b.seeds, Fraction(0)) / a.units
        self.delta = b.moments.mean - a.moments.mean
        self.tasks_df = tasks_df(self.tasks, self.clusters)


def _averaged(parts: Sequence[ArmParts], shares: Sequence[Fraction]) -> ScoreParts:
    runs = [Fraction(0)] * parts[0].seeds
    floor = Fraction(0)
    for part, share in zip(parts, shares, strict=True):
        scale = share / (part.tasks * part.source.denominator)
        rows = part.source.right.sum(axis=1).tolist()
        runs = [total + scale * row for total, row in zip(runs, rows, strict=True)]
        floor += share**2 * (part.v if part.saturated else part.q / part.units)
    return ScoreParts(runs, floor)


def _averaged_scores(
    scores: Sequence[Sequence[object]],
    floors: Sequence[ScoreFloor],
    shares: Sequence[Fraction],
    name: str,
) -> ScoreParts:
    columns = [fractions(values, f"{name} score") for values in scores]
    if any(not 0 <= value <= 1 for values in columns for value in values):
        raise ValueError(f"{name} scores must lie in [0, 1]")
    seeds = len(columns[0])
    if any(len(values) != seeds for values in columns):
        raise InsufficientData(
            f"the runs of {name} were not all evaluated on every benchmark", reason="incomplete"
        )
    if seeds < 2:
        raise InsufficientData(f"{name} has one training run, needs at least 2", reason="one-seed")
    floor, runs = Fraction(0), [Fraction(0)] * seeds
    for values, own, share in zip(columns, floors, shares, strict=True):
        placed = [own.placed(value) for value in values]
        floor += share**2 * own.variance(mean(placed), seeds)
        runs = [total + share * value for total, value in zip(runs, placed, strict=True)]
    return ScoreParts(runs, floor)


def _paired_parts(
    measured: Sequence[_Measured], shares: Sequence[Fraction]
) -> tuple[Fraction, list[Fraction]]:
    """Return u of the paired differences, and x of each benchmark before its weight."""
    averages = [_averaged([one.arms[side] for one in measured], shares).scores for side in (0, 1)]
    differences = [b - a for a, b in zip(*averages, strict=True)]
    floor, x_parts = Fraction(0), []
    for one, share in zip(measured, shares, strict=True):
        a, b = one.arms
        _, ms_task, crossed = paired_squares(a.source, b.source, one.v_t, one.clusters)
        floor += share**2 * crossed / a.units
        x_parts.append(max(ms_task - crossed, Fraction(0)) / (a.seeds * a.units))
    return max(sample_variance(differences), floor) / len(differences), x_parts


def _pooled_df(measured: Sequence[_Measured], shares: Sequence[Fraction]) -> Fraction:
    """Return Satterthwaite's degrees of freedom of the variance between tasks."""
    z = [w * w * one.v_t / one.arms[0].units for w, one in zip(shares, measured, strict=True)]
    if not any(z):
        return min(one.tasks_df for one in measured)
    parts = (value**2 / one.tasks_df for value, one in zip(z, measured, strict=True))
    return sum(z, Fraction(0)) ** 2 / sum(parts, Fraction(0))


def _shares(weights: str, tasks: Sequence[int]) -> list[Fraction]:
    if weights not in WEIGHTS:
        raise ValueError(f"weights must be one of {', '.join(WEIGHTS)}, got {weights!r}")
    if weights == "macro":
        return [Fraction(1, len(tasks))] * len(tasks)
    return [Fraction(number, sum(tasks)) for number in tasks]
