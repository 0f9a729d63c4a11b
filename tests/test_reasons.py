"""The table of reasons: every word a verdict carries is in it, and every one in it can be given."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import audit
from audit.cli.main import main
from audit.reasons import (
    FAMILIES,
    KINDS,
    ORDER,
    REASONS,
    REFUSAL,
    RETIRED,
    WORD,
    Reason,
    find_reason,
    rank,
    words_for,
)
from audit.rules import CATALOGUE

PACKAGE = Path(audit.__file__).resolve().parent


def constants(path: Path) -> set[str]:
    """Every string in a module that is not a docstring; members of sets only sort what is given."""
    found, left = set[str](), list[ast.AST]([ast.parse(path.read_text(encoding="utf-8"))])
    while left:
        node = left.pop()
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.add(node.value)
        elif not isinstance(node, ast.Set):
            left += ast.iter_child_nodes(node)
    return found


def raised_in(path: Path) -> set[str]:
    """First argument of every Refusal, and what a verdict takes over from a numeric function."""
    slugs: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
            continue
        given: list[ast.expr] = []
        if node.func.id == "Refusal":
            given = node.args[:1] + [k.value for k in node.keywords if k.arg == "reason"]
        elif node.func.id == "InsufficientData" and path.name == "scores.py":
            given = [k.value for k in node.keywords if k.arg == "reason"]
        slugs |= {n.value for n in given if isinstance(n, ast.Constant) and type(n.value) is str}
    return slugs


def code() -> list[Path]:
    rooms = [PACKAGE / room for room in ("analysis", "stats", "facts")]
    return [path for room in rooms if room.is_dir() for path in sorted(room.rglob("*.py"))]


def test_every_slug_raised_in_the_code_is_in_the_table() -> None:
    slugs = set().union(*map(raised_in, code()))
    live = {slug for slug, reason in REASONS.items() if reason.kind == REFUSAL}
    assert slugs - live == set()
    assert len(slugs) > 20


def weakenings_in(path: Path) -> set[str]:
    """First argument of every Weakening."""
    calls = [n for n in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(n, ast.Call)]
    named = [c for c in calls if isinstance(c.func, ast.Name) and c.func.id == "Weakening"]
    given = [c.args[0] for c in named if c.args]
    return {n.value for n in given if isinstance(n, ast.Constant) and type(n.value) is str}


def test_everything_that_weakens_a_claim_is_in_the_table() -> None:
    slugs = set().union(*map(weakenings_in, code()))
    assert slugs
    assert slugs <= set(REASONS)


def test_every_live_slug_can_be_given() -> None:
    given = set().union(*map(constants, code()))
    given |= {text.strip() for text in given}
    live = {slug for slug, reason in REASONS.items() if reason.kind not in (RETIRED, WORD)}
    assert live - given == set()


def test_every_refusal_has_one_place_in_the_order() -> None:
    listed = [slug for group in ORDER for slug in group]
    assert len(listed) == len(set(listed))
    assert set(listed) == {slug for slug, r in REASONS.items() if r.kind == REFUSAL}
    assert rank("one-seed") < rank("runs-not-identified") < rank("few-tasks") < rank("wrong-way")
    assert rank("no such slug") > max(map(rank, listed))


@pytest.mark.parametrize("reason", REASONS.values(), ids=lambda reason: reason.slug)
def test_a_reason_is_whole(reason: Reason) -> None:
    assert reason.kind in KINDS
    assert reason.family in FAMILIES
    assert reason.words
    assert reason.words == reason.words.strip()
    assert reason.why.endswith(".")
    assert not reason.settles.endswith(".")
    if reason.kind == REFUSAL:
        assert reason.settles


@pytest.mark.parametrize("slug", [*REASONS, *(rule.slug for rule in CATALOGUE)])
def test_every_printed_slug_answers_to_explain(
    slug: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", slug]) == 0
    page = " ".join(capsys.readouterr().out.split())
    assert slug in page
    if slug in REASONS:
        assert REASONS[slug].why in page


def test_the_list_names_every_slug_below_its_family(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain"]) == 0
    out = capsys.readouterr().out
    assert [line.partition(":")[0] for line in out.splitlines() if line.endswith("?")] == [
        *FAMILIES,
        "checks",
    ]
    assert all(slug in out for slug in REASONS)


def test_the_page_of_reasons_is_fresh(capsys: pytest.CaptureFixture[str], root: Path) -> None:
    page = root / "docs" / "reasons.md"
    if not page.is_file():
        pytest.skip("docs/ is not beside these tests: they run against an installed wheel")
    assert main(["explain", "--format", "markdown"]) == 0
    assert page.read_text(encoding="utf-8") == capsys.readouterr().out, (
        "run: audit explain --format markdown > docs/reasons.md"
    )


@pytest.mark.parametrize(
    ("name", "slug"),
    [
        ("One-Seed", "one-seed"),
        ("benchmark-only gain", "benchmark-only"),
        ("weakened by:", "weakened-by"),
        ("evidence C", "C"),
        ("not checked", "not-checked"),
        ("uneven-clusters", "uneven-clusters"),
    ],
)
def test_a_reason_is_found_as_it_is_printed(name: str, slug: str) -> None:
    reason = find_reason(name)
    assert reason is not None
    assert reason.slug == slug


def test_an_unknown_slug_is_worded_as_it_is() -> None:
    assert words_for("no such slug") == "no such slug"
    assert words_for("one-seed") == "one training seed"
