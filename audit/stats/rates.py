"""Rates: pass@k, Wilson's interval, and what unseen collapses may still happen."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, comb, log1p, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from audit.errors import InsufficientData
from audit.stats.exact import integer_matrix
from audit.stats.quantiles import check_level, normal_quantile
from audit.stats.records import Proportion

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def pass_at_k(samples: ArrayLike, correct: ArrayLike, k: int) -> Any:
    """Return the unbiased estimate of the chance that one of k samples is right.

    Parameters
    ----------
    samples, correct : int or array of int, any shapes that broadcast to two dimensions at most
        Samples drawn, n, and right ones among them, c.
    k : int
        Size of the subset.

    Returns
    -------
    float, or array of float of the broadcast shape

    Raises
    ------
    InsufficientData
        k is above the samples drawn (reason ``"k-above-samples"``).
    ValueError
        Counts are not whole numbers between 0 and samples, or k is below 1.

    Notes
    -----
    1 - C(n - c, k) / C(n, k), by exact integers (Chen et al. 2021, arXiv:2107.03374).
    """
    counts, totals = pass_at_k_counts(samples, correct, k)
    estimates = np.array(
        [c / n for c, n in zip(counts.ravel().tolist(), totals.ravel().tolist(), strict=True)]
    ).reshape(counts.shape)
    return float(estimates) if estimates.ndim == 0 else estimates


def pass_at_k_counts(samples: ArrayLike, correct: ArrayLike, k: int) -> tuple[Any, Any]:
    """Return numerators and denominators of `pass_at_k`: subsets with a right sample, and all.

    They are counts and samples of their own, so ``seed_delta(counts_a, counts_b,
    samples=(totals_a, totals_b), floor_samples=n // k)`` compares pass@k exactly.

    Returns
    -------
    tuple of arrays of Python int, each of the broadcast shape
    """
    if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or k < 1:
        raise ValueError(f"k must be a whole number of at least 1, got {k!r}")
    drawn, right = np.broadcast_arrays(np.asarray(samples), np.asarray(correct))
    shape = drawn.shape
    n, c = integer_matrix(drawn.ravel(), "samples"), integer_matrix(right.ravel(), "correct")
    if int(n.min()) < k:
        raise InsufficientData(
            f"pass@{k} needs at least {k} samples, got {int(n.min())}", reason="k-above-samples"
        )
    if (c < 0).any() or (c > n).any():
        raise ValueError("correct must lie between 0 and samples")
    pairs = list(zip(n.ravel().tolist(), c.ravel().tolist(), strict=True))
    subsets = {pair: (comb(pair[0], k), comb(pair[0] - pair[1], k)) for pair in set(pairs)}
    counts, totals = np.empty(len(pairs), dtype=object), np.empty(len(pairs), dtype=object)
    for i, pair in enumerate(pairs):
        every, wrong = subsets[pair]
        counts[i], totals[i] = every - wrong, every
    return counts.reshape(shape), totals.reshape(shape)


def wilson(successes: int, trials: int, *, level: float = 0.95) -> Proportion:
    """Return a proportion with Wilson's score interval.

    Parameters
    ----------
    successes, trials : int
    level : float
        Confidence level.

    Returns
    -------
    Proportion

    Raises
    ------
    InsufficientData
        There is no trial (reason ``"no-trials"``).
    ValueError
        ``successes`` lies outside 0 to ``trials``.

    Notes
    -----
    (p + z^2/2n -/+ z sqrt(p(1-p)/n + z^2/4n^2)) / (1 + z^2/n) (Wilson 1927).
    """
    z = normal_quantile(check_level(level))
    if trials == 0:
        raise InsufficientData("a proportion needs at least one trial", reason="no-trials")
    if not 0 <= successes <= trials:
        raise ValueError(f"successes must lie in 0 to {trials}, got {successes}")
    rate = successes / trials
    centre = rate + z * z / (2 * trials)
    half = z * sqrt(rate * (1 - rate) / trials + z * z / (4 * trials * trials))
    scale = 1 + z * z / trials
    return Proportion(
        rate=rate,
        low=0.0 if successes == 0 else (centre - half) / scale,
        high=1.0 if successes == trials else (centre + half) / scale,
        level=level,
    )


@dataclass(frozen=True, slots=True)
class CollapseRisk:
    """What collapses that no run showed may still do to a gain; see `collapse_risk`.

    Attributes
    ----------
    bound : float
        Largest rate of collapse at which none among these runs is no surprise.
    undoing_rate : float or None
        Rate of collapse that undoes the gain; None where no rate does.
    chance_unseen : float or None
        Chance that none of these runs shows a collapse of that rate.
    runs_to_exclude : int or None
        Fewest runs without a collapse that exclude that rate.
    """

    bound: float
    undoing_rate: float | None
    chance_unseen: float | None
    runs_to_exclude: int | None


def collapse_risk(
    delta: float, mean: float, *, runs: int, collapsed: float = 0.0, level: float = 0.95
) -> CollapseRisk:
    """Return what collapses of the treatment would undo a gain, none having been seen.

    Parameters
    ----------
    delta : float
        The gain, above 0 better.
    mean : float
        Mean score of the treatment.
    runs : int
        Runs of the treatment, none of which collapsed.
    collapsed : float
        Score of a run that collapses.
    level : float
        One minus the chance of missing a rate that is called excluded.

    Returns
    -------
    CollapseRisk

    Raises
    ------
    ValueError
        There is no gain.

    Notes
    -----
    A share r of collapsed runs lowers the mean by r (mean - collapsed), so r0 = delta / (mean -
    collapsed) undoes the gain; (1 - r0)^S is the chance that S runs do not show it.
    """
    bound = unseen_collapse_bound(runs, level=level)
    if not delta > 0:
        raise ValueError(f"only a gain can be undone, got {delta}")
    height = mean - collapsed
    if not 0 < delta < height:
        return CollapseRisk(bound, None, None, None)
    rate = delta / height
    needed = max(1, ceil(log1p(-level) / log1p(-rate) - 1e-9))
    return CollapseRisk(bound, rate, (1 - rate) ** runs, needed)


def unseen_collapse_bound(seeds: int, *, level: float = 0.95) -> float:
    """Return the upper bound of the rate of collapsing runs when none of ``seeds`` collapsed.

    1 - (1 - level)^(1 / seeds), one-sided (Clopper & Pearson 1934 at zero events).
    """
    check_level(level)
    if seeds < 1:
        raise InsufficientData("a bound needs at least one run", reason="one-seed")
    bound: float = 1 - (1 - level) ** (1 / seeds)
    return bound
