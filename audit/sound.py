"""The part of a document that keeps its contract, for everything that computes.

Rules and statistics never meet a value of the wrong type: the member that holds it is left out,
as if the file had not recorded it, and the schema finding says so.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from audit.pointer import parts

_ROUNDS = 4


def sound_part(document: Any, faulty: Iterable[str]) -> dict[str, Any] | None:
    """Return the document without the members the schema finds fault with, or None.

    A fault inside a list takes out the whole list (a list with a hole would shift its neighbours);
    a fault at an object in a list takes out that list too. The input is not changed; what is
    not on the way to a fault is shared with it.

    Parameters
    ----------
    document : object
        The parsed document.
    faulty : iterable of str
        Pointers of the values that break the schema.

    Returns
    -------
    dict or None
        None where nothing sound is left: the fault is at the root, in a required top-level key,
        or taking members out keeps opening new faults.
    """
    from audit.schema import schema_faults

    if not isinstance(document, dict):
        return None
    pointers = list(faulty)
    sound: dict[str, Any] | None = document
    for _ in range(_ROUNDS):
        for pointer in pointers:
            sound = None if sound is None else _without(sound, parts(pointer))
        if sound is None or not pointers:
            return sound
        pointers = [fault.pointer for fault in schema_faults(sound)]
    return None if pointers else sound


def _without(document: dict[str, Any], path: tuple[str, ...]) -> dict[str, Any] | None:
    """Copy the containers along ``path`` and drop the innermost object member on it."""
    containers: list[Any] = [document]
    for token in path:
        inner = containers[-1]
        if isinstance(inner, dict) and token in inner:
            containers.append(inner[token])
        elif isinstance(inner, list) and token.isdigit() and int(token) < len(inner):
            containers.append(inner[int(token)])
        else:
            break
    depth = min(len(containers), len(path))
    while depth and not isinstance(containers[depth - 1], dict):
        depth -= 1
    if depth == 0:
        return None
    root = dict(document)
    here: Any = root
    for token in path[: depth - 1]:
        key: Any = token if isinstance(here, dict) else int(token)
        child = here[key]
        here[key] = dict(child) if isinstance(child, dict) else list(child)
        here = here[key]
    here.pop(path[depth - 1], None)
    return root
