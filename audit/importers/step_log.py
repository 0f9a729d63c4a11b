"""JSON Lines of a training's figures by step: ``{"step": 100, "data": {"eval/accuracy": 0.5}}``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from audit.errors import ImportRefused
from audit.importers import telemetry
from audit.importers.draft import Draft, DraftRun, Options
from audit.importers.foreign import Foreign, JsonLines
from audit.importers.metric_names import ACCURACY, is_accuracy, reading_of
from audit.importers.notes import Notes
from audit.importers.numbers import integer
from audit.importers.readers.logged import evaluations_of
from audit.importers.readers.piece import Evaluated


def sniff(document: Any, name: str) -> bool:
    """Whether content is lines of a step and its figures."""
    if not isinstance(document, JsonLines) or not document.rows:
        return False
    first = document.rows[0]
    return set(first) == {"step", "data"} and isinstance(first["data"], dict)


def read(files: Sequence[Foreign], options: Options) -> Draft:
    """Read logs, each one training run: its evaluations at all steps, and its training figures.

    Step 0 is the untrained model.

    Raises
    ------
    ImportRefused
        When a log holds no evaluation.
    """
    notes = Notes()
    runs = [run for file in files for run in _runs(file, options, notes)]
    names = {name for run in runs for name in run.document.get("method_metrics", {})}
    metrics = {name: reading_of(name) for name in sorted(names - {"examples"}) if reading_of(name)}
    return Draft(None, None, tuple(runs), metrics=metrics, notes=notes.lines)


def _runs(file: Foreign, options: Options, notes: Notes) -> Iterator[DraftRun]:
    for note in file.notes:
        notes.say(note)
    rows: dict[int, dict[str, Any]] = {}
    for line in file.content.rows:
        step, data = integer(line.get("step")), line.get("data")
        if step is None or step < 0 or not isinstance(data, dict):
            notes.say(f"{file.name}: lines without a step are left out")
            continue
        rows.setdefault(step, {}).update(data)  # after a resume a step is there again
    found = [e for e in evaluations_of(rows) if e.counts and _wanted(e, options)]
    if not found:
        raise ImportRefused("no evaluation among its figures", path=file.name)
    steps = sorted({evaluation.step for evaluation in found if evaluation.step is not None})
    training = {step: row for step, row in rows.items() if step > 0}
    log = telemetry.of_rows(training, file.name, notes) if training else {}
    for step in steps:
        at = [evaluation for evaluation in found if evaluation.step == step]
        untrained = step == 0 and bool(training)
        document = _document(at, step) | ({} if untrained or step != steps[-1] else log)
        yield DraftRun(document, base=untrained, run_key=None if untrained else file.name)


def _wanted(evaluation: Evaluated, options: Options) -> bool:
    metric, benchmark = options.metric, options.benchmark
    same = metric in (None, evaluation.metric) or (
        metric is not None and evaluation.metric == ACCURACY and is_accuracy(metric)
    )
    return same and benchmark in (None, evaluation.benchmark) and evaluation.value is not None


def _document(evaluations: Sequence[Evaluated], step: int) -> dict[str, Any]:
    several = len({evaluation.benchmark for evaluation in evaluations}) > 1
    scores: dict[str, Any] = {}
    blocks = []
    for evaluation in evaluations:
        name = evaluation.metric
        if several and evaluation.benchmark:
            name = f"{evaluation.benchmark}/{name}"
        where: Mapping[str, Any] = (
            {"benchmark": evaluation.benchmark} if evaluation.benchmark else {}
        )
        scores[name] = evaluation.value
        blocks.append({**where, "metric": name, "checkpoint_step": step, "split": "validation"})
    counts = {evaluation.examples for evaluation in evaluations}
    if len(counts) == 1 and None not in counts:
        scores["examples"] = counts.pop()
    document: dict[str, Any] = {"method_metrics": scores, "evaluation": blocks[0]}
    if len(blocks) > 1:
        document["evaluations"] = blocks[1:]
    return document
