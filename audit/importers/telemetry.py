"""Step telemetry as trainers log it: averages over a step, not single responses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from audit.importers.notes import Notes
from audit.importers.numbers import number

SUMMARY = {"level": "summary"}


def of_rows(rows: Mapping[int, Mapping[str, Any]], where: str, notes: Notes) -> dict[str, Any]:
    """Return the blocks ``telemetry`` and ``training`` from logged figures by step.

    Every figure keeps the source's name under ``updates[0].metrics``: a logged loss or reward is
    a mean over a step or several, and must not pass for that of one update or one response.
    """
    steps = []
    for step in sorted(rows):
        figures = {name: number(value) for name, value in sorted(rows[step].items())}
        lost = sum(value is None for value in figures.values())
        if lost:
            notes.missing(f"the training log of {where}", lost)
        steps.append({"step": step, "updates": [{"metrics": figures}]})
    return {"telemetry": dict(SUMMARY), "training": steps} if steps else {}


def with_rollouts(
    block: dict[str, Any], settings: dict[str, Any], drawn: Mapping[int, dict[str, Any]]
) -> dict[str, Any]:
    """Return the same blocks with rewards and advantages at the steps that have them."""
    if not drawn:
        return block
    logged = {step["step"]: step for step in block.get("training", ())}
    steps = sorted({*logged, *drawn})
    training = [{"step": s} | drawn.get(s, {}) | logged.get(s, {}) for s in steps]
    return {"telemetry": block.get("telemetry", {}) | settings, "training": training}


def of_columns(columns: Any, where: str, notes: Notes) -> dict[str, Any]:
    """Return the same blocks from a list per figure, an entry per step; empty without any."""
    if not isinstance(columns, dict):
        return {}
    lists = {name: found for name, found in columns.items() if isinstance(found, list) and found}
    length = max(map(len, lists.values()), default=0)
    rows = {
        index + 1: {name: found[index] for name, found in lists.items() if len(found) == length}
        for index in range(length)
    }
    return of_rows(rows, where, notes)
