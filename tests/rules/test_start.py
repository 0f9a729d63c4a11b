from __future__ import annotations

from typing import Any

import pytest
from cases import full, gppo, outcomes, patched, places, reasons

from audit.rules import Failed

CONTROL = "/controls/grpo-control/seed_results/1"
FIRST = CONTROL + "/training/0"

BROKEN: list[tuple[dict[str, Any], set[str]]] = [
    ({FIRST + "/training_row": 1}, {FIRST + "/training_row"}),
    ({FIRST + "/rewards/0": 1.0}, {FIRST + "/rewards/0"}),
    ({FIRST + "/advantages/1": 0.5779}, {FIRST + "/advantages/1"}),
    ({FIRST + "/updates/0/loss": 1e-3}, {FIRST + "/updates/0/loss"}),
    (
        {FIRST + "/updates/0/gradient_l2_norm": 0.771},
        {FIRST + "/updates/0/gradient_l2_norm"},
    ),
    (
        {FIRST + "/updates/1/response_audits/3/max_abs_log_ratio": 0.2351},
        {FIRST + "/updates/1/response_audits/3/max_abs_log_ratio"},
    ),
    # The method's own step is named at the control's, where the pair breaks.
    ({"/seed_results/1/training/0/rewards/0": 1.0}, {FIRST + "/rewards/0"}),
]


@pytest.mark.parametrize(("patches", "where"), BROKEN)
def test_a_pair_of_runs_that_starts_apart_is_named_once(
    patches: dict[str, Any], where: set[str]
) -> None:
    assert places(patched(gppo(), patches), "START001") == where


@pytest.mark.parametrize("base", [gppo, full])
def test_pairs_that_start_alike_are_reported_as_evidence(base: Any) -> None:
    found = [o for o in outcomes(base(), "START001") if isinstance(o, Failed)]
    assert [o.pointer for o in found] == [""]
    assert "3 of 3 seeds" in found[0].message


def test_later_steps_and_second_gradients_may_differ() -> None:
    document = patched(
        gppo(),
        {
            FIRST + "/updates/1/gradient_l2_norm": 0.5,
            CONTROL + "/training/1/rewards/0": 1.0,
        },
    )
    assert places(document, "START001") == {""}


def test_swapped_seeds_start_apart() -> None:
    seeds: dict[str, object] = {"/seed_results/0/seed": 43, "/seed_results/1/seed": 42}
    assert len(places(patched(gppo(), seeds), "START001")) == 2


def test_a_change_of_the_reward_may_differ_from_the_start() -> None:
    document = patched(gppo(), {"/change": {"mechanism": "reward"}, FIRST + "/rewards/0": 1.0})
    assert places(document, "START001") == set()
    assert reasons(document, "START001") == {
        "the arms may differ from the start: the change is of kind reward"
    }


def test_arms_without_a_common_seed_are_not_checked() -> None:
    seeds: dict[str, object] = {f"/seed_results/{i}/seed": 100 + i for i in range(3)}
    assert reasons(patched(gppo(), seeds), "START001") == {
        "no two arms have a training log at one seed"
    }


def test_other_initial_parameters_at_one_seed_are_found() -> None:
    pointer = "/controls/fixed-clip/seed_results/0/initial_parameters_sha256"
    assert places(full(), "START002") == set()
    assert places(patched(full(), {pointer: "0" * 64}), "START002") == {pointer}
