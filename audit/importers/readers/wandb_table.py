"""W&B's CSV exports: the table of runs, and one chart."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from audit.errors import ImportRefused
from audit.importers.foreign import ForeignTable, from_source
from audit.importers.numbers import cell, number
from audit.importers.readers.found import Found
from audit.importers.readers.logged import measured
from audit.importers.readers.piece import RunPiece
from audit.importers.readers.reader import Certainty, FolderReading, Reader
from audit.importers.readers.settings import whole_number
from audit.importers.readers.tracked import (
    commit_of,
    figures,
    model_of,
    named_evaluations,
    planned_steps,
    status_of,
    tracked_evaluations,
)

# The columns that W&B itself puts into a table of runs.
_FIXED = frozenset(
    {
        "Name", "State", "Notes", "User", "Tags", "Created", "Runtime", "Sweep", "Group",
        "JobType", "Job Type", "ID", "Updated", "End Time", "Commit", "GPU Type", "GPU Count",
        "Hostname", "Description", "Project", "Github",
    }
)  # fmt: skip
_TELLING = frozenset({"State", "Created", "Runtime", "Sweep"})
_BANDS = ("__MIN", "__MAX")
_SEPARATOR = " - "
_TIMES = re.compile(r"time|date|runtime|_timestamp", re.I)
_GROUPED = re.compile(r"^[^/]*\S: ")


def _header(found: Found) -> tuple[str, ...]:
    """Return the cells of the first line, which in these exports are quoted or plain."""
    import csv

    line = found.head.lstrip(b"\xef\xbb\xbf").partition(b"\n")[0].decode("utf-8", "replace")
    try:
        return tuple(next(csv.reader([line.rstrip("\r")]), []))
    except csv.Error:
        return ()


def _claims_runs(found: Found) -> Certainty:
    names = set(_header(found))
    fits = "Name" in names and len(names & _TELLING) >= 2
    return Certainty.LIKELY if fits else Certainty.NO


def _claims_chart(found: Found) -> Certainty:
    names = _header(found)
    fits = any(_SEPARATOR in name and name.endswith("__MIN") for name in names)
    return Certainty.LIKELY if fits else Certainty.NO


def _table(found: Found) -> ForeignTable:
    content = from_source(found.source()).content
    if not isinstance(content, ForeignTable):
        raise ImportRefused("not a table", path=found.name)
    return content


def _read_runs(files: Sequence[Found], reading: FolderReading) -> Iterator[RunPiece]:
    for found in files:
        table = _table(found)
        logged = _figure_columns(table)
        names = [row.get("Name") or "" for row in table.rows]
        unique = len(set(names)) == len(names)
        for row in table.rows:
            yield _run(found, row, logged, unique, reading)


def _figure_columns(table: ForeignTable) -> frozenset[str]:
    """Return the columns that hold what a run logged, not what it was set to.

    The export does not say which is which. Keys with a slash are logged ones, and so is a number
    that is written with decimals and differs in every run; all else is a setting.
    """
    found = set()
    for name in table.columns:
        if name in _FIXED:
            continue
        written = [text for row in table.rows if (text := str(row[name]).strip())]
        values = [cell(text)[0] for text in written]
        numeric = [value for value in values if value is not None]
        if "/" in name or name.startswith("_") or measured(name) is not None:
            if not written or numeric or all(_not_a_number(text) for text in written):
                found.add(name)
        elif (
            len(numeric) > 2
            and len(set(numeric)) == len(values)
            and any(value != value.to_integral_value() for value in numeric)
        ):
            found.add(name)
    return frozenset(found)


def _not_a_number(text: str) -> bool:
    return text.lower() in ("nan", "infinity", "-infinity", "inf", "-inf")


def _run(
    found: Found,
    row: Mapping[str, Any],
    columns: frozenset[str],
    unique: bool,
    reading: FolderReading,
) -> RunPiece:
    notes: list[str] = []
    where = f"{found.name}, {row.get('Name') or row.get('ID')}"
    values = figures((name, _value(row[name])) for name in row if name in columns)
    step = whole_number(row.get("_step"))
    config = {
        name: _value(text)
        for name, text in row.items()
        if name not in _FIXED and name not in columns and str(text).strip()
    }
    wanted = reading.options.metric
    if wanted in config and number(config[wanted]) is not None:
        values[wanted] = float(config.pop(wanted))
    rows = {0 if step is None else step: values}
    evaluations = tracked_evaluations(rows, reading.options, notes, where)
    for evaluation in evaluations:
        evaluation.step = step
    status, failure = status_of(row.get("State"))
    return RunPiece(
        "wandb-runs",
        (found,),
        run_id=row.get("ID") or (row.get("Name") if unique else None) or None,
        name=row.get("Name") or None,
        group=row.get("Group") or None,
        config=config,
        status=status,
        failure=failure,
        trained=any(name.startswith("train") for name in values),
        last_step=step,
        planned_steps=planned_steps(config),
        evaluations=evaluations,
        model=model_of(config),
        commit=commit_of(row.get("Commit")),
        notes=notes,
    )


def _value(text: Any) -> Any:
    """Return a cell as a number where it is one, as text otherwise, None where it is blank."""
    written = str(text).strip()
    if not written or _not_a_number(written):
        return written or None
    value, percent = cell(written)
    if value is None or percent:
        return {"true": True, "false": False}.get(written.lower(), written)
    return int(value) if re.fullmatch(r"[+-]?\d{1,15}", written) else float(value)


def _read_chart(files: Sequence[Found], reading: FolderReading) -> Iterator[RunPiece]:
    runs: dict[str, tuple[list[Found], dict[int, dict[str, Any]], list[str]]] = {}
    ends: dict[tuple[str, str], int] = {}
    for found in files:
        for run, metric, points in _curves(found):
            touched, rows, _ = runs.setdefault(run, ([], {}, []))
            touched.append(found)
            for step, value in points.items():
                rows.setdefault(step, {})[metric] = value
            ends[(run, metric)] = max(points, default=-1)
        found.notes.append(
            f"{found.name}: a chart holds at most 500 points of a run, smoothed where the chart "
            "was; neither is seen in it"
        )
    for run, (touched, rows, notes) in runs.items():
        yield _charted(run, touched, rows, ends, notes, reading)


def _charted(
    run: str,
    files: Sequence[Found],
    rows: dict[int, dict[str, Any]],
    ends: Mapping[tuple[str, str], int],
    notes: list[str],
    reading: FolderReading,
) -> RunPiece:
    evaluations = tracked_evaluations(rows, reading.options, notes, run)
    names = _names(rows)
    # A chart was made to show something: a figure of no known name is taken where it is named.
    if not evaluations and reading.options.metric and len(names) == 1:
        evaluations = named_evaluations(rows, next(iter(names)))
    furthest = max((end for (_, name), end in ends.items() if name in names), default=-1)
    mine = max((end for (other, _), end in ends.items() if other == run), default=-1)
    short = mine < furthest
    return RunPiece(
        "wandb-chart",
        tuple(dict.fromkeys(files)),
        name=run,
        run_id=run,
        status="failed" if short else None,
        failure=f"stopped at step {mine} of {furthest}" if short else None,
        trained=any(step > 0 for step in rows),
        last_step=max(rows, default=None),
        evaluations=evaluations,
        log={step: row for step, row in rows.items() if step > 0},
        notes=notes,
    )


def _names(rows: Mapping[int, Mapping[str, Any]]) -> set[str]:
    return {name for row in rows.values() for name in row}


def _curves(found: Found) -> Iterator[tuple[str, str, dict[int, float]]]:
    """Yield run, metric and value by step of every curve.

    Raises
    ------
    ImportRefused
        When the chart shows groups, or its axis is no step.
    """
    table = _table(found)
    axis = table.columns[0]
    curves = [name for name in table.columns[1:] if not name.endswith(_BANDS)]
    for name in curves:
        run, separator, metric = name.rpartition(_SEPARATOR)
        if not separator:
            raise ImportRefused(f"the column {name!r} is not RUN - METRIC", path=found.name)
        if _GROUPED.match(run) or _has_a_band(table, name):
            raise ImportRefused(
                f"a grouped chart: {name!r} stands for several runs, which cannot be told apart; "
                "export it ungrouped",
                path=found.name,
            )
        points: dict[int, float] = {}
        for number_, row in enumerate(table.rows):
            value, _ = cell(row[name])
            if value is not None:
                points[_step(row[axis], axis, number_, found)] = float(value)
        yield run, metric, points


def _has_a_band(table: ForeignTable, name: str) -> bool:
    low, high = (f"{name}{band}" for band in _BANDS)
    if low not in table.columns or high not in table.columns:
        return False
    return any(cell(row[low])[0] != cell(row[high])[0] for row in table.rows)


def _step(text: Any, axis: str, place: int, found: Found) -> int:
    step = whole_number(str(text))
    if step is None or _TIMES.search(axis):
        raise ImportRefused(
            f"row {place + 1}: {axis} {text!r} is no training step, so that runs cannot be "
            "compared at one; export the chart over Step",
            path=found.name,
        )
    return step


RUNS = Reader(
    "wandb-runs",
    "W&B's table of runs as CSV",
    re.compile(r"\.csv$", re.I),
    _claims_runs,
    _read_runs,
    also=("wandb",),
)
CHART = Reader(
    "wandb-chart",
    "a W&B chart as CSV",
    re.compile(r"\.csv$", re.I),
    _claims_chart,
    _read_chart,
    also=("wandb",),
)
