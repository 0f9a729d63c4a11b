"""The prose of a study with its expressions computed: what templates call ``prose``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jinja2 import nodes

from audit.errors import UsageError
from audit.pages.environment import PageEnvironment, one_line_errors, prose_environment
from audit.pages.inline import Prose, named, parse, verbatim
from audit.pages.recipe import COMMANDS, NAMES, PLAIN, Passage, Recipe, recipe_keys

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
    return {
        key: _filled(recipe.content.get(key), key, schema, texts)
        for key, schema in recipe_keys().items()
        if key != PLAIN
    }


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


def _filled(value: Any, key: str, schema: Mapping[str, Any], texts: Mapping[str, Prose]) -> Any:
    """Return a value of the prose with every key that its schema names."""
    match schema["type"]:
        case "object":
            return {
                name: _filled((value or {}).get(name), f"{key}.{name}", below, texts)
                for name, below in schema["properties"].items()
            }
        case "array":
            return [
                _filled(entry, f"{key}[{index}]", schema["items"], texts)
                for index, entry in enumerate(value or ())
            ]
    return texts.get(key, Prose(()))
