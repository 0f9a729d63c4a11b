"""Spread between training runs net of evaluation noise."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.stats

from audit.errors import InsufficientData
from audit.stats import pooled_seed_spread, score_spread, seed_spread, variance_split


def arm(seeds: int, tasks: int, k: int, sd: float, seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    base = rng.uniform(0.2, 0.8, tasks)
    return rng.binomial(k, np.clip(base + rng.normal(0, sd, (seeds, 1)), 0, 1))


def test_rates_and_counts_give_the_same_spread() -> None:
    counts = arm(4, 30, 4, 0.1)
    assert seed_spread(counts, samples=4) == seed_spread(counts / 4, samples=4)


def test_f_test_of_no_seed_variance_is_the_two_way_anova() -> None:
    counts = arm(5, 40, 4, 0.03)
    result = seed_spread(counts, samples=4)
    y = counts / 4
    rest = y - y.mean(1, keepdims=True) - y.mean(0) + y.mean()
    ratio = 40 * y.mean(1).var(ddof=1) / ((rest**2).sum() / (4 * 39))
    assert result.p_zero == pytest.approx(scipy.stats.f.sf(ratio, 4, 4 * 39), rel=1e-9)


def test_sampling_alone_is_less_noise_than_all_that_varies_by_task() -> None:
    rng = np.random.default_rng(1)
    rates = np.clip(rng.uniform(0.2, 0.8, 60) + rng.normal(0, 0.2, (6, 60)), 0, 1)
    counts = rng.binomial(8, rates)
    general = seed_spread(counts, samples=8)
    benchmark = seed_spread(counts, samples=8, kind="benchmark")
    assert benchmark.noise_sd < general.noise_sd
    assert benchmark.total_sd == general.total_sd


def test_unequal_samples_give_the_unbiased_sampling_variance() -> None:
    counts, drawn = np.array([[1, 3, 2], [2, 4, 0], [1, 6, 3]]), np.array([[2, 6, 3]] * 3)
    y = counts / drawn
    expected = (y * (1 - y) / (drawn - 1)).sum() / (3 * 9)
    result = seed_spread(counts, samples=drawn, kind="benchmark")
    assert result.noise_sd == pytest.approx(np.sqrt(expected), rel=1e-12)
    general = seed_spread(counts, samples=drawn)
    assert general.total_sd == pytest.approx(y.mean(1).std(ddof=1), rel=1e-12)


def test_a_spread_below_the_noise_keeps_an_honest_upper_limit() -> None:
    counts = np.array([[0, 1, 2, 1, 0, 2], [1, 0, 1, 2, 2, 0], [2, 2, 0, 0, 1, 1]])
    result = seed_spread(counts, samples=2)
    assert result.total_sd == 0
    assert result.sd == result.low == 0
    assert result.high > 0
    assert result.upper(0.8) > 0


def test_one_sided_upper_limit_is_the_chi_square_one() -> None:
    result = score_spread([0.1, 0.2, 0.4, 0.7])
    sd = np.std([0.1, 0.2, 0.4, 0.7], ddof=1)
    assert result.upper(0.8) == pytest.approx(sd * np.sqrt(3 / scipy.stats.chi2.ppf(0.2, 3)))
    assert result.upper(0.975) == pytest.approx(result.high)


def test_known_noise_is_taken_off_scores() -> None:
    scores = [0.5, 0.6, 0.7]
    result = score_spread(scores, noise_variance=0.004)
    assert result.sd == pytest.approx(np.sqrt(0.01 - 0.004))
    assert result.p_zero == pytest.approx(scipy.stats.chi2.sf(2 * 0.01 / 0.004, 2))
    assert result.high == pytest.approx(np.sqrt(0.02 / scipy.stats.chi2.ppf(0.025, 2) - 0.004))


def test_pooled_arms_average_variances_and_add_degrees_of_freedom() -> None:
    one, two = arm(3, 30, 4, 0.1, 1), arm(5, 30, 4, 0.05, 2)
    single = [seed_spread(a, samples=4) for a in (one, two)]
    pooled = pooled_seed_spread([one, two], samples=4)
    assert pooled.df == 6
    assert pooled.variance == pytest.approx((single[0].variance + single[1].variance) / 2)
    assert pooled.noise_variance == pytest.approx(
        (single[0].noise_variance + single[1].noise_variance) / 2
    )
    assert pooled_seed_spread([one, two], samples=[4, 4]) == pooled


def test_a_saturated_arm_has_an_upper_limit_above_zero() -> None:
    result = seed_spread([[2, 2, 2]] * 3, samples=2)
    assert result.sd == 0
    assert result.upper() > 0


def test_order_of_seeds_and_tasks_changes_no_bit_of_the_spread() -> None:
    counts = arm(5, 20, 4, 0.1)
    assert seed_spread(counts, samples=4) == seed_spread(counts[::-1, ::-1], samples=4)


def test_components_match_their_definitions() -> None:
    one, two = arm(4, 50, 4, 0.1, 1), arm(3, 50, 4, 0.02, 2)
    split = variance_split(one, two, samples=4)
    qs, pqs = [], []
    for counts in (one, two):
        y = counts / 4
        rest = y - y.mean(1, keepdims=True) - y.mean(0) + y.mean()
        qs.append((rest**2).sum() / ((len(y) - 1) * 49))
        pqs.append((y * (1 - y)).mean() * 4 / 3)
    s2 = (one / 4).mean(1).var(ddof=1)
    v_t = ((two / 4).mean(0) - (one / 4).mean(0)).var(ddof=1)
    assert split.seed_sd_control == pytest.approx(np.sqrt(max(s2 - qs[0] / 50, 0)))
    assert split.sampling_variance == pytest.approx(np.mean(pqs))
    assert split.seed_task_sd == pytest.approx(np.sqrt(max(np.mean(qs) - np.mean(pqs) / 4, 0)))
    assert split.task_effect_sd == pytest.approx(np.sqrt(max(v_t - qs[0] / 4 - qs[1] / 3, 0)))


def test_with_one_sample_all_crossed_variance_counts_as_the_seeds() -> None:
    one, two = arm(4, 50, 1, 0.1, 1), arm(4, 50, 1, 0.1, 2)
    split = variance_split(one, two, samples=1)
    assert split.sampling_variance == 0
    assert split.seed_task_sd > 0.3


@pytest.mark.parametrize(
    ("values", "samples", "kind", "reason"),
    [
        ([[1, 0, 1]], 1, "general", "one-seed"),
        ([[1], [0]], 1, "general", "few-tasks"),
        ([[1, 0], [0, 1]], 1, "benchmark", "one-sample"),
    ],
)
def test_too_little_for_a_spread_is_refused(
    values: Any, samples: int, kind: str, reason: str
) -> None:
    with pytest.raises(InsufficientData) as caught:
        seed_spread(values, samples=samples, kind=kind)
    assert caught.value.reason == reason


def test_one_score_has_no_spread() -> None:
    with pytest.raises(InsufficientData) as caught:
        score_spread([0.5])
    assert caught.value.reason == "one-seed"


@pytest.mark.parametrize("rates", [[[0.3, 0.5], [0.5, 0.5]], [[1.5, 0.5], [0.5, 0.5]]])
def test_rates_off_the_lattice_are_refused(rates: Any) -> None:
    with pytest.raises(ValueError, match="rate"):
        seed_spread(rates, samples=4)
