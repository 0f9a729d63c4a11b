"""Resampling counted out, against enumeration of every resample."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import comb, isclose
from typing import Any

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.errors import InsufficientData
from audit.stats import (
    exact_bootstrap,
    exact_bootstrap_counts,
    two_level_bootstrap,
    two_level_sd,
)
from audit.stats.lattice import lattice
from audit.stats.resampling import BootstrapDistribution, _smooth


def enumerated(statistics: list[Fraction]) -> dict[Fraction, Fraction]:
    """Probability of each value of equally likely resamples."""
    pmf: dict[Fraction, Fraction] = {}
    for value in statistics:
        pmf[value] = pmf.get(value, Fraction(0)) + Fraction(1, len(statistics))
    return pmf


def quantiles(pmf: dict[Fraction, Fraction], tail: Fraction) -> tuple[float, float]:
    low = min(x for x in pmf if sum(p for y, p in pmf.items() if y <= x) >= tail)
    high = max(x for x in pmf if sum(p for y, p in pmf.items() if y >= x) >= tail)
    return float(low), float(high)


def assert_same(result: BootstrapDistribution, pmf: dict[Fraction, Fraction]) -> None:
    expected = {round(x * result.denominator): float(p) for x, p in pmf.items()}
    for j, p in enumerate(result.pmf):
        assert abs(p - expected.pop(result.start + j, 0.0)) < 1e-15
    assert not expected
    assert (result.low, result.high) == quantiles(pmf, Fraction(1, 40))
    assert abs(result.p_le_zero - float(sum(p for x, p in pmf.items() if x <= 0))) < 1e-14
    mean = sum(x * p for x, p in pmf.items())
    variance = sum(x * x * p for x, p in pmf.items()) - mean**2
    assert isclose(result.sd, float(variance) ** 0.5, abs_tol=1e-15)
    assert isclose(result.mean, float(mean), abs_tol=1e-15)


@pytest.mark.parametrize(
    "differences",
    [
        [0, 1, -1, 2, 0],
        [Fraction(1, 3), Fraction(-1, 2), 0, 0, 1],
        [0.1, 0.2, -0.3, 0.1, 0.0],
        [3, 3, 3, 3, 2],
    ],
)
def test_one_level_is_all_3125_resamples(differences: list[Any]) -> None:
    exact = [Fraction(str(d)) for d in differences]
    pmf = enumerated([sum(draw, Fraction(0)) / 5 for draw in product(exact, repeat=5)])
    assert_same(exact_bootstrap(differences), pmf)


def two_levels(a: Any, b: Any, k: int, paired: bool) -> dict[Fraction, Fraction]:
    seeds_a, seeds_b, tasks = len(a), len(b), len(a[0])
    values = []
    for rows_b in product(range(seeds_b), repeat=seeds_b):
        for rows_a in [rows_b] if paired else product(range(seeds_a), repeat=seeds_a):
            for drawn in product(range(tasks), repeat=tasks):
                top = sum(b[i][t] for i in rows_b for t in drawn)
                low = sum(a[i][t] for i in rows_a for t in drawn)
                values.append((Fraction(top, seeds_b) - Fraction(low, seeds_a)) / (tasks * k))
    return enumerated(values)


def test_two_levels_paired_are_all_6912_resamples() -> None:
    a, b = [[0, 1, 2, 1], [1, 1, 2, 0], [0, 2, 1, 0]], [[1, 1, 2, 2], [1, 2, 2, 1], [2, 2, 2, 0]]
    assert_same(two_level_bootstrap(a, b, samples=2, paired=True), two_levels(a, b, 2, paired=True))


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ([[0, 1, 2], [1, 1, 0]], [[2, 1, 1], [0, 2, 2]]),
        ([[0, 1, 2], [1, 1, 0]], [[2, 1, 1], [0, 2, 2], [1, 0, 2]]),
    ],
)
def test_two_levels_unpaired_are_all_resamples(a: Any, b: Any) -> None:
    assert_same(two_level_bootstrap(a, b, samples=2), two_levels(a, b, 2, paired=False))


def test_the_window_loses_nothing_that_counts() -> None:
    rng = np.random.default_rng(5)
    values = rng.integers(-4, 5, 900)
    result = exact_bootstrap(values)
    assert len(result.pmf) < 900 * 8  # the window did cut
    # The same by plain convolution, without transform or window.
    single = np.bincount(values + 4, minlength=9) / 900
    full, exponent = np.ones(1), 900
    power = single
    while exponent:
        if exponent & 1:
            full = np.convolve(full, power)
        power, exponent = np.convolve(power, power), exponent >> 1
    first = result.start + 4 * 900
    kept = full[first : first + len(result.pmf)]
    assert np.abs(kept - result.pmf).max() < 1e-15
    assert full.sum() - kept.sum() < 1e-14


def test_many_draws_agree_with_the_counted_distribution() -> None:
    rng = np.random.default_rng(0)
    counts = rng.binomial(4, 0.5, (2, 120))
    result = exact_bootstrap_counts(counts[0], counts[1], samples=4)
    d = (counts[1] - counts[0]) / 4
    drawn = d[rng.integers(0, 120, (20_000, 120))].mean(axis=1)
    assert abs((drawn <= 0).mean() - result.p_le_zero) < 0.015
    assert np.quantile(drawn, [0.025, 0.975]) == pytest.approx((result.low, result.high), abs=0.006)


@pytest.mark.parametrize("seed", range(3))
def test_bca_agrees_with_scipy_within_its_monte_carlo_error(seed: int) -> None:
    rng = np.random.default_rng(seed)
    d = rng.choice([0.0, 0.25, 0.5, 1.0], 40, p=[0.6, 0.2, 0.1, 0.1])
    result = exact_bootstrap(d, kind="bca")
    oracle = scipy.stats.bootstrap(
        (d,), np.mean, n_resamples=40_000, rng=np.random.default_rng(9), method="BCa"
    ).confidence_interval
    # One step of the lattice is 1 / 160.
    assert (result.low, result.high) == pytest.approx((oracle.low, oracle.high), abs=0.01)


@given(
    st.lists(st.integers(-6, 6), min_size=2, max_size=30), st.sampled_from(["percentile", "bca"])
)
def test_negating_the_differences_mirrors_the_interval(values: list[int], kind: str) -> None:
    one = exact_bootstrap(values, kind=kind)
    two = exact_bootstrap([-v for v in values], kind=kind)
    assert (one.low, one.high) == (-two.high, -two.low)


@given(st.lists(st.integers(-6, 6), min_size=2, max_size=30).flatmap(
    lambda v: st.tuples(st.just(v), st.permutations(v))))  # fmt: skip
def test_order_of_tasks_changes_no_bit_of_the_bootstrap(
    pair: tuple[list[int], list[int]],
) -> None:
    one, two = (exact_bootstrap(v, kind="bca") for v in pair)
    assert one == two
    assert one.pmf.tobytes() == two.pmf.tobytes()


@settings(max_examples=30)
@given(st.integers(2, 4), st.integers(2, 6), st.integers(0, 2**32 - 1), st.booleans())
def test_the_closed_form_of_the_two_level_sd_is_that_of_its_distribution(
    seeds: int, tasks: int, seed: int, paired: bool
) -> None:
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, 4, (2, seeds, tasks))
    result = two_level_bootstrap(a, b, samples=3, paired=paired)
    mean = (result.support * result.pmf).sum()
    sd = np.sqrt(max(((result.support - mean) ** 2 * result.pmf).sum(), 0))
    assert result.sd == pytest.approx(sd, abs=1e-7)
    assert two_level_sd(a, b, samples=3, paired=paired) == result.sd
    assert result.mean == pytest.approx(mean, abs=1e-12)


@settings(max_examples=30)
@given(st.integers(2, 3), st.integers(2, 6), st.integers(0, 2**32 - 1), st.booleans())
def test_swapping_the_arms_mirrors_two_levels(
    seeds: int, tasks: int, seed: int, paired: bool
) -> None:
    a, b = np.random.default_rng(seed).integers(0, 4, (2, seeds, tasks))
    one = two_level_bootstrap(a, b, samples=3, paired=paired)
    two = two_level_bootstrap(b[::-1, ::-1], a[::-1, ::-1], samples=3, paired=paired)
    assert (one.low, one.high, one.sd, one.mean) == (-two.high, -two.low, two.sd, -two.mean)


def test_values_off_any_lattice_are_rounded_and_marked() -> None:
    d = np.random.default_rng(0).normal(size=50)
    result = exact_bootstrap(d)
    assert result.method == "rounded-lattice"
    assert abs(result.mean - d.mean()) < 1.3e-4
    assert result.sd == pytest.approx(d.std() / np.sqrt(50), abs=1e-4)
    assert exact_bootstrap(d) == result


def test_a_lattice_too_fine_to_count_out_is_rounded_and_marked() -> None:
    fine = [Fraction(1, p) for p in (10007, 10009, 10037, 10039, 10061)]
    result = exact_bootstrap(fine)
    assert result.method == "rounded-lattice"
    assert result.mean == pytest.approx(float(sum(fine) / 5), abs=1.3e-4)
    counts, drawn = [[3, 5, 7, 2]], [[10007, 10009, 10037, 10039]]
    by_counts = exact_bootstrap_counts(counts, counts, samples=([[20011] * 4], drawn))
    assert by_counts.method == "rounded-lattice"


@pytest.mark.parametrize(
    ("values", "denominator", "rounded"),
    [
        ([0.25, 0.5], 4, False),
        ([1 / 3, 0.1], 30, False),
        ([0.0, 0.0], 1, False),
        ([1 / 4096, 1 / 3], 4096, True),
        ([np.float32(1) / np.float32(3), 0.5], 4096, True),
        ([Fraction(1, 5000), Fraction(1, 3)], 15000, False),
        ([0.123456789, 0.5], 4096, True),
    ],
)
def test_the_smallest_lattice_is_found(values: list[Any], denominator: int, rounded: bool) -> None:
    found = lattice(values)
    assert found.rounded is rounded
    assert denominator % found.denominator == 0
    if not rounded:
        assert found.denominator == denominator


def test_counts_make_their_own_lattice() -> None:
    a, b = [[1, 2, 0, 3]] * 3, [[2, 2, 1, 3], [3, 2, 0, 3], [3, 1, 1, 2]]
    by_counts = exact_bootstrap_counts(a, b, samples=3)
    d = [Fraction(sum(r[t] for r in b), 9) - Fraction(sum(r[t] for r in a), 9) for t in range(4)]
    assert by_counts == exact_bootstrap(d)


def test_no_variation_leaves_one_point() -> None:
    for kind in ("percentile", "bca"):
        result = exact_bootstrap([0.5, 0.5, 0.5], kind=kind)
        assert (result.low, result.high, result.sd) == (0.5, 0.5, 0.0)
        assert result.pmf.tolist() == [1.0]


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        (lambda: exact_bootstrap([0.5]), "too-few-differences"),
        (lambda: exact_bootstrap([]), "too-few-differences"),
        (lambda: exact_bootstrap([0, 2**24]), "too-large"),
        (lambda: exact_bootstrap([0, 2**70]), "too-large"),
        (lambda: two_level_bootstrap([[0, 1]] * 7, [[1, 0]] * 7, samples=1, paired=True),
         "too-large"),
        (lambda: two_level_bootstrap([[0, 1]] * 5, [[1, 0]] * 5, samples=1), "too-large"),
        (lambda: two_level_bootstrap([[0, 1]], [[1, 0]], samples=1), "one-seed"),
    ],
)  # fmt: skip
def test_what_cannot_be_counted_out_is_refused(call: Any, reason: str) -> None:
    with pytest.raises(InsufficientData) as caught:
        call()
    assert caught.value.reason == reason


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "x", None])
def test_a_difference_is_a_finite_number(value: Any) -> None:
    with pytest.raises(ValueError, match="difference must"):
        exact_bootstrap([0.5, value])


def test_an_unknown_kind_is_named() -> None:
    with pytest.raises(ValueError, match="'basic'"):
        exact_bootstrap([0.5, 1.0], kind="basic")


def test_transform_lengths_are_even_and_smooth() -> None:
    for least in (1, 2, 3, 7, 11, 121, 1319, 10553, 65537):
        length = _smooth(least)
        assert length >= least
        assert length % 2 == 0
        for prime in (2, 3, 5):
            while length % prime == 0:
                length //= prime
        assert length == 1


def test_the_number_of_compositions_is_as_counted() -> None:
    from audit.stats.twolevel import _draws

    for seeds in range(2, 7):
        draws = _draws(seeds)
        assert len(draws) == comb(2 * seeds - 1, seeds)
        assert sum(weight for weight, _ in draws) == pytest.approx(1, abs=1e-14)
