"""Columns of rows hold what the rows hold, however they are read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.facts import row_columns
from audit.facts.row_columns import Columns

NAMES = ("a", "b", "c", "d")
ROW = st.dictionaries(st.sampled_from(NAMES), st.floats(-2, 2) | st.integers(-3, 3), max_size=4)
SAME = st.lists(st.fixed_dictionaries({name: st.floats(-2, 2) for name in NAMES[:3]}), max_size=9)


@pytest.fixture(autouse=True, scope="module")
def small_pieces() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(row_columns, "_CACHED_ROWS", 2)
        yield


@given(st.lists(ROW, max_size=9) | SAME, st.sets(st.sampled_from(NAMES)))
def test_a_column_has_the_value_of_every_row(rows: list[dict[str, Any]], numbers: set[str]) -> None:
    columns = Columns(rows, numbers)
    for name in (*NAMES, "other"):
        due = [row.get(name) for row in rows]
        array = columns.array(name)
        if array is None:
            assert name not in numbers or None in due
        else:
            assert array.dtype == np.float64
            assert array.tolist() == due
        assert columns.known(name) == len(due) - due.count(None)
        assert columns.values(name) == due


def test_fields_are_matched_by_name_and_not_by_place() -> None:
    columns = Columns([{"a": 1, "b": 2}, {"b": 3, "a": 4}], ("b",))
    assert columns.values("a") == [1, 4]
    array = columns.array("b")
    assert array is not None
    assert array.tolist() == [2, 3]


def test_rows_as_long_but_with_other_fields_are_read_one_by_one() -> None:
    columns = Columns([{"a": 1, "b": 2}, {"a": 3, "c": 4}], ("a", "b"))
    assert columns.values("b") == [2, None]
    assert columns.array("b") is None
    array = columns.array("a")
    assert array is not None
    assert array.tolist() == [1, 3]
