"""The task of a user's own prompts, answers and reward, from the files to the results."""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from audit.config import faults_in_words
from audit.errors import AuditError, InputError, UsageError
from audit.training.arms import changed, task_errors, task_of
from audit.training.ledger import Ledger
from audit.training.reward_program import reward_program
from audit.training.rewards import Score
from audit.training.study import pieces, prepare
from audit.training.study_file import TaskSettings, read_study
from training.studies import ARMS, ROOT, audit_train, save_character_model, verified, without_times

STUDY = (
    """\
seeds = [1]
[task]
name = "jsonl"
benchmark = "my-sums"
train = "data/train.jsonl"
holdout = "data/heldout.jsonl"
id = "name"
reward = "my_reward:has_digit"
model = "tiny-chat"
ngram = 20
holdout_tasks = 4
instruction = "Answer with a number."
[training]
rounds = 1
prompts_per_round = 4
learning_rate = 1e-3
max_tokens = 6
lora_rank = 2
[evaluation]
samples = 2
base_repeats = 3
[telemetry]
level = "full"
"""
    + ARMS
)

# A random model of characters wins this about every other time.
REWARD = """\
from my_helper import digits


def has_digit(response: str, answer: str) -> bool:
    return any(c in digits for c in response)


def fails(response: str, answer: str) -> bool:
    raise KeyError(answer)


def fails_on_digits(response: str, answer: str) -> bool:
    if any(c in digits for c in response):
        raise KeyError(answer)
    return True


def score(response: str, answer: str) -> float:
    return 1.0


def alone(response: str) -> bool:
    return True


digit = 3
"""

HELPER = 'digits = "0123456789"\n'


def write_rows(path: Path, rows: list[Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def sums(numbers: range) -> list[Any]:
    return [
        {"name": f"sum-{n}", "question": f"What is {n} plus {n}?", "answer": 2 * n} for n in numbers
    ]


@pytest.fixture(scope="session")
def character_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models") / "tiny-chat"
    save_character_model(folder)
    return folder


def lay_out(folder: Path, model: Path, *changes: tuple[str, str]) -> Path:
    """A study with all it names beside it."""
    write_rows(folder / "data" / "train.jsonl", sums(range(20, 50)))
    write_rows(folder / "data" / "heldout.jsonl", sums(range(5)))
    (folder / "my_reward.py").write_text(REWARD)
    (folder / "my_helper.py").write_text(HELPER)
    shutil.copytree(model, folder / "tiny-chat")
    text = STUDY
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    (folder / "study.toml").write_text(text)
    return folder / "study.toml"


@pytest.fixture
def study_path(tmp_path: Path, character_model: Path) -> Callable[..., Path]:
    return lambda *changes: lay_out(tmp_path, character_model, *changes)


@pytest.fixture(scope="module")
def reference_folder(tmp_path_factory: pytest.TempPathFactory, character_model: Path) -> Path:
    folder = tmp_path_factory.mktemp("reference")
    assert audit_train(str(lay_out(folder, character_model))) == 0
    return folder


@pytest.fixture(scope="module")
def reference(reference_folder: Path) -> Any:
    return without_times(reference_folder / "results.json")


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_the_results_file_says_what_was_trained_on_and_who_judged(
    reference: Any, reference_folder: Path
) -> None:
    train, heldout = (reference_folder / "data" / f"{n}.jsonl" for n in ("train", "heldout"))
    assert reference["dataset"] == {
        "source_sha256": sha256(train),
        "partition_sha256": {"train": sha256(train), "validation": sha256(heldout)},
        "partition": "a file each for train and validation",
    }
    assert reference["holdout"] == {"train_rows": 30, "holdout_rows": 4, "ngram": 20, "dropped": 0}
    assert reference["checkpoint"]["public_id"] == "tiny-chat"
    mirror = reference["checkpoint"]["verified_mirror"]["file_sha256"]
    assert mirror["model.safetensors"] == sha256(
        reference_folder / "tiny-chat" / "model.safetensors"
    )
    control = reference["controls"]["fixed-clip"]
    for run in (*reference["seed_results"], *control["seed_results"]):
        assert run["status"] == "finished"
        assert run["evaluation"]["benchmark"] == "my-sums"
        assert run["evaluation"]["task_ids"] == ["sum-0", "sum-1", "sum-2", "sum-3"]
        assert run["protocol"]["reward"] == "my_reward:has_digit"
        assert run["protocol"]["reward_sha256"] == sha256(reference_folder / "my_reward.py")
        assert 0 < sum(run["training"][0]["rewards"]) < 32
    assert str(reference_folder) not in json.dumps(reference)


def test_the_results_file_claims_nothing_that_only_the_user_knows(reference: Any) -> None:
    text = json.dumps(reference)
    unknown = ("test_read", "test_opened", "official_test_read", "gold_in_", "unparsed")
    assert not [name for name in unknown if name in text]
    assert "verified" not in reference["dataset"]


def test_verify_finds_no_error_and_says_what_the_user_left_open(
    reference: Any, tmp_path: Path
) -> None:
    report = verified(reference, tmp_path)
    assert report.exit_status == 0
    assert not [f for f in report.findings if f.severity.label == "error"]
    reasons = {n.slug: n.reason for n in report.not_checked}
    assert reasons["test-split-read"] == "the file has no flag that says so"
    assert reasons["gold-in-generation"] == "the file has no flag that says so"
    assert reasons["leakage-flags"] == "no such flag is recorded in two places"
    assert reasons["unverified-data"] == "the file does not say whether the data was verified"


@pytest.mark.slow
def test_two_worker_processes_give_the_same_file(reference: Any, reference_folder: Path) -> None:
    output = reference_folder / "again.json"
    study = str(reference_folder / "study.toml")
    assert audit_train(study, "-o", str(output), "--workers", "2") == 0
    assert without_times(output) == reference


def test_what_the_user_says_of_his_data_stands_everywhere(study_path: Any) -> None:
    from audit.training.document import results_document
    from audit.training.run import run

    said = ("ngram = 20", "ngram = 20\ntest_read = false\ngold_in_generation = false")
    path = study_path(said, ("lora_rank = 2", "lora_rank = 0"))
    bench = prepare(read_study(path), str(path), Ledger(path.parent / "x"))
    runs = {arm.name: [run(bench, arm, 1)] for arm in bench.study.arms}
    document = results_document(bench, [], runs)
    assert document["dataset"]["test_read"] is False
    for arm in runs.values():
        assert arm[0]["protocol"]["test_opened"] is False
        assert arm[0]["protocol"]["gold_in_generation"] is False
    checks = document["controls"]["fixed-clip"]["execution_checks"]
    assert (checks["official_test_read"], checks["gold_in_policy"]) == (False, False)


def test_a_reward_that_raises_fails_the_runs_and_is_counted_in_the_evaluation(
    study_path: Any,
) -> None:
    path = study_path(("my_reward:has_digit", "my_reward:fails_on_digits"))
    output = path.parent / "results.json"
    assert audit_train(str(path)) == 1
    document = json.loads(output.read_text())
    errors = [sum(b["evaluation"]["errored"]) for b in document["base_evaluations"]]
    assert 0 < sum(errors) < 3 * 8
    for runs in (document["seed_results"], document["controls"]["fixed-clip"]["seed_results"]):
        assert runs[0]["status"] == "failed"
        assert re.fullmatch(r"KeyError: '\d+' \(my_reward\.py:\d+\)", runs[0]["failure"])


def test_quiet_shows_no_bar_while_models_are_loaded(
    study_path: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    from transformers.utils import logging

    logging.enable_progress_bar()
    audit_train(str(study_path()), "--dry-run")
    assert "Loading" not in capfd.readouterr().err


def test_a_reward_that_raises_on_everything_stops_the_study_before_it_trains(
    study_path: Any,
) -> None:
    path = study_path(("my_reward:has_digit", "my_reward:fails"))
    with pytest.raises(
        UsageError,
        match=r"base: the reward raised on each of 8 responses, first KeyError: .*my_reward\.py:",
    ):
        audit_train(str(path))
    assert not (path.parent / "results.json").exists()
    assert list((path.parent / "results.json.runs").glob("*.json")) == []


def test_the_evaluation_asks_through_the_chat_template_as_the_training_does(
    study_path: Any,
) -> None:
    from audit.training.run import evaluate_base

    given = '[training.trl]\nchat_template_kwargs = {mood = "calm"}\n[evaluation]'
    path = study_path(("[evaluation]", given))
    template = path.parent / "tiny-chat" / "chat_template.jinja"
    template.write_text("{{ mood }} " + template.read_text())
    bench = prepare(read_study(path), str(path), Ledger(path.parent / "x"))
    condition = evaluate_base(bench, 0)["evaluation"]["condition"]
    asked = [
        f"calm user: What is {n} plus {n}?\n\nAnswer with a number.\nassistant: " for n in range(4)
    ]
    assert condition["prompt_sha256"] == hashlib.sha256(json.dumps(asked).encode()).hexdigest()
    calm = {piece.fingerprint for piece in pieces(bench)}
    path.write_text(path.read_text().replace('"calm"', '"angry"'))
    angry = prepare(read_study(path), str(path), Ledger(path.parent / "x"))
    assert not calm & {piece.fingerprint for piece in pieces(angry)}


@pytest.mark.slow
def test_processes_that_train_together_all_say_why_the_base_cannot_be_evaluated(
    study_path: Any,
) -> None:
    path = study_path(("my_reward:has_digit", "my_reward:fails"))
    launch = "-m torch.distributed.run --standalone --nproc_per_node 2 -m audit train"
    done = subprocess.run(
        [sys.executable, *launch.split(" "), str(path), "--quiet"],
        env={**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    assert done.stderr.count("audit: evaluation of the base: the reward raised on each of 8") == 2
    assert "internal error" not in done.stderr


def partition_of(folder: Path, model: Path, /, **changes: Any) -> Any:
    settings = {
        "benchmark": "b",
        "train": "train.jsonl",
        "holdout": "heldout.jsonl",
        "reward": "exact_match",
        "model": str(model),
    }
    study = str(folder / "study.toml")
    with task_errors(study):
        return task_of(TaskSettings("jsonl", {**settings, **changes}), study).partition()


GOOD = b'{"question": "What is 1 plus 1?", "answer": "2"}\n'
OTHER = b'{"question": "How much are 2 and 2?", "answer": "4", "id": "a"}\n'


def row(question: Any, answer: Any = "2") -> bytes:
    return json.dumps({"question": question, "answer": answer}).encode() + b"\n"


@pytest.mark.parametrize(
    ("data", "settings", "message"),
    [
        (None, {}, "train.jsonl: No such file or directory"),
        (b"", {}, "train.jsonl: holds no rows"),
        (b"\xef\xbb\xbf\n \n", {}, "train.jsonl: holds no rows"),
        (GOOD + b'{"question": "caf\xe9"}\n', {}, "train.jsonl:2:18: not UTF-8: byte 0xe9"),
        (GOOD.decode().encode("utf-16"), {}, "train.jsonl:1:1: not UTF-8: byte 0xff"),
        (GOOD + b"\n" + GOOD[:20], {}, "train.jsonl:3:14: not JSON: unterminated string"),
        (b"[" + GOOD + b"]", {}, "train.jsonl:1"),
        (b'["a"]\n', {}, "train.jsonl:1: not a JSON object"),
        (b'{"question": NaN}\n', {}, "train.jsonl:1: NaN is no JSON"),
        (b'{"answer": 1, "answer": 2}\n', {}, "train.jsonl:1: duplicate key 'answer'"),
        (b'{"question": "\\ud800"}\n', {}, "train.jsonl:1: an unpaired surrogate"),
        (b"[" * 100_000, {}, "train.jsonl:1: nested too deeply"),
        (GOOD + b'{"question": "Why?"}', {}, "train.jsonl:2: answer: missing"),
        (GOOD, {"prompt": "query"}, "train.jsonl:1: query: missing"),
        (row(" "), {}, "train.jsonl:1: question: must not be empty"),
        (row(7), {}, "question: must be a text or a list of chat messages, not a number"),
        (row({"a": 1}), {}, "question: must be a text or a list of chat messages, not an object"),
        (row([]), {}, "question: the last message must have the role 'user'"),
        (row([{"role": "user"}]), {}, "question: message 1 must have a role and a content"),
        (row(["hello"]), {}, "question: message 1 must have a role and a content"),
        (
            row([{"role": "user", "content": 3}]),
            {},
            "question: message 1: content must be a text",
        ),
        (
            row([{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]),
            {},
            "question: the last message must have the role 'user'",
        ),
        (row("Why?", None), {}, "train.jsonl:1: answer: must be a text or a number, not null"),
        (row("Why?", True), {}, "answer: must be a text or a number, not a truth value"),
        (row("Why?", [1]), {}, "answer: must be a text or a number, not a list"),
        (row("Why?", " "), {}, "train.jsonl:1: answer: must not be empty"),
        (row("Why?", 1e30), {}, "answer: write 1e+30 without an exponent"),
        (
            GOOD + row("Why?", "so"),
            {"reward": "math_equal"},
            "train.jsonl:2: answer: math_equal compares numbers, and 'so' holds none",
        ),
        (row("Why?", "1" * 5000), {"reward": "math_equal"}, "compares numbers, and '1111"),
        (
            GOOD + b'{"question": "Why?", "answer": "2", "a": [{"b": 1' + b"0" * 5000 + b"}]}",
            {},
            "train.jsonl:2: a: a whole number of more digits than Python reads",
        ),
        (OTHER, {}, "study.toml: task.holdout: holds the same rows as train"),
        (b"\xef\xbb\xbf" + OTHER, {}, "study.toml: task.ngram: each of the 1 rows of"),
        (GOOD, {"train_prompts": 2}, "task.train_prompts: 2 is more than the 1 rows of"),
        (GOOD, {"holdout_tasks": 2}, "task.holdout_tasks: 2 is more than the 1 rows of"),
        (
            GOOD + OTHER,
            {"train_prompts": 2},
            "task.train_prompts: 2 is more than 1 of the 2 rows of",
        ),
    ],
)
def test_a_file_that_cannot_be_used_gets_one_line_with_the_place(
    data: bytes | None, settings: Any, message: str, tmp_path: Path, character_model: Path
) -> None:
    (tmp_path / "heldout.jsonl").write_bytes(OTHER)
    if data is not None:
        (tmp_path / "train.jsonl").write_bytes(data)
    with pytest.raises(InputError) as caught:
        partition_of(tmp_path, character_model, **settings)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["a", "b", "a"], "heldout.jsonl:3: id: 'a' is the id of line 1 too"),
        (["a", 7, "7"], "heldout.jsonl:3: id: '7' is the id of line 2 too"),
        (["a", ""], "heldout.jsonl:2: id: must not be empty"),
        (["a", None], "heldout.jsonl:2: id: must be a text or a number, not null"),
    ],
)
def test_holdout_ids_are_texts_or_numbers_that_differ(
    names: list[Any], message: str, tmp_path: Path, character_model: Path
) -> None:
    (tmp_path / "train.jsonl").write_bytes(GOOD)
    rows = [{"id": n, "question": f"Q{i}", "answer": "1"} for i, n in enumerate(names)]
    write_rows(tmp_path / "heldout.jsonl", rows)
    with pytest.raises(InputError) as caught:
        partition_of(tmp_path, character_model, id="id")
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("settings", "fault"),
    [
        ({"benchmark": " "}, ("task.benchmark", 'expected text like "my-math", found " "')),
        (
            {"model": ""},
            ("task.model", 'expected text like "Qwen/Qwen2.5-0.5B-Instruct", found ""'),
        ),
        ({"ngram": 0}, ("task.ngram", "expected 1 or more, found 0")),
        ({"train_prompts": -1}, ("task.train_prompts", "expected 0 or more, found -1")),
        ({"holdout_tasks": "all"}, ("task.holdout_tasks", 'expected a whole number, found "all"')),
        (
            {"dtype": "float8"},
            ("task.dtype", 'expected "float32", "bfloat16" or "float16", found "float8"'),
        ),
        (
            {"prompt_template": "{text}"},
            ("task.prompt_template", 'expected text like "Question: {prompt}", found "{text}"'),
        ),
        ({"split": "train"}, ("task.split", 'expected "validation" or "test", found "train"')),
        ({"test_read": "no"}, ("task.test_read", 'expected true or false, found "no"')),
        ({"instructions": "a"}, ("task.instructions", "unknown key; did you mean 'instruction'?")),
        ({"name": "json"}, ("task.name", 'expected "addition", "gsm8k" or "jsonl", found "json"')),
    ],
)
def test_settings_that_no_task_has_are_named(settings: Any, fault: tuple[str, str]) -> None:
    task = {"name": "jsonl", "benchmark": "b", "train": "t", "holdout": "h", "reward": "r:f"}
    document = {"seeds": [1], "arms": {}, "task": {**task, "model": "m", **settings}}
    assert list(faults_in_words(document, "study")) == [fault]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"split": "test", "test_read": False},
            "task.test_read: false, but the holdout is the test split",
        ),
        ({"answer": "question"}, "task.answer: 'question' is the field of the prompt"),
        ({"reward": "equal"}, "task.reward: must be exact_match, math_equal, math_verify or 'm"),
        ({"reward": "my reward:f"}, "task.reward: must be exact_match, math_equal, math_verify or"),
        ({"reward": "none.such:f"}, "task.reward: no module 'none.such' beside the study file"),
        ({"reward": "sys:exit"}, "task.reward: no module 'sys'"),
        ({"reward": "numpy:f"}, "task.reward: 'numpy' is an installed module's name; rename"),
        ({"reward": "json:f"}, "task.reward: 'json' is an installed module's name; rename"),
        ({"reward": "my_reward:none"}, "my_reward.py: has no function 'none'"),
        ({"reward": "my_reward:digit"}, "my_reward.py: has no function 'digit'"),
        ({"reward": "my_reward:alone"}, "my_reward.py: alone must take (response, answer): "),
        ({"reward": "my_reward:score"}, "task.reward: my_reward:score returned 1.0, not True"),
        ({"reward": "broken:f"}, "broken.py: cannot be imported: ModuleNotFoundError: No module"),
        ({"reward": "unfinished:f"}, "unfinished.py: cannot be imported: SyntaxError: "),
        ({"reward": "leaves:f"}, "leaves.py: cannot be imported: SystemExit: two"),
        ({"reward": f"{'n' * 300}:f"}, "task.reward: no module 'nnn"),
        ({"reward": f"none.{'n' * 300}:f"}, "task.reward: no module 'none.nnn"),
        ({"model": "n" * 300}, "task.model: no tokenizer can be loaded from 'nnn"),
        ({"model": "nobody/none"}, "task.model: no tokenizer can be loaded from 'nobody/none'"),
    ],
)
def test_settings_of_which_no_task_can_be_made_are_refused(
    settings: Any, message: str, tmp_path: Path, character_model: Path
) -> None:
    (tmp_path / "train.jsonl").write_bytes(GOOD)
    (tmp_path / "heldout.jsonl").write_bytes(OTHER)
    for name, text in (
        ("my_reward", REWARD),
        ("my_helper", HELPER),
        ("broken", "import no_such_module"),
        ("unfinished", "def f("),
        ("leaves", "raise SystemExit('two\\nlines')"),
        ("numpy", REWARD),
        ("json", REWARD),
    ):
        (tmp_path / f"{name}.py").write_text(text)
    with pytest.raises(InputError) as caught:
        partition_of(tmp_path, character_model, **settings)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("error", ["ImportError", "unittest.SkipTest", "SystemExit"])
def test_a_reward_in_a_package_that_cannot_be_imported_is_named(
    error: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"leaves_by_{error.rpartition('.')[2].lower()}"
    package = tmp_path / "installed" / name
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(f"import unittest\nraise {error}('two\\nlines')\n")
    monkeypatch.syspath_prepend(package.parent)
    with pytest.raises(UsageError, match=rf"^reward: .*'{name}\.judge'[^\n]*$"):
        reward_program(tmp_path, f"{name}.judge:f")


def test_a_damaged_model_is_named_with_the_key(tmp_path: Path, character_model: Path) -> None:
    path = lay_out(tmp_path, character_model)
    weights = tmp_path / "tiny-chat" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:100])
    with pytest.raises(InputError, match=r"toml:\d+: task\.model: no model can be loaded "):
        prepare(read_study(path), str(path), Ledger(tmp_path / "x"))


def test_weights_that_are_no_numbers_are_named_with_the_key(
    tmp_path: Path, character_model: Path
) -> None:
    from safetensors.torch import load_file, save_file

    path = lay_out(tmp_path, character_model)
    weights = load_file(tmp_path / "tiny-chat" / "model.safetensors")
    weights["model.norm.weight"][0] = float("nan")
    save_file(weights, tmp_path / "tiny-chat" / "model.safetensors", metadata={"format": "pt"})
    wanted = r"toml:\d+: task\.model: .*tiny-chat has weights that are no finite numbers"
    with pytest.raises(InputError, match=wanted):
        prepare(read_study(path), str(path), Ledger(tmp_path / "x"))


def test_rows_of_several_files_are_filtered_mixed_and_put_in_one_order(
    tmp_path: Path, character_model: Path
) -> None:
    (tmp_path / "heldout.jsonl").write_bytes(OTHER)
    levels: dict[str, list[float]] = {"train": [3, 1, 2], "more": [0, 9, 2.5]}
    for name, values in levels.items():
        rows = [
            {"question": f"{name} {v}?", "answer": "1", "level": v, "tags": ["x"]} for v in values
        ]
        write_rows(tmp_path / f"{name}.jsonl", rows)
    partition = partition_of(
        tmp_path,
        character_model,
        where={"level": {"min": 1, "max": 3}},
        order="-level",
        train_prompts=2,
        mixture=[{"train": "more.jsonl", "prompts": 1}],
    )
    assert [item.columns["level"] for item in partition.train] == [3, 2.5, 2]
    assert [item.row for item in partition.train] == [0, 5, 2]
    own = {"question": "more 2.5?", "answer": "1"}
    assert partition.train[1].columns == {**own, "level": 2.5, "tags": ["x"]}
    assert len(partition.dataset["mixture_sha256"]) == 1


def test_blank_lines_a_mark_and_the_ends_of_lines_are_passed_over(
    tmp_path: Path, character_model: Path
) -> None:
    data = b"\xef\xbb\xbf\r\n" + GOOD.replace(b"\n", b"\r\n") + b"\n  \n" + row("Why?", -0.50)[:-1]
    (tmp_path / "train.jsonl").write_bytes(data)
    (tmp_path / "heldout.jsonl").write_bytes(OTHER)
    partition = partition_of(tmp_path, character_model, instruction="Think.")
    assert [(i.id, i.row, i.answer) for i in partition.train] == [
        ("train-0", 0, "2"),
        ("train-1", 1, "-0.5"),
    ]
    assert [i.id for i in partition.holdout] == ["holdout-0"]
    lines = GOOD.replace(b"\n", b"\r\n") + row("Why?", -0.50)[:-1]
    assert partition.dataset["partition_sha256"]["train"] == hashlib.sha256(lines).hexdigest()
    assert partition.dataset["source_sha256"] == hashlib.sha256(data).hexdigest()


def test_a_number_is_an_answer_to_its_last_digit(tmp_path: Path, character_model: Path) -> None:
    (tmp_path / "train.jsonl").write_bytes(
        b'{"question": "Q", "answer": 0.10000000000000000000010}\n'
    )
    (tmp_path / "heldout.jsonl").write_bytes(OTHER)
    (item,) = partition_of(tmp_path, character_model, reward="math_equal").train
    assert item.answer == "0.10000000000000000000010"
    assert type(item.answer) is str


SYSTEM = {"role": "system", "content": "You are given a sum, and answer with one number alone."}


def test_prompts_become_chat_where_the_tokenizer_has_a_template(
    tmp_path: Path, character_model: Path
) -> None:
    plain = tmp_path / "plain"
    shutil.copytree(character_model, plain)
    (plain / "chat_template.jinja").unlink()
    (tmp_path / "heldout.jsonl").write_bytes(OTHER)
    question = [SYSTEM, {"role": "user", "content": "1 and 1?"}]
    (tmp_path / "train.jsonl").write_bytes(GOOD + row(question))

    def prompts(model: Path, **changes: Any) -> list[Any]:
        partition = partition_of(tmp_path, model, **changes)
        return [i.prompt for i in (*partition.train, *partition.holdout)]

    def user(text: str) -> dict[str, str]:
        return {"role": "user", "content": text}

    assert prompts(character_model, instruction="Be brief.") == [
        [user("What is 1 plus 1?\n\nBe brief.")],
        [SYSTEM, user("1 and 1?\n\nBe brief.")],
        [user("How much are 2 and 2?\n\nBe brief.")],
    ]
    assert prompts(character_model, instruction="Be brief.", prompt_template="{{Q}} {prompt}") == [
        [user("{{Q}} What is 1 plus 1?\n\nBe brief.")],
        [SYSTEM, user("{{Q}} 1 and 1?\n\nBe brief.")],
        [user("{{Q}} How much are 2 and 2?\n\nBe brief.")],
    ]
    with pytest.raises(InputError, match=r"train\.jsonl:2: question: chat messages, but .*plain"):
        prompts(plain)
    (tmp_path / "train.jsonl").write_bytes(GOOD)
    assert prompts(plain, instruction="Be brief.") == [
        "What is 1 plus 1?\n\nBe brief.",
        "How much are 2 and 2?\n\nBe brief.",
    ]


def test_an_arm_may_set_its_training_prompts_in_a_template_of_its_own(study_path: Any) -> None:
    path = study_path()
    own = '[arms.fixed-clip.task]\nprompt_template = "Question: {prompt}"\n'
    path.write_text(path.read_text() + own)
    bench = prepare(read_study(path), str(path), Ledger(path.parent / "x"))
    method, control = bench.study.arms
    (asked,) = bench.source(control).partition.train[0].prompt
    assert asked["content"] == "Question: What is 20 plus 20?\n\nAnswer with a number."
    (held,) = bench.held.items[0].prompt
    assert held["content"] == "What is 0 plus 0?\n\nAnswer with a number."
    fields = changed([bench.protocol(method), bench.protocol(control)])
    assert {"task_prompt_template", "training_data_sha256"} <= set(fields)


def test_roles_that_the_template_refuses_are_named_before_training(
    tmp_path: Path, character_model: Path
) -> None:
    strict = tmp_path / "strict"
    shutil.copytree(character_model, strict)
    (strict / "chat_template.jinja").write_text(
        "{% for m in messages %}{% if m['role'] != 'user' %}"
        "{{ raise_exception('only the user speaks') }}{% endif %}{{ m['content'] }}{% endfor %}"
    )
    (tmp_path / "heldout.jsonl").write_bytes(OTHER)
    (tmp_path / "train.jsonl").write_bytes(
        GOOD + row([SYSTEM, {"role": "user", "content": "1 and 1?"}])
    )
    message = r"train\.jsonl:2: question: refused by the chat template: only the user speaks"
    with pytest.raises(InputError, match=message):
        partition_of(tmp_path, strict)


def test_a_shared_system_message_or_instruction_drops_no_row(
    tmp_path: Path, character_model: Path
) -> None:
    for name, numbers in (("train", range(10)), ("heldout", range(10, 13))):
        rows = [
            {"question": [SYSTEM, {"role": "user", "content": f"{n}+1?"}], "answer": n + 1}
            for n in numbers
        ]
        write_rows(tmp_path / f"{name}.jsonl", rows)
    partition = partition_of(tmp_path, character_model, instruction=SYSTEM["content"])
    assert (len(partition.train), partition.dropped) == (10, 0)


def test_rows_that_share_text_with_the_holdout_are_dropped_and_counted_up_to_the_last_one_used(
    tmp_path: Path, character_model: Path
) -> None:
    held = "a train leaves at noon and another leaves one hour later"
    questions = [f"{held} {n}" if n % 2 else f"question {n}" for n in range(8)]
    write_rows(tmp_path / "heldout.jsonl", [{"question": held, "answer": 1}])
    write_rows(tmp_path / "train.jsonl", [{"question": q, "answer": 1} for q in questions])
    for asked, rows, dropped in ((0, [0, 2, 4, 6], 4), (2, [0, 2], 1), (4, [0, 2, 4, 6], 3)):
        partition = partition_of(tmp_path, character_model, train_prompts=asked)
        assert [i.row for i in partition.train] == rows
        assert partition.dropped == dropped


def test_more_dropped_than_kept_is_no_fault_of_the_file(study_path: Any, tmp_path: Path) -> None:
    path = study_path(("ngram = 20", "ngram = 3"))
    shared = [{"question": f"What is {n % 4} plus {n}?", "answer": n} for n in range(9)]
    clean = [{"question": f"{n} + {n} =", "answer": 2 * n} for n in range(4)]
    write_rows(path.parent / "data" / "train.jsonl", shared + clean)
    assert audit_train(str(path)) == 0
    document = json.loads((tmp_path / "results.json").read_text())
    assert document["holdout"] == {"train_rows": 13, "holdout_rows": 4, "ngram": 3, "dropped": 9}
    assert verified(document, tmp_path).exit_status == 0


def test_paths_are_relative_to_the_study_file_wherever_it_is_started(
    study_path: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = study_path()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    bench = prepare(read_study(path), str(path), Ledger(tmp_path / "x"))
    monkeypatch.chdir(tmp_path)
    here = prepare(read_study("study.toml"), "study.toml", Ledger(tmp_path / "x"))
    assert pieces(here) == pieces(bench)
    (tmp_path / "data" / "heldout.jsonl").unlink()
    with pytest.raises(InputError, match=r"^data/heldout\.jsonl: No such file or directory"):
        prepare(read_study("study.toml"), "study.toml", Ledger(tmp_path / "x"))


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("my_reward.py", "any(", "all("),
        ("study.toml", "a number", "one number"),
        ("study.toml", 'id = "name"\n', ""),
        ("study.toml", "has_digit", "fails"),
        ("data/heldout.jsonl", "What is 2 plus", "What makes 2 plus"),
        ("data/train.jsonl", "What is 22 plus", "What makes 22 plus"),
    ],
)
def test_finished_pieces_are_made_again_where_prompts_or_judge_changed(
    file: str, old: str, new: str, study_path: Any, tmp_path: Path
) -> None:
    path = study_path()

    def fingerprints() -> set[str]:
        bench = prepare(read_study(path), str(path), Ledger(tmp_path / "x"))
        return {p.fingerprint for p in pieces(bench)}

    before = fingerprints()
    assert fingerprints() == before
    text = (tmp_path / file).read_text()
    assert old in text
    (tmp_path / file).write_text(text.replace(old, new, 1))
    assert not fingerprints() & before


def test_a_worker_with_another_version_of_the_reward_refuses_it(tmp_path: Path) -> None:
    (tmp_path / "judge.py").write_text("def f(response, answer):\n    return True\n")
    program = reward_program(tmp_path, "judge:f")
    (tmp_path / "judge.py").write_text("def f(response, answer):\n    return False\n")
    travelled = pickle.loads(pickle.dumps(program))
    with pytest.raises(AuditError, match=r"judge\.py: not the reward program that the study"):
        travelled.scorer()


def test_rewards_of_one_name_in_two_folders_judge_each_for_itself(tmp_path: Path) -> None:
    for verdict in (True, False):
        folder = tmp_path / str(verdict)
        folder.mkdir()
        (folder / "judge.py").write_text(f"def f(response, answer):\n    return {verdict}\n")
        assert reward_program(folder, "judge:f").scorer()("", "") == Score(verdict, None)


def test_a_module_in_a_package_beside_the_study_may_import_its_neighbours(tmp_path: Path) -> None:
    package = tmp_path / "rewards_of_mine"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "words.py").write_text("RIGHT = 'yes'\n")
    (package / "judge.py").write_text(
        "from .words import RIGHT\ndef f(response, answer):\n    return response == RIGHT\n"
    )
    program = reward_program(tmp_path, "rewards_of_mine.judge:f")
    assert program.sha256 == sha256(package / "judge.py")
    assert program.scorer()("yes", "").correct


def test_an_installed_reward_is_hashed_where_it_is_installed(tmp_path: Path) -> None:
    from audit.training import rewards

    program = reward_program(tmp_path, "audit.training.rewards:math_equal")
    assert program.sha256 == sha256(Path(rewards.__file__))
    assert program.scorer()("It is 1,000.", "1000") == Score(correct=True, parsed=True)


@pytest.mark.parametrize(
    "verdict",
    ["1", "None", "'yes\\n' * 100", "Score(1, True)", "Score(False, 'no')", "Score(True, False)"],
)
def test_a_verdict_that_says_neither_right_nor_wrong_is_an_error(
    verdict: str, tmp_path: Path
) -> None:
    (tmp_path / "judge.py").write_text(
        "from audit.training.rewards import Score\n"
        f"def f(response, answer):\n    return {verdict}\n"
    )
    with pytest.raises(TypeError, match="judge:f returned") as caught:
        reward_program(tmp_path, "judge:f").scorer()("a", "b")
    assert len(str(caught.value)) < 100
