"""The table of studies as text, Markdown and JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from audit.cli.fleet.judging import problems_of
from audit.cli.fleet.row import HEADING, Row
from audit.cli.formats import Style
from audit.cli.formats.groups import count
from audit.cli.formats.json_text import json_text
from audit.cli.formats.markdown import escaped, within_limit
from audit.cli.layout import markdown_table, text_table
from audit.cli.outcomes import FileOutcome, Outcomes
from audit.finding import Severity
from audit.policy import Policy
from audit.safetext import inert, visible

GATE_VERSION = 1
_WORDS = ("passed", "refused", "could not run", "failed in audit itself")


def text(rows: Sequence[Row], outcomes: Outcomes, policy: Policy, style: Style) -> str:
    """Return the table for a terminal, the reasons below it, and what holds for all."""
    return inert("\n".join(_text(rows, outcomes, policy, style)) + "\n")


def markdown(rows: Sequence[Row], outcomes: Outcomes, policy: Policy) -> str:
    """Return the table for a step summary or a comment, below the limits of both."""
    lines = within_limit(_markdown(rows, outcomes, policy), "audit gate")
    return inert("\n".join(lines) + "\n")


def json(rows: Sequence[Row], outcomes: Outcomes, policy: Policy) -> str:
    """Return the table for programs."""
    return json_text(_document(rows, outcomes, policy))


def summary(rows: Sequence[Row], outcomes: Outcomes) -> str:
    """Return one line: studies, claims, refused ones."""
    claims = [row.judgement for row in rows if row.judgement is not None]
    refused = sum(not claim.stands for claim in claims)
    parts = [count(len(outcomes.files), "study").replace("studys", "studies")]
    parts += [count(len(claims), "claim"), f"{refused} refused"]
    failing = sum(file.exit_status > 0 for file in outcomes.files)
    if failing:
        parts.append(f"{failing} not passed")
    return ", ".join(parts)


def reasons(rows: Sequence[Row], outcomes: Outcomes) -> Iterator[str]:
    """Yield why each claim is refused, then what else failed, a line each."""
    for row in rows:
        claim = row.judgement
        if claim is not None and not claim.stands:
            line = f"{row.study}: {claim.text}: {claim.reason}"
            yield visible(f"{line}; to settle it: {claim.settles}" if claim.settles else line)
    for file in outcomes.files:
        yield from problems_of(file)


def waived(outcomes: Outcomes) -> int:
    """Return how many findings a waiver covers."""
    reports = [file.report for file in outcomes.files if file.report is not None]
    return sum(finding.waiver is not None for report in reports for finding in report.found)


def _text(rows: Sequence[Row], outcomes: Outcomes, policy: Policy, style: Style) -> Iterator[str]:
    wanted = [row for row in rows if row.badness or not style.quiet]
    if wanted:
        yield from text_table(HEADING, (row.cells for row in wanted))
        yield ""
    why = list(reasons(rows, outcomes))
    if why:
        yield from (*why, "")
    yield summary(rows, outcomes)
    if waived(outcomes):
        yield f"{count(waived(outcomes), 'finding')} waived (audit verify shows them)"
    yield f"policy: {visible(policy.source)}"


def _markdown(rows: Sequence[Row], outcomes: Outcomes, policy: Policy) -> Iterator[str]:
    yield f"## audit gate: {summary(rows, outcomes)}"
    yield ""
    if rows:
        yield from markdown_table(HEADING, (tuple(map(escaped, row.cells)) for row in rows))
        yield ""
    why = list(reasons(rows, outcomes)) + [
        visible(str(file.error)) for file in outcomes.files if file.error is not None
    ]
    if why:
        yield from (f"- {escaped(reason)}" for reason in why)
        yield ""
    if waived(outcomes):
        yield f"{count(waived(outcomes), 'finding')} waived"
        yield ""
    yield f"policy: {escaped(policy.source)}"


def _document(rows: Sequence[Row], outcomes: Outcomes, policy: Policy) -> dict[str, Any]:
    claims = [row.judgement for row in rows if row.judgement is not None]
    files = [_file(file) for file in outcomes.files]
    return {
        "gate_version": GATE_VERSION,
        "exit_status": outcomes.exit_status,
        "verdict": _WORDS[outcomes.exit_status],
        "policy": policy.source,
        "counts": {
            "studies": len(files),
            "claims": len(claims),
            "refused": sum(not claim.stands for claim in claims),
            "errors": sum(file.get("errors", 0) for file in files),
            "warnings": sum(file.get("warnings", 0) for file in files),
            "not_read": sum("error" in file for file in files),
        },
        "rows": [_row(row) for row in rows],
        "files": files,
        "skipped": list(outcomes.skipped),
    }


def _row(row: Row) -> dict[str, Any]:
    claim, estimate = row.judgement, row.estimate
    return {
        "study": row.study,
        "path": row.path,
        "claim": None if claim is None else claim.text,
        "stands": None if claim is None else claim.stands,
        "reason": None if claim is None else claim.reason,
        "settles": None if claim is None else claim.settles,
        "delta": row.delta,
        "seeds": row.seeds,
        "verdict": row.verdict,
        "word": row.word or None,
        "improvement": None
        if estimate is None
        else {"value": estimate.delta, "low": estimate.low, "high": estimate.high},
    }


def _file(file: FileOutcome) -> dict[str, Any]:
    entry: dict[str, Any] = {"path": file.name, "exit_status": file.exit_status}
    if file.error is not None:
        entry["error"] = str(file.error)
    if file.report is not None:
        entry["sha256"] = file.report.sha256
        entry["errors"] = file.report.count(Severity.ERROR)
        entry["warnings"] = file.report.count(Severity.WARNING)
    return entry
