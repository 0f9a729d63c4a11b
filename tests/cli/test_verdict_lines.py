"""What the text report says of a verdict: on what it rests, and ends that do not seem to be 0."""

from __future__ import annotations

import pytest

from audit import numerals
from audit.analysis import Interval, analyse
from audit.claims import Claim
from audit.cli.formats.blocks import verdict_lines
from audit.results import from_document
from audit.simulation import Cell, simulate
from audit.views.comparison_view import ComparisonView, interval_text


def document() -> dict[str, object]:
    cell = Cell("arms", 120, (5, 5), (0.0, 0.0), 0.4, 0.1)
    return simulate(cell, cell.generator()).document()


def test_a_verdict_says_level_target_freedom_and_size() -> None:
    (comparison,) = analyse(from_document(document())).comparisons
    interval = comparison.deciding
    assert isinstance(interval, Interval)
    view = ComparisonView(comparison)
    text = view.judged_by
    start = f"95% interval for new tasks, training included; df {interval.df:.3g}, p "
    assert text.startswith(start)
    fixed = comparison.interval("benchmark")
    assert text.endswith(f"; for these tasks only {interval_text(fixed)}")
    assert view.size.endswith("; 5 v 5 runs (C), 120 tasks x 4")
    lines = verdict_lines(analyse(from_document(document())), 200)
    assert f"  {text}" in lines


def test_the_level_of_a_claim_is_the_one_printed() -> None:
    claim = Claim("gain", "accuracy", "recipe", "control", level=0.99, target="benchmark")
    (comparison,) = analyse(from_document(document()), claims=[claim]).comparisons
    start = "99% interval for these tasks only, training included; df "
    assert ComparisonView(comparison).judged_by.startswith(start)


def test_runs_left_out_by_pairing_are_named_with_the_reason() -> None:
    made = document()
    made["seed_results"][0]["seed"] = 77  # type: ignore[index]  # a list of runs
    claim = Claim("gain", "accuracy", "recipe", "control", pairing="seeds")
    (comparison,) = analyse(from_document(made), claims=[claim]).comparisons
    view = ComparisonView(comparison)
    assert view.size.endswith("; 4 v 4 runs (C), paired by seed, 120 tasks x 4")
    assert view.left_out == (
        "recipe 77: control has no run at this seed; control 0: recipe has no run at this seed"
    )


def test_a_comparison_without_a_verdict_is_judged_by_nothing() -> None:
    cell = Cell("arms", 120, (1, 1), (0.0, 0.0))
    (comparison,) = analyse(from_document(simulate(cell, cell.generator()).document())).comparisons
    assert ComparisonView(comparison).judged_by == ""


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
    assert numerals.interval(low, high, 3) == text
