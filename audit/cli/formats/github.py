"""GitHub workflow commands: annotations on the lines of the file.

GitHub keeps at most ten annotations of a type for a step; where there are more, the worst nine
are given and the tenth says how many are left.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from audit.cli.formats import Style
from audit.errors import AuditError
from audit.finding import Finding
from audit.fleet.files import FileResult, FileResults
from audit.numerals import counted
from audit.safetext import shortened, visible
from audit.views.finding_view import details

MOST = 10
_COMMANDS = {"error": "error", "warning": "warning", "info": "notice"}


@dataclass(frozen=True, slots=True)
class Annotation:
    """One line of a workflow's log that GitHub shows beside the code."""

    command: str
    title: str
    message: str
    file: str | None = None
    line: int | None = None
    column: int | None = None

    def __str__(self) -> str:
        properties = [("file", self.file), ("line", self.line), ("col", self.column)]
        properties.append(("title", self.title))
        shown = [f"{key}={_property(str(value))}" for key, value in properties if value is not None]
        return f"::{self.command} {','.join(shown)}::{_data(self.message)}"


def render(results: FileResults, style: Style) -> str:
    """Return one annotation a line; the style changes nothing."""
    given: dict[str, list[Annotation]] = {command: [] for command in _COMMANDS.values()}
    for file in results.files:
        for annotation in _annotations(file):
            given[annotation.command].append(annotation)
    lines = [str(annotation) for kind in given for annotation in _within_limit(kind, given[kind])]
    return "\n".join(lines) + "\n" if lines else ""


def _annotations(file: FileResult) -> Iterator[Annotation]:
    name = None if file.name == "<stdin>" else shortened(file.name, 500)
    if file.error is not None:
        yield _unreadable(name, file.error)
    if file.report is not None:
        for finding in file.report.findings:
            yield _annotation(name, finding)


def _unreadable(name: str | None, error: AuditError) -> Annotation:
    message = shortened(error.message, 1000)
    return Annotation("error", "not read", message, name, error.line or 1, error.column)


def _annotation(name: str | None, finding: Finding) -> Annotation:
    lines = [shortened(finding.message, 1000), details(finding)]
    if finding.pointer:
        lines.append(f"at {shortened(finding.pointer, 300)}")
    title = f"{finding.rule} {finding.slug}"
    command = _COMMANDS[finding.severity.label]
    if finding.waiver is not None:
        command, title = "notice", f"waived: {title}"
        until = f"waived until {finding.waiver.expires}"
        lines.append(f"{until}: {shortened(finding.waiver.reason, 300)}")
    else:
        lines += [visible(finding.why), visible(finding.fix)]
    message = "\n".join(line for line in lines if line)
    return Annotation(command, title, message, name, finding.line, finding.column)


def _within_limit(command: str, annotations: list[Annotation]) -> list[Annotation]:
    if len(annotations) <= MOST:
        return annotations
    rest = counted(len(annotations) - MOST + 1, f"more {command}")
    message = f"and {rest}; `audit verify` without --format github lists them"
    return [*annotations[: MOST - 1], Annotation(command, f"and {rest}", message)]


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
