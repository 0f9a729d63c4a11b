"""Runs of one arm that all have the same score: how likely without any training variance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import pi, sqrt

from audit.errors import InsufficientData
from audit.stats.decimals import fractions

_FEWEST_RUNS, _CHANCE = 3, 1e-3


@dataclass(frozen=True, slots=True)
class EqualScores:
    """Whether runs with one score can be trainings of their own; see `equal_scores`.

    Attributes
    ----------
    equal : bool
        All runs have the same score, and it is neither end of the scale.
    runs : int
    chance : float or None
        Chance of that were the runs one model evaluated again; None where the scores differ or
        the number of answers is unknown.
    refused : bool
        Three runs or more are equal, and that is too unlikely or cannot be known to be likely.
    """

    equal: bool
    runs: int
    chance: float | None
    refused: bool


def equal_scores(
    scores: Sequence[object], *, answers: int | None = None, unit: object = 0
) -> EqualScores:
    """Judge whether the runs of an arm agree too well in their scores.

    Parameters
    ----------
    scores : sequence of numbers, shape (runs,)
        Score of each run on the scale from 0 to 1, or its mean over answers.
    answers : int, optional
        Answers behind one score; None where unknown.
    unit : number
        Unit of the last printed decimal, 0 where scores are exact.

    Returns
    -------
    EqualScores
    """
    values = fractions(scores, "score")
    if not values:
        raise InsufficientData("no score given", reason="one-seed")
    runs = len(values)
    if len(set(values)) > 1 or runs < 2 or not 0 < values[0] < 1:
        return EqualScores(False, runs, None, False)
    many = runs >= _FEWEST_RUNS
    if answers is None:
        return EqualScores(True, runs, None, many)
    chance = equal_scores_chance(values[0], runs=runs, answers=answers, unit=unit)
    return EqualScores(True, runs, chance, many and chance < _CHANCE)


def equal_scores_chance(share: object, *, runs: int, answers: int, unit: object = 0) -> float:
    """Return the chance that runs of one model have the same score.

    Parameters
    ----------
    share : number
        The score, inside (0, 1).
    runs, answers : int
        Runs, and answers behind one score.
    unit : number
        Unit of the last printed decimal, 0 where scores are exact.

    Returns
    -------
    float

    Notes
    -----
    P0 = S^(-1/2) (w / (s sqrt(2 pi)))^(S - 1) with w = max(1/n, unit) and
    s = sqrt(p (1 - p) / n): S normal scores fall in one cell of width w. At most 1.
    """
    p, width = fractions([share, unit], "share")
    if not 0 < p < 1 or runs < 1 or answers < 1:
        raise ValueError(f"a share inside (0, 1), runs and answers are needed, got {share!r}")
    width = max(width, Fraction(1, answers))
    s = sqrt(p * (1 - p) / answers)
    return min(1.0, (float(width) / (s * sqrt(2 * pi))) ** (runs - 1) / sqrt(runs))
