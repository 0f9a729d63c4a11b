from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from audit.errors import UsageError
from audit.training.study_file import read_study
from training.studies import STUDY, audit_train


def test_a_dry_run_trains_nothing_that_is_kept(
    study_path: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "results.json"
    study = study_path()
    assert audit_train(str(study), "-o", str(output), "--dry-run", "--workers", "2") == 0
    said = capsys.readouterr().out
    assert "2 arms x 2 seeds = 4 runs, 0 ended already, 4 to do" in said
    assert "arms differ in: clip, epsilon_high, epsilon_high_max" in said
    assert "s a run (timed on a short run of adaptive-clip)" in said
    assert "4 to do, and 3 evaluations of the base" in said
    assert "with 2 workers" in said
    assert "the clip can be reached" in said
    assert "smallest effect seen at 80% power" in said
    assert list(tmp_path.iterdir()) == [study]


@pytest.mark.parametrize(("rank", "lines"), [("0", ["a line"]), ("1", [])])
def test_of_several_processes_one_says_what_the_dry_run_found(
    rank: str,
    lines: list[str],
    study_path: Any,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("audit.training.study.prepare", lambda *_: None)
    monkeypatch.setattr("audit.training.forecast.forecast", lambda *_: iter(["a line"]))
    monkeypatch.setenv("RANK", rank)
    assert audit_train(str(study_path()), "--dry-run") == 0
    assert capsys.readouterr().out.splitlines() == lines


@pytest.mark.parametrize("kept", ["lora_rank = 2", "keep_weights = true"])
def test_a_dry_run_leaves_no_weights_beside_finished_runs(
    kept: str, study_path: Any, tmp_path: Path
) -> None:
    runs = tmp_path / "results.json.runs"
    runs.mkdir()
    path = study_path(("[training]", f"[training]\n{kept}"), ("rounds = 3", "rounds = 1"))
    assert audit_train(str(path), "--dry-run") == 0
    assert {child.name.split("-")[0] for child in runs.iterdir()} == {"base"}  # made for all runs


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


def test_packages_that_could_train_nothing_stop_the_command_and_say_why(
    study_path: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from audit.training import guards

    monkeypatch.setattr(guards, "version", {"trl": "1.15.0"}.__getitem__)
    monkeypatch.delenv("TRITON_INTERPRET", raising=False)
    study = str(study_path())
    for arguments in (
        ["--selftest"],
        [study, "--dry-run"],
        [study, "-o", str(tmp_path / "r.json")],
    ):
        with pytest.raises(
            UsageError, match=r"^trl 1\.15\.0 computes log-probabilities with a Trit"
        ):
            audit_train(*arguments)
    assert not list(tmp_path.glob("r.json*/*"))


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
        ("/dev/null", "is no file, and finished runs lie beside one"),
        ("r.runs", "is the name of a folder of finished runs"),
        ("taken.json", r"taken\.json\.runs: cannot be made: File exists"),
        ("study.toml/r.json", "cannot be made: Not a directory"),
    ],
)
def test_an_output_that_cannot_be_written_is_refused_before_anything_is_run(
    output: str, message: str, study_path: Any, tmp_path: Path
) -> None:
    (tmp_path / "taken.json.runs").write_text("")
    study = study_path()
    before = sorted(tmp_path.iterdir())
    with pytest.raises(UsageError, match=message):
        audit_train(str(study), "-o", str(tmp_path / output))
    assert sorted(tmp_path.iterdir()) == before
    assert study.read_text() == STUDY


def test_results_of_one_stem_have_folders_of_their_own(study_path: Any, tmp_path: Path) -> None:
    study = str(study_path(("seeds = [1, 2]", "seeds = [1]")))
    for name in ("r.json", "r.txt"):
        assert audit_train(study, "-o", str(tmp_path / name)) == 0
        assert len(list((tmp_path / f"{name}.runs").glob("*.json"))) == 5


def test_several_gpus_in_one_process_are_refused_and_the_ways_out_named(
    study_path: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    from audit.training.run import visible_gpus

    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "set_device", lambda device: None)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    study = study_path(("rounds = 3", 'rounds = 3\ndevice = "auto"'))
    with pytest.raises(UsageError, match=r"2 GPUs are visible .*--workers 2.*torchrun"):
        audit_train(str(study), "-o", str(tmp_path / "r.json"))
    assert visible_gpus(read_study(study)) == ["0", "1"]
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "GPU-a,GPU-b")
    assert visible_gpus(read_study(study)) == ["GPU-a", "GPU-b"]
    assert visible_gpus(read_study(study_path())) == []


@pytest.mark.parametrize(
    ("minutes", "shown"),
    [(0.011, "0.7 s"), (1.99, "119.4 s"), (2, "2 min"), (119.4, "119 min"), (150, "2.5 h")],
)
def test_a_duration_is_shown_in_the_unit_a_person_would_use(minutes: float, shown: str) -> None:
    from audit.training.forecast import _duration

    assert _duration(minutes) == shown


def test_a_dry_run_names_what_did_not_finish(
    study_path: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = str(
        study_path(
            ("learning_rate = 1e-3", "learning_rate = 1e30\nmax_grad_norm = 0.0"),
            ("seeds = [1, 2]", "seeds = [1]"),
        )
    )
    output = str(tmp_path / "results.json")
    assert audit_train(study, "-o", output) == 1
    capsys.readouterr()
    assert audit_train(study, "-o", output, "--dry-run") == 0
    assert "2 ended already (2 did not finish), 0 to do" in capsys.readouterr().out


def test_a_dry_run_promises_no_effect_on_tasks_too_few_for_any_claim(
    study_path: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (
        audit_train(str(study_path(("holdout_tasks = 20", "holdout_tasks = 7"))), "--dry-run") == 0
    )
    said = capsys.readouterr().out
    assert "fewer than 8 holdout tasks: every claim would be refused" in said
    assert "80% power" not in said
