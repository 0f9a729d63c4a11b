"""What ``verify`` and ``gate`` share on the command line: claims, policy, output, what is said."""

from __future__ import annotations

import argparse
import datetime
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from audit.cli.formats import Style
from audit.cli.looked_option import add_looked
from audit.cli.output import add_output
from audit.cli.terminal import AUTO, WHEN, shows_colour, width_of
from audit.errors import UsageError
from audit.fleet.files import FileResults
from audit.fleet.judging import Choices
from audit.numerals import counted
from audit.policy import Policy, find_policy, today
from audit.safetext import inert, visible

if TYPE_CHECKING:
    from audit.claims import Claim


def add_paths(parser: argparse.ArgumentParser) -> None:
    """Add what is judged, and the claims to judge."""
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
    add_looked(parser)


def claims_of(options: argparse.Namespace) -> tuple[Claim, ...]:
    """Return the claims of the command line."""
    if not options.claim:
        return ()
    from audit.claims import parse_claim

    return tuple(parse_claim(text) for text in options.claim)


def add_policy_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that say which rules run and what fails."""
    add_policy_source(parser)
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


def add_policy_source(parser: argparse.ArgumentParser) -> None:
    """Add the options that say where the policy is read."""
    parser.add_argument("--policy", metavar="FILE", help="policy file (else the nearest one found)")
    parser.add_argument(
        "--policy-from",
        metavar="REV",
        help="the policy as it stands at this git revision, whatever the working tree says",
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
    add_output(parser)
    parser.add_argument(
        "--color", choices=WHEN, default=AUTO, help="colours, on a terminal where left to itself"
    )
    loudness = parser.add_mutually_exclusive_group()
    loudness.add_argument("-v", "--verbose", action="store_true", help="list every place")
    loudness.add_argument("-q", "--quiet", action="store_true", help="only what fails")


def choices_of(options: argparse.Namespace) -> Choices:
    """Return what the command line says over the policy."""
    return Choices(_names(options.select), _names(options.ignore), options.fail_on)


def policy_in_force(options: argparse.Namespace) -> Policy:
    """Return the policy, after checking that the rules it and the options name exist.

    Raises
    ------
    UsageError
        When the policy cannot be read, or a rule is unknown.
    """
    _require_rules(choices_of(options).over(Policy()), None)
    return policy_named(options)


def policy_named(options: argparse.Namespace) -> Policy:
    """Return the policy as it was read, after checking that the rules it names exist.

    Raises
    ------
    UsageError
        When the policy cannot be read, or names a rule that is unknown.
    """
    policy = _policy(options)
    _require_rules(policy, policy.source)
    for waiver in policy.waivers:
        if datetime.date.fromisoformat(waiver.expires) < today():
            rule = visible(f"{waiver.rule} {waiver.pointer}".strip())
            print(
                f"audit: {policy.source}: the waiver of {rule} expired on {waiver.expires}",
                file=sys.stderr,
            )
    return policy


def _policy(options: argparse.Namespace) -> Policy:
    if options.policy_from is None:
        return find_policy(Path.cwd(), options.policy)
    from audit.policy import at_revision

    return at_revision(Path.cwd(), options.policy_from, options.policy)


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


def report_unreadable(results: FileResults) -> None:
    """Print one line per file that could not be read, to stderr."""
    for file in results.files:
        if file.error is not None:
            print(inert(f"audit: {visible(str(file.error))}"), file=sys.stderr)


def not_searched(results: FileResults) -> dict[str, list[str]]:
    """Return the files whose earlier versions were not all searched, by the reason."""
    files: dict[str, list[str]] = {}
    for file in results.files:
        if file.not_searched:
            files.setdefault(file.not_searched, []).append(file.name)
    return files


def report_not_searched(files: Mapping[str, Sequence[str]]) -> None:
    """Print one line per reason why earlier versions of files were not searched, to stderr."""
    for reason, names in files.items():
        which = names[0] if len(names) == 1 else counted(len(names), "file")
        print(
            inert(f"audit: {visible(which)}: earlier versions not checked for looks: {reason}"),
            file=sys.stderr,
        )


def report_unused_waivers(results: FileResults, policy: Policy) -> None:
    """Print one line per waiver in force that met no finding, to stderr: it may be mistyped."""
    reports = [file.report for file in results.files if file.report is not None]
    used = {finding.waiver for report in reports for finding in report.found}
    for waiver in policy.waivers if reports else ():
        expired = datetime.date.fromisoformat(waiver.expires) < today()
        if waiver not in used and not expired:
            rule = visible(f"{waiver.rule} {waiver.pointer}".strip())
            print(f"audit: {policy.source}: the waiver of {rule} met no finding", file=sys.stderr)


def style_for(options: argparse.Namespace) -> Style:
    """Return the layout that fits where the text goes."""
    terminal = options.output is None and sys.stdout.isatty()
    return Style(
        width=width_of(terminal=terminal),
        colour=options.output is None and shows_colour(options.color, terminal=terminal),
        verbose=options.verbose,
        quiet=options.quiet,
        errors=options.output is not None,
    )
