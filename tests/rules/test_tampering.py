"""Every leaf of one training step, and of a run's counts, is held by some relation."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from cases import SHARED, gppo, patched, spoken

from audit.pointer import join, resolve

STEP = "/seed_results/0/training/0"
EXPECTED = {
    ("MECH001", "/seed_results/0/training/0/updates/1"),
    ("MECH002", "/seed_results/0/sampling"),
    ("SAMPLE004", "/seed_results/0/sampling/zero_advantage_groups_retained"),
}
FAMILIES = ("STEP", "SAMPLE", "ADV", "RATIO", "LOSS", "FLOAT", "BOUND", "START", "MECH", "EXEC")


def telemetry(document: dict[str, Any]) -> set[tuple[str, str]]:
    return {(rule, at) for rule, at in spoken(document) if rule.rstrip("0123456789") in FAMILIES}


def leaves(value: Any, here: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict | list):
        members = value.items() if isinstance(value, dict) else enumerate(value)
        for key, member in members:
            yield from leaves(member, join(here, key))
    else:
        yield here, value


def crude(value: Any) -> Any:
    if isinstance(value, str):
        return "x" + value[1:]
    return value + 1 if isinstance(value, int) else value * 1.07 + 0.003


def test_a_real_study_breaks_no_relation_of_its_telemetry() -> None:
    assert telemetry(gppo()) == EXPECTED


def test_the_artifact_that_started_the_project_breaks_none_either() -> None:
    path = SHARED / "seeds" / "results-gppo.json"
    if not path.is_file():
        pytest.skip("the shared folder with the original artifact is not beside the checkout")
    assert telemetry(json.loads(path.read_text(encoding="utf-8"))) == EXPECTED


@pytest.mark.parametrize("pointer", [pointer for pointer, _ in leaves(resolve(gppo(), STEP), STEP)])
def test_any_leaf_of_a_step_that_is_changed_is_noticed(pointer: str) -> None:
    document = gppo()
    changed = patched(document, {pointer: crude(resolve(document, pointer))})
    assert telemetry(changed) - EXPECTED


@pytest.mark.parametrize("first", range(4))
@pytest.mark.parametrize("second", range(4))
def test_rewards_that_change_places_are_noticed(first: int, second: int) -> None:
    pointer = "/seed_results/0/training/1/rewards"
    rewards = resolve(gppo(), pointer)
    swapped = list(rewards)
    swapped[first], swapped[second] = swapped[second], swapped[first]
    noticed = telemetry(patched(gppo(), {pointer: swapped})) != EXPECTED
    assert noticed == (swapped != rewards)


@pytest.mark.parametrize("arm", ["", "/controls/grpo-control"])
@pytest.mark.parametrize("step", range(3))
def test_a_step_that_is_taken_out_is_noticed(arm: str, step: int) -> None:
    document = patched(gppo(), {}, [f"{arm}/seed_results/1/training/{step}"])
    assert telemetry(document) - EXPECTED


@pytest.mark.parametrize("arm", ["", "/controls/grpo-control"])
def test_a_run_copied_under_another_seed_is_noticed(arm: str) -> None:
    runs = resolve(gppo(), f"{arm}/seed_results")
    document = patched(gppo(), {f"{arm}/seed_results/1": runs[0] | {"seed": 43}})
    assert telemetry(document) - EXPECTED


def test_arms_that_change_places_are_noticed() -> None:
    document = gppo()
    control = "/controls/grpo-control/seed_results"
    swapped = {
        "/seed_results": resolve(document, control),
        control: resolve(document, "/seed_results"),
    }
    assert telemetry(patched(document, swapped)) - EXPECTED
