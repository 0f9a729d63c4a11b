from __future__ import annotations

from typing import Any

import pytest
from cases import gppo, patched, places, reasons

CLAIM = {"metric": "accuracy", "arm": "method", "against": "grpo-control", "direction": "gain"}

BROKEN: list[tuple[dict[str, Any], str, set[str]]] = [
    (
        {"/evaluation_protocol/formal_comparison": True},
        "FLAG001",
        {"/evaluation_protocol/formal_comparison"},
    ),
    ({"/measured_locally": False}, "FLAG002", {"/measured_locally"}),
    ({"/seed_results/1/dataset/verified": False}, "FLAG003", {"/seed_results/1/dataset/verified"}),
    ({"/claims": [CLAIM]}, "FLAG004", {"/claims"}),
]


@pytest.mark.parametrize(("patches", "rule", "where"), BROKEN)
def test_what_a_file_says_against_itself_is_found(
    patches: dict[str, Any], rule: str, where: set[str]
) -> None:
    assert places(patched(gppo(), patches), rule) == where
    assert places(gppo(), rule) == set()


@pytest.mark.parametrize("rule", ["FLAG001", "FLAG002", "FLAG003", "FLAG004"])
def test_a_bare_run_leaves_the_check_open(rule: str) -> None:
    run = {"seed": 1, "method_metrics": {"accuracy": 0.5}}
    document = {"schema_version": 2, "method": "m", "seed_results": [run]}
    assert places(document, rule) == set()
    assert len(reasons(document, rule)) == 1
