"""Two arms of which only one score a run is known: floored Welch, on this benchmark alone."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction

from audit.errors import InsufficientData
from audit.stats.decimals import mean, printed, sample_variance
from audit.stats.delta import equal_variance_df, welch
from audit.stats.pivot import Pivot, interval
from audit.stats.quantiles import check_level
from audit.stats.records import ScoreArm, ScoreDelta

LARGEST_DENOMINATOR = 20_000
# Floats that were computed, not printed, are this close to the fraction they stand for.
_FLOAT_ROUNDING = Fraction(1, 10**9)
_PRINTED_DECIMALS = 12


def score_delta(
    control: Sequence[object],
    treatment: Sequence[object],
    *,
    tasks: int | None = None,
    samples: int | None = None,
    level: float = 0.95,
) -> ScoreDelta:
    """Compare two arms by one score a training run.

    Parameters
    ----------
    control, treatment : sequence of float, Decimal, Fraction, int or str, shape (seeds,)
        Score of each run, a fraction in [0, 1]. Floats count by their shortest decimal
        representation.
    tasks, samples : int, optional
        Tasks of the benchmark and answers drawn for each; samples counts as 1 where unknown or
        greedy. Without tasks the number of answers is the smallest up to 20,000 that explains
        every printed score.
    level : float
        Confidence level.

    Returns
    -------
    ScoreDelta

    Raises
    ------
    InsufficientData
        An arm has one run (reason ``"one-seed"``), or no number of answers explains the scores
        (``"no-denominator"``).
    ValueError
        A score is no number in [0, 1].

    Notes
    -----
    v = max(s2, p(1 - p) / (T k)) for each arm, p kept inside [1/(n+2), 1 - 1/(n+2)] with
    n = S T k; variance v_A / S_A + v_B / S_B; Welch's degrees of freedom, at most those of equal
    variances. Nothing is said about tasks outside this benchmark.

    References
    ----------
    Welch 1947.
    """
    check_level(level)
    given = [_arm(control, "control"), _arm(treatment, "treatment")]
    found = tasks is None
    answers = _find_denominator(given) if tasks is None else _product(tasks, samples)
    arms = [_variances([_on_lattice(s, answers) for s in scores], answers) for scores in given]
    (mean_c, u_c, record_c), (mean_t, u_t, record_t) = arms
    seeds = (record_c.seeds, record_t.seeds)
    pivot = Pivot(mean_t - mean_c, u_c + u_t, welch((u_c, u_t), seeds))
    return ScoreDelta(
        delta=float(pivot.delta),
        fixed=interval(pivot, level),
        control=record_c,
        treatment=record_t,
        df_eq=float(equal_variance_df(*seeds)),
        denominator=answers,
        denominator_found=found,
        fixed_pivot=pivot,
    )


def _arm(scores: Sequence[object], name: str) -> list[Decimal | Fraction]:
    values = [printed(score, f"{name} score") for score in scores]
    for value in values:
        if not 0 <= value <= 1:
            raise ValueError(f"{name} score must lie in [0, 1], got {value}")
    if len(values) < 2:
        raise InsufficientData(
            f"{name} has {len(values)} training run, needs at least 2", reason="one-seed"
        )
    return values


def _product(tasks: int, samples: int | None) -> int:
    drawn = 1 if samples is None else samples
    if tasks < 1 or drawn < 1:
        raise ValueError(f"tasks and samples must be at least 1, got {tasks} and {drawn}")
    return tasks * drawn


def _variances(scores: list[Fraction], answers: int) -> tuple[Fraction, Fraction, ScoreArm]:
    seeds = len(scores)
    centre, s2 = mean(scores), sample_variance(scores)
    edge = Fraction(1, seeds * answers + 2)
    inside = min(max(centre, edge), 1 - edge)
    floor = inside * (1 - inside) / answers
    v = max(s2, floor)
    record = ScoreArm(
        mean=float(centre),
        seeds=seeds,
        s2=float(s2),
        floor=float(floor),
        v=float(v),
        u=float(v / seeds),
        floored=floor > s2,
    )
    return centre, v / seeds, record


def _on_lattice(score: Decimal | Fraction, answers: int) -> Fraction:
    """Undo float rounding: the multiple of 1 / answers within 1e-9, else the score as printed."""
    exact = Fraction(score)
    nearest = Fraction(round(exact * answers), answers)
    return nearest if abs(nearest - exact) <= _FLOAT_ROUNDING else exact


def _find_denominator(arms: list[list[Decimal | Fraction]]) -> int:
    """Return the smallest n for which every score is within its rounding of a multiple of 1/n."""
    conditions = {_scaled(score) for scores in arms for score in scores}
    for n in range(1, LARGEST_DENOMINATOR + 1):
        if all(_explains(n, *condition) for condition in conditions):
            return n
    raise InsufficientData(
        f"no number of answers up to {LARGEST_DENOMINATOR} explains the scores; give tasks",
        reason="no-denominator",
    )


def _scaled(score: Decimal | Fraction) -> tuple[int, int, int]:
    """Return score and tolerance as integers over one modulus."""
    exact = Fraction(score)
    if isinstance(score, Fraction):
        return exact.numerator, 0, exact.denominator
    decimals = min(max(-int(score.as_tuple().exponent), 0), _PRINTED_DECIMALS)
    tolerance = Fraction(1, 2 * 10**decimals)
    modulus = exact.denominator * tolerance.denominator
    return int(exact * modulus), int(tolerance * modulus), modulus


def _explains(n: int, score: int, tolerance: int, modulus: int) -> bool:
    remainder = score * n % modulus
    return min(remainder, modulus - remainder) <= tolerance * n
