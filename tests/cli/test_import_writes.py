"""What `audit import` writes: claims, what it keeps, and what it never writes over."""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.cli.main import main
from audit.cli.word_order import paths_last

SCORES = "arm,train_seed,accuracy\nb,1,0.7\nb,2,0.6\na,1,0.5\na,2,0.55\n"


@pytest.fixture
def scores(tmp_path: Path) -> Path:
    path = tmp_path / "scores.csv"
    path.write_text(SCORES, encoding="utf-8")
    return path


def imported(path: Path, *words: object) -> int:
    return main(["import", "long-table", str(path), "-q", *map(str, words)])


def read(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


# ---- claims


@pytest.mark.parametrize(
    ("claims", "controls"),
    [
        (["gain accuracy b over a"], ["a"]),
        (["gain accuracy B over A"], ["a"]),
        (["gain accuracy a over b"], ["b"]),
        (["gain accuracy c over b", "gain accuracy b over a"], ["a"]),
    ],
)
@pytest.mark.parametrize("folder", [False, True])
def test_the_control_is_the_arm_that_claims_are_over(
    claims: list[str], controls: list[str], folder: bool, tmp_path: Path
) -> None:
    words = [word for claim in claims for word in ("--claim", claim)]
    if folder:
        for arm, seed in ((arm, seed) for arm in "abc" for seed in (1, 2)):
            path = tmp_path / "runs" / arm / f"seed{seed}" / "eval.csv"
            path.parent.mkdir(parents=True)
            rows = [f"t{task},{int(task < 3 * seed + ord(arm) % 3)}" for task in range(12)]
            path.write_text("\n".join(["task,correct", *rows]), "utf-8")
        words = ["import", str(tmp_path / "runs"), "--seed-from", "path", *words]
    else:
        path = tmp_path / "scores.csv"
        path.write_text(SCORES + "c,1,0.4\nc,2,0.45\n", "utf-8")
        words = ["import", "long-table", str(path), "-q", *words]
    assert main([*words, "-o", str(tmp_path / "out.json")]) == 0
    found = read(tmp_path / "out.json")
    roles = [name for name, block in found["controls"].items() if block.get("role") == "control"]
    assert roles == controls


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("gain accuracy b over a", {"arm": "b", "against": "a", "direction": "gain"}),
        ("gain in accuracy of method over control", {"arm": "b", "against": "a"}),
        ("gain accuracy b over a by 0.05", {"by": 0.05}),
        ("gain accuracy b over a by 2%", {"by": 0.02}),
        ("equivalent accuracy b to a within 0.03", {"direction": "equivalent", "margin": 0.03}),
        ("gain accuracy b over a for these tasks", {"target": "benchmark"}),
    ],
)
def test_a_claim_is_written_into_the_file(
    text: str, expected: dict[str, Any], scores: Path, tmp_path: Path
) -> None:
    target = tmp_path / "o.json"
    assert imported(scores, "--claim", text, "-o", target) == 0
    (claim,) = read(target)["claims"]
    assert claim.items() >= ({"metric": "accuracy", "id": text} | expected).items()


@pytest.mark.parametrize(
    ("text", "status", "message"),
    [
        ("gain accuracy b over c", 1, "no arm 'c'; there are"),
        ("gain bleu b over a", 1, "no metric 'bleu'"),
        ("a rise in accuracy", 2, "is not of the form"),
    ],
)
def test_a_claim_that_the_file_cannot_carry_writes_nothing(
    text: str,
    status: int,
    message: str,
    scores: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    target = tmp_path / "o.json"
    assert imported(scores, "--claim", text, "-o", target) == status
    assert message in capsys.readouterr().err
    assert not target.exists()


def test_what_was_written_by_hand_is_kept(
    scores: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "o.json"
    assert imported(scores, "--claim", "gain accuracy b over a", "-o", target) == 0
    document = read(target) | {"launched_seeds": {"b": [1, 2, 3], "a": [1, 2]}, "looked": [2]}
    target.write_text(json.dumps(document), encoding="utf-8")
    command = ["import", "long-table", str(scores), "--claim", "loss accuracy b over a"]
    assert main([*command, "--claim", "gain accuracy b over a", "-o", str(target)]) == 0
    now = read(target)
    assert [claim["direction"] for claim in now["claims"]] == ["gain", "loss"]
    assert (now["launched_seeds"], now["looked"]) == (document["launched_seeds"], [2])
    assert f"kept from {target}: 1 claim, looked, launched_seeds" in capsys.readouterr().err


def test_the_options_that_were_given_are_in_the_file(scores: Path, tmp_path: Path) -> None:
    target = tmp_path / "o.json"
    assert imported(scores, "--control", "a", "--column", "value=accuracy", "-o", target) == 0
    options = read(target)["provenance"]["imported"]["options"]
    assert options == {"--control": ["a"], "--map": ["value=accuracy"]}


# ---- overwriting


@pytest.mark.parametrize("name", ["scores.csv", "./scores.csv", "linked.csv", "hard.csv"])
def test_an_input_is_never_written_over(
    name: str, scores: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(scores.parent)
    Path("linked.csv").symlink_to("scores.csv")
    os.link("scores.csv", "hard.csv")
    assert imported(Path("scores.csv"), "-o", name) == 2
    assert "is an input of this command and is kept" in capsys.readouterr().err
    assert scores.read_text(encoding="utf-8") == SCORES
    only = Path("b.csv")
    only.write_text("train_seed,accuracy\n1,0.5\n", encoding="utf-8")
    command = ["import", "long-table", "--arm", "x=b.csv", "-q", "-o", "b.csv"]
    assert main(command) == 2, "a file of --arm is an input too"


def test_a_file_that_is_no_results_file_is_not_written_over_unless_forced(
    scores: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "notes.txt"
    target.write_text("mine", encoding="utf-8")
    assert imported(scores, "-o", target) == 2
    assert "is no results file; --force replaces it" in capsys.readouterr().err
    assert target.read_text(encoding="utf-8") == "mine"
    assert imported(scores, "-o", target, "--force") == 0
    assert read(target)["method"] == "b"
    assert imported(scores, "-o", target) == 0, "its own file may be replaced"


def test_records_of_another_format_may_be_written_again(scores: Path, tmp_path: Path) -> None:
    results, records = tmp_path / "o.json", tmp_path / "records.json"
    assert imported(scores, "-o", results) == 0
    words = ["--to", "every-eval-ever", "--retrieved", "1700000000", "-o", str(records)]
    for _ in range(2):
        assert main(["import", "results", str(results), *words]) == 0
    assert main(["import", "results", str(results), *words[:4], "-o", str(results)]) == 2


# ---- options before or after paths


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser()
    made.add_argument("format")
    made.add_argument("files", nargs="*")
    made.add_argument("--scale")
    made.add_argument("--map", action="append", default=[])
    made.add_argument("-o", "--output")
    made.add_argument("-q", "--quiet", action="store_true")
    made.add_argument("-v", action="store_true")
    return made


PIECES = (["--scale", "-1-1"], ["--map", "a=b"], ["--map=c=d"], ["-o", "out"], ["-q"], ["-qv"])


@given(order=st.permutations(range(len(PIECES) + 3)))
def test_options_may_stand_anywhere(order: list[int]) -> None:
    paths = iter(["lm-eval", "x.json", "-"])
    words: list[str] = []
    for piece in order:
        words += PIECES[piece] if piece < len(PIECES) else [next(paths)]
    found = parser().parse_args(paths_last(parser(), [w.replace("-1-1", "0-1") for w in words]))
    assert (found.format, found.files) == ("lm-eval", ["x.json", "-"])
    assert (found.scale, found.output, sorted(found.map)) == ("0-1", "out", ["a=b", "c=d"])
    assert found.quiet
    assert found.v


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["a", "--sca", "0-1", "b"], ["--sca", "0-1", "a", "b"]),
        (["a", "-oOUT", "b"], ["-oOUT", "a", "b"]),
        (["a", "-qo", "OUT", "b"], ["-qo", "OUT", "a", "b"]),
        (["a", "--", "-q"], ["--", "a", "-q"]),
        (["a", "--nope", "b"], ["a", "--nope", "b"]),
        (["a", "--scale"], ["--scale", "a"]),
    ],
)
def test_paths_go_last_and_what_is_unknown_stays(words: list[str], expected: list[str]) -> None:
    assert paths_last(parser(), words) == expected


def test_a_file_may_stand_behind_an_option(tmp_path: Path) -> None:
    path = tmp_path / "e.json"
    path.write_text('{"items": [{"id": 0, "correct": 1}]}', encoding="utf-8")
    target = tmp_path / "o.json"
    words = ["import", "per-item", "--benchmark", "sums", str(path), "-o", str(target)]
    assert main(words) == 0
    assert read(target)["seed_results"][0]["evaluation"]["benchmark"] == "sums"
