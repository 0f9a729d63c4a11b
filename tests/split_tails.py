"""An oracle for agreement of drawn answers: every way to split the pooled right answers."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from math import comb

# ((k1, c1), (k2, c2)): answers and right ones of a task in either run.
Cell = tuple[tuple[int, int], tuple[int, int]]


def split_tail(cells: Iterable[Cell], *, matching: bool) -> Fraction:
    """Return the exact chance of so many equal rates, or of so small a squared distance."""
    sums, seen = {Fraction(0): Fraction(1)}, Fraction(0)
    for (a, c1), (b, c2) in cells:
        c = c1 + c2
        ways = {i: Fraction(comb(a, i) * comb(b, c - i), comb(a + b, c)) for i in range(c + 1)}
        apart = {i: Fraction(i, a) - Fraction(c - i, b) for i, chance in ways.items() if chance}
        if len({abs(d) for d in apart.values()}) < 2:
            continue
        own = Fraction(c1, a) - Fraction(c2, b)
        seen += int(own == 0) if matching else own**2
        longer: dict[Fraction, Fraction] = {}
        for i, d in apart.items():
            step = Fraction(int(d == 0)) if matching else d**2
            for total, chance in sums.items():
                longer[total + step] = longer.get(total + step, Fraction(0)) + chance * ways[i]
        sums = longer
    extreme = (chance for s, chance in sums.items() if (s >= seen if matching else s <= seen))
    return sum(extreme, Fraction(0))
