"""pass@k, proportions, unseen collapses."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.proportion import proportion_confint  # type: ignore[import-untyped]  # it ships no types

from audit.errors import InsufficientData
from audit.stats import pass_at_k, pass_at_k_counts, seed_delta, unseen_collapse_bound, wilson


@given(
    st.integers(1, 8).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(1, n)))
)
def test_pass_at_k_is_the_share_of_subsets_with_a_right_sample(drawn: tuple[int, int, int]) -> None:
    n, c, k = drawn
    subsets = list(combinations([True] * c + [False] * (n - c), k))
    assert pass_at_k(n, c, k) == sum(any(s) for s in subsets) / len(subsets)


def test_pass_at_1_is_the_rate() -> None:
    assert pass_at_k([3, 7, 10], [1, 7, 0], 1).tolist() == [1 / 3, 1.0, 0.0]


def test_arrays_broadcast() -> None:
    correct = np.array([[0, 1, 2], [3, 4, 4]])
    result = pass_at_k(4, correct, 2)
    assert result.shape == (2, 3)
    assert result[0].tolist() == [0.0, 0.5, 1 - 1 / 6]


def test_large_numbers_do_not_overflow() -> None:
    assert pass_at_k(10_000, 1, 5_000) == 0.5
    assert 0 < pass_at_k(10_000, 3, 2) < 0.001


def test_k_above_the_samples_is_refused_with_both_numbers() -> None:
    with pytest.raises(InsufficientData, match=r"pass@8 needs at least 8 samples, got 4") as caught:
        pass_at_k([16, 4], [1, 1], 8)
    assert caught.value.reason == "k-above-samples"


@pytest.mark.parametrize(
    ("samples", "correct", "k"),
    [(4, 5, 1), (4, -1, 1), (4, 1, 0), (4, 1, -1), (4, 1, 1.5), (4, 1.5, 1), (4, float("nan"), 1)],
)
def test_impossible_counts_are_refused(samples: Any, correct: Any, k: Any) -> None:
    with pytest.raises(ValueError, match=r"k must|correct"):
        pass_at_k(samples, correct, k)


def test_pass_at_k_is_compared_exactly_as_counts() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 9, (2, 3, 12))
    counts_a, totals_a = pass_at_k_counts(8, a, 4)
    counts_b, totals_b = pass_at_k_counts(8, b, 4)
    result = seed_delta(counts_a, counts_b, samples=(totals_a, totals_b), floor_samples=2)
    expected = pass_at_k(8, b, 4).mean() - pass_at_k(8, a, 4).mean()
    assert result.delta == pytest.approx(expected, abs=1e-15)


@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_is_that_of_statsmodels(drawn: tuple[int, int]) -> None:
    for level in (0.9, 0.95):
        result = wilson(*drawn, level=level)
        low, high = proportion_confint(*drawn, alpha=1 - level, method="wilson")
        assert (result.low, result.high) == pytest.approx((low, high), abs=1e-10)
        assert 0 <= result.low <= result.rate <= result.high <= 1


def test_a_proportion_needs_trials() -> None:
    with pytest.raises(InsufficientData):
        wilson(0, 0)
    with pytest.raises(ValueError, match="successes"):
        wilson(3, 2)


@pytest.mark.parametrize(("seeds", "bound"), [(3, 0.63), (5, 0.45), (10, 0.26)])
def test_unseen_collapses_may_still_be_frequent(seeds: int, bound: float) -> None:
    assert unseen_collapse_bound(seeds) == pytest.approx(bound, abs=0.005)
    assert (1 - unseen_collapse_bound(seeds)) ** seeds == pytest.approx(0.05)


def test_no_success_in_25_still_leaves_a_rate_of_13_percent() -> None:
    result = wilson(0, 25)
    assert result.low == 0
    assert result.high == pytest.approx(0.133, abs=5e-4)
