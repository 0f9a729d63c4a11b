"""Configuration files: lines of keys, words of faults, and schemas an editor can use."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from audit.config import LARGEST_BYTES, key_lines, key_name, located, parse_config, read_config
from audit.errors import ConfigError, InputError
from audit.schema import published_schema

NAMES = ("study", "policy", "recipe")

# ---- the lines of keys

TEXT = r'''# a comment with = and [brackets]
top = 1.5
"a b".c = [1, [2,
  3],  # three
  {when = 2026-09-18 10:30:00.5, "x#y" = '#'}, ]
long = """
first \"""
second"""

[t.u] # header
v = {}
[[list]]
q = 1
[[list]]
q = 2
[list.inner]
r = "\u0041"
'''
LINES = {
    "top": 2,
    '"a b"': 3,
    '"a b".c': 3,
    '"a b".c[0]': 3,
    '"a b".c[1]': 3,
    '"a b".c[1][0]': 3,
    '"a b".c[1][1]': 4,
    '"a b".c[2]': 5,
    '"a b".c[2].when': 5,
    '"a b".c[2]."x#y"': 5,
    "long": 7,
    "t": 10,
    "t.u": 10,
    "t.u.v": 11,
    "list": 12,
    "list[0]": 12,
    "list[0].q": 13,
    "list[1]": 14,
    "list[1].q": 15,
    "list[1].inner": 16,
    "list[1].inner.r": 17,
}


def test_every_key_and_entry_has_its_line() -> None:
    tomllib.loads(TEXT)
    assert key_lines(TEXT) == LINES
    assert key_lines(TEXT.replace("\n", "\r\n")) == LINES


def places(value: Any, *steps: str | int) -> Iterator[str]:
    """Yield every key and list entry of a document: what the standard library found."""
    if steps:
        yield key_name(*steps)
    if isinstance(value, dict):
        for name, below in value.items():
            yield from places(below, *steps, name)
    elif isinstance(value, list):
        for index, below in enumerate(value):
            yield from places(below, *steps, index)


TEXTS = st.text(alphabet="ab\"\\'#=[]{},.\n é", max_size=8)
SCALARS = st.one_of(
    st.integers(-9, 9),
    st.floats(allow_nan=False, allow_infinity=False),
    st.booleans(),
    st.dates(),
    st.datetimes(),
    st.times(),
    TEXTS,
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
TABLES = st.recursive(
    st.dictionaries(TEXTS, VALUES, max_size=3),
    lambda inner: st.dictionaries(TEXTS, inner | st.lists(inner, min_size=1, max_size=2)),
    max_leaves=6,
)


def written(value: Any, draw: st.DrawFn) -> str:
    """Write one value as TOML, with the line breaks and comments that lists may have."""
    gap = draw(st.sampled_from(["", " ", "\n", " # ] , x\n"]))
    match value:
        case bool():
            return str(value).lower()
        case str():
            form = draw(st.sampled_from(['"', '"""', '"""\n']))
            quoted = json.dumps(value, ensure_ascii=False)[1:-1]
            return form + quoted + form.rstrip("\n")
        case dict():
            pairs = [f"{quoted_key(k)} = {written(v, draw)}" for k, v in value.items()]
            return "{" + ", ".join(pairs) + "}"
        case list():
            return f"[{gap}" + f",{gap}".join(written(v, draw) for v in value) + f"{gap}]"
    return str(value)


def quoted_key(name: str) -> str:
    return name if re.fullmatch("[a-z]+", name) else json.dumps(name, ensure_ascii=False)


@st.composite
def toml_texts(draw: st.DrawFn) -> str:
    def block(table: dict[str, Any], way: list[str]) -> Iterator[str]:
        below = {}
        for name, value in table.items():
            nested = isinstance(value, dict) or (
                isinstance(value, list) and value and all(isinstance(v, dict) for v in value)
            )
            if nested and draw(st.booleans()):
                below[name] = value
            else:
                yield f"{quoted_key(name)} = {written(value, draw)}"
        for name, value in below.items():
            header = ".".join(map(quoted_key, [*way, name]))
            for one in value if isinstance(value, list) else [value]:
                yield f"[[{header}]]" if isinstance(value, list) else f"[ {header} ]"
                yield from block(one, [*way, name])

    return "\n".join(block(draw(TABLES), [])) + "\n"


@given(toml_texts())
def test_the_keys_that_have_lines_are_those_the_standard_library_reads(text: str) -> None:
    lines = key_lines(text)
    assert set(lines) == set(places(tomllib.loads(text)))
    assert all(1 <= line <= text.count("\n") + 1 for line in lines.values())


@given(st.lists(st.sampled_from(["a = 1", "[t]", "# c", "", "b = [", "1,", "]"]), max_size=12))
def test_a_key_begins_on_the_line_that_has_it(rows: list[str]) -> None:
    text = "\n".join(rows) + "\nlast = 1\n"
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return
    for key, line in key_lines(text).items():
        name = key.rpartition(".")[2]
        if "[" not in name:
            assert name in text.splitlines()[line - 1]


# ---- what is refused


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"title = '\xff'", "c.toml: not TOML: not UTF-8"),
        (b"title = 1\n\ntitle = 2\n", "c.toml:3:10: not TOML: Cannot overwrite a value"),
        (b"title = " + b"[" * 5000, "c.toml: not TOML: nested too deeply"),
        (b"labels." + b"a." * 200 + b"b = 1", "nested too deeply"),
        (b"x = " + b"1" * 5000, "c.toml: not TOML: Exceeds the limit"),
        (b"labels.x = nan", "c.toml:1: labels.x: expected a finite number, found nan"),
        (b"x" * (LARGEST_BYTES + 1), "c.toml: larger than 2,000,000 bytes"),
        (b"labels.'a b' = 1", 'c.toml:1: labels."a b": expected a string, found 1'),
    ],
)
def test_what_no_schema_can_judge_is_one_line(data: bytes, says: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_config("c.toml", data, "recipe")
    assert says in caught.value.lines[0]


def test_a_thousand_faults_are_twenty_lines_and_a_word_about_the_rest() -> None:
    data = "".join(f"key{n} = 1\n" for n in range(1000)).encode()
    with pytest.raises(ConfigError) as caught:
        parse_config("c.toml", data, "recipe")
    assert len(caught.value.lines) == 21
    assert caught.value.lines[0].startswith("c.toml: more than 20 faults")


def test_a_mark_in_front_is_passed_over_and_dates_are_texts(tmp_path: Path) -> None:
    path = tmp_path / "recipe.toml"
    path.write_text("\ufefftitle = 'x'\npaper.date = 2026-09-18\n", encoding="utf-8")
    config = read_config(path, "recipe")
    assert config.content == {"title": "x", "paper": {"date": "2026-09-18"}}
    assert config.lines["paper.date"] == 2


def test_an_error_about_a_key_found_later_has_the_line_of_what_is_nearest(tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    path.write_text("a = 1\n[task]\nname = 'x'\n")
    assert str(located(str(path), "task.name", "wrong")) == f"{path}:3: task.name: wrong"
    assert str(located(str(path), "task.model", "missing")) == f"{path}:2: task.model: missing"
    assert str(located("/none.toml", "task.model", "x")) == "/none.toml: task.model: x"


# ---- the schemas, as editors use them


def described(fragment: dict[str, Any], place: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, below in fragment.get("properties", {}).items():
        if "$ref" not in below:
            yield f"{place}/{name}", below
        yield from described(below, f"{place}/{name}")
    if isinstance(fragment.get("items"), dict):
        yield from described(fragment["items"], f"{place}/items")
    for name, below in fragment.get("$defs", {}).items():
        yield f"{place}/$defs/{name}", below
        yield from described(below, f"{place}/$defs/{name}")


PLACES = [(name, *found) for name in NAMES for found in described(published_schema(name), name)]


@pytest.mark.parametrize("name", NAMES)
def test_a_schema_is_valid_2020_12_and_so_is_its_example(name: str) -> None:
    schema = published_schema(name)
    Draft202012Validator.check_schema(schema)
    assert schema["$id"].endswith(f"/schemas/{name}.schema.json")
    for example in schema["examples"]:
        assert Draft202012Validator(schema).is_valid(example)


@pytest.mark.parametrize(("name", "place", "fragment"), PLACES, ids=[p[1] for p in PLACES])
def test_every_key_is_described_with_values_that_keep_its_schema(
    name: str, place: str, fragment: dict[str, Any]
) -> None:
    assert fragment["title"]
    assert fragment["description"].endswith(".")
    if {"integer", "number"} & {fragment.get("type"), fragment.get("items", {}).get("type")}:
        assert re.search(r"Unit: [^.]+\.", fragment["description"])
    rules = Draft202012Validator({**fragment, "$defs": published_schema(name).get("$defs", {})})
    for value in [*fragment["examples"], *[fragment[k] for k in ("default",) if k in fragment]]:
        assert rules.is_valid(value), value


@pytest.mark.parametrize(("name", "place", "fragment"), PLACES, ids=[p[1] for p in PLACES])
def test_every_table_of_fixed_keys_is_closed(
    name: str, place: str, fragment: dict[str, Any]
) -> None:
    if "properties" in fragment:
        assert fragment["additionalProperties"] is False
