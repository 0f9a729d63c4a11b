"""Rows of a table as answers: what was graded, errored, cut off, not parsed, or never given."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from audit.errors import ImportRefused
from audit.importers.columns import names_a_question, text
from audit.importers.draft import Options
from audit.importers.liveness import Liveness
from audit.importers.metric_names import ACCURACY
from audit.importers.notes import Notes
from audit.importers.numbers import cell
from audit.importers.outcomes import CollectedOutcomes, OutcomesByTask
from audit.importers.scaled import PERCENT, scaled

Cell = tuple[str, str]  # benchmark, metric

_CUT = frozenset({"length", "max_tokens", "model_length"})
# What says that an answer was not graded, where no number can.
_FAILED = frozenset({"timeout", "error", "errored"})
_WORDS = {"pass": 1.0, "passed": 1.0, "correct": 1.0, "fail": 0.0, "failed": 0.0, "incorrect": 0.0}


class Answers:
    """The answers of one table.

    Parameters
    ----------
    path : str
        The file, for messages.
    value : str
        The column of the outcome.
    roles : mapping
        Column by role.
    options : Options
        The scale.
    notes : Notes
        Takes what is said aloud.
    """

    def __init__(
        self, path: str, value: str, roles: Mapping[str, str], options: Options, notes: Notes
    ) -> None:
        self._path, self._value, self._roles = path, value, roles
        self._options, self._notes = options, notes
        self._live = Liveness(path)

    def add(
        self,
        into: dict[Cell, CollectedOutcomes],
        key: Cell,
        row: Mapping[str, Any],
        sample: str | None,
        what: str,
    ) -> None:
        """Add the answers of one row to the outcomes of its run.

        Parameters
        ----------
        into : dict
            Outcomes of the run by benchmark and metric.
        key : tuple of str
            Benchmark and metric of the row.
        row : mapping
            A list in the place of the outcome is one answer per entry.
        sample : str or None
            The answer's number, where the table has one.
        what : str
            Arm and run, for messages.

        Raises
        ------
        ImportRefused
            When the row has a value and no task, or lists of lists.
        """
        given = row.get(self._value)
        entries = given if isinstance(given, list) else [given]
        task = self._task(row)
        if not task:
            if all(text(entry) == "" for entry in entries):
                self._notes.say(f"{self._path}: rows without a task and a value are no answers")
                return
            raise ImportRefused(f"a row has no {self._roles['task']}", path=self._path)
        repeats = sample is None or isinstance(given, list)
        outcomes = into.setdefault(key, OutcomesByTask(self._path, what, repeats=repeats))
        assert isinstance(outcomes, OutcomesByTask)
        if isinstance(given, list) and not given:
            self._notes.say(f"{what}: an empty list of {self._value} is an answer without a value")
            entries = [None]
        for entry in entries:
            if isinstance(entry, list | dict):
                raise ImportRefused(
                    f"{self._value} of task {task} holds lists of lists: say which number counts "
                    "with --map value=POINTER",
                    path=self._path,
                )
            number = None if isinstance(given, list) else sample
            self._add(outcomes, task, number, row, entry, key[1], what)

    @property
    def in_percent(self) -> bool:
        """Whether the user says that values are percent."""
        return self._options.scale == PERCENT

    def count_alive(self, counts: Mapping[str, int]) -> None:
        """Take counts of answers that were looked at elsewhere; see :meth:`Liveness.count`."""
        self._live.count(**counts)

    def refuse_dead(self) -> None:
        """Refuse an evaluation that never ran; see :meth:`Liveness.refuse_dead`."""
        self._live.refuse_dead()

    def settle_signs(self, runs: Sequence[Mapping[Cell, CollectedOutcomes]]) -> None:
        """Read 1 and -1 as right and wrong, where all runs have no other value of accuracy.

        Raises
        ------
        ImportRefused
            When an accuracy has other values below 0.
        """
        found = [outcomes for run in runs for outcomes in run.values()]
        if {metric for run in runs for _, metric in run} != {ACCURACY}:
            return
        if not any(outcomes.holds(-1.0) for outcomes in found):
            return
        if not all(outcomes.only((-1.0, 1.0)) for outcomes in found):
            raise ImportRefused(
                f"{self._value} lies below 0: say --metric NAME for something other than accuracy",
                path=self._path,
            )
        for outcomes in found:
            outcomes.replace_values({-1.0: 0.0})
        self._notes.say(f"{self._path}: {self._value} is 1 or -1: read as right and wrong")

    def _add(
        self,
        outcomes: OutcomesByTask,
        task: str,
        sample: str | None,
        row: Mapping[str, Any],
        entry: Any,
        metric: str,
        what: str,
    ) -> None:
        value = self.graded(entry, metric, f"{self._value} of {what}")
        failed = truthy(self._get(row, "error"))
        tokens = self._number(row, "tokens")
        kept = "text" in self._roles and self._roles["text"] in row
        empty = self._live.see(
            text=row[self._roles["text"]] if kept else ...,
            tokens=tokens,
            seconds=self._number(row, "time"),
            right=value == 1,
        )
        if value is None and not failed and not says_failed(entry):
            outcomes.add(task, sample, None)
        elif value is None or (failed and value <= 0) or (empty and value == 1):
            outcomes.error(task, sample)
        else:
            outcomes.add(task, sample, value)
        if tokens is not None and tokens >= 0:
            outcomes.tokens(task, tokens)
        if truthy(self._get(row, "truncated")) or says_cut(self._get(row, "stop")):
            outcomes.truncated(task)
        for role, says_none in (("parsed", False), ("unparsed", True)):
            said = self._get(row, role)
            if said is not None:
                outcomes.unparsed(task, truthy(said) is says_none)

    def _get(self, row: Mapping[str, Any], role: str) -> Any:
        return row.get(self._roles[role]) if role in self._roles else None

    def _number(self, row: Mapping[str, Any], role: str) -> float | None:
        return figure(self._get(row, role))

    def graded(self, entry: Any, metric: str, place: str) -> float | None:
        """Return the value of one answer, None where it has none.

        Raises
        ------
        ImportRefused
            When an accuracy is no share, and nothing says percent; ``place`` is for the message.
        """
        word = _WORDS.get(text(entry).lower())
        if word is not None:
            return word
        if metric == ACCURACY and cell(entry)[0] == -1:
            return -1.0  # settled when all are known: 1 and -1, or no right and wrong at all
        return scaled(entry, metric, self._options, self._path, place)

    def _task(self, row: Mapping[str, Any]) -> str:
        column = self._roles["task"]
        name = text(row.get(column))
        if not name or not names_a_question(column):
            return name
        # A question is named by its content, with the right answer: two may have one wording.
        asked = f"{name}\x1f{text(self._get(row, 'gold'))}"
        return hashlib.sha256(asked.encode()).hexdigest()[:16]


def figure(value: Any) -> float | None:
    """Return the number in a cell, such as tokens or a time."""
    found = cell(value)[0]
    return None if found is None else float(found)


def says_failed(entry: Any) -> bool:
    """Whether the cell of an outcome says that the answer was not graded."""
    return text(entry).lower() in _FAILED


def says_cut(reason: Any) -> bool:
    """Whether the reason why an answer stopped is its length."""
    return text(reason).lower() in _CUT


def truthy(value: Any) -> bool:
    """Whether a cell says yes, or holds an error: not a list, which holds reasons of a grade."""
    if isinstance(value, str):
        return value.strip().lower() not in ("", "false", "0", "none", "null", "no", "nan")
    return bool(value) and not isinstance(value, list)
