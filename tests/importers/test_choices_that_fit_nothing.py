"""An option that chooses is never passed over: what fits nothing is refused, with what there is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from audit.cli.main import main


@pytest.fixture
def home_made(tmp_path: Path) -> Path:
    """Two runs with an evaluation each, at step 20."""
    folder = tmp_path / "runs"
    for name, right in (("new-s1", (1, 1)), ("old-s1", (1, 0))):
        run = folder / name
        run.mkdir(parents=True)
        rows = [
            {"id": f"t{task}", "correct": value, "split": "test", "step": 20}
            for task, value in enumerate(right)
        ]
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (run / "gsm8k.jsonl").write_text(text, encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            ("--where", "spilt=test"),
            "--where spilt: no column of a file or setting of a run; did you mean 'split'?",
        ),
        (
            ("--benchmark", "gsm8"),
            "--benchmark gsm8: no run was evaluated on it, but on gsm8k; did you mean 'gsm8k'?",
        ),
        (
            ("--map", "step=/step", "--step", "7"),
            "--step 7: no run was evaluated there, but at 20",
        ),
        (("--step", "7"), "--step 7: no run was evaluated there, and no file says a step"),
    ],
)
def test_a_choice_that_no_run_of_a_folder_fits_is_refused(
    options: tuple[str, ...], said: str, home_made: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = home_made.parent / "results.json"
    status = main(["import", str(home_made), "--control", "old", *options, "-o", str(out)])
    assert status == 2
    assert said in capsys.readouterr().err
    assert not out.exists()


@pytest.mark.parametrize(
    "options",
    [("--where", "split=test"), ("--benchmark", "gsm8k"), ("--map", "step=/step", "--step", "20")],
)
def test_a_choice_that_fits_is_kept(options: tuple[str, ...], home_made: Path) -> None:
    out = home_made.parent / "results.json"
    assert main(["import", str(home_made), "--control", "old", *options, "-o", str(out), "-q"]) == 0
    document = json.loads(out.read_text(encoding="utf-8"))
    (run,) = document["seed_results"]
    assert "failure" not in run
    assert run["evaluation"]["correct"] == [1, 1]


@pytest.mark.parametrize("option", [("--step", "7"), ("--exclude", "x"), ("--arm-from", "path")])
def test_what_chooses_among_runs_of_a_folder_is_refused_for_a_table(
    option: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = tmp_path / "answers.csv"
    table.write_text("arm,seed,task,correct\nnew,1,t0,1\nold,1,t0,0\n", encoding="utf-8")
    assert main(["import", str(table), "--control", "old", *option]) == 2
    assert f"{option[0]} chooses among the runs of a folder" in capsys.readouterr().err
