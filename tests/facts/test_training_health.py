"""A training that could not learn is told from its log, whoever wrote the log."""

from __future__ import annotations

from typing import Any

import pytest
from cases import full, outcomes, patched, places

from audit.facts.training_health import (
    gradient_of,
    steps_cut_off,
    steps_without_gradient,
    steps_without_spread,
)
from audit.facts.training_logs import RunLog
from audit.results import Run
from audit.rules import Failed


def log(*metrics: dict[str, Any]) -> RunLog:
    steps = [{"step": n, "updates": [{"metrics": m}]} for n, m in enumerate(metrics, 1)]
    return RunLog(Run("m", 0, "/seed_results/0", {"training": steps}))


DEAD = {
    "grad_norm": 0.0,
    "reward_std": 0.0,
    "frac_reward_zero_std": 1.0,
    "completions/clipped_ratio": 1.0,
    "loss": 0.0,
}
ALIVE = {
    "grad_norm": 0.3,
    "reward_std": 0.4,
    "frac_reward_zero_std": 0.25,
    "completions/clipped_ratio": 0.5,
    "loss": 0.1,
}


FACTS = (steps_without_gradient, steps_without_spread, steps_cut_off)


@pytest.mark.parametrize(
    ("steps", "dead"), [((DEAD, DEAD), 2), ((DEAD, ALIVE), 0), ((ALIVE, ALIVE), 0)]
)
def test_steps_are_counted_where_all_are_dead(steps: tuple[dict[str, Any], ...], dead: int) -> None:
    assert [fact(log(*steps)) for fact in FACTS] == [dead] * 3


def test_a_log_that_says_nothing_is_not_dead() -> None:
    assert [fact(log({"entropy": 1.0})) for fact in FACTS] == [None] * 3


@pytest.mark.parametrize(
    ("update", "gradient"),
    [
        ({"gradient_l2_norm": 2.0}, 2.0),
        ({"metrics": {"train/grad_norm": 2.0}}, 2.0),
        ({"metrics": {"actor/grad_norm": 2}}, 2.0),
        ({"gradient_l2_norm": 0.0, "metrics": {"grad_norm": 0.5}}, 0.0),
        ({"metrics": {"loss": None, "grad_norm": True}}, None),
        ({}, None),
    ],
)
def test_a_gradient_is_found_under_the_names_that_trainers_use(
    update: dict[str, Any], gradient: float | None
) -> None:
    assert gradient_of(update) == gradient


def test_responses_are_counted_one_by_one_where_they_are_audited() -> None:
    audits = [{"truncated": True}, {"truncated": True}]
    whole = {"step": 1, "updates": [{"response_audits": audits}]}
    half = {"step": 2, "updates": [{"response_audits": [*audits, {"truncated": False}]}]}
    for steps, dead in (([whole, whole], 2), ([whole, half], 0)):
        assert steps_cut_off(RunLog(Run("m", 0, "", {"training": steps}))) == dead


def imported(metrics: dict[str, Any]) -> dict[str, Any]:
    """Return a study of two arms whose top arm's logs hold these figures in every step."""
    training = [{"step": n, "updates": [{"metrics": metrics}]} for n in (1, 2, 3)]
    summary = {"level": "summary"}
    runs = [
        {"seed": seed, "method_metrics": {"accuracy": 0.1 * seed}, "training": training}
        | {"telemetry": summary, "run_id": f"run{seed}"}
        for seed in (1, 2, 3)
    ]
    return {"schema_version": 2, "method": "m", "seed_results": runs}


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("MECH005", "a gradient norm of 0 in all 3 logged steps; so in 3 of 3 runs of m"),
        ("MECH006", "rewards without spread in all 3 logged steps; so in 3 of 3 runs of m"),
        ("MECH007", "all responses cut off in all 3 logged steps; so in 3 of 3 runs of m"),
    ],
)
def test_an_imported_log_of_a_training_that_learned_nothing_is_a_warning(
    rule: str, message: str
) -> None:
    (found,) = [o for o in outcomes(imported(DEAD), rule) if isinstance(o, Failed)]
    assert (found.pointer, found.message) == ("/seed_results/0/training", message)
    assert places(imported(ALIVE), rule) == set()
    assert places(full(), rule) == set()


def test_one_dead_run_among_three_is_named() -> None:
    document = imported(ALIVE)
    dead = imported(DEAD)["seed_results"][1]["training"]
    document = patched(document, {"/seed_results/1/training": dead})
    (found,) = [o for o in outcomes(document, "MECH005") if isinstance(o, Failed)]
    assert found.pointer == "/seed_results/1/training"
    assert found.message.endswith("so in 1 of 3 runs of m")
