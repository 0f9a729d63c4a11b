"""Standard deviation between training runs net of evaluation noise, and the planner's parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from audit.errors import InsufficientData
from audit.stats.decimals import fractions, sample_variance
from audit.stats.delta import ArmParts
from audit.stats.exact import (
    Outcomes,
    comparable,
    fits,
    harmonic_mean,
    outcomes,
    replicated,
    split_samples,
    task_differences,
    variance,
)
from audit.stats.quantiles import check_level, chi2_quantile, chi2_tail, f_tail
from audit.stats.records import Components, SeedSpread

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def seed_spread(
    counts_or_rates: ArrayLike,
    *,
    samples: Any,
    kind: str = "general",
    level: float = 0.95,
) -> SeedSpread:
    """Return the standard deviation between one arm's training runs, net of evaluation noise.

    Parameters
    ----------
    counts_or_rates : array, shape (seeds, tasks)
        Right answers (an integer array), or the rates of right answers (a float array).
    samples : int or array of int
        Answers drawn for each cell.
    kind : {"general", "benchmark"}
        What counts as noise: everything that differs from task to task, or the sampling of
        answers alone, which leaves what the seed does to these tasks in (two samples or more).
    level : float
        Confidence level.

    Returns
    -------
    SeedSpread

    Raises
    ------
    InsufficientData
        One run (reason ``"one-seed"``), one task (``"few-tasks"``), or ``"benchmark"`` with one
        sample (``"one-sample"``).
    ValueError
        Values are no counts or rates, or ``kind`` is unknown.

    Notes
    -----
    sigma^2 = max(v - W, 0), v the variance of run means with nu = S - 1; W = q / T, or
    sum Y(1 - Y) / ((k - 1) S T^2). Interval: chi-square limits of v less W, the upper one of
    max(v, W): a spread seen smaller than the noise says no more than the noise allows. An arm
    without any error or success takes the variance of a saturated mean for W.

    References
    ----------
    Burdick & Graybill 1992; Cowan et al. 2011 (power-constrained limits).
    """
    return pooled_seed_spread([counts_or_rates], samples=[samples], kind=kind, level=level)


def pooled_seed_spread(
    arms: Sequence[ArrayLike],
    *,
    samples: Any,
    kind: str = "general",
    level: float = 0.95,
) -> SeedSpread:
    """Return the spread between runs pooled over arms, for few seeds; see `seed_spread`.

    Parameters
    ----------
    arms : sequence of arrays, each of shape (seeds, tasks)
    samples : int, or one entry per arm
        Answers drawn for each cell.
    kind, level
        As for `seed_spread`.

    Returns
    -------
    SeedSpread

    Notes
    -----
    v and W are means over the arms; nu is the sum of S_a - 1.
    """
    check_level(level)
    if kind not in ("general", "benchmark"):
        raise ValueError(f"kind must be 'general' or 'benchmark', got {kind!r}")
    if not len(arms):
        raise InsufficientData("no arm given", reason="one-seed")
    drawn = list(samples) if isinstance(samples, (list, tuple)) else [samples] * len(arms)
    if len(drawn) != len(arms):
        raise ValueError(f"samples for {len(drawn)} arms, got {len(arms)} arms")
    parts = [_parts(values, k) for values, k in zip(arms, drawn, strict=True)]
    df = sum(p.seeds - 1 for p in parts)
    total = sum((p.moments.s2 for p in parts), Fraction(0)) / len(parts)
    noises = [_noise(p, kind) for p in parts]
    noise = sum((n for n, _ in noises), Fraction(0)) / len(parts)
    noise_df = sum(d for _, d in noises)
    p_zero = f_tail(float(total / noise), df, noise_df) if noise else (0.0 if total else None)
    return _record(float(total), float(noise), df, p_zero, kind, level)


def score_spread(
    scores: Sequence[object], *, noise_variance: float = 0.0, level: float = 0.95
) -> SeedSpread:
    """Return the standard deviation between runs of which only one score each is known.

    Parameters
    ----------
    scores : sequence of numbers, shape (seeds,)
    noise_variance : float
        Variance of a run's score that is the evaluation's, taken as known; 0 leaves it in.
    level : float
        Confidence level.

    Returns
    -------
    SeedSpread

    Raises
    ------
    InsufficientData
        Fewer than two scores (reason ``"one-seed"``).
    """
    return pooled_score_spread([scores], noise_variance=noise_variance, level=level)


def pooled_score_spread(
    arms: Sequence[Sequence[object]], *, noise_variance: float = 0.0, level: float = 0.95
) -> SeedSpread:
    """Return the spread between runs pooled over arms of scores; see `score_spread`.

    Parameters
    ----------
    arms : sequence of sequences of numbers, each of shape (seeds,)
    noise_variance, level
        As for `score_spread`; the noise is the mean over the arms.

    Notes
    -----
    v is the mean over the arms; nu is the sum of S_a - 1.
    """
    check_level(level)
    values = [fractions(scores, "score") for scores in arms]
    if not values or min(len(scores) for scores in values) < 2:
        raise InsufficientData("a spread needs at least 2 runs", reason="one-seed")
    if noise_variance < 0:
        raise ValueError(f"noise_variance must not be negative, got {noise_variance}")
    total = float(sum(map(sample_variance, values), Fraction(0)) / len(values))
    df = sum(len(scores) - 1 for scores in values)
    p_zero = chi2_tail(df * total / noise_variance, df) if noise_variance else None
    return _record(total, noise_variance, df, p_zero, "scores", level)


def variance_split(
    control: ArrayLike,
    treatment: ArrayLike,
    *,
    samples: Any,
    answers: int | None = None,
    answer_variance: float = 0.0,
) -> Components:
    """Return the components of two arms that a planner needs.

    Parameters
    ----------
    control, treatment : array of int, shape (seeds, tasks)
        Right answers.
    samples : int, array of int, or tuple of two of these
        Answers drawn for each cell; a tuple gives (control, treatment).
    answers : int, optional
        Answers behind a cell where p(1 - p) is not their variance: ``samples`` is only a
        denominator, as for graded scores and pass@k, or counts are summed over checkpoints.
    answer_variance : float
        With ``answers``, the variance of one of them within a cell, the mean over the cells of
        the sample variance; 0 where it was not recorded.

    Returns
    -------
    Components

    Notes
    -----
    sigma_s^2 = max(s2 - q / T, 0) by arm; sd_st^2 = max(q - mean p(1 - p) / k, 0);
    sigma_tau^2 = max(V_t - q_A / S_A - q_B / S_B, 0); q and the shares of sampling, by
    `sampling_variance`, averaged over the arms. Plans count `harmonic_samples` answers for each
    task. Where an arm has no cell of two answers, or with an ``answer_variance`` of 0, the two
    shares of q cannot be told apart: all of it counts as seed x task, which more samples would
    not reduce.
    """
    samples_c, samples_t = split_samples(samples)
    arm_c, arm_t = _parts(control, samples_c), _parts(treatment, samples_t)
    comparable(arm_c.source, arm_t.source)
    v_t = variance(*task_differences(arm_c.source, arm_t.source))
    effect = v_t - arm_c.moments.q / arm_c.seeds - arm_t.moments.q / arm_t.seeds
    arms = (arm_c, arm_t)
    q = sum((p.moments.q for p in arms), Fraction(0)) / 2
    of_answer = of_cell = Fraction(0)
    if answers is not None:
        if answers < 1 or not answer_variance >= 0:
            raise ValueError("answers must be at least 1 and their variance not negative")
        of_answer = Fraction(answer_variance)
        of_cell = of_answer / answers
    elif all((p.source.drawn > 1).any() for p in arms):
        sampling = [sampling_variance(p.source) for p in arms]
        of_answer = sum((s.of_answer for s in sampling), Fraction(0)) / 2
        of_cell = sum((s.of_cell for s in sampling), Fraction(0)) / 2
    return Components(
        seed_sd_control=_root(arm_c.moments.s2 - arm_c.moments.q / arm_c.tasks),
        seed_sd_treatment=_root(arm_t.moments.s2 - arm_t.moments.q / arm_t.tasks),
        seed_task_sd=_root(q - of_cell),
        sampling_variance=float(of_answer),
        task_effect_sd=_root(effect),
    )


@dataclass(frozen=True, slots=True)
class SamplingVariance:
    """Variance from drawing answers, unbiased.

    Attributes
    ----------
    of_answer : Fraction
        Mean p(1 - p) of the cells.
    of_cell : Fraction
        Mean p(1 - p) / k of the cells.
    df : int
        Sum of k - 1.
    """

    of_answer: Fraction
    of_cell: Fraction
    df: int


def sampling_variance(arm: Outcomes) -> SamplingVariance:
    """Return the sampling variance of an arm of which a cell has two samples or more.

    Notes
    -----
    pq = mean c (k - c) / (k (k - 1)) over the cells with k >= 2; cells of one sample, which tell
    nothing of it, count in ``of_cell`` with pq.
    """
    answer, cell, df, several = Fraction(0), Fraction(0), 0, 0
    drawn = np.broadcast_to(arm.drawn, arm.right.shape)
    for k in sorted({int(k) for k in np.unique(drawn)} - {1}):
        right = arm.right[drawn == k]
        counts = fits(right, arm.denominator * k) * k // arm.denominator
        counts = fits(counts, k**2 * len(counts))
        spread = Fraction(int((counts * (k - counts)).sum()), k * (k - 1))
        answer, cell, df = answer + spread, cell + spread / k, df + (k - 1) * len(counts)
        several += len(counts)
    pq, cells = answer / several, arm.seeds * arm.tasks
    return SamplingVariance(pq, (cell + pq * (cells - several)) / cells, df)


def harmonic_samples(samples: ArrayLike) -> float:
    """Return the harmonic mean of numbers of samples: what a plan counts for each task.

    Parameters
    ----------
    samples : int or array of int, any shape
        Answers drawn for each cell, at least 1.
    """
    drawn = np.asarray(samples)
    if drawn.size == 0 or drawn.dtype.kind not in "iuO" or (drawn < 1).any():
        raise ValueError("samples must be whole numbers of at least 1")
    return float(harmonic_mean(drawn))


def samples_by_difficulty(counts: ArrayLike, samples: ArrayLike) -> float | None:
    """Return the correlation over tasks of answers drawn and the rate of right ones.

    Beyond about .3 either way the mean p(1 - p) of the answers is not that of the tasks.

    Parameters
    ----------
    counts : array of int, shape (seeds, tasks)
        Right answers.
    samples : int or array of int
        Answers drawn for each cell.

    Returns
    -------
    float or None
        None where the number of answers or the rate is the same for all tasks.
    """
    arm = outcomes(counts, samples, "arm")
    numbers = np.broadcast_to(arm.drawn, arm.right.shape).sum(axis=0).astype(float)
    rates = (arm.right / arm.denominator).astype(float).mean(axis=0)
    if np.ptp(numbers) == 0 or np.ptp(rates) == 0:
        return None
    return float(np.corrcoef(numbers, rates)[0, 1])


def _parts(values: ArrayLike, samples: Any) -> ArmParts:
    arm = outcomes(_as_counts(values, samples), samples, "arm")
    if arm.tasks < 2:
        raise InsufficientData("a spread needs at least 2 tasks, got 1", reason="few-tasks")
    replicated(arm, "arm")
    return ArmParts(arm)


def _as_counts(values: ArrayLike, samples: Any) -> Any:
    """Put float rates back on their lattice; integers are counts already."""
    array = np.asarray(values)
    if array.dtype.kind != "f":
        return values
    if not (np.isfinite(array).all() and (array >= 0).all() and (array <= 1).all()):
        raise ValueError("rates must lie in [0, 1]; give counts as integers")
    counts = array * np.asarray(samples)
    whole = np.rint(counts)
    if (np.abs(counts - whole) > 1e-6).any():
        raise ValueError("a rate is no multiple of 1 / samples")
    return whole.astype(np.int64)


def _noise(parts: ArmParts, kind: str) -> tuple[Fraction, int]:
    """Return the noise variance W of one run mean and its degrees of freedom."""
    arm = parts.source
    if kind == "benchmark" and not (arm.drawn > 1).any():
        raise InsufficientData(
            "the benchmark form needs at least 2 samples per task, got 1", reason="one-sample"
        )
    if kind == "benchmark":
        sampling = sampling_variance(arm)
        noise, df = sampling.of_cell / arm.tasks, sampling.df
    else:
        noise, df = parts.moments.q / arm.tasks, (arm.seeds - 1) * (arm.tasks - 1)
    return (parts.v if parts.saturated else noise), df


def _root(value: Fraction) -> float:
    return sqrt(max(value, Fraction(0)))


def _record(
    total: float, noise: float, df: int, p_zero: float | None, kind: str, level: float
) -> SeedSpread:
    tail = (1 - level) / 2
    low = df * total / chi2_quantile(df, 1 - tail) - noise
    high = df * max(total, noise) / chi2_quantile(df, tail) - noise
    return SeedSpread(
        sd=sqrt(max(total - noise, 0.0)),
        low=sqrt(max(low, 0.0)),
        high=sqrt(max(high, 0.0)),
        total_sd=sqrt(total),
        noise_sd=sqrt(noise),
        df=df,
        p_zero=p_zero,
        kind=kind,
        level=level,
        variance=total,
        noise_variance=noise,
    )
