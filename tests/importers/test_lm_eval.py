from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from bringing import SAMPLES, bring, runs

from audit.errors import ImportRefused, InputError
from audit.importers.study import Layout

FOLDER = SAMPLES / "lm_eval"
BOTH = sorted((FOLDER / "both/invented__both").iterdir())


def study(arm: str) -> list[tuple[str | None, Path]]:
    return [(arm, path) for path in sorted((FOLDER / arm).rglob("*.json*"))]


def written(tmp_path: Path, name: str, content: Any) -> Path:
    path = tmp_path / name
    lines = [json.dumps(row) for row in content] if name.endswith("l") else [json.dumps(content)]
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def row(doc: int, value: Any, **more: Any) -> dict[str, Any]:
    return {
        "doc_id": doc,
        "resps": [["x"]],
        "filtered_resps": ["x"],
        "filter": "none",
        "metrics": ["acc"],
        "doc_hash": f"hash-{doc}",
        "acc": value,
    } | more


def results(value: Any = 0.5, **more: Any) -> dict[str, Any]:
    return {
        "results": {"sums": {"alias": "sums", "acc,none": value, "acc_stderr,none": "N/A"}},
        "versions": {"sums": 1},
        "n-samples": {"sums": {"original": 4, "effective": 4}},
    } | more


def test_arms_and_seeds_come_from_arguments_and_paths() -> None:
    layout = Layout(controls=("control",), seed_from="seed{seed}")
    document, _ = bring([*study("tuned"), *study("control")], layout=layout)
    assert document["method"] == "tuned"
    assert [run["seed"] for run in runs(document)] == [1, 2, 3]
    assert [run["seed"] for run in runs(document, "control")] == [1, 2, 3]
    block = runs(document)[0]["evaluation"]
    assert (block["benchmark"], block["metric"]) == ("invented_sums_mc", "accuracy")
    assert block["task_ids"] == list(range(8))
    assert block["samples"] == [1] * 8
    assert document["provenance"]["imported"]["tools"][0]["version"] == "0.4.13"
    assert len(document["provenance"]["imported"]["files"]) == 12


def test_the_harness_s_own_seeds_are_no_training_seeds() -> None:
    document, _ = bring([(None, path) for path in BOTH])
    assert runs(document)[0]["seed"] is None
    assert runs(document)[0]["evaluation"]["condition"]["seed"] == 5


def test_two_filters_are_two_metrics_until_one_is_chosen() -> None:
    files: list[tuple[str | None, Path]] = [(None, path) for path in BOTH]
    document, notes = bring(files, benchmark="invented_sums_gen")
    names = {
        b["metric"] for b in [runs(document)[0]["evaluation"], *runs(document)[0]["evaluations"]]
    }
    assert names == {"exact_match,strict-match", "exact_match,flexible-extract"}
    assert any("choose with --metric or --filter" in note for note in notes)
    document, _ = bring(files, benchmark="invented_sums_gen", filter="strict-match")
    assert runs(document)[0]["evaluation"]["metric"] == "accuracy"


def test_acc_is_the_accuracy_and_acc_norm_keeps_its_name() -> None:
    document, _ = bring([(None, path) for path in BOTH], benchmark="invented_sums_mc")
    run = runs(document)[0]
    assert run["evaluation"]["metric"] == "accuracy"
    assert [block["metric"] for block in run["evaluations"]] == ["acc_norm"]


def test_numbers_that_are_no_metric_are_no_score() -> None:
    document, _ = bring([(None, BOTH[0])])  # 0.4.13 writes sample_len beside the metrics
    assert not any("sample_len" in name for name in document["metrics"])


def test_bare_keys_of_before_0_4_are_read_and_stderr_is_never_a_score(tmp_path: Path) -> None:
    old = {
        "results": {"arc": {"acc": 0.25, "acc_stderr": 0.01, "acc_norm": 0.3, "ppl": 12.5}},
        "versions": {"arc": 0},
    }
    document, _ = bring(written(tmp_path, "old.json", old))
    metrics = runs(document)[0]["method_metrics"]
    assert metrics == {"accuracy": 0.25, "acc_norm": 0.3, "ppl": 12.5}
    assert document["metrics"]["ppl"] == {"scale": [1, None], "higher_is_better": False}


def test_several_benchmarks_are_not_averaged(tmp_path: Path) -> None:
    old = {"results": {"a": {"acc": 0.25}, "b": {"acc": 0.75}}, "versions": {"a": 0, "b": 0}}
    document, _ = bring(written(tmp_path, "old.json", old))
    assert runs(document)[0]["method_metrics"] == {"a/acc": 0.25, "b/acc": 0.75}
    document, _ = bring(written(tmp_path, "old.json", old), benchmark="b")
    assert runs(document)[0]["method_metrics"] == {"accuracy": 0.75}


def test_a_standard_error_of_zero_at_14_of_307_is_recomputed(tmp_path: Path) -> None:
    file = results(14 / 307)
    file["results"]["sums"]["acc_stderr,none"] = 0.0
    file["n-samples"]["sums"]["effective"] = 307
    _, notes = bring(written(tmp_path, "results.json", file))
    assert "sums acc: the printed standard error is 0, recomputed 0.011926" in notes


def test_samples_whose_score_is_no_number_are_errored_answers(tmp_path: Path) -> None:
    rows = [row(0, 1.0), row(1, "N/A"), row(2, []), row(3, None)]
    document, notes = bring(written(tmp_path, "samples_sums.jsonl", rows))
    block = runs(document)[0]["evaluation"]
    assert (block["correct"], block["errored"]) == ([1, 0, 0, 0], [0, 1, 1, 1])
    words = "3 answers have no value: counted as errored, and as wrong"
    assert f"sums, acc,none: {words}" in notes


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ([row(0, 1.0), row(0, 0.0)], "task 0 is there twice"),
        ([row(0, 1.0), row(0, 0.0, filter="b", doc_hash="other")], "stands for two questions"),
    ],
)
def test_doubled_samples_are_refused(rows: list[Any], reason: str, tmp_path: Path) -> None:
    with pytest.raises(ImportRefused, match=reason):
        bring(written(tmp_path, "samples_sums.jsonl", rows))


def test_one_id_for_two_questions_across_arms_is_named(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    files: list[tuple[str | None, Path]] = [
        ("a", written(tmp_path / "a", "samples_sums.jsonl", [row(7, 1.0)])),
        ("b", written(tmp_path / "b", "samples_sums.jsonl", [row(7, 1.0, doc_hash="elsewhere")])),
    ]
    with pytest.raises(ImportRefused, match="task 7 of sums is another question in b"):
        bring(files)


def test_samples_cut_off_or_at_odds_with_the_results_are_refused(tmp_path: Path) -> None:
    short = written(tmp_path, "samples_sums.jsonl", [row(0, 1.0), row(1, 0.0)])
    whole = written(tmp_path, "results.json", results(0.5))
    with pytest.raises(ImportRefused, match="2 samples where the results say 4"):
        bring([(None, whole), (None, short)])
    other = written(tmp_path, "samples_sums.jsonl", [row(i, 1.0) for i in range(4)])
    with pytest.raises(ImportRefused, match=r"the results say 0\.5, the samples give 1"):
        bring([(None, whole), (None, other)])


def test_samples_of_no_results_file_given_are_named(tmp_path: Path) -> None:
    files: list[tuple[str | None, Path]] = [
        ("a", written(tmp_path, "results_2026-01-01T00.json", results(0.5))),
        ("a", written(tmp_path, "results_2026-01-02T00.json", results(0.25))),
        ("a", written(tmp_path, "samples_sums_2026-01-03T00.jsonl", [row(0, 1.0)])),
    ]
    with pytest.raises(InputError, match="none of the results files"):
        bring(files)


def test_one_model_evaluated_twice_is_not_two_runs(tmp_path: Path) -> None:
    config = {"config": {"model": "hf", "model_args": "pretrained=invented/one"}}
    files: list[tuple[str | None, Path]] = [
        ("a", written(tmp_path, "one.json", results(0.5, **config))),
        ("a", written(tmp_path, "two.json", results(0.25, **config))),
    ]
    with pytest.raises(ImportRefused, match="two files evaluate the same model"):
        bring(files)


def test_pass_at_10_from_one_sample_a_problem_is_refused(tmp_path: Path) -> None:
    file = results()
    file["results"] = {"code": {"pass@10,none": 0.5}}
    file["configs"] = {"code": {"repeats": 1}}
    with pytest.raises(ImportRefused, match="pass@10 needs at least 10 samples a problem"):
        bring(written(tmp_path, "results.json", file))


def test_the_untrained_model_needs_no_seed_and_may_be_evaluated_again(tmp_path: Path) -> None:
    config = {"config": {"model": "hf", "model_args": "pretrained=invented/base"}}
    again: list[tuple[str | None, Path]] = [
        ("start", written(tmp_path, f"base{n}.json", results(n / 4, **config))) for n in (1, 2)
    ]
    layout = Layout(base=("start",), seed_from="seed{seed}")
    document, _ = bring([*study("tuned"), *again], layout=layout)
    assert [entry["accuracy"] for entry in document["base_evaluations"]] == [0.25, 0.5]
    assert [run["seed"] for run in runs(document)] == [1, 2, 3]
