"""Numbers as text: signs, rounding, what has no value; the same in every locale."""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit import numerals

CASES: list[tuple[Callable[..., str], tuple[object, ...], str]] = [
    (numerals.fraction, (0.3416666666666667,), "0.34"),
    (numerals.fraction, (0.5166666666666667,), "0.52"),
    (numerals.fraction, (0.625,), "0.63"),
    (numerals.fraction, (0.285,), "0.29"),
    (numerals.fraction, (-0.001,), "0.00"),
    (numerals.fraction, (0.0087, 4), "0.0087"),
    (numerals.fraction, (1,), "1.00"),
    (numerals.fraction, (None,), numerals.ABSENT),
    (numerals.signed, (0.05,), "+0.050"),
    (numerals.signed, (-0.065,), "-0.065"),
    (numerals.signed, (0.0,), "+0.000"),
    (numerals.signed, (-0.0004,), "+0.000"),
    (numerals.signed, (0.0004,), "+0.000"),
    (numerals.signed, (0.0625,), "+0.063"),
    (numerals.signed, (-0.0625,), "-0.063"),
    (numerals.signed, (0.0635,), "+0.064"),
    (numerals.signed, (0.1 + 0.2 - 0.1125 + 0.0,), "+0.188"),
    (numerals.signed, (3 / 16,), "+0.188"),
    (numerals.fraction, (0.18749999999999997, 3), "0.188"),
    (numerals.fraction, (0.8125, 3), "0.813"),
    (numerals.fraction, (1e15, 3), "1e+15"),
    (numerals.interval, (0.28, 0.41, 2), "[0.28, 0.41]"),
    (numerals.interval, (-1e-5, 0.1, 3), "[-0.00001, +0.10000]"),
    (numerals.interval, (-0.0625, 0.0625, 3), "[-0.063, +0.063]"),
    (numerals.interval, (0.0, 0.1, 3), "[0.000, 0.100]"),
    (numerals.interval, (-0.2936, 0.46027, 3), "[-0.294, +0.460]"),
    (numerals.interval, (-0.117, -0.013, 3), "[-0.117, -0.013]"),
    (numerals.interval, (-0.1, 0.0, 3), "[-0.100, 0.000]"),
    (numerals.interval, (None, 1.0), numerals.ABSENT),
    (numerals.estimate, (0.05, 0.0, 0.1), "+0.050 [0.000, 0.100]"),
    (numerals.estimate, (0.05, None, None), "+0.050"),
    (numerals.percent, (0.95,), "95%"),
    (numerals.percent, (0.29,), "29%"),
    (numerals.count, (23762,), "23,762"),
    (numerals.count, (None,), numerals.ABSENT),
    (numerals.minutes, (12.8,), "12.8"),
    (numerals.minutes, (0.0,), "0"),
    (numerals.usd, (0.68,), "$0.68"),
    (numerals.usd, (1234.5,), "$1,234.50"),
    (numerals.p_value, (0.5720754878965563,), "0.57"),
    (numerals.p_value, (0.00178,), "0.0018"),
    (numerals.p_value, (1.0,), "1.00"),
    (numerals.p_value, (1e-9,), "< 0.0001"),
    (numerals.p_value, (0.0572,), "0.057"),
    (numerals.p_equals, (0.0572,), "p = 0.057"),
    (numerals.p_equals, (1e-9,), "p < 0.0001"),
    (numerals.counted, (1, "task"), "1 task"),
    (numerals.counted, (1319, "task"), "1,319 tasks"),
    (numerals.counted, (2, "study", "studies"), "2 studies"),
    (numerals.points, (-0.115,), "11.5"),
    (numerals.times, (4.77,), "4.8"),
    (numerals.spelled, (3,), "three"),
    (numerals.spelled, (12,), "12"),
]


@pytest.mark.parametrize(("write", "values", "text"), CASES)
def test_a_number_is_written_as(
    write: Callable[..., str], values: tuple[object, ...], text: str
) -> None:
    assert write(*values) == text


@given(st.floats(-1, 1), st.integers(0, 6))
def test_a_fraction_is_within_half_a_unit_of_its_value(value: float, digits: int) -> None:
    text = numerals.fraction(value, digits)
    apart = abs(Decimal(text) - Decimal(repr(value)))
    assert apart <= Decimal(5).scaleb(-digits - 1) + Decimal(5).scaleb(-13)
    assert re.fullmatch(r"-?\d+(\.\d+)?", text)
    assert not re.fullmatch(r"-0(\.0*)?", text)


@given(st.floats(-1, 1))
def test_a_signed_number_has_a_sign_unless_it_is_shown_as_zero(value: float) -> None:
    text = numerals.signed(value)
    assert text == "+0.000" or (text[0] == ("+" if value > 0 else "-"))


@given(st.floats(-1, 1), st.floats(-1, 1))
def test_an_interval_keeps_its_order(low: float, high: float) -> None:
    low, high = sorted((low, high))
    ends = [float(end) for end in numerals.interval(low, high, 3)[1:-1].split(", ")]
    assert ends[0] <= ends[1]


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), True, "0.5"])
def test_what_is_no_finite_number_is_refused(bad: object) -> None:
    with pytest.raises(ValueError, match="no finite number"):
        numerals.fraction(bad)  # type: ignore[arg-type]


def test_a_count_that_is_not_whole_is_refused() -> None:
    with pytest.raises(ValueError, match="no whole number"):
        numerals.count(2.5)
