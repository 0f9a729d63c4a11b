"""Several checkpoints of a run are one measurement of it."""

from __future__ import annotations

import json
from fractions import Fraction
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import stdtr
from scipy.stats import ttest_ind

from audit.errors import InsufficientData
from audit.stats import (
    NoiseFloor,
    PooledCheckpoints,
    along_run,
    cheapest_checkpoints,
    checkpoint_designs,
    cross_fitted_best,
    last_contrast,
    noise_floor,
    pool_checkpoints,
    pooled_components,
    seed_delta,
    seed_sd_over_checkpoints,
    task_half,
)

STUDY = json.loads(
    (Path(__file__).resolve().parents[1] / "data" / "checkpoint_scores.json").read_text()
)
FIVE = (80, 85, 90, 95, 100)
NINE = tuple(range(60, 101, 5))


def arm(name: str, seeds: range | None = None, steps: tuple[int, ...] = NINE) -> PooledCheckpoints:
    rows = STUDY["runs"][name]
    kept = [rows[str(s)] for s in seeds] if seeds else list(rows.values())
    runs = [
        {step: [int(c) for c in row] for step, row in zip(STUDY["steps"], run, strict=True)}
        for run in kept
    ]
    return pool_checkpoints(runs, steps, samples=STUDY["samples"])


@pytest.mark.parametrize(
    ("control", "treatment", "steps", "delta", "low", "high", "df"),
    [
        (("fixed", 1, 10), ("fixed", 11, 20), (100,),
         0.0074166667, -0.02214480, 0.03697813, 13.567136),
        (("fixed", 1, 10), ("fixed", 11, 20), FIVE,
         0.0032833333, -0.01042486, 0.01699152, 16.505518),
        (("fixed", 1, 10), ("fixed", 11, 20), NINE,
         0.0044166667, -0.00569031, 0.01452364, 16.341224),
        (("fixed", 1, 5), ("adaptive", 1, 5), (100,),
         0.0371666667, -0.01910876, 0.09344209, 6.199384),
        (("fixed", 1, 5), ("adaptive", 1, 5), FIVE,
         0.0069666667, -0.01138112, 0.02531445, 6.464338),
        (("fixed", 1, 5), ("lower-rate", 1, 5), (100,),
         0.0520000000, -0.00352556, 0.10752556, 5.340340),
        (("fixed", 1, 5), ("lower-rate", 1, 5), FIVE,
         0.0227000000, 0.00445884, 0.04094116, 6.264014),
    ],
)  # fmt: skip
def test_intervals_of_a_real_study(
    control: tuple[str, int, int],
    treatment: tuple[str, int, int],
    steps: tuple[int, ...],
    delta: float,
    low: float,
    high: float,
    df: float,
) -> None:
    a, b = (arm(n, range(s, e + 1), steps) for n, s, e in (control, treatment))
    found = seed_delta(a.right, b.right, samples=(a.drawn, b.drawn), floor_samples=a.independent)
    assert found.delta == pytest.approx(delta, abs=5.1e-11)
    assert (found.random.low, found.random.high) == pytest.approx((low, high), abs=5.1e-9)
    assert found.random.df == pytest.approx(df, abs=5.1e-7)


def test_what_five_checkpoints_settle_the_last_does_not() -> None:
    def word(steps: tuple[int, ...], treatment: str) -> str:
        a, b = arm("fixed", range(1, 6), steps), arm(treatment, range(1, 6), steps)
        found = seed_delta(a.right, b.right, samples=4 * len(steps))
        narrow = found.at(0.9).random
        if found.random.low > 0:
            return "gain"
        return "equivalent" if narrow.low > -0.03 and narrow.high < 0.03 else "inconclusive"

    assert [word((100,), "lower-rate"), word(FIVE, "lower-rate")] == ["inconclusive", "gain"]
    assert [word((100,), "adaptive"), word(FIVE, "adaptive")] == ["inconclusive", "equivalent"]


def test_one_checkpoint_pooled_is_that_checkpoint() -> None:
    alone = arm("adaptive", steps=(100,))
    assert (alone.right == alone.by_step[0]).all()
    assert (alone.drawn == 4).all()
    assert arm("adaptive").last(1).steps == (100,)
    assert (arm("adaptive").last(1).right == alone.right).all()
    with pytest.raises(ValueError, match="9 checkpoints, not 10"):
        arm("adaptive").last(10)


tables = st.integers(1, 4).flatmap(
    lambda k: st.lists(
        st.lists(st.lists(st.integers(0, k), min_size=6, max_size=6), min_size=3, max_size=3),
        min_size=2,
        max_size=4,
    ).map(lambda runs: (k, runs))
)


@settings(max_examples=40, deadline=None)
@given(tables)
def test_a_cell_is_the_sum_over_checkpoints(table: tuple[int, list[Any]]) -> None:
    k, runs = table
    steps = (10, 20, 30)
    pooled = pool_checkpoints(
        [dict(zip(steps, run, strict=True)) for run in runs], steps, samples=k
    )
    assert (pooled.right == np.array(runs).sum(axis=1)).all()
    assert (pooled.drawn == 3 * k).all()
    assert pooled.independent == k
    scores = pooled.scores()
    means = [sum(row, Fraction(0)) / 3 for row in scores]
    assert means == [Fraction(int(row.sum()), 6 * 3 * k) for row in pooled.right]


def test_checkpoints_may_be_given_in_any_order_and_drawn_by_task() -> None:
    runs = [{20: [1, 2], 10: [0, 2], 5: [9, 9]}, {10: [1, 1], 20: [1, 0]}]
    drawn = [{20: [1, 2], 10: [1, 2]}, {10: [1, 4], 20: [1, 4]}]
    pooled = pool_checkpoints(runs, (20, 10), samples=drawn)
    assert pooled.steps == (10, 20)
    assert pooled.right.tolist() == [[1, 4], [2, 1]]
    assert pooled.drawn.tolist() == [[2, 4], [2, 8]]
    assert pooled.scores() == [[Fraction(1, 2), Fraction(1)], [Fraction(5, 8), Fraction(1, 2)]]


@pytest.mark.parametrize(
    ("runs", "samples", "reason"),
    [
        ([{1: [0, 1], 2: [1, 1]}, {1: [0, 0]}], 1, "other-checkpoints"),
        ([{1: [0, 1], 2: [1, 1, 0]}], 1, "uneven-checkpoints"),
        ([{1: [0, 1], 2: [1, 1]}], [{1: [1, 1], 2: [1, 2]}], "uneven-checkpoints"),
    ],
)
def test_checkpoints_that_do_not_weigh_the_same_are_refused(
    runs: Any, samples: Any, reason: str
) -> None:
    with pytest.raises(InsufficientData) as caught:
        pool_checkpoints(runs, (1, 2), samples=samples)
    assert caught.value.reason == reason


@pytest.mark.parametrize(
    ("runs", "steps", "samples"),
    [
        ([], (1, 2), 1),
        ([{1: [0, 1]}], (), 1),
        ([{1: [0, 1]}], (1, 1), 1),
        ([{1: [0, 2]}], (1,), 1),
        ([{1: [0, 1]}, {1: [0, 1, 1]}], (1,), 1),
    ],
)
def test_impossible_tables_are_errors(runs: Any, steps: Any, samples: int) -> None:
    with pytest.raises(ValueError, match=r"checkpoints|counts|tasks"):
        pool_checkpoints(runs, steps, samples=samples)


def test_a_saturated_arm_has_the_answers_of_one_checkpoint() -> None:
    """All right at every checkpoint says no more than all right at one."""
    right = [{s: [4] * 20 for s in FIVE} for _ in range(3)]
    pooled = pool_checkpoints(right, FIVE, samples=4)
    once = seed_delta(pooled.by_step[0], pooled.by_step[0], samples=4)
    found = seed_delta(
        pooled.right, pooled.right, samples=pooled.drawn, floor_samples=pooled.independent
    )
    assert found.random.high == pytest.approx(once.random.high)


def test_arms_that_part_at_the_end_are_found() -> None:
    rng = np.random.default_rng(0)
    level = rng.normal(0.5, 0.01, (5, 5))
    falling = level.copy()
    falling[:, -1] -= 0.2
    found = last_contrast(level.tolist(), falling.tolist())
    assert found.differs
    assert found.treatment - found.control == pytest.approx(-0.16)
    assert not last_contrast(level.tolist(), (level + 0.1).tolist()).differs


def test_the_contrast_is_welchs() -> None:
    rng = np.random.default_rng(1)
    a, b = rng.normal(0.5, 0.02, (4, 5)), rng.normal(0.5, 0.05, (7, 5))
    d_a, d_b = (x[:, -1] - x.mean(axis=1) for x in (a, b))
    known = ttest_ind(d_b, d_a, equal_var=False)
    found = last_contrast(a.tolist(), b.tolist())
    assert found.control == pytest.approx(d_a.mean())
    assert found.estimate.df == pytest.approx(min(known.df, 121 / 19))
    assert 2 * stdtr(found.estimate.df, -abs(known.statistic)) == pytest.approx(
        found.estimate.p_value
    )


def test_the_real_arms_do_not_part_at_the_end() -> None:
    fixed, adaptive = arm("fixed").last(5), arm("adaptive").last(5)
    found = last_contrast(fixed.scores(), adaptive.scores())
    assert found.control == pytest.approx(0.004, abs=0.0005)
    assert not found.differs


def test_a_contrast_needs_runs_and_checkpoints() -> None:
    with pytest.raises(InsufficientData) as caught:
        last_contrast([[0.1, 0.2]], [[0.1, 0.2], [0.2, 0.3]])
    assert caught.value.reason == "one-seed"
    with pytest.raises(ValueError, match="fewer than 2"):
        last_contrast([[0.1], [0.2]], [[0.1, 0.2], [0.2, 0.3]])


def test_variance_along_a_real_run() -> None:
    found = along_run([[float(x) for x in row] for row in arm("fixed").last(5).scores()])
    assert found.between_sd == pytest.approx(0.0113, abs=5e-5)
    assert found.along_sd == pytest.approx(0.0229, abs=5e-5)
    assert found.share_along == pytest.approx(0.81, abs=0.005)
    assert (found.share_low, found.share_high) == pytest.approx((0.64, 0.93), abs=0.005)
    assert (found.runs, found.checkpoints) == (40, 5)


def test_the_interval_of_the_share_along_a_run_covers_it() -> None:
    rng = np.random.default_rng(2)
    studies, between, along = 2000, 0.02, 0.03
    truth = along**2 / (along**2 + between**2)
    covered = 0
    for _ in range(studies):
        scores = rng.normal(0, between, (6, 1)) + rng.normal(0, along, (6, 4))
        found = along_run(scores + rng.normal(0, 0.1, 4))  # all runs move alike
        covered += found.share_low <= truth <= found.share_high
    assert covered / studies == pytest.approx(0.95, abs=0.015)


def test_variance_along_a_run_at_the_ends() -> None:
    same = along_run([[0.1, 0.1], [0.3, 0.3]])
    assert (same.along_sd, same.share_along) == (0.0, 0.0)
    assert same.between_sd == pytest.approx(sqrt(0.02))
    with pytest.raises(InsufficientData):
        along_run([[0.1, 0.2]])
    with pytest.raises(ValueError, match="at least 2 checkpoints"):
        along_run([[0.1], [0.2]])


def test_seeds_by_the_number_of_checkpoints() -> None:
    fixed = arm("fixed")
    rows = checkpoint_designs(0.03, fixed, fixed, new_tasks=False)
    assert {row.checkpoints: row.seeds for row in rows} == {1: 18, 2: 10, 3: 8, 5: 6, 9: 4}
    assert rows[3].steps == FIVE
    for row in rows:
        assert row.answers == 4 * row.checkpoints
        assert row.seeds is not None
        assert row.seeds_upper is not None
        assert row.seeds_upper >= row.seeds
        assert row.seed_sd_upper > row.components.seed_sd_control
    # At no more answers than one checkpoint has, most of it stays.
    traded = {row.checkpoints: (row.traded_answers, row.traded_seeds) for row in rows}
    assert traded == {1: (4, 18), 2: (2, 11), 3: (1, 10), 5: (1, 7), 9: (1, 5)}


def test_rows_follow_what_the_file_has_and_what_the_question_is() -> None:
    fixed = arm("fixed", range(1, 6), FIVE)
    easier = np.where(np.arange(300) < 60, 4, fixed.by_step)  # one task in five is always right
    other = pool_checkpoints(
        [dict(zip(FIVE, easier[:, run], strict=True)) for run in range(5)], FIVE, samples=4
    )
    for new_tasks in (True, False):
        rows = checkpoint_designs(0.05, fixed, other, numbers=(1, 4, 9), new_tasks=new_tasks)
        assert [row.checkpoints for row in rows] == [1, 4]
        assert all((row.components.task_effect_sd > 0.1) is new_tasks for row in rows)
    with pytest.raises(ValueError, match="different checkpoints"):
        checkpoint_designs(0.05, fixed, arm("adaptive"))


def test_the_variance_of_an_answer_is_taken_within_checkpoints() -> None:
    """A rate that changes from checkpoint to checkpoint is not sampling."""
    fixed = arm("fixed").last(5)
    parts = pooled_components(fixed, fixed)
    y = fixed.by_step / 4
    assert parts.sampling_variance == pytest.approx((y * (1 - y) * 4 / 3).mean())
    pooled = fixed.right / 20
    naive = (pooled * (1 - pooled) * 20 / 19).mean()
    assert parts.sampling_variance < 0.9 * naive
    one = pool_checkpoints([{1: [0, 1, 1], 2: [1, 1, 0]}] * 2, (1, 2), samples=1)
    assert pooled_components(one, one).sampling_variance == 0


def test_before_any_file_checkpoints_count_as_independent() -> None:
    assert seed_sd_over_checkpoints(0.011, 0.023, 1) == pytest.approx(0.0255, abs=5e-5)
    assert seed_sd_over_checkpoints(0.011, 0.023, 5) == pytest.approx(0.0151, abs=5e-5)
    with pytest.raises(ValueError, match="at least 1"):
        seed_sd_over_checkpoints(0.011, 0.023, 0)


def test_the_cheapest_number_of_checkpoints_is_that_of_the_formula() -> None:
    sds: dict[str, Any] = {"between_sd": 0.0113, "along_sd": 0.0229}
    for ratio, formula in ((100, 20.3), (5, 4.5)):
        found = cheapest_checkpoints(**sds, run_cost=ratio, evaluation_cost=1, most=100)
        assert abs(found - formula) < 1
    assert cheapest_checkpoints(**sds, run_cost=100, evaluation_cost=1, most=9) == 9
    assert cheapest_checkpoints(between_sd=0.02, along_sd=0, run_cost=9, evaluation_cost=1,
                                most=9) == 1  # fmt: skip
    with pytest.raises(ValueError, match="negative"):
        cheapest_checkpoints(**sds, run_cost=-1, evaluation_cost=1, most=9)


def test_an_evaluation_floor_shrinks_with_the_checkpoints_averaged() -> None:
    floor: NoiseFloor = noise_floor([[1, 2, 3], [2, 2, 1], [0, 3, 3]], samples=4)
    one, four = floor.for_seeds(3, 5), floor.for_seeds(3, 5, checkpoints=4)
    assert one is not None
    assert four == pytest.approx(one / 2)


def test_the_best_checkpoint_is_scored_on_tasks_that_did_not_choose_it() -> None:
    #        first half  second half
    right = [[4, 0,      1, 1],
             [2, 2,      4, 4],
             [4, 4,      0, 0]]  # fmt: skip
    found = cross_fitted_best(right, samples=4, halves=[0, 0, 1, 1])
    assert found.chosen == (1, 2)
    assert found.score == (2 + 2 + 0 + 0) / 16
    assert found.best == 12 / 16


def test_the_earliest_of_equal_checkpoints_is_chosen() -> None:
    found = cross_fitted_best([[1, 1], [1, 1]], samples=1, halves=[0, 1])
    assert found.chosen == (0, 0)


def test_choosing_on_the_reported_tasks_flatters_and_cross_fitting_does_not() -> None:
    rng = np.random.default_rng(3)
    halves = [i % 2 for i in range(60)]
    found = [
        cross_fitted_best(rng.binomial(4, 0.4, (9, 60)), samples=4, halves=halves)
        for _ in range(400)
    ]
    assert np.mean([f.score for f in found]) == pytest.approx(0.4, abs=0.005)
    assert np.mean([f.best for f in found]) > 0.44


def test_the_real_runs_flatter_themselves_by_choosing() -> None:
    fixed = arm("fixed")
    halves = [i % 2 for i in range(300)]
    found = [
        cross_fitted_best(fixed.by_step[:, run], samples=4, halves=halves) for run in range(40)
    ]
    gap = np.mean([f.best - f.score for f in found])
    assert 0.01 < gap < 0.03


def test_halves_of_tasks_are_about_even_and_fixed() -> None:
    halves = [task_half(f"task-{i}") for i in range(1000)]
    assert 440 < sum(halves) < 560
    assert [task_half(str(i)) for i in range(8)] == [1, 1, 1, 0, 0, 1, 1, 1]


@pytest.mark.parametrize("halves", [[0, 0], [0], [0, 2]], ids=str)
def test_halves_must_part_the_tasks(halves: list[int]) -> None:
    with pytest.raises(ValueError, match=r"half|halves"):
        cross_fitted_best([[1, 0], [1, 1]], samples=1, halves=halves)
