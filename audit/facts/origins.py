"""Where the fields of an imported file come from: file, line or key, and hash."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from audit.facts.copies import tells_runs_apart
from audit.facts.memo import once
from audit.finding import Origin
from audit.pointer import join, parts
from audit.results import Results, Run

# A log of fewer steps may be the same by chance.
_FEWEST_STEPS = 3


def origin_of(results: Results, pointer: str) -> Origin | None:
    """Return the source of a field: that of the nearest pointer above it that has one.

    None where the file was not imported, or does not say.
    """
    fields = _fields(results)
    if not fields:
        return None
    path = tuple(parts(pointer))
    for length in range(len(path), 0, -1):
        entry = fields.get(path[:length])
        if entry is not None:
            return _origin(results, entry, path[length:])
    return None


def _origin(results: Results, entry: Mapping[str, Any], below: tuple[str, ...]) -> Origin:
    line, lines = entry.get("line"), entry.get("lines") or ()
    if below and below[0].isdecimal() and int(below[0]) < len(lines):
        line = lines[int(below[0])]
    file = entry["file"]
    return Origin(file, _hashes(results).get(file), line, entry.get("key"))


@once
def _fields(results: Results) -> dict[tuple[str, ...], Mapping[str, Any]]:
    imported = results.block("provenance").get("imported") or {}
    fields = imported.get("fields") or () if results.sound is not None else ()
    told = (entry for entry in fields if {"pointer", "file"} <= entry.keys())
    return {tuple(parts(entry["pointer"])): entry for entry in told}


def copied_files(results: Results) -> Iterator[tuple[str, str, str]]:
    """Yield outcomes and logs that came from a file whose bytes an earlier one has too.

    Yields
    ------
    pointer, file, other : str
        Of the field, its file, and the earlier file under another name.
    """
    first: dict[str, tuple[str, Run]] = {}
    fields, digests = _fields(results), _hashes(results)
    for run in results.runs:
        for pointer in _telling(run):
            entry = fields.get(tuple(parts(pointer)))
            digest = digests.get(entry["file"]) if entry is not None else None
            if entry is None or digest is None:
                continue
            other, where = first.setdefault(digest, (entry["file"], run))
            if other != entry["file"] and where is not run:
                yield pointer, entry["file"], other


def _telling(run: Run) -> Iterator[str]:
    """Yield the pointers of what no two runs share byte for byte: outcomes by task, and a log."""
    yield from (evaluation.pointer for evaluation in run.evaluations if evaluation.per_task)
    if len(run.training) >= _FEWEST_STEPS and tells_runs_apart(run.training):
        yield join(run.pointer, "training")


@once
def _hashes(results: Results) -> dict[str, str]:
    imported = results.block("provenance").get("imported") or {}
    files = imported.get("files") or ()
    return {file["path"]: file["sha256"] for file in files if {"path", "sha256"} <= file.keys()}
