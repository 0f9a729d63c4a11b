"""Quantiles and tails of the normal, t, chi-square and F distributions, from scipy.special."""

from __future__ import annotations

from math import isfinite


def check_level(level: float) -> float:
    """Return a confidence level, or raise ValueError when it is not inside (0, 1)."""
    if not (isfinite(level) and 0 < level < 1):
        raise ValueError(f"level must lie between 0 and 1, got {level!r}")
    return float(level)


def normal_quantile(level: float) -> float:
    """Return the two-sided normal quantile, 1.95996 at 0.95."""
    from scipy.special import ndtri

    return float(ndtri(0.5 + check_level(level) / 2))


def normal_tail(statistic: float) -> float:
    """Return P(Z >= statistic) of a standard normal variable."""
    from scipy.special import ndtr

    return float(ndtr(-statistic))


def t_quantile(df: float, level: float) -> float:
    """Return the two-sided quantile of Student's t."""
    from scipy.special import stdtrit

    return float(stdtrit(df, 0.5 + check_level(level) / 2))


def t_two_sided_p(statistic: float, df: float) -> float:
    """Return the probability of a t at least that far from 0, either way."""
    from scipy.special import stdtr

    return min(1.0, 2 * float(stdtr(df, -abs(statistic))))


def t_upper_tail(statistic: float, df: float) -> float:
    """Return P(t >= statistic)."""
    from scipy.special import stdtr

    return float(stdtr(df, -statistic))


def chi2_quantile(df: float, probability: float) -> float:
    """Return the value below which a chi-square variable falls with that probability."""
    from scipy.special import chdtri

    return float(chdtri(df, 1 - probability))


def chi2_tail(statistic: float, df: float) -> float:
    """Return P(chi-square >= statistic)."""
    from scipy.special import chdtrc

    return float(chdtrc(df, statistic))


def f_tail(statistic: float, df_numerator: float, df_denominator: float) -> float:
    """Return P(F >= statistic)."""
    from scipy.special import fdtrc

    return float(fdtrc(df_numerator, df_denominator, statistic))
