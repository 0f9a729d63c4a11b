"""Strict reading: bytes to a JSON document, with everything JSON lets slip named by its place.

Python's parser takes NaN, lets the last of two equal keys win and turns ``1e999`` into infinity.
Here each such value is taken out of the document (``None`` stands in its place, so that nothing
averages it) and returned as a :class:`Defect`.

Large files, and many, are decoded by msgspec, in a third of the time, where that says all there is
to say. It refuses what is no plain JSON, NaN, infinity and unpaired surrogates; keys named twice,
integers that floats do not hold and depth are looked for in what it gives. Whatever it refuses, and
whatever is found, is read again by the strict reader, so that its words are the only ones.

Memory: reading takes at most 40 times the file (30 measured, on 5 MB of nothing but empty
objects). Verifying a file of 1 MB takes up to 300 MB in all, most of it for the libraries of the
statistics and for findings, of which each rule keeps a hundred.
"""

from __future__ import annotations

import gc
import hashlib
import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from operator import itemgetter
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TypeVar

from audit.errors import InputError
from audit.paths import is_file, is_url
from audit.pointer import join
from audit.stores import kind_of, opened

LARGEST_INTEGER = 2**53
DEEPEST = 200
LARGEST_FILE_BYTES = 1 << 30
LFS_POINTER = b"version https://git-lfs.github.com/spec/"
NOT_FETCHED = "a Git LFS pointer, the file itself was not fetched; run `git lfs pull`"
# One piece holds any file of the usual size, without asking for a gigabyte first.
_PIECE_BYTES = 1 << 26
# Less than this is read before msgspec is imported.
_LITTLE = 1 << 19

_ESCAPED = re.compile(rb"\\.")
_QUOTED = re.compile(rb'"[^"]*"')
_NO_STRUCTURE = bytes(set(range(256)) - set(b'[]{}:"'))
# Digits become 0, what may follow one in a fraction or exponent a dot, all else a space; then an
# integer of so many digits, which alone can be too large, shows as such.
_NUMBERS = bytes(
    48 if chr(b) in "0123456789" else 46 if chr(b) in ".eE+" else 32 for b in range(256)
)
_LONG_INTEGER = b" " + b"0" * 16
# What is gone over several times is taken in pieces that stay in a processor's cache.
_CACHED_BYTES, _CACHED_VALUES = 1 << 16, 1 << 11
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_NOT_JSON = (
    (b"PK\x03\x04", "a zip archive, not JSON"),
    (b"PAR1", "a Parquet file, not JSON"),
    (b"\x1f\x8b", "a gzip archive, not JSON; unpack it first"),
    (b"\x89HDF", "an HDF5 file, not JSON"),
    (b"\x80\x04\x95", "a Python pickle, not JSON"),
    (b"%PDF", "a PDF, not JSON"),
    (b"\xff\xfe", "text in UTF-16, expected UTF-8"),
    (b"\xfe\xff", "text in UTF-16, expected UTF-8"),
)


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Defect:
    """Content that JSON parsers let slip and that no figure may rest on.

    ``kind`` is ``non-finite``, ``duplicate-key``, ``large-integer`` or ``unpaired-surrogate``;
    ``text`` is what the file says there, shortened.
    """

    kind: str
    pointer: str
    text: str


@dataclass(frozen=True, slots=True)
class Source:
    """A file as it was read: its name for people, its bytes and their SHA-256.

    ``beside`` reads a file by its path from the folder of this one, and raises `InputError` where
    it cannot; None where there is no folder, as for standard input.
    """

    name: str
    data: bytes
    sha256: str
    beside: Callable[[str], bytes] | None = field(default=None, compare=False, repr=False)

    @property
    def text(self) -> str:
        """The decoded text without a byte-order mark; decoded again at each call to save memory."""
        return self.data.decode("utf-8-sig")


def source_of(name: str, data: bytes, beside: Callable[[str], bytes] | None = None) -> Source:
    """Return bytes that were read elsewhere as a source."""
    return Source(name, data, hashlib.sha256(data).hexdigest(), beside)


def read_source(path: str | Path) -> Source:
    """Read a file, an object by its URL, or standard input for ``"-"``, whole.

    Raises
    ------
    InputError
        When it cannot be opened, is a folder or is larger than 1 GiB.
    """
    name = str(path)
    beside = None
    try:
        if name == "-":
            name = "<stdin>"
            if sys.stdin is None:  # closed by whoever started this process
                raise InputError("standard input is closed", path=name)
            data = _bounded(sys.stdin.buffer)
        elif is_url(name):
            beside = partial(_read_beside_object, name)
            with opened(name) as file:
                data = _bounded(file)
        else:
            beside = partial(_read_beside, Path(path).parent)
            with Path(path).open("rb") as file:
                data = _bounded(file)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", path=name) from None
    except ValueError as error:  # an embedded null byte in the name
        raise InputError(f"cannot be read: {error}", path=name.replace("\0", "\\0")) from None
    if len(data) > LARGEST_FILE_BYTES:
        raise InputError("larger than 1 GiB, the most that is read", path=name)
    return source_of(name, data, beside)


def _read_beside(folder: Path, path: str) -> bytes:
    """Read an ordinary file below a folder that no link leads out of."""
    real, top = os.path.realpath(folder / path), os.path.realpath(folder)
    if os.path.commonpath([real, top]) != top:
        raise InputError("is a link out of the folder")
    if not os.path.lexists(real):
        raise InputError("is missing")
    if not is_file(real):
        raise InputError("is no ordinary file")
    return read_source(real).data


def _read_beside_object(url: str, path: str) -> bytes:
    """Read an object below the folder of another."""
    there = f"{url.rpartition('/')[0]}/{path}"
    if kind_of(there) is None:
        raise InputError("is missing")
    return read_source(there).data


def _bounded(file: BinaryIO) -> bytes:
    """Read to the end or just beyond the limit, a piece at a time: a pipe has no known size."""
    pieces = []
    left = LARGEST_FILE_BYTES + 1
    while left > 0 and (piece := file.read(min(left, _PIECE_BYTES))):
        pieces.append(piece)
        left -= len(piece)
    return b"".join(pieces)


def parse(source: Source) -> tuple[Any, tuple[Defect, ...]]:
    """Parse a source into a document and the defects taken out of it.

    Returns
    -------
    document : object
        What ``json.loads`` gives, with ``None`` where a value was taken out.
    defects : tuple of Defect
        In the order of the document.

    Raises
    ------
    InputError
        When the bytes are not JSON text, with what they are or the line and column of the fault.
    """
    _refuse_other_formats(source)
    if _is_much(len(source.data)) and (plain := read_plain(source.data)) is not None:
        return plain[0], ()
    return parse_strictly(source)


def parse_strictly(source: Source) -> tuple[Any, tuple[Defect, ...]]:
    """Do the same without msgspec: the reader that names every defect and fault."""
    try:
        text = source.text
    except UnicodeDecodeError as error:
        line = source.data.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"not UTF-8: byte {source.data[error.start]:#04x} at offset {error.start}",
            path=source.name,
            line=line,
        ) from None
    scanner = _Scanner()
    try:
        document = scanner.decode(text, object_hook=scanner.count_members)
    except json.JSONDecodeError as error:
        raise _syntax_error(source.name, text, error) from None
    except RecursionError:
        raise _too_deep(source.name) from None
    structure = _structure(source.data)
    if _deeper_than(structure, DEEPEST):
        raise _too_deep(source.name)
    if structure.count(b":") != scanner.members:  # some key was named again, and its value lost
        del document
        document = scanner.decode(text, object_pairs_hook=scanner.marked_object)
    if not scanner.dirty and "\\ud" not in text and "\\uD" not in text:
        return document, ()
    defects: list[Defect] = []
    document = _cleaned(document, "", defects)
    return document, tuple(defects)


_sizes = {"parsed": 0}


def _is_much(size: int) -> bool:
    """Whether this process has parsed enough, with so many bytes more, for msgspec to pay."""
    _sizes["parsed"] += size
    return _sizes["parsed"] >= _LITTLE


def read_plain(data: bytes) -> tuple[Any] | None:
    """Return the document of plain JSON, which has no defects; None in doubt."""
    import msgspec

    if _has_long_integer(data):
        return None
    try:
        with _not_collecting():
            document = msgspec.json.decode(data)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
    if type(document) not in _CONTAINERS:
        return None
    structure = _structure(data)
    written = _Count(structure.count(b"{") + structure.count(b"["), structure.count(b":"))
    del structure
    return (document,) if _count([document], DEEPEST) == written else None


def _has_long_integer(data: bytes) -> bool:
    """Whether an integer has 16 digits or more."""
    for start in range(0, len(data), _CACHED_BYTES):
        piece = data[start : start + _CACHED_BYTES + len(_LONG_INTEGER) - 1]
        if _LONG_INTEGER in piece.translate(_NUMBERS):
            return True
    return False


class _Count(NamedTuple):
    containers: int
    members: int


def _count(column: list[Any], levels: int) -> _Count:
    """Count the containers in a column of values and below, as far as samples show where they are.

    A container that no sample showed, or below too many levels, is missing from the count.
    """
    if len(column) > _CACHED_VALUES:
        starts = range(0, len(column), _CACHED_VALUES)
        parts = [_count(column[start : start + _CACHED_VALUES], levels) for start in starts]
        return _Count(sum(part.containers for part in parts), sum(part.members for part in parts))
    kinds = set(map(type, column))
    objects, lists = (_of_kind(kind, column, kinds) for kind in _CONTAINERS)
    containers, members = len(objects) + len(lists), sum(map(len, objects))
    below: list[list[Any]] = []
    if levels > 1:
        shown = chain.from_iterable(map(dict.items, _sample(objects)))
        keys = dict.fromkeys(key for key, value in shown if type(value) in _CONTAINERS)
        below += [_values(key, objects) for key in keys]
        if not set(_CONTAINERS).isdisjoint(map(type, chain.from_iterable(_sample(lists)))):
            below.append(list(chain.from_iterable(lists)))
    for inner in below:
        found = _count(inner, levels - 1)
        containers, members = containers + found.containers, members + found.members
    return _Count(containers, members)


_CONTAINERS = (dict, list)
_SAMPLE = 16


def _of_kind(kind: type, column: list[Any], kinds: set[type]) -> list[Any]:
    """Return the values of one type; without a copy where all are."""
    if kind not in kinds:
        return []
    return column if len(kinds) == 1 else [value for value in column if type(value) is kind]


def _values(key: str, objects: list[Any]) -> list[Any]:
    try:
        return list(map(itemgetter(key), objects))
    except KeyError:
        return [one.get(key) for one in objects]


def _sample(values: Sequence[T]) -> Sequence[T]:
    return values[:: max(1, len(values) // _SAMPLE)]


def _refuse_other_formats(source: Source) -> None:
    data = source.data
    if not data:
        raise InputError("the file is empty (0 bytes)", path=source.name)
    if data.startswith(LFS_POINTER):
        raise InputError(NOT_FETCHED, path=source.name)
    for magic, what in _NOT_JSON:
        if data.startswith(magic):
            raise InputError(what, path=source.name)
    if not data.strip(b" \t\r\n\xef\xbb\xbf"):
        raise InputError("the file holds only white space", path=source.name)


def _syntax_error(name: str, text: str, error: json.JSONDecodeError) -> InputError:
    what = error.msg[0].lower() + error.msg[1:]
    # A line break inside a string is another fault, so an unterminated one runs to the end.
    if error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated string"):
        what = f"the text ends too early ({what}); the file looks cut off"
    elif error.msg == "Extra data":
        what = "more text after the end of the JSON value (JSON Lines, or two files in one?)"
    return InputError(f"not JSON: {what}", path=name, line=error.lineno, column=error.colno)


def _too_deep(name: str) -> InputError:
    return InputError(f"nested deeper than {DEEPEST} levels, which no results file is", path=name)


def _structure(data: bytes) -> bytes:
    """Return the brackets and colons of valid JSON text, those in strings left out."""
    if b"\\" in data:
        data = _ESCAPED.sub(b"", data)
    structure = data.translate(None, _NO_STRUCTURE).replace(b'""', b"")
    return _QUOTED.sub(b"", structure) if b'"' in structure else structure


def _deeper_than(structure: bytes, limit: int) -> bool:
    """Whether containers nest deeper than ``limit``; the innermost pairs go, a level at a time."""
    brackets = structure.replace(b":", b"")
    for _ in range(limit):
        if not brackets:
            return False
        brackets = brackets.replace(b"{}", b"\0").replace(b"[]", b"\0").replace(b"\0", b"")
    return bool(brackets)


@contextmanager
def _not_collecting() -> Iterator[None]:
    """Keep the collector still: parsing makes no cycles, and its walks double the time."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


@dataclass(frozen=True, slots=True)
class _TakenOut:
    """Stands in the parsed tree for a value that must not be used, until it is cleaned."""

    kind: str
    text: str


class _DuplicateKeys(dict[str, Any]):
    """An object in which the text names a key more than once."""

    repeated: tuple[str, ...] = ()


class _Scanner:
    """The decoder's hooks.

    ``dirty`` tells whether any of them took something out or marked it; ``members`` counts what
    the objects hold, one per key: fewer than the text has colons where a key is repeated.
    """

    def __init__(self) -> None:
        self.dirty = False
        self.members = 0

    def decode(self, text: str, **objects: Any) -> Any:
        with _not_collecting():
            return json.loads(
                text,
                parse_constant=self._constant,
                parse_float=self._float,
                parse_int=self._int,
                **objects,
            )

    def _take_out(self, kind: str, text: str) -> _TakenOut:
        self.dirty = True
        return _TakenOut(kind, text if len(text) <= 40 else text[:37] + "...")

    def _constant(self, text: str) -> Any:
        return self._take_out("non-finite", text)

    def _float(self, text: str) -> Any:
        value = float(text)
        # Infinity less itself is NaN, which is true; no test is quicker, and every number takes it.
        return self._take_out("non-finite", text) if value - value else value

    def _int(self, text: str) -> Any:
        # Sixteen characters hold every integer up to 2^53; longer ones are looked at.
        if len(text) < 16:
            return int(text)
        if len(text) < 20 and abs(int(text)) <= LARGEST_INTEGER:
            return int(text)
        return self._take_out("large-integer", text)

    def count_members(self, members: dict[str, Any]) -> dict[str, Any]:
        self.members += len(members)
        return members

    def marked_object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        members = dict(pairs)
        if len(members) == len(pairs):
            return members
        self.dirty = True
        marked = _DuplicateKeys(members)
        seen: set[str] = set()
        repeated = [key for key, _ in pairs if key in seen or seen.add(key)]  # type: ignore[func-returns-value]
        marked.repeated = tuple(dict.fromkeys(repeated))
        return marked


def _cleaned(value: Any, here: str, defects: list[Defect]) -> Any:
    """Return the value with every placeholder noted and replaced; recursion is at most DEEPEST."""
    if isinstance(value, _TakenOut):
        defects.append(Defect(value.kind, here, value.text))
        return None
    if isinstance(value, dict):
        if isinstance(value, _DuplicateKeys):
            defects.extend(
                Defect("duplicate-key", join(here, key), _printable(key)) for key in value.repeated
            )
        return dict(_cleaned_members(value, here, defects))
    if isinstance(value, list):
        return [_cleaned(item, join(here, index), defects) for index, item in enumerate(value)]
    if isinstance(value, str) and _SURROGATE.search(value):
        defects.append(Defect("unpaired-surrogate", here, _printable(value)))
        return _SURROGATE.sub("\ufffd", value)
    return value


def _cleaned_members(
    value: dict[str, Any], here: str, defects: list[Defect]
) -> Iterator[tuple[str, Any]]:
    for key, member in value.items():
        if _SURROGATE.search(key):
            key = _SURROGATE.sub("\ufffd", key)
            defects.append(Defect("unpaired-surrogate", join(here, key), key))
        yield key, _cleaned(member, join(here, key), defects)


def _printable(text: str) -> str:
    text = _SURROGATE.sub("\ufffd", text)
    return text if len(text) <= 40 else text[:37] + "..."
