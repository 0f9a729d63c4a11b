"""What a recorded figure can be, given the decimals it was written with."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

# Summation order and one rounding cost a few ulps of the largest addend (2.2e-16 each).
DOUBLE = 1e-12
# A figure with more decimals than this was not rounded for print.
MOST_PRINTED_DECIMALS = 6
# JSON drops trailing zeros, so 0.5 may be a printed 0.50.
FEWEST_PRINTED_DECIMALS = 2


def number(value: object) -> float | None:
    """Return a recorded figure; None for what is no number, true and false among it."""
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


@lru_cache(maxsize=1 << 16)
def decimals(value: float) -> int:
    """Return the decimals of the shortest text that reads back as ``value``."""
    mantissa, _, exponent = repr(float(value)).partition("e")
    written = mantissa.partition(".")[2].rstrip("0")
    return max(0, len(written) - int(exponent or 0))


def tolerance(peers: Iterable[float], scale: float) -> float:
    """Return how far a recorded figure may lie from the exact one.

    Half a unit of the last decimal where all ``peers`` (figures written by the same hand) were
    rounded for print, else :data:`DOUBLE` times ``scale``, the largest addend.
    """
    most = max((decimals(value) for value in peers), default=0)
    exact = DOUBLE * max(scale, 1e-300)
    if most > MOST_PRINTED_DECIMALS:
        return exact
    return float(0.5 * 10.0 ** -max(most, FEWEST_PRINTED_DECIMALS) + exact)
