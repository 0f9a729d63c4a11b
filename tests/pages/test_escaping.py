"""Hostile text written as Markdown and HTML, and read back by parsers of other hands."""

from __future__ import annotations

import re
from collections.abc import Callable
from html.parser import HTMLParser

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from audit.pages import html, inline, markdown
from audit.safetext import harmless, one_line

PARSER = MarkdownIt("commonmark").enable(["table", "strikethrough"])

HOSTILE = [
    "a | b",
    "\\",
    "\\|",
    "`",
    "``` | ```",
    "<script>alert(1)</script>",
    "<!-- comment",
    "&lt;b&gt; &amp; &#124;",
    "{{ 7 * 7 }} {% raw %} {# c #}",
    "line\nnext\r\n| --- |",
    "# heading",
    "> quote",
    "- item",
    "+ item",
    "1. item",
    "12) item",
    "===",
    "---",
    "    indented",
    "[text](javascript:alert(1))",
    "![image](https://example.org/x.png)",
    "[ref]: https://example.org",
    "[^1] ~~gone~~ **bold** _it_ __u__ *i*",
    "$x$ $$y$$",
    "@someone and a@b.c",
    "<https://example.org>",
    "\u202eevil\u202c \u2066x\u2069 \u200e\u200f\u061c",
    "\x00\x01\x1b[31m\x7f\x85\u2028\u2029",
    "\ud800 lone",
    "\U000f0000 private \U00100060",
    "שלום | עולם",
    "x" * 10_000,
    "``",
    "a`b``c",
    " ",
    "",
    "a ",
    "*",
    "_",
    "trailing\\",
    "end of it<",
    "\u200b\u00ad",
]
texts = st.one_of(
    st.sampled_from(HOSTILE),
    st.text(alphabet=st.characters(), max_size=60),
    st.text(alphabet="|`\\<>&{}[]()*_~$#@!-+=.1 \n\t\"':/aä", max_size=40),
)


def hostile(test: Callable[..., None]) -> Callable[..., None]:
    """Add every hostile string as an explicit example."""
    for text in HOSTILE:
        test = example(text)(test)
    return test


def words(tokens: list[Token]) -> str:
    """Return what a reader sees of inline tokens; fails on any markup."""
    seen = []
    for token in tokens:
        if token.type == "html_inline":
            assert token.content == "<!-- -->", token.content
        else:
            assert token.type in ("text", "text_special"), token.type
            seen.append(token.content)
    return "".join(seen)


def table_cells(text: str) -> list[Token]:
    tokens = PARSER.parse(f"| a | b |\n| --- | --- |\n| {text} | x |\n")
    kinds = [t.type for t in tokens if t.level == 0]
    assert kinds == ["table_open", "table_close"]
    return [t for t in tokens if t.type == "inline"]


@hostile
@given(texts)
def test_text_in_a_table_cell_is_that_text_and_nothing_else(text: str) -> None:
    written = markdown.text(text)
    assert "\n" not in written
    assert "|" not in written
    cells = table_cells(written)
    assert len(cells) == 4
    assert cells[3].content == "x"
    assert words(cells[2].children or []) == harmless(text)


@hostile
@given(texts)
def test_text_as_a_paragraph_is_one_paragraph(text: str) -> None:
    tokens = PARSER.parse(f"{markdown.text(text)}\n")
    if not harmless(text):
        assert tokens == []
        return
    assert [t.type for t in tokens] == ["paragraph_open", "inline", "paragraph_close"]
    assert words(tokens[1].children or []) == harmless(text)


@hostile
@given(texts)
def test_code_in_a_table_cell_is_one_code_span(text: str) -> None:
    cells = table_cells(markdown.code(text))
    assert len(cells) == 4
    tokens = cells[2].children or []
    if tokens and tokens[0].type == "html_inline":
        assert [tokens[0].content, tokens[-1].content] == ["<code>", "</code>"]
        shown = words(tokens[1:-1])
    elif tokens[0].type == "code_inline":
        assert len(tokens) == 1
        shown = tokens[0].content
    else:
        assert not harmless(text)
        return
    assert shown == harmless(text, 240)


@hostile
@given(texts)
def test_a_code_block_ends_where_it_should(text: str) -> None:
    tokens = PARSER.parse(f"{markdown.block([text, 'after'], 'bash')}\n\nend\n")
    assert [t.type for t in tokens] == ["fence", "paragraph_open", "inline", "paragraph_close"]
    assert tokens[0].content.endswith("after\n")


@hostile
@given(texts)
def test_a_link_shows_its_label_and_goes_where_it_says(label: str) -> None:
    written = markdown.link(label, "https://example.org/a_(b)")
    tokens = PARSER.parseInline(written)[0].children or []
    assert [tokens[0].type, tokens[-1].type] == ["link_open", "link_close"]
    assert tokens[0].attrs["href"] == "https://example.org/a_%28b%29"
    assert words(tokens[1:-1]) == harmless(label)


@pytest.mark.parametrize(
    "url",
    [
        "javascript:alert(1)",
        "JavaScript:alert(1)",
        "java\nscript:alert(1)",
        " javascript:x",
        "\x01javascript:x",
        "data:text/html,<script>",
        "vbscript:x",
        "//example.org",
        "\\\\example.org",
        "file:///etc/passwd",
        "https:",
        "",
        "https://example.org/" + "x" * 3000,
    ],
)
def test_an_address_that_could_do_more_than_be_opened_is_no_link(url: str) -> None:
    assert "](" not in markdown.link("label", url)
    assert "href" not in html.link("label", url)


@hostile
@given(texts)
def test_a_url_from_data_cannot_leave_its_place(url: str) -> None:
    tokens = PARSER.parseInline(markdown.link("label", url))[0].children or []
    assert "".join(t.content for t in tokens if t.type == "text") == "label"
    for token in tokens:
        if token.type == "link_open":
            target = str(token.attrs["href"])
            assert target.startswith(("http://", "https://")) or ":" not in target.split("/")[0]


class Seen(HTMLParser):
    """Collects tags and text."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data

    def handle_comment(self, data: str) -> None:
        raise AssertionError(data)

    def handle_decl(self, decl: str) -> None:
        raise AssertionError(decl)


@hostile
@given(texts)
def test_text_in_html_is_that_text_and_nothing_else(text: str) -> None:
    seen = Seen()
    seen.feed(f'<p title="{html.text(text)}">{html.text(text)}</p>')
    seen.close()
    assert seen.tags == [("p", {"title": harmless(text)})]
    assert seen.text == harmless(text)


@hostile
@given(texts)
def test_a_link_in_html_has_a_safe_address(url: str) -> None:
    seen = Seen()
    seen.feed(str(html.link("label", url)))
    seen.close()
    for tag, attributes in seen.tags:
        assert tag == "a"
        assert set(attributes) == {"href", "rel"}
        assert not re.match(r"(?i)\s*(javascript|data|vbscript):", attributes["href"] or "")


@hostile
@given(texts)
def test_a_line_has_no_control_and_no_direction_mark(text: str) -> None:
    line = one_line(text)
    assert line.isprintable() or set(line) & {"\u200c", "\u200d"}
    assert not re.search("[\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069\u200e\u200f]", line)
    assert one_line(line) == line


def test_what_is_neutralised_is_seen() -> None:
    assert one_line("a\u202eb\x00c") == r"a\u202eb\x00c"
    assert (
        one_line("na\u200cme \U0001f468\u200d\U0001f469") == "na\u200cme \U0001f468\u200d\U0001f469"
    )


@pytest.mark.parametrize("length", [600, 601, 10_000, 3_000_000])
def test_a_long_text_is_cut_and_says_so(length: int) -> None:
    shown = harmless("x" * length)
    if length <= 600:
        assert shown == "x" * length
    else:
        assert shown == "x" * 600 + f"… ({length:,} characters, the first 600 shown)"


@hostile
@given(texts)
def test_a_value_in_prose_is_text_whatever_it_holds(value: str) -> None:
    value = value[:2000]
    prose = inline.parse(f"before **{inline.shield(one_line(value))}** after")
    tokens = PARSER.parseInline(prose.written(markdown))[0].children or []
    kinds = {t.type for t in tokens} - {"html_inline", "text", "text_special"}
    assert kinds <= {"strong_open", "strong_close"}
    shown = "".join(t.content for t in tokens if t.type != "html_inline")
    inner = one_line(value)
    if inner:
        assert shown == harmless(f"before {inner} after", 6000)


PROSE = [
    ("plain words", "plain words", "plain words"),
    ("**bold** and *it*", "**bold** and *it*", "<strong>bold</strong> and <em>it</em>"),
    ("`a | b`", "<code>a &#124; b</code>", "<code>a | b</code>"),
    ("`run_std`", "`run_std`", "<code>run_std</code>"),
    (
        "[paper](https://example.org/p)",
        "[paper](https://example.org/p)",
        '<a href="https://example.org/p" rel="noopener noreferrer">paper</a>',
    ),
    ("[x](javascript:y)", "x", "x"),
    ("a * b * c", r"a \* b \* c", "a * b * c"),
    ("2 ** 3", r"2 \*\* 3", "2 ** 3"),
    ("**open", r"\*\*open", "**open"),
    (r"\*not\*", r"\*not\*", "*not*"),
    ("run_std is", r"run\_std is", "run_std is"),
    ("**a `b` c**", "**a `b` c**", "<strong>a <code>b</code> c</strong>"),
    ("<b>x</b>", "&lt;b&gt;x&lt;/b&gt;", "&lt;b&gt;x&lt;/b&gt;"),
    ("two\nlines", "two lines", "two lines"),
]


@pytest.mark.parametrize(("prose", "as_markdown", "as_html"), PROSE)
def test_prose_is_written_as(prose: str, as_markdown: str, as_html: str) -> None:
    parsed = inline.parse(prose)
    assert parsed.written(markdown) == as_markdown
    assert parsed.written(html) == as_html


@given(st.text(alphabet="*`[]()\\ab _", max_size=4000))
def test_any_prose_is_parsed_in_a_moment(text: str) -> None:
    inline.parse(text).written(markdown)


@pytest.mark.parametrize("unit", ["**a", "*a ", "`", "``a", "[", "[a](", "\\", "**`", "*a*"])
def test_prose_made_to_be_slow_is_not(unit: str) -> None:
    inline.parse(unit * (6000 // len(unit))).written(markdown)
