"""gate and verify import a folder of runs in memory, where a claim names its arms."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from audit.cli.main import main

RUNS = Path(__file__).parents[1] / "data" / "run_folders" / "verl"
CLAIM = "gain accuracy curr over plain"


def folder(root: Path) -> str:
    shutil.copytree(RUNS, root / "runs")
    return f"{root / 'runs'}/"


def files_below(root: str) -> set[str]:
    return {str(path) for path in Path(root).rglob("*")}


def test_a_folder_is_judged_as_the_file_that_import_writes_and_nothing_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = folder(tmp_path)
    before = files_below(str(tmp_path))
    assert main(["gate", runs, "--claim", CLAIM]) == 0
    shown, said = capsys.readouterr()
    assert files_below(str(tmp_path)) == before
    assert "nothing written; keep it: audit import " in said
    written = tmp_path / "results.json"
    assert main(["import", runs, "--control", "plain", "-q", "-o", str(written)]) == 0
    assert main(["gate", str(written), "--claim", CLAIM]) == 0
    assert capsys.readouterr().out == shown
    assert main(["verify", runs, "--claim", CLAIM]) == 0


@pytest.mark.parametrize(
    "more", [["--format", "github"], ["--policy-from", "HEAD"], ["--also", "github={}/x.txt"]]
)
def test_what_judges_changes_reads_results_files_alone(
    more: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (
        main(
            ["gate", folder(tmp_path), "--claim", CLAIM, *[word.format(tmp_path) for word in more]]
        )
        == 2
    )
    assert "nothing written" not in capsys.readouterr().err


def test_a_folder_without_a_claim_beside_another_path_or_above_a_results_file_is_not_imported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = folder(tmp_path)
    assert main(["gate", runs]) == 2
    assert main(["gate", runs, runs, "--claim", CLAIM]) == 2
    (tmp_path / "runs" / "results.json").write_text(json.dumps({"schema_version": 2}))
    assert main(["gate", runs, "--claim", CLAIM]) in (1, 2)
    assert "nothing written" not in capsys.readouterr().err


def test_an_open_question_is_refused_with_the_line_that_answers_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = folder(tmp_path)
    twin = tmp_path / "runs" / "curr" / "seed4"
    settings = twin / ".hydra" / "config.yaml"
    settings.write_text(settings.read_text().replace("0.3", "0.4"))
    assert main(["gate", runs, "--claim", CLAIM]) == 1
    said = capsys.readouterr().err
    assert "curr: its runs differ in more than their seed" in said
    assert "answer it in: audit import " in said


def test_an_arm_that_no_run_is_of_is_named_with_those_that_are_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["gate", folder(tmp_path), "--claim", "gain accuracy curr over nobody"]) == 2
    assert "no arm 'nobody'; there are curr, plain" in capsys.readouterr().err
