from __future__ import annotations

import math
from typing import Any

import pytest
from cases import full, gppo, patched, places, reasons
from hypothesis import given
from hypothesis import strategies as st

RUN = "/seed_results/0"
AUDIT = RUN + "/training/0/updates/1/response_audits/2"
CONTROL = "/controls/grpo-control/seed_results/0"
CLIPPED = CONTROL + "/training/0/updates/1/response_audits/2"

BROKEN: list[tuple[dict[str, Any], str, set[str]]] = [
    ({AUDIT + "/lower_mean": 1.1}, "BOUND001", {AUDIT + "/lower_mean"}),
    ({AUDIT + "/upper_mean": 0.9}, "BOUND001", {AUDIT + "/upper_mean"}),
    ({AUDIT + "/upper_mean": 1.384017586708069}, "BOUND002", {AUDIT + "/upper_mean"}),
    ({AUDIT + "/lower_mean": 0.6887016296386719}, "BOUND002", {AUDIT + "/lower_mean"}),
    ({AUDIT + "/geometry": "chi3"}, "BOUND003", {AUDIT + "/geometry"}),
    ({AUDIT + "/topology": "mc"}, "BOUND003", {AUDIT + "/topology"}),
    ({RUN + "/protocol/geometry": "kl"}, "BOUND003", {RUN + "/protocol/geometry"}),
    ({CONTROL + "/protocol/topology": "atomic"}, "BOUND003", {CONTROL + "/protocol/topology"}),
    ({CLIPPED + "/lower_mean": 0.8008}, "BOUND004", {CLIPPED + "/lower_mean"}),
    ({CLIPPED + "/upper_mean": 1.21}, "BOUND004", {CLIPPED + "/upper_mean"}),
    ({CLIPPED + "/clip_fraction": 0.0}, "BOUND005", {CLIPPED + "/clip_fraction"}),
    ({CLIPPED + "/max_abs_log_ratio": 0.125}, "BOUND005", {CLIPPED + "/clip_fraction"}),
    ({AUDIT + "/lower_mean": 0.81}, "BOUND006", {AUDIT + "/lower_mean"}),
    ({AUDIT + "/lower_mean": 0.4, AUDIT + "/upper_mean": 1.4}, "BOUND006", {AUDIT + "/upper_mean"}),
]


@pytest.mark.parametrize(("patches", "rule", "where"), BROKEN)
def test_bounds_of_another_region_are_found(
    patches: dict[str, Any], rule: str, where: set[str]
) -> None:
    assert places(patched(gppo(), patches), rule) == where


@pytest.mark.parametrize("rule", [f"BOUND{n:03}" for n in range(1, 7)])
@pytest.mark.parametrize("base", [gppo, full])
def test_the_samples_keep_to_their_regions(base: Any, rule: str) -> None:
    assert places(base(), rule) == set()


def test_responses_are_matched_by_sequence_where_they_have_one() -> None:
    first = "/seed_results/0/training/0/updates/0/response_audits"
    audits = full()["seed_results"][0]["training"][0]["updates"][0]["response_audits"]
    shuffled = patched(full(), {first: audits[::-1]})
    assert places(shuffled, "BOUND002") == set()
    changed = patched(shuffled, {first + "/0/upper_mean": audits[-1]["upper_mean"] * 1.001})
    second = "/seed_results/0/training/0/updates/1/response_audits/7/upper_mean"
    assert places(changed, "BOUND002") == {second}


def test_a_clip_with_other_widths_is_held_to_those() -> None:
    wide = {"epsilon_low": 0.2, "epsilon_high": 0.28}
    protocol = gppo()["controls"]["grpo-control"]["seed_results"][0]["protocol"]
    document = patched(
        gppo(), {CONTROL + "/protocol": protocol | wide, CLIPPED + "/upper_mean": 1.25}
    )
    assert places(document, "BOUND004") == set()
    assert CLIPPED + "/upper_mean" in places(
        patched(document, {CLIPPED + "/upper_mean": 1.29}), "BOUND004"
    )


def test_a_region_the_protocol_does_not_fix_is_not_checked() -> None:
    keys = [
        f"{RUN[:-1]}{seed}/protocol/{key}" for seed in range(3) for key in ("geometry", "delta")
    ]
    document = patched(gppo(), {}, keys)
    assert places(document, "BOUND006") == set()
    assert "no audits in a known atomic region" in reasons(document, "BOUND006")


@given(
    st.lists(st.floats(1e-6, 1.0), min_size=1, max_size=60),
    st.sampled_from(["chi2", "tv"]),
    st.floats(0.01, 0.5),
)
def test_the_mean_bounds_of_any_response_are_feasible(
    probabilities: list[float], geometry: str, delta: float
) -> None:
    widths = [math.sqrt(delta / p) if geometry == "chi2" else delta / p for p in probabilities]
    lower = sum(max(0.0, 1 - width) for width in widths) / len(widths)
    pairs = zip(widths, probabilities, strict=True)
    upper = sum(min(1 / p, 1 + width) for width, p in pairs) / len(widths)
    audit = {"geometry": geometry, "topology": "atomic", "lower_mean": lower, "upper_mean": upper}
    document = {
        "schema_version": 2,
        "method": "a",
        "seed_results": [
            {
                "seed": 1,
                "method_metrics": {"accuracy": 0.5},
                "protocol": {"geometry": geometry, "topology": "atomic", "delta": delta},
                "training": [{"step": 1, "updates": [{"response_audits": [audit]}]}],
            }
        ],
    }
    assert places(document, "BOUND006") == set()
    assert places(document, "BOUND001") == set()
