"""Two arms of training runs: oracles, invariances and refusals of the verdict's statistic."""

from __future__ import annotations

import subprocess
import sys
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy.stats
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from audit.errors import InsufficientData
from audit.stats import base_delta, one_seed_interval, seed_delta
from audit.stats.records import SeedDelta


@st.composite
def studies(draw: st.DrawFn, *, balanced: bool = False, fewest: int = 2) -> tuple[Any, Any, int]:
    tasks, k = draw(st.integers(2, 9)), draw(st.integers(1, 5))
    seeds_c = draw(st.integers(fewest, 5))
    seeds_t = seeds_c if balanced else draw(st.integers(fewest, 5))
    cells = st.integers(0, k)

    def arm(seeds: int) -> list[list[int]]:
        return draw(
            st.lists(st.lists(cells, min_size=tasks, max_size=tasks), min_size=seeds,
                     max_size=seeds)
        )  # fmt: skip

    return arm(seeds_c), arm(seeds_t), k


def naive(control: Any, treatment: Any, k: int) -> dict[str, float]:
    """The unsaturated unpaired rule written a second time, in plain Fractions."""
    arms = [[[Fraction(c, k) for c in row] for row in arm] for arm in (control, treatment)]
    tasks = len(arms[0][0])
    means, us, qs, columns = [], [], [], []
    for arm in arms:
        s = len(arm)
        rows = [sum(row) / tasks for row in arm]
        cols = [sum(row[t] for row in arm) / s for t in range(tasks)]
        grand = sum(rows) / s
        s2 = sum((r - grand) ** 2 for r in rows) / (s - 1)
        q = sum(
            (arm[i][t] - rows[i] - cols[t] + grand) ** 2 for i in range(s) for t in range(tasks)
        ) / ((s - 1) * (tasks - 1))
        means.append(grand)
        us.append(max(s2, q / tasks) / s)
        qs.append(q / s)
        columns.append(cols)
    d = [b - a for a, b in zip(*columns, strict=True)]
    mean_d = sum(d) / tasks
    v_t = sum((x - mean_d) ** 2 for x in d) / (tasks - 1)
    return {
        "delta": float(means[1] - means[0]),
        "u": float(sum(us)),
        "x": float(max(v_t - sum(qs), Fraction(0)) / tasks),
        "v_t": float(v_t),
    }


@given(studies())
def test_components_are_those_of_the_definitions(study: tuple[Any, Any, int]) -> None:
    result = seed_delta(study[0], study[1], samples=study[2])
    assume(not result.control.saturated and not result.treatment.saturated)
    for name, expected in naive(*study).items():
        assert getattr(result, name) == expected


@given(studies(), st.booleans())
def test_swapping_the_arms_negates_everything(study: tuple[Any, Any, int], paired: bool) -> None:
    control, treatment, k = study
    paired = paired and len(control) == len(treatment)
    one = seed_delta(control, treatment, samples=k, paired=paired)
    two = seed_delta(treatment, control, samples=k, paired=paired)
    assert one.delta == -two.delta
    for a, b in ((one.fixed, two.fixed), (one.random, two.random), (one.raw, two.raw)):
        assert (a.low, a.high, a.se, a.df, a.p_value) == (-b.high, -b.low, b.se, b.df, b.p_value)
    assert one.control == two.treatment
    assert one.treatment == two.control


@given(studies(), st.randoms(use_true_random=False))
def test_order_of_tasks_and_seeds_changes_no_bit(study: tuple[Any, Any, int], rnd: Any) -> None:
    control, treatment = np.array(study[0]), np.array(study[1])
    order = rnd.sample(range(control.shape[1]), control.shape[1])
    rows_c = rnd.sample(range(len(control)), len(control))
    rows_t = rnd.sample(range(len(treatment)), len(treatment))
    plain = seed_delta(control, treatment, samples=study[2])
    mixed = seed_delta(control[rows_c][:, order], treatment[rows_t][:, order], samples=study[2])
    assert plain == mixed


@given(studies(balanced=True, fewest=3), st.randoms(use_true_random=False))
def test_order_of_pairs_changes_no_bit(study: tuple[Any, Any, int], rnd: Any) -> None:
    control, treatment = np.array(study[0]), np.array(study[1])
    order = rnd.sample(range(control.shape[1]), control.shape[1])
    rows = rnd.sample(range(len(control)), len(control))
    plain = seed_delta(control, treatment, samples=study[2], paired=True)
    mixed = seed_delta(
        control[rows][:, order], treatment[rows][:, order], samples=study[2], paired=True
    )
    assert plain == mixed


@given(studies(), st.sampled_from([0.8, 0.9, 0.95, 0.99]))
def test_p_falls_below_alpha_exactly_where_the_interval_excludes_zero(
    study: tuple[Any, Any, int], level: float
) -> None:
    result = seed_delta(study[0], study[1], samples=study[2], level=level)
    for estimate in (result.fixed, result.random, result.raw):
        assume(abs(estimate.p_value - (1 - level)) > 1e-9)
        excluded = estimate.low > 0 or estimate.high < 0
        assert (estimate.p_value < 1 - level) == excluded


@given(studies(), st.sampled_from([0.5, 0.9, 0.95, 0.999]))
def test_a_claim_about_new_tasks_is_never_more_certain(
    study: tuple[Any, Any, int], level: float
) -> None:
    result = seed_delta(study[0], study[1], samples=study[2]).at(level)
    assert result.random.low <= result.fixed.low
    assert result.random.high >= result.fixed.high
    assert result.random.p_value >= result.fixed.p_value


@given(studies())
def test_another_level_is_the_same_as_asking_for_it(study: tuple[Any, Any, int]) -> None:
    at_once = seed_delta(study[0], study[1], samples=study[2], level=0.9)
    assert seed_delta(study[0], study[1], samples=study[2]).at(0.9) == at_once


@given(studies(), st.integers(2, 3))
def test_a_matrix_of_equal_samples_is_the_single_number(
    study: tuple[Any, Any, int], factor: int
) -> None:
    control, treatment, k = study
    plain = seed_delta(control, treatment, samples=k)
    matrices = (np.full(np.shape(control), k), np.full(np.shape(treatment), k))
    assert seed_delta(control, treatment, samples=matrices) == plain
    assert seed_delta(control, treatment, samples=(k, k)) == plain


def test_unequal_samples_weigh_tasks_equally() -> None:
    control, treatment = [[1, 2, 0], [2, 4, 1]], [[2, 3, 1], [2, 5, 0]]
    drawn = [[2, 6, 1], [2, 6, 1]]
    # The same scores on a common denominator of 6.
    scale = np.array([3, 1, 6])
    mixed = seed_delta(control, treatment, samples=drawn)
    whole = seed_delta(np.array(control) * scale, np.array(treatment) * scale, samples=6)
    assert mixed.delta == whole.delta
    assert mixed.fixed == whole.fixed
    assert mixed.random == whole.random
    assert (mixed.samples, whole.samples) == (1, 6)


def test_large_denominators_do_not_overflow() -> None:
    rng = np.random.default_rng(0)
    primes = rng.choice([59, 61, 67, 71, 73, 79, 83, 89, 97, 101, 103], size=(4, 12))
    counts = rng.integers(0, primes + 1)
    result = seed_delta(counts[:2], counts[2:], samples=(primes[:2], primes[2:]))
    rates = counts / primes
    assert result.delta == pytest.approx(rates[2:].mean() - rates[:2].mean(), abs=1e-14)
    assert result.control.s2 == pytest.approx(rates[:2].mean(axis=1).var(ddof=1), rel=1e-12)
    huge = 2**70
    grown = [[v * huge for v in row] for row in counts[:2].tolist()]
    limits = primes[:2].astype(object) * huge
    assert seed_delta(grown, counts[2:], samples=(limits, primes[2:])).fixed == result.fixed


@pytest.mark.parametrize("seed", range(5))
def test_fixed_interval_is_welchs_where_the_floor_and_the_cap_do_not_bind(seed: int) -> None:
    rng = np.random.default_rng(seed)
    control = rng.binomial(16, np.array([[0.2], [0.5], [0.8]]), (3, 40))
    treatment = rng.binomial(16, np.array([[0.3], [0.5], [0.9]]), (3, 40))
    result = seed_delta(control, treatment, samples=16)
    assert not result.control.floored
    assert not result.treatment.floored
    oracle = scipy.stats.ttest_ind(
        treatment.mean(axis=1) / 16, control.mean(axis=1) / 16, equal_var=False
    )
    ends = oracle.confidence_interval(0.95)
    assert result.fixed.df < result.df_eq
    assert result.fixed.df == pytest.approx(oracle.df, rel=1e-12)
    assert result.fixed.p_value == pytest.approx(oracle.pvalue, rel=1e-10)
    assert (result.fixed.low, result.fixed.high) == pytest.approx((ends.low, ends.high), rel=1e-10)


def test_the_paired_fixed_interval_is_the_paired_t_where_the_floor_does_not_bind() -> None:
    rng = np.random.default_rng(3)
    control = rng.binomial(16, np.array([[0.2], [0.4], [0.6], [0.5]]), (4, 40))
    treatment = rng.binomial(16, np.array([[0.5], [0.5], [0.9], [0.4]]), (4, 40))
    result = seed_delta(control, treatment, samples=16, paired=True)
    assert result.ms_seed is not None
    assert result.ms_seed_task is not None
    assert result.ms_seed > result.ms_seed_task
    oracle = scipy.stats.ttest_rel(treatment.mean(axis=1), control.mean(axis=1))
    assert result.fixed.p_value == pytest.approx(oracle.pvalue, rel=1e-10)
    expected = np.corrcoef(control.mean(axis=1), treatment.mean(axis=1))[0, 1]
    assert result.seed_correlation == pytest.approx(expected, rel=1e-12)


def test_two_paired_seeds_get_the_unpaired_analysis() -> None:
    control, treatment = [[1, 0, 2, 1], [0, 0, 1, 2]], [[2, 2, 2, 1], [2, 0, 1, 2]]
    declared = seed_delta(control, treatment, samples=2, paired=True)
    plain = seed_delta(control, treatment, samples=2)
    assert declared.paired is False
    assert (declared.fixed, declared.random) == (plain.fixed, plain.random)
    assert declared.ms_seed is None
    assert declared.seed_correlation is not None
    assert plain.seed_correlation is None


def test_paired_differences_that_no_seed_changes_keep_the_arms_variance() -> None:
    control = np.array([[0, 1, 1, 0], [1, 0, 1, 0], [0, 0, 1, 1]])
    unpaired = seed_delta(control, control + 1, samples=3)
    paired = seed_delta(control, control + 1, samples=3, paired=True)
    assert paired.ms_seed == paired.ms_seed_task == 0
    assert paired.u == unpaired.u > 0
    assert paired.fixed.df == 2


def test_copied_runs_are_flagged_and_still_computed() -> None:
    copied, other = [[1, 0, 1, 1]] * 3, [[1, 1, 0, 1], [1, 1, 1, 1], [0, 1, 1, 1]]
    result = seed_delta(copied, other, samples=1)
    assert result.control.identical
    assert not result.treatment.identical
    assert result.control.u == 0
    both = seed_delta(copied, copied, samples=1)
    assert (both.fixed.low, both.fixed.high, both.fixed.p_value) == (0, 0, 1)
    apart = seed_delta(copied, [[1, 1, 1, 0]] * 3, samples=1)
    assert apart.delta == 0
    apart = seed_delta(copied, [[0, 0, 1, 0]] * 3, samples=1)
    assert (apart.fixed.low, apart.fixed.high, apart.fixed.p_value) == (-0.5, -0.5, 0)


def test_a_saturated_arm_is_no_copy_and_keeps_some_variance() -> None:
    result = seed_delta([[2, 2, 2]] * 2, [[2, 1, 2], [0, 2, 1]], samples=2)
    assert result.control.saturated
    assert not result.control.identical
    n = 2 * 3 * 2
    assert result.control.v == float(Fraction(n + 1, (n + 2) ** 2 * 6))
    few = seed_delta([[2, 2, 2]] * 2, [[2, 1, 2], [0, 2, 1]], samples=2, floor_samples=1)
    assert few.control.v > result.control.v


def test_a_single_seed_is_refused() -> None:
    for control, treatment in (([[1, 0]], [[1, 0], [0, 1]]), ([[1, 0], [0, 1]], [[1, 0]])):
        with pytest.raises(InsufficientData, match="one training run") as caught:
            seed_delta(control, treatment, samples=1)
        assert caught.value.reason == "one-seed"


def test_a_single_task_is_refused() -> None:
    with pytest.raises(InsufficientData, match="2 tasks") as caught:
        seed_delta([[1], [0]], [[1], [0]], samples=1)
    assert caught.value.reason == "few-tasks"


@pytest.mark.parametrize(
    ("control", "samples", "message"),
    [
        ([[1, 2], [0, 3]], 2, "outside 0 to samples"),
        ([[1, -1], [0, 1]], 2, "outside 0 to samples"),
        ([[1, 0.5], [0, 1]], 2, "whole numbers"),
        ([[1, float("nan")], [0, 1]], 2, "not finite"),
        ([[1, float("inf")], [0, 1]], 2, "not finite"),
        ([["1", "0"], ["0", "1"]], 2, "whole numbers"),
        ([[1, 0, 1], [0, 1, 1]], 2, "different tasks"),
        ([[[1, 0]], [[0, 1]]], 2, "3 dimensions"),
        ([[], []], 2, "empty"),
        ([[1, 0], [0, 1]], 0, "at least 1"),
        ([[1, 0], [0, 1]], [[1, 1, 1], [1, 1, 1]], "samples of control have shape"),
        ([[1, 0], [0, 1]], 1.5, "whole numbers"),
    ],
)
def test_bad_counts_are_named(control: Any, samples: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        seed_delta(control, [[1, 0], [0, 1]], samples=samples)


def test_paired_arms_need_equal_seeds() -> None:
    with pytest.raises(ValueError, match="equal seeds"):
        seed_delta([[1, 0]] * 2, [[1, 0]] * 3, samples=1, paired=True)


@pytest.mark.parametrize("level", [0, 1, 1.5, float("nan")])
def test_a_level_lies_between_0_and_1(level: float) -> None:
    with pytest.raises(ValueError, match="level"):
        seed_delta([[1, 0], [0, 1]], [[1, 0], [0, 1]], samples=1, level=level)


def test_one_seed_interval_is_the_paired_t_over_tasks() -> None:
    control, treatment = np.array([0, 3, 1, 2, 4, 0]), np.array([1, 4, 1, 4, 3, 2])
    result = one_seed_interval(control, treatment, samples=4)
    oracle = scipy.stats.ttest_rel(treatment / 4, control / 4)
    ends = oracle.confidence_interval(0.95)
    assert result.delta == result.mean == float(np.mean(treatment - control) / 4)
    assert (result.low, result.high) == pytest.approx((ends.low, ends.high), rel=1e-10)
    assert (result.df, result.p_value) == pytest.approx((5, oracle.pvalue), rel=1e-10)


def test_a_verdict_loads_numpy_alone() -> None:
    code = (
        "import sys\n"
        "from audit.stats import seed_delta, score_delta\n"
        "seed_delta([[1, 0], [1, 1]], [[0, 1], [1, 1]], samples=1, paired=True).at(0.9)\n"
        "score_delta([0.5, 0.25], [0.5, 0.75])\n"
        "print(*sorted({m.split('.')[0] + '.' + (m.split('.') + [''])[1] for m in sys.modules}))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = run.stdout.split()
    assert "numpy.linalg" in loaded
    heavy = ("scipy.", "pandas.", "statsmodels.", "matplotlib.", "torch.")
    assert not [name for name in heavy if name in loaded]


def base_oracle(base: Any, arm: Any, k: int) -> tuple[float, float, float, float]:
    """Variance and degrees of freedom against the base, fixed then raw, in floats."""
    y0, y = np.array(base) / k, np.array(arm) / k
    (r, t), s = y0.shape, len(y)
    w2 = y0.var(axis=0, ddof=1).sum() / t**2
    rest = y - y.mean(1, keepdims=True) - y.mean(0) + y.mean()
    q = (rest**2).sum() / ((s - 1) * (t - 1))
    u_b = max(y.mean(1).var(ddof=1), q / t) / s
    u_0 = w2 / r
    x = max((y.mean(0) - y0.mean(0)).var(ddof=1) - q / s - t * w2 / r, 0) / t
    spread = u_b**2 / (s - 1) + u_0**2 / (t * (r - 1))
    limit = max(t - 1, s - 1)
    fixed, raw = u_b + u_0, u_b + u_0 + x
    return fixed, min(fixed**2 / spread, limit), raw, min(raw**2 / spread, limit)


@settings(max_examples=50)
@given(studies())
def test_the_base_has_evaluation_noise_and_no_seeds(study: tuple[Any, Any, int]) -> None:
    base, arm, k = study
    result = base_delta(base, arm, samples=k)
    assume(not result.treatment.saturated and result.u > 0)
    fixed, fixed_df, raw, raw_df = base_oracle(base, arm, k)
    assert result.delta == pytest.approx(np.mean(arm) / k - np.mean(base) / k, abs=1e-12)
    assert (result.fixed.se, result.fixed.df) == pytest.approx((fixed**0.5, fixed_df), rel=1e-9)
    assert (result.raw.se, result.raw.df) == pytest.approx((raw**0.5, raw_df), rel=1e-9)
    assert result.random.low <= result.fixed.low
    assert result.random.p_value == max(result.fixed.p_value, result.raw.p_value)
    assert result.at(0.9).fixed.high <= result.fixed.high


def test_greedy_evaluations_of_the_base_leave_it_without_variance() -> None:
    result = base_delta([[1, 0, 1, 1]] * 3, [[1, 1, 1, 1], [1, 1, 0, 1], [0, 1, 1, 1]], samples=1)
    assert result.w2 == result.u0 == 0
    assert result.u == result.treatment.u
    assert result.evaluations == 3


@pytest.mark.parametrize(
    ("base", "arm", "reason"),
    [
        ([[1, 0]], [[1, 0], [0, 1]], "too-few-evaluations"),
        ([[1, 0], [0, 1]], [[1, 0]], "one-seed"),
        ([[1], [0]], [[1], [0]], "few-tasks"),
    ],
)
def test_short_data_against_the_base_are_refused(base: Any, arm: Any, reason: str) -> None:
    with pytest.raises(InsufficientData) as caught:
        base_delta(base, arm, samples=1)
    assert caught.value.reason == reason


def test_a_record_cannot_be_changed() -> None:
    result: SeedDelta = seed_delta([[1, 0], [0, 0]], [[1, 1], [0, 1]], samples=1)
    with pytest.raises(AttributeError):
        result.delta = 0.0  # type: ignore[misc]  # the point of the test
