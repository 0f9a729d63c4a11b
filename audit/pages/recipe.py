"""``recipe.toml``: the prose of a study, which lies beside its results file."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from audit.errors import InputError

NAME = "recipe.toml"
LARGEST_BYTES = 2_000_000

# What each key holds: one string, a list of strings, a table of strings, a list of tables.
TEXT, TEXTS, TABLE, TABLES = "a string", "a list of strings", "a table", "a list of tables"
KEYS: dict[str, tuple[str, tuple[str, ...], str]] = {
    "title": (TEXT, (), "what the page is called; the method's name when left out"),
    "paper": (TABLE, ("title", "authors", "id", "date", "url"), "the paper the recipe is from"),
    "background": (TEXT, (), "what a reader should know first"),
    "claim": (TEXT, (), "what the paper claims"),
    "change": (TEXT, (), "the change that the top arm makes"),
    "labels": (TABLE, (), "what the page calls an arm, by its name; base is the untrained model"),
    "score": (TEXT, (), "what the page calls the score, e.g. pass@1"),
    "recipe": (TEXTS, (), "the steps, numbered on the page"),
    "recipe_notes": (TEXTS, (), "paragraphs below the steps"),
    "run": (TABLE, ("commands", "notes"), "commands, and paragraphs below them"),
    "result_before": (TEXTS, (), "paragraphs above the result table"),
    "result_after": (TEXTS, (), "paragraphs below the result and its verdict"),
    "checks": (
        TABLES,
        ("id", "check", "source", "result"),
        "rows of the checks table; one with the id of a built-in row replaces it",
    ),
    "checks_after": (TEXTS, (), "paragraphs below the checks table"),
    "climb": (TEXTS, (), "paragraphs below the table of rounds"),
    "learned": (TEXTS, (), "what was learned, one point each"),
    "verified": (TEXT, (), "a sentence after the verified line"),
    "references": (TABLES, ("text", "url"), "what the page cites, in order"),
}
# Names are data and hold no expressions: figures and tables use them before prose is computed.
PLAIN = "labels"
COMMANDS = "run.commands"
NAMES = ("title", "score", "paper.")
# Keys of the tables above whose value is a list of strings.
LISTS = {("run", "commands"), ("run", "notes")}


@dataclass(frozen=True, slots=True)
class Passage:
    """One string of the prose: its place as a key path, its text, its line if found."""

    key: str
    text: str
    line: int | None


@dataclass(frozen=True)
class Recipe:
    """The prose as written, its expressions not yet computed.

    Attributes
    ----------
    path : str or None
        The file; None where a study has none.
    content : dict
        The keys of the file, of the types that ``KEYS`` gives.
    """

    path: str | None = None
    content: Mapping[str, Any] = field(default_factory=dict)
    source: str = ""

    def passages(self) -> Iterator[Passage]:
        """Yield every string but the labels with its key path and line, in the file's order."""
        cursor = 0
        for key, text in _strings({k: v for k, v in self.content.items() if k != PLAIN}, ""):
            found = _position(self.source, text, cursor)
            cursor = cursor if found is None else found
            line = None if found is None else self.source.count("\n", 0, found) + 1
            yield Passage(key, text, line)


def recipe_beside(results: str) -> Recipe:
    """Read the prose beside a results file; empty where there is none.

    Raises
    ------
    InputError
        When the file is not TOML or holds a key or a type that means nothing.
    """
    path = Path(results).parent / NAME
    return read_recipe(path) if results != "-" and path.is_file() else Recipe()


def read_recipe(path: Path) -> Recipe:
    """Read a file of prose; raises like `recipe_beside`."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", path=str(path)) from None
    if len(data) > LARGEST_BYTES:
        raise InputError(f"more than {LARGEST_BYTES:,} bytes of prose", path=str(path))
    try:
        source = data.decode("utf-8")
        content = tomllib.loads(source)
    except UnicodeDecodeError:
        raise InputError("is not UTF-8", path=str(path)) from None
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InputError(f"is not TOML: {error}", path=str(path)) from None
    for key, value in content.items():
        fault = _fault(key, value)
        if fault:
            raise InputError(fault, path=str(path))
    return Recipe(str(path), content, source.replace("\r\n", "\n"))


def _fault(key: str, value: Any) -> str | None:
    if key not in KEYS:
        return f"unknown key {key!r}; there are {', '.join(KEYS)}"
    kind, inner, _ = KEYS[key]
    if kind == TEXT:
        return None if isinstance(value, str) else f"{key} must be {kind}"
    if kind == TEXTS:
        return None if _texts(value) else f"{key} must be {kind}"
    tables = [value] if kind == TABLE else value
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        return f"{key} must be {kind}"
    for name, entry in ((name, entry) for table in tables for name, entry in table.items()):
        if inner and name not in inner:
            return f"unknown key {key}.{name}; there are {', '.join(inner)}"
        expected = TEXTS if (key, name) in LISTS else TEXT
        if not (_texts(entry) if expected == TEXTS else isinstance(entry, str)):
            return f"{key}.{name} must be {expected}"
    return None


def _texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _strings(value: Any, key: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield key, value
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield from _strings(inner, f"{key}.{name}" if key else name)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _strings(inner, f"{key}[{index}]")


def _position(source: str, text: str, cursor: int) -> int | None:
    """Return where a string's first line stands, at or after the cursor, else anywhere."""
    first = next((line.strip() for line in text.splitlines() if line.strip()), "")
    for shown in (first, first.replace("\\", "\\\\").replace('"', '\\"')):
        found = source.find(shown, cursor) if first else -1
        if found < 0 and first:
            found = source.find(shown)
        if found >= 0:
            return found
    return None
