from __future__ import annotations

from typing import Any

import pytest
from cases import full, gppo, outcomes, patched, places, reasons

from audit.finding import Severity
from audit.rules import Failed

RUN = "/seed_results/0"
EVAL = RUN + "/evaluation"
OTHER = "/controls/fixed-clip/seed_results/2/evaluations/0"

BROKEN: list[tuple[dict[str, Any], list[str], str, set[str]]] = [
    ({}, [EVAL + "/mean_tokens/9"], "TASK001", {EVAL + "/mean_tokens"}),
    ({}, [EVAL + "/correct/0"], "TASK001", {EVAL + "/correct"}),
    ({EVAL + "/correct/2": 5}, [], "TASK002", {EVAL + "/correct/2"}),
    ({EVAL + "/errored/1": 1}, [], "TASK002", {EVAL + "/errored/1"}),
    ({OTHER + "/truncated/0": 5}, [], "TASK002", {OTHER + "/truncated/0"}),
    ({EVAL + "/task_ids/4": "addition-01"}, [], "TASK003", {EVAL + "/task_ids/4"}),
    ({EVAL + "/task_ids/4": "addition-99"}, [], "TASK004", {EVAL + "/task_ids"}),
    ({RUN + "/evaluations/1/scores/0": 75.0}, [], "TASK005", {RUN + "/evaluations/1/scores/0"}),
    ({RUN + "/method_metrics/accuracy": 0.8}, [], "TASK006", {RUN + "/method_metrics/accuracy"}),
    ({RUN + "/method_metrics/examples": 11}, [], "TASK006", {RUN + "/method_metrics/examples"}),
    ({EVAL + "/truncated/0": 1}, [], "TASK006", {RUN + "/method_metrics/truncated_responses"}),
    (
        {RUN + "/method_metrics/generated_tokens": 236},
        [],
        "TASK006",
        {RUN + "/method_metrics/generated_tokens"},
    ),
    ({"/base_evaluations/1/accuracy": 0.35}, [], "TASK006", {"/base_evaluations/1/accuracy"}),
    ({}, [EVAL, RUN + "/evaluations"], "TASK007", {RUN}),
    ({EVAL + "/clusters/3": "elsewhere"}, [], "TASK008", {EVAL + "/clusters/3"}),
    ({OTHER + "/samples/1": 8}, [], "TASK009", {OTHER + "/samples/1"}),
]


@pytest.mark.parametrize(("patches", "removed", "rule", "where"), BROKEN)
def test_an_outcome_that_cannot_be_or_differs_is_found(
    patches: dict[str, Any], removed: list[str], rule: str, where: set[str]
) -> None:
    assert places(patched(full(), patches, removed), rule) == where


@pytest.mark.parametrize("rule", [f"TASK00{i}" for i in range(1, 10)])
def test_the_sample_has_sound_outcomes(rule: str) -> None:
    assert places(full(), rule) == set()
    assert reasons(full(), rule) == set()


def test_a_study_with_one_score_a_run_says_so_once() -> None:
    assert places(gppo(), "TASK007") == {RUN}
    for rule in ("TASK001", "TASK002", "TASK003", "TASK004", "TASK005", "TASK006"):
        assert len(reasons(gppo(), rule)) == 1


@pytest.mark.parametrize(("tasks", "severity"), [(10, Severity.ERROR), (100, Severity.WARNING)])
def test_one_missing_task_is_an_error_where_it_is_more_than_a_twentieth(
    tasks: int, severity: Severity
) -> None:
    def evaluation(count: int) -> dict[str, Any]:
        return {"task_ids": list(range(count)), "scores": [0.5] * count}

    runs = [{"seed": i, "evaluation": evaluation(tasks - (i == 2))} for i in range(3)]
    document = {"schema_version": 2, "method": "m", "seed_results": runs}
    (found,) = [o for o in outcomes(document, "TASK004") if isinstance(o, Failed)]
    assert found.pointer == "/seed_results/2/evaluation/task_ids"
    assert (found.severity or Severity.INFO) == severity
    assert f"1 missing ({tasks - 1})" in found.message


def test_tasks_in_another_order_are_the_same_tasks() -> None:
    document = full()
    evaluation = document["seed_results"][0]["evaluation"]
    for name, entries in evaluation.items():
        if isinstance(entries, list):
            evaluation[name] = entries[::-1]
    for rule in ("TASK004", "TASK008", "TASK009"):
        assert places(document, rule) == set()


def test_either_weighting_of_unequal_samples_is_accepted() -> None:
    evaluation = {"correct": [1, 1], "samples": [1, 3]}
    for accuracy, where in (
        (2 / 3, set()),
        (0.5, set()),
        (0.6, {RUN + "/method_metrics/accuracy"}),
    ):
        run = {"seed": 1, "method_metrics": {"accuracy": accuracy}, "evaluation": evaluation}
        document = {"schema_version": 2, "method": "m", "seed_results": [run]}
        assert places(document, "TASK006") == where
