"""Text from files made safe to print, and short enough to read."""

from __future__ import annotations

import re

_COMMAND = re.compile(r"^(\s*):(?=:)|#(?=#(?:vso)?\[)", re.MULTILINE)


def visible(text: str) -> str:
    r"""Return the text with everything that does not print written out as an escape.

    Control characters, line breaks, bidirectional overrides, zero-width characters and lone
    surrogates become ``\x1b``, ``\u202e`` and the like, so that data cannot move the cursor,
    forge a line or reorder what a person reads.
    """
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else _escaped(char) for char in text)


def shortened(text: str, most: int) -> str:
    """Return the visible text, cut to at most so many characters."""
    if len(text) > most:  # before the escapes are made, so that 10 MB cost nothing
        text = text[:most] + "…"
    text = visible(text)
    return text if len(text) <= most else text[: most - 1] + "…"


def inert(page: str) -> str:
    r"""Return a page in which no line is a workflow command to a CI system that logs it.

    GitHub obeys lines that begin with ``::`` and, like Azure, ``##[`` and ``##vso[`` anywhere;
    the first character of each is written as its escape.
    """
    return _COMMAND.sub(lambda match: (match[1] or "") + _escaped(match[0][-1]), page)


def _escaped(char: str) -> str:
    code = ord(char)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
