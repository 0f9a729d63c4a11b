"""``audit gate``: are the claims of many files supported? The exit status is that of the worst."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from audit.cli.examples import add_examples
from audit.cli.folder_of_runs import with_runs
from audit.cli.formats import FORMATS, Style, render
from audit.cli.judging_options import (
    add_output_options,
    add_paths,
    add_policy_options,
    choices_of,
    claims_of,
    not_searched,
    policy_in_force,
    report_not_searched,
    report_unreadable,
    style_for,
)
from audit.cli.looked_option import looked_of
from audit.cli.output import guard, publish
from audit.errors import InputError, UsageError, did_you_mean
from audit.fleet.families import joined
from audit.fleet.files import FileResult, FileResults, collect
from audit.fleet.judging import FINDINGS, PLACES, ROWS, BothPolicies, Judge
from audit.fleet.rows import ORDERS, Counts, Row, counts_of, rows_of
from audit.fleet.visiting import Visit, Visitor
from audit.fleet.workers import with_bar
from audit.policy import Policy, find_policy
from audit.safetext import visible

if TYPE_CHECKING:
    from audit.fleet.changes import Changes

PAGE = "html"
_FORMATS = (*FORMATS, PAGE)
# What names the line of a finding.
_LOCATED = frozenset({"github", "sarif"})
# What lists findings.
_OF_FINDINGS = frozenset({"junit"})

EXAMPLES = (
    "audit gate reports/",
    "audit gate reports/ --claim 'gain accuracy method over control' --fail-on warning",
    "audit gate reports/ --changed-since origin/main --format github",
    "audit gate reports/ --also markdown=summary.md --also html=fleet.html --sort verdict",
    "audit gate s3://bucket/reports --cache ~/.cache/audit",
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``audit gate``."""
    add_examples(parser, EXAMPLES)
    add_paths(parser)
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
        help="files judged at once (one per processor where there are more than 32)",
    )
    parser.add_argument("--scheduler", metavar="ADDRESS", help="judge on this Dask cluster instead")
    parser.add_argument(
        "--cache",
        metavar="FOLDER",
        help="keep results there, and take those of files that have not changed from there",
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
    if options.jobs is not None and options.jobs < 1:
        raise UsageError(f"--jobs must be at least 1, not {options.jobs}")
    also = [_also(entry) for entry in options.also]
    _require_distinct([options.output, *(path for _, path in also)])
    policy = policy_in_force(options)
    keeps = _kept_for({options.format, *(name for name, _ in also)})
    own = Judge(
        policy, choices_of(options), claims_of(options), keeps=keeps, looked=looked_of(options)
    )
    judge: Judge | BothPolicies = own
    changes = _changes(options)
    before_branch = None if changes is None else changes.commit[:12]
    change, before = _policy_changed(options, policy, before_branch)
    if change and before is not None:
        judge = BothPolicies(own, replace(own, policy=before))
        policy = replace(policy, source=f"{policy.source}, and {before.source}")
    wanted = _wanted(None if change else changes)
    with _visitor(options) as visit:
        found = collect(options.paths, partial(_visited, options, visit, judge), wanted=wanted)
        results = joined(with_runs(options, found, own.claims, judge.of_source), judge, visit)
    results = replace(results, policy_change=change, base=options.changed_since or "")
    if changes is not None:
        from audit.fleet.since import with_history

        results = with_history(results, changes, judge, options.paths)
    read = [*(file.name for file in results.files), options.policy, policy.source]
    for path in (options.output, *(path for _, path in also)):
        guard(path, read, force=options.force)
    if change:
        from audit.cli.formats.gate_text import policy_change_line

        print(visible(f"audit: {policy_change_line(results, policy)}"), file=sys.stderr)
    report_unreadable(results)
    report_not_searched(not_searched(results))
    rows = rows_of(results, options.sort)
    counts = counts_of(rows, results)
    for name, path in also:
        publish(_written(name, rows, counts, results, policy, Style()), path)
    shown = _written(options.format, rows, counts, results, policy, style_for(options))
    publish(shown, options.output)
    return results.exit_status


def _kept_for(formats: set[str]) -> str:
    """Return what must be kept of a file for these formats."""
    if formats & _LOCATED:
        return PLACES
    return FINDINGS if formats & _OF_FINDINGS else ROWS


@contextmanager
def _visitor(options: argparse.Namespace) -> Iterator[Visitor]:
    """Give what judges the files, where the options say."""
    cache = None
    if options.cache is not None:
        from audit.fleet.cache import cache_in

        cache = cache_in(options.cache, options.paths)
    if options.scheduler is None:
        yield Visitor(options.jobs, None, cache)
        return
    from audit.fleet.on_cluster import cluster_at

    with cluster_at(options.scheduler) as cluster:
        yield Visitor(options.jobs, cluster, cache)


def _visited(
    options: argparse.Namespace, visit: Visit, judge: Judge | BothPolicies, paths: Sequence[str]
) -> Iterator[FileResult]:
    results = visit([(judge, path) for path in paths])
    return with_bar(results, len(paths), wanted=not options.quiet)


def _also(entry: str) -> tuple[str, str]:
    name, sign, path = entry.partition("=")
    if not sign or not path or name not in _FORMATS:
        raise UsageError(
            f"--also takes FORMAT=FILE with a format of {', '.join(_FORMATS)}, not {entry!r}"
            f"{did_you_mean(name, _FORMATS)}"
        )
    return name, path


def _require_distinct(paths: Sequence[str | None]) -> None:
    """Refuse two products in one file: the second would replace the first."""
    seen: set[str] = set()
    for path in paths:
        place = None if path is None else os.path.realpath(path)
        if place is not None and place in seen:
            raise UsageError("is named for two formats; give each a file of its own", path=path)
        seen |= {place} if place is not None else set()


def _changes(options: argparse.Namespace) -> Changes | None:
    """Return what the branch changed; None where all files are asked for."""
    if options.changed_since is None:
        return None
    from audit.fleet.changes import changes_since

    return changes_since(options.changed_since)


def _wanted(changes: Changes | None) -> Callable[[str], bool]:
    """Return which files are judged: those that changed, else all."""
    if changes is None:
        return lambda path: True
    return lambda path: path == "-" or changes.touched(path)


def _policy_changed(
    options: argparse.Namespace, policy: Policy, commit: str | None
) -> tuple[str, Policy | None]:
    """Return what the branch changed about the policy, in words, and the policy it began with.

    That one judges beside ``policy``; it is None where ``policy`` is already another revision's.
    """
    if commit is None and options.policy_from is None:
        return "", None
    from audit.fleet.policy_change import policy_change

    before = policy if commit is None else _policy_before(options, policy, commit)
    now = policy if options.policy_from is None else _policy_here(options)
    change = policy_change(before, now)
    return change, None if options.policy_from else before


def _policy_here(options: argparse.Namespace) -> Policy | None:
    """Return the policy of the work tree; None where there is none to be read."""
    try:
        return find_policy(Path.cwd(), options.policy)
    except (InputError, UsageError):
        return None


def _policy_before(options: argparse.Namespace, policy: Policy, commit: str) -> Policy:
    """Return the policy where the branch began; without one there, the built-in defaults."""
    from audit.fleet.changes import inside
    from audit.policy import at_revision

    if options.policy is not None and not inside(options.policy):
        return policy  # no revision of this repository covers it
    try:
        return at_revision(Path.cwd(), commit, options.policy)
    except (InputError, UsageError):  # the file named by the user was not there, or was none
        if options.policy is None:
            raise
        return Policy()


def _written(
    name: str,
    rows: Sequence[Row],
    counts: Counts,
    results: FileResults,
    policy: Policy,
    style: Style,
) -> str:
    if name == "text":
        from audit.cli.formats.gate_text import gate_text

        return gate_text(rows, counts, results, policy, style)
    if name == "markdown":
        from audit.cli.formats.gate_markdown import gate_markdown

        return gate_markdown(rows, counts, results, policy)
    if name == "json":
        from audit.cli.formats.gate_json import gate_json

        return gate_json(rows, counts, results, policy)
    if name == PAGE:
        from audit.cli.formats.gate_page import gate_page

        return gate_page(rows, counts, results, policy)
    return render(name, results, style)
