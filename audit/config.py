"""Configuration files: TOML held against a published JSON Schema, each fault at its line.

``study.toml``, ``audit.toml`` and ``recipe.toml`` are read here, so that all of them word their
faults alike. A fault names the file, the line and the key, and says what was expected; all faults
of a file are told at once.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import math
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

from audit.errors import ConfigError, InputError
from audit.pointer import parts
from audit.reading import DEEPEST, LARGEST_INTEGER
from audit.schema import SchemaFault, schema_faults

LARGEST_BYTES = 2_000_000
MOST_FAULTS = 20
_DEEPEST = DEEPEST // 2  # a results file wraps what it takes over in more
_SHOWN = 80  # characters of a key that a message repeats
_MOST_KNOWN = 20  # known keys that a message lists
_MOMENTS = (datetime.date, datetime.time)  # a datetime is a date
_PLACE = re.compile(r"(.*?)(?: \(at line (\d+), column (\d+)\))?", re.DOTALL)
_BARE = re.compile(r"[A-Za-z0-9_-]+")

T = TypeVar("T")

Fault = tuple[str, str]
"""A key as the file writes it, e.g. ``arms.plain.radius``, and what is wrong with it."""


@dataclass(frozen=True)
class Config:
    """A configuration file as it was read.

    Attributes
    ----------
    path, text, sha256 : str
        The file as it was named, its text, and the SHA-256 of its bytes.
    content : dict
        What it says, dates as their ISO text; the table asked for, where one was.
    table : tuple of str
        The way to that table; empty for the whole file.
    has_table : bool
        Whether the file has it.
    """

    path: str
    text: str
    sha256: str
    content: dict[str, Any]
    table: tuple[str, ...] = ()
    has_table: bool = True

    @cached_property
    def lines(self) -> dict[str, int]:
        """The one-based line of every key and list entry."""
        return key_lines(self.text)

    def refuse(self, faults: Iterable[Fault]) -> None:
        """Raise all faults in the order of their lines, if there are any.

        Raises
        ------
        ConfigError
            An ``InputError`` that has all of them.
        """
        prefix = key_name(*self.table)
        found = [
            _error(self.path, f"{prefix}.{key}".strip("."), message, self.lines)
            for key, message in faults
        ]
        if found:
            raise ConfigError(sorted(found, key=lambda error: error.line or 0))


def read_config(path: str | Path, schema: str, table: tuple[str, ...] = ()) -> Config:
    """Read a TOML file and hold it against a schema of ``schemas/``.

    Parameters
    ----------
    path : str or Path
    schema : str
        Name of the schema: ``"study"``, ``"policy"`` or ``"recipe"``.
    table : tuple of str
        The table to judge, e.g. ``("tool", "audit")``; left out, the whole file.

    Raises
    ------
    InputError
        When the file cannot be read, is not TOML or breaks the schema.
    """
    try:
        with Path(path).open("rb") as file:
            data = file.read(LARGEST_BYTES + 1)
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError(f"cannot be read: {reason}", path=str(path)) from None
    return parse_config(str(path), data, schema, table)


def parse_config(name: str, data: bytes, schema: str, table: tuple[str, ...] = ()) -> Config:
    """Hold the bytes of a TOML file against a schema; parameters and errors as `read_config`."""
    if len(data) > LARGEST_BYTES:
        raise InputError(f"larger than {LARGEST_BYTES:,} bytes", path=name)
    try:
        text = data.decode("utf-8-sig")  # some editors put a mark in front
        content: Any = tomllib.loads(text)
    except UnicodeDecodeError:
        raise InputError("not TOML: not UTF-8", path=name) from None
    except tomllib.TOMLDecodeError as error:
        what, line, column = _PLACE.fullmatch(str(error)).groups()  # type: ignore[union-attr]
        place = (int(line), int(column)) if line else (None, None)
        raise InputError(f"not TOML: {what}", path=name, line=place[0], column=place[1]) from None
    except ValueError as error:  # a number of thousands of digits
        raise InputError(f"not TOML: {error}", path=name) from None
    except RecursionError:
        raise InputError("not TOML: nested too deeply", path=name) from None
    digest, has_table = hashlib.sha256(data).hexdigest(), True
    for step in table:
        has_table = isinstance(content, dict) and step in content
        content = content[step] if has_table else {}
    Config(name, text, digest, {}, table).refuse(_beyond_json(content, ""))
    config = Config(name, text, digest, _with_texts(content), table, has_table)
    if has_table:  # else nothing to judge, and no schema to load
        config.refuse(faults_in_words(config.content, schema))
    return config


def faults_in_words(document: Any, schema: str) -> Iterator[Fault]:
    """Yield where a document breaks a schema: the key, what was expected and what was found."""
    for fault in schema_faults(document, MOST_FAULTS, schema):
        yield _in_words(fault, pointer_key(fault.pointer, document))


def located(path: str, key: str, message: str) -> InputError:
    """Return the error about a key of a file that was read before, with its line.

    Parameters
    ----------
    path : str
        The file; where it cannot be read, the line is left out.
    key : str
        As the file writes it, e.g. ``task.model``.
    message : str
        What is wrong.
    """
    try:
        lines = key_lines(Path(path).read_text(encoding="utf-8-sig"))
    except (OSError, ValueError):
        lines = {}
    return _error(path, key, message, lines)


def build(kind: type[T], table: Mapping[str, Any], **more: Any) -> T:
    """Build a dataclass from a table that a schema has judged.

    3 becomes 3.0 where a float is expected, and 3.0 becomes 3 where an integer is. Keys of
    ``more`` come first, and keys that the dataclass lacks are left out.
    """
    hints = get_type_hints(kind)
    values = {}
    for f in fields(kind):  # type: ignore[arg-type]
        if f.name in more:
            values[f.name] = more[f.name]
        elif f.name in table:
            values[f.name] = _as(hints[f.name], table[f.name])
    return kind(**values)


def key_name(*steps: str | int) -> str:
    """Write the way to a value as TOML writes keys: ``arms.plain.radius``, ``claims[0].arm``."""
    written = ""
    for step in steps:
        if isinstance(step, int):
            written += f"[{step}]"
        else:
            bare = step if _BARE.fullmatch(step) else json.dumps(step, ensure_ascii=False)
            written += f".{bare}" if written else bare
    return written


def pointer_key(pointer: str, document: Any) -> str:
    """Write a JSON Pointer into a document as a key of TOML."""
    steps: list[str | int] = []
    for token in parts(pointer):
        is_list = isinstance(document, list)
        steps.append(int(token) if is_list else token)
        try:
            document = document[steps[-1]]
        except (LookupError, TypeError):
            document = None
    return key_name(*steps)


def key_lines(text: str) -> dict[str, int]:
    """Return the one-based line of every key and list entry of a valid TOML text.

    A key of several parts has its tables at their first line. A text over several lines that
    begins below its quotes has the line at which it begins.
    """
    return _Locator(text).lines


def _error(path: str, key: str, message: str, lines: Mapping[str, int]) -> InputError:
    shown = key if len(key) <= _SHOWN else f"{key[:_SHOWN]}..."
    text = f"{shown}: {message}" if key else message
    return InputError(text, path=path, line=_line(key, lines))


def _line(key: str, lines: Mapping[str, int]) -> int | None:
    """Return the line of a key, else of the nearest table or list around it."""
    around = [p for p in lines if key == p or key.startswith((f"{p}.", f"{p}["))]
    return lines[max(around, key=len)] if around else None


def _as(hint: Any, value: Any) -> Any:
    if type(value) in (int, float) and hint in (int, float, float | None):
        return int(value) if hint is int else float(value)
    if hint == tuple[int, ...]:
        return tuple(int(one) for one in value)
    return tuple(value) if isinstance(value, list) else value


def _beyond_json(value: Any, key: str, depth: int = 0) -> Iterator[Fault]:
    """Yield what JSON does not carry, and no schema could judge."""
    if depth > _DEEPEST:
        yield key, "nested too deeply"
    elif isinstance(value, dict):
        for name, below in value.items():
            yield from _beyond_json(below, f"{key}.{key_name(name)}".lstrip("."), depth + 1)
    elif isinstance(value, list):
        for index, below in enumerate(value):
            yield from _beyond_json(below, f"{key}[{index}]", depth + 1)
    elif isinstance(value, float) and not math.isfinite(value):
        yield key, f"expected a finite number, found {value}"
    elif isinstance(value, int) and abs(value) > LARGEST_INTEGER:
        yield key, "a whole number beyond 2^53, which JSON does not carry"


def _with_texts(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _with_texts(below) for name, below in value.items()}
    if isinstance(value, list):
        return [_with_texts(below) for below in value]
    # The separator of str() is a space, as a person writes it.
    return str(value) if isinstance(value, _MOMENTS) else value


def _in_words(fault: SchemaFault, key: str) -> Fault:
    match fault.keyword:
        case "additionalProperties":
            few = fault.expected.count(",") < _MOST_KNOWN
            listed = f"; known here are {fault.expected.replace(chr(34), '')}" if few else ""
            return key, fault.message + ("" if "did you mean" in fault.message else listed)
        case "required":
            missing = fault.expected.removeprefix("the key ").strip("'")
            return f"{key}.{missing}".lstrip("."), "missing"
        case "json" | "limit":
            return "", fault.message
        case "minimum" | "maximum":
            bound = fault.expected.rpartition(" ")[2]
            side = "more" if fault.keyword == "minimum" else "less"
            return key, f"expected {bound} or {side}, found {fault.actual}"
        case "exclusiveMinimum" | "exclusiveMaximum":
            return key, f"expected a number {fault.expected}, found {fault.actual}"
    expected = fault.expected.replace("an object", "a table")
    return key, f"expected {expected}, found {fault.actual.replace('an object', 'a table')}"


_TOKEN = re.compile(
    r'(?P<text>"""(?:[^\\]|\\.)*?"{3,5}|\'\'\'.*?\'{3,5}|"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\')'
    r"|(?P<mark>[\[\]{}=.,\n])|(?P<bare>[^\s\[\]{}=.,#\"']+)|(?P<space>[ \t\r]+|#[^\n]*)",
    re.DOTALL,
)


class _Locator:
    """Walks the tokens of a TOML text that `tomllib` has accepted.

    No light library tells lines: tomlkit and tomllib keep none, and a grammar for an editor is a
    compiled package. As the text is known to be valid, finding its keys takes no more than this.
    """

    def __init__(self, text: str) -> None:
        self.lines: dict[str, int] = {}
        self.tokens: list[tuple[str, str, int]] = []
        line = 1
        for match in _TOKEN.finditer(text):
            if match.lastgroup != "space":
                self.tokens.append((str(match.lastgroup), match[0], line))
            line += match[0].count("\n")
        self.tokens.append(("mark", "\n", line))
        self.at = 0
        self._document()

    @property
    def _next(self) -> str:
        return self.tokens[self.at][1] if self.at < len(self.tokens) else ""

    def _take(self) -> tuple[str, str, int]:
        self.at += 1
        return self.tokens[self.at - 1]

    def _skip(self, *marks: str) -> None:
        while self._next in marks:
            self.at += 1

    def _document(self) -> None:
        entries: dict[str, int] = {}  # how many tables a list of tables has so far
        table: list[str | int] = []
        self._skip("\n")
        while self._next:
            if self._next != "[":
                self._pair(table)
            else:
                self.at += 1
                several = self._next == "["
                self.at += several
                line, table, names = self.tokens[self.at][2], [], self._key()
                for place, name in enumerate(names):
                    table.append(name)
                    here = self._note(table, line)
                    if several and place == len(names) - 1:
                        entries[here] = entries.get(here, -1) + 1
                    if here in entries:
                        table.append(entries[here])
                        self._note(table, line)
                self._skip("]")
            self._skip("\n")

    def _note(self, steps: list[str | int], line: int) -> str:
        """Keep the line of a key where it is the first, and return how the key is written."""
        if len(steps) > _DEEPEST + 1:  # no deeper key is ever named
            return ""
        here = key_name(*steps)
        self.lines.setdefault(here, line)
        return here

    def _key(self) -> list[str]:
        names = []
        while True:
            kind, text, _ = self._take()
            names.append(text if kind == "bare" else tomllib.loads(f"k={text}")["k"])
            if self._next != ".":
                return names
            self.at += 1

    def _pair(self, table: list[str | int]) -> None:
        line, here = self.tokens[self.at][2], list(table)
        for name in self._key():
            here.append(name)
            self._note(here, line)
        self.at += 1  # the sign of equality
        self._value(here)

    def _value(self, here: list[str | int]) -> None:
        kind, text, line = self._take()
        begins_below = text[:4].rstrip("\r\n") in ('"""', "'''") and len(text) > 3
        self._note(here, line)
        if begins_below and len(here) <= _DEEPEST:
            self.lines[key_name(*here)] = line + 1
        if text == "[":
            self._skip("\n")
            index = 0
            while self._next != "]":
                self._value([*here, index])
                index += 1
                self._skip(",", "\n")
            self.at += 1
        elif text == "{":
            self._skip("\n")
            while self._next != "}":
                self._pair(here)
                self._skip(",", "\n")
            self.at += 1
        elif kind == "bare":  # the rest of a number or of a date
            while self._next not in ("\n", ",", "]", "}"):
                self.at += 1
