"""The per-task lists of an evaluation as the columns of a Parquet file, and back, exactly."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from audit.column import Column
from audit.errors import InputError
from audit.numerals import counted
from audit.reading import LARGEST_FILE_BYTES, LARGEST_INTEGER

INSTALL = "pip install recipe-audit[parquet]"
# Lists of a block, and the columns that hold them: one row is one task.
_LABELS = {"task_ids": "task", "clusters": "cluster"}
_COUNTS = {n: n for n in ("correct", "samples", "errored", "truncated", "unparsed", "empty")}
_NUMBERS = {"scores": "score", "mean_tokens": "mean_tokens", "mean_seconds": "mean_seconds"}
COLUMNS = _LABELS | _COUNTS | _NUMBERS
_LIST_OF = {column: name for name, column in COLUMNS.items()}
_NOT_NEGATIVE = frozenset(_COUNTS) | {"mean_tokens", "mean_seconds"}
_BYTES_A_VALUE = 8
# Texts as what they add to the one before them: a few bytes can stand for any number.
_ENDLESS = "DELTA_BYTE_ARRAY"


class NotExactError(ValueError):
    """Lists that no file of columns holds as they are; the message says which and why."""


def packed(lists: Mapping[str, Any]) -> bytes:
    """Return per-task lists as the bytes of a Parquet file; the same lists give the same bytes.

    Parameters
    ----------
    lists : mapping of str to (list or ndarray)
        Lists of an evaluation by their names in the block, one entry per task; other keys are
        passed over.

    Raises
    ------
    NotExactError
        Where a value would change or breaks what the schema asks.
    InputError
        Without pyarrow.
    """
    import numpy as np

    pyarrow, parquet = _arrow()
    named = {name: lists[name] for name in COLUMNS if name in lists}
    for name, values in named.items():
        if not isinstance(values, list | np.ndarray):
            raise NotExactError(f"{name} is no list")
    if len({len(values) for values in named.values()}) != 1:
        raise NotExactError("its lists differ in length")
    table = pyarrow.table(
        {COLUMNS[name]: _packed_column(name, values) for name, values in named.items()}
    )
    sink = pyarrow.BufferOutputStream()
    # Ids are all different; a dictionary of them would only be thrown away again.
    repeated = [name for name in table.column_names if name != "task"]
    parquet.write_table(
        table,
        sink,
        compression="zstd",
        write_statistics=False,
        store_schema=False,
        use_dictionary=repeated,
    )
    return bytes(sink.getvalue())


def unpacked(data: bytes, rows: int, known: Known) -> dict[str, Any]:
    """Return the lists of a file by their names in the block.

    Parameters
    ----------
    data : bytes
        The file.
    rows : int
        How many rows it must have.
    known : Known
        What earlier files of the same document held; this one is added.

    Raises
    ------
    InputError
        When it is no Parquet file, has other columns, rows or types, or a value that the schema
        would not take in a list; and without pyarrow.
    """
    pyarrow, parquet = _arrow()
    try:
        metadata = parquet.read_metadata(pyarrow.BufferReader(data))
        names = metadata.schema.names
        _refuse_other_shapes(metadata, names, rows)
        labels = {n: _as_stored(data, metadata, n) for n in _LABELS.values() if n in names}
        wanted = [name for name in names if labels.get(name) not in known.labels]
        known.take(_size(metadata, [names.index(name) for name in wanted]))
        file = parquet.ParquetFile(
            pyarrow.BufferReader(data),
            # As a dictionary, text that repeats a million times is kept once.
            read_dictionary=[name for name, stored in labels.items() if stored.repeats],
            metadata=metadata,
        )
        table = file.read(wanted)
        columns = {}
        for name in names:
            stored = labels.get(name)
            if stored is None:
                columns[name] = _numbers(name, table.column(name))
            elif stored in known.labels:
                columns[name] = known.labels[stored]
            else:
                columns[name] = known.labels[stored] = _labels(name, table.column(name))
    except InputError:
        raise
    except Exception as error:  # pyarrow raises many kinds for a broken file
        raise InputError(f"not readable as Parquet: {error}"[:200]) from None
    return {_LIST_OF[name]: values for name, values in columns.items()}


class Stored(NamedTuple):
    """A column of labels as it lies in the file: equal bytes of one type are equal labels."""

    kind: str
    pieces: tuple[tuple[str, int, bytes], ...]
    repeats: bool


@dataclass(slots=True)
class Known:
    """What the files of one document held so far.

    Attributes
    ----------
    labels : dict of Stored to Column
        So that equal ids are one object.
    size : int
        Bytes that all that was read unpacks to.
    """

    labels: dict[Stored, Column] = field(default_factory=dict)
    size: int = 0

    def take(self, size: int) -> None:
        """Add the size of a file: a few bytes can unpack to a million values, and be named often.

        Raises
        ------
        InputError
            When that is more than is read.
        """
        if size > LARGEST_FILE_BYTES:
            raise InputError("unpacks to more than 1 GiB, the most that is read")
        self.size += size
        if self.size > LARGEST_FILE_BYTES:
            raise InputError(
                "unpacks, with those before it, to more than 1 GiB, the most that is read"
            )


def _as_stored(data: bytes, metadata: Any, name: str) -> Stored:
    place = metadata.schema.names.index(name)
    described = metadata.schema.column(place)
    pieces, repeats = [], False
    for group in range(metadata.num_row_groups):
        piece = metadata.row_group(group).column(place)
        repeats = repeats or piece.has_dictionary_page
        start = piece.dictionary_page_offset if piece.has_dictionary_page else None
        start = piece.data_page_offset if start is None else start
        stored = hashlib.sha256(data[start : start + piece.total_compressed_size]).digest()
        pieces.append((piece.compression, piece.num_values, stored))
    kind = f"{described.physical_type} {described.logical_type} {described.max_definition_level}"
    return Stored(kind, tuple(pieces), repeats)


def _refuse_other_shapes(metadata: Any, names: Sequence[str], rows: int) -> None:
    for name in names:
        if name not in _LIST_OF:
            raise InputError(f"column {name!r} is none of {', '.join(_LIST_OF)}")
        if names.count(name) > 1:
            raise InputError(f"column {name!r} is there twice")
    if not names:
        raise InputError("has no column")
    if metadata.num_rows != rows:
        raise InputError(f"has {metadata.num_rows:,} rows, the block says {rows:,}")
    for group in range(metadata.num_row_groups):
        for place, name in enumerate(names):
            if _ENDLESS in metadata.row_group(group).column(place).encodings:
                raise InputError(f"column {name!r} is encoded as {_ENDLESS}, expected PLAIN")


def _size(metadata: Any, places: Sequence[int]) -> int:
    """Return the bytes that columns unpack to, as lists at least."""
    groups = [metadata.row_group(group) for group in range(metadata.num_row_groups)]
    said = sum(
        int(group.column(place).total_uncompressed_size) for group in groups for place in places
    )
    return max(said, int(metadata.num_rows) * len(places) * _BYTES_A_VALUE)


def _numbers(name: str, column: Any) -> Column:
    from pyarrow import types

    _refuse_empty_values(name, column)
    wanted, kind = _LIST_OF[name] in _NUMBERS, column.type
    if not (types.is_integer(kind) or (wanted and types.is_floating(kind))):
        expected = "numbers" if wanted else "integers"
        raise InputError(f"column {name!r} holds {kind}, expected {expected}")
    values = column.to_numpy()
    return _checked(name, values)


def _checked(name: str, values: Any) -> Column:
    """Return numbers as a list that NumPy has the array of already."""
    import numpy as np

    _refuse_values(_LIST_OF[name], values, f"column {name!r}")
    found = Column(values.tolist())
    found.keep(np.array(values, np.float64 if values.dtype.kind == "f" else np.int64))
    return found


def _refuse_empty_values(name: str, column: Any) -> None:
    if column.null_count:
        raise InputError(f"column {name!r} has {counted(column.null_count, 'empty value')}")


def _labels(name: str, column: Any) -> Column:
    from pyarrow import types

    _refuse_empty_values(name, column)
    kind = column.type.value_type if types.is_dictionary(column.type) else column.type
    if types.is_integer(kind):
        return _checked(name, column.to_numpy())
    if not (types.is_string(kind) or types.is_large_string(kind)):
        raise InputError(f"column {name!r} holds {kind}, expected text or integers")
    if not types.is_dictionary(column.type):
        return Column(column.to_numpy(zero_copy_only=False).tolist())
    found = Column()
    for chunk in column.chunks:
        words = chunk.dictionary.to_numpy(zero_copy_only=False)
        found += words[chunk.indices.to_numpy()].tolist()
    return found


def _packed_column(name: str, values: Any) -> Any:
    """Return a list as a column that gives the same values back."""
    import numpy as np
    import pyarrow

    if isinstance(values, np.ndarray) and values.dtype.kind not in "iuf":
        values = values.tolist()
    if isinstance(values, list):
        kinds = {type(value) for value in values}
        if name in _LABELS and kinds == {str}:
            return _text(name, values)
        if not kinds <= ({int} if name in _LABELS else {int, float}):
            raise NotExactError(f"{name} holds values of more than one type")
    array = np.asarray(values, np.float64 if name in _NUMBERS else None)
    try:
        _refuse_values(name, array, name)
    except InputError as error:
        raise NotExactError(error.message) from None
    if name in _NUMBERS:
        return pyarrow.array(array)
    if (array != np.floor(array)).any():
        raise NotExactError(f"{name} holds a number with a fraction")
    return pyarrow.array(array.astype(np.int64))


def _text(name: str, values: Iterable[str]) -> Any:
    import pyarrow

    try:
        return pyarrow.array(values, pyarrow.string())
    except (UnicodeError, pyarrow.ArrowException) as error:
        raise NotExactError(f"{name} is no list of texts: {error}"[:200]) from None


def _refuse_values(name: str, values: Any, what: str) -> None:
    """Refuse numbers that the schema would not take in a list of this name."""
    import numpy as np

    if not len(values):
        return
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        raise InputError(f"{what} has a value that is not finite")
    low, high = values.min(), values.max()
    if name in _NOT_NEGATIVE and low < 0:
        raise InputError(f"{what} has a negative value")
    if name not in _NUMBERS and max(abs(int(low)), abs(int(high))) > LARGEST_INTEGER:
        raise InputError(f"{what} has an integer beyond 2^53")


def _arrow() -> tuple[Any, Any]:
    """Return the modules that read and write columns."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise InputError(f"outcomes in Parquet need `{INSTALL}`") from None
    return pyarrow, pyarrow.parquet
