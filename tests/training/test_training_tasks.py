from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
import torch

from audit.errors import InputError, UsageError
from audit.training.parameters import parameters_sha256
from audit.training.tasks.addition import Addition
from audit.training.tasks.checkpoint import model_beside
from audit.training.tasks.gsm8k import (
    PARTITION_SHA256,
    SOURCE_SHA256,
    Gsm8k,
    in_validation,
    split_lines,
    verified_lines,
)
from training.studies import save_character_model

GSM8K = Path(__file__).resolve().parents[3] / "shared" / "data" / "gsm8k" / "train.jsonl"


def test_train_and_holdout_share_no_problem_and_hash_alike_every_time() -> None:
    first, second = Addition().partition(), Addition().partition()
    assert first == second
    assert len(first.train) == 2000
    assert len(first.holdout) == 300
    assert not {i.prompt for i in first.train} & {i.prompt for i in first.holdout}
    assert all(sum(map(int, i.prompt[:-1].split("+"))) == int(i.answer) for i in first.train)
    assert {len(i.answer) for i in first.holdout} == {2}


def test_the_partition_hashes_are_of_the_lines(task: Any) -> None:
    partition = task.partition()
    lines = "".join(
        json.dumps({"question": i.prompt, "answer": i.answer}) + "\n" for i in partition.holdout
    )
    recorded = partition.dataset["partition_sha256"]["validation"]
    assert recorded == hashlib.sha256(lines.encode()).hexdigest()


def test_the_warm_up_is_the_same_from_any_random_state(task: Any, tmp_path: Path) -> None:
    hashes = []
    for number in (1, 2):
        torch.manual_seed(number)
        hashes.append(parameters_sha256(task.fresh_model(tmp_path / str(number))))
    again = parameters_sha256(task.fresh_model(tmp_path / "1"))
    assert hashes == [again, again]


def test_the_tokenizer_round_trips_a_problem(task: Any, cache: Path) -> None:
    tokens = task.tokenizer(cache)
    ids = tokens("07+12=").input_ids
    assert len(ids) == 6
    assert tokens.decode(ids) == "07+12="


def test_the_partition_rule_folds_white_space() -> None:
    question = "How many clips did Natalia sell?"
    assert in_validation(question) == in_validation("  How many\n clips  did Natalia\tsell? ")


def test_the_partition_rule_is_the_published_formula() -> None:
    questions = [f"How many is {n} and {n + 1}?" for n in range(2000)]
    share = sum(map(in_validation, questions)) / len(questions)
    assert 0.08 < share < 0.12
    for question in questions[:50]:
        prefix = hashlib.sha256(question.encode()).hexdigest()[:16]
        assert in_validation(question) == (int(prefix, 16) < 0.1 * 2**64)


def test_split_lines_puts_every_row_on_one_side() -> None:
    lines = [json.dumps({"question": f"What is {n}?"}).encode() + b"\n" for n in range(300)]
    train, validation = split_lines(lines)
    assert sorted(train + validation) == list(range(300))
    assert validation


def test_a_file_that_is_not_the_published_one_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "test.jsonl"
    path.write_text('{"question": "1+1?", "answer": "#### 2"}\n')
    with pytest.raises(InputError, match="not the published GSM8K"):
        verified_lines(path)
    with pytest.raises(InputError, match="No such file"):
        verified_lines(tmp_path / "missing.jsonl")


@pytest.mark.skipif(not GSM8K.is_file(), reason="GSM8K's train.jsonl is not beside the checkout")
def test_the_published_file_splits_into_the_published_partitions(tmp_path: Path) -> None:
    lines = verified_lines(GSM8K)
    train, validation = split_lines(lines)
    assert (len(train), len(validation)) == (6757, 716)
    partition = Gsm8k(data=str(GSM8K), model="none", holdout_tasks=120).partition()
    assert partition.dataset["source_sha256"] == SOURCE_SHA256
    assert partition.dataset["partition_sha256"] == PARTITION_SHA256
    assert len(partition.holdout) == 120
    assert len(partition.train) + partition.dropped == 6757
    assert {i.row for i in partition.holdout} <= set(validation)
    assert all(i.answer for i in partition.holdout)
    changed = tmp_path / "train.jsonl"
    changed.write_bytes(GSM8K.read_bytes().replace(b"Natalia", b"Natalie", 1))
    with pytest.raises(InputError, match="not the published GSM8K"):
        verified_lines(changed)


def test_a_warm_up_that_leaves_no_finite_weights_is_refused(tmp_path: Path) -> None:
    task = Addition(
        limit=20, train_prompts=10, holdout_tasks=5, warm_up_steps=3, warm_up_learning_rate=1e30
    )
    with pytest.raises(UsageError, match=r"^warm_up_learning_rate: leaves weights that are no fin"):
        task.prepare(tmp_path)


def test_a_gsm8k_file_of_a_name_that_no_file_has_is_named() -> None:
    with pytest.raises(InputError, match=r"^a\\0b: cannot be read: embedded null byte"):
        verified_lines(Path("a\0b"))


def gsm8k_of(monkeypatch: pytest.MonkeyPatch, folder: Path, **settings: Any) -> Any:
    """The task on sixty made rows, of which three are validation."""
    from audit.training.arms import task_of
    from audit.training.study_file import TaskSettings
    from audit.training.tasks import gsm8k

    rows = [
        json.dumps({"question": f"What is {n} plus {n}?", "answer": f"#### {2 * n}"}).encode()
        for n in range(60)
    ]
    monkeypatch.setattr(gsm8k, "verified_lines", lambda path: rows)
    every = {"data": "train.jsonl", "model": "m", "ngram": 20, "holdout_tasks": 3, **settings}
    return task_of(TaskSettings("gsm8k", every), str(folder / "study.toml"))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"holdout_tasks": 4}, "task.holdout_tasks: 4 is more than the 3 validation rows of "),
        ({"train_prompts": 58}, "task.train_prompts: 58 is more than the 57 train rows of "),
        ({"ngram": 2}, "task.ngram: each of the 57 train rows of "),
    ],
)
def test_more_gsm8k_rows_than_there_are_is_refused_with_the_file_and_the_key(
    settings: Any, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from audit.training.arms import task_errors

    study = str(tmp_path / "study.toml")
    with pytest.raises(InputError) as caught, task_errors(study):
        gsm8k_of(monkeypatch, tmp_path, **settings).partition()
    assert str(caught.value).startswith(f"{study}: {message}{tmp_path / 'train.jsonl'}")


def test_gsm8k_asks_through_a_chat_template_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_character_model(tmp_path / "plain")
    (tmp_path / "plain" / "chat_template.jinja").unlink()
    task = gsm8k_of(monkeypatch, tmp_path, model="plain")
    with pytest.raises(UsageError, match=r"^model: .*plain has no chat template"):
        task.prepare(tmp_path)


def test_a_model_that_is_no_folder_beside_the_study_is_a_public_id(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    assert model_beside(tmp_path, "there") == str((tmp_path / "there").resolve())
    assert model_beside(tmp_path, "owner/name") == "owner/name"
