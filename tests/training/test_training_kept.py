"""What was trained is kept: weights beside the runs; runs through a full disk and Ctrl-C."""

from __future__ import annotations

import errno
import json
import time
from pathlib import Path
from typing import Any

import pytest

from audit.errors import UsageError
from audit.partition import file_sha256
from audit.training import disk_full
from audit.training.ledger import Ledger
from audit.training.resuming import Unfinished
from audit.writing import write_whole
from training.studies import audit_train, without_times

ONE_SEED = ("seeds = [1, 2]", "seeds = [1]")


@pytest.fixture
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    waits: list[float] = []
    monkeypatch.setattr("time.sleep", waits.append)
    return waits


def full(path: Path, data: bytes) -> None:
    """Fail as a write to a full disk does: through the device that always is one."""
    write_whole("/dev/full", data)


def test_a_finished_piece_waits_until_the_disk_has_room(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    no_waiting: list[float],
    capsys: pytest.CaptureFixture[str],
) -> None:
    tries = iter([full, full, write_whole])
    monkeypatch.setattr(
        "audit.training.ledger.write_whole", lambda path, data: next(tries)(path, data)
    )
    ledger = Ledger(tmp_path / "x.runs")
    ledger.put("run", "f", {"seed": 1})
    assert ledger.get("run", "f") == {"seed": 1}
    assert no_waiting == [disk_full.SECONDS_BETWEEN_TRIES] * 2
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 2
    assert "the disk is full; finished piece run is held in memory" in said[0]
    assert said[1].endswith(": written")


def test_another_error_than_a_full_disk_is_not_waited_for(
    tmp_path: Path, no_waiting: list[float]
) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="cannot be made"):
        Ledger(tmp_path / "file").put("run", "f", {})
    assert no_waiting == []


@pytest.mark.parametrize(
    ("error", "is_full"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), True),
        (OSError(errno.EDQUOT, "Disk quota exceeded"), True),
        (RuntimeError("I/O error: No space left on device (os error 28)"), True),
        (RuntimeError("basic_ios::clear: iostream error"), True),
        (RuntimeError("PytorchStreamWriter failed writing file data/0: file write failed"), True),
        (OSError(errno.EACCES, "Permission denied"), False),
        (ValueError("space"), False),
    ],
)
def test_a_full_disk_is_told_from_other_errors(error: Exception, is_full: bool) -> None:
    assert disk_full.is_disk_full(error) is is_full


def test_the_error_of_a_real_full_disk_is_known(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        full(tmp_path, b"x")
    assert disk_full.is_disk_full(caught.value)


def test_torch_on_a_full_disk_is_known() -> None:
    import torch

    with pytest.raises(RuntimeError) as caught:
        torch.save(torch.zeros(1000), "/dev/full")
    assert disk_full.is_disk_full(caught.value)


def test_the_clock_of_a_run_ends_no_run(tmp_path: Path) -> None:
    unfinished = Unfinished(tmp_path / "run", "f", {}, started=0.0)
    unfinished.take_up()
    clock = tmp_path / "run" / "minutes"
    clock.unlink()
    clock.symlink_to("/dev/full")
    with pytest.raises(OSError, match="No space left"):
        clock.write_text("1.0")
    unfinished._ticked = 0.0
    unfinished.tick()
    assert unfinished._ticked > 0.0


def test_a_checkpoint_is_called_whole_once_the_disk_has_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    unfinished = Unfinished(tmp_path / "run", "f", {}, started=time.monotonic())
    unfinished.take_up()
    folder = tmp_path / "run" / "checkpoint-2"
    waits = 0

    def wait(seconds: float) -> None:
        nonlocal waits
        waits += 1
        assert not (folder / "whole.json").exists()

    def save() -> None:
        folder.mkdir(exist_ok=True)
        (folder / "weights").write_text("half")
        (full if waits < 2 else write_whole)(folder / "weights", b"whole")

    monkeypatch.setattr("time.sleep", wait)
    monkeypatch.setattr(
        "audit.training.resuming.write_whole",
        lambda path, data: (full if waits < 4 else write_whole)(path, data),
    )
    disk_full.held_together(save, folder, "the checkpoint")
    assert waits == 2
    unfinished.add(folder, 1, {})
    assert waits == 4
    assert "checkpoint-2: the disk is full; the checkpoint is held" in capsys.readouterr().err
    found = Unfinished(tmp_path / "run", "f", {}, started=time.monotonic())._latest()
    assert found is not None
    assert (found.folder / "weights").read_text() == "whole"


def test_another_error_in_a_checkpoint_is_not_waited_for(
    tmp_path: Path, no_waiting: list[float]
) -> None:
    def save() -> None:
        raise ValueError("no checkpoint")

    with pytest.raises(ValueError, match="no checkpoint"):
        disk_full.held_together(save, tmp_path, "the checkpoint")
    assert no_waiting == []


def test_a_whole_model_is_kept_where_it_is_asked_for(study_path: Any, tmp_path: Path) -> None:
    from transformers import AutoModelForCausalLM

    from audit.training.parameters import parameters_sha256

    path = study_path(ONE_SEED, ("[training]", "[training]\nkeep_weights = true"))
    assert audit_train(str(path)) == 0
    document = json.loads((tmp_path / "results.json").read_text())
    (run,) = document["seed_results"]
    folder = tmp_path / "results.json.runs" / run["weights"]["folder"]
    for name, sha256 in run["weights"]["file_sha256"].items():
        assert file_sha256(folder / name) == sha256
    kept = AutoModelForCausalLM.from_pretrained(folder)
    assert parameters_sha256(kept) == run["final_parameters_sha256"]
    assert not list(folder.parent.glob(".*.part"))


@pytest.mark.parametrize("options", [[], ["--dry-run"]])
def test_ctrl_c_before_the_training_is_one_line(
    options: list[str],
    study_path: Any,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def interrupted(self: Any, cache: Path) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr("audit.training.tasks.addition.Addition.prepare", interrupted)
    path = study_path()
    with pytest.raises(KeyboardInterrupt):  # for which every command ends with 130
        audit_train(str(path), *options)
    said = capsys.readouterr().err
    assert said == "audit: stopped before the study was begun; the same command begins it\n"
    assert not list(path.parent.glob("*.runs/*"))


def test_ctrl_c_says_what_is_kept_and_the_next_start_goes_on(
    study_path: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    reference: Any,
) -> None:
    from audit.training import study as module

    path, made = study_path(), module.carry_out
    done: list[str] = []

    def interrupted(bench: Any, piece: Any, report: Any) -> Any:
        if len(done) == 4:
            raise KeyboardInterrupt
        done.append(piece.name)
        return made(bench, piece, report)

    monkeypatch.setattr(module, "carry_out", interrupted)
    with pytest.raises(KeyboardInterrupt):
        audit_train(str(path))
    said = capsys.readouterr().err
    assert "stopped; 4 of 7 pieces of the study are finished and kept in" in said
    assert "the same command goes on with the rest" in said
    assert not (tmp_path / "results.json").exists()
    monkeypatch.setattr(module, "carry_out", made)
    assert audit_train(str(path)) == 0
    assert without_times(tmp_path / "results.json") == reference
