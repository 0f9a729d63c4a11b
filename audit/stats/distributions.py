"""Tails and quantiles of the normal, Student's t, chi-square and F distributions.

What a verdict needs of them, without SciPy: its import takes longer than all the rest of judging
a file. Accurate to 1e-12 relative in both tails; held against SciPy in the tests.

Sources: Wichura 1988 (AS 241) for the normal quantile; Loader 2000 for the densities, whose
factors no large gamma function spoils; the continued fraction of DLMF 8.9.2 and the
series of DLMF 8.7.1 for the incomplete gamma function and DiDonato & Morris 1992 for the incomplete
beta function. A quantile is the root of the logarithm of a tail by the steps of Newton and Halley.
On the scales used here (the logarithm of a gamma variable, the log-odds of a beta variable) the
densities are log-concave, so that the logarithms of both tails are concave, and the steps come to
the root from wherever they start.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import erfc, exp, inf, isinf, isnan, lgamma, log, nan, pi, sqrt
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    FloatArray = NDArray[np.float64]

_LAST_DIGIT = 2.0**-53
_TINY = 1e-300
_MOST_STEPS = 200
_LOG_ROOT_TWO_PI = 0.5 * log(2 * pi)
_ROOT_TWO = sqrt(2)


def normal_cdf(value: float) -> float:
    """Return P(Z <= value)."""
    return 0.5 * erfc(-value / _ROOT_TWO)


def normal_cdfs(values: FloatArray) -> FloatArray:
    """Return P(Z <= value) for tens of values."""
    import numpy as np

    return np.array([0.5 * erfc(value) for value in (values / -_ROOT_TWO).tolist()])


def normal_cdf_grid(values: FloatArray) -> FloatArray:
    """Return P(Z <= value) for thousands of values, off by less than 1e-15 in absolute terms.

    Taylor's series about the nearest of the nodes 1/64 apart.
    """
    import numpy as np

    found, density = _nodes()
    place = np.rint(np.clip(values, -_FARTHEST, _FARTHEST) * _NODES_A_UNIT)
    at = place / _NODES_A_UNIT
    index = place.astype(np.intp) + _FARTHEST * _NODES_A_UNIT
    off = np.clip(values - at, -1, 1)
    square = at * at
    series = off * ((square - 6) * square + 3) / 120 - at * (square - 3) / 24
    series = off * (off * series + (square - 1) / 6) - at / 2
    return np.asarray(found[index] + density[index] * off * (off * series + 1))


_FARTHEST, _NODES_A_UNIT = 9, 64


@lru_cache(maxsize=1)
def _nodes() -> tuple[FloatArray, FloatArray]:
    """Return probability and density of a standard normal variable at the nodes."""
    import numpy as np

    last = _FARTHEST * _NODES_A_UNIT
    at = np.arange(-last, last + 1) / _NODES_A_UNIT
    return normal_cdfs(at), np.exp(-0.5 * at * at) / sqrt(2 * pi)


# AS 241, PPND16: numerators and denominators by falling powers.
_CENTRE = (
    (2509.0809287301226727, 33430.575583588128105, 67265.770927008700853, 45921.953931549871457,
     13731.693765509461125, 1971.5909503065514427, 133.14166789178437745, 3.387132872796366608),
    (5226.495278852854561, 28729.085735721942674, 39307.89580009271061, 21213.794301586595867,
     5394.1960214247511077, 687.1870074920579083, 42.313330701600911252, 1.0),
)  # fmt: skip
_SIDES = (
    (7.7454501427834140764e-4, 0.0227238449892691845833, 0.24178072517745061177,
     1.27045825245236838258, 3.64784832476320460504, 5.7694972214606914055,
     4.6303378461565452959, 1.42343711074968357734),
    (1.05075007164441684324e-9, 5.475938084995344946e-4, 0.0151986665636164571966,
     0.14810397642748007459, 0.68976733498510000455, 1.6763848301838038494,
     2.05319162663775882187, 1.0),
)  # fmt: skip
_FAR_OUT = (
    (2.01033439929228813265e-7, 2.71155556874348757815e-5, 0.0012426609473880784386,
     0.026532189526576123093, 0.29656057182850489123, 1.7848265399172913358,
     5.4637849111641143699, 6.6579046435011037772),
    (2.04426310338993978564e-15, 1.4215117583164458887e-7, 1.8463183175100546818e-5,
     7.868691311456132591e-4, 0.0148753612908506148525, 0.13692988092273580531,
     0.59983220655588793769, 1.0),
)  # fmt: skip


def normal_ppf(probability: float) -> float:
    """Return the value below which a standard normal variable falls with that probability."""
    if not 0 < probability < 1:
        return inf if probability == 1 else -inf if probability == 0 else nan
    q = probability - 0.5
    if abs(q) <= 0.425:
        return q * _ratio(_CENTRE, 0.180625 - q * q)
    r = sqrt(-log(probability if q < 0 else 1 - probability))
    found = _ratio(_SIDES, r - 1.6) if r <= 5 else _ratio(_FAR_OUT, r - 5)
    return -found if q < 0 else found


def _ratio(terms: tuple[tuple[float, ...], tuple[float, ...]], at: float) -> float:
    above = below = 0.0
    for up, down in zip(*terms, strict=True):
        above, below = above * at + up, below * at + down
    return above / below


def t_tail(value: float, df: float) -> float:
    """Return P(T >= value) of Student's t."""
    if isinf(df):
        return normal_cdf(-value)
    if not df > 0:
        return nan
    beyond = 0.5 * _beyond(0.5 * df, 0.5, value * value / df)
    return beyond if value >= 0 else 1 - beyond


@lru_cache(maxsize=4096)
def t_two_sided_ppf(level: float, df: float) -> float:
    """Return the value within which Student's t lies, on both sides of 0, with that probability."""
    if isinf(df):
        return -normal_ppf((1 - level) / 2)
    return sqrt(df * _odds(0.5 * df, 0.5, level))


@lru_cache(maxsize=4096)
def f_tail(value: float, df_numerator: float, df_denominator: float) -> float:
    """Return P(F >= value)."""
    if not (df_numerator > 0 and df_denominator > 0):
        return nan
    if value <= 0:
        return 1.0
    return _beyond(0.5 * df_denominator, 0.5 * df_numerator, value * df_numerator / df_denominator)


@lru_cache(maxsize=4096)
def f_ppf(probability: float, df_numerator: float, df_denominator: float) -> float:
    """Return the value below which F falls with that probability."""
    if not (df_numerator > 0 and df_denominator > 0):
        return nan
    odds = _odds(0.5 * df_denominator, 0.5 * df_numerator, probability)
    return odds * df_denominator / df_numerator


@lru_cache(maxsize=4096)
def chi2_tail(value: float, df: float) -> float:
    """Return P(chi-square >= value)."""
    if isnan(value) or not 0 < df < inf:
        return nan
    if isinf(value) or value <= 0:
        return 1.0 if value <= 0 else 0.0
    return _gamma(0.5 * df, 0.5 * value)[1]


@lru_cache(maxsize=65536)
def chi2_ppf(probability: float, df: float) -> float:
    """Return the value below which a chi-square variable falls with that probability."""
    if not (0 < probability < 1 and 0 < df < inf):
        return 0.0 if probability == 0 else inf if probability == 1 else nan
    a, upper = 0.5 * df, probability > 0.5
    wanted = 1 - probability if upper else probability

    def tail(place: float) -> tuple[float, float, float]:
        x = exp(place)
        below, above, front = _gamma(a, x)
        return (above, -front, a - x) if upper else (below, front, a - x)

    # Wilson & Hilferty 1931; in the lower tail P(a, x) is nearly x^a / Gamma(a + 1).
    cube = 1 - 1 / (9 * a) + normal_ppf(probability) / (3 * sqrt(a))
    small = (log(probability) + lgamma(a + 1)) / a
    near = small if cube < 0.3 else log(a) + 3 * log(cube)
    return 2 * exp(_root(tail, wanted, near, log(a)))


def _root(
    tail: Callable[[float], tuple[float, float, float]], wanted: float, near: float, centre: float
) -> float:
    """Return where a tail has that probability.

    ``tail`` gives it with its slope and the slope's logarithmic derivative, ``near`` is where to
    start and ``centre`` where the bulk of the distribution lies.
    """
    place = near
    for _ in range(_MOST_STEPS):
        value, slope, bend = tail(place)
        if not (value and slope):  # too far out for floating point
            place = (place + centre) / 2
            continue
        newton = -value * log(value / wanted) / slope
        step = newton / max(1 + newton * (bend - slope / value) / 2, 0.5)
        place += step
        if abs(step) < 1e-7:  # what is left is about its cube
            break
    return place


def _beyond(a: float, b: float, odds: float) -> float:
    """Return I_x(a, b) at y / x = odds."""
    if isnan(odds) or not (0 < a < inf and 0 < b < inf):
        return nan
    return 0.0 if isinf(odds) else _beta(a, b, 1 / (1 + odds), odds / (1 + odds))[0]


def _odds(a: float, b: float, lower: float) -> float:
    """Return y / x with I_y(b, a) = lower."""
    if not (0 < lower < 1 and 0 < a < inf and 0 < b < inf):
        return 0.0 if lower == 0 else inf if lower == 1 else nan
    upper = lower > 0.5
    wanted = 1 - lower if upper else lower

    def tail(place: float) -> tuple[float, float, float]:
        odds = exp(place)
        x, y = 1 / (1 + odds), odds / (1 + odds)
        inside, front = _beta(a, b, x, y) if upper else _beta(b, a, y, x)
        return inside, -front if upper else front, b * x - a * y

    return exp(_root(tail, wanted, _near(a, b, lower), log(b / a)))


def _near(a: float, b: float, lower: float) -> float:
    """Return the log-odds by Paulson 1942, the cube root of F being nearly normal."""
    z, c, d = normal_ppf(lower), 1 - 1 / (9 * b), 1 - 1 / (9 * a)
    divisor = d * d - z * z * (1 - d)
    inside = c * c * (1 - d) + d * d * (1 - c) - z * z * (1 - c) * (1 - d)
    cube = (c * d + z * sqrt(max(inside, 0.0))) / divisor if divisor > 0.05 else 0.0
    if cube > 0.1:
        return 3 * log(cube) + log(b / a)
    # Far out I_x(a, b) is nearly x^a / (a B(a, b)).
    front = lgamma(a) + lgamma(b) - lgamma(a + b)
    if lower > 0.5:
        return -(log((1 - lower) * a) + front) / a
    return (log(lower * b) + front) / b


def _beta(a: float, b: float, x: float, y: float) -> tuple[float, float]:
    """Return I_x(a, b), and x^a y^b / B(a, b), its slope along the log-odds of x; y = 1 - x."""
    n = a + b
    missed = _stirling_error(n) - _stirling_error(a) - _stirling_error(b)
    depth = missed - _deviance(a, n * x) - _deviance(b, n * y)
    front = sqrt(a * b / (2 * pi * n)) * exp(depth)
    if b * x < (a + 1) * y:
        return front / _beta_fraction(a, b, x, y), front
    return 1 - front / _beta_fraction(b, a, y, x), front


def _beta_fraction(a: float, b: float, x: float, y: float) -> float:
    """Return x^a y^b / B(a, b) / I_x(a, b): DiDonato & Morris 1992, equation 9, all terms positive.

    By the method of Lentz and Thompson, for x below the mean.
    """
    below = a * y - b * x + 1
    found = c = a * below / (a + 1) or _TINY
    d, m = 0.0, 0
    while True:
        m += 1
        at = a + 2 * m - 1
        left = m * (b - m) * x / at
        more = (a + m - 1) * (a + b + m - 1) * x / at * left
        part = m + left + (a + m) * (below + m * (1 + y)) / (at + 2)
        d = 1 / (part + more * d or _TINY)
        c = part + more / c or _TINY
        change = c * d
        found *= change
        if abs(change - 1) < 4 * _LAST_DIGIT:
            return found


def _gamma(a: float, x: float) -> tuple[float, float, float]:
    """Return P(a, x), Q(a, x), and x^a exp(-x) / Gamma(a), the slope of P along log x."""
    front = sqrt(a / (2 * pi)) * exp(-_stirling_error(a) - _deviance(a, x))
    if x < a + 1:
        term = found = 1 / a
        n = a
        while term > found * _LAST_DIGIT:
            n += 1
            term *= x / n
            found += term
        below = front * found
        return below, 1 - below, front
    b = x + 1 - a
    c, d = 1 / _TINY, 1 / b
    found, i = d, 0
    while True:
        i += 1
        term = i * (a - i)
        b += 2
        d, c = 1 / (term * d + b or _TINY), b + term / c or _TINY
        change = d * c
        found *= change
        if abs(change - 1) < 4 * _LAST_DIGIT:
            above = front * found
            return 1 - above, above, front


@lru_cache(maxsize=65536)
def _stirling_error(n: float) -> float:
    """Return log Gamma(n + 1) less Stirling's formula, (n + 1/2) log n - n + log(2 pi) / 2."""
    if n < 15:
        return lgamma(n + 1) - (n + 0.5) * log(n) + n - _LOG_ROOT_TWO_PI
    square = n * n
    tail = (1 / 1260 - (1 / 1680 - (1 / 1188 - 691 / 360360 / square) / square) / square) / square
    return (1 / 12 - (1 / 360 - tail) / square) / n


def _deviance(x: float, mean: float) -> float:
    """Return x log(x / mean) + mean - x, without cancellation where the two are near."""
    if not mean:
        return inf
    gap = x - mean
    if abs(gap) > 0.1 * (x + mean):
        return x * log(x / mean) - gap
    v = gap / (x + mean)
    found, term = gap * v, 2 * x * v
    square, odd = v * v, 1
    while True:
        term *= square
        odd += 2
        more = found + term / odd
        if more == found:
            return found
        found = more
