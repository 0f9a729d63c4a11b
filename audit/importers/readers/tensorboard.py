"""Folders of TensorBoard event files: torch, Hugging Face, OpenRLHF, NeMo-RL, TensorFlow 2."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from audit.importers.readers.event_file import EventFile, is_event_file, read_event_file
from audit.importers.readers.found import Found
from audit.importers.readers.piece import Piece
from audit.importers.readers.reader import Certainty, Reader, Reading
from audit.importers.readers.settings import flat
from audit.importers.readers.tracked import model_of, planned_steps, tracked_evaluations

# The arguments of a Hugging Face trainer, which its callback writes as text.
_ARGUMENTS = ("args/text_summary", "args")


def _claims(found: Found) -> Certainty:
    return Certainty.SURE if is_event_file(found.head) else Certainty.NO


def _read(files: Sequence[Found], reading: Reading) -> Iterator[Piece]:
    folders: dict[str, list[tuple[Found, EventFile]]] = {}
    for found in files:
        events = read_event_file(found.source().data, found.name)
        if events.broken_at is not None:
            found.notes.append(
                f"{found.name}: cut off or damaged at byte {events.broken_at}; what comes before "
                "is read"
            )
        folders.setdefault(found.folder, []).append((found, events))
    for folder in list(folders):
        _join_curve(folder, folders)
    for folder in sorted(folders):
        yield _piece(folder, folders[folder], reading)


def _join_curve(folder: str, folders: dict[str, list[tuple[Found, EventFile]]]) -> None:
    """Move a curve of ``add_scalars`` to the folder of its run, under the tag it stands for.

    torch puts the curve ``b`` of the tag ``a/x`` into ``a_x_b`` below the run's folder, and
    tensorboardX into ``a/x/b``; inside both call it ``a/x``.
    """
    parts = folders[folder]
    tags = {tag for _, events in parts for row in events.scalars.values() for tag in row}
    if len(tags) != 1:
        return
    tag = tags.pop()
    for above in (other for other in folders if other != folder):
        if above and not folder.startswith(f"{above}/"):
            continue
        below = folder[len(above) :].strip("/").replace("/", "_")
        start = f"{tag.replace('/', '_')}_"
        if not below.startswith(start):
            continue
        for _, events in parts:
            curve = f"{tag}/{below[len(start) :]}"
            for step, row in events.scalars.items():
                events.scalars[step] = {curve: row[tag]}
        folders[above] += folders.pop(folder)
        return


def _piece(folder: str, parts: Sequence[tuple[Found, EventFile]], reading: Reading) -> Piece:
    notes: list[str] = []
    rows: dict[int, dict[str, tuple[float, float]]] = {}
    config: dict[str, Any] = {}
    status: str | None = None
    ordered = sorted(parts, key=lambda part: _began(part[1]))
    for _, events in ordered:
        for step, row in events.scalars.items():
            kept = rows.setdefault(step, {})
            for tag, (wall, value) in row.items():
                # After a restart a step may be there again: the later writing counts.
                if tag not in kept or kept[tag][0] <= wall:
                    kept[tag] = (wall, value)
        config |= _settings(events)
        status = events.status or status
    log = {step: {tag: value for tag, (_, value) in rows[step].items()} for step in sorted(rows)}
    where = folder or parts[0][0].name
    evaluations = tracked_evaluations(log, reading.options, notes, where)
    return Piece(
        "tensorboard",
        tuple(found for found, _ in parts),
        root=folder,
        config=config,
        status=status,
        trained=any(step > 0 for step in log),
        last_step=max(log, default=None),
        planned_steps=planned_steps(config),
        evaluations=evaluations,
        log={step: row for step, row in log.items() if step > 0 and row},
        model=model_of(config),
        notes=notes,
    )


def _began(events: EventFile) -> float:
    return min((wall for row in events.scalars.values() for wall, _ in row.values()), default=0.0)


def _settings(events: EventFile) -> dict[str, Any]:
    found = dict(events.settings)
    for tag in _ARGUMENTS:
        if tag not in events.texts:
            continue
        try:
            document = json.loads(events.texts[tag])
        except (ValueError, RecursionError):
            continue
        if isinstance(document, dict):
            found |= flat(document, tag)
    return found


TENSORBOARD = Reader(
    "tensorboard",
    "TensorBoard event files",
    re.compile(r"(?:^|/)events\.out\.tfevents\.[^/]*$"),
    _claims,
    _read,
    text=False,
)
