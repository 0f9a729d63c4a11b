"""Two-sided quantiles and upper tails as intervals and tests ask for them; levels are checked."""

from __future__ import annotations

from math import isfinite

from audit.stats import distributions


def check_level(level: float) -> float:
    """Return a confidence level, or raise ValueError when it is not inside (0, 1)."""
    if not (isfinite(level) and 0 < level < 1):
        raise ValueError(f"level must lie between 0 and 1, got {level!r}")
    return float(level)


def normal_quantile(level: float) -> float:
    """Return the two-sided normal quantile, 1.95996 at 0.95."""
    return -distributions.normal_ppf(0.5 - check_level(level) / 2)


def normal_tail(statistic: float) -> float:
    """Return P(Z >= statistic) of a standard normal variable."""
    return distributions.normal_cdf(-statistic)


def t_quantile(df: float, level: float) -> float:
    """Return the two-sided quantile of Student's t."""
    return distributions.t_two_sided_ppf(check_level(level), df)


def t_two_sided_p(statistic: float, df: float) -> float:
    """Return the probability of a t at least that far from 0, either way."""
    return min(1.0, 2 * distributions.t_tail(abs(statistic), df))


def t_upper_tail(statistic: float, df: float) -> float:
    """Return P(t >= statistic)."""
    return distributions.t_tail(statistic, df)


def chi2_quantile(df: float, probability: float) -> float:
    """Return the value below which a chi-square variable falls with that probability."""
    return distributions.chi2_ppf(probability, df)


def chi2_tail(statistic: float, df: float) -> float:
    """Return P(chi-square >= statistic)."""
    return distributions.chi2_tail(statistic, df)


def f_tail(statistic: float, df_numerator: float, df_denominator: float) -> float:
    """Return P(F >= statistic)."""
    return distributions.f_tail(statistic, df_numerator, df_denominator)
