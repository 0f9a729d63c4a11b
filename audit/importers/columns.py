"""Which column of a table plays which part, by its name or by what the user says."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from audit.errors import ImportRefused, UsageError
from audit.importers.draft import Options
from audit.importers.foreign import Foreign, JsonLines, Table
from audit.importers.metric_names import is_accuracy, plain

ROLES = ("arm", "seed", "run", "task", "sample", "value", "benchmark", "metric", "examples")

# In order of precedence. Names that could be a decoding seed or a row number are left out.
_NAMES: dict[str, tuple[str, ...]] = {
    "arm": ("arm", "method", "algorithm", "algo", "recipe", "condition", "variant", "model"),
    "seed": ("train_seed", "training_seed", "seed"),
    "run": ("run", "run_id", "run_name", "trial", "replicate"),
    "task": (
        "task",
        "task_id",
        "item",
        "item_id",
        "question_id",
        "problem_id",
        "example_id",
        "doc_id",
        "prompt_id",
        "id",
    ),
    "sample": (
        "sample",
        "sample_id",
        "sample_idx",
        "sample_index",
        "repeat",
        "epoch",
        "attempt",
        "rollout",
        "draw",
    ),
    "benchmark": ("benchmark", "dataset", "eval", "task_set"),
    "metric": ("metric", "metric_name"),
    "examples": ("n_samples", "n_examples", "examples", "n_items", "n"),
}
_VALUES = ("value", "score", "outcome", "result", "accuracy", "acc", "exact_match", "correct")
_MORE_VALUES = (
    "is_correct",
    "passed",
    "pass",
    "success",
    "pass_1",
    "pass_at_1",
    "reward",
    "return",
)

# Names that do not say what was measured.
_STANDARD_ERROR = re.compile(r"(^|_)(stderr|std_err|std_error|standard_error|se|sem)$")
_UNNAMED = frozenset({"value", "score", "outcome", "result"})


def table_of(content: Any) -> Table | None:
    """Return rows and columns of a table, JSON Lines, or a JSON list of objects; else None."""
    if isinstance(content, Table):
        return content
    rows = content.rows if isinstance(content, JsonLines) else content
    if not isinstance(rows, tuple | list) or not rows or not all(isinstance(r, dict) for r in rows):
        return None
    columns = dict.fromkeys(key for row in rows for key in row)
    return Table(tuple(columns), tuple(rows))


def roles_of(columns: Sequence[str], options: Options, path: str) -> dict[str, str]:
    """Return column by role.

    Raises
    ------
    UsageError
        When a column the user names is not there.
    ImportRefused
        When several columns could be the value, or it is a standard error.
    """
    for role, column in options.columns.items():
        if column not in columns:
            raise UsageError(f"no column {column!r} for {role}: {', '.join(columns)}", path=path)
    found = dict(options.columns)
    words = {plain(column): column for column in reversed(columns)}
    for role, names in _NAMES.items():
        named = next((words[name] for name in names if name in words), None)
        if role not in found and named is not None and named not in found.values():
            found[role] = named
    if _STANDARD_ERROR.search(plain(found.get("value", ""))):
        raise ImportRefused(f"{found['value']} is a standard error, never a score", path=path)
    if "value" not in found:
        value = _value_column(columns, found, options, path)
        if value is not None:
            found["value"] = value
    return found


def _value_column(
    columns: Sequence[str], found: Mapping[str, str], options: Options, path: str
) -> str | None:
    free = [column for column in columns if column not in found.values()]
    if options.metric is not None and "metric" not in found:
        asked = [column for column in free if column == options.metric]
        if asked:
            return asked[0]
    named = [column for column in free if plain(column) in _VALUES + _MORE_VALUES]
    if len(named) > 1:
        raise ImportRefused(
            f"{', '.join(named)} could each be the value; say --column value=NAME", path=path
        )
    return named[0] if named else None


def names_a_metric(column: str) -> bool:
    """Whether a value column's name says what was measured."""
    return plain(column) not in _UNNAMED


def metric_of(column: str, named: str | None, options: Options) -> str | None:
    """Return the metric: as the table's metric column has it, as the user or the column says.

    None where nothing says it.
    """
    name = named or options.metric or (column if names_a_metric(column) else None)
    if name is None:
        return None
    return "accuracy" if is_accuracy(name) else name


def chosen_rows(file: Foreign, table: Table, options: Options) -> Iterator[dict[str, Any]]:
    """Yield the rows that ``--where`` keeps.

    Raises
    ------
    UsageError
        When a column of ``--where`` is not there, or no row is left.
    """
    for column in options.where:
        if column not in table.columns:
            raise UsageError(f"no column {column!r}: {', '.join(table.columns)}", path=file.name)
    kept = [
        row
        for row in table.rows
        if all(text(row.get(name)) == wanted for name, wanted in options.where.items())
    ]
    if not kept:
        raise UsageError("no row is left", path=file.name)
    yield from kept


def text(value: Any) -> str:
    """Return a cell as text, empty for a missing one."""
    return "" if value is None else str(value).strip()
