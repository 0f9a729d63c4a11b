"""tinker-cookbook's benchmark runner: trajectories.jsonl beside result.json."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from audit.importers.numbers import integer, number
from audit.importers.readers.found import Found
from audit.importers.readers.piece import Evaluated, RunPiece, SourcePlace
from audit.importers.readers.reader import Certainty, FolderReading, Reader
from audit.importers.readers.tally import AnswerTally, digest
from audit.importers.readers.values import metric_of_rewards, outcome_of

Row = tuple[str, float, bool, bool]


def _claims(found: Found) -> Certainty:
    first = found.first or {}
    fits = all(key in first for key in ("example_id", "turns", "reward"))
    return Certainty.SURE if fits else Certainty.NO


def _read(files: Sequence[Found], reading: FolderReading) -> Iterator[RunPiece]:
    for found in files:
        result = reading.beside(found, "result.json")
        benchmark = found.folder.rpartition("/")[2] or "benchmark"
        rows: list[Row] = []
        for _, row in found.lines():
            benchmark = str(row.get("benchmark") or benchmark)
            rows.append(_row(row))
        kept = _drawn_again(rows)
        yield _piece(found, result, benchmark, kept, len(rows) - len(kept))


def _drawn_again(rows: Sequence[Row]) -> list[Row]:
    """Return the rows without those that failed and were drawn again after a resume.

    A task with more rows than most has been drawn again; its first failed rows are the ones that
    were. Any other row more is an answer more.
    """
    counts = Counter(task for task, *_ in rows)
    usual = Counter(counts.values()).most_common(1)[0][0] if counts else 0
    spare = {task: count - usual for task, count in counts.items() if count > usual}
    kept: list[Row] = []
    for row in rows:
        task, _, errored, _ = row
        if errored and spare.get(task, 0) > 0:
            spare[task] -= 1
        else:
            kept.append(row)
    return kept


def _row(row: dict[str, Any]) -> Row:
    task, position = row.get("example_id"), row.get("idx")
    if task is None or str(task) == str(position):
        turns = row.get("turns") or [{}]
        task = digest(turns[0].get("content") if isinstance(turns[0], dict) else turns[0])
    metrics = row.get("metrics") if isinstance(row.get("metrics"), dict) else {}
    metrics = metrics or {}
    value = outcome_of(metrics.get("correct", row.get("reward")))
    errored = row.get("error") is not None or value is None
    cut = outcome_of(metrics.get("max_tokens_reached")) or outcome_of(
        metrics.get("context_overflow")
    )
    return str(task), 0.0 if errored or value is None else value, errored, bool(cut)


def _piece(
    found: Found, result: Found | None, benchmark: str, rows: Sequence[Row], replaced: int
) -> RunPiece:
    tally = AnswerTally(["errored", "truncated"])
    for task, value, errored, truncated in rows:
        tally.answer(task, value, errored=errored, truncated=truncated)
    piece = RunPiece("tinker-cookbook", (found,), root=found.folder.rpartition("/")[0])
    if replaced:
        piece.notes.append(f"{found.name}: {replaced} answers that failed were drawn again")
    score = None
    if result is not None:
        piece.files = (found, result)
        document = result.document()
        printed = document if isinstance(document, dict) else {}
        score, count = number(printed.get("score")), integer(printed.get("num_examples"))
        if count is not None and count != tally.answers:
            piece.notes.append(
                f"{result.name} counts {count} answers, {found.base} holds {tally.answers}"
            )
        if score is not None and len(tally) and abs(score - tally.mean) > 1e-3:
            piece.notes.append(
                f"{result.name} says {score:g}, the rows average {tally.mean:.6g}: the rows count"
            )
    evaluation = Evaluated(benchmark, metric_of_rewards(tally), tally=tally, source=found)
    if score is not None and result is not None:
        evaluation.printed["mean"] = score
        evaluation.places["printed/mean"] = SourcePlace(result, None, "score")
    piece.evaluations = [evaluation]
    return piece


BENCHMARKS = Reader(
    "tinker-cookbook",
    "tinker-cookbook's benchmark results",
    re.compile(r"(?:^|/)trajectories\.jsonl$"),
    _claims,
    _read,
    also=("tinker",),
)
