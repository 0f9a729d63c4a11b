from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from cases import full, gppo, patched, places, reasons
from hypothesis import given
from hypothesis import strategies as st

BASES = {"gppo": gppo, "full": full}
RUN = "/seed_results/0"
CONTROL = "/controls/grpo-control/seed_results/1"
METRICS = RUN + "/method_metrics"

BROKEN: list[tuple[str, dict[str, Any], str, set[str]]] = [
    ("gppo", {METRICS + "/accuracy": 0.7}, "EVAL001", {METRICS + "/accuracy"}),
    ("gppo", {CONTROL + "/baseline/accuracy": 0.5005}, "EVAL001", {CONTROL + "/baseline/accuracy"}),
    ("full", {RUN + "/baseline/accuracy": 0.301}, "EVAL001", {RUN + "/baseline/accuracy"}),
    ("gppo", {METRICS + "/truncated_responses": 9}, "EVAL002", {METRICS + "/truncated_responses"}),
    ("gppo", {METRICS + "/generated_tokens": 4097}, "EVAL003", {METRICS + "/generated_tokens"}),
    ("gppo", {METRICS + "/truncated_responses": 6}, "EVAL003", {METRICS + "/generated_tokens"}),
    ("gppo", {METRICS + "/generated_tokens": 5}, "EVAL003", {METRICS + "/generated_tokens"}),
    ("gppo", {METRICS + "/examples": 16}, "EVAL004", {METRICS + "/examples"}),
    ("full", {RUN + "/evaluation/split": "test"}, "EVAL004", {RUN + "/evaluation/split"}),
    ("full", {RUN + "/evaluation/benchmark": "sums"}, "EVAL004", {RUN + "/evaluation/benchmark"}),
    (
        "full",
        {RUN + "/evaluation/checkpoint_step": 99},
        "EVAL005",
        {RUN + "/evaluation/checkpoint_step"},
    ),
    ("full", {RUN + "/evaluations/0/benchmark": "sums"}, "EVAL006", {RUN}),
    (
        "full",
        {RUN + "/evaluation/checkpoint_step": 1},
        "EVAL007",
        {RUN + "/evaluation/checkpoint_step"},
    ),
    (
        "full",
        {RUN + "/evaluation/selected_on": "train"},
        "EVAL007",
        {RUN + "/evaluation/selected_on"},
    ),
    (
        "full",
        {"/metrics": {"accuracy": {"higher_is_better": False, "scale": [0, 1]}}},
        "EVAL012",
        {"/metrics/accuracy/higher_is_better"},
    ),
    (
        "gppo",
        {"/metrics": {"accuracy": {"scale": [0, 100]}}},
        "EVAL012",
        {"/metrics/accuracy/scale"},
    ),
]


@pytest.mark.parametrize(("base", "patches", "rule", "where"), BROKEN)
def test_a_total_that_cannot_be_or_differs_is_found(
    base: str, patches: dict[str, Any], rule: str, where: set[str]
) -> None:
    assert places(patched(BASES[base](), patches), rule) == where


@pytest.mark.parametrize("rule", [*(f"EVAL00{i}" for i in range(1, 8)), "EVAL012"])
@pytest.mark.parametrize("base", BASES)
def test_the_samples_have_possible_totals(base: str, rule: str) -> None:
    assert places(BASES[base](), rule) == set()


def test_two_sets_of_equal_standing_are_both_named() -> None:
    arm = [f"/controls/grpo-control/seed_results/{i}" for i in range(3)]
    top = [f"/seed_results/{i}" for i in range(3)]
    examples = {
        f"{run}/{block}/examples": 16 for run in arm for block in ("baseline", "method_metrics")
    }
    found = places(patched(gppo(), dict(examples)), "EVAL004")
    assert found == set(examples) | {
        f"{run}/{block}/examples" for run in top for block in ("baseline", "method_metrics")
    }


def _one_run(accuracy: float, examples: int) -> dict[str, Any]:
    metrics = {"accuracy": accuracy, "examples": examples}
    run = {"seed": 1, "method_metrics": metrics}
    return {"schema_version": 2, "method": "m", "seed_results": [run]}


@given(st.integers(1, 5000), st.data())
def test_every_share_of_right_answers_is_possible(drawn: int, data: st.DataObject) -> None:
    right = data.draw(st.integers(0, drawn))
    assert places(_one_run(right / drawn, drawn), "EVAL001") == set()
    assert places(_one_run(round(right / drawn, 4), drawn), "EVAL001") == set()


@given(st.integers(2, 1000), st.data())
def test_half_an_answer_more_is_impossible(examples: int, data: st.DataObject) -> None:
    right = data.draw(st.integers(0, examples - 1))
    accuracy = float(Fraction(2 * right + 1, 2 * examples))
    document = _one_run(accuracy, examples)
    if len(repr(accuracy)) > 9:  # so many decimals were not rounded for print
        assert places(document, "EVAL001") == {METRICS + "/accuracy"}


def test_two_decimals_of_480_answers_tell_nothing() -> None:
    document = _one_run(0.47, 480)
    assert places(document, "EVAL001") == set()
    assert reasons(document, "EVAL001") == {"rounded too far to tell with 480 answers"}


def test_without_examples_nothing_is_counted() -> None:
    document = patched(gppo(), {}, [METRICS + "/examples"])
    assert reasons(document, "EVAL001") == {"the number of examples is not recorded"}


@pytest.mark.parametrize("rule", ["EVAL002", "EVAL003", "EVAL004", "EVAL005", "EVAL006", "EVAL007"])
def test_a_bare_run_leaves_the_check_open(rule: str) -> None:
    run = {"seed": 1, "method_metrics": {"accuracy": 0.5}}
    document = {"schema_version": 2, "method": "m", "seed_results": [run]}
    assert places(document, rule) == set()
    assert len(reasons(document, rule)) == 1
