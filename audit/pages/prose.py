"""The prose of a study with its expressions computed: what templates call ``prose``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jinja2 import nodes

from audit.errors import UsageError
from audit.pages.environment import PageEnvironment, one_line_errors, prose_environment
from audit.pages.inline import Prose, named, parse, verbatim
from audit.pages.recipe import (
    COMMANDS,
    KEYS,
    LISTS,
    NAMES,
    PLAIN,
    TABLE,
    TABLES,
    TEXT,
    Passage,
    Recipe,
)

# Prose may compute and choose; loops, macros and other templates belong in a template.
_REFUSED = (nodes.For, nodes.Macro, nodes.Include, nodes.Import, nodes.FromImport, nodes.Extends)


def computed(recipe: Recipe, variables: Mapping[str, Any]) -> dict[str, Any]:
    """Return every key of the prose, absent ones empty, with the expressions replaced.

    Parameters
    ----------
    recipe : Recipe
    variables : mapping
        What the expressions may name; see ``audit templates``.

    Raises
    ------
    UsageError
        When an expression cannot be computed; it names the file, the line and the key.
    """
    environment = prose_environment()
    texts = {p.key: _computed(p, recipe, environment, variables) for p in recipe.passages()}
    kinds = {key: kind for key, (kind, _, _) in KEYS.items() if key != PLAIN}
    return {key: _filled(recipe.content.get(key), key, kind, texts) for key, kind in kinds.items()}


def _computed(
    passage: Passage, recipe: Recipe, environment: PageEnvironment, variables: Mapping[str, Any]
) -> Prose:
    read = verbatim if passage.key.startswith(COMMANDS) else parse
    read = named if passage.key.startswith(NAMES) else read
    if "{" not in passage.text:
        return read(passage.text)
    place = f"{recipe.path}" if passage.line is not None else f"{recipe.path} {passage.key}"
    try:
        with one_line_errors(place, shift=(passage.line or 1) - 1):
            for refused in environment.parse(passage.text).find_all(_REFUSED):
                name = type(refused).__name__.lower()
                raise UsageError(f"{name} is not for prose", path=place, line=(passage.line or 1))
            return read(environment.from_string(passage.text).render(variables))
    except UsageError as error:
        raise UsageError(
            f"{passage.key}: {error.message}", path=error.path, line=error.line
        ) from None


def _filled(value: Any, key: str, kind: str, texts: Mapping[str, Prose]) -> Any:
    if kind == TEXT:
        return texts.get(key, Prose(()))
    if kind == TABLE:
        return _table(value or {}, key, texts)
    if kind == TABLES:
        return [_table(entry, f"{key}[{n}]", texts) for n, entry in enumerate(value or [])]
    return [texts[f"{key}[{index}]"] for index in range(len(value or []))]


def _table(value: Mapping[str, Any], key: str, texts: Mapping[str, Prose]) -> dict[str, Any]:
    """Return a table with every key its kind of table may have."""
    names = KEYS[key.partition("[")[0]][1] or tuple(value)
    return {
        name: [texts[f"{key}.{name}[{n}]"] for n in range(len(value.get(name) or ()))]
        if (key, name) in LISTS
        else texts.get(f"{key}.{name}", Prose(()))
        for name in names
    }
