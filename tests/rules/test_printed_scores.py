"""A printed score of an arm against the runs it is the mean of."""

from __future__ import annotations

import pytest

from audit.report import verify
from audit.results import from_document


@pytest.mark.parametrize(
    ("printed", "scores", "found"),
    [
        (0.947, [0.98, 0.976, 0.927, 0.905], False),
        (0.9471875, [0.98, 0.976, 0.927, 0.905], False),  # runs rounded to 3 digits, mean exact
        (0.94762, [0.98, 0.976, 0.927, 0.905], True),  # beyond half a unit of the runs' digits
        (0.9, [0.98, 0.976, 0.927, 0.905], True),
        (0.5001, [0.5123456789, 0.4876543211], True),  # computed runs leave no room
        (0.5, [0.5123456789, 0.4876543211], False),
    ],
)
def test_a_mean_may_be_as_far_off_as_rounding_takes_it(
    printed: float, scores: list[float], found: bool
) -> None:
    def runs(values: list[float]) -> list[dict[str, object]]:
        return [{"seed": n, "method_metrics": {"accuracy": v}} for n, v in enumerate(values)]

    document = {
        "schema_version": 2,
        "method": "a",
        "seed_results": runs(scores),
        "controls": {"b": {"seed_results": runs([0.1, 0.2])}},
        "reported": {"arms": {"a": {"score": printed}}},
    }
    report = verify(from_document(document))
    assert any(finding.rule == "PRINT004" for finding in report.findings) is found
