"""``recipe.toml``: the prose of a study, which lies beside its results file.

Its keys and what they hold are those of ``schemas/recipe.schema.json``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from audit.config import key_name, read_config
from audit.paths import is_file
from audit.schema import published_schema

NAME = "recipe.toml"

# Names are data and hold no expressions: figures and tables use them before prose is computed.
PLAIN = "labels"
COMMANDS = "run.commands"
NAMES = ("title", "score", "paper.")


def recipe_keys() -> dict[str, dict[str, Any]]:
    """Return the keys of the prose, each with its JSON Schema."""
    keys: dict[str, dict[str, Any]] = published_schema("recipe")["properties"]
    return keys


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
        The keys of the file, as their schema has them.
    lines : dict
        The line of each key and list entry.
    """

    path: str | None = None
    content: Mapping[str, Any] = field(default_factory=dict)
    lines: Mapping[str, int] = field(default_factory=dict)

    def passages(self) -> Iterator[Passage]:
        """Yield every string but the labels with its key path and line, in the file's order."""
        for key, text in _strings({k: v for k, v in self.content.items() if k != PLAIN}):
            yield Passage(key, text, self.lines.get(key))


def recipe_beside(results: str) -> Recipe:
    """Read the prose beside a results file; empty where there is none.

    Raises
    ------
    InputError
        When the file is not TOML or holds a key or a type that means nothing.
    """
    path = Path(results).parent / NAME
    return read_recipe(path) if results != "-" and is_file(path) else Recipe()


def read_recipe(path: Path) -> Recipe:
    """Read a file of prose; raises like `recipe_beside`."""
    config = read_config(path, "recipe")
    return Recipe(str(path), config.content, config.lines)


def _strings(value: Any, *steps: str | int) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield key_name(*steps), value
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield from _strings(inner, *steps, name)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _strings(inner, *steps, index)
