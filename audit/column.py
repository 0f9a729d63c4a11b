"""A list with one entry per task that is an array too, made once for everyone who computes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import DTypeLike, NDArray


class Column(list[Any]):
    """A per-task list of an evaluation; treat it as read-only.

    NumPy takes it for its array, so that a statistic asks for no list twice, and the ids of tasks
    are named and compared once for all evaluations that share them.
    """

    __slots__ = ("_names", "_packed", "_range", "_set", "_total")
    _packed: NDArray[Any]
    _range: tuple[Any, Any]
    _total: int | float
    _names: tuple[str, ...]
    _set: frozenset[str]

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        """Return the values as NumPy makes them of a list."""
        import numpy as np

        try:
            packed = self._packed
        except AttributeError:
            packed = self.keep(np.array(list(self)))
        if dtype is None and packed.dtype.kind in "iu":
            dtype = np.int64
        if dtype is not None and packed.dtype != dtype:
            return packed.astype(dtype)
        return packed.copy() if copy else packed

    def __copy__(self) -> list[Any]:
        """Return a plain list, which may be changed."""
        return list(self)

    @property
    def whole(self) -> bool:
        """Whether all values are integers."""
        import numpy as np

        return bool(np.asarray(self).dtype.kind == "i")

    def keep(self, array: NDArray[Any]) -> NDArray[Any]:
        """Keep the values as an array from which the list was made, small counts in few bytes."""
        import numpy as np

        if array.dtype.kind == "i" and array.size and array.min() >= 0:
            array = array.astype(np.min_scalar_type(int(array.max())))
        array.flags.writeable = False
        self._packed = array
        return array

    @property
    def total(self) -> int | float:
        """The sum of the values; of integers it is exact."""
        import numpy as np

        try:
            return self._total
        except AttributeError:
            array = np.asarray(self)
            exact = array.dtype.kind == "i" and array.size
            if exact and int(np.abs(array).max()) * array.size < 2**63:
                self._total = int(array.sum())
            else:
                self._total = sum(self)
        return self._total

    @property
    def range(self) -> tuple[Any, Any]:
        """The least and the largest of the values, which are numbers."""
        import numpy as np

        try:
            return self._range
        except AttributeError:
            array = np.asarray(self)
            self._range = array.min().item(), array.max().item()
        return self._range

    @property
    def names(self) -> tuple[str, ...]:
        """The values as texts, in order."""
        try:
            return self._names
        except AttributeError:
            plain = set(map(type, self)) <= {str}
            self._names = tuple(self if plain else map(str, self))
        return self._names

    @property
    def distinct(self) -> frozenset[str]:
        """The different texts."""
        try:
            return self._set
        except AttributeError:
            self._set = frozenset(self.names)
        return self._set


def total(values: Sequence[Any]) -> Any:
    """Return the sum of a list, which a column takes once."""
    return values.total if isinstance(values, Column) else sum(values)


def smallest(values: Sequence[Any]) -> Any:
    """Return the least of some numbers, which a column looks up once."""
    return values.range[0] if isinstance(values, Column) else min(values)


def largest(values: Sequence[Any]) -> Any:
    """Return the largest of some numbers, likewise."""
    return values.range[1] if isinstance(values, Column) else max(values)


def ratios(right: Any, drawn: Any) -> NDArray[np.float64]:
    """Return the rates of the tasks that have answers.

    Parameters
    ----------
    right, drawn : sequence of int up to 2^53
        Right answers, and answers drawn; what the longer one has more is left out.

    Returns
    -------
    ndarray, shape (tasks with answers,)
        Each the float that is nearest to the quotient.
    """
    import numpy as np

    tasks = min(len(right), len(drawn))
    counts, samples = np.asarray(right)[:tasks], np.asarray(drawn)[:tasks]
    some = samples != 0
    rates: NDArray[np.float64] = counts[some] / samples[some]
    return rates
