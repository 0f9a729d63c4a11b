"""Which column of a table plays which part, by its name or by what the user says."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from audit.errors import ImportRefused, UsageError
from audit.importers.draft import Options
from audit.importers.foreign import Foreign, ForeignTable, JsonLines
from audit.importers.metric_names import ACCURACY, is_accuracy, plain
from audit.importers.numbers import cell
from audit.importers.path_seeds import CONFIG, is_seed_key
from audit.pointer import parts, resolve

# What columns of task ids are called, in order of precedence.
TASK_NAMES = (
    "task_id",
    "item_id",
    "question_id",
    "problem_id",
    "example_id",
    "instance_id",
    "doc_id",
    "prompt_id",
    "unique_id",
    "item",
    "qid",
    "uid",
    "task",
    "id",
    "idx",
    "index",
)
# In order of precedence. Names that could be a decoding seed or a row number are left out.
_NAMES: dict[str, tuple[str, ...]] = {
    "arm": (
        "arm",
        "method",
        "algorithm",
        "algo",
        "recipe",
        "condition",
        "variant",
        "group",
        "config",
        "model",
    ),
    "seed": ("train_seed", "training_seed", "seed", "random_seed", "rng_seed"),
    "run": ("run", "run_id", "run_name", "job", "trial", "rep", "replicate"),
    "task": TASK_NAMES,
    "sample": (
        "sample",
        "sample_id",
        "sample_idx",
        "sample_index",
        "repeat",
        "repetition",
        "epoch",
        "attempt",
        "rollout",
        "draw",
        "gen",
        "generation_index",
        "trial",
        "rep",
    ),
    "benchmark": ("benchmark", "dataset", "data_source", "eval", "task_set"),
    "metric": ("metric", "metric_name"),
    "examples": (
        "n_samples",
        "n_examples",
        "examples",
        "n_items",
        "n_eval",
        "num_samples",
        "num_examples",
        "num_eval",
        "n_total",
        "total_count",
        "n",
    ),
    "count": ("num_correct", "n_correct", "correct_count"),
    "step": ("step", "global_step", "checkpoint_step", "train_global_step", "trainer_global_step"),
    "status": ("state", "status", "exit_code", "exitcode"),
    "error": ("error", "errored", "exception", "failure"),
    "truncated": ("truncated", "is_truncated"),
    "stop": ("finish_reason", "stop_reason"),
    "parsed": ("parsed", "has_answer", "format_ok", "is_parsable"),
    "unparsed": ("unparsed", "no_answer"),
    "tokens": ("tokens", "output_tokens", "completion_tokens", "response_tokens", "n_tokens"),
    "text": ("completion", "completions", "response", "generation", "output"),
    "time": (
        "generation_ms",
        "total_ms",
        "duration_ms",
        "time_ms",
        "latency_ms",
        "time_seconds",
        "duration_seconds",
    ),
    "gold": ("gold", "gts", "gt", "ground_truth", "answer", "target", "expected"),
    "question": ("question", "prompt", "input", "problem", "query"),
}
# What the user may say a column is; `right` and `score` are both the value.
ROLES = ("arm", "seed", "run", "task", "sample", "value", "benchmark", "metric", "examples")
_SAID = {"right": "value", "score": "value", "total": "examples"}
MAPPED = (*ROLES, *_SAID, *(role for role in _NAMES if role not in ROLES), "records")

_RIGHT = frozenset(
    [
        "accuracy",
        "acc",
        "exact_match",
        "em",
        "correct",
        "is_correct",
        "right",
        "is_right",
        "passed",
        "pass",
        "is_pass",
        "success",
        "resolved",
        "verified",
        "valid",
        "pass_1",
        "pass_at_1",
    ]
)
_SCORES = frozenset(["value", "score", "outcome", "result", "reward", "return"])

# Names that do not say what was measured.
_STANDARD_ERROR = re.compile(r"(^|_)(stderr|std_err|std_error|standard_error|se|sem)$")
# Names of tasks that are as often names or numbers of rows.
_ROW_IDS = frozenset({"id", "uid", "idx", "index", "item"})
_UNNAMED = frozenset({"value", "score", "outcome", "result", "right", "valid"})
# Seeds that the name itself calls the training's.
TRAINING_SEEDS = frozenset({"train_seed", "training_seed"})


def role_named(role: str) -> str:
    """Return the role that a word of the user's means, itself where it is one."""
    return _SAID.get(role, role)


def table_of(content: Any, records: str | None = None) -> ForeignTable | None:
    """Return rows and columns of a table, JSON Lines, or a JSON list of objects; else None.

    Members of nested objects are columns with ``/`` between the parts, as in a JSON Pointer.

    Parameters
    ----------
    content : object
        What was read of a file.
    records : str or None
        JSON Pointer to the list of a JSON document.
    """
    if isinstance(content, ForeignTable):
        return content
    rows = content.rows if isinstance(content, JsonLines) else content
    if records is not None and not isinstance(content, JsonLines):
        rows = _at(content, records)
    if not isinstance(rows, tuple | list) or not rows or not all(isinstance(r, dict) for r in rows):
        return None
    plain_rows = tuple(_flat(row) for row in rows)
    columns = dict.fromkeys(key for row in plain_rows for key in row)
    return ForeignTable(tuple(columns), plain_rows)


def _at(document: Any, pointer: str) -> Any:
    try:
        return resolve(document, pointer if pointer.startswith("/") else f"/{pointer}")
    except KeyError:
        return None


def _flat(row: dict[str, Any]) -> dict[str, Any]:
    if not any(isinstance(value, dict) for value in row.values()):
        return row
    found: dict[str, Any] = {}
    for key, value in row.items():
        if isinstance(value, dict) and value and plain(key) not in _NAMES["error"]:
            found |= {f"{key}/{below}": inner for below, inner in _flat(value).items()}
        else:
            found[key] = value
    return found


def _configured(columns: Sequence[str], path: str) -> str:
    """Return the one column that is a training seed by its name, as in ``config.seed``."""
    fitting = [column for column in columns if is_seed_key(column)]
    if len(fitting) != 1:
        listed = ", ".join(fitting or columns)
        what = "several columns are seeds" if fitting else "no column is a training seed"
        raise UsageError(f"--seed-from config: {what}; name one of {listed}", path=path)
    return fitting[0]


def roles_of(table: ForeignTable, options: Options, path: str) -> dict[str, str]:
    """Return column by role.

    Raises
    ------
    UsageError
        When a column the user names is not there.
    ImportRefused
        When several columns could be the value, or it is a standard error.
    """
    columns = table.columns
    found = {}
    for word, column in options.columns.items():
        if word == "records":
            continue
        role = role_named(word)
        found[role] = _named(column, columns)
        if found[role] is None:
            raise UsageError(f"no column {column!r} for {word}: {', '.join(columns)}", path=path)
    if options.seed_key is not None:
        key = options.seed_key
        found["seed"] = _configured(columns, path) if key == CONFIG else _named(key, columns)
        if found["seed"] is None:
            raise UsageError(
                f"--seed-from {options.seed_key}: no such column, and no {{seed}} for a path; "
                f"there are {', '.join(columns)}",
                path=path,
            )
    said: dict[str, str] = {role: column for role, column in found.items() if column is not None}
    words = {plain(column): column for column in reversed(columns)}
    for role, names in _NAMES.items():
        named = next((words[n] for n in names if n in words and _free(words[n], said)), None)
        if role not in said and named is not None:
            said[role] = named
    if _STANDARD_ERROR.search(plain(said.get("value", ""))):
        raise ImportRefused(f"{said['value']} is a standard error, never a score", path=path)
    if "value" not in said:
        value = _value_column(table, said, options, path)
        if value is not None:
            said["value"] = value
    return _of_tasks_or_runs(table, said, options)


def _free(column: str, said: Mapping[str, str]) -> bool:
    return column not in said.values()


def _named(column: str, columns: Sequence[str]) -> str | None:
    """Return the column of a name or JSON Pointer."""
    names = (column, "/".join(parts(column)) if column.startswith("/") else column)
    return next((name for name in names if name in columns), None)


def _of_tasks_or_runs(
    table: ForeignTable, said: dict[str, str], options: Options
) -> dict[str, str]:
    """Settle what tells tasks apart, and whether a counter such as `trial` is of answers."""
    if "task" not in options.columns and "value" in said:
        task = _task_column(table, said)
        if task is None:
            said.pop("task", None)
        else:
            said["task"] = task
    tasked = "task" in said
    for role in ("run", "sample"):
        column = said.get(role, "")
        wrong = plain(column) in _NAMES["sample" if role == "run" else "run"]
        if role not in options.columns and wrong and tasked is (role == "run"):
            del said[role]
            other = "sample" if role == "run" else "run"
            if other not in said:
                said[other] = column
    return said


def _task_column(table: ForeignTable, said: Mapping[str, str]) -> str | None:
    """Return the first column of task ids that is not the same in every row."""
    words = {plain(column): column for column in reversed(table.columns)}
    taken = {column for role, column in said.items() if role not in ("task", "question")}
    names = [words[name] for name in _NAMES["task"] if name in words]
    names = [name for name in names if name not in taken]
    if _one_row_a_run(table, said):
        names = [name for name in names if plain(name) not in _ROW_IDS]
    varying = [name for name in names if varies(table, name)]
    if varying:
        return _not_a_topic(table, varying, said)
    if "question" in said and varies(table, said["question"]) and "arm" not in said:
        return said["question"]
    if names and (len(table.rows) == 1 or _numbers_answers(said)):
        return names[0]
    only = [name for name in names if plain(name).endswith("_id")]  # a file of one task
    return only[0] if only and not _one_row_a_run(table, said) else None


def _numbers_answers(said: Mapping[str, str]) -> bool:
    """Whether a column numbers the answers to a task, and nothing else."""
    named = plain(said.get("sample", ""))
    return named in _NAMES["sample"] and named not in _NAMES["run"]


def _one_row_a_run(table: ForeignTable, said: Mapping[str, str]) -> bool:
    """Whether arm, seed and run name every row, so that an id of rows names no tasks."""
    labels = [said[role] for role in ("arm", "seed", "run", "benchmark", "metric") if role in said]
    if not {"arm", "seed", "run"} & set(said) or len(table.rows) < 2:
        return False
    keys = {tuple(_key(row.get(column)) for column in labels) for row in table.rows}
    return len(keys) == len(table.rows)


def varies(table: ForeignTable, column: str) -> bool:
    """Whether a column has two values; empty cells are none."""
    values = {_key(row[column]) for row in table.rows if row.get(column) not in (None, "")}
    return len(values) > 1


def _not_a_topic(table: ForeignTable, names: Sequence[str], said: Mapping[str, str]) -> str:
    """Return the first column under which no two questions share one id."""
    question = said.get("question")
    if question is None or len(names) == 1:
        return names[0]
    for name in names:
        asked: dict[str, str] = {}
        rows = [row for row in table.rows if text(row.get(name)) and text(row.get(question))]
        pairs = [(_key(row[name]), _key(row[question])) for row in rows]
        if all(asked.setdefault(task, words) == words for task, words in pairs):
            return name
    return names[0]


def _key(value: Any) -> str:
    return value if isinstance(value, str) else repr(value)


def _value_column(
    table: ForeignTable, found: Mapping[str, str], options: Options, path: str
) -> str | None:
    free = [column for column in table.columns if column not in found.values()]
    if options.metric is not None and "metric" not in found:
        asked = [column for column in free if column == options.metric]
        if asked:
            return asked[0]
    whole = [column for column in free if plain(column) in _RIGHT]
    last = [column for column in free if _last(column) in _RIGHT]
    if {"task", "question"} & set(found):  # rows are answers: right or wrong before a score
        for right in (whole, last):
            answers = [column for column in right if _right_or_wrong(table, column)]
            if answers:
                return _only(table, answers, path)
    scores = [column for column in free if plain(column) in _SCORES]
    names = [*whole, *scores] or last or [column for column in free if _last(column) in _SCORES]
    return _only(table, names, path) if names else None


def could_be_value(column: str) -> bool:
    """Whether a column's name is one that values have."""
    return {plain(column), _last(column)} & {*_RIGHT, *_SCORES} != set()


def is_right_by_name(column: str) -> bool:
    """Whether a column's whole name says that it holds right and wrong."""
    return plain(column) in _RIGHT


def _last(column: str) -> str:
    """Return the last part of the name of a nested member, in lower case."""
    return plain(column.rsplit("/", 1)[-1])


def _only(table: ForeignTable, names: Sequence[str], path: str) -> str:
    """Return the first of the columns that could be the value, where they all say the same.

    Raises
    ------
    ImportRefused
        When they do not.
    """
    first = names[0]
    if len(names) == 1 or all(_agree(table, first, other) == 0 for other in names[1:]):
        return first
    differ = max(_agree(table, first, other) for other in names[1:])
    choices = " or ".join(f"--map value={name}" for name in names)
    raise ImportRefused(
        f"{', '.join(names)} could each be the value, and differ in {differ} of "
        f"{len(table.rows)} rows: {choices}",
        path=path,
    )


def _right_or_wrong(table: ForeignTable, column: str) -> bool:
    values = [row.get(column) for row in table.rows if row.get(column) not in (None, "")]
    flat = [entry for value in values for entry in (value if isinstance(value, list) else [value])]
    return bool(flat) and all(cell(entry)[0] in (0, 1) for entry in flat)


def _agree(table: ForeignTable, one: str, other: str) -> int:
    """Return in how many rows two columns hold different numbers."""
    return sum(cell(row.get(one))[0] != cell(row.get(other))[0] for row in table.rows)


def names_a_question(column: str) -> bool:
    """Whether a column's name says that it holds questions, not names of tasks."""
    return plain(column.rsplit("/", 1)[-1]) in _NAMES["question"]


def names_a_metric(column: str) -> bool:
    """Whether a value column's name says what was measured."""
    return plain(column) not in _UNNAMED


def metric_of(column: str, named: str | None, options: Options) -> str | None:
    """Return the metric: as the table's metric column has it, as the user or the column says.

    None where nothing says it.
    """
    own = column.rsplit("/", 1)[-1] if is_accuracy(column) else column
    name = named or options.metric or (own if names_a_metric(column) else None)
    if name is None:
        return None
    return ACCURACY if is_accuracy(name) else name


def kept(row: Mapping[str, Any], options: Options) -> bool:
    """Whether ``--where`` keeps a row."""
    return all(text(row.get(name)) == wanted for name, wanted in options.where.items())


def is_asked_for(row: Mapping[str, Any], roles: Mapping[str, str], options: Options) -> bool:
    """Whether a row is of the metric and the benchmark that the user asks for."""
    benchmark, metric = (
        text(row.get(roles[role])) if role in roles else "" for role in ("benchmark", "metric")
    )
    wanted = options.metric
    same = wanted is None or metric in ("", wanted)
    if wanted == ACCURACY:
        same = same or is_accuracy(metric)
    asked = options.benchmark
    return same and (asked is None or benchmark == asked or "benchmark" not in roles)


def chosen_rows(file: Foreign, table: ForeignTable, options: Options) -> Iterator[dict[str, Any]]:
    """Yield the rows that ``--where`` keeps.

    Raises
    ------
    UsageError
        When a column of ``--where`` is not there, or no row is left.
    """
    for column in options.where:
        if column not in table.columns:
            raise UsageError(f"no column {column!r}: {', '.join(table.columns)}", path=file.name)
    rows = [row for row in table.rows if kept(row, options)]
    if not rows:
        raise UsageError("no row is left", path=file.name)
    yield from rows


def text(value: Any) -> str:
    """Return a cell as text, empty for a missing one."""
    return "" if value is None else str(value).strip()
