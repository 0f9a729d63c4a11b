"""The study with a pre-trained model is what its script, study file and program make."""

from __future__ import annotations

import json
import runpy
from pathlib import Path

import pytest

from audit.partition import file_sha256
from audit.resources import resource
from audit.training.study_file import read_study

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "smollm2_sums.py"
STUDY = resource("reports/smollm2-sums/study.toml")
FOLDER = Path(str(STUDY)).parent


@pytest.mark.skipif(not SCRIPT.is_file(), reason="benchmarks/ is not beside these tests")
def test_the_data_are_those_that_the_script_makes(tmp_path: Path) -> None:
    runpy.run_path(str(SCRIPT))["write_data"](tmp_path)
    for name in ("train.jsonl", "heldout.jsonl"):
        assert (tmp_path / name).read_bytes() == (FOLDER / name).read_bytes()


def test_no_sum_is_trained_and_held_out_even_mirrored() -> None:
    def sums(name: str) -> set[tuple[str, ...]]:
        rows = map(json.loads, (FOLDER / name).read_text().splitlines())
        return {tuple(sorted(row["id"].split("+"))) for row in rows}

    assert not sums("train.jsonl") & sums("heldout.jsonl")


def test_the_results_are_of_this_study_and_this_program() -> None:
    document = json.loads((FOLDER / "results.json").read_text())
    assert document["provenance"]["study_sha256"] == file_sha256(FOLDER / "study.toml")
    runs = [*document["seed_results"], *document["controls"]["right-alone"]["seed_results"]]
    assert {run["protocol"]["reward_sha256"] for run in runs} == {file_sha256(FOLDER / "sums.py")}
    study = read_study(FOLDER / "study.toml")
    assert [(run["method"], run["seed"]) for run in runs] == [
        (arm.name, seed) for arm in study.arms for seed in study.seeds
    ]
    assert document["claims"] == [dict(claim) for claim in study.claims]
