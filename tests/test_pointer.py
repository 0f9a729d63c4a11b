from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.pointer import from_parts, join, locate, natural_key, parts, resolve

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(-1e6, 1e6) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


def every_pointer(value: Any, here: str = "") -> list[str]:
    found = [here]
    members = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for key, member in members:
        found += every_pointer(member, join(here, key))
    return found


@given(st.lists(st.text()))
def test_parts_undo_from_parts(tokens: list[str]) -> None:
    assert list(parts(from_parts(tokens))) == tokens


def test_tilde_and_slash_are_escaped_as_the_standard_says() -> None:
    assert join("/a", "b/c~d", 3) == "/a/b~1c~0d/3"
    assert resolve({"a": {"b/c~d": [0, 1, 2, "here"]}}, "/a/b~1c~0d/3") == "here"


@pytest.mark.parametrize("pointer", ["/a/2", "/a/-1", "/a/01", "/b", "/a/0/x"])
def test_a_place_that_is_not_there_is_a_key_error(pointer: str) -> None:
    with pytest.raises(KeyError):
        resolve({"a": [1, 2]}, pointer)


@given(JSON, st.sampled_from([None, 1, 3]), st.booleans())
def test_locate_finds_where_each_value_begins(document: Any, indent: int | None, asc: bool) -> None:
    text = json.dumps(document, indent=indent, ensure_ascii=asc)
    lines = text.split("\n")
    places = locate(text, every_pointer(document))
    for pointer, (line, column) in places.items():
        tail = "\n".join([lines[line - 1][column - 1 :], *lines[line:]])
        value, _ = json.JSONDecoder().raw_decode(tail)
        assert value == resolve(document, pointer)


def test_a_pointer_without_a_value_gets_its_nearest_ancestors_place() -> None:
    assert locate('{"a":\n [1]}', ["/a/7/x"]) == {"/a/7/x": (2, 2)}


def test_of_duplicate_keys_the_first_one_is_located() -> None:
    assert locate('{"a": 1, "a": 2}', ["/a"]) == {"/a": (1, 7)}


def test_places_are_found_before_text_that_would_take_long_to_skip() -> None:
    tail = "[" + ",".join(["0"] * 10) + "}"  # not even JSON: it is never looked at
    assert locate('{"a": [1, 2], "b": ' + tail, ["/a/1"]) == {"/a/1": (1, 11)}


def test_pointers_sort_by_number_where_they_hold_numbers() -> None:
    assert sorted(["/a/10", "/a/9", "/a"], key=natural_key) == ["/a", "/a/9", "/a/10"]
