"""Noise floors of an evaluation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.stats

from audit.stats import bernoulli_bound, floor_from_run_std, noise_floor, run_level_f_test


def evaluations(runs: int, tasks: int, k: int, seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    return rng.binomial(k, rng.beta(2, 3, tasks), (runs, tasks))


def test_shrink4_weighs_sampling_as_four_runs() -> None:
    counts = evaluations(3, 60, 4)
    rates = counts / 4
    result = noise_floor(counts, samples=4)
    w2 = rates.var(axis=0, ddof=1).sum() / 60**2
    run = rates.mean(axis=1).var(ddof=1)
    expected = scipy.stats.t.ppf(0.975, 6) * np.sqrt(2 * (4 * w2 + 2 * run) / 6)
    assert result.method == "shrink4"
    assert result.reason is None
    assert result.value == pytest.approx(expected, rel=1e-10)
    assert result.sampling_sd == pytest.approx(np.sqrt(w2), rel=1e-12)
    assert result.f_p_value == pytest.approx(scipy.stats.f.sf(run / w2, 2, 120), rel=1e-10)
    assert (result.runs, result.tasks, result.samples) == (3, 60, 4)


def test_f_test_is_the_one_way_anova_of_tasks_as_blocks() -> None:
    statistic, p_value = run_level_f_test(0.0004, 0.0001, 4, 30)
    assert statistic == pytest.approx(4)
    assert p_value == pytest.approx(scipy.stats.f.sf(4, 3, 90), rel=1e-12)


def test_a_run_level_effect_calls_for_the_t_form() -> None:
    counts = np.array([[0] * 20 + [1] * 20, [1] * 20 + [2] * 20, [2] * 20 + [3] * 20])
    result = noise_floor(counts, samples=4)
    assert result.f_p_value is not None
    assert result.f_p_value < 0.05
    assert result.method == "t-run"
    assert result.value == result.t_form


def test_run_means_alone_give_the_t_form() -> None:
    result = noise_floor(run_means=["0.50", "0.52", "0.49"], tasks=120, samples=4)
    sd = np.std([0.50, 0.52, 0.49], ddof=1)
    assert result.method == "t-run"
    assert result.value == pytest.approx(scipy.stats.t.ppf(0.975, 2) * np.sqrt(2) * sd, rel=1e-10)
    assert result.printed == pytest.approx(scipy.stats.norm.ppf(0.975) * np.sqrt(2) * sd, rel=1e-9)
    chi2 = scipy.stats.chi2.ppf([0.975, 0.025], 2)
    assert result.run_std_interval == pytest.approx(tuple(sd * np.sqrt(2 / chi2)), rel=1e-9)
    n = 3 * 480
    inside = (n * (1.51 / 3) + 2) / (n + 4)
    assert result.bernoulli_bound == pytest.approx(bernoulli_bound(inside, tasks=120, samples=4))


@pytest.mark.parametrize(
    ("kwargs", "reason"),
    [
        ({"run_means": [0.5, 0.6]}, "too-few-evaluations"),
        ({"run_means": [0.5]}, "too-few-evaluations"),
        ({}, "too-few-evaluations"),
        ({"evaluations": [[1, 0, 2]], "samples": 2}, "too-few-evaluations"),
        ({"run_means": [0.5, 0.5, 0.5]}, "no-variation-seen"),
        ({"evaluations": [[1, 0, 1]] * 3, "samples": 1}, "no-variation-seen"),
        ({"evaluations": [[1, 0, 1]] * 3, "samples": 1, "deterministic": True},
         "deterministic-eval"),
    ],
)  # fmt: skip
def test_without_variation_or_runs_there_is_no_floor(kwargs: Any, reason: str) -> None:
    result = noise_floor(**kwargs)
    assert result.value is None
    assert result.method == "none"
    assert result.reason == reason
    assert result.for_seeds(3, 3) is None


def test_without_variation_the_bernoulli_bound_is_shown() -> None:
    result = noise_floor([[4, 0, 4]] * 3, samples=4, deterministic=True)
    answers = 9  # greedy: one answer per task, whatever was written down
    pooled = (answers * 2 / 3 + 2) / (answers + 4)
    assert result.bernoulli_bound == pytest.approx(bernoulli_bound(pooled, tasks=3, samples=1))
    assert noise_floor([[4, 4, 4]] * 3, samples=4).bernoulli_bound != 0


def test_equal_totals_by_chance_still_have_a_floor() -> None:
    result = noise_floor([[1, 0, 1, 2], [0, 1, 2, 1], [2, 1, 1, 0]], samples=2)
    assert result.run_std == 0
    assert result.method == "shrink4"
    assert result.value is not None
    assert result.value > 0


def test_means_over_seeds_have_a_smaller_floor() -> None:
    result = floor_from_run_std(0.01, 4)
    assert result.value is not None
    assert result.for_seeds(1, 1) == pytest.approx(result.value)
    assert result.for_seeds(2, 4) == pytest.approx(result.value * np.sqrt((1 / 2 + 1 / 4) / 2))


@pytest.mark.parametrize("run_std", [-0.1, float("nan"), float("inf")])
def test_a_standard_deviation_is_finite_and_not_negative(run_std: float) -> None:
    with pytest.raises(ValueError, match=r"negative|finite"):
        floor_from_run_std(run_std, 3)


def test_evaluations_need_their_samples() -> None:
    with pytest.raises(ValueError, match="samples"):
        noise_floor([[1, 0], [0, 1]])
