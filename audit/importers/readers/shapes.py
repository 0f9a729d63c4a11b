"""Parts of a parsed document by what they must be: objects, lists of objects."""

from __future__ import annotations

from typing import Any

from audit.errors import InputError
from audit.importers.readers.found import Found


def inner(value: Any, *keys: str) -> dict[str, Any]:
    """Return the object at a path of keys, empty where there is none."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def objects(value: Any, what: str, found: Found) -> list[dict[str, Any]]:
    """Return a list of objects; an empty one where nothing stands there.

    Raises
    ------
    InputError
        When something else stands there: none of the list is left out in silence.
    """
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(entry, dict) for entry in value):
        raise InputError(f"{what} is no list of objects", path=found.name)
    return value
