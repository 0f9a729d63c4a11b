"""What settles a refused claim: the seeds its power asks for, more tasks, or nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.stats import (
    Components,
    NextJudgement,
    Remedy,
    SequentialPlan,
    after_look,
    after_this_look,
    equivalence_power,
    in_new_study,
    in_plan,
    power,
    remedy,
)

KNOWN = json.loads(
    (Path(__file__).resolve().parents[1] / "data" / "next_seed_reference_values.json").read_text()
)["remedies"]["cases"]
PARTS = Components(0, 0, 0.065, 0.145, 0.085)
DESIGN: dict[str, Any] = {"components": PARTS, "seed_sds": (0.03, 0.06), "tasks": 120, "samples": 4}


def settled(claim: str, delta: float, **changes: Any) -> Remedy:
    wanted: dict[str, Any] = {"margin": 0.03, "judgement": in_new_study(), **DESIGN, **changes}
    return remedy(claim, delta, **wanted)


@pytest.mark.parametrize("case", KNOWN, ids=lambda c: f"{c['claim']} at {c['delta']}")
def test_a_known_remedy(case: dict[str, Any]) -> None:
    words = case["claim"].split()
    margin = float(words[-1]) if len(words) > 1 else 0.03
    terms: dict[str, Any] = {"beyond": margin} if "by" in words else {"margin": margin}
    found = settled(
        words[0], case["delta"], tasks=case.get("tasks", 120), seed_sds=(0.03, 0.03), **terms
    )
    if case["seeds"] is None and "tasks_at_least" not in case:
        assert found.nothing in {"within-margin", "wrong-way"}
        assert found.if_seen is found.to_see is None
        return
    assert found.nothing is None
    assert found.if_seen is not None
    assert found.if_seen.seeds == case["seeds"]
    assert found.if_seen.tasks == case.get("tasks_at_least")
    if "planned_for" in case:
        assert found.if_seen.effect == pytest.approx(case["planned_for"])


def test_the_effect_that_matters_leads_and_the_one_seen_follows() -> None:
    found = settled("gain", 0.06)
    assert found.to_see is not None
    assert found.if_seen is not None
    assert (found.to_see.effect, found.if_seen.effect) == (0.03, 0.06)
    declared = settled("gain", 0.06, target_effect=0.05)
    assert declared.to_see is not None
    assert declared.to_see.effect == 0.05


def test_estimate_and_upper_limit_are_the_two_ends() -> None:
    found = settled("loss", -0.08).if_seen
    assert found is not None
    for seeds, sd in ((found.seeds, 0.03), (found.seeds_upper, 0.06)):
        assert seeds is not None
        own: dict[str, Any] = {"components": PARTS.with_seed_sd(sd), "tasks": 120, "samples": 4}
        assert power(0.08, seeds=seeds, **own) >= 0.8
        assert seeds == 3 or power(0.08, seeds=seeds - 1, **own) < 0.8


@pytest.mark.parametrize(
    ("claim", "delta", "changes", "nothing"),
    [
        ("gain", -0.01, {}, "wrong-way"),
        ("gain", -0.01, {"target_effect": 0.05}, "wrong-way"),
        ("loss", 0.01, {}, "wrong-way"),
        ("gain", 0.01, {"shown_equivalent": True}, "equivalent"),
        ("gain", 0.04, {"beyond": 0.04}, "within-margin"),
        ("loss", -0.04, {"beyond": 0.05}, "within-margin"),
        ("equivalent", 0.03, {}, "not-equivalent"),
        ("equivalent", -0.05, {}, "not-equivalent"),
        ("no loss", -0.03, {}, "loss-not-excluded"),
    ],
)
def test_where_nothing_settles_a_claim_no_seeds_are_named(
    claim: str, delta: float, changes: dict[str, Any], nothing: str
) -> None:
    found = settled(claim, delta, **changes)
    assert found == Remedy(claim, nothing, False, None, None)


def test_where_only_the_target_is_beyond_the_margin_that_is_said() -> None:
    assert settled("gain", 0.04, beyond=0.05, target_effect=0.08).target_only
    assert not settled("gain", 0.04, beyond=0.05, target_effect=0.05).target_only


def test_a_gain_beyond_a_margin_is_planned_for_what_is_left_of_it() -> None:
    found = settled("gain", 0.09, beyond=0.02, target_effect=0.08)
    assert found.to_see is not None
    assert found.if_seen is not None
    assert found.to_see.effect == pytest.approx(0.06)
    assert found.if_seen.effect == pytest.approx(0.07)
    # Without a target beyond the margin, the difference seen alone can be planned for.
    assert settled("gain", 0.09, beyond=0.02).to_see is None
    assert settled("gain", 0.09, beyond=0.02, target_effect=0.02).to_see is None


def test_a_difference_of_nothing_or_noise_is_not_planned_for() -> None:
    assert settled("gain", 0.0).if_seen is None
    assert settled("gain", 0.01, noise_floor=0.02).if_seen is None
    assert settled("gain", 0.03, noise_floor=0.02).if_seen is not None
    assert settled("gain", 0.0).to_see is not None


def test_too_few_tasks_come_before_any_number_of_seeds() -> None:
    found = settled("gain", 0.01, margin=0.02)
    assert found.to_see is not None
    assert found.if_seen is not None
    assert (found.to_see.seeds, found.to_see.seeds_upper, found.to_see.tasks) == (None, None, 142)
    assert found.if_seen.tasks == 568
    # For these tasks alone, what differs between tasks is no obstacle.
    here = settled("gain", 0.02, margin=0.02, components=Components(0, 0, 0.065, 0.145, 0.0))
    assert here.if_seen is not None
    assert here.if_seen.tasks is None
    assert here.if_seen.seeds is not None
    few = settled("equivalent", 0.0, components=Components(0, 0, 0, 0, 0), tasks=60)
    assert few.to_see is not None
    assert (few.to_see.tasks, few.to_see.seeds) == (100, None)


def test_equivalence_is_planned_by_its_own_test() -> None:
    found = settled("equivalent", 0.02, margin=0.05, tasks=1319)
    assert found.to_see is not None
    assert found.if_seen is not None
    for needed, effect in ((found.to_see, 0.0), (found.if_seen, 0.02)):
        assert needed.effect == effect
        assert needed.seeds is not None
        own: dict[str, Any] = {"components": PARTS.with_seed_sd(0.03), "tasks": 1319, "samples": 4,
                               "effect": effect}  # fmt: skip
        assert equivalence_power(0.05, seeds=needed.seeds, **own) >= 0.8
        assert equivalence_power(0.05, seeds=needed.seeds - 1, **own) < 0.8
    assert found.if_seen.seeds == 15


def test_no_loss_is_planned_as_an_effect_above_minus_the_margin() -> None:
    found = settled("no loss", 0.02)
    assert found.to_see is not None
    assert found.if_seen is not None
    assert (found.to_see.effect, found.if_seen.effect) == pytest.approx((0.03, 0.05))
    assert found.if_seen.seeds == 11


def test_in_a_plan_the_looks_that_are_left_are_asked() -> None:
    plan = SequentialPlan(20)
    judgement = in_plan(plan, 6)
    assert judgement is not None
    assert (judgement.kind, judgement.least, judgement.most) == ("plan", 7, 20)
    found = settled("gain", 0.08, judgement=judgement).if_seen
    assert found is not None
    assert found.seeds is not None
    own: dict[str, Any] = {"components": PARTS.with_seed_sd(0.03), "tasks": 120, "samples": 4}
    assert power(0.08, seeds=found.seeds, level=1 - plan.threshold(found.seeds), **own) >= 0.8
    smaller = settled("gain", 0.05, judgement=judgement).if_seen
    assert smaller is not None
    assert (smaller.seeds_upper, smaller.tasks) == (None, None)  # not within 20 seeds
    assert in_plan(plan, 20) is None


def test_seeds_added_without_a_plan_cost_more_than_a_new_study() -> None:
    new = settled("gain", 0.05).if_seen
    added = settled("gain", 0.05, judgement=after_this_look(3)).if_seen
    assert new is not None
    assert added is not None
    assert (new.seeds, added.seeds) == (11, 18)


def test_one_of_several_claims_is_held_to_its_share_of_the_error_rate() -> None:
    alone = settled("gain", 0.05).if_seen
    among = settled("gain", 0.05, judgement=in_new_study(claims=4)).if_seen
    assert alone is not None
    assert among is not None
    assert among.seeds is not None
    own: dict[str, Any] = {"components": PARTS.with_seed_sd(0.03), "tasks": 120, "samples": 4}
    assert power(0.05, seeds=among.seeds, level=1 - 0.05 / 4, **own) >= 0.8
    assert alone.seeds is not None
    assert among.seeds > alone.seeds
    plan = SequentialPlan(12)
    judged = in_plan(plan, 5, claims=4)
    assert judged is not None
    # p below the threshold at a quarter of the error rate is p_plan below that quarter.
    p = 1 - judged.level(8)
    assert plan.p_plan(p, 8) == pytest.approx(0.05 / 4)
    looked = after_this_look(3, claims=4)
    assert looked.level(8) == 1 - after_look(3, 8, 8, level=1 - 0.05 / 4).threshold


@pytest.mark.parametrize(
    "judgement",
    [in_new_study(), in_plan(SequentialPlan(60), 3), after_this_look(3)],
    ids=lambda j: j.kind,
)
@settings(max_examples=15, deadline=None)
@given(delta=st.floats(0.04, 0.2), margin=st.floats(0.03, 0.1))
def test_a_larger_effect_never_needs_more(
    judgement: NextJudgement, delta: float, margin: float
) -> None:
    for claim in ("gain", "no loss"):
        small = settled(claim, delta, margin=margin, judgement=judgement).if_seen
        large = settled(claim, delta * 1.2, margin=margin, judgement=judgement).if_seen
        assert small is not None
        assert large is not None
        if small.seeds is not None:
            assert large.seeds is not None
            assert large.seeds <= small.seeds


def test_impossible_questions_are_errors() -> None:
    with pytest.raises(ValueError, match="claim must be one of"):
        settled("better", 0.1)
    with pytest.raises(ValueError, match="claims"):
        in_new_study(claims=0)
