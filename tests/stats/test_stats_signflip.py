"""Randomisation tests against every flip and every relabelling."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product
from math import comb
from typing import Any

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.errors import InsufficientData
from audit.stats import seed_permutation_p_value, sign_flip_p_value


def every_flip(values: list[int]) -> Fraction:
    observed = abs(sum(values))
    flips = list(product((-1, 1), repeat=len(values)))
    extreme = sum(
        abs(sum(e * v for e, v in zip(signs, values, strict=True))) >= observed for signs in flips
    )
    return Fraction(extreme, len(flips))


def convolved(values: list[int]) -> Fraction:
    """The same in rational arithmetic, one value at a time."""
    pmf = {0: Fraction(1)}
    for v in values:
        following: dict[int, Fraction] = {}
        for x, p in pmf.items():
            for moved in (x - v, x + v):
                following[moved] = following.get(moved, Fraction(0)) + p / 2
        pmf = following
    return sum((p for x, p in pmf.items() if abs(x) >= abs(sum(values))), Fraction(0))


def test_all_4096_flips_of_twelve_differences() -> None:
    values = [3, -1, 0, 2, 2, -2, 1, 0, 4, 1, -1, 3]
    expected = every_flip(values)
    assert convolved(values) == expected
    assert sign_flip_p_value(values) == pytest.approx(float(expected), abs=1e-16)
    assert sign_flip_p_value([v / 4 for v in values]) == sign_flip_p_value(values)


@settings(max_examples=60)
@given(st.lists(st.integers(-5, 5), min_size=1, max_size=11))
def test_convolution_is_enumeration(values: list[int]) -> None:
    assert sign_flip_p_value(values) == pytest.approx(float(every_flip(values)), rel=1e-12)


@given(st.lists(st.integers(-9, 9), min_size=1, max_size=60), st.randoms(use_true_random=False))
def test_order_and_side_change_no_bit(values: list[int], rnd: Any) -> None:
    mixed = rnd.sample(values, len(values))
    assert sign_flip_p_value(mixed) == sign_flip_p_value(values)
    assert sign_flip_p_value([-v for v in values]) == sign_flip_p_value(values)


def test_tails_keep_relative_accuracy() -> None:
    values = [1] * 40 + [2] * 20 + [3] * 10
    expected = float(convolved(values))
    assert expected < 1e-20
    assert sign_flip_p_value(values) == pytest.approx(expected, rel=1e-12)
    mixed = values + [-1] * 12
    assert sign_flip_p_value(mixed) == pytest.approx(float(convolved(mixed)), rel=1e-12)


def test_scipy_enumerates_to_the_same_p_value() -> None:
    values = np.array([0.25, -0.25, 0.5, 0.5, 0.75, 0.0, 0.25, -0.5])
    oracle = scipy.stats.permutation_test(
        (values,), np.sum, permutation_type="samples", n_resamples=2**8
    )
    assert sign_flip_p_value(values) == pytest.approx(oracle.pvalue, rel=1e-12)


def test_no_difference_at_all_is_no_evidence() -> None:
    assert sign_flip_p_value([0, 0, 0]) == 1


def total(values: list[Fraction]) -> Fraction:
    return sum(values, Fraction(0))


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (["0.1", "0.2", "0.3"], ["0.4", "0.5", "0.6"]),
        (["0.5", "0.25"], ["0.5", "0.75", "0.25", "1"]),
        ([0.1, 0.2, 0.2, 0.9], [0.3, 0.1, 0.2, 0.7]),
        ([1], [2, 3]),
    ],
)
def test_every_relabelling_of_the_seeds_is_counted(a: list[Any], b: list[Any]) -> None:
    pooled: list[Fraction] = [Fraction(str(v)) for v in a + b]
    observed: Fraction = abs(total(pooled[len(a) :]) / len(b) - total(pooled[: len(a)]) / len(a))
    extreme = 0
    for chosen in combinations(range(len(pooled)), len(b)):
        top = total([pooled[i] for i in chosen])
        contrast: Fraction = abs(top / len(b) - (total(pooled) - top) / len(a))
        extreme += contrast >= observed
    expected = Fraction(extreme, comb(len(pooled), len(b)))
    assert seed_permutation_p_value(a, b) == float(expected)


def test_three_seeds_an_arm_cannot_fall_below_a_tenth() -> None:
    assert seed_permutation_p_value([0.1, 0.1, 0.1], [0.9, 0.9, 0.9]) == 0.1


def test_too_many_relabellings_are_refused() -> None:
    with pytest.raises(InsufficientData) as caught:
        seed_permutation_p_value([0.5] * 20, [0.5] * 20)
    assert caught.value.reason == "too-large"


def test_empty_arms_are_refused() -> None:
    with pytest.raises(InsufficientData):
        seed_permutation_p_value([], [0.5])
    with pytest.raises(InsufficientData):
        sign_flip_p_value([])
