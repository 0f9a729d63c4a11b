"""Completions that TRL and ms-swift log while they train: rewards and advantages, no evaluation."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from audit.errors import InputError
from audit.importers.foreign import ForeignTable, from_source
from audit.importers.numbers import number
from audit.importers.readers.found import Found
from audit.importers.readers.piece import RunPiece
from audit.importers.readers.reader import Certainty, FolderReading, Reader
from audit.importers.readers.rollouts import RolloutLog
from audit.importers.readers.settings import whole_number

# TRL writes one file a step; of more than so many, one in 2, 4, 8 and so on is read.
MOST_FILES = 128
_ADVANTAGES = ("advantage", "advantages")
_NO_REWARDS = frozenset({"step", "gen_step", "prompt", "completion", *_ADVANTAGES})


def _claims_parquet(found: Found) -> Certainty:
    return Certainty.LIKELY if found.head.startswith(b"PAR1") else Certainty.NO


def _read_parquet(files: Sequence[Found], reading: FolderReading) -> Iterator[RunPiece]:
    folders: dict[str, list[Found]] = defaultdict(list)
    for found in files:
        folders[found.folder].append(found)
    for folder in sorted(folders):
        every = sorted(folders[folder], key=lambda found: found.base)
        read = _some(every)
        piece = RunPiece(
            "trl-completions",
            tuple(read),
            root=folder.rpartition("completions")[0].rstrip("/"),
            trained=True,
            notes=[f"{folder}: completions are what the trainer drew last, no evaluation"],
        )
        if len(read) < len(every):
            piece.notes.append(f"{folder}: {len(read)} of {len(every)} files are read")
        for found in read:
            try:
                table = from_source(found.source()).content
            except InputError as error:
                piece.notes.append(f"{found.name}: {error.message}; its rewards are not read")
                continue
            if isinstance(table, ForeignTable):
                columns = {name: [row[name] for row in table.rows] for name in table.columns}
                _add(piece, columns)
        yield piece


def _some(files: Sequence[Found]) -> list[Found]:
    every = 1
    while len(files) > every * MOST_FILES:
        every *= 2
    return list(dict.fromkeys([*files[::every], *files[-1:]]))


def _claims_lines(found: Found) -> Certainty:
    first = found.first or {}
    lists = isinstance(first.get("prompt"), list) and isinstance(first.get("advantages"), list)
    return Certainty.LIKELY if lists else Certainty.NO


def _read_lines(files: Sequence[Found], reading: FolderReading) -> Iterator[RunPiece]:
    for found in files:
        piece = RunPiece(
            "ms-swift-completions",
            (found,),
            root=found.folder,
            trained=True,
            notes=[f"{found.name}: completions are what the trainer drew, no evaluation"],
        )
        for _, row in found.lines():
            _add(piece, {key: value for key, value in row.items() if isinstance(value, list)})
        yield piece


def _add(piece: RunPiece, columns: Mapping[str, Sequence[Any]]) -> None:
    """Add the responses of one batch, given by columns; without a column of each nothing."""
    advantages = next((columns[name] for name in _ADVANTAGES if name in columns), None)
    prompts, steps = columns.get("prompt"), columns.get("step")
    parts = tuple(name for name in columns if name not in _NO_REWARDS and _numbers(columns[name]))
    if advantages is None or prompts is None or steps is None or not parts:
        return
    if piece.rollouts is None:
        piece.rollouts = RolloutLog(parts)
    lists = [columns.get(name, [None] * len(prompts)) for name in piece.rollouts.parts]
    if len({len(prompts), len(steps), len(advantages), *map(len, lists)}) != 1:
        piece.notes.append(f"{piece.files[0].name}: lists of unequal length are not read")
        return
    for place, prompt in enumerate(prompts):
        step = whole_number(str(steps[place]).partition("/")[0])
        if step is not None:
            values = [values[place] for values in lists]
            piece.rollouts.add(step, str(prompt), values, advantages[place])


def _numbers(values: Sequence[Any]) -> bool:
    """Whether a column may be a reward: numbers, and gaps where its function gave none."""
    there = [value for value in values if value is not None]
    return bool(there) and all(number(value) is not None for value in there)


PARQUET = Reader(
    "trl-completions",
    "TRL's logged completions, telemetry alone",
    re.compile(r"(?:^|/)completions/completions_\d+\.parquet$"),
    _claims_parquet,
    _read_parquet,
    also=("trl",),
)
LINES = Reader(
    "ms-swift-completions",
    "ms-swift's logged completions, telemetry alone",
    re.compile(r"(?:^|/)completions\.jsonl$"),
    _claims_lines,
    _read_lines,
    also=("ms-swift",),
)
