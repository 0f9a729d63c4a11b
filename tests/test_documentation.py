"""README and docs: every command block is run, every example parses, every link leads somewhere."""

from __future__ import annotations

import ast
import json
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from documented import ROOT, Workplace, agrees, audit_calls, blocks
from markdown_it import MarkdownIt

from audit.cli.main import COMMANDS, build_parser

PAGES = [*ROOT.glob("README.md"), *sorted((ROOT / "docs").glob("*.md"))]
LANGUAGES = {"console", "yaml", "toml", "json", "python", "jinja", "csv"}
pytestmark = pytest.mark.skipif(
    not (ROOT / "docs").is_dir(),
    reason="docs/ is not beside these tests: they run against an installed wheel",
)
each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)


@each_page
def test_commands_print_what_the_page_shows(page: Path, tmp_path: Path) -> None:
    if shutil.which("bash") is None:
        pytest.skip("no bash on this machine")
    place = Workplace(tmp_path)
    failed = ""
    for block in blocks(page.read_text("utf-8")):
        if block.language != "console" or block.not_run is not None:
            continue
        for command in block.commands():
            if failed:
                assert command.text == "echo $?", f"{failed}: a status of 2 or 3 must be shown"
            printed = place.run(command.text)
            where = f"{page.name}:{command.line}"
            assert agrees(command.shown, printed), f"{where} prints\n" + "\n".join(printed)
            failed = where if place.status > 1 else ""
        assert not failed, f"{failed}: a status of 2 or 3 must be shown"


@each_page
def test_every_command_line_parses(page: Path) -> None:
    for block in blocks(page.read_text("utf-8")):
        if block.language != "console":
            continue
        for command in block.commands():
            if shutil.which("bash") is not None:
                checked = subprocess.run(
                    ["bash", "-n"], input=command.text, text=True, capture_output=True, check=False
                )
                assert not checked.stderr, f"{page.name}:{command.line}: {checked.stderr}"
            for call in audit_calls(command.text.replace("\\\n", " ")):
                build_parser((call[0],)).parse_args(call)


@each_page
def test_every_other_block_is_of_a_known_language_and_parses(page: Path) -> None:
    for block in blocks(page.read_text("utf-8")):
        where, text = f"{page.name}:{block.line}", "\n".join(block.lines)
        assert block.language in LANGUAGES, where
        if block.language != "console":
            assert not re.search(r"^\$ ", text, re.MULTILINE), f"{where}: commands are console"
        if block.language == "yaml":
            yaml.safe_load(text)
        elif block.language == "toml":
            tomllib.loads(text)
        elif block.language == "json":
            json.loads(text)
        elif block.language == "python":
            ast.parse(text)


def test_the_rule_and_the_fact_of_the_page_work() -> None:
    from cases import full, patched

    from audit.results import from_document
    from audit.rules import Case, Failed, Passed, Unchecked

    page = (ROOT / "docs" / "adding-a-rule.md").read_text("utf-8")
    names: dict[str, Any] = {}
    for block in blocks(page):
        if block.language == "python":
            exec("\n".join(block.lines), names)  # the page's own code
    made, devices = names["device_missing"], names["devices"]
    assert made.fix == "Record the device too."
    document = full()
    runs = [
        *document["seed_results"],
        *(r for c in document["controls"].values() for r in c["seed_results"]),
    ]
    for cost, kind in (
        (
            {"minutes": 9},
            Failed("/seed_results/0/cost", "minutes without a device", "a device", "none"),
        ),
        ({"minutes": 9, "device": "H100"}, Passed()),
        (None, Unchecked("no run records cost")),
    ):
        for run in runs:
            run.pop("cost", None)
        if cost:
            runs[0]["cost"] = cost
        results = from_document(patched(document, {}))
        assert list(made.check(Case(results))) == [kind]
        found = {"/seed_results/0/cost/device": "H100"} if cost and "device" in cost else {}
        assert devices(results) == found


def test_indented_blocks_hide_no_command() -> None:
    for page in PAGES:
        for token in MarkdownIt("commonmark").parse(page.read_text("utf-8")):
            if token.type == "code_block":
                assert not re.search(r"^\$? ?audit ", token.content, re.MULTILINE), page.name


@each_page
def test_every_command_a_page_names_exists(page: Path) -> None:
    named = re.findall(r"`audit ([a-z][a-z-]+)", page.read_text("utf-8"))
    assert set(named) <= set(COMMANDS) | {"train"}


def anchors(page: Path) -> set[str]:
    tokens = MarkdownIt("commonmark").parse(page.read_text("utf-8"))
    headings = [
        tokens[place + 1].content for place, t in enumerate(tokens) if t.type == "heading_open"
    ]
    words = [re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings]
    return {word.strip().replace(" ", "-") for word in words}


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CONTRIBUTING.md"], ids=lambda page: page.name)
def test_every_link_leads_to_a_file_and_a_heading(page: Path) -> None:
    for token in MarkdownIt("commonmark").enable("table").parse(page.read_text("utf-8")):
        for child in token.children or ():
            target = child.attrs.get("href") or child.attrs.get("src")
            if not isinstance(target, str) or re.match(r"https?://|mailto:", target):
                continue
            name, _, anchor = target.partition("#")
            leads = (page.parent / name).resolve() if name else page
            assert leads.exists(), f"{page.name}: {target}"
            if anchor:
                assert anchor in anchors(leads), f"{page.name}: {target}"


def test_the_pages_are_built_without_a_warning(tmp_path: Path) -> None:
    pytest.importorskip("mkdocs", reason="mkdocs is not installed; the pages were not built")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "-q", "-d", str(tmp_path / "site")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    built = {path.parent.name for path in (tmp_path / "site").rglob("index.html")}
    assert {page.stem for page in PAGES} - {"README", "index"} <= built


def test_every_page_is_in_the_navigation() -> None:
    if not (ROOT / "mkdocs.yml").is_file():
        pytest.skip("mkdocs.yml is not beside these tests")
    config = yaml.safe_load((ROOT / "mkdocs.yml").read_text("utf-8"))
    listed = {name for entry in config["nav"] for name in entry.values()}
    assert listed == {page.name for page in PAGES if page.parent.name == "docs"}


@pytest.mark.parametrize(
    ("shown", "printed", "same"),
    [
        ([], [], True),
        ([], ["a"], False),
        (["a"], [], False),
        (["a"], ["a "], True),
        (["..."], [], True),
        (["a", "...", "c"], ["a", "b", "b", "c"], True),
        (["a", "...", "c"], ["a", "b"], False),
        (["...", "b"], ["a", "b", "c"], False),
        (["a", "b"], ["a", "c"], False),
    ],
)
def test_shown_lines_are_held_against_printed_ones(
    shown: list[str], printed: list[str], same: bool
) -> None:
    assert agrees(shown, printed) == same
