"""Tables on disk, a few rows as the reader of rows sees them, and all columns in batches."""

from __future__ import annotations

import hashlib
import io
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from audit.errors import AuditError
from audit.importers.by_column.plain import NotPlain
from audit.importers.foreign import ARROW_HEADS, Foreign, delimiter_of, from_source
from audit.reading import LARGEST_INTEGER, Source

if TYPE_CHECKING:
    import pyarrow as pa

# Smaller tables are read by row in about a second: text by its bytes, before pyarrow is loaded,
# Parquet, which packs a million rows into one MB, by its rows.
SMALLEST_BYTES, SMALLEST_ROWS = 1 << 20, 1 << 15
BLOCK_BYTES = 1 << 24
_BATCH_ROWS = 1 << 20
# Python's csv module refuses longer cells.
_LONGEST_LINE = 1 << 17
# Places in the file from which a few rows are looked at, and how much of each.
_PLACES, _PIECE_BYTES, _PIECE_ROWS = 16, 1 << 15, 200


class TableFile(ABC):
    """One table on disk.

    Attributes
    ----------
    name : str
        As the user named it.
    size : int
        Bytes.
    sha256 : str
        Of the whole file; known once :meth:`batches` has come to its end.
    few : Foreign
        A few rows from all over the file, read as the reader of rows reads a file.
    """

    def __init__(self, path: str) -> None:
        self.name = path
        self.sha256 = ""
        self._before = self._stat()
        self.size = self._before[0]
        self.few = self._few()

    def batches(self, columns: Sequence[str]) -> Iterator[dict[str, pa.Array]]:
        """Yield all rows, a batch at a time, as arrays by column; all columns are decoded.

        Raises
        ------
        NotPlain
            When the file holds what pyarrow and the reader of rows might read differently.
        """
        import pyarrow as pa

        try:
            for batch in self._batches():
                if not set(columns) <= set(batch.schema.names):
                    raise NotPlain("a column is missing")
                yield {name: _of_short_texts(batch.column(name)) for name in columns}
        except (pa.ArrowException, OSError, ValueError, NotImplementedError) as error:
            raise NotPlain(f"not read by pyarrow: {error}") from None
        if self._stat() != self._before:
            raise NotPlain("it changed while it was read")

    def _stat(self) -> tuple[int, int, int]:
        found = os.stat(self.name)  # noqa: PTH116 - takes any name
        return found.st_size, found.st_mtime_ns, found.st_ino

    def _few(self) -> Foreign:
        try:
            few = from_source(Source(self.name, self._sample(), ""))
        except AuditError as error:
            raise NotPlain(f"a few of its rows: {error.message}") from None
        except UnicodeDecodeError:
            raise NotPlain("not UTF-8") from None
        if few.unusable:
            raise NotPlain("numbers that are not finite")
        return few

    def _take_sha256(self) -> None:
        with Path(self.name).open("rb") as file:
            self.sha256 = hashlib.file_digest(file, "sha256").hexdigest()

    @abstractmethod
    def _sample(self) -> bytes:
        """Return a file of the same kind that holds a few of the rows."""

    @abstractmethod
    def _batches(self) -> Iterator[pa.RecordBatch]:
        """Yield all rows and set ``sha256``."""


def _of_short_texts(column: pa.Array) -> pa.Array:
    """Return texts with offsets of 32 bits, of which a batch has enough."""
    import pyarrow as pa

    if pa.types.is_large_string(column.type):
        return column.cast(pa.string())
    if not pa.types.is_dictionary(column.type):
        return column
    if not pa.types.is_large_string(column.type.value_type):
        return column
    return pa.DictionaryArray.from_arrays(column.indices, column.dictionary.cast(pa.string()))


def opened(path: str) -> TableFile | None:
    """Return a table that is large enough to be read by column, and of a kind that can be.

    Raises
    ------
    NotPlain
        When it has few rows, or a few of them show that the reader of rows must read it.
    """
    try:
        if not Path(path).is_file():
            return None
        size = Path(path).stat().st_size
        with Path(path).open("rb") as file:
            head = file.read(8)
    except (OSError, ValueError):
        return None
    packed, lower = head.startswith((b"PAR1", *ARROW_HEADS)), path.lower()
    kind: type[TableFile] | None = None
    if packed:
        kind = _Parquet if head.startswith(b"PAR1") else _Arrow
    elif lower.endswith((".jsonl", ".ndjson")):
        kind = _JsonLines
    elif lower.endswith((".csv", ".tsv")) and not head.startswith(b"PK\x03\x04"):
        kind = _Csv
    if kind is None or (size < SMALLEST_BYTES and not packed):
        return None
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        return None
    return kind(path)


# ---- lines ----------------------------------------------------------------------------------


class _Lines(TableFile):
    """Text with a row a line."""

    header = False

    def _sample(self) -> bytes:
        pieces = []
        with Path(self.name).open("rb") as file:
            if self.size <= _PLACES * _PIECE_BYTES:
                return file.read()
            for place in range(_PLACES):
                file.seek(self.size * place // _PLACES)
                if place:
                    file.readline()
                # Never beyond the next place: a row that is there twice would be two rows.
                left = self.size * (place + 1) // _PLACES - file.tell()
                pieces += file.read(max(0, min(_PIECE_BYTES, left))).split(b"\n")[:-1]
        return b"\n".join(pieces) + b"\n"

    def _batches(self) -> Iterator[pa.RecordBatch]:
        digest = hashlib.sha256()
        with Path(self.name).open("rb") as file:
            for number, block in enumerate(_blocks(file, digest)):
                _refuse_odd_text(block)
                if number == 0 and self.header:
                    if block.startswith(b"\xef\xbb\xbf"):
                        block = block[3:]
                    head, _, block = block.partition(b"\n")
                    if not head.strip() or head.count(b'"') % 2:
                        raise NotPlain("the header is not one line")
                if block:
                    yield from self._parsed(block).to_batches()
        self.sha256 = digest.hexdigest()

    @abstractmethod
    def _parsed(self, block: bytes) -> pa.Table:
        """Return the rows of whole lines."""


def _blocks(file: BinaryIO, digest: Any) -> Iterator[bytes]:
    """Yield the file in blocks of whole lines."""
    rest = b""
    while data := file.read(BLOCK_BYTES):
        digest.update(data)
        cut = data.rfind(b"\n") + 1
        if not cut:
            rest += data
            if len(rest) > 4 * BLOCK_BYTES:
                raise NotPlain("a line is very long")
            continue
        yield rest + data[:cut]
        rest = data[cut:]
    if rest:
        yield rest + b"\n"


def _refuse_odd_text(block: bytes) -> None:
    if b"\0" in block:
        raise NotPlain("binary data")
    if block.count(b"\r") != block.count(b"\r\n"):
        raise NotPlain("a carriage return within a line")
    if not block.isascii():
        block.decode("utf-8")  # a UnicodeDecodeError is a ValueError


class _Csv(_Lines):
    header = True

    def _sample(self) -> bytes:
        sample = super()._sample()
        self._delimiter = delimiter_of(sample.decode("utf-8-sig"))
        return sample

    def _parsed(self, block: bytes) -> pa.Table:
        import pyarrow as pa
        from pyarrow import csv

        columns, delimiter = self.few.content.columns, self._delimiter
        _refuse_odd_quotes(block, delimiter.encode())
        text = pa.dictionary(pa.int32(), pa.string())
        return csv.read_csv(
            pa.BufferReader(block),
            read_options=csv.ReadOptions(
                column_names=list(columns), block_size=len(block) + 1, use_threads=False
            ),
            parse_options=csv.ParseOptions(delimiter=delimiter),
            convert_options=csv.ConvertOptions(
                column_types=dict.fromkeys(columns, text), null_values=[], strings_can_be_null=False
            ),
        )


def _refuse_odd_quotes(block: bytes, delimiter: bytes) -> None:
    """Refuse what readers of CSV disagree on: quotes within cells, line breaks within quotes."""
    import numpy as np

    data = np.frombuffer(block, np.uint8)
    ends = np.flatnonzero(data == ord("\n"))
    if np.diff(ends, prepend=-1).max() > _LONGEST_LINE:
        raise NotPlain("a line is very long")
    if b'"' not in block:
        return
    quotes = np.flatnonzero(data == ord('"'))
    before = np.where(quotes == 0, ord("\n"), data[quotes - 1])
    after = data[quotes + 1]  # a block ends with a line break
    opens = (before == ord(delimiter)) | (before == ord("\n"))
    closes = (after == ord(delimiter)) | (after == ord("\n")) | (after == ord("\r"))
    if len(quotes) % 2 or not (opens[::2] & ~closes[::2]).all():
        raise NotPlain("quotes within cells")
    if not (closes[1::2] & ~opens[1::2]).all():
        raise NotPlain("quotes within cells")
    if (np.searchsorted(ends, quotes[::2]) != np.searchsorted(ends, quotes[1::2])).any():
        raise NotPlain("line breaks within quotes")


class _JsonLines(_Lines):
    def _parsed(self, block: bytes) -> pa.Table:
        import numpy as np
        import pyarrow as pa
        from pyarrow import json

        if b"\\u" in block or b"\r" in block:
            raise NotPlain("escapes, or carriage returns")
        data = np.frombuffer(block, np.uint8)
        ends = np.flatnonzero(data == ord("\n"))
        starts = np.concatenate([[0], ends[:-1] + 1])
        if not ((data[starts] == ord("{")) & (data[ends - 1] == ord("}"))).all():
            raise NotPlain("a line is not one object")
        table = json.read_json(
            pa.BufferReader(block),
            read_options=json.ReadOptions(block_size=len(block) + 1, use_threads=False),
            parse_options=json.ParseOptions(
                explicit_schema=self._schema(), unexpected_field_behavior="error"
            ),
        )
        if table.num_rows != len(ends):
            raise NotPlain("a line is not one object")
        return _of_finite_numbers(table)

    def _schema(self) -> pa.Schema:
        import pyarrow as pa

        kinds = {str: pa.string(), bool: pa.bool_(), int: pa.int64(), float: pa.float64()}
        columns: dict[str, set[type]] = {}
        for row in self.few.content.rows:
            for name, value in row.items():
                columns.setdefault(name, set()).add(type(value))
        fields = []
        for name, found in columns.items():
            one = {float} if found == {int, float} else found
            if len(one) != 1 or not one <= set(kinds):
                raise NotPlain(f"{name} holds values of several types, or none of one")
            fields.append((name, kinds[one.pop()]))
        return pa.schema(fields)


def _of_finite_numbers(table: pa.Table) -> pa.Table:
    """Refuse numbers that strict reading of JSON takes out, and members that a line lacks."""
    import pyarrow as pa
    import pyarrow.compute as pc

    for name in table.column_names:
        column = table.column(name)
        if column.null_count:
            raise NotPlain(f"{name} is not in every line")
        if pa.types.is_floating(column.type) or pa.types.is_integer(column.type):
            within = pc.less_equal(pc.abs_checked(column), LARGEST_INTEGER)
            if not pc.all(within).as_py():  # NaN compares as false
                raise NotPlain(f"{name} holds a number that JSON cannot")
    return table


# ---- columns --------------------------------------------------------------------------------


class _Parquet(TableFile):
    def _sample(self) -> bytes:
        import pyarrow as pa
        from pyarrow import parquet

        try:
            with parquet.ParquetFile(self.name) as file:
                if file.metadata.num_rows < SMALLEST_ROWS:
                    raise NotPlain("few rows")
                _refuse_other_columns(file.schema_arrow)
                groups = file.num_row_groups
                chosen = sorted({groups * place // _PLACES for place in range(_PLACES)})
                size = _PIECE_ROWS * _PLACES // max(1, len(chosen))
                pieces = []
                for group in chosen if groups else ():
                    batches = file.iter_batches(batch_size=size, row_groups=[group])
                    pieces += [batch for batch in [next(batches, None)] if batch is not None]
                table = pa.Table.from_batches(pieces, schema=file.schema_arrow)
        except (pa.ArrowException, OSError, ValueError, NotImplementedError) as error:
            raise NotPlain(f"not read by pyarrow: {error}") from None
        buffer = io.BytesIO()
        parquet.write_table(table, buffer)
        return buffer.getvalue()

    def _batches(self) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa
        from pyarrow import parquet

        self._take_sha256()
        with parquet.ParquetFile(self.name) as schema_only:
            texts = [
                field.name
                for field in schema_only.schema_arrow
                if pa.types.is_string(field.type) or pa.types.is_large_string(field.type)
            ]
            rows, groups = schema_only.metadata.num_rows, schema_only.metadata.num_row_groups
            unpacked = sum(
                schema_only.metadata.row_group(group).total_byte_size for group in range(groups)
            )
        size = max(1024, min(_BATCH_ROWS, rows * BLOCK_BYTES * 4 // max(1, unpacked)))
        with parquet.ParquetFile(self.name, read_dictionary=texts) as file:
            for batch in file.iter_batches(batch_size=size):
                batch.validate(full=True)
                yield batch


class _Arrow(TableFile):
    """Record batches as they lie in memory: a file, or a stream."""

    def _batches(self) -> Iterator[pa.RecordBatch]:
        self._take_sha256()
        for batch in self._stored():
            for start in range(0, batch.num_rows, _BATCH_ROWS):
                part = batch.slice(start, _BATCH_ROWS)
                part.validate(full=True)
                yield part

    def _stored(self) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa
        from pyarrow import ipc

        with pa.OSFile(self.name) as file:
            if file.read(len(ARROW_HEADS[0])) == ARROW_HEADS[0]:
                reader = ipc.open_file(file)
                for number in range(reader.num_record_batches):
                    yield reader.get_batch(number)
            else:
                file.seek(0)
                yield from ipc.open_stream(file)

    def _sample(self) -> bytes:
        import pyarrow as pa
        from pyarrow import ipc

        pieces: list[pa.RecordBatch] = []
        rows = 0
        try:
            for batch in self._stored():
                rows += batch.num_rows
                if len(pieces) < _PLACES:
                    pieces.append(batch.slice(0, _PIECE_ROWS * _PLACES))
                elif rows >= SMALLEST_ROWS:
                    break
            if rows < SMALLEST_ROWS or not pieces:
                raise NotPlain("few rows")
            _refuse_other_columns(pieces[0].schema)
            buffer = io.BytesIO()
            with ipc.new_file(buffer, pieces[0].schema) as writer:
                writer.write_table(pa.Table.from_batches(pieces))
        except (pa.ArrowException, OSError, ValueError, NotImplementedError) as error:
            raise NotPlain(f"not read by pyarrow: {error}") from None
        return buffer.getvalue()


def _refuse_other_columns(schema: pa.Schema) -> None:
    """Refuse a file in which pandas would find other columns than stand in it."""
    index = (schema.pandas_metadata or {}).get("index_columns", [])
    if any(not isinstance(entry, dict) for entry in index):
        raise NotPlain("pandas keeps an index in it")
    if len(set(schema.names)) != len(schema.names):
        raise NotPlain("a column is there twice")
