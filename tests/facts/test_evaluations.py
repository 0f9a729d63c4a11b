"""Evaluations that measured nothing, or little."""

from __future__ import annotations

from typing import Any

import pytest
from cases import full, places

from audit.facts.evaluations import AnswerCounts, answer_counts
from audit.results import Evaluation

TASKS = 10


def block(**more: Any) -> dict[str, Any]:
    return {"benchmark": "b", "correct": [1] * TASKS, "samples": [2] * TASKS, **more}


def counted(**more: Any) -> AnswerCounts:
    found = answer_counts(Evaluation("", block(**more)))
    assert found is not None
    return found


def test_answers_are_counted_by_what_became_of_them() -> None:
    lengths = [0.0, 0.0, *[5.0] * 8]
    found = counted(errored=[1] * TASKS, unparsed=[0] * TASKS, truncated=[2] * TASKS)
    assert found == AnswerCounts(20, 10, 10, 0, 20, None)
    assert counted(mean_tokens=lengths).empty == 4
    assert found.all_cut_off
    assert not found.all_unparsed
    assert not found.nothing_drawn


@pytest.mark.parametrize(
    ("lists", "dead"),
    [
        ({"errored": [2] * TASKS}, True),
        ({"mean_tokens": [0.0] * TASKS}, True),
        ({"errored": [2] * 5 + [0] * 5, "mean_tokens": [0.0] * 5 + [4.0] * 5}, False),
        ({"errored": [1] * TASKS}, False),
        ({}, False),
    ],
)
def test_nothing_came_out_where_every_answer_errored_or_has_no_token(
    lists: dict[str, Any], dead: bool
) -> None:
    assert counted(correct=[0] * TASKS, **lists).nothing_drawn == dead


def test_scores_are_counted_as_tasks() -> None:
    evaluation = Evaluation("", {"scores": [0.0, 0.5, 1.0]})
    assert answer_counts(evaluation) == AnswerCounts(3, 1.5, None, None, None, None)
    assert answer_counts(Evaluation("", {"benchmark": "b"})) is None


def study(**more: Any) -> dict[str, Any]:
    run = {"seed": 1, "evaluation": block(**more)}
    return {"schema_version": 2, "method": "m", "seed_results": [run]}


WHERE = "/seed_results/0/evaluation"


@pytest.mark.parametrize(
    ("lists", "rule", "pointer"),
    [
        ({"correct": [0] * TASKS, "errored": [2] * TASKS}, "EVAL008", WHERE),
        ({"correct": [0] * TASKS, "mean_tokens": [0] * TASKS}, "EVAL008", WHERE),
        ({"correct": [0] * TASKS}, "EVAL009", WHERE),
        ({"correct": [0] * TASKS, "unparsed": [2] * TASKS}, "EVAL009", WHERE),
        ({"mean_tokens": [0, 0, *[9] * 8]}, "EVAL010", WHERE + "/mean_tokens"),
        ({"truncated": [2] * TASKS}, "EVAL011", WHERE + "/truncated"),
    ],
)
def test_an_evaluation_that_measured_nothing_is_a_warning(
    lists: dict[str, Any], rule: str, pointer: str
) -> None:
    assert places(study(**lists), rule) == {pointer}
    assert places(study(), rule) == set()
    assert places(full(), rule) == set()


@pytest.mark.parametrize(
    ("lists", "rule"),
    [
        ({"correct": [0] * TASKS, "errored": [2] * TASKS}, "EVAL009"),  # EVAL008 says it
        ({"correct": [0] * 3, "samples": [2] * 3}, "EVAL009"),  # six wrong answers are chance
        ({"mean_tokens": [0, *[9] * 9]}, "EVAL010"),  # a tenth is not more than a tenth
        ({"truncated": [2] * 9 + [1]}, "EVAL011"),
    ],
)
def test_what_is_said_elsewhere_or_may_be_chance_is_no_warning(
    lists: dict[str, Any], rule: str
) -> None:
    assert places(study(**lists), rule) == set()
