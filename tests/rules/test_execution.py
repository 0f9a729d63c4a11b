from __future__ import annotations

from typing import Any

import pytest
from cases import full, gppo, patched, places, reasons

CHECKS = "/controls/grpo-control/execution_checks"
CONTROL = "/controls/grpo-control/seed_results"
LISTS = {
    "EXEC002": "rollout_groups_per_seed",
    "EXEC003": "actual_gradient_steps",
    "EXEC004": "rejected_zero_advantage_groups",
    "EXEC005": "generated_tokens_including_rejected_groups",
}

BROKEN: list[tuple[dict[str, Any], list[str], str, set[str]]] = [
    ({CHECKS + "/completed_seeds": 4}, [], "EXEC001", {CHECKS + "/completed_seeds"}),
    ({CONTROL + "/2/status": "failed"}, [], "EXEC001", {CHECKS + "/completed_seeds"}),
    ({}, [CONTROL + "/2/training/2"], "EXEC002", {CHECKS + "/rollout_groups_per_seed/2"}),
    ({}, [CONTROL + "/0/training/2/updates/1"], "EXEC003", {CHECKS + "/actual_gradient_steps/0"}),
    ({CHECKS + "/gold_in_policy": True}, [], "EXEC006", {CHECKS + "/gold_in_policy"}),
    (
        {CONTROL + "/1/protocol/test_opened": True},
        [],
        "EXEC006",
        {CHECKS + "/official_test_read"},
    ),
    (
        {CONTROL + "/1/parameters_changed": False},
        [],
        "EXEC007",
        {CONTROL + "/1/parameters_changed"},
    ),
]


@pytest.mark.parametrize(("patches", "removed", "rule", "where"), BROKEN)
def test_a_statement_against_the_runs_is_found(
    patches: dict[str, Any], removed: list[str], rule: str, where: set[str]
) -> None:
    assert places(patched(gppo(), patches, removed), rule) == where


@pytest.mark.parametrize(("rule", "name"), LISTS.items())
def test_each_entry_is_held_against_its_run(rule: str, name: str) -> None:
    stated = gppo()["controls"]["grpo-control"]["execution_checks"][name]
    for index, value in enumerate(stated):
        pointer = f"{CHECKS}/{name}/{index}"
        assert places(patched(gppo(), {pointer: value + 1}), rule) == {pointer}


@pytest.mark.parametrize(("rule", "name"), LISTS.items())
def test_a_run_that_was_dropped_leaves_an_entry_too_many(rule: str, name: str) -> None:
    document = patched(gppo(), {}, [CONTROL + "/2"])
    assert places(document, rule) == {f"{CHECKS}/{name}"}


@pytest.mark.parametrize(("rule", "name"), LISTS.items())
def test_a_failed_run_needs_no_entry(rule: str, name: str) -> None:
    failed = patched(gppo(), {CONTROL + "/0/status": "failed"}, [f"{CHECKS}/{name}/0"])
    assert places(failed, rule) == set()


@pytest.mark.parametrize("rule", [f"EXEC{n:03}" for n in range(1, 8)])
@pytest.mark.parametrize("base", [gppo, full])
def test_the_samples_did_what_they_say(base: Any, rule: str) -> None:
    assert places(base(), rule) == set()


def test_hashes_tell_whether_parameters_changed() -> None:
    run = full()["seed_results"][0]
    same = {"/seed_results/0/final_parameters_sha256": run["initial_parameters_sha256"]}
    assert places(patched(full(), same), "EXEC007") == {"/seed_results/0/parameters_changed"}


def test_parameters_without_any_gradient_did_not_change() -> None:
    norms: dict[str, object] = {
        f"{CONTROL}/0/training/{step}/updates/{inner}/gradient_l2_norm": 0.0
        for step in range(3)
        for inner in range(2)
    }
    pointer = CONTROL + "/0/parameters_changed"
    assert places(patched(gppo(), norms), "EXEC007") == {pointer}
    assert places(patched(gppo(), norms | {pointer: False}), "EXEC007") == set()


def test_an_absent_statement_is_not_checked() -> None:
    document = patched(gppo(), {}, [CHECKS + "/completed_seeds"])
    assert reasons(document, "EXEC001") == {"no arm has execution_checks.completed_seeds"}
