"""One score per run: exact decimals and the floor."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from audit.errors import InsufficientData
from audit.stats import score_delta


def test_far_above_the_floor_it_is_welchs_interval() -> None:
    control, treatment = [0.2, 0.5, 0.9, 0.4], [0.3, 0.7, 0.1]
    result = score_delta(control, treatment, answers=8000)
    oracle = scipy.stats.ttest_ind(treatment, control, equal_var=False)
    ends = oracle.confidence_interval(0.95)
    assert not result.control.floored
    assert result.fixed.p_value == pytest.approx(oracle.pvalue, rel=1e-10)
    assert (result.fixed.low, result.fixed.high) == pytest.approx((ends.low, ends.high), rel=1e-9)


def test_equal_scores_are_held_at_the_noise_of_their_evaluation() -> None:
    result = score_delta([0.5, 0.5], [0.75, 0.75], answers=8)
    assert result.control.s2 == 0
    assert result.control.v == 0.25 / 8
    assert result.treatment.floor == 0.1875 / 8
    assert result.fixed.p_value > 0.2


def test_a_rate_of_one_is_kept_inside() -> None:
    result = score_delta([1, 1], [0, 0], answers=10)
    p = Fraction(1, 22)
    assert result.control.floor == result.treatment.floor == float(p * (1 - p) / 10)


@pytest.mark.parametrize(
    ("scores", "unit"),
    [
        (["0.61", "0.60"], 0.01),
        (["0.640", "0.65"], 0.001),
        ([0.5, 0.25], 0.01),
        ([Decimal("0.50"), Fraction(1, 8)], 0.001),
        ([0, 1], 1.0),
        ([Fraction(1, 3), 0.5], 1e-30),
        ([1e-7, 0.5], 1e-7),
    ],
)
def test_without_answers_rounding_alone_sets_the_floor(scores: list[Any], unit: float) -> None:
    result = score_delta(scores, scores)
    assert (result.answers, result.unit) == (None, unit)
    assert result.control.floor == pytest.approx(unit**2 / 12, rel=1e-12)
    assert result == score_delta(scores, scores, unit=unit)


def test_scores_of_two_decimals_lie_in_the_file_s_unit() -> None:
    told = score_delta(["0.5", "0.5"], ["0.6", "0.6"], unit="0.01")
    assert told.control.v == pytest.approx(1e-4 / 12, rel=1e-12)
    assert told.fixed.low > 0


def test_no_number_of_answers_is_read_from_the_digits() -> None:
    control, treatment = [0.75, 0.5, 0.625], [0.75, 0.75, 0.625]
    result = score_delta(control, treatment)
    assert not result.control.floored
    oracle = scipy.stats.ttest_ind(treatment, control, equal_var=False)
    assert result.fixed.p_value == pytest.approx(oracle.pvalue, rel=1e-9)


@pytest.mark.parametrize(("answers", "unit"), [(0, None), (None, -1), (None, 2), (None, "x")])
def test_answers_and_unit_are_checked(answers: int | None, unit: Any) -> None:
    with pytest.raises(ValueError, match=r"answers|unit"):
        score_delta([0.5, 0.6], [0.7, 0.8], answers=answers, unit=unit)


@given(
    st.integers(1, 400).flatmap(
        lambda n: st.tuples(st.just(n), st.lists(st.integers(0, n), min_size=2, max_size=4))
    )
)
def test_scores_that_were_divisions_are_undone(drawn: tuple[int, list[int]]) -> None:
    n, counts = drawn
    floats = score_delta([c / n for c in counts], [0.0, 0.0], answers=n)
    exact = score_delta([Fraction(c, n) for c in counts], [0, 0], answers=n)
    assert floats == exact


@given(st.lists(st.integers(0, 40), min_size=2, max_size=5),
       st.lists(st.integers(0, 40), min_size=2, max_size=5))  # fmt: skip
def test_swapping_the_arms_negates_the_scores_interval(a: list[int], b: list[int]) -> None:
    one = score_delta([c / 40 for c in a], [c / 40 for c in b], answers=40)
    two = score_delta([c / 40 for c in b], [c / 40 for c in a], answers=40)
    again = score_delta([c / 40 for c in reversed(a)], [c / 40 for c in reversed(b)], answers=40)
    assert (one.delta, one.fixed.low, one.fixed.high) == (
        -two.delta, -two.fixed.high, -two.fixed.low)  # fmt: skip
    assert one == again


def test_one_score_is_refused() -> None:
    with pytest.raises(InsufficientData) as caught:
        score_delta([0.5], [0.5, 0.6], answers=10)
    assert caught.value.reason == "one-seed"


@pytest.mark.parametrize(
    "score", [1.5, -0.1, float("nan"), float("inf"), "many", "NaN", True, None, 62.5]
)
def test_a_score_is_a_fraction_of_one(score: Any) -> None:
    with pytest.raises(ValueError, match="score must"):
        score_delta([score, 0.5], [0.5, 0.6], answers=10)


def test_another_level_of_scores_is_the_same_as_asking_for_it() -> None:
    asked = score_delta([0.5, 0.6], [0.7, 0.9], answers=10, level=0.9)
    assert score_delta([0.5, 0.6], [0.7, 0.9], answers=10).at(0.9) == asked
