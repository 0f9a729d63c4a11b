"""The sandbox: what a template may not do, and errors that name file and line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from audit.errors import UsageError
from audit.pages.environment import (
    html_environment,
    markdown_environment,
    one_line_errors,
    prose_environment,
)

ROW = {"name": "a | <b>", "share": 0.3416, "count": 3, "none": None, "items_": [1, 2]}


def rendered(source: str, **variables: Any) -> str:
    environment = markdown_environment()
    with one_line_errors("here.md.j2"):
        return environment.from_string(source).render(row=ROW, **variables)


def refusal(source: str, **variables: Any) -> UsageError:
    with pytest.raises(UsageError) as caught:
        rendered(source, **variables)
    return caught.value


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("{{ row.name }}", "a &#124; &lt;b&gt;"),
        ("{{ row.share | fraction }}", "0.34"),
        ("{{ row.share | fraction(3) }}", "0.342"),
        ("{{ row.count }}", "3"),
        ("{{ row.none | fraction }}", "\N{EN DASH}"),
        ("{{ row.name | code }}", "<code>a &#124; &#60;b&#62;</code>"),
        ("{{ row.count * 2 }}", "6"),
        ("{{ 0.00001 | p_value }} {{ 3.5 | usd }}", "&lt; 0.0001 \\$3.50"),
        ("{{ '+0.3 is' }} {{ '-0.3' }} {{ '+ x' }} {{ '- x' }}", r"+0.3 is -0.3 \+ x \- x"),
        ("{{ row.items_ | join(', ') }}", "1, 2"),
        ("{{ '' | cell }}", "\N{EN DASH}"),
        ("{{ row.name | upper }}", "A &#124; &lt;B&gt;"),
        ("{{ row.name ~ '|' }}", "a &#124; &lt;b&gt;&#124;"),
        ("{% macro m(x) %}{{ x }}{% endmacro %}{{ m('a|b') | length }}", "8"),
    ],
)
def test_a_value_is_written_escaped(source: str, text: str) -> None:
    assert rendered(source) == text


@pytest.mark.parametrize(
    ("source", "line", "part"),
    [
        ("a\nb {{ missing }}", 2, "'missing' is undefined"),
        ("{{ row.nothing }}", 1, "no attribute 'nothing'"),
        ("\n\n{{ row.share }}", 3, "bare number"),
        ("{{ row.none }}", 1, "None"),
        ("{% if %}", 1, "Expected an expression"),
        ("{{ row.name | nofilter }}", 1, "No filter named 'nofilter'"),
        ("{{ row.name | fraction }}", 1, "no finite number"),
        ("a\n{{ row.count / 0 }}", 2, "division by zero"),
        ("{{ ''.__class__ }}", 1, "unsafe"),
        ("{{ row.__class__.__mro__ }}", 1, "unsafe"),
        ("{{ row.update(x=1) }}", 1, "unsafe"),
        ("{{ 'x' * 10 ** 9 }}", 1, "for numbers here"),
        ("{{ '%0999999999d' % 1 }}", 1, "for numbers here"),
        ("{{ 9 ** 99999 }}", 1, "for numbers here"),
        ("{{ (9 ** 64) ** 64 ** 1 * 1 }}", 1, "too large"),
        ("{{ ((9 ** 64) ** 64) ** 64 }}", 1, "too large"),
        ("{{ [1] | slice(999999999) | list }}", 1, "No filter named 'slice'"),
        ("{{ [1] | batch(999999999, 'x') | list }}", 1, "No filter named 'batch'"),
        ("a\n{{ row.name.upper }}", 2, "the value is a method"),
        ("{{ [row.name.upper] }}", 1, "the value is a list"),
        ("{{ row.items_ | map('abs') }}", 1, "the value is a generator"),
        ("{{ [row] | map(attribute='__class__') | list }}", 1, "the value is a list"),
        ("{{ '{:>999999999}'.format(1) }}", 1, "unsafe"),
        ("{{ 'x'.ljust(999999999) }}", 1, "unsafe"),
        ("{{ 'x'.replace('x', 'xx') }}", 1, "unsafe"),
        ("{{ 'x' | replace('x', 'xx') }}", 1, "No filter named 'replace'"),
        ("{{ self._TemplateReference__context }}", 1, "unsafe"),
        ("{{ lipsum(9) }}", 1, "'lipsum' is undefined"),
        ("{{ cycler.__init__.__globals__ }}", 1, "unsafe"),
    ],
)
def test_a_fault_is_one_line_with_its_place(source: str, line: int, part: str) -> None:
    error = refusal(source)
    assert error.line == line
    assert part in error.message
    assert "\n" not in str(error)


def test_a_fault_in_an_included_part_names_the_part(tmp_path: Path) -> None:
    (tmp_path / "own.md.j2").write_text("a\n{% include 'part.md.j2' %}\n")
    (tmp_path / "part.md.j2").write_text("\n\n\n{{ gone }}\n")
    with pytest.raises(UsageError) as caught, one_line_errors("own.md.j2"):
        markdown_environment(tmp_path).get_template("own.md.j2").render()
    assert str(caught.value).startswith(f"{tmp_path / 'part.md.j2'}:4: 'gone' is undefined")


@pytest.mark.parametrize("name", ["../secret", "/etc/passwd", "parts/../../x", "a\\..\\b"])
def test_a_template_outside_its_folders_is_not_found(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (tmp_path / "secret").write_text("secret")
    with pytest.raises(UsageError, match="no template"), one_line_errors("x"):
        markdown_environment(folder).get_template(name).render()


def test_a_template_that_includes_itself_is_refused(tmp_path: Path) -> None:
    (tmp_path / "own.md.j2").write_text("{% include 'own.md.j2' %}")
    with pytest.raises(UsageError, match="without end"), one_line_errors("own.md.j2"):
        markdown_environment(tmp_path).get_template("own.md.j2").render()


def test_html_is_escaped_as_html() -> None:
    source = '<p title="{{ x }}">{{ x }}{{ x | code }}</p>'
    text = html_environment().from_string(source).render(x="<b>\"'&\n|")
    inner = "&lt;b&gt;&#34;&#39;&amp; |"
    assert text == f'<p title="{inner}">{inner}<code>{inner}</code></p>'


def test_prose_loads_no_template() -> None:
    environment = prose_environment()
    with pytest.raises(UsageError), one_line_errors("recipe.toml"):
        environment.from_string("{% include 'recipe.md.j2' %}").render()


def test_a_bug_of_ours_is_not_blamed_on_the_template() -> None:
    with pytest.raises(ZeroDivisionError), one_line_errors("own.md.j2"):
        raise ZeroDivisionError
