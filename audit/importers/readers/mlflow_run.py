"""One run of MLflow, whether its folder or a database holds it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from audit.errors import ImportRefused
from audit.importers.readers.found import Found
from audit.importers.readers.piece import RunPiece
from audit.importers.readers.reader import FolderReading
from audit.importers.readers.tracked import (
    commit_of,
    figures,
    model_of,
    planned_steps,
    status_of,
    tracked_evaluations,
)

# RunStatus of MLflow's protocol, which meta.yaml holds as a number.
_STATUSES = {"1": "RUNNING", "2": "SCHEDULED", "3": "FINISHED", "4": "FAILED", "5": "KILLED"}
PARENT = "mlflow.parentRunId"
NAME = "mlflow.runName"
COMMIT = "mlflow.source.git.commit"


@dataclass(slots=True)
class MlflowRun:
    """What a store says of one run.

    ``metrics`` are (step, name, value) in the order they were logged; ``status`` is MLflow's word
    or number; ``root`` is the run's folder, None in a database.
    """

    run_id: str
    experiment: str
    status: str = ""
    name: str | None = None
    deleted: bool = False
    root: str | None = None
    files: list[Found] = field(default_factory=list)
    params: dict[str, Any] = field(default_factory=dict)
    tags: dict[str, str] = field(default_factory=dict)
    metrics: list[tuple[int, str, Any]] = field(default_factory=list)


def pieces(
    reader: str, runs: Iterable[MlflowRun], store: Found, where: str, reading: FolderReading
) -> Iterator[RunPiece]:
    """Yield the runs of one experiment as pieces.

    Deleted runs are left out and counted. Of nested runs the children count; a parent that logged
    nothing is their folder.

    Raises
    ------
    ImportRefused
        When several experiments hold evaluations and ``--where experiment=NAME`` names none.
    """
    known = list(runs)
    kept = [run for run in known if not run.deleted]
    if len(kept) < len(known):
        gone = len(known) - len(kept)
        store.notes.append(
            f"{where}: {gone} deleted {'run is' if gone == 1 else 'runs are'} left out"
        )
    parents = {run.tags.get(PARENT) for run in kept}
    kept = [run for run in kept if run.metrics or run.run_id not in parents]
    by_experiment: dict[str, list[RunPiece]] = {}
    for run in kept:
        by_experiment.setdefault(run.experiment, []).append(_piece(reader, run, where, reading))
    yield from _chosen(by_experiment, store, where, reading)


def _chosen(
    found: Mapping[str, list[RunPiece]], store: Found, where: str, reading: FolderReading
) -> Iterator[RunPiece]:
    reading.columns.add("experiment")
    wanted = reading.options.where.get("experiment")
    if wanted is not None:
        if wanted not in found:
            raise ImportRefused(
                f"no experiment {wanted!r}; there are {', '.join(sorted(found))}", path=where
            )
        yield from found[wanted]
        return
    evaluated = [name for name, runs in found.items() if any(run.evaluations for run in runs)]
    if len(evaluated) > 1:
        names = ", ".join(sorted(evaluated))
        raise ImportRefused(
            f"{len(evaluated)} experiments hold evaluations: {names}: --where experiment=NAME",
            path=where,
        )
    for name, runs in found.items():
        if not evaluated or name in evaluated:
            yield from runs
        else:
            store.notes.append(f"{where}: experiment {name} has no evaluation and is left out")


def _piece(reader: str, run: MlflowRun, where: str, reading: FolderReading) -> RunPiece:
    notes: list[str] = []
    rows: dict[int, dict[str, Any]] = {}
    for step, name, value in run.metrics:
        # Of several values at one step the last that was logged counts.
        rows.setdefault(step, {}).update(figures([(name, value)]))
    label = f"{where}, run {run.run_id[:8]}"
    config = {key.replace("/", "."): value for key, value in run.params.items()}
    status, failure = status_of(_STATUSES.get(run.status, run.status))
    return RunPiece(
        reader,
        tuple(run.files),
        root=run.root,
        anchor=run.root is not None,
        run_id=run.run_id,
        name=run.tags.get(NAME) or run.name,
        config=config,
        status=status,
        failure=failure,
        trained=any(step > 0 for step in rows),
        last_step=max(rows, default=None),
        planned_steps=planned_steps(config),
        evaluations=tracked_evaluations(rows, reading.options, notes, label),
        log={step: row for step, row in rows.items() if step > 0 and row},
        model=model_of(config),
        commit=commit_of(run.tags.get(COMMIT)),
        notes=notes,
    )
