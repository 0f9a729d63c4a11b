from __future__ import annotations

from typing import Any

import pytest
from cases import full, gppo, patched, places

from audit.rules.float32 import to_float32

RUN = "/seed_results/0"
FIRST = RUN + "/training/1/updates/0"
CONTROL = "/controls/grpo-control/seed_results/0/training/1/updates/1"


def thousandth(value: float) -> float:
    return to_float32(value * 1.001)


BROKEN: list[tuple[dict[str, Any], str, set[str]]] = [
    (
        {FIRST + "/response_audits/1/max_abs_log_ratio": 0.003},
        "RATIO001",
        {FIRST + "/response_audits/1/max_abs_log_ratio"},
    ),
    (
        {FIRST + "/response_audits/1/clip_fraction": 0.0078125},
        "RATIO001",
        {FIRST + "/response_audits/1/clip_fraction"},
    ),
    (
        {CONTROL + "/response_audits/0/clip_fraction": thousandth(0.006849315017461777)},
        "RATIO002",
        {CONTROL + "/response_audits/0/clip_fraction"},
    ),
    (
        {CONTROL + "/response_audits/0/clip_fraction": to_float32(1 / 1000)},
        "RATIO002",
        {CONTROL + "/response_audits/0/clip_fraction"},
    ),
]


@pytest.mark.parametrize(("patches", "rule", "where"), BROKEN)
def test_a_share_or_ratio_that_was_not_computed_is_found(
    patches: dict[str, Any], rule: str, where: set[str]
) -> None:
    assert places(patched(gppo(), patches), rule) == where


@pytest.mark.parametrize("rule", [f"RATIO{n:03}" for n in range(1, 5)])
@pytest.mark.parametrize("base", [gppo, full])
def test_the_samples_hold_shares_that_were_computed(base: Any, rule: str) -> None:
    assert places(base(), rule) == set()


def test_clip_fractions_are_held_against_recorded_tokens() -> None:
    audit = "/seed_results/0/training/0/updates/1/response_audits/0"  # 4 of 6 tokens
    pointer = audit + "/clip_fraction"
    assert places(patched(full(), {pointer: to_float32(3 / 5)}), "RATIO003") == {pointer}
    assert places(patched(full(), {pointer: to_float32(3 / 6)}), "RATIO003") == set()
    gated = audit + "/gated_clip_fraction"
    assert places(patched(full(), {gated: to_float32(5 / 6)}), "RATIO004") == {gated}
