"""Boundaries of repeated looks at a normal process, by recursive numerical integration.

A study looked at after S seeds per arm has a statistic Z_S whose correlation with that of an
earlier look s is sqrt(s / S). Then B_S = Z_S sqrt(S) has independent increments of variance
S - s, and what is left inside a boundary after each look can be carried from look to look as the
weights of a quadrature (Armitage, McPherson & Rowe 1969; Jennison & Turnbull 2000, chapter 19).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import ceil, inf, log, pi, sqrt
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from audit.stats.distributions import normal_cdfs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    FloatArray: TypeAlias = NDArray[np.float64]

# Beyond this many standard deviations a normal variable is never found: 1e-19.
_FAR = 9.0
# Spacing of the nodes in standard deviations of a step: a normal kernel is then integrated to
# 2 exp(-2 (pi / 0.75)^2), 1e-15.
_SPACING = 0.75
_NODES = 64


@dataclass(frozen=True, slots=True)
class Start:
    """Where the process is known to be: after how much information, its value and its mean."""

    information: float = 0.0
    value: float = 0.0
    mean: float = 0.0


def boundary(
    information: Sequence[float], spending: Sequence[float], *, sides: int = 2
) -> tuple[float, ...]:
    """Return the values c of |Z| (or of Z) at which each look stops.

    Parameters
    ----------
    information : sequence of float, shape (looks,)
        Seeds per arm at each look, increasing.
    spending : sequence of float, shape (looks,)
        Probability, without any effect, of crossing at this look and at none before; positive,
        with a sum below 1.
    sides : {1, 2}
        1 stops at Z >= c alone, 2 at Z <= -c as well.

    Returns
    -------
    tuple of float

    Notes
    -----
    Each c is the root of P(inside before, |Z_S| >= c) = spending, which is decreasing in c with a
    concave logarithm: Newton's steps on the logarithm, held by a bracket.
    """
    inside = _Inside(Start())
    found: list[float] = []
    for place, (seeds, spent) in enumerate(zip(information, spending, strict=True)):
        c = inside.root(seeds, spent, sides, found[-1] if found else 2.0)
        found.append(c)
        if place + 1 < len(information):
            lower = -c if sides == 2 else -_FAR
            inside = inside.step(seeds, (lower, c), 0.0, information[place + 1] - seeds)
    return tuple(found)


def crossings(
    information: Sequence[float],
    bounds: Sequence[tuple[float, float]],
    means: Sequence[float] | None = None,
    *,
    start: Start | None = None,
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return the probabilities of leaving the bounds first at each look, upwards and downwards.

    Parameters
    ----------
    information : sequence of float, shape (looks,)
        Seeds per arm at each look, increasing.
    bounds : sequence of (float, float), shape (looks,)
        Lower and upper end, on the scale of Z; ``-inf`` for none.
    means : sequence of float, shape (looks,), optional
        Mean of B_S = Z_S sqrt(S) at each look; 0 where left out.
    start : Start, optional
        What is known already; by default nothing.

    Returns
    -------
    up, down : tuple of float, shape (looks,)
    """
    inside = _Inside(start or Start())
    up: list[float] = []
    down: list[float] = []
    centres = [0.0] * len(information) if means is None else means
    for place, (seeds, ends, mean) in enumerate(zip(information, bounds, centres, strict=True)):
        above, below = inside.leaving(seeds, ends, mean)
        up.append(above)
        down.append(below)
        if place + 1 < len(information):
            inside = inside.step(seeds, ends, mean, information[place + 1] - seeds)
    return tuple(up), tuple(down)


def first_inside(
    information: Sequence[float],
    widths: Sequence[float],
    means: Sequence[float],
    *,
    start: Start | None = None,
) -> tuple[float, ...]:
    """Return the probabilities of being within the widths, -w < Z < w, first at each look.

    Parameters
    ----------
    information, means, start
        As for `crossings`.
    widths : sequence of float, shape (looks,)
        Half of the width at each look, on the scale of Z; 0 or less where none stops.
    """
    left = _Inside(start or Start())
    found: list[float] = []
    for place, (seeds, width, mean) in enumerate(zip(information, widths, means, strict=True)):
        above, below = left.leaving(seeds, (-max(width, 0.0), max(width, 0.0)), mean)
        found.append(max(float(left.weights.sum()) - above - below, 0.0))
        if place + 1 < len(information):
            step = information[place + 1] - seeds
            sides = [(-inf, -width), (width, inf)] if width > 0 else [(-inf, inf)]
            left = _joined([left.step(seeds, ends, mean, step) for ends in sides])
    return tuple(found)


def _joined(parts: Sequence[_Inside]) -> _Inside:
    """Return the parts of one process after one look as a whole."""
    whole = parts[0]
    whole.values = np.concatenate([part.values for part in parts])
    whole.weights = np.concatenate([part.weights for part in parts])
    return whole


class _Inside:
    """What has not left the bounds yet: weights at values of B, after some information."""

    __slots__ = ("information", "last_step", "mean", "values", "weights")

    def __init__(self, start: Start) -> None:
        self.information = start.information
        self.mean = start.mean
        self.values: FloatArray = np.array([start.value])
        self.weights: FloatArray = np.array([1.0])
        self.last_step = inf

    def leaving(self, seeds: float, ends: tuple[float, float], mean: float) -> tuple[float, float]:
        """Return the probabilities that the next look lies above and below ``ends``."""
        scale, shifted = self._shifted(seeds, mean)
        root = sqrt(seeds)
        above = normal_cdfs((shifted - ends[1] * root) / scale) @ self.weights
        below = normal_cdfs((ends[0] * root - shifted) / scale) @ self.weights
        return float(above), float(below)

    def root(self, seeds: float, spent: float, sides: int, near: float) -> float:
        """Return the c that the next look, without an effect, exceeds with that probability."""
        scale, shifted = self._shifted(seeds, self.mean)
        root, slope = sqrt(seeds), sqrt(seeds) / (scale * sqrt(2 * pi))
        low, high = (0.0 if sides == 2 else -_FAR), 4 * _FAR
        c = near
        for _ in range(200):
            far = (shifted - c * root) / scale
            tail = float(normal_cdfs(far) @ self.weights)
            density = float(np.exp(-0.5 * far * far) @ self.weights)
            if sides == 2:  # the process is symmetric, and so is what is left of it
                tail, density = 2 * tail, 2 * density
            low, high = (c, high) if tail > spent else (low, c)
            step = tail * log(tail / spent) / (slope * density) if tail > 0 and density > 0 else inf
            after = c + step
            if not low < after < high:
                after = (low + high) / 2
            if abs(after - c) < 1e-14 * max(1.0, abs(c)):
                return after
            c = after
        return c

    def step(
        self, seeds: float, ends: tuple[float, float], mean: float, next_step: float
    ) -> _Inside:
        """Return what is left between ``ends`` after the look, before a step that long."""
        scale, shifted = self._shifted(seeds, mean)
        root = sqrt(seeds)
        low = max(ends[0] * root, float(shifted.min()) - _FAR * scale)
        high = min(ends[1] * root, float(shifted.max()) + _FAR * scale)
        left = _Inside(Start(seeds, 0.0, mean))
        left.last_step = seeds - self.information
        finest = sqrt(min(left.last_step, next_step))
        nodes, weights = _quadrature(max(high - low, 0.0), finest)
        half = max(high - low, 0.0) / 2
        left.values = low + half * (nodes + 1)
        far = (left.values[:, None] - shifted[None, :]) / scale
        density = np.exp(-0.5 * far * far) @ self.weights
        left.weights = density * weights * (half / (scale * sqrt(2 * pi)))
        return left

    def _shifted(self, seeds: float, mean: float) -> tuple[float, FloatArray]:
        """Return the standard deviation of the step to a look, and where each value is led."""
        return sqrt(seeds - self.information), self.values + (mean - self.mean)


def _quadrature(width: float, finest: float) -> tuple[FloatArray, FloatArray]:
    """Return Gauss-Legendre nodes and weights on (-1, 1), enough for that width."""
    wanted = ceil(width * pi / (2 * _SPACING * finest))
    return _gauss_legendre(max(_NODES, 32 * ceil(wanted / 32)))


@lru_cache(maxsize=64)
def _gauss_legendre(nodes: int) -> tuple[FloatArray, FloatArray]:
    values, weights = np.polynomial.legendre.leggauss(nodes)
    values.flags.writeable = weights.flags.writeable = False
    return values, weights
