"""Scores printed on model pages: .eval_results YAML and the model-index of a card."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from audit.importers.metric_names import ACCURACY, is_accuracy
from audit.importers.readers.found import Found
from audit.importers.readers.piece import Evaluated, RunPiece
from audit.importers.readers.reader import Certainty, FolderReading, Reader
from audit.importers.readers.settings import yaml_document, yaml_of
from audit.importers.readers.values import outcome_of

Printed = tuple[str, str, float]
# What stands above and below the front matter of a card.
_FENCE = re.compile(r"^---[ \t]*$", re.MULTILINE)


def _claims_results(found: Found) -> Certainty:
    return Certainty.SURE if b"dataset:" in found.head else Certainty.NO


def _claims_card(found: Found) -> Certainty:
    return Certainty.SURE if b"model-index:" in found.head else Certainty.NO


def _read_results(files: Sequence[Found], reading: FolderReading) -> Iterator[RunPiece]:
    for found in files:
        model = found.path.absolute().parent.parent.name
        yield _piece(found, model, list(_results(yaml_of(found))), reading)


def _results(document: Any) -> Iterator[Printed]:
    for entry in document if isinstance(document, list) else ():
        data = entry.get("dataset") if isinstance(entry, dict) else None
        value = outcome_of(entry.get("value")) if isinstance(entry, dict) else None
        if isinstance(data, dict) and value is not None:
            name = " ".join(str(data[key]) for key in ("id", "task_id") if data.get(key))
            yield name, ACCURACY, value


def _read_cards(files: Sequence[Found], reading: FolderReading) -> Iterator[RunPiece]:
    for found in files:
        front = _FENCE.split(found.text())
        document = yaml_document(front[1], found.name) if len(front) > 2 else {}
        index = document.get("model-index") if isinstance(document, dict) else None
        for model in index or ():
            if isinstance(model, dict):
                name = str(model.get("name") or found.path.absolute().parent.name)
                yield _piece(found, name, list(_index(model)), reading)


def _index(model: dict[str, Any]) -> Iterator[Printed]:
    for result in model.get("results") or ():
        data = result.get("dataset") or {}
        name = str(data.get("type") or data.get("name"))
        for metric in result.get("metrics") or ():
            value = outcome_of(metric.get("value"))
            if value is not None:
                yield name, str(metric.get("name") or metric.get("type")), value


def _piece(
    found: Found, model: str, printed: Sequence[Printed], reading: FolderReading
) -> RunPiece:
    """Return the figures as printed; as scores only where the user says their scale."""
    piece = RunPiece("hub-card", (found,), name=model)
    piece.reported = {f"{model}: {name} {metric}": value for name, metric, value in printed}
    scale = reading.options.scale
    if scale is None:
        piece.notes.append(
            "no scale, seed or number of tasks is said on a model's page: its figures come over "
            "as reported, never as a run's score (--scale LOW-HIGH)"
        )
        return piece
    width = scale[1] - scale[0]
    piece.evaluations = [
        Evaluated(
            name,
            ACCURACY if is_accuracy(metric) else metric,
            value=(value - scale[0]) / width if is_accuracy(metric) else value,
        )
        for name, metric, value in printed
    ]
    return piece


RESULTS = Reader(
    "eval-results",
    "Hugging Face .eval_results",
    re.compile(r"(?:^|/)(?:\.eval_results/)?[^/]+\.ya?ml$"),
    _claims_results,
    _read_results,
    also=("hub-card",),
)
INDEX = Reader(
    "model-index",
    "the model-index of a Hugging Face card",
    re.compile(r"(?:^|/)README\.md$"),
    _claims_card,
    _read_cards,
    also=("hub-card",),
)
