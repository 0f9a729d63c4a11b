"""The index of the benchmarks says what the committed tables say, and nothing is left out of it."""

from __future__ import annotations

import argparse
import ast
import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip(
    "index_entries",
    reason="benchmarks/ is not beside these tests: they run against an installed wheel",
)

import index
import measuring
from index_entries import ENTRIES, Figure

FOLDER = Path(index.__file__).resolve().parent
# The index itself, and what a study starts in an older version.
NOT_BENCHMARKS = {"index", "judged"}
TABLE = """# Speed

| what | ours | theirs |
|---|---:|---:|
| small | 1.5 s | 2 s |
| large | 1,200 s [1,100, 1,300] | 3,000 s |

## Memory

| what | ours |
|---|---|
| small | 7 |
"""


def test_the_index_is_what_the_tables_give() -> None:
    assert index.README.read_text(encoding="utf-8") == index.page()


def test_every_script_is_in_the_index_with_its_command() -> None:
    scripts = {
        path.stem
        for path in FOLDER.glob("*.py")
        if '__name__ == "__main__"' in path.read_text(encoding="utf-8")
    } - NOT_BENCHMARKS
    assert {entry.script for entry in ENTRIES} == scripts
    for entry in ENTRIES:
        assert entry.command.startswith(f"python benchmarks/{entry.script}.py")


def test_every_table_is_in_the_index() -> None:
    tables = {path.name for path in FOLDER.glob("*.md")} - {"README.md"}
    assert {entry.table for entry in ENTRIES if entry.table} == tables


def test_every_option_of_a_command_is_one_that_its_script_takes() -> None:
    for entry in ENTRIES:
        source = (FOLDER / f"{entry.script}.py").read_text(encoding="utf-8")
        texts = {
            node.value
            for node in ast.walk(ast.parse(source))
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
        }
        options = [word for word in entry.command.split() if word.startswith("-")]
        assert [word for word in options if word not in texts] == []


@pytest.mark.parametrize(
    ("figure", "text", "kept"),
    [
        (Figure("f", "small", "theirs", most=2), "2 s", True),
        (Figure("f", "small", "theirs", most=1.9), "2 s", False),
        (Figure("f", "large", "ours", least=1200), "1,200 s [1,100, 1,300]", True),
        (Figure("f", "large", "ours", least=1201), "1,200 s [1,100, 1,300]", False),
        (Figure("f", "large", "ours", most=1100, number=1), "1,200 s [1,100, 1,300]", True),
        (Figure("f", "large", "theirs"), "3,000 s", None),
        (Figure("f", "small", "ours", section="Memory", most=7), "7", True),
        (Figure("f", "", "theirs", most=3000, every=True), "2 s to 3,000 s, 2 rows", True),
        (Figure("f", "", "theirs", most=2999, every=True), "2 s to 3,000 s, 2 rows", False),
    ],
)
def test_a_result_is_the_cell_held_against_the_goal(
    figure: Figure, text: str, kept: bool | None
) -> None:
    assert index.result(figure, TABLE) == index.Result(text, kept)


@pytest.mark.parametrize(
    "figure",
    [
        Figure("f", "absent", "ours"),
        Figure("f", "small", "absent"),
        Figure("f", "small", "ours"),  # two tables have it
        Figure("f", "small", "ours", section="Absent"),
        Figure("f", "small", "theirs", most=1, number=1),
    ],
)
def test_a_figure_that_no_table_or_several_have_is_an_error(figure: Figure) -> None:
    with pytest.raises(index.MissingCellError):
        index.result(figure, TABLE)


def test_a_missed_goal_stands_in_the_index(tmp_path: Path) -> None:
    (tmp_path / "speed.md").write_text(TABLE, encoding="utf-8")
    entry = replace(
        ENTRIES[0], table="speed.md", figures=(Figure("theirs", "small", "theirs", most=1),)
    )
    assert "| theirs | at most 1 | 2 s | **missed** |" in index.page([entry], tmp_path)


def test_a_loaded_machine_measures_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getloadavg", lambda: (5.0, 5.0, 5.0))
    monkeypatch.setattr(measuring, "_WAIT_SECONDS", 0)
    with pytest.raises(SystemExit) as refused:
        measuring.quiet(argparse.Namespace(loaded=False, write=None))
    assert refused.value.code == 2
    assert measuring.quiet(argparse.Namespace(loaded=True, write=None)) == 5.0
    with pytest.raises(SystemExit, match="writes no table"):
        measuring.quiet(argparse.Namespace(loaded=True, write=Path("table.md")))


def test_a_process_is_measured_with_its_children_and_its_failure_is_told() -> None:
    busy = "import time\nend = time.process_time() + 0.2\nwhile time.process_time() < end: pass"
    child = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {busy!r}])"
    found = measuring.used([sys.executable, "-c", child])
    assert found.status == 0
    assert found.cpu >= 0.2
    assert found.mib > 1
    failing = "import sys; print('no such luck', file=sys.stderr); sys.exit(3)"
    with pytest.raises(SystemExit, match=r"ended with 3\nno such luck"):
        measuring.used([sys.executable, "-c", failing])


def test_a_ratio_is_taken_within_turns() -> None:
    ours = [measuring.Used(1, cpu, 1, 0) for cpu in (1.0, 2.0, 30.0)]
    theirs = [measuring.Used(1, cpu, 1, 0) for cpu in (2.0, 4.0, 10.0)]
    assert measuring.ratio(ours, theirs) == 0.5
    assert measuring.median_of(ours) == 2.0


def test_another_input_than_the_pinned_one_is_not_measured(tmp_path: Path) -> None:
    file = tmp_path / "input"
    file.write_bytes(b"abc")
    pinned = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert measuring.require_sha256(file, pinned) == pinned[:12]
    file.write_bytes(b"abd")
    with pytest.raises(SystemExit, match="another input"):
        measuring.require_sha256(file, pinned)
