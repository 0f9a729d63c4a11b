"""Tables as LaTeX and CSV: their numbers, and text from data that stays text."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from hostile_documents import STRINGS, made_hostile
from hypothesis import given
from hypothesis import strategies as st

import audit
from audit.pages import Job, csv_cells, latex, render

FULL = Path(__file__).resolve().parent.parent / "data" / "results" / "full.json"


def table(template: str, path: Path = FULL) -> str:
    return render(Job((str(path),), template)).text


def test_the_csv_of_comparisons_has_the_unrounded_numbers_of_the_analysis() -> None:
    rows = list(csv.DictReader(io.StringIO(table("comparisons.csv.j2"))))
    comparisons = audit.analyse(audit.load(FULL)).comparisons
    assert len(rows) == len(comparisons)
    for row, comparison in zip(rows, comparisons, strict=True):
        assert (row["arm"], row["against"]) == (comparison.arm, comparison.against)
        assert float(row["delta"]) == comparison.delta
        assert row["word"] == comparison.verdict.word


def test_the_csv_of_runs_has_a_row_for_every_run() -> None:
    rows = list(csv.DictReader(io.StringIO(table("runs.csv.j2"))))
    results = audit.load(FULL)
    scores = {(row["arm"], row["seed"]): row["score"] for row in rows}
    for run in results.runs:
        assert float(scores[run.arm, str(run.seed)]) == pytest.approx(run.score())


@pytest.mark.parametrize("template", ["comparisons.csv.j2", "runs.csv.j2"])
@pytest.mark.parametrize("text", STRINGS, ids=range(len(STRINGS)))
def test_hostile_text_leaves_every_row_of_a_csv_its_fields(
    template: str, text: str, tmp_path: Path
) -> None:
    path = tmp_path / "results.json"
    path.write_text(json.dumps(made_hostile(lambda field: f"{field} {text}")))
    rows = list(csv.reader(io.StringIO(table(template, path))))
    assert len({len(row) for row in rows}) == 1
    assert len(rows) > 1


@given(st.text(min_size=1))
def test_no_text_is_a_formula_of_a_spreadsheet(text: str) -> None:
    ((field, *rest),) = list(csv.reader(io.StringIO(csv_cells.text(text)))) or [[""]]
    assert not rest
    assert not field.startswith(("=", "+", "-", "@"))


@given(st.text())
def test_escaped_latex_has_no_command_of_the_data(text: str) -> None:
    written = latex.text(text)
    bare = re.sub(
        r"\\text(backslash|asciitilde|asciicircum|less|greater|bar)\{\}|\\dots\{\}"
        r"|\\[{}$&#_%]|\$\\times\$|\{\[\}|\{\]\}|\{\}",
        "",
        written,
    )
    assert not re.search(r"[\\{}$&#_%^~]", bare)


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("50% of a_b & c#1 for $2", r"50\% of a\_b \& c\#1 for \$2"),
        (r"\input{/etc/passwd}", r"\textbackslash{}input\{/etc/passwd\}"),
        ("[0.1]", "{[}0.1{]}"),
        ("a -- b", "a -{}- b"),
    ],
)
def test_latex_of(text: str, written: str) -> None:
    assert latex.text(text) == written


def test_a_negative_number_has_the_minus_of_formulas() -> None:
    assert latex.number("-0.001 [-0.032, +0.030]") == "$-$0.001 {[}$-$0.032, +0.030{]}"


def test_the_latex_table_has_its_columns_in_every_row(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    path.write_text(json.dumps(made_hostile(lambda field: f"{field} {STRINGS[9]}")))
    for source in (FULL, path):
        for block in table("tables.tex.j2", source).split("\\begin{tabular}")[1:]:
            rows = [line for line in block.splitlines() if line.endswith("\\\\")]
            assert len({len(re.findall(r"(?<!\\)&", row)) for row in rows}) == 1


def test_latex_takes_the_table(tmp_path: Path) -> None:
    program = shutil.which("pdflatex")
    if program is None:
        pytest.skip("no LaTeX on this machine: the table was not typeset")
    body = table("tables.tex.j2")
    (tmp_path / "t.tex").write_text(
        "\\documentclass{article}\\usepackage{booktabs}\\begin{document}"
        f"\n{body}\n\\end{{document}}\n"
    )
    done = subprocess.run(
        [program, "-interaction=nonstopmode", "-halt-on-error", "t.tex"],
        cwd=tmp_path,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:]


def test_figures_are_written_as_png_where_that_is_asked_for(tmp_path: Path) -> None:
    page = render(Job((str(FULL),), figures="png"))
    assert page.files
    for name, data in page.files.items():
        assert name.endswith(".png")
        assert data.startswith(b"\x89PNG")
        assert f"({name})" in page.text
    (tmp_path / "figures").mkdir()
    (tmp_path / "figures" / "seeds.svg").write_text("<svg/>")
    page.write(tmp_path / "page.md")
    assert sorted(p.suffix for p in (tmp_path / "figures").iterdir()) == [".png"] * len(page.files)
    assert list(page.differences(tmp_path / "page.md")) == []
