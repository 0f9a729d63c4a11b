"""MLflow's file store, ``mlruns/EXPERIMENT/RUN/``: one small file a parameter, metric or tag."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from audit.errors import InputError
from audit.importers.readers.found import Found
from audit.importers.readers.mlflow_run import MlflowRun, pieces
from audit.importers.readers.piece import RunPiece
from audit.importers.readers.reader import Certainty, FolderReading, Reader
from audit.importers.readers.settings import yaml_of

_RUN = re.compile(
    r"^(?P<store>.*?)(?P<experiment>[^/]+)/(?P<run>[0-9a-f]{32})/"
    r"(?:meta\.yaml|(?P<kind>params|metrics|tags)/(?P<key>.+))$"
)


def _claims(found: Found) -> Certainty:
    match = _RUN.match(found.relative)
    if match is not None and match["kind"] is not None:
        return Certainty.SURE
    # That of a run, and that of an experiment, which names it.
    known = b"run_id:" if match is not None else b"experiment_id:"
    return Certainty.SURE if known in found.head else Certainty.NO


def _read(files: Sequence[Found], reading: FolderReading) -> Iterator[RunPiece]:
    stores: dict[str, dict[str, list[tuple[re.Match[str], Found]]]] = {}
    for found in files:
        match = _RUN.match(found.relative)
        if match is not None:
            runs = stores.setdefault(match["store"], {})
            runs.setdefault(found.relative[: match.end("run")], []).append((match, found))
    for store, runs in stores.items():
        first = next(iter(runs.values()))[0][1]
        where = store.rstrip("/") or "mlruns"
        names: dict[str, str | None] = {}
        read = [_run(root, parts, reading, names) for root, parts in runs.items()]
        yield from pieces("mlflow", read, first, where, reading)


def _run(
    root: str,
    parts: Sequence[tuple[re.Match[str], Found]],
    reading: FolderReading,
    names: dict[str, str | None],
) -> MlflowRun:
    """Return one run; ``names`` keeps those of the experiments, which many runs share."""
    match, _ = parts[0]
    run = MlflowRun(match["run"], match["experiment"], root=root)
    above = root.rpartition("/")[0]
    if above not in names:
        names[above] = _experiment_name(above, reading)
    run.experiment = names[above] or run.experiment
    for match, found in parts:
        run.files.append(found)
        kind, key = match["kind"], match["key"]
        if kind is None:
            _describe(run, yaml_of(found), found)
        elif kind == "metrics":
            run.metrics += _values(found, key)
        elif kind == "params":
            run.params[key] = found.text()
        else:
            run.tags[key] = found.text()
    return run


def _describe(run: MlflowRun, meta: Any, found: Found) -> None:
    if not isinstance(meta, dict):
        raise InputError("not the description of an MLflow run", path=found.name)
    run.status = str(meta.get("status", ""))
    run.deleted = meta.get("lifecycle_stage") == "deleted"
    name = meta.get("run_name")
    run.name = str(name) if name else None


def _experiment_name(folder: str, reading: FolderReading) -> str | None:
    """Return an experiment's name, from the description in its folder."""
    meta = reading.files.get(f"{folder}/meta.yaml")
    if meta is None:
        return None
    document = yaml_of(meta)
    name = document.get("name") if isinstance(document, dict) else None
    return str(name) if name else None


def _values(found: Found, name: str) -> Iterator[tuple[int, str, Any]]:
    """Yield step, name and value of a metric file: ``timestamp value [step ...]`` a line."""
    for number, line in enumerate(found.text().splitlines(), 1):
        parts = line.split()
        if not parts:
            continue
        try:
            value = float(parts[1])
            step = int(parts[2]) if len(parts) > 2 else 0
        except (IndexError, ValueError):
            raise InputError(
                "not a line of an MLflow metric", path=found.name, line=number
            ) from None
        yield step, name, value


MLFLOW = Reader(
    "mlflow",
    "MLflow's mlruns folder",
    re.compile(r"(?:^|/)meta\.yaml$|(?:^|/)[0-9a-f]{32}/(?:params|metrics|tags)/"),
    _claims,
    _read,
)
