"""``audit demo``: the whole way on data that is shipped."""

from __future__ import annotations

import argparse
import hashlib
import sys

from audit.claims import parse_claim
from audit.cli.examples import add_examples
from audit.cli.fleet import text
from audit.cli.fleet.judging import judged
from audit.cli.formats import Style, render
from audit.cli.headline import headline
from audit.cli.outcomes import FileOutcome, Outcomes
from audit.reading import Source
from audit.report import verify
from audit.resources import resource
from audit.results import from_source

SHIPPED = "reports/gppo-framework/results.json"
CLAIM = "gain accuracy method over grpo-control"
EXAMPLES = ("audit demo",)


def configure(parser: argparse.ArgumentParser) -> None:
    """``audit demo`` has no options."""
    add_examples(parser, EXAMPLES)


def main(options: argparse.Namespace) -> int:
    """Verify the shipped study, then claim a gain of it; the status is 0 once both ran."""
    data = resource(SHIPPED).read_bytes()
    results = from_source(Source(SHIPPED, data, hashlib.sha256(data).hexdigest()))
    report = verify(results)
    outcome = FileOutcome(SHIPPED, report, None, report.exit_status, headline(results))
    print(f"$ audit verify {SHIPPED}", flush=True)
    sys.stdout.write(render("text", Outcomes((outcome,)), Style()))
    claimed = verify(results, claims=(parse_claim(CLAIM),))
    file = judged(FileOutcome(SHIPPED, claimed, None, claimed.exit_status))
    print(f'\n$ audit gate {SHIPPED} --claim "{CLAIM}"', flush=True)
    sys.stdout.write(text.text(file.rows, Outcomes((file,)), claimed.policy, Style()))
    return 3 if 3 in (report.exit_status, claimed.exit_status) else 0
