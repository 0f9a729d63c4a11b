"""The gate's decision for a terminal: a table of studies, then what is refused and why."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from audit.cli.formats import Style
from audit.cli.formats.blocks import block
from audit.cli.formats.text import skipped_lines
from audit.cli.layout import text_table
from audit.finding import Waiver
from audit.fleet.files import FileResult, FileResults
from audit.fleet.rows import Counts, Row, study_name
from audit.numerals import counted
from audit.policy import Policy
from audit.safetext import inert, shortened, visible
from audit.views.claim_view import SUPPORTED

HEADING = ("result", "study", "claim", "runs")
NOTHING_CLAIMED = 'require = ["claims"] in the policy refuses files without a claim'
HOW_TO_CLAIM = "add --claim 'gain METRIC ARM over ARM', or claims in the file"


def gate_text(
    rows: Sequence[Row], counts: Counts, results: FileResults, policy: Policy, style: Style
) -> str:
    """Return the text; ``-q`` leaves out what passes, ``-v`` shows supported claims in full."""
    return inert("\n".join(_lines(rows, counts, results, policy, style)) + "\n")


def _lines(
    rows: Sequence[Row], counts: Counts, results: FileResults, policy: Policy, style: Style
) -> Iterator[str]:
    one_file = len(results.files) == 1
    decisions = [visible(line) for line in decision_lines(results, one_file=one_file)]
    if decisions:
        yield from (*decisions, "")
    wanted = [row for row in rows if row.badness or not style.quiet]
    if wanted and not one_file:
        yield from _table(wanted)
        yield ""
    for row in wanted:
        view = row.view
        if view is None:
            if one_file:
                yield from (f"NOT JUDGED  {visible(row.study)}: {row.reason}", "")
        elif one_file or view.refused or (style.verbose and view.claimed):
            named = "" if one_file else row.study
            yield from (visible(line) for line in block(view, style.width, named))
            yield ""
    problems = list(problem_lines(results, one_file=one_file))
    if problems:
        yield from (*problems, "")
    history = list(since_lines(results))
    if history and not style.quiet:
        yield f"since {visible(results.base)}"
        for line in history:
            yield from textwrap.wrap(
                visible(line), style.width - 2, initial_indent="  ", subsequent_indent="    "
            )
        yield ""
    if results.policy_change:
        yield from (*textwrap.wrap(visible(policy_change_line(results, policy)), style.width), "")
    yield from ending(counts, policy, style.width)
    if not counts.claims and counts.silent:
        yield f"  next   no claim was found: {HOW_TO_CLAIM}"
        yield f"         {NOTHING_CLAIMED}"
    for file in results.files:
        yield from (visible(line) for line in (*sibling_lines(file), *waiver_lines(file)))
    if not style.quiet:
        yield from skipped_lines(results, style)


def policy_change_line(results: FileResults, policy: Policy) -> str:
    """Return what the branch changed about the policy, and which one judges."""
    return f"the policy changed ({results.policy_change}): all files are judged, by {policy.source}"


def ending(counts: Counts, policy: Policy, width: int) -> Iterator[str]:
    """Yield the counts with the policy at the right, or below where that does not fit."""
    source = f"policy: {visible(policy.source)}"
    if len(counts.text) + 3 + len(source) <= width:
        yield f"{counts.text}{source:>{width - len(counts.text)}}"
        return
    yield counts.text
    yield source


def _table(rows: Sequence[Row]) -> Iterator[str]:
    """Yield two lines per row: who claims what, then its figures and what is said of them."""
    heading, *lines = text_table(HEADING, map(_cells, rows))
    yield heading
    indent = " " * heading.index(HEADING[2])
    for row, line in zip(rows, lines, strict=True):
        yield line
        if row.view is not None and row.view.line:
            yield indent + _short(row.view.line)


def _cells(row: Row) -> tuple[str, str, str, str]:
    view = row.view
    if view is None:
        return shown_result(row), _short(row.study), _short(row.reason), ""
    return shown_result(row), _short(row.study), _short(view.typed), _short(view.runs)


def shown_result(row: Row) -> str:
    """Return the result, in capitals where it is not what one hopes for."""
    return row.result if row.result == SUPPORTED or not row.badness else row.result.upper()


def _short(text: str) -> str:
    return shortened(text, 120)


def problem_lines(results: FileResults, *, one_file: bool) -> Iterator[str]:
    """Yield what fails apart from claims, a line each, with its study where there are several."""
    for file in results.files:
        study = "" if one_file else f"{study_name(file.name)}: "
        yield from (visible(f"{study}{problem}") for problem in file.problems)


def decision_lines(results: FileResults, *, one_file: bool) -> Iterator[str]:
    """Yield the decision of every study that has guardrails."""
    for file in results.files:
        if file.decision is not None:
            study = "" if one_file else f"{study_name(file.name)}: "
            yield f"{file.decision.word}  {study}{file.decision.text}"


def since_lines(results: FileResults) -> Iterator[str]:
    """Yield what the branch changed about each study, and which studies it removed."""
    for file in results.files:
        if file.since:
            yield f"{study_name(file.name)}: {'; '.join(file.since)}"
    for path, said in results.removed:
        yield f"removed: {path} ({said})"


def sibling_lines(file: FileResult) -> Iterator[str]:
    """Yield which other files hold runs of the same study, so that the claims are one family."""
    if file.siblings:
        others = ", ".join(study_name(name) for name in file.siblings)
        yield (
            f"{study_name(file.name)} shares training runs with {others}: "
            "Holm's correction runs over the claims of all of them"
        )


def waiver_lines(file: FileResult) -> Iterator[str]:
    """Yield every waiver that covers a finding of a file: the rule, until when, and why."""
    report = file.report
    covered: dict[Waiver, int] = {}
    for finding in report.found if report is not None else ():
        if finding.waiver is not None:
            covered[finding.waiver] = covered.get(finding.waiver, 0) + 1
    for waiver, number in covered.items():
        yield (
            f"waived in {study_name(file.name)}: {counted(number, 'finding')} of {waiver.rule}, "
            f"until {waiver.expires}: {waiver.reason}"
        )
