"""A newcomer's path: no option but the control, and what audit prints is enough to go on."""

from __future__ import annotations

import pytest

layouts = pytest.importorskip(
    "newcomer_layouts",
    reason="benchmarks/ is not beside these tests: they run against an installed wheel",
)


@pytest.mark.parametrize("layout", layouts.LAYOUTS, ids=lambda layout: layout.tool)
def test_at_most_one_printed_option_leads_from_the_files_to_a_verdict(layout: object) -> None:
    walked = layouts.walk(layout)
    assert walked.verdict in ("supported", "refused: interval-reaches-zero"), walked
    assert len(walked.questions) <= 1, walked.questions
