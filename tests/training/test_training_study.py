from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from audit.cli import train
from audit.errors import InputError, UsageError
from audit.training.ledger import Ledger
from audit.training.progress import Bars
from audit.training.study import pieces, prepare, run_study
from audit.training.study_file import read_study

ROOT = Path(__file__).resolve().parents[2]

STUDY = """\
seeds = [1, 2]
[task]
name = "addition"
limit = 20
train_prompts = 300
holdout_tasks = 20
warm_up_steps = 60
[training]
rounds = 3
prompts_per_round = 4
learning_rate = 1e-3
[evaluation]
samples = 2
[telemetry]
level = "full"
[arms.adaptive-clip]
role = "method"
clip = "adaptive"
epsilon_low = 0.2
epsilon_high_max = 0.28
[arms.fixed-clip]
role = "control"
clip = "fixed"
epsilon_low = 0.2
epsilon_high = 0.01
"""

DRIVER = """\
import argparse, sys
from audit.cli import train
if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    train.configure(parser)
    sys.exit(train.main(parser.parse_args()))
"""


@pytest.fixture
def study_path(tmp_path: Path) -> Callable[..., Path]:
    def write(*changes: tuple[str, str]) -> Path:
        text = STUDY
        for old, new in changes:
            assert old in text
            text = text.replace(old, new, 1)
        path = tmp_path / "study.toml"
        path.write_text(text)
        return path

    return write


def audit_train(*arguments: str) -> int:
    """The command in this process."""
    parser = argparse.ArgumentParser()
    train.configure(parser)
    return train.main(parser.parse_args([*arguments, "--quiet"]))


def without_times(path: Path) -> Any:
    document = json.loads(path.read_text())
    arms = [document["seed_results"], *(c["seed_results"] for c in document["controls"].values())]
    for run in (run for arm in arms for run in arm):
        assert run["cost"].pop("minutes") > 0
    return document


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The study run once, in this process and without interruption; times taken out."""
    folder = tmp_path_factory.mktemp("reference")
    (folder / "study.toml").write_text(STUDY)
    assert audit_train(str(folder / "study.toml")) == 0
    return without_times(folder / "results.json")


def launch(folder: Path, study: Path, output: Path, *more: str) -> subprocess.Popen[bytes]:
    driver = folder / "driver.py"
    driver.write_text(DRIVER)
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        [sys.executable, *more, str(driver), str(study), "-o", str(output)],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )


def test_the_results_file_holds_what_a_reader_looks_for(reference: Any) -> None:
    assert reference["method"] == "adaptive-clip"
    assert reference["launched_seeds"] == {"adaptive-clip": [1, 2], "fixed-clip": [1, 2]}
    assert reference["change"]["fields"] == ["clip", "epsilon_high", "epsilon_high_max"]
    assert reference["holdout"] == {
        "train_rows": 300,
        "holdout_rows": 20,
        "ngram": 8,
        "dropped": 0,
    }
    control = reference["controls"]["fixed-clip"]
    assert control["execution_checks"]["rollout_groups_per_seed"] == [12, 12]
    assert control["execution_checks"]["actual_gradient_steps"] == [6, 6]
    for run in (*reference["seed_results"], *control["seed_results"]):
        evaluation = run["evaluation"]
        accuracy = sum(evaluation["correct"]) / sum(evaluation["samples"])
        assert run["method_metrics"]["accuracy"] == accuracy
        assert run["method_metrics"]["examples"] == 40
        assert run["initial_parameters_sha256"] == reference["checkpoint"]["parameters_sha256"]
        assert run["parameters_changed"]
        assert run["telemetry"]["clip_reachable"] is True
        assert run["environment"]["threads"] == 1
        assert run["environment"]["packages"]["trl"]
        assert len(run["training"]) == 3
        first = run["training"][0]
        assert len(first["rewards"]) == 32 == len(first["updates"][0]["response_audits"])


def test_base_evaluations_differ_by_their_seed_and_are_by_task(reference: Any) -> None:
    base = [b["evaluation"] for b in reference["base_evaluations"]]
    assert [b["condition"]["seed"] for b in base] == [0, 1, 2]
    assert len({tuple(b["correct"]) for b in base}) > 1
    runs = reference["seed_results"]
    assert all(b["task_ids"] == runs[0]["evaluation"]["task_ids"] for b in base)


def test_aggregates_are_of_the_runs(reference: Any) -> None:
    import numpy as np

    def values(runs: Any) -> Any:
        return np.array([r["method_metrics"]["accuracy"] for r in runs])

    top = values(reference["seed_results"])
    control = values(reference["controls"]["fixed-clip"]["seed_results"])
    expected = {
        "method_metrics.accuracy": top,
        "fixed_clip.validation.accuracy": control,
        "paired_accuracy_difference_vs_fixed": top - control,
    }
    assert set(reference["aggregate_metrics"]) == set(expected)
    for name, found in reference["aggregate_metrics"].items():
        assert found["mean"] == pytest.approx(expected[name].mean())
        assert found["std"] == pytest.approx(expected[name].std(ddof=1))
        assert found["n"] == 2


def test_arms_at_one_seed_start_alike_and_then_part(reference: Any) -> None:
    pairs = zip(
        reference["seed_results"], reference["controls"]["fixed-clip"]["seed_results"], strict=True
    )
    for ours, theirs in pairs:
        assert ours["initial_parameters_sha256"] == theirs["initial_parameters_sha256"]
        first, second = ours["training"][0], theirs["training"][0]
        for key in ("training_rows", "rewards", "advantages"):
            assert first[key] == second[key]
        norms = [s["updates"][0]["gradient_l2_norm"] for s in (first, second)]
        assert norms[0] == norms[1]
        assert ours["final_parameters_sha256"] != theirs["final_parameters_sha256"]


def test_the_file_keeps_to_the_contract(reference: Any) -> None:
    from audit.schema import schema_faults

    assert schema_faults(reference) == []


@pytest.mark.slow
def test_two_worker_processes_give_the_same_file(
    reference: Any, study_path: Any, tmp_path: Path
) -> None:
    output = tmp_path / "results.json"
    assert audit_train(str(study_path()), "-o", str(output), "--workers", "2") == 0
    assert without_times(output) == reference


@pytest.mark.slow
def test_killed_twice_and_started_again_gives_the_same_file(
    reference: Any, study_path: Any, tmp_path: Path
) -> None:
    study, output = study_path(), tmp_path / "out" / "results.json"
    moments = random.Random(20)
    killed = 0
    for _ in range(2):
        process = launch(tmp_path, study, output)
        folder = output.with_suffix(".runs")
        while not folder.is_dir() and process.poll() is None:
            time.sleep(0.05)  # nothing can be lost before the first file
        time.sleep(moments.uniform(0, 4))
        killed += process.poll() is None
        process.send_signal(signal.SIGKILL)
        process.communicate()
    assert killed
    assert not output.exists() or json.loads(output.read_text())
    last = launch(tmp_path, study, output)
    _, errors = last.communicate()
    assert last.returncode == 0, errors.decode()
    assert without_times(output) == reference
    assert not list(folder.glob(".*.part"))[2:]  # at most one orphan a kill


def test_a_second_start_keeps_every_finished_run(study_path: Any, tmp_path: Path) -> None:
    study, output = str(study_path(("seeds = [1, 2]", "seeds = [1]"))), tmp_path / "results.json"
    assert audit_train(study, "-o", str(output)) == 0
    first = output.read_bytes()
    stamps = {p: p.stat().st_mtime_ns for p in output.with_suffix(".runs").iterdir()}
    assert audit_train(study, "-o", str(output)) == 0
    assert output.read_bytes() == first  # times too: nothing was run again
    assert stamps == {p: p.stat().st_mtime_ns for p in output.with_suffix(".runs").iterdir()}


def test_a_finished_run_of_other_settings_is_made_again(study_path: Any, tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "x.runs")
    path = study_path()
    bench = prepare(read_study(path), str(path), ledger)
    changed = replace(
        bench,
        study=replace(bench.study, training=replace(bench.study.training, learning_rate=2e-3)),
    )
    before = {p.name: p.fingerprint for p in pieces(bench)}
    after = {p.name: p.fingerprint for p in pieces(changed)}
    assert {name for name in before if before[name] == after[name]} == {
        "base-1",
        "base-2",
        "base-3",
    }
    more = replace(bench, study=replace(bench.study, seeds=(1, 2, 3)))
    assert before.items() <= {p.name: p.fingerprint for p in pieces(more)}.items()


def test_pieces_of_two_commits_make_a_file_of_none(
    study_path: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from audit.training import study as module

    output = tmp_path / "results.json"
    for commit, seeds, stated in (("a" * 40, "[1]", "a" * 40), ("b" * 40, "[1, 2]", None)):
        monkeypatch.setattr(module, "code_commit", lambda commit=commit: commit)
        study = study_path(("seeds = [1, 2]", f"seeds = {seeds}"))
        assert audit_train(str(study), "-o", str(output)) == 0
        document = json.loads(output.read_text())
        assert document["provenance"].get("code_commit") == stated
        assert "code_commit" not in document["seed_results"][0]


def test_a_damaged_piece_is_named_and_not_passed_over(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)
    ledger.put("a", "f", {"x": 1})
    assert ledger.get("a", "f") == {"x": 1}
    assert ledger.get("a", "other") is None
    assert ledger.get("b", "f") is None
    (tmp_path / "a.json").write_text('{"fingerprint": "f"')
    with pytest.raises(InputError, match=r"a\.json: not a finished piece"):
        ledger.get("a", "f")


def test_a_diverging_run_is_recorded_as_such_and_the_command_says_so(
    study_path: Any, tmp_path: Path
) -> None:
    study = study_path(
        ("learning_rate = 1e-3", "learning_rate = 1e30\nmax_grad_norm = 0.0"),
        ("seeds = [1, 2]", "seeds = [1]"),
    )
    output = tmp_path / "results.json"
    assert audit_train(str(study), "-o", str(output)) == 1
    document = json.loads(output.read_text())
    for runs in (document["seed_results"], document["controls"]["fixed-clip"]["seed_results"]):
        (run,) = runs
        assert run["status"] == "diverged"
        assert "nan" in run["failure"] or "inf" in run["failure"]
        assert run["training"]
        assert "method_metrics" not in run
    assert document["launched_seeds"]["adaptive-clip"] == [1]
    assert document["aggregate_metrics"] == {}
    # Started again, the loss stays a loss: no retry until it looks better.
    assert audit_train(str(study), "-o", str(output)) == 1


def test_a_run_that_fails_is_kept_beside_those_that_finish(
    study_path: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from audit.training import run as module

    sound = module._Run._train

    def train_or_fail(self: Any) -> None:
        if self.seed == 2 and self.arm.name == "fixed-clip":
            raise OSError("disk full")
        sound(self)

    monkeypatch.setattr(module._Run, "_train", train_or_fail)
    output = tmp_path / "results.json"
    assert audit_train(str(study_path()), "-o", str(output)) == 1
    document = json.loads(output.read_text())
    first, second = document["controls"]["fixed-clip"]["seed_results"]
    assert first["status"] == "finished"
    assert (second["status"], second["failure"]) == ("failed", "OSError: disk full")
    assert second["seed"] == 2
    assert document["aggregate_metrics"]["fixed_clip.validation.accuracy"]["n"] == 1
    assert "std" not in document["aggregate_metrics"]["fixed_clip.validation.accuracy"]


UNREACHABLE = ("rounds = 3", "rounds = 3\nsteps_per_generation = 2\naccumulation = 4")


def test_an_unreachable_clip_is_refused_before_a_step_is_spent(
    study_path: Any, tmp_path: Path
) -> None:
    output = tmp_path / "results.json"
    with pytest.raises(UsageError, match="the clip cannot be reached"):
        audit_train(str(study_path(UNREACHABLE)), "-o", str(output))
    assert not output.exists()
    assert not list(output.with_suffix(".runs").glob("*seed*"))


def test_a_forced_unreachable_clip_is_written_down(study_path: Any, tmp_path: Path) -> None:
    forced = (UNREACHABLE[0], UNREACHABLE[1] + "\nallow_unreachable_clip = true")
    study = study_path(forced, ("seeds = [1, 2]", "seeds = [1]"))
    output = tmp_path / "results.json"
    assert audit_train(str(study), "-o", str(output)) == 0
    document = json.loads(output.read_text())
    (run,) = document["seed_results"]
    assert run["telemetry"]["clip_reachable"] is False
    assert run["clip_activity"]["clipped_tokens"] == 0
    audits = [a for s in run["training"] for u in s["updates"] for a in u["response_audits"]]
    assert audits
    assert {a["clip_fraction"] for a in audits} == {0.0}
    report = verified(document, tmp_path)
    assert {"mechanism-never-acted", "clip-unreachable"} <= {f.slug for f in report.findings}
    assert not [f for f in report.findings if f.severity.label == "error"]
    # Two arms whose clips never act are one arm.
    (other,) = document["controls"]["fixed-clip"]["seed_results"]
    assert other["final_parameters_sha256"] == run["final_parameters_sha256"]


def verified(document: Any, folder: Path) -> Any:
    import audit

    path = folder / "document.json"
    path.write_text(json.dumps(document))
    return audit.verify(audit.load(str(path)))


# What a full record of a study of two fixed regions cannot hold: claims, printed figures, repeated
# rounds, clusters, rejected groups, data handed to verify beside the file.
BEYOND_THE_RECORD = {
    "one-seed-claim", "interval-reaches-zero", "below-noise-floor", "claim-not-carried",
    "diagnostic-claim", "replication-conflict", "baseline-mismatch", "score-scale",
    "task-clusters", "required-block", "data-hashes", "checkpoint-files", "code-commit",
    "verdict-contradicts-interval", "verdict-not-carried", "printed-interval", "printed-score",
    "printed-run-std", "training-rows", "trained-without-variance", "loss-lattice",
    "log-ratio-in-region", "means-feasible",
    "nearly-identical-runs",  # asks for more tasks than this tiny study has
}  # fmt: skip


def test_verify_finds_no_error_and_checks_all_that_a_run_can_record(
    reference: Any, tmp_path: Path
) -> None:
    report = verified(reference, tmp_path)
    assert report.exit_status == 0
    assert not [f for f in report.findings if f.severity.label == "error"]
    unchecked = {n.slug for n in report.not_checked}
    assert unchecked <= BEYOND_THE_RECORD
    assert "arms-start-alike" in {f.slug for f in report.findings}


@pytest.mark.slow
def test_two_gloo_processes_train_one_run_together(study_path: Any, tmp_path: Path) -> None:
    study = study_path(("seeds = [1, 2]", "seeds = [1]"))
    output = tmp_path / "results.json"
    driver = tmp_path / "both.py"
    driver.write_text(
        "import argparse, json, os, sys\n"
        "from audit.training import study as module\n"
        "from audit.cli import train\n"
        "sound = module.run_study\n"
        "def run_study(*args, **kwargs):\n"
        "    document = sound(*args, **kwargs)\n"
        "    path = os.environ['RANK_FOLDER'] + '/rank' + os.environ['RANK'] + '.json'\n"
        "    json.dump(document, open(path, 'w'))\n"
        "    return document\n"
        "module.run_study = run_study\n"
        "parser = argparse.ArgumentParser()\n"
        "train.configure(parser)\n"
        "sys.exit(train.main(parser.parse_args()))\n"
    )
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "OMP_NUM_THREADS": "1",
        "RANK_FOLDER": str(tmp_path),
    }
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "torch.distributed.run",
            "--standalone",
            "--nproc_per_node",
            "2",
            str(driver),
            str(study),
            "-o",
            str(output),
            "--quiet",
        ],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    document = json.loads(output.read_text())
    ranks = [json.loads((tmp_path / f"rank{rank}.json").read_text()) for rank in (0, 1)]
    assert ranks[0] == ranks[1] == document
    for run in document["seed_results"]:
        assert run["status"] == "finished"
        assert run["environment"]["world_size"] == 2
        assert "evaluation" in run
        for step in run["training"]:
            assert len(step["rewards"]) == 32
            assert len(step["training_rows"]) == 4
            for update in step["updates"]:
                assert len(update["response_audits"]) == 32
            for group, count in enumerate(step["correct_counts"]):
                assert sum(step["rewards"][8 * group : 8 * group + 8]) == count


@pytest.mark.slow
def test_a_dask_cluster_that_loses_a_worker_finishes_with_the_same_file(
    reference: Any, study_path: Any, tmp_path: Path
) -> None:
    distributed = pytest.importorskip("distributed", reason="Dask is not installed")
    study, output = study_path(), tmp_path / "results.json"
    environment = {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, env=environment
    ) as cluster:
        ledger = Ledger(output.with_suffix(".runs"))
        bench = prepare(read_study(study), str(study), ledger)
        with distributed.Client(cluster) as client:
            workers = client.run(os.getpid)
        killed: list[int] = []

        class Watch(Bars):
            def finished(self, name: str, how: str) -> None:
                super().finished(name, how)
                if name.endswith("seed1") and not killed:
                    killed.append(next(iter(workers.values())))
                    os.kill(killed[0], signal.SIGKILL)

        bars = Watch(len(pieces(bench)), quiet=True)
        run_study(bench, ledger, output, bars, scheduler=cluster.scheduler_address)
    assert killed
    assert without_times(output) == reference


def test_no_scheduler_at_the_address_is_one_clear_line(study_path: Any, tmp_path: Path) -> None:
    pytest.importorskip("distributed", reason="Dask is not installed")
    from audit.training import executors

    with (
        pytest.raises(UsageError, match="no Dask scheduler answers at"),
        executors.executor_for(1, "tcp://127.0.0.1:1", timeout=1),
    ):
        pass


def test_a_dry_run_trains_nothing_that_is_kept(
    study_path: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "results.json"
    assert audit_train(str(study_path()), "-o", str(output), "--dry-run") == 0
    said = capsys.readouterr().out
    assert "2 arms x 2 seeds = 4 runs, 0 finished already, 4 to do" in said
    assert "arms differ in: clip, epsilon_high, epsilon_high_max" in said
    assert "minutes a run (timed on 3 rounds and one evaluation)" in said
    assert "the clip can be reached" in said
    assert "smallest effect seen at 80% power" in said
    assert not output.exists()
    assert not list(output.with_suffix(".runs").glob("*seed*"))


def test_a_dry_run_whose_short_run_fails_says_so(
    study_path: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from audit.training import run as module

    def fail(self: Any) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(module._Run, "_train", fail)
    with pytest.raises(UsageError, match="for timing failed: OSError: disk full"):
        audit_train(str(study_path()), "--dry-run")


def test_the_selftest_passes(capsys: pytest.CaptureFixture[str]) -> None:
    assert audit_train("--selftest") == 0
    said = capsys.readouterr().out
    assert said.count("ok  ") == 5
    assert "FAIL" not in said


def test_a_failing_selftest_is_status_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from audit.training import selftest

    def broken(folder: Path) -> tuple[bool, str]:
        raise RuntimeError("the seam moved")

    monkeypatch.setattr(selftest, "_CHECKS", {"a seam": broken})
    assert audit_train("--selftest") == 1
    assert "FAIL  a seam: RuntimeError: the seam moved" in capsys.readouterr().out


def test_a_selftest_that_could_train_nothing_says_why_and_stops(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from audit.training import guards

    monkeypatch.setattr(guards, "version", {"trl": "1.15.0"}.__getitem__)
    monkeypatch.delenv("TRITON_INTERPRET", raising=False)
    with pytest.raises(UsageError, match=r"^trl 1\.15\.0 computes log-probabilities with a Triton"):
        audit_train("--selftest")
    assert "FAIL" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [([], "name a study file"), (["x.toml", "--workers", "0"], "--workers must be")],
)
def test_a_command_line_without_sense_is_refused(arguments: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        audit_train(*arguments)


@pytest.mark.parametrize(
    ("output", "message"),
    [
        ("study.toml", "would replace the study file"),
        (".", "is a folder"),
        ("r.runs", "is the name of the folder of finished runs"),
        ("taken.json", r"taken\.runs: cannot be made: File exists"),
        ("study.toml/r.json", "cannot be made: Not a directory"),
    ],
)
def test_an_output_that_cannot_be_written_is_refused_before_anything_is_run(
    output: str, message: str, study_path: Any, tmp_path: Path
) -> None:
    (tmp_path / "taken.runs").write_text("")
    study = study_path()
    before = sorted(tmp_path.iterdir())
    with pytest.raises(UsageError, match=message):
        audit_train(str(study), "-o", str(tmp_path / output))
    assert sorted(tmp_path.iterdir()) == before
    assert study.read_text() == STUDY


def test_a_disk_that_refuses_is_one_line_and_leaves_no_part(tmp_path: Path) -> None:
    (tmp_path / "a.json").mkdir()
    with pytest.raises(UsageError, match=r"a\.json: cannot be written: Is a directory"):
        Ledger(tmp_path).put("a", "f", {})
    assert [p.name for p in tmp_path.iterdir()] == ["a.json"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("prompts_per_round = 301", "prompts_per_round: 301 is more than the 300 training"),
        ("prompts_per_round = 4\nbeta = 0.1", "beta: the addition task keeps no reference"),
    ],
)
def test_a_study_that_would_train_nothing_is_refused(
    change: str, message: str, study_path: Any, tmp_path: Path
) -> None:
    path = study_path(("prompts_per_round = 4", change))
    with pytest.raises(InputError, match=message):
        prepare(read_study(path), str(path), Ledger(tmp_path / "x"))
    assert not (tmp_path / "x").exists()


def test_a_damaged_base_is_named(study_path: Any, tmp_path: Path) -> None:
    path, ledger = study_path(("warm_up_steps = 60", "warm_up_steps = 1")), Ledger(tmp_path / "x")
    prepare(read_study(path), str(path), ledger)
    (base,) = ledger.folder.glob("*.safetensors")
    base.write_bytes(base.read_bytes()[:100])
    with pytest.raises(InputError, match=rf"{base.name}: not a base model .*; delete it"):
        prepare(read_study(path), str(path), ledger)


def test_one_arm_compares_nothing(study_path: Any, tmp_path: Path) -> None:
    path = study_path()
    study = read_study(path)
    alone = replace(study, arms=study.arms[:1])
    with pytest.raises(InputError, match="at least two arms"):
        prepare(alone, str(path), Ledger(tmp_path / "x"))


def test_gsm8k_trains_on_chat_prompts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A tiny character model on made rows: the whole path, with a LoRA adapter."""
    from audit.training.tasks import gsm8k

    rows = [
        json.dumps({"question": f"What is {n} plus {n}?", "answer": f"#### {2 * n}"}).encode()
        + b"\n"
        for n in range(60)
    ]
    monkeypatch.setattr(gsm8k, "verified_lines", lambda path: rows)
    model = tmp_path / "tiny-chat"
    save_character_model(model)
    path = tmp_path / "study.toml"
    text = STUDY.replace(
        STUDY[STUDY.index("name =") : STUDY.index("[training]")],
        f'name = "gsm8k"\ndata = "train.jsonl"\nmodel = "{model}"\nngram = 20\n',
    ).replace("rounds = 3", "rounds = 1\nlora_rank = 2\nmax_tokens = 6")
    path.write_text(text.replace("seeds = [1, 2]", "seeds = [1]"))
    output = tmp_path / "results.json"
    assert audit_train(str(path), "-o", str(output)) == 0
    document = json.loads(output.read_text())
    (run,) = document["seed_results"]
    assert run["status"] == "finished"
    assert document["checkpoint"]["public_id"] == "tiny-chat"
    assert run["evaluation"]["benchmark"] == "gsm8k"
    assert sum(run["evaluation"]["samples"]) == 2 * document["holdout"]["holdout_rows"]
    (other,) = document["controls"]["fixed-clip"]["seed_results"]
    assert run["initial_parameters_sha256"] == other["initial_parameters_sha256"]
    assert str(tmp_path) not in json.dumps(document)


def save_character_model(folder: Path) -> None:
    import string

    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM

    words = ["<pad>", "<end>", "<unk>", *string.printable]
    tokens = Tokenizer(models.WordLevel({w: i for i, w in enumerate(words)}, unk_token="<unk>"))
    tokens.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    tokens.decoder = decoders.Fuse()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=tokens, pad_token="<pad>", eos_token="<end>", unk_token="<unk>"
    )
    tokenizer.chat_template = (
        "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}"
        "{% if add_generation_prompt %}assistant: {% endif %}"
    )
    torch.manual_seed(0)
    config = Qwen2Config(
        vocab_size=len(words),
        hidden_size=32,
        intermediate_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=2,
        max_position_embeddings=256,
        eos_token_id=1,
        pad_token_id=0,
        bos_token_id=None,
    )
    Qwen2ForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
