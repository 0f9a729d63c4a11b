"""Runs whose drawn answers agree more closely than one model's own draws would."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import combinations
from math import comb, log
from typing import TYPE_CHECKING, Any

import numpy as np

from audit.stats.exact import IntMatrix, integer_matrix

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

ALL_PAIRS_UP_TO, NEAREST = 64, 16
_CHANCE = 1e-6
_RHO_LIMIT, _KAPPA_LIMIT = Fraction(1, 2), Fraction(1, 3)
# With b the chance that two runs of one model both have none or all of a task right, and i that
# they are equal with some right and some wrong, (1 - b) / i is never below this (3 answers, .5).
_INSIDE_FACTOR, _INSIDE_CHANCE, _FEWEST_INSIDE = 3.444, 0.01, 6
_THETA = 2.0 ** (np.arange(49) / 4)
_TAU = 2.0 ** (np.arange(-16, 17) / 4)
# Tasks with more answers than this are left out of the sums, which leaves the bounds true.
_MOST_ANSWERS = 4096


@dataclass(frozen=True, slots=True)
class PairAgreement:
    """How closely the drawn answers of two runs agree; see `pair_agreement`.

    Attributes
    ----------
    tasks : int
        Tasks with answers of both runs.
    telling : int
        Tasks on which, given the pooled count, the runs could have differed more or less.
    distance, expected_distance : float
        Sum over telling tasks of the squared difference of the rates, as seen and as one model
        drawn twice would give.
    rho : float or None
        Their quotient; None without telling tasks.
    matches : int
        Telling tasks with equal rates.
    expected_matches : float
        Their number were one model drawn twice.
    kappa : float or None
        Matches beyond chance as a share of what chance leaves; None without telling tasks.
    log10_p_distance, log10_p_matches : float
        Chernoff bounds, never below the probability of so small a distance, or so many matches.
    inside : int
        Tasks on which the first run has some answers right and some wrong.
    inside_needed : int
        So many make runs that are equal everywhere a copy.
    equal : bool
        The rates are equal on every task.
    identical : bool
        Equal everywhere, with enough tasks inside.
    nearly_identical : bool
        One of the bounds is below 1e-6 with rho below 1/2, or with kappa above 1/3.
    """

    tasks: int
    telling: int
    distance: float
    expected_distance: float
    rho: float | None
    matches: int
    expected_matches: float
    kappa: float | None
    log10_p_distance: float
    log10_p_matches: float
    inside: int
    inside_needed: int
    equal: bool
    identical: bool
    nearly_identical: bool

    @property
    def copied(self) -> bool:
        """Whether the two runs count as one."""
        return self.identical or self.nearly_identical

    @property
    def inside_chance(self) -> float:
        """Bound of the chance of equal rates on all tasks inside, for one pair."""
        return float(_INSIDE_FACTOR**-self.inside)


@dataclass(frozen=True, slots=True)
class RunPair:
    """Two rows of a matrix of runs, and how closely they agree."""

    first: int
    second: int
    agreement: PairAgreement


def pair_agreement(
    first: ArrayLike, second: ArrayLike, *, samples: Any, pairs: int = 1
) -> PairAgreement:
    """Compare the drawn answers of two runs with one model drawn twice.

    Parameters
    ----------
    first, second : array of int, shape (tasks,)
        Right answers, the tasks in the same order.
    samples : int, array of int, or tuple of two of these
        Answers drawn for each task, 0 where a run has none; a tuple gives (first, second).
    pairs : int
        Pairs of runs of the arm, of which this is one.

    Returns
    -------
    PairAgreement

    Raises
    ------
    ValueError
        Counts are not whole numbers between 0 and samples, or shapes do not match.

    Notes
    -----
    Given the pooled count c of K = k1 + k2 answers, one model drawn twice gives
    c1 ~ hypergeometric(K, c, k1) whatever the task's difficulty. With X = (c1/k1 - c2/k2)^2,
    D its sum, M the number of equal rates and h the chance of one,
    log p_D = min over theta of theta D + sum log E exp(-theta X) and
    log p_M = min over tau of -tau M + sum log(1 + h (exp(tau) - 1)), both at most 0.

    References
    ----------
    Chernoff 1952 (bounds of a sum); Fisher 1935 (conditioning on the margin).
    """
    drawn = samples if isinstance(samples, tuple) and len(samples) == 2 else (samples, samples)
    counts = [integer_matrix(values, "a run") for values in (first, second)]
    if counts[0].shape != counts[1].shape or counts[0].shape[0] != 1:
        raise ValueError(f"runs have different tasks: {counts[0].shape} and {counts[1].shape}")
    k = [np.broadcast_to(integer_matrix(np.atleast_1d(d), "samples"), counts[0].shape)
         for d in drawn]  # fmt: skip
    return _agreements(np.vstack(counts), np.vstack(k), [(0, 1)], pairs)[0].agreement


def pair_agreements(counts: ArrayLike, *, samples: ArrayLike) -> tuple[RunPair, ...]:
    """Compare the runs of one arm in pairs; see `pair_agreement`.

    Parameters
    ----------
    counts : array of int, shape (runs, tasks)
        Right answers.
    samples : int or array of int, shape (runs, tasks)
        Answers drawn for each cell, 0 where a run has none of that task.

    Returns
    -------
    tuple of RunPair
        All pairs up to 64 runs, in order; beyond that each run with the 16 nearest in mean rate,
        since a close copy has nearly its run's total.
    """
    right = integer_matrix(counts, "runs")
    array = np.asarray(samples)
    drawn = integer_matrix(array[np.newaxis] if array.ndim == 0 else array, "samples")
    try:
        drawn = np.broadcast_to(drawn, right.shape)
    except ValueError:
        raise ValueError(f"samples have shape {drawn.shape}, counts {right.shape}") from None
    runs = len(right)
    return _agreements(right, drawn, _chosen_pairs(right, drawn), runs * (runs - 1) // 2)


def inside_needed(pairs: int) -> int:
    """Return how many tasks neither all right nor all wrong make equal runs a copy.

    The least m with pairs * 3.444^-m below .01, at least 6.
    """
    m = _FEWEST_INSIDE
    while pairs * _INSIDE_FACTOR**-m >= _INSIDE_CHANCE:
        m += 1
    return m


def _chosen_pairs(right: IntMatrix, drawn: IntMatrix) -> list[tuple[int, int]]:
    runs = len(right)
    if runs <= ALL_PAIRS_UP_TO:
        return list(combinations(range(runs), 2))
    answers = drawn.sum(axis=1)
    rates = right.sum(axis=1) / np.where(answers == 0, 1, answers)
    order = np.argsort(rates, kind="stable")
    chosen = set()
    # The nearest lie within 16 places on either side of a run in the order of the rates.
    for place, run in enumerate(order.tolist()):
        near = [*order[max(place - NEAREST, 0) : place], *order[place + 1 : place + 1 + NEAREST]]
        near.sort(key=lambda other: (abs(rates[other] - rates[run]), other))
        chosen |= {(min(run, int(o)), max(run, int(o))) for o in near[:NEAREST]}
    return sorted(chosen)


def _agreements(
    right: IntMatrix, drawn: IntMatrix, chosen: Sequence[tuple[int, int]], pairs: int
) -> tuple[RunPair, ...]:
    if (drawn < 0).any() or (right < 0).any() or (right > drawn).any():
        raise ValueError("counts must lie between 0 and the answers drawn")
    kinds, cells = _kinds(right, drawn)
    tallies = [_tally(cells[i], cells[j], len(kinds)) for i, j in chosen]
    codes = np.unique(np.concatenate([c for c, _ in tallies])) if tallies else np.array([], int)
    table = _Table([(*kinds[c // len(kinds)], *kinds[c % len(kinds)]) for c in codes.tolist()])
    needed = inside_needed(pairs)
    return tuple(
        RunPair(i, j, table.agreement(np.searchsorted(codes, found), numbers, needed))
        for (i, j), (found, numbers) in zip(chosen, tallies, strict=True)
    )


def _kinds(right: IntMatrix, drawn: IntMatrix) -> tuple[list[tuple[int, int]], IntMatrix]:
    """Return the distinct (k, c) of all cells, and for each cell which it is, -1 without answers.

    Tasks with equal kinds in both runs are alike, so a pair is a tally of few pairs of kinds.
    """
    width = int(drawn.max()) + 1 if drawn.size else 1
    codes = drawn * width + right
    if codes.dtype != np.int64 or codes.size <= width * width:
        distinct, places = np.unique(codes, return_inverse=True)
    else:
        distinct, _ = _tallied(codes.ravel(), width * width)
        place_of = np.zeros(width * width, np.int64)
        place_of[distinct] = np.arange(len(distinct))
        places = place_of[codes]
    kinds = [divmod(int(code), width) for code in distinct.tolist()]
    return kinds, np.where(drawn > 0, places.reshape(right.shape), -1)


def _tallied(codes: IntMatrix, bound: int) -> tuple[IntMatrix, IntMatrix]:
    """Return the distinct codes below a bound and how often each is there, without sorting many."""
    if len(codes) <= bound:
        return np.unique(codes, return_counts=True)
    numbers = np.bincount(codes)
    distinct = np.flatnonzero(numbers)
    return distinct, numbers[distinct]


def _tally(first: IntMatrix, second: IntMatrix, kinds: int) -> tuple[IntMatrix, IntMatrix]:
    both = (first >= 0) & (second >= 0)
    return _tallied(first[both] * kinds + second[both], kinds * kinds)


class _Table:
    """What each kind of task, (k1, c1, k2, c2), adds to the sums of a pair."""

    def __init__(self, kinds: Sequence[tuple[int, int, int, int]]) -> None:
        self.margins = [_margin(k1, k2, c1 + c2) for k1, c1, k2, c2 in kinds]
        self.distances = [Fraction(c1 * k2 - c2 * k1, k1 * k2) ** 2 for k1, c1, k2, c2 in kinds]
        self.telling = np.array([m.telling for m in self.margins], dtype=bool)
        self.equal = np.array([d == 0 for d in self.distances], dtype=bool)
        self.inside = np.array([0 < c1 < k1 for k1, c1, _, _ in kinds], dtype=bool)
        self.distance = np.array([float(d) for d in self.distances])
        self.expected = np.array([float(m.distance) for m in self.margins])
        self.chance = np.array([float(m.equal) for m in self.margins])
        self.log_distance = np.array([m.log_distance for m in self.margins])
        self.log_equal = np.array([m.log_equal for m in self.margins])

    def agreement(self, kinds: IntMatrix, numbers: IntMatrix, needed: int) -> PairAgreement:
        """Return the agreement of a pair with so many tasks of each kind."""
        equal = bool(self.equal[kinds].all())
        inside = int(numbers[self.inside[kinds]].sum())
        telling = self.telling[kinds]
        told, weights = kinds[telling], numbers[telling]
        n = int(weights.sum())
        matches = int(weights[self.equal[told]].sum())
        distance = float(weights @ self.distance[told])
        expected = float(weights @ self.expected[told])
        chance = float(weights @ self.chance[told])
        log_d = _least(_THETA * distance + weights @ self.log_distance[told])
        log_m = _least(-_TAU * matches + weights @ self.log_equal[told])
        return PairAgreement(
            tasks=int(numbers.sum()),
            telling=n,
            distance=distance,
            expected_distance=expected,
            rho=distance / expected if n else None,
            matches=matches,
            expected_matches=chance,
            kappa=(matches - chance) / (n - chance) if n else None,
            log10_p_distance=log_d / log(10),
            log10_p_matches=log_m / log(10),
            inside=inside,
            inside_needed=needed,
            equal=equal,
            identical=equal and inside >= needed,
            nearly_identical=(log_d < log(_CHANCE) and self._close(told, weights))
            or (log_m < log(_CHANCE) and self._matched(told, weights)),
        )

    def _close(self, kinds: IntMatrix, numbers: IntMatrix) -> bool:
        """Whether rho is below its limit, exactly."""
        distance = _total(self.distances, kinds, numbers)
        expected = _total([m.distance for m in self.margins], kinds, numbers)
        return distance < _RHO_LIMIT * expected

    def _matched(self, kinds: IntMatrix, numbers: IntMatrix) -> bool:
        """Whether kappa is above its limit, exactly."""
        chance = _total([m.equal for m in self.margins], kinds, numbers)
        matches = int(numbers[self.equal[kinds]].sum())
        return matches - chance > _KAPPA_LIMIT * (int(numbers.sum()) - chance)


def _total(values: Sequence[Fraction], kinds: IntMatrix, numbers: IntMatrix) -> Fraction:
    pairs = zip(kinds.tolist(), numbers.tolist(), strict=True)
    return sum((values[kind] * number for kind, number in pairs), Fraction(0))


@dataclass(frozen=True, slots=True)
class _Margin:
    """A task by what is conditioned on: answers drawn by both, and right ones of both together.

    ``log_distance`` is log E exp(-theta X) on the grid of theta, ``log_equal`` the like for tau.
    """

    telling: bool
    distance: Fraction
    equal: Fraction
    log_distance: NDArray[np.float64]
    log_equal: NDArray[np.float64]


@lru_cache(maxsize=65_536)
def _margin(k1: int, k2: int, c: int) -> _Margin:
    drawn = k1 + k2
    first = np.arange(max(0, c - k2), min(k1, c) + 1)
    # Cross-multiplied differences of the rates: two ends of one size leave one distance only.
    steps = np.abs(first * drawn - c * k1)
    if drawn > _MOST_ANSWERS or steps.min() == steps.max():
        return _Margin(False, Fraction(0), Fraction(0), np.zeros(_THETA.size), np.zeros(_TAU.size))
    log_p = _log_choices(k1, first) + _log_choices(k2, c - first) - log(comb(drawn, c))
    distances = (steps / (k1 * k2)) ** 2
    equal = Fraction(0)
    if c * k1 % drawn == 0:
        own = c * k1 // drawn
        equal = Fraction(comb(k1, own) * comb(k2, c - own), comb(drawn, c))
    return _Margin(
        telling=True,
        distance=Fraction(c * (drawn - c), (drawn - 1) * k1 * k2),
        equal=equal,
        log_distance=np.logaddexp.reduce(log_p[:, None] - distances[:, None] * _THETA, axis=0),
        log_equal=np.logaddexp(_log(1 - equal), _log(equal) + _TAU)
        if equal
        else np.zeros(_TAU.size),
    )


def _log_choices(k: int, successes: IntMatrix) -> NDArray[np.float64]:
    return np.array([log(comb(k, int(n))) for n in successes])


def _log(value: Fraction) -> float:
    return log(value.numerator) - log(value.denominator)


def _least(values: NDArray[np.float64]) -> float:
    return min(0.0, float(values.min()))
