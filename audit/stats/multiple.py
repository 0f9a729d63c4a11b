"""Several claims at once: Holm's step-down."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from math import isfinite

from audit.errors import InsufficientData
from audit.stats.quantiles import check_level
from audit.stats.records import HolmResult


def holm(p_values: Sequence[float], *, level: float = 0.95) -> HolmResult:
    """Return Holm's adjusted p-values and which of them stay below 1 - level.

    Parameters
    ----------
    p_values : sequence of float, shape (claims,)
        A refused claim stays in the family with 1.
    level : float
        One minus the family-wise error rate.

    Returns
    -------
    HolmResult

    Raises
    ------
    InsufficientData
        No p-value given (reason ``"no-claims"``).
    ValueError
        A p-value lies outside [0, 1].

    Notes
    -----
    The i-th smallest of m p-values times m - i + 1, never below that of a smaller one, at most 1.

    References
    ----------
    Holm 1979, Scand J Statist 6:65.
    """
    alpha = 1 - check_level(level)
    values = [float(p) for p in p_values]
    if not values:
        raise InsufficientData("no p-value given", reason="no-claims")
    if not all(isfinite(p) and 0 <= p <= 1 for p in values):
        raise ValueError("p-values must lie in [0, 1]")
    adjusted = _adjusted(values)
    return HolmResult(tuple(p < alpha for p in adjusted), adjusted, level)


def _adjusted(values: list[float]) -> tuple[float, ...]:
    order = sorted(range(len(values)), key=values.__getitem__)
    scaled = (values[i] * (len(values) - rank) for rank, i in enumerate(order))
    by_claim = dict(zip(order, accumulate(scaled, max), strict=True))
    return tuple(min(by_claim[i], 1.0) for i in range(len(values)))
