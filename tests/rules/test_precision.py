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
LATER = RUN + "/training/1/updates/1"
CONTROL = "/controls/grpo-control/seed_results/0/training/1/updates/1"


BROKEN: list[tuple[dict[str, Any], str, set[str]]] = [
    ({LATER + "/gradient_l2_norm": 0.2036}, "FLOAT001", {LATER + "/gradient_l2_norm"}),
    ({LATER + "/loss": 1.6436e-05}, "FLOAT001", {LATER + "/loss"}),
    ({RUN + "/training/1/advantages/0": -0.5773}, "FLOAT001", {RUN + "/training/1/advantages/0"}),
    (
        {LATER + "/response_audits/2/upper_mean": 14.5},  # short, so it may be float32
        "FLOAT001",
        set(),
    ),
    (
        {LATER + "/response_audits/2/upper_mean": 14.51},
        "FLOAT001",
        {LATER + "/response_audits/2/upper_mean"},
    ),
    (
        {LATER + "/response_audits/0/max_abs_log_ratio": 0.375 + 2**-25},
        "FLOAT002",
        {LATER + "/response_audits/0/max_abs_log_ratio"},
    ),
    (
        {CONTROL + "/response_audits/3/max_abs_log_ratio": 0.22667336463928223 + 2**-26},
        "FLOAT003",
        {CONTROL + "/response_audits/3/max_abs_log_ratio"},
    ),
]


@pytest.mark.parametrize(("patches", "rule", "where"), BROKEN)
def test_a_number_off_the_grid_is_found(
    patches: dict[str, Any], rule: str, where: set[str]
) -> None:
    assert places(patched(gppo(), patches), rule) == where


@pytest.mark.parametrize("rule", [f"FLOAT{n:03}" for n in range(1, 4)])
@pytest.mark.parametrize("base", [gppo, full])
def test_the_samples_hold_numbers_on_the_grid(base: Any, rule: str) -> None:
    assert places(base(), rule) == set()


def test_two_fine_log_ratios_are_no_oddity() -> None:
    audits = RUN + "/training/1/updates/1/response_audits"
    document = patched(
        gppo(),
        {f"{audits}/{index}/max_abs_log_ratio": 0.2 + 2**-26 for index in (0, 1)},
    )
    assert places(document, "FLOAT003") == set()


@pytest.mark.parametrize(("ratios", "found"), [(60, True), (30, False)])
def test_a_sharp_end_of_the_grid_is_needed_above_the_common_step(ratios: int, found: bool) -> None:
    audits = [{"max_abs_log_ratio": 0.25 + 2**-20} for _ in range(ratios)]
    step = {"updates": [{}, {"response_audits": audits}]}
    document = patched(gppo(), {"/seed_results": [], "/controls": {}})
    run = {"seed": 1, "method_metrics": {"accuracy": 0.5}, "training": [step]}
    document = patched(document, {"/seed_results": [run]})
    pointer = RUN + "/training/0/updates/1/response_audits/7/max_abs_log_ratio"
    edited = patched(document, {pointer: 0.25 + 2**-22})
    assert places(document, "FLOAT003") == set()
    assert places(edited, "FLOAT003") == ({pointer} if found else set())


def test_a_log_in_double_precision_is_not_held_to_float32() -> None:
    updates: dict[str, object] = {
        f"/seed_results/{run}/training/{step}/updates/{inner}/gradient_l2_norm": 0.1 + step / 7
        for run in range(3)
        for step in range(3)
        for inner in range(2)
    }
    document = patched(gppo(), updates)
    assert places(document, "FLOAT001") == set()
    assert "gradient_l2_norm is not logged in single precision" in reasons(document, "FLOAT001")


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
