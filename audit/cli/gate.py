"""``audit gate``: a line a claim over many files, worst first; the exit status of the worst."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from audit.analysis.claiming import ClaimResult
from audit.analysis.comparisons import Comparison
from audit.analysis.verdict import Verdict
from audit.claims import BASE
from audit.cli.figures import bracketed, signed
from audit.cli.formats import FORMATS, Style, render
from audit.cli.formats.groups import count, grouped
from audit.cli.formats.json_text import json_text
from audit.cli.formats.markdown import escaped
from audit.cli.layout import markdown_table, text_table
from audit.cli.outcomes import FileOutcome, Outcomes, collect
from audit.cli.safe import inert, shortened, visible
from audit.cli.verify import (
    add_output_options,
    add_policy_options,
    policy_in_force,
    publish,
    report_unreadable,
    style_for,
    with_options,
)
from audit.finding import Severity
from audit.policy import Policy
from audit.report import Report, verify
from audit.results import Results

_HEADING = ("study", "claim", "delta", "seeds", "verdict")
_NAME_LENGTH = 40


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table; ``badness`` sorts it, worst first."""

    badness: int
    study: str
    claim: str
    delta: str
    seeds: str
    verdict: str
    path: str
    result: ClaimResult | None = None

    @property
    def cells(self) -> tuple[str, ...]:
        """The columns, made safe to print."""
        shown = (self.study, self.claim, self.delta, self.seeds, self.verdict)
        return tuple(shortened(cell, 120) for cell in shown)


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``audit gate``."""
    parser.add_argument(
        "paths", nargs="+", metavar="PATH", help="results file, folder, pattern, or - for stdin"
    )
    parser.add_argument(
        "--claim",
        action="append",
        default=[],
        metavar="TEXT",
        help='claim to judge in every file, e.g. "gain accuracy method over control"',
    )
    add_policy_options(parser)
    add_output_options(parser, tuple(FORMATS))


def main(options: argparse.Namespace) -> int:
    """Run ``audit gate`` and return its exit status."""
    from audit.claims import parse_claim

    claims = tuple(parse_claim(text) for text in options.claim)
    policy = policy_in_force(options)

    def check(results: Results) -> Report:
        own = with_options(policy.for_path(results.name), options)
        return verify(results, claims=claims, policy=own)

    outcomes = collect(options.paths, check)
    report_unreadable(outcomes)
    publish(_page(options.format, outcomes, policy, style_for(options)), options.output)
    return outcomes.exit_status


def _page(name: str, outcomes: Outcomes, policy: Policy, style: Style) -> str:
    rows = table_rows(outcomes)
    if name == "text":
        return inert("\n".join(_text(rows, outcomes, policy, style)) + "\n")
    if name == "markdown":
        return inert("\n".join(_markdown(rows, outcomes, policy)) + "\n")
    if name == "json":
        return json_text(_document(rows, outcomes, policy))
    return render(name, outcomes, style)


def table_rows(outcomes: Outcomes) -> list[Row]:
    """Return a line for each claim, or for a file that claims nothing, worst first."""
    rows = [row for file in outcomes.files for row in _file_rows(file)]
    return sorted(rows, key=lambda row: (-row.badness, row.study, row.path))


def study_name(path: str) -> str:
    """Return what people call a study: the folder of a ``results.json``, else the file's name."""
    parts = PurePath(path.replace("\\", "/"))
    named_by_folder = parts.name == "results.json" and parts.parent.name
    return str(parts.parent.name if named_by_folder else parts.stem or path)


def _file_rows(file: FileOutcome) -> Iterator[Row]:
    study = shortened(study_name(file.name), _NAME_LENGTH)
    bad = file.exit_status * 10
    if file.report is None or file.report.analysis is None:
        reason = "could not be read" if file.report is None else "breaks the contract"
        yield Row(bad + 5, study, "-", "-", "-", reason, file.name)
        return
    analysis = file.report.analysis
    for claim in analysis.claims:
        yield _claim_row(bad, study, claim, file.name)
    if not analysis.claims:
        shown = [c for c in analysis.comparisons if c.against != BASE] or analysis.comparisons
        if not shown:
            yield Row(bad, study, "none", "-", "-", "nothing to compare", file.name)
        for comparison in shown:
            verdict = comparison.verdict.words
            delta, seeds = delta_text(comparison), seeds_text(comparison)
            yield Row(bad, study, "none", delta, seeds, verdict, file.name)


def _claim_row(bad: int, study: str, result: ClaimResult, path: str) -> Row:
    claim, comparison = result.claim, result.comparison
    joint = "to" if claim.direction == "equivalent" else "over"
    own = comparison is None or comparison.arm == comparison.study.results.method
    arm = "" if own and comparison is not None else f"of {claim.arm} "
    what = f"{claim.direction} in {claim.metric} {arm}{joint} {claim.against}"
    delta = "-" if comparison is None else delta_text(comparison)
    seeds = "-" if comparison is None else seeds_text(comparison)
    worse = 0 if result.stands else 5
    return Row(bad + worse, study, what, delta, seeds, _word(result), path, result)


def _word(result: ClaimResult) -> str:
    verdict: Verdict = result.verdict
    if result.stands or verdict.refused:
        return verdict.words
    return f"refused: {result.slug}; {verdict.words}"


def delta_text(comparison: Comparison) -> str:
    """Return delta and interval; for one seed the interval over tasks or as printed."""
    if comparison.delta is None:
        return "-"
    shown = comparison.deciding
    interval = bracketed(shown) or bracketed(comparison.description.one_seed)
    return f"{signed(comparison.delta)} {interval}".strip()


def seeds_text(comparison: Comparison) -> str:
    """Return the training runs of both sides, ``3 v 3``."""
    mine, theirs = comparison.seeds
    return f"{mine} v base" if comparison.against == BASE else f"{mine} v {theirs}"


def summary(rows: list[Row], outcomes: Outcomes) -> str:
    """Return the last line: studies, claims, refused ones."""
    claims = [row.result for row in rows if row.result is not None]
    refused = sum(not claim.stands for claim in claims)
    parts = [count(len(outcomes.files), "study").replace("studys", "studies")]
    parts.append(count(len(claims), "claim"))
    parts.append(f"{refused} refused")
    failing = sum(file.exit_status > 0 for file in outcomes.files)
    if failing:
        parts.append(f"{failing} not passed")
    return ", ".join(parts)


def _reasons(rows: list[Row], outcomes: Outcomes) -> Iterator[str]:
    """Yield why each claim is refused, then the errors of each file that are no claims."""
    for row in rows:
        if row.result is not None and not row.result.stands:
            line = f"{row.study}: {row.result.claim.text}: {row.result.reason}"
            settles = row.result.settles
            yield visible(f"{line}; to settle it: {settles}" if settles else line)
    for file in outcomes.files:
        if file.report is None:
            continue
        for group in grouped(file.report.found):
            finding = group.first
            fails = finding.severity is Severity.ERROR or file.report.policy.fail_on == "warning"
            about_claims = finding.rule.startswith("CLAIM") or finding.rule == "SEED001"
            if not fails or finding.severity is Severity.INFO or finding.waiver or about_claims:
                continue
            more = f" (+{group.places - 1} more)" if group.places > 1 else ""
            place = f"{finding.pointer or 'whole file'}{more}"
            head = f"{study_name(file.name)}: {finding.rule} {finding.slug} at {place}"
            yield f"{shortened(head, 200)}: {shortened(finding.message, 300)}"


def _waived(outcomes: Outcomes) -> int:
    return sum(
        finding.waiver is not None
        for file in outcomes.files
        if file.report is not None
        for finding in file.report.found
    )


def _text(rows: list[Row], outcomes: Outcomes, policy: Policy, style: Style) -> Iterator[str]:
    wanted = [row for row in rows if row.badness or not style.quiet]
    yield from text_table(_HEADING, (row.cells for row in wanted))
    reasons = list(_reasons(rows, outcomes))
    if reasons:
        yield ""
        yield from reasons
    yield ""
    yield summary(rows, outcomes)
    if _waived(outcomes):
        yield f"{count(_waived(outcomes), 'finding')} waived (audit verify shows them)"
    yield f"policy: {visible(policy.source)}"


def _markdown(rows: list[Row], outcomes: Outcomes, policy: Policy) -> Iterator[str]:
    yield f"## audit gate: {summary(rows, outcomes)}"
    yield ""
    yield from markdown_table(_HEADING, (tuple(map(escaped, row.cells)) for row in rows))
    reasons = list(_reasons(rows, outcomes))
    if reasons:
        yield ""
        yield from (f"- {escaped(reason)}" for reason in reasons)
    yield ""
    yield f"policy: {escaped(policy.source)}"


def _document(rows: list[Row], outcomes: Outcomes, policy: Policy) -> dict[str, Any]:
    return {
        "gate_version": 1,
        "exit_status": outcomes.exit_status,
        "policy": policy.source,
        "rows": [
            {
                "study": row.study,
                "path": row.path,
                "claim": None if row.result is None else row.result.claim.text,
                "stands": None if row.result is None else row.result.stands,
                "reason": None if row.result is None else row.result.reason,
                "delta": row.delta,
                "seeds": row.seeds,
                "verdict": row.verdict,
            }
            for row in rows
        ],
        "files": [_file_document(file) for file in outcomes.files],
        "skipped": list(outcomes.skipped),
    }


def _file_document(file: FileOutcome) -> dict[str, Any]:
    entry: dict[str, Any] = {"path": file.name, "exit_status": file.exit_status}
    if file.error is not None:
        entry["error"] = str(file.error)
    if file.report is not None:
        entry["sha256"] = file.report.sha256
        entry["errors"] = file.report.count(Severity.ERROR)
        entry["warnings"] = file.report.count(Severity.WARNING)
    return entry
