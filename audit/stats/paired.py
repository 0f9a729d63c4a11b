"""Student's interval on paired differences, and the descriptive interval of one run per arm."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import sqrt
from typing import TYPE_CHECKING, Any

from audit.errors import InsufficientData
from audit.stats.decimals import fractions, mean, sample_variance
from audit.stats.pivot import Pivot, interval
from audit.stats.quantiles import check_level
from audit.stats.records import PairedT

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def paired_t(differences: ArrayLike | Sequence[object], *, level: float = 0.95) -> PairedT:
    """Return Student's t interval for a mean of differences.

    Parameters
    ----------
    differences : sequence of numbers, shape (n,)
        One difference a pair (seeds, or tasks), score units. Floats count by their shortest
        decimal representation.
    level : float
        Confidence level.

    Returns
    -------
    PairedT

    Raises
    ------
    InsufficientData
        Fewer than two differences (reason ``"too-few-differences"``).
    ValueError
        A value is no finite number.

    Notes
    -----
    mean -/+ t(n - 1) sd / sqrt(n), sd with ddof 1 (Student 1908).
    """
    values = fractions(_flat(differences), "difference")
    n = len(values)
    if n < 2:
        raise InsufficientData(
            f"a paired interval needs at least 2 differences, got {n}",
            reason="too-few-differences",
        )
    spread = sample_variance(values)
    return _record(mean(values), spread, n, level)


def one_seed_interval(
    control: ArrayLike, treatment: ArrayLike, *, samples: Any, level: float = 0.95
) -> PairedT:
    """Return the paired task interval of one run per arm: a description, never a verdict.

    It knows nothing of the variance between training runs. With several rows an arm their mean
    is taken, which does not cure that.

    Parameters
    ----------
    control, treatment : array of int, shape (tasks,) or (1, tasks)
        Right answers.
    samples : int, array of int, or tuple of two of these
        Answers drawn for each cell; a tuple gives (control, treatment).

    Returns
    -------
    PairedT

    Raises
    ------
    InsufficientData
        There is one task (reason ``"few-tasks"``).
    ValueError
        Counts are not whole numbers between 0 and samples, or shapes do not match.
    """
    from audit.stats.exact import comparable, outcomes, split_samples, task_differences, variance

    samples_c, samples_t = split_samples(samples)
    arm_c = outcomes(control, samples_c, "control")
    arm_t = outcomes(treatment, samples_t, "treatment")
    comparable(arm_c, arm_t)
    differences, common = task_differences(arm_c, arm_t)
    centre = Fraction(int(differences.sum()), arm_c.tasks * common)
    return _record(centre, variance(differences, common), arm_c.tasks, level)


def seed_correlation(control: Sequence[object], treatment: Sequence[object]) -> float | None:
    """Return Pearson's correlation of paired run means; None where an arm does not vary.

    Parameters
    ----------
    control, treatment : sequence of numbers, shape (seeds,)
        Run means by seed, score units.

    Returns
    -------
    float or None

    Raises
    ------
    ValueError
        The lengths differ.
    InsufficientData
        Fewer than two pairs (reason ``"one-seed"``).
    """
    a, b = fractions(control, "control mean"), fractions(treatment, "treatment mean")
    if len(a) != len(b):
        raise ValueError(f"paired means differ in number: {len(a)} and {len(b)}")
    if len(a) < 2:
        raise InsufficientData("a correlation needs at least 2 pairs", reason="one-seed")
    spread = sample_variance(a) * sample_variance(b)
    if spread == 0:
        return None
    centre_a, centre_b = mean(a), mean(b)
    joint = sum(((x - centre_a) * (y - centre_b) for x, y in zip(a, b, strict=True)), Fraction(0))
    return float(joint / (len(a) - 1)) / sqrt(spread)


def _flat(values: ArrayLike | Sequence[object]) -> list[object]:
    if isinstance(values, Sequence) and not isinstance(values, str):
        return list(values)
    import numpy as np

    array = np.asarray(values)
    if array.ndim != 1:
        raise ValueError(f"differences must have one dimension, got {array.ndim}")
    return list(array.tolist())


def _record(centre: Fraction, spread: Fraction, n: int, level: float) -> PairedT:
    pivot = Pivot(centre, spread / n, Fraction(n - 1))
    estimate = interval(pivot, check_level(level))
    return PairedT(
        mean=float(centre),
        sd=sqrt(spread),
        se=estimate.se,
        df=estimate.df,
        low=estimate.low,
        high=estimate.high,
        p_value=estimate.p_value,
        level=level,
        n=n,
    )
