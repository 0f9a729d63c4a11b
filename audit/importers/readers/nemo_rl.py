"""NeMo-RL: validation dumps under the log folder, settings under the checkpoints."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from audit.importers.numbers import integer
from audit.importers.readers.found import Found
from audit.importers.readers.piece import Evaluated, RunPiece, SeedSaid
from audit.importers.readers.reader import Certainty, FolderReading, Reader
from audit.importers.readers.settings import flat, whole_number, yaml_of
from audit.importers.readers.tally import AnswerTally, digest
from audit.importers.readers.values import metric_of_rewards, outcome_of

_VAL = re.compile(r"(?:^|/)(?:val|train)_data_step(?P<step>\d+)\.jsonl$")
_STEP = re.compile(r"^(?P<root>.*?)/?step_(?P<step>\d+)$")
_METHODS = ("grpo", "sft", "dpo", "rm", "distillation")


def _claims_data(found: Found) -> Certainty:
    first = found.first or {}
    fits = "content" in first and "rewards" in first and "idx" in first
    return Certainty.SURE if fits else Certainty.NO


def _read_data(files: Sequence[Found], reading: FolderReading) -> Iterator[RunPiece]:
    folders: dict[str, list[Found]] = defaultdict(list)
    for found in files:
        folders[found.folder].append(found)
    for folder, dumps in folders.items():
        held = [found for found in dumps if found.base.startswith("val_")]
        attempt = re.search(r"(?:^|/)exp_(\d+)$", folder)
        steps = [int(match["step"]) for f in dumps if (match := _VAL.search(f.relative))]
        piece = RunPiece(
            "nemo-rl",
            tuple(held),
            root=folder,
            anchor=True,
            trained=len(held) < len(dumps),
            last_step=max(steps),
            order=int(attempt[1]) if attempt else 0,
        )
        if held:
            piece.notes.append("the row's idx is a position: the task is the first user message")
        piece.evaluations = [_evaluated(found, piece) for found in held]
        yield piece


def _evaluated(found: Found, piece: RunPiece) -> Evaluated:
    tally, missing = AnswerTally(), 0
    for _, row in found.lines():
        value = outcome_of(row.get("rewards"))
        missing += value is None
        tally.answer(digest(_question(row.get("content"))), value or 0.0, errored=value is None)
    if missing:
        tally.says |= {"errored"}
        piece.notes.append(f"{found.name}: {missing} answers have no reward and count as wrong")
    match = _VAL.search(found.relative)
    return Evaluated(
        None,
        metric_of_rewards(tally),
        int(match["step"]) if match else None,
        tally,
        more={"split": "validation"},
        source=found,
        by_content=True,
    )


def _question(content: Any) -> Any:
    """Return the first user message; conversations come as a batch of one."""
    while isinstance(content, list) and content and isinstance(content[0], list):
        content = content[0]
    for message in content if isinstance(content, list) else ():
        if isinstance(message, dict) and message.get("role") == "user":
            return message.get("content")
    return content


def _claims_settings(found: Found) -> Certainty:
    fits = b"policy:" in found.head and any(f"{m}:".encode() in found.head for m in _METHODS)
    return Certainty.SURE if fits else Certainty.NO


def _read_settings(files: Sequence[Found], reading: FolderReading) -> Iterator[RunPiece]:
    last: dict[str, tuple[int, Found]] = {}
    for found in files:
        place = _STEP.match(found.folder)
        root, step = (place["root"], int(place["step"])) if place else (found.folder, 0)
        last[root] = max(last.get(root, (-1, found)), (step, found), key=lambda pair: pair[0])
    for root, (step, found) in last.items():
        config = flat(yaml_of(found), found.name)
        method = next((m for m in _METHODS if f"{m}.seed" in config), "grpo")
        seed = whole_number(config.get(f"{method}.seed"))
        folder = config.get("logger.log_dir")
        model, data = config.get("policy.model_name"), config.get("data.validation.dataset_name")
        yield RunPiece(
            "nemo-rl-settings",
            (found,),
            root=root,
            anchor=True,
            trained=True,
            links=(folder,) if isinstance(folder, str) else (),
            config=config,
            seeds=[] if seed is None else [SeedSaid(seed, f"{method}.seed", found.relative)],
            last_step=step or None,
            planned_steps=integer(config.get(f"{method}.max_num_steps")),
            model=model if isinstance(model, str) else None,
            asked=integer(config.get(f"{method}.val_num_generations_per_prompt")),
            benchmark=data if isinstance(data, str) else None,
        )


DATA = Reader(
    "nemo-rl",
    "NeMo-RL's validation dumps",
    _VAL,
    _claims_data,
    _read_data,
)
SETTINGS = Reader(
    "nemo-rl-settings",
    "NeMo-RL's settings beside a checkpoint",
    re.compile(r"(?:^|/)step_\d+/config\.yaml$"),
    _claims_settings,
    _read_settings,
    also=("nemo-rl",),
)
