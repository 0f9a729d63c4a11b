"""Two arms of which only one score per run is known: floored Welch, on this benchmark alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from audit.errors import InsufficientData
from audit.stats.decimals import fractions, mean, sample_variance
from audit.stats.delta import equal_variance_df, welch
from audit.stats.pivot import Pivot, interval
from audit.stats.quantiles import check_level
from audit.stats.records import ScoreArm, ScoreDelta
from audit.stats.scales import printed_unit

# Floats that were computed, not printed, are this close to the fraction they stand for.
_FLOAT_ROUNDING = Fraction(1, 10**9)


def score_delta(
    control: Sequence[object],
    treatment: Sequence[object],
    *,
    answers: int | None = None,
    unit: object = None,
    level: float = 0.95,
) -> ScoreDelta:
    """Compare two arms by one score a training run.

    Parameters
    ----------
    control, treatment : sequence of float, Decimal, Fraction, int or str, shape (seeds,)
        Score of each run on the scale from 0 to 1. Floats count by their shortest decimal
        representation.
    answers : int, optional
        Answers behind the score of each run, the fewest recorded; only where the score is the
        share of right ones among them. It is never inferred from the digits.
    unit : number, optional
        Without answers: unit of the last printed decimal, on the scale from 0 to 1. Else that of
        the most decimals among the scores.
    level : float
        Confidence level.

    Returns
    -------
    ScoreDelta

    Raises
    ------
    InsufficientData
        An arm has one run (reason ``"one-seed"``).
    ValueError
        A score is no number in [0, 1], or answers or unit are none.

    Notes
    -----
    For each arm v = max(s2, p(1 - p) / n), n the answers of a run and p kept inside
    [1/(S n + 2), 1 - 1/(S n + 2)]; without answers v = max(s2, unit^2 / 12), the variance of
    rounding alone: p(1 - p) is no bound that is any use for a mean of rewards. Variance
    v_A / S_A + v_B / S_B; Welch's degrees of freedom, at most those of equal variances. Nothing
    is said about tasks outside this benchmark.

    References
    ----------
    Welch 1947.
    """
    check_level(level)
    floor = score_floor([*control, *treatment], answers=answers, unit=unit)
    arms = []
    for scores, name in ((control, "control"), (treatment, "treatment")):
        placed = [floor.placed(score) for score in _arm(scores, name)]
        arms.append(ScoreParts(placed, floor.variance(mean(placed), len(placed))))
    unit = None if floor.unit is None else float(floor.unit)
    return delta_of_scores(*arms, level=level, answers=answers, unit=unit)


def delta_of_scores(
    control: ScoreParts,
    treatment: ScoreParts,
    *,
    level: float,
    answers: int | None = None,
    unit: float | None = None,
) -> ScoreDelta:
    """Return the comparison of two arms whose scores and floors are known; see `score_delta`."""
    seeds = (control.seeds, treatment.seeds)
    u = (control.v / seeds[0], treatment.v / seeds[1])
    pivot = Pivot(treatment.mean - control.mean, u[0] + u[1], welch(u, seeds))
    return ScoreDelta(
        delta=float(pivot.delta),
        fixed=interval(pivot, level),
        control=control.record(),
        treatment=treatment.record(),
        df_eq=float(equal_variance_df(*seeds)),
        answers=answers,
        unit=unit,
        fixed_pivot=pivot,
    )


@dataclass(frozen=True, slots=True)
class ScoreFloor:
    """What is known of a score's own variance: answers behind it, or the unit it is printed in."""

    answers: int | None
    unit: Fraction | None

    def variance(self, centre: Fraction, seeds: int) -> Fraction:
        """Return the floor for an arm of so many runs with that mean."""
        if self.answers is None:
            return (self.unit or Fraction(0)) ** 2 / 12
        edge = Fraction(1, seeds * self.answers + 2)
        inside = min(max(centre, edge), 1 - edge)
        return inside * (1 - inside) / self.answers

    def placed(self, score: Fraction) -> Fraction:
        """Undo float rounding: the multiple of 1 / answers within 1e-9, else the score itself."""
        if self.answers is None:
            return score
        nearest = Fraction(round(score * self.answers), self.answers)
        return nearest if abs(nearest - score) <= _FLOAT_ROUNDING else score


def score_floor(scores: Sequence[object], *, answers: int | None, unit: object) -> ScoreFloor:
    """Return the floor of scores by their answers, else by their unit; see `score_delta`."""
    if answers is not None:
        if answers < 1:
            raise ValueError(f"answers must be at least 1, got {answers}")
        return ScoreFloor(answers, None)
    if unit is None:
        return ScoreFloor(None, printed_unit(scores))
    (exact,) = fractions([unit], "unit")
    if not 0 <= exact <= 1:
        raise ValueError(f"unit must lie in [0, 1], got {unit}")
    return ScoreFloor(None, exact)


class ScoreParts:
    """Exact variance of one arm of scores: that of its runs, and never below its floor."""

    __slots__ = ("floor", "mean", "s2", "scores", "seeds", "v")

    def __init__(self, scores: list[Fraction], floor: Fraction) -> None:
        self.scores, self.floor = scores, floor
        self.seeds, self.mean, self.s2 = len(scores), mean(scores), sample_variance(scores)
        self.v = max(self.s2, floor)

    def record(self) -> ScoreArm:
        """Return the parts as floats."""
        return ScoreArm(
            mean=float(self.mean),
            seeds=self.seeds,
            s2=float(self.s2),
            floor=float(self.floor),
            v=float(self.v),
            u=float(self.v / self.seeds),
            floored=self.floor > self.s2,
        )


def _arm(scores: Sequence[object], name: str) -> list[Fraction]:
    values = fractions(scores, f"{name} score")
    for score, value in zip(scores, values, strict=True):
        if not 0 <= value <= 1:
            raise ValueError(f"{name} score must lie in [0, 1], got {score}")
    if len(values) < 2:
        raise InsufficientData(
            f"{name} has {len(values)} training run, needs at least 2", reason="one-seed"
        )
    return values
