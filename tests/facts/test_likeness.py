"""Outcomes that agree too closely are one training; honest ones are not taken for it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from audit.facts.copies import SamePair, same_runs
from audit.facts.likeness import scales_of
from audit.results import Run, from_document

TASKS = 120


def rates(number: int, tasks: int = TASKS) -> np.ndarray[Any, Any]:
    """Return how often one model solves each task."""
    return 1 / (1 + np.exp(-np.random.default_rng(number).normal(-0.7, 1.8, tasks)))


def drawn(number: int, samples: int, model: np.ndarray[Any, Any]) -> list[int]:
    return [int(c) for c in np.random.default_rng([number, 7]).binomial(samples, model)]


def edited(counts: list[int], every: int, samples: int) -> list[int]:
    return [c if i % every else c + (1 if c < samples else -1) for i, c in enumerate(counts)]


def run(place: int, counts: list[int], samples: int = 4, **more: Any) -> Run:
    evaluation = {
        "benchmark": "sums",
        "task_ids": [f"t{i}" for i in range(len(counts))],
        "correct": counts,
        "samples": [samples] * len(counts),
        **more,
    }
    return Run("m", place, f"/seed_results/{place}", {"seed": place, "evaluation": evaluation})


def found(pairs: tuple[SamePair, ...]) -> list[tuple[int, int, str, str]]:
    return [(pair.first, pair.second, pair.reason, pair.text) for pair in pairs]


@pytest.mark.parametrize("samples", [2, 4, 16])
def test_two_draws_of_one_model_are_no_copies(samples: int) -> None:
    for number in range(60):
        model = rates(number)
        runs = [run(i, drawn(100 * number + i, samples, model), samples) for i in range(2)]
        assert same_runs(runs) == ()


@pytest.mark.parametrize("every", [120, 20, 5])
def test_an_edited_copy_of_drawn_answers_is_seen_in_any_order_of_tasks(every: int) -> None:
    for number in range(10):
        counts = drawn(number, 4, rates(number))
        copy = edited(counts, every, 4)
        order = np.random.default_rng(number).permutation(TASKS).tolist()
        shuffled = run(1, [copy[i] for i in order], task_ids=[f"t{i}" for i in order])
        (pair,) = same_runs([run(0, counts), shuffled])
        changed = TASKS // every
        verb = "differs" if changed == 1 else "differ"
        assert pair.reason == "nearly-identical-runs"
        assert pair.text == f"{changed} of 480 answers on sums {verb}"


def test_equal_draws_on_a_few_telling_tasks_are_a_copy_and_on_fewer_are_chance() -> None:
    for inside, expected in ((6, "identical-runs"), (5, None)):
        counts = [2] * inside + [0, 4]
        pairs = same_runs([run(0, counts), run(1, counts)])
        assert [pair.reason for pair in pairs] == ([expected] if expected else [])


def test_another_benchmark_listed_first_hides_no_copy() -> None:
    counts, model = drawn(1, 4, rates(1)), rates(2, 20)
    runs = []
    for place, own in enumerate((counts, edited(counts, 120, 4))):
        honest = run(place, own)
        decoy = {
            "benchmark": "other",
            "task_ids": [f"o{i}" for i in range(20)],
            "correct": drawn(50 + place, 4, model),
            "samples": [4] * 20,
        }
        document = {**honest.document, "evaluations": [honest.document["evaluation"]]}
        runs.append(Run("m", place, honest.pointer, {**document, "evaluation": decoy}))
    assert found(same_runs(runs)) == [
        (0, 1, "nearly-identical-runs", "1 of 480 answers on sums differs")
    ]


@pytest.mark.parametrize(("changed", "copied"), [(1, True), (60, False)])
def test_one_answer_per_task_is_judged_beside_the_runs_of_other_arms(
    changed: int, copied: bool
) -> None:
    model = rates(3, 400)
    first = drawn(1, 1, model)
    second = edited(first, 400 // changed, 1)
    others = [run(i, drawn(10 + i, 1, rates(4, 400)), 1) for i in range(3)]
    declared = {"condition": {"temperature": 1.0}}
    runs = [run(0, first, 1, **declared), run(1, second, 1, **declared)]
    assert bool(same_runs(runs, others)) == copied
    assert same_runs(runs) == ()  # without another arm nothing tells how far trainings lie apart


def test_records_of_two_trainings_outweigh_answers_that_are_close() -> None:
    model = rates(3, 400)
    first = drawn(1, 1, model)
    others = [run(i, drawn(10 + i, 1, rates(4, 400)), 1) for i in range(3)]
    log = [{"step": 1, "updates": [{"loss": 0.5}]}]
    runs = []
    for place in range(2):
        own = run(place, first, 1)
        step = [{**log[0], "updates": [{"loss": 0.5 + place}]}]
        record = {"final_parameters_sha256": str(place) * 64, "training": step}
        runs.append(Run("m", place, own.pointer, {**own.document, **record}))
    assert same_runs(runs, others) == ()
    bare = [run(place, first, 1) for place in range(2)]
    assert [pair.reason for pair in same_runs(bare, others)] == ["identical-runs"]


def test_drawn_answers_that_agree_outweigh_any_record() -> None:
    counts = drawn(1, 4, rates(1))
    runs = []
    for place in range(2):
        own = run(place, counts)
        step = [{"step": 1, "updates": [{"loss": 0.5 + place}]}]
        record = {"final_parameters_sha256": str(place) * 64, "training": step}
        runs.append(Run("m", place, own.pointer, {**own.document, **record}))
    assert [pair.reason for pair in same_runs(runs)] == ["identical-runs"]


def test_checkpoints_are_compared_step_by_step() -> None:
    counts, other = drawn(1, 4, rates(1)), drawn(2, 4, rates(1))
    early, late = (run(i, c, checkpoint_step=s) for i, c, s in ((0, counts, 10), (1, counts, 20)))
    assert same_runs([early, late]) == ()
    again = run(1, counts, checkpoint_step=10)
    assert len(same_runs([early, again])) == 1
    assert same_runs([early, run(1, other, checkpoint_step=10)]) == ()


def test_equal_totals_of_permuted_answers_are_named_where_chance_does_not_give_them() -> None:
    model = rates(5, 1319)
    counts = drawn(1, 1, model)
    runs = [run(i, [*counts[i:], *counts[:i]], 1) for i in range(3)]
    pairs = same_runs(runs)
    assert [(pair.first, pair.second, pair.reason) for pair in pairs] == [
        (0, 1, "equal-scores"),
        (0, 2, "equal-scores"),
    ]
    assert pairs[0].text == f"{sum(counts):,} right answers of 1,319 on sums in all 3 runs"
    assert same_runs(runs[:2]) == ()


@pytest.mark.parametrize(
    ("accuracy", "examples", "runs", "equal"),
    [
        (0.354814, 1319, 3, True),
        (0.625, 8, 3, False),  # happens by chance
        (0.625, 8, 12, True),
        (0.5, None, 3, True),  # of how many answers is not known
        (0.354814, 1319, 2, False),
        (1.0, 1319, 3, False),  # saturated
    ],
)
def test_one_score_in_every_summary(
    accuracy: float, examples: int | None, runs: int, equal: bool
) -> None:
    metrics = {"accuracy": accuracy} | ({"examples": examples} if examples else {})
    arm = [Run("m", i, f"/{i}", {"seed": i, "method_metrics": metrics}) for i in range(runs)]
    assert {pair.reason for pair in same_runs(arm)} == ({"equal-scores"} if equal else set())


def test_a_metric_with_a_scale_of_its_own_is_compared_on_it() -> None:
    document = {
        "schema_version": 2,
        "method": "m",
        "metrics": {"points": {"scale": [0, 100]}, "open": {"scale": [0, None]}},
        "seed_results": [
            {"seed": i, "method_metrics": {"accuracy": 0.1 * i, "points": 35.4}} for i in range(3)
        ],
    }
    results = from_document(document)
    scales = scales_of(results)
    assert scales == {"accuracy": (0.0, 1.0), "points": (0.0, 100.0)}
    pairs = same_runs(results.arms[0].runs, scales=scales)
    assert {pair.text for pair in pairs} == {"points 35.4 in all 3 runs"}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"correct": [2] * 119}, {}),  # lists of different lengths
        ({"correct": [5] * TASKS}, {}),  # more right answers than answers
        ({"task_ids": ["t"] * TASKS}, {}),  # a task twice
        ({"task_ids": [f"u{i}" for i in range(TASKS)]}, {}),  # other tasks
        ({"benchmark": "other"}, {}),
        ({"condition": {"temperature": 0}}, {"condition": {"temperature": 0}}),
    ],
)
def test_what_cannot_be_compared_is_no_copy(one: dict[str, Any], other: dict[str, Any]) -> None:
    counts = [2] * TASKS
    assert same_runs([run(0, counts, **one), run(1, counts, **other)]) == ()


def test_hundreds_of_runs_are_compared_soon_and_a_copy_among_them_is_found() -> None:
    runs = [run(i, drawn(i, 1, rates(9)), 1) for i in range(200)]
    copied = run(200, edited(runs[17].evaluations[0].counts or [], 120, 1), 1)
    others = [run(i, drawn(900 + i, 1, rates(10)), 1) for i in range(100)]
    declared = [
        Run("m", r.index, r.pointer, {**r.document, "evaluation": {**r.document["evaluation"],
            "condition": {"temperature": 1.0}}})
        for r in (*runs, copied, *others)
    ]  # fmt: skip
    pairs = same_runs(declared[:201], declared[201:])
    assert (17, 200) in {(pair.first, pair.second) for pair in pairs}
