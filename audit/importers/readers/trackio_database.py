"""Trackio's database of one project."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterator, Sequence
from typing import Any

from audit.importers.readers.found import Found
from audit.importers.readers.piece import RunPiece
from audit.importers.readers.reader import Certainty, FolderReading, Reader
from audit.importers.readers.settings import flat, whole_number
from audit.importers.readers.sqlite_file import columns, database, has_tables, text_of
from audit.importers.readers.tracked import figures, model_of, planned_steps, tracked_evaluations

# Keys that Trackio adds to a run's settings. Who ran it is not imported.
_OWN = frozenset({"_Username", "_Created", "_Group"})
Row = tuple[int, dict[str, Any]]


def _claims(found: Found) -> Certainty:
    return Certainty.SURE if has_tables(found, "metrics", "configs") else Certainty.NO


def _read(files: Sequence[Found], reading: FolderReading) -> Iterator[RunPiece]:
    for found in files:
        with database(found) as connection:
            configs = _configs(connection)
            rows = _rows(connection)
        for run in dict.fromkeys([*configs, *rows]):
            name, config = configs.get(run, (None, {}))
            yield _piece(found, run, name, config, rows.get(run, []), reading)


def _key(connection: sqlite3.Connection, table: str) -> str:
    """Return the column that tells runs apart: older files have the name alone."""
    return "run_id" if "run_id" in columns(connection, table) else "run_name"


def _configs(connection: sqlite3.Connection) -> dict[str, tuple[str | None, dict[str, Any]]]:
    key = _key(connection, "configs")
    query = f"SELECT {key}, run_name, config FROM configs ORDER BY rowid"
    return {
        text_of(run): (text_of(name) if name is not None else None, _object(config))
        for run, name, config in connection.execute(query)
    }


def _rows(connection: sqlite3.Connection) -> dict[str, list[Row]]:
    key = _key(connection, "metrics")
    found: dict[str, list[Row]] = {}
    query = f"SELECT {key}, step, metrics FROM metrics ORDER BY rowid"
    for run, step, metrics in connection.execute(query):
        found.setdefault(text_of(run), []).append((whole_number(step) or 0, _object(metrics)))
    return found


def _object(stored: Any) -> dict[str, Any]:
    """Return a JSON object that is stored as bytes, or as text in older files."""
    try:
        document = json.loads(stored)
    except (ValueError, TypeError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


def _piece(
    found: Found,
    run: str,
    name: str | None,
    config: dict[str, Any],
    logged: list[Row],
    reading: FolderReading,
) -> RunPiece:
    notes: list[str] = []
    where = f"{found.name}, {name or run}"
    attempts = _attempts(logged)
    rows: dict[int, dict[str, Any]] = {}
    for step, logged_then in attempts[-1]:
        rows.setdefault(step, {}).update(figures(logged_then.items()))
    failures = [f"stopped at step {max(s for s, _ in a)} and begun again" for a in attempts[:-1]]
    if failures:
        notes.append(f"{where}: its steps begin again; the last attempt is the run")
    settings = flat({key: value for key, value in config.items() if key not in _OWN}, where)
    group = config.get("_Group")
    return RunPiece(
        "trackio",
        (found,),
        run_id=run,
        name=name or run,
        group=group if isinstance(group, str) else None,
        config=settings,
        trained=any(step > 0 for step in rows),
        last_step=max(rows, default=None),
        planned_steps=planned_steps(settings),
        evaluations=tracked_evaluations(rows, reading.options, notes, where),
        log={step: row for step, row in rows.items() if step > 0 and row},
        model=model_of(settings),
        extra={"earlier_failures": failures} if failures else {},
        notes=notes,
    )


def _attempts(logged: Sequence[Row]) -> list[list[Row]]:
    """Split where the steps begin again, as where a run was started a second time by its name.

    A step that merely comes late, such as an evaluation logged after the next update, is none:
    only going back to the first step of the attempt is.
    """
    attempts: list[list[Row]] = [[]]
    for step, row in logged:
        current = attempts[-1]
        begun = max((s for s, _ in current), default=step)
        if current and step <= current[0][0] < begun:
            attempts.append([])
        attempts[-1].append((step, row))
    return attempts


TRACKIO = Reader(
    "trackio",
    "Trackio's database",
    re.compile(r"\.db$", re.I),
    _claims,
    _read,
    text=False,
)
