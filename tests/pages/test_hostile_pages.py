"""Whole pages of results files whose every text field is hostile keep their structure."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from typing import Any

import pytest
from hostile_documents import STRINGS, made_hostile
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from audit.pages.figures import draw
from audit.pages.figures.figure import Figures
from audit.pages.recipe import Recipe, read_recipe
from audit.pages.render import page_of
from audit.pages.variables import Variables, gather
from audit.policy import Policy
from audit.results import from_document

PARSER = MarkdownIt("commonmark").enable(["table", "strikethrough"])

# Prose that shows every field there is, and text of its own.
PROSE = """
title = "{{ method }}"
claim = "**{{ method }}** and `{{ model }}`"
change = "{{ results.change.summary }}"
learned = ["{{ results.limitations[0] }}", "{{ arms[0].label }}: {{ rounds[0].change }}"]
labels = { base = "base" }
[paper]
title = "{{ method }}"
url = "{{ model }}"
[run]
commands = ["{{ method }}"]
[[checks]]
check = "{{ method }}"
source = "{{ data }}"
result = "{{ verified.by }}"
[[references]]
text = "{{ data }}"
url = "{{ results.verified.url }}"
"""


@pytest.fixture(scope="module")
def prose(tmp_path_factory: pytest.TempPathFactory) -> Recipe:
    path = tmp_path_factory.mktemp("prose") / "recipe.toml"
    path.write_text(PROSE, encoding="utf-8")
    return read_recipe(path)


def gathered(document: dict[str, Any], recipe: Recipe) -> Variables:
    # By way of JSON, as a file would come.
    results = from_document(json.loads(json.dumps(document)), "results.json")
    assert results.faults == ()
    return gather(results, Policy(), recipe)


def undrawn(study: Variables, template: str) -> str:
    """Return the page of a study without its figures, which take a second each."""
    return page_of([study], template, lambda _: Figures((), ())).text


PLAIN: dict[str, str] = {}


def plain_page(recipe: Recipe, template: str) -> str:
    """Return the page of the same file with plain text in its fields."""
    if template not in PLAIN:
        study = gathered(made_hostile(lambda field: field), recipe)
        PLAIN[template] = undrawn(study, template)
    return PLAIN[template]


def skeleton(text: str) -> list[str]:
    """Return the structure of a Markdown page without its words."""
    found = []
    for token in PARSER.parse(text):
        found.append(f"{token.type}{token.tag}")
        if token.type == "inline":
            kinds = [child.type for child in token.children or []]
            found += [k for k in kinds if k in ("strong_open", "em_open", "image")]
            assert "s_open" not in kinds
            for child in token.children or []:
                if child.type == "html_inline":
                    assert child.content in ("<code>", "</code>", "<!-- -->")
                if child.type == "link_open":
                    target = str(child.attrs["href"])
                    assert ":" not in target.split("/")[0] or target.startswith("https://"), target
        assert token.type != "html_block" or token.content.startswith(("<details>", "</details>"))
    # The findings of a file depend on its text; their number is not the page's structure.
    return found


def rows_have_equal_pipes(text: str) -> None:
    for block in re.findall(r"(?:^\|.*\n)+", text, flags=re.MULTILINE):
        assert len({line.count("|") for line in block.splitlines()}) == 1, block[:200]


def without_findings(text: str) -> str:
    return re.sub(r"\| Finding \|.*?\n\n", "", text, flags=re.DOTALL)


HOSTILE = st.one_of(
    st.sampled_from(STRINGS),
    st.text(alphabet="|`\\<>&{}%[]()*_~$#@!-+=. \n\t\"':/aä\u202e", min_size=1, max_size=30),
    st.text(min_size=1, max_size=30),
)


@pytest.mark.parametrize("template", ["recipe.md.j2", "summary.md.j2", "fleet.md.j2"])
@settings(deadline=None, max_examples=10, suppress_health_check=list(HealthCheck))
@given(text=HOSTILE)
def test_hostile_text_leaves_a_markdown_page_as_it_was(
    prose: Recipe, template: str, text: str
) -> None:
    plain = plain_page(prose, template)
    page = undrawn(gathered(made_hostile(lambda field: f"{field} {text}"), prose), template)
    rows_have_equal_pipes(page)
    # In a block of code nothing can be escaped, and nothing needs to be.
    assert "{{" not in re.sub(r"^```bash.*?^```$", "", page, flags=re.DOTALL | re.MULTILINE)
    assert skeleton(without_findings(page)) == skeleton(without_findings(plain))


@pytest.mark.parametrize("text", STRINGS, ids=range(len(STRINGS)))
@pytest.mark.parametrize("template", ["recipe.md.j2", "summary.md.j2", "fleet.md.j2"])
def test_each_hostile_string_leaves_a_markdown_page_as_it_was(
    prose: Recipe, template: str, text: str
) -> None:
    test_hostile_text_leaves_a_markdown_page_as_it_was.hypothesis.inner_test(prose, template, text)


class Page(HTMLParser):
    """Checks every tag of a page, and collects the names in order."""

    ALLOWED = frozenset(
        "html head meta title style body h1 h2 h3 p a strong em small code pre div section table "  # noqa: SIM905 - a list of words
        "thead tbody tr th td ol ul li figure figcaption footer wbr svg g path defs use rect text "
        "clippath tspan".split()
    )

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in self.ALLOWED, tag
        for name, value in attrs:
            assert not name.startswith("on"), name
            assert name not in ("src", "srcset", "action", "formaction", "data", "poster"), name
            if name.endswith("href"):
                inside = (value or "").startswith("#")
                assert inside or tag == "a", (tag, value)
                assert inside or (value or "").startswith("https://") or ":" not in (value or "")
            if name == "style":
                assert "url(" not in (value or "").replace("url(#", "")
        if tag != "wbr":
            self.tags.append(tag)


def html_tags(text: str) -> list[str]:
    page = Page()
    page.feed(re.sub(r"<table>\s*<thead><tr><th>Finding.*?</table>", "", text, flags=re.DOTALL))
    page.close()
    return page.tags


@pytest.mark.parametrize("text", STRINGS, ids=range(len(STRINGS)))
def test_hostile_text_leaves_an_html_page_as_it_was(prose: Recipe, text: str) -> None:
    spoilt = gathered(made_hostile(lambda field: f"{field} {text}"), prose)
    pages = [plain_page(prose, "recipe.html.j2"), undrawn(spoilt, "recipe.html.j2")]
    assert "<script" not in pages[1].lower()
    assert "@import" not in pages[1]
    # A link whose address is no address is text; both pages have the same others.
    tags = [[tag for tag in html_tags(page) if tag != "a"] for page in pages]
    assert tags[0] == tags[1]


@pytest.mark.parametrize("text", [STRINGS[2], STRINGS[3], STRINGS[10], STRINGS[14]])
def test_figures_of_hostile_names_are_well_formed(prose: Recipe, text: str) -> None:
    from xml.etree import ElementTree

    study = gathered(made_hostile(lambda field: f"{field} {text}"), prose)
    drawn = draw(study).drawn
    assert len(drawn) == 6
    for figure in drawn:
        root = ElementTree.fromstring(figure.svg)
        assert not [
            e for e in root.iter() if str(e.tag).endswith(("script", "foreignObject", "image"))
        ]
        html_tags(figure.inline)


def test_every_hostile_field_reaches_the_page(prose: Recipe) -> None:
    study = gathered(made_hostile(lambda field: f"{field} Zq9"), prose)
    page = page_of([study], "recipe.md.j2").text
    assert page.count("Zq9") > 60
