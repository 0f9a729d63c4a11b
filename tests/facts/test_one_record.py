"""Findings, refusals and the page say one thing of one fact."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cases import full, gppo, patched
from hypothesis import given
from hypothesis import strategies as st

import audit
from audit.facts.copies import copies_in
from audit.facts.groups import flat_groups, groups_of_run
from audit.facts.starts import starts
from audit.facts.training_logs import RunLog
from audit.pages.check_table import checks
from audit.report import verify
from audit.results import Results, Run, from_document

ROOT = Path(__file__).resolve().parents[2]
STUDIES = [
    *sorted((ROOT / "tests" / "data" / "results").glob("*.json")),
    *sorted((ROOT / "reports").glob("*/results.json")),
]
COPIES = {
    "duplicate-seed": "SEED002",
    "identical-runs": "SEED003",
    "nearly-identical-runs": "SEED009",
    "one-run-many-steps": "SEED010",
    "equal-scores": "SEED011",
}


def cell(results: Results, row: str) -> str:
    report = verify(results)
    assert report.analysis is not None
    return str(next(c for c in checks(results, report.analysis, report) if c.id == row).result)


def copied_seed(document: dict[str, Any]) -> None:
    document["seed_results"][1]["seed"] = document["seed_results"][0]["seed"]


def copied_parameters(document: dict[str, Any]) -> None:
    for run in document["seed_results"][:2]:
        run["final_parameters_sha256"] = "a" * 64


def copied_log(document: dict[str, Any]) -> None:
    runs = document["seed_results"]
    log = [{"step": n, "updates": [{"loss": n / 7, "gradient_l2_norm": 1.0}]} for n in (1, 2)]
    runs[0]["training"], runs[1]["training"] = log, copy.deepcopy(log)


def shorter_log(document: dict[str, Any]) -> None:
    copied_log(document)
    del document["seed_results"][1]["training"][-1]


def one_answer_changed(document: dict[str, Any]) -> None:
    tasks = range(300)
    first = [(3 * t + t // 5) % 5 for t in tasks]
    second = [*first[:7], first[7] - 1 if first[7] else 1, *first[8:]]
    for run, counts in zip(document["seed_results"], (first, second), strict=False):
        run.pop("evaluations", None)
        run["evaluation"] = {
            "benchmark": "sums",
            "task_ids": [f"t{t}" for t in tasks],
            "correct": counts,
            "samples": [4] * 300,
        }


def equal_scores(document: dict[str, Any]) -> None:
    for run in document["seed_results"]:
        for key in ("evaluation", "evaluations", "training", "final_parameters_sha256"):
            run.pop(key, None)
        run["method_metrics"] = {"accuracy": 0.354814, "examples": 1319}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (copied_seed, "duplicate-seed"),
        (copied_parameters, "identical-runs"),
        (copied_log, "identical-runs"),
        (shorter_log, "one-run-many-steps"),
        (one_answer_changed, "nearly-identical-runs"),
        (equal_scores, "equal-scores"),
    ],
)
def test_a_copy_that_is_found_carries_no_verdict(
    change: Callable[[dict[str, Any]], None], reason: str
) -> None:
    document = gppo() if reason != "nearly-identical-runs" else full()
    change(document)
    results = from_document(document)
    (pair, *_) = copies_in(results)[""]
    assert pair.reason == reason
    report = verify(results)
    assert COPIES[reason] in {finding.rule for finding in report.found}
    assert report.analysis is not None
    of_top = [c for c in report.analysis.comparisons if c.arm == results.method]
    assert of_top
    assert all(comparison.verdict.refused for comparison in of_top)


@pytest.mark.parametrize("path", STUDIES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_an_honest_study_has_no_copy(path: Path) -> None:
    results = audit.load(path)
    assert not any(copies_in(results).values())
    assert not {f.rule for f in verify(results).found} & set(COPIES.values())


def test_arms_that_start_alike_up_to_noise_start_alike_on_the_page_too() -> None:
    """Losses of two kernels differ in the seventh digit; both say 3 of 3."""
    place = "/controls/grpo-control/seed_results/{}/training/0/updates/0/gradient_l2_norm"
    document = gppo()
    runs = document["controls"]["grpo-control"]["seed_results"]
    norms: dict[str, object] = {}
    for index, run in enumerate(runs):
        norm = run["training"][0]["updates"][0]["gradient_l2_norm"]
        norms[place.format(index)] = norm * (1 + 1e-6)
    results = from_document(patched(document, norms))
    assert [start.differences for start in starts(results)] == [()] * 3
    assert cell(results, "start").startswith("3 of 3 seeds start alike")
    message = next(f.message for f in verify(results).found if f.rule == "START001")
    assert "3 of 3 seeds" in message


def test_groups_without_advantage_are_counted_once() -> None:
    """Of two counts that a run may give, rule and page take the same one."""
    sampling = {
        "tasks_attempted": 20,
        "zero_advantage_groups": 2,
        "zero_advantage_groups_retained": 15,
    }
    places: dict[str, object] = {}
    for arm in ("", "/controls/grpo-control"):
        places |= {f"{arm}/seed_results/{index}/sampling": sampling for index in range(3)}
    results = from_document(patched(gppo(), places))
    assert "gppo-framework 6 of 60 (10%); grpo-control 6 of 60 (10%)" in cell(
        results, "zero-groups"
    )
    assert verify(results).rule("MECH002").state == "passed"
    assert verify(results).rule("SAMPLE006").failed == 6


def test_the_declared_change_is_told_with_the_finding_of_the_rule_that_doubts_it() -> None:
    document = full()
    declared = "geometry, topology, delta; acts through: clip"
    assert cell(from_document(document), "change") == declared
    document["change"] = {"fields": ["geometry", "topology"]}
    result = cell(from_document(document), "change")
    assert result == "geometry, topology (see PROTO003 below)"
    missing = "not checked: what the arms differ in is not declared"
    assert cell(from_document(gppo()), "change").startswith(missing)


GRADED = "graded by sums:right"
NEAR = {"name": "near", "weight": 0.5, "function": "sums:near"}
RIGHT = {"name": "right", "weight": 2.0, "function": "sums:right"}


@pytest.mark.parametrize(
    ("reward", "rewards", "says"),
    [
        ("sums:right", None, f"rewarded and {GRADED}"),
        ("2 right", [RIGHT], f"rewarded and {GRADED}"),
        ("2 right + 0.5 near", [RIGHT, NEAR], f"rewarded by 2 right + 0.5 near, {GRADED}"),
        ("0.5 near", [NEAR], f"rewarded by 0.5 near, {GRADED}"),
        (None, [RIGHT, NEAR], f"rewarded by 2 right + 0.5 near, {GRADED}"),
        (None, None, "not recorded"),
        (["near"], None, "not recorded"),
    ],
)
def test_what_an_arm_was_rewarded_by_stands_beside_what_it_is_graded_by(
    reward: Any, rewards: Any, says: str
) -> None:
    document = gppo()
    document["seed_results"][0]["protocol"] |= {"reward": reward, "grader": "sums:right"}
    if rewards:
        document["seed_results"][0]["rewards"] = rewards
    del document["seed_results"][1:]
    for run in document["controls"]["grpo-control"]["seed_results"]:
        run["protocol"] |= {"reward": "sums:right", "grader": "sums:right"}
    both = says == f"rewarded and {GRADED}"
    control = f"grpo-control rewarded and {GRADED}"
    expected = (
        f"grpo-control, gppo-framework {says}" if both else f"{control}; gppo-framework {says}"
    )
    assert cell(from_document(document), "proxy") == expected


def test_without_reward_and_grader_the_record_does_not_tell_proxy_from_target() -> None:
    document = gppo()
    for arm in (document, document["controls"]["grpo-control"]):
        for run in arm["seed_results"]:
            run["protocol"]["reward"] = "a program"
    assert cell(from_document(document), "proxy").endswith("both is not recorded")


def test_the_surface_scan_is_told_by_arm_with_its_strongest_feature() -> None:
    document = full()
    result = cell(from_document(document), "surface-scan")
    assert result.startswith("strongest correlation of a surface feature with the reward: ")
    assert "chi-clip n:digits +0.25" in result
    assert result.endswith("(96 training responses)")
    first, second, third = (run["surface_scan"] for run in document["seed_results"])
    first["features"].append({"feature": "contains:" + 99 * "x", "correlation": -0.5})
    second["features"].append({"feature": "n:lines"})
    del third["responses"]
    result = cell(from_document(document), "surface-scan")
    assert f"chi-clip contains:{30 * 'x'}… -0.50" in result
    assert result.endswith("(80 training responses of 5 of 6 runs)")
    for run in document["seed_results"]:
        run["surface_scan"] = {"responses": 16, "features": []}  # of a reward without variance
    assert "chi-clip none (" in cell(from_document(document), "surface-scan")
    missing = "not checked: what the reward correlates with is not recorded"
    assert cell(from_document(gppo()), "surface-scan") == missing


def test_lengths_are_told_in_each_unit_that_is_recorded() -> None:
    document = gppo()
    arms = (document, document["controls"]["grpo-control"])
    for length, arm in zip((40, 50), arms, strict=True):
        for run in arm["seed_results"]:
            run["method_metrics"]["mean_response_chars"] = length
    tokens = "mean tokens per answer: untrained 327 → grpo-control 350, gppo-framework 349"
    characters = "mean characters per answer: grpo-control 50, gppo-framework 40"
    assert cell(from_document(document), "length") == f"{tokens}; {characters}"


def test_the_lengths_of_the_base_are_those_of_its_own_evaluations_where_no_run_has_them() -> None:
    document = gppo()
    figures = {"examples": 8, "generated_tokens": 800, "mean_response_chars": 30.0}
    document["base_evaluations"] = [{"run": 1, **figures}, {"run": 2, **figures}]
    assert "untrained 327" in cell(from_document(document), "length")
    for run in document["seed_results"]:
        del run["baseline"]
    assert "untrained 100" in cell(from_document(document), "length")


@pytest.mark.parametrize("path", STUDIES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_cell_is_unchecked_where_its_rule_is(path: Path) -> None:
    results = audit.load(path)
    report = verify(results)
    if report.analysis is None:
        return
    cells = {c.id: c for c in checks(results, report.analysis, report)}
    for row, rule in (("zero-groups", "MECH002"), ("clip", "MECH001")):
        if report.rule(rule).checked:
            assert cells[row].checked
    assert f"{report.passed:,} checks passed" in str(cells["integrity"].result)


@given(st.lists(st.sampled_from([0.0, 1.0]), min_size=1, max_size=24), st.integers(1, 6))
def test_flat_groups_are_those_of_equal_rewards(rewards: list[float], size: int) -> None:
    groups = [rewards[at : at + size] for at in range(0, len(rewards), size)]
    whole = len(groups[-1]) == size
    expected = sum(len(set(group)) == 1 for group in groups) if whole else None
    assert flat_groups(rewards, size) == expected


@pytest.mark.parametrize(
    ("sampling", "zero_groups", "expected"),
    [
        ({"zero_advantage_groups": 1, "tasks_attempted": 4}, "rejected", (1, 4)),
        ({"zero_advantage_groups_retained": 1, "tasks_attempted": 4}, "rejected", (1, 4)),
        ({"zero_advantage_groups": 9, "tasks_attempted": 4}, "rejected", None),  # of something else
        ({}, "rejected", None),  # rejected groups are in no log
        ({}, "kept", (1, 3)),
        ({"zero_advantage_groups": 2}, "kept", (2, 3)),
    ],
)
def test_a_run_counts_its_groups_or_its_log_does(
    sampling: dict[str, int], zero_groups: str, expected: tuple[int, int] | None
) -> None:
    steps = [{"rewards": rewards} for rewards in ([0, 1], [1, 1], [1, 0])]
    document = {
        "training": steps,
        "sampling": sampling,
        "telemetry": {"responses_per_group": 2, "zero_groups": zero_groups},
    }
    found = groups_of_run(RunLog(Run("m", 0, "/seed_results/0", document)))
    assert (None if found is None else (found.without, found.drawn)) == expected


def test_the_same_file_read_twice_gives_the_same_report() -> None:
    text = json.dumps(gppo())
    one, other = (verify(from_document(json.loads(text))) for _ in range(2))
    assert (one.found, one.not_checked, one.rules) == (other.found, other.not_checked, other.rules)
