"""Scores as exact fractions: decimals as printed, floats by their shortest representation."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from math import isfinite
from numbers import Integral, Rational, Real
from typing import TypeAlias

Score: TypeAlias = "int | float | str | Decimal | Fraction"

_MOST_DECIMALS = 30


def printed(value: object, name: str = "score") -> Decimal | Fraction:
    """Return a value as printed (a Decimal) or as given (a Fraction), exactly.

    Raises
    ------
    ValueError
        It is no finite number.
    """
    if isinstance(value, bool):
        raise ValueError(f"{name} must be a number, got {value!r}")
    if isinstance(value, Decimal):
        decimal = value
    elif isinstance(value, (Integral, Rational)):
        return Fraction(int(value.numerator), int(value.denominator))
    elif isinstance(value, Real):
        if not isfinite(value):
            raise ValueError(f"{name} must be finite, got {value!r}")
        decimal = Decimal(repr(float(value)))
    elif isinstance(value, str):
        try:
            decimal = Decimal(value.strip())
        except InvalidOperation:
            raise ValueError(f"{name} must be a number, got {value!r}") from None
    else:
        raise ValueError(f"{name} must be a number, got {type(value).__name__}")
    if not decimal.is_finite():
        raise ValueError(f"{name} must be finite, got {value!r}")
    return decimal


def fractions(values: Iterable[object], name: str = "value") -> list[Fraction]:
    """Return values as exact fractions; see `printed`."""
    return [Fraction(printed(value, name)) for value in values]


def decimals(value: object, name: str = "score") -> int:
    """Return how many decimals a value is printed with, at most 30.

    A Fraction counts by its decimal expansion; one without end has 30.
    """
    exact = printed(value, name)
    if isinstance(exact, Decimal):
        return min(max(-int(exact.as_tuple().exponent), 0), _MOST_DECIMALS)
    places = range(_MOST_DECIMALS)
    return next((d for d in places if 10**d % exact.denominator == 0), _MOST_DECIMALS)


def mean(values: list[Fraction]) -> Fraction:
    """Return the exact mean of at least one value."""
    return sum(values, Fraction(0)) / len(values)


def sample_variance(values: list[Fraction]) -> Fraction:
    """Return the exact variance (ddof 1) of at least two values."""
    centre = mean(values)
    return sum(((v - centre) ** 2 for v in values), Fraction(0)) / (len(values) - 1)
