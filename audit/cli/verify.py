"""``audit verify``: read, check, print, and say by the exit status what came of it."""

from __future__ import annotations

import argparse
import datetime
import os
import sys
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from audit.cli.examples import add_examples
from audit.cli.formats import FORMATS, Style, render
from audit.cli.outcomes import Outcomes, collect, read_file
from audit.errors import UsageError
from audit.policy import Policy, find_policy, today
from audit.report import Report, verify
from audit.results import Results
from audit.safetext import inert, visible

if TYPE_CHECKING:
    from audit.claims import Claim

PIPED_WIDTH = 100


EXAMPLES = (
    "audit verify results.json",
    "audit verify reports/ --format sarif -o audit.sarif",
    "audit verify results.json --claim 'gain accuracy method over control by 0.02'",
    "audit verify results.json --data train.jsonl -v",
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``audit verify``."""
    add_examples(parser, EXAMPLES)
    parser.add_argument(
        "paths", nargs="+", metavar="PATH", help="results file, folder, pattern, or - for stdin"
    )
    parser.add_argument("--data", metavar="FILE", help="training data (JSON Lines) to hash again")
    parser.add_argument("--artifacts", metavar="DIR", help="the checkpoint's files to hash again")
    parser.add_argument(
        "--claim",
        action="append",
        default=[],
        metavar="TEXT",
        help='claim to judge, e.g. "gain accuracy method over base"; may be repeated',
    )
    add_policy_options(parser)
    add_output_options(parser, tuple(FORMATS))


def add_policy_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that say which rules run and what fails."""
    parser.add_argument("--policy", metavar="FILE", help="policy file (else the nearest one found)")
    for name, does in (("--select", "run only"), ("--ignore", "leave out")):
        parser.add_argument(
            name,
            action="append",
            default=[],
            metavar="RULES",
            help=f"{does} these rules: ids, slugs or families, separated by commas",
        )
    parser.add_argument(
        "--fail-on", choices=("warning", "error"), help="severity from which the exit status is 1"
    )


def add_output_options(parser: argparse.ArgumentParser, formats: tuple[str, ...]) -> None:
    """Add the options that say what is printed, and where."""
    parser.add_argument(
        "--format",
        choices=formats,
        default=formats[0],
        metavar="FORMAT",
        help=f"what is printed: {', '.join(formats)} (%(default)s)",
    )
    parser.add_argument("--output", "-o", metavar="FILE", help="write there, not to stdout")
    loudness = parser.add_mutually_exclusive_group()
    loudness.add_argument("-v", "--verbose", action="store_true", help="list every place")
    loudness.add_argument("-q", "--quiet", action="store_true", help="leave out clean files")


def main(options: argparse.Namespace) -> int:
    """Run ``audit verify`` and return its exit status."""
    claims = _claims(options.claim)
    policy = policy_in_force(options)

    def check(results: Results) -> Report:
        own = with_options(policy.for_path(results.name), options)
        return verify(results, options.data, artifacts=options.artifacts, claims=claims, policy=own)

    outcomes = collect(options.paths, partial(read_file, check=check))
    options.outcomes = outcomes  # kept until the process ends, which need not take them apart
    report_unreadable(outcomes)
    report_unused_waivers(outcomes, policy)
    publish(render(options.format, outcomes, style_for(options)), options.output)
    return outcomes.exit_status


def _claims(texts: Iterable[str]) -> tuple[Claim, ...]:
    if not texts:
        return ()
    from audit.claims import parse_claim

    return tuple(parse_claim(text) for text in texts)


def policy_in_force(options: argparse.Namespace) -> Policy:
    """Return the policy, after checking that the rules it and the options name exist.

    Raises
    ------
    UsageError
        When the policy cannot be read, or a rule is unknown.
    """
    policy = find_policy(Path.cwd(), options.policy)
    _require_rules(policy, policy.source)
    _require_rules(with_options(Policy(), options), None)
    for waiver in policy.waivers:
        if datetime.date.fromisoformat(waiver.expires) < today():
            rule = visible(f"{waiver.rule} {waiver.pointer}".strip())
            print(
                f"audit: {policy.source}: the waiver of {rule} expired on {waiver.expires}",
                file=sys.stderr,
            )
    return policy


def with_options(policy: Policy, options: argparse.Namespace) -> Policy:
    """Return the policy with what the command line says put over it."""
    select, ignore = _names(options.select), _names(options.ignore)
    return replace(
        policy,
        select=select or policy.select,
        ignore=policy.ignore + ignore,
        fail_on=options.fail_on or policy.fail_on,
    )


def _names(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(name.strip() for text in texts for name in text.split(",") if name.strip())


def _require_rules(policy: Policy, source: str | None) -> None:
    from audit.rules import CATALOGUE

    known = {name for rule in CATALOGUE for name in (rule.id, rule.slug, rule.family)}
    overridden = [
        name
        for o in policy.overrides
        for key in ("select", "ignore")
        for name in o.values.get(key, ())
    ]
    waived = [waiver.rule for waiver in policy.waivers]
    for name in (*policy.select, *policy.ignore, *overridden, *waived):
        if name not in known:
            from audit.cli.explain import suggestion

            raise UsageError(f"no rule is called {name!r}{suggestion(name)}", path=source)


def report_unreadable(outcomes: Outcomes) -> None:
    """Print one line a file that could not be read, to stderr."""
    for file in outcomes.files:
        if file.error is not None:
            print(inert(f"audit: {visible(str(file.error))}"), file=sys.stderr)


def report_unused_waivers(outcomes: Outcomes, policy: Policy) -> None:
    """Print one line a waiver in force that met no finding, to stderr: it may be mistyped."""
    reports = [file.report for file in outcomes.files if file.report is not None]
    used = {finding.waiver for report in reports for finding in report.found}
    for waiver in policy.waivers if reports else ():
        expired = datetime.date.fromisoformat(waiver.expires) < today()
        if waiver not in used and not expired:
            rule = visible(f"{waiver.rule} {waiver.pointer}".strip())
            print(f"audit: {policy.source}: the waiver of {rule} met no finding", file=sys.stderr)


def style_for(options: argparse.Namespace) -> Style:
    """Return the layout that fits where the text goes."""
    terminal = options.output is None and sys.stdout.isatty()
    width = PIPED_WIDTH
    if terminal:
        try:
            columns = os.get_terminal_size(sys.stdout.fileno()).columns
        except OSError:
            columns = PIPED_WIDTH
        width = min(max(columns, 80), 120)
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return Style(
        width=width,
        colour=terminal and not plain,
        verbose=options.verbose,
        quiet=options.quiet,
        errors=options.output is not None,
    )


def publish(text: str, output: str | None) -> None:
    """Write the text to a file whole, or to stdout.

    Raises
    ------
    UsageError
        When the file cannot be written.
    """
    if output is None:
        sys.stdout.write(text)
        return
    from audit.writing import write_whole

    write_whole(output, text.encode("utf-8", "backslashreplace"))
