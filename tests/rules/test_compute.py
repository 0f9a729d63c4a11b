from __future__ import annotations

from typing import Any

import pytest
from cases import full, gppo, outcomes, patched, places, reasons

from audit.rules import Failed

ARM = "/controls/grpo-control"
TOKENS = "sampling/generated_training_tokens_including_rejected_groups"
TOP = [f"/seed_results/{i}/{TOKENS}" for i in range(3)]
CONTROL = [f"{ARM}/seed_results/{i}/{TOKENS}" for i in range(3)]
EQUAL: dict[str, object] = dict.fromkeys([*TOP, *CONTROL], 5000)


def test_the_study_with_unequal_tokens_says_both_sums() -> None:
    (found,) = [o for o in outcomes(gppo(), "COMP001") if isinstance(o, Failed)]
    assert found.pointer == ARM
    assert "23,762" in found.message
    assert "16,276" in found.message


@pytest.mark.parametrize(
    ("tokens", "where"), [(5500, set()), (5501, {ARM}), (4545, {ARM}), (4546, set())]
)
def test_over_a_tenth_apart_is_unmatched(tokens: int, where: set[str]) -> None:
    document = patched(gppo(), EQUAL | dict.fromkeys(TOP, tokens))
    assert places(document, "COMP001") == where


def test_tokens_are_compared_per_run() -> None:
    document = patched(gppo(), EQUAL, ["/seed_results/2"])
    assert places(document, "COMP001") == set()


FLAG = ARM + "/matched_actual_compute"
BUDGET = ARM + "/matched_upper_bound_budget"
COST = "/seed_results/0/cost"
BROKEN: list[tuple[Any, dict[str, Any], str, set[str]]] = [
    (gppo, {FLAG: True}, "COMP002", {FLAG}),
    (gppo, EQUAL, "COMP002", {FLAG}),
    (gppo, EQUAL | {FLAG: True}, "COMP002", set()),
    (gppo, {BUDGET: False}, "COMP003", {BUDGET}),
    (gppo, {f"{ARM}/seed_results/0/protocol/max_tokens": 256}, "COMP003", {BUDGET}),
    (full, {COST + "/generated_tokens": 1}, "COMP004", {COST + "/generated_tokens"}),
    (full, {COST + "/trained_tokens": 10**9}, "COMP004", {COST + "/trained_tokens"}),
]


@pytest.mark.parametrize(("base", "patches", "rule", "where"), BROKEN)
def test_a_flag_or_count_that_contradicts_is_found(
    base: Any, patches: dict[str, Any], rule: str, where: set[str]
) -> None:
    found = places(patched(base(), patches), rule)
    assert where <= found
    assert bool(found) == bool(where)


@pytest.mark.parametrize("rule", ["COMP002", "COMP003", "COMP004"])
@pytest.mark.parametrize("base", [full, gppo])
def test_the_samples_flag_their_costs_rightly(base: Any, rule: str) -> None:
    assert places(base(), rule) == set()


@pytest.mark.parametrize("rule", ["COMP001", "COMP002", "COMP003", "COMP004"])
def test_a_bare_run_leaves_the_check_open(rule: str) -> None:
    run = {"seed": 1, "method_metrics": {"accuracy": 0.5}}
    document = {"schema_version": 2, "method": "m", "seed_results": [run]}
    assert places(document, rule) == set()
    assert len(reasons(document, rule)) == 1
