"""``trainer_state.json`` of a Hugging Face Trainer: the training log of one run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from audit.importers import telemetry
from audit.importers.draft import Draft, DraftRun, Options
from audit.importers.foreign import Foreign
from audit.importers.notes import Notes
from audit.importers.numbers import integer

# Where the row stands, not what was measured.
_PLACES = frozenset({"step", "epoch"})


def sniff(document: Any, name: str) -> bool:
    """Whether a JSON document is a trainer's state."""
    return (
        isinstance(document, dict)
        and isinstance(document.get("log_history"), list)
        and "global_step" in document
    )


def read(files: Sequence[Foreign], options: Options) -> Draft:
    """Read the logs of one or more runs.

    Nothing in a trainer's state is an evaluation on held-out tasks, so each run comes over
    without one; a study needs the evaluation's file beside it.
    """
    notes = Notes()
    runs = tuple(_run(file, notes) for file in files)
    return Draft(tool="transformers", version=None, runs=runs, notes=notes.lines)


def _run(file: Foreign, notes: Notes) -> DraftRun:
    document: dict[str, Any] = file.content
    for note in file.notes:
        notes.say(note)
    rows: dict[int, dict[str, Any]] = {}
    unplaced = 0
    for entry in document["log_history"]:
        step = integer(entry.get("step")) if isinstance(entry, dict) else None
        if step is None or step < 1:
            unplaced += 1
            continue
        figures = {key: value for key, value in entry.items() if key not in _PLACES}
        rows.setdefault(step, {}).update(figures)
    if unplaced:
        notes.say(f"{file.name}: {unplaced} log rows have no step and are left out")
    done, planned = integer(document.get("global_step")), integer(document.get("max_steps"))
    if done is not None and planned is not None and done < planned:
        notes.say(f"{file.name}: saved at step {done} of {planned}")
    return DraftRun(telemetry.of_rows(rows, file.name, notes))
