"""Numbers as text: signs, rounding, what has no value; the same in every locale."""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.pages import numbers

CASES: list[tuple[Callable[..., str], tuple[object, ...], str]] = [
    (numbers.fraction, (0.3416666666666667,), "0.34"),
    (numbers.fraction, (0.5166666666666667,), "0.52"),
    (numbers.fraction, (0.625,), "0.63"),
    (numbers.fraction, (0.285,), "0.29"),
    (numbers.fraction, (-0.001,), "0.00"),
    (numbers.fraction, (0.0087, 4), "0.0087"),
    (numbers.fraction, (1,), "1.00"),
    (numbers.fraction, (None,), numbers.ABSENT),
    (numbers.signed, (0.05,), "+0.050"),
    (numbers.signed, (-0.065,), "-0.065"),
    (numbers.signed, (0.0,), "0.000"),
    (numbers.signed, (-0.0004,), "0.000"),
    (numbers.signed, (0.0004,), "0.000"),
    (numbers.interval, (0.28, 0.41), "[0.28, 0.41]"),
    (numbers.interval, (0.0, 0.1, 3), "[0.000, 0.100]"),
    (numbers.interval, (-0.2936, 0.46027, 3), "[-0.294, +0.460]"),
    (numbers.interval, (-0.117, -0.013, 3), "[-0.117, -0.013]"),
    (numbers.interval, (-0.1, 0.0, 3), "[-0.100, 0.000]"),
    (numbers.interval, (None, 1.0), numbers.ABSENT),
    (numbers.estimate, (0.05, 0.0, 0.1), "+0.050 [0.000, 0.100]"),
    (numbers.estimate, (0.05, None, None), "+0.050"),
    (numbers.percent, (0.95,), "95%"),
    (numbers.percent, (0.29,), "29%"),
    (numbers.count, (23762,), "23,762"),
    (numbers.count, (None,), numbers.ABSENT),
    (numbers.minutes, (12.8,), "12.8"),
    (numbers.minutes, (0.0,), "0"),
    (numbers.usd, (0.68,), "$0.68"),
    (numbers.usd, (1234.5,), "$1,234.50"),
    (numbers.p_value, (0.5720754878965563,), "0.57"),
    (numbers.p_value, (0.00178,), "0.0018"),
    (numbers.p_value, (1.0,), "1.00"),
    (numbers.p_value, (1e-9,), "< 0.0001"),
    (numbers.points, (-0.115,), "11.5"),
    (numbers.times, (4.77,), "4.8"),
    (numbers.spelled, (3,), "three"),
    (numbers.spelled, (12,), "12"),
]


@pytest.mark.parametrize(("write", "values", "text"), CASES)
def test_a_number_is_written_as(
    write: Callable[..., str], values: tuple[object, ...], text: str
) -> None:
    assert write(*values) == text


@given(st.floats(-1, 1), st.integers(0, 6))
def test_a_fraction_is_within_half_a_unit_of_its_value(value: float, digits: int) -> None:
    text = numbers.fraction(value, digits)
    apart = abs(Decimal(text) - Decimal(repr(value)))
    assert apart <= Decimal(5).scaleb(-digits - 1)
    assert re.fullmatch(r"-?\d+(\.\d+)?", text)
    assert not re.fullmatch(r"-0(\.0*)?", text)


@given(st.floats(-1, 1))
def test_a_signed_number_has_a_sign_unless_it_is_shown_as_zero(value: float) -> None:
    text = numbers.signed(value)
    assert text == "0.000" or (text[0] == ("+" if value > 0 else "-"))


@given(st.floats(-1, 1), st.floats(-1, 1))
def test_an_interval_keeps_its_order(low: float, high: float) -> None:
    low, high = sorted((low, high))
    ends = [float(end) for end in numbers.interval(low, high, 3)[1:-1].split(", ")]
    assert ends[0] <= ends[1]


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), True, "0.5"])
def test_what_is_no_finite_number_is_refused(bad: object) -> None:
    with pytest.raises(ValueError, match="no finite number"):
        numbers.fraction(bad)  # type: ignore[arg-type]


def test_a_count_that_is_not_whole_is_refused() -> None:
    with pytest.raises(ValueError, match="no whole number"):
        numbers.count(2.5)
