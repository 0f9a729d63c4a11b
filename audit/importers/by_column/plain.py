"""What makes a table plain: that its columns mean in every row what they mean in a few."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from audit.importers.columns import (
    TASK_NAMES,
    could_be_value,
    is_right_by_name,
    names_a_question,
    role_named,
    varies,
)
from audit.importers.draft import Options
from audit.importers.foreign import ForeignTable
from audit.importers.metric_names import plain
from audit.importers.wide_table import could_be_wide


class NotPlain(Exception):  # noqa: N818 - nothing is wrong with the table
    """A table that only the reader of rows can read; the message says why."""


@dataclass(frozen=True, slots=True)
class Conditions:
    """What every row must keep for the roles found in a few rows to be those of all.

    Attributes
    ----------
    constant : frozenset of str
        Columns that hold one value in all rows.
    right_or_wrong : bool
        Whether every value is 0, 1 or missing.
    """

    constant: frozenset[str]
    right_or_wrong: bool


def conditions(table: ForeignTable, roles: Mapping[str, str], options: Options) -> Conditions:
    """Return what every row must keep, given the roles that a few rows have.

    Roles follow from the names of columns but for these: which column of tasks varies, which of
    several columns is the value, whether rows are runs, and whether the table is a wide one. That
    something varies, or repeats, is seen in a few rows; that it does not, must be held in all.

    Raises
    ------
    NotPlain
        When the roles rest on something that a few rows cannot show.
    """
    task, value = roles.get("task"), roles.get("value")
    if task is None or value is None:
        raise NotPlain("no task or no value")
    if "status" in roles or names_a_question(task):
        raise NotPlain("runs with a state, or tasks named by their questions")
    if could_be_wide(table):
        raise NotPlain("it could be a wide table")
    constant: set[str] = set()
    if "task" not in options.columns:
        words = {plain(column): column for column in reversed(table.columns)}
        taken = {column for role, column in roles.items() if role not in ("task", "question")}
        named = [words[name] for name in TASK_NAMES if name in words and words[name] not in taken]
        if task not in named or not varies(table, task):
            raise NotPlain("the column of tasks is none by its name, or holds one task")
        before = named[: named.index(task)]
        if "question" in roles and len(named) - len(before) > 1:
            raise NotPlain("the questions choose among several columns of tasks")
        constant = set(before)
    return Conditions(frozenset(constant), _must_be_right_or_wrong(table, roles, options))


def _must_be_right_or_wrong(
    table: ForeignTable, roles: Mapping[str, str], options: Options
) -> bool:
    value = roles["value"]
    if "value" in {role_named(word) for word in options.columns}:
        return False
    if options.metric is not None and "metric" not in roles and value == options.metric:
        return False
    taken = {column for role, column in roles.items() if role != "value"}
    others = [c for c in table.columns if c not in taken and c != value and could_be_value(c)]
    if not others:
        return False
    if not is_right_by_name(value) or any(is_right_by_name(other) for other in others):
        raise NotPlain("several columns could be the value")
    return True
