"""What single precision leaves in a number: which doubles are float32, and which quotients."""

from __future__ import annotations

import math
import sys
from array import array
from collections.abc import Sequence

# A double that is float32 by chance has 29 zero bits. Values of at most 12 bits (0, 0.5, 1/512)
# are exact in any format and say nothing.
_TELLING_BITS = 12
# A column counts as float32 where at least this many telling values are, for each one that is not.
EXACT_PER_ODD = 4


def to_float32(value: float) -> float:
    """Return the nearest float32; infinite beyond its range."""
    return array("f", (value,))[0]


def odd_places(values: Sequence[float]) -> list[int] | None:
    """Return the places of the values that are no float32 in a column that otherwise is.

    None where the column was not logged in single precision, or says too little.
    """
    if _all_float32(values):
        return []
    pairs = list(zip(values, array("f", values), strict=True))
    odd = [place for place, (value, nearest) in enumerate(pairs) if value != nearest]
    telling = sum(a == b and not short(a, _TELLING_BITS) for a, b in pairs)
    return odd if telling >= EXACT_PER_ODD * len(odd) else None


def _all_float32(values: Sequence[float]) -> bool:
    """Whether no value has a bit that float32 lacks; False in doubt: beyond 1e33 or below 1e-33.

    A double is eight bytes, here the lowest first: float32 leaves the low 29 bits at zero, and the
    top byte holds the sign and seven bits of the exponent.
    """
    doubles = array("d", values)
    if sys.byteorder == "big":
        doubles.byteswap()
    raw = doubles.tobytes()
    top = raw[7::8]
    zeros = top.count(0) + top.count(0x80)
    return (
        not any(raw[0::8])
        and not any(raw[1::8])
        and not any(raw[2::8])
        and all(byte % 32 == 0 for byte in set(raw[3::8]))
        and all(0x39 <= byte & 0x7F <= 0x46 or not byte & 0x7F for byte in set(top))
        and (not zeros or zeros == doubles.count(0.0))
    )


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
