"""Every leaf outside the training log is changed in turn: who states it twice notices."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cases import full, gppo, patched, severity
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.finding import Severity
from audit.pointer import from_parts
from audit.results import from_document
from audit.rules import (
    Case,
    Failed,
    Rule,
    aggregate_rules,
    base_rules,
    compute_rules,
    confound_rules,
    evaluation_rules,
    flag_rules,
    identity_rules,
    leakage_rules,
    protocol_rules,
    provenance_rules,
    seed_rules,
    task_rules,
)

FAMILIES = (
    aggregate_rules,
    base_rules,
    compute_rules,
    confound_rules,
    evaluation_rules,
    flag_rules,
    identity_rules,
    leakage_rules,
    task_rules,
    protocol_rules,
    provenance_rules,
    seed_rules,
)
RULES = tuple(r for family in FAMILIES for r in vars(family).values() if isinstance(r, Rule))
FREE_TEXT = {"limitations", "claim_policy", "artifact_path"}
# Stated once, so that nothing in the file can contradict a value of the right form.
STATED_ONCE = (
    r"/provenance/code_commit",
    r"/evaluation_protocol/tier",
    r".*/method_metrics/(generated_tokens|truncated_responses)",
)
# Held against the training log or execution_checks, by the families on those.
HELD_ELSEWHERE = (
    r".*/sampling/.*",
    r".*/parameters_changed",
    r".*/execution_checks/(?!gold_in_policy|official_test_read).*",
)


def _spoken(document: dict[str, Any]) -> set[tuple[str, str]]:
    case = Case(from_document(document))
    assert case.results.sound is not None
    return {
        (rule.id, outcome.pointer)
        for rule in RULES
        for outcome in rule.check(case)
        if isinstance(outcome, Failed) and severity(rule, outcome) >= Severity.WARNING
    }


def _leaves(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if path and (path[-1] == "training" or path[-1] in FREE_TEXT):
        return
    if isinstance(value, dict | list):
        for key, member in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _leaves(member, (*path, key))
    elif value is not None and path != ("schema_version",):
        yield path, value


def _changed(value: Any) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, float):
        return value * 1.001 or 0.003
    middle = len(value) // 2
    other = "0" if value[middle] != "0" else "1"
    return value[:middle] + other + value[middle + 1 :]


def test_a_change_of_any_leaf_that_is_stated_twice_is_noticed() -> None:
    untouched = _spoken(gppo())
    unnoticed = set()
    changed = 0
    for path, value in _leaves(gppo()):
        pointer = from_parts(path)
        changed += 1
        if not _spoken(patched(gppo(), {pointer: _changed(value)})) - untouched:
            unnoticed.add(pointer)
    allowed = re.compile("|".join((*STATED_ONCE, *HELD_ELSEWHERE)))
    assert {pointer for pointer in unnoticed if not allowed.fullmatch(pointer)} == set()
    assert changed > 300


UNTOUCHED = {
    ("BASE001", "/seed_results/0/baseline"),
    ("COMP001", "/controls/grpo-control"),
    ("PROV003", "/seed_results/0"),
    ("TASK007", "/seed_results/0"),
}


def test_the_untouched_study_has_four_warnings_of_these_families_and_no_error() -> None:
    assert _spoken(gppo()) == UNTOUCHED


def test_the_artifact_it_was_taken_from_has_the_same_warnings(shared: Path) -> None:
    text = (shared / "seeds" / "results-gppo.json").read_text(encoding="utf-8")
    assert _spoken(json.loads(text)) == UNTOUCHED


def _runs(document: dict[str, Any], arm: str) -> list[dict[str, Any]]:
    owner = document if arm == "method" else document["controls"][arm]
    runs: list[dict[str, Any]] = owner["seed_results"]
    return runs


def _drop(runs: list[dict[str, Any]], index: int) -> None:
    del runs[index]


def _double(runs: list[dict[str, Any]], index: int) -> None:
    runs.append(copy.deepcopy(runs[index]))


def _relabel(runs: list[dict[str, Any]], index: int) -> None:
    runs[index]["seed"] = 99


def _copy_over(runs: list[dict[str, Any]], index: int) -> None:
    target = (index + 1) % len(runs)
    runs[target] = {**copy.deepcopy(runs[index]), "seed": runs[target]["seed"]}


@pytest.mark.parametrize("index", range(3))
@pytest.mark.parametrize("arm", ["method", "grpo-control"])
@pytest.mark.parametrize("tamper", [_drop, _double, _relabel, _copy_over])
def test_a_run_dropped_doubled_relabelled_or_copied_is_noticed(
    tamper: Any, arm: str, index: int
) -> None:
    document = gppo()
    tamper(_runs(document, arm), index)
    assert _spoken(document) - _spoken(gppo())


@pytest.mark.parametrize("relabelled", [False, True])
def test_arms_that_were_swapped_are_noticed(relabelled: bool) -> None:
    document = gppo()
    control = document["controls"]["grpo-control"]
    top = document["seed_results"]
    document["seed_results"], control["seed_results"] = control["seed_results"], top
    if relabelled:
        for arm, name in ((document, "gppo-framework"), (control, "grpo-control")):
            for run in arm["seed_results"]:
                run["method"] = name
    assert _spoken(document) - _spoken(gppo())


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_no_rule_fails_on_a_document_with_members_missing(data: st.DataObject) -> None:
    document = data.draw(st.sampled_from([full, gppo]))()
    for _ in range(data.draw(st.integers(1, 6))):
        _take_out_a_member(document, data)
    case = Case(from_document(document))
    if case.results.sound is not None:
        for rule in RULES:
            pointers = [getattr(outcome, "pointer", "") for outcome in rule.check(case)]
            assert all(pointer == "" or pointer.startswith("/") for pointer in pointers)


def _take_out_a_member(document: Any, data: st.DataObject) -> None:
    here = document
    while True:
        keys = list(here) if isinstance(here, dict) else list(range(len(here)))
        if not keys:
            return
        key = data.draw(st.sampled_from(keys))
        below = here[key]
        if not isinstance(below, dict | list) or not below or data.draw(st.booleans()):
            del here[key]
            return
        here = below
