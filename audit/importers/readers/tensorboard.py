"""Folders of TensorBoard event files: torch, Hugging Face, OpenRLHF, NeMo-RL, TensorFlow 2."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from audit.importers.readers.event_file import EventFile, is_event_file, read_event_file
from audit.importers.readers.found import Found
from audit.importers.readers.piece import RunPiece, SeedSaid
from audit.importers.readers.reader import Certainty, FolderReading, Reader
from audit.importers.readers.settings import flat, whole_number, yaml_of
from audit.importers.readers.tracked import model_of, planned_steps, tracked_evaluations

# The arguments of a Hugging Face trainer, which its callback writes as text.
_ARGUMENTS = ("args/text_summary", "args")
# Lightning writes the settings beside its event files.
_HPARAMS = "hparams.yaml"
_NEMO_SEEDS = ("grpo.seed", "sft.seed", "dpo.seed")
_OF_TRAINER = re.compile(r"^(?P<run>.+)/runs/[A-Z][a-z]{2}\d{2}_\d{2}-\d{2}-\d{2}_[^/]+$")


def _claims(found: Found) -> Certainty:
    if found.base == _HPARAMS:
        return Certainty.LIKELY
    return Certainty.SURE if is_event_file(found.head) else Certainty.NO


def _read(files: Sequence[Found], reading: FolderReading) -> Iterator[RunPiece]:
    folders: dict[str, list[tuple[Found, EventFile]]] = {}
    for found in files:
        if found.base == _HPARAMS:
            continue  # read beside the event files of its folder
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


def _root(folder: str) -> str:
    """Return the folder of the run: Hugging Face puts ``runs/DATE_HOST`` into it."""
    match = _OF_TRAINER.match(folder)
    return match["run"] if match else folder


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


def _piece(
    folder: str, parts: Sequence[tuple[Found, EventFile]], reading: FolderReading
) -> RunPiece:
    notes: list[str] = []
    rows: dict[int, dict[str, tuple[float, float]]] = {}
    config: dict[str, Any] = {}
    seeds: list[SeedSaid] = []
    status: str | None = None
    ordered = sorted(parts, key=lambda part: _began(part[1]))
    for found, events in ordered:
        for step, row in events.scalars.items():
            kept = rows.setdefault(step, {})
            for tag, (wall, value) in row.items():
                # After a restart a step may be there again: the later writing counts.
                if tag not in kept or kept[tag][0] <= wall:
                    kept[tag] = (wall, value)
        config |= _settings(events)
        seeds += _own_seed(events, found)
        beside = reading.beside(found, _HPARAMS)
        settings = yaml_of(beside) if beside is not None else None
        config |= flat(settings, folder) if isinstance(settings, dict) else {}
        status = events.status or status
    log = {step: {tag: value for tag, (_, value) in rows[step].items()} for step in sorted(rows)}
    where = folder or parts[0][0].name
    evaluations = tracked_evaluations(log, reading.options, notes, where)
    return RunPiece(
        "tensorboard",
        tuple(found for found, _ in parts),
        root=_root(folder),
        config=config,
        seeds=seeds,
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


def _own_seed(events: EventFile, found: Found) -> list[SeedSaid]:
    """Return the trainer's own seed: of Hugging Face's arguments, or of NeMo-RL's settings."""
    for tag in _ARGUMENTS:
        arguments = _object(events.texts.get(tag))
        seed = whole_number(arguments.get("seed"))
        if seed is not None:
            return [SeedSaid(seed, "args.seed", found.relative)]
    seeds = ((key, whole_number(events.settings.get(key))) for key in _NEMO_SEEDS)
    return [SeedSaid(seed, key, found.relative) for key, seed in seeds if seed is not None]


def _settings(events: EventFile) -> dict[str, Any]:
    found = dict(events.settings)
    for tag in _ARGUMENTS:
        found |= flat(_object(events.texts.get(tag)), tag)
    return found


def _object(text: str | None) -> dict[str, Any]:
    """Return a text that is a JSON object as one; empty for any other."""
    try:
        document = json.loads(text or "null")
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


TENSORBOARD = Reader(
    "tensorboard",
    "TensorBoard event files",
    re.compile(r"(?:^|/)events\.out\.tfevents\.[^/]*$|(?:^|/)hparams\.yaml$"),
    _claims,
    _read,
    text=False,
)
