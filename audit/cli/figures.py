"""Numbers as people read them in a terminal; everything else keeps them unrounded."""

from __future__ import annotations

from audit.analysis import Interval, NotMeasured
from audit.analysis.numbers import digits_for


def signed(value: float, digits: int = 3) -> str:
    """Return a difference with its sign; what rounds to zero is +0.000."""
    return f"{round(value, digits) + 0.0:+.{digits}f}"


def plain(value: float | None, digits: int = 3) -> str:
    """Return a size, ``none`` for None."""
    return "none" if value is None else f"{round(value, digits) + 0.0:.{digits}f}"


def p_text(value: float) -> str:
    """Return a p-value; below 1e-9 tails are not told apart."""
    if value < 1e-9:
        return "p < 1e-9"
    return f"p = {value:.4f}" if value >= 0.0001 else f"p = {value:.1e}"


def bracketed(interval: Interval | NotMeasured | None) -> str:
    """Return an interval of a difference in brackets, empty when there is none."""
    if interval is None or isinstance(interval, NotMeasured):
        return ""
    return ends(interval.low, interval.high)


def ends(low: float, high: float) -> str:
    """Return the ends of a difference, with a plus sign where the other end is negative."""
    digits = digits_for(low, high)
    upper = signed(high, digits) if low < 0 < high else plain(high, digits)
    return f"[{plain(low, digits)}, {upper}]"


def between(low: float, high: float, digits: int = 3) -> str:
    """Return the interval of a size in brackets."""
    return f"[{plain(low, digits)}, {plain(high, digits)}]"
