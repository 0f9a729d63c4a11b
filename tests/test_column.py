"""Lists of outcomes that are arrays too: the same values, whoever asks."""

from __future__ import annotations

import copy
import json
from collections import Counter
from functools import reduce
from operator import add
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.column import Column, largest, ratios, smallest, total
from audit.outcomes_file import make_columns, with_columns
from audit.results import Evaluation, load
from audit.stats.draws import _tallied
from audit.stats.stems import _part_alike, stem_clusters, stem_of

COUNTS = st.lists(st.integers(0, 2**53), max_size=30)
NUMBERS = st.lists(st.integers(-(2**53), 2**53) | st.floats(allow_nan=False), max_size=30)


@given(COUNTS | NUMBERS)
def test_a_column_is_its_list_and_the_array_of_it(values: list[Any]) -> None:
    column, plain = Column(values), np.asarray(values)
    assert column == values
    assert json.dumps(column) == json.dumps(values)
    for _ in range(2):  # made, then kept
        array = np.asarray(column)
        assert array.dtype == plain.dtype
        assert array.tolist() == plain.tolist()
    assert np.asarray([column, column]).tolist() == np.asarray([values, values]).tolist()
    assert np.asarray(column, float).tolist() == np.asarray(values, float).tolist()


@given(COUNTS | NUMBERS)
def test_sum_and_range_of_a_column_are_those_of_its_list(values: list[Any]) -> None:
    column = Column(values)
    for _ in range(2):  # taken, then kept
        assert total(column) == total(values) == sum(values)
        if values:
            assert (smallest(column), largest(column)) == (min(values), max(values))


def test_a_sum_that_64_bits_do_not_hold_is_exact() -> None:
    assert total(Column([2**53] * 1025)) == 1025 * 2**53


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(1, 9)), min_size=1, max_size=60))
def test_a_mean_adds_task_after_task(tasks: list[tuple[int, int]]) -> None:
    counts, samples = ([row[place] for row in tasks] for place in (0, 1))
    due = reduce(add, (right / drawn for right, drawn in tasks)) / len(tasks)
    for kind in (list, Column):
        outcomes = {"correct": kind(counts), "samples": kind(samples)}
        assert Evaluation("", outcomes).mean == due


def test_small_counts_take_a_byte_and_are_added_as_whole_numbers() -> None:
    column = Column([200, 100, 0])
    assert (np.asarray(column) + np.asarray(column)).tolist() == [400, 200, 0]
    assert column._packed.dtype == np.uint8


def test_a_copy_of_a_column_is_a_plain_list_and_may_be_changed() -> None:
    column = Column([1, 2])
    assert np.asarray(column).tolist() == [1, 2]
    copied = copy.copy(column)
    copied[0] = 7
    assert (type(copied), copied) == (list, [7, 2])
    assert np.asarray(column).tolist() == [1, 2]


@given(COUNTS, COUNTS)
def test_rates_are_those_of_python(right: list[int], drawn: list[int]) -> None:
    expected = [c / k for c, k in zip(right, drawn, strict=False) if k]
    assert ratios(right, drawn).tolist() == expected
    assert ratios(Column(right), Column(drawn)).tolist() == expected


def test_equal_ids_become_one_object_and_others_do_not() -> None:
    def block(ids: list[Any]) -> dict[str, Any]:
        return {"evaluation": {"task_ids": ids, "correct": [1, 0, 1]}}

    ids: list[list[Any]] = [["a", "b", "c"], ["a", "b", "c"], ["a", "x", "c"], [1, 1, 3]]
    ids += [[1, True, 3], [1, 1.0, 3], [], []]
    document = {"seed_results": [block(list(one)) for one in ids]}
    made = with_columns(document)
    found = [run["evaluation"]["task_ids"] for run in made["seed_results"]]
    assert [list(map(type, one)) for one in found] == [list(map(type, one)) for one in ids]
    assert found == ids
    assert found[0] is found[1]
    assert len({id(one) for one in found}) == len(found) - 1
    assert type(document["seed_results"][0]["evaluation"]["task_ids"]) is list
    make_columns(document)
    assert document == made
    assert type(document["seed_results"][0]["evaluation"]["task_ids"]) is Column


# ---- what is told of very many at once is what is told of each


BEGINNINGS = st.sampled_from(["", "task", "task-", "a/b#", "set 1: ", "-", "task_\t"])
ENDS = st.text(st.sampled_from("0123456789ab-/ é"), max_size=4)


@given(BEGINNINGS, st.lists(ENDS, min_size=1, max_size=12, unique=True), st.integers(1, 3))
def test_stems_of_many_ids_are_those_of_each(beginning: str, ends: list[str], digits: int) -> None:
    ids = [f"{beginning}{end}" for end in ends]
    ids += [f"{beginning}{number:0{digits}d}" for number in range(1000)]
    each = tuple(stem_of(task) or task for task in ids)
    assert stem_clusters(ids).labels == each
    assert stem_clusters(ids).groups == len(set(each))
    if _part_alike(ids):
        assert len(set(each)) == 1 or list(each) == ids


@pytest.mark.parametrize(
    ("ids", "alike"),
    [
        ([f"task-{number:04d}" for number in range(2000)], True),
        ([str(number) for number in range(2000)], True),
        ([f"q{number}" for number in range(2000)], True),
        ([f"task-{number // 2}-{number % 2}" for number in range(2000)], False),
        ([f"task-{number}" for number in range(999)], False),
    ],
)
def test_ids_that_part_alike_are_seen_at_once(ids: list[str], alike: bool) -> None:
    assert _part_alike(ids) is alike


@given(st.lists(st.integers(0, 20), max_size=60), st.integers(21, 70))
def test_codes_are_tallied_alike_whether_sorted_or_counted(codes: list[int], bound: int) -> None:
    found, numbers = _tallied(np.array(codes, np.int64), bound)
    expected = sorted(Counter(codes).items())
    assert list(zip(found.tolist(), numbers.tolist(), strict=True)) == expected


def test_whole_floats_of_a_file_are_whole_numbers_in_its_columns() -> None:
    block = {"task_ids": ["a", 4.0, "c"], "correct": [1.0, 0, 1], "samples": [2, 2.0, 2]}
    document: dict[str, Any] = {"schema_version": 2, "method": "m"}
    document["seed_results"] = [{"seed": 1, "evaluation": block}]
    evaluation = load(document).runs[0].evaluations[0]
    assert evaluation.task_ids == ("a", "4", "c")
    assert [*map(repr, evaluation.counts or ()), *map(repr, evaluation.samples or ())] == [
        *("1", "0", "1", "2", "2", "2")
    ]
