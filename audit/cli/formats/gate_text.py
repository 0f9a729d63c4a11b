"""The gate's decision for a terminal: a table of studies, then what is refused and why."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from audit.cli.formats import Style
from audit.cli.formats.blocks import block
from audit.cli.formats.colours import head
from audit.cli.formats.text import skipped_lines
from audit.cli.layout import text_table
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
        yield from (*(head(line, style) for line in decisions), "")
    wanted = [row for row in rows if row.badness or not style.quiet]
    if wanted and not one_file:
        yield from _table(wanted, style)
        yield ""
    for row in wanted:
        view = row.view
        if view is None:
            if one_file:
                yield from (head(f"NOT JUDGED  {visible(row.study)}: {row.reason}", style), "")
        elif one_file or view.refused or (style.verbose and view.claimed):
            named = "" if one_file else row.study
            yield from (head(visible(line), style) for line in block(view, style.width, named))
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
        yield from _hung(f"  next   no claim was found: {HOW_TO_CLAIM}", style, 9)
        yield from _hung(f"         {NOTHING_CLAIMED}", style, 9)
    for file in results.files:
        for line in (*sibling_lines(file), *waiver_lines(file)):
            yield from _hung(visible(line), style, 2)
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
    for text in (counts.text, source):
        yield from textwrap.wrap(
            text,
            width,
            subsequent_indent="  ",
            break_on_hyphens=False,
            break_long_words=False,
        )


def _table(rows: Sequence[Row], style: Style) -> Iterator[str]:
    """Yield two lines per row: who claims what, then its figures and what is said of them.

    Where that is wider than the terminal, what is claimed stands on lines of its own.
    """
    cells = [_cells(row) for row in rows]
    heading, *lines = text_table(HEADING, cells)
    indent = " " * heading.index(HEADING[2])
    below = [[] if row.view is None else [row.view.line] for row in rows]
    if max(map(len, (heading, *lines))) > style.width:
        claims = [claim for _, _, claim, _ in cells]
        below = [[claim, *more] for claim, more in zip(claims, below, strict=True)]
        narrow = [(result, study, runs) for result, study, _, runs in cells]
        heading, *lines = text_table((HEADING[0], HEADING[1], HEADING[3]), narrow)
        indent = " " * heading.index(HEADING[1])
    yield heading
    for line, texts in zip(lines, below, strict=True):
        yield head(line, style)
        for text in filter(None, texts):
            yield from _hung(indent + _short(text), style, len(indent))


def _hung(line: str, style: Style, indent: int) -> Iterator[str]:
    """Yield a line in the width of the terminal, what does not fit indented below it."""
    if len(line) <= style.width:
        yield line
        return
    yield from textwrap.wrap(
        line,
        max(style.width, indent + 20),
        subsequent_indent=" " * indent,
        break_on_hyphens=False,
        break_long_words=False,
        drop_whitespace=True,
    )


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
    for waiver, number in file.waived:
        yield (
            f"waived in {study_name(file.name)}: {counted(number, 'finding')} of {waiver.rule}, "
            f"until {waiver.expires}: {waiver.reason}"
        )
