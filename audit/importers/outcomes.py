"""Single outcomes (task, sample, value) to the per-task lists of an evaluation block."""

from __future__ import annotations

import json
from typing import Any

from audit.errors import ImportRefused
from audit.importers.metric_names import ACCURACY, reading_of
from audit.importers.notes import Notes

Task = str | int


class Outcomes:
    """Outcomes of one model on one benchmark, keyed by task and sample, never by row.

    Parameters
    ----------
    path : str
        The file, for messages.
    what : str
        What is collected, for messages, e.g. ``"arm A, seed 3"``.
    """

    def __init__(self, path: str, what: str) -> None:
        self._path = path
        self._what = what
        self._values: dict[Task, dict[Any, float]] = {}
        self._seen: set[tuple[Task, Any]] = set()
        self._errored: dict[Task, int] = {}
        self._truncated: dict[Task, int] = {}
        self._tokens: dict[Task, list[float]] = {}
        self.lost = 0

    def add(self, task: Task, sample: Any, value: float | None) -> None:
        """Add one outcome; None counts as missing.

        Raises
        ------
        ImportRefused
            When this task and sample were added before.
        """
        task, sample = _plain(task), None if sample is None else _plain(sample)
        key = (task, sample)
        if key in self._seen:
            label = f"task {task}" + ("" if sample is None else f", sample {sample}")
            raise ImportRefused(f"{self._what}: {label} is there twice", path=self._path)
        self._seen.add(key)
        values = self._values.setdefault(task, {})
        if value is None:
            self.lost += 1
        else:
            values[sample] = value

    def error(self, task: Task, sample: Any) -> None:
        """Count a sample that ended in an error: drawn, and not right."""
        task = _plain(task)
        lost = self.lost
        self.add(task, sample, None)
        self.lost = lost
        self._errored[task] = self._errored.get(task, 0) + 1

    def truncated(self, task: Task) -> None:
        """Count a response cut off at the token limit."""
        task = _plain(task)
        self._truncated[task] = self._truncated.get(task, 0) + 1

    def tokens(self, task: Task, count: float) -> None:
        """Add the tokens of one response."""
        self._tokens.setdefault(_plain(task), []).append(count)

    def __bool__(self) -> bool:
        return any(self._values.values())

    @property
    def binary(self) -> bool:
        """Whether every outcome is 0 or 1."""
        return all(v in (0.0, 1.0) for values in self._values.values() for v in values.values())

    @property
    def samples(self) -> int:
        """The most samples any task has."""
        return max((len(values) for values in self._values.values()), default=0)

    def all_values(self) -> list[float]:
        """Return every outcome."""
        return [value for values in self._values.values() for value in values.values()]

    def block(self, benchmark: str | None, metric: str, notes: Notes) -> dict[str, Any]:
        """Return the evaluation block, tasks sorted by id.

        Counts where every outcome is right (1) or wrong (0), else the mean of each task's samples.
        Tasks without any outcome are left out unless they ended in errors.
        """
        counted = self.binary and _right_or_wrong(metric)
        if self.lost:
            notes.missing(self._what, self.lost)
        tasks = [
            task
            for task in sorted(self._values, key=_natural)
            if self._values[task] or (counted and self._errored.get(task))
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
            block["samples"] = [
                len(self._values[task]) + self._errored.get(task, 0) for task in tasks
            ]
        else:
            block["scores"] = [_mean(drawn) for drawn in values]
        self._add_counts(block, tasks)
        return block

    def _say_unequal(self, tasks: list[Task], notes: Notes) -> None:
        sizes = {len(self._values[task]) + self._errored.get(task, 0) for task in tasks}
        if len(sizes) > 1:
            notes.say(
                f"{self._what}: {min(sizes)} to {max(sizes)} samples a task; "
                "each task counts by the mean of its own"
            )

    def _add_counts(self, block: dict[str, Any], tasks: list[Task]) -> None:
        if self._errored:
            block["errored"] = [self._errored.get(task, 0) for task in tasks]
        if self._truncated:
            block["truncated"] = [self._truncated.get(task, 0) for task in tasks]
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
