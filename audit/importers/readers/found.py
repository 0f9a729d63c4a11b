"""One file below a folder of runs: looked at by its name first, then its head, then as a whole."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

from audit.errors import ImportRefused, InputError
from audit.reading import LARGEST_FILE_BYTES, LFS_POINTER, Source, parse, read_source

HEAD_BYTES = 1 << 16
# A zip that holds data.pkl is what torch.save writes; the rest are pickle protocols 2 to 5.
_TORCH = (b"PK", b"data.pkl")
_PICKLE = re.compile(rb"\x80[\x02-\x05]")


class Found:
    """A file of the walk.

    Parameters
    ----------
    place : str
        Where it is opened.
    relative : str
        Its place below the folder that was given, parts joined by ``/``. Runs, arms and seeds are
        told by it, and it is what a results file names: no folder above the one that was given.
    name : str
        As the user would name it, for messages.
    size : int
        In bytes.
    """

    def __init__(self, place: str | Path, relative: str, name: str, size: int) -> None:
        self.place, self.relative, self.name, self.size = str(place), relative, name, size
        self._sha256: str | None = None
        self.notes: list[str] = []

    def __repr__(self) -> str:
        return f"Found({self.relative!r})"

    @property
    def path(self) -> Path:
        """Where it is opened."""
        return Path(self.place)

    @property
    def folder(self) -> str:
        """The folder that holds it, below the given one; empty for that one itself."""
        return self.relative.rpartition("/")[0]

    @property
    def base(self) -> str:
        """The last part of its path."""
        return self.relative.rpartition("/")[2]

    @property
    def stem(self) -> str:
        """The last part of its path without its last ending."""
        return Path(self.base).stem

    @cached_property
    def head(self) -> bytes:
        """The first 64 KiB."""
        try:
            with open(self.place, "rb", buffering=0) as file:  # noqa: PTH123 - one call of many
                return file.read(HEAD_BYTES) or b""
        except OSError as error:
            raise InputError(f"cannot be read: {error.strerror}", path=self.name) from None

    @cached_property
    def first(self) -> dict[str, Any] | None:
        """The object on the first line that is not blank; None where there is none."""
        line = self.head.lstrip(b"\xef\xbb\xbf \t\r\n").partition(b"\n")[0]
        try:
            found = json.loads(line)
        except (ValueError, RecursionError):
            return None
        return found if isinstance(found, dict) else None

    @property
    def is_pointer(self) -> bool:
        """Whether it is a Git LFS pointer in place of the file."""
        return self.head.startswith(LFS_POINTER)

    @property
    def is_pickle(self) -> bool:
        """Whether it would run code when loaded: a pickle, or what ``torch.save`` writes."""
        magic, member = _TORCH
        return bool(_PICKLE.match(self.head)) or (
            self.head.startswith(magic) and member in self.head
        )

    def mentions(self, *keys: str) -> bool:
        """Whether the head holds all of these as quoted names, wherever they stand."""
        return all(f'"{key}"'.encode() in self.head for key in keys)

    @property
    def sha256(self) -> str:
        """SHA-256 of the bytes; reads the file once, piece by piece, unless lines did."""
        if self._sha256 is None:
            digest = hashlib.sha256()
            with self.path.open("rb") as file:
                while piece := file.read(1 << 20):
                    digest.update(piece)
            self._sha256 = digest.hexdigest()
        return self._sha256

    def source(self) -> Source:
        """Return the whole file as the strict parser takes it."""
        source = read_source(self.path)
        self._sha256 = source.sha256
        return Source(self.name, source.data, source.sha256)

    def text(self) -> str:
        """Return the whole file as text, without a byte-order mark.

        Raises
        ------
        InputError
            When it cannot be read or is not UTF-8.
        """
        try:
            return self.source().text
        except UnicodeDecodeError:
            raise InputError("not UTF-8 text", path=self.name) from None

    def document(self) -> Any:
        """Return the JSON document, strictly parsed; NaN and infinities come as None.

        Raises
        ------
        InputError
            When it cannot be read or is not JSON.
        ImportRefused
            When an object in it names one key twice.
        """
        document, defects = parse(self.source())
        for defect in defects:
            if defect.kind == "duplicate-key":
                raise ImportRefused(
                    f"the key {defect.text!r} is there twice; which one counts is unknown",
                    path=self.name,
                    pointer=defect.pointer,
                )
        return document

    def lines(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield line number and object of JSON Lines, one at a time; nothing is kept.

        A last line without an end that is no JSON is what a writer leaves when it is stopped: it
        is dropped and said. NaN and infinities come as None.

        Raises
        ------
        InputError
            When another line is no JSON object.
        """
        if self.size > LARGEST_FILE_BYTES:
            raise InputError("larger than 1 GiB, the most that is read", path=self.name)
        digest = hashlib.sha256()
        with self.path.open("rb") as file:
            for number, line in enumerate(file, 1):
                digest.update(line)
                plain = line.strip(b"\xef\xbb\xbf \t\r\n")
                if not plain:
                    continue
                try:
                    row = json.loads(plain, parse_constant=_no_number)
                except (ValueError, RecursionError) as error:
                    if not line.endswith(b"\n"):
                        self.notes.append(f"{self.name}: its last line is cut off and is dropped")
                        break
                    raise InputError(f"not JSON: {error}", path=self.name, line=number) from None
                if not isinstance(row, dict):
                    raise InputError(
                        "a line of JSON Lines must be an object", path=self.name, line=number
                    )
                yield number, row
        self._sha256 = digest.hexdigest()


def _no_number(word: str) -> None:
    """Return None for NaN and infinities."""
