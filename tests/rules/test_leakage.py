from __future__ import annotations

from typing import Any

import pytest
from cases import full, gppo, outcomes, patched, places, reasons

from audit.finding import Severity
from audit.rules import Failed

BASES = {"gppo": gppo, "full": full}
RUN = "/seed_results/0"
CHECKS = "/controls/grpo-control/execution_checks"
EVAL = RUN + "/evaluation"

BROKEN: list[tuple[str, dict[str, Any], str, set[str]]] = [
    ("gppo", {"/dataset/test_read": True}, "LEAK001", {"/dataset/test_read"}),
    ("gppo", {RUN + "/protocol/test_opened": True}, "LEAK001", {RUN + "/protocol/test_opened"}),
    ("gppo", {CHECKS + "/official_test_read": True}, "LEAK001", {CHECKS + "/official_test_read"}),
    (
        "gppo",
        {RUN + "/protocol/gold_in_generation": True},
        "LEAK002",
        {RUN + "/protocol/gold_in_generation"},
    ),
    ("gppo", {CHECKS + "/gold_in_policy": True}, "LEAK002", {CHECKS + "/gold_in_policy"}),
    (
        "gppo",
        {"/evaluation_protocol/test_used_for_selection": True},
        "LEAK003",
        {"/evaluation_protocol/test_used_for_selection"},
    ),
    ("full", {EVAL + "/selected_on": "test"}, "LEAK003", {EVAL + "/selected_on"}),
    ("full", {EVAL + "/selected_on": "validation"}, "LEAK003", {EVAL + "/selected_on"}),
    ("gppo", {CHECKS + "/official_test_read": True}, "LEAK004", {CHECKS + "/official_test_read"}),
    ("gppo", {CHECKS + "/gold_in_policy": True}, "LEAK004", {CHECKS + "/gold_in_policy"}),
    ("full", {"/holdout/dropped": 5}, "LEAK005", {"/holdout/dropped"}),
    ("full", {"/holdout/holdout_rows": 9}, "LEAK005", {"/holdout/holdout_rows"}),
]


@pytest.mark.parametrize(("base", "patches", "rule", "where"), BROKEN)
def test_a_leak_is_found_where_it_is_recorded(
    base: str, patches: dict[str, Any], rule: str, where: set[str]
) -> None:
    assert places(patched(BASES[base](), patches), rule) == where


@pytest.mark.parametrize("rule", [f"LEAK00{i}" for i in range(1, 6)])
@pytest.mark.parametrize("base", BASES)
def test_the_samples_have_no_leak(base: str, rule: str) -> None:
    assert places(BASES[base](), rule) == set()


def test_a_checkpoint_chosen_on_the_judged_split_is_worse_where_that_is_the_test_split() -> None:
    patches: dict[str, object] = {EVAL + "/selected_on": "validation"}
    (found,) = [o for o in outcomes(patched(full(), patches), "LEAK003") if isinstance(o, Failed)]
    assert found.severity == Severity.WARNING
    patches = {EVAL + "/selected_on": "test", EVAL + "/split": "test"}
    (found,) = [o for o in outcomes(patched(full(), patches), "LEAK003") if isinstance(o, Failed)]
    assert found.severity is None


@pytest.mark.parametrize("rule", [f"LEAK00{i}" for i in range(1, 6)])
def test_a_bare_run_leaves_the_check_open(rule: str) -> None:
    run = {"seed": 1, "method_metrics": {"accuracy": 0.5}}
    document = {"schema_version": 2, "method": "m", "seed_results": [run]}
    assert places(document, rule) == set()
    assert len(reasons(document, rule)) == 1
