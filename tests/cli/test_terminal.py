"""What a terminal shows: its width, its colours, and the nearest name where one is misspelt."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from made_outcomes import one as outcome

from audit.cli.formats import Style, render
from audit.cli.formats.colours import head
from audit.cli.formats.gate_text import gate_text
from audit.cli.main import main
from audit.cli.terminal import NARROWEST, PIPED_WIDTH, WIDEST, shows_colour, width_of
from audit.fleet.files import FileResults
from audit.fleet.judging import WHOLE, Judge
from audit.fleet.rows import counts_of, rows_of
from audit.policy import Policy
from audit.simulation import Cell, simulate

CLAIM = {"direction": "gain", "arm": "recipe", "against": "control"}
WIDTHS = (40, 60, 80, 120, 200)
ESCAPE = re.compile(r"\x1b\[[\d;]*m")


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> FileResults:
    """A supported claim, a refused one, and a study that claims nothing."""
    folder = tmp_path_factory.mktemp("fleet")
    cells: dict[str, tuple[Cell, dict[str, Any]]] = {
        "carried": (Cell("arms", 120, (5, 5), (0.0, 0.0), delta=0.2), {"claims": [CLAIM]}),
        "one-seed": (Cell("arms", 120, (1, 1), (0.0, 0.0), delta=0.2), {"claims": [CLAIM]}),
        "silent": (Cell("arms", 120, (3, 3), (0.03, 0.03)), {}),
    }
    files = []
    for name, (cell, more) in cells.items():
        path = folder / name / "results.json"
        path.parent.mkdir()
        path.write_text(json.dumps({**simulate(cell, cell.generator()).document(), **more}))
        files.append(Judge(Policy(), keeps=WHOLE)(str(path)))
    return FileResults(tuple(files))


def gated(results: FileResults, style: Style) -> str:
    rows = rows_of(results)
    return gate_text(rows, counts_of(rows, results), results, Policy(), style)


@pytest.mark.parametrize("width", WIDTHS)
def test_no_line_is_wider_than_the_terminal(results: FileResults, width: int) -> None:
    for colour in (False, True):
        style = Style(width=width, colour=colour)
        for text in (gated(results, style), *(map(str, [render("text", results, style)]))):
            for line in ESCAPE.sub("", text).splitlines():
                # A command to be copied and the path of a file are never broken.
                if "audit plan" in line or "results.json" in line or "[" in line:
                    continue
                assert len(line) <= width, line


@pytest.mark.parametrize("width", WIDTHS)
def test_a_narrow_terminal_loses_no_word(results: FileResults, width: int) -> None:
    wide = set(gated(results, Style(width=200)).split())
    narrow = set(gated(results, Style(width=width)).split())
    assert wide - narrow <= {"claim"}  # the heading of a column that stands on lines of its own


def test_the_word_of_a_verdict_is_coloured_and_nothing_else_changes(results: FileResults) -> None:
    for make in (gated, lambda found, style: render("text", found, style)):
        plain, coloured = make(results, Style()), make(results, Style(colour=True))
        assert ESCAPE.sub("", coloured) == plain
        assert "\x1b[31;1mREFUSED\x1b[0m" in coloured
        assert "\x1b[32;1mSUPPORTED" in coloured or "\x1b[32;1msupported\x1b[0m" in coloured


def test_a_word_in_the_middle_of_a_line_is_not_coloured() -> None:
    style = Style(colour=True)
    assert head("study  REFUSED  x", style) == "study  REFUSED  x"
    assert head("refusedly  x", style) == "refusedly  x"
    assert head("DON'T SHIP  because", style).startswith("\x1b[31;1mDON'T SHIP\x1b[0m")


@pytest.mark.parametrize(
    ("environment", "terminal", "when", "expected"),
    [
        ({}, True, "auto", True),
        ({}, False, "auto", False),
        ({"NO_COLOR": "1"}, True, "auto", False),
        ({"FORCE_COLOR": "1"}, False, "auto", True),
        ({"FORCE_COLOR": ""}, False, "auto", False),
        ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, True, "auto", False),
        ({"TERM": "dumb"}, True, "auto", False),
        ({"NO_COLOR": "1"}, False, "always", True),
        ({"FORCE_COLOR": "1"}, True, "never", False),
    ],
)
def test_who_decides_about_colours(
    monkeypatch: pytest.MonkeyPatch,
    environment: dict[str, str],
    terminal: bool,
    when: str,
    expected: bool,
) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert shows_colour(when, terminal=terminal) is expected


@pytest.mark.parametrize(
    ("columns", "expected"), [("10", NARROWEST), ("57", 57), ("133", 133), ("500", WIDEST)]
)
def test_the_width_is_that_of_the_terminal_within_bounds(
    monkeypatch: pytest.MonkeyPatch, columns: str, expected: int
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    assert width_of(terminal=True) == expected
    assert width_of(terminal=False) == PIPED_WIDTH


def test_a_long_pointer_goes_below_its_rule() -> None:
    from made_outcomes import finding

    text = render("text", outcome(finding("e", pointer="/a" * 30)), Style())
    assert all(len(line) <= 80 for line in text.splitlines())
    assert "/a" * 30 in text


@pytest.fixture
def study(tmp_path: Path) -> str:
    cell = Cell("arms", 40, (3, 3), (0.03, 0.03))
    path = tmp_path / "results.json"
    path.write_text(json.dumps(simulate(cell, cell.generator()).document()))
    return str(path)


@pytest.mark.parametrize(
    ("words", "near"),
    [
        (["gat", "{study}"], "did you mean gate?"),
        (["gate", "{study}", "--clam", "x"], "did you mean --claim?"),
        (["gate", "{study}", "--format", "jsn"], "did you mean json?"),
        (["gate", "{study}", "--also", "markdwn=x.md"], "did you mean 'markdown'?"),
        (["gate", "{study}", "--sort", "wrst"], "did you mean worst?"),
        (["gate", "{study}", "--claim", "gian accuracy recipe over control"], "mean 'gain'?"),
        (["gate", "{study}", "--claim", "gain acuracy recipe over control"], "mean accuracy?"),
        (["gate", "{study}", "--claim", "gain accuracy recipee over control"], "mean recipe?"),
        (
            ["gate", "{study}", "--claim", "gain accuracy recipe over control on simulatd"],
            "mean simulated?",
        ),
        (["plan", "{study}", "--metric", "acuracy"], "did you mean 'accuracy'?"),
        (["render", "{study}", "--template", "recip.md.j2"], "did you mean 'recipe.md.j2'?"),
        (["templates", "--show", "recip.md.j2"], "did you mean 'recipe.md.j2'?"),
        (["import", "lm-evl", "{study}"], "did you mean 'lm-eval'?"),
        (["explain", "one-sed"], "did you mean one-seed"),
    ],
)
def test_a_misspelt_name_is_answered_with_the_nearest(
    study: str, words: list[str], near: str, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        status = main([word.format(study=study) for word in words])
    except SystemExit as end:
        status = int(end.code or 0)
    said = capsys.readouterr()
    assert status != 0
    assert near in " ".join((said.out + said.err).split())
    if status == 2:
        assert said.err.count("\n") == 1


@pytest.mark.parametrize("place", [0, 1, 2])
def test_options_stand_before_between_or_after_paths(
    study: str, place: int, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [study, study]
    words[place:place] = ["--format", "json"]
    main(["gate", *words])
    assert json.loads(capsys.readouterr().out)["counts"]["studies"] >= 1


@pytest.mark.parametrize(
    "word",
    [
        "NOT CLAIMED",
        "not judged",
        "flat: inconclusive, underpowered",
        "no verdict: one training seed",
        "DON'T SHIP",
        "train-on",
        "at-maximum",
        "refused",
        "B",
    ],
)
def test_words_are_explained_as_they_are_printed(
    word: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", word]) == 0
    assert "Why" in capsys.readouterr().out


def test_every_word_of_a_table_is_explained(
    results: FileResults, capsys: pytest.CaptureFixture[str]
) -> None:
    views = [view for file in results.files for view in file.claims]
    words = {word for view in views for word in (view.result, view.label, view.word, view.evidence)}
    words |= {weakening.slug for view in views for weakening in view.weakened_by}
    for word in sorted(words - {""}):
        assert main(["explain", word]) == 0, word
    capsys.readouterr()
