"""What is exported reads back to the same scores, and no form says more than the verdict."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from made_fleet import CARRIED, ONE_SEED

from audit.cli.main import main
from audit.exports.arm_scores import ArmScore, arm_scores
from audit.exports.hub_forms import model_index
from audit.importers.readers.hub_cards import _FENCE
from audit.importers.readers.settings import yaml_document
from audit.report import verify
from audit.results import load
from audit.simulation import Cell, simulate

Printed = pytest.CaptureFixture[str]
RETRIEVED = ["--to", "every-eval-ever", "--retrieved", "1700000000"]
CELL = Cell("arms", 40, (4, 4), (0.02, 0.02), delta=0.2)
CLAIM = {"id": "main", "direction": "gain", "arm": "recipe", "against": "control"}


def simulated(path: Path, **more: Any) -> Path:
    document: dict[str, Any] = simulate(CELL, CELL.generator()).document()
    path.write_text(json.dumps({**document, "claims": [CLAIM], **more}), encoding="utf-8")
    return path


def scores_of(path: Path) -> dict[tuple[str, int | None, str, str], float]:
    """Return every run's score by arm, seed, benchmark and metric."""
    report = verify(load(path))
    return {
        (score.arm, run.seed, score.benchmark or "unknown", score.metric): float(run.score)
        for score in arm_scores(report)
        for run in score.runs
        if run.score is not None
    }


def several(path: Path) -> Path:
    """Write a study with two splits, and an earlier checkpoint of one of them, in every run."""
    document = json.loads(simulated(path).read_text(encoding="utf-8"))
    for run in (*document["seed_results"], *document["controls"]["control"]["seed_results"]):
        last = run["evaluation"]
        flipped = [
            drawn - right for right, drawn in zip(last["correct"], last["samples"], strict=True)
        ]
        early = last | {"split": "test", "checkpoint_step": 5, "correct": flipped}
        other = last | {"split": "validation", "checkpoint_step": 10, "correct": flipped}
        run["evaluation"] = last | {"split": "test", "checkpoint_step": 10}
        run["evaluations"] = [early, other]
    del document["claims"]
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


@pytest.mark.parametrize("name", ["carried", "one seed", "simulated", "several"])
def test_every_eval_ever_reads_back_to_every_score_of_every_run(name: str, tmp_path: Path) -> None:
    made = {"carried": CARRIED, "one seed": ONE_SEED}
    writers = {"simulated": simulated, "several": several}
    source = made.get(name) or writers[name](tmp_path / "results.json")
    records, back = tmp_path / "records.json", tmp_path / "back.json"
    assert main(["export", str(source), *RETRIEVED, "-o", str(records)]) == 0
    assert main(["import", str(records), "-o", str(back)]) == 0
    before = scores_of(source)
    assert len(before) == {"carried": 24, "one seed": 2, "simulated": 8, "several": 16}[name]
    assert scores_of(back) == pytest.approx(before, abs=1e-12)


def test_records_are_the_same_bytes_by_either_spelling(tmp_path: Path, capsys: Printed) -> None:
    source = simulated(tmp_path / "results.json")
    assert main(["export", str(source), *RETRIEVED]) == 0
    first = json.loads(capsys.readouterr().out)
    assert main(["import", "results", str(source), *RETRIEVED]) == 0
    assert json.loads(capsys.readouterr().out) == first


def test_a_record_has_the_verdict_beside_the_score(tmp_path: Path, capsys: Printed) -> None:
    assert main(["export", str(ONE_SEED), *RETRIEVED]) == 0
    details = [
        result["score_details"]["details"]["audit"]
        for record in json.loads(capsys.readouterr().out)
        for result in record["evaluation_results"]
    ]
    assert len(details) == 2
    assert all("refused (one-seed): gain in accuracy of recipe over base" in d for d in details)
    assert not any("supported" in d for d in details)


def test_records_need_the_time_they_are_made(tmp_path: Path, capsys: Printed) -> None:
    assert main(["export", str(CARRIED), "--to", "every-eval-ever"]) == 2
    assert "--retrieved SECONDS" in capsys.readouterr().err


def means_of(path: Path, arm: str) -> dict[str, float]:
    report = verify(load(path))
    return {
        f"{score.benchmark or 'unknown'} {score.metric}": score.mean
        for score in arm_scores(report)
        if score.arm == arm
    }


def printed_in(folder: Path, back: Path) -> dict[str, float]:
    """Return the figures that an import of a card finds, the model's name taken off."""
    assert main(["import", str(folder), "--scale", "0-1", "-o", str(back)]) == 0
    reported = json.loads(back.read_text(encoding="utf-8"))["reported"]["printed"]
    return {name.partition(": ")[2]: value for name, value in reported.items()}


@pytest.mark.parametrize("arm", ["chi-clip", "fixed-clip"])
def test_a_model_index_reads_back_to_the_means_of_its_arm(arm: str, tmp_path: Path) -> None:
    card = tmp_path / "model" / "README.md"
    card.parent.mkdir()
    words = ["--to", "model-index", "--arm", arm, "-o", str(card)]
    assert main(["export", str(CARRIED), *words]) == 0
    assert printed_in(card.parent, tmp_path / "back.json") == means_of(CARRIED, arm)


def test_eval_results_read_back_to_the_mean_of_each_benchmark(
    tmp_path: Path, capsys: Printed
) -> None:
    folder = tmp_path / "model" / ".eval_results"
    folder.mkdir(parents=True)
    words = ["--to", "eval-results", "-o", str(folder / "sums.yaml")]
    words += ["--dataset", "addition=me/sums:default"]
    assert main(["export", str(CARRIED), *words]) == 0
    assert "audit: not written: subtraction, without --dataset" in capsys.readouterr().err
    found = printed_in(folder.parent, tmp_path / "back.json")
    expected = means_of(CARRIED, "chi-clip")["addition accuracy"]
    assert found == {"me/sums default accuracy": expected}


def benchmark_of(path: Path) -> str:
    (score, *_) = arm_scores(verify(load(path)))
    return score.benchmark or "unknown"


def test_a_note_has_verdict_delta_and_interval(tmp_path: Path, capsys: Printed) -> None:
    path = simulated(tmp_path / "results.json")
    main(["gate", str(path), "--format", "json"])
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    dataset = ["--dataset", f"{benchmark_of(path)}=me/sums:default"]
    assert main(["export", str(path), "--to", "eval-results", *dataset]) == 0
    (entry,) = yaml.safe_load(capsys.readouterr().out)
    assert row["supported"] is True
    assert "mean of 4 training runs" in entry["notes"]
    assert f"supported: {row['claim']}: " in entry["notes"]
    delta, interval = row["delta"].split(" ", 1)
    assert delta in entry["notes"]
    assert f"95% interval {interval}" in entry["notes"]
    for weakening in row["weakened_by"]:
        assert weakening["slug"] in entry["notes"]


@pytest.mark.parametrize("form", ["eval-results", "model-index"])
def test_a_refused_claim_is_written_only_when_asked_and_always_said(
    form: str, tmp_path: Path, capsys: Printed
) -> None:
    words = ["export", str(ONE_SEED), "--to", form, "--dataset", "unknown=me/sums:default"]
    assert main(words) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert "refused (one-seed)" in err
    assert "--even-refused" in err
    assert main([*words, "--even-refused"]) == 0
    out = capsys.readouterr().out
    assert "refused (one-seed): gain in accuracy of recipe over baseline" in out
    assert "supported" not in out


def diverged(document: dict[str, Any]) -> None:
    document["seed_results"][0]["status"] = "diverged"


def not_listed(document: dict[str, Any]) -> None:
    seeds = [run["seed"] for run in document["seed_results"]]
    document["launched_seeds"] = {"recipe": seeds}
    del document["seed_results"][0]


def not_measured(document: dict[str, Any]) -> None:
    run = document["seed_results"][0]
    del run["evaluation"]
    run["method_metrics"] = {"reward": 0.5}


@pytest.mark.parametrize("loss", [diverged, not_listed, not_measured])
def test_a_mean_over_what_survived_is_not_written(
    loss: Callable[[dict[str, Any]], None], tmp_path: Path, capsys: Printed
) -> None:
    path = simulated(tmp_path / "results.json")
    document = json.loads(path.read_text(encoding="utf-8"))
    loss(document)
    path.write_text(json.dumps(document), encoding="utf-8")
    assert main(["export", str(path), "--to", "model-index", "--even-refused"]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert "1 of 4 runs of recipe did not finish or have no accuracy" in err


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["--to", "model-index", "--arm", "chi-clp"], "did you mean 'chi-clip'"),
        (["--to", "model-indx"], "did you mean model-index?"),
        (["--to", "eval-results"], "nothing to write: "),
        (["--to", "eval-results", "--dataset", "addition=me/sums"], "name the task"),
        (["--to", "model-index", "--dataset", "sums=me/sums"], "no benchmark 'sums'"),
        (["--to", "attestation", "--arm", "chi-clip"], "--arm is for --to eval-results and"),
        (["--to", "model-index", "--retrieved", "7"], "--retrieved is for --to every-eval-ever"),
    ],
)
def test_what_cannot_be_exported_is_one_line(words: list[str], line: str, capsys: Printed) -> None:
    try:
        status = main(["export", str(CARRIED), *words])
    except SystemExit as end:
        status = int(str(end.code))
    out, err = capsys.readouterr()
    assert status in (1, 2)
    assert out == ""
    assert line in err.splitlines()[-1]


def test_a_card_written_by_hand_is_kept(tmp_path: Path, capsys: Printed) -> None:
    card = tmp_path / "README.md"
    card.write_text("# My model\n", encoding="utf-8")
    words = ["export", str(CARRIED), "--to", "model-index", "-o", str(card)]
    assert main(words) == 2
    assert "--force replaces it" in capsys.readouterr().err
    assert card.read_text(encoding="utf-8") == "# My model\n"
    assert main([*words, "--force"]) == 0


@cache
def scores() -> tuple[ArmScore, ...]:
    return tuple(s for s in arm_scores(verify(load(CARRIED))) if s.arm == "chi-clip")


@settings(max_examples=60, deadline=None)
@given(st.text(min_size=1, max_size=40).filter(lambda text: text.isprintable() or "\n" in text))
def test_no_name_of_an_arm_breaks_out_of_the_front_matter(name: str) -> None:
    card = model_index(name, scores(), {"addition": f"{name}/{name}"})
    front = _FENCE.split(card)
    assert len(front) == 3
    index = yaml_document(front[1], "card")["model-index"]
    assert index == yaml.safe_load(front[1])["model-index"]
    assert index[0]["name"] == name
    assert index[0]["results"][0]["dataset"]["type"] == f"{name}/{name}".partition(":")[0]
