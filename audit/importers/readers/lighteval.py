"""lighteval: results_{stamp}.json, with the details of each task in Parquet where they are kept."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from audit.importers.foreign import ForeignTable, from_source
from audit.importers.metric_names import ACCURACY, is_accuracy, plain
from audit.importers.numbers import integer, number, whole
from audit.importers.readers.found import Found
from audit.importers.readers.piece import Evaluated, RunPiece
from audit.importers.readers.reader import Certainty, FolderReading, Reader
from audit.importers.readers.tally import AnswerTally, digest

_STAMP = re.compile(r"results_(?P<stamp>[\dT:.-]+)\.json$")
# Shares of right answers under lighteval's own names.
_SHARES = re.compile(r"^(?:extractive_match|(?:quasi_)?exact_match|acc|pass_1|.*_em|qem|pem)", re.I)


def _claims(found: Found) -> Certainty:
    fits = found.mentions("config_general", "results")
    return Certainty.SURE if fits else Certainty.NO


def _claims_details(found: Found) -> Certainty:
    return Certainty.LIKELY if found.head.startswith(b"PAR1") else Certainty.NO


def _read(files: Sequence[Found], reading: FolderReading) -> Iterator[RunPiece]:
    for found in files:
        document = found.document()
        general = document.get("config_general") or {}
        name = str(general.get("model_name") or found.folder.rpartition("/")[2])
        piece = RunPiece("lighteval", (found,), name=name)
        for key, figures in (document.get("results") or {}).items():
            task, _, shots = str(key).rpartition("|")
            average = key == "all" or "_average" in task
            if average or not isinstance(figures, dict):
                continue
            piece.evaluations += _evaluated(
                key, task or str(key), shots, figures, found, piece, reading
            )
        condition = _condition(general)
        for evaluation in piece.evaluations:
            if condition:
                evaluation.more["condition"] = condition
        yield piece


def _evaluated(
    key: str,
    task: str,
    shots: str,
    figures: dict[str, Any],
    found: Found,
    piece: RunPiece,
    reading: FolderReading,
) -> Iterator[Evaluated]:
    names = [name for name in figures if not name.endswith("_stderr")]
    chosen = [n for n in names if n == reading.options.metric] or [
        n for n in names if is_accuracy(n) or _SHARES.match(plain(n))
    ]
    for name in (chosen or names)[:1]:
        metric = ACCURACY if _SHARES.match(plain(name)) or is_accuracy(name) else name
        value = number(figures[name])
        benchmark = task.rpartition("|")[2] or task
        details = _details(key, found, reading)
        tally = None if details is None else _tally(details, name, piece)
        if tally is not None and details is not None:
            piece.files = (*piece.files, details)
        if tally is not None or value is not None:
            yield Evaluated(benchmark, metric, tally=tally, value=value, source=details or found)


def _details(key: str, found: Found, reading: FolderReading) -> Found | None:
    """Return the details of one task with the results' own time in their name."""
    stamp = _STAMP.search(found.base)
    if stamp is None:
        return None
    suffix = f"details_{key}_{stamp['stamp']}.parquet"
    model = found.folder.partition("results/")[2]
    for other in reading.files.values():
        if other.base == suffix and f"details/{model}/" in f"/{other.relative}".replace("//", "/"):
            return other
    return None


def _tally(details: Found, name: str, piece: RunPiece) -> AnswerTally | None:
    """Return the answers; of several to a task lighteval keeps their mean alone."""
    table = from_source(details.source()).content
    if not isinstance(table, ForeignTable) or not {"doc", "metric"} <= set(table.columns):
        piece.notes.append(f"{details.name}: an older layout of details, which is not read")
        return None
    tally = AnswerTally()
    for row in table.rows:
        doc, figures = row["doc"], row["metric"]
        value = number(figures.get(name))
        if value is None:
            continue
        drawn = integer(doc.get("num_samples")) or 1
        response = row.get("model_response") or {}
        texts = response.get("text") if hasattr(response, "get") else None
        drawn = len(texts) if texts is not None and len(texts) > drawn else drawn
        right = whole(value * drawn)
        answers = [value] if right is None else [1.0] * right + [0.0] * (drawn - right)
        for answer in answers:
            tally.answer(str(doc.get("id")), answer, question=digest(doc.get("query")))
    piece.notes.append(
        f"{name}: a task's figure is the mean over its answers; right is that times their number"
    )
    return tally if len(tally) else None


def _condition(general: dict[str, Any]) -> dict[str, Any]:
    config = general.get("model_config")
    given = config.get("generation_parameters") if isinstance(config, dict) else None
    given = given if isinstance(given, dict) else {}
    fields = {
        "temperature": number(given.get("temperature")),
        "top_p": number(given.get("top_p")),
        "max_tokens": integer(given.get("max_new_tokens")),
        "seed": integer(given.get("seed")),
    }
    return {key: value for key, value in fields.items() if value is not None}


def _pass_over(files: Sequence[Found], reading: FolderReading) -> Iterator[RunPiece]:
    """Details are read with the results they belong to."""
    return iter(())


RESULTS = Reader(
    "lighteval",
    "lighteval results",
    re.compile(r"(?:^|/)results_[^/]+\.json$"),
    _claims,
    _read,
)
DETAILS = Reader(
    "lighteval-details",
    "lighteval details, read with their results",
    re.compile(r"(?:^|/)details_[^/]+\.parquet$"),
    _claims_details,
    _pass_over,
    also=("lighteval",),
)
