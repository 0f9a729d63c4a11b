"""A printed pass@k against the counts of answers beside it."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import audit
from audit.results import from_document

CELLS = [(2, 4), (0, 4), (4, 4), (1, 4), (3, 5)]


def brute_force(cells: list[tuple[int, int]], k: int, *, every: bool = False) -> float:
    """Return the share of subsets of k answers with a right one (all right), mean over tasks."""
    rates = []
    for right, drawn in cells:
        answers = [1] * right + [0] * (drawn - right)
        subsets = list(combinations(answers, k))
        hits = sum(all(subset) if every else any(subset) for subset in subsets)
        rates.append(Fraction(hits, len(subsets)))
    return float(sum(rates) / len(rates))


def found(metrics: dict[str, Any], cells: list[tuple[int, int]] = CELLS) -> list[str]:
    document = {
        "schema_version": 2,
        "method": "recipe",
        "seed_results": [
            {
                "seed": 1,
                "method_metrics": metrics,
                "evaluation": {
                    "benchmark": "sums",
                    "correct": [right for right, _ in cells],
                    "samples": [drawn for _, drawn in cells],
                },
            }
        ],
        "controls": {},
    }
    report = audit.verify(from_document(document))
    return [finding.pointer for finding in report.found if finding.rule == "PRINT007"]


@pytest.mark.parametrize(
    ("name", "value", "right"),
    [
        ("pass@2", brute_force(CELLS, 2), True),
        ("pass@2", round(brute_force(CELLS, 2), 3), True),
        ("pass@2", round(100 * brute_force(CELLS, 2), 1), True),
        ("pass_at_2", brute_force(CELLS, 2), True),
        ("best@4", brute_force(CELLS, 4), True),
        ("pass^2", brute_force(CELLS, 2, every=True), True),
        # Drawn with replacement: 1 - (1 - c / n)^k.
        ("pass@2", sum(1 - (1 - c / n) ** 2 for c, n in CELLS) / len(CELLS), False),
        ("pass^2", brute_force(CELLS, 2), False),
    ],
)
def test_a_printed_pass_at_k_is_recomputed(name: str, value: float, right: bool) -> None:
    assert found({"accuracy": 0.5, name: value}) == (
        [] if right else [f"/seed_results/0/method_metrics/{name}"]
    )


def test_more_answers_than_were_drawn_are_not_recomputed() -> None:
    assert found({"accuracy": 0.5, "pass@5": 0.5}) == []


@given(
    st.lists(
        st.integers(2, 6).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))),
        min_size=1,
        max_size=6,
    ),
    st.integers(1, 2),
)
def test_exact_figures_are_never_called_wrong(cells: list[tuple[int, int]], k: int) -> None:
    assert found({"accuracy": 0.5, f"pass@{k}": brute_force(cells, k)}, cells) == []
