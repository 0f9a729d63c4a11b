"""How numbers are written, on every surface: nowhere else is a measured number turned into text.

Terminal, gate, Markdown, page, figures and messages call these functions, so that one value is one
text. A half is rounded away from zero, in decimals: 3/48 = 0.0625 is 0.063, and -0.0625 is -0.063.
Numbers of files are decimals that people round by hand in this way; rounding the binary value, as
``format`` does, gives 0.062 for 0.0625 and 0.063 for 0.0635, and which of two neighbours comes out
depends on the machine's representation. Before that a value is taken to twelve decimals, so that
0.18749999999999997, which is what adding floats makes of 3/16, is written as 3/16 is.

Fractions come in as they are measured, in [0, 1]. No function asks the locale. A value that was
not recorded, None, is written as a dash.
"""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Context, Decimal
from math import isfinite
from numbers import Real

ABSENT = "–"  # noqa: RUF001 - an en dash stands for an absent value in a table

_MOST_DIGITS = 10
_LARGEST = 1e15  # beyond, decimals mean nothing
_NOISE = Decimal(1).scaleb(-12)  # what float arithmetic leaves behind is smaller
_WIDE = Context(prec=60)

Number = int | float | None


def fraction(value: Number, digits: int = 2) -> str:
    """Write a rate, score or size with a fixed number of decimals: ``0.34``.

    A value that rounds to zero has no sign.
    """
    if value is None:
        return ABSENT
    if abs(_finite(value)) >= _LARGEST:
        return f"{value:.3g}"
    exact = Decimal(repr(float(value))).quantize(_NOISE, ROUND_HALF_UP, _WIDE)
    text = f"{exact.quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP, _WIDE):f}"
    return text.lstrip("-") if not text.strip("-0.") else text


def signed(value: Number, digits: int = 3) -> str:
    """Write a difference with its sign: ``+0.050``, ``-0.065``; zero is ``+0.000``."""
    text = fraction(value, digits)
    return text if value is None or text[0] == "-" else f"+{text}"


def digits_for(low: float, high: float, digits: int = 3) -> int:
    """Return the decimals, from ``digits``, at which no end that is not zero reads as zero.

    Rounded away, an end would make the interval seem to include zero, or not to.
    """
    return next((n for n in range(digits, _MOST_DIGITS) if _all_seen((low, high), n)), digits)


def _all_seen(values: tuple[float, float], digits: int) -> bool:
    return all(not value or fraction(value, digits).strip("-0.") for value in values)


def interval(low: Number, high: Number, digits: int = 2) -> str:
    """Write an interval: ``[0.28, 0.41]``; with a plus sign where the other end is negative."""
    if low is None or high is None:
        return ABSENT
    digits = digits_for(low, high, digits)
    ends = [fraction(low, digits), fraction(high, digits)]
    if ends[0].startswith("-") and ends[1].strip("0.") and not ends[1].startswith("-"):
        ends[1] = f"+{ends[1]}"
    return f"[{ends[0]}, {ends[1]}]"


def estimate(value: Number, low: Number, high: Number, digits: int = 3) -> str:
    """Write a difference with its interval: ``+0.050 [0.000, 0.100]``."""
    return f"{signed(value, digits)} {interval(low, high, digits)}".removesuffix(f" {ABSENT}")


def percent(value: Number, digits: int = 0) -> str:
    """Write a fraction in per cent: ``95%``."""
    return ABSENT if value is None else f"{fraction(100 * _finite(value), digits)}%"


def level(value: Number) -> str:
    """Write a confidence level in per cent, as exact as it was set: ``95%``, ``98.63%``."""
    return ABSENT if value is None else f"{100 * _finite(value):.4g}%"


def count(value: Number) -> str:
    """Write a whole number with commas between thousands: ``23,762``."""
    if value is None:
        return ABSENT
    if _finite(value) != int(value):
        raise ValueError(f"{value!r} is no whole number")
    return f"{int(value):,}"


def times(value: Number, digits: int = 1) -> str:
    """Write the ratio of two quantities: ``4.8``."""
    return fraction(value, digits)


def minutes(value: Number) -> str:
    """Write a duration in minutes with one decimal: ``12.8``; a whole zero is ``0``."""
    return "0" if value == 0 else fraction(value, 1)


def usd(value: Number) -> str:
    """Write a price in US dollars: ``$0.68``."""
    return ABSENT if value is None else f"${_finite(value):,.2f}"


def p_value(value: Number) -> str:
    """Write a p-value to two significant digits: ``0.57``, ``0.0018``; below 1e-4 as a bound."""
    if value is None:
        return ABSENT
    if _finite(value) < 1e-4:
        return "< 0.0001"
    digits = next((n for n in range(2, 6) if value >= 10.0 ** (1 - n)), 5)
    return fraction(value, digits)


def p_equals(value: float) -> str:
    """Write a p-value with its letter: ``p = 0.0018``, ``p < 0.0001``."""
    text = p_value(value)
    return f"p {text}" if text.startswith("<") else f"p = {text}"


def points(value: Number, digits: int = 1) -> str:
    """Write a difference of fractions in percentage points, without its sign: ``11.5``."""
    return ABSENT if value is None else fraction(abs(100 * _finite(value)), digits)


def counted(number: int, noun: str, plural: str = "") -> str:
    """Write a number with its noun: ``1 warning``, ``2 warnings``, ``3 studies``."""
    return f"{count(number)} {noun if number == 1 else plural or noun + 's'}"


def spelled(value: int) -> str:
    """Write a small whole number as a word: ``three``; from ten on as digits."""
    words = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
    return words[value] if 0 <= value < len(words) else count(value)


def _finite(value: float) -> float:
    if isinstance(value, bool) or not isinstance(value, Real) or not isfinite(value):
        raise ValueError(f"{value!r} is no finite number")
    return value


FILTERS = (
    fraction,
    signed,
    interval,
    estimate,
    percent,
    level,
    count,
    times,
    minutes,
    usd,
    p_value,
    p_equals,
    points,
    spelled,
)
