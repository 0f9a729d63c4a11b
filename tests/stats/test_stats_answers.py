"""Unequal numbers of answers, errored answers, unparsed answers, and what a scale leaves open."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.errors import InsufficientData
from audit.stats import (
    errored_delta,
    format_split,
    harmonic_samples,
    has_room,
    mixed_scales,
    printed_unit,
    samples_by_difficulty,
    seed_delta,
    seed_spread,
    variance_split,
)

RNG = np.random.default_rng(3)
RATES = RNG.beta(0.8, 0.8, 120)


def arm(shift: float = 0.0, seeds: int = 3, k: int = 4) -> Any:
    return RNG.binomial(k, np.clip(RATES + shift, 0, 1), (seeds, 120))


# Unequal numbers


def test_one_short_cell_does_not_make_a_plan_of_one_answer() -> None:
    control, treatment, drawn = arm(), arm(), np.full((3, 120), 4)
    plain = variance_split(control, treatment, samples=4)
    drawn[0, 0] = 1
    control[0, 0] = 0
    cut = variance_split(control, treatment, samples=(drawn, 4))
    assert cut.sampling_variance == pytest.approx(plain.sampling_variance, rel=0.02)
    assert harmonic_samples(drawn) == pytest.approx(3.97, abs=0.01)
    result = seed_delta(control, treatment, samples=(drawn, 4))
    assert (result.control.samples, result.control.harmonic_samples) == (
        1, harmonic_samples(drawn))  # fmt: skip


def test_the_mean_of_answers_is_unbiased_whatever_their_numbers() -> None:
    rng = np.random.default_rng(8)
    true = float((RATES * (1 - RATES)).mean())
    found = []
    for _ in range(60):
        drawn = rng.choice([1, 2, 3, 8], size=(4, 120))
        counts = rng.binomial(drawn, RATES)
        found.append(variance_split(counts, counts, samples=drawn).sampling_variance)
    assert np.mean(found) == pytest.approx(true, rel=0.03)


def test_single_answers_and_scores_leave_sampling_unknown() -> None:
    counts = RNG.binomial(1, RATES, (3, 120))
    single = variance_split(counts, counts, samples=1)
    assert single.sampling_variance == 0
    assert single.seed_task_sd == pytest.approx(
        np.sqrt(seed_delta(counts, counts, samples=1).control.q)
    )
    scores = RNG.integers(0, 1001, (3, 120))
    as_scores = variance_split(scores, scores, samples=1000, answers=1)
    assert as_scores.sampling_variance == 0
    assert as_scores.seed_task_sd > variance_split(scores, scores, samples=1000).seed_task_sd


def test_the_benchmark_form_needs_a_cell_of_two_answers() -> None:
    counts, drawn = RNG.binomial(1, RATES, (3, 120)), np.ones((3, 120), dtype=int)
    with pytest.raises(InsufficientData, match="at least 2 samples"):
        seed_spread(counts, samples=drawn, kind="benchmark")
    drawn[:, :40] = 2
    assert seed_spread(counts, samples=drawn, kind="benchmark").noise_sd > 0


def test_a_saturated_arm_counts_the_harmonic_mean_rounded_down() -> None:
    drawn = np.full((3, 8), 4)
    drawn[0, 0] = 1
    right = seed_delta(np.zeros((3, 8), int), drawn, samples=drawn)
    three = seed_delta(np.zeros((3, 8), int), np.full((3, 8), 3), samples=3)
    assert right.control.saturated
    assert right.control.v == three.control.v


def test_answers_drawn_by_difficulty_are_noticed() -> None:
    drawn = np.where(RATES < 0.5, 2, 8)
    counts = RNG.binomial(drawn, RATES, (3, 120))
    found = samples_by_difficulty(counts, np.broadcast_to(drawn, (3, 120)))
    assert found is not None
    assert found > 0.5
    assert samples_by_difficulty(arm(), 4) is None


@pytest.mark.parametrize("samples", [[], [0, 1], [1.5]])
def test_samples_are_whole_numbers(samples: Any) -> None:
    with pytest.raises(ValueError, match="samples"):
        harmonic_samples(samples)


# Errored answers


def errors_of(share: float, shape: tuple[int, int], limit: Any) -> Any:
    return np.minimum(RNG.binomial(4, share, shape), limit)


def test_without_errored_answers_there_is_one_reading() -> None:
    control, treatment = arm(), arm(0.1)
    result = errored_delta(control, treatment, samples=4, errored=0, claim="gain")
    assert [r.errored for r in result.readings] == ["wrong"]
    assert result.deciding.result == seed_delta(control, treatment, samples=4)
    assert (result.shares, result.worst_read, result.empty_tasks) == ((0.0, 0.0), False, 0)


@pytest.mark.parametrize(
    ("share_c", "share_t", "claim", "expected"),
    [
        (0.005, 0.005, "gain", ["wrong", "dropped"]),
        (0.05, 0.05, "gain", ["wrong", "dropped", "worst-for-gain"]),
        (0.0, 0.03, "loss", ["wrong", "dropped", "worst-for-loss"]),
        (0.03, 0.0, "equivalence", ["wrong", "dropped", "worst-for-gain", "worst-for-loss"]),
    ],
)
def test_large_or_unequal_shares_bring_the_worst_case(
    share_c: float, share_t: float, claim: str, expected: list[str]
) -> None:
    control, treatment = arm(-0.05), arm()
    errored = tuple(
        errors_of(share, a.shape, 4 - a) if share else 0
        for share, a in ((share_c, control), (share_t, treatment))
    )
    result = errored_delta(control, treatment, samples=4, errored=errored, claim=claim)
    assert [r.errored for r in result.readings] == expected


def test_each_reading_is_the_comparison_of_its_counts() -> None:
    control, treatment = arm(), arm(0.05)
    errored = errors_of(0.1, control.shape, 4 - control), errors_of(0.1, control.shape, 3 - 3)
    result = errored_delta(control, treatment, samples=4, errored=errored, claim="equivalence")
    left = 4 - errored[0]
    kept = (left > 0).all(axis=0)
    assert result.empty_tasks == int((~kept).sum())
    expected = {
        "wrong": seed_delta(control, treatment, samples=4),
        "dropped": seed_delta(control[:, kept], treatment[:, kept], samples=(left[:, kept], 4)),
        "worst-for-gain": seed_delta(control + errored[0], treatment, samples=4),
        "worst-for-loss": seed_delta(control, treatment + errored[1], samples=4),
    }
    assert {r.errored: r.result for r in result.readings} == expected


def test_the_deciding_reading_has_the_largest_p_value_of_all_with_and_without_clusters() -> None:
    control, treatment = arm(), arm(0.08)
    errored = errors_of(0.05, control.shape, 4 - control), 0
    labels = [t // 5 for t in range(120)]
    result = errored_delta(
        control, treatment, samples=4, errored=errored, claim="gain", clusters=labels
    )
    assert [(r.errored, r.clustered) for r in result.readings] == [
        (name, clustered)
        for name in ("wrong", "dropped", "worst-for-gain")
        for clustered in (False, True)
    ]
    assert result.deciding.p_value == max(r.p_value for r in result.readings)


def test_too_many_empty_tasks_put_the_worst_case_in_the_place_of_dropping() -> None:
    control, treatment = arm(), arm(0.05)
    errored = np.zeros_like(control)
    control[0, :7], errored[0, :7] = 0, 4
    result = errored_delta(control, treatment, samples=4, errored=(errored, 0), claim="gain")
    assert (result.empty_tasks, result.dropped_read) == (7, False)
    assert [r.errored for r in result.readings] == ["wrong", "worst-for-gain"]
    errored[0, 6], control[0, 6] = 3, 0
    six = errored_delta(control, treatment, samples=4, errored=(errored, 0), claim="gain")
    assert six.dropped_read
    assert six.readings[1].result.tasks == 114


@pytest.mark.parametrize(
    ("errored", "claim", "message"),
    [(5, "gain", "exceed"), (-1, "gain", "exceed"), ([[1, 1]], "gain", "shape"),
     (0, "better", "claim")],
)  # fmt: skip
def test_errored_answers_that_cannot_be_are_refused(errored: Any, claim: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        errored_delta(arm(), arm(), samples=4, errored=errored, claim=claim)


# Format and content


@st.composite
def parsed_arms(draw: Any) -> tuple[Any, Any, Any, Any]:
    tasks = draw(st.integers(2, 5))
    cell = st.integers(0, 3).flatmap(lambda p: st.tuples(st.just(p), st.integers(0, p)))
    arms = []
    for _ in range(2):
        cells = draw(st.lists(st.lists(cell, min_size=tasks, max_size=tasks),
                              min_size=3, max_size=3))  # fmt: skip
        both = np.array(cells)
        both[0, 0] = (2, 1)
        arms += [both[..., 1], both[..., 0]]
    return arms[0], arms[1], arms[2], arms[3]


@given(parsed_arms(), st.booleans())
def test_format_and_content_add_up(arms: tuple[Any, Any, Any, Any], paired: bool) -> None:
    right_c, parsed_c, right_t, parsed_t = arms
    split = format_split(right_c, right_t, samples=3, parsed=(parsed_c, parsed_t), paired=paired)
    parts = [split.format.fixed_pivot.delta, split.content.fixed_pivot.delta]
    assert sum(parts) == split.total.fixed_pivot.delta
    f_c, f_t = parsed_c.mean() / 3, parsed_t.mean() / 3
    g_c, g_t = right_c.mean() / 3 / f_c, right_t.mean() / 3 / f_t
    assert split.parsed == pytest.approx((f_c, f_t))
    assert split.given_parsed == pytest.approx((g_c, g_t))
    assert split.format.delta == pytest.approx((g_c + g_t) / 2 * (f_t - f_c), abs=1e-12)
    assert split.content.delta / split.mean_parsed == pytest.approx(g_t - g_c, abs=1e-12)
    assert split.total == seed_delta(right_c, right_t, samples=3, paired=paired)


@given(parsed_arms())
def test_swapping_the_arms_negates_both_parts(arms: tuple[Any, Any, Any, Any]) -> None:
    right_c, parsed_c, right_t, parsed_t = arms
    one = format_split(right_c, right_t, samples=3, parsed=(parsed_c, parsed_t))
    two = format_split(right_t, right_c, samples=3, parsed=(parsed_t, parsed_c))
    for part in ("format", "content"):
        mine, theirs = getattr(one, part).random, getattr(two, part).random
        assert (mine.low, mine.high, mine.p_value) == pytest.approx(
            (-theirs.high, -theirs.low, theirs.p_value), abs=1e-12)  # fmt: skip


def test_arms_that_parse_everything_differ_in_content_alone() -> None:
    control, treatment = arm(), arm(0.1)
    split = format_split(control, treatment, samples=4, parsed=4)
    assert (split.format.delta, split.format.random.low, split.format.random.high) == (0, 0, 0)
    assert split.content.random == seed_delta(control, treatment, samples=4).random
    assert split.qualifier("gain") is None
    assert not split.mostly_format


def test_a_gain_that_comes_from_parsing_is_format_only() -> None:
    rng = np.random.default_rng(12)
    drawn = [rng.binomial(4, share, (5, 120)) for share in (0.75, 0.98)]
    right = [rng.binomial(parsed, RATES) for parsed in drawn]
    split = format_split(*right, samples=4, parsed=tuple(drawn))
    assert split.qualifier("gain") == "format-only"
    assert split.qualifier("loss") is None
    assert split.mostly_format
    better = rng.binomial(drawn[1], np.clip(RATES + 0.3, 0, 1))
    assert format_split(
        right[0], better, samples=4, parsed=tuple(drawn)).qualifier("gain") == "format"  # fmt: skip


def test_an_arm_that_parses_nothing_has_no_parts() -> None:
    zero = np.zeros((3, 120), dtype=int)
    with pytest.raises(InsufficientData, match="no answer of treatment was parsed") as caught:
        format_split(arm(), zero, samples=4, parsed=(4, zero))
    assert caught.value.reason == "dead-evaluation"
    with pytest.raises(ValueError, match="more right than parsed"):
        format_split(arm() * 0 + 3, arm(), samples=4, parsed=(2, 4))


# Scales


@pytest.mark.parametrize(
    ("mean", "margin", "low", "high", "room"),
    [
        (0.5, 0.03, 0, 1, True),
        (0.03, 0.03, 0, 1, False),
        (0.97, 0.03, 0, 1, False),
        (0.1, 0.1, 0, 1, False),
        (97, 3, 0, 100, False),
        (96.9, 3, 0, 100, True),
        (0.0, 0.5, -1, 1, True),
        (0.5, 0.5, 0, 1, False),
    ],
)
def test_room_is_inside_the_scale_on_both_sides(
    mean: float, margin: float, low: float, high: float, room: bool
) -> None:
    assert has_room(mean, margin, low=low, high=high) == room


@pytest.mark.parametrize(
    ("runs", "high", "found"),
    [
        ([[0.61, 0.5], [61, 50]], 100, (0, 1)),
        ([[61, 50], [0, 0.02]], 100, (1, 0)),
        ([[0, 0], [61, 50]], 100, None),
        ([[0.61], [0.5]], 100, None),
        ([[0.61, 20], [61]], 100, None),
        ([[1, 0.5], [1.01]], 100, (0, 1)),
        ([[0.61], [6]], 9, None),
        ([[], [6]], 100, None),
    ],
)
def test_fractions_beside_points_are_mixed_scales(
    runs: list[list[float]], high: float, found: tuple[int, int] | None
) -> None:
    assert mixed_scales(runs, low=0, high=high) == found


def test_the_most_decimals_are_the_unit() -> None:
    assert printed_unit([]) == 1
    assert printed_unit(["61", "61.20", 0.5]) * 100 == 1
    with pytest.raises(ValueError, match="number"):
        printed_unit(["many"])
