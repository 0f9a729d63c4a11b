"""Single outcomes (task, sample, value) to the per-task lists of an evaluation block."""

from __future__ import annotations

import json
from typing import Any

from audit.errors import ImportRefused
from audit.importers.metric_names import ACCURACY, reading_of
from audit.importers.notes import Notes

Task = str | int


class OutcomesByTask:
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
        self._what = what
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
    def binary(self) -> bool:
        """Whether every outcome is 0 or 1."""
        return all(v in (0.0, 1.0) for values in self._values.values() for v in values.values())

    @property
    def samples(self) -> int:
        """The most samples any task has."""
        return max(self._drawn.values(), default=0)

    def all_values(self) -> list[float]:
        """Return every outcome."""
        return [value for values in self._values.values() for value in values.values()]

    def replace_values(self, others: dict[float, float]) -> None:
        """Write other values for the outcomes, such as 0 for -1."""
        for values in self._values.values():
            for sample, value in values.items():
                values[sample] = others.get(value, value)

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
        tasks = [
            task
            for task in sorted(self._values, key=_natural)
            if self._values[task] or counted or low is not None
        ]
        dropped = len(self._values) - len(tasks)
        if dropped:
            notes.say(f"{self._what}: {dropped} of {len(self._values)} tasks have no outcome")
        self._say_unequal(tasks, notes)
        block: dict[str, Any] = {} if benchmark is None else {"benchmark": benchmark}
        block |= {"metric": metric, "task_ids": tasks}
        values = [list(self._values[task].values()) for task in tasks]
        if counted:
            block["correct"] = [int(sum(drawn)) for drawn in values]
            block["samples"] = [self._drawn[task] for task in tasks]
        else:
            block["scores"] = [self._score(task, low) for task in tasks]
            if self._errored:
                block["samples"] = [self._drawn[task] for task in tasks]
        self._add_counts(block, tasks)
        return block

    def _score(self, task: Task, low: float | None) -> float:
        values = list(self._values[task].values())
        failed = [] if low is None else [low] * self._errored.get(task, 0)
        return _mean([*values, *failed])

    def _say_lost(self, notes: Notes, counts: bool) -> None:
        if not self.lost:
            return
        answers = "1 answer has" if self.lost == 1 else f"{self.lost} answers have"
        as_what = "wrong" if counts else "nothing, for no lowest score is known"
        notes.say(f"{self._what}: {answers} no value: counted as errored, and as {as_what}")

    def _say_unequal(self, tasks: list[Task], notes: Notes) -> None:
        sizes = {self._drawn[task] for task in tasks}
        if len(sizes) > 1:
            notes.say(
                f"{self._what}: {min(sizes)} to {max(sizes)} samples per task; "
                "each task counts by the mean of its own (--missing wrong if the rest failed)"
            )

    def _add_counts(self, block: dict[str, Any], tasks: list[Task]) -> None:
        if self._errored:
            block["errored"] = [self._errored.get(task, 0) for task in tasks]
        if self._truncated:
            block["truncated"] = [self._truncated.get(task, 0) for task in tasks]
        if self._says_unparsed:
            block["unparsed"] = [self._unparsed.get(task, 0) for task in tasks]
        if tasks and all(len(self._tokens.get(t, ())) >= len(self._values[t]) > 0 for t in tasks):
            block["mean_tokens"] = [_mean(self._tokens[task]) for task in tasks]


def _plain(label: object) -> Task:
    """Return an id as a file may hold it: a whole number or text, anything else as JSON."""
    if isinstance(label, str) or (isinstance(label, int) and not isinstance(label, bool)):
        return label
    return json.dumps(label, sort_keys=True, default=str)


def _right_or_wrong(metric: str) -> bool:
    return reading_of(metric) == reading_of(ACCURACY)


def _mean(values: list[float]) -> float:
    # Sorted, so that the order of rows cannot change the last bit.
    return sum(sorted(values)) / len(values)


def _natural(task: Task) -> tuple[int, int, str]:
    text = str(task)
    return (0, int(text), text) if text.isdecimal() and len(text) < 19 else (1, 0, text)
