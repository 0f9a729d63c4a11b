"""MLflow's database, ``mlflow.db``, the default store since MLflow 3."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator, Sequence

from audit.importers.readers.found import Found
from audit.importers.readers.mlflow_run import MlflowRun, pieces
from audit.importers.readers.piece import RunPiece
from audit.importers.readers.reader import Certainty, FolderReading, Reader
from audit.importers.readers.settings import whole_number
from audit.importers.readers.sqlite_file import database, has_tables, text_of


def _claims(found: Found) -> Certainty:
    fits = has_tables(found, "runs", "params", "metrics", "latest_metrics", "alembic_version")
    return Certainty.SURE if fits else Certainty.NO


def _read(files: Sequence[Found], reading: FolderReading) -> Iterator[RunPiece]:
    for found in files:
        with database(found) as connection:
            runs = _runs(connection, found)
        yield from pieces("mlflow-db", runs, found, found.name, reading)


def _runs(connection: sqlite3.Connection, found: Found) -> list[MlflowRun]:
    experiments = dict(connection.execute("SELECT experiment_id, name FROM experiments"))
    runs: dict[str, MlflowRun] = {}
    rows = connection.execute(
        "SELECT run_uuid, name, status, lifecycle_stage, experiment_id FROM runs "
        "ORDER BY start_time, run_uuid"
    )
    for run_id, name, status, stage, experiment in rows:
        runs[run_id] = MlflowRun(
            text_of(run_id),
            text_of(experiments.get(experiment, experiment)),
            text_of(status or ""),
            None if name is None else text_of(name),
            deleted=stage == "deleted",
            files=[found],
        )
    for run_id, key, value in connection.execute("SELECT run_uuid, key, value FROM params"):
        if run_id in runs:
            runs[run_id].params[text_of(key)] = text_of(value)
    for run_id, key, value in connection.execute("SELECT run_uuid, key, value FROM tags"):
        if run_id in runs:
            runs[run_id].tags[text_of(key)] = text_of(value)
    metrics = connection.execute(
        "SELECT run_uuid, step, key, CASE WHEN is_nan THEN 'NaN' ELSE value END FROM metrics "
        "ORDER BY timestamp, rowid"
    )
    for run_id, step, key, value in metrics:
        if run_id in runs:
            runs[run_id].metrics.append((whole_number(step) or 0, text_of(key), value))
    return list(runs.values())


MLFLOW_DB = Reader(
    "mlflow-db",
    "MLflow's database",
    re.compile(r"\.(?:db|sqlite3?)$", re.I),
    _claims,
    _read,
    also=("mlflow",),
    text=False,
)
