"""Other tools' files: what kind a file is, so that a refusal can say which importer fits."""

from __future__ import annotations

from typing import Any

from audit.reading import Source

# Names that `audit import` takes; the refusal of a file speaks of those only.
IMPORTERS: tuple[str, ...] = ()


def describe(document: Any, name: str) -> str:
    """Return what a JSON document without ``schema_version`` looks like.

    Parameters
    ----------
    document : object
        The parsed document.
    name : str
        The file as the user named it, for the command that brings it over.

    Returns
    -------
    str
        The tail of a sentence, empty where the document is of no known kind.
    """
    from audit.importers.sniff import sniff

    kind = sniff(document)
    return "" if kind is None else f"; it looks like {kind.what}{_advice(kind.name, name)}"


def describe_source(source: Source) -> str | None:
    """Return what bytes that are no JSON look like, or None where they are of no known kind."""
    from audit.importers.sniff import sniff_source

    kind = sniff_source(source)
    return None if kind is None else f"{kind.what}{_advice(kind.name, source.name)}"


def _advice(kind: str, name: str) -> str:
    return f"; `audit import {kind} {name}` brings it over" if kind in IMPORTERS else ""
