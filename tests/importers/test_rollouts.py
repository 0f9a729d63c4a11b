"""Rewards and advantages of rollouts come over by group, and say what they can be checked for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from cases import messages_of
from run_folders import put_json, put_lines

from audit.importers.folder.bringing_in import bring_in
from audit.importers.folder.said import Said
from audit.importers.readers.rollouts import RolloutLog, advantage_of

REWARDS = [[1.0, 0.0, 0.0, 0.0], [1.0, 1.0, 0.0, 0.0]]


def advantages(scaled: bool) -> list[float]:
    found: list[float] = []
    for group in REWARDS:
        mean = sum(group) / 4
        width = (sum((r - mean) ** 2 for r in group) / 3) ** 0.5 + 1e-4 if scaled else 1.0
        found += [(r - mean) / width for r in group]
    return found


def evaluation(root: Path, arm: str, seed: int) -> None:
    rows = [
        {"task": f"t{task}", "correct": bool((task * seed) % 3), "seed": seed, "arm": arm}
        for task in range(8)
    ]
    put_lines(root / arm / f"seed{seed}" / "preds.jsonl", rows)


def brought(root: Path) -> dict[str, Any]:
    found = bring_in([str(root)], Said(control=("plain",)))
    assert found.questions == []
    assert found.document is not None
    return found.document


def swift(root: Path, arm: str, seed: int, *, scaled: bool, more: dict[str, Any]) -> None:
    folder = root / arm / f"seed{seed}"
    rows = [
        {"loss": 0.1 * seed, "grad_norm": 1.0, "global_step/max_steps": f"{step}/2"}
        for step in (1, 2)
    ]
    rows[-1]["eval_accuracy"] = 0.25 * seed
    put_lines(folder / "logging.jsonl", rows)
    put_json(folder / "args.json", {"seed": seed, "model": "m", "beta": len(arm), **more})
    put_lines(
        folder / "completions.jsonl",
        [
            {
                "step": [str(step)] * 8,
                "prompt": ["p"] * 4 + ["q"] * 4,
                "completion": [f"c{n}" for n in range(8)],
                "Accuracy": [r for group in REWARDS for r in group],
                "advantages": advantages(scaled),
            }
            for step in (1, 2)
        ],
    )


def test_ms_swifts_completions_bring_rewards_and_advantages_by_step(tmp_path: Path) -> None:
    for arm in ("plain", "fast"):
        for seed in (1, 2):
            swift(tmp_path, arm, seed, scaled=True, more={"scale_rewards": "group"})
    run = brought(tmp_path)["seed_results"][0]
    assert run["telemetry"] == {
        "level": "sparse",
        "responses_per_group": 4,
        "groups_per_step": 2,
        "zero_groups": "kept",
        "advantage": {"estimator": "grpo", "ddof": 1, "epsilon": 1e-4},
    }
    assert [step["step"] for step in run["training"]] == [1, 2]
    assert run["training"][0]["rewards"] == [r for group in REWARDS for r in group]
    assert run["training"][1]["updates"][0]["metrics"]["loss"] == 0.1


def test_a_run_that_fell_back_is_found_after_its_import(tmp_path: Path) -> None:
    for arm in ("plain", "fast"):
        for seed in (1, 2):
            scaled = (arm, seed) != ("fast", 2)
            swift(tmp_path, arm, seed, scaled=scaled, more={"scale_rewards": "group"})
    document = brought(tmp_path)
    assert messages_of(document, "ADV005") == {
        "/seed_results/1/training/0/advantages": "another estimator in all steps"
    }


def test_without_a_word_in_the_settings_nothing_is_declared(tmp_path: Path) -> None:
    for arm in ("plain", "fast"):
        for seed in (1, 2):
            swift(tmp_path, arm, seed, scaled=False, more={})
    document = brought(tmp_path)
    assert document["seed_results"][0]["telemetry"]["advantage"] == {"estimator": "unknown"}
    told = set(messages_of(document, "ADV005").values())
    assert told == {"the advantages are those of Dr. GRPO (reward - mean)"}


def test_trls_completions_bring_them_too(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    for arm in ("plain", "fast"):
        for seed in (1, 2):
            folder = tmp_path / arm / f"seed{seed}"
            history = [{"step": s, "loss": 0.1 * seed, "grad_norm": 1.0} for s in (1, 2)]
            history.append({"step": 2, "eval_accuracy": 0.25 * seed})
            state = {"log_history": history, "max_steps": 2, "global_step": 2}
            put_json(folder / "checkpoint-2" / "trainer_state.json", state)
            table = pandas.DataFrame(
                {
                    "step": [2] * 8,
                    "prompt": ["p"] * 4 + ["q"] * 4,
                    "completion": [f"c{n}" for n in range(8)],
                    "accuracy_reward": [r for group in REWARDS for r in group],
                    "advantage": advantages(scaled=False),
                }
            )
            (folder / "completions").mkdir()
            table.to_parquet(folder / "completions" / "completions_00002.parquet")
    document = brought(tmp_path)
    run = document["seed_results"][0]
    assert "rewards" not in run["training"][0]
    assert run["training"][1]["advantages"] == advantages(scaled=False)
    paths = {file["path"] for file in document["provenance"]["imported"]["files"]}
    assert "fast/seed1/completions/completions_00002.parquet" in paths
    assert len(messages_of(document, "ADV005")) == 4


def test_open_instructs_rollouts_are_grouped_by_prompt(tmp_path: Path) -> None:
    from audit.importers.draft import Options
    from audit.importers.readers.found import Found
    from audit.importers.readers.open_instruct import ROLLOUTS
    from audit.importers.readers.reader import FolderReading

    path = tmp_path / "run__1__1777600001_rollouts_000000.jsonl"
    put_lines(
        path,
        [
            {"step": 1, "prompt_idx": at // 4, "reward": 10 * reward, "advantage": advantage}
            for at, (reward, advantage) in enumerate(
                zip((r for group in REWARDS for r in group), advantages(False), strict=True)
            )
        ],
    )
    found = Found(path, path.name, path.name, path.stat().st_size)
    (piece,) = ROLLOUTS.read([found], FolderReading(Options()))
    assert piece.rollouts is not None
    telemetry, steps = piece.rollouts.blocks({}, [], "run", [])
    assert telemetry["responses_per_group"] == 4
    assert steps[1]["rewards"] == [10 * r for group in REWARDS for r in group]


def log(parts: tuple[str, ...], rows: list[tuple[str, tuple[Any, ...], float]]) -> RolloutLog:
    found = RolloutLog(parts)
    for prompt, values, advantage in rows:
        found.add(1, prompt, values, advantage)
    return found


def test_rewards_of_several_functions_are_summed_with_their_weights() -> None:
    two = log(("right", "format"), [("p", (1, 0.5), 0.1), ("p", (None, 1), -0.1)])
    settings = {"reward_weights": [2.0, 1.0], "scale_rewards": "none"}
    assert two.blocks(settings, [], "run", [])[1][1]["rewards"] == [2.5, 1.0]
    telemetry, steps = two.blocks({"scale_rewards": "none"}, [], "run", [])
    assert steps[1]["rewards"] == [1.5, 1.0]
    assert telemetry["advantage"] == {"estimator": "unknown"}, "which columns are rewards is unsaid"
    telemetry, steps = two.blocks({"scale_rewards": "none"}, ["rewards/right/mean"], "run", [])
    assert steps == {}, "one response has no reward of that name"
    telemetry, steps = two.blocks({"scale_rewards": "none"}, ["rewards/format/mean"], "run", [])
    assert steps[1]["rewards"] == [0.5, 1.0]
    assert telemetry["advantage"]["estimator"] == "dr_grpo"


def test_a_group_that_lacks_a_reward_is_left_out_and_said() -> None:
    rows = [("p", (1,), 0.5), ("p", (0,), -0.5), ("q", (None,), 0.5), ("q", (0,), -0.5)]
    notes: list[str] = []
    _, steps = log(("reward",), rows).blocks({}, [], "run", notes)
    assert steps[1]["rewards"] == [1, 0]
    assert notes == ["run: 1 groups of rollouts lack a reward and are left out"]


def test_groups_of_unequal_size_are_left_out_and_said() -> None:
    rows = [("p", (1,), 0.5)] * 2 + [("q", (1,), 0.5)] * 3
    notes: list[str] = []
    assert log(("reward",), rows).blocks({}, [], "run", notes) == ({}, {})
    assert notes == ["run: rollouts come in groups of unequal size and are left out"]


def test_two_groups_of_one_prompt_that_follow_each_other_stay_two() -> None:
    rows = [("p", (1,), 0.5), ("p", (0,), -0.5)] * 2 + [("q", (1,), 0.5), ("q", (0,), -0.5)]
    telemetry, steps = log(("reward",), rows).blocks({}, [], "run", [])
    assert (telemetry["responses_per_group"], telemetry["groups_per_step"]) == (2, 3)
    assert len(steps[1]["rewards"]) == 6


@pytest.mark.parametrize(
    ("config", "estimator"),
    [
        ({"scale_rewards": True}, "grpo"),
        ({"scale_rewards": "False"}, "dr_grpo"),
        ({"scale_rewards": "batch"}, "grpo_batch"),
        ({"algorithm.adv_estimator": "grpo"}, "grpo"),
        (
            {"algorithm.adv_estimator": "grpo", "algorithm.norm_adv_by_std_in_grpo": False},
            "dr_grpo",
        ),
        ({"algorithm.adv_estimator": "rloo"}, "rloo"),
        ({"algorithm.adv_estimator": "rloo", "algorithm.use_kl_in_reward": True}, "unknown"),
        ({"algorithm.adv_estimator": "gae"}, "unknown"),
        ({"advantage_normalization_type": "centered"}, "dr_grpo"),
        ({}, "unknown"),
    ],
)
def test_what_a_trainers_settings_declare(config: dict[str, Any], estimator: str) -> None:
    assert advantage_of(config)["estimator"] == estimator
    assert json.dumps(advantage_of(config))
