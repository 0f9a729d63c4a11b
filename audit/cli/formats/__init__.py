"""From results to text people and machines read: one file per format, one table of them."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module

from audit.fleet.files import FileResults


@dataclass(frozen=True, slots=True)
class Style:
    """How the text for people is laid out; the formats for machines have one form only.

    ``width`` is in columns, ``colour`` allows escape sequences, ``verbose`` lists everything,
    ``quiet`` leaves out clean files, ``errors`` repeats the lines about unreadable files.
    """

    width: int = 80
    colour: bool = False
    verbose: bool = False
    quiet: bool = False
    errors: bool = False


# name -> module with render(results, style) -> str
FORMATS: dict[str, str] = {
    "text": "audit.cli.formats.text",
    "json": "audit.cli.formats.json_report",
    "github": "audit.cli.formats.github",
    "junit": "audit.cli.formats.junit",
    "sarif": "audit.cli.formats.sarif",
    "markdown": "audit.cli.formats.markdown",
}


def render(name: str, results: FileResults, style: Style) -> str:
    """Return the results in one format; the text ends in a newline, or is empty."""
    text: str = import_module(FORMATS[name]).render(results, style)
    return text
