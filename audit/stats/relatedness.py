"""Runs whose answers differ too little from each other beside runs of other arms."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import inf
from statistics import median
from typing import TYPE_CHECKING

import numpy as np

from audit.errors import InsufficientData

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    FloatArray = NDArray[np.float64]

DECODINGS = ("sampled", "greedy", "undeclared", "scores")
_FEWEST_INFORMATIVE, _MANY_INFORMATIVE = 30, 150


@dataclass(frozen=True, slots=True)
class PairDistance:
    """How far two runs' scores lie apart beside unrelated ones; see `pair_distance`.

    Attributes
    ----------
    nu : float or None
        Squared distance as a share of what unrelated scores of the same mean and spread would
        give; None where both runs are constant and equal, or too large for floats to square.
    information : float
        The squared distance that unrelated scores would give, in tasks.
    differing : int
        Tasks on which the two differ.
    tasks : int
        Tasks that both have.
    """

    nu: float | None
    information: float
    differing: int
    tasks: int


@dataclass(frozen=True, slots=True)
class DistanceRatio:
    """A pair of runs of one arm beside pairs of runs of different arms.

    Attributes
    ----------
    first, second : int
        Rows of the arm.
    pair : PairDistance
    between : float
        Median nu of the pairs of one run of this arm and one of another.
    differing_between : float
        Median number of tasks on which those differ.
    ratio : float
        The pair's nu over ``between``; 0 for equal runs.
    limit : float or None
        A smaller ratio makes the pair copies; None where ratios tell nothing.
    copied : bool
        The ratio is below the limit, and the tasks suffice to say so.
    """

    first: int
    second: int
    pair: PairDistance
    between: float
    differing_between: float
    ratio: float
    limit: float | None
    copied: bool


def pair_distance(first: ArrayLike, second: ArrayLike) -> PairDistance:
    """Return how far two runs lie apart beside unrelated runs.

    Parameters
    ----------
    first, second : array of float, shape (tasks,)
        Scores of the tasks in the same order, NaN where a run has none.

    Returns
    -------
    PairDistance

    Raises
    ------
    InsufficientData
        The runs share no task (reason ``"no-common-tasks"``).

    Notes
    -----
    nu = sum (y - z)^2 / e with e = T (var y + var z + (mean y - mean z)^2), ddof 0, which is the
    mean of the squared distance over all orders of the tasks of one run.
    """
    y, z = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    if y.shape != z.shape or y.ndim != 1:
        raise ValueError(f"runs have different tasks: shapes {y.shape} and {z.shape}")
    both = ~(np.isnan(y) | np.isnan(z))
    y, z = y[both], z[both]
    if not len(y):
        raise InsufficientData("the runs share no task", reason="no-common-tasks")
    with np.errstate(over="ignore"):
        apart = float(((y - z) ** 2).sum())
        squares = float((y * y).sum() + (z * z).sum())
        unrelated = max(squares - 2 * float(y.sum()) * float(z.sum()) / len(y), 0.0)
    nu = apart / unrelated if 0 < unrelated < inf else None
    return PairDistance(nu, unrelated, int((y != z).sum()), len(y))


def distance_ratios(
    arm: ArrayLike, others: ArrayLike, *, decoding: str, samples: int = 1
) -> tuple[DistanceRatio, ...]:
    """Compare the pairs of runs of an arm with pairs of runs of different arms.

    Parameters
    ----------
    arm : array of float, shape (runs, tasks)
        Score of each task, a rate of right answers or any other; NaN where a run has none.
    others : array of float, shape (runs of all other arms, tasks)
        The tasks in the same order.
    decoding : {"sampled", "greedy", "undeclared", "scores"}
        ``"sampled"`` only where a temperature above 0 is declared; ``"scores"`` where a task's
        score is no share of answers.
    samples : int
        Answers drawn for a task. From four on, drawn answers are compared by `pair_agreement`
        alone: there a strong effect of the recipe makes honest ratios small.

    Returns
    -------
    tuple of DistanceRatio
        One for each pair of the arm; pairs without a common task are left out.

    Raises
    ------
    InsufficientData
        No pair of different arms varies (reason ``"no-common-tasks"``).

    Notes
    -----
    A pair is copied where its information and the median number of tasks that differ between
    arms are at least 30 and the ratio is below the limit: for sampled answers 1/4, or 1/2 with
    one answer for each task and 150 or more of both; 1/10 for all else.
    """
    if decoding not in DECODINGS:
        raise ValueError(f"decoding must be one of {', '.join(DECODINGS)}, got {decoding!r}")
    own, far = np.atleast_2d(np.asarray(arm, float)), np.atleast_2d(np.asarray(others, float))
    across = [_distance(y, z) for y in own for z in far]
    seen = [pair for pair in across if pair is not None]
    known = [pair.nu for pair in seen if pair.nu is not None]
    if not known:
        raise InsufficientData("no two runs of different arms compare", reason="no-common-tasks")
    between, differing = median(known), float(median(pair.differing for pair in seen))
    ratios = []
    for i, j in combinations(range(len(own)), 2):
        pair = _distance(own[i], own[j])
        if pair is None or pair.nu is None:
            continue
        information = min(pair.information, differing)
        limit = _limit(decoding, samples, information)
        ratio = 0.0 if pair.nu == 0 else (pair.nu / between if between else inf)
        copied = limit is not None and information >= _FEWEST_INFORMATIVE and ratio < limit
        ratios.append(DistanceRatio(i, j, pair, between, differing, ratio, limit, copied))
    return tuple(ratios)


def _distance(first: FloatArray, second: FloatArray) -> PairDistance | None:
    try:
        return pair_distance(first, second)
    except InsufficientData:
        return None


def _limit(decoding: str, samples: int, information: float) -> float | None:
    if samples > 3 and decoding in ("sampled", "undeclared"):
        return None
    if decoding != "sampled":
        return 0.1
    return 0.5 if samples == 1 and information >= _MANY_INFORMATIVE else 0.25
