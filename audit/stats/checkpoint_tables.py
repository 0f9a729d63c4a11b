"""Several checkpoints of one run as one measurement of it.

The run stays the unit: a cell of the pooled table holds the right answers of a run on a task over
all declared checkpoints, and every rule for runs holds for it unchanged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from audit.errors import InsufficientData
from audit.stats.exact import IntMatrix, integer_matrix, outcomes

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


@dataclass(frozen=True, slots=True)
class PooledCheckpoints:
    """One arm's outcomes summed over checkpoints; see `pool_checkpoints`.

    Attributes
    ----------
    right : array of int, shape (seeds, tasks)
        Right answers over all checkpoints.
    drawn : array of int, shape (seeds, tasks)
        Answers drawn over all checkpoints.
    steps : tuple of int
        Training steps of the checkpoints, increasing.
    independent : int
        Fewest answers one checkpoint drew for a task: what stands behind a cell of an arm
        without any error or success (``floor_samples`` of `seed_delta`).
    by_step : array of int, shape (checkpoints, seeds, tasks)
    drawn_by_step : array of int, shape (seeds, tasks)
        Answers that each checkpoint drew.
    """

    right: IntMatrix
    drawn: IntMatrix
    steps: tuple[int, ...]
    independent: int
    by_step: IntMatrix
    drawn_by_step: IntMatrix

    def last(self, checkpoints: int) -> PooledCheckpoints:
        """Return the same over the last so many checkpoints."""
        if not 1 <= checkpoints <= len(self.steps):
            raise ValueError(f"there are {len(self.steps)} checkpoints, not {checkpoints}")
        kept = self.by_step[-checkpoints:]
        return PooledCheckpoints(
            right=kept.sum(axis=0),
            drawn=self.drawn_by_step * checkpoints,
            steps=self.steps[-checkpoints:],
            independent=self.independent,
            by_step=kept,
            drawn_by_step=self.drawn_by_step,
        )

    def scores(self) -> list[list[Fraction]]:
        """Return the exact score of every run at every checkpoint, (seeds, checkpoints)."""
        tasks = self.right.shape[1]
        columns = []
        for right in self.by_step:
            arm = outcomes(right, self.drawn_by_step, "arm")
            rows = arm.right.sum(axis=1)
            columns.append([Fraction(int(r), tasks * arm.denominator) for r in rows])
        return [list(row) for row in zip(*columns, strict=True)]


def pool_checkpoints(
    runs: Sequence[Mapping[int, ArrayLike]],
    steps: Sequence[int],
    *,
    samples: int | Sequence[Mapping[int, ArrayLike]],
) -> PooledCheckpoints:
    """Sum each run's right and drawn answers over declared checkpoints.

    Parameters
    ----------
    runs : sequence of mapping of int to array of int, shape (tasks,)
        For each run its right answers at each evaluated training step; the tasks in one order.
    steps : sequence of int
        The declared steps, one or more, each once.
    samples : int, or sequence of mappings like ``runs``
        Answers drawn.

    Returns
    -------
    PooledCheckpoints

    Raises
    ------
    InsufficientData
        A run lacks a declared step (reason ``"other-checkpoints"``), or its checkpoints have
        other tasks or drew other numbers of answers (``"uneven-checkpoints"``).
    ValueError
        No run or no step is given, a step is given twice, or a count is impossible.
    """
    declared = tuple(sorted(set(steps)))
    if not runs or not declared or len(declared) != len(steps):
        raise ValueError("checkpoints need runs, and steps that are given once each")
    for place, run in enumerate(runs):
        missing = [step for step in declared if step not in run]
        if missing:
            raise InsufficientData(
                f"run {place} has no evaluation at step {missing[0]}", reason="other-checkpoints"
            )
    right = [_rows(run, declared, place) for place, run in enumerate(runs)]
    drawn = [_drawn(samples, declared, place, rows.shape[1]) for place, rows in enumerate(right)]
    if len({rows.shape[1] for rows in right}) != 1:
        raise ValueError("runs have different numbers of tasks")
    by_step = np.stack(right, axis=1)
    each = np.stack(drawn)
    for rows in by_step:
        outcomes(rows, each, "the arm")  # raises where a count is impossible
    return PooledCheckpoints(
        right=by_step.sum(axis=0),
        drawn=each * len(declared),
        steps=declared,
        independent=int(each.min()),
        by_step=by_step,
        drawn_by_step=each,
    )


def _rows(run: Mapping[int, ArrayLike], steps: Sequence[int], place: int) -> IntMatrix:
    rows = [integer_matrix(run[step], f"run {place} at step {step}") for step in steps]
    if len({row.shape for row in rows}) != 1:
        raise InsufficientData(
            f"run {place} has other tasks at some steps than at others",
            reason="uneven-checkpoints",
        )
    return np.concatenate(rows)


def _drawn(
    samples: int | Sequence[Mapping[int, ArrayLike]], steps: Sequence[int], place: int, tasks: int
) -> IntMatrix:
    """Return the answers each checkpoint of a run drew, the same at all of them."""
    if isinstance(samples, int):
        return np.full(tasks, samples)
    rows = _rows(samples[place], steps, place)
    if (rows != rows[0]).any() or rows.shape[1] != tasks:
        raise InsufficientData(
            f"run {place} drew other numbers of answers at some steps than at others",
            reason="uneven-checkpoints",
        )
    first: IntMatrix = rows[0]
    return first
