"""What the README says in numbers is what its studies give."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import audit
from audit import numerals
from audit.analysis import lottery

ROOT = Path(__file__).resolve().parent.parent
PATH = ROOT / "README.md"
README = PATH.read_text(encoding="utf-8") if PATH.is_file() else ""

pytestmark = pytest.mark.skipif(
    not README, reason="README.md is not beside these tests: they run against an installed wheel"
)


def test_the_figure_of_single_seeds_is_told_as_it_is_computed() -> None:
    results = audit.load(ROOT / "reports/addition-seed-lottery/results.json")
    comparison = audit.analyse(results).comparisons[0]
    found = lottery(comparison)
    assert found is not None
    caption = re.search(r"^\*Two trust regions.*?\*$", README, re.MULTILINE | re.DOTALL)
    assert caption is not None
    text = " ".join(caption[0].split())
    tally, deciding = found.same_seed, comparison.deciding
    assert f"One seed alone: {tally.won} gain, {tally.lost} losses, {tally.flat} flat." in text
    low, high = deciding.low, deciding.high  # type: ignore[union-attr]
    assert numerals.estimate(comparison.delta, low, high) in text
    assert comparison.verdict.detail == "equivalent"
    assert "ten seeds per arm" in text
    assert comparison.seeds == (10, 10)


def test_the_figure_of_the_readme_is_there() -> None:
    for path in re.findall(r"!\[[^]]*\]\(([^)]+)\)", README):
        assert (ROOT / path).is_file()
