"""The gate's decision for programs, after ``schemas/gate.v1.schema.json``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from audit.cli.formats.json_text import json_text
from audit.fleet.files import FileResult, FileResults
from audit.fleet.rows import Counts, Row
from audit.policy import Policy
from audit.views.claim_json import claim_row

GATE_VERSION = 1
_WORDS = ("passed", "refused", "could not run", "failed in audit itself")


def gate_json(rows: Sequence[Row], counts: Counts, results: FileResults, policy: Policy) -> str:
    """Return one JSON object."""
    return json_text(_document(rows, counts, results, policy))


def _document(
    rows: Sequence[Row], counts: Counts, results: FileResults, policy: Policy
) -> dict[str, Any]:
    files = [_file(file) for file in results.files]
    return {
        "gate_version": GATE_VERSION,
        "exit_status": results.exit_status,
        "verdict": _WORDS[results.exit_status],
        "summary": counts.text,
        "policy": policy.source,
        "policy_change": results.policy_change or None,
        "counts": {
            "studies": counts.studies,
            "claims": counts.claims,
            "supported": counts.supported,
            "refused": counts.refused,
            "errors": sum(file.get("errors", 0) for file in files),
            "warnings": sum(file.get("warnings", 0) for file in files),
            "not_read": sum("error" in file for file in files),
        },
        "rows": [_row(row) for row in rows],
        "files": files,
        "since": results.base or None,
        "removed": [{"path": path, "said": said} for path, said in results.removed],
        "skipped": list(results.skipped),
        "passed_over": [asdict(passed) for passed in results.passed_over],
    }


def _row(row: Row) -> dict[str, Any]:
    view = row.view
    entry: dict[str, Any] = {"study": row.study, "path": row.path, "result": row.result}
    if view is None:
        nothing = ("claim", "stands", "supported", "reason", "settles", "word", "improvement")
        texts = {"delta": "-", "seeds": "-", "verdict": row.reason}
        return entry | dict.fromkeys(nothing) | texts
    return entry | claim_row(view)


def _file(file: FileResult) -> dict[str, Any]:
    entry: dict[str, Any] = {"path": file.name, "exit_status": file.exit_status}
    if file.decision is not None:
        entry["decision"] = asdict(file.decision)
    if file.since:
        entry["since"] = list(file.since)
    if file.siblings:
        entry["siblings"] = list(file.siblings)
    if file.error is not None:
        entry["error"] = str(file.error)
    else:
        entry |= {"sha256": file.sha256, "errors": file.errors, "warnings": file.warnings}
    return entry
