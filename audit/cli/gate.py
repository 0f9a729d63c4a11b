"""``audit gate``: a line a claim over many files, worst first; the exit status of the worst."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

from audit.cli.examples import add_examples
from audit.cli.fleet import text
from audit.cli.fleet.judging import Judge, lost, rows_of
from audit.cli.fleet.row import ORDERS, Row, in_order
from audit.cli.fleet.workers import each, with_bar
from audit.cli.formats import FORMATS, Style, render
from audit.cli.outcomes import FileOutcome, Outcomes, collect
from audit.cli.verify import (
    add_output_options,
    add_policy_options,
    policy_in_force,
    publish,
    report_unreadable,
    style_for,
)
from audit.errors import UsageError
from audit.policy import Policy
from audit.safetext import visible

PAGE = "html"
_FORMATS = (*FORMATS, PAGE)
# What names the line of a finding.
_LOCATED = ("github", "sarif")

EXAMPLES = (
    "audit gate reports/",
    "audit gate reports/ --claim 'gain accuracy method over control' --fail-on warning",
    "audit gate reports/ --changed-since origin/main --format github",
    "audit gate reports/ --also markdown=summary.md --also html=fleet.html --sort verdict",
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``audit gate``."""
    add_examples(parser, EXAMPLES)
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
    parser.add_argument(
        "--changed-since",
        metavar="REV",
        help="only files that the commits since this git revision changed; all of them where "
        "they changed the policy",
    )
    parser.add_argument(
        "--sort",
        choices=tuple(ORDERS),
        default="worst",
        help="order of the rows (worst: what fails first)",
    )
    parser.add_argument(
        "-j",
        "--jobs",
        type=int,
        metavar="N",
        help="files judged at once (one a processor where there are more than 32)",
    )
    add_policy_options(parser)
    add_output_options(parser, _FORMATS)
    parser.add_argument(
        "--also",
        action="append",
        default=[],
        metavar="FORMAT=FILE",
        help="write another format to a file in the same run; may be repeated",
    )


def main(options: argparse.Namespace) -> int:
    """Run ``audit gate`` and return its exit status."""
    from audit.claims import parse_claim

    if options.jobs is not None and options.jobs < 1:
        raise UsageError(f"--jobs must be at least 1, not {options.jobs}")
    also = [_also(entry) for entry in options.also]
    claims = tuple(parse_claim(text) for text in options.claim)
    policy = policy_in_force(options)
    located = any(name in _LOCATED for name in (options.format, *(name for name, _ in also)))
    judge = Judge(policy, options, claims, located)
    visit = partial(_visit, options)
    outcomes = collect(options.paths, judge, visit, wanted=_changed(options, policy))
    report_unreadable(outcomes)
    rows = in_order((row for file in outcomes.files for row in rows_of(file)), options.sort)
    for name, path in also:
        publish(_written(name, rows, outcomes, policy, Style()), path)
    shown = _written(options.format, rows, outcomes, policy, style_for(options))
    publish(shown, options.output)
    return outcomes.exit_status


def _visit(
    options: argparse.Namespace,
    judge: Callable[[str], FileOutcome],
    paths: Sequence[str],
) -> Iterator[FileOutcome]:
    jobs = 1 if "-" in paths else options.jobs  # only this process has the standard input
    results: Iterable[FileOutcome] = each(judge, paths, jobs, lost)
    return with_bar(results, len(paths), wanted=not options.quiet)


def _also(entry: str) -> tuple[str, str]:
    name, sign, path = entry.partition("=")
    if not sign or not path or name not in _FORMATS:
        raise UsageError(
            f"--also takes FORMAT=FILE with a format of {', '.join(_FORMATS)}, not {entry!r}"
        )
    return name, path


def _changed(options: argparse.Namespace, policy: Policy) -> Callable[[str], bool]:
    """Return which files are judged."""
    if options.changed_since is None:
        return lambda path: True
    from audit.cli.fleet.changes import changed_since

    changed = changed_since(options.changed_since)
    if os.path.realpath(policy.source) in changed:
        what = f"{policy.source} changed since {options.changed_since}"
        print(visible(f"audit: {what}: every file is judged"), file=sys.stderr)
        return lambda path: True
    return lambda path: path == "-" or os.path.realpath(path) in changed


def _written(
    name: str, rows: Sequence[Row], outcomes: Outcomes, policy: Policy, style: Style
) -> str:
    if name == "text":
        return text.text(rows, outcomes, policy, style)
    if name == "markdown":
        return text.markdown(rows, outcomes, policy)
    if name == "json":
        return text.json(rows, outcomes, policy)
    if name == PAGE:
        from audit.cli.fleet.page import page

        return page(rows, outcomes, policy)
    return render(name, outcomes, style)
