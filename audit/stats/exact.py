"""Counts of right answers as integers on a common denominator, and their exact moments."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from audit.errors import InsufficientData

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

IntMatrix: TypeAlias = "NDArray[Any]"  # int64, or object holding Python ints where sums are large

_INT64_ROOM = 2**62


@dataclass(frozen=True, slots=True)
class Outcomes:
    """Scores of one arm as integers over one denominator.

    Attributes
    ----------
    right : array of int, shape (seeds, tasks)
        Numerators.
    denominator : int
        The samples of a cell where all cells have the same number, else their least multiple.
    samples : int
        Smallest number of samples of a cell.
    drawn : array of int, shape () or (seeds, tasks)
        Samples of each cell.
    """

    right: IntMatrix
    denominator: int
    samples: int
    drawn: IntMatrix

    @property
    def seeds(self) -> int:
        """Training runs."""
        return int(self.right.shape[0])

    @property
    def tasks(self) -> int:
        """Tasks."""
        return int(self.right.shape[1])

    @property
    def harmonic(self) -> Fraction:
        """Harmonic mean of the samples of the cells."""
        return harmonic_mean(self.drawn)


def harmonic_mean(drawn: IntMatrix) -> Fraction:
    """Return the exact harmonic mean of positive integers."""
    numbers = Counter(drawn.ravel().tolist())
    inverse = sum((Fraction(n, int(k)) for k, n in numbers.items()), Fraction(0))
    return Fraction(sum(numbers.values())) / inverse


@dataclass(frozen=True, slots=True)
class Moments:
    """Exact moments of a seeds x tasks matrix of scores (ddof 1).

    Attributes
    ----------
    mean : Fraction
    s2 : Fraction
        Variance of the row means.
    q : Fraction
        Mean square of what rows and columns leave.
    columns : array of int, shape (tasks,)
        Column sums of the numerators.
    denominator : int
    seeds : int
    """

    mean: Fraction
    s2: Fraction
    q: Fraction
    columns: IntMatrix
    denominator: int
    seeds: int


def integer_matrix(values: ArrayLike, name: str) -> IntMatrix:
    """Return a two-dimensional integer array, or raise ValueError with what is wrong."""
    array = np.asarray(values)
    if array.ndim == 1:
        array = array[np.newaxis, :]
    if array.ndim != 2:
        raise ValueError(f"{name} must be a seeds x tasks matrix, got {array.ndim} dimensions")
    if array.size == 0:
        raise ValueError(f"{name} is empty: shape {array.shape}")
    if array.dtype.kind in "iub":
        return array.astype(np.int64, copy=False)
    if array.dtype.kind == "f":
        if not np.isfinite(array).all():
            raise ValueError(f"{name} holds a value that is not finite")
        if not (array == np.floor(array)).all():
            raise ValueError(f"{name} must hold whole numbers of right answers")
        return array.astype(np.int64)
    if array.dtype.kind == "O" and all(isinstance(v, (int, np.integer)) for v in array.flat):
        return array
    raise ValueError(f"{name} must hold whole numbers, got {array.dtype} values")


def outcomes(counts: ArrayLike, samples: ArrayLike, name: str) -> Outcomes:
    """Return counts of right answers as `Outcomes`.

    Parameters
    ----------
    counts : array of int, shape (seeds, tasks)
        Right answers.
    samples : int, or array of int of the shape of ``counts``
        Answers drawn.
    name : str
        What messages call the arm.

    Raises
    ------
    ValueError
        A value is no whole number, below 0 or above its samples, or shapes differ.
    """
    right = integer_matrix(counts, name)
    if isinstance(samples, int) and not isinstance(samples, bool):
        drawn: IntMatrix = np.array(samples, dtype=object if samples >= 2**62 else np.int64)
        smallest = largest = samples
    else:
        drawn = _samples_like(samples, right, name)
        smallest, largest = int(drawn.min()), int(drawn.max())
    if smallest < 1:
        raise ValueError(f"samples of {name} must be at least 1, got {smallest}")
    if (right < 0).any() or (right > drawn).any():
        raise ValueError(f"{name} holds counts outside 0 to samples ({smallest} to {largest})")
    if smallest == largest:
        return Outcomes(right, smallest, smallest, drawn)
    denominator = lcm(*(int(k) for k in set(drawn.ravel().tolist())))
    factors = denominator // drawn.astype(object)
    return Outcomes(_compact(right.astype(object) * factors), denominator, smallest, drawn)


def _samples_like(samples: ArrayLike, right: IntMatrix, name: str) -> IntMatrix:
    array = np.asarray(samples)
    flat = integer_matrix(array[np.newaxis] if array.ndim == 0 else array, f"samples of {name}")
    try:
        return np.broadcast_to(flat, right.shape)
    except ValueError:
        raise ValueError(
            f"samples of {name} have shape {flat.shape}, its counts {right.shape}"
        ) from None


def _compact(values: IntMatrix) -> IntMatrix:
    """Return int64 where every value fits, so that sums are fast."""
    return values.astype(np.int64) if int(abs(values).max()) < 2**31 else values


def split_samples(samples: Any) -> tuple[Any, Any]:
    """Return the samples of control and treatment from one value or a tuple of two."""
    if isinstance(samples, tuple) and len(samples) == 2:
        return samples
    return samples, samples


def comparable(control: Outcomes, treatment: Outcomes) -> None:
    """Raise where two arms cannot be compared.

    Raises
    ------
    ValueError
        They have different numbers of tasks.
    InsufficientData
        There are fewer than two tasks (reason ``"few-tasks"``).
    """
    if control.tasks != treatment.tasks:
        raise ValueError(
            f"arms have different tasks: control {control.tasks}, treatment {treatment.tasks}"
        )
    if control.tasks < 2:
        raise InsufficientData("an interval needs at least 2 tasks, got 1", reason="few-tasks")


def replicated(arm: Outcomes, name: str) -> None:
    """Raise InsufficientData (reason ``"one-seed"``) where an arm has one run."""
    if arm.seeds < 2:
        raise InsufficientData(f"{name} has one training run, needs at least 2", reason="one-seed")


def fits(values: IntMatrix, bound: int) -> IntMatrix:
    """Return an array whose sums, at most ``bound``, cannot overflow."""
    return values if bound < _INT64_ROOM else values.astype(object)


def moments(right: IntMatrix, denominator: int, largest: int) -> Moments:
    """Return the exact moments of a matrix with at least two rows and columns.

    Parameters
    ----------
    right : array of int, shape (seeds, tasks)
    denominator : int
        What the numerators are over.
    largest : int
        No numerator is larger in absolute value.

    Notes
    -----
    With r the row sums, c_t the column sums and N the total,
    s2 = (S sum r^2 - N^2) / (S (S-1) (T k)^2) and
    q = (S T sum c^2 - S sum r^2 - T sum c_t^2 + N^2) / (S T (S-1) (T-1) k^2).
    """
    seeds, tasks = right.shape
    right = fits(right, tasks * (seeds * largest) ** 2)
    rows = [int(r) for r in right.sum(axis=1)]
    columns = right.sum(axis=0)
    total = sum(rows)
    rows_squared = sum(r * r for r in rows)
    columns_squared = int((columns * columns).sum())
    cells_squared = int((right * right).sum())
    between = seeds * rows_squared - total * total
    rest = (
        seeds * tasks * cells_squared
        - seeds * rows_squared
        - tasks * columns_squared
        + total * total
    )
    return Moments(
        mean=Fraction(total, seeds * tasks * denominator),
        s2=Fraction(between, seeds * (seeds - 1) * (tasks * denominator) ** 2),
        q=Fraction(rest, seeds * tasks * (seeds - 1) * (tasks - 1) * denominator**2),
        columns=columns,
        denominator=denominator,
        seeds=seeds,
    )


def task_differences(control: Outcomes, treatment: Outcomes) -> tuple[IntMatrix, int]:
    """Return per-task differences of the arms' means as integers, and their denominator."""
    scale_c, scale_t = control.seeds * control.denominator, treatment.seeds * treatment.denominator
    common = lcm(scale_c, scale_t)
    bound = control.tasks * (2 * common) ** 2
    sums_c = fits(control.right, bound).sum(axis=0)
    sums_t = fits(treatment.right, bound).sum(axis=0)
    return sums_t * (common // scale_t) - sums_c * (common // scale_c), common


def variance(values: IntMatrix, denominator: int) -> Fraction:
    """Return the variance (ddof 1) of integers over a denominator; no sum may overflow."""
    n = len(values)
    total = int(values.sum())
    squares = int((values * values).sum())
    return Fraction(n * squares - total * total, n * (n - 1) * denominator**2)
