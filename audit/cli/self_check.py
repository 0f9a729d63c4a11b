"""``audit self-check``: how often the shipped rule is wrong, by simulation on this machine."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from audit import numerals
from audit.cli.examples import add_examples
from audit.cli.formats.json_text import json_text
from audit.cli.layout import text_table
from audit.cli.output import add_output, guard, publish
from audit.errors import UsageError

if TYPE_CHECKING:
    from audit.simulation import Cell

NOMINAL = 0.05
# A rate whose 95% interval lies above this is a rule that does not keep its word.
HIGHEST_LOWER_LIMIT = 0.06
_TASKS = 120


EXAMPLES = (
    "audit self-check",
    "audit self-check --studies 100 --format json -o rates.json",
)


@dataclass(frozen=True, slots=True)
class CellResult:
    """A cell and the studies that were called a gain or a loss in it."""

    cell: Cell
    studies: int
    called: int

    @property
    def limits(self) -> tuple[float, float]:
        """Wilson's 95% interval of the rate."""
        from audit.stats import wilson

        found = wilson(self.called, self.studies)
        return found.low, found.high

    @property
    def wrong(self) -> bool:
        """Whether the rule does not keep its word in this cell."""
        if self.cell.seeds[0] < 2 or self.cell.kind == "copies":
            return self.called > 0
        return not self.cell.delta and self.limits[0] > HIGHEST_LOWER_LIMIT


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``audit self-check``."""
    add_examples(parser, EXAMPLES)
    parser.add_argument("--studies", type=int, default=500, help="studies a cell (500)")
    parser.add_argument("--format", choices=("text", "json"), default="text")
    add_output(parser)


def main(options: argparse.Namespace) -> int:
    """Run ``audit self-check``; 1 when a cell is out of bounds."""
    if not 1 <= options.studies <= 10**6:
        raise UsageError(f"--studies must lie from 1 to 1000000, not {options.studies}")
    results = []
    wanted = list(cells())
    for number, cell in enumerate(wanted, start=1):
        print(f"audit: cell {number} of {len(wanted)}", file=sys.stderr)
        results.append(check_cell(cell, options.studies))
    if options.format == "json":
        text = json_text({"nominal": NOMINAL, "cells": [_document(r) for r in results]})
    else:
        text = "\n".join(_lines(results)) + "\n"
    guard(options.output, (), force=options.force)
    publish(text, options.output)
    return int(any(result.wrong for result in results))


def cells() -> Iterator[Cell]:
    """Yield what is checked: one seed, no difference, copies, and a true gain."""
    from audit.simulation import Cell

    for sd in (0.0, 0.03):
        yield Cell("arms", _TASKS, (1, 1), (sd, sd))
    for seeds in (3, 5):
        for sds in ((0.0, 0.0), (0.03, 0.03), (0.05, 0.05), (0.01, 0.05)):
            yield Cell("arms", _TASKS, (seeds, seeds), sds)
    yield Cell("copies", _TASKS, (5, 5), (0.03, 0.03))
    for seeds in (3, 5):
        yield Cell("arms", _TASKS, (seeds, seeds), (0.03, 0.03), delta=0.1)


def check_cell(cell: Cell, studies: int) -> CellResult:
    """Simulate a cell's studies and judge each as a results file."""
    from audit.analysis import analyse
    from audit.results import from_document
    from audit.simulation import simulate

    random, called = cell.generator(), 0
    for _ in range(studies):
        document = simulate(cell, random).document()
        (comparison,) = analyse(from_document(document)).comparisons
        called += comparison.decision is not None and comparison.decision.word != "flat"
    return CellResult(cell, studies, called)


def _lines(results: list[CellResult]) -> Iterator[str]:
    yield f"{results[0].studies} simulated studies a cell, {_TASKS} tasks, 4 answers per task;"
    yield f"called a gain or a loss where there is none: at most {NOMINAL} of them, none without"
    yield "replication. Beside it a true gain, which should be seen."
    yield ""
    yield from text_table(
        ("study", "seeds", "training sd", "called", "95% interval", ""), map(_row, results)
    )


def _row(result: CellResult) -> tuple[str, ...]:
    cell = result.cell
    what = f"gain of {cell.delta:g}" if cell.delta else "no difference"
    if cell.kind == "copies":
        what = "one run under 5 seeds"
    sds = sorted(set(cell.seed_sd))
    low, high = result.limits
    return (
        what,
        f"{cell.seeds[0]} v {cell.seeds[1]}",
        " and ".join(f"{sd:g}" for sd in sds),
        numerals.fraction(result.called / result.studies, 3),
        numerals.interval(low, high, 3),
        "out of bounds" if result.wrong else "",
    )


def _document(result: CellResult) -> dict[str, Any]:
    from dataclasses import asdict

    low, high = result.limits
    return {
        **asdict(result.cell),
        "studies": result.studies,
        "called": result.called,
        "low": low,
        "high": high,
        "out_of_bounds": result.wrong,
    }
