from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from cases import full, gppo, messages_of, outcomes, patched, places, reasons, severity
from hypothesis import given
from hypothesis import strategies as st

from audit.rules import Failed, find_rule
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


REWARDS = [[1.0, 0.0, 0.0, 0.0], [1.0, 1.0, 0.0, 0.0], [1.0, 1.0, 1.0, 0.0]]
FLAT = [[1.0] * 4, *REWARDS[1:]]


def advantages_by(name: str, rewards: list[list[float]]) -> list[float]:
    r = np.array(rewards)
    centred = r - r.mean(axis=1, keepdims=True)
    found = {
        "grpo": centred / (r.std(axis=1, ddof=1, keepdims=True) + 1e-4),
        "dr_grpo": centred,
        "rloo": centred * 4 / 3,
        "grpo_batch": centred / (r.std(ddof=1) + 1e-4),
        "rewards": r,
        "none": centred / (r.std(axis=1, keepdims=True) + 0.3),
    }[name]
    return [float(value) for value in np.round(found, 5).ravel()]


def logs(
    runs: list[list[str]], estimator: str | None, rewards: list[list[float]] = REWARDS
) -> dict[str, Any]:
    """Return a study whose runs have, step by step, the advantages of the estimators named."""
    advantage = {"ddof": 1, "epsilon": 1e-4} | ({"estimator": estimator} if estimator else {})
    telemetry = {
        "level": "sparse",
        "groups_per_step": 3,
        "responses_per_group": 4,
        "zero_groups": "kept",
        "advantage": advantage,
    }
    flat = [reward for group in rewards for reward in group]
    return {
        "schema_version": 2,
        "method": "a",
        "seed_results": [
            {
                "seed": seed,
                "method_metrics": {"accuracy": 0.5},
                "telemetry": telemetry,
                "training": [
                    {"step": step, "rewards": flat, "advantages": advantages_by(name, rewards)}
                    for step, name in enumerate(names, 1)
                ],
            }
            for seed, names in enumerate(runs, 1)
        ],
    }


def messages(document: dict[str, Any], rule: str) -> list[str]:
    return list(messages_of(document, rule).values())


@pytest.mark.parametrize("name", ["grpo", "dr_grpo", "rloo", "grpo_batch", "rewards"])
@pytest.mark.parametrize("due", ["grpo", "dr_grpo", "rloo", "grpo_batch", "rewards"])
def test_a_declared_estimator_that_the_log_does_not_follow_is_found(due: str, name: str) -> None:
    document = logs([[name] * 3, [due] * 3], due)
    wrong = set() if due == name else {"/seed_results/0/training/0/advantages"}
    assert places(document, "ADV005") == wrong
    assert places(document, "ADV006") == set()


def test_a_fallback_is_found_at_its_step_declared_or_not() -> None:
    runs = [["grpo"] * 6, ["grpo"] * 4 + ["rewards"] * 2]
    at = {"/seed_results/1/training/4/advantages"}
    assert places(logs(runs, "grpo"), "ADV005") == at
    assert places(logs(runs, None), "ADV005") == at
    assert places(logs(runs, "unknown"), "ADV006") == at
    assert messages(logs(runs, "unknown"), "ADV006") == [
        "another estimator than the rest of a from step 5 on"
    ]


def test_steps_that_differ_here_and_there_are_counted() -> None:
    document = logs([["grpo", "dr_grpo", "grpo", "dr_grpo", "grpo"]], "unknown")
    assert messages(document, "ADV006") == [
        "another estimator than the rest of a in 2 of 5 steps, the first step 2"
    ]


def test_where_nothing_is_declared_the_estimator_that_fits_is_named() -> None:
    document = logs([["rloo"] * 2], "unknown")
    assert messages(document, "ADV005") == ["the advantages are those of RLOO"]
    assert messages(logs([["grpo"]], "unknown"), "ADV005") == [
        "the advantages are those of GRPO or DAPO"
    ]
    assert reasons(document, "ADV001") == {"its advantages are not declared as those of GRPO"}


def test_groups_without_variance_contradict_dapo_and_not_grpo() -> None:
    assert places(logs([["grpo"]], "dapo"), "ADV005") == set()
    assert places(logs([["grpo"]], "dapo", FLAT), "ADV005") != set()
    assert places(logs([["grpo"]], "grpo", FLAT), "ADV005") == set()


def test_advantages_that_fit_nothing_are_said_not_to() -> None:
    told = "the advantages fit no known estimator"
    (reason,) = reasons(logs([["none"]], "unknown"), "ADV005")
    assert reason.startswith(told)
    (reason,) = reasons(logs([["none"]], "grpo"), "ADV005")
    assert reason.startswith(told)
    assert places(logs([["none"]], "grpo"), "ADV001") != set()
    assert places(logs([["none"]], "rloo"), "ADV005") == {"/seed_results/0/training/0/advantages"}


def severities(document: dict[str, Any], rule: str) -> list[str]:
    """Return how bad the findings of one rule are, in their order."""
    found = find_rule(rule)
    assert found is not None
    failed = [o for o in outcomes(document, rule) if isinstance(o, Failed)]
    return [severity(found, outcome).name for outcome in failed]


def drawn_log(
    name: str, change: Callable[[np.ndarray], np.ndarray], rewards: Any = None, **advantage: Any
) -> dict[str, Any]:
    """Return a run of 8 steps of 3 groups of 4, whose advantages were changed before the log."""
    state = np.random.default_rng(17)
    document = logs([[name] * 8], name)
    run = document["seed_results"][0]
    run["telemetry"]["advantage"] |= advantage
    for step in run["training"]:
        r = state.normal(0.4, 0.3, (3, 4)) if rewards is None else rewards(state)
        width = {
            "grpo": r.std(axis=1, ddof=1, keepdims=True) + run["telemetry"]["advantage"]["epsilon"],
            "dr_grpo": 1.0,
            "rloo": 0.75,
            "grpo_batch": r.std(ddof=1) + 1e-4,
        }[name]
        a = change((r - r.mean(axis=1, keepdims=True)) / width)
        step["rewards"], step["advantages"] = r.ravel().tolist(), a.ravel().tolist()
    return document


def whitened(a: np.ndarray) -> np.ndarray:
    return np.asarray((a - a.mean()) / (a.std(ddof=1) + 1e-8))


HONEST: list[tuple[str, Any, Any, dict[str, Any]]] = [
    ("grpo", lambda a: np.round(a, 2), None, {}),
    ("grpo", lambda a: np.round(a, 3), None, {}),
    ("dr_grpo", lambda a: np.round(a, 2), None, {"scale": "none"}),
    ("grpo", lambda a: a, None, {"epsilon": 1e-3}),
    ("grpo", lambda a: a, lambda s: s.integers(0, 2, (3, 4)) * 1.0, {"epsilon": 1e-5}),
    # A part of the batch was logged: its standard deviation is another.
    ("grpo_batch", lambda a: 1.1 * a, lambda s: s.integers(0, 2, (3, 4)) * 1.0, {}),
    ("grpo_batch", lambda a: np.round(a, 3), lambda s: s.integers(0, 2, (3, 4)) * 10.0, {}),
]


@pytest.mark.parametrize(("name", "change", "rewards", "advantage"), HONEST)
def test_an_honest_log_is_no_finding_however_it_was_printed(
    name: str, change: Any, rewards: Any, advantage: dict[str, Any]
) -> None:
    document = drawn_log(name, change, rewards, **advantage)
    assert severities(document, "ADV005") == []
    assert severities(document, "ADV001") == []


def test_rewards_that_were_rounded_to_two_decimals_are_no_finding() -> None:
    document = drawn_log("grpo", lambda a: a)
    for step in document["seed_results"][0]["training"]:
        step["rewards"] = np.round(step["rewards"], 2).tolist()
    assert severities(document, "ADV001") == severities(document, "ADV005") == []
    step["advantages"][0] += 0.5
    assert severities(document, "ADV001") == ["ERROR"]


def test_advantages_that_are_cut_off_at_one_size_are_a_warning_and_others_an_error() -> None:
    document = drawn_log("grpo", lambda a: np.clip(a, -1, 1))
    assert severities(document, "ADV001") == ["WARNING"]
    (message,) = messages(document, "ADV001")
    assert message.endswith("advantages are cut off at 1")
    document["seed_results"][0]["training"][0]["advantages"][0] = 0.123
    assert severities(document, "ADV001") == ["ERROR", "WARNING"]


@pytest.mark.parametrize("name", ["grpo", "dr_grpo", "rloo"])
def test_advantages_that_were_whitened_afterwards_are_a_warning(name: str) -> None:
    scale = {"scale": "none"} if name == "dr_grpo" else {}
    document = drawn_log(name, whitened, **scale)
    found = severities(document, "ADV001") + severities(document, "ADV005")
    assert found
    assert set(found) == {"WARNING"}


def test_one_formula_that_fits_some_steps_where_others_fit_none_is_a_warning() -> None:
    document = logs([["grpo", "none", "none"]], "rloo")
    assert severities(document, "ADV005") == ["WARNING", "WARNING"]
    assert severities(logs([["grpo"] * 3], "rloo"), "ADV005") == ["ERROR"]


def test_groups_of_unknown_size_are_not_checked() -> None:
    document = logs([["grpo"]], "grpo")
    del document["seed_results"][0]["telemetry"]["responses_per_group"]
    why = {"no step has rewards and advantages of groups of known size"}
    assert reasons(document, "ADV005") == why == reasons(document, "ADV006")


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
