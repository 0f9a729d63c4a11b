"""Markdown for a step summary or a comment: short enough for both, and only our own markup."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from audit.cli.formats import Style
from audit.finding import Severity
from audit.fleet.files import FileResult, FileResults
from audit.numerals import counted
from audit.report import Report
from audit.safetext import inert, shortened, visible
from audit.views.finding_view import Group, details, grouped

if TYPE_CHECKING:
    from audit.analysis import Analysis

# A comment holds 65,536 characters; bytes are counted, with room for what a workflow adds.
MOST_BYTES = 60_000
_ENDING_BYTES = 500
# Files passed over that are named; the others are counted.
_NAMED = 10

_ENTITY = {char: f"&#{ord(char)};" for char in "\\`*_{}[]<>!|~&:$"}
# A zero-width space after them keeps a name from being a mention, a number from being a link.
_ENTITY |= {"@": "&#64;&#8203;", "#": "&#35;&#8203;"}
_TABLE = str.maketrans(_ENTITY)
_WWW = re.compile(r"www\.", re.IGNORECASE)


def escaped(text: str) -> str:
    """Return text that shows as it is wherever inline Markdown is allowed, in a table too.

    Punctuation that could start markup, a link, a mention or a formula is written as an entity,
    which is resolved after the structure of the page has been read.
    """
    return _WWW.sub(lambda match: match[0][:3] + "&#46;", visible(text).translate(_TABLE))


def render(results: FileResults, style: Style) -> str:
    """Return a page below the limits of GitHub's summaries and comments."""
    return inert("\n".join(within_limit(_lines(results), "audit verify")) + "\n")


def within_limit(page: Iterable[str], command: str) -> list[str]:
    """Return the lines that fit, and last which command prints those that do not."""
    lines: list[str] = []
    size = 0
    left = 0
    for line in page:
        size += len(line.encode("utf-8")) + 1
        if size > MOST_BYTES - _ENDING_BYTES:
            left += 1
        else:
            lines.append(line)
    if left:
        rest = f"{counted(left, 'more line')} left out to stay below the limit of a comment"
        lines += ["", f"{rest}; `{command}` prints them all."]
    return lines


def _lines(results: FileResults) -> Iterator[str]:
    yield f"## audit: {_summary(results)}"
    for file in results.files:
        yield ""
        yield f"### {_code(file.name, 200)}"
        yield ""
        if file.error is not None:
            yield f"**not read**: {escaped(shortened(file.error.message, 1000))}"
        if file.report is not None:
            yield from _report(file, file.report)
    for line in skipped_lines(results):
        yield ""
        yield line


def _summary(results: FileResults) -> str:
    reports = [file.report for file in results.files if file.report is not None]
    groups = [group for report in reports for group in grouped(report.found)]
    words = [counted(len(results.files), "file")]
    for severity in (Severity.ERROR, Severity.WARNING):
        number = sum(group.severity is severity and group.first.waiver is None for group in groups)
        if number:
            words.append(counted(number, severity.label))
    unread = sum(file.error is not None for file in results.files)
    if unread:
        words.append(f"{unread} not read")
    return ", ".join(words if len(words) > 1 else [*words, "nothing refused"])


def _report(file: FileResult, report: Report) -> Iterator[str]:
    summary = escaped(shortened(file.summary, 300))
    yield ", ".join(filter(None, (summary, f"sha256 <code>{report.sha256[:12]}</code>")))
    if report.analysis is not None:
        yield from _verdicts(report.analysis)
    groups = grouped(report.found)
    if groups:
        yield ""
        yield "| severity | rule | where | what |"
        yield "| --- | --- | --- | --- |"
        yield from (_row(group) for group in groups)
    yield ""
    yield f"{counted(report.passed, 'check')} passed, {len(report.not_checked)} not checked."


def _verdicts(analysis: Analysis) -> Iterator[str]:
    from audit.cli.formats.blocks import verdict_lines

    lines = [shortened(line, 400) for line in verdict_lines(analysis, 80)]
    if not lines:
        return
    text = "\n".join(lines)
    shown = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    yield ""
    yield f"<pre>\n{shown}\n</pre>"


def _row(group: Group) -> str:
    finding = group.first
    label = finding.severity.label
    if finding.waiver:
        label = f"waived ({label}) until {finding.waiver.expires}"
    places = group.shown_places()
    place = ", ".join(_code(pointer, 200) if pointer else "whole file" for pointer in places)
    if group.places > len(places):
        place += f" (+{group.places - len(places)} more)"
    what = escaped(shortened(finding.message, 500))
    if details(finding):
        what += f"<br>{escaped(details(finding))}"
    if finding.waiver:
        what += f"<br>{escaped(shortened(finding.waiver.reason, 300))}"
    elif finding.fix:
        what += f"<br>{escaped(finding.fix)}"
    return f"| {label} | {finding.rule} {escaped(finding.slug)} | {place} | {what} |"


def _code(text: str, most: int) -> str:
    return f"<code>{escaped(shortened(text, most))}</code>"


def skipped_lines(results: FileResults) -> Iterator[str]:
    """Yield which files and folders were passed over and why, the first ones by name."""
    for why, names in results.not_judged().items():
        listed = ", ".join(_code(name, 200) for name in names[:_NAMED])
        more = f" (+{len(names) - _NAMED} more)" if len(names) > _NAMED else ""
        yield f"Passed over: {listed}{more}: {escaped(why)}."
