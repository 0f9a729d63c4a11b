"""verl's validation dumps: one JSON Lines file a step, tasks told by their text."""

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

_KEYS = ("input", "output", "gts", "score", "step")
_ROLLOUTS = re.compile(r"(?:^|/)[^/]*(?:rollout|train)[^/]*$", re.I)
# The agent loop's uid: a draw's own name, the session that draws one answer, the part of it.
_UID = re.compile(r"^(?P<draw>.+)_(?P<session>\d+)_(?P<part>\d+)$")


def _claims(found: Found) -> Certainty:
    first = found.first or {}
    return Certainty.SURE if all(key in first for key in _KEYS) else Certainty.NO


def _read(files: Sequence[Found], reading: FolderReading) -> Iterator[RunPiece]:
    folders: dict[str, list[Found]] = defaultdict(list)
    for found in files:
        folders[found.folder].append(found)
    for folder, dumps in folders.items():
        dumps.sort(key=lambda found: int(found.stem))
        piece = RunPiece("verl-dumps", tuple(dumps), root=folder, trained=False)
        if _of_training(folder, dumps):
            piece.files = ()
            piece.trained = True
            piece.last_step = int(dumps[-1].stem)
            piece.notes.append(f"{folder}: rollouts of the training, no evaluation")
        else:
            piece.evaluations = [_evaluated(found, piece) for found in dumps]
            piece.notes.append("tasks have no id: rows with the same input and gts are one task")
        yield piece


def _of_training(folder: str, dumps: Sequence[Found]) -> bool:
    """Whether a folder holds what training drew: so named, or with other tasks at each step."""
    if _ROLLOUTS.search(folder):
        return True
    if len(dumps) < 2:
        return False
    first, second = ({_task(row) for row in _rows_of_head(found)} for found in dumps[:2])
    return bool(first and second) and not first & second


def _rows_of_head(found: Found) -> Iterator[dict[str, Any]]:
    import json

    for line in found.head.split(b"\n")[:200]:
        try:
            row = json.loads(line)
        except ValueError:
            continue
        if isinstance(row, dict):
            yield row


def _task(row: dict[str, Any]) -> str:
    return digest(row.get("input"), row.get("gts"))


def _evaluated(found: Found, piece: RunPiece) -> Evaluated:
    """Return the evaluation of one dump; of a session's rows only the last part counts."""
    answers: dict[Any, tuple[int, str, float | None, bool]] = {}
    has_acc, has_pred = False, False
    merged = 0
    for number, row in found.lines():
        has_acc |= row.get("acc") is not None
        has_pred |= "pred" in row
        value = outcome_of(row["acc"]) if row.get("acc") is not None else outcome_of(row["score"])
        uid = _UID.match(str(row.get("uid", "")))
        key: Any = (uid["draw"], uid["session"]) if uid else number
        part = int(uid["part"]) if uid else 0
        unparsed = has_pred and row.get("pred") in (None, "", "[INVALID]")
        merged += key in answers
        if key not in answers or part > answers[key][0]:
            answers[key] = (part, _task(row), value, unparsed)
    tally = AnswerTally(["unparsed"] if has_pred else [])
    missing = 0
    for _, task, value, unparsed in answers.values():
        missing += value is None
        tally.answer(task, value or 0.0, errored=value is None, unparsed=unparsed)
    if missing:
        tally.says |= {"errored"}
        piece.notes.append(f"{found.name}: {missing} answers have no score and count as wrong")
    if merged:
        piece.notes.append(f"{found.folder}: of the rows of one session only the last counts")
    if has_acc:
        piece.notes.append("score is the reward; right or wrong is taken from acc")
    return Evaluated(
        None,
        metric_of_rewards(tally),
        int(found.stem),
        tally,
        more={"split": "validation"},
        source=found,
        by_content=True,
    )


DUMPS = Reader(
    "verl-dumps",
    "verl's validation dumps",
    re.compile(r"(?:^|/)\d+\.jsonl$"),
    _claims,
    _read,
    also=("verl",),
)
