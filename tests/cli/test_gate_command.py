"""``audit gate`` over files and folders."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from audit.cli.main import main
from audit.simulation import Cell, simulate

CLAIM = {"direction": "gain", "arm": "recipe", "against": "control"}


def write(folder: Path, name: str, cell: Cell, **more: object) -> Path:
    path = folder / name / "results.json"
    path.parent.mkdir(parents=True)
    document = {**simulate(cell, cell.generator()).document(), **more}
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


@pytest.fixture
def reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "reports"
    write(folder, "carried", Cell("arms", 120, (5, 5), (0.0, 0.0), delta=0.2), claims=[CLAIM])
    write(folder, "silent", Cell("arms", 120, (3, 3), (0.03, 0.03)))
    monkeypatch.chdir(tmp_path)
    return folder


def lines(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return capsys.readouterr().out.splitlines()


def test_studies_whose_claims_stand_pass(reports: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["gate", "reports"]) == 0
    out = lines(capsys)
    assert out[0].split() == ["study", "claim", "delta", "seeds", "verdict"]
    assert out[1].startswith("carried")
    assert "gain in accuracy over control" in out[1]
    assert out[1].endswith("5 v 5   gain: material")
    assert "none" in out[2]
    assert "2 studies, 1 claim, 0 refused" in out
    assert out[-1] == "policy: built-in defaults"


def test_one_refused_claim_fails_the_gate_and_stands_first(
    reports: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(reports, "one-seed", Cell("arms", 120, (1, 1), (0.0, 0.0), delta=0.4), claims=[CLAIM])
    assert main(["gate", "reports"]) == 1
    out = lines(capsys)
    assert out[1].startswith("one-seed")
    assert "1 v 1   refused: one training seed" in out[1]
    assert any("recipe has one training run; to settle it: train at least 3" in x for x in out)
    assert "3 studies, 2 claims, 1 refused, 1 not passed" in out


@pytest.mark.parametrize("direction", ["gain", "loss", "equivalent"])
def test_one_seed_refuses_every_direction(
    reports: Path, capsys: pytest.CaptureFixture[str], direction: str
) -> None:
    cell = Cell("arms", 1319, (1, 1), (0.0, 0.0), delta=0.4)
    path = write(reports, "one", cell)
    assert main(["gate", str(path), "--claim", f"{direction} accuracy method over control"]) == 1
    assert "refused: one training seed" in capsys.readouterr().out


def test_a_claim_on_the_command_line_is_judged_in_every_file(
    reports: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["gate", "reports", "--claim", "gain accuracy method over control"]) == 1
    out = capsys.readouterr().out
    assert "silent" in out
    assert "refused: interval-reaches-zero; flat: inconclusive" in out
    assert "2 studies, 3 claims, 1 refused" in out


def test_a_policy_for_some_paths_asks_for_more_seeds(
    reports: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("audit.toml").write_text(
        'min_seeds = 3\n[[overrides]]\npaths = ["*/carried/*"]\nmin_seeds = 10\n', encoding="utf-8"
    )
    assert main(["gate", "reports"]) == 1
    out = capsys.readouterr().out
    assert "too-few-seeds" in out
    assert "5 training runs an arm, 10 are needed" in out
    assert "audit.toml" in out.splitlines()[-1]


def test_a_required_block_that_is_absent_fails_the_gate(
    reports: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("strict.toml").write_text('require = ["base_evaluations"]\n', encoding="utf-8")
    assert main(["gate", "reports", "--policy", "strict.toml"]) == 1
    assert "no base_evaluations, which the policy requires" in capsys.readouterr().out


def test_the_same_in_json_and_markdown(reports: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(reports, "a|b", Cell("arms", 120, (1, 1), (0.0, 0.0)), claims=[CLAIM])
    assert main(["gate", "reports", "--format", "json"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert document["exit_status"] == 1
    assert [row["study"] for row in document["rows"]] == ["a|b", "carried", "silent"]
    assert [row["stands"] for row in document["rows"]] == [False, True, None]
    assert main(["gate", "reports", "--format", "markdown"]) == 1
    page = capsys.readouterr().out
    assert "| study | claim | delta | seeds | verdict |" in page
    assert "a&#124;b" in page


def test_a_file_that_cannot_be_read_is_status_2(
    reports: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (reports / "broken.json").write_text('{"schema_version": 2,', encoding="utf-8")
    assert main(["gate", "reports"]) == 2
    captured = capsys.readouterr()
    assert "could not be read" in captured.out
    assert "broken.json" in captured.err


def test_a_folder_without_results_is_status_2(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("{}", encoding="utf-8")
    assert main(["gate", str(tmp_path)]) == 2


def test_the_shipped_adaptive_clip_study_passes_and_its_claims_do_not(
    root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = root / "reports" / "adaptive-clip"
    assert main(["gate", str(own)]) == 0
    row = [cell.strip() for cell in lines(capsys)[1].split("   ")]
    assert row[0] == "adaptive-clip"
    assert "+0.050 [0.000, 0.100]" in row
    assert row[-1] == "refused: one training seed"
    claimed = tmp_path / "results.json"
    shutil.copy(root / "tests" / "data" / "results" / "adaptive-clip-claimed.json", claimed)
    assert main(["gate", str(claimed)]) == 1
    assert "3 claims, 3 refused" in capsys.readouterr().out


def test_the_report_names_missing_and_errored_answers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cell = Cell("arms", 120, (5, 5), (0.0, 0.0), delta=0.2)
    document = simulate(cell, cell.generator()).document()
    first = document["seed_results"][0]["evaluation"]
    first["correct"][3] = first["samples"][3] = 0
    errored = [0] * 120
    second = document["seed_results"][1]["evaluation"]
    second["correct"][5], errored[5] = 1, 2
    second["errored"] = errored
    path = tmp_path / "results.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    main(["verify", str(path)])
    out = " ".join(capsys.readouterr().out.split())
    assert "missing 1 outcome (0.1%), the first of task 3 in recipe 0; dropped: gain" in out
    assert "errored answers counted as wrong above; left out: gain" in out
