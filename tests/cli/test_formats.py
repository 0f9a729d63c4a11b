"""What each format says of an ordinary report."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET

import made_outcomes as made
import pytest

from audit.cli.formats import FORMATS, Style, render
from audit.finding import Severity, Waiver
from audit.fleet.files import FileResults
from audit.policy import Policy

WARNINGS = tuple(
    made.finding(f"w{n}", rule=f"MADE{n:03}", slug=f"made-{n}", severity=Severity.WARNING)
    for n in range(1, 6)
)


def test_text_shows_errors_first_then_counts_what_it_leaves_out() -> None:
    infos = tuple(
        made.finding(f"i{n}", rule=f"INFO{n:03}", slug="made", severity=Severity.INFO)
        for n in range(4)
    )
    text = render("text", made.one(made.finding("e"), *WARNINGS, *infos), Style())
    labels = [
        line.split()[0] for line in text.splitlines() if line[:3].strip() and line[2:3] != " "
    ]
    assert labels == ["results.json", "error", "warning", "warning", "3", "policy:"]
    assert "3 more warnings, 4 infos   7 checks passed   1 not checked (-v lists them)" in text


def test_text_of_a_finding_says_what_where_why_and_what_to_do() -> None:
    text = render("text", made.one(made.finding("bad value", pointer="/a/0")), Style())
    for words in (
        "error    SCHEMA001 schema-violation",
        "also at /also/bad value",
        "expected bad value, found bad value",
        "It matters. Mend it.   audit explain SCHEMA001",
    ):
        assert words in text


def test_every_error_is_shown_however_many_there_are() -> None:
    errors = [made.finding("e", rule=f"MADE{n:03}", slug=f"made-{n}") for n in range(20)]
    text = render("text", made.one(*errors), Style())
    assert text.count("audit explain MADE") == 20


def test_verbose_text_lists_every_place_and_every_check_not_made() -> None:
    text = render("text", made.one(*WARNINGS), Style(verbose=True))
    assert all(f"MADE{n:03}" in text for n in range(1, 6))
    assert "line 3, column 14" in text
    assert "not checked  READ001 non-finite" in text
    assert "-v lists them" not in text


def test_a_clean_file_is_two_lines_and_none_when_quiet() -> None:
    clean = made.one(exit_status=0)
    lines = render("text", clean, Style()).strip().splitlines()
    assert lines[0].startswith("results.json   study")
    assert lines[-1] == "policy: results.json"
    assert len([line for line in lines if line]) == 3
    assert render("text", clean, Style(quiet=True)) == ""


def test_a_waived_finding_is_shown_with_its_reason_and_last_day() -> None:
    waiver = Waiver("SCHEMA001", "/a", "known since May", "2099-01-31")
    waived = made.finding("e", waiver=waiver)
    text = render("text", made.one(waived, exit_status=0), Style())
    assert "waived   SCHEMA001" in text
    assert "waived until 2099-01-31: known since May" in text
    for name in ("json", "github", "junit", "sarif", "markdown"):
        shown = render(name, made.one(waived, exit_status=0), Style())
        assert "known since May" in shown, name
        assert "2099-01-31" in shown, name


def test_colour_comes_only_when_asked_for() -> None:
    outcomes = made.one(made.finding("e"))
    assert "\x1b[" not in render("text", outcomes, Style())
    assert "\x1b[31;1merror  \x1b[0m" in render("text", outcomes, Style(colour=True))


@pytest.mark.parametrize("width", [80, 100, 120])
def test_text_keeps_to_its_width(width: int) -> None:
    long = made.finding("word " * 60, pointer="/short")
    for line in render("text", made.one(long), Style(width=width)).splitlines():
        assert len(line) <= width


def test_several_files_end_in_a_count_of_what_came_of_them() -> None:
    text = render("text", made.outcomes("a"), Style())
    assert "2 files: 1 refused or wrong, 1 could not be read" in text
    assert "passed over: a: no schema_version" in text


def test_an_unreadable_file_stands_in_the_text_only_where_stderr_is_apart() -> None:
    unread = FileResults(made.outcomes("a").files[1:])
    assert render("text", unread, Style()) == ""
    assert render("text", unread, Style(errors=True)) == "ba:2:5: a\n"


def test_github_gives_at_most_ten_of_a_type_and_says_how_many_are_left() -> None:
    errors = [made.finding(f"e{n}") for n in range(14)]
    lines = render("github", made.one(*errors, *WARNINGS), Style()).splitlines()
    assert sum(line.startswith("::error ") for line in lines) == 10
    assert sum(line.startswith("::warning ") for line in lines) == 5
    assert "and 5 more errors" in lines[9]
    assert "e0" in lines[0]


def test_github_names_file_line_and_column() -> None:
    line = render("github", made.one(made.finding("m", pointer="/a")), Style())
    assert line.startswith(
        "::error file=results.json,line=3,col=14,title=SCHEMA001 schema-violation::m%0A"
    )


def test_junit_fails_on_what_the_policy_fails_on() -> None:
    def failures(fail_on: str) -> int:
        outcomes = made.one(
            made.finding("e"),
            made.finding("w", rule="READ002", slug="duplicate-key", severity=Severity.WARNING),
            policy=Policy(fail_on=fail_on),
        )
        return len(ET.fromstring(render("junit", outcomes, Style())).findall(".//failure"))

    assert failures("error") == 1
    assert failures("warning") == 2


def test_junit_names_the_reason_of_a_check_not_made() -> None:
    suites = ET.fromstring(render("junit", made.one(made.finding("e")), Style()))
    (skipped,) = suites.findall(".//testcase[@name='READ001 non-finite']/skipped")
    assert skipped.get("message") == "results.json"


def test_sarif_gives_status_level_hash_and_suppression() -> None:
    waiver = Waiver("SCHEMA001", "/a", "why not", "2099-01-31")
    outcomes = made.one(made.finding("e"), *WARNINGS, made.finding("e", waiver=waiver))
    (run,) = json.loads(render("sarif", outcomes, Style()))["runs"]
    assert run["invocations"][0]["exitCode"] == 1
    assert run["artifacts"][0]["hashes"] == {"sha-256": made.SHA256}
    levels = [result["level"] for result in run["results"]]
    assert levels == ["error", *["warning"] * 5, "error"]
    assert [("suppressions" in result) for result in run["results"]] == [False] * 6 + [True]
    rules = run["tool"]["driver"]["rules"]
    assert rules[run["results"][0]["ruleIndex"]]["id"] == "SCHEMA001"


def test_a_fingerprint_depends_on_rule_and_place_alone() -> None:
    def prints(*findings: object) -> list[str]:
        (run,) = json.loads(render("sarif", made.one(*findings), Style()))["runs"]  # type: ignore[arg-type]
        return [r["partialFingerprints"]["ruleAndPointer/v1"] for r in run["results"]]

    same = prints(made.finding("a", pointer="/x"), made.finding("b", pointer="/x"))
    other = prints(made.finding("a", pointer="/y"), made.finding("a", rule="READ001", pointer="/x"))
    assert same[0] == same[1]
    assert len({same[0], *other}) == 3


def test_markdown_stays_below_the_limit_of_a_comment_and_says_what_is_left_out() -> None:
    many = [made.finding("m" * 400, rule=f"MADE{n:03}", slug=f"made-{n}") for n in range(400)]
    text = render("markdown", made.one(*many), Style())
    assert len(text.encode()) < 64_000
    assert "more lines left out" in text


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_shows_the_verdicts_where_there_are_any(name: str) -> None:
    with made.verdicts_of_lines():
        shown = render(name, made.outcomes("armname", with_analysis=True), Style())
    if name in ("text", "markdown"):
        assert "m over c, accuracy\n" in shown
    if name == "json":
        assert json.loads(shown)["files"][0]["verdicts"] == {"delta": 0.5, "arm": "armname"}


@pytest.mark.parametrize("name", FORMATS)
def test_no_files_at_all_still_give_a_whole_document(name: str) -> None:
    shown = render(name, FileResults(()), Style())
    if name in ("json", "sarif"):
        json.loads(shown)
    if name == "junit":
        assert ET.fromstring(shown).get("tests") == "0"
