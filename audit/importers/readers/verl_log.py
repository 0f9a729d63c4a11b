"""verl's console lines and its file logger: figures by step, without outcomes by task."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath
from typing import Any

from audit.importers.numbers import number
from audit.importers.readers.found import Found
from audit.importers.readers.logged import evaluations_of
from audit.importers.readers.piece import LoggedSteps, RunPiece, SourcePlace
from audit.importers.readers.reader import Certainty, FolderReading, Reader

_ESCAPES = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_LINE = re.compile(r"(?:^|\s)step:(\d+) - (\S+?:.+)$")
_WRAPPED = re.compile(r"^np\.(?:float|int)\d+\((.*)\)$")
_HEAD = re.compile(rb"(?:^|\s)step:\d+ - \S+:", re.M)
# Words of names of logs that are no names of runs.
_NO_NAME = re.compile(r"^(?:log|logs|train|training|console|output|stdout|stderr|verl|run)$")


def _claims_console(found: Found) -> Certainty:
    return Certainty.LIKELY if _HEAD.search(found.head) else Certainty.NO


def _claims_file(found: Found) -> Certainty:
    first = found.first or {}
    fits = set(first) == {"step", "data"} and isinstance(first["data"], dict)
    return Certainty.LIKELY if fits else Certainty.NO


def console_line(line: str) -> tuple[int, dict[str, float]] | None:
    """Return step and figures of one line of verl's console logger, None for any other line.

    Colour codes and Ray's ``(TaskRunner pid=7)`` may stand before it; values are plain or as
    NumPy 2 prints them, ``np.float64(0.5)``.
    """
    match = _LINE.search(_ESCAPES.sub("", line).rstrip())
    if not match:
        return None
    figures: dict[str, float] = {}
    for part in match[2].split(" - "):
        key, _, text = part.rpartition(":")
        value = _figure(text.strip())
        if key and value is not None:
            figures[key.strip()] = value
    return int(match[1]), figures


def _figure(text: str) -> float | None:
    wrapped = _WRAPPED.match(text)
    try:
        return number(float(wrapped[1] if wrapped else text))
    except ValueError:
        return None


def _read_console(files: Sequence[Found], reading: FolderReading) -> Iterator[RunPiece]:
    for found in files:
        rows: dict[int, dict[str, Any]] = {}
        logged = LoggedSteps()
        for place, line in enumerate(found.text().splitlines(), 1):
            step = console_line(line)
            if step is not None:  # after a resume a step is there again: the last counts
                rows.setdefault(step[0], {}).update(step[1])
                logged.see(step[0], place)
        yield _piece("verl-console", found, rows, logged)


def _read_file(files: Sequence[Found], reading: FolderReading) -> Iterator[RunPiece]:
    for found in files:
        rows: dict[int, dict[str, Any]] = {}
        logged = LoggedSteps()
        for number_, row in found.lines():
            step, data = row.get("step"), row.get("data")
            if isinstance(step, int) and isinstance(data, dict):
                rows.setdefault(step, {}).update(data)
                logged.see(step, number_)
            else:
                found.notes.append(f"{found.name}: line {number_} has no step and is left out")
        yield _piece("verl-file", found, rows, logged)


def _piece(
    reader: str, found: Found, rows: dict[int, dict[str, Any]], logged: LoggedSteps
) -> RunPiece:
    folder = PurePosixPath(found.relative)
    named = found.stem if not _NO_NAME.match(found.stem.lower()) else None
    piece = RunPiece(
        reader,
        (found,),
        root=found.folder,
        name=named or str(folder.parent),
        trained=any(step > 0 for step in rows),
        last_step=max(rows, default=None),
        evaluations=evaluations_of(rows),
        log={step: row for step, row in rows.items() if step > 0},
        logged=logged,
    )
    for evaluation in piece.evaluations:
        evaluation.places[""] = SourcePlace(found, logged.lines.get(evaluation.step or 0))
    for evaluation in piece.evaluations:
        evaluation.more.setdefault("split", "validation")
    return piece


CONSOLE = Reader(
    "verl-console",
    "verl's console log",
    # Text files are opened only where their names are those of logs: folders hold many others.
    re.compile(
        r"\.(?:log|out)$|/(?:stdout|log)$"
        r"|(?:log|out|train|console|verl|run|seed|_s\d)[^/]*\.txt$",
        re.I,
    ),
    _claims_console,
    _read_console,
    also=("verl",),
)
FILE = Reader(
    "verl-file",
    "verl's file logger",
    re.compile(r"\.jsonl$"),
    _claims_file,
    _read_file,
    also=("verl",),
)
