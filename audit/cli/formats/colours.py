"""Colours of the text for terminals: severities, and the word of a verdict."""

from __future__ import annotations

import re

from audit.cli.formats import Style

_SGR = {
    "error": "31;1",
    "warning": "33",
    "info": "36",
    "waived": "2",
    "dim": "2",
    "bold": "1",
    "supported": "32;1",
    "refused": "31;1",
    "not claimed": "36",
    "not judged": "35;1",
    "ship": "32;1",
    "discuss": "33;1",
    "don't ship": "31;1",
}
_WORDS = sorted(("supported", "refused", "not claimed", "not judged", "ship", "discuss"), key=len)
# A word is coloured where a line begins with it, which no text from data does.
_HEAD = re.compile(rf"(?i:{'|'.join(_WORDS)}|don't ship)(?=  )")


def paint(text: str, name: str, style: Style) -> str:
    """Return the text in the colour of a severity or a word, where colours are shown."""
    return f"\x1b[{_SGR[name]}m{text}\x1b[0m" if style.colour else text


def head(line: str, style: Style) -> str:
    """Return a line with the word it begins with in its colour."""
    found = _HEAD.match(line)
    if found is None:
        return line
    return paint(found[0], found[0].lower(), style) + line[found.end() :]
