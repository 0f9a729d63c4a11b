"""Studies in several files, decisions and resampled figures, as the commands print them."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import pytest
from made_studies import study as plain
from test_averages import study
from test_what_counts import honest

from audit.cli.main import main

GAIN = "gain accuracy recipe over control"
ENTRY = {"direction": "gain", "arm": "recipe", "against": "control"}


def written(folder: Path, name: str, document: object) -> Path:
    path = folder / name / "results.json"
    path.parent.mkdir()
    path.write_text(json.dumps(document))
    return path


def gate(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str]:
    status = main(["gate", *map(str, arguments)])
    return status, capsys.readouterr().out


def test_a_study_split_over_files_keeps_its_family(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = plain(honest(), honest(0.14, first=20))
    document["claims"] = [ENTRY]
    for number, entry in enumerate(document["seed_results"]):
        entry["final_parameters_sha256"] = f"{number}" * 64
    other = copy.deepcopy(document)
    other["claims"] = [{**ENTRY, "direction": "loss"}, {**ENTRY, "margin": 0.4, "id": "wide"}]
    one = written(tmp_path, "one", document)
    status, _ = gate(capsys, one)
    assert status == 0
    two = written(tmp_path, "two", other)
    _, text = gate(capsys, one, two)
    assert "one shares training runs with two" in text
    _, shown = gate(capsys, one, two, "--format", "json")
    files = {Path(file["path"]).parent.name: file for file in json.loads(shown)["files"]}
    assert files["one"]["siblings"] == [str(two)]


def test_studies_that_share_only_names_are_families_of_their_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, first in (("one", 20), ("two", 40)):
        document = plain(honest(), honest(0.2, first=first))
        document["claims"] = [ENTRY]
        written(tmp_path, name, document)
    _, text = gate(capsys, tmp_path)
    assert "shares training runs" not in text


@pytest.mark.parametrize(("after", "word"), [(0.5, "SHIP"), (0.3, "DON'T SHIP")])
def test_the_decision_comes_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], after: float, word: str
) -> None:
    document = study({"math": (0.3, 0.5), "mmlu": (0.5, after)}, {"math": 200, "mmlu": 300})
    document["decision"] = {
        "guardrails": [{"metric": "accuracy", "benchmark": "mmlu", "margin": 0.1}]
    }
    path = written(tmp_path, "guarded", document)
    claim = "gain accuracy dapo over grpo on math"
    status, text = gate(capsys, path, "--claim", claim)
    assert text.startswith(f"{word}  ")
    assert status == (word != "SHIP")
    _, markdown = gate(capsys, path, "--claim", claim, "--format", "markdown")
    assert f"**{word}**" in markdown.replace("\\", "").replace("&#39;", "'")
    main(["verify", str(path), "--claim", claim, "--format", "json"])
    (report,) = json.loads(capsys.readouterr().out)["files"]
    assert report["verdicts"]["decision"]["word"] == word.lower().removesuffix(" ship")


def test_resampled_figures_reach_the_report_and_decide_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, "study", plain(honest(), honest(0.2, first=20)))
    main(["verify", str(path), "--format", "json"])
    (report,) = json.loads(capsys.readouterr().out)["files"]
    (comparison,) = report["verdicts"]["comparisons"]
    figures = comparison["resampled"]
    assert figures["decides"] is False
    for name in ("percentile", "bca", "two_level"):
        assert figures[name]["low"] <= comparison["delta"] <= figures[name]["high"]
    assert figures["two_level"]["over"] == "seeds and tasks"
    assert 0 < figures["sign_flip_p_value"] < 0.05
    assert figures["label_p_value"] == pytest.approx(0.1)
