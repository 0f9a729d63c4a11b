"""``audit demo``: the whole way on data that is shipped."""

from __future__ import annotations

import argparse
import sys

from audit.claims import parse_claim
from audit.cli.examples import add_examples
from audit.cli.formats import Style, render
from audit.cli.formats.gate_text import gate_text
from audit.fleet.files import FileResults
from audit.fleet.judging import judged
from audit.fleet.rows import counts_of, rows_of
from audit.reading import source_of
from audit.report import verify
from audit.resources import resource
from audit.results import from_source
from audit.views.study_view import study_in_words

SHIPPED = "reports/gppo-framework/results.json"
CLAIM = "gain accuracy method over grpo-control"
EXAMPLES = ("audit demo",)


def configure(parser: argparse.ArgumentParser) -> None:
    """``audit demo`` has no options."""
    add_examples(parser, EXAMPLES)


def main(options: argparse.Namespace) -> int:
    """Verify the shipped study, then claim a gain of it; the status is 0 once both ran."""
    data = resource(SHIPPED).read_bytes()
    results = from_source(source_of(SHIPPED, data))
    report = verify(results)
    print(f"$ audit verify {SHIPPED}", flush=True)
    files = FileResults((judged(report, study_in_words(results)),))
    sys.stdout.write(render("text", files, Style()))
    claimed = verify(results, claims=(parse_claim(CLAIM),))
    files = FileResults((judged(claimed),))
    rows = rows_of(files)
    print(f'\n$ audit gate {SHIPPED} --claim "{CLAIM}"', flush=True)
    sys.stdout.write(gate_text(rows, counts_of(rows, files), files, claimed.policy, Style()))
    return 3 if 3 in (report.exit_status, claimed.exit_status) else 0
