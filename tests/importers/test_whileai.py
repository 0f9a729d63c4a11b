from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from bringing import SAMPLES, bring, runs, scores

from audit.errors import ImportRefused, UsageError
from audit.importers import whileai
from audit.importers.draft import Options
from audit.importers.foreign import read_foreign

FOLDER = SAMPLES / "whileai"
ONE_SEED: dict[str, Any] = json.loads((FOLDER / "one_seed.json").read_text(encoding="utf-8"))


def written(tmp_path: Path, **changes: Any) -> Path:
    document = copy.deepcopy(ONE_SEED) | changes
    path = tmp_path / "results.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def test_a_single_score_is_one_run_without_a_seed_number() -> None:
    document, _ = bring(FOLDER / "one_seed.json")
    assert document["method"] == "recipe"
    assert [run["seed"] for run in runs(document)] == [None]
    assert scores(document) == [0.5]
    assert runs(document)[0]["method_metrics"] == {
        "accuracy": 0.5,
        "examples": 200,
        "pass@4": 0.7,
    }


def test_the_data_seed_is_no_training_seed() -> None:
    document, _ = bring(FOLDER / "one_seed.json")  # its checks say "seed": 0
    assert runs(document, "baseline")[0]["seed"] is None


def test_a_named_training_seed_is_kept(tmp_path: Path) -> None:
    checks = ONE_SEED["checks"] | {"train_seed": 17}
    document, _ = bring(written(tmp_path, checks=checks))
    assert [run["seed"] for run in runs(document) + runs(document, "baseline")] == [17, 17]


def test_a_per_seed_list_is_that_many_runs_never_numbered() -> None:
    document, _ = bring(FOLDER / "per_seed_list.json")
    assert [run["seed"] for run in runs(document)] == [None] * 3
    assert scores(document) == [0.5, 0.3, 0.46]


def test_a_score_that_is_one_seeds_is_said_to_be() -> None:
    document, notes = bring(FOLDER / "per_seed_list.json")
    assert document["reported"]["arms"]["recipe"]["seeds"] == 1
    assert any(
        "recipe: its score and interval are those of one seed (per_seed/0)" in n for n in notes
    )


def test_a_score_that_is_both_a_seed_and_the_mean_stays_undecided() -> None:
    document, notes = bring(FOLDER / "per_seed_list.json")  # baseline 0.41 of 0.40, 0.42, 0.41
    assert "seeds" not in document["reported"]["arms"]["baseline"]
    assert "baseline: its score is both per_seed/2 and the mean of seeds" in notes


def test_a_score_that_is_the_mean_of_rounded_seeds_is_said_to_be(tmp_path: Path) -> None:
    arms = copy.deepcopy(ONE_SEED["arms"])
    arms["recipe"] |= {"score": 0.9240625, "per_seed": [0.839, 0.936, 0.951, 0.97]}
    document, notes = bring(written(tmp_path, arms=arms))
    assert document["reported"]["arms"]["recipe"]["seeds"] == 4
    assert "recipe: its score is the mean of 4 seeds" in notes
    assert "examples" not in runs(document)[0]["method_metrics"]
    assert any("0.839 is no whole count out of 200, to the digits" in note for note in notes)
    arms["recipe"] |= {"score": 0.93375, "per_seed": [0.84, 0.935, 0.99, 0.97]}
    document, _ = bring(written(tmp_path, arms=arms))
    assert {run["method_metrics"]["examples"] for run in runs(document)} == {200}


def test_a_per_seed_table_labels_its_runs() -> None:
    document, _ = bring(FOLDER / "per_seed_table.json")
    assert [run["seed"] for run in runs(document)] == [17, 18]
    assert scores(document, "baseline") == [0.4, 0.44]
    assert runs(document, "baseline")[0]["method_metrics"]["truncated_responses"] == 2
    assert document["controls"]["baseline"]["role"] == "control"
    assert document["controls"]["random"]["role"] == "other"


def test_a_list_of_seeds_labels_a_list_of_scores() -> None:
    document, notes = bring(FOLDER / "labelled_list.json")
    assert [run["seed"] for run in runs(document)] == [4, 5, 6]
    assert any("labelled by the file's own list of seeds" in note for note in notes)


@pytest.mark.parametrize("train_seeds", [3, {"baseline": 3, "recipe": 3}, [1, 2, 3]])
def test_several_seeds_without_their_scores_are_refused(train_seeds: Any, tmp_path: Path) -> None:
    path = written(tmp_path, checks=ONE_SEED["checks"] | {"train_seeds": train_seeds})
    with pytest.raises(ImportRefused, match="3 seeds but one score"):
        bring(path)


def test_a_mean_of_seeds_is_known_by_its_fraction() -> None:
    with pytest.raises(ImportRefused, match="no whole count out of 200, so it is a mean of seeds"):
        bring(FOLDER / "mean_without_list.json")


@pytest.mark.parametrize(
    ("pins", "versions"),
    [
        ("torch 2.7.1, trl 0.19.1", {"torch": "2.7.1", "trl": "0.19.1", "whileai": "0.99"}),
        ({"torch": "2.7.1"}, {"torch": "2.7.1", "whileai": "0.99"}),
        ("torch==2.7.1", {"torch": "2.7.1", "whileai": "0.99"}),
        (None, {"whileai": "0.99"}),
    ],
)
def test_pins_come_as_text_or_table(pins: Any, versions: dict[str, str], tmp_path: Path) -> None:
    document, _ = bring(written(tmp_path, checks=ONE_SEED["checks"] | {"pins": pins}))
    assert document["verified"]["versions"] == versions


def test_rounds_keep_which_one_they_repeat() -> None:
    document, _ = bring(FOLDER / "rounds.json")
    assert [entry["id"] for entry in document["rounds"]] == [1, 2]
    assert document["rounds"][1]["replicates"] == 1
    assert document["rounds"][0]["delta"] == {"value": -0.01, "low": -0.05, "high": 0.03}
    assert document["rounds"][1]["scores"] == {"baseline": 0.4, "recipe": 0.5}


def test_what_was_printed_stands_under_reported_and_as_a_claim() -> None:
    document, _ = bring(FOLDER / "one_seed.json")
    assert document["reported"]["comparisons"] == [
        {
            "arm": "recipe",
            "against": "baseline",
            "delta": 0.1,
            "low": 0.02,
            "high": 0.18,
            "verdict": "moved",
        }
    ]
    assert [claim["direction"] for claim in document["claims"]] == ["gain"]
    assert document["base_evaluations"][0]["accuracy"] == 0.3


@pytest.mark.parametrize(
    ("file", "reason"),
    [("no_arms.json", "no arms"), ("nothing_trained.json", "every one has 0 steps")],
)
def test_a_file_without_a_training_run_is_refused(file: str, reason: str) -> None:
    with pytest.raises(ImportRefused, match=reason):
        bring(FOLDER / file)


def test_percent_is_brought_to_a_fraction_exactly(tmp_path: Path) -> None:
    arms = {
        "baseline": {"score": 57.3, "steps": 1},
        "recipe": {"score": 58.1, "steps": 1},
    }
    path = written(tmp_path, arms=arms, n_holdout=1000, k=1)
    with pytest.raises(ImportRefused, match="--scale 0-100"):
        bring(path)
    document, _ = bring(path, scale=(0, 100))
    assert scores(document, "baseline") == [0.573]


def test_pass_at_10_from_4_samples_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ImportRefused, match="needs at least 10 samples a problem"):
        bring(written(tmp_path, metric="pass@10"))


def test_text_in_place_of_a_score_is_missing_and_counted(tmp_path: Path) -> None:
    arms = copy.deepcopy(ONE_SEED["arms"])
    arms["recipe"]["per_seed"] = [0.5, "N/A", None, []]
    document, notes = bring(written(tmp_path, arms=arms))
    assert scores(document) == [0.5]
    assert "2 missing values in recipe.per_seed" in notes


def test_two_recipes_at_once_are_wrong_usage() -> None:
    files = [read_foreign(str(FOLDER / name)) for name in ("one_seed.json", "rounds.json")]
    with pytest.raises(UsageError):
        whileai.read(files, Options())


def test_differences_over_seeds_are_kept_with_the_means_they_are_of(tmp_path: Path) -> None:
    arms = copy.deepcopy(ONE_SEED["arms"])
    arms["baseline"] |= {"per_seed": {"1": 0.4, "2": 0.44}, "score_mean_over_seeds": 0.42}
    arms["recipe"] |= {"per_seed": {"1": 0.5, "2": 0.56}, "score_mean_over_seeds": 0.53}
    detail = {
        "delta": 0.1,
        "ci": [0.05, 0.15],
        "across_seeds": 0.11,
        "across_seeds_ci": [-0.1, 0.32],
        "verdict": "flat",
    }
    document, _ = bring(written(tmp_path, arms=arms, delta={"recipe_vs_baseline": detail}))
    assert document["reported"]["arms"]["recipe"] == {"score": 0.53, "seeds": 2}
    assert document["reported"]["comparisons"] == [
        {
            "arm": "recipe",
            "against": "baseline",
            "delta": 0.11,
            "low": -0.1,
            "high": 0.32,
            "verdict": "flat",
        }
    ]


def test_a_list_of_seeds_that_names_one_twice_is_refused(tmp_path: Path) -> None:
    content = json.loads((FOLDER / "labelled_list.json").read_text(encoding="utf-8"))
    checks = content["checks"] | {"train_seeds": [0, 0, 1]}
    path = tmp_path / "results.json"
    path.write_text(json.dumps(content | {"checks": checks}), encoding="utf-8")
    with pytest.raises(ImportRefused, match="seed 0 is there twice"):
        bring(path)
