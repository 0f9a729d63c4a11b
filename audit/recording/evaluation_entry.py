"""The outcomes of one evaluation, checked at the call, as a results file holds them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from audit.errors import RecordingError
from audit.recording.plain_values import counts, labels, numbers, settings, text, whole
from audit.run_record import MOST_ANSWERS
from audit.schema import schema_faults


def evaluation_entry(
    benchmark: Any,
    task_ids: Any,
    correct: Any,
    samples: Any,
    *,
    scores: Any,
    counted: Mapping[str, Any],
    mean_tokens: Any,
    clusters: Any,
    step: Any,
    named: Mapping[str, Any],
    condition: Mapping[str, Any] | None,
) -> dict[str, Any]:
    """Return the block; the arguments are those of :meth:`RecordedRun.evaluate`.

    Raises
    ------
    RecordingError
        When they do not fit together.
    """
    entry: dict[str, Any] = {"benchmark": text(benchmark, "benchmark")}
    entry |= {what: text(value, what) for what, value in named.items() if value is not None}
    if step is not None:
        entry["checkpoint_step"] = whole(step, "step", 0)
    ids = labels(task_ids, "task_ids")
    if not ids:
        raise RecordingError(f"{benchmark}: no tasks")
    _refuse_twice(ids, benchmark)
    entry["task_ids"] = ids
    if (correct is None) == (scores is None):
        raise RecordingError(f"{benchmark}: give correct (with samples) or scores, one of the two")
    if scores is not None:
        entry["scores"] = numbers(scores, "scores", len(ids))
    else:
        entry["correct"] = counts(correct, "correct", len(ids))
        entry["samples"] = counts(samples, "samples", len(ids))
    for what, values in counted.items():
        if values is not None:
            entry[what] = counts(values, what, len(ids))
    _refuse_more_than_drawn(entry)
    if mean_tokens is not None:
        entry["mean_tokens"] = numbers(mean_tokens, "mean_tokens", len(ids))
        if min(entry["mean_tokens"]) < 0:
            raise RecordingError("mean_tokens: a length below 0")
    if clusters is not None:
        entry["clusters"] = labels(clusters, "clusters", len(ids))
    if condition is not None:
        if not isinstance(condition, Mapping):
            raise RecordingError("condition: expected decoding settings by name")
        entry["condition"] = settings(condition)
    _refuse_what_no_file_holds(entry)
    return entry


def _refuse_what_no_file_holds(entry: dict[str, Any]) -> None:
    """Refuse, at the call, what the results file would be refused for after the training."""
    run = {"seed": 0, "evaluation": entry}
    document = {"schema_version": 2, "method": "arm", "seed_results": [run]}
    for fault in schema_faults(document, limit=1):
        place = fault.pointer.removeprefix("/seed_results/0/evaluation/").replace("/", ".")
        raise RecordingError(f"{place}: {fault.message}")


def _refuse_twice(ids: list[str | int], benchmark: str) -> None:
    seen: set[str] = set()
    for place, task in enumerate(ids):
        # 7 and "7" are one task wherever ids are compared.
        if str(task) in seen:
            raise RecordingError(
                f"task_ids[{place}]: duplicate task {task!r} in {benchmark}; several answers to "
                "one task are one entry with samples"
            )
        seen.add(str(task))


def _refuse_more_than_drawn(entry: Mapping[str, Any]) -> None:
    drawn = entry.get("samples")
    if drawn is None:
        return
    if sum(drawn) > MOST_ANSWERS:
        raise RecordingError(f"samples: {sum(drawn):,} answers, of at most {MOST_ANSWERS:,}")
    ids, right = entry["task_ids"], entry["correct"]
    for what in ("correct", "errored", "truncated", "unparsed"):
        for task, count, total in zip(ids, entry.get(what, ()), drawn, strict=False):
            if count > total:
                raise RecordingError(f"{what} of task {task!r}: {count} of {total} answers")
    for task, failed, correct, total in zip(
        ids, entry.get("errored", ()), right, drawn, strict=False
    ):
        if failed + correct > total:
            raise RecordingError(
                f"task {task!r}: {correct} correct and {failed} errored of {total} answers; an "
                "errored answer is not correct"
            )
