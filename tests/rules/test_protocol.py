from __future__ import annotations

from typing import Any

import pytest
from cases import full, gppo, patched, places, reasons

BASES = {"gppo": gppo, "full": full}
RUN = "/seed_results/0"
GRPO = "/controls/grpo-control/seed_results"
FIXED = "/controls/fixed-clip/seed_results"
RULES = [f"PROTO00{i}" for i in range(1, 6)]

BROKEN: list[tuple[str, dict[str, Any], str, set[str]]] = [
    ("gppo", {GRPO + "/1/protocol/steps": 4}, "PROTO001", {GRPO + "/1/protocol/steps"}),
    (
        "gppo",
        {"/seed_results/2/protocol/delta": 0.05},
        "PROTO001",
        {"/seed_results/2/protocol/delta"},
    ),
    (
        "gppo",
        dict.fromkeys([f"{GRPO}/{i}/protocol/learning_rate" for i in range(3)], 2e-05),
        "PROTO003",
        {GRPO + "/0/protocol/learning_rate"},
    ),
    ("gppo", {GRPO + "/2/seed": 45}, "PROTO003", {GRPO}),
    (
        "full",
        {FIXED + "/1/initial_parameters_sha256": "0" * 64},
        "PROTO003",
        {FIXED + "/1/initial_parameters_sha256"},
    ),
    (
        "full",
        dict.fromkeys([f"{FIXED}/{i}/evaluation/condition/temperature" for i in range(3)], 0.7),
        "PROTO003",
        {FIXED + "/0/evaluation/condition/temperature"},
    ),
    (
        "full",
        dict.fromkeys([f"{FIXED}/{i}/environment/packages/torch" for i in range(3)], "2.0"),
        "PROTO003",
        {FIXED + "/0/environment/packages/torch"},
    ),
    (
        "full",
        {"/change/fields": ["geometry", "topology", "delta", "steps"]},
        "PROTO004",
        {"/change/fields/3"},
    ),
    (
        "full",
        {"/change/fields": ["geometry"]},
        "PROTO003",
        {FIXED + "/0/protocol/topology", FIXED + "/0/protocol/delta"},
    ),
    (
        "full",
        {RUN + "/environment/packages/torch": "2.0"},
        "PROTO005",
        {RUN + "/environment/packages/torch"},
    ),
    (
        "full",
        {FIXED + "/2/evaluation/condition/top_k": 5},
        "PROTO005",
        {FIXED + "/2/evaluation/condition/top_k"},
    ),
    (
        "full",
        {"/base_evaluations/0/evaluation/condition/max_tokens": 32},
        "PROTO005",
        {"/base_evaluations/0/evaluation/condition/max_tokens"},
    ),
]


@pytest.mark.parametrize(("base", "patches", "rule", "where"), BROKEN)
def test_a_difference_beyond_the_change_is_found(
    base: str, patches: dict[str, Any], rule: str, where: set[str]
) -> None:
    assert places(patched(BASES[base](), patches), rule) == where


@pytest.mark.parametrize(
    ("base", "rule"),
    [(base, rule) for base in BASES for rule in RULES if (base, rule) != ("gppo", "PROTO002")],
)
def test_the_samples_differ_in_nothing_but_the_change(base: str, rule: str) -> None:
    assert places(BASES[base](), rule) == set()


def test_a_change_that_nobody_declared_is_reported() -> None:
    assert places(gppo(), "PROTO002") == {RUN + "/protocol"}
    declared = {"fields": ["protocol.geometry", "topology", "delta"], "mechanism": "clip"}
    document = patched(gppo(), {"/change": declared})
    for rule in RULES:
        assert places(document, rule) == set()


def test_the_sampling_seed_of_an_evaluation_may_differ() -> None:
    document = patched(full(), {RUN + "/evaluation/condition/seed": 7})
    assert places(document, "PROTO003") == places(document, "PROTO005") == set()


@pytest.mark.parametrize("rule", RULES)
def test_a_bare_run_leaves_the_check_open(rule: str) -> None:
    run = {"seed": 1, "method_metrics": {"accuracy": 0.5}}
    document = {"schema_version": 2, "method": "m", "seed_results": [run]}
    assert places(document, rule) == set()
    assert len(reasons(document, rule)) == 1
