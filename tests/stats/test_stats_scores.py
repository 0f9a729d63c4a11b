"""One score a run: exact decimals, the denominator behind them, and the floor."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from audit.errors import InsufficientData
from audit.stats import score_delta


def test_far_above_the_floor_it_is_welchs_interval() -> None:
    control, treatment = [0.2, 0.5, 0.9, 0.4], [0.3, 0.7, 0.1]
    result = score_delta(control, treatment, tasks=1000, samples=8)
    oracle = scipy.stats.ttest_ind(treatment, control, equal_var=False)
    ends = oracle.confidence_interval(0.95)
    assert not result.control.floored
    assert result.fixed.p_value == pytest.approx(oracle.pvalue, rel=1e-10)
    assert (result.fixed.low, result.fixed.high) == pytest.approx((ends.low, ends.high), rel=1e-9)


def test_equal_scores_are_held_at_the_noise_of_their_evaluation() -> None:
    result = score_delta([0.5, 0.5], [0.75, 0.75], tasks=8)
    assert result.control.s2 == 0
    assert result.control.v == 0.25 / 8
    assert result.treatment.floor == 0.1875 / 8
    assert result.fixed.p_value > 0.2


def test_a_rate_of_one_is_kept_inside() -> None:
    result = score_delta([1, 1], [0, 0], tasks=10, samples=1)
    p = Fraction(1, 22)
    assert result.control.floor == result.treatment.floor == float(p * (1 - p) / 10)


@pytest.mark.parametrize(
    ("scores", "answers"),
    [
        ([0.75, 0.5, 0.625], 8),
        (["0.33", "0.67"], 3),
        (["0.333", "0.167"], 6),
        (["0.3412", "0.3358"], 548),
        ([1 / 3, 2 / 3], 3),
        ([5 / 6, 1 / 6], 6),
        ([float(np.float64(451) / 1319), 450 / 1319], 1319),
        ([Decimal("0.5"), Fraction(1, 7)], 14),
        ([0, 1], 1),
    ],
)
def test_the_smallest_explaining_number_of_answers_is_found(
    scores: list[Any], answers: int
) -> None:
    result = score_delta(scores, scores)
    assert result.denominator == answers
    assert result.denominator_found
    assert [n for n in range(1, answers + 1) if explained(scores, n)] == [answers]


def explained(scores: list[Any], n: int) -> bool:
    """Whether one of the two nearest multiples of 1 / n is within rounding of each score."""
    return all(
        any(abs(exact - Fraction(c, n)) <= tolerance for c in (int(exact * n), int(exact * n) + 1))
        for exact, tolerance in map(rounding, scores)
    )


@cache
def rounding(score: Any) -> tuple[Fraction, Fraction]:
    """The score as printed, and half a unit of its last decimal (the 12th at most)."""
    if isinstance(score, (int, Fraction)):
        return Fraction(score), Fraction(0)
    decimals = -int(Decimal(str(score)).as_tuple().exponent)
    return Fraction(str(score)), Fraction(1, 2 * 10 ** min(decimals, 12))


@given(
    st.integers(1, 400).flatmap(
        lambda n: st.tuples(st.just(n), st.lists(st.integers(0, n), min_size=2, max_size=4))
    )
)
def test_scores_that_were_divisions_are_undone(drawn: tuple[int, list[int]]) -> None:
    n, counts = drawn
    floats = score_delta([c / n for c in counts], [0.0, 0.0], tasks=n)
    exact = score_delta([Fraction(c, n) for c in counts], [0, 0], tasks=n)
    assert floats == exact


@given(st.lists(st.integers(0, 40), min_size=2, max_size=5),
       st.lists(st.integers(0, 40), min_size=2, max_size=5))  # fmt: skip
def test_swapping_the_arms_negates_the_scores_interval(a: list[int], b: list[int]) -> None:
    one = score_delta([c / 40 for c in a], [c / 40 for c in b], tasks=40)
    two = score_delta([c / 40 for c in b], [c / 40 for c in a], tasks=40)
    again = score_delta([c / 40 for c in reversed(a)], [c / 40 for c in reversed(b)], tasks=40)
    assert (one.delta, one.fixed.low, one.fixed.high) == (
        -two.delta, -two.fixed.high, -two.fixed.low)  # fmt: skip
    assert one == again


def test_scores_no_number_of_answers_explains_are_refused() -> None:
    with pytest.raises(InsufficientData, match="give tasks") as caught:
        score_delta([0.123456789, 0.987654321], [0.314159265, 0.271828182])
    assert caught.value.reason == "no-denominator"


def test_one_score_is_refused() -> None:
    with pytest.raises(InsufficientData) as caught:
        score_delta([0.5], [0.5, 0.6], tasks=10)
    assert caught.value.reason == "one-seed"


@pytest.mark.parametrize(
    "score", [1.5, -0.1, float("nan"), float("inf"), "many", "NaN", True, None, 62.5]
)
def test_a_score_is_a_fraction_of_one(score: Any) -> None:
    with pytest.raises(ValueError, match="score must"):
        score_delta([score, 0.5], [0.5, 0.6], tasks=10)


def test_another_level_of_scores_is_the_same_as_asking_for_it() -> None:
    asked = score_delta([0.5, 0.6], [0.7, 0.9], tasks=10, level=0.9)
    assert score_delta([0.5, 0.6], [0.7, 0.9], tasks=10).at(0.9) == asked
