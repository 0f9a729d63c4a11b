from __future__ import annotations

from collections.abc import Callable
from itertools import product
from math import inf, isnan, nan, sqrt
from typing import Any

import numpy as np
import pytest
from scipy import special

from audit.stats import distributions as ours

# Fractional, tiny and large degrees of freedom.
DF = (1, 1.0001, 1.5, 2, 2.3, 3, 4, 5, 7.7, 10, 16, 29.5, 50, 119, 333.3, 1998, 1e4, 1e6)
VALUES = (1e-3, 0.1, 0.5, 0.9, 1, 1.5, 2, 3, 4.2, 6, 10, 20, 37, 90, 300, 1e4)
LEVELS = (0.01, 0.1, 0.5, 0.68, 0.8, 0.9, 0.95, 0.99, 0.999, 1 - 1e-6, 1 - 1e-9)
TAILS = (1e-300, 1e-100, 1e-20, 1e-10, 1e-5, 0.001, 0.01, 0.025, 0.1, 0.3, 0.5, 0.7, 0.9, 0.999)
# SciPy's own error at the points of these tables, against 40 digits by mpmath, is up to 3e-11
# where it differs from ours by as much; ours is then below 1e-12.
SCIPY_ERROR = 4e-11
CLOSE = 1e-12
SMALLEST = 1e-290  # below, floats lose digits

Points = list[tuple[float, ...]]


def worst(
    mine: Callable[..., float], theirs: Callable[..., Any], points: Points
) -> tuple[float, float]:
    """Return the largest relative difference, and the share of points within ``CLOSE``."""
    gaps = []
    for point in points:
        wanted = float(theirs(*point))
        if abs(wanted) > SMALLEST:
            gaps.append(abs(mine(*point) / wanted - 1))
    return max(gaps), sum(gap < CLOSE for gap in gaps) / len(gaps)


TABLE: dict[str, tuple[Callable[..., float], Callable[..., Any], Points]] = {
    "normal cdf": (
        ours.normal_cdf,
        special.ndtr,
        [(float(x),) for x in np.linspace(-36, 9, 451)],
    ),
    "normal quantile": (ours.normal_ppf, special.ndtri, [(p,) for p in TAILS if p != 0.5]),
    "t tail": (
        ours.t_tail,
        lambda value, df: special.stdtr(df, -value),
        [*product(VALUES, DF), *product((-0.7, -3), DF)],
    ),
    "t quantile": (
        ours.t_two_sided_ppf,
        lambda level, df: -special.stdtrit(df, (1 - level) / 2),
        list(product(LEVELS, DF)),
    ),
    "chi-square tail": (
        ours.chi2_tail,
        lambda value, df: special.chdtrc(df, value),
        list(product(VALUES, DF)),
    ),
    "chi-square quantile": (
        ours.chi2_ppf,
        lambda p, df: 2 * special.gammaincinv(df / 2, p),
        list(product(TAILS, DF)),
    ),
    "F tail": (
        ours.f_tail,
        lambda value, df, other: special.fdtrc(df, other, value),
        list(product(VALUES[1:-3], DF, DF)),
    ),
    "F quantile": (
        ours.f_ppf,
        lambda p, df, other: special.fdtri(df, other, p),
        list(product((0.01, 0.025, 0.1, 0.3, 0.7, 0.9, 0.975), DF, DF)),
    ),
}


@pytest.mark.parametrize("name", TABLE)
def test_tails_and_quantiles_are_scipy_s(name: str) -> None:
    gap, share = worst(*TABLE[name])
    assert gap < SCIPY_ERROR
    assert share > 0.97


@pytest.mark.parametrize("df", DF)
def test_a_quantile_is_where_the_tail_has_that_probability(df: float) -> None:
    for level in LEVELS:
        value = ours.t_two_sided_ppf(level, df)
        assert 2 * ours.t_tail(value, df) == pytest.approx(1 - level, rel=1e-11)
        assert ours.f_tail(value**2, 1, df) == pytest.approx(1 - level, rel=1e-11)
        assert ours.f_tail(ours.f_ppf(level, df, 4.5), df, 4.5) == pytest.approx(
            1 - level, rel=1e-11
        )
        assert ours.chi2_tail(ours.chi2_ppf(level, df), df) == pytest.approx(1 - level, rel=1e-11)


def test_a_one_sided_chi_square_of_one_degree_is_the_square_of_a_normal() -> None:
    for z in (0.01, 0.5, 1, 3, 8, 20):
        assert ours.chi2_tail(z * z, 1) == pytest.approx(2 * ours.normal_cdf(-z), rel=CLOSE)


def test_with_endless_degrees_of_freedom_t_is_normal() -> None:
    assert ours.t_tail(1.7, inf) == ours.normal_cdf(-1.7)
    assert ours.t_two_sided_ppf(0.95, inf) == pytest.approx(-ours.normal_ppf(0.025))


def test_the_ends_of_the_scale_are_exact() -> None:
    assert (ours.normal_ppf(0), ours.normal_ppf(1)) == (-inf, inf)
    assert (ours.t_tail(0, 3), ours.t_tail(inf, 3), ours.t_tail(-inf, 3)) == (0.5, 0, 1)
    assert (ours.chi2_tail(0, 3), ours.chi2_tail(inf, 3)) == (1, 0)
    assert (ours.chi2_ppf(0, 3), ours.chi2_ppf(1, 3)) == (0, inf)
    assert (ours.f_tail(0, 2, 3), ours.f_tail(inf, 2, 3), ours.f_ppf(1, 2, 3)) == (1, 0, inf)
    assert isnan(ours.chi2_ppf(1.5, 3))
    assert isnan(ours.f_ppf(-0.1, 2, 3))


def test_thousands_of_normal_probabilities_are_off_by_the_last_digit_alone() -> None:
    values = np.concatenate([np.linspace(-40, 40, 100_001), [-inf, inf, 1e300]])
    assert np.abs(ours.normal_cdf_grid(values) - special.ndtr(values)).max() < 1e-15
    few = np.linspace(-30, 8, 77)
    assert ours.normal_cdfs(few) == pytest.approx(special.ndtr(few), rel=1e-12)


def test_no_degree_of_freedom_or_tail_keeps_the_search_from_its_end() -> None:
    rng = np.random.default_rng(5)
    for _ in range(500):
        a, b = 10 ** rng.uniform(0, 6, 2)
        level = 10 ** rng.uniform(-8, 0)
        value = ours.f_ppf(level, a, b)
        assert 1 - ours.f_tail(value, a, b) == pytest.approx(level, rel=1e-6, abs=1e-14)
        tail = ours.chi2_ppf(level, a) / a
        assert 0 < tail < 1 + 8 * sqrt(2 / a)


@pytest.mark.parametrize("odd", [nan, 0.0, -1.0])
def test_what_no_distribution_has_is_not_a_number(odd: float) -> None:
    assert isnan(ours.t_tail(1, odd))
    assert isnan(ours.t_two_sided_ppf(0.9, odd))
    assert isnan(ours.f_tail(1, odd, 3))
    assert isnan(ours.f_tail(1, 2, odd))
    assert isnan(ours.f_ppf(0.9, odd, 3))
    assert isnan(ours.f_ppf(0.9, 2, odd))
    assert isnan(ours.chi2_tail(1, odd))
    assert isnan(ours.chi2_ppf(0.9, odd))


def test_the_tail_beyond_what_is_no_number_is_none() -> None:
    assert all(map(isnan, (ours.t_tail(nan, 3), ours.f_tail(nan, 2, 3), ours.chi2_tail(nan, 3))))
    assert all(map(isnan, (ours.t_two_sided_ppf(nan, 3), ours.f_ppf(nan, 2, 3))))
