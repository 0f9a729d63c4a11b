"""Arms that differ in reward, data, prompt, base model or TRL's own settings, end to end."""

from __future__ import annotations

import json
import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import audit
from audit.cli.main import main
from audit.errors import InputError
from audit.results import from_document
from audit.training.arguments import SET_ELSEWHERE, trl_faults
from audit.training.components import Component, ComponentReward, component
from audit.training.context_length import check_lengths
from audit.training.document import mechanism_of
from audit.training.evaluation import Condition, Outcome, evaluate, merged, share
from audit.training.ledger import Ledger
from audit.training.reward_program import WrongVerdict
from audit.training.run import Bench, evaluate_base
from audit.training.study import pieces, prepare
from audit.training.study_file import Reward, read_study
from audit.training.tasks import Item
from audit.training.tasks.selection import arranged
from training.studies import STUDY, audit_train, dead_lock

FIXED = 'clip = "fixed"\nepsilon_low = 0.2\nepsilon_high = 0.28\n'
HEAD = STUDY.partition("[arms.")[0].replace('level = "full"', 'level = "summary"')
SHAPES = """\
def near(completions, answer, sum, **_):
    found = []
    for text, true in zip(completions, sum, strict=True):
        found.append(max(0.0, 1 - abs(int(text) - true) / 40))  # raises where it is no number
    return found

def short(response, answer):
    return 1 / (1 + len(response))
"""
REWARDED = (
    HEAD.replace("samples = 2", "samples = 2\ncheckpoints = [2, 1, 3]")
    + '[change]\nsummary = "Near answers are rewarded."\n'
    + f'[arms.shaped]\nrole = "method"\n{FIXED}'
    + '[[arms.shaped.training.rewards]]\nfunction = "exact_match"\n'
    + '[[arms.shaped.training.rewards]]\nfunction = "shapes:near"\nweight = 0.5\n'
    + 'on_error = "wrong"\n'
    + f'[arms.plain]\nrole = "control"\n{FIXED}'
)
ORDERED = (
    HEAD
    + '[change]\nsummary = "Small sums first."\nmechanism = "data"\n'
    + f'[arms.easy-first]\nrole = "method"\n{FIXED}'
    + 'task.where = {sum = {max = 20}}\ntask.order = "sum"\n'
    + f'[arms.plain]\nrole = "control"\n{FIXED}'
)


def trained(folder: Path, text: str) -> Any:
    (folder / "study.toml").write_text(text)
    (folder / "shapes.py").write_text(SHAPES)
    assert audit_train(str(folder / "study.toml")) == 0
    return json.loads((folder / "results.json").read_text())


@pytest.fixture(scope="module")
def rewarded(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return trained(tmp_path_factory.mktemp("rewarded"), REWARDED)


@pytest.fixture(scope="module")
def ordered(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return trained(tmp_path_factory.mktemp("ordered"), ORDERED)


def findings(document: Any) -> dict[str, str]:
    """Rules that found something, with the severity."""
    found = audit.verify(from_document(document)).findings
    return {finding.rule: finding.severity.label for finding in found}


def test_a_reward_of_two_components_is_recorded_apart_from_the_grader(rewarded: Any) -> None:
    assert rewarded["change"]["fields"] == ["reward", "rewards"]
    assert rewarded["change"]["mechanism"] == "reward"  # which the study does not say
    shaped, plain = rewarded["seed_results"][0], rewarded["controls"]["plain"]["seed_results"][0]
    assert [(r["name"], r["weight"], r["on_error"]) for r in shaped["rewards"]] == [
        ("exact_match", 1.0, "fail"),
        ("near", 0.5, "wrong"),
    ]
    assert shaped["rewards"][1]["errored"] > 0 == shaped["rewards"][0]["errored"]
    assert len(shaped["rewards"][1]["sha256"]) == 64
    assert shaped["protocol"]["reward"] == "1 exact_match + 0.5 near"
    assert shaped["protocol"]["grader"] == plain["protocol"]["reward"] == "exact_match"
    assert "rewards" not in plain
    assert "error" not in findings(rewarded).values()
    assert not set(findings(rewarded)) & {"PROTO001", "PROTO003", "START001", "EVAL007"}


def test_target_and_components_stand_beside_each_other_in_every_update(rewarded: Any) -> None:
    for step in rewarded["seed_results"][0]["training"]:
        seen = step["updates"][0]["metrics"]
        right = sum(step["correct_counts"]) / 32
        assert seen["rewards/target/mean"] == pytest.approx(right)
        assert seen["rewards/exact_match/mean"] == pytest.approx(right)
        assert seen["reward"] == pytest.approx(right + 0.5 * seen["rewards/near/mean"], abs=1e-6)


def test_a_component_is_a_metric_of_every_arm_and_the_grader_is_one_for_all(rewarded: Any) -> None:
    assert rewarded["metrics"]["near"] == {
        "scale": [0, 1],
        "kind": "score",
        "higher_is_better": True,
    }
    for arm in (rewarded, rewarded["controls"]["plain"]):
        for run in arm["seed_results"]:
            (near,) = [
                e for e in run["evaluations"] if (e["metric"], e["checkpoint_step"]) == ("near", 3)
            ]
            assert near["task_ids"] == run["evaluation"]["task_ids"]
            assert all(0 <= score <= 1 for score in near["scores"])
            right = run["evaluation"]["correct"]
            assert all(s >= c / 2 for s, c in zip(near["scores"], right, strict=True))
    for one in rewarded["base_evaluations"]:
        (near,) = one["evaluations"]
        assert (near["metric"], near["checkpoint_step"], len(near["scores"])) == ("near", 0, 20)
    compared = audit.analyse(from_document(rewarded)).comparisons
    assert {c.metric for c in compared} == {"accuracy", "near"}


def test_a_run_is_evaluated_at_the_checkpoints_too_and_trains_the_same(
    rewarded: Any, tmp_path: Path
) -> None:
    steps = [
        [e["checkpoint_step"] for e in run["evaluations"] if e["metric"] == "accuracy"]
        for run in rewarded["seed_results"]
    ]
    assert steps == [[1, 2], [1, 2]]
    assert rewarded["seed_results"][0]["evaluation"]["checkpoint_step"] == 3
    without = REWARDED.replace("checkpoints = [2, 1, 3]\n", "").replace("[1, 2]", "[1]")
    again = trained(tmp_path, without)["seed_results"][0]
    first = rewarded["seed_results"][0]
    assert again["final_parameters_sha256"] == first["final_parameters_sha256"]
    assert {**again["evaluation"], "date": ""} == {**first["evaluation"], "date": ""}


@pytest.mark.parametrize(
    ("fields", "mechanism"),
    [
        ([], "clip"),
        (["clip", "epsilon_high", "epsilon_high_max"], "clip"),
        (["delta", "geometry", "topology"], "clip"),
        (["reward", "reward_sha256", "rewards"], "reward"),
        (["task_order", "task_where", "training_data_sha256"], "data"),
        (["clip", "rewards"], "other"),
        (["learning_rate"], "other"),
    ],
)
def test_a_mechanism_that_nobody_says_is_told_from_what_differs(
    fields: list[str], mechanism: str
) -> None:
    assert mechanism_of(fields) == mechanism


def test_an_arm_may_train_on_other_rows_in_another_order(ordered: Any) -> None:
    fields = ordered["change"]["fields"]
    assert fields == ["task_order", "task_where", "training_data_sha256"]
    easy, plain = ordered["seed_results"], ordered["controls"]["plain"]["seed_results"]
    assert easy[0]["training"][0]["training_rows"] == easy[1]["training"][0]["training_rows"]
    assert plain[0]["training"][0]["training_rows"] != plain[1]["training"][0]["training_rows"]
    assert easy[0]["evaluation"]["task_ids"] == plain[0]["evaluation"]["task_ids"]
    assert easy[0]["initial_parameters_sha256"] == plain[0]["initial_parameters_sha256"]
    condition = [run["evaluation"]["condition"]["prompt_sha256"] for run in (*easy, *plain)]
    assert len(set(condition)) == 1
    errors = [
        f.rule for f in audit.verify(from_document(ordered)).findings if f.severity.label == "error"
    ]
    assert errors == []


def page_of(document: Any, folder: Path) -> str:
    """Return the page that ``audit render`` makes, without the escapes of Markdown."""
    (folder / "results.json").write_text(json.dumps(document))
    page = folder / "page.md"
    assert main(["render", str(folder / "results.json"), "-o", str(page)]) == 0
    return page.read_text(encoding="utf-8").replace("\\", "")


def test_the_page_says_that_the_arms_differ_in_reward_and_in_which(
    rewarded: Any, tmp_path: Path
) -> None:
    page = page_of(rewarded, tmp_path)
    (changed,) = re.findall(r"\| Settings changed on purpose .*", page)
    assert changed.endswith("| reward, rewards; acts through: reward |")
    (proxy,) = re.findall(r"\| Proxy and target .*", page)
    assert "| plain rewarded and graded by exact_match; " in proxy
    assert proxy.endswith("shaped rewarded by 1 exact_match + 0.5 near, graded by exact_match |")
    (surface,) = re.findall(r"\| Surface of the rewarded responses .*", page)
    assert re.search(
        r"plain \S+ [+-]0\.\d\d, shaped \S+ [+-]0\.\d\d \(384 training responses\)", surface
    )
    for metric in ("accuracy", "near"):  # target and proxy are both compared
        assert f"shaped over plain, {metric} on " in page


def test_the_page_says_that_the_arms_differ_in_data_and_not_in_reward(
    ordered: Any, tmp_path: Path
) -> None:
    page = page_of(ordered, tmp_path)
    (changed,) = re.findall(r"\| Settings changed on purpose .*", page)
    fields = "task_order, task_where, training_data_sha256"
    assert changed.endswith(f"| {fields}; acts through: data |")
    (proxy,) = re.findall(r"\| Proxy and target .*", page)
    assert proxy.endswith("| plain, easy-first rewarded and graded by exact_match |")
    (length,) = re.findall(r"\| Length of the answers .*", page)
    assert re.search(r"characters per answer: untrained \d+ → plain \d+, easy-first \d+ \|", length)


def bench_of(folder: Path, text: str) -> Any:
    (folder / "study.toml").write_text(text)
    (folder / "shapes.py").write_text(SHAPES)
    path = folder / "study.toml"
    return prepare(read_study(path), str(path), Ledger(folder / "runs"))


def test_data_reward_and_settings_of_an_arm_are_in_its_fingerprint(tmp_path: Path) -> None:
    def names(text: str) -> dict[str, str]:
        return {p.name: p.fingerprint for p in pieces(bench_of(tmp_path, text))}

    before = names(ORDERED)
    for old, new in (("max = 20", "max = 21"), ('"sum"', '"-sum"')):
        after = names(ORDERED.replace(old, new))
        assert before["easy-first-seed1"] != after["easy-first-seed1"]
        assert before["plain-seed1"] == after["plain-seed1"]
        assert before["base-1"] == after["base-1"]
    weighed = names(REWARDED), names(REWARDED.replace("weight = 0.5", "weight = 0.6"))
    assert weighed[0]["shaped-seed1"] != weighed[1]["shaped-seed1"]


def test_an_arm_may_have_a_base_model_and_a_schedule_of_its_own(tmp_path: Path) -> None:
    own = "task.warm_up_steps = 30\ntraining.lr_scheduler_type = 'linear'\n"
    text = ORDERED.replace('task.where = {sum = {max = 20}}\ntask.order = "sum"\n', own)
    bench = bench_of(tmp_path, text + "[training.trl]\nadam_beta2 = 0.95\n")
    method, control = bench.study.arms
    assert bench.protocol(method)["adam_beta2"] == 0.95
    ours, theirs = (bench.protocol(arm)["base_parameters_sha256"] for arm in (method, control))
    assert ours != theirs == bench.checkpoint["parameters_sha256"]


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('"sum"', '"som"', r"arms\.easy-first\.task\.order: the training row .* no field 'som'"),
        ("max = 20", "max = -1", r":\d+: arms\.easy-first\.task\.where: lets no training row by"),
        ("task.order", "task.limit", "task.limit: unknown key"),
        ("task.order", "task.train", "task.train: no arm's own in task 'addition'"),
        ('"shapes:near"', '"shape:near"', r"rewards\[1\]\.function: no module 'shape'; |no module"),
        ('"shapes:near"', '"near"', r"rewards\[1\]\.function: must be exact_match, math_equal, "),
        ('"shapes:near"', '"shapes:exact_match"', "exact_match' is the name of another metric"),
        ("checkpoints = [2, 1, 3]", "checkpoints = [4]", "4 is after the last of the 3 steps"),
        ("weight = 0.5", "weight = 'a'", r"rewards\[1\]\.weight: expected a number"),
    ],
)
def test_what_no_arm_can_have_is_named(old: str, new: str, says: str, tmp_path: Path) -> None:
    text = ORDERED if old in ORDERED else REWARDED
    assert old in text
    with pytest.raises(InputError) as caught:
        bench_of(tmp_path, text.replace(old, new))
    assert any(re.search(says, line) for line in caught.value.lines), caught.value.lines


@pytest.mark.parametrize(
    ("claim", "says"),
    [
        ('metric = "near"\nagainst = "plain"', None),
        ('metric = "near"\nagainst = "plain"\ncheckpoints = [1, 3]', None),
        ('metric = "near"\nagainst = "base"', None),
        ('metric = "far"\nagainst = "plain"', r"claims\[0\]: .*far"),
        ('metric = "exact_match"\nagainst = "plain"', r"claims\[0\]: .*exact_match"),
    ],
)
def test_a_claim_may_be_about_a_component_of_the_reward(
    claim: str, says: str | None, tmp_path: Path
) -> None:
    text = REWARDED + f'[[claims]]\narm = "shaped"\ndirection = "gain"\n{claim}\n'
    if says is None:
        assert bench_of(tmp_path, text).study.claims
        return
    with pytest.raises(InputError, match=says):
        bench_of(tmp_path, text)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"weight_decai": 0.1}, "TRL has no such field; did you mean 'weight_decay'?"),
        ({"num_generations": 8}, "is set by group_size"),
        ({"vllm_mode": "x"}, "is set by vllm"),
        ({"output_dir": "x"}, "is set by the program"),
        ({"eval_strategy": "steps"}, "is set by the program"),
        ({"eval_on_start": True}, "is set by the program"),
        ({"remove_unused_columns": True}, "is set by the program"),
        ({"weight_decay": "much"}, "expected float, found 'much'"),
        ({"weight_decay": True}, "expected float, found True"),
        ({"push_to_hub": True}, "is refused: a study writes nothing to the Hub"),
        ({"hub_model_id": "me/mine"}, "is refused: a study writes nothing to the Hub"),
        ({"top_k": 1.5}, "expected int, found 1.5"),
    ],
)
def test_a_field_that_trl_lacks_or_the_study_sets_is_named(given: Any, says: str) -> None:
    ((name, message),) = trl_faults(given)
    assert name in given
    assert says in message


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("delta = 0.3", r"trl\.delta: delta clamps the ratio a second time"),
        ("mask_truncated_completions = true", r"trl\.mask_truncated_completions: .* must be False"),
        ("use_liger_kernel = true", r"trl\.use_liger_kernel: .*liger kernels may bypass"),
        ('optim = "none"', r"trl: none is not a valid OptimizerNames"),
        ('eval_strategy = "steps"', r"trl\.eval_strategy: is set by the program"),
        ("remove_unused_columns = true", r"trl\.remove_unused_columns: is set by the program"),
    ],
)
@pytest.mark.parametrize("table", ["training", "arms.fixed-clip.training"])
def test_settings_of_trl_that_no_run_could_have_are_refused_before_a_base_is_made(
    given: str, says: str, table: str, study_path: Any, tmp_path: Path
) -> None:
    path = study_path()
    path.write_text(f"{path.read_text()}\n[{table}.trl]\n{given}\n")
    for options in ([], ["--dry-run"]):
        with pytest.raises(InputError, match=rf"study\.toml:\d+: {re.escape(table)}\.{says}"):
            audit_train(str(path), *options)
    assert not list(tmp_path.glob("*.runs/*"))


def test_fields_of_trl_go_through_by_their_own_names_and_types() -> None:
    sound = {"weight_decay": 1, "adam_beta1": 0.8, "top_p": 0.9, "ref_model_sync_steps": 3}
    assert list(trl_faults(sound)) == []
    assert "num_generations" in SET_ELSEWHERE


# ---- components


def loaded(folder: Path, source: str, **changes: Any) -> ComponentReward:
    (folder / "shapes.py").write_text(source)
    part: Component = component(folder, Reward("shapes:f", **changes))
    return part.load({0: {"size": 1}, 1: {"size": 2}})


def called(reward: ComponentReward, texts: list[str]) -> list[float | None]:
    count = len(texts)
    return reward(
        prompts=["p"] * count, completions=texts, answer=["a"] * count, row=list(range(count))
    )


def test_a_function_of_trl_sees_every_column_of_the_row(tmp_path: Path) -> None:
    reward = loaded(tmp_path, "def f(completions, size, answer, **_): return [1 / s for s in size]")
    assert called(reward, ["x", "y"]) == [1.0, 0.5]


def test_the_fields_of_prompt_and_answer_reach_a_function_of_trl_by_their_own_names(
    tmp_path: Path,
) -> None:
    source = (
        "def f(completions, solution, answer, trainer_state=None, **others):\n"
        "    assert trainer_state is None and set(others) == {'prompts', 'row', 'question'}\n"
        "    return [c == s == int(a) for c, s, a in zip(completions, solution, answer)]"
    )
    (tmp_path / "shapes.py").write_text(source)
    fields = {"question": "1 + 1", "solution": 2, "answer": "none", "prompt": "1", "row": 7}
    columns = {0: {**fields, "trainer_state": "of the file"}}
    reward = component(tmp_path, Reward("shapes:f")).load(columns)
    assert reward(prompts=["p"], completions=[2], answer=["2"], row=[0]) == [1.0]


def test_an_exception_costs_one_response_of_the_batch_and_is_counted(tmp_path: Path) -> None:
    source = "def f(completions, **_): return [int(c) / 9 for c in completions]"
    assert called(loaded(tmp_path, source, on_error="wrong"), ["9", "x"]) == [1.0, 0.0]
    reward = loaded(tmp_path, source, on_error="wrong")
    called(reward, ["x", "3"])
    assert reward.errored == 1
    with pytest.raises(ValueError, match="invalid literal"):
        called(loaded(tmp_path, source), ["9", "x"])


@pytest.mark.parametrize("head", ["(response, answer)", "(completions, **_)"])
def test_a_component_that_ends_the_program_costs_one_response_too(
    head: str, tmp_path: Path
) -> None:
    source = f"import sys\ndef f{head}: sys.exit('no verdict')"
    reward = loaded(tmp_path, source, on_error="wrong")
    assert called(reward, ["x", "y"]) == [0.0, 0.0]
    assert reward.errored == 2
    with pytest.raises(SystemExit, match="no verdict"):
        called(loaded(tmp_path, source), ["x", "y"])


@pytest.mark.parametrize("value", ["2", "-0.1", "None", "'1'", "float('nan')"])
def test_what_is_no_fraction_is_refused_whatever_on_error_says(value: str, tmp_path: Path) -> None:
    for head in ("(response, answer): return ", "(completions, **_): return len(completions) * ["):
        if value == "None" and "[" in head:
            continue  # TRL's word for what is not rewarded
        text = f"def f{head}{value}{']' * ('[' in head)}"
        with pytest.raises(WrongVerdict, match="not a fraction"):
            called(loaded(tmp_path, text, on_error="wrong"), ["x"])


def test_a_function_of_trl_may_leave_a_response_out(tmp_path: Path) -> None:
    source = "def f(completions, **_): return [float(c) if c else None for c in completions]"
    for on_error in ("fail", "wrong"):
        reward = loaded(tmp_path, source, on_error=on_error)
        assert called(reward, ["", "1"]) == [None, 1.0]
        assert reward.errored == 0
    assert called(reward, ["", "x", "1"]) == [None, 0.0, 1.0]
    assert reward.errored == 1


# ---- rows


ROWS = [
    Item(f"r{n}", "p", "a", n, {"level": level, "length": length, "kept": kept})
    for n, (level, length, kept) in enumerate(
        [("easy", 5, True), ("hard", 3, False), ("easy", 4, True), ("mid", 9, True)]
    )
]


@pytest.mark.parametrize(
    ("where", "order", "places"),
    [
        ({}, "", [0, 1, 2, 3]),
        ({}, "file", [0, 1, 2, 3]),
        ({}, "length", [1, 2, 0, 3]),
        ({}, "-length", [3, 0, 2, 1]),
        ({"level": "easy"}, "length", [2, 0]),
        ({"level": ["easy", "mid"], "length": {"min": 5}}, "", [0, 3]),
        ({"length": {"min": 4, "max": 5}}, "", [0, 2]),
        ({"kept": True}, "level", [0, 2, 3]),
        ({"level": {"max": 3}, "kept": False}, "", None),
    ],
)
def test_rows_are_filtered_and_ordered_by_their_columns(
    where: Any, order: str, places: list[int] | None
) -> None:
    if places is None:
        with pytest.raises(audit.UsageError, match="lets no training row by"):
            arranged(ROWS, where, order)
    else:
        assert arranged(ROWS, where, order) == places


def test_values_of_several_kinds_have_no_order() -> None:
    mixed = [Item("a", "p", "a", 0, {"x": 1}), Item("b", "p", "a", 1, {"x": "1"})]
    with pytest.raises(audit.UsageError, match="order: the values of 'x' are not of one kind"):
        arranged(mixed, {}, "x")


# ---- guards, the lock, adapters, shares


def test_one_study_at_a_time_holds_a_folder(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)
    with ledger.held():
        with pytest.raises(audit.UsageError, match=rf"process {os.getpid()} on .* trains here"):
            ledger.held().__enter__()
        assert (tmp_path / "lock").is_file()
    assert list(tmp_path.iterdir()) == []


def test_the_lock_of_a_process_that_is_gone_is_passed_over_here_alone(tmp_path: Path) -> None:
    lock = dead_lock(tmp_path)
    holder = json.loads(lock.read_text())
    with Ledger(tmp_path).held():
        assert json.loads(lock.read_text())["process"] == os.getpid()
    lock.write_text(json.dumps({**holder, "host": "elsewhere"}))
    with pytest.raises(audit.UsageError, match="on elsewhere trains here since 2026-01-01"):
        Ledger(tmp_path).held().__enter__()
    lock.write_text("{}")
    with pytest.raises(audit.UsageError, match="not the lock of a study"):
        Ledger(tmp_path).held().__enter__()


def test_a_second_start_is_refused_before_anything_is_loaded(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(ORDERED)
    ledger = Ledger(tmp_path / "results.json.runs")
    ledger.folder.mkdir()
    with ledger.held(), pytest.raises(audit.UsageError, match="wait for it"):
        audit_train(str(tmp_path / "study.toml"))


def test_the_shares_of_several_processes_make_the_whole(task: Any, cache: Path) -> None:
    model, tokenizer = task.fresh_model(cache), task.tokenizer(cache)
    items = task.partition().holdout[:7]
    greedy = Condition(samples=2, temperature=0, max_tokens=4, seed=0, batch_size=64)
    near = [ComponentReward("long", lambda text, _: len(text) / 9, "wrong", {})]

    def outcome(some: Any) -> Outcome:
        return evaluate(model, tokenizer, some, task.scorer, greedy, components=near)

    whole = outcome(items)
    for processes in (1, 2, 3, 9):
        parts = [outcome(share(items, n, processes)) for n in range(processes)]
        again = merged(parts, items, tokenizer, greedy)
        assert replace(again, condition=greedy, date=whole.date) == whole
        assert again.condition.processes == processes


def test_tokens_without_an_embedding_and_responses_beyond_the_context_are_refused(
    task: Any, cache: Path
) -> None:
    model, tokenizer = task.fresh_model(cache), task.tokenizer(cache)
    items = task.partition().holdout
    check_lengths(model, tokenizer, items, 58)
    with pytest.raises(audit.UsageError, match="max_tokens: 59 and a prompt of 6 tokens are more"):
        check_lengths(model, tokenizer, items, 59)
    tokenizer.add_tokens(["<one>", "<two>"])
    with pytest.raises(audit.UsageError, match="its tokenizer has 17 tokens, its embedding 15"):
        check_lengths(model, tokenizer, items, 4)


def test_the_base_is_refused_responses_beyond_its_context_before_it_generates(
    task: Any, cache: Path, study_path: Any
) -> None:
    study = read_study(study_path(("samples = 2", "samples = 2\nmax_tokens = 59")))
    bench = Bench(study, task, task.partition(), cache, {})
    with pytest.raises(audit.UsageError, match="max_tokens: 59 and a prompt of 6 tokens are more"):
        evaluate_base(bench, 0)


def test_an_adapter_is_kept_and_the_optimizer_and_kl_term_are_recorded(tmp_path: Path) -> None:
    lora = "training.lora_rank = 2\ntraining.beta = 0.05\ntraining.lora_alpha = 3\n"
    text = ORDERED.replace("[1, 2]", "[1]").replace(
        'task.where = {sum = {max = 20}}\ntask.order = "sum"\n', lora
    )
    document = trained(tmp_path, text.replace("rounds = 3", "rounds = 3\nwarmup_updates = 2"))
    run = document["seed_results"][0]
    folder = tmp_path / "results.json.runs" / run["adapter"]["folder"]
    assert {p.name for p in folder.iterdir()} == set(run["adapter"]["file_sha256"])
    assert "adapter_model.safetensors" in run["adapter"]["file_sha256"]
    protocol = run["protocol"]
    assert (protocol["lora_alpha"], protocol["lora_targets"]) == (3.0, "all-linear")
    assert (protocol["optimizer"], protocol["weight_decay"]) == ("adamw_torch_fused", 0.0)
    assert (protocol["kl_estimator"], protocol["use_bias_correction_kl"]) == ("k3", True)
    # What the study leaves to TRL, by TRL's names; what it sets stands beside it.
    assert (protocol["grpo_config"]["top_p"], protocol["grpo_config"]["top_k"]) == (1.0, 0)
    assert protocol["grpo_config"]["disable_dropout"] is False
    assert not {"learning_rate", "output_dir", "seed", "hub_token", *protocol} & {
        *protocol["grpo_config"]
    }
    rates = [u["metrics"]["learning_rate"] for s in run["training"] for u in s["updates"]]
    assert rates == [0.0, 0.0005, 0.001, 0.001, 0.001, 0.001]
    kl = [u["metrics"]["kl"] for s in run["training"] for u in s["updates"]]
    assert kl[0] == 0.0 < kl[-1]
    assert "paired_accuracy_difference_vs_plain" in document["aggregate_metrics"]
    assert "error" not in findings(document).values()
    assert "START002" not in findings(document)


# ---- groups without an advantage


def test_rejected_groups_are_replaced_and_counted(tmp_path: Path) -> None:
    text = ORDERED.replace("[1, 2]", "[1]").replace('level = "summary"', 'level = "full"')
    text = text.replace(
        'task.where = {sum = {max = 20}}\ntask.order = "sum"\n',
        'training.zero_groups = "reject"\n',
    )
    document = trained(tmp_path, text)
    assert document["change"]["fields"] == ["zero_groups"]
    run = document["seed_results"][0]
    assert run["telemetry"]["zero_groups"] == "rejected"
    assert [step["zero_advantage_groups"] for step in run["training"]] == [0, 0, 0]
    sampling = run["sampling"]
    assert sampling["tasks_attempted"] == 3 * 4 + sampling["zero_advantage_groups"]
    assert sampling["zero_advantage_groups"] > 0
    groups = [step["rewards"][n : n + 8] for step in run["training"] for n in range(0, 32, 8)]
    assert len(groups) == 12
    assert all(len(set(group)) > 1 for group in groups)
    # The sequences that were put together are those that were sampled: ratio 1 at the first update.
    first = [a for step in run["training"] for a in step["updates"][0]["response_audits"]]
    assert {audit["max_abs_log_ratio"] for audit in first} == {0.0}
    tokens = sum(a["tokens"] for a in first)
    assert sampling["generated_training_tokens_including_rejected_groups"] > tokens
    kept = document["controls"]["plain"]
    assert kept["execution_checks"]["rejected_zero_advantage_groups"] == [0]
    assert "error" not in findings(document).values(), findings(document)


def test_batches_of_other_lengths_are_padded_where_their_padding_lies() -> None:
    import torch

    from audit.training.trainer import _joined, _rows

    def batch(prompt: list[int], answer: list[int]) -> dict[str, Any]:
        return {
            "prompt_ids": torch.tensor([prompt]),
            "completion_ids": torch.tensor([answer]),
            "completion_mask": torch.ones(1, len(answer), dtype=torch.long),
            "advantages": torch.tensor([1.0]),
        }

    whole = _joined([batch([5, 6], [7]), batch([8], [9, 4, 3])], pad=1)
    assert whole["prompt_ids"].tolist() == [[5, 6], [1, 8]]
    assert whole["completion_ids"].tolist() == [[7, 1, 1], [9, 4, 3]]
    assert whole["completion_mask"].tolist() == [[1, 0, 0], [1, 1, 1]]
    assert whole["num_items_in_batch"] == 4
    chosen = _rows({**whole, "one": 3}, torch.tensor([False, True]))
    assert chosen["completion_ids"].tolist() == [[9, 4, 3]]
    assert set(chosen) == set(whole) - {"num_items_in_batch"}
