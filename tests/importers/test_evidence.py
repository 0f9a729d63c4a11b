"""What an import says of its runs: trainings of their own, or not known to be."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from bringing import SAMPLES, bring, runs

from audit.errors import ImportRefused, UsageError
from audit.importers.path_seeds import seed_of
from audit.importers.study import Layout

Files = list[tuple[str | None, Path]]


def written(folder: Path, name: str, content: Any) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    text = content if isinstance(content, str) else json.dumps(content)
    path.write_text(text, encoding="utf-8")
    return path


def evidence(document: dict[str, Any], arm: str | None = None) -> set[str]:
    return {run["identified_by"] for run in runs(document, arm)}


TRACKED = "Name,State,algo,{seed},acc\nx-1,finished,x,1,0.5\nx-2,finished,x,2,0.6\n"


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("t.csv", "arm,seed,accuracy\na,1,0.5\na,2,0.6\n", "none"),
        ("t.csv", "arm,run,accuracy\na,1,0.5\na,2,0.6\n", "none"),
        ("t.csv", "arm,trial,accuracy\na,1,0.5\na,2,0.6\n", "none"),
        ("t.csv", "arm,train_seed,accuracy\na,1,0.5\na,2,0.6\n", "user"),
        ("t.csv", "arm,training.seed,accuracy\na,1,0.5\na,2,0.6\n", "user"),
        ("t.csv", TRACKED.format(seed="seed"), "trainer-config"),
        ("t.csv", TRACKED.format(seed="train_seed"), "trainer-config"),
        ("t.csv", "arm,seed_1,seed_2\na,0.5,0.6\n", "none"),
        ("t.csv", 'arm,per_seed\na,"0.5,0.6"\n', "user"),
        ("t.csv", 'arm,values\na,"0.5,0.6"\n', "none"),
        ("t.csv", 'arm,train_seeds,values\na,"1,2","0.5,0.6"\n', "user"),
        ("t.csv", 'arm,seeds,values\na,"1,2","0.5,0.6"\n', "none"),
        ("t.csv", "train_seed,a,b\n1,0.5,0.4\n2,0.6,0.5\n", "user"),
        ("t.csv", "seed,a,b\n1,0.5,0.4\n2,0.6,0.5\n", "none"),
        ("s.json", {"a": {"acc_per_seed": [0.5, 0.6]}}, "user"),
        ("s.json", {"a": {"acc": [0.5, 0.6]}, "b": {"acc": [0.5, 0.4]}}, "none"),
    ],
)
def test_the_words_of_a_source_say_what_its_seeds_are(
    name: str, text: Any, expected: str, tmp_path: Path
) -> None:
    document, _ = bring(written(tmp_path, name, text))
    assert len(runs(document)) == 2
    assert evidence(document) == {expected}


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, "none"),
        ({"seed_is": "training"}, "user"),
        ({"columns": {"seed": "seed"}}, "user"),
        ({"seed_key": "seed"}, "user"),
    ],
)
def test_the_user_s_word_makes_bare_seeds_trainings(
    options: dict[str, Any], expected: str, tmp_path: Path
) -> None:
    path = written(tmp_path, "t.csv", "arm,seed,accuracy\na,1,0.5\na,2,0.6\nb,1,0.4\nb,2,0.5\n")
    document, notes = bring(path, **options)
    assert evidence(document) == evidence(document, "b") == {expected}
    asked = any("nothing says that the 2 runs of a and the 2 runs of b" in note for note in notes)
    assert asked is (expected == "none")


def test_seeds_named_as_decoding_are_evaluations_of_one_run(tmp_path: Path) -> None:
    text = "arm,seed,task_id,correct\na,1,x,1\na,1,y,0\na,2,x,1\na,2,y,1\n"
    path = written(tmp_path, "t.csv", text)
    document, _ = bring(path, seed_is="decoding")
    (run,) = runs(document)
    assert (run["evaluation"]["correct"], run["evaluation"]["samples"]) == ([2, 1], [2, 2])
    assert document["runs_are"] == {"a": "evaluations"}
    seeds = written(tmp_path, "u.csv", text.replace("seed", "train_seed"))
    assert len(runs(bring(seeds, seed_is="decoding")[0])) == 2, "a training seed stays one"


def test_seeds_that_change_with_trials_number_answers(tmp_path: Path) -> None:
    rows = [
        (arm, f"q{q}", n, 700 + n, (q + n) % 2) for arm in "ab" for q in range(3) for n in (0, 1)
    ]
    text = "model,task_id,trial,seed,success\n" + "".join(
        f"{','.join(map(str, r))}\n" for r in rows
    )
    document, notes = bring(written(tmp_path, "t.csv", text))
    assert [run["seed"] for run in runs(document)] == [None]
    assert runs(document)[0]["evaluation"]["samples"] == [2, 2, 2]
    assert any("seed changes with trial alone" in note for note in notes)
    told, _ = bring(written(tmp_path, "t.csv", text), seed_is="training")
    assert [run["seed"] for run in runs(told)] == [700, 701]
    both = text.replace("trial,seed", "trial,train_seed")
    document, _ = bring(written(tmp_path, "t.csv", both))
    assert [run["seed"] for run in runs(document)] == [700, 701]


@pytest.mark.parametrize("counter", ["trial", "rollout", "epoch", "attempt", "repeat", "gen"])
@pytest.mark.parametrize("lines", [False, True])
def test_counters_of_answers_are_no_runs(counter: str, lines: bool, tmp_path: Path) -> None:
    rows = [{"arm": "a", "task_id": q, counter: n, "correct": n} for q in "xy" for n in (0, 1)]
    if lines:
        path = written(tmp_path, "t.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    else:
        cells = [",".join(map(str, row.values())) for row in rows]
        path = written(tmp_path, "t.csv", "\n".join([",".join(rows[0]), *cells]) + "\n")
    document, _ = bring(path)
    (run,) = runs(document)
    assert (run["evaluation"]["correct"], run["evaluation"]["samples"]) == ([1, 1], [2, 2])


def test_a_table_of_one_arm_s_runs_is_one_arm(tmp_path: Path) -> None:
    document, _ = bring(written(tmp_path, "sweep.csv", "run,accuracy\n1,0.6\n2,0.7\n3,0.8\n"))
    assert (document["method"], "controls" in document) == ("sweep", False)
    assert [run["run_id"] for run in runs(document)] == ["1", "2", "3"]


def test_files_without_a_seed_come_over_as_runs_of_unknown_standing(tmp_path: Path) -> None:
    files: Files = [
        (arm, written(tmp_path, f"{arm}{n}.csv", f"task_id,correct\nx,{n}\ny,{1 - n}\n"))
        for arm, n in (("a", 0), ("a", 1))
    ]
    files.append(("b", written(tmp_path, "b.csv", "task_id,correct\nx,0\ny,0\n")))
    document, notes = bring(files)
    assert evidence(document) == {"none"}
    assert len(runs(document)) == 2
    assert any("the 2 runs of a are trainings" in n and "--seed-is training" in n for n in notes)
    pooled, _ = bring(files, seed_is="decoding")
    assert [run["evaluation"]["samples"] for run in runs(pooled)] == [[2, 2]]
    assert [run["evaluation"]["correct"] for run in runs(pooled)] == [[1, 1]]


# ---- names of models


def inspect_log(model: str, **more: Any) -> dict[str, Any]:
    samples = [
        {"id": n, "epoch": 1, "scores": {"match": {"value": "CI"[n]}}, "target": model}
        for n in (0, 1)
    ]
    spec = {"task": "sums", "model": model, "config": {"epochs": 1}, **more}
    return {"version": 2, "status": "success", "eval": spec, "samples": samples}


def harness(loader: str, arguments: str, score: float = 0.5) -> dict[str, Any]:
    return {
        "results": {"sums": {"acc,none": score}},
        "versions": {"sums": 1},
        "n-samples": {"sums": {"effective": 4}},
        "config": {"model": loader, "model_args": arguments},
    }


NAMED: list[tuple[str, Any]] = [
    ("shard", {"config_name": "c", "seed": 1, "per_task_accuracy": [0.5, 1.0]}),
    ("inspect", inspect_log("openai-api/served")),
    ("inspect", inspect_log("hf/local", model_args={"model_path": "out/x"})),
    ("lm-eval", harness("local-completions", "model=served")),
    ("lm-eval", harness("hf", "pretrained=out/x")),
]


@pytest.mark.parametrize(("what", "content"), NAMED)
def test_the_name_of_a_model_or_config_is_no_run_id(
    what: str, content: Any, tmp_path: Path
) -> None:
    document, _ = bring([("a", written(tmp_path, "x.json", content))])
    assert "run_id" not in runs(document)[0]


@pytest.mark.parametrize(
    "contents",
    [
        [harness("local-completions", "model=served", n / 4) for n in (1, 2)],
        [inspect_log("openai-api/served", created=n) for n in (1, 2)],
        [harness("hf", f"pretrained=base,peft=out/seed{n}") for n in (1, 2)],
        [inspect_log("hf/local", model_args={"model_path": f"out/seed{n}"}) for n in (1, 2)],
    ],
)
def test_one_name_over_several_weights_is_no_evidence_against_seeds_in_paths(
    contents: list[Any], tmp_path: Path
) -> None:
    files: Files = [
        ("a", written(tmp_path, f"seed{n}.json", content)) for n, content in enumerate(contents, 1)
    ]
    document, _ = bring(files, layout=Layout(seed_from="path"))
    assert [run["seed"] for run in runs(document)] == [1, 2]
    assert evidence(document) == {"user"}


@pytest.mark.parametrize(
    "contents",
    [
        [harness("hf", "pretrained=out/x", n / 4) for n in (1, 2)],
        [inspect_log("hf/org/x", created=n) for n in (1, 2)],
        [harness("hf", f"pretrained=out/x/checkpoint-{n}00") for n in (1, 2)],
    ],
)
def test_one_model_under_two_seeds_is_refused(contents: list[Any], tmp_path: Path) -> None:
    files: Files = [
        ("a", written(tmp_path, f"seed{n}.json", content)) for n, content in enumerate(contents, 1)
    ]
    with pytest.raises(ImportRefused, match=r"are evaluations of one model, .*: no two"):
        bring(files, layout=Layout(seed_from="path"))


def test_one_served_model_without_seeds_is_asked_about(tmp_path: Path) -> None:
    files: Files = [
        ("a", written(tmp_path, f"{n}.json", harness("local-completions", "model=x", n / 4)))
        for n in (1, 2)
    ]
    with pytest.raises(ImportRefused, match=r"same model.*--seed-is training .*--seed-is decoding"):
        bring(files)
    assert len(runs(bring(files, seed_is="training")[0])) == 2
    (run,) = runs(bring(files, seed_is="decoding")[0])
    assert run["method_metrics"] == {"accuracy": 0.375, "examples": 8}


def test_every_eval_ever_names_its_training_seed_or_none(tmp_path: Path) -> None:
    record = {
        "evaluation_id": "e",
        "model_info": {"id": "m", "additional_details": {"training_seed": "7"}},
        "evaluation_results": [
            {
                "evaluation_name": "sums",
                "metric_config": {"metric_id": "accuracy"},
                "score_details": {"score": 0.5},
            }
        ],
    }
    document, _ = bring(written(tmp_path, "r.json", record))
    assert [(run["seed"], run["identified_by"]) for run in runs(document)] == [(7, "user")]
    assert document["method"] == "m"


# ---- steps


def checkpoints(tmp_path: Path, names: dict[str, float]) -> Files:
    return [
        ("a", written(tmp_path, f"{i}/results.json", harness("hf", f"pretrained={name}", score)))
        for i, (name, score) in enumerate(names.items())
    ]


@pytest.mark.parametrize(
    "pattern",
    ["out/x/checkpoint-{}", "out/x/step-{}", "out/x-iter_000{}", "out/x/global_step_{}/actor"],
)
def test_checkpoints_of_one_run_are_one_run(pattern: str, tmp_path: Path) -> None:
    names = {pattern.format(step): step / 400 for step in (100, 200, 300)}
    document, notes = bring(checkpoints(tmp_path, names))
    (run,) = runs(document)
    assert run["method_metrics"] == {"accuracy": 0.75, "examples": 4}
    assert run["evaluation"]["checkpoint_step"] == 300
    assert any("3 records are checkpoints of one run" in note for note in notes)
    assert any("steps 100, 200, 300; step 300 is the last" in note for note in notes)


def test_two_seeds_of_three_checkpoints_are_two_runs(tmp_path: Path) -> None:
    names = {f"out/seed{s}/checkpoint-{n}": 0.5 for s in (1, 2) for n in (100, 200, 300)}
    document, _ = bring(checkpoints(tmp_path, names))
    assert len(runs(document)) == 2


def test_one_step_of_three_runs_is_three_runs(tmp_path: Path) -> None:
    names = {f"out/{s}/checkpoint-300": 0.5 for s in ("first", "second", "third")}
    document, notes = bring(checkpoints(tmp_path, names))
    assert [r["evaluation"]["checkpoint_step"] for r in runs(document)] == [300] * 3
    assert not any("last that" in note for note in notes)


def test_the_step_that_all_runs_share_comes_first_and_all_are_kept(tmp_path: Path) -> None:
    rows = [
        (seed, step, task, int(seed + step > 20))
        for seed, steps in ((1, (10, 20, 30)), (2, (10, 20)))
        for step in steps
        for task in ("x", "y")
    ]
    text = "train_seed,step,task_id,correct\n"
    text += "".join(f"{','.join(map(str, row))}\n" for row in rows)
    document, notes = bring(written(tmp_path, "t.csv", text))
    steps = [
        [block["checkpoint_step"] for block in [run["evaluation"], *run["evaluations"]]]
        for run in runs(document)
    ]
    assert steps == [[20, 30, 10], [20, 10]]
    assert any("step 20 is the last that all runs share; all are kept" in note for note in notes)


def test_a_log_by_step_is_one_run_and_its_step_0_the_untrained_model(tmp_path: Path) -> None:
    def log(score: float, last: int) -> str:
        figures = [
            {"val-core/sums/acc/mean@4": score * step, "loss": 1.0} for step in (0, 50, last)
        ]
        steps = zip((0, 50, last), figures, strict=True)
        return "".join(json.dumps({"step": s, "data": data}) + "\n" for s, data in steps)

    files: Files = [
        ("a", written(tmp_path, "a/seed1.jsonl", log(0.004, 100))),
        ("a", written(tmp_path, "a/seed2.jsonl", log(0.006, 120))),
        ("b", written(tmp_path, "b/seed1.jsonl", log(0.002, 100))),
    ]
    document, _ = bring(files, layout=Layout(seed_from="path", method="a"))
    found = [(r["seed"], r["method_metrics"]["accuracy"]) for r in runs(document)]
    assert found == [(1, pytest.approx(0.2)), (2, pytest.approx(0.3))], "step 50 is the last shared"
    assert [entry["accuracy"] for entry in document["base_evaluations"]] == [0.0, 0.0, 0.0]
    assert [step["step"] for step in runs(document)[0]["training"]] == [50, 100]


def test_of_several_states_of_one_training_log_the_longest_is_read(tmp_path: Path) -> None:
    history = [{"step": n, "loss": 1 / n} for n in (1, 2, 3, 4)]

    def state(steps: int) -> dict[str, Any]:
        return {"global_step": steps, "log_history": history[:steps]}

    files: Files = [
        ("a", written(tmp_path, f"checkpoint-{n}/trainer_state.json", state(n))) for n in (2, 4)
    ]
    files.append(("a", written(tmp_path, "e.json", {"benchmark": "b", "items": [
        {"id": 1, "correct": 1}]})))  # fmt: skip
    document, notes = bring(files)
    assert len(runs(document)[0]["training"]) == 4
    assert any("several states of one training log" in note for note in notes)


@pytest.mark.parametrize(
    ("path", "pattern"),
    [
        ("x/step100/r.json", "step{seed}"),
        ("x/checkpoint-100/r.json", r"checkpoint-(\d+)"),
        ("x/checkpoints/100/r.json", "checkpoints/{seed}"),
        ("x/global_step_50/r.json", "global_step_{seed}/"),
    ],
)
def test_the_step_of_a_checkpoint_is_no_seed(path: str, pattern: str) -> None:
    with pytest.raises(ImportRefused, match="is the step of a checkpoint"):
        seed_of(path, pattern)


@pytest.mark.parametrize(
    ("path", "seed"),
    [
        ("out/grpo-seed7/r.json", 7),
        ("out/grpo_s3/step50/r.json", 3),
        ("out/seed=12/r.json", 12),
        ("out/seeds/4/r.json", 4),
        ("out/exp__5__1700000000/r.json", 5),
        ("out/x.train_seed_9.json", 9),
    ],
)
def test_the_usual_ways_to_write_a_seed_in_a_path_are_known(path: str, seed: int) -> None:
    assert seed_of(path, "path") == seed


@pytest.mark.parametrize("path", ["out/7b/r.json", "out/rs3/r.json", "out/1/r.json", "v2/lr1.json"])
def test_other_numbers_in_a_path_are_no_seeds(path: str) -> None:
    with pytest.raises(UsageError, match="finds nothing"):
        seed_of(path, "path")


# ---- samples of other tools


def test_recipes_and_marl_eval_say_what_their_seeds_are(tmp_path: Path) -> None:
    assert evidence(bring(SAMPLES / "marl_eval/two_algorithms.json")[0]) == {"none"}
    final = {"absolute_metrics": {"return": [1.0]}}
    named = {"env": {"task": {"algo": {"seed_1": final, "seed_2": final}}}}
    document, _ = bring(written(tmp_path, "m.json", named))
    assert [(r["seed"], r["identified_by"]) for r in runs(document)] == [(1, "user"), (2, "user")]
    for path in sorted((SAMPLES / "whileai").glob("*seed*.json")):
        if path.name != "one_seed.json":
            assert evidence(bring(path)[0]) == {"user"}, path.name
