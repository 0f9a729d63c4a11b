"""Which estimator gives the advantages of a batch: simulated logs, roundings, and limits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.stats import matching_estimators
from audit.stats.advantages import ESTIMATORS, written_decimals

pytest.importorskip(
    "estimators",
    reason="benchmarks/ is not beside these tests: they run against an installed wheel",
)
from estimators import FORMULAS, KINDS, SIZES, drawn, logged, named_rightly


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("label", [label for label, _, _ in FORMULAS])
def test_one_step_of_16_groups_tells_its_estimator(label: str, size: int) -> None:
    for kind in KINDS:
        right, _ = named_rightly(label, kind, size, logs=8, seed=7)
        assert right == 8, kind


@pytest.mark.parametrize(("label", "name", "formula"), FORMULAS)
def test_more_decimals_and_float32_as_it_is_tell_it_too(label: str, name: str, formula) -> None:  # type: ignore[no-untyped-def]
    for kind in KINDS:
        state = np.random.default_rng(3)
        r = drawn(name, kind, 8, state)
        exact = formula(r.astype(np.float32), state).astype(float)
        for values in (exact, np.round(exact, 6), np.round(exact, 5)):
            assert name in matching_estimators(r, values).names, (label, kind)


def test_four_digits_in_place_of_four_decimals_are_enough() -> None:
    state = np.random.default_rng(5)
    for _, name, formula in FORMULAS:
        r = drawn(name, "graded", 8, state)
        exact = formula(r, state)
        digits = np.array([float(f"{value:.4g}") for value in exact.ravel()]).reshape(r.shape)
        assert name in matching_estimators(r, digits).names, name


def test_rewards_that_were_rounded_for_the_log_still_tell_it() -> None:
    state = np.random.default_rng(11)
    for _, name, formula in FORMULAS[:6]:
        r = state.normal(0.4, 0.3, (16, 8))
        assert name in matching_estimators(np.round(r, 4), formula(r, state)).names, name


def test_advantages_cut_off_at_a_limit_are_told_with_the_limit() -> None:
    r = np.array([[0, 0, 0, 0, 0, 0, 0, 1.0], [0, 1, 0, 1, 1, 0, 0, 1], [1, 1, 0, 1, 1, 1, 0, 1]])
    a = (r - r.mean(1, keepdims=True)) / (r.std(1, ddof=1, keepdims=True) + 1e-4)
    found = matching_estimators(r, np.clip(a, -2, 2))
    assert found.names == {"grpo", "dapo"}
    assert found.clipped_at == 2
    assert matching_estimators(r, a).clipped_at is None


def test_two_values_of_one_group_are_too_few_to_tell_a_limit() -> None:
    assert not matching_estimators([[1, 1, 1, 0]], [[0.5, 0.5, 0.5, -0.5]]).names


def test_a_reward_less_a_term_that_is_not_logged_fits_nothing() -> None:
    state = np.random.default_rng(2)
    for _, name, formula in FORMULAS[:6]:
        r = drawn(name, "binary", 8, state)
        hidden = r - 0.05 * state.random(r.shape)
        assert not matching_estimators(r, logged(formula, hidden, state)).names, name


def test_a_reward_weighted_by_a_half_is_no_whitening() -> None:
    r = drawn("dr_grpo", "graded", 8, np.random.default_rng(4))
    assert not matching_estimators(r, 0.5 * (r - r.mean(1, keepdims=True))).names


def test_one_changed_value_of_a_batch_fits_nothing() -> None:
    state = np.random.default_rng(9)
    for _, name, formula in FORMULAS:
        r = drawn(name, "binary", 8, state)
        a = logged(formula, r, state)
        place = np.unravel_index(np.abs(a).argmin(), a.shape)
        a[place] += 0.01
        assert name not in matching_estimators(r, a).names, name


def test_groups_of_equal_rewards_tell_nothing_but_that_they_were_kept() -> None:
    names = matching_estimators(np.ones((4, 8)), np.zeros((4, 8))).names
    assert {"grpo", "dr_grpo", "rloo", "grpo_batch"} <= names
    assert "dapo" not in names
    assert "rewards" not in names
    assert matching_estimators(np.ones((4, 8)), np.ones((4, 8))).names == {"rewards"}


@given(
    st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), min_size=8, max_size=8),
    st.sampled_from([1.0, 10.0, 0.5]),
    st.sampled_from([-1.0, 0.0, 3.0]),
)
def test_a_shift_of_all_rewards_changes_no_name_but_that_of_the_rewards(
    values: list[float], factor: float, shift: float
) -> None:
    r = factor * np.array(values).reshape(2, 4)
    a = r - r.mean(1, keepdims=True)
    moved = matching_estimators(r + shift, a).names
    assert "dr_grpo" in moved
    assert moved - {"rewards"} == matching_estimators(r, a).names - {"rewards"}


@pytest.mark.parametrize(
    ("rewards", "advantages"), [([[1, 0]], [[1.0]]), ([1, 0], [1, 0]), ([[1, 0]], [[np.nan, 0]])]
)
def test_what_is_no_batch_of_groups_is_refused(rewards: object, advantages: object) -> None:
    with pytest.raises(ValueError, match=r"groups of responses|finite"):
        matching_estimators(rewards, advantages)


def test_decimals_are_those_of_the_shortest_text_also_of_a_float32() -> None:
    assert written_decimals([0.5, 1.25]) == 2
    assert written_decimals([float(np.float32(0.8667))]) == 4
    assert written_decimals([1e-5]) == 5
    assert written_decimals([1 / 3]) == 12


def test_every_simulated_estimator_has_a_name_of_the_list() -> None:
    assert {name for _, name, _ in FORMULAS} == set(ESTIMATORS)
