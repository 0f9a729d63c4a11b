"""Rows of a JSON Lines file, read strictly: every complaint names the file and the line."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from audit.errors import InputError


class Number(str):
    """A JSON number as the file writes it, so that no digit of an answer is lost."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class TaskRow:
    """One object of the file and where it stands."""

    path: str
    line: int
    fields: dict[str, Any]

    def __getitem__(self, field: str) -> Any:
        if field not in self.fields:
            self.fail(field, "missing")
        return self.fields[field]

    def fail(self, field: str, message: str) -> NoReturn:
        """Raise an error that names file, line and field."""
        raise InputError(f"{field}: {message}", path=self.path, line=self.line)


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of a file; ``lines_sha256`` is of their lines as they stand, newlines included."""

    path: str
    rows: tuple[TaskRow, ...]
    sha256: str
    lines_sha256: str


def read_rows(path: Path) -> Rows:
    """Read a JSON Lines file; a byte-order mark and blank lines are passed over.

    Raises
    ------
    InputError
        When it cannot be read, holds no row, or a line is no JSON object.
    """
    name = str(path)
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(error.strerror or str(error), path=name) from error
    except ValueError as error:  # a null byte in the name
        raise InputError(f"cannot be read: {error}", path=name.replace("\0", "\\0")) from error
    rows, digest = [], hashlib.sha256()
    for number, line in enumerate(data.splitlines(keepends=True), start=1):
        text = _decoded(line, name, number)
        if text.strip():
            rows.append(TaskRow(name, number, _object(text, name, number)))
            digest.update(line)
    if not rows:
        raise InputError("holds no rows", path=name)
    return Rows(name, tuple(rows), hashlib.sha256(data).hexdigest(), digest.hexdigest())


def _decoded(line: bytes, path: str, number: int) -> str:
    try:
        return line.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError as error:
        message = f"not UTF-8: byte {line[error.start]:#04x}"
        raise InputError(message, path=path, line=number, column=error.start + 1) from None


def _object(text: str, path: str, line: int) -> dict[str, Any]:
    try:
        value = json.loads(
            text,
            parse_int=Number,
            parse_float=Number,
            parse_constant=_refuse_constant,
            object_pairs_hook=_unique,
        )
        json.dumps(value, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        message = f"not JSON: {error.msg[0].lower()}{error.msg[1:]}"
        raise InputError(message, path=path, line=line, column=error.colno) from None
    except UnicodeEncodeError:
        raise InputError(
            "an unpaired surrogate, which no text holds", path=path, line=line
        ) from None
    except RecursionError:
        raise InputError("nested too deeply", path=path, line=line) from None
    except ValueError as error:
        raise InputError(str(error), path=path, line=line) from None
    if not isinstance(value, dict):
        raise InputError("not a JSON object; each line is one", path=path, line=line)
    return value


def _refuse_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is no JSON")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"duplicate key {twice!r}")
    return found
