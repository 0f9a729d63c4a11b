r"""Text from files made safe to show, on every surface, and short enough to read.

What does not print is written out as an escape, ``\x1b`` or ``\u202e``, so that data cannot move
the cursor, forge a line or reorder what a person reads; a hostile name looks alike on a terminal,
in Markdown and on a page. Markup is another matter: each dialect escapes its own.
"""

from __future__ import annotations

import re
import unicodedata

# Longest text from data that a page shows; what is cut is said.
LONGEST = 600
LONGEST_IN_CELL = 240

_COMMAND = re.compile(r"^(\s*):(?=:)|#(?=#(?:vso)?\[)", re.MULTILINE)
_SPACE = re.compile(r"\s+")
# Joiners that scripts and composed characters need; a terminal may do with them what it likes.
_JOINERS = "\N{ZERO WIDTH NON-JOINER}\N{ZERO WIDTH JOINER}"
# Other separators than the blank: shown as one where text is folded.
_SEPARATORS = frozenset({"Zs", "Zl", "Zp"})


def visible(text: str) -> str:
    r"""Return the text with everything that does not print written out as an escape.

    Control characters, line breaks, bidirectional overrides, zero-width characters, private-use
    characters and lone surrogates become ``\x1b``, ``\u202e`` and the like.
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


def one_line(text: str) -> str:
    """Return text folded to one line of running words, what does not print written as an escape.

    White space of every kind becomes one space; joiners that scripts need are kept.
    """
    folded = _SPACE.sub(" ", text).strip()
    if folded.isascii() and folded.isprintable():
        return folded
    return "".join(_shown(char) for char in folded)


def code_line(text: str, limit: int = 2000) -> str:
    """Return one line of code as `harmless` does, its blanks kept."""
    cut = text.expandtabs(4)[:limit].rstrip()
    shown = "".join(char if char == " " else _shown(char) for char in cut)
    return shown if len(text) <= limit else f"{shown}… ({len(text):,} characters)"


def harmless(text: object, limit: int = LONGEST) -> str:
    """Return any value as one line of visible text no longer than ``limit``, cut stated."""
    # Folding 10 MB to show 600 characters would be waste: fold what can be shown at most.
    raw = str(text)
    cut = raw[: 8 * limit]
    line = one_line(cut)
    if len(cut) < len(raw):
        return f"{line[:limit].rstrip()}… ({len(raw):,} characters, the first {limit:,} shown)"
    if len(line) <= limit:
        return line
    return f"{line[:limit].rstrip()}… ({len(line):,} characters, the first {limit:,} shown)"


def _shown(char: str) -> str:
    if char.isprintable() or char in _JOINERS:
        return char
    return " " if unicodedata.category(char) in _SEPARATORS else _escaped(char)


def _escaped(char: str) -> str:
    code = ord(char)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
