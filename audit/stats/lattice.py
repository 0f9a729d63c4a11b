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

    Raises
    ------
    InsufficientData
        There is no value (reason ``"too-few-differences"``).
    ValueError
        A value is no finite number.
    """
    values = differences.tolist() if isinstance(differences, np.ndarray) else list(differences)  # type: ignore[arg-type]
    if not values:
        raise InsufficientData("no differences given", reason="too-few-differences")
    distinct = {value: fractions([value], "difference")[0] for value in set(values)}
    exact = all(isinstance(value, (int, Fraction)) for value in distinct)
    placed = distinct if exact else _placed(distinct)
    rounded = placed is None
    if placed is None:
        placed = {
            v: Fraction(round(f * LARGEST_DENOMINATOR), LARGEST_DENOMINATOR)
            for v, f in distinct.items()
        }
    denominator = lcm(*(f.denominator for f in placed.values()))
    numerators = {v: int(f * denominator) for v, f in placed.items()}
    if max(abs(n) for n in numerators.values()) >= 2**62:
        raise InsufficientData("the differences have no common lattice", reason="too-large")
    array = np.array([numerators[value] for value in values], dtype=np.int64)
    return Lattice(array, denominator, rounded)


def reduced(numerators: Any, denominator: int) -> Lattice:
    """Return integers over a denominator in lowest terms."""
    values = np.asarray(numerators)
    divisor = gcd(denominator, *(int(v) for v in np.unique(values)))
    return Lattice((values // divisor).astype(np.int64), denominator // divisor, False)


def _placed(distinct: dict[Any, Fraction]) -> dict[Any, Fraction] | None:
    """Return the simple fraction that each value stands for, or None."""
    placed: dict[Any, Fraction] = {}
    denominator = 1
    for value, exact in distinct.items():
        simple = exact.limit_denominator(LARGEST_DENOMINATOR)
        denominator = lcm(denominator, simple.denominator)
        if abs(simple - exact) > _FLOAT_ROUNDING or denominator > LARGEST_DENOMINATOR:
            return None
        placed[value] = simple
    return placed
