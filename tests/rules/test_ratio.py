from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from cases import full, gppo, patched, places, reasons
from hypothesis import assume, given
from hypothesis import strategies as st

from audit.rules.float32 import odd_places, smallest_denominator, to_float32

RUN = "/seed_results/0"
FIRST = RUN + "/training/1/updates/0"
LATER = RUN + "/training/1/updates/1"
CONTROL = "/controls/grpo-control/seed_results/0/training/1/updates/1"


def thousandth(value: float) -> float:
    return to_float32(value * 1.001)


BROKEN: list[tuple[dict[str, Any], str, set[str]]] = [
    (
        {FIRST + "/response_audits/1/max_abs_log_ratio": 0.003},
        "RATIO001",
        {FIRST + "/response_audits/1/max_abs_log_ratio"},
    ),
    (
        {FIRST + "/response_audits/1/clip_fraction": 0.0078125},
        "RATIO001",
        {FIRST + "/response_audits/1/clip_fraction"},
    ),
    ({FIRST + "/loss": 0.003}, "RATIO002", {FIRST + "/loss"}),
    ({LATER + "/loss": thousandth(1.6435980796813965e-05)}, "RATIO003", {LATER + "/loss"}),
    ({FIRST + "/loss": thousandth(2.9802322387695312e-08)}, "RATIO003", {FIRST + "/loss"}),
    (
        {CONTROL + "/response_audits/0/clip_fraction": thousandth(0.006849315017461777)},
        "RATIO004",
        {CONTROL + "/response_audits/0/clip_fraction"},
    ),
    # 1/1000 is a quotient, of a response longer than max_tokens.
    (
        {CONTROL + "/response_audits/0/clip_fraction": to_float32(1 / 1000)},
        "RATIO004",
        {CONTROL + "/response_audits/0/clip_fraction"},
    ),
    ({LATER + "/gradient_l2_norm": 0.2036}, "RATIO007", {LATER + "/gradient_l2_norm"}),
    ({LATER + "/loss": 1.6436e-05}, "RATIO007", {LATER + "/loss"}),
    ({RUN + "/training/1/advantages/0": -0.5773}, "RATIO007", {RUN + "/training/1/advantages/0"}),
    (
        {LATER + "/response_audits/2/upper_mean": 14.5},  # short, so it may be float32
        "RATIO007",
        set(),
    ),
    (
        {LATER + "/response_audits/2/upper_mean": 14.51},
        "RATIO007",
        {LATER + "/response_audits/2/upper_mean"},
    ),
    (
        {LATER + "/response_audits/0/max_abs_log_ratio": 0.375 + 2**-25},
        "RATIO008",
        {LATER + "/response_audits/0/max_abs_log_ratio"},
    ),
    (
        {CONTROL + "/response_audits/3/max_abs_log_ratio": 0.22667336463928223 + 2**-26},
        "RATIO009",
        {CONTROL + "/response_audits/3/max_abs_log_ratio"},
    ),
]


@pytest.mark.parametrize(("patches", "rule", "where"), BROKEN)
def test_a_number_that_was_not_computed_is_found(
    patches: dict[str, Any], rule: str, where: set[str]
) -> None:
    assert places(patched(gppo(), patches), rule) == where


@pytest.mark.parametrize("rule", [f"RATIO{n:03}" for n in range(1, 10)])
@pytest.mark.parametrize("base", [gppo, full])
def test_the_samples_hold_numbers_that_were_computed(base: Any, rule: str) -> None:
    assert places(base(), rule) == set()


def test_clip_fractions_are_held_against_recorded_tokens() -> None:
    audit = "/seed_results/0/training/0/updates/1/response_audits/0"  # 4 of 6 tokens
    pointer = audit + "/clip_fraction"
    assert places(patched(full(), {pointer: to_float32(3 / 5)}), "RATIO005") == {pointer}
    assert places(patched(full(), {pointer: to_float32(3 / 6)}), "RATIO005") == set()
    gated = audit + "/gated_clip_fraction"
    assert places(patched(full(), {gated: to_float32(5 / 6)}), "RATIO006") == {gated}


def test_two_fine_log_ratios_are_no_oddity() -> None:
    audits = RUN + "/training/1/updates/1/response_audits"
    document = patched(
        gppo(),
        {f"{audits}/{index}/max_abs_log_ratio": 0.2 + 2**-26 for index in (0, 1)},
    )
    assert places(document, "RATIO009") == set()
    assert reasons(document, "RATIO009") == {"several are finer"}


def test_a_loss_of_another_type_is_not_held_to_the_mean_advantage() -> None:
    runs = {f"/seed_results/{run}/telemetry": {"loss_type": "dapo"} for run in range(3)}
    document = patched(gppo(), runs | {FIRST + "/loss": 0.003, LATER + "/loss": 0.0017})
    assert places(document, "RATIO002") == set()
    assert places(document, "RATIO003") == set()
    assert "no first update with a loss of type grpo and advantages" in reasons(
        document, "RATIO002"
    )


def test_a_first_update_of_some_responses_has_minus_their_mean_advantage() -> None:
    update = "/seed_results/0/training/0/updates/0"
    first = full()["seed_results"][0]["training"][0]
    part = [0, 1, 5]
    audits = [first["updates"][0]["response_audits"][index] for index in part]
    loss = to_float32(-sum(first["advantages"][index] for index in part) / len(part))
    document = patched(full(), {update + "/response_audits": audits, update + "/loss": loss})
    assert places(document, "RATIO002") == set()
    assert places(patched(document, {update + "/loss": 0.0}), "RATIO002") == {update + "/loss"}


def test_a_log_in_double_precision_is_not_held_to_float32() -> None:
    updates: dict[str, object] = {
        f"/seed_results/{run}/training/{step}/updates/{inner}/gradient_l2_norm": 0.1 + step / 7
        for run in range(3)
        for step in range(3)
        for inner in range(2)
    }
    document = patched(gppo(), updates)
    assert places(document, "RATIO007") == set()
    assert "gradient_l2_norm is not logged in single precision" in reasons(document, "RATIO007")


@given(st.integers(1, 600), st.integers(1, 600))
def test_every_float32_quotient_has_a_denominator_no_larger_than_its_own(p: int, q: int) -> None:
    assume(p <= q)
    least = q // math.gcd(p, q)
    assert smallest_denominator(to_float32(p / q)) == least
    assert smallest_denominator(p / q) == least


@given(st.floats(2.0**-14, 1.0, width=32))
def test_the_smallest_denominator_is_the_one_brute_force_finds(value: float) -> None:
    limit = 400
    q = np.arange(1, limit + 1, dtype=np.float64)
    p = np.rint(np.float64(value) * q)
    equal = np.flatnonzero((p > 0) & ((p / q).astype(np.float32) == np.float32(value)))
    expected = int(q[equal[0]]) if equal.size else limit + 1
    assert min(smallest_denominator(value), limit + 1) == expected


@given(
    st.lists(st.floats(-10, 10, width=32).filter(lambda v: v * 2**10 % 1 != 0), min_size=8),
    st.floats(-10, 10),
    st.data(),
)
def test_the_one_double_in_a_float32_column_is_found(
    column: list[float], odd: float, data: st.DataObject
) -> None:
    telling = [v for v in column if not math.ldexp(math.frexp(v)[0], 12).is_integer()]
    assume(to_float32(odd) != odd and len(telling) >= 5)
    assert odd_places(column) == []
    place = data.draw(st.integers(0, len(column)))
    assert odd_places([*column[:place], odd, *column[place:]]) == [place]
