from __future__ import annotations

import itertools
import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
import torch

from audit.training.components import ComponentReward
from audit.training.evaluation import Condition, Outcome, evaluate, outcome_of
from audit.training.rewards import Score


def condition(**changes: Any) -> Condition:
    settings = {"samples": 4, "temperature": 1.0, "max_tokens": 4, "seed": 5, "batch_size": 160}
    return Condition(**{**settings, **changes})


@pytest.fixture(scope="module")
def model(task: Any, cache: Path) -> Any:
    return task.fresh_model(cache)


def sample(model: Any, task: Any, cache: Path, scorer: Any = None, **changes: Any) -> Outcome:
    items = task.partition().holdout
    tokens = task.tokenizer(cache)
    return evaluate(model, tokens, items, scorer or task.scorer, condition(**changes))


def test_counts_are_by_task_and_add_up_to_the_accuracy(model: Any, task: Any, cache: Path) -> None:
    outcome = sample(model, task, cache)
    assert len(outcome.task_ids) == 40 == len(set(outcome.task_ids))
    assert 0 < sum(outcome.correct) < 160
    assert outcome.accuracy == sum(outcome.correct) / 160
    metrics = outcome.metrics()
    assert metrics["examples"] == 160
    assert (metrics["accuracy"] * 160).is_integer()
    assert metrics["generated_tokens"] == sum(outcome.tokens)


def test_characters_are_those_of_the_answers_and_survive_json(
    model: Any, task: Any, cache: Path
) -> None:
    seen: list[str] = []

    def scorer(response: str, answer: str) -> Score:
        seen.append(response)
        if len(seen) % 4 == 0:
            raise ValueError("cannot read this")  # its characters count as its tokens do
        return Score(correct=False, parsed=False)

    outcome = sample(model, task, cache, scorer)
    by_task = tuple(sum(map(len, seen[at : at + 4])) for at in range(0, 160, 4))
    assert outcome.characters == by_task
    assert len(set(by_task)) > 1
    assert outcome.metrics()["mean_response_chars"] == sum(by_task) / 160
    assert outcome_of(json.loads(json.dumps(asdict(outcome)))) == outcome


def test_evaluation_leaves_the_random_state_and_the_mode_alone(
    model: Any, task: Any, cache: Path
) -> None:
    model.train()
    before = torch.random.get_rng_state()
    sample(model, task, cache)
    assert torch.equal(before, torch.random.get_rng_state())
    assert model.training


def test_the_same_seed_gives_the_same_counts_and_another_seed_others(
    model: Any, task: Any, cache: Path
) -> None:
    first, again, other = (sample(model, task, cache, seed=s) for s in (5, 5, 6))
    assert replace(again, date=first.date) == first
    assert first.correct != other.correct


def test_greedy_outcomes_do_not_depend_on_the_batch_size(
    model: Any, task: Any, cache: Path
) -> None:
    outcomes = [
        sample(model, task, cache, temperature=0.0, samples=1, batch_size=size) for size in (7, 40)
    ]
    assert outcomes[0].correct == outcomes[1].correct


def test_a_scorer_that_raises_is_counted_as_an_error_and_not_as_right(
    model: Any, task: Any, cache: Path
) -> None:
    calls = itertools.count()

    def scorer(response: str, answer: str) -> Score:
        if next(calls) % 4 == 0:
            raise ValueError("cannot read this")
        return Score(correct=False, parsed=False)

    outcome = sample(model, task, cache, scorer)
    assert outcome.errored == (1,) * 40
    assert outcome.unparsed == (3,) * 40
    assert sum(outcome.correct) == 0


def test_a_response_cut_by_the_limit_is_counted_as_truncated(
    model: Any, task: Any, cache: Path
) -> None:
    outcome = sample(model, task, cache, max_tokens=1)
    # One token can only end a response that says nothing.
    assert sum(outcome.tokens) == 160
    assert sum(outcome.truncated) > 150


def test_a_component_gets_the_tokens_of_an_answer_with_its_end(
    model: Any, task: Any, cache: Path
) -> None:
    tokens = task.tokenizer(cache)
    seen: list[tuple[str, list[int]]] = []

    def read(completions: Any, completion_ids: Any, **_: Any) -> list[float]:
        seen.extend(zip(completions, completion_ids, strict=True))
        return [len(ids) / 4 for ids in completion_ids]

    items = task.partition().holdout
    component = ComponentReward("length", read, "wrong", {}, batched=True)
    outcome = evaluate(model, tokens, items, task.scorer, condition(), components=[component])
    assert component.errored == 0
    (totals, _) = outcome.components["length"]
    assert totals == tuple(count / 4 for count in outcome.tokens)
    ended = [ids for _, ids in seen if ids[-1] == tokens.eos_token_id]
    assert len(ended) == len(seen) - sum(outcome.truncated) > 0
    assert all(tokens.decode(ids, skip_special_tokens=True) == text for text, ids in seen)


def test_answers_to_which_a_component_does_not_apply_have_no_score_and_are_counted(
    model: Any, task: Any, cache: Path
) -> None:
    def read(completions: Any, row: Any, **_: Any) -> list[float | None]:
        return [
            None if place % 4 == 0 or "7" in c else 1.0
            for c, place in zip(completions, row, strict=True)
        ]

    items = task.partition().holdout[:12]
    component = ComponentReward("sevenless", read, "wrong", {}, batched=True)
    tokens = task.tokenizer(cache)
    outcome = evaluate(model, tokens, items, task.scorer, condition(), components=[component])
    asked = [item.id for item in items if item.row % 4]
    (block,) = outcome.component_blocks("b", "validation", 0)
    assert set(block["task_ids"]) <= set(asked)
    assert 0 < sum(block["errored"]) < 4 * len(asked)
    for score, errored, samples in zip(
        block["scores"], block["errored"], block["samples"], strict=True
    ):
        assert (score, samples) == ((4 - errored) / 4, 4)
    assert outcome_of(json.loads(json.dumps(asdict(outcome)))) == outcome
    component.function = lambda completions, **_: [None] * len(completions)
    nowhere = evaluate(model, tokens, items, task.scorer, condition(), components=[component])
    assert nowhere.component_blocks("b", "validation", 0) == []


def test_pass_at_k_is_the_share_of_k_subsets_with_a_right_answer() -> None:
    def outcome(correct: tuple[int, ...]) -> Outcome:
        zeros = (0,) * len(correct)
        return Outcome(
            task_ids=("a", "b")[: len(correct)],
            correct=correct,
            errored=zeros,
            truncated=zeros,
            unparsed=zeros,
            tokens=zeros,
            characters=zeros,
            condition=condition(),
            prompt_sha256="",
            date="",
        )

    for right in range(5):
        draws = [1] * right + [0] * (4 - right)
        for k in range(1, 5):
            subsets = list(itertools.combinations(draws, k))
            expected = sum(any(s) for s in subsets) / len(subsets)
            assert outcome((right,)).pass_at(k) == pytest.approx(expected)
    assert outcome((1, 3)).pass_at(1) == outcome((1, 3)).accuracy
    with pytest.raises(ValueError, match="between 1 and 4"):
        outcome((1,)).pass_at(5)


def test_what_a_scorer_does_not_say_of_parsing_is_not_counted(
    model: Any, task: Any, cache: Path
) -> None:
    silent = sample(model, task, cache, lambda response, answer: Score(False, None))
    assert silent.unparsed is None
    assert "unparsed" not in silent.block("b", "validation", 0)
    told = sample(model, task, cache, lambda response, answer: Score(False, False))
    assert told.block("b", "validation", 0)["unparsed"] == [4] * 40


def test_a_plain_prompt_is_read_with_the_special_tokens_that_training_gives_it(
    model: Any, task: Any, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tokenizers.processors import TemplateProcessing

    tokens = task.tokenizer(cache)
    begin = ("<unk>", tokens.unk_token_id)
    tokens.backend_tokenizer.post_processor = TemplateProcessing(
        single="<unk> $A", special_tokens=[begin]
    )
    read: list[Any] = []
    sound = model.generate

    def generate(**arguments: Any) -> Any:
        read.extend(arguments["input_ids"].tolist())
        return sound(**arguments)

    monkeypatch.setattr(model, "generate", generate)
    items = task.partition().holdout[:2]
    evaluate(model, tokens, items, task.scorer, condition(samples=1))
    assert read == tokens(text=[i.prompt for i in items])["input_ids"]
    assert {ids[0] for ids in read} == {tokens.unk_token_id}
    read.clear()
    tokens.chat_template = "{{ begin + messages[0]['content'] }}"
    chat = [replace(i, prompt=[{"role": "user", "content": i.prompt}]) for i in items]
    given = condition(samples=1, chat_template_kwargs={"begin": "<unk>"})
    evaluate(model, tokens, chat, task.scorer, given)
    assert read == tokens(text=[i.prompt for i in items])["input_ids"]


def test_no_memory_for_the_base_is_one_line_that_names_the_setting(
    study_path: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from audit.errors import UsageError
    from audit.training import evaluation
    from training.studies import audit_train

    def full(*_: Any) -> None:
        raise MemoryError

    monkeypatch.setattr(evaluation, "_sample", full)
    with pytest.raises(UsageError, match=r"1200 responses at once; set evaluation\.batch_size"):
        audit_train(str(study_path()), "-o", str(tmp_path / "r.json"))
