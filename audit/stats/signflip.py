"""Exact randomisation tests: flipped signs of differences, and exchanged labels of seeds."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import comb, gcd, lcm, lgamma, log
from typing import TYPE_CHECKING, Any

import numpy as np

from audit.errors import InsufficientData
from audit.stats.decimals import fractions
from audit.stats.lattice import lattice

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

_LARGEST_CONVOLUTION = 2**30
_LARGEST_RELABELLING = 2**22


def sign_flip_p_value(differences: ArrayLike | Sequence[object]) -> float:
    """Return the exact two-sided p-value of the test that flips signs.

    Parameters
    ----------
    differences : sequence of numbers, shape (n,)
        Differences of pairs, put on a lattice as `audit.stats.lattice.lattice` says.

    Returns
    -------
    float

    Raises
    ------
    InsufficientData
        No difference (reason ``"too-few-differences"``), or a lattice too fine (``"too-large"``).
    ValueError
        A value is no finite number.

    Notes
    -----
    P(|sum e_t d_t| >= |sum d_t|) over fair signs e: a convolution of one stretched binomial
    distribution for each size of difference, which keeps relative accuracy in the tails
    (Fisher 1935; Pagano & Tritchler 1983).
    """
    values = lattice(differences).numerators
    observed = abs(int(values.sum()))
    sizes, counts = np.unique(np.abs(values[values != 0]), return_counts=True)
    if observed == 0:
        return 1.0
    divisor = gcd(*(int(v) for v in sizes))
    steps = [int(v) // divisor for v in sizes]
    repeats = [int(c) for c in counts]
    pmf = _signed_sum(steps, repeats)
    # Point j of the pmf is the sum 2 j - total.
    total = sum(v * c for v, c in zip(steps, repeats, strict=True))
    first = (observed // divisor + total) // 2
    return min(1.0, 2 * float(pmf[first:][::-1].sum()))


def seed_permutation_p_value(
    control_means: Sequence[object], treatment_means: Sequence[object]
) -> float:
    """Return the exact two-sided p-value of the test that exchanges the arms' labels.

    Parameters
    ----------
    control_means, treatment_means : sequence of numbers, shape (seeds,)
        Score of each training run.

    Returns
    -------
    float

    Raises
    ------
    InsufficientData
        An arm is empty (reason ``"one-seed"``), or there are too many runs (``"too-large"``).

    Notes
    -----
    Share of the C(S_A + S_B, S_A) assignments whose difference of means is at least as large in
    absolute value; never below 2 / C(2S, S) (Fisher 1935).
    """
    control = fractions(control_means, "control mean")
    treatment = fractions(treatment_means, "treatment mean")
    if not control or not treatment:
        raise InsufficientData("an arm has no run", reason="one-seed")
    pooled = control + treatment
    every = comb(len(pooled), len(control))
    if every > _LARGEST_RELABELLING:
        raise InsufficientData(f"{every} assignments are too many", reason="too-large")
    scale = lcm(*(f.denominator for f in pooled))
    values = [int(f * scale) for f in pooled]
    total = sum(values)
    observed = _contrast(sum(values[len(control) :]), total, len(treatment), len(control))
    sums = _subset_sums(values, len(treatment))
    extreme = sum(
        count
        for value, count in sums.items()
        if _contrast(value, total, len(treatment), len(control)) >= observed
    )
    return float(Fraction(extreme, every))


def _signed_sum(steps: list[int], repeats: list[int]) -> Any:
    """Return the pmf of sum over sizes of step * Binomial(repeats, 1/2)."""
    work, length = 0, 1
    for step, count in zip(steps, repeats, strict=True):
        length += step * count
        work += length * (count + 1)
    if work > _LARGEST_CONVOLUTION:
        raise InsufficientData("the lattice of the differences is too fine", reason="too-large")
    pmf = np.ones(1)
    for step, count in zip(steps, repeats, strict=True):
        pmf = _convolve_stretched(pmf, _fair_binomial(count), step)
    return pmf


def _convolve_stretched(pmf: Any, binomial: Any, step: int) -> Any:
    """Convolve with a distribution on the multiples of ``step``, one residue at a time."""
    length = len(pmf) + step * (len(binomial) - 1)
    result = np.zeros(length)
    for residue in range(min(step, len(pmf))):
        result[residue::step][: len(pmf[residue::step]) + len(binomial) - 1] = np.convolve(
            pmf[residue::step], binomial
        )
    return result


def _fair_binomial(count: int) -> Any:
    factorials = np.array([lgamma(k + 1) for k in range(count + 1)])
    return np.exp(factorials[-1] - factorials - factorials[::-1] - count * log(2))


def _contrast(value: int, total: int, size: int, rest: int) -> int:
    """Absolute difference of means of a subset and the rest, times both sizes."""
    return abs(value * rest - (total - value) * size)


def _subset_sums(values: list[int], size: int) -> dict[int, int]:
    """Return how many subsets of that size have each sum."""
    sums: list[dict[int, int]] = [{0: 1}] + [{} for _ in range(size)]
    for value in values:
        for chosen in range(size, 0, -1):
            for partial, count in sums[chosen - 1].items():
                key = partial + value
                sums[chosen][key] = sums[chosen].get(key, 0) + count
    return sums[size]
