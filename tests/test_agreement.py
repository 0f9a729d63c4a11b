"""One fact is one text: terminal, gate, JSON, Markdown, annotations and page say the same.

Each surface is made of the same file and read back with its markup taken off; what the views say
of every claim and comparison must be on all of them, with the same digits.
"""

from __future__ import annotations

import copy
import html
import json
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from jsonschema import Draft202012Validator

from audit import numerals
from audit.cli.formats import FORMATS, Style, render
from audit.cli.formats.gate_json import gate_json
from audit.cli.formats.gate_markdown import gate_markdown
from audit.cli.formats.gate_page import gate_page
from audit.cli.formats.gate_text import gate_text
from audit.cli.main import main
from audit.fleet.files import FileResult, FileResults
from audit.fleet.judging import WHOLE, Judge
from audit.fleet.rows import counts_of, rows_of
from audit.pages.render import Job
from audit.pages.render import render as render_page
from audit.policy import Policy
from audit.resources import resource
from audit.safetext import visible
from audit.simulation import Cell, simulate
from audit.views.claim_view import ClaimView

sys.path.insert(0, str(Path(__file__).resolve().parent / "pages"))
from hostile_documents import STRINGS, made_hostile

HERE = Path(__file__).resolve().parent
SAMPLES = sorted((HERE / "data" / "results").glob("*.json"))
REPORTS = sorted((HERE.parent / "reports").glob("*/results.json"))
WIDE = Style(width=100_000, verbose=True)
NARROW = Style(verbose=True)

CLAIM = {"direction": "gain", "arm": "recipe", "against": "control"}


def simulated(cell: Cell, **more: Any) -> dict[str, Any]:
    return {**simulate(cell, cell.generator()).document(), **more}


def _with(document: dict[str, Any], change: Any) -> dict[str, Any]:
    made = copy.deepcopy(document)
    change(made)
    return made


def _copied(document: dict[str, Any]) -> None:
    document["seed_results"][1]["evaluation"] = document["seed_results"][0]["evaluation"]


def _failed(document: dict[str, Any]) -> None:
    document["seed_results"][0] = {"seed": 0, "status": "failed"}


def _errored(document: dict[str, Any]) -> None:
    evaluation = document["seed_results"][0]["evaluation"]
    wrong = [n - c for c, n in zip(evaluation["correct"], evaluation["samples"], strict=True)]
    evaluation["errored"] = [min(1, w) for w in wrong]


def _missing(document: dict[str, Any]) -> None:
    evaluation = document["seed_results"][0]["evaluation"]
    evaluation["correct"][3] = evaluation["samples"][3] = 0


def _sixteenth(document: dict[str, Any]) -> None:
    """Make both arms' scores halves of a thousandth apart: 3/48 = 0.0625."""
    for place, run in enumerate(document["seed_results"]):
        run["method_metrics"] = {"accuracy": [0.5625, 0.6875, 0.4375][place], "examples": 48}
    for place, run in enumerate(document["controls"]["control"]["seed_results"]):
        run["method_metrics"] = {"accuracy": [0.5, 0.5, 0.5][place], "examples": 48}
    for run in (*document["seed_results"], *document["controls"]["control"]["seed_results"]):
        del run["evaluation"]


GAIN = simulated(Cell("arms", 120, (5, 5), (0.0, 0.0), delta=0.2), claims=[CLAIM])
NULL = simulated(Cell("arms", 40, (3, 3), (0.03, 0.03)), claims=[CLAIM])
MADE: dict[str, dict[str, Any]] = {
    "gain": GAIN,
    "inconclusive": NULL,
    "unclaimed": _with(NULL, lambda d: d.pop("claims")),
    "one-seed": simulated(Cell("arms", 120, (1, 1), (0.0, 0.0), delta=0.1), claims=[CLAIM]),
    "two seeds": simulated(Cell("arms", 120, (2, 2), (0.0, 0.0), delta=0.1), claims=[CLAIM]),
    "copied run": _with(GAIN, _copied),
    "failed run": _with(GAIN, _failed),
    "errored answers": _with(GAIN, _errored),
    "missing outcomes": _with(GAIN, _missing),
    "halves": _with(simulated(Cell("arms", 120, (3, 3), (0.0, 0.0))), _sixteenth),
    "wrong way": _with(GAIN, lambda d: d["claims"][0].update(direction="loss")),
    "several claims": _with(
        GAIN, lambda d: d["claims"].append({**CLAIM, "margin": 0.9} | {"direction": "equivalent"})
    ),
    "unknown arm": _with(GAIN, lambda d: d["claims"][0].update(arm="nobody")),
} | {f"hostile {n}": made_hostile(text.__add__) for n, text in enumerate(STRINGS)}
NAMES = [*MADE, *(path.name for path in SAMPLES), *(path.parent.name for path in REPORTS)]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("made")
    found = {path.name: path for path in SAMPLES} | {path.parent.name: path for path in REPORTS}
    for number, (name, document) in enumerate(MADE.items()):
        path = folder / str(number) / "results.json"
        path.parent.mkdir()
        path.write_text(json.dumps(document), encoding="utf-8")
        found[name] = path
    return found


@cache
def judged(path: Path) -> FileResult:
    return Judge(Policy(), keeps=WHOLE)(str(path))


def surfaces(file: FileResult) -> Iterator[tuple[str, str]]:
    """Yield every surface that tells of claims, its markup taken off and on one line."""
    results = FileResults((file,))
    rows = rows_of(results)
    counts = counts_of(rows, results)
    yield "verify text", one_line(render("text", results, WIDE))
    yield "verify text, 80 columns", one_line(render("text", results, NARROW))
    yield "verify markdown", without_markup(render("markdown", results, WIDE))
    yield "gate text", one_line(gate_text(rows, counts, results, Policy(), WIDE))
    yield "gate markdown", without_markup(gate_markdown(rows, counts, results, Policy()))
    yield "gate page", without_markup(gate_page(rows, counts, results, Policy()))


def one_line(text: str) -> str:
    return " ".join(text.split())


def without_markup(text: str) -> str:
    text = re.sub(r"<style>.*?</style>", "", text, flags=re.DOTALL)
    bare = re.sub(r"<(?:/?[a-zA-Z][^<>]*|!--.*?--)>", " ", text)
    bare = html.unescape(bare).replace("\u200b", "")
    return one_line(re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", bare))


def told(text: str) -> str:
    """A text as every surface shows it."""
    return one_line(visible(text))


def expected(view: ClaimView) -> Iterator[str]:
    yield view.estimate
    if view.runs != "-":
        yield view.runs.partition(" (")[0]
        yield f"({view.evidence})" if view.evidence else ""
    if not view.claimed:
        yield view.verdict
    if view.refused:
        yield from (view.label, view.reason, *view.next)
    for weakening in view.weakened_by:
        yield from (weakening.slug, weakening.text)


LONG = 150  # what is longer is cut on some surface, and said to be


@pytest.mark.parametrize("name", NAMES)
def test_every_surface_says_the_same_of_every_claim(files: dict[str, Path], name: str) -> None:
    file = judged(files[name])
    for where, text in surfaces(file):
        for view in file.claims:
            for fact in expected(view):
                if len(visible(fact)) < LONG:
                    assert told(fact).lower() in text.lower(), (where, fact)


@cache
def gate_schema() -> Draft202012Validator:
    schema = json.loads(resource("schemas/gate.v1.schema.json").read_text(encoding="utf-8"))
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


@pytest.mark.parametrize("name", NAMES)
def test_json_holds_the_numbers_that_the_texts_round(files: dict[str, Path], name: str) -> None:
    file = judged(files[name])
    results = FileResults((file,))
    (entry,) = json.loads(render("json", results, WIDE))["files"]
    rows = rows_of(results)
    gate = json.loads(gate_json(rows, counts_of(rows, results), results, Policy()))
    gate_schema().validate(gate)
    assert entry["exit_status"] == gate["files"][0]["exit_status"] == file.exit_status
    if "verdicts" not in entry:
        assert not file.claims
        return
    claims = entry["verdicts"]["claims"]
    shown = [row for row in gate["rows"] if row["claim"] is not None]
    assert len(claims) == len(shown) == gate["counts"]["claims"]
    assert [c["supported"] for c in claims].count(True) == gate["counts"]["supported"]
    assert [c["supported"] for c in claims].count(False) == gate["counts"]["refused"]
    for claim in claims:
        assert claim["stands"] == claim["supported"]
    assert sorted(str(c["label"]) for c in claims) == sorted(str(r["label"]) for r in shown)
    for view in file.claims:
        (row,) = [r for r in gate["rows"] if r["title"] == well_formed(view.sentence)][:1]
        assert row["delta"] == (view.estimate or "-")
        assert row["label"] == (view.label or None)
        assert row["verdict"] == well_formed(view.verdict)
    for comparison in entry["verdicts"]["comparisons"]:
        if comparison["delta"] is None or comparison["verdict"]["word"] == "refused":
            continue
        found = comparison["deciding"]
        text = numerals.estimate(comparison["delta"], found["low"], found["high"])
        assert text in one_line(render("text", results, WIDE))


def well_formed(text: str) -> str:
    return re.sub(r"[\ud800-\udfff]", "\ufffd", text)


@pytest.mark.parametrize("name", NAMES)
def test_checks_are_counted_alike(files: dict[str, Path], name: str) -> None:
    file = judged(files[name])
    report = file.report
    assert report is not None
    results = FileResults((file,))
    passed = f"{numerals.counted(report.passed, 'check')} passed"
    (entry,) = json.loads(render("json", results, WIDE))["files"]
    assert entry["passed"] == report.passed
    assert len(entry["not_checked"]) == len(report.not_checked)
    for made in ("text", "markdown"):
        assert passed in without_markup(render(made, results, WIDE))


@pytest.mark.parametrize("name", NAMES)
def test_the_page_prints_the_figures_of_the_terminal(files: dict[str, Path], name: str) -> None:
    file = judged(files[name])
    analysis = file.report.analysis if file.report is not None else None
    if analysis is None:
        pytest.skip("the file breaks its contract, so no page can be made of it")
    terminal = one_line(render("text", FileResults((file,)), WIDE))
    for template in ("recipe.md.j2", "recipe.html.j2"):
        page = without_markup(render_page(Job((str(files[name]),), template)).text)
        for view in file.claims:
            if "over base" in view.sentence:
                continue  # a page shows its arms against each other
            assert view.estimate in page, template
            assert view.estimate in terminal
        for view in (view for view in file.claims if view.claimed):
            assert view.result in page.lower()
            if len(visible(view.reason)) < LONG and "\n" not in view.reason:
                assert told(view.reason) in page, template


@pytest.mark.parametrize("name", NAMES)
def test_verify_and_gate_end_with_one_exit_status(
    files: dict[str, Path], name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    ended = {command: main([command, str(files[name]), "-q"]) for command in ("verify", "gate")}
    assert ended["verify"] == ended["gate"]
    assert ended["verify"] == judged(files[name]).exit_status


@pytest.mark.parametrize("words", [["--fail-on", "warning"], ["--select", "SEED"], []])
def test_options_mean_the_same_to_verify_and_gate(
    files: dict[str, Path], words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("gain", "one-seed", "unclaimed", "full.json"):
        claims = [[], ["--claim", "gain accuracy method over control"]]
        for claim in claims:
            arguments = [str(files[name]), *words, *claim]
            assert main(["verify", *arguments]) == main(["gate", *arguments]), arguments


def test_a_half_is_rounded_alike_everywhere(files: dict[str, Path]) -> None:
    file = judged(files["halves"])
    for where, text in surfaces(file):
        assert "+0.063" in text, where
        assert "+0.062" not in text, where
    assert "+0.063" in render_page(Job((str(files["halves"]),))).text


def test_a_refused_claim_is_nowhere_called_anything_else(files: dict[str, Path]) -> None:
    for name in ("inconclusive", "one-seed", "copied run", "wrong way", "unknown arm"):
        file = judged(files[name])
        assert all(view.refused for view in file.claims), name
        for where, text in surfaces(file):
            assert "refused" in text.lower(), (name, where)
            assert "1 supported" not in text, (name, where)


def test_an_unclaimed_comparison_is_never_refused(files: dict[str, Path]) -> None:
    for name in ("unclaimed", "adaptive-clip"):
        file = judged(files[name])
        for where, text in surfaces(file):
            if not where.startswith("verify"):
                assert "refused" not in text.lower().replace("refuses", ""), (name, where)
                assert "nothing claimed, so nothing judged" in text, (name, where)


def test_a_copied_run_supports_nothing_anywhere(files: dict[str, Path]) -> None:
    """What a rule finds to be a copy, no surface counts as a run that carries a claim."""
    file = judged(files["copied run"])
    assert file.report is not None
    found = {finding.slug for finding in file.report.found}
    assert "identical-runs" in found
    (view,) = file.claims
    assert (view.result, view.slug) == ("refused", "identical-runs")


def _log(document: dict[str, Any]) -> Any:
    return document["controls"]["fixed-clip"]["seed_results"][0]["training"][0]


@pytest.mark.parametrize(
    ("factor", "alike"), [(1.0, "3 of 3"), (1 + 3e-8, "3 of 3"), (1.01, "2 of 3")]
)
def test_page_and_rule_agree_whether_arms_start_alike(
    tmp_path: Path, factor: float, alike: str
) -> None:
    document = json.loads((HERE / "data" / "results" / "full.json").read_text("utf-8"))
    first = _log(document)["updates"][0]
    first["gradient_l2_norm"] = first["gradient_l2_norm"] * factor
    path = tmp_path / "results.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    file = judged(path)
    assert file.report is not None
    rules = [f for f in file.report.found if f.rule == "START001"]
    page = render_page(Job((str(path),))).text
    assert f"{alike} seeds start alike" in page
    assert ("(3 of 3 seeds)" in rules[0].message) == (alike == "3 of 3")


@pytest.mark.parametrize("name", ["inconclusive", "one-seed", "copied run", "wrong way"])
def test_annotations_say_of_a_refused_claim_what_the_terminal_says(
    files: dict[str, Path], name: str
) -> None:
    file = judged(files[name])
    results = FileResults((file,))
    for made in ("github", "junit", "sarif", "json"):
        text = one_line(unquote(html.unescape(render(made, results, WIDE))))
        for view in file.claims:
            assert view.sentence in text, made
            assert view.reason in text, made


def test_every_format_is_made_of_the_same_report(files: dict[str, Path]) -> None:
    """Annotations, JUnit and SARIF hold every finding that the terminal lists."""
    file = judged(files["full.json"])
    assert file.report is not None
    results = FileResults((file,))
    for made in set(FORMATS) - {"github"}:
        text = render(made, results, WIDE)
        for rule in {finding.rule for finding in file.report.found}:
            assert rule in text, (made, rule)
