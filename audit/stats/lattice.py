"""Differences as integers over one denominator, so that resampling can be counted out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import gcd, lcm
from typing import TYPE_CHECKING, Any

import numpy as np

from audit.errors import InsufficientData
from audit.stats.decimals import fractions

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

LARGEST_DENOMINATOR = 4096
LARGEST_WORK = 2**24
_INT64_ROOM = 2**62
_FLOAT_ROUNDING = Fraction(1, 10**9)


@dataclass(frozen=True, slots=True)
class Lattice:
    """Integers that stand for ``numerators / denominator``.

    Attributes
    ----------
    numerators : array of int64
    denominator : int
    rounded : bool
        The values lay on no lattice and were rounded to 1/4096.
    """

    numerators: NDArray[np.int64]
    denominator: int
    rounded: bool

    @property
    def range(self) -> int:
        """Largest numerator less the smallest."""
        return int(self.numerators.max()) - int(self.numerators.min())


def lattice(differences: ArrayLike | Sequence[object]) -> Lattice:
    """Put differences on a lattice.

    Parameters
    ----------
    differences : sequence of float, int, Fraction, Decimal or str, shape (n,)
        Integers and Fractions are exact. Other values stand for the fraction with a denominator
        up to 4096 within 1e-9; where their common denominator is above 4096, all are rounded to
        1/4096 (error of a mean at most 1.3e-4).

    Returns
    -------
    Lattice

    Raises
    ------
    InsufficientData
        There is no value (reason ``"too-few-differences"``), or one beyond 1e15
        (``"too-large"``).
    ValueError
        A value is no finite number.
    """
    values, places = _distinct(differences)
    if not values:
        raise InsufficientData("no differences given", reason="too-few-differences")
    given = fractions(values, "difference")
    exact = all(isinstance(value, (int, Fraction)) for value in values)
    placed = given if exact else _placed(given)
    if placed is not None:
        denominator = lcm(*(value.denominator for value in placed))
        numerators = [int(value * denominator) for value in placed]
        if max(abs(n) for n in numerators) < _INT64_ROOM:
            return Lattice(np.array(numerators, dtype=np.int64)[places], denominator, False)
    return _on_steps(given, places)


def reduced(numerators: Any, denominator: int) -> Lattice:
    """Return integers over a denominator in lowest terms."""
    values = np.asarray(numerators)
    divisor = gcd(denominator, *(int(v) for v in np.unique(values)))
    return Lattice((values // divisor).astype(np.int64), denominator // divisor, False)


def coarser(points: Lattice) -> Lattice:
    """Return a lattice too fine to count out rounded to 1/4096."""
    values, places = np.unique(points.numerators, return_inverse=True)
    return _on_steps([Fraction(int(v), points.denominator) for v in values], places)


def _on_steps(values: list[Fraction], places: Any) -> Lattice:
    numerators = [round(value * LARGEST_DENOMINATOR) for value in values]
    if max(abs(n) for n in numerators) >= _INT64_ROOM:
        raise InsufficientData("the differences are too large to count out", reason="too-large")
    return Lattice(np.array(numerators, dtype=np.int64)[places], LARGEST_DENOMINATOR, True)


def _distinct(differences: ArrayLike | Sequence[object]) -> tuple[list[Any], Any]:
    """Return the distinct values, and for each difference which of them it is."""
    if isinstance(differences, np.ndarray) and differences.dtype.kind in "iuf":
        distinct, places = np.unique(differences.ravel(), return_inverse=True)
        return distinct.tolist(), places
    values: list[Any] = list(differences)  # type: ignore[arg-type]  # a scalar fails as it should
    index: dict[Any, int] = {}
    order = [index.setdefault(value, len(index)) for value in values]
    return list(index), order


def _placed(values: list[Fraction]) -> list[Fraction] | None:
    """Return the simple fractions that the values stand for, or None."""
    placed = []
    denominator = 1
    for exact in values:
        simple = exact.limit_denominator(LARGEST_DENOMINATOR)
        denominator = lcm(denominator, simple.denominator)
        if abs(simple - exact) > _FLOAT_ROUNDING or denominator > LARGEST_DENOMINATOR:
            return None
        placed.append(simple)
    return placed
