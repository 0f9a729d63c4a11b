"""Counts of one run's answers by task, and the evaluation block that they make."""

from __future__ import annotations

from collections.abc import Collection
from functools import cached_property
from itertools import compress
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from audit.importers.by_column.plain import NotPlain
from audit.importers.outcomes import CollectedOutcomes, natural

if TYPE_CHECKING:
    import pyarrow as pa

Ints = NDArray[np.int32]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
# Sums of whole numbers below it are exact in any order.
_EXACT = 2.0**53
# Bytes of marks that a run may take beyond one for each of its rows, before keys are kept instead.
_SPARE = 1 << 24
# Digits of which every number fits 64 bits.
_WHOLE = "^[0-9]{1,18}$"


class TaskNames:
    """The tasks of a table in natural order, shared by all its runs.

    Parameters
    ----------
    values : pyarrow.Array
        Distinct ids, text or whole numbers, in the order of their places.
    """

    def __init__(self, values: pa.Array) -> None:
        self._values = values

    def __len__(self) -> int:
        return len(self._values)

    @cached_property
    def order(self) -> NDArray[np.int64]:
        """The places of the tasks in natural order."""
        import pyarrow as pa
        import pyarrow.compute as pc

        values = self._values
        if pa.types.is_integer(values.type):
            numbers = values.to_numpy(zero_copy_only=False)
            if len(numbers) and numbers.min() >= 0 and numbers.max() < 10**18:
                by_number: NDArray[np.int64] = np.argsort(numbers, kind="stable")
                return by_number
        elif pc.all(pc.string_is_ascii(values)).as_py():
            whole = pc.match_substring_regex(values, _WHOLE).to_numpy(zero_copy_only=False)
            by_text = pc.sort_indices(values).to_numpy()
            numbered = by_text[whole[by_text]]
            numbers = pc.cast(values.take(pa.array(numbered)), pa.int64()).to_numpy()
            numbered = numbered[np.argsort(numbers, kind="stable")]
            return np.concatenate([numbered, by_text[~whole[by_text]]]).astype(np.int64)
        names = [str(name) for name in values.to_pylist()]
        return np.array(sorted(range(len(names)), key=lambda i: natural(names[i])), np.int64)

    @cached_property
    def names(self) -> list[str]:
        """The ids in natural order, as text."""
        import pyarrow as pa

        listed = self._values.take(pa.array(self.order)).to_pylist()
        return listed if pa.types.is_string(self._values.type) else list(map(str, listed))


class TaskCounts:
    """Answers of one run on one benchmark, counted by the place of their task.

    Attributes
    ----------
    rows : int
        Answers.
    lost : int
        Answers without a value that nothing says to have failed.
    """

    def __init__(self, *, numbered: bool) -> None:
        self.rows = self.lost = 0
        self.size = 0
        self.drawn = np.zeros(0, np.int32)
        self.right = np.zeros(0, np.int32)
        self.marked: dict[str, Ints] = {}
        self.token_sums = np.zeros(0)
        self.others: list[tuple[Ints, Floats]] = []
        self._marks: Marks | None = Marks() if numbered else None

    def add(
        self,
        tasks: Ints,
        numbers: Floats,
        samples: Ints | None,
        *,
        lost: Flags | None,
        failed: Flags | None,
        flags: dict[str, Flags],
        tokens: Floats | None,
    ) -> None:
        """Count rows.

        Parameters
        ----------
        tasks, samples : array of int, shape (n,)
            Places of the task and of the number of the answer.
        numbers : array of float, shape (n,)
            Values, NaN for none.
        lost, failed : array of bool, shape (n,), or None
            Whether a missing value is said by nothing, and whether the row holds an error.
        flags : mapping
            ``truncated`` or ``unparsed`` to what is counted.
        tokens : array of float, shape (n,), or None
            NaN for none.
        """
        self.rows += len(tasks)
        self.size = max(self.size, int(tasks.max()) + 1)
        self.drawn = _counted(self.drawn, tasks, self.size)
        if self._marks is not None and samples is not None:
            self._marks.add(tasks, samples, self.rows)
        bad = np.isnan(numbers)
        if failed is not None:
            if lost is not None:
                self.lost += int((bad & lost & ~failed).sum())
            bad |= failed & (numbers <= 0)
        elif lost is not None:
            self.lost += int((bad & lost).sum())
        if bad.any():
            self._count("errored", tasks[bad])
            tasks_of_values, values = tasks[~bad], numbers[~bad]
        else:
            tasks_of_values, values = tasks, numbers
        ones = values == 1.0
        self.right = _counted(self.right, tasks_of_values[ones], self.size)
        rest = ~(ones | (values == 0.0))
        if rest.any():
            self.others.append((tasks_of_values[rest], values[rest]))
        for name, marked in flags.items():
            self._count(name, tasks[marked])
        if tokens is not None:
            told = tokens >= 0  # NaN is not
            self._count("tokens", tasks[told])
            self._add_tokens(tasks[told], tokens[told])

    def settle(self, size: int) -> None:
        """Bring all counts to the number of tasks of the table.

        Raises
        ------
        NotPlain
            When an answer is there twice, or a sum of tokens is not exact.
        """
        if self._marks is not None:
            self._marks.refuse_repeats(self.rows)
        self._marks = None
        self.drawn = _grown(self.drawn, size, exact=True)
        self.right = _grown(self.right, size, exact=True)
        self.marked = {n: _grown(c, size, exact=True) for n, c in self.marked.items()}
        self.token_sums = _grown(self.token_sums, size, exact=True)

    def _count(self, name: str, tasks: Ints) -> None:
        self.marked[name] = _counted(self.marked.get(name, np.zeros(0, np.int32)), tasks, self.size)

    def _add_tokens(self, tasks: Ints, tokens: Floats) -> None:
        if (tokens != np.floor(tokens)).any() or tokens.sum() + self.token_sums.sum() >= _EXACT:
            raise NotPlain("tokens whose sum is not exact")
        self.token_sums = _grown(self.token_sums, self.size)
        np.add.at(self.token_sums, tasks, tokens)


class Marks:
    """Which answers were seen: a mark for each pair of task and sample, or the pairs themselves."""

    def __init__(self) -> None:
        self._grid: Flags | None = np.zeros((1, 0), np.bool_)
        self._pairs: list[NDArray[np.int64]] = []

    def add(self, tasks: Ints, samples: Ints, rows: int) -> None:
        """Mark pairs; ``rows`` is how many there are with these."""
        if self._grid is not None:
            height, width = self._grid.shape
            if samples.max() >= height:
                height = max(int(samples.max()) + 1, height * 5 // 4)
            if tasks.max() >= width:
                width = max(int(tasks.max()) + 1, width * 5 // 4)
            if height * width > 8 * rows + _SPARE:
                at = np.nonzero(self._grid)
                self._pairs.append(_pairs(at[1], at[0]))
                self._grid = None
            elif (height, width) != self._grid.shape:
                grid = np.zeros((height, width), np.bool_)
                grid[: self._grid.shape[0], : self._grid.shape[1]] = self._grid
                self._grid = grid
        if self._grid is None:
            self._pairs.append(_pairs(tasks, samples))
        else:
            self._grid[samples, tasks] = True

    def refuse_repeats(self, rows: int) -> None:
        """Raise NotPlain where fewer pairs are marked than there are rows."""
        if self._grid is not None:
            repeated = int(np.count_nonzero(self._grid)) != rows
        else:
            pairs = np.concatenate(self._pairs)
            self._pairs.clear()
            pairs.sort()
            repeated = len(pairs) != rows or bool((pairs[1:] == pairs[:-1]).any())
        if repeated:
            raise NotPlain("an answer is there twice")


def _pairs(tasks: NDArray[Any], samples: NDArray[Any]) -> NDArray[np.int64]:
    pairs: NDArray[np.int64] = (tasks.astype(np.int64) << 32) | samples
    return pairs


def _grown(array: NDArray[Any], size: int, *, exact: bool = False) -> NDArray[Any]:
    if len(array) >= size and not (exact and len(array) > size):
        return array
    grown: NDArray[Any] = np.zeros(size if exact else max(size, len(array) * 5 // 4), array.dtype)
    kept: NDArray[Any] = array[:size] if exact else array
    grown[: len(kept)] = kept
    return grown


def _counted(counts: Ints, tasks: Ints, size: int) -> Ints:
    """Return counts with one more for each task named."""
    counts = _grown(counts, size)
    if len(tasks):
        low, high = int(tasks.min()), int(tasks.max()) + 1
        if high - low > 8 * len(tasks):
            np.add.at(counts, tasks, 1)
        else:
            counts[low:high] += np.bincount(tasks - low).astype(np.int32)
    return counts


class OutcomesByColumn(CollectedOutcomes):
    """One run's counts as the outcomes of a run.

    Parameters
    ----------
    what : str
        What is collected, for messages.
    counts : TaskCounts
        Settled for all tasks of the table.
    names : TaskNames
        The tasks.
    """

    def __init__(self, what: str, counts: TaskCounts, names: TaskNames) -> None:
        super().__init__(what)
        self.lost = counts.lost
        self._counted, self._names = counts, names
        self._errored = counts.marked.get("errored", np.zeros(len(names), np.int32))
        none = np.zeros(0, np.int32), np.zeros(0)
        parts = counts.others or [none]
        self._other_tasks = np.concatenate([tasks for tasks, _ in parts])
        self._other_values = np.concatenate([values for _, values in parts])
        self._right = counts.right

    @property
    def _valued(self) -> Ints:
        return self._counted.drawn - self._errored

    def __bool__(self) -> bool:
        return bool(self._valued.any())

    @property
    def drawn(self) -> int:
        """Answers that were asked for, those that ended in an error included."""
        return self._counted.rows

    @property
    def samples(self) -> int:
        """The most samples any task has."""
        return int(self._counted.drawn.max(initial=0))

    @property
    def right(self) -> float:
        """The sum of all outcomes."""
        return float(self._right.sum() + self._other_values.sum())

    def only(self, values: Collection[float]) -> bool:
        """Whether every outcome is one of these."""
        ones = int(self._right.sum())
        zeros = int(self._valued.sum()) - ones - len(self._other_values)
        known = np.isin(self._other_values, list(values)).all()
        return bool(known) and (not ones or 1.0 in values) and (not zeros or 0.0 in values)

    def holds(self, value: float) -> bool:
        """Whether an outcome is this."""
        return bool((self._other_values == value).any())

    def replace_values(self, others: dict[float, float]) -> None:
        """Write other values for the outcomes."""
        # What becomes 0 needs no place: it is what neither is right nor another value.
        assert set(others.values()) == {0.0}, "only -1 is ever replaced, by 0"
        kept = ~np.isin(self._other_values, list(others))
        self._other_tasks, self._other_values = self._other_tasks[kept], self._other_values[kept]

    def _keep(self, *, valued: bool) -> tuple[int, int]:
        seen = self._counted.drawn > 0
        kept = (self._valued > 0) if valued else seen
        order = self._names.order
        self._all = bool(kept.all())
        self._mask = kept[order]
        self._places = order[self._mask]
        every = int(seen.sum())
        return every - len(self._places), every

    def _tasks(self) -> list[str]:
        names = self._names.names
        return names if self._all else list(compress(names, self._mask.tolist()))

    def _samples(self) -> list[int]:
        return self._listed(self._counted.drawn)

    def _correct(self) -> list[int]:
        return self._listed(self._right)

    def _scores(self, low: float | None) -> list[float]:
        size = len(self._names)
        everyone = np.arange(size, dtype=np.int32)
        tasks = [self._other_tasks, np.repeat(everyone, self._right)]
        values = [self._other_values, np.ones(len(tasks[1]))]
        counted = self._valued
        if low is not None:
            tasks.append(np.repeat(everyone, self._errored))
            values.append(np.full(len(tasks[2]), low))
            counted = counted + self._errored
        every = np.concatenate(values)
        order = np.argsort(every, kind="stable")
        # Adds in the order of the rows: each task's values from the smallest on.
        sums = np.bincount(np.concatenate(tasks)[order], weights=every[order], minlength=size)
        found: list[float] = (sums[self._places] / counted[self._places]).tolist()
        return found

    def _counts(self) -> dict[str, list[int]]:
        names = ("errored", "truncated", "unparsed")
        counts = self._counted.marked
        found = {name: counts[name] for name in names if name in counts}
        return {
            name: self._listed(count)
            for name, count in found.items()
            if name == "unparsed" or count.any()
        }

    def _mean_tokens(self) -> list[float]:
        told = self._counted.marked.get("tokens")
        if told is None:
            return []
        told, valued = told[self._places], self._valued[self._places]
        if not ((told >= valued) & (valued > 0)).all():
            return []
        means: list[float] = (self._counted.token_sums[self._places] / told).tolist()
        return means

    def _listed(self, counts: Ints) -> list[int]:
        listed: list[int] = counts[self._places].tolist()
        return listed
