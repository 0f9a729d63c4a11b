"""OpenCompass: results/{model}/{dataset}.json with details, and the summary's CSV."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from audit.importers.metric_names import ACCURACY, is_accuracy
from audit.importers.numbers import fraction_of_percent, number
from audit.importers.readers.found import Found
from audit.importers.readers.piece import Evaluated, RunPiece
from audit.importers.readers.reader import Certainty, FolderReading, Reader
from audit.importers.readers.tally import AnswerTally, digest
from audit.importers.readers.values import outcome_of

_PLACE = re.compile(
    r"^(?P<work>.*?)/?(?P<kind>results|predictions)/(?P<model>[^/]+)/(?P<data>[^/]+)\.json$"
)
_CONTENT = re.compile(rb'"(?:details|accuracy|score|pass@1|error|origin_prompt)"')


def _claims(found: Found) -> Certainty:
    place = _PLACE.match(found.relative)
    stamped = place is not None and re.search(r"\d{8}_\d{6}$", place["work"])
    if stamped and _CONTENT.search(found.head):
        return Certainty.LIKELY
    fits = place is not None and found.mentions("details") and found.mentions("type")
    return Certainty.LIKELY if fits or _is_summary(found) else Certainty.NO


def _is_summary(found: Found) -> bool:
    return found.head.startswith(b"dataset,version,metric,mode")


def _read(files: Sequence[Found], reading: FolderReading) -> Iterator[RunPiece]:
    versions = _versions(files)
    for found in files:
        place = _PLACE.match(found.relative)
        if place is None or place["kind"] != "results":
            continue
        document = found.document()
        piece = RunPiece("opencompass", (found,), name=place["model"])
        piece.evaluations = list(_evaluated(place["data"], document, found, piece))
        version = versions.get(place["data"])
        for evaluation in piece.evaluations:
            if version:
                evaluation.more["condition"] = {"prompt_version": version}
        yield piece


def _versions(files: Sequence[Found]) -> dict[str, str]:
    """Return the hash of each dataset's prompt, as the summary prints it."""
    found: dict[str, str] = {}
    for summary in (f for f in files if _is_summary(f)):
        for line in summary.text().splitlines()[1:]:
            cells = line.split(",")
            if len(cells) > 1 and cells[1] not in ("-", ""):
                found[cells[0]] = cells[1]
    return found


def _evaluated(data: str, document: Any, found: Found, piece: RunPiece) -> Iterator[Evaluated]:
    if not isinstance(document, dict) or "error" in document:
        reason = str(document.get("error")) if isinstance(document, dict) else "no result"
        yield Evaluated(data, error=reason, source=found)
        return
    details = document.get("details")
    tally = _tally(details) if isinstance(details, dict) else None
    name = next((key for key in document if is_accuracy(key) or key == "score"), None)
    printed = number(document.get(name)) if name else None
    value = None if printed is None else fraction_of_percent(printed)
    if tally is not None and value is not None and abs(value - tally.mean) > 6e-3:
        piece.notes.append(
            f"{found.name}: {name} {printed:g} of 100, the details average {tally.mean:.4f}: "
            "they count"
        )
    if tally is not None or value is not None:
        piece.notes.append(f"{name or 'accuracy'} is on 0 to 100 and comes over as a fraction")
        yield Evaluated(data, ACCURACY, tally=tally, value=value, source=found)


def _tally(details: dict[str, Any]) -> AnswerTally | None:
    tally = AnswerTally()
    for key, row in details.items():
        if not isinstance(row, dict):
            continue
        drawn = row.get("correct")
        for answer in drawn if isinstance(drawn, list) else [drawn]:
            value = outcome_of(answer)
            if value is None:
                return None
            tally.answer(str(key), value, question=digest(row.get("prompt"), row.get("references")))
    return tally if len(tally) else None


OPENCOMPASS = Reader(
    "opencompass",
    "OpenCompass results",
    re.compile(r"(?:^|/)(?:results|predictions)/[^/]+/[^/]+\.json$|(?:^|/)summary_[^/]+\.csv$"),
    _claims,
    _read,
)
