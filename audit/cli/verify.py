"""``audit verify``: read, check, print, and say by the exit status what came of it."""

from __future__ import annotations

import argparse
from functools import partial

from audit.cli.examples import add_examples
from audit.cli.folder_of_runs import with_runs
from audit.cli.formats import FORMATS, render
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
    report_unused_waivers,
    style_for,
)
from audit.cli.looked_option import looked_of
from audit.cli.output import guard, publish
from audit.cli.statements import is_statement, verify_statements
from audit.fleet.families import joined
from audit.fleet.files import collect
from audit.fleet.judging import WHOLE, Judge
from audit.fleet.visiting import Visitor

EXAMPLES = (
    "audit verify results.json",
    "audit verify reports/ --format sarif -o audit.sarif",
    "audit verify results.json --claim 'gain accuracy method over control by 0.02'",
    "audit verify results.json --data train.jsonl -v",
    "audit verify results.intoto.json",
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``audit verify``."""
    add_examples(parser, EXAMPLES)
    add_paths(parser)
    parser.add_argument("--data", metavar="FILE", help="training data (JSON Lines) to hash again")
    parser.add_argument("--artifacts", metavar="DIR", help="the checkpoint's files to hash again")
    add_policy_options(parser)
    add_output_options(parser, tuple(FORMATS))


def main(options: argparse.Namespace) -> int:
    """Run ``audit verify`` and return its exit status."""
    if any(is_statement(path) for path in options.paths):
        return verify_statements(options)
    policy = policy_in_force(options)
    judge = Judge(
        policy,
        choices_of(options),
        claims_of(options),
        keeps=WHOLE,
        looked=looked_of(options),
        data=options.data,
        artifacts=options.artifacts,
    )
    found = with_runs(
        options, collect(options.paths, partial(map, judge)), judge.claims, judge.of_source
    )
    results = joined(found, judge, Visitor())
    read = [file.name for file in results.files]
    guard(options.output, [*read, options.data, options.policy, policy.source], force=options.force)
    options.results = results  # kept until the process ends, which need not take them apart
    report_unreadable(results)
    report_not_searched(not_searched(results))
    report_unused_waivers(results, policy)
    publish(render(options.format, results, style_for(options)), options.output)
    return results.exit_status
