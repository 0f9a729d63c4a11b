"""A list with one entry per task that is an array too, made once for everyone who computes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import DTypeLike, NDArray


class Column(list[Any]):
    """A per-task list of an evaluation; treat it as read-only.

    NumPy takes it for its array, so that a statistic asks for no list twice, and the ids of tasks
    are named and compared once for all evaluations that share them.
    """

    __slots__ = ("_names", "_packed", "_set")
    _packed: NDArray[Any]
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
