"""marl-eval: environment, task, algorithm, seed, then the trained policy's absolute metrics."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from audit.errors import ImportRefused
from audit.importers.draft import Draft, DraftRun, Options
from audit.importers.foreign import Foreign
from audit.importers.metric_names import ACCURACY, is_accuracy, reading_of
from audit.importers.notes import Notes
from audit.importers.numbers import number

_FINAL = "absolute_metrics"


def sniff(document: Any, name: str) -> bool:
    """Whether environment, task, algorithm and run lie inside one another down to final metrics."""
    return any(True for _ in _leaves(document))


def _leaves(document: Any) -> Iterator[tuple[str, str, str, str, dict[str, Any]]]:
    for environment, tasks in _pairs(document):
        for task, algorithms in _pairs(tasks):
            for algorithm, runs in _pairs(algorithms):
                for run, block in _pairs(runs):
                    if isinstance(block, dict) and isinstance(block.get(_FINAL), dict):
                        yield environment, task, algorithm, run, block[_FINAL]


def _pairs(value: Any) -> list[tuple[str, Any]]:
    return list(value.items()) if isinstance(value, dict) else []


def read(files: Sequence[Foreign], options: Options) -> Draft:
    """Read the final metrics: an algorithm is an arm, a run's key its seed, a task its mean.

    Raises
    ------
    ImportRefused
        When nothing holds the metric asked for.
    """
    notes = Notes()
    scores: dict[tuple[str, str], dict[tuple[str, str], dict[str, float]]] = {}
    for file in files:
        for note in file.notes:
            notes.say(note)
        for environment, task, algorithm, run, final in _leaves(file.content):
            for metric, values in final.items():
                mean = _mean(values, f"{algorithm}, run {run}, {task} {metric}", notes)
                if mean is None or options.metric not in (None, metric):
                    continue
                cells = scores.setdefault((algorithm, run), {})
                lists = cells.setdefault((environment, metric), {})
                if task in lists:
                    raise ImportRefused(
                        f"{task}, {algorithm}, {run} is there twice", path=file.name
                    )
                lists[task] = mean
    if not scores:
        raise ImportRefused("no final metric to bring over", path=files[0].name)
    notes.say("each task's score is the mean over its episodes of the absolute metrics")
    arms = list(dict.fromkeys(algorithm for algorithm, _ in scores))
    ordered = sorted(scores, key=lambda key: (arms.index(key[0]), key[1]))
    runs = tuple(_run(algorithm, run, scores[algorithm, run]) for algorithm, run in ordered)
    names = sorted({metric for cells in scores.values() for _, metric in cells})
    metrics = {name: reading_of(name) for name in names if reading_of(name)}
    return Draft("marl-eval", None, runs, metrics=metrics, notes=notes.lines)


def _mean(values: Any, what: str, notes: Notes) -> float | None:
    listed = values if isinstance(values, list) else [values]
    numbers = [found for found in map(number, listed) if found is not None]
    if len(numbers) < len(listed):
        notes.missing(what, len(listed) - len(numbers))
    return sum(numbers) / len(numbers) if numbers else None


def _run(algorithm: str, run: str, cells: dict[tuple[str, str], dict[str, float]]) -> DraftRun:
    blocks = []
    for (environment, metric), tasks in sorted(cells.items()):
        name = ACCURACY if is_accuracy(metric) else metric
        ids = sorted(tasks)
        block = {"benchmark": environment, "metric": name, "task_ids": ids}
        blocks.append(block | {"scores": [tasks[task] for task in ids]})
    document: dict[str, Any] = {"evaluation": blocks[0]}
    if len(blocks) > 1:
        document["evaluations"] = blocks[1:]
    digits = run.removeprefix("seed_").removeprefix("seed")
    seed = int(digits) if digits.isdecimal() and len(digits) < 16 else None
    if seed is None:
        document = {"run_id": run} | document
    said = seed is not None and run.startswith("seed")
    return DraftRun(document, algorithm, seed, identified_by="user" if said else "none")
