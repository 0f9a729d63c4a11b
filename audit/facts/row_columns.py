"""The fields of many rows as columns: lists, and arrays of those that hold numbers.

Rows of a log are scattered over memory, and fetching them is what takes the time. So where all have
the same fields they are taken apart in one pass, in pieces that stay in a processor's cache.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import chain
from operator import itemgetter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    FloatArray = NDArray[np.float64]

_CACHED_ROWS = 1 << 11


class Columns:
    """The fields of rows by name; treat what it gives as read-only.

    Parameters
    ----------
    rows : sequence of mapping
    numbers : collection of str
        Fields that are asked for as arrays, where every row has them.
    """

    def __init__(self, rows: Sequence[Mapping[str, Any]], numbers: Collection[str] = ()) -> None:
        self._rows = rows
        self._numbers = numbers
        self._lists: dict[str, list[Any]] = {}
        self._arrays: dict[str, FloatArray] = {}
        self._known: dict[str, int] = {}
        self._alike = self._taken_apart()
        if self._alike:
            self._known = dict.fromkeys(rows[0], len(rows))

    def _taken_apart(self) -> bool:
        """Take all fields apart; False where not all rows have the same ones."""
        rows = self._rows
        names = tuple(rows[0]) if rows else ()
        if len(names) < 2:
            return False
        lists: dict[str, list[Any]] = {name: [] for name in names if name not in self._numbers}
        parts: dict[str, list[FloatArray]] = {name: [] for name in names if name in self._numbers}
        places = {name: place for place, name in enumerate(names)}
        values_of = itemgetter(*names)
        for start in range(0, len(rows), _CACHED_ROWS):
            some = rows[start : start + _CACHED_ROWS]
            if set(map(len, some)) != {len(names)}:
                return False
            try:
                flat = list(chain.from_iterable(map(values_of, some)))
                for name, arrays in parts.items():
                    arrays.append(_array(flat[places[name] :: len(names)]))
            except (KeyError, TypeError):  # another field, or no number
                return False
            for name, values in lists.items():
                values += flat[places[name] :: len(names)]
        self._lists = lists
        if parts:
            import numpy as np

            self._arrays = {name: np.concatenate(arrays) for name, arrays in parts.items()}
        return True

    def known(self, name: str) -> int:
        """Return how many rows have the field."""
        if name not in self._known:
            self._known[name] = len(self._rows) - self.values(name).count(None)
        return self._known[name]

    def values(self, name: str) -> list[Any]:
        """Return one field of all rows, None where it is absent."""
        if name not in self._lists:
            absent = self._alike and name not in self._known
            self._lists[name] = (
                [None] * len(self._rows) if absent else [row.get(name) for row in self._rows]
            )
        return self._lists[name]

    def array(self, name: str) -> FloatArray | None:
        """Return one field of all rows as an array.

        None where it is not among the numbers that were asked for, and where a row lacks it.
        """
        if name not in self._numbers or self.known(name) < len(self._rows):
            return None
        if name not in self._arrays:
            self._arrays[name] = _array(self.values(name))
        return self._arrays[name]


def _array(values: Sequence[float]) -> FloatArray:
    import numpy as np

    return np.fromiter(values, float, len(values))
