"""Settings and logs that trainers write under fixed names: prime-rl's and tinker-cookbook's."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from audit.importers.numbers import integer
from audit.importers.readers.found import Found
from audit.importers.readers.logged import evaluations_of
from audit.importers.readers.piece import LoggedSteps, RunPiece, SeedSaid
from audit.importers.readers.reader import Certainty, FolderReading, Reader
from audit.importers.readers.settings import flat, whole_number
from audit.importers.readers.shapes import inner


def _claims_log(found: Found) -> Certainty:
    first = found.first or {}
    numbers = [v for k, v in first.items() if k != "step" and isinstance(v, int | float)]
    fits = isinstance(first.get("step"), int) and bool(numbers)
    return Certainty.LIKELY if fits else Certainty.NO


def _read_logs(files: Sequence[Found], reading: FolderReading) -> Iterator[RunPiece]:
    for found in files:
        rows: dict[int, dict[str, Any]] = {}
        logged = LoggedSteps()
        for line, row in found.lines():
            step = row.get("step")
            if isinstance(step, int):
                logged.see(step, line)
                figures = {key: v for key, v in row.items() if key not in ("step", "time")}
                rows.setdefault(step, {}).update(figures)
        yield RunPiece(
            "metrics",
            (found,),
            root=found.folder,
            trained=any(step > 0 for step in rows),
            last_step=max(rows, default=None),
            evaluations=evaluations_of(rows),
            log={step: row for step, row in rows.items() if step > 0},
            logged=logged,
        )


def _claims_prime(found: Found) -> Certainty:
    fits = found.base == "rl.json" or found.mentions("orchestrator")
    return Certainty.LIKELY if fits or found.mentions("model", "max_steps") else Certainty.NO


def _read_prime(files: Sequence[Found], reading: FolderReading) -> Iterator[RunPiece]:
    for found in files:
        if found.base != "rl.json" and reading.beside(found, "rl.json") is not None:
            continue  # parts of the same settings
        document = found.document()
        config = flat(document, found.name)
        model = config.get("orchestrator.model.name", config.get("model.name"))
        yield RunPiece(
            "prime-rl-settings",
            (found,),
            root=found.folder.rpartition("configs")[0].rstrip("/"),
            anchor=True,
            config=config,
            planned_steps=integer(config.get("max_steps")),
            model=model if isinstance(model, str) else None,
            asked=_rollouts(document),
        )


def _rollouts(document: Any) -> int | None:
    """Return the rollouts a task of the only evaluation environment, None where there are more."""
    held = inner(document, "orchestrator") or inner(document)
    environments = inner(held, "eval").get("env")
    listed = environments if isinstance(environments, list) else []
    counts = {integer(inner(env).get("rollouts_per_example")) for env in listed}
    return counts.pop() if len(counts) == 1 else None


def _claims_tinker(found: Found) -> Certainty:
    fits = found.mentions("log_path") and found.mentions("model_name")
    return Certainty.LIKELY if fits else Certainty.NO


def _read_tinker(files: Sequence[Found], reading: FolderReading) -> Iterator[RunPiece]:
    for found in files:
        config = flat(found.document(), found.name)
        seeds = [
            SeedSaid(value, key, found.relative)
            for key, raw in config.items()
            if key.endswith("dataset_builder.seed") and (value := whole_number(raw)) is not None
        ]
        model = config.get("model_name")
        yield RunPiece(
            "tinker-settings",
            (found,),
            root=found.folder,
            anchor=reading.beside(found, "metrics.jsonl") is not None,
            config=config,
            seeds=seeds,
            model=model if isinstance(model, str) else None,
        )


LOG = Reader(
    "metrics",
    "a training log, metrics.jsonl",
    re.compile(r"(?:^|/)metrics\.jsonl$"),
    _claims_log,
    _read_logs,
    also=("prime-rl", "tinker-cookbook"),
)
PRIME = Reader(
    "prime-rl-settings",
    "prime-rl's settings",
    re.compile(r"(?:^|/)configs/(?:rl|trainer|orchestrator)\.json$"),
    _claims_prime,
    _read_prime,
    also=("prime-rl", "prime"),
)
TINKER = Reader(
    "tinker-settings",
    "tinker-cookbook's settings",
    re.compile(r"(?:^|/)config\.json$"),
    _claims_tinker,
    _read_tinker,
    also=("tinker-cookbook", "tinker"),
)
