"""verifiers before version 1: results.jsonl and metadata.json, one evaluation a folder."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from audit.importers.numbers import integer, number
from audit.importers.readers.found import Found
from audit.importers.readers.piece import Evaluated, RunPiece, SourcePlace
from audit.importers.readers.reader import Certainty, FolderReading, Reader
from audit.importers.readers.tally import AnswerTally
from audit.importers.readers.values import metric_of_rewards, outcome_of


def _claims(found: Found) -> Certainty:
    first = found.first or {}
    fits = "reward" in first and ("example_id" in first or "id" in first) and "completion" in first
    return Certainty.SURE if fits else Certainty.NO


def _read(files: Sequence[Found], reading: FolderReading) -> Iterator[RunPiece]:
    for found in files:
        beside = reading.beside(found, "metadata.json")
        metadata = beside.document() if beside is not None else {}
        yield _piece(found, beside, metadata if isinstance(metadata, dict) else {}, reading)


def _piece(
    found: Found, beside: Found | None, metadata: dict[str, Any], reading: FolderReading
) -> RunPiece:
    column = reading.options.metric or "reward"
    tally, piece = (
        AnswerTally(),
        RunPiece("verifiers-legacy", (found,) if beside is None else (found, beside)),
    )
    rewarded_nothing = 0
    first_empty = None
    for line, row in found.lines():
        value = outcome_of(row.get(column, row.get("reward")))
        empty = _is_empty(row.get("completion"))
        if empty and first_empty is None:
            first_empty = line
        spent = number(row.get("generation_ms"))
        errored = row.get("error") is not None or value is None
        if empty and not errored and value is not None and value > 0:
            rewarded_nothing += 1
            errored = True
        if "error" in row:
            tally.says |= {"errored"}
        if "is_truncated" in row:
            tally.says |= {"truncated"}
        task = row["example_id"] if "example_id" in row else row.get("id")
        tally.answer(
            task if isinstance(task, int) else str(task),
            0.0 if errored else value or 0.0,
            errored=errored,
            truncated=row.get("is_truncated") is True,
            empty=empty,
            seconds=None if spent is None or spent < 0 else spent / 1000,
        )
    if rewarded_nothing:
        tally.says |= {"errored"}
        piece.notes.append(
            f"{found.name}: {rewarded_nothing} empty completions were rewarded, an error of the "
            "scorer: they count as errors"
        )
    named = metadata.get("model")
    # The folder is {environment}--{organisation}--{model}, then an id drawn for the evaluation.
    folder = found.folder.split("/")[-2:-1] or [found.folder]
    piece.name = named if isinstance(named, str) and named else folder[0].split("--", 1)[-1]
    benchmark = metadata.get("env_id") or metadata.get("env") or folder[0].split("--", 1)[0]
    asked = integer(metadata.get("rollouts_per_example"))
    piece.evaluations = [
        Evaluated(
            str(benchmark),
            metric_of_rewards(tally) if column == "reward" else column,
            tally=tally,
            source=found,
            asked=asked if asked and asked > 0 else None,
            more=_condition(metadata),
        )
    ]
    _add_printed(piece.evaluations[0], metadata, beside, column)
    if first_empty is not None:
        piece.evaluations[0].places["empty"] = SourcePlace(found, first_empty, "completion")
    piece.evaluations[0].places["mean_seconds"] = SourcePlace(found, None, "generation_ms")
    if len(tally):
        low, high = tally.per_task
        piece.notes.append(
            f"{low if low == high else f'{low} to {high}'} answers per task, told by repeated ids"
        )
        _compare(metadata, tally, beside, piece, column)
    return piece


def _add_printed(
    evaluation: Evaluated, metadata: dict[str, Any], beside: Found | None, column: str
) -> None:
    """Keep what the metadata print of the evaluation."""
    if beside is None:
        return
    average, asked = f"avg_{column}", "rollouts_per_example"
    mean, answers = number(metadata.get(average)), integer(metadata.get(asked))
    if mean is not None:
        evaluation.printed["mean"] = mean
        evaluation.places["printed/mean"] = SourcePlace(beside, None, average)
    if answers is not None and answers >= 0:
        evaluation.printed["answers_per_task"] = answers
        evaluation.places["printed/answers_per_task"] = SourcePlace(beside, None, asked)


def _compare(
    metadata: dict[str, Any], tally: AnswerTally, beside: Found | None, piece: RunPiece, column: str
) -> None:
    """Say where the metadata, which may be written before the end, contradicts the rows."""
    printed = number(metadata.get(f"avg_{column}"))
    if printed is not None and beside is not None and abs(printed - tally.mean) > 1e-3:
        piece.notes.append(
            f"{beside.name} says avg_{column} {printed:g}, the rows average {tally.mean:.6g}: "
            "the rows count"
        )


def _is_empty(completion: Any) -> bool:
    """Whether the model said nothing: no text and no call of a tool."""
    if isinstance(completion, str):
        return not completion.strip()
    listed = completion if isinstance(completion, list) else []
    messages = [m for m in listed if isinstance(m, dict) and m.get("role") != "user"]
    return not any(m.get("content") or m.get("tool_calls") for m in messages)


def _condition(metadata: dict[str, Any]) -> dict[str, Any]:
    sampling = metadata.get("sampling_args")
    given = sampling if isinstance(sampling, dict) else {}
    fields = {
        "temperature": number(given.get("temperature")),
        "top_p": number(given.get("top_p")),
        "max_tokens": integer(given.get("max_tokens")),
        "seed": integer(given.get("seed")),
    }
    found = {key: value for key, value in fields.items() if value is not None}
    return {"condition": found} if found else {}


LEGACY = Reader(
    "verifiers-legacy",
    "verifiers results (results.jsonl)",
    re.compile(r"(?:^|/)results\.jsonl$"),
    _claims,
    _read,
    also=("verifiers",),
)
