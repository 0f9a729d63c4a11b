"""Seeds for an effect: one look, a plan, equivalence, and what no number of seeds can settle."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.special import stdtrit

from audit.stats import (
    Components,
    Prices,
    SequentialPlan,
    designs_to_see,
    equivalence_power,
    equivalence_seeds_needed,
    equivalence_tasks_at_least,
    gain_probability,
    plan_needed,
    power,
    seeds_needed,
    tasks_at_least,
    variance_split,
)
from audit.stats.planning import _t_quantiles


def parts(sd: float = 0.0) -> Components:
    return Components(sd, sd, 0.065, 0.145, 0.085)


# Seed sd, effect, tasks: seeds by one look, maximum of a plan, seeds it takes on average.
KNOWN = {
    (0.03, 0.05, 120): (11, 12, 8.7),
    (0.05, 0.05, 120): (23, 26, 17.8),
    (0.01, 0.03, 120): (18, 20, 13.1),
    (0.05, 0.10, 1319): (6, 6, 5.0),
    (0.03, 0.05, 1319): (8, 8, 6.3),
    (0.05, 0.05, 1319): (18, 20, 14.2),
}


@pytest.mark.parametrize("case", KNOWN, ids=str)
def test_one_look_and_plan_are_those_of_the_table(case: tuple[float, float, int]) -> None:
    sd, effect, tasks = case
    seeds, maximum, expected = KNOWN[case]
    (found,) = designs_to_see(effect, [sd], components=parts(), tasks=tasks, samples=4)
    assert (found.effect, found.seed_sd, found.seeds) == (effect, sd, seeds)
    assert found.plan is not None
    assert found.seen is not None
    assert found.without is not None
    assert found.plan.most == maximum
    assert found.seen.power >= 0.8
    assert round(found.seen.expected_seeds, 1) == expected
    assert found.without.expected_seeds < found.seen.expected_seeds


def test_no_shorter_plan_reaches() -> None:
    for sd, effect in ((0.03, 0.05), (0.01, 0.05), (0.05, 0.1), (0.0, 0.04)):
        own: dict[str, Any] = {"components": parts(sd), "tasks": 120, "samples": 4}
        shortest = next(
            m for m in range(5, 60) if SequentialPlan(m).power(effect, **own).power >= 0.8
        )
        plan = plan_needed(effect, **own)
        assert plan is not None
        assert plan.most == shortest


def test_estimate_and_upper_limit_are_two_designs_in_their_order() -> None:
    low, high = designs_to_see(0.05, [0.02, 0.06], components=parts(), tasks=120, samples=4)
    assert low.seeds is not None
    assert high.seeds is not None
    assert low.seeds < high.seeds


def test_never_fewer_seeds_than_a_claim_needs() -> None:
    (found,) = designs_to_see(0.5, [0.001], components=parts(), tasks=500, samples=4)
    assert found.seeds == 3
    assert found.plan is not None
    assert (found.plan.first, found.plan.most) == (4, 5)
    (strict,) = designs_to_see(0.5, [0.001], components=parts(), tasks=500, samples=4, min_seeds=6)
    assert strict.seeds == 6
    assert strict.plan is not None
    assert (strict.plan.first, strict.plan.most) == (6, 7)


def test_what_nothing_sees_has_no_design() -> None:
    (found,) = designs_to_see(0.01, [0.05], components=parts(), tasks=120, samples=4, limit=200)
    assert (found.seeds, found.plan, found.seen, found.without) == (None, None, None, None)


def test_a_level_may_depend_on_the_seeds() -> None:
    plan = SequentialPlan(20)
    own: dict[str, Any] = {"components": parts(0.03), "tasks": 120, "samples": 4}
    found = seeds_needed(
        0.08, **own, level=lambda s: 1 - plan.threshold(s), least=4, limit=plan.most
    )
    scanned = next(
        s for s in plan.planned
        if power(0.08, seeds=s, level=1 - plan.threshold(s), **own) >= 0.8
    )  # fmt: skip
    assert found == scanned


def test_prices_count_runs_evaluations_and_tasks() -> None:
    prices = Prices(per_run=10, per_evaluation=2, per_task=0.01)
    assert prices.of(6, tasks=100) == pytest.approx(6 * (10 + 2 + 1))
    assert prices.of(6, tasks=100, checkpoints=5) == pytest.approx(6 * (10 + 5 * 3))
    assert Prices().of(6, tasks=100) == 0


def test_gains_and_losses_together_are_the_power() -> None:
    own: dict[str, Any] = {"components": Components(0.02, 0.05, 0.05, 0.2, 0.1), "tasks": 60,
                           "samples": 2, "seeds": (4, 7)}  # fmt: skip
    both = gain_probability(0.03, **own) + gain_probability(-0.03, **own)
    assert both == pytest.approx(power(0.03, **own), abs=1e-12)
    nothing: dict[str, Any] = {"components": Components(0, 0, 0, 0, 0), "tasks": 8, "samples": 1,
                               "seeds": 3}  # fmt: skip
    assert gain_probability(0.1, **nothing) == 1
    assert gain_probability(-0.1, **nothing) == 0


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.999, 1 - 1e-6])
@pytest.mark.parametrize(("low", "high"), [(1, 2), (1, 1e6), (2, 22), (3, 3.0001), (5, 5)])
def test_interpolated_quantiles_are_those_of_students_t(
    low: float, high: float, level: float
) -> None:
    df = 1 / np.linspace(1 / high, 1 / low, 501)
    assert _t_quantiles(df, level) == pytest.approx(-stdtrit(df, (1 - level) / 2), rel=1e-12)


def test_power_to_show_equivalence_is_that_of_simulated_studies() -> None:
    rng = np.random.default_rng(0)
    seeds, sd, margin, effect, studies = 6, 0.03, 0.05, 0.01, 40_000
    arms = [rng.normal(e, sd, (seeds, studies)) for e in (0.0, effect)]
    u = [a.var(axis=0, ddof=1) / seeds for a in arms]
    df = np.minimum((u[0] + u[1]) ** 2 * (seeds - 1) / (u[0] ** 2 + u[1] ** 2), 2 * seeds - 2)
    half = stdtrit(df, 0.95) * np.sqrt(u[0] + u[1])
    delta = arms[1].mean(axis=0) - arms[0].mean(axis=0)
    shown = (np.abs(delta) + half < margin).mean()
    planned = equivalence_power(
        margin, effect=effect, components=Components(sd, sd, 0, 0, 0), seeds=seeds, tasks=10**6,
        samples=1
    )  # fmt: skip
    assert 0.3 < planned < 0.95
    assert planned == pytest.approx(shown, abs=0.01)


def test_seeds_for_equivalence_reach_and_one_less_does_not() -> None:
    own: dict[str, Any] = {"components": parts(0.03), "samples": 4}
    for margin, effect, tasks, known in ((0.05, 0.0, 120, 12), (0.05, 0.02, 1319, 15)):
        found = equivalence_seeds_needed(margin, effect=effect, tasks=tasks, **own)
        assert found == known
        assert equivalence_power(margin, effect=effect, tasks=tasks, seeds=known, **own) >= 0.8
        fewer = equivalence_power(margin, effect=effect, tasks=tasks, seeds=known - 1, **own)
        assert fewer < 0.8
    assert equivalence_seeds_needed(0.02, tasks=120, **own) is None


def test_without_variance_equivalence_is_certain_inside_the_margin_alone() -> None:
    nothing: dict[str, Any] = {"components": Components(0, 0, 0, 0, 0), "seeds": 3, "tasks": 200,
                               "samples": 1}  # fmt: skip
    assert equivalence_power(0.05, effect=0.04, **nothing) == 1
    assert equivalence_power(0.05, effect=0.05, **nothing) == 0
    with pytest.raises(ValueError, match="margin"):
        equivalence_power(0.0, **nothing)


@pytest.mark.parametrize("effect", [0.02, 0.05, 0.1])
def test_below_the_least_number_of_tasks_no_number_of_seeds_sees_an_effect(effect: float) -> None:
    least = tasks_at_least(effect, task_effect_sd=0.085)
    assert least is not None
    assert least == pytest.approx((2.802 * 0.085 / effect) ** 2, abs=1)
    own: dict[str, Any] = {"components": parts(0.01), "samples": 4, "seeds": 5000}
    assert power(effect, tasks=max(2, least - 1), **own) < 0.8
    assert power(effect, tasks=least + 1, **own) > 0.8


@pytest.mark.parametrize(("margin", "effect"), [(0.02, 0.0), (0.05, 0.03), (0.015, 0.002)])
def test_below_the_least_number_of_tasks_nothing_shows_equivalence(
    margin: float, effect: float
) -> None:
    least = equivalence_tasks_at_least(margin, effect=effect, task_effect_sd=0.085)
    assert least is not None
    own: dict[str, Any] = {"components": parts(0.01), "samples": 4, "seeds": 20_000}
    assert equivalence_power(margin, effect=effect, tasks=least - 1, **own) < 0.8
    assert equivalence_power(margin, effect=effect, tasks=least + 2, **own) > 0.8
    if effect == 0:
        assert least == pytest.approx((2.926 * 0.085 / margin) ** 2, abs=1)
    if effect == 0.03:  # away from 0 one side decides alone
        assert least == pytest.approx((2.487 * 0.085 / (margin - effect)) ** 2, abs=1)


def test_least_numbers_of_tasks_at_the_ends() -> None:
    assert tasks_at_least(0.0, task_effect_sd=0.1) is None
    assert tasks_at_least(0.1, task_effect_sd=0.0) == 2
    assert equivalence_tasks_at_least(0.02, task_effect_sd=0.0) == 150
    assert equivalence_tasks_at_least(0.02, effect=-0.02, task_effect_sd=0.1) is None


def test_components_of_another_scale_are_brought_to_the_planners() -> None:
    wide = Components(1.5, 2.0, 3.0, 25.0, 4.0)
    assert wide.on_unit_scale(10) == Components(0.15, 0.2, 0.3, 0.25, 0.4)
    with pytest.raises(ValueError, match="width"):
        wide.on_unit_scale(0)


def test_graded_scores_have_no_variance_of_right_and_wrong_answers() -> None:
    """Scores on a lattice of 1/100: a cell is one number, and more answers are not promised."""
    rng = np.random.default_rng(1)
    control, treatment = rng.integers(20, 80, (2, 4, 30))
    split = variance_split(control, treatment, samples=100, answers=1)
    as_counts = variance_split(control, treatment, samples=100)
    assert split.sampling_variance == 0
    q = split.seed_task_sd**2
    assert q == pytest.approx(as_counts.seed_task_sd**2 + as_counts.sampling_variance / 100)
    assert split.task_effect_sd == as_counts.task_effect_sd
    # With the variance seen between 5 answers of a cell, it is theirs, divided by 5.
    seen = variance_split(control, treatment, samples=100, answers=5, answer_variance=0.01)
    assert seen.sampling_variance == pytest.approx(0.01)
    assert seen.seed_task_sd**2 + 0.01 / 5 == pytest.approx(q)
    with pytest.raises(ValueError, match="answers"):
        variance_split(control, treatment, samples=100, answers=0)
