"""``audit train --until decided`` with real trainings: stopped early, killed, on two processes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import audit
from audit.cli.plan_declaration import declare, plan_block
from audit.facts.plans import declared_plan
from audit.results import from_document
from training.studies import ROOT, audit_train, launch, without_times

MOST = 6
STUDY = """\
seeds = [1, 2, 3]
[task]
name = "addition"
limit = 20
train_prompts = 300
holdout_tasks = 40
warm_up_steps = 60
[training]
rounds = 1
prompts_per_round = 4
learning_rate = 1e-5
[evaluation]
samples = 2
base_repeats = 3
[telemetry]
level = "summary"
[change]
summary = "A longer warm-up."
mechanism = "other"
[arms.method]
role = "method"
clip = "fixed"
epsilon_low = 0.2
epsilon_high = 0.28
task.warm_up_steps = 61
[arms.plain]
role = "control"
clip = "fixed"
epsilon_low = 0.2
epsilon_high = 0.28
[[claims]]
id = "main"
direction = "gain"
arm = "method"
against = "plain"
"""
# The method starts from a model that knows more sums, which its runs show whatever their seeds.
EFFECT = STUDY.replace("task.warm_up_steps = 61", "task.warm_up_steps = 160")


def study_in(folder: Path, text: str) -> Path:
    """Write a study with a plan of 3 to 6 looks, declared today."""
    path = folder / "study.toml"
    path.write_text(text, encoding="utf-8")
    block = plan_block(
        first=3,
        maximum=MOST,
        looks=None,
        target_effect=0.3,
        level=0.95,
        arms=("method", "plain"),
    )
    declare(path, block, force=False)
    return path


@pytest.fixture(scope="module")
def null(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The study without an effect, trained until it is decided, in one go; times taken out."""
    folder = tmp_path_factory.mktemp("null")
    assert audit_train(str(study_in(folder, STUDY)), "--until", "decided") == 0
    return without_times(folder / "results.json")


def advised(document: Any) -> list[str]:
    return [claim["advice"] for look in document["looks_taken"] for claim in look["claims"]]


def test_a_true_effect_is_supported_before_the_maximum_under_a_plan_that_is_dated(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = study_in(tmp_path, EFFECT)
    assert audit_train(str(path), "--until", "decided") == 0
    said = capsys.readouterr().out
    results = audit.load(tmp_path / "results.json")
    plan = declared_plan(results)
    assert plan is not None
    assert plan.dated is True
    (result,) = audit.analyse(results).claims
    assert result.supported
    assert "plan-not-dated" not in [one.slug for one in result.weakened_by]
    looks = results.document["looks_taken"]
    last = looks[-1]
    assert last["seeds"] == len(results.document["seed_results"]) < MOST
    assert advised(results.document) == ["train-on"] * (len(looks) - 1) + ["supported"]
    assert last["claims"][0]["p_value"] < last["claims"][0]["threshold"]
    assert last["claims"][0]["delta"] == result.comparison.delta  # type: ignore[union-attr]
    assert f"wrote {tmp_path / 'results.json'} with its plan and {len(looks)} look" in said


def test_without_an_effect_the_advice_is_to_stop_before_the_maximum(null: Any) -> None:
    assert advised(null)[-1] == "futile"
    assert len(null["seed_results"]) < MOST
    (result,) = audit.analyse(from_document(null)).claims
    assert not result.supported


@pytest.mark.slow
def test_killed_between_runs_and_started_again_it_takes_the_same_looks(
    null: Any, tmp_path: Path
) -> None:
    study, output = study_in(tmp_path, STUDY), tmp_path / "results.json"
    runs = output.with_name("results.json.runs")
    process = launch(tmp_path, study, output, until=True)
    while process.poll() is None and not list(runs.glob("*-seed2.*.json")):
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    last = launch(tmp_path, study, output, until=True)
    _, errors = last.communicate()
    assert last.returncode == 0, errors.decode()
    assert without_times(output) == null


@pytest.mark.slow
def test_two_gloo_processes_take_the_same_looks_together(tmp_path: Path) -> None:
    study, output = study_in(tmp_path, EFFECT), tmp_path / "results.json"
    words = ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"]
    words += ["-m", "audit", "train", str(study), "--until", "decided", "--quiet"]
    done = subprocess.run(
        [sys.executable, *words],
        env={**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    document = json.loads(output.read_text(encoding="utf-8"))
    runs = document["seed_results"]
    assert {run["environment"]["world_size"] for run in runs} == {2}
    assert advised(document)[-1] == "supported"
    assert document["looks_taken"][-1]["seeds"] == len(runs) < MOST
    assert done.stdout.count("decided: supported") == 1  # one process speaks
