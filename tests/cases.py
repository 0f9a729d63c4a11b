"""Rule cases as data: a base document, small patches, and the places a rule then speaks of."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from audit.finding import Severity
from audit.pointer import parts
from audit.resources import resource
from audit.results import from_document
from audit.rules import CATALOGUE, Case, CheckResult, Failed, Rule, Unchecked, find_rule

SHARED = Path(__file__).resolve().parents[1] / ".." / "shared"


def full() -> dict[str, Any]:
    """Return the made-up document that has every block of the contract."""
    text = (Path(__file__).parent / "data" / "results" / "full.json").read_text(encoding="utf-8")
    document: dict[str, Any] = json.loads(text)
    return document


def gppo() -> dict[str, Any]:
    """Return the real three-seed study, which has one score per run and full telemetry."""
    text = resource("reports/gppo-framework/results.json").read_text(encoding="utf-8")
    document: dict[str, Any] = json.loads(text)
    return document


def patched(
    document: dict[str, Any], patches: dict[str, object], removed: Iterable[str] = ()
) -> dict[str, Any]:
    """Return a deep copy with values set at pointers, then members taken out.

    The parent of each pointer must exist; the index after the last of a list appends.
    """
    document = copy.deepcopy(document)
    for pointer, value in patches.items():
        owner, last = _owner(document, pointer)
        if isinstance(owner, list) and last == len(owner):
            owner.append(copy.deepcopy(value))
        else:
            owner[last] = copy.deepcopy(value)
    for pointer in removed:
        owner, last = _owner(document, pointer)
        del owner[last]
    return document


def _owner(document: dict[str, Any], pointer: str) -> tuple[Any, Any]:
    owner: Any = document
    *path, last = parts(pointer)
    for token in path:
        owner = owner[int(token) if isinstance(owner, list) else token]
    return owner, int(last) if isinstance(owner, list) else last


def outcomes(document: dict[str, Any], rule: str, **kwargs: Any) -> list[CheckResult]:
    """Return what one rule says; keywords go to the case (data, artifacts, claims, policy)."""
    found = find_rule(rule)
    assert found is not None, f"no rule {rule}"
    case = Case(from_document(document), **kwargs)
    assert case.results.sound is not None, "the case is no sound document"
    return list(found.check(case))


def severity(rule: Rule, found: Failed) -> Severity:
    """Return how bad a finding is: its own severity, else its rule's."""
    return rule.severity if found.severity is None else found.severity


def places(document: dict[str, Any], rule: str, **kwargs: Any) -> set[str]:
    """Return the pointers one rule speaks of, at any severity."""
    return {o.pointer for o in outcomes(document, rule, **kwargs) if isinstance(o, Failed)}


def messages_of(document: dict[str, Any], rule: str, **kwargs: Any) -> dict[str, str]:
    """Return what one rule says by pointer, at any severity."""
    found = outcomes(document, rule, **kwargs)
    return {o.pointer: o.message for o in found if isinstance(o, Failed)}


def reasons(document: dict[str, Any], rule: str, **kwargs: Any) -> set[str]:
    """Return why one rule could not be checked."""
    return {o.reason for o in outcomes(document, rule, **kwargs) if isinstance(o, Unchecked)}


def spoken(document: dict[str, Any], **kwargs: Any) -> set[tuple[str, str]]:
    """Return (rule id, pointer) of every warning and error of the catalogue."""
    case = Case(from_document(document), **kwargs)
    readable = case.results.sound is not None
    return {
        (rule.id, outcome.pointer)
        for rule in CATALOGUE
        if readable or rule.family in ("READ", "SCHEMA")
        for outcome in rule.check(case)
        if isinstance(outcome, Failed) and severity(rule, outcome) >= Severity.WARNING
    }
