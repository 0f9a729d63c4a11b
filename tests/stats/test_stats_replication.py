"""Agreement of repeated runs, and Holm over several claims."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests  # type: ignore[import-untyped]  # it ships no types

from audit.errors import InsufficientData
from audit.stats import holm, replication, seed_correlation, tipping_sd


def test_three_runs_are_cochrans_q_with_dersimonian_laird() -> None:
    deltas, half = np.array([0.05, -0.02, 0.11]), np.array([0.04, 0.05, 0.06])
    result = replication(deltas.tolist(), (deltas - half).tolist(), (deltas + half).tolist())
    se = half / scipy.stats.norm.ppf(0.975)
    w = 1 / se**2
    q = (w * (deltas - (w * deltas).sum() / w.sum()) ** 2).sum()
    assert result.z is None
    assert result.df == 2
    assert result.q == pytest.approx(q, rel=1e-9)
    assert result.p_value == pytest.approx(scipy.stats.chi2.sf(q, 2), rel=1e-9)
    omega2 = max((q - 2) / (w.sum() - (w**2).sum() / w.sum()), 0)
    assert result.omega == pytest.approx(np.sqrt(omega2), rel=1e-9)
    assert result.omega_interval[0] <= result.omega <= result.omega_interval[1]
    for end, tail in zip(result.omega_interval, (0.975, 0.025), strict=True):
        weights = 1 / (se**2 + end**2)
        centre = (weights * deltas).sum() / weights.sum()
        at_end = (weights * (deltas - centre) ** 2).sum()
        if end > 0:
            assert at_end == pytest.approx(scipy.stats.chi2.ppf(tail, 2), rel=1e-8)


def test_for_two_runs_q_is_z_squared() -> None:
    result = replication([0.1, 0.3], [0, 0.2], [0.2, 0.4])
    assert result.z is not None
    assert result.z < 0
    assert result.q == pytest.approx(result.z**2)
    assert result.p_value == pytest.approx(2 * scipy.stats.norm.sf(abs(result.z)))


def test_runs_that_agree_leave_nothing_to_explain() -> None:
    result = replication([0.1, 0.11], [0, 0.01], [0.2, 0.21])
    assert result.p_value > 0.5
    assert result.omega == result.per_arm_sd == result.omega_interval[0] == 0


def test_order_of_two_runs_only_turns_z() -> None:
    one = replication([0.1, 0.3], [0, 0.2], [0.2, 0.4])
    two = replication([0.3, 0.1], [0.2, 0], [0.4, 0.2])
    assert one.z is not None
    assert two.z == -one.z
    assert two.omega_interval == one.omega_interval


@pytest.mark.parametrize(
    ("lows", "highs"), [([0.2, 0], [0.2, 0.4]), ([0.3, 0], [0.2, 0.4]), ([0], [0.2, 0.4])]
)
def test_an_interval_has_width(lows: list[float], highs: list[float]) -> None:
    with pytest.raises(ValueError, match=r"low end|same length"):
        replication([0.2, 0.2], lows, highs)


def test_one_run_replicates_nothing() -> None:
    with pytest.raises(InsufficientData):
        replication([0.1], [0], [0.2])


def test_an_insignificant_delta_has_nothing_to_tip() -> None:
    assert tipping_sd(0.01, 0.02) == 0
    sd = tipping_sd(0.1, 0.02, level=0.9)
    z = scipy.stats.norm.ppf(0.95)
    assert 0.1 / np.sqrt(0.02**2 + 2 * sd**2) == pytest.approx(z)


def test_correlation_is_pearsons() -> None:
    a, b = [0.1, 0.4, 0.2, 0.7], [0.3, 0.5, 0.1, 0.6]
    assert seed_correlation(a, b) == pytest.approx(np.corrcoef(a, b)[0, 1], rel=1e-12)
    assert seed_correlation(a, [0.5] * 4) is None
    with pytest.raises(InsufficientData):
        seed_correlation([0.1], [0.2])
    with pytest.raises(ValueError, match="differ in number"):
        seed_correlation(a, b[:3])


@settings(max_examples=25)  # statsmodels takes 30 ms a call
@given(st.lists(st.floats(0, 1), min_size=1, max_size=8), st.sampled_from([0.9, 0.95, 0.99]))
def test_holm_is_that_of_statsmodels(p_values: list[float], level: float) -> None:
    result = holm(p_values, level=level)
    rejected, adjusted, *_ = multipletests(p_values, alpha=1 - level, method="holm")
    assert result.adjusted == pytest.approx(tuple(adjusted), abs=1e-15)
    near = np.abs(adjusted - (1 - level)) < 1e-12
    assert (np.array(result.rejected) == rejected)[~near].all()


def test_holm_steps_down() -> None:
    result = holm([0.01, 0.04, 0.03, 1.0])
    assert result.adjusted == pytest.approx((0.04, 0.09, 0.09, 1.0))
    assert result.rejected == (True, False, False, False)


@pytest.mark.parametrize("p_value", [-0.1, 1.1, float("nan")])
def test_a_p_value_is_a_probability(p_value: float) -> None:
    with pytest.raises(ValueError, match="p-values"):
        holm([0.5, p_value])
    with pytest.raises(InsufficientData):
        holm([])


def test_holm_keeps_two_of_five_where_four_are_below_5_percent() -> None:
    result = holm([0.001, 0.008, 0.039, 0.041, 0.9])
    assert result.adjusted == pytest.approx((0.005, 0.032, 0.117, 0.117, 0.9))
    assert result.rejected == (True, True, False, False, False)
