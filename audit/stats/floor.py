"""Evaluation noise floor: how far two evaluations of one and the same model may lie apart."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import sqrt
from typing import TYPE_CHECKING

from audit.stats.decimals import fractions, mean, sample_variance
from audit.stats.quantiles import check_level, chi2_quantile, f_tail, normal_quantile, t_quantile
from audit.stats.records import NoiseFloor

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

# The per-task variance counts as four more evaluations beside the R - 1 degrees of freedom seen.
_PRIOR_RUNS = 4
_RUN_EFFECT = 0.05


def noise_floor(
    evaluations: ArrayLike | None = None,
    *,
    samples: ArrayLike | None = None,
    run_means: Sequence[object] | None = None,
    tasks: int | None = None,
    deterministic: bool = False,
    level: float = 0.95,
) -> NoiseFloor:
    """Return the floor below which a difference of two single evaluations is noise.

    A necessary screen, never sufficient for a gain: it knows nothing of training.

    Parameters
    ----------
    evaluations : array of int, shape (runs, tasks), optional
        Right answers of each re-evaluation of one model.
    samples : int or array of int, optional
        Answers drawn for each cell; needed with ``evaluations``.
    run_means : sequence of numbers, shape (runs,), optional
        Scores of the re-evaluations where the answers are not known; unused where they are.
    tasks : int, optional
        Tasks behind ``run_means``; only the Bernoulli bound needs it.
    deterministic : bool
        Decoding is declared greedy, or outputs were seen to be the same.
    level : float
        Confidence level.

    Returns
    -------
    NoiseFloor

    Raises
    ------
    ValueError
        ``evaluations`` without ``samples``, or a value that is no count or score.

    Notes
    -----
    With answers: t(R + 3) sqrt(2 (4 w2 + (R - 1) run_std^2) / (R + 3)), w2 the variance of one
    evaluation's mean from the variation within tasks; where F = run_std^2 / w2 shows an effect
    of the run at .05, and where only means are known (R >= 3): t(R - 1) sqrt(2) run_std.
    """
    check_level(level)
    if evaluations is None:
        return _from_means(run_means or (), tasks, samples, deterministic, level)
    if samples is None:
        raise ValueError("evaluations need samples, the answers drawn for each cell")
    from audit.stats.base import evaluation_variance, outcome_mean
    from audit.stats.exact import outcomes

    seen = outcomes(evaluations, samples, "evaluations")
    drawn = 1 if deterministic else seen.samples
    rows = [Fraction(int(r), seen.tasks * seen.denominator) for r in seen.right.sum(axis=1)]
    bound = _pooled_bound(outcome_mean(seen), seen.seeds, seen.tasks, drawn, level)
    w2 = evaluation_variance(seen) if seen.seeds > 1 else None
    return _floor(rows, w2, seen.tasks, seen.samples, bound, deterministic, level)


def floor_from_run_std(
    run_std: float,
    runs: int,
    *,
    sampling_sd: float | None = None,
    tasks: int | None = None,
    level: float = 0.95,
) -> NoiseFloor:
    """Return the floor that follows from a printed standard deviation of re-evaluations.

    Parameters
    ----------
    run_std : float
        Standard deviation of the evaluations' means (ddof 1), score units.
    runs : int
        Evaluations behind it.
    sampling_sd : float, optional
        Standard deviation of one evaluation's mean from the variation within tasks, w.
    tasks : int, optional
        Tasks, for the F test of an effect of the run.
    level : float
        Confidence level.

    Returns
    -------
    NoiseFloor

    Raises
    ------
    ValueError
        A standard deviation is negative or not finite.
    """
    check_level(level)
    spread = fractions([run_std], "run_std")[0]
    w = None if sampling_sd is None else fractions([sampling_sd], "sampling_sd")[0]
    if spread < 0 or (w is not None and w < 0):
        raise ValueError("a standard deviation is not negative")
    return _record(
        runs=runs,
        run_variance=spread**2 if runs > 1 else None,
        w2=None if w is None else w**2,
        tasks=tasks,
        samples=None,
        bound=None,
        deterministic=False,
        level=level,
    )


def bernoulli_bound(rate: float, *, tasks: int, samples: int, level: float = 0.95) -> float:
    """Return the floor were every task's rate the mean rate: a bound, wider than the truth.

    Parameters
    ----------
    rate : float
        Mean rate of right answers.
    tasks, samples : int
        Tasks, and answers drawn for each.
    level : float
        Confidence level.

    Returns
    -------
    float
        Phi^-1(.975) sqrt(2 p (1 - p) / (T k)), score units.
    """
    return normal_quantile(level) * sqrt(2 * rate * (1 - rate) / (tasks * samples))


def run_level_f_test(
    run_variance: float, sampling_variance: float, runs: int, tasks: int
) -> tuple[float, float]:
    """Test for an effect of the evaluation run beyond sampling (server, seed, prompt drift).

    Parameters
    ----------
    run_variance, sampling_variance : float
        run_std^2 and w2, both of one evaluation's mean; the second above 0.
    runs, tasks : int

    Returns
    -------
    tuple of float
        F and P(F(R - 1, T(R - 1)) >= F).
    """
    statistic = run_variance / sampling_variance
    return statistic, f_tail(statistic, runs - 1, tasks * (runs - 1))


def _from_means(
    run_means: Sequence[object],
    tasks: int | None,
    samples: ArrayLike | None,
    deterministic: bool,
    level: float,
) -> NoiseFloor:
    rows = fractions(run_means, "run mean")
    drawn = samples if isinstance(samples, int) else None
    bound = None
    if rows and tasks is not None:
        k = 1 if deterministic or drawn is None else drawn
        bound = _pooled_bound(mean(rows), len(rows), tasks, k, level)
    return _floor(rows, None, tasks, drawn, bound, deterministic, level)


def _pooled_bound(rate: Fraction, runs: int, tasks: int, samples: int, level: float) -> float:
    """Bernoulli bound with two right and two wrong answers added, so that it is never 0."""
    n = runs * tasks * samples
    inside = float((n * rate + 2) / (n + 4))
    return bernoulli_bound(inside, tasks=tasks, samples=samples, level=level)


def _floor(
    rows: list[Fraction],
    w2: Fraction | None,
    tasks: int | None,
    samples: int | None,
    bound: float | None,
    deterministic: bool,
    level: float,
) -> NoiseFloor:
    return _record(
        runs=len(rows),
        run_variance=sample_variance(rows) if len(rows) > 1 else None,
        w2=w2,
        tasks=tasks,
        samples=samples,
        bound=bound,
        deterministic=deterministic,
        level=level,
    )


def _record(
    *,
    runs: int,
    run_variance: Fraction | None,
    w2: Fraction | None,
    tasks: int | None,
    samples: int | None,
    bound: float | None,
    deterministic: bool,
    level: float,
) -> NoiseFloor:
    run_std = None if run_variance is None else sqrt(run_variance)
    f_test = None
    if run_variance is not None and w2 and tasks is not None:
        f_test = run_level_f_test(float(run_variance), float(w2), runs, tasks)
    t_form = None if run_std is None else t_quantile(runs - 1, level) * sqrt(2) * run_std
    reason = _reason(runs, run_variance, w2, deterministic)
    method = _method(w2, f_test) if reason is None else "none"
    value = t_form if method == "t-run" else None
    if method == "shrink4" and run_variance is not None and w2 is not None:
        value = _shrunk(runs, run_variance, w2, level)
    return NoiseFloor(
        value=value,
        reason=reason,
        method=method,
        run_std=run_std,
        run_std_interval=None if run_std is None else _std_interval(run_std, runs, level),
        sampling_sd=None if w2 is None else sqrt(w2),
        printed=None if run_std is None else normal_quantile(level) * sqrt(2) * run_std,
        t_form=t_form,
        bernoulli_bound=bound,
        f_statistic=f_test[0] if f_test else None,
        f_p_value=f_test[1] if f_test else None,
        runs=runs,
        tasks=tasks,
        samples=samples,
        level=level,
    )


def _reason(
    runs: int, run_variance: Fraction | None, w2: Fraction | None, deterministic: bool
) -> str | None:
    if run_variance is None or (w2 is None and runs < 3):
        return "too-few-evaluations"
    if w2 == 0 or (w2 is None and run_variance == 0):
        return "deterministic-eval" if deterministic else "no-variation-seen"
    return None


def _method(w2: Fraction | None, f_test: tuple[float, float] | None) -> str:
    if w2 is None or (f_test is not None and f_test[1] < _RUN_EFFECT):
        return "t-run"
    return "shrink4"


def _shrunk(runs: int, run_variance: Fraction, w2: Fraction, level: float) -> float:
    df = runs - 1 + _PRIOR_RUNS
    pooled = (_PRIOR_RUNS * w2 + (runs - 1) * run_variance) / df
    return t_quantile(df, level) * sqrt(2 * pooled)


def _std_interval(run_std: float, runs: int, level: float) -> tuple[float, float]:
    df, tail = runs - 1, (1 - level) / 2
    low = run_std * sqrt(df / chi2_quantile(df, 1 - tail))
    return low, run_std * sqrt(df / chi2_quantile(df, tail))
