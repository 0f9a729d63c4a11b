from __future__ import annotations

import copy
from typing import Any

import pytest
from cases import full, gppo, outcomes, patched, places, reasons

from audit.facts.copies import independent_runs
from audit.finding import Severity
from audit.results import from_document
from audit.rules import Failed

BASES = {"gppo": gppo, "full": full}
GRPO = "/controls/grpo-control/seed_results"
FIXED = "/controls/fixed-clip/seed_results"
HASH = "final_parameters_sha256"


def _value(document: dict[str, Any], run: int, key: str) -> Any:
    return document["seed_results"][run][key]


BROKEN: list[tuple[str, dict[str, Any], str, set[str]]] = [
    ("gppo", {"/seed_results/1/seed": 42}, "SEED002", {"/seed_results/1/seed"}),
    ("gppo", {GRPO + "/2/seed": 43}, "SEED002", {GRPO + "/2/seed"}),
    ("full", {f"/seed_results/2/{HASH}": _value(full(), 0, HASH)}, "SEED003", {"/seed_results/2"}),
    (
        "gppo",
        {"/seed_results/1/training": _value(gppo(), 0, "training")},
        "SEED003",
        {"/seed_results/1"},
    ),
    (
        "full",
        {
            "/seed_results/1/evaluation": _value(full(), 0, "evaluation"),
            "/seed_results/1/evaluations": _value(full(), 0, "evaluations"),
        },
        "SEED003",
        {"/seed_results/1"},
    ),
    ("full", {f"{FIXED}/1/{HASH}": _value(full(), 1, HASH)}, "SEED004", {FIXED + "/1"}),
    ("gppo", {GRPO + "/0/training": _value(gppo(), 0, "training")}, "SEED004", {GRPO + "/0"}),
    (
        "full",
        {"/launched_seeds/chi-clip": [17, 18, 19, 20]},
        "SEED005",
        {"/launched_seeds/chi-clip/3"},
    ),
    ("full", {"/launched_seeds/chi-clip": [17, 18]}, "SEED005", {"/seed_results/2/seed"}),
    ("full", {"/launched_seeds/other": [1]}, "SEED005", {"/launched_seeds/other"}),
    ("gppo", {"/seed_results/1/status": "diverged"}, "SEED006", {"/seed_results/1/status"}),
    ("gppo", {"/seed_results/1/seed": None}, "SEED007", {"/seed_results/1/seed"}),
    ("full", {FIXED + "/0/run_id": "chi-clip-17"}, "SEED008", {FIXED + "/0/run_id"}),
]


@pytest.mark.parametrize(("base", "patches", "rule", "where"), BROKEN)
def test_runs_that_are_not_independent_or_not_all_are_found(
    base: str, patches: dict[str, Any], rule: str, where: set[str]
) -> None:
    assert places(patched(BASES[base](), patches), rule) == where


@pytest.mark.parametrize("rule", [f"SEED00{i}" for i in range(2, 9)])
@pytest.mark.parametrize("base", BASES)
def test_the_samples_have_independent_runs(base: str, rule: str) -> None:
    assert places(BASES[base](), rule) == set()


def test_seeds_0_0_1_are_two_seeds() -> None:
    runs = [{"seed": seed, "method_metrics": {"accuracy": 0.5}} for seed in (0, 0, 1)]
    document = {"schema_version": 2, "method": "m", "seed_results": runs}
    assert places(document, "SEED002") == {"/seed_results/1/seed"}


@pytest.mark.parametrize("arm", ["", "/controls/grpo-control"])
@pytest.mark.parametrize("source", range(3))
def test_a_run_copied_under_another_seed_is_found(arm: str, source: int) -> None:
    document = gppo()
    runs = (document["controls"]["grpo-control"] if arm else document)["seed_results"]
    target = (source + 1) % 3
    runs[target] = {**copy.deepcopy(runs[source]), "seed": runs[target]["seed"]}
    later = max(source, target)
    assert places(document, "SEED003") == {f"{arm}/seed_results/{later}"}


def test_one_run_under_five_labels_is_named_four_times() -> None:
    run = {"seed": None, HASH: "0" * 64, "method_metrics": {"accuracy": 0.5}}
    document = {"schema_version": 2, "method": "m", "seed_results": [run] * 5}
    assert places(document, "SEED003") == {f"/seed_results/{i}" for i in range(1, 5)}


def test_a_finding_and_a_refusal_read_the_same_record() -> None:
    """Copies that the rule names are those that the fact counts as one run."""
    document = full()
    document["seed_results"][1][HASH] = document["seed_results"][0][HASH]
    results = from_document(document)
    assert places(document, "SEED003") == {"/seed_results/1"}
    assert independent_runs(results.arms[0].runs, results.arms[1].runs) == 2


def test_checkpoints_of_one_run_are_named() -> None:
    runs = [
        {"seed": seed, "run_id": f"grpo/checkpoint-{seed}00", "method_metrics": {"accuracy": 0.5}}
        for seed in (1, 2)
    ]
    document = {"schema_version": 2, "method": "m", "seed_results": runs}
    (found,) = [o for o in outcomes(document, "SEED010") if isinstance(o, Failed)]
    assert found.pointer == "/seed_results/1"
    assert found.message == "steps 100 and 200 of grpo, as in 1"


def test_one_score_written_three_times_is_a_warning_and_one_of_eight_tasks_is_not() -> None:
    for accuracy, examples, where in ((0.354814, 1319, {"/seed_results/0"}), (0.625, 8, set())):
        runs = [
            {"seed": seed, "method_metrics": {"accuracy": accuracy, "examples": examples}}
            for seed in (1, 2, 3)
        ]
        document = {"schema_version": 2, "method": "m", "seed_results": runs}
        assert places(document, "SEED011") == where


def test_a_copy_is_found_whatever_it_says_it_began_with() -> None:
    metrics = {"accuracy": 0.5}
    runs = [
        {
            "seed": seed,
            "initial_parameters_sha256": first * 64,
            "final_parameters_sha256": "a" * 64,
            "method_metrics": metrics,
        }
        for seed, first in ((1, "b"), (2, "a"))
    ]
    document = {"schema_version": 2, "method": "m", "seed_results": runs}
    assert places(document, "SEED003") == {"/seed_results/1"}


def test_a_log_without_measured_figures_tells_nothing() -> None:
    step = {"step": 1, "rewards": [0.0, 1.0]}
    metrics = {"accuracy": 0.5}
    runs = [{"seed": seed, "training": [step], "method_metrics": metrics} for seed in (1, 2)]
    document = {"schema_version": 2, "method": "m", "seed_results": runs}
    assert places(document, "SEED003") == set()


def test_seeds_left_out_are_an_error_only_under_a_claim() -> None:
    claimed = patched(full(), {"/launched_seeds/chi-clip": [17, 18, 19, 20]})
    for document, severity in (
        (claimed, Severity.ERROR),
        (patched(claimed, {}, ["/claims"]), Severity.WARNING),
    ):
        (found,) = [o for o in outcomes(document, "SEED005") if isinstance(o, Failed)]
        assert found.severity == severity


def test_what_is_not_recorded_is_not_checked() -> None:
    run = {"seed": None, "method_metrics": {"accuracy": 0.5}}
    document = {"schema_version": 2, "method": "m", "seed_results": [run]}
    for rule in ("SEED002", "SEED003", "SEED004", "SEED005", "SEED008"):
        assert len(reasons(document, rule)) == 1
        assert places(document, rule) == set()
