"""One pass over a table: rows are sorted to their runs by labels, and counted by task."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from audit.importers.by_column.distinct import Distinct, codes_of, encoded
from audit.importers.by_column.plain import Conditions, NotPlain
from audit.importers.by_column.table_files import TableFile
from audit.importers.by_column.task_counts import Flags, Floats, Ints, TaskCounts, TaskNames
from audit.importers.foreign import ForeignTable
from audit.importers.metric_names import ACCURACY
from audit.importers.numbers import LARGEST_MAGNITUDE, cell
from audit.importers.row_answers import Answers, figure, says_cut, says_failed, truthy

if TYPE_CHECKING:
    import pyarrow as pa

Row = dict[str, Any]
Reading = tuple[bool | None, str | None]  # asked, metric
LABELS = ("arm", "seed", "run", "step", "benchmark", "metric")
_FLAGS = ("error", "truncated", "stop", "parsed", "unparsed")
# More runs, or more kinds of one cell, are read by rows.
_MOST_LABELS, _MOST_KINDS = 1 << 14, 1 << 16
# Distinct values of a batch that are read one by one, as the reader of rows reads them.
_ONE_BY_ONE = 1 << 12
# Keys up to which a table of them all is quicker than sorting.
_DENSE = 1 << 16
_DECIMAL = "^-?[0-9]{1,15}([.][0-9]{1,20})?([eE][-+]?[0-9]{1,2})?$"


@dataclass(slots=True)
class Label:
    """All rows that agree in what tells runs, benchmarks and metrics apart.

    Attributes
    ----------
    row : dict
        The cells they share, by column.
    rows : int
        How many they are.
    asked : bool or None
        Whether they are of the metric and benchmark asked for; None where --where drops them.
    metric : str or None
        What their values measure, None where nothing says it.
    counts : TaskCounts
        Their answers.
    least, most : int
        The smallest and largest place of a sample among them.
    """

    row: Row
    asked: bool | None
    metric: str | None
    counts: TaskCounts
    rows: int = 0
    least: int = 2**31
    most: int = -1


@dataclass(slots=True)
class CountedTable:
    """A plain table as counts: what the reader of long tables needs in the place of its rows.

    Attributes
    ----------
    table : ForeignTable
        A few of its rows.
    roles : dict
        Column by role.
    labels : list of Label
        In the order in which they first stand in the file.
    tasks : TaskNames
        The tasks of all.
    samples : list
        The numbers of answers at the places ``least`` and ``most`` of the labels.
    size : int
        Bytes of the file.
    alive : dict
        What :meth:`Liveness.count` takes.
    """

    table: ForeignTable
    roles: dict[str, str]
    size: int
    labels: list[Label] = field(default_factory=list)
    tasks: TaskNames | None = None
    samples: pa.Array | None = None
    alive: dict[str, int] = field(default_factory=dict)


class Counting:
    """One pass over a table.

    Parameters
    ----------
    file : TableFile
        Where its rows are.
    table : ForeignTable
        A few of them.
    roles : dict
        Column by role.
    kept : Conditions
        What must hold in all rows.
    answers : Answers
        Reads values.
    reading : callable
        Given the cells that rows share, ``asked`` and ``metric`` of their label.
    where : sequence of str
        Further columns that ``reading`` looks at.
    """

    def __init__(
        self,
        file: TableFile,
        table: ForeignTable,
        roles: dict[str, str],
        kept: Conditions,
        answers: Answers,
        reading: Callable[[Row], Reading],
        where: Sequence[str],
    ) -> None:
        self._file, self._roles, self._kept = file, roles, kept
        self._answers, self._reading = answers, reading
        self._found = CountedTable(table, roles, file.size)
        columns = [roles[role] for role in LABELS if role in roles]
        self._columns = list(dict.fromkeys([*columns, *where]))
        self._labelled = {column: Distinct() for column in self._columns}
        self._known: dict[tuple[int, ...], Label] = {}
        self._tasks = Distinct()
        self._samples = Distinct() if "sample" in roles else None
        self._constant = {column: Distinct() for column in kept.constant}
        self._graded: dict[tuple[str, Any], tuple[float, bool]] = {}
        self._flagged: dict[tuple[str, Any], Any] = {}
        self._alive = {"texts": 0, "lengths": 0, "unwritten": 0, "times": 0, "instant": 0}

    def result(self) -> CountedTable:
        """Count the table.

        Raises
        ------
        NotPlain
            When only the reader of rows can read it.
        """
        import pyarrow as pa

        try:
            return self._counted()
        except pa.ArrowException as error:
            raise NotPlain(f"not read by pyarrow: {error}") from None

    def _counted(self) -> CountedTable:
        roles = self._roles
        single = ("task", "sample", "value", "text", "tokens", "time", *_FLAGS)
        named = {*self._columns, *self._kept.constant, *(roles[r] for r in single if r in roles)}
        for batch in self._file.batches(sorted(named)):
            if len(batch[roles["task"]]):
                self._add(batch)
        for column, seen in self._constant.items():
            if sum(value not in (None, "") for value in seen.listed()[:3]) > 1:
                raise NotPlain(f"{column} varies")
        self._refuse_odd_names(self._tasks)
        if self._samples is not None:
            self._refuse_odd_names(self._samples)
            self._found.samples = self._samples.values
        self._found.labels = list(self._known.values())
        self._found.alive = self._alive
        if self._tasks.values is None:
            raise NotPlain("no rows")
        for label in self._found.labels:
            if label.asked:
                label.counts.settle(len(self._tasks))
        self._found.tasks = TaskNames(self._tasks.values)
        return self._found

    def _refuse_odd_names(self, distinct: Distinct) -> None:
        """Refuse ids that are blank or have blanks around them, which the reader of rows strips."""
        import pyarrow as pa
        import pyarrow.compute as pc

        values = distinct.values
        if values is None or pa.types.is_integer(values.type):
            return
        if not pa.types.is_string(values.type):
            raise NotPlain(f"ids of {values.type}")
        plain = pc.and_(
            pc.equal(pc.utf8_trim_whitespace(values), values),
            pc.greater(pc.binary_length(values), 0),
        )
        if not pc.all(plain).as_py():
            raise NotPlain("an id is blank, or has blanks around it")

    # ---- one batch ----------------------------------------------------------------------

    def _add(self, batch: Mapping[str, pa.Array]) -> None:
        roles = self._roles
        tasks = self._tasks.places(batch[roles["task"]])
        samples = None if self._samples is None else self._samples.places(batch[roles["sample"]])
        if tasks.min() < 0 or (samples is not None and samples.min() < 0):
            raise NotPlain("a row without a task or a number of its answer")
        for column, seen in self._constant.items():
            seen.places(batch[column])
            if len(seen) > 2:
                raise NotPlain(f"{column} varies")
        labels, order, ends = self._sorted(batch, len(tasks))
        coded = encoded(batch[roles["value"]])
        entries = coded.dictionary
        codes = codes_of(coded)
        if self._kept.right_or_wrong:
            self._refuse_other_values(entries)
        rows = _Rows(tasks, samples, codes, *self._said_of_rows(batch))
        if order is not None:
            rows = rows.taken(order)
        start = 0
        for label, end in zip(labels, ends, strict=True):
            label.rows += end - start
            if label.asked is not None:
                self._count(label, rows.taken(slice(start, end)), entries)
            start = end

    def _count(self, label: Label, rows: _Rows, entries: pa.Array) -> None:
        if rows.samples is not None:
            label.least = min(label.least, int(rows.samples.min()))
            label.most = max(label.most, int(rows.samples.max()))
        if not label.asked:
            return
        self._look_at_life(rows)
        numbers, lost = self._numbers(rows.codes, entries, label.metric or ACCURACY)
        missing = bool(np.isnan(numbers).any())
        label.counts.add(
            rows.tasks,
            numbers,
            rows.samples,
            lost=lost if missing else None,
            failed=rows.failed,
            flags=rows.flags,
            tokens=rows.tokens,
        )

    def _look_at_life(self, rows: _Rows) -> None:
        """Count what shows that the answers were generated."""
        if "text" in self._roles:
            self._alive["texts"] += len(rows.tasks)
        for figures, known, zero in (
            (rows.tokens, "lengths", "unwritten"),
            (rows.times, "times", "instant"),
        ):
            if figures is not None:
                self._alive[known] += int((~np.isnan(figures)).sum())
                self._alive[zero] += int((figures == 0).sum())

    # ---- labels -------------------------------------------------------------------------

    def _sorted(
        self, batch: Mapping[str, pa.Array], size: int
    ) -> tuple[list[Label], NDArray[np.int64] | None, list[int]]:
        """Return the labels of a batch, the order that brings their rows together, and its ends."""
        keys = np.zeros(size, np.int64)
        bound = 1
        codes = []
        for column, distinct in self._labelled.items():
            places = distinct.places(batch[column])
            if len(distinct) > _MOST_LABELS:
                raise NotPlain(f"{column} tells too many runs apart")
            self._refuse_missing_number(batch[column], column)
            bound *= len(distinct) + 1
            if bound >= 2**62:
                raise NotPlain("too many runs")
            keys *= len(distinct) + 1
            keys += places + 1
            codes.append(places)
        inverse = _inverse(keys, bound)
        firsts = np.zeros(int(inverse.max()) + 1, np.int64)
        firsts[inverse[::-1]] = np.arange(size - 1, -1, -1)  # of equal places the last one stays
        if len(firsts) + len(self._known) > 2 * _MOST_LABELS:
            raise NotPlain("too many runs")
        found = [Label({}, None, None, TaskCounts(numbered=False))] * len(firsts)
        for number in np.argsort(firsts):
            code = tuple(int(places[firsts[number]]) for places in codes)
            if code not in self._known:
                self._known[code] = self._label(code)
            found[number] = self._known[code]
        if len(found) == 1:
            return found, None, [size]
        ends = np.cumsum(np.bincount(inverse, minlength=len(found))).tolist()
        if (inverse[1:] >= inverse[:-1]).all():
            return found, None, ends
        return found, np.argsort(inverse.astype(np.uint16), kind="stable"), ends

    def _refuse_missing_number(self, column: pa.Array, name: str) -> None:
        import pyarrow as pa

        if column.null_count and pa.types.is_integer(column.type):
            raise NotPlain(f"{name}: whole numbers become decimals where one is missing")

    def _label(self, code: tuple[int, ...]) -> Label:
        cells = {
            column: None if place < 0 else distinct.values[place].as_py()
            for (column, distinct), place in zip(self._labelled.items(), code, strict=True)
            if distinct.values is not None
        }
        row: Row = dict.fromkeys(self._found.table.columns) | cells
        numbered = self._samples is not None
        return Label(row, *self._reading(row), TaskCounts(numbered=numbered))

    # ---- cells --------------------------------------------------------------------------

    def _numbers(self, codes: NDArray[Any], entries: pa.Array, metric: str) -> tuple[Floats, Flags]:
        """Return the values of rows, NaN for none, and where nothing says why there is none."""
        size = len(entries) + 1
        used = np.bincount(codes, minlength=size) > 0
        numbers = np.full(size, np.nan)
        lost = np.ones(size, np.bool_)
        if size > _ONE_BY_ONE:
            self._grade_all(entries, used, metric, numbers)
        else:
            listed = [*entries.to_pylist(), None]
            for place in np.flatnonzero(used):
                entry = listed[place]
                key = metric, (type(entry), entry)
                known = self._graded.get(key)
                if known is None:
                    graded = self._answers.graded(entry, metric, "a row")
                    known = (np.nan if graded is None else graded), not says_failed(entry)
                    self._graded[key] = known
                numbers[place], lost[place] = known
        return numbers[codes], lost[codes]

    def _grade_all(self, entries: pa.Array, used: Flags, metric: str, numbers: Floats) -> None:
        """Read many distinct values at once, where each is a plain number on its scale."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if self._answers.in_percent:
            raise NotPlain("percent, which is brought to fractions in decimals")
        chosen = entries.filter(pa.array(used[:-1]))
        if pa.types.is_string(chosen.type):
            if not pc.all(pc.match_substring_regex(chosen, _DECIMAL)).as_py():
                raise NotPlain("values that are no plain numbers")
        elif not pa.types.is_floating(chosen.type) and not pa.types.is_integer(chosen.type):
            raise NotPlain(f"values of {chosen.type}")
        found = pc.cast(chosen, pa.float64(), safe=False).to_numpy(zero_copy_only=False)
        low, high = (0.0, 1.0) if metric == ACCURACY else (-LARGEST_MAGNITUDE, LARGEST_MAGNITUDE)
        if not ((found >= low) & (found <= high)).all():
            raise NotPlain("values that are no plain numbers on their scale")
        numbers[:-1][used[:-1]] = found

    def _refuse_other_values(self, entries: pa.Array) -> None:
        if len(entries) > _ONE_BY_ONE:
            raise NotPlain("values other than right and wrong")
        if any(e not in (None, "") and cell(e)[0] not in (0, 1) for e in entries.to_pylist()):
            raise NotPlain("values other than right and wrong")

    def _said_of_rows(
        self, batch: Mapping[str, pa.Array]
    ) -> tuple[Flags | None, dict[str, Flags], Floats | None, Floats | None]:
        """Return what rows say beside their values: errors, flags by name, tokens and times."""
        roles = self._roles
        self._refuse_empty_texts(batch)
        failed = self._flag(batch, "error", truthy)
        if failed is not None and not failed.any():
            failed = None
        flags: dict[str, Flags] = {}
        cut = [
            self._flag(batch, role, says)
            for role, says in (("truncated", truthy), ("stop", says_cut))
            if role in roles
        ]
        marked = [marks for marks in cut if marks is not None]
        if marked:
            flags["truncated"] = np.logical_or.reduce(marked)
        for role, says_none in (("parsed", False), ("unparsed", True)):
            if role not in roles:
                continue
            if batch[roles[role]].null_count:
                raise NotPlain(f"{roles[role]} is not in every row")
            if "unparsed" in flags:
                raise NotPlain("two columns say whether an answer was parsed")
            said = self._flag(batch, role, truthy)
            assert said is not None
            flags["unparsed"] = said == says_none
        return failed, flags, self._figures(batch, "tokens"), self._figures(batch, "time")

    def _refuse_empty_texts(self, batch: Mapping[str, pa.Array]) -> None:
        import pyarrow as pa
        import pyarrow.compute as pc

        if "text" not in self._roles:
            return
        texts = batch[self._roles["text"]]
        if pa.types.is_dictionary(texts.type):
            texts = texts.cast(texts.type.value_type)
        if not pa.types.is_string(texts.type) or texts.null_count:
            raise NotPlain("responses that are no texts")
        written = pc.greater(pc.binary_length(pc.utf8_ltrim_whitespace(texts)), 0)
        if not pc.all(written).as_py():
            raise NotPlain("empty responses")

    def _flag(
        self, batch: Mapping[str, pa.Array], role: str, says: Callable[[Any], bool]
    ) -> Flags | None:
        """Return for each row what its cell says."""
        if role not in self._roles:
            return None
        found: Flags = self._each(batch[self._roles[role]], role, says).astype(np.bool_)
        return found

    def _figures(self, batch: Mapping[str, pa.Array], role: str) -> Floats | None:
        """Return the figures of a column, NaN for none."""
        if role not in self._roles:
            return None

        def read(entry: Any) -> float:
            found = figure(entry)
            return float("nan") if found is None else found

        figures: Floats = self._each(batch[self._roles[role]], role, read).astype(np.float64)
        return figures

    def _each(self, column: pa.Array, role: str, read: Callable[[Any], Any]) -> NDArray[Any]:
        """Return what ``read`` makes of each cell, reading each distinct one once."""
        coded = encoded(column)
        if len(self._flagged) > _MOST_KINDS or len(coded.dictionary) > _MOST_KINDS:
            raise NotPlain(f"{role}: too many different cells")
        found = []
        for entry in [*coded.dictionary.to_pylist(), None]:
            key = role, (type(entry), entry)
            if key not in self._flagged:
                self._flagged[key] = read(entry)
            found.append(self._flagged[key])
        each: NDArray[Any] = np.array(found)[codes_of(coded)]
        return each


@dataclass(slots=True)
class _Rows:
    """Rows of a batch as arrays of one length."""

    tasks: Ints
    samples: Ints | None
    codes: NDArray[Any]
    failed: Flags | None
    flags: dict[str, Flags]
    tokens: Floats | None
    times: Floats | None

    def taken(self, which: Any) -> _Rows:
        """Return these rows alone, or all in another order."""
        return _Rows(
            self.tasks[which],
            None if self.samples is None else self.samples[which],
            self.codes[which],
            None if self.failed is None else self.failed[which],
            {name: flag[which] for name, flag in self.flags.items()},
            None if self.tokens is None else self.tokens[which],
            None if self.times is None else self.times[which],
        )


def _inverse(keys: NDArray[np.int64], bound: int) -> NDArray[np.intp]:
    """Return the place of each row's key among the distinct keys, sorted."""
    if bound > _DENSE:
        places: NDArray[np.intp] = np.unique(keys, return_inverse=True)[1]
    else:
        places = (np.cumsum(np.bincount(keys, minlength=bound) > 0) - 1)[keys]
    return places
