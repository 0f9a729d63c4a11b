"""Text from data made harmless before any markup: one line, no invisible controls, no flood."""

from __future__ import annotations

import re
import unicodedata

# Longest text from data that a page shows; what is cut is said.
LONGEST = 600
LONGEST_IN_CELL = 240

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
_JOINERS = "\N{ZERO WIDTH NON-JOINER}\N{ZERO WIDTH JOINER}"
_SPACE = re.compile(r"\s+")
# Everything a reader cannot see or that moves what he sees: controls, format and bidirectional
# marks, lone surrogates, private use and unassigned code points.
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn"})


def one_line(text: str) -> str:
    """Return text on one line, its invisible and bidirectional controls made visible.

    White space of every kind becomes one space; a control character, a directional mark, a lone
    surrogate or a private-use character becomes U+FFFD. Joiners that scripts need are kept.
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


def _shown(char: str) -> str:
    if char.isprintable() or char in _JOINERS:
        return char
    return REPLACEMENT if unicodedata.category(char) in _HIDDEN else " "


def shortened(text: str, limit: int = LONGEST) -> str:
    """Return a text cut to ``limit`` characters, saying how long it was."""
    if len(text) <= limit:
        return text
    return f"{text[:limit].rstrip()}… ({len(text):,} characters, the first {limit:,} shown)"


def harmless(text: object, limit: int = LONGEST) -> str:
    """Return any value as one line of visible text no longer than ``limit``, cut stated."""
    # Folding 10 MB to show 600 characters would be waste: fold what can be shown at most.
    raw = str(text)
    cut = raw[: 8 * limit]
    line = one_line(cut)
    if len(cut) < len(raw):
        return f"{line[:limit].rstrip()}… ({len(raw):,} characters, the first {limit:,} shown)"
    return shortened(line, limit)
