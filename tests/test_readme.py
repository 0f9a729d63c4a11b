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
    comparison, at_last = audit.analyse(results).comparisons[:2]
    assert comparison.measure.checkpoints == (80, 85, 90, 95, 100)
    assert at_last.measure.checkpoints == (100,)
    caption = re.search(r"^\*Two trust regions.*?\*$", README, re.MULTILINE | re.DOTALL)
    assert caption is not None
    text = " ".join(caption[0].split())
    for head, one in (("One seed alone", comparison), ("by its last checkpoint alone", at_last)):
        found = lottery(one)
        assert found is not None
        tally = found.same_seed
        said = f"{numerals.counted(tally.won, 'gain')}, {tally.lost} losses, {tally.flat} flat"
        assert f"{head}: {said}" in text
    deciding = comparison.deciding
    low, high = deciding.low, deciding.high  # type: ignore[union-attr]
    assert numerals.estimate(comparison.delta, low, high) in text
    assert comparison.verdict.detail == "equivalent"
    assert "ten seeds per arm" in text
    assert comparison.seeds == (10, 10)


def test_the_figure_of_the_readme_is_there() -> None:
    for path in re.findall(r"!\[[^]]*\]\(([^)]+)\)", README):
        assert (ROOT / path).is_file()
