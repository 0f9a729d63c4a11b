"""JSON Pointers (RFC 6901), and where in the text a pointer's value stands."""

from __future__ import annotations

import re
from collections.abc import Iterable
from json.decoder import JSONDecoder, scanstring  # type: ignore[attr-defined]
from typing import Any

_SPACE = re.compile(r"[ \t\n\r]*")
_INDEX = re.compile(r"0|[1-9][0-9]*")


def escape(token: str | int) -> str:
    """Return one reference token with ``~`` and ``/`` escaped."""
    return str(token).replace("~", "~0").replace("/", "~1")


def join(parent: str, *tokens: str | int) -> str:
    """Return the pointer of a member below ``parent``."""
    return parent + "".join("/" + escape(token) for token in tokens)


def from_parts(parts: Iterable[str | int]) -> str:
    """Return the pointer whose reference tokens are ``parts``."""
    return join("", *parts)


def parts(pointer: str) -> tuple[str, ...]:
    """Return the unescaped reference tokens of a pointer; the root has none."""
    if not pointer:
        return ()
    return tuple(token.replace("~1", "/").replace("~0", "~") for token in pointer[1:].split("/"))


def resolve(document: Any, pointer: str) -> Any:
    """Return the value a pointer names.

    Raises
    ------
    KeyError
        When the document has no such place.
    """
    value = document
    for token in parts(pointer):
        if isinstance(value, dict) and token in value:
            value = value[token]
        elif isinstance(value, list) and _INDEX.fullmatch(token) and int(token) < len(value):
            value = value[int(token)]
        else:
            raise KeyError(pointer)
    return value


def natural_key(pointer: str) -> tuple[tuple[int, int, str], ...]:
    """Return a sort key that puts ``/a/2`` before ``/a/10``."""
    return tuple(
        (0, int(token), "") if _INDEX.fullmatch(token) else (1, 0, token)
        for token in parts(pointer)
    )


def locate(text: str, pointers: Iterable[str]) -> dict[str, tuple[int, int]]:
    """Return the one-based (line, column) at which each pointer's value begins.

    The text is walked along the pointers only; what lies between is skipped by the decoder of the
    standard library. A pointer without a value in the text gets the place of its nearest
    ancestor; with duplicate keys, it is the place of the first.

    Parameters
    ----------
    text : str
        The JSON text that was parsed; it must be valid JSON.
    pointers : iterable of str
        JSON Pointers, in any order.
    """
    wanted = tuple(pointers)
    tree: dict[str, Any] = {}
    for pointer in wanted:
        node = tree
        for token in parts(pointer):
            node = node.setdefault(token, {})
    offsets: dict[str, int] = {}
    _walk(text, _after_space(text, 0), tree, "", offsets)
    return {pointer: _line_and_column(text, _nearest(offsets, pointer)) for pointer in wanted}


def _nearest(offsets: dict[str, int], pointer: str) -> int:
    while pointer not in offsets:
        pointer = pointer.rpartition("/")[0]
    return offsets[pointer]


def _line_and_column(text: str, offset: int) -> tuple[int, int]:
    return text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset)


def _after_space(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


def _end(text: str, at: int) -> int:
    """Return where the value at ``at`` ends; the C scanner skips it, what it decodes is dropped."""
    return int(_SCAN(text, at)[1])


_SCAN = JSONDecoder().scan_once  # type: ignore[attr-defined]


def _walk(text: str, at: int, tree: dict[str, Any], here: str, offsets: dict[str, int]) -> None:
    """Note the offsets of the value at ``at`` and of the wanted ones below, up to the last."""
    offsets[here] = at
    opening = text[at]
    missing = set(tree)
    if not missing or opening not in "{[":
        return
    at = _after_space(text, at + 1)
    index = 0
    while text[at] not in "}]":
        if opening == "{":
            token, at = scanstring(text, at + 1, False)
            at = _after_space(text, _after_space(text, at) + 1)
        else:
            token = str(index)
            index += 1
        if token in missing:
            _walk(text, at, tree[token], join(here, token), offsets)
            missing.discard(token)
            if not missing:
                return
        at = _after_space(text, _end(text, at))
        if text[at] == ",":
            at = _after_space(text, at + 1)
