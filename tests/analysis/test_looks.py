"""Looks at a study: a plan, one later look without one, and what is refused; the shipped path."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from made_studies import Document, simulated

from audit.analysis import analyse
from audit.analysis.claiming import ClaimResult
from audit.cli.main import main
from audit.policy import Policy
from audit.results import from_document
from audit.stats import SequentialPlan, after_look

GAIN = {"direction": "gain", "metric": "accuracy", "arm": "recipe", "against": "control"}
PLAN = {"maximum": {"recipe": 12, "control": 12}, "declared": "2026-01-01"}


def planned(document: Document, plan: Document | None = None, **more: Any) -> Document:
    block = {**PLAN, **(plan or {})}
    return {**document, "plan": block, "claims": [{**GAIN, "id": "main"}], **more}


def cut(document: Document, treatment: int, control: int) -> Document:
    """Return a study with only the first runs of each arm."""
    arms = dict(document["controls"])
    (name,) = arms
    arms[name] = {**arms[name], "seed_results": arms[name]["seed_results"][:control]}
    return {**document, "seed_results": document["seed_results"][:treatment], "controls": arms}


def dated(document: Document, day: str) -> Document:
    """Return the study with every evaluation made on a day."""

    def run(entry: Document) -> Document:
        return {**entry, "evaluation": {**entry["evaluation"], "date": day}}

    arms = {
        name: {**arm, "seed_results": [run(r) for r in arm["seed_results"]]}
        for name, arm in document["controls"].items()
    }
    return {
        **document,
        "seed_results": [run(r) for r in document["seed_results"]],
        "controls": arms,
    }


def judged(document: Document, *looked: int, **policy: Any) -> ClaimResult:
    result, *_ = analyse(from_document(document), policy=Policy(**policy), looked=looked).claims
    return result


def study(seeds: int, delta: float = 0.05, sd: float = 0.03, number: int = 0) -> Document:
    return {**simulated(seeds=seeds, sd=sd, delta=delta, number=number), "claims": [GAIN]}


def found_with(seeds: int, low: float, high: float) -> Document:
    """Return a study whose claim alone has a p-value between two bounds."""
    for number in range(200):
        document = study(seeds, number=number)
        result = judged(document)
        assert result.comparison is not None
        standing = result.comparison.standing
        if standing is None or (standing.delta or 0) <= 0:
            continue
        if low < standing.p_value("tasks", "gain") < high:
            return document
    raise AssertionError("no study in the stream fits")


PLAN_RUNS = [
    # runs of recipe and control, the plan's maxima, which look that is
    (5, 5, (12, 12), 5),
    (6, 5, (12, 12), 5),
    (9, 3, (12, 12), None),
    (12, 12, (12, 12), 12),
    (4, 3, (12, 3), 4),
    (7, 6, (12, 6), 7),
    (3, 3, (12, 12), None),
]


@pytest.mark.parametrize(("treatment", "control", "most", "look"), PLAN_RUNS)
def test_the_arm_that_is_behind_says_which_look_it_is(
    treatment: int, control: int, most: tuple[int, int], look: int | None
) -> None:
    document = cut(study(12), treatment, control)
    plan = {"maximum": dict(zip(("recipe", "control"), most, strict=True))}
    result = judged(planned(document, plan))
    assert result.look is not None
    assert result.look.seeds == look
    assert ("before-first-look" in [r.reason for r in result.refusals]) is (look is None)
    if look is not None:
        reference = SequentialPlan((most[1], most[0]))
        assert result.look.threshold == reference.threshold(look, final=look == max(most))


def test_a_p_value_that_one_look_would_take_is_refused_by_a_plan() -> None:
    document = found_with(6, 0.0077, 0.05)
    assert judged(document).supported
    result = judged(planned(document))
    assert result.slug == "interval-reaches-zero"
    assert result.next[0].startswith("1 more run per arm; look 7 needs p below 0.010")


def test_the_last_look_of_a_plan_is_stricter_than_one_look_and_looser_than_the_first() -> None:
    document = found_with(12, 0.0057, 0.028)
    result = judged(planned(document))
    assert result.supported
    assert result.look is not None
    assert result.look.threshold == pytest.approx(0.028850, abs=1e-6)
    assert result.look.next is None
    assert result.look.final


def test_a_plan_enters_holm_with_its_own_p_value() -> None:
    document = found_with(12, 0.001, 0.02)
    result = judged(planned(document))
    plan = SequentialPlan(12)
    assert result.family_p_value == pytest.approx(plan.p_plan(result.p_value, 12, final=True))
    assert result.family_p_value > result.p_value


def test_runs_beyond_the_maximum_of_both_arms_are_beyond_the_plan() -> None:
    result = judged(planned(study(6), {"maximum": {"recipe": 5, "control": 5}}))
    assert result.slug == "beyond-plan"


def test_an_arm_that_the_plan_does_not_name_is_beyond_it() -> None:
    assert judged(planned(study(6), {"maximum": {"recipe": 12}})).slug == "beyond-plan"


@pytest.mark.parametrize(
    "plan",
    [
        {},
        {"first": 4},
        {"maximum": {}},
        {"maxmum": {"recipe": 12, "control": 12}},
        {"maximum": {"recipe": 1, "control": 1}},
        {"maximum": {"recipe": 12, "control": 12}, "first": "4"},
        {"maximum": {"recipe": 12, "control": 12}, "first": 0},
        {"maximum": {"recipe": 12, "control": 12}, "frist": 6},
    ],
)
def test_a_plan_that_cannot_be_read_is_never_taken_for_none(plan: Document) -> None:
    result = judged({**study(6, delta=0.3), "plan": plan})
    assert result.slug == "beyond-plan"
    assert "cannot be read" in result.refusals[0].line
    assert judged(study(6, delta=0.3)).supported


def test_method_and_control_name_the_arms_of_a_plan() -> None:
    result = judged(planned(study(6), {"maximum": {"method": 12, "control": 12}}))
    assert result.look is not None
    assert result.look.seeds == 6


@pytest.mark.parametrize(
    ("declared", "evaluated", "kind"),
    [
        ("2026-01-01", "2026-01-02", "plan"),
        ("2026-01-02", "2026-01-02", "plan"),
        ("2026-01-03", "2026-01-02", "one-look"),
        ("6f0c2a1", "2026-01-02", "plan"),
    ],
)
def test_a_plan_declared_after_the_first_evaluation_is_none(
    declared: str, evaluated: str, kind: str
) -> None:
    document = planned(dated(study(6), evaluated), {"declared": declared})
    look = judged(document).look
    assert look is not None
    assert look.kind == kind


def test_a_late_plan_is_said_beside_a_supported_claim() -> None:
    document = planned(dated(study(6, delta=0.3), "2026-01-02"), {"declared": "2026-02-01"})
    result = judged(document)
    assert result.supported
    assert "plan-not-dated" in [w.slug for w in result.weakened_by]


def test_a_late_plan_does_not_undo_an_earlier_look() -> None:
    document = planned(dated(study(6), "2026-01-02"), {"declared": "2026-02-01"}, looked=[3])
    look = judged(document).look
    assert look is not None
    assert look.kind == "after-unplanned-look"


def test_a_plan_without_a_date_does_not_undo_an_earlier_look() -> None:
    document = planned(study(6), {"declared": None}, looked=[3])
    del document["plan"]["declared"]
    look = judged(document).look
    assert look is not None
    assert look.kind == "after-unplanned-look"


def test_a_look_that_was_refused_makes_the_next_one_stricter() -> None:
    reference = after_look(3, 5, 5)
    between = found_with(5, reference.threshold, 0.05)
    assert judged(between).supported
    refused = judged(between, 3)
    assert refused.slug == "interval-reaches-zero"
    assert refused.look is not None
    assert refused.look.threshold == reference.threshold
    passed = judged(found_with(5, 0.0, reference.threshold), 3)
    assert passed.supported
    assert "after-unplanned-look" in [w.slug for w in passed.weakened_by]


def test_a_policy_may_refuse_looks_without_a_plan() -> None:
    document = study(5, delta=0.3)
    assert judged(document, 3, unplanned_looks="refuse").slug == "unplanned-looks"


LOOKED = [
    # runs per arm now, looks before, what comes of it
    (5, (), "one-look"),
    (5, (5,), "one-look"),  # the look at hand
    (5, (2,), "one-look"),  # too few runs to have shown anything
    (5, (3,), "after-unplanned-look"),
    (5, (3, 5), "after-unplanned-look"),
    (8, (3, 5), "unplanned-looks"),
    (5, (8,), "unplanned-looks"),  # three runs are gone
]


@pytest.mark.parametrize(("seeds", "looked", "kind"), LOOKED)
@pytest.mark.parametrize("where", ["file", "caller", "both"])
def test_one_later_look_is_judged(
    seeds: int, looked: tuple[int, ...], kind: str, where: str
) -> None:
    document = study(seeds, delta=0.3)
    if where != "caller":
        document["looked"] = list(looked)
    result = judged(document, *(looked if where != "file" else ()))
    assert result.look is not None
    assert kind in (result.look.kind, result.slug)
    if kind != "unplanned-looks":
        assert result.supported


def test_the_caller_cannot_hide_a_look_of_the_file() -> None:
    document = {**study(8, delta=0.3), "looked": [3]}
    assert judged(document, 5).slug == "unplanned-looks"


def test_an_equivalence_after_a_look_has_a_threshold_of_its_own() -> None:
    claim = {**GAIN, "direction": "equivalent", "margin": 0.2}
    document = {**study(5, delta=0.0), "claims": [claim], "looked": [3]}
    result = judged(document)
    reference = after_look(3, 5, 5)
    assert result.comparison is not None
    assert result.look is not None
    assert result.look.equivalence_threshold == reference.equivalence_threshold
    level = result.comparison.settings.equivalence_level
    assert level == pytest.approx(1 - 2 * reference.equivalence_threshold)
    assert result.supported
    scale = 0.05 / reference.equivalence_threshold
    assert result.family_p_value == pytest.approx(min(result.p_value * scale, 1))


def test_against_the_base_a_plan_is_judged_once_at_its_end() -> None:
    document = study(6, delta=0.3)
    tasks = len(document["seed_results"][0]["evaluation"]["correct"])
    document["base_evaluations"] = [
        {
            "run": i,
            "evaluation": {
                "benchmark": "simulated",
                "correct": [(t + i) % 2 for t in range(tasks)],
                "samples": [4] * tasks,
            },
        }
        for i in range(3)
    ]
    claim = {**GAIN, "against": "base"}
    early = judged({**planned(document), "claims": [claim]}, base="allow")
    assert "before-first-look" in [r.reason for r in early.refusals]
    late = judged(
        {**planned(document, {"maximum": {"method": 6, "control": 6}}), "claims": [claim]},
        base="allow",
    )
    assert "before-first-look" not in [r.reason for r in late.refusals]


def test_a_claim_of_pairs_pays_for_looking_at_pairs() -> None:
    claim = {**GAIN, "pairing": "seeds"}
    result = judged({**planned(study(6, delta=0.3)), "claims": [claim]})
    assert result.look is not None
    assert result.look.threshold == SequentialPlan(12, paired=True).threshold(6)


def written(tmp_path: Path, document: Document) -> str:
    path = tmp_path / "results.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("command", ["gate", "verify"])
def test_the_option_looked_is_that_of_the_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    document = found_with(5, after_look(3, 5, 5).threshold, 0.05)
    path = written(tmp_path, document)
    assert main([command, path]) == 0
    assert "one look" in capsys.readouterr().out
    assert main([command, path, "--looked", "3"]) == 1
    out = capsys.readouterr().out
    assert "needs 0.018" in out
    assert main([command, path, "--looked", "0"]) == 2
    assert "--looked takes a number of seeds" in capsys.readouterr().err


def test_the_gate_shows_look_threshold_and_what_comes_next(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, planned(found_with(6, 0.0077, 0.05)))
    assert main(["gate", path]) == 1
    out = capsys.readouterr().out
    assert "look 6 of 4..12: p = " in out
    assert "needs 0.0077" in out
    assert "look 7 needs p below 0.010" in " ".join(out.split())
