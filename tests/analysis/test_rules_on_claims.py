"""Rules on claims, printed figures and rounds: what each speaks on, and where."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from made_studies import Document, scores, simulated

from audit.finding import Finding, Severity
from audit.policy import Policy
from audit.report import verify
from audit.results import from_document
from audit.rules import find_rule

CLAIM = {"direction": "gain", "arm": "recipe", "against": "control"}
GAIN = simulated(delta=0.2)
NULL = simulated(seeds=3, sd=0.03)
ONE = simulated(seeds=1, delta=0.4)
PRINTED = scores([0.335, 0.34, 0.352], [0.5, 0.52, 0.54], 1000)
BASE_RUNS = [
    {"run": i, "accuracy": a, "examples": 1000} for i, a in enumerate((0.335, 0.34, 0.352))
]


def rounds(**second: Any) -> list[Document]:
    first = {"id": 1, "delta": {"value": -0.065, "low": -0.117, "high": -0.013}}
    return [first, {"id": 2, "replicates": 1, **second}]


AGREE = {"value": -0.03, "low": -0.08, "high": 0.02}
DIFFER = {"value": 0.05, "low": 0.0, "high": 0.1}


def reported(**entries: Any) -> Document:
    return {"reported": entries}


def comparison(**entry: Any) -> Document:
    return reported(comparisons=[{"arm": "recipe", "against": "control", **entry}])


# rule, document, additions, pointer of the finding (None: it does not speak), severity
CASES: list[tuple[str, Document, Document, str | None, str]] = [
    ("SEED001", ONE, {"claims": [CLAIM]}, "/claims/0", "error"),
    ("SEED001", GAIN, {"claims": [CLAIM]}, None, ""),
    ("SEED001", NULL, {"claims": [CLAIM]}, None, ""),
    ("CLAIM001", NULL, {"claims": [CLAIM]}, "/claims/0", "error"),
    ("CLAIM001", GAIN, {"claims": [CLAIM]}, None, ""),
    ("CLAIM003", GAIN, {"claims": [{**CLAIM, "against": "x"}]}, "/claims/0", "error"),
    ("CLAIM003", NULL, {"claims": [{**CLAIM, "direction": "equivalent"}]}, "/claims/0", "error"),
    ("CLAIM003", GAIN, {"claims": [CLAIM]}, None, ""),
    ("CLAIM004", ONE, {}, "/seed_results", "info"),
    ("CLAIM004", GAIN, {}, None, ""),
    ("CLAIM004", ONE, {"claims": [CLAIM]}, None, ""),
    ("PRINT001", GAIN, comparison(low=-0.1, high=-0.01, verdict="flat"), "V", "error"),
    ("PRINT001", GAIN, comparison(low=0.01, high=0.1, verdict="no change detected"), "V", "error"),
    ("PRINT001", GAIN, comparison(low=0.0, high=0.1, verdict="moved"), "V", "error"),
    ("PRINT001", GAIN, comparison(low=-0.2, high=-0.1, verdict="improved"), "V", "error"),
    ("PRINT001", GAIN, comparison(low=0.1, high=0.2, verdict="worse"), "V", "error"),
    ("PRINT001", GAIN, comparison(low=0.0, high=0.1, verdict="flat"), None, ""),
    ("PRINT001", GAIN, comparison(low=0.1, high=0.2, verdict="moved"), None, ""),
    ("PRINT001", GAIN, comparison(low=-0.2, high=-0.1, verdict="loss"), None, ""),
    ("PRINT001", GAIN, comparison(low=-0.2, high=-0.1, verdict="unresolved"), None, ""),
    (
        "PRINT001",
        GAIN,
        {"rounds": [{"id": 1, "delta": {"low": -0.2, "high": -0.1}, "verdict": "flat"}]},
        "/rounds/0/verdict",
        "warning",
    ),
    ("PRINT002", NULL, comparison(verdict="moved"), "V", "warning"),
    ("PRINT002", GAIN, comparison(verdict="moved"), None, ""),
    ("PRINT002", NULL, comparison(verdict="flat"), None, ""),
    ("PRINT003", GAIN, comparison(delta=0.12, low=0.0, high=0.1), "D", "error"),
    ("PRINT003", GAIN, comparison(delta=0.05, low=0.0, high=0.1), None, ""),
    (
        "PRINT003",
        GAIN,
        {"rounds": rounds(delta={**DIFFER, "value": 0.2})},
        "/rounds/1/delta/value",
        "error",
    ),
    (
        "PRINT003",
        GAIN,
        reported(
            arms={"recipe": {"score": 0.52}, "control": {"score": 0.47}},
            comparisons=[{"arm": "recipe", "against": "control", "delta": 0.1}],
        ),
        "D",
        "error",
    ),
    ("PRINT004", PRINTED, reported(arms={"recipe": {"score": 0.52}}), None, ""),
    ("PRINT004", PRINTED, reported(arms={"recipe": {"score": 0.54}}), "S", "warning"),
    ("PRINT004", PRINTED, reported(arms={"recipe": {"score": 0.6}}), "S", "error"),
    (
        "PRINT005",
        PRINTED,
        {**reported(run_std=0.0087, run_std_runs=3), "base_evaluations": BASE_RUNS},
        None,
        "",
    ),
    (
        "PRINT005",
        PRINTED,
        {**reported(run_std=0.0071), "base_evaluations": BASE_RUNS},
        "/reported/run_std",
        "error",
    ),
    (
        "PRINT005",
        PRINTED,
        {**reported(run_std=0.02), "base_evaluations": BASE_RUNS},
        "/reported/run_std",
        "error",
    ),
    (
        "PRINT005",
        PRINTED,
        {**reported(run_std=0.0087, run_std_runs=5), "base_evaluations": BASE_RUNS},
        "/reported/run_std_runs",
        "error",
    ),
    ("PRINT006", GAIN, reported(arms={"recipe": {"score": 0.52, "pass_at_k": 0.74}}), None, ""),
    (
        "PRINT006",
        GAIN,
        reported(arms={"recipe": {"score": 0.52, "pass_at_k": 0.47}}),
        "/reported/arms/recipe/pass_at_k",
        "error",
    ),
    ("ROUND001", GAIN, {"rounds": rounds(delta=DIFFER)}, "/rounds/1", "warning"),
    ("ROUND001", GAIN, {"rounds": rounds(delta=DIFFER), "claims": [CLAIM]}, "/rounds/1", "error"),
    ("ROUND001", ONE, {"rounds": rounds(delta=DIFFER), "claims": [CLAIM]}, "/rounds/1", "warning"),
    ("ROUND001", GAIN, {"rounds": rounds(delta=AGREE)}, None, ""),
]
SHORT = {
    "V": "/reported/comparisons/0/verdict",
    "D": "/reported/comparisons/0/delta",
    "S": "/reported/arms/recipe/score",
}


def found(rule: str, document: Document, policy: Policy | None = None) -> list[Finding]:
    known = find_rule(rule)
    assert known is not None
    report = verify(from_document(document), policy=policy or Policy(select=(rule,)))
    assert report.exit_status != 3
    return [finding for finding in report.findings if finding.rule == rule]


@pytest.mark.parametrize(("rule", "document", "more", "pointer", "severity"), CASES)
def test_a_rule_speaks_where_it_should(
    rule: str, document: Document, more: Document, pointer: str | None, severity: str
) -> None:
    findings = found(rule, {**copy.deepcopy(document), **copy.deepcopy(more)})
    if pointer is None:
        assert findings == []
    else:
        assert [(f.pointer, f.severity.label) for f in findings] == [
            (SHORT.get(pointer, pointer), severity)
        ]


def test_an_answer_count_below_k_makes_pass_at_k_impossible() -> None:
    document = copy.deepcopy(GAIN)
    document["seed_results"][0]["method_metrics"] = {"pass@8": 0.9}
    (finding,) = found("PRINT006", document)
    assert finding.pointer == "/seed_results/0/method_metrics/pass@8"
    assert finding.expected == "at most 4"


def test_a_claim_below_the_floor_is_found_by_both_rules() -> None:
    document = copy.deepcopy(NULL)
    drift = [[4] * 120, [0] * 120, [2] * 120]
    document["base_evaluations"] = [
        {"run": i, "evaluation": {"benchmark": "simulated", "correct": row, "samples": [4] * 120}}
        for i, row in enumerate(drift)
    ]
    document["claims"] = [CLAIM]
    policy = Policy(select=("CLAIM",))
    report = verify(from_document(document), policy=policy)
    assert {f.rule for f in report.findings if f.severity is Severity.ERROR} == {
        "CLAIM001",
        "CLAIM002",
    }


def test_a_required_block_that_is_absent_is_an_error() -> None:
    policy = Policy(select=("POLICY001",), require=("base_evaluations", "method"))
    (finding,) = found("POLICY001", GAIN, policy)
    assert finding.expected == "base_evaluations"


def test_a_refused_claim_is_exit_status_1_and_an_unclaimed_refusal_0() -> None:
    only = Policy(select=("SEED001", "CLAIM"))
    assert verify(from_document(ONE), policy=only).exit_status == 0
    assert verify(from_document({**ONE, "claims": [CLAIM]}), policy=only).exit_status == 1
    assert verify(from_document({**GAIN, "claims": [CLAIM]}), policy=only).exit_status == 0


def test_a_round_that_repeats_nothing_known_is_not_checked() -> None:
    document = {**GAIN, "rounds": [{"id": 2, "replicates": 9, "delta": DIFFER}]}
    report = verify(from_document(document), policy=Policy(select=("ROUND001",)))
    assert [(n.pointer, n.reason) for n in report.not_checked] == [
        ("/rounds/0", "round 2: no round has the id 9")
    ]


@pytest.mark.parametrize(
    "second",
    [
        {"value": 0.05, "low": 0.0, "high": 0.1, "level": 1 - 2**-53},
        {"value": 0.05, "low": 0.0, "high": 0.1, "level": 1e-320},
        {"value": 0.05, "low": -1e8, "high": 1e8},
    ],
)
def test_odd_levels_and_widths_of_rounds_break_nothing(second: Document) -> None:
    report = verify(from_document({**GAIN, "rounds": rounds(delta=second)}))
    assert report.exit_status == 0
    assert report.analysis is not None
    (pair,) = report.analysis.rounds or [None]
    assert pair is None or not pair.conflict


@pytest.mark.parametrize("level", [1 - 2**-53, 0.999999, 1e-320])
def test_a_claim_at_any_level_is_judged(level: float) -> None:
    report = verify(from_document({**NULL, "claims": [{**CLAIM, "level": level}]}))
    assert report.exit_status == 1
    assert report.analysis is not None
    assert report.analysis.claims[0].slug == "interval-reaches-zero"
