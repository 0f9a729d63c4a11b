"""ms-swift's and LLaMA-Factory's logs, one line per step, with the settings beside them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from audit.importers.numbers import integer
from audit.importers.readers.found import Found
from audit.importers.readers.hf_trainer import mark_best, seed_of_settings
from audit.importers.readers.logged import evaluations_of
from audit.importers.readers.piece import LoggedSteps, RunPiece, SeedSaid
from audit.importers.readers.reader import Certainty, FolderReading, Reader
from audit.importers.readers.settings import flat, yaml_of

_OF = re.compile(r"^(\d+)/(\d+)$")
_PLACES = frozenset(
    [
        *("global_step/max_steps", "epoch", "percentage", "elapsed_time", "remaining_time"),
        *("current_steps", "total_steps"),
    ]
)


def _claims_swift(found: Found) -> Certainty:
    return Certainty.SURE if found.mentions("global_step/max_steps") else Certainty.NO


def _claims_factory(found: Found) -> Certainty:
    first = found.first or {}
    fits = "current_steps" in first and "total_steps" in first
    return Certainty.SURE if fits else Certainty.NO


def _read_swift(files: Sequence[Found], reading: FolderReading) -> Iterator[RunPiece]:
    for found in files:
        yield _logged("ms-swift", found, _swift_step, reading, "args.json")


def _read_factory(files: Sequence[Found], reading: FolderReading) -> Iterator[RunPiece]:
    for found in files:
        yield _logged("llama-factory", found, _factory_step, reading, "training_args.yaml")


def _swift_step(row: dict[str, Any]) -> tuple[int, int] | None:
    match = _OF.match(str(row.get("global_step/max_steps", "")))
    return (int(match[1]), int(match[2])) if match else None


def _factory_step(row: dict[str, Any]) -> tuple[int, int] | None:
    step, total = integer(row.get("current_steps")), integer(row.get("total_steps"))
    return None if step is None or total is None else (step, total)


def _logged(
    reader: str, found: Found, place: Any, reading: FolderReading, settings: str
) -> RunPiece:
    rows: dict[int, dict[str, Any]] = {}
    planned: int | None = None
    summary: dict[str, Any] = {}
    logged = LoggedSteps()
    for line, row in found.lines():
        at = place(row)
        if at is None:
            summary = row if "log_history" in row else summary
            continue
        planned = at[1]
        logged.see(at[0], line)
        rows.setdefault(at[0], {}).update({k: v for k, v in row.items() if k not in _PLACES})
    piece = RunPiece(
        reader,
        (found,),
        root=found.folder,
        anchor=True,
        trained=True,
        last_step=max(rows, default=None),
        planned_steps=planned,
        evaluations=evaluations_of(rows),
        log={step: row for step, row in rows.items() if step > 0},
        logged=logged,
    )
    mark_best(piece.evaluations, summary)
    beside = reading.beside(found, settings)
    if beside is not None:
        _add_settings(piece, beside)
    version = re.search(r"(?:^|/)v(\d+)-\d{8}-\d{6}$", found.folder)
    piece.order = int(version[1]) if version else 0
    return piece


def _add_settings(piece: RunPiece, beside: Found) -> None:
    document = beside.document() if beside.base.endswith(".json") else yaml_of(beside)
    config = flat(document, beside.name)
    piece.files = (*piece.files, beside)
    piece.config = config
    seed = seed_of_settings(config)
    piece.seeds = [] if seed is None else [SeedSaid(seed, "seed", beside.relative)]
    model = config.get("model", config.get("model_name_or_path"))
    piece.model = model if isinstance(model, str) else None
    version = config.get("swift_version")
    piece.packages = {"ms-swift": str(version)} if version else {}


SWIFT = Reader(
    "ms-swift",
    "ms-swift's log (logging.jsonl)",
    re.compile(r"(?:^|/)logging\.jsonl$"),
    _claims_swift,
    _read_swift,
)
FACTORY = Reader(
    "llama-factory",
    "LLaMA-Factory's log (trainer_log.jsonl)",
    re.compile(r"(?:^|/)trainer_log\.jsonl$"),
    _claims_factory,
    _read_factory,
)
