"""Ways to get a gain past the gate without the training behind it, each refused."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
from made_studies import Document, base, study

from audit.claims import parse_claim
from audit.policy import Policy
from audit.report import verify
from audit.results import from_document

TASKS = 120
GAIN = "gain accuracy method over control"


def counts(rate: float, seeds: int, number: int = 0) -> list[list[int]]:
    random = np.random.default_rng([number, seeds, round(1000 * rate)])
    return [[int(c) for c in row] for row in random.binomial(4, rate, (seeds, TASKS))]


CONTROL, BETTER = counts(0.3, 3), counts(0.6, 3)


def judged(document: Document, *claims: str, **policy: Any) -> tuple[int, list[str]]:
    """Return the exit status and what became of each claim."""
    report = verify(
        from_document(document),
        claims=[parse_claim(claim) for claim in claims or (GAIN,)],
        policy=Policy(**policy),
    )
    assert report.analysis is not None
    return report.exit_status, [claim.slug for claim in report.analysis.claims]


def arms(document: Document) -> list[list[Document]]:
    return [document["seed_results"], document["controls"]["control"]["seed_results"]]


def test_an_honest_gain_passes() -> None:
    assert judged(study(CONTROL, BETTER)) == (0, ["supported"])


@pytest.mark.parametrize("policy", [{"ignore": ("CLAIM", "SEED001")}, {"select": ("MECH",)}])
@pytest.mark.parametrize("runs", [1, 3])
def test_no_choice_of_rules_lets_a_refused_claim_by(runs: int, policy: dict[str, Any]) -> None:
    status, (slug,) = judged(study(CONTROL[:runs], counts(0.3, 3, 7)[:runs]), **policy)
    assert slug == ("one-seed" if runs == 1 else "interval-reaches-zero")
    assert status == 1


def test_no_policy_makes_a_claim_stand_on_two_seeds() -> None:
    document = study(CONTROL[:2], BETTER[:2])
    report = verify(from_document(document), claims=[parse_claim(GAIN)], policy=Policy(min_seeds=2))
    assert report.analysis is not None
    (claim,) = report.analysis.claims
    assert claim.comparison is not None
    assert "provisional" in claim.comparison.verdict.qualifiers
    assert (claim.slug, report.exit_status) == ("too-few-seeds", 1)
    assert claim.next[0] == "train at least 1 more seed per arm, 3 in all"


def steps(number: int, seed: int) -> list[dict[str, Any]]:
    return [
        {"step": i + 1, "rewards": [0.0, 1.0], "updates": [{"loss": seed + i / 7}]}
        for i in range(number)
    ]


def test_checkpoints_of_one_run_are_not_seeds() -> None:
    document = study(CONTROL, BETTER)
    for entry, length in zip(document["seed_results"], (2, 4, 6), strict=True):
        entry["training"] = steps(length, 0)
    status, (slug,) = judged(document)
    assert (status, slug) == (1, "one-seed")
    found = verify(from_document(document)).found
    assert {f.pointer for f in found if f.slug in ("identical-runs", "one-run-many-steps")} == {
        "/seed_results/1",
        "/seed_results/2",
    }


def test_runs_with_logs_of_their_own_are_seeds() -> None:
    document = study(CONTROL, BETTER)
    for entry in document["seed_results"]:
        entry["training"] = steps(4, entry["seed"])
    assert judged(document)[1] == ["supported"]
    assert not [f for f in verify(from_document(document)).found if f.rule == "SEED003"]


def test_one_checkpoint_evaluated_twice_with_other_outcomes_counts_for_nothing() -> None:
    document = study(CONTROL, counts(0.3, 3, 7))
    for entry in document["seed_results"]:
        rival = copy.deepcopy(entry["evaluation"])
        entry["evaluations"] = [rival]
    assert judged(document)[1] == ["interval-reaches-zero"]
    for entry in document["seed_results"]:
        entry["evaluation"]["correct"] = [4] * TASKS
    assert judged(document) == (1, ["incomplete"])


def test_one_evaluation_of_the_base_copied_is_one() -> None:
    same, others = counts(0.3, 1), counts(0.3, 3)
    claim = "gain accuracy method over base"
    honest = study(CONTROL, BETTER, base_evaluations=base(*others))
    assert judged(honest, claim) == (1, ["base-only"])
    assert judged(honest, claim, base="allow") == (0, ["supported"])
    copied = study(CONTROL, BETTER, base_evaluations=base(*same * 3))
    assert judged(copied, claim) == (1, ["too-few-evaluations"])


def test_identical_greedy_evaluations_of_the_base_are_evaluations() -> None:
    greedy = [4 * (i % 3 == 0) for i in range(TASKS)]
    document = study(CONTROL, BETTER, base_evaluations=base(*[greedy] * 3, temperature=0))
    claim = "gain accuracy method over base"
    assert judged(document, claim, base="allow") == (0, ["supported"])


def test_an_arm_named_base_is_not_taken_for_the_untrained_model() -> None:
    document = study(CONTROL, BETTER, base_evaluations=base(*counts(0.1, 3)))
    document["controls"]["base"] = document["controls"].pop("control")
    assert judged(document, "gain accuracy method over base") == (1, ["reserved-name"])


def test_an_arm_is_not_compared_with_its_namesake() -> None:
    document = study(CONTROL, BETTER)
    document["controls"]["recipe"] = document["controls"].pop("control")
    report = verify(from_document(document))
    assert report.analysis is not None
    assert not report.analysis.comparisons


def test_a_margin_as_wide_as_the_scale_shows_no_equivalence() -> None:
    document = study(CONTROL, counts(0.3, 3, 7))
    wide = "equivalent accuracy method over control by {}"
    assert judged(document, wide.format(0.25)) == (0, ["supported"])
    assert judged(document, wide.format(0.3)) == (1, ["no-room"])
    assert judged(document, wide.format(0.5)) == (1, ["no-room"])


def test_a_claim_made_twice_is_one_claim() -> None:
    document = study(CONTROL, counts(0.45, 3))
    document["claims"] = [{"direction": "gain", "against": "control", "id": "main"}]
    once, twice = (
        verify(from_document(document), claims=[parse_claim(GAIN)] * n).analysis for n in (0, 3)
    )
    assert once is not None
    assert twice is not None
    assert {c.holm_p_value for c in twice.claims} == {once.claims[0].p_value}
    other = [parse_claim("loss accuracy control over method")]
    both = verify(from_document(document), claims=other).analysis
    assert both is not None
    assert both.claims[0].holm_p_value == 2 * once.claims[0].p_value


def test_a_seed_label_does_not_make_a_run() -> None:
    document = study([CONTROL[0]] * 3, [BETTER[0]] * 3)
    assert judged(document) == (1, ["one-seed"])
    for entries in arms(document):
        for number, entry in enumerate(entries):
            order = np.random.default_rng(number).permutation(TASKS).tolist()
            block = entry["evaluation"]
            block["task_ids"] = [f"t{i}" for i in order]
            block["correct"] = [block["correct"][i] for i in order]
    assert judged(document) == (1, ["one-seed"])
