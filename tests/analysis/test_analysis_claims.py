"""Claims: how they are written, and when they stand."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_studies import Document, analysed, claimed, scores, simulated

from audit.claims import DIRECTIONS, Claim, claims_of, parse_claim
from audit.errors import UsageError
from audit.results import from_document

WRITTEN = [
    (
        "gain accuracy method over grpo-control",
        ("gain", "accuracy", "method", "grpo-control", None),
    ),
    ("loss pass@4 a b over fixed clip by 0.02", ("loss", "pass@4", "a b", "fixed clip", 0.02)),
    (
        "  equivalent  accuracy  x  over  base by .03 ",
        ("equivalent", "accuracy", "x", "base", 0.03),
    ),
]


@pytest.mark.parametrize(("text", "parts"), WRITTEN)
def test_a_written_claim_is_read(text: str, parts: tuple[Any, ...]) -> None:
    claim = parse_claim(text)
    found = (claim.direction, claim.metric, claim.arm, claim.against, claim.margin)
    assert found == parts
    assert claim.pointer is None
    assert claim.exceeds is (claim.margin is not None and claim.direction != "equivalent")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("gain accuracy method", "not of the form"),
        ("", "not of the form"),
        ("better accuracy a over b", "direction must be one of gain, loss, equivalent"),
        ("gain accuracy a over b by much", "margin must be a number above 0"),
        ("gain accuracy a over b by -1", "margin must be a number above 0"),
        ("gain accuracy a over b by nan", "margin must be a number above 0"),
    ],
)
def test_words_that_are_no_claim_are_refused(text: str, complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        parse_claim(text)


@given(st.text(max_size=60))
def test_any_text_is_a_claim_or_a_usage_error(text: str) -> None:
    try:
        claim = parse_claim(text)
    except UsageError:
        return
    assert claim.direction in DIRECTIONS


def test_a_claim_of_the_file_has_the_defaults_of_the_contract() -> None:
    document = simulated()
    document["claims"] = [{"direction": "gain"}]
    (claim,) = claims_of(from_document(document))
    assert claim == Claim(
        direction="gain",
        metric="accuracy",
        arm="recipe",
        against="control",
        id="claim 1",
        pointer="/claims/0",
    )


GAIN, NULL, LOSS = simulated(delta=0.2), simulated(seeds=3, sd=0.03), simulated(delta=-0.2)
EQUAL = simulated(300, 10)

STANDS: list[tuple[Document, Document, str]] = [
    (GAIN, {}, "supported"),
    (LOSS, {"direction": "loss"}, "supported"),
    (EQUAL, {"direction": "equivalent", "margin": 0.05}, "supported"),
    (GAIN, {"target": "benchmark"}, "supported"),
    (GAIN, {"pairing": "seeds"}, "supported"),
    (GAIN, {"metric": "pass@4"}, "supported"),
    (GAIN, {"benchmark": "simulated"}, "supported"),
    (NULL, {}, "interval-reaches-zero"),
    (LOSS, {}, "wrong-way"),
    (GAIN, {"direction": "loss"}, "wrong-way"),
    (NULL, {"direction": "equivalent"}, "not-equivalent"),
    (simulated(300, 2, delta=0.4, rate=0.3), {}, "too-few-seeds"),
    (simulated(seeds=1, delta=0.4), {}, "one-seed"),
    (simulated(seeds=1, delta=0.4), {"direction": "loss"}, "one-seed"),
    (simulated(seeds=1), {"direction": "equivalent", "margin": 0.5}, "one-seed"),
    (GAIN, {"metric": "pass@8"}, "incomplete"),
    (GAIN, {"metric": "f1"}, "unknown-name"),
    (GAIN, {"benchmark": "other"}, "unknown-name"),
    (GAIN, {"against": "nobody"}, "unknown-arm"),
    (GAIN, {"arm": "control"}, "unknown-arm"),
    (GAIN, {"against": "base"}, "no-base-evaluations"),
    (GAIN, {"direction": None}, "no-direction"),
]


@pytest.mark.parametrize(("document", "entry", "slug"), STANDS)
def test_a_claim_stands_or_says_why_not(document: Document, entry: Document, slug: str) -> None:
    entry = {key: value for key, value in entry.items() if value is not None} | (
        {"direction": ""} if "direction" in entry and entry["direction"] is None else {}
    )
    document = {**document, "claims": [{"arm": "recipe", "against": "control", **entry}]}
    document["claims"][0].setdefault("direction", "gain")
    if not document["claims"][0]["direction"]:
        del document["claims"][0]["direction"]
    (result,) = analysed(document).claims
    assert result.slug == slug
    assert result.stands is (slug == "supported")
    assert bool(result.settles) is not result.stands
    assert result.reason


def test_a_claim_of_more_than_a_margin_needs_the_whole_interval_beyond_it() -> None:
    (small,) = analysed(GAIN, "gain accuracy method over control by 0.1").claims
    (large,) = analysed(GAIN, "gain accuracy method over control by 0.2").claims
    assert small.stands
    assert not large.stands
    assert large.slug == "within-margin"
    assert 0 < small.p_value < 0.05


def test_one_score_a_run_carries_a_claim_about_its_benchmark_alone() -> None:
    document = scores([0.5, 0.52, 0.54], [0.8, 0.81, 0.83], 400)
    here, beyond = claimed(document, {"target": "benchmark"}, {}).claims
    assert here.stands
    assert here.verdict.text.startswith("gain on this benchmark")
    assert beyond.slug == "no-per-task-outcomes"
    assert "record" in beyond.settles


def test_several_claims_are_corrected_together() -> None:
    alone = analysed(GAIN, "gain accuracy method over control").claims[0]
    family = ["gain accuracy method over control"] + [
        f"gain reward-{number} method over control" for number in range(4)
    ]
    first, *rest = analysed(GAIN, *family).claims
    assert alone.holm_p_value == alone.p_value
    assert first.holm_p_value == pytest.approx(5 * alone.p_value)
    assert [claim.p_value for claim in rest] == [1.0] * 4


def test_a_gain_that_correction_takes_away_is_refused() -> None:
    document = simulated(delta=0.06, number=14)
    alone = analysed(document, "gain accuracy method over control").claims[0]
    assert alone.stands
    assert 0.05 / 8 < alone.p_value < 0.05
    others = [f"gain reward-{number} method over control" for number in range(7)]
    family = ["gain accuracy method over control", *others]
    assert analysed(document, *family).claims[0].slug == "not-after-holm"


def test_the_policy_sets_how_many_seeds_a_claim_needs() -> None:
    (result,) = analysed(GAIN, "gain accuracy method over control", min_seeds=6).claims
    assert result.slug == "too-few-seeds"
    assert result.next[0] == "train at least 1 more seed per arm, 6 in all"


def test_a_declared_pairing_drops_the_runs_without_a_partner_and_names_them() -> None:
    document = simulated(delta=0.2)
    document["seed_results"][0]["seed"] = 77
    result = claimed(document, {"pairing": "seeds"}).claims[0]
    assert result.comparison is not None
    assert result.comparison.seeds == (4, 4)
    assert result.comparison.standing is not None
    assert result.comparison.standing.method == "paired-hillis"
    left = {(u.arm, u.run): u.reason for u in result.comparison.description.unpaired}
    assert left == {
        ("recipe", "77"): "control has no run at this seed",
        ("control", "0"): "recipe has no run at this seed",
    }


def test_pairing_of_fewer_than_three_seeds_is_not_used() -> None:
    document = simulated(delta=0.2)
    for entry in document["seed_results"][:3]:
        entry["seed"] += 50
    result = claimed(document, {"pairing": "seeds"}).claims[0]
    assert result.comparison is not None
    assert result.comparison.standing is not None
    assert result.comparison.standing.method == "welch-hillis"
    assert result.comparison.seeds == (5, 5)


def test_a_claim_below_the_evaluation_floor_is_refused() -> None:
    document = simulated(delta=0.1)
    drift = [[4] * 120, [0] * 120, [2] * 120]
    document["base_evaluations"] = [
        {"run": i, "evaluation": {"benchmark": "simulated", "correct": row, "samples": [4] * 120}}
        for i, row in enumerate(drift)
    ]
    result = claimed(document, {}).claims[0]
    assert result.verdict.word == "gain"
    assert result.slug == "below-noise-floor"


def test_a_claim_says_how_many_seeds_would_settle_it() -> None:
    direction = "gain" if (analysed(NULL).comparisons[0].delta or 0) > 0 else "loss"
    (result,) = claimed(NULL, {"target_effect": 0.05, "direction": direction}).claims
    assert result.next[0].startswith("to see +0.050: ")
    assert "seeds per arm" in result.next[0]
