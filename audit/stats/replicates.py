"""Do several runs of one study agree, and how much training variance would explain it if not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import sqrt

from audit.errors import InsufficientData
from audit.stats.decimals import fractions
from audit.stats.quantiles import check_level, chi2_quantile, chi2_tail, normal_quantile
from audit.stats.records import Replication


def replication(
    deltas: Sequence[object],
    lows: Sequence[object],
    highs: Sequence[object],
    *,
    level: float = 0.95,
) -> Replication:
    """Test whether repeated runs of one study differ by more than their intervals allow.

    Parameters
    ----------
    deltas, lows, highs : sequence of numbers, shape (runs,)
        Differences and the ends of their printed intervals, score units.
    level : float
        Confidence level of the printed intervals and of those returned.

    Returns
    -------
    Replication

    Raises
    ------
    InsufficientData
        Fewer than two runs (reason ``"one-run"``).
    ValueError
        Lengths differ, or an interval is empty or has no width.

    Notes
    -----
    se = (high - low) / (2 Phi^-1(.975)); Cochran's Q with weights 1 / se^2, for two runs the
    square of z. omega by DerSimonian & Laird; its interval inverts Q with 1 / (se^2 + omega^2)
    for weights, which for two runs is ((d1 - d2)^2 / chi2_1 - se1^2 - se2^2) / 2. Runs that share
    their tasks make the test conservative.

    References
    ----------
    Cochran 1954; DerSimonian & Laird 1986; Viechtbauer 2007 (inverting Q).
    """
    z_level = normal_quantile(check_level(level))
    exact = [fractions(v, n) for v, n in ((deltas, "delta"), (lows, "low"), (highs, "high"))]
    if len({len(values) for values in exact}) != 1:
        raise ValueError("deltas, lows and highs must have the same length")
    if len(exact[0]) < 2:
        raise InsufficientData("a replication needs at least 2 runs", reason="one-run")
    if any(low >= high for low, high in zip(exact[1], exact[2], strict=True)):
        raise ValueError("an interval must have its low end below its high end")
    values = [float(d) for d in exact[0]]
    errors = [float(h - w) / (2 * z_level) for w, h in zip(exact[1], exact[2], strict=True)]
    df = len(values) - 1
    q = _q(values, errors, 0.0)
    omega = sqrt(_dersimonian_laird(q, errors))
    tail = (1 - level) / 2
    ends = (
        _omega_at(values, errors, chi2_quantile(df, 1 - tail)),
        _omega_at(values, errors, chi2_quantile(df, tail)),
    )
    z = (values[0] - values[1]) / sqrt(errors[0] ** 2 + errors[1] ** 2) if df == 1 else None
    return Replication(
        z=z,
        q=q,
        df=df,
        p_value=chi2_tail(q, df),
        birge=sqrt(q / df),
        omega=omega,
        omega_interval=ends,
        per_arm_sd=omega / sqrt(2),
        per_arm_interval=(ends[0] / sqrt(2), ends[1] / sqrt(2)),
        standard_errors=tuple(errors),
        level=level,
    )


def tipping_sd(delta: float, se: float, *, level: float = 0.95) -> float:
    """Return the training standard deviation of an arm that would erase significance.

    Parameters
    ----------
    delta, se : float
        Difference of two single runs and its standard error without training variance.

    Returns
    -------
    float
        Score units; 0 where the difference is not significant.

    Notes
    -----
    sqrt(max((delta / z)^2 - se^2, 0) / 2), equal in both arms.
    """
    z = normal_quantile(level)
    return sqrt(max((delta / z) ** 2 - se**2, 0.0) / 2)


def _q(values: Sequence[float], errors: Sequence[float], variance: float) -> float:
    weights = [1 / (e * e + variance) for e in errors]
    centre = sum(w * v for w, v in zip(weights, values, strict=True)) / sum(weights)
    return sum(w * (v - centre) ** 2 for w, v in zip(weights, values, strict=True))


def _dersimonian_laird(q: float, errors: Sequence[float]) -> float:
    weights = [1 / (e * e) for e in errors]
    # sum w - sum w^2 / sum w, by the sum of the others: the difference cancels to 0 where one
    # weight is nearly all of it.
    others = [sum(weights[:i]) + sum(weights[i + 1 :]) for i in range(len(weights))]
    scale = sum(w * o for w, o in zip(weights, others, strict=True)) / sum(weights)
    return max((q - (len(errors) - 1)) / scale, 0.0)


def _omega_at(values: Sequence[float], errors: Sequence[float], target: float) -> float:
    """Return the omega at which Q falls to ``target``; 0 where it is below already."""
    if _q(values, errors, 0.0) <= target:
        return 0.0
    if len(values) == 2:
        variance = ((values[0] - values[1]) ** 2 / target - errors[0] ** 2 - errors[1] ** 2) / 2
        return sqrt(max(variance, 0.0))
    widest = max(abs(v - w) for v in values for w in values)
    top = len(values) * widest**2 / target
    return sqrt(_bisect(lambda variance: _q(values, errors, variance) - target, 0.0, top))


def _bisect(decreasing: Callable[[float], float], low: float, high: float) -> float:
    """Return the root of a decreasing function to the last bit."""
    while True:
        middle = (low + high) / 2
        if middle in (low, high):
            return middle
        if decreasing(middle) > 0:
            low = middle
        else:
            high = middle
