"""Plain English: the words that must not come back, in code, messages, pages and documentation."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

# What was written, and what a native reader expects.
UNWANTED = {
    r"\banew\b": "again",
    r"\bstands? twice\b": "duplicate",
    r"\bnought\b": "0",
    r"\b(?:is|are) due\b": "expected ...",
    r"\bmade anew\b": "regenerated",
    r"\b(?:seeds?|runs?|trainings?|evaluations?|models?|sd) an arm\b": "per arm",
    r"\b(?:answers?|samples?|scores?|outcomes?|attempts?|repeats?|rates?) a task\b": "per task",
    r"\b(?:scores?|figures?|values?|tokens|tasks) a run\b": "per run",
    r"\b(?:scores?|values?|runs?) a seed\b": "per seed",
    r"\bholds zero\b": "includes zero",
    r"\breaches zero\b": "includes zero",
    r"\brelations? holds?\b": "checks passed",
    r"\btask by task\b": "per task",
}
# A slug that was given before keeps its spelling.
KEPT = re.compile(r"interval-reaches-zero|interval_reaches_zero")
PLACES = ("audit", "templates", "docs", "schemas", "README.md", "CONTRIBUTING.md", "reports")
ENDINGS = {".py", ".md", ".j2", ".json", ".toml"}


def files() -> list[Path]:
    found = [path for name in PLACES for path in [ROOT / name, *(ROOT / name).rglob("*")]]
    return [
        path
        for path in found
        if path.is_file() and path.suffix in ENDINGS and path.name != "results.json"
    ]


@pytest.mark.parametrize("pattern", UNWANTED, ids=UNWANTED.values())
def test_words_that_read_like_a_translation_stay_away(pattern: str) -> None:
    if not (ROOT / "docs").is_dir():
        pytest.skip("docs/ is not beside these tests: they run against an installed wheel")
    met = []
    for path in files():
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            if re.search(pattern, KEPT.sub("", line), re.IGNORECASE):
                met.append(f"{path.relative_to(ROOT)}:{number}: {line.strip()[:80]}")
    assert not met, f"write {UNWANTED[pattern]!r}: " + "\n".join(met)
