"""Long tables (CSV, Parquet, Arrow, JSON Lines): an outcome a row; arm, seed and task in columns.

A row is never a training run: runs are told apart by a seed or run column alone, and rows that
repeat under one task are further answers to it. Outcomes are paired by task id, so that the order
of rows decides nothing but which arm is the first named.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from audit.errors import AuditError, ImportRefused
from audit.importers.by_column.counting import CountedTable, Counting
from audit.importers.by_column.plain import NotPlain, conditions
from audit.importers.by_column.table_files import TableFile
from audit.importers.by_column.task_counts import OutcomesByColumn
from audit.importers.columns import (
    TRAINING_SEEDS,
    chosen_rows,
    is_asked_for,
    kept,
    metric_of,
    roles_of,
    table_of,
    text,
)
from audit.importers.draft import Draft, DraftRun, Options
from audit.importers.foreign import Foreign, ForeignTable
from audit.importers.metric_names import (
    ACCURACY,
    plain,
    refuse_impossible_pass_at_k,
)
from audit.importers.notes import Notes
from audit.importers.numbers import cell, fits_count, whole_cell
from audit.importers.outcomes import CollectedOutcomes
from audit.importers.row_answers import Answers
from audit.importers.run_status import FINISHED, Status, status_of
from audit.importers.scaled import lowest, say_unnamed, scaled
from audit.importers.summary_rows import Summary, without_summaries
from audit.importers.table_draft import table_draft
from audit.importers.wide_table import shape
from audit.reading import Source

Label = int | str | None  # a seed's number, a run's name, or nothing
Cell = tuple[str, str]  # benchmark, metric
Group = tuple[str, Label, int | None, int]  # arm, run, step, place among rows of no run


def sniff(document: Any, name: str) -> bool:
    """Whether content is rows with a value column and an arm, seed or task beside it."""
    table = table_of(document)
    if table is None or shape(table, Options()) is not None:
        return False
    table, _ = without_summaries(table)
    try:
        roles = roles_of(table, Options(), name)
    except ImportRefused:
        return True
    return "value" in roles and bool({"arm", "seed", "run", "task"} & set(roles))


@dataclass
class _Run:
    """All rows of one arm, run and step."""

    outcomes: dict[Cell, CollectedOutcomes] = field(default_factory=dict)
    scores: dict[Cell, float] = field(default_factory=dict)
    examples: dict[Cell, int] = field(default_factory=dict)
    step: int | None = None
    status: Status | None = None
    run_id: str | None = None
    failures: list[str] = field(default_factory=list)
    lost: bool = False


def read(files: Sequence[Foreign], options: Options) -> Draft:
    """Read long tables.

    Raises
    ------
    UsageError
        When a named column is missing.
    ImportRefused
        When runs cannot be told apart, an outcome is there twice, percent is not said, or the
        evaluation never ran.
    """
    notes = Notes()
    readers = [
        (_CountedReader if isinstance(file.content, CountedTable) else _Reader)(
            file, options, notes
        )
        for file in files
    ]
    return table_draft(readers, notes)


class _Reader:
    """One table while it is read."""

    def __init__(self, file: Foreign, options: Options, notes: Notes) -> None:
        self.file, self.options, self.notes = file, options, notes
        for note in file.notes:
            notes.say(note)
        table, self.summaries = self._table()
        self.table = table
        self.roles = roles_of(table, options, file.name)
        if "value" not in self.roles and not {"count", "examples"} <= set(self.roles):
            columns = ", ".join(table.columns)
            raise ImportRefused(f"no value column: --map value=NAME of {columns}", path=file.name)
        self.value = self.roles.get("value", self.roles.get("count", ""))
        self.rows = self._chosen()
        self.by_id = self._names_rows_by_id()
        self.decoding = self._numbers_answers()
        self.metrics: set[str] = set()
        self.answers = Answers(file.name, self.value, self.roles, options, notes)
        self.groups: dict[Group, _Run] = {}
        # Runs without any name, by what they share: each further row is at the next place.
        self.places: Counter[tuple[Any, ...]] = Counter()
        self.id_column = self._id_column() if self.by_id else None

    # ---- what the columns are -----------------------------------------------------------

    def _table(self) -> tuple[ForeignTable, list[Summary]]:
        table = table_of(self.file.content, self.options.columns.get("records"))
        if table is None:
            raise ImportRefused("not rows with named columns", path=self.file.name)
        return without_summaries(table)

    def _chosen(self) -> list[dict[str, Any]]:
        return list(chosen_rows(self.file, self.table, self.options))

    @property
    def numbered(self) -> tuple[str, ...]:
        """The roles of the columns that number the answers to a task."""
        return ("sample", "seed", "run") if self.decoding else ("sample",)

    def _names_rows_by_id(self) -> bool:
        """Whether rows are runs of a tracker: each with a state, and a name of its own."""
        column = self.roles.get("status")
        if column is None or "task" in self.roles:
            return False
        words = [text(row.get(column)) for row in self.rows]
        if not all(status_of(word, column) for word in words if word):
            return False
        return any(words)

    def _numbers_answers(self) -> bool:
        """Whether the seed column numbers answers of one model rather than training runs."""
        if self.options.seed_is is not None or "seed" in self.options.columns:
            return False
        seed, sample = self.roles.get("seed"), self.roles.get("sample")
        if seed is None or "task" not in self.roles or plain(seed) in TRAINING_SEEDS:
            return False
        if sample is None or self.options.seed_key is not None:
            return False
        pairs = self._pairs(seed, sample)
        seeds = {pair[0] for pair in pairs}
        if len(seeds) < 2 or not len(pairs) == len(seeds) == len({pair[1] for pair in pairs}):
            return False
        self.notes.say(
            f"{self.file.name}: {seed} changes with {sample} alone, so it numbers the answers of "
            "one model, not training runs (--seed-is training otherwise)"
        )
        return True

    def _pairs(self, seed: str, sample: str) -> set[tuple[str, str]]:
        """Return what stands beside each other in two columns."""
        return {(text(row.get(seed)), text(row.get(sample))) for row in self.rows}

    # ---- rows ---------------------------------------------------------------------------

    def runs(self) -> Iterator[DraftRun]:
        self._collect()
        if not self.groups:
            raise ImportRefused("no row of the metric and benchmark asked for", path=self.file.name)
        self.answers.refuse_dead()
        finished = [g for g in self.groups.values() if g.status is None or g.status.finished]
        if finished and not any(any(g.outcomes.values()) or g.scores for g in finished):
            raise ImportRefused(f"{self.value} holds no finite number", path=self.file.name)
        self.answers.settle_signs([group.outcomes for group in self.groups.values()])
        self._say_failures()
        last = max((g.step for g in self.groups.values() if g.step is not None), default=None)
        for key in self._ordered():
            yield self._run(key, self.groups[key], last)
        self._check_summaries()

    def _collect(self) -> None:
        """Bring all rows that are asked for into the runs they belong to."""
        for row in self.rows:
            if is_asked_for(row, self.roles, self.options):
                self._add(row)

    def _ordered(self) -> list[Group]:
        """Arms in the order of the file; the runs of an arm by seed, name and step."""
        arms = list(dict.fromkeys(arm for arm, *_ in self.groups))
        return sorted(self.groups, key=lambda key: (arms.index(key[0]), *_order(key)))

    def _cell(self, row: Mapping[str, Any], role: str) -> str:
        return text(row.get(self.roles[role])) if role in self.roles else ""

    def _add(self, row: Mapping[str, Any]) -> None:
        metric = _metric(row, self.roles, self.options)
        place = self._place(row, metric)
        if place is None:
            return
        group, key, what = place
        if "task" in self.roles:
            sample = ", ".join(filter(None, (self._cell(row, role) for role in self.numbered)))
            self.answers.add(group.outcomes, key, row, sample or None, what)
        else:
            self._add_score(group, key, row, metric, what)

    def _place(
        self, row: Mapping[str, Any], metric: str | None, count: int = 1
    ) -> tuple[_Run, Cell, str] | None:
        """Return the run, the benchmark and metric, and their name; None for an earlier attempt.

        ``count`` rows share the labels of this one.
        """
        if metric is None:
            say_unnamed(self.file.name, self.options, self.notes)
        arm, label = self._cell(row, "arm"), self._label(row)
        if "arm" in self.roles and not arm:
            raise ImportRefused(f"a row has no {self.roles['arm']}", path=self.file.name)
        if "seed" in self.roles and not self.decoding and not isinstance(label, int):
            self.notes.missing(f"{self.file.name}, {self.roles['seed']} (no whole number)", count)
        step = whole_cell(self._cell(row, "step"))
        step = step if step is not None and step >= 0 else None
        benchmark = self._cell(row, "benchmark") or self.options.benchmark or ""
        key = (benchmark, metric or ACCURACY)
        group = self._group(row, (arm, label, step, 0), key)
        if group is None:
            return None
        self.metrics.add(key[1])
        return group, key, _what(arm, label)

    def _group(self, row: Mapping[str, Any], at: Group, key: Cell) -> _Run | None:
        """Return what a row belongs to; None for an attempt at a run that was tried again."""
        arm, label, step, place = at
        if not self.by_id:
            if label is None and "task" not in self.roles:
                # Scores without any name of a run: runs by their places alone.
                place = self.places[arm, step, key]
                self.places[arm, step, key] += 1
            group = self.groups.setdefault((arm, label, step, place), _Run())
            group.step = step
            return group
        status = status_of(self._cell(row, "status"), self.roles["status"]) or FINISHED
        old = self.groups.get((arm, label, None, 0))
        failures: list[str] = []
        if old is not None and old.status is not None and label is not None:
            if not status.finished:
                old.failures.append(status.failure)
                return None
            if old.status.finished:
                return old
            failures = [*old.failures, old.status.failure]
        group = _Run(step=step, status=status, failures=failures, run_id=self._tracker_id(row))
        self.groups[arm, label, None, 0] = group
        return group

    def _id_column(self) -> str | None:
        """Return the column of a tracker's ids: its ID, or its Name where no two rows share one."""
        for name in ("ID", "run_id", "Name", "name", "run_name"):
            names = [text(row.get(name)) for row in self.rows]
            if all(names) and len(set(names)) == len(names):
                return name
        return None

    def _tracker_id(self, row: Mapping[str, Any]) -> str | None:
        return None if self.id_column is None else text(row.get(self.id_column))

    # ---- scores -------------------------------------------------------------------------

    def _add_score(
        self,
        group: _Run,
        key: Cell,
        row: Mapping[str, Any],
        metric: str | None,
        what: str,
    ) -> None:
        if key in group.scores:
            where = f" on {key[0]}" if key[0] else ""
            raise ImportRefused(f"{what} is there twice{where}", path=self.file.name)
        value, count = self._score(row, metric, what)
        if value is None:
            group.lost = True
            if group.status is None or group.status.finished:
                self.notes.missing(f"{self.file.name}, {self.value}")
            return
        group.scores[key] = value
        if count is not None:
            group.examples[key] = count

    def _score(
        self, row: Mapping[str, Any], metric: str | None, what: str
    ) -> tuple[float | None, int | None]:
        """Return a row's score, and the number of answers it is said to rest on."""
        count = whole_cell(self._cell(row, "examples"))
        count = count if count is not None and count > 0 else None
        if "value" in self.roles:
            place = f"{self.value} of {what}"
            value = scaled(row.get(self.value), metric, self.options, self.file.name, place)
        else:
            right = whole_cell(self._cell(row, "count"))
            value = None if right is None or not count else right / count
        if count and value is not None and metric in (None, ACCURACY):
            printed = cell(row.get(self.value))[0] if "value" in self.roles else None
            if not fits_count(value, count, printed, self.options.scale == (0, 100)):
                self.notes.say(
                    f"{self.file.name}: {what}: {value:g} is no whole count out of the {count} "
                    "answers said"
                )
        return value, count

    # ---- runs ---------------------------------------------------------------------------

    def _label(self, row: Mapping[str, Any]) -> Label:
        if self.decoding:
            return None
        seed = whole_cell(self._cell(row, "seed"))
        if seed is not None:
            return seed
        named = self._cell(row, "run") or self._cell(row, "seed")
        return named or (self._tracker_id(row) if self.by_id else None)

    def _say_failures(self) -> None:
        """Say of which runs the figures are not used, because they did not finish."""
        ends: dict[str, int] = {}
        for group in self.groups.values():
            if group.status is not None and not group.status.finished:
                ends[group.status.word] = ends.get(group.status.word, 0) + 1
        if ends:
            listed = ", ".join(f"{word}: {count}" for word, count in sorted(ends.items()))
            count = sum(ends.values())
            self.notes.say(
                f"{self.file.name}: {count} {'run' if count == 1 else 'runs'} did not finish "
                f"({listed}): launched and recorded, but without their figures"
            )

    def _run(self, key: Group, group: _Run, last: int | None) -> DraftRun:
        arm, label, _, place = key
        step = group.step
        untrained = step == 0 and last is not None and last > 0
        is_base = untrained and any(other[:2] == key[:2] and other[2] for other in self.groups)
        if untrained and not is_base and (group.status is None or group.status.finished):
            group.status = Status("failed", "stopped at step 0", "stopped at step 0")
            self.notes.say(f"{_what(arm, label)} is at step 0: it was never trained, and failed")
        document = self._document(group, step)
        if group.failures:
            document["earlier_failures"] = group.failures
        name = group.run_id or (label if isinstance(label, str) else None)
        if name is not None:
            document = {"run_id": name} | document
        return DraftRun(
            document,
            arm or None,
            label if isinstance(label, int) else None,
            base=is_base,
            identified_by=self._evidence(group, label),
            run_key=None if step is None or self.by_id else f"{self.file.name}, {key[:2]}, {place}",
        )

    def _evidence(self, group: _Run, label: Label) -> str:
        if not isinstance(label, int):
            return "none"
        if self.by_id and group.run_id is not None:
            return "trainer-config"
        said = "seed" in self.options.columns or self.options.seed_key is not None
        if said or plain(self.roles.get("seed", "")) in TRAINING_SEEDS:
            return "user"
        return "none"

    def _document(self, group: _Run, step: int | None) -> dict[str, Any]:
        if group.status is not None and not group.status.finished:
            return {"status": group.status.status, "failure": group.status.failure}
        for (_, metric), outcomes in group.outcomes.items():
            if "sample" in self.roles and outcomes.binary:
                refuse_impossible_pass_at_k(metric, outcomes.samples, self.file.name)
        if group.lost and not group.scores:
            return {"status": "failed", "failure": "no value recorded"}
        at = {} if step is None else {"checkpoint_step": step}
        single = len({benchmark for benchmark, _ in {*group.outcomes, *group.scores}}) == 1
        blocks = [
            at | group.outcomes[key].block(key[0] or None, key[1], self.notes, self._low(key[1]))
            for key in sorted(group.outcomes)
            if group.outcomes[key].drawn
        ]
        scores: dict[str, Any] = {}
        counts = {group.examples.get(key) for key in group.scores}
        for benchmark, metric in sorted(group.scores):
            name = metric if single else f"{benchmark}/{metric}"
            scores[name] = group.scores[benchmark, metric]
            self.metrics.add(name)
            if benchmark or metric != ACCURACY or at:
                block = {"benchmark": benchmark} if benchmark else {}
                blocks.append(at | block | {"metric": name})
        if len(counts) == 1 and None not in counts:
            scores["examples"] = counts.pop()
        document: dict[str, Any] = {"method_metrics": scores} if scores else {}
        if blocks:
            document["evaluation"] = blocks[0]
        if len(blocks) > 1:
            document["evaluations"] = blocks[1:]
        return document

    def _low(self, metric: str) -> float | None:
        return lowest(metric, self.options)

    # ---- summaries ----------------------------------------------------------------------

    def _check_summaries(self) -> None:
        """Compare what the file prints of itself with its rows."""
        every = [o for group in self.groups.values() for o in group.outcomes.values()]
        drawn = sum(outcomes.drawn for outcomes in every)
        if not self.summaries or not drawn or not all(outcomes.binary for outcomes in every):
            return
        right = sum(outcomes.right for outcomes in every)
        for summary in self.summaries:
            if summary.answers is not None and summary.answers > drawn and right == 0:
                raise ImportRefused(
                    f"its rows are the {drawn} wrong answers of {summary.answers} alone; the right "
                    "ones have no row, so import a file with all answers",
                    path=self.file.name,
                )
            note = summary.contradiction(right, drawn)
            if note is not None:
                self.notes.say(f"{self.file.name}: {note}")


class _CountedReader(_Reader):
    """One plain table, whose rows were counted by column."""

    def _table(self) -> tuple[ForeignTable, list[Summary]]:
        self.counted: CountedTable = self.file.content
        return self.counted.table, []

    def _chosen(self) -> list[dict[str, Any]]:
        return [label.row for label in self.counted.labels if label.asked is not None]

    def _pairs(self, seed: str, sample: str) -> set[tuple[str, str]]:
        # Two samples beside a seed tell what all of them would: the seed numbers no answers.
        samples = self.counted.samples
        assert samples is not None  # there is a column of them
        return {
            (text(label.row.get(seed)), text(samples[place].as_py()))
            for label in self.counted.labels
            if label.asked is not None
            for place in (label.least, label.most)
        }

    def _collect(self) -> None:
        tasks = self.counted.tasks
        assert tasks is not None
        for label in self.counted.labels:
            if not label.asked:
                continue
            place = self._place(label.row, label.metric, label.rows)
            assert place is not None  # only runs of a tracker have earlier attempts
            group, key, what = place
            if self.decoding or key in group.outcomes:
                raise NotPlain("rows of several labels are of one run")
            group.outcomes[key] = OutcomesByColumn(what, label.counts, tasks)
        self.answers.count_alive(self.counted.alive)


def by_column(file: TableFile, options: Options) -> Foreign:
    """Return a table with its rows counted by column, for :func:`read`.

    Raises
    ------
    NotPlain
        When only the reader of rows can read it as it does, or would refuse it.
    """
    table = table_of(file.few.content, options.columns.get("records"))
    if table is None or without_summaries(table)[0] is not table:
        raise NotPlain("no rows of one shape")
    try:
        roles = roles_of(table, options, file.name)
        keeping = conditions(table, roles, options)
        if not set(options.where) <= set(table.columns):
            raise NotPlain("a column of --where is missing")
        answers = Answers(file.name, roles["value"], roles, options, Notes())

        def reading(row: dict[str, Any]) -> tuple[bool | None, str | None]:
            asked = is_asked_for(row, roles, options) if kept(row, options) else None
            return asked, _metric(row, roles, options)

        counting = Counting(file, table, roles, keeping, answers, reading, tuple(options.where))
        found = counting.result()
        foreign = Foreign(Source(file.name, b"", file.sha256), found, size_on_disk=file.size)
        trial = _CountedReader(foreign, options, Notes())
        if not trial.rows:
            raise NotPlain("no row is left")
        trial._collect()
    except AuditError as error:
        raise NotPlain(error.message) from None
    return foreign


def _metric(row: Mapping[str, Any], roles: Mapping[str, str], options: Options) -> str | None:
    """Return what the value of a row measures, None where nothing says it."""
    if "value" not in roles:
        return ACCURACY
    named = text(row.get(roles["metric"])) if "metric" in roles else ""
    return metric_of(roles["value"], named or None, options)


def _what(arm: str, label: Label) -> str:
    named = f"arm {arm}" if arm else "the file"
    if label is None:
        return named
    return f"{named}, {'seed' if isinstance(label, int) else 'run'} {label}"


def _order(key: Group) -> tuple[int, int, str, int, int]:
    _, label, step, place = key
    at = -1 if step is None else step
    if isinstance(label, int):
        return 0, label, "", place, at
    return 1 if label else 2, 0, label or "", place, at
