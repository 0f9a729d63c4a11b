"""Evaluations that measured nothing, or little: empty, errored, unparsed or cut-off answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from audit.column import total
from audit.results import Evaluation


@dataclass(frozen=True, slots=True)
class AnswerCounts:
    """What became of the answers of one evaluation; None where it is not recorded.

    Attributes
    ----------
    drawn, right : int
        All answers, and the right ones; of scores, tasks and the sum of the scores.
    errored, unparsed, cut_off, empty : int or None
        Answers that ended in an error, that held no answer to read, that reached the token
        limit, and that hold nothing.
    """

    drawn: int
    right: float
    errored: int | None
    unparsed: int | None
    cut_off: int | None
    empty: int | None

    @property
    def nothing_drawn(self) -> bool:
        """Whether no answer came out: every one errored, or without a token."""
        lost = (self.errored or 0) if self.empty is None else max(self.errored or 0, self.empty)
        return self.drawn > 0 and lost >= self.drawn

    @property
    def all_unparsed(self) -> bool:
        """Whether no answer could be read."""
        return self._all(self.unparsed)

    @property
    def all_cut_off(self) -> bool:
        """Whether every answer reached the token limit."""
        return self._all(self.cut_off)

    @property
    def all_wrong(self) -> bool:
        """Whether no answer is right."""
        return self.drawn > 0 and self.right == 0

    def _all(self, count: int | None) -> bool:
        return self.drawn > 0 and count is not None and count >= self.drawn


def answer_counts(evaluation: Evaluation) -> AnswerCounts | None:
    """Return what became of the answers of an evaluation with per-task outcomes, else None."""
    if not evaluation.per_task:
        return None
    if evaluation.counts is None or evaluation.samples is None:
        scores = evaluation.scores or []
        samples: Sequence[int] = evaluation.samples or [1] * len(scores)
        right: float = sum(scores)
    else:
        samples, right = evaluation.samples, total(evaluation.counts)
    return AnswerCounts(
        drawn=total(samples) if evaluation.counts is not None else len(samples),
        right=right,
        errored=_total(evaluation, "errored"),
        unparsed=_total(evaluation, "unparsed"),
        cut_off=_total(evaluation, "truncated"),
        empty=_empty(evaluation, samples),
    )


def _total(evaluation: Evaluation, name: str) -> int | None:
    counts: Any = evaluation.document.get(name)
    return None if counts is None else int(total(counts))


def _empty(evaluation: Evaluation, samples: Sequence[int]) -> int | None:
    """Count the answers that hold nothing, else those of tasks without a token on average."""
    recorded = evaluation.document.get("empty")
    if recorded is not None and evaluation.counts is not None:
        return int(sum(recorded))
    lengths = evaluation.document.get("mean_tokens")
    if lengths is None or len(lengths) != len(samples):
        return None
    if 0 not in lengths:
        return 0
    return sum(drawn for length, drawn in zip(lengths, samples, strict=True) if length == 0)
