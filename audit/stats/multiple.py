"""Several claims at once: Holm's step-down."""

from __future__ import annotations

from collections.abc import Sequence
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

    References
    ----------
    Holm 1979. Computed by statsmodels, which is loaded for two claims or more; one needs no
    correction.
    """
    alpha = 1 - check_level(level)
    values = [float(p) for p in p_values]
    if not values:
        raise InsufficientData("no p-value given", reason="no-claims")
    if not all(isfinite(p) and 0 <= p <= 1 for p in values):
        raise ValueError("p-values must lie in [0, 1]")
    adjusted = tuple(values) if len(values) == 1 else _adjusted(values, alpha)
    return HolmResult(tuple(p < alpha for p in adjusted), adjusted, level)


def _adjusted(values: list[float], alpha: float) -> tuple[float, ...]:
    from statsmodels.stats.multitest import multipletests  # type: ignore[import-untyped]  # it ships no types

    return tuple(float(p) for p in multipletests(values, alpha=alpha, method="holm")[1])
