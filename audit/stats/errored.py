"""Answers that were asked for and never came: every way to count them, each with its interval."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from audit.stats.delta import seed_delta
from audit.stats.exact import Outcomes, comparable, integer_matrix, outcomes, split_samples
from audit.stats.quantiles import check_level

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from audit.stats.exact import IntMatrix
    from audit.stats.records import SeedDelta

CLAIMS = ("gain", "loss", "equivalence")
# Worst cases are read where the errored shares differ by more than the first of these, or where
# one of them is above the second.
_SHARES_APART, _LARGE_SHARE = Fraction(1, 100), Fraction(2, 100)
_MOST_EMPTY = Fraction(5, 100)


@dataclass(frozen=True, slots=True)
class ErroredReading:
    """One way to count errored answers, and what comes of it.

    Attributes
    ----------
    errored : str
        ``"wrong"``; ``"dropped"``, fewer answers to a task; ``"worst-for-gain"``, right in the
        control and wrong in the treatment; or ``"worst-for-loss"``, the reverse.
    clustered : bool
        Whether the interval is that of the clusters.
    result : SeedDelta
    """

    errored: str
    clustered: bool
    result: SeedDelta

    @property
    def p_value(self) -> float:
        """Two-sided p-value of a difference for new tasks."""
        return self.result.random.p_value


@dataclass(frozen=True, slots=True)
class ErroredDelta:
    """Treatment minus control by every reading of the errored answers; see `errored_delta`.

    Attributes
    ----------
    shares : tuple of float
        Errored answers of all, in control and treatment.
    worst_read : bool
        Whether the shares are such that the worst case is read.
    empty_tasks : int
        Tasks with a cell of which every answer is errored.
    dropped_read : bool
        Whether dropping is among the readings: not above 5% of empty tasks.
    readings : tuple of ErroredReading
    """

    shares: tuple[float, float]
    worst_read: bool
    empty_tasks: int
    dropped_read: bool
    readings: tuple[ErroredReading, ...]

    @property
    def deciding(self) -> ErroredReading:
        """The reading with the largest p-value of a difference."""
        return max(self.readings, key=lambda reading: reading.p_value)


def errored_delta(
    control: ArrayLike,
    treatment: ArrayLike,
    *,
    samples: Any,
    errored: Any,
    claim: str,
    paired: bool = False,
    level: float = 0.95,
    clusters: Sequence[Hashable] | None = None,
) -> ErroredDelta:
    """Compare two arms of which some answers are errored.

    Parameters
    ----------
    control, treatment : array of int, shape (seeds, tasks)
        Right answers.
    samples : int, array of int, or tuple of two of these
        Answers asked for in each cell, errored ones among them; a tuple gives
        (control, treatment).
    errored : int, array of int, or tuple of two of these
        Errored answers of each cell.
    claim : {"gain", "loss", "equivalence"}
        What is claimed of the difference: sets whom the worst case harms. For equivalence both.
    paired, level
        As for `seed_delta`.
    clusters : sequence, shape (tasks,), optional
        With clusters each reading is made without and with them.

    Returns
    -------
    ErroredDelta

    Raises
    ------
    InsufficientData
        As for `seed_delta`.
    ValueError
        Right and errored answers of a cell exceed its samples, or shapes do not match.

    Notes
    -----
    Wrong and dropped are always read, where both can be; the worst case where the errored shares
    of the arms differ by more than .01, one exceeds .02, or dropping would leave more than 5% of
    the tasks out. Read alone, either of the first two makes false gains where errors fall on
    right, or on wrong, answers.
    """
    check_level(level)
    if claim not in CLAIMS:
        raise ValueError(f"claim must be one of {', '.join(CLAIMS)}, got {claim!r}")
    samples_c, samples_t = split_samples(samples)
    errored_c, errored_t = split_samples(errored)
    arm_c = _Asked(control, samples_c, errored_c, "control")
    arm_t = _Asked(treatment, samples_t, errored_t, "treatment")
    comparable(arm_c.outcomes, arm_t.outcomes)
    kept = ~(arm_c.empty | arm_t.empty)
    empty = int((~kept).sum())
    some = arm_c.share + arm_t.share > 0
    dropped = empty <= _MOST_EMPTY * len(kept)
    apart = abs(arm_c.share - arm_t.share) > _SHARES_APART
    worst = apart or max(arm_c.share, arm_t.share) > _LARGE_SHARE or not dropped
    ways = [("wrong", arm_c.wrong, arm_t.wrong)]
    if some and dropped:
        ways.append(("dropped", arm_c.dropped(kept), arm_t.dropped(kept)))
    if worst and claim != "loss":
        ways.append(("worst-for-gain", arm_c.right, arm_t.wrong))
    if worst and claim != "gain":
        ways.append(("worst-for-loss", arm_c.wrong, arm_t.right))
    readings = []
    for name, (counts_c, drawn_c), (counts_t, drawn_t) in ways:
        labels = clusters
        if clusters is not None and name == "dropped":
            labels = [label for label, keep in zip(clusters, kept, strict=True) if keep]
        for groups in (None, labels)[: 1 if clusters is None else 2]:
            result = seed_delta(
                counts_c,
                counts_t,
                samples=(drawn_c, drawn_t),
                paired=paired,
                level=level,
                clusters=groups,
            )
            readings.append(ErroredReading(name, groups is not None, result))
    return ErroredDelta(
        shares=(float(arm_c.share), float(arm_t.share)),
        worst_read=worst,
        empty_tasks=empty,
        dropped_read=dropped,
        readings=tuple(readings),
    )


class _Asked:
    """Counts of one arm with errored answers among those asked for."""

    def __init__(self, counts: ArrayLike, samples: Any, errored: Any, name: str) -> None:
        self.outcomes: Outcomes = outcomes(counts, samples, name)
        self.counts: IntMatrix = integer_matrix(counts, name)
        self.samples = np.broadcast_to(self.outcomes.drawn, self.counts.shape)
        array = np.asarray(errored)
        given = integer_matrix(array[np.newaxis] if array.ndim == 0 else array, f"errored {name}")
        try:
            self.errored = np.broadcast_to(given, self.counts.shape)
        except ValueError:
            raise ValueError(
                f"errored answers of {name} have shape {given.shape}, counts {self.counts.shape}"
            ) from None
        if (self.errored < 0).any() or (self.counts + self.errored > self.samples).any():
            raise ValueError(f"right and errored answers of {name} exceed its samples")
        self.share = Fraction(int(self.errored.sum()), int(self.samples.sum()))
        self.empty = (self.errored == self.samples).any(axis=0)

    @property
    def wrong(self) -> tuple[IntMatrix, IntMatrix]:
        return self.counts, self.samples

    @property
    def right(self) -> tuple[IntMatrix, IntMatrix]:
        return self.counts + self.errored, self.samples

    def dropped(self, kept: IntMatrix) -> tuple[IntMatrix, IntMatrix]:
        return self.counts[:, kept], (self.samples - self.errored)[:, kept]
