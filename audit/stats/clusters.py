"""Tasks that come in clusters: the ratio form of the mean squares, exact, for any sizes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from audit.errors import InsufficientData
from audit.stats.exact import comparable, fits, outcomes, split_samples, task_differences
from audit.stats.quantiles import f_tail

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from audit.stats.exact import IntMatrix


@dataclass(frozen=True, slots=True)
class Clusters:
    """Which tasks belong together.

    Attributes
    ----------
    places : array of int, shape (tasks,)
        Cluster of each task, from 0.
    sizes : tuple of int
        Tasks of each cluster.
    """

    places: IntMatrix
    sizes: tuple[int, ...]

    @property
    def count(self) -> int:
        """Number of clusters, C."""
        return len(self.sizes)

    @property
    def tasks(self) -> int:
        """Number of tasks, T."""
        return sum(self.sizes)

    @property
    def effective(self) -> Fraction:
        """Clusters of equal size that would weigh as much: C^2 / sum w^2 = T^2 / sum n^2."""
        return Fraction(self.tasks**2, sum(n * n for n in self.sizes))

    @property
    def df(self) -> Fraction:
        """Degrees of freedom of the variance between clusters, (sum w^2)^2 / sum w^4 - 1."""
        return Fraction(sum(n * n for n in self.sizes) ** 2, sum(n**4 for n in self.sizes)) - 1

    def sums(self, values: IntMatrix) -> IntMatrix:
        """Return sums over the tasks of each cluster, shape (seeds, clusters)."""
        order = np.argsort(self.places, kind="stable")
        starts = np.cumsum((0, *self.sizes[:-1]))
        return np.add.reduceat(values[:, order], starts, axis=1)


@dataclass(frozen=True, slots=True)
class ClusterTest:
    """Do tasks of one cluster differ less than tasks of different clusters; see the function."""

    statistic: float | None
    df_between: int
    df_within: int
    p_value: float


def clusters_of(labels: Sequence[Hashable], tasks: int) -> Clusters:
    """Return clusters from one label for each task.

    Raises
    ------
    ValueError
        The number of labels is not that of the tasks.
    InsufficientData
        There is one cluster (reason ``"few-tasks"``).
    """
    if len(labels) != tasks:
        raise ValueError(f"clusters name {len(labels)} tasks, the arms have {tasks}")
    index: dict[Hashable, int] = {}
    places = np.array([index.setdefault(label, len(index)) for label in labels], dtype=np.int64)
    if len(index) < 2:
        raise InsufficientData("an interval needs at least 2 clusters, got 1", reason="few-tasks")
    return Clusters(places, tuple(np.bincount(places).tolist()))


def seed_by_cluster(values: IntMatrix, denominator: int, clusters: Clusters) -> Fraction:
    """Return q, the seed x cluster mean square of a matrix with at least two rows.

    Parameters
    ----------
    values : array of int, shape (seeds, tasks)
        Numerators, of any sign.
    denominator : int
        What they are over.
    clusters : Clusters

    Notes
    -----
    With w_c = n_c C / T, f_c = 1 - 2 n_c / T + sum n^2 / T^2 and
    R_sc = w_c (Y_sc - Y_.c) - w_c (m_s - m), q = sum R^2 / f / ((S - 1) C). The factor f_c
    makes it unbiased for clusters of any sizes; n_c = 1 gives the mean square over tasks.
    """
    seeds, tasks = values.shape
    largest = max(abs(int(values.max())), abs(int(values.min())), 1)
    sums = clusters.sums(fits(values, seeds * (4 * tasks * tasks * seeds * largest) ** 2))
    sizes = np.array(clusters.sizes)
    from_mean = seeds * sums - sums.sum(axis=0)
    rest = tasks * from_mean - sizes * from_mean.sum(axis=1)[:, np.newaxis]
    squares = (rest * rest).sum(axis=0)
    scale = Fraction(clusters.count, (tasks * tasks * denominator * seeds) ** 2 * (seeds - 1))
    return scale * _corrected(squares, clusters)


def between_clusters(values: IntMatrix, denominator: int, clusters: Clusters) -> Fraction:
    """Return V, the variance over clusters of per-task integers over a denominator.

    V = sum_c w_c^2 (d_c - mean)^2 / f_c / C, with w and f as for `seed_by_cluster`.
    """
    tasks = len(values)
    sums = clusters.sums(values.astype(object)[np.newaxis, :])[0]
    rest = tasks * sums - np.array(clusters.sizes) * int(values.sum())
    return Fraction(clusters.count, (tasks * tasks * denominator) ** 2) * _corrected(
        rest * rest, clusters
    )


def _corrected(squares: IntMatrix, clusters: Clusters) -> Fraction:
    """Return the sum of squares over f_c, by the few distinct sizes."""
    tasks, total = clusters.tasks, sum(n * n for n in clusters.sizes)
    by_size: Counter[int] = Counter()
    for size, square in zip(clusters.sizes, squares.tolist(), strict=True):
        by_size[size] += square
    terms = (Fraction(s * tasks**2, tasks**2 - 2 * n * tasks + total) for n, s in by_size.items())
    return sum(terms, Fraction(0))


def cluster_f_test(
    control: ArrayLike, treatment: ArrayLike, *, samples: Any, clusters: Sequence[Hashable]
) -> ClusterTest:
    """Test whether the per-task differences of two arms vary with the cluster.

    A figure to show: no verdict follows from it, since a test that misses a weak effect of the
    clusters would license intervals that are too narrow.

    Parameters
    ----------
    control, treatment : array of int, shape (seeds, tasks)
        Right answers.
    samples : int, array of int, or tuple of two of these
        Answers drawn for each cell; a tuple gives (control, treatment).
    clusters : sequence, shape (tasks,)
        Label of each task's cluster.

    Returns
    -------
    ClusterTest
        ``statistic`` is None where tasks of one cluster never differ but clusters do.

    Raises
    ------
    InsufficientData
        One cluster, or no cluster has two tasks (reason ``"few-tasks"``).

    Notes
    -----
    F = (sum_c n_c (d_c - mean)^2 / (C - 1)) / (sum_t (d_t - d_c)^2 / (T - C)).
    """
    samples_c, samples_t = split_samples(samples)
    arm_c = outcomes(control, samples_c, "control")
    arm_t = outcomes(treatment, samples_t, "treatment")
    comparable(arm_c, arm_t)
    groups = clusters_of(clusters, arm_c.tasks)
    df_between, df_within = groups.count - 1, arm_c.tasks - groups.count
    if df_within == 0:
        raise InsufficientData("every task is its own cluster", reason="few-tasks")
    values, _ = task_differences(arm_c, arm_t)
    numbers = values.astype(object)
    sums = groups.sums(numbers[np.newaxis, :])[0].tolist()
    by_cluster = sum(
        (Fraction(s * s, n) for s, n in zip(sums, groups.sizes, strict=True)), Fraction(0)
    )
    between = by_cluster - Fraction(int(numbers.sum()) ** 2, arm_c.tasks)
    within = int((numbers * numbers).sum()) - by_cluster
    if within == 0:
        p_value = 0.0 if between else 1.0
        return ClusterTest(None if between else 0.0, df_between, df_within, p_value)
    statistic = float(between * df_within / (within * df_between))
    return ClusterTest(statistic, df_between, df_within, f_tail(statistic, df_between, df_within))
