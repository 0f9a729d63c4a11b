from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cases import full, gppo, patched, places, reasons
from hypothesis import given
from hypothesis import strategies as st

from audit.rules.advantage_rules import group_advantages

RUN = "/seed_results/0"
STEP = RUN + "/training/1"  # rewards 0, 0, 0, 1

BROKEN: list[tuple[str, dict[str, Any], str, set[str]]] = [
    ("gppo", {STEP + "/advantages/0": -0.5779262781143188}, "ADV001", {STEP + "/advantages/0"}),
    (
        "gppo",
        {STEP + "/rewards": [0.0, 0.0, 1.0, 0.0]},
        "ADV001",
        {STEP + "/advantages/2", STEP + "/advantages/3"},
    ),
    (
        "full",
        {RUN + "/training/0/advantages/4": 0.8667412996292114},
        "ADV001",
        {RUN + "/training/0/advantages/4"},
    ),
    ("gppo", {STEP + "/rewards": [1.0, 1.0, 1.0, 1.0]}, "ADV002", {STEP + "/rewards"}),
    ("full", {STEP + "/correct_counts/0": 1}, "ADV003", {STEP + "/correct_counts/0"}),
    ("gppo", {STEP + "/rewards/3": 1.001}, "ADV004", {STEP + "/rewards/3"}),
]


@pytest.mark.parametrize(("base", "patches", "rule", "where"), BROKEN)
def test_an_advantage_or_reward_that_does_not_fit_is_found(
    base: str, patches: dict[str, Any], rule: str, where: set[str]
) -> None:
    document = {"gppo": gppo, "full": full}[base]()
    assert places(patched(document, patches), rule) == where


@pytest.mark.parametrize("rule", ["ADV001", "ADV002", "ADV003", "ADV004"])
@pytest.mark.parametrize("base", [gppo, full])
def test_the_samples_have_the_advantages_of_their_rewards(base: Any, rule: str) -> None:
    assert places(base(), rule) == set()


def test_the_formula_follows_the_settings_of_the_log() -> None:
    document = patched(full(), {RUN + "/telemetry/advantage": {"ddof": 0, "epsilon": 1e-6}})
    assert RUN + "/training/0/advantages/0" in places(document, "ADV001")


def test_advantages_without_a_scale_are_rewards_less_their_mean() -> None:
    rewards = [0.0, 1.0, 1.0, 1.0, 0.5, 0.5]
    advantages = [reward - 4 / 6 for reward in rewards]
    document = one_step(rewards, advantages, 1, 1e-4)
    assert len(places(document, "ADV001")) == 6
    telemetry = document["seed_results"][0]["telemetry"]
    telemetry["advantage"] = {"scale": "none"}
    assert places(document, "ADV001") == set()
    advantages[2] *= 1.001
    assert places(document, "ADV001") == {"/seed_results/0/training/0/advantages/2"}


def test_flat_groups_are_no_finding_where_they_are_kept() -> None:
    document = patched(full(), {STEP + "/rewards": [1.0] * 8})
    assert places(document, "ADV002") == set()
    assert reasons(document, "ADV002") == {
        "groups without variance are kept (telemetry.zero_groups)"
    }


def test_shaped_rewards_are_not_held_to_0_and_1() -> None:
    document = patched(gppo(), {STEP + "/rewards/3": 0.9, STEP + "/rewards/2": 0.1})
    assert places(document, "ADV004") == set()
    assert reasons(document, "ADV004") == {"rewards are not all 0 or 1"}


@given(
    st.lists(st.floats(-8, 8, width=32), min_size=2, max_size=32).filter(
        lambda rewards: np.std(rewards) > 1e-3
    ),
    st.sampled_from([(0, 1e-6), (1, 1e-4)]),
)
def test_advantages_computed_in_float32_are_accepted(
    rewards: list[float], settings: tuple[int, float]
) -> None:
    ddof, epsilon = settings
    single = np.asarray(rewards, dtype=np.float32)
    width = single.std(ddof=ddof, dtype=np.float32) + np.float32(epsilon)
    advantages = ((single - single.mean(dtype=np.float32)) / width).astype(np.float32)
    document = one_step(rewards, [float(a) for a in advantages], ddof, epsilon)
    assert places(document, "ADV001") == set()


@given(
    st.lists(st.sampled_from([0.0, 1.0]), min_size=2, max_size=16).filter(
        lambda r: len(set(r)) > 1
    ),
    st.data(),
)
def test_an_advantage_scaled_by_a_thousandth_is_found(
    rewards: list[float], data: st.DataObject
) -> None:
    advantages = group_advantages(tuple(rewards), 0, 1e-6)
    assert advantages is not None
    index = data.draw(st.integers(0, len(rewards) - 1))
    advantages[index] *= 1.001
    document = one_step(rewards, advantages, 0, 1e-6)
    assert places(document, "ADV001") == {f"/seed_results/0/training/0/advantages/{index}"}


def one_step(
    rewards: list[float], advantages: list[float], ddof: int, epsilon: float
) -> dict[str, Any]:
    return {
        "schema_version": 2,
        "method": "a",
        "seed_results": [
            {
                "seed": 1,
                "method_metrics": {"accuracy": 0.5},
                "protocol": {"group": len(rewards)},
                "telemetry": {"advantage": {"ddof": ddof, "epsilon": epsilon}},
                "training": [{"step": 1, "rewards": rewards, "advantages": advantages}],
            }
        ],
    }
