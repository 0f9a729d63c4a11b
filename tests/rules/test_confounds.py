from __future__ import annotations

from typing import Any

import pytest
from cases import full, gppo, outcomes, patched, places, reasons

from audit.finding import Severity
from audit.rules import Failed

ARM = "/controls/grpo-control"
TOP_TOKENS = [f"/seed_results/{i}/method_metrics/generated_tokens" for i in range(3)]
TOP_ACCURACY = [f"/seed_results/{i}/method_metrics/accuracy" for i in range(3)]
CUT = [f"{ARM}/seed_results/{i}/method_metrics/truncated_responses" for i in range(3)]


def _severities(document: dict[str, Any], rule: str) -> list[Severity | None]:
    return [o.severity for o in outcomes(document, rule) if isinstance(o, Failed)]


@pytest.mark.parametrize(("tokens", "where"), [(3400, {ARM}), (3300, set()), (2200, {ARM})])
def test_a_gain_beside_a_fifth_more_or_less_length_is_found(tokens: int, where: set[str]) -> None:
    document = patched(gppo(), dict.fromkeys(TOP_TOKENS, tokens))
    assert places(document, "CONF001") == where


def test_a_length_shift_without_a_gain_is_no_finding() -> None:
    document = patched(gppo(), dict.fromkeys(TOP_TOKENS, 3400) | dict.fromkeys(TOP_ACCURACY, 0.5))
    assert places(document, "CONF001") == set()


def test_a_wide_gap_in_cut_off_responses_beside_a_gain_is_a_warning() -> None:
    document = patched(gppo(), dict.fromkeys(CUT, 2))
    assert places(document, "CONF002") == {ARM}
    assert _severities(document, "CONF002") == [Severity.WARNING]


def test_a_small_gap_as_large_as_the_gain_is_information() -> None:
    assert places(gppo(), "CONF002") == {ARM}
    assert _severities(gppo(), "CONF002") == [Severity.INFO]


def test_equal_truncation_is_no_finding() -> None:
    document = patched(gppo(), {CUT[0]: 1, CUT[1]: 0, CUT[2]: 0})
    assert places(document, "CONF002") == set()


def test_errored_samples_are_counted_both_ways() -> None:
    at = "/seed_results/0/evaluation/errored"
    document = patched(full(), {at + "/9": 2})
    (found,) = [o for o in outcomes(document, "CONF003") if isinstance(o, Failed)]
    assert found.pointer == at
    assert found.message == "2 samples of 1 tasks ended in an error: 33/40 with them, 33/38 without"
    assert places(full(), "CONF003") == set()


def test_what_is_not_recorded_is_not_checked() -> None:
    bare = patched(
        gppo(), {}, [f"{ARM}/seed_results/{i}/method_metrics/examples" for i in range(3)]
    )
    for rule in ("CONF001", "CONF002"):
        assert len(reasons(bare, rule)) == 1
        assert places(bare, rule) == set()
    alone = patched(gppo(), {}, ["/controls"])
    assert reasons(alone, "CONF001") == {"there is no other arm"}
    assert reasons(gppo(), "CONF003") == {"no evaluation records errored"}
