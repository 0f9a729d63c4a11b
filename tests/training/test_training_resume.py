from __future__ import annotations

import json
import os
import random
import signal
import time
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from audit.errors import InputError, UsageError
from audit.training.ledger import Ledger
from audit.training.study import pieces, prepare
from audit.training.study_file import read_study
from training.studies import audit_train, dead_lock, launch, without_times


@pytest.mark.slow
def test_killed_twice_and_started_again_gives_the_same_file(
    reference: Any, study_path: Any, tmp_path: Path
) -> None:
    study, output = study_path(), tmp_path / "out" / "results.json"
    moments = random.Random(20)
    killed = 0
    for _ in range(2):
        process = launch(tmp_path, study, output)
        folder = output.with_name("results.json.runs")
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
    stamps = {p: p.stat().st_mtime_ns for p in output.with_name("results.json.runs").iterdir()}
    assert audit_train(study, "-o", str(output)) == 0
    assert output.read_bytes() == first  # times too: nothing was run again
    assert stamps == {
        p: p.stat().st_mtime_ns for p in output.with_name("results.json.runs").iterdir()
    }


def test_settings_of_the_training_change_the_runs_and_not_the_base(
    study_path: Any, tmp_path: Path
) -> None:
    ledger = Ledger(tmp_path / "x.runs")
    path = study_path()
    bench = prepare(read_study(path), str(path), ledger)
    edited = study_path(("learning_rate = 1e-3", "learning_rate = 2e-3"))
    changed = prepare(read_study(edited), str(edited), ledger)
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
    ledger.path("a", "f").write_text('{"fingerprint": "f"')
    with pytest.raises(InputError, match=r"a\.f\.json: not a finished piece .*; delete it"):
        ledger.get("a", "f")
    ledger.path("a", "f").write_text('{"fingerprint": "g", "piece": {}}')
    with pytest.raises(InputError, match=r"a\.f\.json: .*its content is of other settings"):
        ledger.get("a", "f")
    ledger.put("a", "f", {"accuracy": 0.25})
    sound = ledger.path("a", "f").read_text()
    for damaged, reason in (
        (sound.replace("0.25", "0.75"), "its content was changed"),
        (sound.replace("0.25", "NaN"), "its content was changed"),
        ('{"fingerprint": "f", "piece": {}}', "its content was changed"),
        ("[" * 100_000, "recursion"),
        ("[]", "not a finished piece"),
    ):
        ledger.path("a", "f").write_text(damaged)
        with pytest.raises(InputError, match=reason):
            ledger.get("a", "f")
    ledger.path("a", "f").unlink()
    ledger.path("a", "f").symlink_to(tmp_path / "gone")
    with pytest.raises(InputError, match="a link to nothing; delete it"):
        ledger.get("a", "f")


def test_a_disk_that_refuses_is_one_line_and_leaves_no_part(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "runs")
    ledger.path("a", "f").mkdir(parents=True)
    with pytest.raises(UsageError, match=r"a\.f\.json: cannot be written: it is a folder"):
        ledger.put("a", "f", {})
    assert [p.name for p in ledger.folder.iterdir()] == ["a.f.json"]
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="file: cannot be made: File exists"):
        Ledger(tmp_path / "file").put("a", "f", {})


def refuse_a_second_start(folder: Path) -> None:
    refusal = pytest.raises(UsageError, match=rf"lock: process {os.getpid()} on .* trains here")
    with refusal, Ledger(folder).held():
        pass


def test_a_lock_that_was_deleted_or_taken_meanwhile_is_no_error_at_the_end(tmp_path: Path) -> None:
    lock, ledger = tmp_path / "lock", Ledger(tmp_path)
    with ledger.held():
        assert json.loads(lock.read_text())["process"] == os.getpid()
        lock.unlink()
    with ledger.held():
        lock.write_text("of another start")
    assert [path.name for path in tmp_path.iterdir()] == ["lock"]  # and no part of one
    assert lock.read_text() == "of another start"


def test_a_lock_is_whole_from_its_first_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []
    link = os.link

    def watched(part: Path, path: Path) -> None:
        link(part, path)
        seen.append(json.loads(path.read_text())["process"])

    monkeypatch.setattr(os, "link", watched)
    with Ledger(tmp_path).held():
        refuse_a_second_start(tmp_path)
    assert seen == [os.getpid()]
    assert list(tmp_path.iterdir()) == []


def test_a_folder_without_hard_links_is_held_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(part: Path, path: Path) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refused)
    with Ledger(tmp_path).held():
        refuse_a_second_start(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_of_two_starts_that_pass_over_one_dead_lock_one_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from audit.training import ledger as module

    lock, alive = dead_lock(tmp_path), module._alive
    with ExitStack() as first:

        def overtaken(process: int) -> bool:
            monkeypatch.setattr(module, "_alive", alive)
            assert not alive(process)
            first.enter_context(Ledger(tmp_path).held())  # between the look and the removal
            return False

        monkeypatch.setattr(module, "_alive", overtaken)
        refuse_a_second_start(tmp_path)
        assert json.loads(lock.read_text())["process"] == os.getpid()
    assert not lock.exists()


def test_an_edited_study_leaves_the_runs_of_the_old_one_and_finds_them_again(
    study_path: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "results.json"
    one_seed = ("seeds = [1, 2]", "seeds = [1]")
    study = study_path(one_seed)
    assert audit_train(str(study), "-o", str(output)) == 0
    first = output.read_bytes()
    folder = tmp_path / "results.json.runs"
    pieces_of_first = {p.name: p.read_bytes() for p in folder.glob("*.json")}
    assert len(pieces_of_first) == 5
    study_path(one_seed, ("learning_rate = 1e-3", "learning_rate = 2e-3"))
    capsys.readouterr()
    assert audit_train(str(study), "-o", str(output), quiet=False) == 0
    assert "results.json.runs: 2 finished pieces of other settings" in capsys.readouterr().err
    assert output.read_bytes() != first
    assert pieces_of_first.items() <= {p.name: p.read_bytes() for p in folder.iterdir()}.items()
    study_path(one_seed)
    assert audit_train(str(study), "-o", str(output)) == 0
    assert output.read_bytes() == first


def test_a_failed_run_is_tried_again_only_when_asked_and_says_what_went_before(
    study_path: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from audit.training import run as module

    sound = module._Run._train
    reasons = iter(["no memory", "no memory either"])
    calls = 0

    def train_or_fail(self: Any) -> None:
        nonlocal calls
        calls += 1
        if self.arm.name == "fixed-clip" and (reason := next(reasons, None)):
            raise OSError(reason)
        sound(self)

    monkeypatch.setattr(module._Run, "_train", train_or_fail)
    study = str(study_path(("seeds = [1, 2]", "seeds = [1]")))
    output = tmp_path / "results.json"

    def control(*options: str) -> Any:
        audit_train(study, "-o", str(output), *options)
        (run,) = json.loads(output.read_text())["controls"]["fixed-clip"]["seed_results"]
        return run

    first = control()["failure"]
    assert first.startswith("OSError: no memory (")
    assert control()["failure"] == first
    assert calls == 2
    again = control("--retry-failed")
    assert again["failure"].startswith("OSError: no memory either (")
    assert again["earlier_failures"] == [first]
    last = control("--retry-failed")
    assert last["status"] == "finished"
    assert last["earlier_failures"] == [first, again["failure"]]
    assert calls == 4
    assert control("--retry-failed") == last
    assert calls == 4  # what finished is never trained again
