"""Kinds of file that no importer reads: named so that a refusal can say what was given."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from typing import Any

from audit.importers.foreign import Archive, ForeignTable, JsonLines
from audit.reading import Source

_HEAD_BYTES = 1 << 16


def other_kind(document: Any) -> str | None:
    """Return in words what a parsed JSON document is, or None where it is of no known kind."""
    return next((what for what, fits in _DOCUMENTS if fits(document)), None)


def other_text(source: Source) -> str | None:
    """Return in words what bytes that are no JSON document are, or None."""
    return next((what for what, fits in _TEXTS if fits(source)), None)


def _has(*keys: str) -> Callable[[Any], bool]:
    return lambda document: isinstance(document, dict) and all(key in document for key in keys)


def _schema_names(word: str) -> Callable[[Any], bool]:
    return lambda document: isinstance(document, dict) and word in str(document.get("$schema"))


_DOCUMENTS: tuple[tuple[str, Callable[[Any], bool]], ...] = (
    ("a report of audit itself", _has("report_version", "tool", "files")),
    ("lighteval results", _has("config_general", "results")),
    ("a Vega chart, which holds no results", _schema_names("vega.github.io")),
    ("a SARIF log", _schema_names("sarif")),
    ("a JSON Schema", _schema_names("json-schema.org")),
    ("a table", lambda document: isinstance(document, ForeignTable)),
    ("a zip archive", lambda document: isinstance(document, Archive)),
    ("JSON Lines", lambda document: isinstance(document, JsonLines)),
    ("a JSON list", lambda document: isinstance(document, list)),
    ("a single JSON value", lambda document: not isinstance(document, dict)),
)


def _first_lines(source: Source) -> list[str]:
    """Return the first two lines that are not blank."""
    lines: list[str] = []
    for line in io.BytesIO(source.data):
        text = line.decode("utf-8-sig", "replace")
        if text.strip():
            lines.append(text)
        if len(lines) == 2:
            break
    return lines


def _json_lines(source: Source) -> bool:
    lines = _first_lines(source)
    return len(lines) == 2 and lines[1].lstrip().startswith("{") and _is_object(lines[0])


def _is_object(line: str) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


def _separated(source: Source) -> bool:
    """Whether the first line is a header of names with commas or tabs between them."""
    lines = _first_lines(source)
    if len(lines) < 2 or lines[0].lstrip()[:1] in ("{", "[", "<", '"'):
        return False
    separator = "\t" if "\t" in lines[0] else ","
    names = lines[0].split(separator)
    return len(names) > 1 and lines[1].count(separator) >= len(names) - 1


def _markup(source: Source) -> bool:
    return source.data.lstrip()[:1] == b"<"


_TEXTS: tuple[tuple[str, Callable[[Source], bool]], ...] = (
    ("JSON Lines, one document a line", _json_lines),
    ("HTML or XML", _markup),
    ("a table in CSV", _separated),
)
