"""Single outcomes (task, sample, value) to the per-task lists of an evaluation block."""

from __future__ import annotations

import json
import operator
from abc import ABC, abstractmethod
from collections.abc import Collection
from functools import reduce
from typing import Any

from audit.errors import ImportRefused
from audit.importers.metric_names import ACCURACY, reading_of
from audit.importers.notes import Notes

Task = str | int


class CollectedOutcomes(ABC):
    """Outcomes of one model on one benchmark, and the evaluation block that they make.

    Attributes
    ----------
    lost : int
        Answers without a value.
    """

    lost: int

    def __init__(self, what: str) -> None:
        self._what = what

    @abstractmethod
    def __bool__(self) -> bool:
        """Whether any answer has a value."""

    @property
    @abstractmethod
    def drawn(self) -> int:
        """Answers that were asked for, those that ended in an error included."""

    @property
    @abstractmethod
    def samples(self) -> int:
        """The most samples any task has."""

    @property
    @abstractmethod
    def right(self) -> float:
        """The sum of all outcomes: the right answers, where every outcome is 0 or 1."""

    @property
    def binary(self) -> bool:
        """Whether every outcome is 0 or 1."""
        return self.only((0.0, 1.0))

    @abstractmethod
    def only(self, values: Collection[float]) -> bool:
        """Whether every outcome is one of these."""

    @abstractmethod
    def holds(self, value: float) -> bool:
        """Whether an outcome is this."""

    @abstractmethod
    def replace_values(self, others: dict[float, float]) -> None:
        """Write other values for the outcomes, such as 0 for -1."""

    def block(
        self, benchmark: str | None, metric: str, notes: Notes, low: float | None = None
    ) -> dict[str, Any]:
        """Return the evaluation block, tasks sorted by id.

        Counts where every outcome is right (1) or wrong (0), else the mean of each task's samples.
        An answer that ended in an error counts as wrong, of scores as ``low``; where no lowest
        score is known, tasks that have none but such answers are left out.
        """
        counted = self.binary and _right_or_wrong(metric)
        if not counted and low is None:
            low = (reading_of(metric).get("scale") or [None])[0]
        self._say_lost(notes, counted or low is not None)
        dropped, every = self._keep(valued=not counted and low is None)
        if dropped:
            notes.say(f"{self._what}: {dropped} of {every} tasks have no outcome")
        tasks, drawn = self._tasks(), self._samples()
        self._say_unequal(drawn, notes)
        block: dict[str, Any] = {} if benchmark is None else {"benchmark": benchmark}
        block |= {"metric": metric, "task_ids": tasks}
        counts = self._counts()
        if counted:
            block["correct"] = self._correct()
            block["samples"] = drawn
        else:
            block["scores"] = self._scores(low)
            if "errored" in counts:
                block["samples"] = drawn
        block |= counts
        tokens = self._mean_tokens()
        if tokens:
            block["mean_tokens"] = tokens
        return block

    @abstractmethod
    def _keep(self, *, valued: bool) -> tuple[int, int]:
        """Settle which tasks are listed: all, or those with a value; return left out, and all."""

    @abstractmethod
    def _tasks(self) -> list[Any]:
        """Return the ids of the tasks that are kept, in natural order; what follows is by these."""

    @abstractmethod
    def _samples(self) -> list[int]: ...

    @abstractmethod
    def _correct(self) -> list[int]: ...

    @abstractmethod
    def _scores(self, low: float | None) -> list[float]:
        """Return each task's mean, errored answers counted as ``low`` where it is known."""

    @abstractmethod
    def _counts(self) -> dict[str, list[int]]:
        """Return errored, truncated and unparsed answers, each where there are any."""

    @abstractmethod
    def _mean_tokens(self) -> list[float]:
        """Return the tokens of each task's answers; empty where not all are known."""

    def _say_lost(self, notes: Notes, counts: bool) -> None:
        if not self.lost:
            return
        answers = "1 answer has" if self.lost == 1 else f"{self.lost} answers have"
        as_what = "wrong" if counts else "nothing, for no lowest score is known"
        notes.say(f"{self._what}: {answers} no value: counted as errored, and as {as_what}")

    def _say_unequal(self, drawn: list[int], notes: Notes) -> None:
        sizes = set(drawn)
        if len(sizes) > 1:
            notes.say(
                f"{self._what}: {min(sizes)} to {max(sizes)} samples per task; "
                "each task counts by the mean of its own (--missing wrong if the rest failed)"
            )


class OutcomesByTask(CollectedOutcomes):
    """Outcomes of one model on one benchmark, keyed by task and sample, never by row.

    Parameters
    ----------
    path : str
        The file, for messages.
    what : str
        What is collected, for messages, e.g. ``"arm A, seed 3"``.
    repeats : bool
        Whether an outcome without a sample is a further answer where its task has one already.
    """

    def __init__(self, path: str, what: str, *, repeats: bool = False) -> None:
        self._path = path
        super().__init__(what)
        self._repeats = repeats
        self._values: dict[Task, dict[Any, float]] = {}
        self._seen: set[tuple[Task, Any]] = set()
        self._drawn: dict[Task, int] = {}
        self._errored: dict[Task, int] = {}
        self._truncated: dict[Task, int] = {}
        self._unparsed: dict[Task, int] = {}
        self._tokens: dict[Task, list[float]] = {}
        self._says_unparsed = False
        self.lost = 0

    def add(self, task: Task, sample: Any, value: float | None) -> None:
        """Add one outcome; an answer without a value is one that ended in an error.

        Raises
        ------
        ImportRefused
            When this task and sample were added before.
        """
        if value is None:
            self.lost += 1
            self.error(task, sample)
            return
        task = _plain(task)
        self._values.setdefault(task, {})[self._label(task, sample)] = value

    def error(self, task: Task, sample: Any) -> None:
        """Count a sample that ended in an error: drawn, and not right."""
        task = _plain(task)
        self._label(task, sample)
        self._values.setdefault(task, {})
        self._errored[task] = self._errored.get(task, 0) + 1

    def _label(self, task: Task, sample: Any) -> Any:
        self._drawn[task] = drawn = self._drawn.get(task, 0) + 1
        if sample is None and self._repeats:
            return drawn
        sample = None if sample is None else _plain(sample)
        if (task, sample) in self._seen:
            label = f"task {task}" + ("" if sample is None else f", sample {sample}")
            raise ImportRefused(f"{self._what}: {label} is there twice", path=self._path)
        self._seen.add((task, sample))
        return sample

    def truncated(self, task: Task) -> None:
        """Count a response cut off at the token limit."""
        task = _plain(task)
        self._truncated[task] = self._truncated.get(task, 0) + 1

    def unparsed(self, task: Task, without_answer: bool) -> None:
        """Say of a response whether an answer was found in it."""
        task = _plain(task)
        self._says_unparsed = True
        self._unparsed[task] = self._unparsed.get(task, 0) + without_answer

    def tokens(self, task: Task, count: float) -> None:
        """Add the tokens of one response."""
        self._tokens.setdefault(_plain(task), []).append(count)

    def __bool__(self) -> bool:
        return any(self._values.values())

    @property
    def drawn(self) -> int:
        """Answers that were asked for, those that ended in an error included."""
        return sum(self._drawn.values())

    @property
    def samples(self) -> int:
        """The most samples any task has."""
        return max(self._drawn.values(), default=0)

    @property
    def right(self) -> float:
        """The sum of all outcomes."""
        return sum(self.all_values())

    def all_values(self) -> list[float]:
        """Return every outcome."""
        return [value for values in self._values.values() for value in values.values()]

    def only(self, values: Collection[float]) -> bool:
        """Whether every outcome is one of these."""
        return all(v in values for drawn in self._values.values() for v in drawn.values())

    def holds(self, value: float) -> bool:
        """Whether an outcome is this."""
        return any(value in drawn.values() for drawn in self._values.values())

    def replace_values(self, others: dict[float, float]) -> None:
        """Write other values for the outcomes."""
        for values in self._values.values():
            for sample, value in values.items():
                values[sample] = others.get(value, value)

    def _keep(self, *, valued: bool) -> tuple[int, int]:
        self._kept = [
            task for task in sorted(self._values, key=natural) if self._values[task] or not valued
        ]
        return len(self._values) - len(self._kept), len(self._values)

    def _tasks(self) -> list[Task]:
        return self._kept

    def _samples(self) -> list[int]:
        return [self._drawn[task] for task in self._kept]

    def _correct(self) -> list[int]:
        return [int(sum(self._values[task].values())) for task in self._kept]

    def _scores(self, low: float | None) -> list[float]:
        found = []
        for task in self._kept:
            failed = [] if low is None else [low] * self._errored.get(task, 0)
            found.append(_mean([*self._values[task].values(), *failed]))
        return found

    def _counts(self) -> dict[str, list[int]]:
        found = {
            "errored": self._errored,
            "truncated": self._truncated,
            "unparsed": self._unparsed,
        }
        return {
            name: [counts.get(task, 0) for task in self._kept]
            for name, counts in found.items()
            if counts or (name == "unparsed" and self._says_unparsed)
        }

    def _mean_tokens(self) -> list[float]:
        whole = all(len(self._tokens.get(t, ())) >= len(self._values[t]) > 0 for t in self._kept)
        return [_mean(self._tokens[task]) for task in self._kept] if whole else []


def _plain(label: object) -> Task:
    """Return an id as a file may hold it: a whole number or text, anything else as JSON."""
    if isinstance(label, str) or (isinstance(label, int) and not isinstance(label, bool)):
        return label
    return json.dumps(label, sort_keys=True, default=str)


def _right_or_wrong(metric: str) -> bool:
    return reading_of(metric) == reading_of(ACCURACY)


def _mean(values: list[float]) -> float:
    # Sorted, so that the order of rows cannot change the last bit; added one after another, as
    # sum() does before Python 3.12 alone.
    return reduce(operator.add, sorted(values), 0.0) / len(values)


def natural(task: Task) -> tuple[int, int, str]:
    """Return what tasks are sorted by: whole numbers first, by their size."""
    text = str(task)
    return (0, int(text), text) if text.isdecimal() and len(text) < 19 else (1, 0, text)
