"""FileResults with one text in every field that data can reach, for the tests of the formats."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any
from unittest import mock

from audit.errors import InputError
from audit.finding import Finding, NotChecked, Severity, Waiver
from audit.fleet.files import FileResult, FileResults
from audit.pointer import join
from audit.policy import Policy
from audit.report import Report
from audit.results import from_document
from audit.rules import Case

SHA256 = "0123456789abcdef" * 4

HOSTILE = (
    "plain",
    "",
    " ",
    "a|b|c",
    "`code` ``` ~~~",
    "first\nsecond\r\nthird\rfourth",
    "\n\n  error    FAKE001 forged               /a\n",
    "\n::error file=x,line=1::forged",
    "::stop-commands::token",
    "::error file=x::forged ::error::again",
    "\r\n##[error]forged ##vso[task.complete]",
    "%0A::error::forged%25",
    "a:b,c%d=e",
    "\x1b[2J\x1b[31mred\x1b]0;title\x07\x9b31m",
    "\u202eright to left\u202c \u2066isolate\u2069 \u200f\u200b\ufeff",
    "nul\x00bell\x07back\x08delete\x7f",
    "line\u2028paragraph\u2029next\x85",
    "\ud800 half \udfff",
    "\ufffe\uffff\U0001ffff",
    "\U000e0041\U000e007f tags",
    "]]> <![CDATA[ <!-- --> <?xml?> &lt; &amp; &#0; &#x41;",
    "<script>alert(1)</script></pre></code></td><img src=x>",
    "[link](http://example.org) ![image](x.png) <http://example.org>",
    "https://example.org www.example.org someone@example.org @everyone #1",
    "**bold** __bold__ _it_ ~~gone~~ $x^2$ :smile: \\| \\` \\",
    "# heading\n- item\n1. one\n> quote\n---\n| a | b |\n| - | - |\n",
    "{{ 7 * 7 }} {% raw %} ${{ secrets.TOKEN }}",
    "../../etc/passwd\\..\\x",
    "long " * 2048,
    "x" * 10_240,
    "\N{FAMILY} \N{LATIN SMALL LETTER E}\N{COMBINING ACUTE ACCENT} \N{CJK UNIFIED IDEOGRAPH-4E2D}",
)


class MadeAnalysis:
    """Stands for an analysis: the formats ask it for its dictionary and for lines only."""

    def __init__(self, text: str) -> None:
        self.text = text

    def json(self) -> dict[str, Any]:
        return {"delta": 0.5, "arm": self.text}


@contextmanager
def verdicts_of_lines() -> Iterator[None]:
    """Put modules in the place of the blocks and the JSON that give the text as it is."""
    module = ModuleType("audit.cli.formats.blocks")
    figures = ModuleType("audit.views.analysis_json")

    def verdict_lines(analysis: MadeAnalysis, width: int) -> list[str]:
        return ["m over c, accuracy", analysis.text]

    module.verdict_lines = verdict_lines  # type: ignore[attr-defined]
    figures.analysis_json = MadeAnalysis.json  # type: ignore[attr-defined]
    made = {module.__name__: module, figures.__name__: figures}
    with mock.patch.dict("sys.modules", made):
        yield


def finding(
    text: str = "text",
    *,
    rule: str = "SCHEMA001",
    slug: str = "schema-violation",
    severity: Severity = Severity.ERROR,
    pointer: str | None = None,
    waiver: Waiver | None = None,
) -> Finding:
    return Finding(
        rule=rule,
        slug=slug,
        severity=severity,
        pointer=join("", text) if pointer is None else pointer,
        message=text,
        expected=text,
        actual=text,
        why="It matters.",
        fix="Mend it.",
        also=(join("/also", text),),
        line=3,
        column=14,
        waiver=waiver,
    )


def report(
    text: str = "text",
    findings: tuple[Finding, ...] | None = None,
    *,
    exit_status: int = 1,
    analysis: Any = None,
    policy: Policy | None = None,
) -> Report:
    if findings is None:
        waiver = Waiver("SCHEMA002", "", text or "reason", "2099-12-31")
        findings = (
            finding(text),
            finding(text, rule="READ002", slug="duplicate-key", severity=Severity.WARNING),
            finding(
                text, rule="SCHEMA002", slug="unknown-key", severity=Severity.INFO, waiver=waiver
            ),
        )
    return Report(
        name=text or "results.json",
        sha256=SHA256,
        found=findings,
        not_checked=(NotChecked("READ001", "non-finite", text or "reason", join("", text)),),
        passed=7,
        exit_status=exit_status,
        case=case(analysis, policy or Policy(source=text or "audit.toml")),
    )


def case(analysis: Any, policy: Policy) -> Case:
    """A case whose analysis is made up instead of computed."""
    document = {
        "schema_version": 2,
        "method": "m",
        "seed_results": [{"seed": 1, "status": "running"}],
    }
    made = Case(from_document(document), policy)
    vars(made)["analysis"] = analysis
    return made


def outcomes(text: str = "text", *, with_analysis: bool = False) -> FileResults:
    """Two files, one read and one not, and a skipped one, all named by the text."""
    analysis = MadeAnalysis(text) if with_analysis else None
    made = report(text, analysis=analysis)
    return FileResults(
        files=(
            FileResult(text or "results.json", made, None, 1, text),
            FileResult("b" + text, None, InputError(text, path="b" + text, line=2, column=5), 2),
        ),
        skipped=(text,),
    )


def one(*findings: Finding, exit_status: int = 1, policy: Policy | None = None) -> FileResults:
    made = report("results.json", findings, exit_status=exit_status, policy=policy)
    return FileResults((FileResult("results.json", made, None, exit_status, "study"),))
