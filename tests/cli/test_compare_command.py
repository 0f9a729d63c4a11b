"""``audit compare``: two runs of a study, or rounds inside one file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from made_fleet import commit, repository

from audit.cli.main import main
from audit.simulation import Cell, simulate


def write(path: Path, delta: float, seeds: int = 5, number: int = 0, **more: object) -> str:
    cell = Cell("arms", 120, (seeds, seeds), (0.0, 0.0), delta=delta)
    random = cell.generator()
    for _ in range(number):
        simulate(cell, random)
    path.write_text(json.dumps({**simulate(cell, random).document(), **more}), encoding="utf-8")
    return str(path)


def document(path: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(Path(path).read_text(encoding="utf-8"))
    return found


def test_two_runs_that_agree_are_status_0(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one, other = write(tmp_path / "a.json", 0.1), write(tmp_path / "b.json", 0.1, number=1)
    assert main(["compare", one, other]) == 0
    out = capsys.readouterr().out
    assert "recipe over control, accuracy" in out
    assert "no conflict" in out
    assert "correlation of the differences over 5 shared seeds" in out


def test_two_runs_that_disagree_are_status_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one, other = write(tmp_path / "a.json", 0.25), write(tmp_path / "b.json", -0.25)
    assert main(["compare", one, other, "--format", "json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["conflict"]
    assert found["z"] > 3
    assert found["q"] == pytest.approx(found["z"] ** 2)
    low, high = found["per_arm_sd_interval"]
    assert low < found["per_arm_sd"] < high


def test_one_seed_an_arm_can_still_conflict(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one = write(tmp_path / "a.json", 0.25, seeds=1)
    other = write(tmp_path / "b.json", -0.25, seeds=1)
    assert main(["compare", one, other]) == 1
    assert "leaves the training out" in capsys.readouterr().out


def test_the_rounds_of_the_adaptive_clip_study_conflict(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(root / "reports" / "adaptive-clip" / "results.json")
    assert main(["compare", path]) == 1
    out = capsys.readouterr().out
    assert "|z| = 3.12, Q = 9.76 on 1 df, p = 0.0018   conflict" in out
    assert "0.054 [0.018, 1.835]" in out


@pytest.mark.parametrize(
    ("second", "complaint"),
    [
        (None, "no round says that it repeats another"),
        ("other arms", "share no comparison"),
        ("no interval", "no interval for recipe over control"),
    ],
)
def test_what_cannot_be_compared_is_status_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], second: str | None, complaint: str
) -> None:
    one = write(tmp_path / "a.json", 0.1)
    arguments = ["compare", one]
    if second == "other arms":
        arguments.append(write(tmp_path / "b.json", 0.1, number=1, method="another"))
    if second == "no interval":
        runs = [{"seed": 1, "method_metrics": {"accuracy": 0.5}}]
        base = document(write(tmp_path / "again.json", 0.1, number=1))
        base["controls"]["control"]["seed_results"] = runs
        base["seed_results"] = base["seed_results"][:1]
        (tmp_path / "b.json").write_text(json.dumps(base), encoding="utf-8")
        arguments.append(str(tmp_path / "b.json"))
    assert main(arguments) == 2
    assert complaint in capsys.readouterr().err


CLAIM = {"id": "main", "direction": "gain", "arm": "recipe", "against": "control", "level": 0.99}


def edited(document: dict[str, Any], what: str) -> None:
    """Change one thing in a document."""
    run = document["seed_results"][0]
    match what:
        case "a run less":
            document["seed_results"].pop()
        case "a launched seed less":
            document["launched_seeds"]["recipe"].remove(9)
        case "a claim less":
            document["claims"] = []
        case "a weaker claim":
            document["claims"][0]["level"] = 0.95
        case "another score":
            run["evaluation"]["correct"][0] ^= 1
        case "other answers":
            correct = run["evaluation"]["correct"]
            place = next(i for i in range(len(correct)) if correct[i] != correct[i + 1])
            correct[place], correct[place + 1] = correct[place + 1], correct[place]
        case "another setting":
            run["evaluation"]["condition"] = {"temperature": 0.7}
        case "an arm renamed":
            document["controls"]["baseline"] = document["controls"].pop("control")
        case "runs more":
            for runs in (document["seed_results"], document["controls"]["control"]["seed_results"]):
                runs.append(json.loads(json.dumps(runs[0])) | {"seed": 77})
        case "a claim more":
            document["claims"].append(CLAIM | {"id": "other", "direction": "loss"})


# What was edited, the status, and what is said of it.
EDITS = {
    "a run less": (1, "lost: recipe 4"),
    "a launched seed less": (1, "lost: launched recipe 9"),
    "a claim less": (1, "lost: the claim gain accuracy recipe over control"),
    "an arm renamed": (1, "lost: control 0, 1, 2, 3, 4"),
    "a weaker claim": (0, "claim changed: gain accuracy recipe over control (level)"),
    "another score": (0, "score changed: accuracy on simulated of recipe 0: "),
    "other answers": (0, "of recipe 0: other answers, the same mean"),
    "another setting": (0, "setting changed: /seed_results/0/evaluation/condition: "),
    "runs more": (0, "1 run per arm more"),
    "a claim more": (0, "new claim: loss accuracy recipe over control"),
}


@pytest.mark.parametrize("what", EDITS)
def test_what_changed_between_two_versions_is_said(
    what: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    launched = {"recipe": [0, 1, 2, 3, 4, 9], "control": [0, 1, 2, 3, 4]}
    old = write(tmp_path / "old.json", 0.1, claims=[CLAIM], launched_seeds=launched)
    found = document(old)
    edited(found, what)
    (tmp_path / "new.json").write_text(json.dumps(found), "utf-8")
    status, said = EDITS[what]
    assert main(["compare", old, str(tmp_path / "new.json")]) == status
    assert any(said in line for line in capsys.readouterr().out.splitlines())
    # Back again nothing is lost that was only added, and what was lost is added.
    main(["compare", str(tmp_path / "new.json"), old, "--format", "json"])
    again = json.loads(capsys.readouterr().out)
    assert again["same_runs"]
    assert again["changes"]


def test_nothing_changed_between_a_file_and_itself(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one = write(tmp_path / "a.json", 0.1)
    assert main(["compare", one, one]) == 0
    assert capsys.readouterr().out == "nothing changed\n"


def test_folders_and_revisions_are_compared_file_by_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    work = repository(tmp_path / "work", {})
    for number, name in enumerate(("same", "moved", "gone", "edited")):
        (work / "reports" / name).mkdir(parents=True)
        write(work / "reports" / name / "results.json", 0.1, number=number)
    (work / "reports" / "notes.json").write_text("{}", "utf-8")
    commit(work, "studies")
    monkeypatch.chdir(work)
    reports = work / "reports"
    (reports / "moved").rename(reports / "elsewhere")
    (reports / "gone" / "results.json").unlink()
    (reports / "new").mkdir()
    write(reports / "new" / "results.json", 0.1, number=7)
    found = document(str(reports / "edited" / "results.json"))
    edited(found, "another score")
    (reports / "edited" / "results.json").write_text(json.dumps(found), "utf-8")
    assert main(["compare", "HEAD:reports", "reports", "--format", "json"]) == 1
    studies = json.loads(capsys.readouterr().out)["studies"]
    by_path = {study["path"].partition("/")[0]: study for study in studies}
    assert by_path["same"]["changes"] == by_path["moved"]["changes"] == []
    assert by_path["gone"]["lost"]
    assert by_path["new"]["new"]
    assert len(by_path["edited"]["scores"]) == 1
    monkeypatch.chdir(reports)
    assert main(["compare", "HEAD:edited/results.json", "edited/results.json"]) == 0
    assert "score changed" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["nowhere:a.json", "a.json"], "neither a file nor REV:PATH of a revision git knows"),
        (["HEAD:b.json", "a.json"], "is not there at revision HEAD"),
        (["HEAD:a.json", "."], "are not both a file, or a folder"),
    ],
)
def test_what_is_not_there_is_said(
    words: list[str],
    complaint: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    work = repository(tmp_path / "work", {})
    write(work / "a.json", 0.1)
    commit(work, "a study")
    monkeypatch.chdir(work)
    assert main(["compare", *words]) == 2
    assert complaint in capsys.readouterr().err
