"""Edited copies of one evaluation are told from two draws of one model."""

from __future__ import annotations

import numpy as np
import pytest

from audit.facts.likeness import copied_answers
from audit.report import verify
from audit.results import Evaluation, from_document

TASKS = 120


def drawn(number: int, samples: int = 4, tasks: int = TASKS) -> list[list[int]]:
    """Return two draws from one and the same model."""
    random = np.random.default_rng(number)
    rates = 1 / (1 + np.exp(-random.normal(-0.7, 1.8, tasks)))
    return [[int(c) for c in row] for row in random.binomial(samples, rates, (2, tasks))]


def edited(counts: list[int], every: int = 10, samples: int = 4) -> list[int]:
    return [c if i % every else c + (1 if c < samples else -1) for i, c in enumerate(counts)]


def evaluation(counts: list[int], samples: int = 4, ids: list[str] | None = None) -> Evaluation:
    block = {"correct": counts, "samples": [samples] * len(counts)}
    return Evaluation("", block if ids is None else {**block, "task_ids": ids})


@pytest.mark.parametrize("samples", [2, 4, 16])
def test_two_draws_of_one_model_are_no_copies(samples: int) -> None:
    for number in range(200):
        one, other = drawn(number, samples)
        assert not copied_answers(evaluation(one, samples), evaluation(other, samples))


@pytest.mark.parametrize("samples", [4, 16])
def test_an_edited_copy_is_seen_in_any_order_of_tasks(samples: int) -> None:
    for number in range(50):
        one, _ = drawn(number, samples)
        copy = edited(one, 20, samples)
        assert copied_answers(evaluation(one, samples), evaluation(copy, samples))
        ids = [f"t{i}" for i in range(TASKS)]
        order = np.random.default_rng(number).permutation(TASKS).tolist()
        shuffled = evaluation([copy[i] for i in order], samples, [ids[i] for i in order])
        assert copied_answers(evaluation(one, samples, ids), shuffled)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (evaluation([1] * TASKS, 1), evaluation([1] * TASKS, 1)),  # one answer a task
        (evaluation([4, 0] * 60), evaluation([4, 0] * 60)),  # every task always or never solved
        (evaluation([2] * 29), evaluation([2] * 29)),  # too few tasks
        (evaluation([2] * TASKS, 4), evaluation([2] * TASKS, 8)),  # other numbers of answers
        (evaluation([2] * TASKS), evaluation([2] * 119)),  # other tasks
        (evaluation([2] * 40, 4, [str(i) for i in range(40)]), evaluation([2] * 40)),
    ],
)
def test_what_cannot_tell_is_not_judged(one: Evaluation, other: Evaluation) -> None:
    assert copied_answers(one, other) is None


def test_a_run_copied_with_small_changes_is_a_warning() -> None:
    one, other = drawn(1)

    def pointers(*rows: list[int]) -> list[str]:
        runs = [
            {"seed": i, "evaluation": {"correct": row, "samples": [4] * TASKS}}
            for i, row in enumerate(rows)
        ]
        document = {"schema_version": 2, "method": "recipe", "seed_results": runs}
        report = verify(from_document(document))
        return [f.pointer for f in report.found if f.slug == "nearly-identical-runs"]

    assert pointers(one, other) == []
    assert pointers(one, other, edited(one), edited(one, 15)) == [
        "/seed_results/2",
        "/seed_results/3",
    ]
