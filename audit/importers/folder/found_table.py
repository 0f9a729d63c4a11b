"""What was found in a folder: the table, as text and as data, and the lines below it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from audit.importers.folder.arm_names import ArmNames
from audit.importers.folder.claiming_files import Claimed
from audit.importers.folder.composing import ComposedStudy
from audit.importers.folder.run_seeds import Seeds
from audit.importers.folder.settling import Settled
from audit.importers.folder.walking import Walked
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


def heading_of(walked: Walked, runs: Sequence[Settled], used: Sequence[str]) -> str:
    """Return the first line: what was read, how many runs, by which readers."""
    count = f"{len(runs)} run" + ("s" if len(runs) != 1 else "")
    return f"{walked.root}: {count}, read by {', '.join(used)}"


def lines_of(
    seeds: Seeds,
    arms: ArmNames,
    runs: Sequence[Settled],
    study: ComposedStudy | None,
    walked: Walked,
    claimed: Claimed,
    used: Sequence[str],
) -> list[str]:
    """Return the lines below the table: seeds, arms, the untrained model, what was not read."""
    lines = [f"seeds: {seeds.said or 'none found'}"]
    if arms.said:
        lines.append(f"arms: {arms.said}")
    base = [] if study is None else [e.score for _, e in study.base if e.score is not None]
    if base:
        count = "1 evaluation" if len(base) == 1 else f"{len(base)} evaluations"
        lines.append(f"untrained model: {count}, {min(base):.3f} to {max(base):.3f}")
    unread = _not_read(walked, claimed)
    if unread:
        lines.append(f"not read: {unread}")
    if walked.excluded:
        lines.append(f"excluded: {len(walked.excluded)} files")
    return lines


def _not_read(walked: Walked, claimed: Claimed) -> str:
    parts = []
    weights = sum(walked.weights.values())
    if weights:
        parts.append(f"{weights} files of weights in {len(walked.weights)} folders")
    if walked.pickled:
        parts.append(f"{len(walked.pickled)} pickles, first {walked.pickled[0]}")
    if claimed.unread:
        names = Counter(found.base for found in claimed.unread)
        shown = ", ".join(f"{n} {name}" if n > 1 else name for name, n in names.most_common(4))
        more = len(names) - 4
        parts.append(shown + (f" and {more} more names" if more > 0 else ""))
    if walked.passed:
        parts.append(f"{len(walked.passed)} links or deep folders, first {walked.passed[0]}")
    return "; ".join(parts)
