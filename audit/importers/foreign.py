"""Other tools' files as they lie on disk: JSON, JSON Lines, tables, zip archives."""

from __future__ import annotations

import csv
import io
import zipfile
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from audit.errors import ImportRefused, InputError
from audit.reading import LARGEST_FILE_BYTES, Source, parse, read_source

_ZSTANDARD = 93
# How Arrow's files and streams begin.
ARROW_HEADS = (b"ARROW1", b"\xff\xff\xff\xff")
# What zipfile raises for a damaged or encrypted member.
_DAMAGED = (zipfile.BadZipFile, zlib.error, KeyError, EOFError, OSError, ValueError)


@dataclass(frozen=True, slots=True)
class JsonLines:
    """The objects of a JSON Lines file."""

    rows: tuple[dict[str, Any], ...]


@dataclass(frozen=True, slots=True)
class ForeignTable:
    """A table with named columns; cells are text, or values where the format has types."""

    columns: tuple[str, ...]
    rows: tuple[dict[str, Any], ...]


@dataclass(frozen=True, slots=True)
class Archive:
    """The members of a zip archive, unpacked one at a time."""

    source: Source
    zip: zipfile.ZipFile

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the members, in the order of the archive."""
        return tuple(self.zip.namelist())

    def document(self, name: str) -> Any:
        """Return a JSON member, parsed strictly.

        Raises
        ------
        InputError
            When the member cannot be unpacked or is not JSON.
        """
        inner = f"{self.source.name}!{name}"
        return parse(Source(inner, _unpacked(self, name), ""))[0]


@dataclass(frozen=True, slots=True)
class Foreign:
    """One file: where it comes from, and what is in it.

    ``content`` is a JSON value, or a :class:`JsonLines`, :class:`ForeignTable` or :class:`Archive`;
    ``unusable`` counts NaN, infinities and integers too large to hold that were taken out of it;
    ``size_on_disk`` is said where the source holds no bytes, as the content was read from the disk.
    """

    source: Source
    content: Any
    unusable: int = 0
    size_on_disk: int | None = None

    @property
    def size(self) -> int:
        """How many bytes it has."""
        return len(self.source.data) if self.size_on_disk is None else self.size_on_disk

    @property
    def notes(self) -> tuple[str, ...]:
        """What reading it took out."""
        if not self.unusable:
            return ()
        return (f"{self.name}: {self.unusable} values are no finite numbers and count as missing",)

    @property
    def name(self) -> str:
        """The file as the user named it."""
        return self.source.name


def read_foreign(path: str) -> Foreign:
    """Read a file of any of the kinds above.

    Raises
    ------
    InputError
        When it cannot be read or parsed.
    ImportRefused
        When an object in it names one key twice.
    """
    return from_source(read_source(path))


def from_source(source: Source) -> Foreign:
    """Parse what was read; raises like :func:`read_foreign`."""
    data, name = source.data, source.name.lower()
    if data.startswith(b"PK\x03\x04"):
        return Foreign(source, _archive(source))
    if data.startswith(b"PAR1"):
        return Foreign(source, _typed(source, "Parquet", _parquet_frame))
    if data.startswith(ARROW_HEADS):
        return Foreign(source, _typed(source, "Arrow", _arrow_frame))
    head = data.lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
    if name.endswith((".jsonl", ".ndjson")):
        return _json_lines(source)
    if name.endswith((".csv", ".tsv")) or (head not in (b"{", b"[", b"") and b"\n" in data[:4096]):
        return _maybe_table(source)
    try:
        return _json(source)
    except InputError as error:
        if head == b"{" and "JSON Lines" in error.message:
            return _json_lines(source)
        raise


def _maybe_table(source: Source) -> Foreign:
    if not source.data.strip() or source.data.startswith(b"version https://git-lfs"):
        parse(source)  # says what it is
    return Foreign(source, _csv(source))


def _json(source: Source) -> Foreign:
    document, defects = parse(source)
    for defect in defects:
        if defect.kind == "duplicate-key":
            raise ImportRefused(
                f"the key {defect.text!r} is there twice; which one counts is unknown",
                path=source.name,
                pointer=defect.pointer,
            )
    unusable = sum(defect.kind in ("non-finite", "large-integer") for defect in defects)
    return Foreign(source, document, unusable)


def _json_lines(source: Source) -> Foreign:
    if not source.data.strip() or source.data.startswith(b"version https://git-lfs"):
        parse(source)
    rows: list[dict[str, Any]] = []
    unusable = 0
    for number, line in enumerate(source.data.split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            read = _json(Source(source.name, line, ""))
        except InputError as error:
            raise InputError(error.message, path=source.name, line=number) from None
        if not isinstance(read.content, dict):
            raise InputError(
                "a line of JSON Lines must be an object", path=source.name, line=number
            )
        rows.append(read.content)
        unusable += read.unusable
    return Foreign(source, JsonLines(tuple(rows)), unusable)


def _csv(source: Source) -> ForeignTable:
    try:
        text = source.text
    except UnicodeDecodeError:
        raise InputError("not UTF-8 text", path=source.name) from None
    if "\0" in text:
        raise InputError("binary data, not a table", path=source.name)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter_of(text), strict=True)
    try:
        lines = [(reader.line_num, row) for row in reader if any(cell.strip() for cell in row)]
    except csv.Error as error:
        raise InputError(f"not CSV: {error}", path=source.name, line=reader.line_num) from None
    if not lines or len(lines[0][1]) < 2:
        raise InputError("not a table with named columns", path=source.name)
    columns = tuple(name.strip() for name in lines[0][1])
    _refuse_unclear_columns(columns, source.name)
    rows = []
    for number, row in lines[1:]:
        if len(row) != len(columns):
            raise InputError(
                f"{len(row)} cells where the header has {len(columns)}",
                path=source.name,
                line=number,
            )
        rows.append(dict(zip(columns, row, strict=True)))
    return ForeignTable(columns, tuple(rows))


def delimiter_of(text: str) -> str:
    """Return what separates the cells of a table: the sign its first line has most of."""
    first = text.lstrip("\r\n").partition("\n")[0]
    return max(",;\t", key=first.count)


def _refuse_unclear_columns(columns: Sequence[str], path: str) -> None:
    for name in columns:
        if columns.count(name) > 1:
            raise ImportRefused(f"the column {name!r} is there twice", path=path)


def _parquet_frame(data: bytes) -> Any:
    import pandas

    return pandas.read_parquet(io.BytesIO(data))


def _arrow_frame(data: bytes) -> Any:
    from pyarrow import ipc

    opened = ipc.open_file if data.startswith(ARROW_HEADS[0]) else ipc.open_stream
    return opened(io.BytesIO(data)).read_all().to_pandas()


def _typed(source: Source, kind: str, framed: Callable[[bytes], Any]) -> ForeignTable:
    try:
        frame = framed(source.data)
    except ImportError:
        article = "an" if kind == "Arrow" else "a"
        raise InputError(
            f"{article} {kind} file; reading it needs `pip install recipe-audit[parquet]`",
            path=source.name,
        ) from None
    except Exception as error:  # pyarrow raises many kinds for a broken file
        raise _unreadable(kind, error, source) from None
    columns = tuple(str(name) for name in frame.columns)
    _refuse_unclear_columns(columns, source.name)
    try:
        frame = frame.astype(object).where(frame.notna(), None)
    except Exception as error:  # texts are decoded only here
        raise _unreadable(kind, error, source) from None
    rows = tuple(
        {name: _plain(value) for name, value in zip(columns, row, strict=True)}
        for row in frame.itertuples(index=False, name=None)
    )
    return ForeignTable(columns, rows)


def _unreadable(kind: str, error: Exception, source: Source) -> InputError:
    return InputError(f"not readable as {kind}: {error}"[:200], path=source.name)


def _plain(value: Any) -> Any:
    """Return a numpy scalar as Python's own, an array as a list."""
    return value.tolist() if hasattr(value, "tolist") else value


def _archive(source: Source) -> Archive:
    try:
        archive = zipfile.ZipFile(io.BytesIO(source.data))
    except (zipfile.BadZipFile, OSError, ValueError) as error:
        raise InputError(f"a broken zip archive: {error}", path=source.name) from None
    if sum(member.file_size for member in archive.infolist()) > LARGEST_FILE_BYTES:
        raise InputError("unpacks to more than 1 GiB, the most that is read", path=source.name)
    return Archive(source, archive)


def _unpacked(archive: Archive, name: str) -> bytes:
    source = archive.source
    try:
        member = archive.zip.getinfo(name)
        if member.compress_type == _ZSTANDARD:
            return _unpacked_zstandard(source, member)
        with archive.zip.open(member) as packed:
            # Bounded: a whole read unpacks all there is before it looks at the announced size.
            return packed.read(member.file_size + 1)
    except _DAMAGED as error:
        raise InputError(f"{name} cannot be unpacked: {error}", path=source.name) from None
    except (NotImplementedError, RuntimeError):  # an unknown method, or a password
        raise InputError(
            f"{name} is packed in a way zipfile cannot read", path=source.name
        ) from None


def _unpacked_zstandard(source: Source, member: zipfile.ZipInfo) -> bytes:
    """Unpack a Zstandard member, which zipfile cannot before Python 3.14."""
    try:
        import zstandard
    except ImportError:
        raise InputError(
            "packed with Zstandard; reading it needs `pip install recipe-audit[inspect]`",
            path=source.name,
        ) from None
    # The local header is 30 bytes, then the name and an extra field of lengths at 26 and 28.
    start = member.header_offset
    header = source.data[start : start + 30]
    begin = start + 30 + int.from_bytes(header[26:28], "little")
    begin += int.from_bytes(header[28:30], "little")
    packed = source.data[begin : begin + member.compress_size]
    try:
        reader = zstandard.ZstdDecompressor().stream_reader(io.BytesIO(packed))
        # One byte more than announced is enough to see that the announcement is wrong.
        unpacked = reader.read(member.file_size + 1)
    except zstandard.ZstdError as error:
        raise InputError(
            f"{member.filename} cannot be unpacked: {error}", path=source.name
        ) from None
    if len(unpacked) != member.file_size or zlib.crc32(unpacked) != member.CRC:
        raise InputError(f"{member.filename} is damaged", path=source.name)
    return bytes(unpacked)
