"""The table of what was found in a folder, as text and as data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from audit.importers.folder.settling import Settled
from audit.importers.readers.tally import FLAGS

_HEAD = (
    "arm",
    "seed",
    "status",
    "from",
    "evaluation",
    "step",
    "tasks x k",
    "score",
    "error",
    "trunc",
    "unparsed",
)


def rows_of(runs: Sequence[Settled]) -> list[dict[str, Any]]:
    """Return one row per run and evaluation; a run without one has a row of its own."""
    rows: list[dict[str, Any]] = []
    for run in runs:
        first: dict[str, Any] = {
            "arm": run.arm,
            "seed": run.seed,
            "status": run.status,
            "from": run.run.label,
        }
        if run.failure:
            first["failure"] = run.failure
        if not run.judged:
            rows.append(first)
        for e in run.judged:
            row = dict(first, benchmark=e.benchmark, metric=e.metric, step=e.step, score=e.score)
            if e.tally is not None:
                row |= {"tasks": len(e.tally), "answers": e.tally.answers}
                row |= {flag: e.tally.total(flag) for flag in FLAGS}
            elif e.examples:
                row["answers"] = e.examples
            rows.append(row)
    return rows


def as_text(rows: Sequence[dict[str, Any]]) -> str:
    """Return the rows as aligned columns; a figure that the files do not say is a dash."""
    lines = [_HEAD, *(_cells(row) for row in rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(_HEAD))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    evaluation = f"{row['benchmark']} {row['metric']}" if "metric" in row else "-"
    if row.get("failure"):
        evaluation = f"({row['failure']})"
    score = row.get("score")
    return (
        str(row["arm"]),
        "-" if row["seed"] is None else str(row["seed"]),
        row["status"],
        row["from"] or ".",
        evaluation,
        _known(row.get("step")),
        _size(row),
        "-" if score is None else f"{score:.3f}",
        *(_known(row.get(flag)) for flag in FLAGS),
    )


def _size(row: dict[str, Any]) -> str:
    if "tasks" not in row:
        return f"{row['answers']} answers" if row.get("answers") else "-"
    each = row["answers"] / row["tasks"] if row["tasks"] else 0
    return (
        f"{row['tasks']} x {each:g}" if each == int(each) else f"{row['tasks']}, {row['answers']}"
    )


def _known(value: Any) -> str:
    return "-" if value is None else str(value)
