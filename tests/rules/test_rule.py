"""How a declared rule is asked of a file, and what the report keeps of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from audit.finding import Severity
from audit.report import MOST_PER_RULE, Report, verify
from audit.results import Arm, Run, from_document
from audit.rules import Case, CheckResult, Failed, Passed, Rule, Unchecked, rule
from audit.rules.scopes import SCOPES


def document(*runs: dict[str, Any]) -> dict[str, Any]:
    running = [{"status": "running", **run} for run in runs]
    return {"schema_version": 2, "method": "m", "seed_results": running}


def said(made: Rule, *runs: Any) -> list[CheckResult]:
    return list(made.check(Case(from_document(document(*runs)))))


@rule("MADE001", "made-up", Severity.ERROR, each=Run, needs=("seed", "protocol"))
def seed_is_small(run: Run) -> Failed | None:
    """A seed is 10 or more."""
    assert run.seed is not None
    return Failed(run.pointer, "large") if run.seed >= 10 else None


def test_each_item_that_records_what_is_needed_is_checked() -> None:
    protocol = {"steps": 1}
    runs = [{"seed": 1, "protocol": protocol}, {"seed": 2}, {"seed": 12, "protocol": protocol}]
    assert said(seed_is_small, *runs) == [Passed(), Failed("/seed_results/2", "large")]


def test_where_no_item_is_checked_what_is_needed_is_said_once() -> None:
    assert said(seed_is_small, {"seed": None}, {"seed": None}) == [
        Unchecked("no run records seed and protocol")
    ]


def test_a_generator_that_yields_nothing_was_not_checked() -> None:
    @rule("MADE002", "made-up", Severity.ERROR, each=Arm, missing="no arm is made up")
    def silent(arm: Arm) -> Iterator[CheckResult]:
        """Nothing is wrong."""
        yield Passed(0)

    assert said(silent, {"seed": 1}) == [Unchecked("no arm is made up")]


def test_a_reason_is_said_once_with_the_first_place() -> None:
    @rule("MADE003", "made-up", Severity.ERROR, each=Run)
    def lacking(run: Run) -> CheckResult:
        """Something lacks."""
        return Unchecked("no log" if run.seed else "no seed", run.pointer)

    assert said(lacking, {"seed": 1}, {"seed": 2}, {"seed": None}) == [
        Unchecked("no log", "/seed_results/0"),
        Unchecked("no seed", "/seed_results/2"),
    ]


@pytest.mark.parametrize("each", SCOPES)
def test_every_scope_can_be_asked_of_an_empty_study(each: type) -> None:
    @rule("MADE004", "made-up", Severity.ERROR, each=each, missing="nothing here")
    def anything(item: Any) -> None:
        """It is made up."""

    assert said(anything)


def reported(monkeypatch: pytest.MonkeyPatch, made: Rule, *runs: dict[str, Any]) -> Report:
    monkeypatch.setattr("audit.report.CATALOGUE", (made,))
    return verify(from_document(document(*runs)))


def test_the_report_keeps_what_each_rule_said(monkeypatch: pytest.MonkeyPatch) -> None:
    protocol = {"steps": 1}
    runs = [{"seed": seed, "protocol": protocol} for seed in (1, 2, 12)]
    result = reported(monkeypatch, seed_is_small, *runs).rule("MADE001")
    assert (result.passed, result.failed, result.state) == (2, 1, "failed")
    result = reported(monkeypatch, seed_is_small, *runs[:2]).rule("MADE001")
    assert (result.passed, result.failed, result.state) == (2, 0, "passed")
    result = reported(monkeypatch, seed_is_small, {"seed": None}).rule("MADE001")
    assert (result.state, result.checked) == ("not checked", False)
    assert result.reasons == ("no run records seed and protocol",)
    assert reported(monkeypatch, seed_is_small).rule("SEED003").state == "not checked"


def test_what_only_informs_has_not_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    @rule("MADE005", "made-up", Severity.WARNING, each=Run)
    def told(run: Run) -> Failed:
        """It is worth knowing."""
        return Failed(run.pointer, "known", severity=Severity.INFO)

    report = reported(monkeypatch, told, {"seed": 1})
    assert (report.rule("MADE005").failed, report.count(Severity.INFO)) == (0, 1)


def test_a_flood_of_findings_is_counted_and_the_last_is_shown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    runs = [{"seed": seed, "protocol": {"steps": 1}} for seed in range(10, 12 + MOST_PER_RULE)]
    report = reported(monkeypatch, seed_is_small, *runs)
    assert len(report.found) == MOST_PER_RULE + 1
    assert report.rule("MADE001").failed == len(runs)
    last = next(f for f in report.found if f.pointer == f"/seed_results/{len(runs) - 1}")
    assert last.message == f"and {len(runs) - MOST_PER_RULE} more like this, the last one here"
