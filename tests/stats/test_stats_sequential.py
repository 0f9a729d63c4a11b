"""A plan keeps its error rate however often it is looked at, and its figures agree."""

from __future__ import annotations

from math import inf, sqrt
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr, ndtri, stdtr
from scipy.stats import multivariate_normal

from audit.errors import InsufficientData
from audit.stats import Components, SequentialPlan, after_look, later_look_chances, power
from audit.stats.boundary import Start, boundary, crossings, first_inside

PARTS = Components(0.03, 0.03, 0.065, 0.145, 0.085)
DESIGN: dict[str, Any] = {"components": PARTS, "tasks": 120, "samples": 4}


def critical(plan: SequentialPlan) -> list[float]:
    return [-float(ndtri(plan.threshold(s) / 2)) for s in plan.planned]


def correlations(looks: tuple[int, ...]) -> Any:
    return [[sqrt(min(a, b) / max(a, b)) for b in looks] for a in looks]


def simulated_p_values(looks: int, studies: int, sds: tuple[float, float], seed: int) -> Any:
    """P-values of Welch's t after every number of seeds from 2, (looks, studies)."""
    rng = np.random.default_rng(seed)
    arms = [rng.normal(0, sd, (looks, studies)) for sd in sds]
    n = np.arange(1, looks + 1)[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        means = [np.cumsum(a, axis=0) / n for a in arms]
        variances = [
            (np.cumsum(a**2, axis=0) - n * m**2) / (n - 1) / n
            for a, m in zip(arms, means, strict=True)
        ]
        total = variances[0] + variances[1]
        df = total**2 / ((variances[0] ** 2 + variances[1] ** 2) / (n - 1))
        statistic = (means[1] - means[0]) / np.sqrt(total)
    return 2 * stdtr(np.minimum(df, 2 * n - 2)[1:], -np.abs(statistic[1:]))


@pytest.mark.parametrize("looks", [(4, 8, 12), (4, 5), (4, 6, 8), (3, 5, 8, 12)])
def test_the_error_rate_is_that_of_a_multivariate_normal_distribution(
    looks: tuple[int, ...],
) -> None:
    plan = SequentialPlan(looks[-1], first=looks[0], looks=looks)
    c = np.array(critical(plan))
    inside = multivariate_normal.cdf(c, cov=correlations(looks), lower_limit=-c, abseps=1e-7)
    assert 1 - inside == pytest.approx(0.05, abs=2e-5)


def test_first_crossings_are_those_of_a_simulated_process() -> None:
    looks, means = (3, 5, 6, 9), (1.0, 2.5, 2.0, 4.0)
    bounds = [(-2.5, 2.2), (-inf, 2.0), (-0.5, 2.4), (-1.0, 1.5)]
    rng = np.random.default_rng(1)
    steps = np.diff((0, *looks)), np.diff((0.0, *means))
    b = np.cumsum([rng.normal(m, sqrt(s), 200_000) for s, m in zip(*steps, strict=True)], axis=0)
    z = b / np.sqrt(np.array(looks))[:, None]
    left = np.ones(z.shape[1], bool)
    up, down = crossings(looks, bounds, means)
    for place, (low, high) in enumerate(bounds):
        above, below = left & (z[place] > high), left & (z[place] < low)
        assert above.mean() == pytest.approx(up[place], abs=0.004)
        assert below.mean() == pytest.approx(down[place], abs=0.004)
        left &= ~above & ~below


def test_crossings_from_a_known_start_are_those_of_one_normal_step() -> None:
    up, down = crossings((9,), [(-2.0, 2.5)], (3.0,), start=Start(4, 1.5, 2.0))
    # B_9 is normal about 1.5 + (3 - 2) with variance 5.
    assert up[0] == pytest.approx(ndtr((2.5 - 7.5) / sqrt(5)))
    assert down[0] == pytest.approx(ndtr((-6 - 2.5) / sqrt(5)))


@pytest.mark.parametrize("sides", [1, 2])
def test_a_boundary_spends_what_it_was_given(sides: int) -> None:
    looks, spent = (2, 3, 7, 40), (0.001, 0.2, 0.01, 0.3)
    c = boundary(looks, spent, sides=sides)
    up, down = crossings(looks, [(-x if sides == 2 else -inf, x) for x in c])
    assert np.add(up, down) == pytest.approx(spent, abs=1e-12)


@pytest.mark.parametrize(
    ("sds", "most"), [((1.0, 1.0), 0.0535), ((0.2, 1.0), 0.066)], ids=["equal", "one to five"]
)
def test_looking_at_every_seed_keeps_the_error_rate_with_students_t(
    sds: tuple[float, float], most: float
) -> None:
    p = simulated_p_values(12, 100_000, sds, seed=3)
    plan = SequentialPlan(12)
    decided = np.any([p[s - 2] < plan.threshold(s) for s in plan.planned], axis=0).mean()
    unplanned = np.any(p[2:] < 0.05, axis=0).mean()
    print(f"planned {decided:.4f}, every look at .05 {unplanned:.4f}")
    assert 0.045 < decided < most
    assert unplanned > 0.12


def test_declared_pairing_keeps_the_error_rate_by_its_smaller_share() -> None:
    rng = np.random.default_rng(4)
    d = rng.normal(0, 1, (12, 100_000))
    full, paired = SequentialPlan(12), SequentialPlan(12, paired=True)
    crossed = {full: np.zeros(d.shape[1], bool), paired: np.zeros(d.shape[1], bool)}
    for seeds in full.planned:
        now = d[:seeds]
        t = now.mean(axis=0) / (now.std(axis=0, ddof=1) / sqrt(seeds))
        p = 2 * stdtr(seeds - 1, -np.abs(t))
        for plan, seen in crossed.items():
            seen |= p < plan.threshold(seeds)
    assert crossed[full].mean() == pytest.approx(0.0598, abs=0.0025)
    assert crossed[paired].mean() == pytest.approx(0.0505, abs=0.0025)
    assert paired.alpha == pytest.approx(0.0425)


def test_a_second_unplanned_look_adds_no_more_than_it_says() -> None:
    p = simulated_p_values(8, 200_000, (1.0, 1.0), seed=5)
    for first, then in ((3, 8), (5, 8)):
        later = after_look(first, then, then)
        size = ((p[first - 2] < 0.05) | (p[then - 2] < later.threshold)).mean()
        today = ((p[first - 2] < 0.05) | (p[then - 2] < 0.05)).mean()
        assert size < later.total_error + 0.0015
        assert today > 0.07


def test_equivalence_at_the_margin_is_rarely_shown() -> None:
    rng = np.random.default_rng(6)
    margin = 1.6
    arms = [rng.normal(0, 1, (12, 50_000)), rng.normal(margin, 1, (12, 50_000))]
    plan = SequentialPlan(12)
    shown = np.zeros(50_000, bool)
    for seeds in plan.planned:
        a, b = (arm[:seeds] for arm in arms)
        se = np.sqrt((a.var(axis=0, ddof=1) + b.var(axis=0, ddof=1)) / seeds)
        delta = b.mean(axis=0) - a.mean(axis=0)
        above = stdtr(2 * seeds - 2, (delta - margin) / se)
        below = stdtr(2 * seeds - 2, -(delta + margin) / se)
        shown |= np.maximum(above, below) < plan.equivalence_threshold(seeds)
    assert 0.03 < shown.mean() < 0.055


plans = st.builds(
    lambda first, more, level, paired: SequentialPlan(
        first + more, first=first, level=level, paired=paired
    ),
    st.integers(2, 6),
    st.integers(0, 8),
    st.sampled_from([0.9, 0.95, 0.99]),
    st.booleans(),
)


@settings(max_examples=60, deadline=None)
@given(plan=plans, p=st.floats(1e-9, 1.0), place=st.integers(0, 20))
def test_the_p_value_of_a_plan_is_below_its_error_rate_just_where_the_look_decides(
    plan: SequentialPlan, p: float, place: int
) -> None:
    seeds = plan.planned[place % len(plan.planned)]
    for threshold, p_plan in (
        (plan.threshold(seeds), plan.p_plan(p, seeds)),
        (plan.equivalence_threshold(seeds), plan.equivalence_p_plan(p, seeds)),
    ):
        assert p <= p_plan * 1.0000001 <= 1.0000001
        if abs(p / threshold - 1) > 1e-6:
            assert (p < threshold) is (p_plan < 1 - plan.level)


@settings(max_examples=30, deadline=None)
@given(plan=plans, p=st.floats(1e-6, 0.9))
def test_a_smaller_p_value_has_a_smaller_p_value_of_the_plan(
    plan: SequentialPlan, p: float
) -> None:
    seeds = plan.planned[-1]
    assert plan.p_plan(p / 2, seeds) <= plan.p_plan(p, seeds)


@settings(max_examples=60, deadline=None)
@given(plan=plans, control=st.integers(0, 15), treatment=st.integers(0, 15))
def test_the_arm_that_is_behind_decides_the_look(
    plan: SequentialPlan, control: int, treatment: int
) -> None:
    look = plan.look(control, treatment)
    behind = min(control, treatment)
    if behind > plan.most:
        assert look.state == "beyond-plan"
    elif behind < plan.first:
        assert look.state == "before-first-look"
        assert look.next == plan.first
    else:
        assert look.seeds == behind
        assert look.next == (behind + 1 if behind < plan.most else None)
        assert look.final is (behind == plan.most)
        assert look.interval_level == pytest.approx(1 - plan.threshold(behind))
        assert look.equivalence_level is not None
        assert look.equivalence_level < look.interval_level  # type: ignore[operator]


def test_the_figures_of_the_page_on_statistics() -> None:
    plan = SequentialPlan(12)
    assert (round(plan.threshold(6), 4), round(plan.threshold(12), 4)) == (0.0077, 0.0289)
    assert round(plan.p_plan(0.0085, 7), 3) == 0.043
    assert plan.look(6, 5).seeds == 5


def test_a_plan_read_from_a_file_is_the_same_plan() -> None:
    read: Any = [[6, 12], [6, 9, 12]]
    plan = SequentialPlan(read[0], looks=read[1])
    assert plan == SequentialPlan((6, 12), first=6, looks=(6, 9, 12))
    assert hash(plan) == hash(SequentialPlan((6, 12), looks=(6, 9, 12)))


def test_a_single_look_at_the_maximum_has_the_whole_error_rate() -> None:
    plan = SequentialPlan(5, first=5)
    assert plan.threshold(5) == pytest.approx(0.05, abs=1e-12)
    assert plan.p_plan(0.031, 5) == pytest.approx(0.031)


def test_between_two_declared_looks_the_last_one_passed_counts() -> None:
    plan = SequentialPlan(12, looks=(4, 8, 12))
    assert plan.first == 4
    assert plan.threshold(7) == plan.threshold(4)
    assert plan.p_plan(0.01, 11) == plan.p_plan(0.01, 8)
    assert plan.look(9, 9).next == 12


def test_failed_runs_leave_all_that_is_left_to_the_last_that_finished() -> None:
    plan = SequentialPlan(12)
    still = plan.look(11, 12, launched=(11, 12))
    assert not still.final
    assert still.next == 12
    ended = plan.look(11, 12, launched=(12, 12))
    assert ended.final
    assert ended.seeds == 11
    assert ended.threshold is not None
    assert ended.threshold > plan.threshold(11)
    assert plan.p_plan(0.03, 11, final=True) < plan.p_plan(0.03, 11)
    # A declared look that was never reached is replaced by the seeds that finished.
    declared = SequentialPlan(12, looks=(4, 8, 12)).look(10, 10, launched=(12, 12))
    assert (declared.seeds, declared.next) == (10, None)
    assert plan.look(3, 3, launched=(12, 12)).state == "before-first-look"
    assert plan.look(3, 3, launched=(12, 12)).next is None


def test_advice_to_stop_shortens_a_study_without_effect_and_costs_little_power() -> None:
    plan = SequentialPlan(12)
    for effect, seeds, lost in ((0.0, (6.0, 6.4), 0.0011), (0.05, (8.0, 8.7), 0.012)):
        followed = plan.power(effect, **DESIGN, target_effect=0.05)
        ignored = plan.power(effect, **DESIGN)
        assert seeds[0] < followed.expected_seeds < seeds[1]
        assert followed.expected_seeds < ignored.expected_seeds
        assert ignored.power - lost < followed.power <= ignored.power
    assert plan.futility_bound(12, 0.05) is None
    assert plan.futility_bound(6, 0.05) == pytest.approx(0.0041667, abs=1e-7)


def test_power_and_length_are_those_of_simulated_studies() -> None:
    """Run means alone: one of many tasks, so that only seeds vary."""
    parts, tasks, effect, studies = Components(0.05, 0.05, 0, 0, 0), 10**6, 0.06, 40_000
    plan = SequentialPlan(10)
    rng = np.random.default_rng(7)
    arms = [rng.normal(e, 0.05, (10, studies)) for e in (0.0, effect)]
    stopped = np.full(studies, 10)
    gained = np.zeros(studies, bool)
    running = np.ones(studies, bool)
    for seeds in plan.planned:
        a, b = (arm[:seeds] for arm in arms)
        u = [x.var(axis=0, ddof=1) / seeds for x in (a, b)]
        df = np.minimum((u[0] + u[1]) ** 2 * (seeds - 1) / (u[0] ** 2 + u[1] ** 2), 2 * seeds - 2)
        t = (b.mean(axis=0) - a.mean(axis=0)) / np.sqrt(u[0] + u[1])
        crossed = running & (2 * stdtr(df, -np.abs(t)) < plan.threshold(seeds))
        gained |= crossed & (t > 0)
        stopped[crossed] = seeds
        running &= ~crossed
    planned = plan.power(effect, components=parts, tasks=tasks, samples=1)
    assert planned.power == pytest.approx(gained.mean(), abs=0.02)
    assert planned.expected_seeds == pytest.approx(stopped.mean(), abs=0.2)
    assert planned.expected_runs == pytest.approx(2 * planned.expected_seeds)
    assert planned.most_runs == 20


def test_uneven_arms_grow_together_until_one_is_full() -> None:
    plan = SequentialPlan((6, 12))
    found = plan.power(0.05, **DESIGN)
    assert [look.runs for look in found.looks][:4] == [(4, 4), (5, 5), (6, 6), (6, 7)]
    assert found.most_runs == 18
    assert found.power < SequentialPlan(12).power(0.05, **DESIGN).power
    for look in found.looks:
        assert plan.look(*look.runs).seeds == look.seeds


def test_a_plan_of_one_look_has_the_power_of_that_look() -> None:
    found = SequentialPlan(6, first=6).power(0.05, **DESIGN)
    # The planner's power counts losses too, which are next to none here.
    assert found.power == pytest.approx(power(0.05, seeds=6, **DESIGN), abs=1e-4)
    assert found.expected_seeds == 6


def test_chances_average_to_the_power_of_the_plan() -> None:
    """The chances after the first look, weighed by what it may show, are the power of the rest."""
    plan, effect = SequentialPlan(8), 0.05
    whole = plan.power(effect, **DESIGN)
    c = critical(plan)[0]
    first = whole.looks[0]
    drift = c + float(ndtri(first.gain))
    grid = np.linspace(-c, c, 401)
    weights = np.exp(-0.5 * (grid - drift) ** 2) / sqrt(2 * np.pi)
    later = [
        plan.chances(1.0 if z > 0 else -1.0, 2 * float(ndtr(-abs(z))), 4, effect=effect, **DESIGN)
        for z in grid
    ]
    step = grid[1] - grid[0]
    weights[[0, -1]] /= 2  # the trapezoidal rule
    by_end = step * float(weights @ [x.by_end for x in later])
    at_next = step * float(weights @ [x.next_look for x in later])
    assert by_end == pytest.approx(whole.power - first.gain, abs=1e-4)
    assert at_next == pytest.approx(whole.looks[1].gain, abs=1e-4)


@pytest.mark.parametrize("start", [None, Start(3.0, 2.0, 0.4)])
def test_first_entries_into_a_band_are_those_of_a_simulated_process(start: Start | None) -> None:
    looks, widths, means = (4, 5, 8, 9), (0.0, 0.4, 1.1, 0.9), (0.5, 0.8, 1.5, 1.6)
    begin = start or Start()
    steps = np.sqrt(np.diff([begin.information, *looks]))
    noise = np.random.default_rng(5).normal(size=(200_000, 4)) * steps
    b = begin.value - begin.mean + np.cumsum(noise, axis=1) + means
    inside = np.abs(b / np.sqrt(looks)) < widths
    entered = [inside[:, place] & ~inside[:, :place].any(axis=1) for place in range(4)]
    found = first_inside(looks, widths, means, start=start)
    assert found == pytest.approx([e.mean() for e in entered], abs=0.004)  # 3.5 errors of .0011


def equivalence_simulated(
    margin: float, delta: float, plan: SequentialPlan, sd: float, studies: int
) -> tuple[float, float]:
    """Share of studies of equal arms that t tests show equivalent, next and by the end.

    The first seeds have the mean difference that was seen; their residuals are free of it.
    """
    rng, most, first = np.random.default_rng(9), plan.most, plan.planned[0]
    differences = rng.normal(0, sd * sqrt(2), (studies, most))
    head = differences[:, :first]
    head += delta - head.mean(axis=1, keepdims=True)
    squares = [rng.chisquare(1, (studies, most)) * sd**2 for _ in range(2)]
    done = np.zeros(studies, dtype=bool)
    shares = []
    for seeds in plan.planned[1:]:
        one, other = (arm[:, : seeds - 1].sum(axis=1) / (seeds - 1) / seeds for arm in squares)
        t = (margin - np.abs(differences[:, :seeds].mean(axis=1))) / np.sqrt(one + other)
        df = (one + other) ** 2 * (seeds - 1) / (one**2 + other**2)
        done |= stdtr(df, -t) < plan.equivalence_threshold(seeds)
        shares.append(float(done.mean()))
    return shares[0], shares[-1]


@pytest.mark.parametrize(("margin", "delta"), [(0.05, 0.0), (0.05, 0.03), (0.08, -0.05)])
def test_chances_of_equivalence_are_those_of_a_simulated_study(margin: float, delta: float) -> None:
    plan, sd = SequentialPlan(8), 0.03
    parts = Components(sd, sd, 0.0, 0.0, 0.0)
    found = plan.equivalence_chances(margin, delta, 4, components=parts, tasks=5000, samples=1)
    next_look, by_end = equivalence_simulated(margin, delta, plan, sd, 20_000)
    assert found.next_look == pytest.approx(next_look, abs=0.02)
    assert found.by_end == pytest.approx(by_end, abs=0.02)


def test_a_difference_far_outside_the_margin_leaves_no_chance_of_equivalence() -> None:
    plan = SequentialPlan(8)
    assert plan.equivalence_chances(0.02, 0.4, 4, **DESIGN).by_end < 1e-9
    assert plan.equivalence_chances(0.02, 0.0, 8, **DESIGN).looks == ()


def test_a_later_look_without_a_plan_has_less_chance_than_one_that_was_planned() -> None:
    runs = ((4, 4), (8, 8))
    terms: dict[str, Any] = {"looked": 4, "effect": 0.08, **DESIGN}
    later = later_look_chances(0.05, 0.06, runs, **terms)
    planned = SequentialPlan(8, looks=(4, 8)).chances(0.05, 0.06, 4, effect=0.08, **DESIGN)
    assert 0 < later.next_look < planned.next_look < 1
    assert later.by_end == later.next_look
    equivalent = later_look_chances(0.0, 0.9, runs, margin=0.1, **(terms | {"effect": 0.0}))
    assert 0 < equivalent.next_look < 1


def test_at_the_maximum_no_chance_is_left() -> None:
    found = SequentialPlan(8).chances(0.03, 0.2, 8, effect=0.05, **DESIGN)
    assert (found.next_look, found.by_end, found.looks) == (0.0, 0.0, ())


@pytest.mark.parametrize(
    "arguments",
    [
        {"maximum": 1},
        {"maximum": 201},
        {"maximum": (3, 1)},
        {"maximum": 8, "first": 9},
        {"maximum": 8, "first": 1},
        {"maximum": 8, "looks": ()},
        {"maximum": 8, "looks": (4, 4, 8)},
        {"maximum": 8, "looks": (6, 4, 8)},
        {"maximum": 8, "looks": (4, 6)},
        {"maximum": 8, "looks": (1, 8)},
        {"maximum": 8, "looks": (5, 8), "first": 6},
        {"maximum": 8, "level": 1.0},
    ],
    ids=str,
)
def test_impossible_plans_are_refused(arguments: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"maximum|first|looks?|level"):
        SequentialPlan(**arguments)


def test_beyond_its_maximum_a_plan_says_nothing() -> None:
    plan = SequentialPlan(8)
    with pytest.raises(InsufficientData) as caught:
        plan.p_plan(0.01, 9)
    assert caught.value.reason == "beyond-plan"
    assert plan.look(8, 9).seeds == 8
    with pytest.raises(ValueError, match="must not be negative"):
        plan.look(-1, 4)
    with pytest.raises(ValueError, match="p_value"):
        plan.p_plan(1.5, 6)
    with pytest.raises(ValueError, match="target_effect"):
        plan.futility_bound(5, 0.0)


def test_a_later_look_needs_more_seeds_and_the_fuller_arm_sets_its_threshold() -> None:
    assert after_look(3, 8, 5) == after_look(3, 5, 8) == after_look(3, 8, 8)
    assert after_look(3, 8, 8).threshold < after_look(3, 5, 5).threshold
    assert after_look(6, 8, 8, level=0.99).total_error == pytest.approx(0.011)
    with pytest.raises(ValueError, match="more than 5 seeds"):
        after_look(5, 5, 5)
