"""A study of the shape of ``reports/gppo-framework`` writes what that file holds, key by key."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from statistics import mean
from typing import Any

import pytest

import audit
from audit.resources import resource
from training.studies import audit_train

SEED_FILE = resource("reports/gppo-framework/results.json")

STUDY = """\
seeds = [42, 43, 44]
adapter_key = "gppo-framework"
manifest_ref = "reproduction:gppo-framework"
diagnostic_only = true
limitations = ["Two-number addition in place of GSM8K."]

[evaluation_protocol]
tier = "l2_generated"
formal_comparison = false
claim_policy = "Says whether the mechanism acts."

[provenance]
artifact_path = "reports/gppo-framework/results.json"

[task]
name = "addition"
limit = 20
train_prompts = 300
holdout_tasks = 8
warm_up_steps = 120

[training]
rounds = 3
prompts_per_round = 1
group_size = 4
iterations = 2
learning_rate = 1e-5
advantage = "population"
zero_groups = "reject"

[evaluation]
samples = 1
baseline = true

[telemetry]
level = "full"

[arms.gppo-framework]
role = "method"
clip = "region"
divergence = "chi2"
topology = "atomic"
radius = 0.04
evaluation_tier = "l1_mechanism"
limitations = ["Each arm rejects groups by its own policy."]

[arms.grpo-control]
role = "control"
clip = "fixed"
epsilon_low = 0.2
epsilon_high = 0.2
evaluation_tier = "l1_mechanism"
limitations = ["Each arm rejects groups by its own policy."]
"""

# What the seed's file has and no study writes, and why.
NOT_WRITTEN = {
    "sampling/zero_advantage_groups_retained": (
        "it held the rejected groups, against its name: zero_advantage_groups, and "
        "telemetry.zero_groups says what was done with them"
    ),
    "aggregate_metrics/paired_accuracy_difference_vs_grpo": (
        "of the arm's whole name, so that two controls with one first word have two keys"
    ),
    "provenance/code_commit": "where the code is in no commit there is none to name",
}


def keys(value: Any, place: str = "") -> Iterator[str]:
    """Yield the path of every key; places in lists, arms and files are not told apart."""
    if isinstance(value, list):
        for entry in value:
            yield from keys(entry, f"{place}/*")
        return
    if not isinstance(value, dict):
        return
    for name, inner in value.items():
        if place.endswith(("file_sha256", "partition_sha256")):
            name = "*"
        yield f"{place}/{name}"
        yield from keys(inner, f"{place}/{name}")


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("gppo")
    (folder / "study.toml").write_text(STUDY)
    assert audit_train(str(folder / "study.toml")) == 0
    return folder / "results.json"


def test_every_key_of_the_seeds_file_is_written_or_listed_with_its_reason(written: Path) -> None:
    wanted = set(keys(json.loads(SEED_FILE.read_text(encoding="utf-8"))))
    missing = wanted - set(keys(json.loads(written.read_text())))
    listed = {key for key in wanted if any(part in key for part in NOT_WRITTEN)}
    assert missing - listed == set()
    assert all(any(part in key for key in wanted) for part in NOT_WRITTEN)


def test_what_the_author_says_stands_in_file_and_runs_as_it_was_said(written: Path) -> None:
    document = json.loads(written.read_text())
    assert document["diagnostic_only"] is True
    assert document["evaluation_protocol"]["formal_comparison"] is False
    assert document["provenance"]["artifact_path"] == "reports/gppo-framework/results.json"
    for run in (*document["seed_results"], *document["controls"]["grpo-control"]["seed_results"]):
        assert (run["diagnostic_only"], run["evaluation_tier"]) == (True, "l1_mechanism")
        assert run["limitations"] == ["Each arm rejects groups by its own policy."]


def test_each_run_measured_its_own_base_before_it_was_trained(written: Path) -> None:
    document = json.loads(written.read_text())
    own = [run["baseline"]["accuracy"] for run in document["seed_results"]]
    control = document["controls"]["grpo-control"]["seed_results"]
    assert own == [run["baseline"]["accuracy"] for run in control]  # the same weights and draws
    spread = document["aggregate_metrics"]["baseline.accuracy"]
    assert spread["mean"] == pytest.approx(sum(own) / 3)


def test_groups_without_variance_are_rejected_and_one_row_is_trained_on(written: Path) -> None:
    document = json.loads(written.read_text())
    for run in document["seed_results"]:
        assert run["telemetry"]["zero_groups"] == "rejected"
        assert [type(step["training_row"]) for step in run["training"]] == [int] * 3
        assert all(len(set(step["rewards"])) > 1 for step in run["training"])
        for step in run["training"]:
            first, *others = (update["metrics"] for update in step["updates"])
            assert first["reward"] == pytest.approx(mean(step["rewards"]))
            assert not [metrics for metrics in others if "reward" in metrics]
        sampled = run["sampling"]
        assert sampled["tasks_attempted"] == 3 + sampled["zero_advantage_groups"]


def test_the_file_is_verified_without_an_error(written: Path) -> None:
    report = audit.verify(audit.load(str(written)))
    assert report.exit_status == 0, report.findings


def test_what_nobody_said_is_not_in_the_file(reference: Any) -> None:
    found = set(keys(reference))
    for key in ("/diagnostic_only", "/adapter_key", "/manifest_ref", "/provenance/artifact_path"):
        assert key not in found
    assert "formal_comparison" not in reference["evaluation_protocol"]
    assert "claim_policy" not in reference["evaluation_protocol"]
