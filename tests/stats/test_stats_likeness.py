"""Runs that are too much alike: drawn answers, distances between scores, and equal scores."""

from __future__ import annotations

import warnings
from itertools import combinations
from math import comb, log10, sqrt
from typing import Any

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st
from split_tails import Cell, split_tail

from audit.errors import InsufficientData
from audit.stats import (
    distance_ratios,
    equal_scores,
    equal_scores_chance,
    pair_agreement,
    pair_agreements,
    pair_distance,
)
from audit.stats.draws import inside_needed


def cell(most: int) -> st.SearchStrategy[tuple[int, int]]:
    return st.integers(1, most).flatmap(lambda k: st.tuples(st.just(k), st.integers(0, k)))


def compared(cells: list[Cell]) -> Any:
    first, second = zip(*cells, strict=True)
    k1, c1 = zip(*first, strict=True)
    k2, c2 = zip(*second, strict=True)
    return pair_agreement(c1, c2, samples=(np.array(k1), np.array(k2)))


@settings(max_examples=60)
@given(st.lists(st.tuples(cell(5), cell(5)), min_size=1, max_size=6))
def test_a_bound_is_never_below_the_exact_chance(cells: list[Cell]) -> None:
    pair = compared(cells)
    assert 10**pair.log10_p_distance >= float(split_tail(cells, matching=False)) * (1 - 1e-9)
    assert 10**pair.log10_p_matches >= float(split_tail(cells, matching=True)) * (1 - 1e-9)


@given(st.lists(st.tuples(cell(6), cell(6)), min_size=1, max_size=8))
def test_expected_distance_and_matches_are_the_hypergeometric_means(cells: list[Cell]) -> None:
    pair = compared(cells)
    distance, matches, telling = 0.0, 0.0, 0
    for (k1, c1), (k2, c2) in cells:
        law = scipy.stats.hypergeom(k1 + k2, c1 + c2, k1)
        x = {i: (i / k1 - (c1 + c2 - i) / k2) ** 2 for i in range(k1 + 1) if law.pmf(i) > 0}
        if len({round(v, 12) for v in x.values()}) > 1:
            telling += 1
            distance += sum(law.pmf(i) * v for i, v in x.items())
            matches += sum(law.pmf(i) for i, v in x.items() if v < 1e-12)
    assert pair.telling == telling
    assert pair.expected_distance == pytest.approx(distance, abs=1e-9)
    assert pair.expected_matches == pytest.approx(matches, abs=1e-9)


@given(st.lists(st.tuples(cell(6), cell(6)), min_size=1, max_size=12), st.randoms())
def test_neither_the_order_of_tasks_nor_of_runs_nor_right_for_wrong_matters(
    cells: list[Cell], random: Any
) -> None:
    pair = compared(cells)
    swapped = [(b, a) for a, b in cells]
    random.shuffle(swapped)
    turned = [tuple((k, k - c) for k, c in both) for both in swapped]
    for other in (compared(swapped), compared(turned)):  # type: ignore[arg-type]  # pairs of pairs
        for name in ("distance", "expected_distance", "expected_matches", "log10_p_distance",
                     "log10_p_matches"):  # fmt: skip
            assert getattr(other, name) == pytest.approx(getattr(pair, name), abs=1e-9)
        assert (other.telling, other.matches, other.copied) == (
            pair.telling, pair.matches, pair.copied)  # fmt: skip


def test_one_answer_for_each_task_tells_nothing() -> None:
    pair = pair_agreement([0, 1] * 500, [0, 1] * 500, samples=1)
    assert (pair.telling, pair.rho, pair.kappa, pair.inside) == (0, None, None, 0)
    assert pair.equal
    assert not pair.copied


@pytest.mark.parametrize(("far", "copied"), [(10, False), (9, True)])
def test_a_limit_met_exactly_is_no_copy(far: int, copied: bool) -> None:
    # Three right of eight: the squared difference is 1/16 or 9/16, 15/112 on average. With ten of
    # 1120 tasks far, D / E is 1/2 to the last bit.
    first, second = [2] * (1120 - far) + [3] * far, [1] * (1120 - far) + [0] * far
    pair = pair_agreement(first, second, samples=4)
    assert pair.rho == pytest.approx(0.5, abs=0.01)
    assert pair.log10_p_distance < -20
    assert pair.copied == copied


@pytest.mark.parametrize(("pairs", "needed"), [(1, 6), (3, 6), (10, 6), (45, 7), (2016, 10)])
def test_more_pairs_need_more_equal_tasks(pairs: int, needed: int) -> None:
    assert inside_needed(pairs) == needed
    assert pairs * 3.444**-needed < 0.01
    assert needed == 6 or pairs * 3.444 ** -(needed - 1) >= 0.01


@pytest.mark.parametrize("k", range(2, 9))
def test_the_factor_of_equal_tasks_holds_for_every_difficulty(k: int) -> None:
    p = np.linspace(0.001, 0.999, 1999)
    law = np.array([comb(k, c) * p**c * (1 - p) ** (k - c) for c in range(k + 1)])
    both_ends = (law[0] ** 2) + (law[k] ** 2)
    inside = (law[1:k] ** 2).sum(axis=0)
    assert ((1 - both_ends) / inside).min() >= 3.444 - 5e-4


def edited(run: Any, share: float, rng: Any, k: int = 4) -> Any:
    changed = run.copy()
    places = rng.random(len(run)) < share
    changed[places] += np.where(changed[places] < k, 1, -1)
    return changed


def test_edited_copies_are_found_and_honest_runs_are_not() -> None:
    rng = np.random.default_rng(7)
    rates = rng.beta(0.7, 1.0, 500)
    honest = rng.binomial(4, rates, (6, 500))
    copies = [edited(honest[0], share, rng) for share in (0.002, 0.1, 0.3)]
    swapped = honest[1].copy()
    swapped[:125] = swapped[np.roll(np.arange(125), 1)]
    runs = np.vstack([honest, *copies, swapped])
    found = {(p.first, p.second) for p in pair_agreements(runs, samples=4) if p.agreement.copied}
    assert {(0, 6), (0, 7), (0, 8), (1, 9)} <= found
    assert not {pair for pair in found if max(pair) < 6}


@pytest.mark.parametrize("k", [2, 4, 8])
def test_one_model_drawn_again_is_no_copy(k: int) -> None:
    rng = np.random.default_rng(k)
    for tasks in (30, 120, 1319):
        runs = rng.binomial(k, rng.beta(0.5, 0.5, tasks), (12, tasks))
        assert not any(p.agreement.copied for p in pair_agreements(runs, samples=k))


def test_pairs_are_compared_on_the_tasks_that_both_have() -> None:
    counts = np.array([[1, 2, 3, 0], [1, 2, 0, 4], [1, 0, 3, 4]])
    samples = np.array([[4, 4, 4, 0], [4, 4, 0, 4], [4, 0, 4, 4]])
    pairs = {(p.first, p.second): p.agreement for p in pair_agreements(counts, samples=samples)}
    assert {key: pair.tasks for key, pair in pairs.items()} == {(0, 1): 2, (0, 2): 2, (1, 2): 2}
    alone = pair_agreement([1, 2], [1, 2], samples=4, pairs=3)
    assert pairs[0, 1] == alone


def test_many_runs_are_compared_with_those_of_nearly_their_total() -> None:
    rng = np.random.default_rng(3)
    runs = rng.binomial(4, rng.beta(0.5, 0.5, 200), (90, 200))
    runs[70] = edited(runs[3], 0.01, rng)
    pairs = pair_agreements(runs, samples=4)
    assert len(pairs) < 90 * 16
    assert [(p.first, p.second) for p in pairs if p.agreement.copied] == [(3, 70)]
    everyone = pair_agreements(runs[:64], samples=4)
    assert [(p.first, p.second) for p in everyone] == list(combinations(range(64), 2))


@pytest.mark.parametrize(
    ("first", "second", "samples"),
    [([1, 2], [1], 4), ([5], [1], 4), ([-1], [1], 4), ([0.5], [1], 4), ([1], [1], (4, 0))],
)
def test_counts_that_are_none_are_refused(first: Any, second: Any, samples: Any) -> None:
    with pytest.raises(ValueError, match=r"count|runs|number|right"):
        pair_agreement(first, second, samples=samples)


# Distances


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), min_size=2, max_size=7))
def test_unrelated_scores_are_those_of_all_orders_of_the_tasks(cells: list[Any]) -> None:
    y, z = np.array(cells, dtype=float).T
    pair = pair_distance(y, z)
    # The mean over all orders: every task of one with every task of the other, T at a time.
    mean = ((y[:, None] - z[None, :]) ** 2).sum() / len(y)
    assert pair.information == pytest.approx(mean, abs=1e-12)
    assert pair.nu is None or pair.nu * mean == pytest.approx(((y - z) ** 2).sum())


def test_distance_knows_nothing_of_the_means() -> None:
    rng = np.random.default_rng(2)
    rates = rng.random(4000)
    low, high = rng.random(4000) < rates * 0.4, rng.random(4000) < 1 - (1 - rates) * 0.1
    unlike = pair_distance(low.astype(float), high.astype(float)).nu
    assert unlike == pytest.approx(1, abs=0.15)


def greedy(changes: int, tasks: int = 400) -> tuple[Any, Any]:
    """An arm of one greedy run and its edit, beside two runs of another arm."""
    rng = np.random.default_rng(11)
    rates = rng.beta(0.6, 0.6, tasks)
    runs = (rng.random((3, tasks)) < rates).astype(float)
    copy = runs[0].copy()
    copy[:changes] = 1 - copy[:changes]
    return np.vstack([runs[0], copy]), runs[1:]


@pytest.mark.parametrize(
    ("changes", "decoding", "samples", "copied"),
    [
        (1, "sampled", 1, True),
        (1, "greedy", 1, True),
        (1, "undeclared", 1, True),
        (25, "sampled", 1, True),
        (40, "sampled", 1, False),
        (30, "greedy", 1, False),
        (1, "sampled", 4, False),
        (1, "undeclared", 4, False),
        (1, "greedy", 4, True),
        (1, "scores", 4, True),
        (20, "sampled", 2, True),
    ],
)
def test_how_near_is_too_near_depends_on_the_decoding(
    changes: int, decoding: str, samples: int, copied: bool
) -> None:
    arm, others = greedy(changes)
    (pair,) = distance_ratios(arm, others, decoding=decoding, samples=samples)
    assert pair.copied == copied
    assert pair.pair.differing == changes


def test_few_tasks_tell_no_copies_from_runs() -> None:
    arm, others = greedy(0, tasks=60)
    (pair,) = distance_ratios(arm, others, decoding="sampled")
    assert pair.ratio == 0
    assert pair.pair.information < 30
    assert not pair.copied


def test_tasks_that_a_run_lacks_are_left_out_of_its_pairs() -> None:
    arm, others = greedy(5)
    holes = arm.copy()
    holes[0, 300:] = np.nan
    cut = distance_ratios(holes, others, decoding="greedy")[0].pair
    assert cut == pair_distance(arm[0, :300], arm[1, :300])
    with pytest.raises(InsufficientData, match="no two runs"):
        distance_ratios(arm, np.full_like(others, np.nan), decoding="greedy")
    with pytest.raises(InsufficientData, match="share no task"):
        pair_distance([np.nan, 1.0], [1.0, np.nan])
    with pytest.raises(ValueError, match="decoding"):
        distance_ratios(arm, others, decoding="beam")


# Equal scores


@pytest.mark.parametrize(
    ("scores", "answers", "equal", "refused"),
    [
        (["0.45"] * 3, 1319, True, True),
        (["0.45"] * 2, 1319, True, False),
        (["0.5"] * 3, 30, True, False),
        (["0.5"] * 5, 30, True, True),
        (["0.45"] * 3, None, True, True),
        (["0.45"] * 2, None, True, False),
        (["0.45", "0.45", "0.46"], 1319, False, False),
        ([0, 0, 0], 1319, False, False),
        ([1, 1, 1], None, False, False),
        ([0.5], 100, False, False),
    ],
)
def test_equal_scores_are_refused_where_chance_makes_them_too_seldom(
    scores: list[Any], answers: int | None, equal: bool, refused: bool
) -> None:
    result = equal_scores(scores, answers=answers)
    assert (result.equal, result.refused) == (equal, refused)


@pytest.mark.parametrize(("answers", "runs"), [(30, 3), (100, 3), (100, 5), (480, 3)])
def test_the_chance_of_equal_scores_is_that_of_binomial_totals(answers: int, runs: int) -> None:
    p = 0.4
    exact = (scipy.stats.binom(answers, p).pmf(np.arange(answers + 1)) ** runs).sum()
    assert log10(equal_scores_chance(p, runs=runs, answers=answers)) == pytest.approx(
        log10(exact), abs=0.03
    )
    assert equal_scores_chance(p, runs=1, answers=answers) == 1
    rounded = equal_scores_chance(p, runs=2, answers=answers, unit="0.1")
    assert rounded == pytest.approx(
        min(1, 0.1 / sqrt(p * (1 - p) / answers) / sqrt(4 * np.pi)), rel=1e-12
    )


@pytest.mark.parametrize("share", [0, 1, -0.5, "many"])
def test_a_share_at_an_end_has_no_chance(share: Any) -> None:
    with pytest.raises(ValueError, match="share"):
        equal_scores_chance(share, runs=3, answers=10)


def test_scores_too_large_to_square_are_not_compared() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pair = pair_distance([1e308, 0.0, 1.0], [-1e308, 0.0, 2.0])
    assert (pair.nu, pair.differing) == (None, 2)
