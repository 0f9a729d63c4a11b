from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq

from audit.errors import UsageError
from audit.training import trust_region
from audit.training.trainer import audit_columns, population_advantages
from audit.training.trust_region import (
    AdaptiveClip,
    DivergenceRegion,
    FixedClip,
    TrustRegion,
    cap_at_certainty,
)

PROBABILITIES = st.floats(1e-4, 1.0)
RADII = st.floats(1e-3, 2.0)


def bounds_at(region: TrustRegion, p: float, count: int = 3) -> tuple[float, float]:
    old = torch.tensor([[math.log(p)]], dtype=torch.float64)
    lower, upper = region.bounds(old, torch.tensor([count]), 8)
    return lower.item(), upper.item()


def test_the_fixed_clip_has_its_own_ceiling() -> None:
    assert bounds_at(FixedClip(0.2, 0.28), 0.3) == pytest.approx((0.8, 1.28))


@pytest.mark.parametrize(
    ("count", "width"), [(0, 0.28), (1, 0.28), (4, 0.2457142857), (7, 0.2114285714), (8, 0.2)]
)
def test_the_adaptive_ceiling_falls_with_right_answers_and_never_passes_its_maximum(
    count: int, width: float
) -> None:
    assert bounds_at(AdaptiveClip(0.2, 0.28), 0.3, count) == pytest.approx((0.8, 1 + width))


def test_equation_11_without_the_clamp_would_exceed_the_ceiling() -> None:
    unclamped = 0.2 + 0.08 * (8 - 0) / 7
    assert unclamped == pytest.approx(0.2914, abs=1e-4)
    assert bounds_at(AdaptiveClip(0.2, 0.28), 0.3, 0)[1] < 1 + unclamped


@given(p=PROBABILITIES, radius=RADII)
def test_a_chi2_atomic_region_is_what_its_formula_says(p: float, radius: float) -> None:
    lower, upper = bounds_at(DivergenceRegion("chi2", "atomic", radius), p)
    assert lower == pytest.approx(max(0, 1 - math.sqrt(radius / p)), abs=1e-9)
    assert upper == pytest.approx(1 + math.sqrt(radius / p), rel=1e-9)


@given(p=PROBABILITIES, radius=RADII)
def test_an_mc_region_does_not_depend_on_the_token(p: float, radius: float) -> None:
    for divergence in ("tv", "chi2", "kl"):
        region = DivergenceRegion(divergence, "mc", radius)
        assert bounds_at(region, p) == bounds_at(region, 0.5)


F: dict[str, Callable[[float], float]] = {
    "tv": lambda r: abs(r - 1),
    "chi2": lambda r: (r - 1) ** 2,
    "kl": lambda r: r - 1 - math.log(r) if r > 0 else math.inf,
}


@given(
    p=PROBABILITIES,
    radius=RADII,
    name=st.sampled_from(sorted(F)),
    topology=st.sampled_from(["mc", "atomic"]),
)
def test_the_divergence_at_both_bounds_is_the_radius(
    p: float, radius: float, name: str, topology: str
) -> None:
    weight = p if topology == "atomic" else 1.0
    lower, upper = bounds_at(DivergenceRegion(name, topology, radius), p)  # type: ignore[arg-type]
    assert 0 <= lower < 1 < upper
    assert weight * F[name](upper) == pytest.approx(radius, rel=1e-6)
    if lower > 1e-300:
        assert weight * F[name](lower) == pytest.approx(radius, rel=1e-5)
    else:
        assert weight * F[name](1e-300) <= radius * (1 + 1e-6) or radius / weight > 600


@given(level=st.floats(1e-6, 600.0))
def test_kl_bounds_agree_with_scipy_s_root_finder(level: float) -> None:
    lower, upper = bounds_at(DivergenceRegion("kl", "mc", level), 0.5)

    def f(u: float) -> float:
        return math.expm1(u) - u - level

    assert math.log(lower) == pytest.approx(brentq(f, -level - 1, 0, xtol=1e-14), rel=1e-9)
    assert math.log(upper) == pytest.approx(
        brentq(f, 0, math.sqrt(2 * level), xtol=1e-14), rel=1e-9
    )


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_more_newton_steps_would_change_no_bound(
    dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At every level from the smallest radius to the smallest probability."""
    level = torch.logspace(-12, 12, 50_001, dtype=torch.float64).to(dtype)
    settled = trust_region._kl_roots(level)
    monkeypatch.setattr(trust_region, "_NEWTON_STEPS", 40)
    for bound, exact in zip(settled, trust_region._kl_roots(level), strict=True):
        if dtype == torch.float32:  # what the trainer computes and records
            assert torch.equal(bound, exact)
        else:
            torch.testing.assert_close(bound, exact, rtol=2e-13, atol=0)


def test_no_ceiling_passes_certainty_once_capped() -> None:
    old = torch.tensor([[math.log(0.9), math.log(0.1)]])
    capped = cap_at_certainty(torch.full((1, 2), 1.28), old)
    assert capped.tolist() == [[pytest.approx(1 / 0.9), pytest.approx(1.28)]]


@pytest.mark.parametrize(
    "make",
    [
        lambda: FixedClip(0.0, 0.2),
        lambda: FixedClip(1.0, 0.2),
        lambda: FixedClip(0.2, 0.0),
        lambda: AdaptiveClip(0.2, 0.1),
        lambda: DivergenceRegion("js", "mc", 0.1),  # type: ignore[arg-type]
        lambda: DivergenceRegion("tv", "leaf", 0.1),  # type: ignore[arg-type]
        lambda: DivergenceRegion("tv", "mc", 0.0),
        lambda: AdaptiveClip(0.2, 0.28).epsilon_high(torch.tensor([1.0]), 1),
    ],
)
def test_numbers_that_make_no_region_are_refused(make: object) -> None:
    with pytest.raises(UsageError):
        make()  # type: ignore[operator]


def test_audit_columns_count_both_sides_and_gate_by_the_advantage() -> None:
    """Worked by hand: bounds [0.8, 1.2], the last token is padding."""
    ratio = torch.tensor([[0.5, 1.5, 1.0, 9.0], [0.5, 1.5, 1.5, 9.0], [1.0, 1.0, 1.0, 9.0]])
    mask = torch.tensor([[1, 1, 1, 0], [1, 1, 1, 0], [0, 0, 0, 0]])
    old = torch.full((3, 4), math.log(0.9))
    columns = audit_columns(
        ratio.log(),
        mask,
        torch.tensor([1.0, -1.0, 1.0]),
        torch.full((3, 1), 0.8),
        torch.full((3, 1), 1.2),
        old,
    )
    tokens, clipped, gated, share, gated_share, lower, upper, largest = columns.T.tolist()
    assert tokens == [3, 3, 0]
    assert clipped == [2, 3, 0]
    assert gated == [1, 1, 0]
    assert share == pytest.approx([2 / 3, 1, 0])
    assert gated_share == pytest.approx([1 / 3, 1 / 3, 0])
    assert lower[:2] == pytest.approx([0.8, 0.8])
    assert upper[:2] == pytest.approx([1 / 0.9, 1 / 0.9])
    assert largest[:2] == pytest.approx([math.log(2), math.log(2)])


def test_population_advantages_of_two_right_in_four() -> None:
    advantages = population_advantages(torch.tensor([0.0, 1.0, 0.0, 1.0]), 4)
    # The value a published file carries for this group.
    assert advantages.tolist() == pytest.approx([-0.9999979734, 0.9999979734] * 2, abs=1e-7)


def test_a_group_without_variance_has_no_advantage() -> None:
    assert population_advantages(torch.ones(4), 4).tolist() == [0.0] * 4
