"""Local run folders of W&B: the ``.wandb`` log, and the YAML and JSON beside it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from audit.importers.readers.found import Found
from audit.importers.readers.piece import RunPiece
from audit.importers.readers.reader import Certainty, FolderReading, Reader
from audit.importers.readers.settings import flat, whole_number, yaml_of
from audit.importers.readers.tracked import (
    commit_of,
    figures,
    model_of,
    planned_steps,
    tracked_evaluations,
)
from audit.importers.readers.wandb_log import MAGIC, WandbLog, read_wandb_log

_FOLDER = re.compile(r"^(?:.*/)?(?:offline-)?run-\d{8}_\d{6}-(?P<id>[^/]+)(?=/)")
# Steps that loggers write beside W&B's own count of calls.
_STEPS = ("train/global_step", "trainer/global_step", "global_step")


def _claims(found: Found) -> Certainty:
    if found.base.endswith(".wandb"):
        return Certainty.SURE if found.head.startswith(MAGIC) else Certainty.NO
    return Certainty.SURE if _FOLDER.match(found.relative) else Certainty.NO


@dataclass(frozen=True, slots=True)
class _Part:
    """One folder: a run, or what a resumed run did in one of its sittings."""

    folder: str
    files: tuple[Found, ...]
    log: WandbLog
    has_log: bool


def _read(files: Sequence[Found], reading: FolderReading) -> Iterator[RunPiece]:
    folders: dict[str, list[Found]] = {}
    for found in files:
        match = _FOLDER.match(found.relative)
        folders.setdefault(match[0] if match else found.folder, []).append(found)
    runs: dict[str, list[_Part]] = {}
    for folder in sorted(folders):
        part = _part(folder, folders[folder])
        parts = runs.setdefault(part.log.run_id or folder, [])
        if parts and not _continues(parts[-1].log, part.log):
            # Two records of one run id that overlap: whoever joins the pieces sees both.
            yield _piece(parts, reading)
            parts.clear()
        parts.append(part)
    for parts in runs.values():
        yield _piece(parts, reading)


def _part(folder: str, files: Sequence[Found]) -> _Part:
    """Read a folder: its log, and the files beside it where the log is silent."""
    by_name = {found.base: found for found in files}
    found = next((file for file in files if file.base.endswith(".wandb")), None)
    log = WandbLog()
    if found is not None:
        log = read_wandb_log(found.source().data, found.name)
        if log.broken_at is not None:
            found.notes.append(
                f"{found.name}: cut off or damaged at byte {log.broken_at}; what comes before is "
                "read"
            )
    config = by_name.get("config.yaml")
    if config is not None and not log.config:
        log.config = _values(yaml_of(config))
    summary = by_name.get("wandb-summary.json")
    if summary is not None and not log.history:
        document = summary.document()
        if isinstance(document, dict) and document:
            log.history.append(document)
    metadata = by_name.get("wandb-metadata.json")
    if metadata is not None and log.commit is None:
        # Program, host and e-mail address stand there too; only the commit is imported.
        document = metadata.document()
        git = document.get("git") if isinstance(document, dict) else None
        log.commit = git.get("commit") if isinstance(git, dict) else None
    match = _FOLDER.match(f"{folder}/")
    log.run_id = log.run_id or (match["id"] if match else None)
    return _Part(folder, tuple(files), log, found is not None)


def _values(document: Any) -> dict[str, Any]:
    """Return the settings of ``config.yaml``, where each is an object with ``value``."""
    if not isinstance(document, dict):
        return {}
    return {
        str(key): entry["value"] if isinstance(entry, dict) and "value" in entry else entry
        for key, entry in document.items()
    }


def _continues(earlier: WandbLog, later: WandbLog) -> bool:
    """Whether a record goes on where another of the same run id ended: the run was resumed."""
    ends = [step for row in earlier.history if (step := whole_number(row.get("_step"))) is not None]
    begins = [step for row in later.history if (step := whole_number(row.get("_step"))) is not None]
    return not ends or not begins or min(begins) > max(ends)


def _piece(parts: Sequence[_Part], reading: FolderReading) -> RunPiece:
    last = parts[-1]
    notes: list[str] = []
    if len(parts) > 1:
        notes.append(f"W&B run {last.log.run_id}: resumed; {len(parts)} folders are one run")
    config: dict[str, Any] = {}
    for part in parts:
        settings = {key: v for key, v in part.log.config.items() if key != "_wandb"}
        config |= flat(settings, part.folder)
    rows = _rows([row for part in parts for row in part.log.history])
    last_step = max(rows, default=None)
    status, failure = _status(last, last_step)
    return RunPiece(
        "wandb",
        tuple(found for part in parts for found in part.files),
        root=last.folder.rstrip("/"),
        anchor=True,
        run_id=last.log.run_id,
        name=last.log.name,
        group=last.log.group,
        config=config,
        status=status,
        failure=failure,
        trained=any(step > 0 for step in rows),
        last_step=last_step,
        planned_steps=planned_steps(config),
        evaluations=tracked_evaluations(rows, reading.options, notes, last.folder),
        log={step: row for step, row in rows.items() if step > 0},
        model=model_of(config),
        commit=commit_of(last.log.commit),
        notes=notes,
    )


def _status(part: _Part, last_step: int | None) -> tuple[str | None, str | None]:
    code = part.log.exit_code
    if not part.has_log:
        return None, None
    if code == 0:
        return "finished", None
    after = "" if last_step is None else f" after step {last_step}"
    if code is None:
        return "failed", f"no exit record{after}: the process died, or still runs"
    return "failed", f"exit code {code}{after}"


def _rows(history: Sequence[Mapping[str, Any]]) -> dict[int, dict[str, Any]]:
    """Return figures by step, those of a later row first where two have one step."""
    key = next((name for name in _STEPS if all(name in row for row in history)), "_step")
    rows: dict[int, dict[str, Any]] = {}
    for row in history:
        step = whole_number(row.get(key))
        if step is None or step < 0:
            continue
        own = figures((name, value) for name, value in row.items() if not name.startswith("_"))
        rows.setdefault(step, {}).update(own)
    return rows


WANDB = Reader(
    "wandb",
    "a local run folder of W&B",
    re.compile(
        r"(?:\.wandb|(?:offline-)?run-\d{8}_\d{6}-[^/]+/files/(?:config\.yaml|wandb-summary\.json|wandb-metadata\.json))$"
    ),
    _claims,
    _read,
    also=("wandb-folder",),
    text=False,
)
