"""``audit gate`` over files and folders."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from audit.cli.main import main
from audit.simulation import Cell, simulate

CLAIMED = "gain accuracy recipe over control on simulated"
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
    assert out[0].split() == ["result", "study", "claim", "runs"]
    assert out[1] == (
        "supported    carried  gain accuracy recipe over control on simulated  5 v 5 (C)"
    )
    assert out[2].endswith("]   weakened: launched-not-recorded,")
    assert out[3].split() == ["collapse,", "unpinned"]
    assert out[4].startswith("not claimed  silent ")
    assert "2 studies, 1 claim: 1 supported; 1 study claims nothing" in out
    assert out[-1] == "policy: built-in defaults"


def test_one_refused_claim_fails_the_gate_and_stands_first(
    reports: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(reports, "one-seed", Cell("arms", 120, (1, 1), (0.0, 0.0), delta=0.4), claims=[CLAIM])
    assert main(["gate", "reports"]) == 1
    out = lines(capsys)
    assert out[1].startswith("REFUSED      one-seed  gain accuracy recipe over control")
    assert out[1].endswith("1 v 1")
    assert out[2].endswith("   one-seed")
    head = "REFUSED  one-seed: gain in accuracy of recipe over control on simulated"
    assert out[out.index(head) + 1] == f"{'one-seed':>80}"
    assert any(line.startswith("  recipe has one training run") for line in out)
    assert "  next   train at least 2 more seeds per arm, 3 in all" in out
    ending = " ".join(" ".join(out).split())
    assert "3 studies, 2 claims: 1 supported, 1 refused; 1 study claims nothing" in ending
    assert "1 study does not pass" in ending


@pytest.mark.parametrize("direction", ["gain", "loss", "equivalent"])
def test_one_seed_refuses_every_direction(
    reports: Path, capsys: pytest.CaptureFixture[str], direction: str
) -> None:
    cell = Cell("arms", 1319, (1, 1), (0.0, 0.0), delta=0.4)
    path = write(reports, "one", cell)
    assert main(["gate", str(path), "--claim", f"{direction} accuracy method over control"]) == 1
    out = lines(capsys)
    assert out[0].startswith(f"REFUSED  {direction} in accuracy of recipe ")
    assert any(line.endswith(" one-seed") for line in out[:2])
    assert "1 study, 1 claim: 1 refused; 1 study does not pass" in " ".join(out)


def test_a_claim_on_the_command_line_is_judged_in_every_file(
    reports: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["gate", "reports", "--claim", "gain accuracy method over control"]) == 1
    out = capsys.readouterr().out
    assert "silent" in out
    assert "]   inconclusive\n" in out
    assert "REFUSED  silent: gain in accuracy of recipe over control" in out
    assert "2 studies, 3 claims: 2 supported, 1 refused; 1 study does not pass" in out


def test_a_policy_for_some_paths_asks_for_more_seeds(
    reports: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("audit.toml").write_text(
        'min_seeds = 3\n[[overrides]]\npaths = ["*/carried/*"]\nmin_seeds = 10\n', encoding="utf-8"
    )
    assert main(["gate", "reports"]) == 1
    out = capsys.readouterr().out
    assert "too-few-seeds" in out
    assert "5 training runs per arm, 10 are needed" in out
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
    assert "| result | study | claim | difference | runs |" in page
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


@pytest.mark.parametrize("claims", [[], ["--claim", CLAIMED]])
def test_a_file_that_could_not_be_judged_is_not_said_to_claim_nothing(
    claims: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path, "broken", Cell("arms", 20, (3, 3), (0.0, 0.0)), claims=[CLAIM])
    document = json.loads(path.read_text(encoding="utf-8"))
    document["seed_results"] = 3
    path.write_text(json.dumps(document), encoding="utf-8")
    for chosen in ("text", "markdown", "json"):
        assert main(["gate", str(path), *claims, "--format", chosen]) == 1
        out = capsys.readouterr().out
        assert "1 study, 1 not judged" in out
        assert "claim was found" not in out
        assert "nothing claimed" not in out


def test_the_shipped_adaptive_clip_study_passes_and_its_claims_do_not(
    root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = root / "reports" / "adaptive-clip"
    assert main(["gate", str(own)]) == 0
    out = lines(capsys)
    assert out[0] == "NOT CLAIMED  recipe over baseline, accuracy"
    assert out[1] == "  +0.050 [0.000, 0.100]   no verdict: one training seed"
    assert "1 study, nothing claimed, so nothing judged" in " ".join(out)
    claimed = tmp_path / "results.json"
    shutil.copy(root / "tests" / "data" / "results" / "adaptive-clip-claimed.json", claimed)
    assert main(["gate", str(claimed)]) == 1
    assert "3 claims: 3 refused" in capsys.readouterr().out


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
