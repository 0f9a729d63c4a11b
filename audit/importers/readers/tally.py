"""Answers as they are read, to the counts of an evaluation block; no text is kept."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

from audit.importers.metric_names import ACCURACY
from audit.importers.numbers import number

FLAGS = ("errored", "truncated", "unparsed")


def digest(*texts: object) -> str:
    """Return a task's name made of its content: 16 hexadecimal digits."""
    joined = "\x1f".join(str(text) for text in texts)
    return hashlib.sha256(joined.encode("utf-8", "surrogatepass")).hexdigest()[:16]


class AnswerTally:
    """Answers of one run on one benchmark, by task.

    Parameters
    ----------
    says : iterable of str
        Which of ``errored``, ``truncated`` and ``unparsed`` the format tells of each answer. A
        list of zeros is written for these alone: what a format cannot say stays unsaid.
    """

    def __init__(self, says: Iterable[str] = ()) -> None:
        self.says = frozenset(says)
        self._values: dict[str | int, list[float]] = {}
        self._flags: dict[str, dict[str | int, int]] = {flag: {} for flag in FLAGS}
        self._means: dict[str, dict[str | int, list[float]]] = {"tokens": {}, "seconds": {}}
        self._empty: dict[str | int, int] = {}
        self.questions: dict[str | int, str] = {}

    def answer(
        self,
        task: object,
        value: float,
        *,
        errored: bool = False,
        truncated: bool = False,
        unparsed: bool = False,
        empty: bool = False,
        tokens: object = None,
        seconds: object = None,
        question: str | None = None,
    ) -> None:
        """Add one answer.

        Parameters
        ----------
        task : object
            Name of the task, the same in every run; a whole number stays one, all else is text.
        value : float
            1 or 0 for right and wrong, else a score. An errored answer is 0.
        empty : bool
            Whether the response holds nothing; where all do, nothing was drawn.
        tokens, seconds : object, optional
            Length of the response, and the time it took; what is no number is left out.
        question : str, optional
            Hash of the question, where the name alone does not fix it, such as a position.
        """
        name = str(task) if isinstance(task, bool) or not isinstance(task, int) else task
        self._values.setdefault(name, []).append(float(value))
        self._empty[name] = self._empty.get(name, 0) + empty
        for flag, raised in (
            ("errored", errored),
            ("truncated", truncated),
            ("unparsed", unparsed),
        ):
            if raised:
                self._flags[flag][name] = self._flags[flag].get(name, 0) + 1
        for kind, value_of in (("tokens", tokens), ("seconds", seconds)):
            read = number(value_of)
            if read is not None and read >= 0:
                self._means[kind].setdefault(name, []).append(read)
        if question is not None:
            self.questions.setdefault(name, question)

    def __len__(self) -> int:
        return len(self._values)

    @property
    def answers(self) -> int:
        """How many answers there are over all tasks."""
        return sum(map(len, self._values.values()))

    @property
    def empty(self) -> int:
        """How many responses hold nothing."""
        return sum(self._empty.values())

    @property
    def per_task(self) -> tuple[int, int]:
        """The fewest and the most answers of a task."""
        sizes = [len(drawn) for drawn in self._values.values()] or [0]
        return min(sizes), max(sizes)

    @property
    def counted(self) -> bool:
        """Whether every answer is right (1) or wrong (0)."""
        return all(value in (0.0, 1.0) for drawn in self._values.values() for value in drawn)

    @property
    def signed(self) -> bool:
        """Whether every answer is 1 or -1, and both are there or -1 alone."""
        values = {value for drawn in self._values.values() for value in drawn}
        return -1.0 in values and values <= {-1.0, 1.0}

    def as_right_or_wrong(self) -> None:
        """Turn 1 and -1 into 1 and 0."""
        for drawn in self._values.values():
            drawn[:] = [max(0.0, value) for value in drawn]

    @property
    def mean(self) -> float:
        """Mean over tasks of each task's mean; the order of rows cannot change the last bit."""
        means = [sum(sorted(drawn)) / len(drawn) for drawn in self._values.values()]
        return sum(sorted(means)) / len(means)

    def fill(self, asked: int) -> int:
        """Count answers that were asked for and are not there as errored; returns how many."""
        missing = 0
        for task, drawn in self._values.items():
            short = max(0, asked - len(drawn))
            if short:
                drawn += [0.0] * short
                self._flags["errored"][task] = self._flags["errored"].get(task, 0) + short
                missing += short
        if missing:
            self.says |= {"errored"}
        return missing

    def total(self, flag: str) -> int | None:
        """Return how many answers carry a flag, None where the format does not say."""
        return sum(self._flags[flag].values()) if flag in self.says else None

    def block(self, metric: str) -> dict[str, Any]:
        """Return the lists of an evaluation block, tasks in natural order.

        Counts of right answers where the metric is accuracy and every answer is right or wrong,
        else the mean of each task.
        """
        tasks = sorted(self._values, key=_natural)
        values = [sorted(self._values[task]) for task in tasks]
        block: dict[str, Any] = {"task_ids": tasks}
        if metric == ACCURACY and self.counted:
            block["correct"] = [int(sum(drawn)) for drawn in values]
            block["samples"] = [len(drawn) for drawn in values]
        else:
            block["scores"] = [sum(drawn) / len(drawn) for drawn in values]
        for flag in FLAGS:
            if flag in self.says:
                block[flag] = [self._flags[flag].get(task, 0) for task in tasks]
        if self.empty:
            block["empty"] = [self._empty.get(task, 0) for task in tasks]
        for kind, by_task in self._means.items():
            if tasks and all(by_task.get(task) for task in tasks):
                drawn_of = [sorted(by_task[task]) for task in tasks]
                block[f"mean_{kind}"] = [sum(drawn) / len(drawn) for drawn in drawn_of]
        return block


def _natural(task: str | int) -> tuple[int, int, str]:
    text = str(task)
    return (0, int(text), text) if text.isdecimal() and len(text) < 19 else (1, 0, text)
