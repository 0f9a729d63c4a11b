from __future__ import annotations

import json
from pathlib import Path

import pytest
from bringing import SAMPLES, bring, runs

from audit.errors import ImportRefused
from audit.importers.study import Layout

FOLDER = SAMPLES / "promptfoo"


def test_providers_are_arms_and_repeats_are_samples_of_one_test() -> None:
    document, _ = bring(FOLDER / "repeat2.json", layout=Layout(controls=("untuned",)))
    block = runs(document)[0]["evaluation"]
    assert document["method"] == "tuned"
    assert block["benchmark"] == "invented arithmetic tasks"
    assert block["task_ids"] == ["sum-1", "sum-2", "sum-3"]
    assert (block["correct"], block["samples"]) == ([2, 2, 0], [2, 2, 2])
    assert runs(document, "untuned")[0]["evaluation"]["correct"] == [0, 2, 0]


def test_a_call_that_failed_is_an_error_and_a_failed_assertion_is_not() -> None:
    document, _ = bring(FOLDER / "repeat2.json", layout=Layout(controls=("untuned",)))
    assert runs(document)[0]["evaluation"]["errored"] == [0, 0, 2]
    assert "errored" not in runs(document, "untuned")[0]["evaluation"]


def test_json_lines_say_the_same() -> None:
    whole, _ = bring(FOLDER / "repeat2.json")
    lines, _ = bring(FOLDER / "repeat2.jsonl")
    for block in ("task_ids", "correct", "samples"):
        assert runs(lines)[0]["evaluation"][block] == runs(whole)[0]["evaluation"][block]


def test_several_prompts_are_several_arms(tmp_path: Path) -> None:
    document = json.loads((FOLDER / "repeat2.json").read_text(encoding="utf-8"))
    for row in document["results"]["results"]:
        if row["provider"]["label"] == "untuned":
            row["prompt"]["label"] = "short"
    path = tmp_path / "prompts.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    found, _ = bring(path)
    assert {found["method"], *found["controls"]} == {"tuned | {{q}}", "untuned | short"}


def test_a_metric_that_no_result_has_is_refused() -> None:
    with pytest.raises(ImportRefused, match="no result has the metric wit"):
        bring(FOLDER / "repeat2.json", metric="wit")
