"""BFCL: the score file lists failures under a header, the result file every task."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from audit.errors import ImportRefused
from audit.importers.numbers import integer, number
from audit.importers.readers.found import Found
from audit.importers.readers.piece import Evaluated, RunPiece
from audit.importers.readers.reader import Certainty, FolderReading, Reader
from audit.importers.readers.tally import AnswerTally

_SCORE = re.compile(
    r"(?:^|/)score/(?P<model>[^/]+)/(?P<group>(?:[^/]+/)*)BFCL_v\d+_(?P<name>[^/]+)_score\.json$"
)


def _claims(found: Found) -> Certainty:
    if "/result/" in f"/{found.relative}":
        return Certainty.LIKELY if {"id", "result"} <= set(found.first or {}) else Certainty.NO
    first = found.first or {}
    fits = {"accuracy", "correct_count", "total_count"} <= set(first)
    return Certainty.LIKELY if fits else Certainty.NO


def _read(files: Sequence[Found], reading: FolderReading) -> Iterator[RunPiece]:
    for found in files:
        place = _SCORE.search(found.relative)
        if place is None:
            continue
        where = found.relative[: place.start()] + place[0].replace("score/", "result/", 1).replace(
            "_score.json", "_result.json"
        )
        answers = reading.files.get(where.lstrip("/"))
        piece = RunPiece("bfcl", (found,), name=place["model"])
        piece.evaluations = [_evaluated(found, answers, place["name"], piece)]
        yield piece


def _evaluated(found: Found, answers: Found | None, name: str, piece: RunPiece) -> Evaluated:
    header: dict[str, Any] | None = None
    failures: dict[str, str] = {}
    for _, row in found.lines():
        if header is None:
            header = row
        else:
            failures[str(row.get("id"))] = str(row.get("error_type") or "")
    right = integer((header or {}).get("correct_count"))
    total = integer((header or {}).get("total_count"))
    if header is None or right is None or total is None:
        raise ImportRefused("its first line is no header with the counts", path=found.name)
    if answers is None:
        piece.notes.append(f"{found.name}: without the result file only the counts come over")
        return Evaluated(name, value=number(header.get("accuracy")), examples=total, source=found)
    piece.files = (found, answers)
    tally = AnswerTally(["errored", "unparsed"])
    for _, row in answers.lines():
        task = str(row.get("id"))
        error = failures.get(task)
        tally.answer(
            task,
            error is None,
            errored=(error or "").endswith("inference_error"),
            unparsed=(error or "").endswith("decoder_failed"),
        )
    have = sum(1 for task in failures if task)
    if tally.answers - have != right or tally.answers != total:
        raise ImportRefused(
            f"{tally.answers} results less {have} failures are not the {right} right of {total} "
            "that the header counts",
            path=found.name,
        )
    piece.notes.append("the score file lists failures: every other id of the result file is right")
    return Evaluated(name, tally=tally, source=answers)


BFCL = Reader(
    "bfcl",
    "BFCL scores and results",
    re.compile(r"(?:^|/)(?:score|result)/.*BFCL_v\d+_[^/]+_(?:score|result)\.json$"),
    _claims,
    _read,
)
