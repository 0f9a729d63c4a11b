"""Folders of runs in every layout come in with their arms, seeds and counts, and nothing else."""

from __future__ import annotations

import json
import os
import pickle
import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import run_folders as made

from audit.cli.main import main
from audit.errors import AuditError, ImportRefused, InputError
from audit.importers.folder.bringing_in import Brought, bring_in
from audit.importers.folder.claiming_files import claim
from audit.importers.folder.said import Said
from audit.importers.folder.walking import walk
from audit.importers.readers.found import Found


def brought(root: Path, **said: Any) -> Brought:
    paths = said.pop("paths", [str(root)])
    return bring_in(paths, Said(**{"control": (said.pop("first", "plain"),), **said}))


def document_of(root: Path, **said: Any) -> dict[str, Any]:
    found = brought(root, **said)
    assert found.questions == []
    assert found.document is not None
    return found.document


def runs_of(document: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for run in document["seed_results"]:
        yield document["method"], run
    for arm, control in document.get("controls", {}).items():
        for run in control["seed_results"]:
            yield arm, run


def right_of(document: dict[str, Any]) -> made.Right:
    found: made.Right = {}
    for arm, run in runs_of(document):
        found.setdefault(arm, {})[run["seed"]] = sum(run["evaluation"]["correct"])
    return found


@pytest.mark.parametrize("name", made.PER_TASK)
def test_a_layout_comes_in_with_its_arms_seeds_and_right_answers(name: str, tmp_path: Path) -> None:
    make, answers = made.PER_TASK[name]
    right = make(tmp_path)
    document = document_of(tmp_path)
    assert right_of(document) == right
    for _, run in runs_of(document):
        assert run["evaluation"]["samples"] == [answers] * made.TASKS
        assert run.get("status", "finished") == "finished"


@pytest.mark.parametrize("name", made.SCORES)
def test_a_layout_without_outcomes_by_task_comes_in_as_scores(name: str, tmp_path: Path) -> None:
    right = made.SCORES[name](tmp_path)
    first = next(iter(right))
    found: dict[str, dict[int, float]] = {}
    for arm, run in runs_of(document_of(tmp_path, first=first)):
        figures = run["method_metrics"]
        found.setdefault(arm, {})[run["seed"]] = figures.get("accuracy", figures.get("reward"))
    total = made.TASKS * (1 if name == "ms_swift" else 4)
    assert found == {
        arm: {seed: pytest.approx(count / total) for seed, count in seeds.items()}
        for arm, seeds in right.items()
    }


@pytest.mark.parametrize("name", ["verl", "verifiers", "skyrl", "evalscope", "home_made"])
def test_the_order_of_rows_changes_no_byte_but_their_hash(name: str, tmp_path: Path) -> None:
    made.PER_TASK[name][0](tmp_path / "a")
    made.PER_TASK[name][0](tmp_path / "b")
    for path in sorted((tmp_path / "b").rglob("*.jsonl")):
        lines = path.read_text().splitlines(keepends=True)
        first = lines[:1] if "summary" in lines[0] or '"data"' in lines[0] else []
        rest = lines[len(first) :]
        if '"data"' not in lines[0]:
            random.Random(7).shuffle(rest)
        path.write_text("".join(first + rest))
    one, other = (document_of(tmp_path / folder) for folder in "ab")
    for document in (one, other):
        document["provenance"]["imported"].pop("files")
    assert one == other


@pytest.mark.parametrize("name", ["verl", "prime_rl", "skyrl", "verl_agent_loop", "home_made"])
def test_one_run_copied_to_another_seed_is_refused(name: str, tmp_path: Path) -> None:
    made.PER_TASK[name][0](tmp_path)
    source = next(p for p in sorted(tmp_path.rglob("*")) if p.is_dir() and p.name.endswith("4"))
    target = source.with_name(source.name[:-1] + "5")
    shutil.rmtree(target)
    shutil.copytree(source, target)
    with pytest.raises(ImportRefused, match="the same bytes as"):
        brought(tmp_path)


def test_folders_without_a_seed_have_null_seeds_that_nobody_made_up(tmp_path: Path) -> None:
    made.evalplus(tmp_path)
    for number, path in enumerate(sorted(tmp_path.glob("*/seed*"))):
        path.rename(path.with_name("abcdef"[number]))
    (question,) = brought(tmp_path).questions
    assert "no training seed" in question
    seeds = {run["seed"] for _, run in runs_of(document_of(tmp_path, arm_from="{arm}/*"))}
    assert seeds == {None}


def test_folders_of_digits_alone_are_offered_as_seeds_and_not_taken(tmp_path: Path) -> None:
    made.evalplus(tmp_path)
    for path in sorted(tmp_path.glob("*/seed*")):
        path.rename(path.with_name(path.name.removeprefix("seed")))
    (question,) = brought(tmp_path).questions
    assert question.endswith("--seed-from '*/{seed}' if they say it")
    document = document_of(tmp_path, seed_from="*/{seed}")
    assert {run["seed"] for _, run in runs_of(document)} == set(made.SEEDS)
    assert {run["identified_by"] for _, run in runs_of(document)} == {"user"}


@pytest.mark.parametrize("name", ["verl", "prime_rl", "skyrl"])
def test_the_folder_of_one_run_is_one_run(name: str, tmp_path: Path) -> None:
    made.PER_TASK[name][0](tmp_path)
    folder = next(p for p in sorted(tmp_path.rglob("*")) if p.is_dir() and p.name.endswith("4"))
    found = bring_in([str(folder)], Said())
    assert found.document is not None
    assert len(list(runs_of(found.document))) == 1


def test_what_was_not_chosen_by_its_score_is_said_to_be_selected_on_nothing(tmp_path: Path) -> None:
    made.verl(tmp_path)
    chosen = {run["evaluation"]["selected_on"] for _, run in runs_of(document_of(tmp_path))}
    assert chosen == {"none"}


def test_the_word_training_identifies_runs_that_names_alone_tell_apart(tmp_path: Path) -> None:
    made.tau2(tmp_path)
    document = document_of(tmp_path, seed_is="training")
    assert {run["identified_by"] for _, run in runs_of(document)} == {"user"}
    assert document["runs_are"] == {"curr": "trainings", "plain": "trainings"}


def test_swapped_arms_swap_their_answers(tmp_path: Path) -> None:
    right = made.verl_agent_loop(tmp_path)
    for seed in made.SEEDS:
        plain, curr = tmp_path / f"plain-seed{seed}", tmp_path / f"curr-seed{seed}"
        plain.rename(tmp_path / "x")
        curr.rename(plain)
        (tmp_path / "x").rename(curr)
    found = right_of(document_of(tmp_path))
    assert found == {"plain": right["curr"], "curr": right["plain"]}


def test_a_run_without_its_evaluation_stays_as_failed(tmp_path: Path) -> None:
    made.verl(tmp_path)
    (tmp_path / "curr/seed5/val/60.jsonl").unlink()
    log = tmp_path / "curr/seed5/sums/seed5.jsonl"
    log.write_text("\n".join(log.read_text().splitlines()[:2]) + "\n")
    statuses = {
        (arm, run["seed"]): run.get("status", "finished")
        for arm, run in runs_of(document_of(tmp_path))
    }
    assert statuses.pop(("curr", 5)) == "failed"
    assert set(statuses.values()) == {"finished"}


def test_a_torn_last_line_is_said(tmp_path: Path) -> None:
    made.verl_agent_loop(tmp_path)
    path = tmp_path / "curr-seed5/validation/60.jsonl"
    path.write_bytes(path.read_bytes()[:-20])
    assert any("cut off" in note for note in brought(tmp_path).notes)


class _Acts:
    """Writes a file when it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Any, ...]:
        return (Path.touch, (self.mark,))


def test_files_that_hold_no_whole_answer_are_named_with_what_is_wrong(tmp_path: Path) -> None:
    for arm in ("plain", "new"):
        folder = tmp_path / arm / "seed1"
        folder.mkdir(parents=True)
        (folder / "answers.jsonl").write_text(
            '{"id": 1, "correct": true}\n{"id": 2, "corr', "utf-8"
        )
    told = r"new/seed1/answers\.jsonl: its last line is cut off and is dropped; .*plain/seed1"
    with pytest.raises(InputError, match=told):
        brought(tmp_path)


def test_a_pickle_under_a_text_file_s_name_is_refused_unopened(tmp_path: Path) -> None:
    made.verl_agent_loop(tmp_path / "runs")
    mark = tmp_path / "ran"
    path = tmp_path / "runs/curr-seed5/validation/60.jsonl"
    path.write_bytes(pickle.dumps(_Acts(mark)))
    with pytest.raises(ImportRefused, match="a pickle"):
        brought(tmp_path / "runs")
    assert not mark.exists()


def test_pickled_samples_alone_are_refused_by_name(tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    for step in range(2):
        path = tmp_path / f"runs/a-seed1/rollout_eval_{step}.pt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(pickle.dumps(_Acts(mark)))
    with pytest.raises(ImportRefused, match=r"rollout_eval_1\.pt.*a pickle"):
        brought(tmp_path / "runs")
    assert not mark.exists()


def test_a_pointer_is_no_evaluation_even_with_a_printed_average_beside_it(tmp_path: Path) -> None:
    made.verifiers(tmp_path)
    path = next(tmp_path.rglob("results.jsonl"))
    path.write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n")
    with pytest.raises(InputError, match="Git LFS pointer"):
        brought(tmp_path)


def test_a_decoding_seed_in_the_rows_changes_nothing(tmp_path: Path) -> None:
    right = made.home_made(tmp_path)
    for path in tmp_path.rglob("preds.jsonl"):
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        made.put_lines(path, [{**row, "seed": 7, "trial": i} for i, row in enumerate(rows)])
    assert right_of(document_of(tmp_path)) == right


def test_the_arms_runs_alone_are_judged_and_step_0_is_the_untrained_model(tmp_path: Path) -> None:
    made.verl(tmp_path)
    document = document_of(tmp_path)
    base = sum(map(sum, made.draws("base", 0, 4)))
    assert [sum(b["evaluation"]["correct"]) for b in document["base_evaluations"]] == [base] * 6
    assert {run["evaluation"]["checkpoint_step"] for _, run in runs_of(document)} == {60}


def test_the_benchmark_s_name_comes_from_the_log_beside_the_dumps(tmp_path: Path) -> None:
    made.verl(tmp_path)
    blocks = [run["evaluation"] for _, run in runs_of(document_of(tmp_path))]
    assert {block["benchmark"] for block in blocks} == {"made/sums"}
    assert {block["split"] for block in blocks} == {"validation"}
    assert {block["condition"]["temperature"] for block in blocks} == {0.6}


def test_unparsed_answers_are_counted(tmp_path: Path) -> None:
    made.verl(tmp_path)
    for arm, run in runs_of(document_of(tmp_path)):
        drawn = made.draws(arm, run["seed"], 4)
        assert sum(run["evaluation"]["unparsed"]) == sum(
            made.is_unparsed(task, draw, value)
            for task, values in enumerate(drawn)
            for draw, value in enumerate(values)
        )


def test_failed_episodes_are_errors_and_stay_in_the_denominator(tmp_path: Path) -> None:
    made.prime_rl(tmp_path)
    for _, run in runs_of(document_of(tmp_path)):
        assert sum(run["evaluation"]["errored"]) == 1
        assert sum(run["evaluation"]["truncated"]) == 3
        assert sum(run["evaluation"]["samples"]) == 3 * made.TASKS


def test_simulations_that_the_infrastructure_broke_are_errors(tmp_path: Path) -> None:
    made.tau2(tmp_path)
    for _, run in runs_of(document_of(tmp_path)):
        assert sum(run["evaluation"]["errored"]) == 1


def test_metadata_written_before_the_end_is_contradicted_aloud(tmp_path: Path) -> None:
    made.verifiers(tmp_path)
    notes = brought(tmp_path).notes
    assert sum("avg_reward 0," in note for note in notes) == 1


def test_plus_tests_count_only_where_the_base_tests_pass(tmp_path: Path) -> None:
    right = made.evalplus(tmp_path)
    for arm, run in runs_of(document_of(tmp_path)):
        plus = next(b for b in run["evaluations"] if b["benchmark"] == "humaneval+")
        assert sum(plus["correct"]) == right[arm][run["seed"]]


def test_the_tasks_of_a_swe_bench_report_are_those_submitted(tmp_path: Path) -> None:
    made.swebench(tmp_path)
    found = brought(tmp_path)
    assert any("of 500 are no tasks here" in note for note in found.notes)
    assert found.document is not None
    for _, run in runs_of(found.document):
        assert len(run["evaluation"]["task_ids"]) == made.TASKS


def test_a_count_that_does_not_fit_the_header_is_refused(tmp_path: Path) -> None:
    made.bfcl(tmp_path)
    path = next(tmp_path.rglob("*_score.json"))
    header, *rest = path.read_text().splitlines()
    changed = json.loads(header) | {"correct_count": json.loads(header)["correct_count"] + 1}
    path.write_text("\n".join([json.dumps(changed), *rest]) + "\n")
    with pytest.raises(ImportRefused, match="header counts"):
        brought(tmp_path)


def test_an_evaluation_that_ended_in_an_error_is_a_failed_run_and_no_zero(tmp_path: Path) -> None:
    made.opencompass(tmp_path)
    made.put_json(tmp_path / "20260502_080000/results/curr_s6/sums.json", {"error": "no judge"})
    failed = {(a, r["seed"]): r for a, r in runs_of(document_of(tmp_path)) if "status" in r}
    assert list(failed) == [("curr", 6)]
    assert failed["curr", 6]["failure"] == "no evaluation: no judge"
    assert "method_metrics" not in failed["curr", 6]


def test_greedy_answers_beside_drawn_ones_are_refused(tmp_path: Path) -> None:
    made.nemo_skills(tmp_path)
    drawn = next(tmp_path.rglob("output-rs0.jsonl"))
    shutil.copy(drawn, drawn.with_name("output.jsonl"))
    with pytest.raises(ImportRefused, match="greedy"):
        brought(tmp_path)


def test_empty_completions_are_no_evaluation(tmp_path: Path) -> None:
    made.verifiers(tmp_path)
    for path in tmp_path.rglob("results.jsonl"):
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        made.put_lines(path, [{**row, "completion": [], "reward": 0.0} for row in rows])
    first = next(tmp_path.rglob("results.jsonl")).parent
    with pytest.raises(ImportRefused, match="nothing was drawn"):
        brought(first)


def test_two_evaluations_of_one_model_are_no_two_runs(tmp_path: Path) -> None:
    made.verifiers(tmp_path)
    folder = next(tmp_path.rglob("results.jsonl")).parent
    shutil.copytree(folder, folder.with_name("ffffffff"))
    rows = (folder / "results.jsonl").read_text().splitlines()
    (folder / "results.jsonl").write_text("\n".join(reversed(rows)) + "\n")
    with pytest.raises(ImportRefused, match="two evaluations of one model"):
        brought(tmp_path)


def test_a_trained_arm_called_base_is_not_the_untrained_model(tmp_path: Path) -> None:
    made.nemo_rl(tmp_path)
    for kind in ("logs", "results"):
        for path in sorted((tmp_path / kind).glob("plain_*")):
            path.rename(path.with_name(path.name.replace("plain", "base")))
    for path in tmp_path.rglob("config.yaml"):
        path.write_text(path.read_text().replace("plain_", "base_"))
    document = document_of(tmp_path, first="base")
    assert set(document["controls"]) == {"base_trained"}
    assert len(document["controls"]["base_trained"]["seed_results"]) == 3


def test_an_answer_that_is_right_was_parsed_and_the_contradiction_is_said(tmp_path: Path) -> None:
    made.home_made(tmp_path)
    found = brought(tmp_path)
    assert any("right and unparsed at once: right is kept" in note for note in found.notes)
    assert found.document is not None
    for _, run in runs_of(found.document):
        block = run["evaluation"]
        for right, unparsed, drawn in zip(
            block["correct"], block["unparsed"], block["samples"], strict=True
        ):
            assert right + unparsed <= drawn


def test_letters_are_grades_only_in_a_column_of_grades(tmp_path: Path) -> None:
    made.home_letters(tmp_path)
    for _, run in runs_of(document_of(tmp_path)):
        assert sum(run["evaluation"]["samples"]) == made.TASKS
    path = tmp_path / "grades.csv"
    path.write_text(path.read_text().replace(",grade", ",choice"))
    with pytest.raises(ImportRefused, match="no column is the outcome"):
        brought(tmp_path)


def test_an_outcome_written_in_words_is_asked_with_its_candidates(tmp_path: Path) -> None:
    made.home_made(tmp_path)
    for path in tmp_path.rglob("preds.jsonl"):
        path.write_text(
            path.read_text()
            .replace('"correct": true', '"correct": "True"')
            .replace('"correct": false', '"correct": "False"')
        )
    with pytest.raises(ImportRefused, match=r"correct \(text: False, True\).*--map right="):
        brought(tmp_path)
    right = made.right_of(1)
    assert right_of(document_of(tmp_path, roles={"right": "/correct"})) == right


def test_records_under_a_key_come_in_by_their_named_roles(tmp_path: Path) -> None:
    records = [
        {"cfg": {"recipe": arm, "rng": seed}, "res": {"acc": share, "n": 40}}
        for arm, seed, share in (
            ("old", 3, "50.0%"),
            ("old", 5, "72.5%"),
            ("new", 3, "70.0%"),
            ("new", 5, "NaN"),
        )
    ]
    made.put_json(tmp_path / "report.json", {"meta": {"seed": 0}, "all": {"runs": records}})
    roles = {"records": "/all/runs", "arm": "/cfg/recipe", "seed": "/cfg/rng", "value": "/res/acc"}
    with pytest.raises(ImportRefused, match=r"/all/runs \(4 records\)"):
        brought(tmp_path, first="old")
    document = document_of(tmp_path, first="old", roles=roles)
    scores = {
        (arm, run["seed"]): run.get("method_metrics", run.get("status"))
        for arm, run in runs_of(document)
    }
    assert scores == {
        ("old", 3): {"accuracy": 0.5, "examples": 40},
        ("old", 5): {"accuracy": 0.725, "examples": 40},
        ("new", 3): {"accuracy": 0.7, "examples": 40},
        ("new", 5): "failed",
    }


def test_training_rollouts_alone_are_no_result(tmp_path: Path) -> None:
    row = {"step": 1, "prompt_idx": 0, "reward": 10.0, "advantage": 1.0}
    made.put_lines(tmp_path / "grpo__3__1777600001_rollouts_000000.jsonl", [row])
    with pytest.raises(ImportRefused, match=r"training log.*seed 3"):
        brought(tmp_path)


def test_the_same_seed_in_every_config_is_asked_where_the_folders_say_others(
    tmp_path: Path,
) -> None:
    made.nemo_rl(tmp_path)
    for path in tmp_path.rglob("config.yaml"):
        path.write_text(
            "\n".join(
                "  seed: 42" if line.startswith("  seed:") else line
                for line in path.read_text().splitlines()
            )
        )
    found = brought(tmp_path)
    assert found.document is None
    assert any("--seed-from path" in question for question in found.questions)
    again = document_of(tmp_path, seed_from="path")
    assert {run["seed"] for _, run in runs_of(again)} == set(made.SEEDS)
    assert {run["identified_by"] for _, run in runs_of(again)} == {"user"}


def test_a_seed_is_worth_what_names_it(tmp_path: Path) -> None:
    worth = {}
    for name, maker in (("verl", made.verl), ("skyrl", made.skyrl), ("tau2", made.tau2)):
        maker(tmp_path / name)
        document = document_of(tmp_path / name)
        worth[name] = {run["identified_by"] for _, run in runs_of(document)}
    assert worth == {"verl": {"trainer-config"}, "skyrl": {"user"}, "tau2": {"none"}}


def test_without_a_control_the_arms_are_asked(tmp_path: Path) -> None:
    made.tau2(tmp_path)
    found = bring_in([str(tmp_path)], Said())
    assert found.questions == ["which arm is the control? --control plain|curr"] or (
        found.questions == ["which arm is the control? --control curr|plain"]
    )


def test_the_command_prints_the_table_first_and_writes_nothing_while_it_asks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made.tau2(tmp_path / "runs")
    out = tmp_path / "results.json"
    assert main(["import", str(tmp_path / "runs"), "-o", str(out)]) == 1
    printed = capsys.readouterr().err
    assert "asked: which arm is the control?" in printed
    assert "airline accuracy" in printed
    assert not out.exists()
    answers = tmp_path / "answers.toml"
    answers.write_text('control = "plain"\n')
    command = ["import", str(tmp_path / "runs"), "--answers", str(answers), "-o", str(out)]
    assert main(command) == 0
    document = json.loads(out.read_text())
    assert document["provenance"]["imported"]["options"] == {"--control": ["plain"]}


def test_a_dry_run_shows_the_same_as_data_and_exits_0(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made.tau2(tmp_path)
    assert main(["import", "study", str(tmp_path), "--dry-run", "--format", "json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert {row["seed"] for row in data["runs"]} == set(made.SEEDS)
    assert data["questions"]


def test_an_excluded_run_is_named_in_the_file(tmp_path: Path) -> None:
    made.verl(tmp_path)
    document = document_of(tmp_path, exclude=("curr/seed5",))
    assert {run["seed"] for arm, run in runs_of(document) if arm == "curr"} == {4, 6}
    assert any("curr/seed5" in path for path in document["provenance"]["imported"]["excluded"])


def test_links_out_of_the_folder_are_not_followed(tmp_path: Path) -> None:
    made.tau2(tmp_path / "runs")
    made.tau2(tmp_path / "elsewhere")
    (tmp_path / "runs/more").symlink_to(tmp_path / "elsewhere")
    assert len(list(runs_of(document_of(tmp_path / "runs")))) == 6


@pytest.mark.parametrize("name", made.PER_TASK)
def test_no_path_above_the_given_folder_is_carried_over(name: str, tmp_path: Path) -> None:
    made.PER_TASK[name][0](tmp_path / "runs")
    assert str(tmp_path) not in json.dumps(document_of(tmp_path / "runs"))


def test_a_harness_s_outputs_in_folders_are_runs_without_evidence() -> None:
    root = Path(__file__).parent.parent / "data/foreign/lm_eval"
    found = bring_in([str(root)], Said(control=("control",), exclude=("both",)))
    assert found.document is not None
    shares = {
        (arm, run["seed"]): sum(run["evaluation"]["correct"]) / 8
        for arm, run in runs_of(found.document)
    }
    assert shares["tuned", 3] == 0.625
    assert len(shares) == 6
    assert {run["identified_by"] for _, run in runs_of(found.document)} == {"none"}


def test_one_task_s_name_for_two_questions_is_refused(tmp_path: Path) -> None:
    made.nemo_skills(tmp_path)
    for path in (tmp_path / "curr/seed_5").rglob("output-rs*.jsonl"):
        path.write_text(path.read_text().replace("How much is 2", "How much is 9"))
    with pytest.raises(ImportRefused, match="another question"):
        brought(tmp_path)


def test_an_attempt_that_failed_stands_with_the_run_that_followed_it(tmp_path: Path) -> None:
    made.nemo_rl(tmp_path)
    again = tmp_path / "logs/curr_s5/exp_002"
    shutil.copytree(tmp_path / "logs/curr_s5/exp_001", again)
    (tmp_path / "logs/curr_s5/exp_001/val_data_step60.jsonl").unlink()
    for path in tmp_path.rglob("config.yaml"):
        if "curr_s5" in str(path):
            path.write_text(path.read_text().replace("exp_001", "exp_002"))
    document = document_of(tmp_path)
    run = next(r for a, r in runs_of(document) if (a, r["seed"]) == ("curr", 5))
    assert run["earlier_failures"] == ["no evaluation"]
    assert len(list(runs_of(document))) == 6


def test_two_finished_runs_of_one_seed_are_asked_by_name(tmp_path: Path) -> None:
    made.verl_agent_loop(tmp_path)
    shutil.copytree(tmp_path / "curr-seed5", tmp_path / "curr-seed05")
    path = tmp_path / "curr-seed05/validation/60.jsonl"
    path.write_text("".join(reversed(path.read_text().splitlines(keepends=True))))
    found = brought(tmp_path)
    assert any("curr-seed05 and curr-seed5" in q or "curr-seed5 and" in q for q in found.questions)


def test_more_answers_than_were_asked_for_are_two_evaluations(tmp_path: Path) -> None:
    made.verifiers(tmp_path)
    path = next(tmp_path.rglob("results.jsonl"))
    path.write_text(path.read_text() + path.read_text().splitlines(keepends=True)[0])
    with pytest.raises(ImportRefused, match="4 answers per task where the settings say 3"):
        brought(tmp_path)


def test_answers_that_the_settings_ask_for_and_that_are_absent_are_errored(tmp_path: Path) -> None:
    made.verifiers(tmp_path)
    path = next(tmp_path.rglob("results.jsonl"))
    path.write_text("".join(path.read_text().splitlines(keepends=True)[1:]))
    document = document_of(tmp_path)
    assert {sum(run["evaluation"]["samples"]) for _, run in runs_of(document)} == {3 * made.TASKS}
    assert sum(sum(run["evaluation"]["errored"]) for _, run in runs_of(document)) == 1


def test_answers_nobody_asked_for_are_missed_only_where_the_user_says_so(tmp_path: Path) -> None:
    made.evalplus(tmp_path)
    path = next(tmp_path.rglob("*.eval_results.json"))
    document = json.loads(path.read_text())
    document["eval"]["HumanEval/0"].pop()
    path.write_text(json.dumps(document))
    answers = [
        sorted(sum(run["evaluation"]["samples"]) for _, run in runs_of(found))
        for found in (document_of(tmp_path), document_of(tmp_path, missing="wrong"))
    ]
    whole = 2 * made.TASKS
    assert answers == [[whole - 1, *[whole] * 5], [whole] * 6]


def test_an_example_drawn_again_after_an_error_has_its_error_replaced(tmp_path: Path) -> None:
    right = made.tinker(tmp_path)
    path = next(tmp_path.rglob("trajectories.jsonl"))
    lines = path.read_text().splitlines(keepends=True)
    failed = json.loads(lines[0]) | {"error": "timeout (300s)", "reward": 0.0, "metrics": {}}
    path.write_text("".join([json.dumps(failed) + "\n", *lines]))
    assert right_of(document_of(tmp_path)) == right


def test_two_outcomes_that_disagree_are_asked(tmp_path: Path) -> None:
    made.home_made(tmp_path)
    for path in tmp_path.rglob("preds.jsonl"):
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        made.put_lines(path, [{**row, "passed": task == 0} for task, row in enumerate(rows)])
    with pytest.raises(ImportRefused, match=r"correct and passed are both outcomes and disagree"):
        brought(tmp_path)


def test_records_without_a_telling_task_are_asked(tmp_path: Path) -> None:
    for seed in (1, 2):
        rows = [{"task": "default", "correct": bool(n % seed), "n_try": n} for n in range(6)]
        made.put_lines(tmp_path / f"a/seed{seed}/preds.jsonl", rows)
    with pytest.raises(ImportRefused, match=r"no column tells tasks apart.*--map task="):
        brought(tmp_path, first="a")


def test_a_rollout_dump_alone_is_no_evaluation(tmp_path: Path) -> None:
    for step in (1, 2):
        rows = [
            row | {"input": f"{row['input']} {step}"}
            for row in made._verl_rows(made.draws("a", step, 2), step)
        ]
        made.put_lines(tmp_path / f"a-seed1/{step}.jsonl", rows)
    with pytest.raises(ImportRefused, match="no result"):
        brought(tmp_path)


def test_a_seed_pattern_that_takes_the_checkpoint_s_step_is_refused(tmp_path: Path) -> None:
    for step in (10, 20):
        rows = [{"id": n, "correct": bool(n % 2)} for n in range(4)]
        made.put_lines(
            tmp_path / f"a/checkpoint-{step}/preds.jsonl", [*rows, {"id": step, "correct": True}]
        )
    with pytest.raises(ImportRefused, match="the step of a checkpoint"):
        brought(tmp_path, first="a", seed_from="checkpoint-{seed}")


def test_equal_outcomes_of_counts_alone_are_no_copy(tmp_path: Path) -> None:
    made.counts(tmp_path)
    files = sorted(tmp_path.rglob("eval.json"))
    files[1].write_bytes(files[0].read_bytes())
    assert len(list(runs_of(document_of(tmp_path, first="rho0.70")))) == 6


def test_what_is_not_read_is_named(tmp_path: Path) -> None:
    made.verl(tmp_path)
    made.put(tmp_path / "notes.txt", "nothing\n")
    made.put(tmp_path / "plain/seed4/actor/model.safetensors", "weights")
    (line,) = [text for text in brought(tmp_path).lines if text.startswith("not read")]
    assert "notes.txt" in line
    assert "1 files of weights" in line


def test_nothing_readable_exits_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made.put(tmp_path / "notes.md", "nothing\n")
    assert main(["import", "study", str(tmp_path)]) == 2
    assert "no importer reads any file" in capsys.readouterr().err


def test_a_file_of_one_format_needs_no_word_before_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made.put(tmp_path / "s.csv", "arm,train_seed,accuracy\na,1,0.5\na,2,0.25\n")
    assert main(["import", str(tmp_path / "s.csv"), "-q"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [run["seed"] for run in document["seed_results"]] == [1, 2]


def test_a_folder_that_is_not_there_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["import", "no/such/folder"]) == 2
    assert "no/such/folder: no such file or folder" in capsys.readouterr().err


def test_all_formats_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["import", "--formats"])
    assert stopped.value.code == 0
    printed = capsys.readouterr().out
    assert "lm-eval" in printed
    assert "verl-dumps" in printed


def _trained(folder: Path, seed: int) -> None:
    share = len(str(folder)) * seed
    log = [{"step": step, "loss": share / step} for step in (20, 40, 60)]
    state = {"log_history": log, "global_step": 60, "max_steps": 60}
    made.put_json(folder / "checkpoint-60/trainer_state.json", state)


def test_logs_and_predictions_that_share_a_folder_are_runs_by_their_names(tmp_path: Path) -> None:
    made.verl_console(tmp_path / "made")
    for path in (tmp_path / "made").rglob("train.log"):
        made.put(tmp_path / f"logs/{path.parent.name}.log", path.read_text())
    seeds = {(arm, run["seed"]) for arm, run in runs_of(document_of(tmp_path / "logs"))}
    assert seeds == {(arm, seed) for arm in made.ARMS for seed in made.SEEDS}


def test_evaluations_that_lie_apart_join_the_trainings_of_their_names(tmp_path: Path) -> None:
    right = made.right_of(1)
    for arm, seed, drawn in made.runs(1):
        _trained(tmp_path / f"runs/{arm}/seed{seed}", seed)
        rows = [{"id": f"q{task}", "correct": bool(v)} for task, (v,) in enumerate(drawn)]
        made.put_lines(tmp_path / f"evals/{arm}/seed{seed}/preds.jsonl", rows)
    document = document_of(tmp_path)
    assert right_of(document) == right
    assert all(run["training"] for _, run in runs_of(document))


def test_an_evaluation_of_a_checkpoint_is_of_the_run_that_saved_it_at_its_step(
    tmp_path: Path,
) -> None:
    for arm, seed, drawn in made.runs(1):
        name = f"ckpts/{arm}-seed{seed}"
        _trained(tmp_path / name, seed)
        for step, share in ((20, 0.125), (60, sum(v for (v,) in drawn) / made.TASKS)):
            results = {
                "config_general": {"model_name": f"{name}/checkpoint-{step}"},
                "results": {"sums|0": {"extractive_match": share}, "all": {"extractive_match": 0}},
            }
            made.put_json(
                tmp_path / f"evals/results/{name}/checkpoint-{step}/results_2026-05-02.json",
                results,
            )
    right = made.right_of(1)
    for arm, run in runs_of(document_of(tmp_path)):
        assert run["evaluation"]["checkpoint_step"] == 60
        assert run["method_metrics"]["accuracy"] == right[arm][run["seed"]] / made.TASKS


def test_dated_folders_are_told_apart_by_their_settings(tmp_path: Path) -> None:
    for number, (arm, seed, drawn) in enumerate(made.runs(4)):
        run = tmp_path / f"outputs/2026-05-0{number + 1}/08-00-00"
        made.put(
            run / ".hydra/config.yaml",
            f"data:\n  seed: {seed}\nalgorithm:\n  adv_estimator: {arm}\n",
        )
        made.put(run / ".hydra/overrides.yaml", f"- data.seed={seed}\n")
        made.put_lines(run / "val/60.jsonl", made._verl_rows(drawn, 60))
    assert right_of(document_of(tmp_path)) == made.right_of(4)


def test_a_results_file_among_the_inputs_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    made.put_json(path, {"schema_version": 2, "method": "a", "seed_results": []})
    with pytest.raises(ImportRefused, match="a results file already"):
        brought(tmp_path, paths=[str(path)])


_OTHER: tuple[Any, ...] = (
    None,
    True,
    -1,
    1.5,
    "",
    "x",
    [],
    {},
    [1],
    ["a"],
    {"a": 1},
    [[]],
    [None],
    [{}],
    2**60,
)


def _damaged(document: Any, state: random.Random) -> None:
    """Put another value, or none, at a place of a parsed document."""
    node, place = document, None
    while isinstance(node, dict | list) and node and (place is None or state.random() < 0.75):
        key = state.choice(list(node)) if isinstance(node, dict) else state.randrange(len(node))
        place = (node, key)
        node = node[key]
    if place is not None:
        place[0][place[1]] = state.choice(_OTHER)


@pytest.mark.parametrize("name", [*made.PER_TASK, *made.SCORES])
def test_a_file_with_a_value_of_another_kind_is_read_or_refused_in_one_line(
    name: str, tmp_path: Path
) -> None:
    make = made.PER_TASK[name][0] if name in made.PER_TASK else made.SCORES[name]
    make(tmp_path)
    files = sorted(path for path in tmp_path.rglob("*.json*"))
    state = random.Random(name)
    for _ in range(12 if files else 0):
        path = state.choice(files)
        text = path.read_text()
        lines = text.splitlines()
        line = state.randrange(len(lines))
        document = json.loads(lines[line])
        _damaged(document, state)
        path.write_text("\n".join([*lines[:line], json.dumps(document), *lines[line + 1 :]]) + "\n")
        said = _said_of(tmp_path)
        assert said is None or "\n" not in said
        path.write_text(text)


def _said_of(folder: Path) -> str | None:
    """Return the line that a folder is refused with, None where it is read."""
    try:
        brought(folder)
    except AuditError as error:
        return str(error)
    return None


def test_files_that_no_reader_knows_by_name_are_not_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(50):
        made.put(tmp_path / f"media/{number}.png", "x")
        made.put(tmp_path / f"notes/{number}.txt", "x")
    monkeypatch.setattr(Found, "head", property(lambda found: pytest.fail(found.relative)))
    assert len(claim(walk([str(tmp_path)])).unread) == 100


def test_a_seed_of_an_evaluation_s_settings_or_header_is_no_training_seed(tmp_path: Path) -> None:
    for seed in (1, 2):
        items = [{"id": n, "correct": bool(n % (seed + 1))} for n in range(6)]
        run = tmp_path / f"a/x{seed}"
        made.put_json(run / "answers.json", {"benchmark": "sums", "seed": seed, "items": items})
        made.put_json(run / "eval_config.json", {"seed": seed, "temperature": 0.7})
    document = bring_in([str(tmp_path)], Said(arm_from="{arm}/*")).document
    assert document is not None
    assert [run["seed"] for _, run in runs_of(document)] == [None, None]
    assert {run["evaluation"]["benchmark"] for _, run in runs_of(document)} == {"sums"}


def test_a_training_seed_in_a_file_s_header_is_the_user_s_word(tmp_path: Path) -> None:
    for seed in (1, 2):
        items = [{"id": n, "correct": bool(n % (seed + 1))} for n in range(6)]
        header = {"benchmark": "sums", "train_seed": seed, "items": items}
        made.put_json(tmp_path / f"a/x{seed}/answers.json", header)
    document = bring_in([str(tmp_path)], Said(arm_from="{arm}/*")).document
    assert document is not None
    found = [(run["seed"], run["identified_by"]) for _, run in runs_of(document)]
    assert found == [(1, "user"), (2, "user")]


@pytest.mark.parametrize("role", ["right", "task", "parsed", "seed", "arm", "score"])
def test_a_pointer_that_leads_nowhere_is_refused_with_what_is_there(
    role: str, tmp_path: Path
) -> None:
    made.home_made(tmp_path)
    said = {"right": "/correct"} | {role: "/nope"}
    with pytest.raises(ImportRefused, match=f"nothing at --map {role}=/nope in any of .*correct"):
        brought(tmp_path, roles=said)


def test_a_column_that_holds_no_outcome_is_refused_and_not_counted_as_wrong(tmp_path: Path) -> None:
    made.home_letters(tmp_path)
    (path,) = tmp_path.rglob("*.csv")
    path.write_text(path.read_text(encoding="utf-8").replace(",I", ",Q", 1), encoding="utf-8")
    with pytest.raises(ImportRefused, match="no column is the outcome"):
        brought(tmp_path)


def test_a_name_that_is_not_utf_8_is_refused_by_its_name(tmp_path: Path) -> None:
    made.verl(tmp_path)
    folder = next(tmp_path.rglob("*.jsonl")).parent
    try:
        folder.rename(os.fsdecode(os.fsencode(folder) + b"\xff"))
    except OSError:
        pytest.skip("this file system takes no such name")
    with pytest.raises(ImportRefused, match="its name is not UTF-8: rename it"):
        brought(tmp_path)


def test_an_option_that_fits_nothing_is_said(tmp_path: Path) -> None:
    made.verl(tmp_path)
    with pytest.raises(AuditError, match="no run fits --arm x=nothing"):
        brought(tmp_path, arm=(("x", "nothing"),))
    with pytest.raises(InputError, match="no file fits --from verl-dumps=nothing"):
        brought(tmp_path, readers=("verl-dumps=nothing",))
    lines = brought(tmp_path, exclude=("nothing",)).lines
    assert any("--exclude nothing fits no file" in line for line in lines)
    assert main(["import", str(tmp_path), "--map", "task=@path:("]) == 2
