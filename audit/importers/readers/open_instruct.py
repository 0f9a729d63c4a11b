"""open-instruct's training rollouts: a training log with every response, no evaluation."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from audit.importers.numbers import integer, number
from audit.importers.readers.found import Found
from audit.importers.readers.piece import RunPiece
from audit.importers.readers.reader import Certainty, FolderReading, Reader
from audit.importers.readers.rollouts import RolloutLog

_SHARD = re.compile(r"(?:^|/)(?P<run>[^/]+)_rollouts_\d{6}\.jsonl$")
_METADATA = re.compile(r"(?:^|/)(?P<run>[^/]+)_metadata\.jsonl$")


def _claims(found: Found) -> Certainty:
    first = found.first or {}
    fits = ("prompt_idx" in first and "advantage" in first) or (
        "run_name" in first and "git_commit" in first
    )
    return Certainty.SURE if fits else Certainty.NO


def _read(files: Sequence[Found], reading: FolderReading) -> Iterator[RunPiece]:
    shards: dict[str, list[Found]] = defaultdict(list)
    about: dict[str, Found] = {}
    for found in files:
        place, metadata = _SHARD.search(found.relative), _METADATA.search(found.relative)
        if place:
            shards[place["run"]].append(found)
        elif metadata:
            about[metadata["run"]] = found
    for run, own in shards.items():
        yield _piece(run, own, about.get(run))


def _piece(run: str, shards: Sequence[Found], about: Found | None) -> RunPiece:
    totals: dict[int, list[float]] = defaultdict(list)
    rollouts = RolloutLog()
    for found in shards:
        for _, row in found.lines():
            step, reward = integer(row.get("step")), number(row.get("reward"))
            if step is not None:
                rollouts.add(step, row.get("prompt_idx"), (reward,), row.get("advantage"))
            if step is not None and reward is not None:
                totals[step].append(reward)
    first: dict[str, Any] = (about.first or {}) if about is not None else {}
    model = first.get("model_name")
    return RunPiece(
        "open-instruct",
        (*shards, about) if about is not None else tuple(shards),
        name=run,
        trained=True,
        last_step=max(totals, default=None),
        log={step: {"reward": sum(sorted(r)) / len(r)} for step, r in totals.items() if step > 0},
        rollouts=rollouts,
        model=model if isinstance(model, str) else None,
        started=str(first["timestamp"]) if first.get("timestamp") else None,
        notes=["rewards of training rollouts are a training log, never a score"],
    )


ROLLOUTS = Reader(
    "open-instruct",
    "open-instruct's training rollouts",
    re.compile(r"_rollouts_\d{6}\.jsonl$|_metadata\.jsonl$"),
    _claims,
    _read,
)
