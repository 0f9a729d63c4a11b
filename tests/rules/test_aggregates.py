from __future__ import annotations

import statistics
from typing import Any

import pytest
from cases import full, gppo, patched, places, reasons
from hypothesis import given
from hypothesis import strategies as st

from audit.facts.rounding import decimals

BASES = {"gppo": gppo, "full": full}
AT = "/aggregate_metrics"
TOP = AT + "/method_metrics.accuracy"
PAIRED = AT + "/paired_accuracy_difference_vs_grpo"

BROKEN: list[tuple[str, dict[str, Any], str, set[str]]] = [
    ("gppo", {TOP + "/mean": 0.75}, "AGG001", {TOP + "/mean"}),
    ("gppo", {PAIRED + "/mean": -0.08333333333333333}, "AGG001", {PAIRED + "/mean"}),
    (
        "gppo",
        {"/seed_results/2/method_metrics/accuracy": 0.75},
        "AGG001",
        {TOP + "/mean", PAIRED + "/mean"},
    ),
    (
        "gppo",
        {AT + "/baseline.accuracy/mean": 0.5000001},
        "AGG001",
        {AT + "/baseline.accuracy/mean"},
    ),
    (
        "full",
        {AT + "/fixed_clip.validation.pass_at_4/mean": 0.9},
        "AGG001",
        {AT + "/fixed_clip.validation.pass_at_4/mean"},
    ),
    ("gppo", {TOP + "/std": 0.0722}, "AGG002", {TOP + "/std"}),
    ("gppo", {AT + "/baseline.accuracy/std": 0.003}, "AGG002", {AT + "/baseline.accuracy/std"}),
    ("gppo", {TOP + "/std": 0.05892556509887897}, "AGG003", {TOP + "/std"}),
    ("gppo", {TOP + "/n": 4}, "AGG004", {TOP + "/n"}),
]


@pytest.mark.parametrize(("base", "patches", "rule", "where"), BROKEN)
def test_an_aggregate_its_runs_do_not_give_is_found(
    base: str, patches: dict[str, Any], rule: str, where: set[str]
) -> None:
    assert places(patched(BASES[base](), patches), rule) == where


@pytest.mark.parametrize("rule", ["AGG001", "AGG002", "AGG003", "AGG004"])
@pytest.mark.parametrize("base", BASES)
def test_the_samples_have_the_aggregates_of_their_runs(base: str, rule: str) -> None:
    assert places(BASES[base](), rule) == set()


def test_a_dropped_run_shows_in_every_aggregate_it_was_part_of() -> None:
    document = patched(gppo(), {}, ["/seed_results/2"])
    assert places(document, "AGG004") == {
        AT + "/baseline.accuracy/n",
        TOP + "/n",
        PAIRED + "/n",
    }


def test_the_population_form_is_named_and_not_called_a_wrong_value() -> None:
    document = patched(gppo(), {TOP + "/std": 0.05892556509887897})
    assert places(document, "AGG002") == set()


@pytest.mark.parametrize(
    ("sd", "rule"), [(0.003448671241700703, None), (0.00282, "AGG003"), (0.0031, "AGG002")]
)
def test_a_rounded_sd_of_three_scores_tells_ddof_0_from_ddof_1(sd: float, rule: str | None) -> None:
    scores = (0.764, 0.7708, 0.7664)
    runs = [{"seed": i, "method_metrics": {"accuracy": s}} for i, s in enumerate(scores)]
    block = {"method_metrics.accuracy": {"mean": 0.76707, "std": sd, "n": 3}}
    document = {
        "schema_version": 2,
        "method": "m",
        "seed_results": runs,
        "aggregate_metrics": block,
    }
    if rule is None:
        block["method_metrics.accuracy"]["mean"] = statistics.fmean(scores)
    found = {r for r in ("AGG001", "AGG002", "AGG003") if places(document, r)}
    assert found == ({rule} if rule else set())


def test_one_run_has_no_standard_deviation() -> None:
    document = patched(gppo(), {}, ["/seed_results/2", "/seed_results/1"])
    assert TOP + "/std" in places(document, "AGG002")


@pytest.mark.parametrize(
    ("key", "reason"),
    [
        ("elsewhere.accuracy", "the name of the aggregate does not say from what it is made"),
        ("method_metrics.reward", "no run records reward"),
        ("paired_accuracy_difference_vs_ppo", "no arms have a name that begins with ppo"),
    ],
)
def test_an_aggregate_of_unknown_make_is_not_checked(key: str, reason: str) -> None:
    document = patched(gppo(), {f"{AT}/{key}": {"mean": 0.1, "std": 0.1, "n": 3}})
    for rule in ("AGG001", "AGG002", "AGG003", "AGG004"):
        assert places(document, rule) == set()
        assert reasons(document, rule) == {reason}


def test_without_aggregates_nothing_is_held() -> None:
    document = patched(gppo(), {}, ["/aggregate_metrics"])
    assert reasons(document, "AGG001") == {"the file has no aggregate_metrics"}


@given(st.lists(st.floats(0, 1), min_size=2, max_size=9))
def test_aggregates_computed_by_the_standard_library_hold(scores: list[float]) -> None:
    runs = [{"seed": i, "method_metrics": {"accuracy": s}} for i, s in enumerate(scores)]
    entry = {
        "mean": statistics.fmean(scores),
        "std": statistics.stdev(scores),
        "n": len(scores),
    }
    document = {
        "schema_version": 2,
        "method": "m",
        "seed_results": runs,
        "aggregate_metrics": {"method_metrics.accuracy": entry},
    }
    assert not any(places(document, rule) for rule in ("AGG001", "AGG002", "AGG003", "AGG004"))


@pytest.mark.parametrize(
    ("value", "expected"),
    [(0.5, 1), (0.0, 0), (3, 0), (1e-05, 5), (1.5e-7, 8), (0.764, 3), (1e20, 0), (2.5e3, 0)],
)
def test_decimals_are_those_of_the_shortest_text(value: float, expected: int) -> None:
    assert decimals(value) == expected
