"""What would settle a refused claim: seeds from estimate to upper limit, tasks, or nothing."""

from __future__ import annotations

from typing import Any

import pytest
from made_studies import Document, analysed, claimed, simulated

from audit.analysis.claiming import ClaimResult
from audit.analysis.design import Design
from audit.analysis.what_settles import ACT, NOTHING, RUNS, SEEDS, figures_unclaimed
from audit.stats import SequentialPlan, seeds_needed
from audit.stats.designs import designs_to_see, seeds_after_look


def result_of(document: Document, entry: dict[str, Any], **policy: Any) -> ClaimResult:
    (result,) = claimed(document, entry, **policy).claims
    return result


def weak() -> Document:
    """A study of three seeds per arm whose small gain lies inside the noise."""
    return simulated(delta=0.03, seeds=3, sd=0.03, number=3)


def sign(document: Document) -> str:
    delta = analysed(document).comparisons[0].delta
    assert delta
    return "gain" if delta > 0 else "loss"


def design_of(result: ClaimResult) -> Design:
    assert result.comparison is not None
    design = result.comparison.design
    assert isinstance(design, Design)
    return design


def other(direction: str) -> str:
    return "loss" if direction == "gain" else "gain"


def test_a_claim_in_the_wrong_direction_is_settled_by_nothing() -> None:
    document = weak()
    result = result_of(document, {"direction": other(sign(document))})
    assert result.settling is not None
    assert (result.settling.kind, result.settling.reason) == (NOTHING, "wrong-way")
    assert result.next == ("nothing settles this: the difference seen points the other way",)


def test_a_margin_beyond_what_was_seen_is_settled_by_nothing() -> None:
    (result,) = analysed(simulated(delta=0.3), "gain accuracy method over control by 0.9").claims
    assert result.settling is not None
    assert (result.settling.kind, result.settling.reason) == (NOTHING, "within-margin")
    assert "is not beyond 0.9" in result.next[0]


def test_an_equivalence_outside_its_margin_is_settled_by_nothing() -> None:
    (result,) = analysed(
        simulated(delta=0.3), "equivalent accuracy method to control within 0.05"
    ).claims
    assert result.settling is not None
    assert (result.settling.kind, result.settling.reason) == (NOTHING, "not-equivalent")


def test_a_gain_where_the_arms_are_equivalent_is_settled_by_nothing() -> None:
    document = simulated(seeds=5, number=2)
    direction = sign(document)
    result = result_of(document, {"direction": direction}, margin=0.3)
    assert result.verdict.detail == "equivalent"
    assert result.settling is not None
    assert (result.settling.kind, result.settling.reason) == (NOTHING, "equivalent")


def test_tasks_come_before_any_number_of_seeds() -> None:
    few = simulated(tasks=20, seeds=3, number=1)
    (result,) = analysed(few, "equivalent accuracy method to control within 0.04").claims
    if result.settling is None or result.settling.kind == NOTHING:
        pytest.fail("the study must be inside its margin, or the test shows nothing")
    assert result.settling.remedy is not None
    needed = result.settling.remedy.to_see
    assert needed is not None
    assert needed.tasks is not None
    assert needed.tasks >= 3 / 0.04
    assert needed.seeds is None
    assert "tasks; with fewer no number of seeds is enough" in result.next[0]


@pytest.mark.parametrize("seeds", [1, 2])
def test_too_few_runs_are_told_how_many_are_missing(seeds: int) -> None:
    result = result_of(simulated(delta=0.2, seeds=seeds), {})
    assert result.settling is not None
    assert (result.settling.kind, result.settling.runs) == (RUNS, 3)
    assert result.settling.missing == 3 - seeds
    assert result.next[1].startswith("what +0.030 needs: audit plan ")


def test_seeds_are_those_of_a_second_look_where_the_first_is_spent() -> None:
    document = weak()
    result = result_of(document, {"direction": sign(document), "target_effect": 0.05})
    settling, design = result.settling, design_of(result)
    assert settling is not None
    assert (settling.kind, settling.judgement, settling.looked) == (SEEDS, "after-look", 3)
    assert settling.remedy is not None
    needed = settling.remedy.to_see
    assert needed is not None
    ends = [
        seeds_after_look(
            0.05,
            3,
            components=design.components.with_seed_sd(sd),
            tasks=design.tasks,
            samples=design.samples,
        )
        for sd in (design.spread.sd, design.spread.upper(0.8))
    ]
    assert [needed.seeds, needed.seeds_upper] == ends
    assert "as one later look (looked = [3], p below " in result.next[0]


def test_after_a_later_look_only_a_new_study_is_planned() -> None:
    document = {**simulated(seeds=5, sd=0.03, number=3), "looked": [3]}
    result = result_of(document, {"direction": sign(document), "target_effect": 0.05})
    settling, design = result.settling, design_of(result)
    assert settling is not None
    assert settling.judgement == "new-study"
    assert settling.remedy is not None
    assert settling.remedy.to_see is not None
    assert settling.remedy.to_see.seeds == seeds_needed(
        0.05,
        components=design.components.with_seed_sd(design.spread.sd),
        tasks=design.tasks,
        samples=design.samples,
    )
    assert "in a new study" in result.next[0]


def test_in_a_plan_the_next_look_comes_first_and_seeds_are_those_of_its_looks() -> None:
    document = {
        **simulated(seeds=5, sd=0.03, number=3),
        "plan": {"maximum": {"method": 40, "control": 40}, "target_effect": 0.05},
    }
    arms = {"method": 40, "control": 40}
    document["plan"]["maximum"] = arms
    result = result_of(document, {"direction": sign(document)})
    settling = result.settling
    assert settling is not None
    assert settling.judgement == "plan"
    plan = SequentialPlan(40)
    assert result.next[0].startswith("1 more run per arm; look 6 needs p below ")
    design = design_of(result)
    assert settling.remedy is not None
    assert settling.remedy.to_see is not None
    assert settling.remedy.to_see.seeds == seeds_needed(
        0.05,
        components=design.components.with_seed_sd(design.spread.sd),
        tasks=design.tasks,
        samples=design.samples,
        level=lambda s: 1 - plan.threshold(s),
        least=6,
        limit=40,
    )


def test_more_claims_ask_for_more_seeds_and_supported_ones_do_not_count() -> None:
    document = weak()
    entry = {"direction": sign(document), "target_effect": 0.05}
    missing = [{"metric": f"m{n}"} for n in range(4)]
    alone = claimed(document, entry).claims[0]
    family = claimed(document, entry, *missing).claims[0]
    assert (alone.rivals, family.rivals) == (1, 5)
    seeds = [
        r.settling.remedy.to_see.seeds
        for r in (alone, family)
        if r.settling and r.settling.remedy and r.settling.remedy.to_see
    ]
    assert seeds[0] is not None
    assert seeds[1] is not None
    assert seeds[0] < seeds[1]


def test_a_claim_made_twice_is_one_rival() -> None:
    document = weak()
    entry = {"direction": sign(document)}
    assert claimed(document, entry, entry).claims[0].rivals == 1


def test_an_unclaimed_comparison_a_plan_and_a_claim_of_a_new_study_have_one_number() -> None:
    document = {**weak(), "looked": [2]}
    comparison = analysed(document, margin=0.05).comparisons[0]
    design = comparison.design
    assert isinstance(design, Design)
    shown = figures_unclaimed(comparison)
    assert shown is not None
    assert shown.to_see is not None
    planned = designs_to_see(
        0.05,
        (design.spread.sd, design.spread.upper(0.8)),
        components=design.components,
        tasks=design.tasks,
        samples=design.samples,
    )
    assert [d.seeds for d in planned] == [shown.to_see.seeds, shown.to_see.seeds_upper]


def test_a_refusal_that_no_seed_settles_gives_its_own_act() -> None:
    document = weak()
    document["launched_seeds"] = {"method": [0, 1, 2, 3, 4]}
    result = result_of(document, {"direction": sign(document)})
    assert result.slug == "seeds-not-listed"
    assert result.settling is not None
    assert result.settling.kind == ACT
    assert result.next == ("list every launched seed with its outcome",)


def test_a_supported_claim_has_nothing_to_settle() -> None:
    result = result_of(simulated(delta=0.3), {})
    assert result.supported
    assert result.settling is None
    assert result.next == ()


def test_the_target_of_a_plan_is_the_effect_that_matters() -> None:
    document = {
        **simulated(seeds=5, sd=0.03, number=3),
        "plan": {"maximum": {"method": 40, "control": 40}, "target_effect": 0.07},
    }
    result = result_of(document, {"direction": sign(document)})
    assert result.comparison is not None
    assert result.comparison.settings.target_effect == 0.07
    own = result_of(document, {"direction": sign(document), "target_effect": 0.04})
    assert own.comparison is not None
    assert own.comparison.settings.target_effect == 0.04
