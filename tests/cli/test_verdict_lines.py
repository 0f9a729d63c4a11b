"""What the text report says of a verdict: on what it rests, and ends that do not seem to be 0."""

from __future__ import annotations

import pytest

from audit.analysis import Interval, analyse
from audit.claims import Claim
from audit.cli.figures import ends
from audit.cli.verdicts import judged_by, left_out, verdict_lines
from audit import numerals as numbers
from audit.results import from_document
from audit.simulation import Cell, simulate


def document() -> dict[str, object]:
    cell = Cell("arms", 120, (5, 5), (0.0, 0.0), 0.4, 0.1)
    return simulate(cell, cell.generator()).document()


def test_a_verdict_says_level_target_freedom_runs_and_tasks() -> None:
    (comparison,) = analyse(from_document(document())).comparisons
    interval = comparison.deciding
    assert isinstance(interval, Interval)
    text = judged_by(comparison)
    assert text.startswith(f"95% interval about new tasks, df {interval.df:.3g}, p ")
    fixed = comparison.interval("benchmark")
    assert isinstance(fixed, Interval)
    assert f"these tasks alone {ends(fixed.low, fixed.high)}" in text
    assert text.endswith("; 5 v 5, 120 tasks")
    assert any(
        line.strip().startswith("judged by")
        for line in verdict_lines(analyse(from_document(document())), 100)
    )


def test_the_level_of_a_claim_is_the_one_printed() -> None:
    claim = Claim("gain", "accuracy", "recipe", "control", level=0.99, target="benchmark")
    (comparison,) = analyse(from_document(document()), claims=[claim]).comparisons
    assert judged_by(comparison).startswith("99% interval about these tasks alone, df ")


def test_runs_left_out_by_pairing_are_named_with_the_reason() -> None:
    made = document()
    made["seed_results"][0]["seed"] = 77  # type: ignore[index]  # a list of runs
    claim = Claim("gain", "accuracy", "recipe", "control", pairing="seeds")
    (comparison,) = analyse(from_document(made), claims=[claim]).comparisons
    assert judged_by(comparison).endswith("; 4 v 4, paired by seed, 120 tasks")
    assert left_out(comparison) == (
        "recipe 77: control has no run at this seed; control 0: recipe has no run at this seed"
    )


def test_a_refused_comparison_is_judged_by_nothing() -> None:
    cell = Cell("arms", 120, (1, 1), (0.0, 0.0))
    (comparison,) = analyse(from_document(simulate(cell, cell.generator()).document())).comparisons
    assert judged_by(comparison) == ""


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        (0.0003, 0.1, "[0.0003, 0.1000]"),
        (-0.0003, 0.1, "[-0.0003, +0.1000]"),
        (-0.1, -0.00004, "[-0.10000, -0.00004]"),
        (0.0, 0.1, "[0.000, 0.100]"),
        (-0.1, 0.0, "[-0.100, 0.000]"),
        (-0.2936, 0.46027, "[-0.294, +0.460]"),
    ],
)
def test_no_end_that_is_not_zero_reads_as_zero(low: float, high: float, text: str) -> None:
    assert ends(low, high) == text
    assert numbers.interval(low, high, 3) == text
