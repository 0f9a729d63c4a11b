"""Wide tables of seed scores: seeds as columns, seeds in a list in one cell, or arms as columns."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from audit.errors import ImportRefused
from audit.importers.columns import chosen_rows, table_of, text
from audit.importers.draft import Draft, DraftRun, Options
from audit.importers.foreign import Foreign, ForeignTable
from audit.importers.metric_names import ACCURACY, is_accuracy, plain
from audit.importers.notes import Notes
from audit.importers.numbers import cell, spread_note, whole_cell
from audit.importers.scaled import say_unnamed, scaled
from audit.importers.table_draft import table_draft

_SEED_COLUMN = re.compile(r"^(seed|s|run|rep|replicate|trial)?[ _\-]?(\d{1,15})$", re.IGNORECASE)
_PER_SEED = frozenset({"per_seed", "seed_scores", "seed_values"})
_OF_TRAINING = frozenset({"train_seed", "training_seed", "train_seeds", "training_seeds"})
_LIST_COLUMNS = frozenset({"values", "scores", "per_seed", "seed_scores", "seed_values"})
_ARM_COLUMNS = ("arm", "method", "algorithm", "algo", "recipe", "condition", "variant", "model")
_SEED_LISTS = frozenset({"seeds", "train_seeds", "training_seeds"})
_SEED_NAMES = frozenset({"seed", "train_seed", "training_seed"})
_SUMMARIES = re.compile(
    r"^(mean|avg|average|median|std|sd|stdev|se|sem|stderr|var|variance|min|max|iqr|n|n_seeds"
    r"|seeds|ci|ci_.*|low|high|lower|upper|n_samples|n_examples|examples|epoch|step|steps)$"
)
# A column of one of these names makes no table of a column per arm.
_OF_LONG_TABLES = frozenset({"value", "score", "task", "task_id", "sample", "accuracy"})
# What pandas calls, written and read back, the index of a frame.
_ROW_NUMBERS = re.compile(r"^(Unnamed: \d+|index)?$")


@dataclass(frozen=True, slots=True)
class _Shape:
    """How a wide table is laid out: ``kind`` is seed-columns, lists or arm-columns."""

    kind: str
    arm: str | None
    columns: tuple[str, ...]


def sniff(document: Any, name: str) -> bool:
    """Whether content is a wide table of seed scores."""
    table = table_of(document)
    return table is not None and shape(table, Options()) is not None


def shape(table: ForeignTable, options: Options) -> _Shape | None:
    """Return how a table is laid out, or None when it is not a wide one."""
    words = {plain(column): column for column in reversed(table.columns)}
    arm = options.columns.get("arm") or next(
        (words[n] for n in _ARM_COLUMNS if n in words and _names_arms(table, words[n])), None
    )
    listed = [column for column in table.columns if plain(column) in _LIST_COLUMNS]
    value = options.columns.get("value")
    if value is not None:
        listed = [value] if any(_entries(row.get(value)) for row in table.rows) else []
    if arm and len(listed) == 1 and _holds_lists(table, listed[0]):
        return _Shape("lists", arm, tuple(listed))
    seeds = tuple(column for column in table.columns if _SEED_COLUMN.match(column))
    if arm and seeds:
        return _Shape("seed-columns", arm, seeds)
    seed = [column for column in table.columns if plain(column) in _SEED_NAMES]
    rest = tuple(c for c in table.columns if c not in seed and not _SUMMARIES.match(plain(c)))
    rest = tuple(c for c in rest if not _ROW_NUMBERS.match(c))
    if len(seed) == 1 and not arm and len(rest) > 1 and _numeric(table, rest):
        return _Shape("arm-columns", None, (seed[0], *rest))
    return None


def could_be_wide(table: ForeignTable) -> bool:
    """Whether a table of which only some rows are known could have the shape of a wide one."""
    names = {plain(column) for column in table.columns}
    if names & _LIST_COLUMNS or any(_SEED_COLUMN.match(column) for column in table.columns):
        return True
    words = {plain(column): column for column in reversed(table.columns)}
    armed = any(n in words and _names_arms(table, words[n]) for n in _ARM_COLUMNS)
    return not armed and not names & _OF_LONG_TABLES


def _names_arms(table: ForeignTable, column: str) -> bool:
    """Whether a column holds names: a column called recipe may hold that arm's scores."""
    return plain(column) == "arm" or any(
        text(row.get(column)) and cell(row.get(column))[0] is None for row in table.rows
    )


def _holds_lists(table: ForeignTable, column: str) -> bool:
    return any(len(_entries(row.get(column))) > 1 for row in table.rows)


def _numeric(table: ForeignTable, columns: Sequence[str]) -> bool:
    """Whether every column holds a number somewhere and none is the usual long table's."""
    if {plain(c) for c in columns} & _OF_LONG_TABLES:
        return False
    return all(any(cell(row.get(c))[0] is not None for row in table.rows) for c in columns)


def _entries(value: Any) -> list[Any]:
    if isinstance(value, list):
        return value
    parts = re.split(r"[,;\s]+", text(value).strip("[]() "))
    return [part for part in parts if part]


def read(files: Sequence[Foreign], options: Options) -> Draft:
    """Read wide tables; a column ``seed_7`` labels a run, a list in a cell labels none.

    Raises
    ------
    ImportRefused
        When an arm has several rows, whose seed lists cannot be joined.
    """
    notes = Notes()
    return table_draft([_Reader(file, options, notes) for file in files], notes)


class _Reader:
    """One table while it is read."""

    def __init__(self, file: Foreign, options: Options, notes: Notes) -> None:
        self.file, self.options, self.notes = file, options, notes
        table = table_of(file.content)
        laid_out = None if table is None else shape(table, options)
        if table is None or laid_out is None:
            raise ImportRefused(
                "no column of seed scores (seed_0, seed_1, … or a list under values)",
                path=file.name,
            )
        self.table, self.shape = table, laid_out
        self.metrics: set[str] = set()
        self.said = self._says_trainings()
        words = {plain(column): column for column in table.columns}
        self.metric_column = options.columns.get("metric") or words.get("metric")
        self.benchmark_column = options.columns.get("benchmark") or words.get("benchmark")

    def _says_trainings(self) -> bool:
        """Whether the table's own words, or the user's, make its values those of trainings."""
        names = {plain(column) for column in self.shape.columns}
        if self.shape.kind == "lists":
            listed = {plain(column) for column in self.table.columns}
            return bool(names & _PER_SEED or listed & _SEED_LISTS & _OF_TRAINING)
        return bool(names & _OF_TRAINING)

    def runs(self) -> Iterator[DraftRun]:
        rows = [r for r in chosen_rows(self.file, self.table, self.options) if self._wanted(r)]
        if not rows:
            raise ImportRefused("no row of the metric and benchmark asked for", path=self.file.name)
        if self.shape.kind == "arm-columns":
            yield from self._of_arm_columns(rows)
            return
        column = self.shape.arm or ""
        arms = [text(row.get(column)) for row in rows]
        self._refuse_several_rows(arms, rows)
        for arm, row in zip(arms, rows, strict=True):
            yield from self._of_row(arm, row)

    def _wanted(self, row: dict[str, Any]) -> bool:
        options = self.options
        benchmark = text(row.get(self.benchmark_column)) if self.benchmark_column else ""
        if options.benchmark not in (None, benchmark):
            return False
        if options.metric is None or self.metric_column is None:
            return True
        metric = text(row.get(self.metric_column))
        return metric == options.metric or (options.metric == ACCURACY and is_accuracy(metric))

    def _refuse_several_rows(self, arms: list[str], rows: list[dict[str, Any]]) -> None:
        if len(set(arms)) == len(arms):
            return
        twice = next(arm for arm in sorted(arms) if arms.count(arm) > 1)
        known = {self.shape.arm, *self.shape.columns}
        differ = [
            column
            for column in self.table.columns
            if column not in known
            and not _SUMMARIES.match(plain(column))
            and len({text(row.get(column)) for row in rows}) > 1
        ]
        choice = " ".join(f"--where {c}={text(rows[0].get(c))}" for c in differ)
        raise ImportRefused(
            f"arm {twice} has {arms.count(twice)} rows, and their seeds cannot be joined: choose "
            + (f"one by {', '.join(differ)}, e.g. {choice}" if choice else "one"),
            path=self.file.name,
        )

    def _metric(self, row: dict[str, Any]) -> str | None:
        named = text(row.get(self.metric_column)) if self.metric_column else ""
        name = named or self.options.metric
        if not name:
            say_unnamed(self.file.name, self.options, self.notes)
            return None
        return ACCURACY if is_accuracy(name) else name

    def _of_row(self, arm: str, row: dict[str, Any]) -> Iterator[DraftRun]:
        metric = self._metric(row)
        if self.shape.kind == "lists":
            cells = _entries(row.get(self.shape.columns[0]))
            labels = self._listed_seeds(arm, row, len(cells))
        else:
            cells = [row.get(column) for column in self.shape.columns]
            labels = [_label(column) for column in self.shape.columns]
        scores: list[float] = []
        for label, value in zip(labels, cells, strict=True):
            score = scaled(value, metric, self.options, self.file.name, f"arm {arm}: a score")
            if score is None:
                self.notes.missing(f"the seed scores of arm {arm}")
                continue
            scores.append(score)
            yield self._run(arm, label, score, metric, row)
        self._say_summaries(arm, row, scores)

    def _listed_seeds(self, arm: str, row: dict[str, Any], count: int) -> list[int | str | None]:
        """Return the seeds a list beside the scores names, or none for each.

        Raises
        ------
        ImportRefused
            When the list names a seed twice.
        """
        for column in self.table.columns:
            seeds = [whole_cell(entry) for entry in _entries(row.get(column))]
            if plain(column) not in _SEED_LISTS or len(seeds) != count or None in seeds:
                continue
            if len(set(seeds)) < count:
                raise ImportRefused(
                    f"arm {arm}: {column} names a seed twice, {text(row.get(column))}",
                    path=self.file.name,
                )
            self.notes.say(f"arm {arm}: its scores are labelled by {column}, in order")
            return list(seeds)
        self.notes.say(f"arm {arm}: a list of {count}, which gives no seed numbers")
        return [None] * count

    def _say_summaries(self, arm: str, row: dict[str, Any], scores: list[float]) -> None:
        printed = {plain(column): cell(row.get(column))[0] for column in self.table.columns}
        mean = next((printed[n] for n in ("mean", "avg", "average") if printed.get(n)), None)
        std = next((printed[n] for n in ("std", "sd", "stdev") if printed.get(n)), None)
        if self.options.scale != (0, 100):
            note = spread_note(
                scores,
                None if mean is None else float(mean),
                None if std is None else float(std),
            )
            if note:
                self.notes.say(f"arm {arm}: {note}")
        count = printed.get("n_seeds")
        if count is not None and count != len(scores):
            self.notes.say(f"arm {arm}: n_seeds says {count}, there are {len(scores)} scores")

    def _of_arm_columns(self, rows: list[dict[str, Any]]) -> Iterator[DraftRun]:
        seed_column, *arms = self.shape.columns
        metric = self._metric({})
        for arm in arms:
            seen: set[int | str | None] = set()
            for row in rows:
                label = _seed(row.get(seed_column))
                if label in seen:
                    raise ImportRefused(f"seed {label} is there twice", path=self.file.name)
                seen.add(label)
            for row in sorted(rows, key=lambda r: _order(_seed(r.get(seed_column)))):
                place = f"arm {arm}: a score"
                score = scaled(row.get(arm), metric, self.options, self.file.name, place)
                if score is None:
                    self.notes.missing(f"the seed scores of arm {arm}")
                    continue
                yield self._run(arm, _seed(row.get(seed_column)), score, metric, row)

    def _run(
        self,
        arm: str,
        label: int | str | None,
        score: float,
        metric: str | None,
        row: dict[str, Any],
    ) -> DraftRun:
        name = metric or ACCURACY
        self.metrics.add(name)
        document: dict[str, Any] = {"run_id": label} if isinstance(label, str) else {}
        document["method_metrics"] = {name: score}
        benchmark = text(row.get(self.benchmark_column)) if self.benchmark_column else ""
        if benchmark or name != ACCURACY:
            document["evaluation"] = ({"benchmark": benchmark} if benchmark else {}) | {
                "metric": name
            }
        seed = label if isinstance(label, int) else None
        return DraftRun(document, arm, seed, identified_by="user" if self.said else "none")


def _label(column: str) -> int | str:
    """Return the seed a column names; ``run_3`` names a run, and a bare number no seed."""
    match = _SEED_COLUMN.match(column)
    if match and (match[1] or "").lower() in ("seed", "s"):
        return int(match[2])
    return column


def _seed(value: Any) -> int | str | None:
    number = whole_cell(value)
    return number if number is not None else text(value) or None


def _order(label: int | str | None) -> tuple[int, int, str]:
    return (0, label, "") if isinstance(label, int) else (1, 0, label or "")
