"""The distinct values of one column, and every row as a place among them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from audit.importers.by_column.plain import NotPlain

if TYPE_CHECKING:
    import pyarrow as pa

# Runs of known values that are looked for in a batch before all of them are hashed again.
_MOST_RUNS = 8


class Distinct:
    """Values in the order in which they first stand in the file.

    Attributes
    ----------
    values : pyarrow.Array or None
        The distinct values; None before the first batch.
    """

    def __init__(self) -> None:
        self.values: pa.Array | None = None
        self._last: tuple[pa.Array, NDArray[np.int32]] | None = None

    def __len__(self) -> int:
        return 0 if self.values is None else len(self.values)

    def places(self, column: pa.Array) -> NDArray[np.int32]:
        """Return the place of each row's value, -1 for a missing one.

        Raises
        ------
        NotPlain
            When the column is of a type that has no plain text or number.
        """
        import pyarrow as pa

        coded = encoded(column)
        if pa.types.is_floating(coded.dictionary.type):
            self._refuse_nan(coded.dictionary)
        places = np.append(self._of(coded.dictionary), np.int32(-1))
        found: NDArray[np.int32] = places[codes_of(coded)]
        return found

    def listed(self) -> list[Any]:
        """Return the values as Python has them."""
        return [] if self.values is None else self.values.to_pylist()

    def _refuse_nan(self, values: pa.Array) -> None:
        import pyarrow.compute as pc

        if pc.any(pc.is_nan(values)).as_py():
            raise NotPlain("NaN in a column")

    def _of(self, local: pa.Array) -> NDArray[np.int32]:
        """Return the places of distinct values, new ones behind those that were known."""
        import pyarrow as pa

        if self._last is not None and self._last[0].equals(local):
            return self._last[1]
        if self.values is None:
            _refuse_twice(local)
            self.values = local
            places = np.arange(len(local), dtype=np.int32)
        else:
            if local.type != self.values.type:
                raise NotPlain("a column changes its type")
            found, rest = _runs(local, self.values)
            if len(rest):
                _refuse_twice(rest)
                tail = _found(rest, self.values)
                new = tail < 0
                if new.any():
                    tail[new] = len(self.values) + np.arange(new.sum(), dtype=np.int32)
                    self.values = pa.concat_arrays([self.values, rest.filter(pa.array(new))])
                found.append(tail)
            places = np.concatenate(found)
        self._last = local, places
        return places


def _refuse_twice(values: pa.Array) -> None:
    """Refuse a dictionary that names a value twice, as a file of another writer might."""
    import pyarrow.compute as pc

    if pc.count_distinct(values).as_py() != len(values):
        raise NotPlain("a dictionary names a value twice")


def encoded(column: pa.Array) -> pa.DictionaryArray:
    """Return a column of texts, numbers or truth as places in a dictionary.

    Raises
    ------
    NotPlain
        When it is of another type.
    """
    import pyarrow as pa

    coded = pa.types.is_dictionary(column.type)
    kind = column.type.value_type if coded else column.type
    known = (pa.types.is_string, pa.types.is_integer, pa.types.is_boolean)
    if not (any(fits(kind) for fits in known) or kind in (pa.float32(), pa.float64())):
        raise NotPlain(f"a column of {kind}")
    found = column if coded else column.dictionary_encode()
    if found.dictionary.null_count:
        raise NotPlain("a missing value in a dictionary")
    return found


def codes_of(coded: pa.Array) -> NDArray[Any]:
    """Return the place of each row's value in a dictionary, its length for a missing one."""
    codes = coded.indices
    if codes.null_count:
        codes = codes.cast("int64").fill_null(len(coded.dictionary))
    found: NDArray[Any] = codes.to_numpy(zero_copy_only=False)
    return found


def _runs(local: pa.Array, known: pa.Array) -> tuple[list[NDArray[np.int32]], pa.Array]:
    """Return places of leading values that are known in this order, and what is left.

    Runs of one study mostly have the same tasks in the same order; finding them so costs no
    hashing of all that is known.
    """
    import pyarrow.compute as pc

    found = [np.zeros(0, np.int32)]
    for _ in range(_MOST_RUNS):
        if not len(local):
            break
        start = pc.index(known, local[0]).as_py()
        if start < 0:
            break
        size = _agreeing(known.slice(start, len(local)), local)
        found.append(np.arange(start, start + size, dtype=np.int32))
        local = local.slice(size)
    return found, local


def _found(values: pa.Array, known: pa.Array) -> NDArray[np.int32]:
    """Return the places of distinct values among distinct known ones, -1 where not known."""
    import pyarrow.compute as pc

    if len(known) < len(values):
        at = pc.index_in(values, value_set=known).fill_null(-1).to_numpy(zero_copy_only=False)
        found: NDArray[np.int32] = at.astype(np.int32)
        return found
    # Hashing the smaller side, and asking for each of the larger, is several times quicker.
    at = pc.index_in(known, value_set=values).fill_null(-1).to_numpy(zero_copy_only=False)
    found = np.full(len(values), -1, np.int32)
    places = np.flatnonzero(at >= 0)
    found[at[places]] = places
    return found


def _agreeing(one: pa.Array, other: pa.Array) -> int:
    """Return how many leading values two arrays share, of which at least one is known to."""
    low, high = 1, min(len(one), len(other))
    if one.slice(0, high).equals(other.slice(0, high)):
        return high
    while high - low > 1:
        middle = (low + high) // 2
        if one.slice(0, middle).equals(other.slice(0, middle)):
            low = middle
        else:
            high = middle
    return low
