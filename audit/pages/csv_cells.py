"""Values from data written as fields of a CSV file (RFC 4180), none of which is a formula."""

from __future__ import annotations

from audit.pages.markdown import safe_url
from audit.safetext import LONGEST, code_line, harmless

# Spreadsheets compute what begins so.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_QUOTED = (",", '"', "\n", "\r", ";", "'")


class Csv(str):
    """A field that is written already."""

    __slots__ = ()


def text(value: object, limit: int = LONGEST) -> Csv:
    """Write a value as a field; what a spreadsheet would compute gets an apostrophe in front."""
    line = harmless(value, limit)
    return _field(f"'{line}" if line.startswith(_FORMULA) else line)


def cell(value: object) -> Csv:
    """Write a value as a field; empty text stays empty."""
    return text(value)


def number(written: str) -> Csv:
    """Write a number that is text already, as it stands."""
    return _field(written)


def exact(value: float) -> Csv:
    """Write a number unrounded."""
    return Csv(repr(value))


def code(value: object, limit: int = LONGEST) -> Csv:
    """Write a value as a field: a CSV file has no code."""
    return text(value, limit)


def link(label: object, url: object) -> Csv:
    """Write the address where it is http or https, else the label."""
    return text(safe_url(url) or label)


def block(lines: object, language: str = "") -> Csv:
    """Write lines as one field; ``language`` is for the Markdown form alone."""
    del language
    parts = lines if isinstance(lines, list | tuple) else str(lines).splitlines()
    return text("; ".join(code_line(str(line)) for line in parts))


def strong(inner: str) -> Csv:
    """Return the words: a CSV file has no bold."""
    return Csv(inner)


def emphasis(inner: str) -> Csv:
    """Return the words: a CSV file has no italics."""
    return Csv(inner)


def _field(line: str) -> Csv:
    if any(char in line for char in _QUOTED):
        return Csv('"' + line.replace('"', '""') + '"')
    return Csv(line)
