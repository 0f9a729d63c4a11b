"""``recipe.toml``: its keys, its expressions, and numbers typed by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from audit.errors import AuditError, InputError, UsageError
from audit.pages import markdown
from audit.pages.environment import prose_environment
from audit.pages.literals import literals
from audit.pages.prose import computed
from audit.pages.recipe import PLAIN, Recipe, read_recipe, recipe_beside, recipe_keys


def recipe(folder: Path, text: str) -> Recipe:
    path = folder / "recipe.toml"
    path.write_bytes(text.encode("utf-8"))
    return read_recipe(path)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("titel = 'x'", ":1: titel: unknown key; did you mean 'title'?"),
        ("title = 3", "title: expected a string, found 3"),
        ("learned = 'x'", "learned: expected a list, found"),
        ("learned = [1]", "learned[0]: expected a string, found 1"),
        ("paper = 'x'", "paper: expected a table, found"),
        (
            "paper.doi = 'x'",
            "paper.doi: unknown key; known here are title, authors, id, date or url",
        ),
        ("paper.title = 3", "paper.title: expected a string"),
        ("run.commands = 'x'", "run.commands: expected a list"),
        ("[references]\ntext = 'x'", ":1: references: expected a list, found a table with 1 key"),
        ("title = 'x", "recipe.toml: not TOML: Expected"),
    ],
)
def test_a_file_that_means_nothing_is_refused(tmp_path: Path, text: str, part: str) -> None:
    with pytest.raises(InputError) as caught:
        recipe(tmp_path, text)
    assert part in str(caught.value)
    assert str(tmp_path / "recipe.toml") in str(caught.value)


def test_bytes_that_are_not_utf_8_are_refused(tmp_path: Path) -> None:
    (tmp_path / "recipe.toml").write_bytes(b"title = '\xff'")
    with pytest.raises(InputError, match="not TOML: not UTF-8"):
        read_recipe(tmp_path / "recipe.toml")


def test_a_study_without_prose_has_every_key_empty(tmp_path: Path) -> None:
    prose = computed(recipe_beside(str(tmp_path / "results.json")), {})
    assert set(prose) == set(recipe_keys()) - {PLAIN}
    assert not any(prose[key] for key in ("title", "learned", "checks", "claim"))
    assert not prose["paper"]["title"]
    assert prose["run"] == {"commands": [], "notes": []}


def test_an_expression_becomes_its_value(tmp_path: Path) -> None:
    found = recipe(tmp_path, 'learned = ["it is **{{ x | fraction }}** of `{{ name }}`"]')
    prose = computed(found, {"x": 0.3416, "name": "a`b|c*"})
    assert prose["learned"][0].written(markdown) == (
        "it is **0.34** of <code>a&#96;b&#124;c&#42;</code>"
    )


def test_a_value_is_not_computed_again(tmp_path: Path) -> None:
    prose = computed(recipe(tmp_path, "claim = '{{ x }}'"), {"x": "{{ 7 * 7 }}"})
    assert str(prose["claim"]) == "{{ 7 * 7 }}"


def test_commands_keep_their_blanks_and_stars(tmp_path: Path) -> None:
    found = recipe(tmp_path, "run.commands = ['rm -i  *.tmp *', '  echo **x**']")
    shown = computed(found, {})["run"]["commands"]
    assert markdown.block(shown) == "```\nrm -i  *.tmp *\n  echo **x**\n```"


def test_a_title_of_ten_thousand_letters_is_cut_and_says_so(tmp_path: Path) -> None:
    title = str(computed(recipe(tmp_path, f"title = '{'x' * 10_000}'"), {})["title"])
    assert title == "x" * 240 + "… (10,000 characters, the first 240 shown)"


@pytest.mark.parametrize(
    ("text", "line", "part"),
    [
        ("title = 'x'\nclaim = '{{ gone }}'", 2, "claim: 'gone' is undefined"),
        ('learned = [\n"a",\n"""\nb\nc {{ gone }}""",\n]', 5, "learned[1]: 'gone' is undefined"),
        ("claim = '{{ x }}'", 1, "bare number"),
        ("claim = '{% for i in x %}{% endfor %}'", 1, "for is not for prose"),
        ("claim = '{{ '", 1, "claim: "),
        ("[[checks]]\nresult = '{{ gone }}'", 2, "checks[0].result: 'gone' is undefined"),
    ],
)
def test_a_wrong_expression_names_file_line_and_key(
    tmp_path: Path, text: str, line: int, part: str
) -> None:
    found = recipe(tmp_path, text)
    with pytest.raises(UsageError) as caught:
        computed(found, {"x": 0.5})
    assert part in caught.value.message
    assert (caught.value.path, caught.value.line) == (found.path, line)


LOOKS_LIKE_A_RESULT = {
    "a gain of 0.05": ["0.05"],
    "it is +0.050 [0.000, 0.100]": ["+0.050", "0.000", "0.100"],
    "11.5 points better": ["11.5 points"],
    "95% of them": ["95%"],
    "34 of 36 audits": ["34 of 36"],
    "a third, 12 percent": ["12 percent"],
    "-3 all told": ["-3"],
    "{{ 0.34 | fraction }}": ["0.34"],
    "{{ x }} and 0.7": ["0.7"],
    "about 2.5 sigma": ["2.5 sigma"],
}
LOOKS_LIKE_NONE = [
    "two arms, three seeds",
    "GSM8K and Qwen2.5-0.5B",
    "`epsilon` is `0.28`",
    "TRL 0.19.1 of 2025",
    "arXiv:2609.00444 and https://arxiv.org/abs/2609.00444",
    "[paper](https://example.org/0.05)",
    "pass@1 by 2026-09-18",
    "see [4]",
    "{{ x | fraction(3) }}",
    "batches of 8",
]


@pytest.mark.parametrize(("text", "numbers"), LOOKS_LIKE_A_RESULT.items())
def test_a_number_typed_by_hand_is_told(tmp_path: Path, text: str, numbers: list[str]) -> None:
    found = recipe(tmp_path, f"title = 'x'\n\nlearned = [\n  '{text}',\n]\n")
    told = list(literals(found, prose_environment()))
    assert [one.number for one in told] == numbers
    assert {(one.key, one.line) for one in told} == {("learned[0]", 4)}


@pytest.mark.parametrize("text", LOOKS_LIKE_NONE)
def test_a_setting_a_version_or_a_name_is_not_told(tmp_path: Path, text: str) -> None:
    assert list(literals(recipe(tmp_path, f"claim = '{text}'"), prose_environment())) == []


@pytest.mark.parametrize("study", ["gppo-framework", "adaptive-clip"])
def test_the_committed_prose_has_no_number_typed_by_hand(study: str) -> None:
    from audit.resources import resource

    path = Path(str(resource(f"reports/{study}/recipe.toml")))
    assert list(literals(read_recipe(path), prose_environment())) == []


def test_every_error_is_an_audit_error(tmp_path: Path) -> None:
    with pytest.raises(AuditError):
        read_recipe(tmp_path / "none.toml")
