"""``audit compare``: two runs of a study, or rounds inside one file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from audit.cli.main import main
from audit.simulation import Cell, simulate


def write(path: Path, delta: float, seeds: int = 5, number: int = 0, **more: object) -> str:
    cell = Cell("arms", 120, (seeds, seeds), (0.0, 0.0), delta=delta)
    random = cell.generator()
    for _ in range(number):
        simulate(cell, random)
    path.write_text(json.dumps({**simulate(cell, random).document(), **more}), encoding="utf-8")
    return str(path)


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
    document = json.loads(capsys.readouterr().out)
    assert document["conflict"]
    assert document["z"] > 3
    assert document["q"] == pytest.approx(document["z"] ** 2)
    low, high = document["per_arm_sd_interval"]
    assert low < document["per_arm_sd"] < high


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
        ("same", "both files are the same, byte for byte"),
        ("other arms", "share no comparison"),
        ("no interval", "no interval for recipe over control"),
    ],
)
def test_what_cannot_be_compared_is_status_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], second: str | None, complaint: str
) -> None:
    one = write(tmp_path / "a.json", 0.1)
    arguments = ["compare", one]
    if second == "same":
        arguments.append(write(tmp_path / "b.json", 0.1))
    if second == "other arms":
        arguments.append(write(tmp_path / "b.json", 0.1, method="another"))
    if second == "no interval":
        runs = [{"seed": 1, "method_metrics": {"accuracy": 0.5}}]
        base = json.loads(Path(one).read_text(encoding="utf-8"))
        base["controls"]["control"]["seed_results"] = runs
        base["seed_results"] = base["seed_results"][:1]
        (tmp_path / "b.json").write_text(json.dumps(base), encoding="utf-8")
        arguments.append(str(tmp_path / "b.json"))
    assert main(arguments) == 2
    assert complaint in capsys.readouterr().err
