"""The records of a home-made file: rows, a list under a key, an object of records, equal lists."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from audit.errors import ImportRefused, UsageError
from audit.importers.foreign import ForeignTable, from_source
from audit.importers.readers.found import Found

Record = dict[str, Any]
_DEEPEST = 3


def value_at(record: Any, pointer: str) -> Any:
    """Return what stands at a JSON Pointer in a record, or in a column; None where nothing does."""
    if not pointer.startswith("/"):
        return record.get(pointer) if isinstance(record, Mapping) else None
    here = record
    for part in pointer[1:].split("/"):
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(here, Mapping):
            here = here.get(key)
        elif isinstance(here, list) and key.isdecimal() and int(key) < len(here):
            here = here[int(key)]
        else:
            return None
    return here


def records_of(found: Found, pointer: str | None) -> tuple[Sequence[Record], Record]:
    """Return the records of a file, and the settings that stand beside them.

    Parameters
    ----------
    found : Found
    pointer : str or None
        Where ``--map records=`` says the list stands; ``/*`` takes an object's values.

    Raises
    ------
    ImportRefused
        When several lists could be the records.
    UsageError
        When the pointer leads to no records.
    """
    if found.base.endswith((".jsonl", ".ndjson")):
        return [row for _, row in found.lines()], {}
    if not found.base.endswith(".json"):
        content = from_source(found.source()).content
        return (content.rows if isinstance(content, ForeignTable) else ()), {}
    document = found.document()
    if pointer is not None:
        return _pointed(document, pointer, found), {}
    return _found(document, found)


def _pointed(document: Any, pointer: str, found: Found) -> list[Record]:
    plain = pointer.removesuffix("/*")
    held = value_at(document, plain) if plain else document
    records = _as_records(held)
    if records is None:
        raise UsageError(f"--map records={pointer} leads to no list of records", path=found.name)
    return records


def _as_records(held: Any) -> list[Record] | None:
    """Return a list of objects, or an object of objects with its keys under ``@key``."""
    if isinstance(held, list) and held and all(isinstance(entry, dict) for entry in held):
        return held
    if isinstance(held, dict) and len(held) > 1:
        entries = list(held.values())
        if all(isinstance(e, dict) and e for e in entries) and _alike(entries):
            return [{**entry, "@key": key} for key, entry in held.items()]
        if all(isinstance(entry, list) for entry in entries) and len(entries[0]) > 1:
            lengths = {len(entry) for entry in entries}
            if len(lengths) == 1:
                rows = zip(*entries, strict=True)
                return [dict(zip(held, row, strict=True)) for row in rows]
    return None


def _alike(entries: Sequence[Mapping[str, Any]]) -> bool:
    shared = set(entries[0]).intersection(*entries[1:])
    return len(shared) * 2 > max(len(entry) for entry in entries)


def _found(document: Any, found: Found) -> tuple[Sequence[Record], Record]:
    records = _as_records(document)
    if records is not None:
        return records, {}
    if not isinstance(document, dict):
        return (), {}
    lists = list(_lists(document, "", 0))
    if not lists:
        return [document], {}
    if len(lists) > 1:
        shown = ", ".join(f"{place} ({len(held)} records)" for place, held in lists[:4])
        raise ImportRefused(
            f"lists of records: {shown}: --map records={lists[0][0]}", path=found.name
        )
    settings = {key: v for key, v in document.items() if not isinstance(v, dict | list)}
    place, held = lists[0]
    if place.count("/") > 1:
        raise ImportRefused(
            f"lists of records: {place} ({len(held)} records): --map records={place}",
            path=found.name,
        )
    return held, settings


def _lists(held: Any, place: str, depth: int) -> Iterator[tuple[str, list[Record]]]:
    if not isinstance(held, dict) or depth > _DEEPEST:
        return
    for key, value in held.items():
        below = f"{place}/{str(key).replace('~', '~0').replace('/', '~1')}"
        if isinstance(value, list) and value and all(isinstance(e, dict) for e in value):
            yield below, value
        else:
            yield from _lists(value, below, depth + 1)


def role_value(record: Record, pointer: str, found: Found) -> Any:
    """Return a role's value: of the record, or of the file's path with ``@path:REGEX``."""
    if pointer == "@file":
        return found.stem
    if pointer.startswith("@path:"):
        match = re.search(pointer.removeprefix("@path:"), found.name)
        if match is None:
            return None
        return match[1] if match.re.groups else match[0]
    return value_at(record, pointer)
