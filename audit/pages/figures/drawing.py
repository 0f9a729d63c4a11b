"""Whether two drawings of a figure show the same, by one version of matplotlib or by two."""

from __future__ import annotations

import re

# Versions of matplotlib measure text a little differently, which moves what is laid out by it.
# 72 units are an inch of the page.
TOLERANCE = 2.0

_MADE_BY = re.compile(rb"<!-- matplotlib [\w.+]+ -->")
_ID = re.compile(r'\bid="([^"]+)"')
_DECIMAL = re.compile(r"(?<![\w#.])-?\d+\.\d+")


def same_drawing(committed: bytes, made: bytes) -> bool:
    """Compare a committed figure with the one its data gives.

    Drawn by one version of matplotlib they must have the same bytes. Drawn by two, the same
    elements, texts and colours, every coordinate within ``TOLERANCE``.
    """
    if committed == made:
        return True
    if _MADE_BY.findall(committed) == _MADE_BY.findall(made):
        return False
    try:
        texts = [_MADE_BY.sub(b"", data).decode("utf-8") for data in (committed, made)]
    except UnicodeDecodeError:
        return False
    first, second = (_numbered(text) for text in texts)
    if _DECIMAL.sub("", first) != _DECIMAL.sub("", second):
        return False
    pairs = zip(_DECIMAL.findall(first), _DECIMAL.findall(second), strict=True)
    return all(abs(float(a) - float(b)) <= TOLERANCE for a, b in pairs)


def _numbered(text: str) -> str:
    """Name the ids, which hash what they stand for, by their order."""
    names = {name: f"id{number}" for number, name in enumerate(_ID.findall(text))}
    if not names:
        return text
    found = re.compile("|".join(sorted(map(re.escape, names), key=len, reverse=True)))
    return found.sub(lambda match: names[match[0]], text)
