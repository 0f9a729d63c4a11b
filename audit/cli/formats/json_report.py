"""The report as JSON, after ``schemas/report.v1.schema.json``."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from audit import __version__
from audit.cli.formats import Style
from audit.cli.formats.json_text import json_text
from audit.errors import AuditError
from audit.finding import Finding
from audit.fleet.files import FileResult, FileResults
from audit.report import Report

REPORT_VERSION = 1


def render(results: FileResults, style: Style) -> str:
    """Return one JSON object; the style changes nothing."""
    return json_text(
        {
            "report_version": REPORT_VERSION,
            "tool": {"name": "audit", "version": __version__},
            "exit_status": results.exit_status,
            "files": [_file(file) for file in results.files],
            "skipped": list(results.skipped),
        }
    )


def _file(file: FileResult) -> dict[str, Any]:
    entry: dict[str, Any] = {"name": file.name, "exit_status": file.exit_status}
    if file.error is not None:
        entry["error"] = _error(file.error)
    if file.report is not None:
        entry["summary"] = file.summary
        entry.update(_report(file.report))
    return entry


def _error(error: AuditError) -> dict[str, Any]:
    return {
        "message": error.message,
        "pointer": error.pointer,
        "line": error.line,
        "column": error.column,
    }


def _report(report: Report) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "sha256": report.sha256,
        "policy": report.policy.source,
        "findings": [_finding(f) for f in report.findings if f.waiver is None],
        "waived": [_finding(f) for f in report.findings if f.waiver is not None],
        "not_checked": [
            {"rule": n.rule, "slug": n.slug, "pointer": n.pointer, "reason": n.reason}
            for n in report.not_checked
        ],
        "passed": report.passed,
        "held": report.passed,
    }
    if report.analysis is not None:
        from audit.views.analysis_json import analysis_json

        entry["verdicts"] = analysis_json(report.analysis)
    return entry


def _finding(finding: Finding) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "rule": finding.rule,
        "slug": finding.slug,
        "severity": finding.severity.label,
        "pointer": finding.pointer,
        "also": list(finding.also),
        "line": finding.line,
        "column": finding.column,
        "message": finding.message,
        "expected": finding.expected,
        "actual": finding.actual,
        "why": finding.why,
        "fix": finding.fix,
    }
    if finding.origin is not None:
        entry["origin"] = asdict(finding.origin)
    if finding.waiver is not None:
        entry["waiver"] = {"reason": finding.waiver.reason, "expires": finding.waiver.expires}
    return entry
