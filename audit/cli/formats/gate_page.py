"""The gate's decision as one HTML page: no script, nothing loaded, every text escaped."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from audit.cli.formats.gate_markdown import HEADING, reason_lines, row_cells
from audit.cli.formats.gate_text import policy_change_line, problem_lines, waiver_lines
from audit.fleet.files import FileResults
from audit.fleet.rows import Counts, Row
from audit.numerals import counted
from audit.policy import Policy
from audit.safetext import inert, shortened, visible

if TYPE_CHECKING:
    from audit.pages.figures.forest import ForestLine

# More lines than this no one reads in a picture; the table holds the rest.
MOST_DRAWN = 100
_ROW_INCHES = 0.44  # two lines of label
_WIDTH_INCHES = 9.0  # names on one side, figures on the other


def gate_page(rows: Sequence[Row], counts: Counts, results: FileResults, policy: Policy) -> str:
    """Return the whole page, ending in a newline."""
    from audit.pages.environment import html_environment

    template = html_environment().get_template("parts/gate.html.j2")
    return inert(template.render(_variables(rows, counts, results, policy)))


def _variables(
    rows: Sequence[Row], counts: Counts, results: FileResults, policy: Policy
) -> dict[str, Any]:
    svg, left_out = forest_svg(rows)
    one_file = len(results.files) == 1
    footer = [f"policy: {policy.source}"]
    if results.skipped:
        footer.append(f"{counted(len(results.skipped), 'JSON file')} without schema_version")
    changed = [policy_change_line(results, policy)] if results.policy_change else []
    lists = (
        ("The policy changed", changed),
        ("Refused, and what to do next", [line for row in rows for line in reason_lines(row)]),
        ("What else fails", list(problem_lines(results, one_file=one_file))),
        ("Waived", [line for file in results.files for line in waiver_lines(file)]),
        ("Not judged", [str(file.error) for file in results.files if file.error is not None]),
        ("Passed over: no schema_version", list(results.skipped)),
        ("Passed over", [f"{passed.path}: {passed.why}" for passed in results.passed_over]),
    )
    return {
        "title": f"audit gate: {counts.text}",
        "heading": HEADING,
        "rows": [
            {
                "kind": f"is-{row.result.replace(' ', '-')} word-{row.word or 'none'}",
                "cells": [shortened(cell, 160) for cell in row_cells(row)],
            }
            for row in rows
        ],
        "figure": svg,
        "left_out": f" {counted(left_out, 'row')} not drawn." if left_out else "",
        "lists": [(name, [visible(line) for line in lines]) for name, lines in lists if lines],
        "footer": visible("; ".join(footer)),
    }


def forest_svg(rows: Sequence[Row]) -> tuple[Any, int]:
    """Return the rows as a forest plot, ready to stand in a page, and how many are not in it.

    A row without a word is drawn hollow, an interval that leaves the training out dashed. The
    picture is empty without a row that can be drawn.
    """
    known = [line for line in map(_line, rows) if line is not None]
    shown = known[:MOST_DRAWN]
    if not shown:
        return "", len(rows)
    from audit.pages.figures import canvas, forest
    from audit.pages.figures.figure import Figure

    with canvas.styled():
        figure, (axes,) = canvas.panels(0.9 + _ROW_INCHES * len(shown), width=_WIDTH_INCHES)
        forest.draw_lines(axes, shown)
        axes.set_xlabel("improvement as a share of the metric's scale, right of 0 is better")
        svg = canvas.svg(figure, "gate")
    alt = "; ".join(f"{' '.join(line.label.split())}: {line.text}" for line in shown)
    drawn = Figure("gate", "Improvements", f"Improvements with their intervals. {alt}.", svg, bytes)
    return drawn.inline, len(rows) - len(shown)


def _line(row: Row) -> ForestLine | None:
    from audit.pages.figures import canvas
    from audit.pages.figures.forest import ForestLine

    view = row.view
    if view is None or view.improvement is None:
        return None
    found = view.improvement
    colours = {"gain": canvas.GREEN, "loss": canvas.VERMILION, "flat": canvas.FAINT}
    return ForestLine(
        label=f"{canvas.short(row.study, 40)}\n{canvas.short(view.typed, 44)}",
        value=found.value,
        low=found.low,
        high=found.high,
        text=view.estimate,
        colour=colours.get(row.word, canvas.PURPLE),
        hollow=row.word == "refused",
        dashed=found.about == "these-runs",
    )
