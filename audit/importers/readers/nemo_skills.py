"""NeMo-Skills: output-rs{j}.jsonl, one file a drawn answer, rows in the order of the tasks."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from audit.errors import ImportRefused
from audit.importers.metric_names import ACCURACY
from audit.importers.readers.found import Found
from audit.importers.readers.piece import Evaluated, RunPiece
from audit.importers.readers.reader import Certainty, FolderReading, Reader
from audit.importers.readers.tally import AnswerTally, digest
from audit.importers.readers.values import outcome_of

_FILE = re.compile(r"(?:^|/)output(?:-rs(?P<draw>\d+))?\.jsonl$")
_OUTCOMES = ("symbolic_correct", "is_correct", "judgement")


def _claims(found: Found) -> Certainty:
    first = found.first or {}
    fits = any(key in first for key in _OUTCOMES)
    return Certainty.LIKELY if fits else Certainty.NO


def _read(files: Sequence[Found], reading: FolderReading) -> Iterator[RunPiece]:
    folders: dict[str, list[Found]] = defaultdict(list)
    for found in files:
        folders[found.folder].append(found)
    for folder, drawn in folders.items():
        yield _piece(folder, drawn, reading)


def _piece(folder: str, drawn: Sequence[Found], reading: FolderReading) -> RunPiece:
    greedy = [found for found in drawn if found.base == "output.jsonl"]
    if greedy and len(drawn) > len(greedy):
        raise ImportRefused(
            "a greedy answer beside drawn ones (output-rs*.jsonl): --exclude one of the kinds",
            path=greedy[0].name,
        )
    tally, lengths, names = AnswerTally(["unparsed"]), {}, set()
    for found in sorted(drawn, key=lambda f: int(_draw(f) or 0)):
        count = 0
        for _, row in found.lines():
            column = _column(row, found, reading)
            names.add(column)
            value = _outcome(row.get(column))
            if value is None:
                tally.says |= {"errored"}
            tally.answer(
                count,
                value or 0.0,
                errored=value is None,
                unparsed=row.get("predicted_answer") is None and "predicted_answer" in row,
                question=digest(row["problem"]) if "problem" in row else None,
                tokens=row.get("num_generated_tokens"),
            )
            count += 1
        lengths[found.base] = count
    if len(set(lengths.values())) > 1:
        shown = ", ".join(f"{name} {count}" for name, count in lengths.items())
        raise ImportRefused(
            f"files of one benchmark with different numbers of lines: {shown}", path=folder
        )
    benchmark = drawn[0].path.absolute().parent.name
    above = folder.rpartition("/")[0]
    named = re.sub(r"(?:^|/)eval-results$", "", above)
    piece = RunPiece("nemo-skills", tuple(drawn), root=named if named else None)
    if not named:
        piece.name = benchmark
    piece.notes.append(
        "files rs0, rs1, ... are answers of one run; its tasks are told by their line"
    )
    piece.evaluations = [Evaluated(benchmark, ACCURACY, tally=tally, source=drawn[0])]
    return piece


def _draw(found: Found) -> str | None:
    match = _FILE.search(found.relative)
    return match["draw"] if match else None


def _column(row: dict[str, Any], found: Found, reading: FolderReading) -> str:
    present = [name for name in _OUTCOMES if row.get(name) is not None]
    if reading.options.metric in row:
        return str(reading.options.metric)
    if len(present) > 1:
        shown = " and ".join(present)
        raise ImportRefused(f"{shown} are both outcomes: --metric {present[0]}", path=found.name)
    return present[0] if present else _OUTCOMES[0]


def _outcome(value: Any) -> float | None:
    """Return an outcome; a judge writes its verdict as the last word of a sentence."""
    if isinstance(value, str) and ":" in value:
        value = value.rpartition(":")[2].strip().strip("*").strip()
    return outcome_of(value)


SKILLS = Reader(
    "nemo-skills",
    "NeMo-Skills outputs",
    _FILE,
    _claims,
    _read,
)
