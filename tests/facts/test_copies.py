"""Which runs of an arm are one training under several labels."""

from __future__ import annotations

import random
from typing import Any

import pytest

from audit.facts.copies import SamePair, independent_runs, same_runs
from audit.results import Run


def runs(*documents: dict[str, Any]) -> list[Run]:
    return [
        Run("recipe", place, f"/seed_results/{place}", {"seed": place, **document})
        for place, document in enumerate(documents)
    ]


def reasons(pairs: tuple[SamePair, ...]) -> list[tuple[int, int, str]]:
    return [(pair.first, pair.second, pair.reason) for pair in pairs]


def log(seed: int, steps: int = 4) -> list[dict[str, Any]]:
    numbers = random.Random(seed)
    return [
        {"step": step + 1, "updates": [{"loss": numbers.random(), "gradient_l2_norm": 1.0}]}
        for step in range(steps)
    ]


def test_runs_that_share_nothing_are_as_many_as_they_are() -> None:
    apart = runs({"final_parameters_sha256": "a"}, {"final_parameters_sha256": "b"}, {})
    assert same_runs(apart) == ()
    assert independent_runs(apart) == 3


def test_three_copies_are_one_run() -> None:
    copies = runs(*[{"final_parameters_sha256": "a"}] * 3)
    assert reasons(same_runs(copies)) == [(0, 1, "identical-runs"), (0, 2, "identical-runs")]
    assert independent_runs(copies) == 1


def test_a_seed_twice_is_one_run_and_runs_without_a_label_each_count() -> None:
    twice = runs({"seed": 7}, {"seed": 7}, {"seed": None}, {"seed": None})
    (pair,) = same_runs(twice)
    assert (pair.reason, pair.text) == ("duplicate-seed", "seed 7")
    assert pair.pointers == ("/seed_results/1/seed", "/seed_results/0/seed")
    assert independent_runs(twice) == 3


def test_one_run_id_is_one_run() -> None:
    assert reasons(same_runs(runs({"run_id": "job"}, {"run_id": "job"}))) == [
        (0, 1, "identical-runs")
    ]


def test_a_log_that_another_begins_with_is_an_earlier_checkpoint() -> None:
    (pair,) = same_runs(runs({"training": log(1, 6)}, {"training": log(2)}, {"training": log(1)}))
    assert (pair.first, pair.second, pair.reason) == (0, 2, "one-run-many-steps")
    assert pair.text == "one training log, after 6 and after 4 steps"


def test_equal_logs_are_one_run_and_a_last_step_that_differs_makes_two() -> None:
    one, other = log(1), log(1)
    assert reasons(same_runs(runs({"training": one}, {"training": other}))) == [
        (0, 1, "identical-runs")
    ]
    other[-1]["updates"][0]["loss"] += 0.5
    assert same_runs(runs({"training": one}, {"training": other})) == ()


@pytest.mark.parametrize(
    "step",
    [{"step": 1}, {"rewards": [0, 1, 1, 0]}, {"updates": [{"loss": 0.0}]}, {"rewards": [0] * 99}],
)
def test_a_log_that_any_two_runs_may_share_shows_nothing(step: dict[str, Any]) -> None:
    assert same_runs(runs({"training": [step]}, {"training": [step]})) == ()


@pytest.mark.parametrize("name", ["loss", "train/loss", "actor/grad_norm", "gradient_l2_norm"])
def test_a_loss_that_a_tracker_logged_shows_that_two_logs_are_one(name: str) -> None:
    step = {"step": 1, "updates": [{"metrics": {name: 0.25, "lr": 1e-6}}]}
    assert reasons(same_runs(runs({"training": [step]}, {"training": [step]}))) == [
        (0, 1, "identical-runs")
    ]
    bare = {"step": 1, "updates": [{"metrics": {"lr": 1e-6, "epoch": 1.0}}]}
    assert same_runs(runs({"training": [bare]}, {"training": [bare]})) == ()


def test_evidence_of_several_kinds_joins_runs_into_one() -> None:
    chain = runs(
        {"final_parameters_sha256": "a"},
        {"final_parameters_sha256": "a", "run_id": "job"},
        {"run_id": "job"},
        {},
    )
    assert independent_runs(chain) == 2


def test_many_runs_with_one_log_are_compared_in_time_that_grows_with_their_number() -> None:
    many = runs(*[{"training": log(1, 2)}] * 3_000)
    assert independent_runs(many) == 1
