"""What results, reports, analyses, claims and comparisons show at a prompt and in a notebook.

The words are those of the views. Every text from data is escaped; no style sheet is brought along,
so that a notebook's own theme, light or dark, shows it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import singledispatch
from html import escape

from audit import numerals
from audit.analysis import Analysis
from audit.analysis.claiming import ClaimResult
from audit.analysis.comparisons import Comparison
from audit.finding import Severity
from audit.report import Report
from audit.results import Arm, Results
from audit.safetext import shortened
from audit.views.claim_view import ClaimView, claim_view, unclaimed_view, views_of
from audit.views.finding_view import grouped
from audit.views.headline_view import headline
from audit.views.study_view import study_in_words

# Rows of a table that are shown; to_frame() has them all.
_MOST = 20
_LONGEST = 300
_COLOURS = {
    "gain": "#1a7f37",
    "loss": "#b35900",
    "flat": "#0969da",
    "refused": "#cf222e",
    "open": "#8250df",
}


@singledispatch
def plain(shown: object) -> str:
    """Return an object on one line."""
    raise TypeError(f"{type(shown).__name__} is not shown here")


@plain.register
def _(shown: Results) -> str:
    return f"<results {_cut(shown.name)}: {_cut(study_in_words(shown)) or 'no study'}>"


@plain.register
def _(shown: Report) -> str:
    return f"<report on {_cut(shown.name)}: {_counts(shown)}>"


@plain.register
def _(shown: Analysis) -> str:
    name = _cut(shown.study.results.name)
    return f"<analysis of {name}: {_judged(shown)}>"


@plain.register
def _(shown: ClaimResult) -> str:
    return _line(claim_view(shown))


@plain.register
def _(shown: Comparison) -> str:
    return _line(unclaimed_view(shown))


def _line(view: ClaimView) -> str:
    head = f"{view.result.upper()}  {_cut(view.sentence)}"
    return "   ".join(part for part in (head, view.estimate, view.runs, view.remark) if part)


def _counts(report: Report) -> str:
    found = [(report.count(severity), severity.label) for severity in reversed(Severity)]
    parts = [numerals.counted(number, word) for number, word in found if number]
    return ", ".join(
        [
            *(parts or ["nothing found"]),
            f"{numerals.counted(report.passed, 'check')} passed",
            f"{numerals.count(len(report.not_checked))} not checked",
        ]
    )


def _judged(analysis: Analysis) -> str:
    supported = sum(claim.supported for claim in analysis.claims)
    text = numerals.counted(len(analysis.comparisons), "comparison")
    if not analysis.claims:
        return f"{text}, nothing claimed"
    return f"{numerals.counted(len(analysis.claims), 'claim')}, {supported} supported; {text}"


@singledispatch
def page(shown: object) -> str:
    """Return an object as a piece of HTML."""
    raise TypeError(f"{type(shown).__name__} is not shown here")


@page.register
def _(shown: Results) -> str:
    rows = [_arm(arm) for arm in shown.arms]
    return _piece(plain(shown), _table(("arm", "role", "runs", "finished", "mean score"), rows))


def _arm(arm: Arm) -> tuple[str, ...]:
    metrics = [evaluation.metric for run in arm.finished for evaluation in run.evaluations]
    metric = metrics[0] if metrics else "accuracy"
    scores = [score for run in arm.finished if (score := run.score(metric)) is not None]
    mean = numerals.fraction(sum(scores) / len(scores), 3) if scores else "-"
    seeds = ", ".join(run.label for run in arm.runs[:_MOST])
    told = f"{len(arm.runs)}: {seeds}" if arm.runs else "0"
    return arm.name, arm.role or "-", told, str(len(arm.finished)), f"{metric} {mean}"


@page.register
def _(shown: Report) -> str:
    rows = [
        (
            group.severity.label,
            f"{group.first.rule} {group.first.slug}",
            group.where,
            group.first.message,
        )
        for group in grouped(shown.found)
    ]
    return _piece(plain(shown), _table(("", "rule", "where", "what"), rows))


@page.register
def _(shown: Analysis) -> str:
    return _piece(plain(shown), _verdicts(views_of(shown)))


@page.register
def _(shown: ClaimResult) -> str:
    return _verdicts([claim_view(shown)])


@page.register
def _(shown: Comparison) -> str:
    return _verdicts([unclaimed_view(shown)])


def _verdicts(views: Iterable[ClaimView]) -> str:
    rows, words = [], []
    for view in views:
        head = headline(view)
        weak = "; ".join(f"{one.slug}: {one.text}" for one in view.weakened_by)
        beside = "; ".join(part for part in (head.reason or weak, *view.next) if part)
        rows.append((head.text, head.about, view.estimate or "-", view.runs, beside))
        words.append(f' style="color:{_COLOURS[head.kind]};font-weight:700"')
    heading = ("", "claim" if rows else "", "difference", "runs", "read first, and what next")
    return _table(heading, rows, words)


def _piece(heading: str, table: str) -> str:
    return f"<p>{escape(heading.strip('<>'))}</p>{table}"


def _table(heading: Sequence[str], rows: Sequence[Sequence[str]], first: Sequence[str] = ()) -> str:
    """Write a table; ``first`` holds the attributes of the first cell of each row."""
    if not rows:
        return ""
    lines = ["".join(f"<th>{escape(name)}</th>" for name in heading)]
    for number, row in enumerate(rows[:_MOST]):
        attributes = [first[number] if first else "", *[""] * (len(row) - 1)]
        lines.append(
            "".join(
                f"<td{attribute or ' '}>{escape(_cut(cell))}</td>".replace("<td >", "<td>")
                for attribute, cell in zip(attributes, row, strict=True)
            )
        )
    more = len(rows) - _MOST
    below = f"<p>and {numerals.count(more)} more</p>" if more > 0 else ""
    return f"<table>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>{below}"


def _cut(text: str) -> str:
    return shortened(text, _LONGEST)
