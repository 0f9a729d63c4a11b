from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import audit
from audit.errors import InputError
from audit.training import forecast
from audit.training.ledger import Ledger
from audit.training.study import pieces, prepare
from audit.training.study_file import PlannedArm, read_study
from training.studies import ROOT, STUDY, audit_train, verified

FURTHER = """\
[[evaluation.benchmarks]]
benchmark = "doubles"
holdout = "doubles.jsonl"
grader = "math_equal"
prompt = "sum"
answer = "total"
samples = 3
max_tokens = 3
[[evaluation.benchmarks]]
benchmark = "halves"
holdout = "halves.jsonl"
grader = "judge:ends"
id = "name"
instruction = "+0="
split = "test"
holdout_tasks = 4
"""
CLAIM = """\
[[claims]]
id = "doubles"
metric = "accuracy"
benchmark = "doubles"
arm = "adaptive-clip"
against = "base"
direction = "loss"
"""
JUDGE = "def ends(response, answer):\n    return response.endswith(answer)\n"


def lines(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    lines(
        tmp_path / "doubles.jsonl",
        [{"sum": f"{n:02d}+{n:02d}=", "total": 2 * n} for n in range(0, 20, 2)],
    )
    lines(
        tmp_path / "halves.jsonl",
        [{"name": f"h{n}", "question": f"{n:02d}", "answer": f"{n}"} for n in range(6)],
    )
    (tmp_path / "judge.py").write_text(JUDGE)
    path = tmp_path / "study.toml"
    text = STUDY.replace("rounds = 3", "rounds = 1").replace("seeds = [1, 2]", "seeds = [1]")
    path.write_text(text.replace("[telemetry]", f"{FURTHER}[telemetry]") + CLAIM)
    return path


def outcomes(blocks: Any) -> dict[str, Any]:
    return {block["benchmark"]: block for block in blocks}


def test_the_base_and_every_run_are_evaluated_on_each(path: Path) -> None:
    assert audit_train(str(path)) == 0
    results = audit.load(path.with_name("results.json"))
    document = json.loads(path.with_name("results.json").read_text())
    arms = [document["seed_results"], document["controls"]["fixed-clip"]["seed_results"]]
    runs = [run for arm in arms for run in arm]
    for one, step in [
        *((base, 0) for base in document["base_evaluations"]),
        *((r, 1) for r in runs),
    ]:
        found = outcomes(one["evaluations"])
        assert list(found) == ["doubles", "halves"]
        doubles, halves = found.values()
        assert [doubles["samples"], halves["samples"]] == [[3] * 10, [2] * 4]
        assert halves["task_ids"] == ["h0", "h1", "h2", "h3"]
        splits = [block["split"] for block in (one["evaluation"], doubles, halves)]
        assert splits == ["validation", "validation", "test"]
        assert doubles["condition"]["max_tokens"] == 3
        assert halves["condition"]["max_tokens"] == one["evaluation"]["condition"]["max_tokens"]
        seeds = {b["condition"]["seed"] for b in (one["evaluation"], doubles, halves)}
        assert len(seeds) == 3
        assert doubles["checkpoint_step"] == step
    said = runs[0]["protocol"]["benchmarks"]
    assert said["doubles"]["grader"] == "math_equal"
    assert len(said["halves"]["grader_sha256"]) == 64
    assert document["holdout"]["dropped"] > 0  # training prompts among the doubles
    (claim,) = audit.analyse(results).claims
    assert claim.slug not in ("not-measured", "unknown-name")
    # Two clips that both hardly act may train the same answers; which do depends on the processor.
    found_in_controls = {f.rule for f in audit.verify(results).findings if "/controls" in f.pointer}
    assert found_in_controls <= {"SEED004"}


def test_a_test_split_that_is_evaluated_was_opened(path: Path, tmp_path: Path) -> None:
    for split in ("test", "validation"):
        path.write_text(path.read_text().replace('"test"', f'"{split}"'))
        bench = prepare(read_study(path), str(path), Ledger(tmp_path / "x.runs"))
        opened = split == "test"
        assert bench.splits == {
            "addition-20": "validation",
            "doubles": "validation",
            "halves": split,
        }
        assert bench.partition.dataset["test_read"] is opened
        assert {bench.protocol(arm)["test_opened"] for arm in bench.study.arms} == {opened}


def along_the_training(study: str) -> str:
    study = study.replace("rounds = 1", "rounds = 2")
    study = study.replace("samples = 2\n", "samples = 2\ncheckpoints = [1]\n")
    return study.replace("holdout_tasks = 4", "holdout_tasks = 4\nat_checkpoints = true")


def test_a_benchmark_is_evaluated_along_the_training_where_it_says_so(path: Path) -> None:
    text = along_the_training(path.read_text())
    text += '[[claims]]\nid = "along"\nmetric = "accuracy"\nbenchmark = "halves"\n'
    text += 'arm = "adaptive-clip"\nagainst = "fixed-clip"\ncheckpoints = [1, 2]\n'
    text += 'direction = "gain"\n'
    path.write_text(text)
    assert audit_train(str(path)) == 0
    document = json.loads(path.with_name("results.json").read_text())
    for run in (*document["seed_results"], *document["controls"]["fixed-clip"]["seed_results"]):
        blocks = [run["evaluation"], *run["evaluations"]]
        assert sorted((b["benchmark"], b["checkpoint_step"]) for b in blocks) == [
            ("addition-20", 1), ("addition-20", 2), ("doubles", 2), ("halves", 1), ("halves", 2)
        ]  # fmt: skip
        assert len({b["condition"]["seed"] for b in blocks}) == len(blocks)
        (first, last) = (b for b in blocks if b["benchmark"] == "halves")
        assert first["task_ids"] == last["task_ids"]
    for base in document["base_evaluations"]:
        assert [b["benchmark"] for b in base["evaluations"]] == ["doubles", "halves"]
    claims = audit.analyse(audit.load(path.with_name("results.json"))).claims
    assert [claim.slug in ("not-measured", "unknown-name") for claim in claims] == [False, False]


def test_the_dry_run_counts_what_is_evaluated_along_the_training(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path.write_text(along_the_training(path.read_text()))
    bench = prepare(read_study(path), str(path), Ledger(tmp_path / "x.runs"))
    minutes = 0.0

    def short(_: Any, arm: PlannedArm, __: int, tick: Any) -> dict[str, Any]:
        nonlocal minutes
        for what, steps, each in [
            ("training", arm.training.updates, 0.5),
            ("evaluation", 1, 1.0),
            ("evaluation on doubles", 1, 2.0),
            ("evaluation on halves", 1, 4.0),
        ]:
            for _ in range(steps):
                minutes += each
                tick(what, 1, 1)
        return {"status": "finished", "cost": {"minutes": minutes}}

    monkeypatch.setattr("audit.training.run.run", short)
    monkeypatch.setattr("time.monotonic", lambda: 60 * minutes)
    updates = bench.study.training.updates
    assert forecast._probe(bench) == pytest.approx((0.5 * updates + 7 + (1 + 4), 7))


def test_no_training_prompt_stands_in_a_benchmark(path: Path, tmp_path: Path) -> None:
    bench = prepare(read_study(path), str(path), Ledger(tmp_path / "x.runs"))
    asked = {item.prompt for one in bench.further for item in one.chosen.items}
    assert asked & {f"{n:02d}+{n:02d}=" for n in range(20)}
    assert not asked & {item.prompt for item in bench.partition.train}


def test_a_benchmark_changes_every_piece_and_none_changes_no_piece(
    path: Path, tmp_path: Path
) -> None:
    def prints(text: str) -> list[str]:
        path.write_text(text)
        bench = prepare(read_study(path), str(path), Ledger(tmp_path / "x.runs"))
        return [piece.fingerprint for piece in pieces(bench)]

    whole = path.read_text()
    other = whole.replace("samples = 3", "samples = 5")
    assert not set(prints(whole)) & set(prints(other))
    (path.with_name("judge.py")).write_text(JUDGE + "\n")
    assert not set(prints(whole)) & set(prints(other))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"halves"', '"doubles"', r"benchmarks\[1\]\.benchmark: 'doubles' is the name of anoth"),
        ('"halves"', '"addition-20"', r"\[1\]\.benchmark: 'addition-20' is the name of another"),
        ("samples = 3", "at_checkpoints = true", r"\[0\]\.at_checkpoints: means nothing without"),
        ("holdout_tasks = 4", "holdout_tasks = 7", r"\[1\]\.holdout_tasks: 7 is more than the 6"),
        ('"math_equal"', '"equal"', r"\[0\]\.grader: must be exact_match, math_equal, math_ver"),
        ("judge:ends", "judge:starts", r"judge\.py: has no function 'starts'"),
        ('"halves.jsonl"', '"wholes.jsonl"', r"wholes\.jsonl: .*[Nn]o such file"),
        ('id = "name"', 'id = "names"', r"halves\.jsonl:1: .*names"),
        ('prompt = "sum"', 'prompts = "sum"', r"benchmarks\[0\]\.prompts: unknown key"),
        ('benchmark = "doubles"\narm', 'benchmark = "thirds"\narm', r"claims\[0\]: .*thirds"),
    ],
)
def test_a_benchmark_that_cannot_be_asked_is_refused_with_its_place(
    path: Path, tmp_path: Path, old: str, new: str, message: str
) -> None:
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new, 1))
    with pytest.raises(InputError, match=message):
        prepare(read_study(path), str(path), Ledger(tmp_path / "x.runs"))


def together(path: Path, output: Path, *before: str) -> subprocess.CompletedProcess[str]:
    """Train on two processes, each of which first runs some lines of Python."""
    driver = path.with_name("driver.py")
    driver.write_text("\n".join((*before, "from audit.cli.main import run", "run()")))
    launch = "-m torch.distributed.run --standalone --nproc_per_node 2"
    return subprocess.run(
        [
            *(sys.executable, *launch.split(" "), str(driver)),
            *("train", str(path), "-o", str(output), "--quiet"),
        ],
        env={**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
def test_two_processes_share_every_evaluation_and_find_what_one_does(
    path: Path, tmp_path: Path
) -> None:
    """Greedy at a learning rate of next to nothing: no answer depends on who draws it."""
    text = path.read_text().replace("learning_rate = 1e-3", "learning_rate = 1e-12")
    path.write_text(text.replace("samples = 2\n", "samples = 2\ntemperature = 0\n"))
    output = tmp_path / "two" / "results.json"
    output.parent.mkdir()
    done = together(path, output)
    assert done.returncode == 0, done.stderr[-3000:]
    assert audit_train(str(path)) == 0
    both, alone = (json.loads(p.read_text()) for p in (output, path.with_name("results.json")))
    assert len(both["base_evaluations"]) == 3
    for name in ("base_evaluations", "seed_results"):
        for ours, theirs in zip(both[name], alone[name], strict=True):
            pairs = [
                (ours["evaluation"], theirs["evaluation"]),
                *zip(ours["evaluations"], theirs["evaluations"], strict=True),
            ]
            assert len(pairs) == 3
            for shared, whole in pairs:
                assert shared["condition"].pop("processes") == 2
                assert shared.pop("date") > ""
                assert whole.pop("date") > ""
                assert shared == whole
    assert [one["cost"]["devices"] for one in both["base_evaluations"]] == [2, 2, 2]
    assert not [f for f in verified(both, tmp_path).findings if f.severity == "error"]


@pytest.mark.slow
def test_where_one_process_has_no_memory_to_evaluate_the_base_all_say_so(path: Path) -> None:
    done = together(
        path,
        path.with_name("results.json"),
        "import os, torch",
        "from audit.training import evaluation",
        "def none(*_): raise torch.OutOfMemoryError('CUDA out of memory')",
        "if os.environ['RANK'] == '1': evaluation._sample = none",
    )
    assert done.returncode != 0
    assert done.stderr.count("audit: no memory to generate 1200 responses at once") == 2
    assert not list((path.parent / "results.json.runs").glob("base-*.json"))
