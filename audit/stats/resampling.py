"""Distribution of a mean over resampled tasks, counted out by Fourier transform."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from math import ceil, floor, log, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    IntArray = NDArray[np.int64]
    FloatArray = NDArray[np.float64]

# Mass outside the window, and frequencies left out, stay below this.
_LOST = 1e-15
_SLACK = 1e-9


@dataclass(frozen=True, slots=True)
class BootstrapDistribution:
    """A bootstrap interval without Monte Carlo: a description, not the verdict.

    Attributes
    ----------
    low, high : float
        Ends of the interval, score units.
    level : float
        Confidence level.
    kind : str
        ``"percentile"`` or ``"bca"``.
    method : str
        ``"exact"``, or ``"rounded-lattice"`` where values were rounded to 1/4096.
    mean : float
        The observed mean.
    sd : float
        Standard deviation of the resampled mean, from its closed form.
    p_le_zero : float
        Probability of a resampled mean of at most 0; below 1e-9 only its size is known.
    z0, accel : float
        Bias correction and acceleration; 0 for two-level resampling.
    pmf : array of float
        Probabilities of the points of ``support``; absolute error about 1e-15.
    start, denominator : int
        Point j of the support is (start + j) / denominator.
    """

    low: float
    high: float
    level: float
    kind: str
    method: str
    mean: float
    sd: float
    p_le_zero: float
    z0: float
    accel: float
    pmf: FloatArray = field(repr=False, compare=False)
    start: int = field(repr=False)
    denominator: int = field(repr=False)

    @property
    def support(self) -> FloatArray:
        """Values of the resampled mean, shape of ``pmf``."""
        points: FloatArray = (self.start + np.arange(len(self.pmf))) / self.denominator
        return points


@dataclass(frozen=True, slots=True)
class LatticePmf:
    """Probabilities of the integers from ``start`` on."""

    start: int
    probabilities: FloatArray

    def below(self, value: int) -> float:
        """Return P(X < value)."""
        return float(self.probabilities[: min(max(value - self.start, 0), self.size)].sum())

    def at(self, value: int) -> float:
        """Return P(X = value)."""
        inside = 0 <= value - self.start < self.size
        return float(self.probabilities[value - self.start]) if inside else 0.0

    @property
    def size(self) -> int:
        """Number of points."""
        return len(self.probabilities)

    def lower_quantile(self, tail: float) -> int:
        """Return the smallest x with P(X <= x) >= tail."""
        cumulative = np.cumsum(self.probabilities)
        return self.start + int(np.argmax(cumulative >= tail - _SLACK))

    def upper_quantile(self, tail: float) -> int:
        """Return the largest x with P(X >= x) >= tail."""
        cumulative = np.cumsum(self.probabilities[::-1])
        return self.start + self.size - 1 - int(np.argmax(cumulative >= tail - _SLACK))


def resampled_sum(values: Iterable[tuple[float, IntArray]], tasks: int) -> LatticePmf:
    """Return the distribution of the sum of ``tasks`` draws, mixed over weighted populations.

    Parameters
    ----------
    values : iterable of (weight, array of int, shape (tasks,))
        Populations to draw from with replacement, and the weight of each.
    tasks : int
        Draws.

    Notes
    -----
    The transform of one draw to the power ``tasks``, summed over populations, and one inverse
    transform. It is taken on a window outside of which lies less than 1e-15 by Hoeffding's and
    Bernstein's inequalities; frequencies where the power is below 1e-18 count as 0.
    """
    populations = [(weight, *_counted(population)) for weight, population in values]
    bounds = [_window(points, counts, tasks) for _, points, counts in populations]
    start, stop = min(low for low, _ in bounds), max(high for _, high in bounds)
    size = _smooth(stop - start + 1)
    spectrum = np.zeros(size // 2 + 1, dtype=np.complex128)
    for weight, points, counts in populations:
        single = np.bincount(points % size, weights=counts / tasks, minlength=size)
        _add_power(spectrum, np.fft.rfft(single), tasks, weight)
    folded = np.fft.irfft(spectrum, size)
    pmf = np.maximum(np.roll(folded, -(start % size)), 0.0)[: stop - start + 1]
    return LatticePmf(start, pmf / pmf.sum())


def _counted(population: IntArray) -> tuple[IntArray, Any]:
    low = int(population.min())
    span = int(population.max()) - low
    if span > 4 * len(population):
        points, counts = np.unique(population, return_counts=True)
        return points, counts
    every = np.bincount(population - low)
    points = np.flatnonzero(every)
    return points + low, every[points]


def _window(points: IntArray, counts: Any, tasks: int) -> tuple[int, int]:
    """Return ends between which the sum lies but for 1e-15."""
    low, high = int(points[0]), int(points[-1])
    centre = int((points * counts).sum())  # tasks times the mean
    deviations = points - centre / tasks
    spread = float((deviations**2 * counts).sum())  # tasks times the variance
    largest = float(np.abs(deviations).max())
    exponent = log(2 / _LOST)
    hoeffding = (high - low) * sqrt(tasks * exponent / 2)
    linear = largest * exponent / 3
    bernstein = linear + sqrt(linear**2 + 2 * spread * exponent)
    half = min(hoeffding, bernstein)
    return max(tasks * low, floor(centre - half)), min(tasks * high, ceil(centre + half))


def _add_power(spectrum: Any, transform: Any, exponent: int, weight: float) -> None:
    """Add weight * transform ** exponent, by squaring, where it is not negligible."""
    magnitude = transform.real**2 + transform.imag**2
    kept = np.flatnonzero(magnitude > (_LOST * 1e-3) ** (2 / exponent))
    base = transform[kept]
    result = np.ones(len(kept), dtype=np.complex128)
    remaining = exponent
    while True:
        if remaining & 1:
            result *= base
        remaining >>= 1
        if not remaining:
            break
        base = base * base
    spectrum[kept] += weight * result


def _smooth(least: int) -> int:
    """Return the smallest even 2^a 3^b 5^c of at least ``least``: a fast transform length."""
    best: int = 1 << max(least - 1, 1).bit_length()
    five = 1
    while five < best:
        three = five
        while three < best:
            quotient = -(-least // three)
            length = three << max((quotient - 1).bit_length(), 1)
            best = min(best, length)
            three *= 3
        five *= 5
    return best
