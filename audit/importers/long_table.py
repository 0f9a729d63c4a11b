"""Long tables (CSV, Parquet, JSON Lines): one outcome a row, its arm, seed and task in columns.

A row is never a seed: runs are told apart by a seed or run column alone, and outcomes are paired
by task id alone, so that the order of rows changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from audit.errors import ImportRefused
from audit.importers.columns import (
    chosen_rows,
    metric_of,
    roles_of,
    table_of,
    text,
)
from audit.importers.draft import Draft, DraftRun, Options
from audit.importers.foreign import Foreign
from audit.importers.metric_names import (
    ACCURACY,
    is_accuracy,
    refuse_impossible_pass_at_k,
)
from audit.importers.notes import Notes
from audit.importers.numbers import on_lattice, whole_cell
from audit.importers.outcomes import Outcomes
from audit.importers.scaled import say_unnamed, scaled
from audit.importers.table_draft import table_draft
from audit.importers.wide_table import shape

Label = int | str | None  # a seed's number, a run's name, or nothing
Cell = tuple[str, str]  # benchmark, metric


def sniff(document: Any, name: str) -> bool:
    """Whether content is rows with a value column and an arm, seed or task beside it."""
    table = table_of(document)
    if table is None or shape(table, Options()) is not None:
        return False
    try:
        roles = roles_of(table.columns, Options(), name)
    except ImportRefused:
        return True
    return "value" in roles and bool({"arm", "seed", "run", "task"} & set(roles))


@dataclass
class _Group:
    """All rows of one arm and run."""

    outcomes: dict[Cell, Outcomes] = field(default_factory=dict)
    scores: dict[Cell, float] = field(default_factory=dict)
    examples: dict[Cell, int] = field(default_factory=dict)


def read(files: Sequence[Foreign], options: Options) -> Draft:
    """Read long tables.

    Raises
    ------
    UsageError
        When a named column is missing.
    ImportRefused
        When runs cannot be told apart, an outcome is there twice, or percent is not said.
    """
    notes = Notes()
    return table_draft([_Reader(file, options, notes) for file in files], notes)


class _Reader:
    """One table while it is read."""

    def __init__(self, file: Foreign, options: Options, notes: Notes) -> None:
        self.file, self.options, self.notes = file, options, notes
        for note in file.notes:
            notes.say(note)
        table = table_of(file.content)
        if table is None:
            raise ImportRefused("not rows with named columns", path=file.name)
        self.roles = roles_of(table.columns, options, file.name)
        if "value" not in self.roles:
            columns = ", ".join(table.columns)
            raise ImportRefused(
                f"no value column: --column value=NAME of {columns}", path=file.name
            )
        self.rows = list(chosen_rows(file, table, options))
        self.metrics: set[str] = set()
        self.groups: dict[tuple[str, Label], _Group] = {}

    def runs(self) -> Iterator[DraftRun]:
        for row in self.rows:
            if self._wanted(row):
                self._add(row)
        if not self.groups:
            raise ImportRefused("no row of the metric and benchmark asked for", path=self.file.name)
        if not any(any(g.outcomes.values()) or g.scores for g in self.groups.values()):
            column = self.roles["value"]
            raise ImportRefused(f"{column} holds no finite number", path=self.file.name)
        self._say_unlabelled()
        for arm, label in sorted(self.groups, key=_order):
            document = self._document(self.groups[arm, label])
            if not document:
                self.notes.say(f"{_what(arm, label)} has no finite value and is left out")
                continue
            if isinstance(label, str):
                document = {"run_id": label} | document
            yield DraftRun(document, arm or None, label if isinstance(label, int) else None)

    def _cell(self, row: Mapping[str, Any], role: str) -> str:
        return text(row.get(self.roles[role])) if role in self.roles else ""

    def _wanted(self, row: Mapping[str, Any]) -> bool:
        benchmark, metric = self._cell(row, "benchmark"), self._cell(row, "metric")
        wanted = self.options.metric
        same = wanted is None or metric in ("", wanted)
        if wanted == ACCURACY:
            same = same or is_accuracy(metric)
        return same and self.options.benchmark in (None, benchmark)

    def _add(self, row: Mapping[str, Any]) -> None:
        named = self._cell(row, "metric") or None
        metric = metric_of(self.roles["value"], named, self.options)
        if metric is None:
            say_unnamed(self.file.name, self.notes)
        arm, label = self._cell(row, "arm"), self._label(row)
        if "arm" in self.roles and not arm:
            raise ImportRefused(f"a row has no {self.roles['arm']}", path=self.file.name)
        if "seed" in self.roles and not isinstance(label, int):
            self.notes.missing(f"{self.file.name}, {self.roles['seed']} (no whole number)")
        place = f"{self.roles['value']} of {_what(arm, label)}"
        value = scaled(row.get(self.roles["value"]), metric, self.options, self.file.name, place)
        key = (self._cell(row, "benchmark"), metric or ACCURACY)
        group = self.groups.setdefault((arm, label), _Group())
        self.metrics.add(key[1])
        if "task" in self.roles:
            self._add_outcome(group, key, row, value, _what(arm, label))
        else:
            self._add_score(group, key, row, value, arm, label)

    def _add_outcome(
        self, group: _Group, key: Cell, row: Mapping[str, Any], value: float | None, what: str
    ) -> None:
        outcomes = group.outcomes.setdefault(key, Outcomes(self.file.name, what))
        outcomes.add(self._cell(row, "task"), self._cell(row, "sample") or None, value)

    def _add_score(
        self,
        group: _Group,
        key: Cell,
        row: Mapping[str, Any],
        value: float | None,
        arm: str,
        label: Label,
    ) -> None:
        if key in group.scores:
            where = f" on {key[0]}" if key[0] else ""
            if label is None:
                raise ImportRefused(
                    f"{_what(arm, label)} has several rows{where}, and rows are not seeds: "
                    "name the column that tells runs apart with --column seed=NAME or run=NAME",
                    path=self.file.name,
                )
            raise ImportRefused(f"{_what(arm, label)} is there twice{where}", path=self.file.name)
        if value is None:
            self.notes.missing(f"{self.file.name}, {self.roles['value']}")
            return
        group.scores[key] = value
        count = whole_cell(self._cell(row, "examples"))
        if count is not None and count > 0:
            group.examples[key] = count

    def _label(self, row: Mapping[str, Any]) -> Label:
        seed = whole_cell(self._cell(row, "seed"))
        if seed is not None:
            return seed
        return self._cell(row, "run") or self._cell(row, "seed") or None

    def _say_unlabelled(self) -> None:
        if not {"seed", "run"} & set(self.roles):
            self.notes.say(
                f"{self.file.name}: no seed or run column, so each arm is one run without a seed"
            )

    def _document(self, group: _Group) -> dict[str, Any]:
        for (_, metric), outcomes in group.outcomes.items():
            if "sample" in self.roles and outcomes.binary:
                refuse_impossible_pass_at_k(metric, outcomes.samples, self.file.name)
        single = len({benchmark for benchmark, _ in {*group.outcomes, *group.scores}}) == 1
        blocks = [
            group.outcomes[key].block(key[0] or None, key[1], self.notes)
            for key in sorted(group.outcomes)
            if group.outcomes[key]
        ]
        scores: dict[str, Any] = {}
        for benchmark, metric in sorted(group.scores):
            name = metric if single else f"{benchmark}/{metric}"
            scores[name] = group.scores[benchmark, metric]
            self.metrics.add(name)
            if benchmark or metric != ACCURACY:
                blocks.append(({"benchmark": benchmark} if benchmark else {}) | {"metric": name})
            total = group.examples.get((benchmark, metric))
            if name == ACCURACY and total and on_lattice(scores[name], total):
                scores["examples"] = total
        document: dict[str, Any] = {"method_metrics": scores} if scores else {}
        if blocks:
            document["evaluation"] = blocks[0]
        if len(blocks) > 1:
            document["evaluations"] = blocks[1:]
        return document


def _what(arm: str, label: Label) -> str:
    named = f"arm {arm}" if arm else "the file"
    if label is None:
        return named
    return f"{named}, {'seed' if isinstance(label, int) else 'run'} {label}"


def _order(key: tuple[str, Label]) -> tuple[str, int, int, str]:
    arm, label = key
    if isinstance(label, int):
        return arm, 0, label, ""
    return arm, 1 if label else 2, 0, label or ""
