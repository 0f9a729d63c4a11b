"""verifiers from version 1 and prime-rl: one episode a line, errors explicit."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from audit.importers.numbers import integer
from audit.importers.readers.found import Found
from audit.importers.readers.piece import Evaluated, RunPiece
from audit.importers.readers.reader import Certainty, FolderReading, Reader
from audit.importers.readers.shapes import inner
from audit.importers.readers.tally import AnswerTally, digest
from audit.importers.readers.values import metric_of_rewards, outcome_of

_STEP = re.compile(
    r"^(?P<root>.*?)/?rollouts/step_(?P<step>\d+)/(?P<kind>eval|train)/(?P<part>\w+)/"
)
_CUT = frozenset({"max_tokens", "length", "max_seq_len"})


def _claims(found: Found) -> Certainty:
    first = found.first or {}
    fits = all(key in first for key in ("env", "task", "traces"))
    return Certainty.SURE if fits else Certainty.NO


def _read(files: Sequence[Found], reading: FolderReading) -> Iterator[RunPiece]:
    for found in files:
        place = _STEP.match(found.relative)
        if place is None:
            yield _evaluation(found, found.folder, None, reading)
        elif place["kind"] == "eval" and place["part"] == "all":
            yield _evaluation(found, place["root"], int(place["step"]), reading)
        elif place["kind"] == "train":
            step = int(place["step"])
            yield RunPiece(
                "prime-rl", root=place["root"], anchor=True, trained=True, last_step=step
            )
        # "effective" leaves failed episodes out: the same as "all", and less.


def _evaluation(found: Found, root: str, step: int | None, reading: FolderReading) -> RunPiece:
    tallies: dict[str, AnswerTally] = defaultdict(lambda: AnswerTally(["errored", "truncated"]))
    piece = RunPiece(
        "prime-rl", (found,), root=root, anchor=step is not None, trained=step is not None
    )
    failed = 0
    for _, row in found.lines():
        env = row.get("env") if isinstance(row.get("env"), dict) else {}
        work = inner(row, "run", "work")
        if work.get("type", "eval") != "eval":
            continue
        step = integer(work.get("step")) if step is None else step
        failed += _add(row, tallies[str((env or {}).get("id") or "validation")])
        named = inner(row, "run").get("id")
        piece.run_id = piece.run_id or (named if isinstance(named, str) and named else None)
    if failed:
        piece.notes.append(f"{found.name}: {failed} failed episodes count as wrong answers")
    if "/eval/all/" in found.relative:
        piece.notes.append("rollouts are read of kind all; effective, without failures, is not")
    for env, tally in tallies.items():
        piece.evaluations.append(
            Evaluated(env, metric_of_rewards(tally), step, tally, source=found)
        )
    settings = reading.beside(found, "configs/eval.json")
    if settings is not None:
        document = settings.document()
        model = document.get("model") if isinstance(document, dict) else None
        name = model.get("name") if isinstance(model, dict) else model
        piece.links = (name,) if isinstance(name, str) else ()
    return piece


def _add(row: dict[str, Any], tally: AnswerTally) -> bool:
    """Add one episode; returns whether it failed."""
    task = row["task"] if isinstance(row.get("task"), dict) else {}
    name = task.get("hash") or task.get("key") or digest(task.get("data"))
    trace = _trace(row.get("traces"))
    scores = _scores(trace)
    failed = row.get("ok") is False or trace is None or scores is None
    calls = trace.get("calls") if trace else None
    last = calls[-1] if isinstance(calls, list) and calls and isinstance(calls[-1], dict) else {}
    stopped = str((trace or {}).get("stop_condition"))
    tally.answer(
        str(name),
        0.0 if failed or scores is None else scores,
        errored=failed,
        truncated=stopped in _CUT or last.get("finish_reason") == "length",
        tokens=_tokens(calls),
    )
    return failed


def _trace(traces: Any) -> dict[str, Any] | None:
    """Return the trace of the trained agent, else the first."""
    listed = traces if isinstance(traces, list) else []
    found = [trace for trace in listed if isinstance(trace, dict)]
    trained = [trace for trace in found if inner(trace, "agent").get("trainable") is True]
    return next(iter(trained or found), None)


def _scores(trace: dict[str, Any] | None) -> float | None:
    """Return the sum of score times weight, None where one was not scored."""
    rewards = (trace or {}).get("rewards")
    if not isinstance(rewards, dict) or not rewards:
        return None
    total = 0.0
    for reward in rewards.values():
        score = outcome_of(reward.get("score")) if isinstance(reward, dict) else None
        weight = outcome_of(reward.get("weight", 1.0)) if isinstance(reward, dict) else None
        if score is None or weight is None:
            return None
        total += score * weight
    return total


def _tokens(calls: Any) -> float | None:
    listed = calls if isinstance(calls, list) else []
    counts = [integer(inner(call, "usage").get("output_tokens")) for call in listed]
    known = [count for count in counts if count is not None]
    return float(sum(known)) if known and len(known) == len(counts) else None


TRACES = Reader(
    "prime-rl",
    "prime-rl rollouts and verifiers traces (traces.jsonl)",
    re.compile(r"(?:^|/)traces\.jsonl$"),
    _claims,
    _read,
    also=("verifiers", "prime"),
)
