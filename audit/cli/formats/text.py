"""Text for a terminal: worst first, quiet when all is well."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING

from audit.cli.formats import Style
from audit.cli.formats.colours import head
from audit.cli.formats.colours import paint as _paint
from audit.finding import Finding, Severity
from audit.fleet.files import FileResult, FileResults
from audit.numerals import counted
from audit.report import BUG, Report
from audit.safetext import inert, shortened, visible
from audit.views.finding_view import PLACES, Group, details, grouped

if TYPE_CHECKING:
    from audit.analysis import Analysis

# Shown in full without -v: every error, then warnings up to so many rules in all.
SHOWN = 3
_INDENT = 11


def render(results: FileResults, style: Style) -> str:
    """Return one block a file, then what holds for all of them."""
    blocks = [
        "\n".join(_file(file, style))
        for file in results.files
        if (file.report is not None or style.errors) and (file.exit_status or not style.quiet)
    ]
    ending = "\n".join(_ending(results, style))
    if ending:
        blocks.append(ending)
    return inert("\n\n".join(blocks) + "\n") if blocks else ""


def _file(file: FileResult, style: Style) -> Iterator[str]:
    if file.report is None:
        yield visible(str(file.error))
        return
    report = file.report
    yield from _header(file, report, style)
    if file.decision is not None:
        yield from ("", f"  {head(visible(file.decision.line), style)}")
    if report.analysis is not None:
        yield from _verdicts(report.analysis, style)
    groups = grouped(report.findings if style.verbose else report.found)
    shown, hidden = _chosen(groups, style)
    for group in shown:
        yield ""
        yield from _group(group, style)
    if style.verbose and report.not_checked:
        yield ""
        yield from _not_checked(report, style)
    yield ""
    last = _last_line(report, hidden, bool(groups), style)
    line = " "
    for part in last.split("   "):  # a count is never broken in its middle
        if line.strip() and len(line) + 3 + len(part) > style.width:
            yield line
            line = " "
        line += f"   {part}" if line.strip() else f" {part}"
    yield line


def _header(file: FileResult, report: Report, style: Style) -> Iterator[str]:
    name, summary = shortened(file.name, 4 * style.width), shortened(file.summary, 160)
    digest = f"sha256 {report.sha256[:12]}" if report.sha256 else ""
    line = f"{name}   {summary}".rstrip()
    below: list[str] = []
    if len(line) + 3 + len(digest) > style.width:  # what the study is goes below its name
        line, below = name, textwrap.wrap(summary, style.width - 2, break_on_hyphens=False)
    painted = _paint(name, "bold", style) + line[len(name) :]
    gap = style.width - len(line) - len(digest)
    if gap >= 3:
        yield (painted + " " * gap + _paint(digest, "dim", style)).rstrip()
    else:
        yield painted
        below.append(digest)
    yield from (f"  {part}" for part in below if part)


def _verdicts(analysis: Analysis, style: Style) -> Iterator[str]:
    from audit.cli.formats.blocks import verdict_lines

    lines = verdict_lines(analysis, style.width - 2)
    if lines:
        yield ""
    for line in lines:
        yield ("  " + head(visible(line), style)).rstrip()


def _chosen(groups: tuple[Group, ...], style: Style) -> tuple[list[Group], list[Group]]:
    """Return the groups shown in full and those only counted, each worst first."""
    shown: list[Group] = []
    hidden: list[Group] = []
    room = SHOWN
    for group in groups:
        waived = group.first.waiver is not None
        fits = group.severity is Severity.WARNING and room > 0
        if style.verbose or waived or group.severity is Severity.ERROR or fits:
            shown.append(group)
            room -= not waived
        else:
            hidden.append(group)
    return shown, hidden


def _group(group: Group, style: Style) -> Iterator[str]:
    finding = group.first
    label = "waived" if finding.waiver else finding.severity.label
    rule = f"{finding.rule} {finding.slug}"
    place = shortened(finding.pointer, 120) or "(whole file)"
    start = f"  {_paint(label.ljust(7), label, style)}  "
    if _INDENT + 36 + len(place) <= style.width:
        yield f"{start}{rule:<35} {place}".rstrip()
    else:
        yield f"{start}{rule}"
        yield " " * _INDENT + place
    yield from _wrapped(shortened(finding.message, 600), style)
    if details(finding):
        yield from _wrapped(details(finding), style)
    if group.places > 1 and not style.verbose:
        yield from _wrapped(_further(group), style)
    if finding.waiver:
        waiver = finding.waiver
        yield from _wrapped(f"waived until {waiver.expires}: {visible(waiver.reason)}", style)
        return
    advice = " ".join(visible(part) for part in (finding.why, finding.fix) if part)
    page = "" if finding.rule == BUG else f"audit explain {finding.rule}"
    yield from _wrapped(advice, style, ending=page)
    if style.verbose:
        for other in group.findings:
            yield from _place(other, other is finding, style)


def _further(group: Group) -> str:
    """Name the places after the first: ``also at /b, /c (+5 more)``."""
    others = [shortened(pointer, 120) or "whole file" for pointer in group.shown_places()[1:]]
    more = group.places - PLACES
    return f"also at {', '.join(others)}" + (f" (+{more} more)" if more > 0 else "")


def _place(finding: Finding, is_first: bool, style: Style) -> Iterator[str]:
    where = f"line {finding.line}, column {finding.column}" if finding.line else ""
    if is_first:
        if where:
            yield " " * _INDENT + where
    else:
        pointer = shortened(finding.pointer, 120) or "(whole file)"
        yield from _wrapped(f"{pointer} {where}: {_sentence(finding)}", style)
    for pointer in finding.also:
        yield " " * _INDENT + shortened(pointer, 120)


def _sentence(finding: Finding) -> str:
    message = shortened(finding.message, 600)
    beside = details(finding)
    return f"{message} ({beside})" if beside else message


def _wrapped(text: str, style: Style, ending: str = "") -> Iterator[str]:
    """Wrap below the label; the ending stands on the last line where it fits."""
    room = style.width - _INDENT
    lines = textwrap.wrap(text, room, break_on_hyphens=False) or [""]
    if ending:
        if len(lines[-1]) + 3 + len(ending) <= room:
            lines[-1] = f"{lines[-1]}   {_paint(ending, 'dim', style)}".strip()
        else:
            lines.append(_paint(ending, "dim", style))
    yield from (" " * _INDENT + line for line in lines)


def _not_checked(report: Report, style: Style) -> Iterator[str]:
    for entry in report.not_checked:
        yield f"  not checked  {entry.rule} {entry.slug}  {shortened(entry.pointer, 120)}".rstrip()
        yield from _wrapped(visible(entry.reason), style)


def _last_line(report: Report, hidden: list[Group], found: bool, style: Style) -> str:
    more = "more " if any(g.severity is not Severity.INFO for g in hidden) else ""
    counts = []
    for severity in (Severity.ERROR, Severity.WARNING, Severity.INFO):
        number = sum(group.severity is severity for group in hidden)
        if number:
            noun = severity.label if severity is Severity.INFO else more + severity.label
            counts.append(counted(number, noun))
    parts = [", ".join(counts)] if counts else ([] if found else ["nothing found"])
    parts.append(f"{counted(report.passed, 'check')} passed")
    if report.not_checked:
        hint = "" if style.verbose else " (-v lists them)"
        parts.append(f"{len(report.not_checked)} not checked{hint}")
    return "   ".join(parts)


def _ending(results: FileResults, style: Style) -> Iterator[str]:
    if len(results.files) > 1:
        statuses = [file.exit_status for file in results.files]
        words = ("clean", "refused or wrong", "could not be read", "met a bug in audit")
        parts = [f"{statuses.count(n)} {w}" for n, w in enumerate(words) if n in statuses]
        yield f"{len(statuses)} files: {', '.join(parts)}"
    if not style.quiet:
        yield from (_paint(line, "dim", style) for line in skipped_lines(results, style))
    sources = {file.report.policy.source for file in results.files if file.report is not None}
    for source in sorted(sources - {"built-in defaults"}):
        if not style.quiet:
            yield _paint(f"policy: {visible(source)}", "dim", style)


def skipped_lines(results: FileResults, style: Style) -> Iterator[str]:
    """Yield which files of folders were passed over, and why: the first ones, or all with -v."""
    for why, names in results.not_judged().items():
        most = len(names) if style.verbose else SHOWN
        more = f" (+{len(names) - most} more, -v lists them)" if len(names) > most else ""
        listed = ", ".join(shortened(name, 200) for name in names[:most])
        yield f"passed over: {listed}{more}: {visible(why)}"
