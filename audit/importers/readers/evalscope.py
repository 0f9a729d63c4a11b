"""EvalScope: reviews in the order they were finished, reports rounded to four digits."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from audit.errors import ImportRefused
from audit.importers.metric_names import ACCURACY, is_accuracy
from audit.importers.numbers import integer, number
from audit.importers.readers.found import Found
from audit.importers.readers.piece import Evaluated, RunPiece
from audit.importers.readers.reader import Certainty, FolderReading, Reader
from audit.importers.readers.settings import flat, yaml_of
from audit.importers.readers.shapes import inner
from audit.importers.readers.tally import AnswerTally, digest
from audit.importers.readers.values import outcome_of

_PLACE = re.compile(r"^(?P<root>.*?)/?reviews/(?P<model>[^/]+)/(?P<file>[^/]+)\.jsonl$")


def _claims(found: Found) -> Certainty:
    return Certainty.LIKELY if "sample_score" in (found.first or {}) else Certainty.NO


def _read(files: Sequence[Found], reading: FolderReading) -> Iterator[RunPiece]:
    groups: dict[tuple[str, str, str], list[Found]] = defaultdict(list)
    reports: dict[tuple[str, str, str], Found] = {}
    for found in files:
        place = _PLACE.match(found.relative)
        if place is None:
            continue
        report = _report(place, reading)
        name = report.stem if report is not None else place["file"].rpartition("_")[0]
        key = (place["root"], place["model"], name or place["file"])
        groups[key].append(found)
        if report is not None:
            reports[key] = report
    for (root, model, benchmark), reviews in groups.items():
        yield _piece(
            root, model, benchmark, reviews, reports.get((root, model, benchmark)), reading
        )


def _report(place: re.Match[str], reading: FolderReading) -> Found | None:
    """Return the report whose name the reviews' name begins with, the longest."""
    below = f"{place['root']}/reports/{place['model']}/".lstrip("/")
    fitting = [
        found
        for where, found in reading.files.items()
        if where.startswith(below)
        and where.endswith(".json")
        and (place["file"] == found.stem or place["file"].startswith(f"{found.stem}_"))
    ]
    return max(fitting, key=lambda found: len(found.stem), default=None)


def _piece(
    root: str,
    model: str,
    benchmark: str,
    reviews: Sequence[Found],
    report: Found | None,
    reading: FolderReading,
) -> RunPiece:
    piece = RunPiece(
        "evalscope", tuple(reviews) if report is None else (*reviews, report), name=model
    )
    tally, metric = AnswerTally(["unparsed"]), ACCURACY
    for found in reviews:
        subset = found.stem.removeprefix(benchmark).lstrip("_")
        for number_, row in found.lines():
            sample, score = inner(row, "sample_score"), inner(row, "sample_score", "score")
            name, value = _value(score, found, number_, reading)
            metric = ACCURACY if is_accuracy(name) else name
            failed = value is None or score.get("status", "success") not in ("success", None)
            if failed:
                tally.says |= {"errored"}
            task = sample.get("group_id", sample.get("sample_id"))
            tally.answer(
                f"{subset}/{task}" if len(reviews) > 1 else task,
                0.0 if failed or value is None else value,
                errored=failed,
                unparsed=score.get("extracted_prediction") in (None, ""),
                question=_question(row),
            )
    settings = reading.files.get(f"{root}/configs/task_config.yaml".lstrip("/"))
    asked, more = None, {}
    if settings is not None:
        config = flat(yaml_of(settings), settings.name)
        asked = integer(config.get("repeats"))
        fields = {
            "temperature": number(config.get("generation_config.temperature")),
            "max_tokens": integer(config.get("generation_config.max_tokens")),
            "seed": integer(config.get("seed")),
        }
        more = {"condition": {k: v for k, v in fields.items() if v is not None}}
    piece.notes.append("the task is group_id: lines stand in the order they were finished")
    piece.evaluations = [
        Evaluated(benchmark, metric, tally=tally, source=reviews[0], asked=asked, more=more)
    ]
    return piece


def _value(
    score: dict[str, Any], found: Found, line: int, reading: FolderReading
) -> tuple[str, float | None]:
    values = score.get("value")
    if not isinstance(values, dict) or not values:
        return "acc", None
    name = score.get("main_score_name") or reading.options.metric
    if name not in values and len(values) == 1:
        name = next(iter(values))
    if name not in values:
        raise ImportRefused(
            f"line {line} has several scores, {', '.join(values)}: --metric {next(iter(values))}",
            path=found.name,
        )
    return str(name), outcome_of(values[name])


def _question(row: dict[str, Any]) -> str | None:
    messages = row.get("messages")
    listed = messages if isinstance(messages, list) else []
    asked = [m.get("content") for m in listed if isinstance(m, dict) and m.get("role") == "user"]
    return digest(asked[0], row.get("target")) if asked else None


EVALSCOPE = Reader(
    "evalscope",
    "EvalScope reviews",
    re.compile(r"(?:^|/)reviews/[^/]+/[^/]+\.jsonl$"),
    _claims,
    _read,
)
