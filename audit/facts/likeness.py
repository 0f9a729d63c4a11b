"""Whether two models' answers agree more closely than answers drawn twice from one model would."""

from __future__ import annotations

from collections.abc import Sequence
from operator import mul, sub

from audit.results import Evaluation

# Two draws from one model differ by their sampling variance; a quarter of it, over so many tasks
# that tell, is no luck (chi-square / 30 with 30 degrees of freedom is below 1/4 once in a million).
_SHARE = 4
_FEWEST_TELLING = 30


def copied_answers(one: Evaluation, other: Evaluation) -> bool | None:
    """Return whether one evaluation looks like an edited copy of another; None where unknown.

    Parameters
    ----------
    one, other : Evaluation
        Right answers out of the same number drawn, two or more, on the same tasks.

    Notes
    -----
    With c right of k answers, sum (c1 - c2)^2 has at least the expectation of
    sum (c1 (k - c1) + c2 (k - c2)) / (k - 1), both being 2 k p (1 - p) a task for one model.
    Tasks always or never solved tell nothing, so deterministic decoding tells nothing.
    """
    k = _drawn(one.samples, other.samples)
    ours, theirs = one.counts, _in_order_of(one, other)
    if k is None or ours is None or theirs is None:
        return None
    telling = max(len(counts) - counts.count(0) - counts.count(k) for counts in (ours, theirs))
    if telling < _FEWEST_TELLING or len(ours) != len(theirs):
        return None
    expected: int = sum(
        k * sum(counts) - sum(map(mul, counts, counts)) for counts in (ours, theirs)
    )
    apart = list(map(sub, ours, theirs))
    seen: int = sum(map(mul, apart, apart))
    return _SHARE * seen * (k - 1) < expected


def _in_order_of(one: Evaluation, other: Evaluation) -> list[int] | None:
    """Return the right answers of ``other`` in the order of the tasks of ``one``."""
    wanted, found, counts = one.task_ids, other.task_ids, other.counts
    if wanted == found or counts is None:
        return counts
    if wanted is None or found is None or len(found) != len(counts):
        return None
    by_task = dict(zip(found, counts, strict=True))
    return [by_task[task] for task in wanted] if by_task.keys() == set(wanted) else None


def _drawn(ours: Sequence[int] | None, theirs: Sequence[int] | None) -> int | None:
    """Return the answers drawn for every task, where that is one number of two or more."""
    if not ours or not theirs or len(ours) != len(theirs):
        return None
    k = ours[0]
    same = k > 1 and ours.count(k) == len(ours) and theirs.count(k) == len(theirs)
    return k if same else None
