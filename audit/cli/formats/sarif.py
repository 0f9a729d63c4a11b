"""SARIF 2.1.0, for code scanning: the JSON pointer is the logical location of a result."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any
from urllib.parse import quote

from audit import __version__
from audit.cli.formats import Style
from audit.cli.formats.json_text import json_text
from audit.finding import Finding, Severity
from audit.fleet.files import FileResult, FileResults
from audit.paths import is_url
from audit.rules import CATALOGUE, Rule
from audit.safetext import shortened, visible
from audit.views.finding_view import details

_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/"


def render(results: FileResults, style: Style) -> str:
    """Return one SARIF log with one run; the style changes nothing."""
    driver = {
        "name": "audit",
        "semanticVersion": __version__,
        "rules": [_rule(rule) for rule in CATALOGUE],
    }
    order = {rule.id: place for place, rule in enumerate(CATALOGUE)}
    run = {
        "tool": {"driver": driver},
        "invocations": [_invocation(results)],
        "artifacts": [_artifact(file) for file in results.files],
        "results": [
            _result(finding, index, file.name, order)
            for index, file in enumerate(results.files)
            if file.report is not None
            for finding in file.report.findings
        ],
        "columnKind": "unicodeCodePoints",
    }
    log = {"$schema": _SCHEMA + "sarif-schema-2.1.0.json", "version": "2.1.0", "runs": [run]}
    return json_text(log)


def _rule(rule: Rule) -> dict[str, Any]:
    text = "\n\n".join(part for part in (rule.statement, rule.why, rule.fix) if part)
    return {
        "id": rule.id,
        "name": "".join(word.capitalize() for word in rule.slug.split("-")),
        "shortDescription": {"text": rule.summary},
        "fullDescription": {"text": rule.statement},
        "help": {"text": text},
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
        "properties": {"tags": [rule.family]},
    }


def _invocation(results: FileResults) -> dict[str, Any]:
    return {
        "executionSuccessful": results.exit_status < 2,
        "exitCode": results.exit_status,
        "toolExecutionNotifications": [
            {
                "level": "error",
                "message": {"text": visible(str(file.error))},
                "locations": [{"physicalLocation": _artifact_location(file.name, index)}],
            }
            for index, file in enumerate(results.files)
            if file.error is not None
        ],
    }


def _artifact(file: FileResult) -> dict[str, Any]:
    artifact: dict[str, Any] = {"location": {"uri": _uri(file.name)}}
    if file.report is not None and file.report.sha256:
        artifact["hashes"] = {"sha-256": file.report.sha256}
    return artifact


def _artifact_location(name: str, index: int) -> dict[str, Any]:
    return {"artifactLocation": {"uri": _uri(name), "index": index}}


def _result(finding: Finding, index: int, name: str, order: dict[str, int]) -> dict[str, Any]:
    location: dict[str, Any] = {"physicalLocation": _artifact_location(name, index)}
    if finding.line is not None:
        region = {"startLine": finding.line, "startColumn": finding.column or 1}
        location["physicalLocation"]["region"] = region
    if finding.pointer:
        location["logicalLocations"] = [{"fullyQualifiedName": finding.pointer}]
    result: dict[str, Any] = {
        "ruleId": finding.rule,
        "level": _LEVELS[finding.severity],
        "message": {"text": _message(finding)},
        "locations": [location],
        "partialFingerprints": {"ruleAndPointer/v1": _fingerprint(finding)},
    }
    if finding.rule in order:
        result["ruleIndex"] = order[finding.rule]
    if finding.also:
        result["relatedLocations"] = [
            {"logicalLocations": [{"fullyQualifiedName": pointer}]} for pointer in finding.also
        ]
    if finding.waiver is not None:
        reason = f"{visible(finding.waiver.reason)} (until {finding.waiver.expires})"
        result["suppressions"] = [{"kind": "external", "justification": reason}]
    return result


def _message(finding: Finding) -> str:
    message = shortened(finding.message, 2000)
    beside = details(finding)
    return f"{message} ({beside})" if beside else message


def _fingerprint(finding: Finding) -> str:
    key = f"{finding.rule}\0{finding.pointer}".encode("utf-8", "surrogatepass")
    return hashlib.sha256(key).hexdigest()[:32]


def _uri(name: str) -> str:
    """Return a URI reference: relative names stay relative, so that a checkout anywhere fits."""
    if is_url(name):
        return quote(name.encode("utf-8", "replace"), safe="/:")
    path = Path(name)
    quoted = quote(path.as_posix().encode("utf-8", "replace"))
    return f"file://{quoted}" if path.is_absolute() else quoted
