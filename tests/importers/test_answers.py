"""Every answer that was asked for counts: errored, repeated, listed; none is made up."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from bringing import bring, runs, scores

from audit.errors import ImportRefused
from audit.importers.notes import gathered
from audit.importers.study import Layout

Files = list[tuple[str | None, Path]]


def lines(folder: Path, rows: Sequence[Any], name: str = "x.jsonl") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def table(folder: Path, text: str, name: str = "t.csv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def block(document: dict[str, Any], arm: str | None = None) -> dict[str, Any]:
    found: dict[str, Any] = runs(document, arm)[0]["evaluation"]
    return found


def counts(found: dict[str, Any]) -> tuple[list[int], list[int], list[int]]:
    return found["correct"], found["samples"], found.get("errored", [])


# ---- errored answers


@pytest.mark.parametrize("nothing", [None, float("nan"), "", "None", "error", "timeout"])
def test_a_row_without_a_value_is_an_errored_answer(nothing: Any, tmp_path: Path) -> None:
    rows = [{"id": "a", "score": 1}, {"id": "b", "score": nothing}, {"id": "b", "score": 0}]
    document, _ = bring(lines(tmp_path, rows))
    assert counts(block(document)) == ([1, 0], [1, 2], [0, 1])


def test_an_error_beside_a_score_of_0_is_an_errored_answer(tmp_path: Path) -> None:
    rows = [
        {"id": "a", "correct": 1, "error": None},
        {"id": "b", "correct": 0, "error": "timeout (300s)"},
        {"id": "c", "correct": 0, "error": {"type": "crash"}},
        {"id": "d", "correct": 0, "error": ["the answer is wrong"]},
        {"id": "e", "error": "the server is gone"},
    ]
    found = block(bring(lines(tmp_path, rows))[0])
    assert counts(found) == ([1, 0, 0, 0, 0], [1] * 5, [0, 1, 1, 0, 1])


def test_a_task_of_which_every_answer_errored_stays(tmp_path: Path) -> None:
    document, _ = bring(table(tmp_path, "task_id,sample,correct\nx,0,\nx,1,\ny,0,1\ny,1,0\n"))
    assert counts(block(document)) == ([0, 1], [2, 2], [2, 0])


def test_an_errored_answer_counts_as_the_lowest_score_where_one_is_known(tmp_path: Path) -> None:
    path = table(tmp_path, "task_id,sample,reward\nx,0,4\nx,1,\ny,0,2\ny,1,4\nz,0,\nz,1,\n")
    known, _ = bring(path, scale=(0, 5))
    assert block(known)["scores"] == [2.0, 3.0, 0.0]
    assert (block(known)["samples"], block(known)["errored"]) == ([2, 2, 2], [1, 0, 2])
    unknown, notes = bring(path)
    assert (block(unknown)["task_ids"], block(unknown)["scores"]) == (["x", "y"], [4.0, 3.0])
    assert any("1 of 3 tasks have no outcome" in note for note in notes)


def test_absent_answers_are_errored_where_the_user_says_so(tmp_path: Path) -> None:
    files: Files = [
        ("a", table(tmp_path, "train_seed,task_id,correct\n1,x,1\n1,x,1\n1,y,1\n", "a.csv")),
        ("b", table(tmp_path, "train_seed,task_id,correct\n1,x,0\n1,x,1\n", "b.csv")),
    ]
    plain, notes = bring(files)
    assert block(plain)["samples"] == [2, 1]
    assert any("1 to 2 samples per task" in note and "--missing wrong" in note for note in notes)
    filled, notes = bring(files, missing="wrong")
    assert counts(block(filled)) == ([2, 1], [2, 2], [0, 1])
    assert block(filled, "b")["task_ids"] == ["x", "y"]
    assert counts(block(filled, "b")) == ([1, 0], [2, 2], [0, 2])
    assert "3 absent answers count as errored and wrong (--missing wrong)" in notes


# ---- repeated rows, lists, tasks


def test_rows_that_repeat_are_further_answers_in_any_order(tmp_path: Path) -> None:
    rows = [{"task_id": t, "correct": v} for t, v in (("x", 1), ("y", 0), ("x", 0), ("x", 1))]
    found = [counts(block(bring(lines(tmp_path, order))[0])) for order in (rows, rows[::-1])]
    assert found == [([2, 0], [3, 1], [])] * 2


def test_a_question_with_another_right_answer_is_another_task(tmp_path: Path) -> None:
    rows = [
        {"input": "Add.", "output": "7", "gts": gold, "score": float(gold == "7"), "step": 100}
        for gold in ("7", "7", "8")
    ]
    found = block(bring(lines(tmp_path, [*rows, rows[0] | {"input": "Sum."}]))[0])
    assert sorted(found["samples"]) == [1, 1, 2]
    assert found["checkpoint_step"] == 100
    assert all(len(task) == 16 for task in found["task_ids"]), "names made of their content"


@pytest.mark.parametrize("entries", [[True, False, True], [1.0, 0.0, 1.0], ["True", "False", 1]])
def test_a_list_of_scores_is_that_many_answers(entries: list[Any], tmp_path: Path) -> None:
    rows = [{"idx": 0, "score": entries}, {"idx": 1, "score": [0]}, {"idx": 2, "score": []}]
    document, notes = bring(lines(tmp_path, rows), columns={"task": "idx"})
    assert counts(block(document)) == ([2, 0, 0], [3, 1, 1], [0, 0, 1])
    assert any("empty list" in note for note in notes)


def test_a_list_of_lists_is_refused_with_its_reason(tmp_path: Path) -> None:
    rows = [{"id": n, "score": [[1], [0]]} for n in range(2)]
    with pytest.raises(ImportRefused, match="lists of lists"):
        bring(lines(tmp_path, rows), format="long-table", columns={"value": "score"})


@pytest.mark.parametrize("name", ["id", "example_id", "problem_id"])
def test_a_column_that_says_the_same_everywhere_names_no_tasks(name: str, tmp_path: Path) -> None:
    rows = [{name: n, "task": "default", "reward": n % 2} for n in (0, 0, 1, 1, 2, 2)]
    document, _ = bring(lines(tmp_path, rows), scale=(0, 1))
    assert block(document)["task_ids"] == ["0", "1", "2"]


def test_a_topic_under_which_several_questions_stand_names_no_tasks(tmp_path: Path) -> None:
    rows = [
        {"task": t, "id": f"{t}{n}", "question": f"What is {t} {n}?", "correct": n}
        for t in ("sums", "maps")
        for n in (0, 1)
    ]
    document, _ = bring(lines(tmp_path, rows))
    assert len(block(document)["task_ids"]) == 4


@pytest.mark.parametrize("place", [0, -1])
def test_a_record_that_sums_the_file_up_is_no_task(place: int, tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [{"id": n, "correct": int(n < 3)} for n in range(4)]
    summary = {"accuracy": 0.75, "total_count": 4}
    listed = [summary, *rows] if place == 0 else [*rows, summary]
    document, notes = bring(lines(tmp_path, listed))
    assert counts(block(document))[:2] == ([1, 1, 1, 0], [1] * 4)
    assert not any("prints" in note for note in notes)
    wrong = [row | {"accuracy": 0.5} if row is summary else row for row in listed]
    assert any(
        "it prints 0.5, its 4 answers give 0.75" in n for n in bring(lines(tmp_path, wrong))[1]
    )


def test_rows_of_the_wrong_answers_alone_are_refused(tmp_path: Path) -> None:
    rows = [{"accuracy": 0.8, "total_count": 10}, *({"id": n, "valid": False} for n in range(2))]
    with pytest.raises(ImportRefused, match="the 2 wrong answers of 10 alone"):
        bring(lines(tmp_path, rows))


def test_a_row_without_a_task_is_no_answer_and_with_a_value_refused(tmp_path: Path) -> None:
    document, notes = bring(table(tmp_path, "arm,task_id,correct\na,x,1\na,y,0\na,,\n"))
    assert block(document)["task_ids"] == ["x", "y"]
    assert any("rows without a task and a value are no answers" in note for note in notes)
    with pytest.raises(ImportRefused, match="a row has no task_id"):
        bring(table(tmp_path, "task_id,correct\nx,1\ny,0\n,1\n"))


def test_1_and_minus_1_are_right_and_wrong(tmp_path: Path) -> None:
    path = table(tmp_path, "task_id,correct\nx,1\ny,-1\n")
    document, notes = bring(path)
    assert block(document)["correct"] == [1, 0]
    assert any("is 1 or -1: read as right and wrong" in note for note in notes)
    with pytest.raises(ImportRefused, match="lies below 0"):
        bring(table(tmp_path, "task_id,correct\nx,0.5\ny,-1\n"))


def test_words_of_grades_are_right_and_wrong(tmp_path: Path) -> None:
    document, _ = bring(table(tmp_path, "task_id,correct\na,pass\nb,FAIL\nc,timeout\nd,True\n"))
    assert counts(block(document)) == ([1, 0, 0, 1], [1] * 4, [0, 0, 1, 0])


def test_what_was_cut_off_or_not_parsed_is_counted(tmp_path: Path) -> None:
    rows = [
        {"id": 0, "correct": 1, "parsed": True, "finish_reason": "stop", "output_tokens": 10},
        {"id": 0, "correct": 0, "parsed": False, "finish_reason": "length", "output_tokens": 30},
        {"id": 1, "correct": 0, "parsed": True, "finish_reason": "length", "output_tokens": 30},
    ]
    found = block(bring(lines(tmp_path, rows))[0])
    assert (found["unparsed"], found["truncated"]) == ([1, 0], [1, 1])
    assert found["mean_tokens"] == [20.0, 30.0]


# ---- evaluations that never ran


@pytest.mark.parametrize(
    "more",
    [
        {"completion": "", "generation_ms": 0.0},
        {"completion": []},
        {"response": None},
        {"output": [{"role": "assistant", "content": ""}]},
        {"output_tokens": 0},
        {"generation_ms": 0},
    ],
)
@pytest.mark.parametrize("score", [0.0, 1.0])
def test_an_evaluation_that_never_ran_is_refused(
    more: dict[str, Any], score: float, tmp_path: Path
) -> None:
    rows = [{"id": n, "correct": score, **more} for n in range(3)]
    with pytest.raises(ImportRefused, match="the evaluation never ran: all 3"):
        bring(lines(tmp_path, rows))
    alive = {"completion": "7"} if "completion" in more else {}
    if alive:
        assert counts(block(bring(lines(tmp_path, [*rows[:2], rows[2] | alive]))[0]))[1] == [1] * 3


def test_an_empty_response_graded_as_right_is_an_error_of_the_grader(tmp_path: Path) -> None:
    rows = [
        {"id": 0, "correct": 1, "completion": "7"},
        {"id": 1, "correct": 1, "completion": ""},
        {"id": 2, "correct": 0, "completion": ""},
    ]
    assert counts(block(bring(lines(tmp_path, rows))[0])) == ([1, 0, 0], [1] * 3, [0, 1, 0])


def test_per_item_files_keep_the_same_rules(tmp_path: Path) -> None:
    items: list[dict[str, Any]] = [
        {"i": 0, "correct": True, "response": "7"},
        {"i": 1, "correct": None, "response": "8"},
        {"i": 2, "correct": 0, "response": "", "error": "timeout"},
    ]
    path = tmp_path / "x.json"
    path.write_text(json.dumps({"accuracy": 0.5, "answers": items}), encoding="utf-8")
    document, notes = bring(path, benchmark="sums")
    assert counts(block(document)) == ([1, 0, 0], [1] * 3, [0, 1, 1])
    assert block(document)["benchmark"] == "sums"
    assert any("it prints 0.5, its 3 answers give 0.333333" in note for note in notes)
    assert document["reported"] == {"arms": {"x": {"score": 0.5, "seeds": 1}}}
    dead = [item | {"response": ""} for item in items]
    path.write_text(json.dumps({"answers": dead}), encoding="utf-8")
    with pytest.raises(ImportRefused, match="never ran"):
        bring(path)


def harness_sample(doc: int, response: str) -> dict[str, Any]:
    return {"doc_id": doc, "resps": [[response]], "filter": "none", "metrics": ["acc"], "acc": 0.0}


def graded(doc: int, response: str, tokens: int) -> dict[str, Any]:
    return {
        "testCase": {"description": f"t{doc}", "vars": {"n": doc}},
        "provider": "m",
        "prompt": "p",
        "success": False,
        "failureReason": 1,
        "testIdx": doc,
        "response": {"output": response, "tokenUsage": {"completion": tokens}},
    }


@pytest.mark.parametrize("response", ["", "7"])
@pytest.mark.parametrize("tool", ["lm-eval", "promptfoo", "inspect"])
def test_logs_of_tools_with_empty_responses_alone_are_refused(
    tool: str, response: str, tmp_path: Path
) -> None:
    if tool == "lm-eval":
        path = lines(tmp_path, [harness_sample(n, response) for n in range(3)], "samples_b.jsonl")
    elif tool == "promptfoo":
        path = lines(tmp_path, [graded(n, response, 4 * len(response)) for n in range(3)])
    else:
        choices = [{"message": {"role": "assistant", "content": response}, "stop_reason": "stop"}]
        samples = [
            {"id": n, "epoch": 1, "output": {"choices": choices}, "scores": {"m": {"value": "I"}}}
            for n in range(3)
        ]
        spec = {"task": "sums", "model": "m", "config": {"epochs": 1}}
        path = tmp_path / "log.json"
        path.write_text(json.dumps({"status": "success", "eval": spec, "samples": samples}))
    if response:
        assert counts(block(bring(path)[0]))[:2] == ([0] * 3, [1] * 3)
    else:
        with pytest.raises(ImportRefused, match="never ran: all 3 responses are empty"):
            bring(path)


def test_a_number_of_answers_is_kept_for_any_metric_of_a_harness(tmp_path: Path) -> None:
    result = {
        "results": {"a": {"bleu,none": 0.3}, "b": {"acc,none": 0.5}},
        "versions": {"a": 1, "b": 1},
        "n-samples": {name: {"effective": 40} for name in "ab"},
    }
    path = tmp_path / "r.json"
    path.write_text(json.dumps(result), encoding="utf-8")
    metrics = runs(bring(path)[0])[0]["method_metrics"]
    assert metrics == {"a/bleu": 0.3, "b/acc": 0.5, "examples": 40}


# ---- how runs ended

STATES = "Name,State,algo,seed,acc,train/global_step\n"


@pytest.mark.parametrize("word", ["killed", "crashed", "FAILED", "preempted"])
def test_a_run_that_did_not_finish_has_no_figures(word: str, tmp_path: Path) -> None:
    text = STATES + f"x-1,finished,x,1,0.5,500\nx-2,{word},x,2,0.4,120\ny-1,finished,y,1,0.3,500\n"
    document, notes = bring(table(tmp_path, text), layout=Layout(controls=("y",)))
    first, second = runs(document)
    assert first["method_metrics"] == {"accuracy": 0.5}
    assert (second["seed"], second["status"], second["failure"]) == (2, "failed", word.lower())
    assert (second["run_id"], "method_metrics" in second) == ("x-2", False)
    assert any("1 run did not finish" in note for note in notes)


def test_an_exit_code_other_than_0_is_a_failure(tmp_path: Path) -> None:
    text = "job,exit_code,algo,seed,acc\nx-1,0,x,1,0.5\nx-2,137,x,2,0.4\n"
    first, second = runs(bring(table(tmp_path, text))[0])
    assert (first["method_metrics"], second["failure"]) == ({"accuracy": 0.5}, "exit code 137")


def test_a_run_that_still_runs_is_running(tmp_path: Path) -> None:
    text = STATES + "x-1,finished,x,1,0.5,500\nx-2,running,x,2,0.4,120\n"
    assert runs(bring(table(tmp_path, text))[0])[1]["status"] == "running"


def test_a_run_at_step_0_among_trained_ones_was_never_trained(tmp_path: Path) -> None:
    text = STATES + "x-1,finished,x,1,0.5,500\ny-1,finished,y,1,0.3,0\n"
    document, _ = bring(table(tmp_path, text), layout=Layout(controls=("y",)))
    (run,) = runs(document, "y")
    assert (run["status"], run["failure"]) == ("failed", "stopped at step 0")


def test_a_run_that_was_tried_again_is_one_run_with_its_failure(tmp_path: Path) -> None:
    text = STATES + "x-a,crashed,x,1,0.1,20\nx-b,finished,x,1,0.5,500\n"
    (run,) = runs(bring(table(tmp_path, text))[0])
    assert (run["earlier_failures"], run["run_id"]) == (["crashed"], "x-b")
    assert run["method_metrics"] == {"accuracy": 0.5}


def test_a_missing_value_in_a_list_is_a_run_that_failed(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    path.write_text('{"a": {"acc": [0.5, NaN]}, "b": {"acc": [0.4, 0.3]}}', encoding="utf-8")
    assert [r.get("status") for r in runs(bring(path)[0])] == [None, "failed"]


# ---- scores, benchmarks, arms


@pytest.mark.parametrize(
    ("text", "scale", "noted"),
    [
        ("arm,seed,acc,n_eval\na,1,56.2657,798\n", (0, 100), False),
        ("arm,seed,acc,num_samples\na,1,0.5627,798\n", None, False),
        ("arm,seed,acc,n\na,1,0.56,798\n", None, False),
        ("arm,seed,acc,n_eval\na,1,0.333,10\n", None, True),
    ],
)
def test_a_number_of_answers_said_beside_a_score_is_kept(
    text: str, scale: Any, noted: bool, tmp_path: Path
) -> None:
    document, notes = bring(table(tmp_path, text), scale=scale)
    assert runs(document)[0]["method_metrics"]["examples"] == int(text.split(",")[-1])
    assert any("no whole count" in note for note in notes) is noted


def test_counts_alone_are_a_score(tmp_path: Path) -> None:
    document, _ = bring(table(tmp_path, "arm,seed,num_correct,num_examples\na,1,30,40\n"),
                        format="long-table")  # fmt: skip
    assert runs(document)[0]["method_metrics"] == {"accuracy": 0.75, "examples": 40}


def test_one_run_s_scores_on_two_benchmarks_are_one_run(tmp_path: Path) -> None:
    files: Files = []
    for arm, seed, name in [(a, s, b) for a in "ab" for s in (1, 2) for b in ("x", "y")]:
        path = tmp_path / f"{arm}_seed{seed}_{name}.json"
        score = {"benchmark": name, "pass_at_1": seed / 4, "n_samples": 40, "responses": [seed]}
        path.write_text(json.dumps(score | {"arm": arm}), encoding="utf-8")
        files.append((arm, path))
    document, _ = bring(files, layout=Layout(seed_from="_seed{seed}_"))
    assert len(runs(document)) == 2
    assert runs(document)[0]["method_metrics"] == {
        "x/accuracy": 0.25,
        "y/accuracy": 0.25,
        "examples": 40,
    }
    assert document["metrics"]["x/accuracy"]["scale"] == [0, 1]


def test_arms_come_in_the_order_of_the_file(tmp_path: Path) -> None:
    text = "arm,seed,accuracy\nzeta,1,0.7\nalpha,1,0.6\nmu,1,0.5\n"
    document, _ = bring(table(tmp_path, text))
    assert (document["method"], list(document["controls"])) == ("zeta", ["alpha", "mu"])


def test_an_arm_called_baseline_is_the_control_and_not_one_whose_name_goes_on(
    tmp_path: Path,
) -> None:
    names = ("recipe", "baseline", "baseline_without_warmup")
    text = "arm,seed,accuracy\n" + "".join(f"{name},1,0.5\n" for name in names)
    document, _ = bring(table(tmp_path, text))
    roles = {name: arm["role"] for name, arm in document["controls"].items()}
    assert roles == {"baseline": "control", "baseline_without_warmup": "other"}


@pytest.mark.parametrize(
    ("old", "new"),
    [([0, 1, 1], [0, 100, 100]), ([0, 1, 0.5], [0, 50, 100])],
)
def test_runs_on_two_scales_are_refused(old: list[float], new: list[float], tmp_path: Path) -> None:
    def study(first: list[float]) -> Files:
        return [
            (
                arm,
                lines(
                    tmp_path, [{"id": i, "score": v} for i, v in enumerate(values)], f"{arm}.jsonl"
                ),
            )
            for arm, values in (("old", first), ("new", new))
        ]

    with pytest.raises(ImportRefused, match="must be on one scale"):
        bring(study(old), scale=(0, 100))
    bring(study([*old[:2], 60]), scale=(0, 100))  # one value beyond: small ones are of this scale
    bring(study([0, 0, 0]), scale=(0, 100))


def test_notes_are_said_once_with_the_files_they_are_of() -> None:
    notes = ["a.csv: no name", "b.csv: no name", "study: one", "c.csv: no name", "a.csv: other"]
    assert gathered(notes, ["a.csv", "b.csv", "c.csv"]) == (
        "a.csv and 2 more files: no name",
        "study: one",
        "a.csv: other",
    )


def test_a_scale_that_was_said_is_the_one_that_is_noted(tmp_path: Path) -> None:
    files: Files = [
        (
            "a",
            lines(
                tmp_path, [{"id": 0, "score": 100 * n}, {"id": 1, "score": 0}], f"a_seed{n}.jsonl"
            ),
        )
        for n in (0, 1)
    ]
    document, notes = bring(files, scale=(0, 100), layout=Layout(seed_from="path"))
    assert [note.partition(": ")[2] for note in notes] == [
        "no metric is named; read as accuracy on the scale 0-100 (--metric NAME otherwise)"
    ]
    assert document["provenance"]["notes"] == list(notes)


def test_columns_of_nested_records_are_named_by_pointers(tmp_path: Path) -> None:
    rows = [{"example_id": n, "reward": 0.2, "metrics": {"correct": n % 2}} for n in range(4)]
    found = block(bring(lines(tmp_path, rows))[0])
    assert (found["metric"], found["correct"]) == ("accuracy", [0, 1, 0, 1])
    document, _ = bring(lines(tmp_path, rows), columns={"value": "/reward"}, scale=(0, 1))
    assert block(document)["scores"] == [0.2] * 4
    path = tmp_path / "doc.json"
    path.write_text(json.dumps({"runs": {"all": rows}}), encoding="utf-8")
    said = {"records": "/runs/all", "right": "metrics/correct"}
    assert block(bring(path, format="long-table", columns=said)[0])["correct"] == [0, 1, 0, 1]


def test_outcomes_that_disagree_are_asked_about(tmp_path: Path) -> None:
    rows = [{"id": n, "correct": 1, "passed": int(n > 0)} for n in range(4)]
    with pytest.raises(ImportRefused, match=r"differ in 1 of 4 rows: --map value=correct or"):
        bring(lines(tmp_path, rows))
    same = [row | {"passed": 1} for row in rows]
    assert block(bring(lines(tmp_path, same))[0])["correct"] == [1] * 4


@pytest.mark.parametrize("shape", ["plain", "block", "keyed"])
def test_lists_of_numbers_by_arm_are_runs(shape: str, tmp_path: Path) -> None:
    values = {"a": [0.6, 0.7], "b": [0.5, 0.4]}
    documents: dict[str, Any] = {
        "plain": values,
        "block": {arm: {"accuracy": listed} for arm, listed in values.items()},
        "keyed": {arm: {"accuracy": {"3": v[0], "4": v[1]}} for arm, v in values.items()},
    }
    path = tmp_path / "s.json"
    path.write_text(json.dumps(documents[shape]), encoding="utf-8")
    metric = "score" if shape == "plain" else "accuracy"
    document, _ = bring(path, format="seed-lists")
    assert scores(document, metric=metric) == [0.6, 0.7]
    assert [run["seed"] for run in runs(document)] == ([3, 4] if shape == "keyed" else [None] * 2)


def test_per_seed_lists_beside_one_another_are_arms(tmp_path: Path) -> None:
    summary = {
        "seeds": ["0", "1"],
        "per_seed_new_acc": [0.8, 0.9],
        "per_seed_old_acc": [0.7, 0.6],
        "per_seed_delta": [0.1, 0.3],
        "task": "sums",
    }
    path = tmp_path / "s.json"
    path.write_text(json.dumps(summary), encoding="utf-8")
    document, _ = bring(path)
    assert (document["method"], list(document["controls"])) == ("new", ["old"])
    assert [run["seed"] for run in runs(document)] == [0, 1]
    assert block(document)["benchmark"] == "sums"
    path.write_text(json.dumps({"per_seed_delta": [0.1, 0.3]}), encoding="utf-8")
    with pytest.raises(ImportRefused, match="differences alone"):
        bring(path)
