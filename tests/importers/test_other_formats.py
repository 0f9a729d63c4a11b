"""Per-item JSON, training logs, per-seed lists, marl-eval, Every Eval Ever."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import stdev
from typing import Any

import pytest
from bringing import SAMPLES, bring, runs, scores

from audit.errors import ImportRefused
from audit.importers.study import Layout


def written(tmp_path: Path, content: Any, name: str = "file.json") -> Path:
    path = tmp_path / name
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


# ---- per item ------------------------------------------------------------------------------


def test_an_aggregate_is_read_where_no_item_has_an_outcome() -> None:
    document, notes = bring(SAMPLES / "per_item/aggregate.json")
    run = runs(document)[0]
    assert run["seed"] is None  # its seed stands beside a temperature: the evaluation's
    assert run["method_metrics"] == {
        "accuracy": 0.25,
        "examples": 20,
        "maj@8": 0.4,
        "generated_tokens": 2010,
    }
    assert run["evaluation"]["checkpoint_step"] == 50
    assert run["evaluation"]["condition"]["seed"] == 9
    assert any("its seed is the evaluation's" in note for note in notes)


def test_items_are_sorted_by_id_and_lists_are_samples() -> None:
    document, _ = bring(SAMPLES / "per_item/items.json")
    block = runs(document)[0]["evaluation"]
    assert block["task_ids"] == ["s1", "s2", "s3"]
    assert (block["correct"], block["samples"]) == ([1, 3, 4], [4, 4, 4])


def test_right_out_of_n_is_a_count() -> None:
    document, _ = bring(SAMPLES / "per_item/counts.json")
    block = runs(document)[0]["evaluation"]
    assert (block["task_ids"], block["correct"], block["samples"]) == ([1, 2], [3, 0], [4, 4])


def test_a_shard_keeps_its_seed_and_loses_lists_with_holes() -> None:
    document, notes = bring(SAMPLES / "per_item/shard_seed1.json")
    run = runs(document)[0]
    assert (document["method"], run["seed"]) == ("b1", 1)
    assert run["evaluation"] == {"metric": "accuracy", "scores": [0.5, 0.75, 1.0]}
    assert any("per_task_loss has holes" in note for note in notes)
    assert any(note.startswith("2 missing values in per_task_loss") for note in notes)


def test_an_item_again_is_a_further_answer_unless_its_sample_is_the_same(tmp_path: Path) -> None:
    items: list[dict[str, Any]] = [{"id": 1, "correct": 1}, {"id": 1, "correct": 0}]
    document, _ = bring(written(tmp_path, {"benchmark": "b", "items": items}))
    block = runs(document)[0]["evaluation"]
    assert (block["correct"], block["samples"]) == ([1], [2])
    numbered = [item | {"sample": 0} for item in items]
    with pytest.raises(ImportRefused, match="task 1, sample 0 is there twice"):
        bring(written(tmp_path, {"benchmark": "b", "items": numbered}))


# ---- training logs -------------------------------------------------------------------------


def test_a_training_log_alone_is_no_result() -> None:
    with pytest.raises(ImportRefused, match="a training log without an evaluation is no result"):
        bring(SAMPLES / "trainer_state/b1_42_trainer_state.json")


def test_a_training_log_joins_the_evaluation_of_its_arm_and_seed(tmp_path: Path) -> None:
    evaluation = tmp_path / "b1_42_eval.json"
    evaluation.write_bytes((SAMPLES / "per_item/aggregate.json").read_bytes())
    files: list[tuple[str | None, Path]] = [
        ("b1", SAMPLES / "trainer_state/b1_42_trainer_state.json"),
        ("b1", evaluation),
    ]
    document, notes = bring(files, layout=Layout(seed_from="b1_{seed}_"))
    run = runs(document)[0]
    assert (run["seed"], run["telemetry"]) == (42, {"level": "summary"})
    assert [step["step"] for step in run["training"]] == [10, 20]
    figures = run["training"][1]["updates"][0]["metrics"]
    assert figures == {"loss": 0.0, "grad_norm": None, "reward": 0.625, "kl": 0.002}
    assert any("saved at step 20 of 40" in note for note in notes)
    assert any(note.startswith("1 missing value in the training log") for note in notes)


# ---- per-seed lists ------------------------------------------------------------------------


def test_per_seed_lists_are_unnumbered_runs_and_a_deviation_over_n_is_found() -> None:
    document, notes = bring(SAMPLES / "seed_lists/summary.json")
    assert [run["seed"] for run in runs(document)] == [None] * 3
    assert {run["identified_by"] for run in runs(document)} == {"user"}
    assert stdev(scores(document, metric="reward")) == pytest.approx(0.00345, abs=5e-6)
    assert (
        "plain: the printed deviation 0.00282 divides by n; over n - 1 it is 0.00345 (3 runs)"
        in notes
    )
    tuned = runs(document, "tuned")
    assert [r["method_metrics"]["reward"] for r in tuned[:2]] == [0.8, 0.81]
    assert [r.get("status") for r in tuned] == [None, None, "failed", "failed"]
    assert "2 missing values in the per-seed list of tuned" in notes


# ---- marl-eval -----------------------------------------------------------------------------


def test_marl_eval_tasks_are_means_of_final_episodes() -> None:
    document, _ = bring(SAMPLES / "marl_eval/two_algorithms.json")
    assert [run["seed"] for run in runs(document)] == [7, 8]
    block = runs(document)[0]["evaluation"]
    assert block == {
        "benchmark": "env",
        "metric": "return",
        "task_ids": ["task_1", "task_2"],
        "scores": [2.0, 3.0],
    }


# ---- Every Eval Ever -----------------------------------------------------------------------


def test_percent_that_the_record_says_is_a_fraction_exactly() -> None:
    document, notes = bring(SAMPLES / "every_eval_ever/percent.json")
    assert runs(document)[0]["method_metrics"] == {"accuracy": 0.573, "examples": 1000}
    assert "sums: the printed standard error is 0, recomputed 0.015650" in notes


def test_instances_belong_to_their_record() -> None:
    folder = SAMPLES / "every_eval_ever"
    document, _ = bring(
        [(None, folder / "with_instances.json"), (None, folder / "instances.jsonl")]
    )
    block = runs(document)[0]["evaluation"]
    assert (block["task_ids"], block["correct"]) == (["s0", "s1", "s2", "s3"], [0, 1, 0, 1])


def test_instances_changed_since_are_refused(tmp_path: Path) -> None:
    folder = SAMPLES / "every_eval_ever"
    changed = tmp_path / "instances.jsonl"
    text = (folder / "instances.jsonl").read_text(encoding="utf-8")
    changed.write_text(text.replace("1.0", "0.0"), encoding="utf-8")
    with pytest.raises(ImportRefused, match="not the checksum"):
        bring([(None, folder / "with_instances.json"), (None, changed)])
