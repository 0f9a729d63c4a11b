"""SkyRL's dumped evaluations: one file a data source and step."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from audit.importers.readers.found import Found
from audit.importers.readers.piece import Evaluated, RunPiece
from audit.importers.readers.reader import Certainty, FolderReading, Reader
from audit.importers.readers.tally import AnswerTally, digest
from audit.importers.readers.values import metric_of_rewards, outcome_of

_PLACE = re.compile(
    r"^(?P<root>.*?)/?(?:exports/)?dumped_evals/(?:global_step_(?P<step>\d+)_evals|eval_only)/"
)


def _claims(found: Found) -> Certainty:
    first = found.first or {}
    if found.base == "aggregated_results.jsonl":
        return Certainty.SURE
    fits = all(key in first for key in ("input_prompt", "output_response", "stop_reason"))
    return Certainty.SURE if fits else Certainty.NO


def _read(files: Sequence[Found], reading: FolderReading) -> Iterator[RunPiece]:
    by_root: dict[str, list[Found]] = defaultdict(list)
    for found in files:
        place = _PLACE.match(found.relative)
        if place is not None and found.base != "aggregated_results.jsonl":
            by_root[place["root"]].append(found)
    for root, dumps in by_root.items():
        piece = RunPiece("skyrl", tuple(dumps), root=root, anchor=True)
        for found in dumps:
            piece.evaluations += _evaluated(found, piece)
        steps = [e.step for e in piece.evaluations if e.step is not None]
        piece.trained = any(steps)
        piece.last_step = max(steps, default=None)
        yield piece


def _evaluated(found: Found, piece: RunPiece) -> Iterator[Evaluated]:
    """Yield one evaluation a data source; the file's own name is spelt without its slashes."""
    tallies: dict[str, AnswerTally] = defaultdict(lambda: AnswerTally(["truncated"]))
    summed = False
    for _, row in found.lines():
        score = row.get("score")
        summed |= isinstance(score, list)
        value = _total(score)
        tally = tallies[str(row.get("data_source") or found.stem)]
        if value is None:
            tally.says |= {"errored"}
        tally.answer(
            _task(row),
            value or 0.0,
            errored=value is None,
            truncated=row.get("stop_reason") == "length",
        )
    if summed:
        piece.notes.append("a list of rewards by token is added up")
    place = _PLACE.match(found.relative)
    step = int(place["step"]) if place and place["step"] else None
    for source, tally in tallies.items():
        yield Evaluated(
            source,
            metric_of_rewards(tally),
            step,
            tally,
            more={"split": "validation"},
            source=found,
        )


def _total(score: Any) -> float | None:
    """Return a score; a list holds the reward of each token, all of it at the end."""
    if not isinstance(score, list):
        return outcome_of(score)
    parts = [outcome_of(part) for part in score]
    known = [part for part in parts if part is not None]
    return sum(known) if known and len(known) == len(parts) else None


def _task(row: dict[str, Any]) -> str:
    extras = row.get("env_extras")
    extras = extras if isinstance(extras, dict) else {}
    info = extras.get("extra_info")
    if isinstance(info, dict):
        name = info.get("index", info.get("id"))
        if name is not None:
            return f"{info['split']}/{name}" if info.get("split") else str(name)
    spec = extras.get("reward_spec")
    gold = spec.get("ground_truth") if isinstance(spec, dict) else None
    return digest(row.get("input_prompt"), gold)


SKYRL = Reader(
    "skyrl",
    "SkyRL's dumped evaluations",
    re.compile(r"(?:^|/)dumped_evals/[^/]+/[^/]+\.jsonl$"),
    _claims,
    _read,
)
