"""What must not change a verdict, and what must turn it round."""

from __future__ import annotations

import copy
import json
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_studies import Counts, Document, analysed, simulated, study

from audit.analysis import Comparison, Interval
from audit.views.analysis_json import analysis_json

SIZES = st.tuples(st.integers(8, 14), st.integers(1, 3), st.integers(2, 4), st.integers(2, 4))


@st.composite
def studies(draw: st.DrawFn) -> tuple[list[list[int]], list[list[int]], int]:
    tasks, samples, control, treatment = draw(SIZES)
    row = st.lists(st.integers(0, samples), min_size=tasks, max_size=tasks)
    arms = [draw(st.lists(row, min_size=n, max_size=n)) for n in (control, treatment)]
    return arms[0], arms[1], samples


def only(document: Document) -> Comparison:
    return analysed(document).comparisons[0]


def interval(comparison: Comparison) -> Interval | None:
    found = comparison.interval("tasks")
    return found if isinstance(found, Interval) else None


@given(studies())
@settings(deadline=None, max_examples=60)
def test_swapping_the_arms_turns_everything_round(made: tuple[Counts, Counts, int]) -> None:
    control, treatment, samples = made
    one, other = only(study(control, treatment, samples)), only(study(treatment, control, samples))
    assert one.delta == -(other.delta or 0.0)
    a, b = interval(one), interval(other)
    assert a is not None
    assert b is not None
    assert (a.low, a.high) == (-b.high, -b.low)
    opposite = {"gain": "loss", "loss": "gain"}
    assert other.verdict.word == opposite.get(one.verdict.word, one.verdict.word)


@given(studies(), st.randoms(use_true_random=False))
@settings(deadline=None, max_examples=12)
def test_the_order_of_tasks_seeds_and_keys_changes_nothing(
    made: tuple[Counts, Counts, int], rng: random.Random
) -> None:
    document = study(*made)
    shuffled = copy.deepcopy(document)
    order = list(range(len(made[0][0])))
    rng.shuffle(order)
    for arm in (shuffled, shuffled["controls"]["control"]):
        rng.shuffle(arm["seed_results"])
        for entry in arm["seed_results"]:
            evaluation = entry["evaluation"]
            evaluation["correct"] = [evaluation["correct"][task] for task in order]
    keys = list(shuffled)
    rng.shuffle(keys)
    assert written(document) == written({key: shuffled[key] for key in keys})


def written(document: Document) -> str:
    return json.dumps(analysis_json(analysed(document)), allow_nan=False)


def test_task_ids_in_another_order_are_the_same_tasks() -> None:
    document = simulated(40, delta=0.2)
    names = [f"t{i}" for i in range(40)]
    for entry in (*document["seed_results"], *document["controls"]["control"]["seed_results"]):
        entry["evaluation"]["task_ids"] = names
    plain = written(document)
    evaluation = document["seed_results"][0]["evaluation"]
    for key in ("task_ids", "correct", "samples"):
        evaluation[key] = evaluation[key][::-1]
    assert written(document) == plain


@pytest.mark.parametrize("seeds", [1, 2, 5])
def test_an_analysis_is_the_same_bytes_on_every_run(seeds: int) -> None:
    document = simulated(40, seeds, sd=0.02)
    document["claims"] = [{"direction": "gain", "arm": "recipe", "against": "control"}]
    assert written(document) == written(copy.deepcopy(document))


def test_the_order_of_the_arms_changes_nothing() -> None:
    document = simulated(40, 3)
    runs = document["controls"]["control"]["seed_results"]
    controls = {name: {"role": "control", "seed_results": runs} for name in ("b", "a", "c")}
    document["controls"] = controls
    turned = {**document, "controls": dict(reversed(controls.items()))}
    one, other = (analysis_json(analysed(d)) for d in (document, turned))
    assert one["comparisons"] == other["comparisons"]
    assert [c["against"] for c in one["comparisons"]] == ["a", "b", "c"]
