"""Numbers as other tools write them, read without guessing.

Percent is brought to a fraction in decimal arithmetic, so that 57.3 becomes 0.573 and not
0.5730000000000001.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from statistics import fmean, pstdev, stdev
from typing import Any

from audit.reading import LARGEST_INTEGER

LATTICE_TOLERANCE = 1e-9
# Larger figures are no measurement, and their sum would overflow.
LARGEST_MAGNITUDE = 1e300
_LARGEST = Decimal(LARGEST_MAGNITUDE)


def number(value: Any) -> float | None:
    """Return a JSON number as a float; None for anything else (text, list, null, true)."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if isinstance(value, int) and abs(value) > LARGEST_INTEGER:
        return None
    return float(value) if abs(value) <= LARGEST_MAGNITUDE else None


def integer(value: Any) -> int | None:
    """Return a whole JSON number, also one written as 42.0; None for anything else."""
    found = number(value)
    if found is None or abs(found) > LARGEST_INTEGER or found != int(found):
        return None
    return int(found)


def outcome(value: Any) -> float | None:
    """Return a number, or 1 and 0 for true and false; None for anything else."""
    return float(value) if isinstance(value, bool) else number(value)


def cell(text: Any) -> tuple[Decimal | None, bool]:
    """Return the number in a table's cell and whether the cell itself says percent.

    Returns
    -------
    value : Decimal or None
        None where the cell holds no finite number.
    percent : bool
        True for text such as ``"57.3%"``; the value is then still on the scale 0 to 100.
    """
    if text is None or isinstance(text, bool):
        return (None if text is None else Decimal(int(text))), False
    written = str(text).strip()
    if written.lower() in ("true", "false"):
        return Decimal(int(written.lower() == "true")), False
    percent = written.endswith("%")
    # Decimal accepts underscores ("1_0"), which no results table means as a number.
    try:
        value = Decimal(written.rstrip("%").strip()) if "_" not in written else Decimal("nan")
    except InvalidOperation:
        return None, False
    # Comparing is exact; abs() would round to the context and overflow on "1e9999999".
    usable = value.is_finite() and -_LARGEST <= value <= _LARGEST
    return (value, percent) if usable else (None, False)


def whole_cell(text: Any) -> int | None:
    """Return the whole number in a table's cell, also one written as 42.0; None for others."""
    value, percent = cell(text)
    if value is None or percent or abs(value) > LARGEST_INTEGER or value != int(value):
        return None
    return int(value)


def fraction_of_percent(value: Decimal | float) -> float:
    """Return a percentage as a fraction, exact to the last digit written."""
    exact = value if isinstance(value, Decimal) else Decimal(repr(value))
    return float(exact / 100)


def whole(value: float) -> int | None:
    """Return the integer a computed count stands for, or None when it is none."""
    if not abs(value) <= LARGEST_INTEGER:
        return None
    nearest = round(value)
    return nearest if abs(value - nearest) <= 1e-6 * max(1.0, abs(value)) else None


def on_lattice(score: float, total: int) -> bool:
    """Whether a share is a whole count out of ``total``."""
    count = score * total
    return math.isfinite(count) and abs(count - round(count)) <= LATTICE_TOLERANCE * total


def fits_count(share: float, total: int, printed: Decimal | None, percent: bool) -> bool:
    """Whether a share is a whole count out of ``total``, up to the digits it is printed to.

    Parameters
    ----------
    share : float
        As a fraction.
    total : int
        Number of answers.
    printed : Decimal or None
        The figure as the source has it, whose digits tell how far it was rounded.
    percent : bool
        Whether the figure is on the scale 0 to 100.
    """
    count = share * total
    exponent = 0 if printed is None else printed.as_tuple().exponent
    digits = -exponent if isinstance(exponent, int) else 0
    grain = 0.5 * 10.0**-digits / (100 if percent else 1) if printed is not None else 0.0
    return abs(count - round(count)) <= (grain + LATTICE_TOLERANCE) * total


def half_last_digit(values: Sequence[float]) -> float:
    """Return half a unit of the last digit values of one list are printed to.

    The value with the most digits tells: JSON drops the zeros at the end of the others.
    """
    return 0.5 * 10.0 ** -max(_decimals(value) for value in values)


def _decimals(value: float) -> int:
    exponent = Decimal(repr(value)).as_tuple().exponent
    return max(0, -exponent) if isinstance(exponent, int) else 0


def spread_note(values: Sequence[float], mean: float | None, std: float | None) -> str | None:
    """Compare a printed mean and standard deviation with the values they are said to describe.

    Parameters
    ----------
    values : sequence of float
        One score per run.
    mean, std : float or None
        As printed; None where nothing was printed.

    Returns
    -------
    str or None
        A sentence where something does not fit, with the deviation over n - 1 and over n.
    """
    if len(values) < 2:
        return None
    grain = half_last_digit(values)
    if mean is not None and abs(fmean(values) - mean) > grain + half_last_digit([mean]) + 1e-12:
        return (
            f"the printed mean {mean:g} is not that of its {len(values)} runs, {fmean(values):.6g}"
        )
    if std is None:
        return None
    allowed = half_last_digit([std]) + 2 * grain + 1e-12
    if abs(stdev(values) - std) <= allowed:
        return None
    if abs(pstdev(values) - std) <= allowed:
        return (
            f"the printed deviation {std:g} divides by n; over n - 1 it is {stdev(values):.3g} "
            f"({len(values)} runs)"
        )
    return (
        f"the printed deviation {std:g} is not that of its {len(values)} runs, {stdev(values):.3g}"
    )


def proportion_standard_error(share: float, examples: int) -> float:
    """Return sqrt(p (1 - p) / (n - 1)), the standard error of a mean of n zeros and ones."""
    return math.sqrt(share * (1 - share) / (examples - 1))


def standard_error_note(
    name: str, share: float, printed: float, examples: int | None
) -> str | None:
    """Return a sentence where a printed standard error cannot be that of the printed share.

    Fractional outcomes have a smaller error than zeros and ones, so only an error that is too
    large, or zero where the share is neither 0 nor 1, is wrong.
    """
    if not 0 < share < 1:
        return None
    if examples is None or examples < 2:
        if printed == 0:
            return f"{name}: the printed standard error 0 cannot be right at {share:g}"
        return None
    right = proportion_standard_error(share, examples)
    if printed == 0 or printed > right + half_last_digit([printed, share]) + 1e-9:
        return f"{name}: the printed standard error is {printed:g}, recomputed {right:.6f}"
    return None
