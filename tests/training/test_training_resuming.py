from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from audit.errors import UsageError
from audit.training.ledger import Ledger
from audit.training.recorder import Recorder, ResponseAudit, Update
from audit.training.resuming import Unfinished, forget
from audit.training.run import Bench, run
from audit.training.study import StudyPiece, pieces, prepare
from audit.training.study_file import read_study
from training.studies import ARMS, audit_train

# Two epochs of prompts, an adapter with dropout, a reference, prompts drawn in place of flat
# groups, a component that raises, an evaluation within the run and one before it.
STUDY = (
    """\
seeds = [1]
[task]
name = "addition"
limit = 10
train_prompts = 20
holdout_tasks = 10
warm_up_steps = 60
[training]
rounds = 8
prompts_per_round = 4
learning_rate = 1e-3
lr_scheduler_type = "cosine"
zero_groups = "reject"
lora_rank = 2
lora_dropout = 0.1
beta = 0.05
save_steps = 2
[[training.rewards]]
function = "exact_match"
[[training.rewards]]
function = "odd:odd"
weight = 0.5
on_error = "wrong"
[evaluation]
samples = 2
checkpoints = [3]
baseline = true
[[evaluation.benchmarks]]
benchmark = "doubles"
holdout = "doubles.jsonl"
grader = "exact_match"
at_checkpoints = true
[telemetry]
level = "full"
"""
    + ARMS
)
ODD = """\
def odd(response, answer):
    if len(response) > 3:
        raise ValueError("long")
    return len(response) % 2 == 0
"""


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    folder = tmp_path_factory.mktemp("resuming")
    (folder / "odd.py").write_text(ODD)
    doubles = ({"question": f"{n:02d}+{n:02d}=", "answer": 2 * n} for n in range(4, 8))
    (folder / "doubles.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in doubles))
    (folder / "study.toml").write_text(STUDY)
    path = str(folder / "study.toml")
    return prepare(read_study(path), path, Ledger(folder / "results.json.runs"))


@pytest.fixture(scope="module")
def piece(bench: Bench) -> StudyPiece:
    return next(p for p in pieces(bench) if p.arm is not None)


@pytest.fixture(scope="module")
def whole(bench: Bench, piece: StudyPiece) -> dict[str, Any]:
    """The run without a checkpoint and without interruption."""
    assert piece.arm is not None
    plain = replace(piece.arm, training=replace(piece.arm.training, save_steps=0))
    return comparable(run(bench, plain, piece.number))


@pytest.fixture
def started(
    bench: Bench, piece: StudyPiece
) -> Iterator[Callable[[int | None], dict[str, Any] | None]]:
    """Start the run, and cut it off at a report of its progress."""
    assert piece.arm is not None
    arm = piece.arm

    def start(cut_at: int | None) -> dict[str, Any] | None:
        reports = 0

        def tell(*_: Any) -> None:
            nonlocal reports
            reports += 1
            if reports == cut_at:
                raise KeyboardInterrupt

        try:
            return run(bench, arm, piece.number, tell, piece.fingerprint)
        except KeyboardInterrupt:
            return None

    yield start
    shutil.rmtree(bench.cache / "unfinished", ignore_errors=True)


def checkpoints(bench: Bench) -> list[Path]:
    found = (bench.cache / "unfinished").glob("*/checkpoint-*")
    return sorted(found, key=lambda path: int(path.name.rpartition("-")[2]))


def comparable(record: dict[str, Any]) -> dict[str, Any]:
    """The record without its times and without the note that it was resumed."""
    text = json.dumps({k: v for k, v in record.items() if k not in ("resumed", "code_commit")})
    found: dict[str, Any] = json.loads(text)
    assert found["status"] == "finished", found.get("failure")
    assert found["cost"].pop("minutes") > 0
    for block in (found["evaluation"], *found["evaluations"]):
        del block["date"]
    return found


def test_a_run_cut_off_within_goes_on_to_the_same_record(
    bench: Bench, started: Any, whole: dict[str, Any]
) -> None:
    # In the evaluation before it, before a checkpoint, within a batch, in the evaluation within it,
    # in the second epoch, and twice in the evaluation after the last update.
    for cut_at in (1, 4, 6, 3, 8, 9, 1):
        assert started(cut_at) is None
    assert [path.name for path in checkpoints(bench)] == ["checkpoint-12", "checkpoint-16"]
    record = started(None)
    assert comparable(record) == whole
    assert [one["step"] for one in record["resumed"]] == [0, 0, 2, 2, 4, 8, 8]
    spent = [one["minutes"] for one in record["resumed"]]
    assert spent == sorted(spent)
    assert 0 < spent[0] < spent[-1] < record["cost"]["minutes"]


def test_checkpoints_change_nothing_of_a_run(started: Any, whole: dict[str, Any]) -> None:
    record = started(None)
    assert "resumed" not in record
    assert comparable(record) == whole


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(bytes(content))


def test_of_a_damaged_checkpoint_the_one_before_is_taken(
    bench: Bench, started: Any, whole: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    started(12)
    before, last = checkpoints(bench)
    flip(last / "optimizer.pt")
    record = started(None)
    assert [one["step"] for one in record["resumed"]] == [before_step(before)]
    assert comparable(record) == whole
    assert f"{last}: not a whole checkpoint (optimizer.pt: its c" in capsys.readouterr().err


def before_step(folder: Path) -> int:
    return int(folder.name.rpartition("-")[2]) // 2


def unfinished(folder: Path, fingerprint: str = "f") -> Unfinished:
    return Unfinished(folder, fingerprint, {"python": "3"}, started=time.monotonic())


def saved(run: Unfinished, step: int) -> Path:
    folder = run.folder / f"checkpoint-{2 * step}"
    folder.mkdir()
    for name in ("weights", "rng"):
        (folder / name).write_text(f"{name} {step}")
    run.add(folder, step, {"errored": [[]]})
    return folder


DAMAGE: dict[str, Callable[[Path], object]] = {
    "a flipped bit": lambda folder: flip(folder / "weights"),
    "a file cut short": lambda folder: (folder / "rng").write_text("rng"),
    "a missing file": lambda folder: (folder / "rng").unlink(),
    "a file more": lambda folder: (folder / "more").write_text(""),
    "a list cut short": lambda folder: (folder / "whole.json").write_text('{"fingerprint": "f'),
    "a list of another kind": lambda folder: (folder / "whole.json").write_text("[1]"),
    "no list": lambda folder: (folder / "whole.json").unlink(),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_what_is_not_whole_is_passed_over(
    damage: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = unfinished(tmp_path / "run")
    assert first.take_up() is None
    folders = [saved(first, step) for step in (1, 2, 3)]
    assert [folder.exists() for folder in folders] == [False, True, True]  # two are kept
    DAMAGE[damage](folders[2])
    found = unfinished(tmp_path / "run").take_up()
    assert found is not None
    assert (found.folder, found.step) == (folders[1], 2)
    assert not folders[2].exists()
    # One without its list was cut off while it was written, which is no damage.
    assert ("not a whole checkpoint" in capsys.readouterr().err) == (damage != "no list")
    DAMAGE[damage](folders[1])
    assert unfinished(tmp_path / "run").take_up() is None


def test_a_run_begun_with_other_software_is_refused_and_kept(tmp_path: Path) -> None:
    first = unfinished(tmp_path / "run")
    first.take_up()
    folder = saved(first, 1)
    other = Unfinished(tmp_path / "run", "f", {"python": "4"}, started=time.monotonic())
    with pytest.raises(UsageError, match=r"run: begun where python is '3'.*delete this folder"):
        other.take_up()
    assert folder.exists()


def test_a_checkpoint_of_other_settings_under_the_name_is_passed_over(tmp_path: Path) -> None:
    first = unfinished(tmp_path / "run")
    first.take_up()
    saved(first, 1)
    assert unfinished(tmp_path / "run", "g").take_up() is None


def test_the_time_of_starts_that_were_cut_off_counts(tmp_path: Path) -> None:
    first = unfinished(tmp_path / "run")
    first.take_up()
    assert first.resumed == []
    (tmp_path / "run" / "minutes").write_text("12.5")
    second = unfinished(tmp_path / "run")
    second.take_up()
    assert 12.5 <= second.minutes < 12.6
    saved(second, 4)
    for torn in ("", "12.", "nan "):  # cut off within the writing
        (tmp_path / "run" / "minutes").write_text(torn)
        last = unfinished(tmp_path / "run")
        last.take_up()
        assert 12 <= last.minutes < 12.6
    assert [one["step"] for one in last.resumed] == [0, 4, 4, 4]
    forget(last.folder)
    assert not (tmp_path / "run").exists()


def test_where_checkpoints_are_taken_leaves_a_finished_run_as_it_is(bench: Bench) -> None:
    def sparser(training: Any) -> Any:
        return replace(training, save_steps=5)

    study = bench.study
    arms = tuple(replace(arm, training=sparser(arm.training)) for arm in study.arms)
    other = replace(bench, study=replace(study, training=sparser(study.training), arms=arms))
    assert [p.fingerprint for p in pieces(other)] == [p.fingerprint for p in pieces(bench)]


def test_checkpoints_of_other_settings_are_named_and_left(
    study_path: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = study_path(
        ("seeds = [1, 2]", "seeds = [1]"), ("rounds = 3", "rounds = 1\nsave_steps = 1")
    )
    other = tmp_path / "results.json.runs" / "unfinished" / "adaptive-clip-seed1.0123456789ab"
    (other / "checkpoint-4").mkdir(parents=True)
    assert audit_train(str(study), quiet=False) == 0
    said = capsys.readouterr().err
    assert f"{other.name}: checkpoints of other settings are left as they are" in said
    assert [path.name for path in other.parent.iterdir()] == [
        other.name
    ]  # of those that ended none


def test_a_recorder_that_takes_up_another_says_the_same() -> None:
    def taken(recorder: Recorder) -> tuple[Any, ...]:
        return (
            recorder.training(),
            recorder.clip_activity(),
            recorder.surface.block(),
            recorder.generated_tokens,
            recorder.groups,
            recorder.zero_advantage_groups,
        )

    recorder = Recorder("full", 2, "tv", "mc")
    recorder.reject(3, 20)
    for step in range(2):
        recorder.begin([1.0, 0.1 * step], [0.5, -0.5], [1], [3, 4], [False, True], [step])
        recorder.surface.add(["a \ud800 7", "b"], [1.0, 0.1 * step])
        audit = ResponseAudit(0, 3, 1, 0, 1 / 3, 0.0, 0.8, 1.2, 0.1)
        recorder.end_update(Update(0.1 / 3, 2.5, (audit,), {"reward": 0.1}))
    other = Recorder("full", 2, "tv", "mc")
    other.restore(json.loads(json.dumps(recorder.state())))
    assert taken(other) == taken(recorder)
    for one in (recorder, other):  # and goes on alike
        one.begin([0.0, 0.0], [0.0, 0.0], [0], [1, 1], [False, False], [])
        one.surface.add(["a", "c"], [0.0, 0.0])
    assert taken(other) == taken(recorder)


def test_the_trainer_alone_goes_on_from_its_own_checkpoint(audited: Any, tmp_path: Path) -> None:
    from audit.training.parameters import parameters_sha256

    saving = {"save_strategy": "steps", "save_steps": 2, "output_dir": str(tmp_path / "out")}
    first = audited(args=saving)
    first.train()
    again = audited(args=saving)
    (tmp_path / "out" / "checkpoint-6").rename(tmp_path / "end")
    again.train(resume_from_checkpoint=True)  # from the last one, checkpoint-4
    assert again.record() == first.record()
    assert parameters_sha256(again.model) == parameters_sha256(first.model)


def test_a_checkpoint_without_the_record_or_within_a_batch_is_refused(
    audited: Any, tmp_path: Path
) -> None:
    saving = {"save_strategy": "steps", "save_steps": 1, "output_dir": str(tmp_path / "out")}
    trainer = audited(args={**saving, "max_steps": 2})
    trainer.train()
    with pytest.raises(UsageError, match="checkpoint-1: resume_from_checkpoint: lies within a b"):
        trainer.train(resume_from_checkpoint=str(tmp_path / "out" / "checkpoint-1"))
    (tmp_path / "out" / "checkpoint-2" / "audit_record.json").unlink()
    for how in (True, str(tmp_path / "out" / "checkpoint-2")):
        with pytest.raises(UsageError, match="the rounds before it are missing"):
            trainer.train(resume_from_checkpoint=how)
