"""Means over benchmarks, non-inferiority, the decision, and collapses that no run showed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from audit.errors import InsufficientData
from audit.stats import (
    BenchmarkCounts,
    BenchmarkScores,
    average_delta,
    average_score_delta,
    base_delta,
    collapse_risk,
    non_inferiority,
    score_delta,
    seed_delta,
    ship_decision,
    unseen_collapse_bound,
)

K = 4


@st.composite
def benchmarks(draw: Any, most: int = 3, equal: bool = False) -> list[BenchmarkCounts]:
    """Counts of the same runs on one to three benchmarks."""
    seeds = (draw(st.integers(2, 4)), draw(st.integers(2, 4)))
    seeds = (max(seeds), max(seeds)) if equal else seeds
    chosen = []
    for tasks in draw(st.lists(st.integers(2, 6), min_size=1, max_size=most)):
        arms = [
            np.array(draw(st.lists(st.lists(st.integers(0, K), min_size=tasks, max_size=tasks),
                                   min_size=n, max_size=n)))
            for n in seeds
        ]  # fmt: skip
        chosen.append(BenchmarkCounts(arms[0], arms[1], K))
    return chosen


def saturated(chosen: list[BenchmarkCounts]) -> bool:
    arms = (np.asarray(arm) for b in chosen for arm in (b.control, b.treatment))
    return any((arm == arm[0, 0]).all() and arm[0, 0] in (0, K) for arm in arms)


def crossed(y: Any) -> float:
    rest = y - y.mean(axis=1, keepdims=True) - y.mean(axis=0) + y.mean()
    return float((rest**2).sum() / ((y.shape[0] - 1) * (y.shape[1] - 1)))


@given(benchmarks(), st.sampled_from(["macro", "micro"]))
def test_an_average_is_that_of_its_formulas(chosen: list[BenchmarkCounts], weights: str) -> None:
    if saturated(chosen):
        return
    result = average_delta(chosen, weights=weights)
    y = [[np.asarray(arm) / K for arm in (b.control, b.treatment)] for b in chosen]
    tasks = np.array([a.shape[1] for a, _ in y])
    w = np.ones(len(y)) / len(y) if weights == "macro" else tasks / tasks.sum()
    u, x, z = [], 0.0, []
    for side in (0, 1):
        runs = sum(wb * arms[side].mean(axis=1) for wb, arms in zip(w, y, strict=True))
        floor = sum(
            wb**2 * crossed(arms[side]) / t for wb, arms, t in zip(w, y, tasks, strict=True)
        )
        u.append(max(np.var(runs, ddof=1), floor) / len(runs))
    for wb, (a, b), t in zip(w, y, tasks, strict=True):
        v = np.var(b.mean(axis=0) - a.mean(axis=0), ddof=1)
        x += wb**2 * max(v - crossed(a) / len(a) - crossed(b) / len(b), 0) / t
        z.append((wb**2 * v / t, t - 1))
    assert result.u == pytest.approx(sum(u), abs=1e-12)
    assert result.x == pytest.approx(x, abs=1e-12)
    assert result.delta == pytest.approx(
        sum(wb * (b.mean() - a.mean()) for wb, (a, b) in zip(w, y, strict=True)), abs=1e-12
    )
    assert sum(
        wb * d for wb, d in zip(result.weights, result.deltas, strict=True)
    ) == pytest.approx(result.delta, abs=1e-12)
    if sum(value for value, _ in z) > 0:
        pooled = sum(v for v, _ in z) ** 2 / sum(v**2 / df for v, df in z)
        assert result.tasks_df == pytest.approx(pooled)


@given(benchmarks(most=1, equal=True), st.booleans(), st.booleans())
def test_one_benchmark_is_the_plain_rule(
    chosen: list[BenchmarkCounts], paired: bool, clustered: bool
) -> None:
    (one,) = chosen
    tasks = np.asarray(one.control).shape[1]
    labels = [t // 2 for t in range(tasks)] if clustered and tasks > 2 else None
    alone = BenchmarkCounts(one.control, one.treatment, K, labels)
    result = average_delta([alone], paired=paired)
    plain = seed_delta(one.control, one.treatment, samples=K, paired=paired, clusters=labels)
    assert (result.fixed, result.random, result.raw) == (plain.fixed, plain.random, plain.raw)
    assert (result.x, result.u, result.paired) == (plain.x, plain.u, plain.paired)
    assert result.at(0.9).random == plain.at(0.9).random


@given(benchmarks(), st.sampled_from(["macro", "micro"]), st.randoms())
def test_the_order_of_benchmarks_does_not_matter_and_arms_swap(
    chosen: list[BenchmarkCounts], weights: str, random: Any
) -> None:
    result = average_delta(chosen, weights=weights)
    turned = [BenchmarkCounts(b.treatment, b.control, K) for b in chosen]
    random.shuffle(turned)
    other = average_delta(turned, weights=weights)
    assert (result.delta, result.random.p_value) == (-other.delta, other.random.p_value)
    assert (result.random.low, result.fixed.low) == (-other.random.high, -other.fixed.high)


@given(benchmarks())
def test_a_micro_average_is_the_mean_over_all_tasks(chosen: list[BenchmarkCounts]) -> None:
    result = average_delta(chosen, weights="micro")
    arms = [
        np.hstack([np.asarray(getattr(b, side)) for b in chosen])
        for side in ("control", "treatment")
    ]
    pooled = seed_delta(*arms, samples=K)
    assert result.delta == pooled.delta
    assert (result.control.s2, result.treatment.s2) == (pooled.control.s2, pooled.treatment.s2)


def test_shared_seeds_are_not_averaged_away() -> None:
    rng = np.random.default_rng(5)
    wide = rng.normal(0, 0.05, (2, 5))
    chosen = []
    for tasks in (300, 300, 300, 300):
        rates = rng.uniform(0.3, 0.7, tasks)
        arms = [rng.binomial(K, np.clip(rates + seeds[:, None], 0, 1)) for seeds in wide]
        chosen.append(BenchmarkCounts(arms[0], arms[1], K))
    result = average_delta(chosen)
    singles = [seed_delta(b.control, b.treatment, samples=K).random.se for b in chosen]
    independent = np.sqrt(np.sum(np.square(singles))) / len(chosen)
    assert result.random.se > 1.7 * independent


def test_paired_averages_take_out_what_the_seeds_share() -> None:
    rng = np.random.default_rng(6)
    shared = rng.normal(0, 0.08, 5)[:, None]
    chosen = []
    for tasks in (200, 400):
        rates = rng.uniform(0.3, 0.7, tasks)
        arms = [rng.binomial(K, np.clip(rates + shared + shift, 0, 1)) for shift in (0, 0.03)]
        chosen.append(BenchmarkCounts(arms[0], arms[1], K))
    paired, plain = average_delta(chosen, paired=True), average_delta(chosen)
    assert paired.paired
    assert paired.fixed.df == 4
    assert paired.fixed.se < plain.fixed.se / 2
    with pytest.raises(ValueError, match="equal seeds"):
        average_delta([BenchmarkCounts(np.ones((3, 4), int), np.ones((2, 4), int), K)], paired=True)


def test_benchmarks_of_other_runs_and_none_are_refused() -> None:
    two, three = np.ones((2, 5), int), np.ones((3, 5), int)
    for given_, reason in (
        ([BenchmarkCounts(two, two, K), BenchmarkCounts(three, two, K)], "incomplete"),
        ([], "not-measured"),
        ([BenchmarkCounts([[1, 1]], two[:, :2], K)], "one-seed"),
    ):
        with pytest.raises(InsufficientData) as caught:
            average_delta(given_)
        assert caught.value.reason == reason
    with pytest.raises(ValueError, match="weights"):
        average_delta([BenchmarkCounts(two, two, K)], weights="tasks")


# Scores


@given(st.lists(st.integers(0, 40), min_size=2, max_size=4), st.integers(2, 4), st.booleans())
def test_one_benchmark_of_scores_is_the_plain_rule(
    counts: list[int], seeds: int, known: bool
) -> None:
    control, treatment = [c / 40 for c in counts], [0.5, 0.525, 0.6, 0.4][:seeds]
    answers = 40 if known else None
    result = average_score_delta([BenchmarkScores(control, treatment, answers)])
    plain = score_delta(control, treatment, answers=answers)
    assert (result.fixed, result.control, result.treatment) == (
        plain.fixed, plain.control, plain.treatment)  # fmt: skip


def test_averages_of_scores_weigh_floors_by_the_square() -> None:
    first = BenchmarkScores([0.5, 0.5, 0.5], [0.6, 0.6, 0.6], answers=100, tasks=100)
    second = BenchmarkScores(["0.50"] * 3, ["0.70"] * 3, tasks=300)
    macro = average_score_delta([first, second])
    assert macro.delta == pytest.approx(0.15)
    assert macro.control.v == pytest.approx(0.25 / 100 / 4 + 1e-4 / 12 / 4, rel=1e-12)
    micro = average_score_delta([first, second], weights="micro")
    assert micro.delta == pytest.approx(0.25 * 0.1 + 0.75 * 0.2)


@pytest.mark.parametrize(
    ("given_", "weights", "reason"),
    [
        ([], "macro", "not-measured"),
        ([BenchmarkScores([0.5, 0.6], [0.5, 0.6])], "micro", "not-measured"),
        ([BenchmarkScores([0.5], [0.5, 0.6])], "macro", "one-seed"),
        ([BenchmarkScores([0.5, 0.6], [0.5, 0.6]), BenchmarkScores([0.5] * 3, [0.5, 0.6])],
         "macro", "incomplete"),
    ],
)  # fmt: skip
def test_averages_of_scores_need_every_run_on_every_benchmark(
    given_: list[BenchmarkScores], weights: str, reason: str
) -> None:
    with pytest.raises(InsufficientData) as caught:
        average_score_delta(given_, weights=weights)
    assert caught.value.reason == reason


# Non-inferiority and the decision


@pytest.mark.parametrize("margin", ["0.01", "0.05", "0.2"])
def test_non_inferiority_is_the_lower_end_of_the_interval(margin: str) -> None:
    rng = np.random.default_rng(7)
    rates = rng.random(60)
    control, treatment = (rng.binomial(K, rates, (4, 60)) for _ in range(2))
    result = seed_delta(control, treatment, samples=K)
    found = non_inferiority(result, margin)
    assert (found.low, found.high) == (result.random.low, result.random.high)
    assert found.holds == (result.random.low > -float(margin)) == (found.p_value < 0.025)
    tails = [
        scipy.stats.t.sf((result.delta + float(margin)) / one.se, one.df)
        for one in (result.fixed, result.raw)
    ]
    assert found.p_value == pytest.approx(max(tails), rel=1e-9)
    turned = non_inferiority(
        seed_delta(treatment, control, samples=K), margin, higher_is_better=False
    )
    assert turned == found


def test_every_kind_of_comparison_has_its_non_inferiority() -> None:
    rng = np.random.default_rng(8)
    control, treatment = (rng.binomial(K, 0.5, (4, 60)) for _ in range(2))
    for result in (
        score_delta([0.5, 0.52, 0.51], [0.52, 0.5, 0.53], answers=500),
        base_delta(control, treatment, samples=K),
        average_delta([BenchmarkCounts(control, treatment, K)]),
    ):
        assert non_inferiority(result, 0.5).holds
    known = score_delta([0.5, 0.5], [0.5, 0.5], unit=0)
    assert non_inferiority(known, 0.01).p_value == 0
    lost = score_delta([0.5, 0.5], [0.25, 0.25], unit=0)
    assert non_inferiority(lost, 0.01).p_value == 1
    assert non_inferiority(lost, 0.01).worse
    assert non_inferiority(lost, 0.3).loss_within_margin
    with pytest.raises(ValueError, match="margin"):
        non_inferiority(known, 0)


GAIN, FLAT, LOSS = (0.01, 0.1), (-0.02, 0.1), (-0.1, -0.01)
FINE, UNSURE, WORSE = (-0.01, 0.02, 0.03), (-0.04, 0.02, 0.03), (-0.09, -0.04, 0.03)


@pytest.mark.parametrize(
    ("primary", "p_values", "guardrails", "word"),
    [
        ([GAIN], None, [], "ship"),
        ([GAIN], None, [FINE, FINE], "ship"),
        ([GAIN, FLAT], [0.001, 0.3], [FINE], "ship"),
        ([GAIN, FLAT], [0.03, 0.3], [FINE], "discuss"),
        ([GAIN, GAIN], [0.03, 0.04], [FINE], "discuss"),
        ([GAIN, GAIN], [0.02, 0.04], [FINE], "ship"),
        ([GAIN, None], [0.001, 0.0], [FINE], "discuss"),
        ([GAIN], None, [FINE, None], "discuss"),
        ([GAIN], None, [UNSURE], "discuss"),
        ([FLAT], None, [FINE], "discuss"),
        ([GAIN], None, [WORSE, FINE], "don't"),
        ([GAIN, LOSS], [0.001, 0.01], [FINE], "don't"),
        ([None], None, [WORSE], "don't"),
        ([], None, [FINE], "discuss"),
    ],
)
def test_a_decision_needs_a_gain_and_every_guardrail(
    primary: list[Any], p_values: list[float] | None, guardrails: list[Any], word: str
) -> None:
    assert ship_decision(primary, guardrails, p_values=p_values).word == word


def test_a_decision_names_what_keeps_it() -> None:
    found = ship_decision([FLAT, None, LOSS], [WORSE, UNSURE, None, FINE], p_values=[0.5, 1, 0.01])
    assert (found.gains, found.losses, found.worse, found.not_shown) == ((), (2,), (0,), (1,))
    assert (found.refused_primary, found.refused_guardrails) == ((1,), (2,))
    with pytest.raises(ValueError, match="p-value"):
        ship_decision([GAIN, FLAT], [])


# Collapse


@given(st.floats(0.001, 0.9), st.integers(1, 40), st.sampled_from([0.9, 0.95]))
def test_the_runs_that_exclude_a_collapse_are_the_fewest(
    share: float, runs: int, level: float
) -> None:
    found = collapse_risk(share * 0.5, 0.6, runs=runs, collapsed=0.1, level=level)
    assert found.undoing_rate == pytest.approx(share)
    assert found.bound == unseen_collapse_bound(runs, level=level)
    n = found.runs_to_exclude
    assert n is not None
    assert (1 - share) ** n <= (1 - level) * (1 + 1e-6)
    assert n == 1 or (1 - share) ** (n - 1) > (1 - level) * (1 - 1e-6)
    assert found.chance_unseen == pytest.approx((1 - share) ** runs)


def test_a_gain_larger_than_a_collapse_is_not_undone() -> None:
    found = collapse_risk(0.5, 0.4, runs=3)
    assert (found.undoing_rate, found.chance_unseen, found.runs_to_exclude) == (None, None, None)
    for delta in (0, -0.1):
        with pytest.raises(ValueError, match="gain"):
            collapse_risk(delta, 0.5, runs=3)
