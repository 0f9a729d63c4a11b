"""What single precision leaves in a number: which doubles are float32, and which quotients."""

from __future__ import annotations

import math
from array import array

# A double that is float32 by chance has 29 zero bits. Values of at most 12 bits (0, 0.5, 1/512)
# are exact in any format and say nothing.
_TELLING_BITS = 12
# A column counts as float32 where at least this many telling values are, for each one that is not.
EXACT_PER_ODD = 4


def to_float32(value: float) -> float:
    """Return the nearest float32; infinite beyond its range."""
    return array("f", (value,))[0]


def odd_places(values: list[float]) -> list[int] | None:
    """Return the places of the values that are no float32 in a column that otherwise is.

    None where the column was not logged in single precision, or says too little.
    """
    singles = array("f", values).tolist()
    if singles == values:
        return []
    pairs = list(zip(values, singles, strict=True))
    odd = [place for place, (value, nearest) in enumerate(pairs) if value != nearest]
    telling = sum(a == b and not short(a, _TELLING_BITS) for a, b in pairs)
    return odd if telling >= EXACT_PER_ODD * len(odd) else None


def short(value: float, bits: int) -> bool:
    """Return whether a number needs at most so many significant binary digits."""
    return math.ldexp(math.frexp(value)[0], bits).is_integer()


def smallest_denominator(value: float) -> int:
    """Return the least q for which some p / q rounds to a value in (0, 1].

    The quotient is rounded to float32 where the value is one, else to double. The fractions that
    round to it fill an interval; its simplest fraction is found by the continued fractions of
    both ends (Stern-Brocot tree; Graham, Knuth and Patashnik, Concrete Mathematics, section 4.5).
    """
    digits = 24 if to_float32(value) == value else 53
    mantissa, exponent = math.frexp(value)
    whole = int(math.ldexp(mantissa, digits))
    scale = 1 << (digits + 1 - exponent)
    low, low_under, high, high_under = 2 * whole - 1, scale, 2 * whole + 1, scale
    before, denominator = 1, 0
    while True:
        term = -(-low // low_under)
        if term * high_under <= high:
            return term * denominator + before
        term -= 1
        before, denominator = denominator, term * denominator + before
        low, low_under, high, high_under = (
            high_under,
            high - term * high_under,
            low_under,
            low - term * low_under,
        )
