"""The best of several checkpoints, scored on tasks that did not choose it: a description."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from hashlib import sha256
from typing import TYPE_CHECKING

import numpy as np

from audit.errors import InsufficientData
from audit.stats.exact import outcomes

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


@dataclass(frozen=True, slots=True)
class CrossFittedBest:
    """A run's best checkpoint by cross-fitted halves; see `cross_fitted_best`.

    Attributes
    ----------
    score : float
        Mean score over all tasks, each half at the checkpoint that is best on the other half.
    chosen : tuple of int
        Places of the checkpoints at which the first and the second half were scored.
    best : float
        Highest score of any checkpoint over all tasks, which flatters the run.
    """

    score: float
    chosen: tuple[int, int]
    best: float


def task_half(task_id: str) -> int:
    """Return 0 or 1, the half a task belongs to: the parity of the SHA-256 of its id."""
    return sha256(task_id.encode()).digest()[-1] % 2


def cross_fitted_best(
    right: ArrayLike, *, samples: ArrayLike, halves: Sequence[int]
) -> CrossFittedBest:
    """Score the best of a run's checkpoints on tasks that did not choose it.

    Parameters
    ----------
    right : array of int, shape (checkpoints, tasks)
        Right answers of one run, checkpoints in the order of training.
    samples : int, or array of int, shape (tasks,) or (checkpoints, tasks)
        Answers drawn.
    halves : sequence of int, shape (tasks,)
        0 or 1 for each task (`task_half`).

    Returns
    -------
    CrossFittedBest

    Raises
    ------
    InsufficientData
        A half has no task (reason ``"few-tasks"``).
    ValueError
        Shapes differ, or a count is impossible.

    Notes
    -----
    Each half is scored at the checkpoint that is best on the other, the earliest among equals.
    That repairs the level of the score, not the comparison: the best of several checkpoints pays
    a recipe for fluctuating.
    """
    run = outcomes(right, samples, "the run")
    half = np.asarray(halves)
    if half.shape != (run.tasks,) or not np.isin(half, (0, 1)).all():
        raise ValueError("halves must name 0 or 1 for each task")
    if half.min() == half.max():
        raise InsufficientData("one half has no task", reason="few-tasks")
    sums = [run.right[:, half == part].sum(axis=1) for part in (0, 1)]
    chosen = (int(np.argmax(sums[1])), int(np.argmax(sums[0])))
    scale = run.tasks * run.denominator
    total = int(sums[0][chosen[0]]) + int(sums[1][chosen[1]])
    return CrossFittedBest(
        score=float(Fraction(total, scale)),
        chosen=chosen,
        best=float(Fraction(int((sums[0] + sums[1]).max()), scale)),
    )
