"""Studies with known figures: the worked examples, the shipped reports, published results."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from made_studies import analysed, compared, study

import audit
from audit.analysis import Analysis, Floor, Interval, analyse
from audit.analysis.design import Design
from audit.claims import parse_claim

DATA = Path(__file__).resolve().parent.parent / "data"
REFERENCE: dict[str, dict[str, Any]] = {
    entry["name"]: entry
    for entry in json.loads((DATA / "statistics_reference_values.json").read_text())
}


def expected(name: str) -> dict[str, Any]:
    values: dict[str, Any] = REFERENCE[name]["expect"]
    return values


@pytest.mark.parametrize("name", ["W4 unpaired", "W10", "W4c"])
def test_the_worked_examples_come_out_of_a_document(name: str) -> None:
    control, treatment = REFERENCE[name]["args"]
    comparison = compared(study(control, treatment, REFERENCE[name]["kwargs"]["samples"]))
    known = expected(name)
    assert comparison.delta == pytest.approx(known["delta"], abs=1e-9)
    for about, prefix in (("tasks", "random"), ("benchmark", "fixed")):
        interval = comparison.interval(about)
        assert isinstance(interval, Interval)
        half = known.get(f"{prefix}.half")
        if half is None:
            half = (known[f"{prefix}.high"] - known[f"{prefix}.low"]) / 2
        assert (interval.high - interval.low) / 2 == pytest.approx(half, abs=1e-9)
        assert interval.p_value == pytest.approx(known[f"{prefix}.p_value"], abs=1e-9)


@pytest.fixture(scope="module")
def gppo() -> Analysis:
    root = DATA.parent.parent
    found = audit.load(root / "reports" / "gppo-framework" / "results.json")
    claim = parse_claim("gain accuracy method over grpo-control")
    return analyse(found, claims=[claim])


def test_the_gppo_study_is_flat_on_its_benchmark(gppo: Analysis) -> None:
    comparison = gppo.comparisons[0]
    text = "flat on this benchmark: inconclusive, underpowered"
    assert comparison.verdict.text == text
    deciding = comparison.deciding
    assert isinstance(deciding, Interval)
    known = expected("W16 one score a run")
    for name in ("low", "high", "df", "se", "p_value"):
        assert getattr(deciding, name) == pytest.approx(known[f"fixed.{name}"], abs=1e-9)


def test_the_gppo_study_shows_its_pairs_beside_the_verdict(gppo: Analysis) -> None:
    shown = gppo.comparisons[0].description
    assert [(pair.seed, pair.delta) for pair in shown.pairs] == [(42, 0.0), (43, 0.25), (44, 0.0)]
    assert shown.paired_t is not None
    known = expected("W1 paired t")
    assert shown.paired_t.low == pytest.approx(known["low"], abs=1e-9)
    assert shown.paired_t.high == pytest.approx(known["high"], abs=1e-9)


def test_the_gppo_design_sees_no_effect_at_the_limit_of_its_seed_spread(gppo: Analysis) -> None:
    design = gppo.comparisons[0].design
    assert isinstance(design, Design)
    assert design.smallest_effect is None
    assert design.smallest_effect_at_estimate == pytest.approx(0.58, abs=0.005)


def test_three_identical_evaluations_are_no_floor(gppo: Analysis) -> None:
    floor = gppo.comparisons[0].floor
    assert isinstance(floor, Floor)
    assert floor.value is None
    assert floor.noise.reason == "deterministic-eval"
    assert floor.text == "unknown: three identical base evaluations"


def test_a_gain_claimed_on_the_gppo_study_is_refused(gppo: Analysis) -> None:
    (claim,) = gppo.claims
    assert not claim.stands
    assert claim.slug == "no-per-task-outcomes"


@pytest.fixture(scope="module")
def adaptive() -> Analysis:
    root = DATA.parent.parent
    return analyse(audit.load(root / "reports" / "adaptive-clip" / "results.json"))


def test_the_adaptive_clip_floor_is_printed_and_with_t(adaptive: Analysis) -> None:
    ((_, floor),) = adaptive.floors
    assert isinstance(floor, Floor)
    known = expected("W6 floor")
    assert floor.noise.printed == pytest.approx(known["printed"], abs=1e-9)
    assert floor.value == pytest.approx(known["t_form"], abs=1e-9)


def test_the_adaptive_clip_rounds_conflict(adaptive: Analysis) -> None:
    (pair,) = adaptive.rounds
    known = expected("W5 replication")
    assert pair.conflict
    assert pair.replication.z == pytest.approx(known["z"], abs=1e-9)
    assert pair.replication.p_value == pytest.approx(known["p_value"], abs=1e-9)
    assert pair.replication.per_arm_sd == pytest.approx(known["per_arm_sd"], abs=1e-9)
    low, high = pair.replication.per_arm_interval
    assert low == pytest.approx(known["per_arm_interval.0"], abs=1e-9)
    assert high == pytest.approx(known["per_arm_interval.1"], abs=1e-9)
    assert pair.swing / 0.0241147 == pytest.approx(4.77, abs=0.005)


def test_every_adaptive_clip_difference_is_refused_for_one_seed(adaptive: Analysis) -> None:
    texts = {(c.arm, c.against): c.verdict.text for c in adaptive.comparisons}
    assert texts == {
        ("recipe", "baseline"): "no verdict: one-seed",
        ("recipe", "base"): "no verdict: one-seed",
        ("baseline", "base"): "no verdict: one-seed",
    }
    assert adaptive.claims == ()


def test_claims_on_the_adaptive_clip_study_are_all_refused() -> None:
    analysis = analyse(audit.load(DATA / "results" / "adaptive-clip-claimed.json"))
    assert [claim.slug for claim in analysis.claims] == ["one-seed"] * 3


def test_talk_to_solve_shows_no_gain_over_its_seeds() -> None:
    analysis = analyse(audit.load(DATA / "results" / "talk-to-solve.json"))
    (comparison,) = [c for c in analysis.comparisons if c.against == "baseline"]
    deciding = comparison.deciding
    assert isinstance(deciding, Interval)
    assert comparison.delta == pytest.approx(0.269, abs=0.0005)
    assert (deciding.low, deciding.high) == pytest.approx((-0.066, 0.605), abs=0.0005)
    assert comparison.verdict.word == "flat"
    assert comparison.verdict.target == "benchmark"


def test_a_bound_on_what_three_seeds_may_not_have_shown() -> None:
    document = study([[1, 0] * 8] * 2 + [[0, 1] * 8], [[1, 1] * 8] * 2 + [[1, 0] * 8], 1)
    found = analysed(document).comparisons[0].description.collapse_bound
    assert found["recipe"] == pytest.approx(1 - 0.05 ** (1 / 3))
