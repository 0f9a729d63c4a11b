from __future__ import annotations

from typing import Any

import pytest
from cases import full, gppo, patched, places, reasons

from audit.rules.float32 import to_float32

RUN = "/seed_results/0"
FIRST = RUN + "/training/1/updates/0"
LATER = RUN + "/training/1/updates/1"


def thousandth(value: float) -> float:
    return to_float32(value * 1.001)


BROKEN: list[tuple[dict[str, Any], str, set[str]]] = [
    ({FIRST + "/loss": 0.003}, "LOSS001", {FIRST + "/loss"}),
    ({LATER + "/loss": thousandth(1.6435980796813965e-05)}, "LOSS002", {LATER + "/loss"}),
    ({FIRST + "/loss": thousandth(2.9802322387695312e-08)}, "LOSS002", {FIRST + "/loss"}),
]


@pytest.mark.parametrize(("patches", "rule", "where"), BROKEN)
def test_a_loss_that_was_not_computed_is_found(
    patches: dict[str, Any], rule: str, where: set[str]
) -> None:
    assert places(patched(gppo(), patches), rule) == where


@pytest.mark.parametrize("rule", [f"LOSS{n:03}" for n in range(1, 3)])
@pytest.mark.parametrize("base", [gppo, full])
def test_the_samples_hold_losses_that_were_computed(base: Any, rule: str) -> None:
    assert places(base(), rule) == set()


def test_a_loss_of_another_type_is_not_held_to_the_mean_advantage() -> None:
    runs = {
        f"{arm}/seed_results/{run}/telemetry": {"loss_type": "dapo"}
        for arm in ("", "/controls/grpo-control")
        for run in range(3)
    }
    document = patched(gppo(), runs | {FIRST + "/loss": 0.003, LATER + "/loss": 0.0017})
    assert places(document, "LOSS001") == set()
    assert places(document, "LOSS002") == set()
    assert "no first update with a loss of type grpo and advantages" in reasons(document, "LOSS001")


def test_a_first_update_of_some_responses_has_minus_their_mean_advantage() -> None:
    update = "/seed_results/0/training/0/updates/0"
    first = full()["seed_results"][0]["training"][0]
    part = [0, 1, 5]
    audits = [first["updates"][0]["response_audits"][index] for index in part]
    loss = to_float32(-sum(first["advantages"][index] for index in part) / len(part))
    document = patched(full(), {update + "/response_audits": audits, update + "/loss": loss})
    assert places(document, "LOSS001") == set()
    assert places(patched(document, {update + "/loss": 0.0}), "LOSS001") == {update + "/loss"}


def test_a_sparse_log_does_not_tell_which_responses_were_trained_on() -> None:
    update = "/seed_results/0/training/0/updates/0"
    level = {"/seed_results/0/telemetry/level": "sparse"}
    some = [f"{update}/response_audits/{index}" for index in range(7, 1, -1)]
    document = patched(full(), level | {update + "/loss": 0.1}, some)
    assert places(document, "LOSS001") == set()
    assert places(patched(full(), {update + "/loss": 0.1}, some), "LOSS001") == {update + "/loss"}
