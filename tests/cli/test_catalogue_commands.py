"""``audit rules``, ``audit explain`` and ``audit demo``."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from audit.cli import demo
from audit.cli.main import main
from audit.finding import Severity
from audit.rules import CATALOGUE, Case, Rule
from audit.rules import rule as declared

STUDY = {
    "schema_version": 2,
    "method": "shipped",
    "seed_results": [{"seed": "no number", "method_metrics": {"accuracy": 0.5}}],
}


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(list(arguments)) == 0
    return capsys.readouterr().out


def test_the_list_has_every_rule_in_order(capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed(capsys, "rules").splitlines()
    starts = [line.split()[:2] for line in lines if not line.startswith(" ")]
    assert starts == [[rule.id, rule.slug] for rule in CATALOGUE]
    assert max(len(line) for line in lines) <= 100


def test_the_list_as_json_has_every_part_of_every_page(capsys: pytest.CaptureFixture[str]) -> None:
    rules = json.loads(printed(capsys, "rules", "--format", "json"))
    assert [entry["id"] for entry in rules] == [rule.id for rule in CATALOGUE]
    for entry in rules:
        assert all(entry[key] for key in ("slug", "family", "severity", "statement", "why", "fix"))


def test_no_id_and_no_slug_is_taken_twice() -> None:
    assert len({rule.id for rule in CATALOGUE}) == len(CATALOGUE)
    assert len({rule.slug for rule in CATALOGUE}) == len(CATALOGUE)


def test_a_summary_is_the_first_paragraph_on_one_line() -> None:
    @declared("MADE001", "made-up", Severity.ERROR, each=Case)
    def made_up(case: Case) -> None:
        """It is wrong
        here.

        More about it.

        Why
            It matters.
        """

    assert made_up.summary == "It is wrong here."
    assert made_up.statement == "It is wrong here. More about it."
    assert (made_up.why, made_up.fix) == ("It matters.", "")


def test_a_family_is_listed_alone(capsys: pytest.CaptureFixture[str]) -> None:
    out = printed(capsys, "rules", "--family", "schema", "--format", "json")
    assert {entry["family"] for entry in json.loads(out)} == {"SCHEMA"}


def test_an_unknown_family_is_status_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rules", "--family", "NOPE"]) == 2
    assert "no family 'NOPE'; there are READ, SCHEMA" in capsys.readouterr().err


def test_the_catalogue_page_is_fresh(capsys: pytest.CaptureFixture[str], root: Path) -> None:
    page = root / "docs" / "rules.md"
    if not page.is_file():
        pytest.skip("docs/ is not beside these tests: they run against an installed wheel")
    fresh = printed(capsys, "rules", "--format", "markdown")
    assert page.read_text(encoding="utf-8") == fresh, (
        "run: audit rules --format markdown > docs/rules.md"
    )


def test_the_catalogue_page_links_every_rule_to_its_heading(
    capsys: pytest.CaptureFixture[str],
) -> None:
    tokens = (
        MarkdownIt("commonmark")
        .enable("table")
        .parse(printed(capsys, "rules", "--format", "markdown"))
    )
    headings = [
        after.content
        for token, after in pairwise(tokens)
        if token.type == "heading_open" and token.tag == "h2"
    ]
    assert headings == [f"{rule.id} {rule.slug}" for rule in CATALOGUE]
    links = [
        child.attrs["href"]
        for token in tokens
        for child in token.children or ()
        if child.type == "link_open"
    ]
    assert links == [f"#{heading.lower().replace(' ', '-')}" for heading in headings]


@pytest.mark.parametrize("rule", CATALOGUE, ids=lambda rule: rule.id)
def test_a_rule_is_explained_by_id_or_slug(rule: Rule, capsys: pytest.CaptureFixture[str]) -> None:
    page = printed(capsys, "explain", rule.id.lower())
    assert page == printed(capsys, "explain", rule.slug)
    assert page.startswith(f"{rule.id} {rule.slug} ({rule.severity.label})\n")
    words = " ".join(page.split())
    for part in (rule.statement, rule.why, rule.fix):
        assert part in words
    for example in (rule.bad, rule.good):
        assert " ".join(example.split()) in words


@pytest.mark.parametrize(
    ("typed", "slug"),
    [
        (["flat:", "inconclusive"], "inconclusive"),
        (["flat: equivalent"], "equivalent"),
        (["NOT", "CLAIMED"], "not-claimed"),
        (["no", "verdict"], "no-verdict"),
        (["SCHEMA002", "unknown-key"], "unknown-key"),
    ],
)
def test_words_are_explained_as_they_are_printed(
    typed: list[str], slug: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert printed(capsys, "explain", *typed) == printed(capsys, "explain", slug)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("SCHEMA01", "did you mean SCHEMA001 schema-violation"),
        ("unkown-key", "did you mean SCHEMA002 unknown-key"),
        ("x" * 100_000, "`audit explain` lists all words"),
    ],
)
def test_an_unknown_rule_is_status_2_with_near_ones(
    name: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", name]) == 2
    assert words in capsys.readouterr().err


def test_the_demo_shows_findings_and_ends_well_whatever_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "results.json"
    path.write_text(json.dumps(STUDY), encoding="utf-8")
    monkeypatch.setattr(demo, "resource", lambda name: path)
    out = printed(capsys, "demo")
    assert out.startswith(f"$ audit verify {demo.SHIPPED}\n")
    assert "error    SCHEMA001 schema-violation" in out


def test_the_demo_runs_on_what_is_shipped(capsys: pytest.CaptureFixture[str]) -> None:
    out = printed(capsys, "demo")
    assert "checks passed" in out
    assert "flat on this benchmark: inconclusive, underpowered" in out
    assert "1 study, 1 claim: 1 refused" in out


def test_explain_without_a_word_lists_reasons_and_rules(
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = printed(capsys, "explain")
    assert all(f"  {rule.id}" in out for rule in CATALOGUE)
    assert "one-seed" in out


def test_rules_is_accepted_and_not_listed(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    commands = capsys.readouterr().out
    assert "explain" in commands
    assert "  rules" not in commands


def test_coverage_names_the_keys_that_no_check_reads(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    document = {
        "schema_version": 2,
        "method": "m",
        "our_own": {"note": "n"},
        "seed_results": [{"seed": 1, "method_metrics": {"accuracy": 0.5}, "nickname": "x"}],
    }
    path = tmp_path / "results.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    first, *unread = printed(capsys, "explain", "--coverage", str(path)).splitlines()
    assert first.endswith("keys are read by a check; by none:")
    assert unread == ["  /schema_version", "  /our_own", "  /seed_results/*/nickname"]
    assert main(["explain", "one-seed", "--coverage", str(path)]) == 2
    assert main(["explain", "--coverage", str(tmp_path / "none.json")]) == 2
