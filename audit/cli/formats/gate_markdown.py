"""The gate's decision as Markdown, for a step summary or a comment."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from audit.cli.formats.gate_text import (
    HOW_TO_CLAIM,
    NOTHING_CLAIMED,
    decision_lines,
    policy_change_line,
    problem_lines,
    shown_result,
    sibling_lines,
    since_lines,
    waiver_lines,
)
from audit.cli.formats.markdown import escaped, skipped_lines, within_limit
from audit.cli.layout import markdown_table
from audit.fleet.files import FileResults
from audit.fleet.rows import Counts, Row
from audit.numerals import counted
from audit.policy import Policy
from audit.safetext import inert, shortened, visible
from audit.views.claim_view import ClaimView

HEADING = ("result", "study", "claim", "difference", "runs", "")
_MOST = 160
# A sentence or a weakening in a line of its own; a hostile name must not crowd out the rest.
_LONGEST = 600


def gate_markdown(rows: Sequence[Row], counts: Counts, results: FileResults, policy: Policy) -> str:
    """Return the page, below the limits of a step summary and a comment."""
    lines = within_limit(_lines(rows, counts, results, policy), "audit gate")
    return inert("\n".join(lines) + "\n")


def _lines(
    rows: Sequence[Row], counts: Counts, results: FileResults, policy: Policy
) -> Iterator[str]:
    yield f"## audit gate: {counts.text}"
    yield ""
    for line in decision_lines(results, one_file=len(results.files) == 1):
        word, _, text = line.partition("  ")
        yield f"**{escaped(word)}** {escaped(visible(text))}"
        yield ""
    if results.policy_change:
        line = policy_change_line(results, policy)
        yield f"**{escaped(line[0].upper() + line[1:])}.**"
        yield ""
    if not counts.claims and counts.silent:
        yield f"No claim was found: {escaped(HOW_TO_CLAIM)}; {escaped(NOTHING_CLAIMED)}."
        yield ""
    claimed = [row for row in rows if row.view is not None and row.view.claimed]
    for row in claimed:
        yield "<br>\n".join(claim_lines(row, one_file=len(results.files) == 1))
        yield ""
    if rows:
        if claimed:
            yield f"<details><summary>{counted(len(rows), 'row')} of the table</summary>"
            yield ""
        cells = (tuple(escaped(shortened(cell, _MOST)) for cell in row_cells(row)) for row in rows)
        yield from markdown_table(HEADING, cells)
        yield from ("", "</details>", "") if claimed else ("",)
    told = list(problem_lines(results, one_file=len(results.files) == 1))
    told += [visible(str(file.error)) for file in results.files if file.error is not None]
    told += [
        visible(line)
        for file in results.files
        for line in (*sibling_lines(file), *waiver_lines(file))
    ]
    if told:
        yield from (f"- {escaped(line)}" for line in told)
        yield ""
    history = list(since_lines(results))
    if history:
        yield f"Since {escaped(results.base)}:"
        yield ""
        yield from (f"- {escaped(visible(line))}" for line in history)
        yield ""
    for line in skipped_lines(results):
        yield line
        yield ""
    yield f"policy: {escaped(policy.source)}"


def claim_lines(row: Row, *, one_file: bool) -> Iterator[str]:
    """Yield a claim in at most three lines: the word and the figures, what weakens it or why, next.

    The lines are Markdown.
    """
    view = row.view
    if view is None:
        return
    word = f"Refused, {view.label}" if view.refused else "Supported"
    study = "" if one_file else f"{row.study}: "
    figures = ", ".join(part for part in (view.estimate or "no verdict", view.runs) if part)
    sentence = shortened(view.sentence, _LONGEST)
    yield f"**{escaped(word)}:** {escaped(visible(f'{study}{sentence}: {figures}'))}"
    weak = "; ".join(f"{one.slug}: {shortened(one.text, _LONGEST)}" for one in view.weakened_by)
    why = view.why if view.refused else weak and f"Weakened by: {weak}"
    told = "; ".join(part for part in (why, view.look) if part)
    if told:
        yield escaped(visible(told))
    if view.next:
        yield f"**Next:** {escaped(visible('; '.join(view.next)))}"


def row_cells(row: Row) -> tuple[str, ...]:
    """Return the columns of a row, as the data has them."""
    view = row.view
    if view is None:
        return shown_result(row), row.study, row.reason, "-", "-", ""
    return (
        shown_result(row),
        row.study,
        view.typed,
        view.estimate or "-",
        view.runs,
        view.remark,
    )


def reason_lines(row: Row) -> Iterator[str]:
    """Yield why a claim is refused and what to do next, or what weakens a supported one."""
    view = row.view
    if view is None or not view.claimed:
        return
    if view.refused:
        yield visible(f"{row.study}: {_refusal(view)}")
        return
    named = f"{row.study}: {shortened(view.sentence, _MOST)}"
    for weakening in view.weakened_by:
        yield visible(f"{named}: {weakening.slug}: {weakening.text}")


def _refusal(view: ClaimView) -> str:
    parts = [f"{view.sentence}: {view.why}", view.look, *(f"next: {act}" for act in view.next)]
    return "; ".join(part for part in parts if part)
