"""What `audit.Study` records: values at the call, endings, attempts, and the file they make."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from argparse import Namespace
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made_trackers import damaged

import audit
from audit.errors import AuditError, ImportRefused, RecordingError
from audit.importers.folder.bringing_in import bring_in
from audit.importers.folder.said import Said
from audit.schema import schema_faults

TASKS = [f"t{n}" for n in range(40)]


def record(
    study: audit.Study, arm: str, seed: int, share: float = 0.5, **config: Any
) -> audit.recording.RecordedRun:
    """Record a run of a few steps with invented outcomes of its own."""
    draw = random.Random(f"{arm} {seed}")
    with study.run(arm, seed=seed, config={"rate": 0.1, "arm_setting": arm, **config}) as run:
        run.parameters(initial=bytes([seed]))
        for step in (1, 2, 3):
            run.log(step, loss=draw.random())
        right = [sum(draw.random() < share for _ in range(4)) for _ in TASKS]
        run.evaluate("sums", TASKS, right, 4)
        run.parameters(final=repr(draw.random()).encode())
    return run


def both_arms(folder: Path, seeds: tuple[int, ...] = (1, 2, 3)) -> audit.Study:
    study = audit.Study("new", control="old", folder=folder)
    for seed in seeds:
        record(study, "old", seed, 0.4)
        record(study, "new", seed, 0.8)
    return study


def runs(document: dict[str, Any], arm: str = "new") -> list[dict[str, Any]]:
    if document["method"] == arm:
        return list(document["seed_results"])
    return list(document["controls"][arm]["seed_results"])


def gated(path: Path) -> int:
    """Return the exit status of the gate."""
    command = [sys.executable, "-m", "audit", "gate", str(path)]
    command += ["--claim", "gain accuracy new over old"]
    return subprocess.run(command, capture_output=True, check=False).returncode


def test_a_recorded_study_keeps_the_contract_and_is_judged(tmp_path: Path) -> None:
    study = both_arms(tmp_path / "runs")
    written = study.write(tmp_path / "results.json")
    document = json.loads(written.read_text())
    assert schema_faults(document) == []
    assert audit.verify(audit.load(written)).exit_status == 0
    assert gated(written) == 0
    assert {run["identified_by"] for run in runs(document)} == {"trainer-record"}
    assert document["launched_seeds"] == {"new": [1, 2, 3], "old": [1, 2, 3]}
    assert document["change"]["fields"] == ["arm_setting"]
    assert document["controls"]["old"]["role"] == "control"


def test_the_import_of_the_records_is_the_file_that_the_study_writes(tmp_path: Path) -> None:
    study = both_arms(tmp_path / "runs", (1, 2))
    study.write(tmp_path / "one.json")
    command = [sys.executable, "-m", "audit", "import", str(tmp_path / "runs")]
    command += ["-o", str(tmp_path / "other.json")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    one, other = (json.loads((tmp_path / n).read_text()) for n in ("one.json", "other.json"))
    assert one == other


def test_an_evaluation_comes_back_as_it_was_recorded(tmp_path: Path) -> None:
    study = audit.Study("new", folder=tmp_path)
    given: dict[str, Any] = {
        "errored": [0, 2, 1],
        "truncated": [3, 0, 1],
        "unparsed": [1, 1, 1],
        "mean_tokens": [10.5, 20.0, 7.0],
        "clusters": ["x", "y", "x"],
        "condition": {"temperature": 0.7, "max_tokens": 256},
        "split": "validation",
        "selected_on": "none",
    }
    with study.run("new", seed=5) as run:
        run.evaluate("sums", ["b", "a", "c"], [3, 1, 0], [4, 3, 4], step=20, **given)
    (block,) = (run["evaluation"] for run in runs(study.document()))
    order = [block["task_ids"].index(task) for task in ("b", "a", "c")]
    for name, values in ({"correct": [3, 1, 0], "samples": [4, 3, 4]} | given).items():
        if isinstance(values, list):
            assert [block[name][place] for place in order] == values, name
        else:
            assert block[name] == values
    assert block["checkpoint_step"] == 20


def test_scores_without_a_right_or_wrong_come_over_as_scores(tmp_path: Path) -> None:
    study = audit.Study("new", folder=tmp_path)
    with study.run("new", seed=1) as run:
        run.evaluate("sums", [1, 2], scores=np.array([0.25, 7.5]), metric="reward")
    (block,) = (run["evaluation"] for run in runs(study.document()))
    assert (block["task_ids"], block["scores"], block["metric"]) == ([1, 2], [0.25, 7.5], "reward")


def test_step_0_is_the_untrained_model_and_the_last_common_step_is_judged(tmp_path: Path) -> None:
    study = audit.Study("new", folder=tmp_path)
    for seed in (1, 2):
        with study.run("new", seed=seed) as run:
            run.evaluate("sums", ["a", "b"], [0, seed - 1], step=0)
            run.evaluate("sums", ["a", "b"], [1, 0], step=10)
            if seed == 1:
                run.evaluate("sums", ["a", "b"], [1, 1], step=20)
    document = study.document()
    steps = {run["evaluation"]["checkpoint_step"] for run in runs(document)}
    assert steps == {10}
    assert [e["evaluation"]["correct"] for e in document["base_evaluations"]] == [[0, 0], [0, 1]]


def test_an_evaluation_without_a_step_is_of_the_last_logged_one(tmp_path: Path) -> None:
    study = audit.Study("new", folder=tmp_path)
    with study.run("new", seed=1) as run:
        for step in (1, 2, 3):
            run.log(step, loss=0.5)
            run.evaluate("sums", ["a"], [True])
        with pytest.raises(RecordingError, match="recorded already at step 3"):
            run.evaluate("sums", ["a"], [True])
    (only,) = runs(study.document())
    blocks = [only["evaluation"], *only["evaluations"]]
    assert [block["checkpoint_step"] for block in blocks] == [3, 1, 2]


@dataclass
class Settings:
    rate: float
    layers: tuple[int, ...]


class WithToDict:
    def to_dict(self) -> dict[str, Any]:
        return {"rate": 0.5, "strategy": threading.Lock}


@pytest.mark.parametrize(
    "config",
    [
        {"rate": 0.5},
        Settings(0.5, (1, 2)),
        Namespace(rate=0.5, path=Path("x")),
        WithToDict(),
        {"rate": np.float32(0.5), "nested": {"deep": {1, 2}}, "huge": 2**70, "nan": float("nan")},
    ],
    ids=["dict", "dataclass", "namespace", "to_dict", "numpy"],
)
def test_settings_of_every_kind_are_recorded(config: Any, tmp_path: Path) -> None:
    run = audit.Study("new", folder=tmp_path).run("new", seed=1, config=config)
    assert run.path is not None
    first = json.loads(run.path.read_text().splitlines()[0])
    assert first["config"]["rate"] == 0.5


REFUSED: list[tuple[str, Callable[[audit.recording.RecordedRun], None], str]] = [
    (
        "step 0",
        lambda run: run.log(0, loss=1),
        r"step 0: .* run.* logs step \+ 1|steps are counted",
    ),
    ("a float step", lambda run: run.log(1.5, loss=1), "step: expected an integer, got 1.5"),  # type: ignore[arg-type]
    ("text", lambda run: run.log(1, loss="0.5"), "loss of step 1: expected a number, got '0.5'"),
    ("a list", lambda run: run.log(1, loss=[1, 2]), "expected a number, got"),
    ("an array", lambda run: run.log(1, loss=np.zeros(2)), "expected a number"),
    ("a bool", lambda run: run.log(1, done=True), "done of step 1: expected a number, got True"),
    ("too many right", lambda run: run.evaluate("s", ["a"], [3], 2), "correct of task 'a': 3 of 2"),
    ("below 0", lambda run: run.evaluate("s", ["a"], [-1], 2), r"correct\[0\]: expected 0 or more"),
    (
        "half right",
        lambda run: run.evaluate("s", ["a"], [0.5], 2),
        r"correct\[0\]: expected an int",
    ),
    ("lengths", lambda run: run.evaluate("s", ["a", "b"], [1]), "correct: 1 entries for 2 tasks"),
    (
        "twice",
        lambda run: run.evaluate("s", ["a", "a"], [1, 1]),
        r"task_ids\[1\]: duplicate task 'a'",
    ),
    ("7 and '7'", lambda run: run.evaluate("s", [7, "7"], [1, 1]), "duplicate task '7' in s"),
    ("no id", lambda run: run.evaluate("s", [None], [1]), r"task_ids\[0\]: expected text or an in"),
    ("no tasks", lambda run: run.evaluate("s", [], []), "s: no tasks"),
    ("no outcome", lambda run: run.evaluate("s", ["a"]), "give correct .* or scores"),
    ("both", lambda run: run.evaluate("s", ["a"], [1], scores=[1.0]), "one of the two"),
    (
        "NaN",
        lambda run: run.evaluate("s", ["a"], scores=[float("nan")]),
        r"scores\[0\]: expected a f",
    ),
    (
        "right and errored",
        lambda run: run.evaluate("s", ["a"], [2], 2, errored=[1]),
        "2 correct and 1 errored of 2",
    ),
    (
        "more unparsed than drawn",
        lambda run: run.evaluate("s", ["a"], [0], 2, unparsed=[3]),
        "unparsed of task 'a': 3 of 2",
    ),
    (
        "text as a temperature",
        lambda run: run.evaluate("s", ["a"], [1], condition={"temperature": "hot"}),
        "condition.temperature",
    ),
    ("too many", lambda run: run.evaluate("s", ["a"], [0], 10**8), "100,000,000 answers"),
    ("no name", lambda run: run.evaluate("", ["a"], [1]), "benchmark: expected a name, got ''"),
    ("not a digest", lambda run: run.parameters(final="abc"), "final: expected 64 hexadecimal dig"),
    ("a module", lambda run: run.parameters(final=object()), r"give state_dict\(\)"),
    ("nothing", lambda run: run.parameters(), "give initial, final or both"),
    ("empty", lambda run: run.parameters(final={"a": {}}), "final: no arrays in it"),
    ("words", lambda run: run.parameters(final={"a": np.array(["x"])}), "final a: expected an arr"),
    ("no member", lambda run: run.add(), "give members of a run by name"),
    ("an unknown member", lambda run: run.add(costs={"usd": 1}), "costs: a run has no such member"),
    ("a price of words", lambda run: run.add(cost={"usd": "one"}), "cost.usd: expected"),
    ("the record's own", lambda run: run.add(seed=2), "seed: is recorded by study.run"),
]


@pytest.mark.parametrize(
    ("call", "message"), [row[1:] for row in REFUSED], ids=[r[0] for r in REFUSED]
)
def test_a_call_that_makes_no_sense_is_refused_at_once(
    call: Callable[[audit.recording.RecordedRun], None], message: str, tmp_path: Path
) -> None:
    run = audit.Study("new", folder=tmp_path).run("new", seed=1)
    assert run.path is not None
    before = run.path.read_bytes()
    with pytest.raises(RecordingError, match=message):
        call(run)
    assert run.path.read_bytes() == before


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: audit.Study("", folder="x"), "method: expected a name"),
        (lambda: audit.Study("a", control="a"), "'a' names two arms"),
        (lambda: audit.Study("a").run("b", seed=1), "no arm 'b'; there are a"),
        (lambda: audit.Study("warmup").run("warmpu", seed=1), "did you mean 'warmup'"),
        (lambda: audit.Study("a").run("a", seed="1"), "seed: expected an integer, got '1'"),  # type: ignore[arg-type]
        (lambda: audit.Study("a").run("a", seed=True), "seed: expected an integer"),
        (
            lambda: audit.Study("a").run("a", seed=1, config=[1]),
            "config: expected settings by name",
        ),
    ],
)
def test_a_study_that_makes_no_sense_is_refused_and_leaves_nothing(
    make: Callable[[], Any], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(RecordingError, match=message):
        make()
    assert list(tmp_path.iterdir()) == []


class Tensor:
    """Stands in for a tensor of size 1 of any framework."""

    def __init__(self, value: float) -> None:
        self.value = value

    def item(self) -> float:
        return self.value


def test_arrays_and_tensors_are_taken_as_numbers(tmp_path: Path) -> None:
    study = audit.Study("new", folder=tmp_path)
    with study.run("new", seed=np.int64(3)) as run:
        run.log(
            np.int32(1), loss=Tensor(0.5), norm=np.float32(0.25), count=np.array([7]), none=None
        )
        run.log(1, more=1)
        run.evaluate("sums", np.arange(3), np.array([True, False, True]), np.array([1, 1, 1]))
        run.evaluate("means", ["a"], np.array([2.0]), 4)
    (only,) = runs(study.document())
    assert only["seed"] == 3
    figures = only["training"][0]["updates"][0]["metrics"]
    assert figures == {"loss": 0.5, "norm": 0.25, "count": 7, "none": None, "more": 1}
    assert only["evaluation"]["correct"] in ([1, 0, 1], [2])


@pytest.mark.parametrize(
    ("kind", "failure"),
    [
        (ValueError("no data"), "ValueError: no data"),
        (KeyboardInterrupt(), "KeyboardInterrupt:"),
        (SystemExit(3), "SystemExit: 3"),
        (MemoryError(), "MemoryError:"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else "",
)
def test_an_exception_ends_the_run_as_failed_and_goes_on(
    kind: BaseException, failure: str, tmp_path: Path
) -> None:
    study = both_arms(tmp_path)
    with pytest.raises(type(kind)), study.run("new", seed=9):
        raise kind
    failed = runs(study.document())[-1]
    assert failed["status"] == "failed"
    assert failed["failure"].startswith(failure)
    assert "test_recording.py" in failed["failure"]
    assert study.document()["launched_seeds"]["new"] == [1, 2, 3, 9]


def test_a_run_that_leaves_by_exit_0_has_finished(tmp_path: Path) -> None:
    study = audit.Study("new", folder=tmp_path)
    run = study.run("new", seed=1)
    run.evaluate("sums", ["a"], [1])
    with pytest.raises(SystemExit), run:
        sys.exit(0)
    assert "status" not in runs(study.document())[0]


def test_a_run_without_an_evaluation_is_no_finished_one(tmp_path: Path) -> None:
    study = both_arms(tmp_path)
    with study.run("new", seed=4) as run:
        run.log(1, loss=0.5)
    last = runs(study.document())[-1]
    assert (last["status"], last["failure"]) == ("failed", "no evaluation")


def test_a_loss_that_stays_nan_makes_a_run_diverged(tmp_path: Path) -> None:
    study = both_arms(tmp_path)
    with study.run("new", seed=4) as run:
        for step, loss in enumerate([0.5, float("nan"), float("inf")], start=1):
            run.log(step, loss=loss)
    last = runs(study.document())[-1]
    assert (last["status"], last["failure"]) == ("diverged", "loss not finite from step 2")
    run_ = study.run("new", seed=5)
    run_.fail("reward collapsed\nat once", status="diverged")
    last = runs(study.document())[-1]
    assert (last["status"], last["failure"]) == ("diverged", "reward collapsed at once")


WORKER = """
import random, sys, time
import audit
study = audit.Study("new", control="old", folder=sys.argv[1])
seed = int(sys.argv[2])
draw = random.Random(seed)
with study.run("new", seed=seed) as run:
    for step in range(1, 301):
        run.log(step, loss=draw.random())
        if step == 150:
            print("half", flush=True)
            if seed == 7:
                time.sleep(600)
    tasks = [f"t{n}" for n in range(40)]
    run.evaluate("sums", tasks, [sum(draw.random() < .8 for _ in range(4)) for _ in tasks], 4)
"""


def test_eight_processes_record_at_once_and_one_is_killed(tmp_path: Path) -> None:
    folder = tmp_path / "runs"
    study = audit.Study("new", control="old", folder=folder)
    for seed in (1, 2, 3):
        record(study, "old", seed, 0.4)
    command = [sys.executable, "-c", WORKER, str(folder)]
    workers = [
        subprocess.Popen([*command, str(seed)], stdout=subprocess.PIPE, text=True)
        for seed in range(1, 9)
    ]
    for worker in workers:
        assert worker.stdout is not None
        assert worker.stdout.readline() == "half\n"
    others = [worker for worker in workers if worker is not workers[6]]
    assert [worker.wait(60) for worker in others] == [0] * 7
    alive = runs(study.document())[6]
    assert (alive["seed"], alive["status"]) == (7, "running")
    workers[6].kill()
    workers[6].wait(60)
    for worker in workers:
        assert worker.stdout is not None
        worker.stdout.close()
    document = study.document()
    assert schema_faults(document) == []
    found = {run["seed"]: run.get("status", "finished") for run in runs(document)}
    assert found == dict.fromkeys(range(1, 9), "finished") | {7: "failed"}
    dead = runs(document)[6]
    assert dead["failure"].startswith("no end in its record")
    assert len(dead["training"]) == 150
    assert all(len(run["training"]) == 300 for run in runs(document) if run["seed"] != 7)
    assert gated(study.write(tmp_path / "results.json")) == 1  # a failed run is never left out


RACER = """
import sys, time
import audit
study = audit.Study("new", folder=sys.argv[1])
while time.time() < float(sys.argv[2]):
    pass
try:
    run = study.run("new", seed=1)
except audit.AuditError as error:
    print(error)
else:
    print("mine")
    time.sleep(1)
    run.evaluate("sums", ["a"], [1])
    run.finish()
"""


def test_of_processes_that_want_one_run_one_gets_it(tmp_path: Path) -> None:
    begin = str(time.time() + 2)
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", RACER, str(tmp_path), begin], stdout=subprocess.PIPE, text=True
        )
        for _ in range(4)
    ]
    said = sorted(racer.communicate(timeout=60)[0].strip() for racer in racers)
    assert said.count("mine") == 1
    assert all("recorded by another process" in text or "has finished" in text for text in said[:3])
    assert len(runs(audit.Study("new", folder=tmp_path).document())) == 1


def test_a_finished_run_is_not_recorded_again(tmp_path: Path) -> None:
    study = audit.Study("new", folder=tmp_path)
    record(study, "new", 1)
    with pytest.raises(RecordingError, match="has finished; another training needs another seed"):
        study.run("new", seed=1)


def test_a_failed_run_is_tried_again_and_its_failure_stays(tmp_path: Path) -> None:
    study = audit.Study("new", folder=tmp_path)
    for attempt in (1, 2):
        run = study.run("new", seed=1)
        run.log(1, loss=0.5)
        with pytest.raises(OSError, match="disk"), run:
            raise OSError(f"disk {attempt}")
    with study.run("new", seed=1) as run:
        run.log(51, loss=0.25)  # resumed from a checkpoint
        run.evaluate("sums", ["a"], [1])
    (only,) = runs(study.document())
    assert [text.split(" (")[0] for text in only["earlier_failures"]] == [
        "OSError: disk 1",
        "OSError: disk 2",
    ]
    assert [step["step"] for step in only["training"]] == [51]
    assert only.get("status", "finished") == "finished"


def test_a_run_that_is_being_recorded_is_not_begun_again(tmp_path: Path) -> None:
    study = audit.Study("new", folder=tmp_path)
    run = study.run("new", seed=1)
    with pytest.raises(RecordingError, match="is being recorded by another process"):
        study.run("new", seed=1)
    run.fail("given up")
    assert study.run("new", seed=1).run_id != run.run_id


def test_nothing_is_recorded_after_the_end(tmp_path: Path) -> None:
    run = record(audit.Study("new", folder=tmp_path), "new", 1)
    with pytest.raises(RecordingError, match="the run has ended"):
        run.log(4, loss=1)
    with pytest.raises(RecordingError, match="the run has ended"):
        run.evaluate("x", ["a"], [1])
    run.finish()  # a second end is left out


def test_an_evaluation_by_another_program_joins_the_run(tmp_path: Path) -> None:
    study = both_arms(tmp_path)
    study.evaluate("new", 1, "products", ["a", "b"], [1, 0])
    first = runs(study.document())[0]
    blocks = [first["evaluation"], *first["evaluations"]]
    assert {block["benchmark"] for block in blocks} == {"sums", "products"}
    assert {block["checkpoint_step"] for block in blocks} == {3}
    with pytest.raises(RecordingError, match="only a finished run"):
        study.evaluate("new", 9, "products", ["a"], [1])
    before = sorted(tmp_path.iterdir())
    with pytest.raises(RecordingError, match="3 of 2"):
        study.evaluate("new", 1, "sums", ["a"], [3], 2)
    assert sorted(tmp_path.iterdir()) == before


def test_outcomes_that_can_be_read_once_are_read_once(tmp_path: Path) -> None:
    study = both_arms(tmp_path)
    study.evaluate("new", 1, "products", (task for task in "ab"), [1, 0])
    first = runs(study.document())[0]
    (found,) = [
        block
        for block in (first["evaluation"], *first["evaluations"])
        if block["benchmark"] == "products"
    ]
    assert found["task_ids"] == ["a", "b"]


def test_a_run_may_be_evaluated_afterwards_alone(tmp_path: Path) -> None:
    study = audit.Study("new", folder=tmp_path)
    with study.run("new", seed=1) as run:
        run.log(7, loss=0.5)
    study.evaluate("new", 1, "sums", ["a", "b"], [1, 0])
    (only,) = runs(study.document())
    assert "status" not in only
    assert only["evaluation"]["checkpoint_step"] == 7


def test_a_record_that_is_copied_is_refused(tmp_path: Path) -> None:
    study = both_arms(tmp_path)
    one = (tmp_path / "new-seed1.run.jsonl").read_text()
    (tmp_path / "new-seed4.run.jsonl").write_text(one.replace('"seed":1', '"seed":4', 1))
    with pytest.raises(ImportRefused, match=r"a copy of .*new-seed1"):
        study.document()


def test_lines_that_are_cut_off_are_left_out_and_said(tmp_path: Path) -> None:
    study = audit.Study("new", folder=tmp_path)
    run = record(study, "new", 1)
    assert run.path is not None
    lines = run.path.read_bytes().split(b"\n")
    lines.insert(3, b'{"log":{"step":9,"fig')
    run.path.write_bytes(b"\n".join(lines))
    document = study.document()
    assert [step["step"] for step in runs(document)[0]["training"]] == [1, 2, 3]
    notes = document["provenance"]["imported"]["notes"]
    assert any("lines that are cut off are left out (1)" in note for note in notes)


@pytest.mark.parametrize("end", range(300, 2000, 97))
def test_a_record_that_ends_anywhere_is_a_failed_run(end: int, tmp_path: Path) -> None:
    study = both_arms(tmp_path, (1, 2))
    path = tmp_path / "new-seed2.run.jsonl"
    data = path.read_bytes()
    first = data.index(b"\n") + 1
    path.write_bytes(data[: first + end * (len(data) - first - 2) // 2000])
    last = runs(study.document())[-1]
    assert (last["seed"], last["status"]) == (2, "failed")


def test_further_members_stand_in_the_run_and_the_cost_keeps_its_minutes(tmp_path: Path) -> None:
    study = audit.Study("new", folder=tmp_path)
    with study.run("new", seed=1) as run:
        run.log(1, loss=0.5)
        run.add(protocol={"steps": 1}, cost={"usd": 2.5})
        run.add(protocol={"steps": 2})
        run.evaluate("sums", TASKS, 1, 4)
    (only,) = runs(study.document())
    assert only["protocol"] == {"steps": 2}
    assert only["cost"]["usd"] == 2.5
    assert only["cost"]["minutes"] >= 0


def test_a_member_that_was_changed_in_the_record_is_refused(tmp_path: Path) -> None:
    study = audit.Study("new", folder=tmp_path)
    run = study.run("new", seed=1)
    run.add(cost={"usd": 2.5})
    run.evaluate("sums", TASKS, 1, 4)
    run.finish()
    assert run.path is not None
    run.path.write_bytes(run.path.read_bytes().replace(b'"usd":2.5', b'"usd":"x"'))
    with pytest.raises(AuditError, match="not the members of a run"):
        study.document()


def test_a_record_that_was_changed_in_any_way_is_read_or_refused_in_one_line(
    tmp_path: Path,
) -> None:
    study = both_arms(tmp_path, (1, 2))
    study.evaluate("new", 1, "products", ["a"], [1])
    files = sorted(tmp_path.iterdir())
    draw = random.Random(1)
    for _ in range(40):
        path = draw.choice(files)
        whole = path.read_bytes()
        path.write_bytes(damaged(whole, draw))
        refused = ""
        try:
            bring_in([str(tmp_path)], Said())
        except AuditError as error:
            refused = str(error)
        assert "\n" not in refused
        path.write_bytes(whole)


def test_a_full_disk_loses_no_line_and_stops_no_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = audit.Study("new", folder=tmp_path)
    run = study.run("new", seed=1)
    write, full = os.write, {"after": 20}

    def short(descriptor: int, data: memoryview) -> int:
        if full["after"] == 0:
            raise OSError(28, "No space left on device")
        taken = write(descriptor, bytes(data)[: full["after"]])
        full["after"] = 0
        return taken

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", short)
        for step in (1, 2):
            with pytest.warns(RuntimeWarning, match="No space left on device; the line is kept"):
                run.log(step, loss=0.5)
        with pytest.raises(RecordingError, match="No space left"):
            run.evaluate("sums", ["a"], [1])
    run.log(3, loss=0.25)
    run.finish()
    (only,) = runs(study.document())
    assert [step["step"] for step in only["training"]] == [1, 2, 3]
    assert only["evaluation"]["correct"] == [1]


def test_other_ranks_of_a_distributed_run_write_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"WORLD_SIZE": "2", "MASTER_ADDR": "localhost", "RANK": "1"}.items():
        monkeypatch.setenv(name, value)
    study = audit.Study("new", folder=tmp_path)
    record(study, "new", 1)
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setenv("RANK", "0")
    record(study, "new", 1)
    assert runs(study.document())[0]["environment"]["world_size"] == 2


def test_a_name_of_any_signs_is_an_arm(tmp_path: Path) -> None:
    study = audit.Study("lr=1e-6/é", control=["../up", "a b"], folder=tmp_path / "runs")
    for arm in study.arms:
        record(study, arm, 1)
    assert set(study.document()["controls"]) == {"../up", "a b"}
    assert {path.parent for path in tmp_path.rglob("*.run.jsonl")} == {tmp_path / "runs"}


def test_two_arms_whose_files_would_have_one_name_are_two(tmp_path: Path) -> None:
    study = audit.Study("a/b", control="a:b", folder=tmp_path)
    for arm in study.arms:
        record(study, arm, 1)
    document = study.document()
    assert len(runs(document, "a/b")) == len(runs(document, "a:b")) == 1


def test_records_of_another_study_in_the_folder_are_not_of_this_one(tmp_path: Path) -> None:
    both_arms(tmp_path, (1, 2))
    other = audit.Study("third", control="old", folder=tmp_path)
    record(other, "third", 1)
    assert set(other.document()["controls"]) == {"old"}
    wider = audit.Study("new", control="old", others=["third"], folder=tmp_path)
    assert wider.document()["method"] == "new"
    assert set(wider.document()["controls"]) == {"old", "third"}


def test_the_records_of_two_studies_are_no_one_study(tmp_path: Path) -> None:
    both_arms(tmp_path, (1,))
    record(audit.Study("third", folder=tmp_path), "third", 1)
    with pytest.raises(ImportRefused, match="records of 2 studies, of new and third"):
        bring_in([str(tmp_path)], Said())


def test_the_last_evaluation_is_of_the_final_model_however_long_a_run_is(tmp_path: Path) -> None:
    study = audit.Study("new", folder=tmp_path)
    for seed, steps in ((1, 20), (2, 33)):
        with study.run("new", seed=seed) as run:
            for step in range(1, steps + 1):
                run.log(step, loss=0.5)
                if step % 10 == 0:
                    run.evaluate("sums", ["a", "b"], [1, 0])
            if steps % 10:
                run.evaluate("sums", ["a", "b"], [1, 1])
    found = [run["evaluation"] for run in runs(study.document())]
    assert [block["checkpoint_step"] for block in found] == [20, 33]
    assert [block["correct"] for block in found] == [[1, 0], [1, 1]]


def test_a_study_without_a_run_says_so(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match="no run of this study is recorded"):
        audit.Study("new", folder=tmp_path / "none").write(tmp_path / "results.json")


def test_a_study_of_its_control_alone_is_a_file(tmp_path: Path) -> None:
    study = audit.Study("new", control="old", folder=tmp_path)
    record(study, "old", 1)
    document = study.document()
    assert schema_faults(document) == []
    assert document["seed_results"] == []


def test_a_child_that_is_forked_does_not_end_the_run(tmp_path: Path) -> None:
    study = audit.Study("new", folder=tmp_path)
    with study.run("new", seed=1) as run:
        child = os.fork() if hasattr(os, "fork") else None
        if child == 0:
            run.finish()
            os._exit(0)
        if child:
            os.waitpid(child, 0)
        run.evaluate("sums", ["a"], [1])
    assert "status" not in runs(study.document())[0]


def test_a_run_that_is_terminated_is_failed(tmp_path: Path) -> None:
    worker = subprocess.Popen(
        [sys.executable, "-c", WORKER, str(tmp_path), "7"], stdout=subprocess.PIPE, text=True
    )
    assert worker.stdout is not None
    worker.stdout.readline()
    worker.send_signal(signal.SIGTERM)
    worker.wait(60)
    worker.stdout.close()
    study = audit.Study("new", control="old", folder=tmp_path)
    record(study, "new", 1)
    assert runs(study.document())[-1]["status"] == "failed"


def test_several_threads_log_into_one_run(tmp_path: Path) -> None:
    study = audit.Study("new", folder=tmp_path)
    with study.run("new", seed=1) as run:

        def write(name: str) -> None:
            for step in range(1, 51):
                run.log(step, **{name: step})

        threads = [threading.Thread(target=write, args=(f"x{k}",)) for k in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        run.evaluate("sums", ["a"], [1])
    (only,) = runs(study.document())
    assert [len(step["updates"][0]["metrics"]) for step in only["training"]] == [4] * 50


def test_the_commit_of_the_program_is_recorded_where_it_is_unchanged(tmp_path: Path) -> None:
    def git(*words: str) -> str:
        who = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        done = subprocess.run(
            ["git", "-C", str(tmp_path), *who, *words], capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    script = tmp_path / "train.py"
    script.write_text(
        "import sys, audit\n"
        "study = audit.Study('new', folder=sys.argv[2])\n"
        "with study.run('new', seed=int(sys.argv[1])) as run:\n"
        "    run.evaluate('sums', ['a', 'b'], [1, 0])\n"
    )
    git("init", "-q")
    git("add", "train.py")
    git("commit", "-q", "-m", "train")

    def train(seed: int, folder: str) -> dict[str, Any]:
        command = [sys.executable, str(script), str(seed), str(tmp_path / folder)]
        subprocess.run(command, check=True, cwd="/")
        return dict(audit.Study("new", folder=tmp_path / folder).document()["provenance"])

    assert train(1, "runs")["code_commit"] == git("rev-parse", "HEAD")
    script.write_text(script.read_text() + "# changed\n")
    changed = train(1, "others")
    assert "code_commit" not in changed
    assert "the code had changes" in changed["imported"]["notes"][0]


def test_importing_the_recorder_loads_no_framework() -> None:
    heavy = ("torch", "pandas", "matplotlib", "statsmodels", "scipy", "yaml", "numpy")
    code = f"import sys, audit; audit.Study; print([n for n in {heavy!r} if n in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
