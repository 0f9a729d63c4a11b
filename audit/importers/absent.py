"""Answers that were asked for and are absent, counted as errored where the user says so."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from audit.importers.same_run import ArmRun, blocks_of, with_blocks

Key = tuple[str | None, str | None]  # benchmark, metric


def with_absent_as_errors(runs: Sequence[ArmRun], notes: dict[str, None]) -> list[ArmRun]:
    """Return the runs with every task of a benchmark, and equally many answers to each.

    What the most answered task of any run has is taken as asked for; what is absent counts as
    drawn, errored and not right. Scores have no wrong value, so blocks of scores stay as they are.

    Parameters
    ----------
    runs : sequence of ArmRun
        Of all arms.
    notes : dict
        Takes a sentence with the number of answers added.
    """
    tasks: dict[Key, dict[Any, None]] = {}
    most: dict[Key, int] = {}
    for block in (block for run in runs for block in _counted(run)):
        key = block.get("benchmark"), block.get("metric")
        tasks.setdefault(key, {}).update(dict.fromkeys(block["task_ids"]))
        most[key] = max(most.get(key, 0), *block["samples"])
    added = 0
    filled = []
    for run in runs:
        blocks = []
        for block in blocks_of(run.draft.document):
            key = block.get("benchmark"), block.get("metric")
            if key in tasks and "correct" in block:
                block, more = _filled(block, tasks[key], most[key])
                added += more
            blocks.append(block)
        document = with_blocks(run.draft.document, blocks)
        filled.append(replace(run, draft=replace(run.draft, document=document)))
    if added:
        notes.setdefault(f"{added} absent answers count as errored and wrong (--missing wrong)")
    return filled


def _counted(run: ArmRun) -> Iterable[dict[str, Any]]:
    blocks = blocks_of(run.draft.document)
    return [b for b in blocks if "correct" in b and b.get("task_ids") and b.get("samples")]


def _filled(block: dict[str, Any], tasks: Iterable[Any], most: int) -> tuple[dict[str, Any], int]:
    """Return a block with ``most`` answers to each task, and how many were added."""
    place = {task: index for index, task in enumerate(block["task_ids"])}
    ordered = [*block["task_ids"], *(task for task in tasks if task not in place)]
    lists = {
        key: values
        for key, values in block.items()
        if isinstance(values, list) and len(values) == len(place) and key != "task_ids"
    }
    filled = block | {"task_ids": ordered}
    drawn = [block["samples"][place[task]] if task in place else 0 for task in ordered]
    absent = [most - count for count in drawn]
    for key, values in lists.items():
        filled[key] = [values[place[task]] if task in place else 0 for task in ordered]
    filled.pop("mean_tokens", None)
    filled["samples"] = [most] * len(ordered)
    errored = filled.get("errored") or [0] * len(ordered)
    filled["errored"] = [old + more for old, more in zip(errored, absent, strict=True)]
    return filled, sum(absent)
