"""Tables counted by column come out as those read by row, or are handed over to be read so."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from bringing import SAMPLES
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from audit.errors import AuditError
from audit.importers.by_column import table_files
from audit.importers.draft import Options
from audit.importers.foreign import read_foreign
from audit.importers.placing import counted_file, importer_of
from audit.importers.study import Layout, Placed, assemble

pyarrow = pytest.importorskip("pyarrow", reason="the extra for Parquet is not installed")

ROOT = Path(__file__).resolve().parents[2]
SHARED = ROOT.parent / "shared"
LONG = ("arm", "seed", "task", "sample", "correct")


@pytest.fixture(autouse=True)
def _of_any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_files, "SMALLEST_BYTES", 0)
    monkeypatch.setattr(table_files, "SMALLEST_ROWS", 0)


@dataclass(frozen=True)
class Brought:
    """What comes of a file: the document and its notes, or the refusal."""

    text: str
    by_column: bool


def brought(path: Path, *, by_column: bool, format: str = "auto", **said: Any) -> Brought:
    options = Options(**said)
    counted = None
    try:
        if by_column:
            counted = counted_file(str(path), format, options)
        file = counted or read_foreign(str(path))
        name = "long-table" if counted else importer_of(file, format, options.columns)
        document, notes = assemble([Placed(file, None, name)], options, Layout())
        text = json.dumps([document, notes], ensure_ascii=False)
    except AuditError as error:
        text = f"{type(error).__name__}: {error}"
    return Brought(text, counted is not None)


def both(path: Path, **said: Any) -> Brought:
    """Hold both ways to the same bytes, and return what came by column."""
    by_row = brought(path, by_column=False, **said)
    found = brought(path, by_column=True, **said)
    assert found.text == by_row.text
    return found


def written(folder: Path, kind: str, columns: list[str], rows: list[tuple[Any, ...]]) -> Path:
    path = folder / f"table.{kind}"
    if kind == "parquet":
        from pyarrow import parquet

        cells = {name: [row[i] for row in rows] for i, name in enumerate(columns)}
        parquet.write_table(pyarrow.table(cells), path, row_group_size=max(7, len(rows) // 8))
    elif kind in ("arrow", "arrows"):
        from pyarrow import ipc

        cells = {name: [row[i] for row in rows] for i, name in enumerate(columns)}
        table = pyarrow.table(cells)
        opened = ipc.new_file if kind == "arrow" else ipc.new_stream
        with opened(path, table.schema) as stream:
            stream.write_table(table, max_chunksize=max(7, len(rows) // 8))
    elif kind == "jsonl":
        lines = [json.dumps(dict(zip(columns, row, strict=True))) for row in rows]
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    else:
        text = io.StringIO()
        quoted = kind == "quoted.csv"
        writer = csv.writer(
            text,
            quoting=csv.QUOTE_NONNUMERIC if quoted else csv.QUOTE_MINIMAL,
            lineterminator="\r\n" if quoted else "\n",
        )
        writer.writerows([columns, *rows])
        path.write_text(text.getvalue(), encoding="utf-8", newline="")
    return path


KINDS = ("csv", "quoted.csv", "parquet", "arrow", "arrows", "jsonl")
TYPED = ("parquet", "arrow", "arrows")
PLAIN = [
    (arm, seed, f"t{task}", sample, (seed + task * 3 + sample + len(arm)) % 3 // 2)
    for arm in ("dapo", "grpo")
    for seed in (3, 1)
    for task in (2, 10, 1)
    for sample in (0, 1)
]


def with_column(column: str, values: Any) -> tuple[list[str], list[tuple[Any, ...]]]:
    return [*LONG, column], [(*row, values(n, row)) for n, row in enumerate(PLAIN)]


def without(*names: str) -> tuple[list[str], list[tuple[Any, ...]]]:
    places = [i for i, name in enumerate(LONG) if name not in names]
    return [LONG[i] for i in places], [tuple(row[i] for i in places) for row in PLAIN]


def changed(column: str, value: Any) -> tuple[list[str], list[tuple[Any, ...]]]:
    place = LONG.index(column)
    return list(LONG), [(*row[:place], value(row), *row[place + 1 :]) for row in PLAIN]


TAKEN = {
    "outcomes by arm, seed, task and sample": (list(LONG), PLAIN),
    "repeated rows without a sample": without("sample"),
    "no arm": (list(LONG[1:]), [row[1:] for row in PLAIN[:12]]),
    "no seed": (["arm", *LONG[2:]], [(row[0], *row[2:]) for row in PLAIN[:6]]),
    "true and false": changed("correct", lambda row: row[4] == 1),
    "scores": (
        ["arm", "seed", "task", "sample", "reward"],
        [(*row[:4], [0.1, 0.7, 0.2, 1.0][n % 4] + row[4]) for n, row in enumerate(PLAIN)],
    ),
    "1 and -1": changed("correct", lambda row: row[4] * 2 - 1),
    "shares": changed("correct", lambda row: 0.25 + row[4] / 3),
    "tasks that are numbers": changed("task", lambda row: int(row[2][1:])),
    "errors": with_column("error", lambda n, row: "timeout" if n % 5 == 0 else "no"),
    "tokens": with_column("tokens", lambda n, row: 100 + n),
    "cut off": with_column("finish_reason", lambda n, row: "length" if n % 4 == 0 else "stop"),
    "not parsed": with_column("parsed", lambda n, row: n % 3 != 0),
    "responses and their time": (
        [*LONG, "response", "time_ms"],
        [(*row, f"so, {n}", n) for n, row in enumerate(PLAIN)],
    ),
    "several benchmarks": with_column("benchmark", lambda n, row: "ab"[n // 2 % 2]),
    "several metrics": (
        ["arm", "seed", "task", "sample", "metric", "value"],
        [(*row[:4], metric, row[4] * 3 if metric == "f2" else row[4])
         for row in PLAIN for metric in ("accuracy", "f2")],
    ),
    "steps": with_column("step", lambda n, row: n // 6 % 2 * 100),
    "a score beside right and wrong": with_column("score", lambda n, row: n / 7),
    "a column of one task set": with_column("item_id", lambda n, row: "aime"),
    "columns of no meaning": with_column("comment", lambda n, row: f"c{n}"),
    "seeds written as decimals": changed("seed", lambda row: float(row[1])),
}  # fmt: skip
HANDED_OVER = {
    "an answer that is there twice": (list(LONG), [*PLAIN, PLAIN[5]]),
    "a share above 1": (list(LONG), [*PLAIN, ("dapo", 3, "t2", 5, 57)]),
    "a blank task": (list(LONG), [*PLAIN, ("dapo", 3, "", 5, 1)]),
    "a blank around a task": (list(LONG), [*PLAIN, ("dapo", 3, " t2 ", 5, 1)]),
    "a blank arm": (list(LONG), [*PLAIN, ("", 3, "t2", 5, 1)]),
    "a blank sample": changed("sample", lambda row: str(row[3] or "")),
    "one task": changed("task", lambda row: "t"),
    "a seed that numbers answers": changed("sample", lambda row: row[1]),
    "scores of whole runs": (["arm", "seed", "accuracy"], [("a", n, n / 10) for n in range(9)]),
    "two values that differ": with_column("passed", lambda n, row: n % 2),
    "empty responses": with_column("response", lambda n, row: "" if n % 2 else "so"),
    "no tokens at all": with_column("tokens", lambda n, row: 0),
    "tokens in decimals": with_column("tokens", lambda n, row: n / 7),
    "questions": with_column("question", lambda n, row: f"what is {row[2]}?"),
    "two columns of tasks": with_column("item", lambda n, row: n % 4),
    "a state": with_column("state", lambda n, row: "finished"),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", TAKEN)
def test_plain_tables_are_counted_by_column_and_come_out_the_same(
    name: str, kind: str, tmp_path: Path
) -> None:
    columns, rows = TAKEN[name]
    assert both(written(tmp_path, kind, columns, rows)).by_column


@pytest.mark.parametrize("kind", ["csv", "parquet", "jsonl"])
@pytest.mark.parametrize("name", HANDED_OVER)
def test_other_tables_say_what_the_reader_of_rows_says(
    name: str, kind: str, tmp_path: Path
) -> None:
    columns, rows = HANDED_OVER[name]
    both(written(tmp_path, kind, columns, rows))


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize(
    "said",
    [
        {"where": {"arm": "dapo"}},
        {"where": {"arm": "none"}},
        {"where": {"nowhere": "x"}},
        {"where": {"sample": "1"}},
        {"metric": "f1"},
        {"metric": "accuracy"},
        {"benchmark": "math"},
        {"scale": (0, 100)},
        {"columns": {"task": "arm", "arm": "task"}},
        {"columns": {"value": "sample"}},
        {"columns": {"seed": "sample", "sample": "seed"}},
        {"columns": {"task": "nowhere"}},
        {"seed_is": "training"},
        {"seed_is": "decoding"},
        {"seed_key": "sample"},
        {"missing": "wrong"},
        {"format": "long-table"},
        {"format": "wide-table"},
    ],
    ids=str,
)
def test_what_the_user_says_counts_in_both_ways(
    said: dict[str, Any], kind: str, tmp_path: Path
) -> None:
    columns, rows = without() if "missing" not in said else (list(LONG), PLAIN[:-3])
    both(written(tmp_path, kind, columns, rows), **said)


CELLS = {
    "arm": st.sampled_from(["a", "b", "a ", "", "7"]),
    "model": st.sampled_from(["m", "n", "3"]),
    "seed": st.sampled_from([0, 1, 2]) | st.sampled_from(["x", ""]),
    "run": st.sampled_from(["r1", "r2"]),
    "task": st.sampled_from(["t1", "t2", "t10", "2", "10", "007", "é"]) | st.just(""),
    "task_id": st.sampled_from([1, 2, 30]),
    "id": st.integers(0, 40),
    "sample": st.integers(0, 3),
    "trial": st.integers(0, 2),
    "benchmark": st.sampled_from(["aime", "math"]),
    "metric": st.sampled_from(["accuracy", "acc", "f1", "loss"]),
    "step": st.sampled_from([0, 10, 20]),
    "correct": st.sampled_from([0, 1]),
    "score": st.sampled_from([0, 1, 0.1, 0.7, 0.2, 57, -1]) | st.floats(0, 1, width=32),
    "reward": st.sampled_from([-1, 1, 0.3]) | st.none(),
    "passed": st.booleans() | st.none(),
    "result": st.sampled_from(["pass", "fail", "timeout", "57%", "1e-3", "nan", ""]),
    "error": st.sampled_from(["", "oom", "no"]),
    "tokens": st.integers(0, 3) | st.sampled_from([1.5, 7]),
    "truncated": st.booleans(),
    "parsed": st.booleans() | st.none(),
    "response": st.sampled_from(["so", "", " ", "42"]),
    "latency_ms": st.integers(0, 1),
    "comment": st.sampled_from(["x", 'a "b"', "c,d", "line\nbreak"]),
}


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Draw tables of which most columns are plain most of the time."""
    must = ["task", draw(st.sampled_from(["correct", "score", "reward", "passed", "result"]))]
    more = st.lists(st.sampled_from(sorted(set(CELLS) - set(must))), unique=True, max_size=6)
    columns = draw(st.permutations([*must, *draw(more)]))
    rows = draw(st.lists(st.tuples(*(CELLS[name] for name in columns)), min_size=1, max_size=30))
    return list(columns), rows


def of_one_type(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Return rows whose columns pyarrow can hold: text where their types differ."""
    kept = []
    for cells in zip(*rows, strict=True):
        kinds = {type(cell) for cell in cells if cell is not None}
        mixed = (str in kinds and len(kinds) > 1) or (bool in kinds and len(kinds) > 1)
        kept.append([None if cell is None else str(cell) for cell in cells] if mixed else cells)
    return list(zip(*kept, strict=True))


@settings(
    max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(table=tables(), kind=st.sampled_from(KINDS))
def test_any_table_comes_out_the_same_in_both_ways(
    table: tuple[list[str], list[tuple[Any, ...]]], kind: str, tmp_path: Path
) -> None:
    columns, rows = table
    both(written(tmp_path, kind, columns, of_one_type(rows) if kind in TYPED else rows))


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    rows=st.lists(
        st.tuples(
            st.sampled_from(["a", "b"]),
            st.sampled_from([1, 2, 3]),
            st.sampled_from(["x", "y", "10", "9"]),
            st.floats(0, 1) | st.sampled_from([0.0, 1.0, -0.0]),
        ),
        min_size=12,
        max_size=80,
    ),
    kind=st.sampled_from(KINDS),
)
def test_means_of_scores_are_the_same_to_the_last_bit(
    rows: list[tuple[Any, ...]], kind: str, tmp_path: Path
) -> None:
    both(written(tmp_path, kind, ["arm", "seed", "task", "score"], rows))


def many(odd: tuple[Any, ...] | None = None, *, shuffled: bool = False) -> list[tuple[Any, ...]]:
    rows: list[tuple[Any, ...]] = [
        (arm, seed, f"t{task}", sample, (seed * 7 + task * 3 + sample) % 5 // 3)
        for arm in ("dapo", "grpo")
        for seed in (1, 2)
        for task in range(300)
        for sample in range(2)
    ]
    if shuffled:
        rows = [rows[n * 847 % len(rows)] for n in range(len(rows))]
    if odd is not None:
        rows[1876] = odd
    return rows


@pytest.fixture
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_files, "BLOCK_BYTES", 1 << 12)
    monkeypatch.setattr(table_files, "_BATCH_ROWS", 200)
    monkeypatch.setattr(table_files, "_PIECE_BYTES", 1 << 9)


@pytest.mark.usefixtures("_small_blocks")
@pytest.mark.parametrize("shuffled", [False, True], ids=["in order", "shuffled"])
@pytest.mark.parametrize("kind", KINDS)
def test_rows_of_many_batches_add_up(kind: str, shuffled: bool, tmp_path: Path) -> None:
    assert both(written(tmp_path, kind, list(LONG), many(shuffled=shuffled))).by_column


@pytest.mark.usefixtures("_small_blocks")
@pytest.mark.parametrize("kind", ["csv", "parquet", "jsonl"])
@pytest.mark.parametrize(
    ("odd", "says"),
    [
        (("grpo", 2, "t1", 0, 0), "is there twice"),
        (("grpo", 2, "t9999", 0, 57), "say --scale 0-100"),
        (("grpo", 2, "", 0, 1), "a row has no task"),
        (("", 2, "t3", 0, 1), "a row has no arm"),
    ],
)
def test_one_odd_row_deep_inside_is_refused_as_ever(
    odd: tuple[Any, ...], says: str, kind: str, tmp_path: Path
) -> None:
    found = both(written(tmp_path, kind, list(LONG), many(odd)))
    assert says in found.text
    assert not found.by_column


@pytest.mark.parametrize("column", LONG)
def test_a_batch_without_a_value_is_read_or_refused_as_ever(column: str, tmp_path: Path) -> None:
    _, rows = changed(column, lambda row: None if row[0] == "grpo" else row[LONG.index(column)])
    both(written(tmp_path, "parquet", list(LONG), rows))


ODD_TEXT = {
    "a line with a cell too many": b"dapo,1,t1,0,1,9\n",
    "a line with a cell too few": b"dapo,1\n",
    "a quote within a cell": b'dapo,1,t"1,0,1\n',
    "a cell that is quoted in part": b'dapo,1,"t1"x,0,1\n',
    "a doubled quote": b'dapo,1,"t""1",0,1\n',
    "a line break within quotes": b'dapo,1,"t\n1",0,1\n',
    "quotes that do not end": b'dapo,1,"t1,0,1\n',
    "a lone carriage return": b"dapo,1,t1\r,0,1\n",
    "no UTF-8": b"dapo,1,t\xff,0,1\n",
    "a null byte": b"dapo,1,t\0,0,1\n",
    "a blank line": b"\n",
    "a line of blank cells": b",,,,\n",
    "a line of blanks": b"  \n",
    "blanks before quotes": b'dapo,1, "t1",0,1\n',
    "a very long cell": b"dapo,1," + b"t" * 140_000 + b",0,1\n",
    "no line break at the end": b"dapo,1,t77777,0,1",
}


@pytest.mark.parametrize("name", ODD_TEXT)
@pytest.mark.parametrize("deep", [False, True], ids=["at the end", "in the middle"])
def test_odd_text_is_read_or_refused_as_ever(name: str, deep: bool, tmp_path: Path) -> None:
    path = written(tmp_path, "csv", list(LONG), many())
    data = path.read_bytes()
    middle = data.index(b"\n", len(data) // 2) + 1 if deep else len(data)
    path.write_bytes(data[:middle] + ODD_TEXT[name] + data[middle:])
    both(path)


ODD_LINES = {
    "two objects in a line": '{"arm": "a", "seed": 1, "task": "x", "sample": 5, "correct": 1}' * 2,
    "a key twice": '{"arm": "a", "arm": "b", "seed": 1, "task": "x", "sample": 5, "correct": 1}',
    "a key more": '{"arm": "a", "seed": 1, "task": "x", "sample": 5, "correct": 1, "more": 1}',
    "a key less": '{"arm": "a", "seed": 1, "task": "x", "correct": 1}',
    "NaN": '{"arm": "a", "seed": 1, "task": "x", "sample": 5, "correct": NaN}',
    "a number of another type": '{"arm": "a", "seed": 1, "task": "x", "sample": 5, "correct": 1.0}',
    "text for a number": '{"arm": "a", "seed": 1, "task": "x", "sample": "5", "correct": 1}',
    "a list": '{"arm": "a", "seed": 1, "task": "x", "sample": 5, "correct": [1]}',
    "null": '{"arm": "a", "seed": 1, "task": "x", "sample": 5, "correct": null}',
    "a large number": '{"arm": "a", "seed": 1, "task": "x", "sample": 99999999999999999, '
    '"correct": 1}',
    "an escape": '{"arm": "a", "seed": 1, "task": "\\u0078", "sample": 5, "correct": 1}',
    "a summary": '{"accuracy": 0.5, "total": 24}',
    "an object over two lines": '{"arm": "a", "seed": 1,\n"task": "x", "sample": 5, "correct": 1}',
    "a blank line": "",
    "no object": "[1, 2]",
}


@pytest.mark.parametrize("name", ODD_LINES)
def test_odd_lines_are_read_or_refused_as_ever(name: str, tmp_path: Path) -> None:
    path = written(tmp_path, "jsonl", list(LONG), PLAIN)
    text = path.read_text(encoding="utf-8")
    path.write_text(f"{text}{ODD_LINES[name]}\n{text.splitlines()[0]}\n", encoding="utf-8")
    both(path)


def odd_parquet() -> Iterator[tuple[str, Any]]:
    cells: dict[str, list[Any]] = {name: [row[i] for row in PLAIN] for i, name in enumerate(LONG)}
    texts = pyarrow.array(cells["task"])
    yield "a dictionary of tasks", cells | {"task": texts.dictionary_encode()}
    yield "large texts", cells | {"task": texts.cast(pyarrow.large_string())}
    yield "bytes", cells | {"task": texts.cast(pyarrow.binary())}
    yield "small numbers", cells | {"correct": pyarrow.array(cells["correct"], pyarrow.int8())}
    yield (
        "half the precision",
        cells | {"correct": pyarrow.array([c / 3 for c in cells["correct"]], pyarrow.float32())},
    )
    yield "a missing seed", cells | {"seed": [None, *cells["seed"][1:]]}
    yield "a missing run", cells | {"run": [None, *range(1, len(PLAIN))]}
    yield "a missing value", cells | {"correct": [None, *cells["correct"][1:]]}
    yield "NaN", cells | {"correct": [float("nan"), *map(float, cells["correct"][1:])]}
    yield "missing truth", cells | {"correct": [None, *(c == 1 for c in cells["correct"][1:])]}
    yield "times", cells | {"sample": pyarrow.array(range(len(PLAIN)), pyarrow.timestamp("s"))}
    yield "lists", cells | {"correct": [[c, 1 - c] for c in cells["correct"]]}
    yield (
        "decimals",
        cells
        | {
            "correct": pyarrow.array(cells["correct"], pyarrow.int64()).cast(
                pyarrow.decimal128(20, 1)
            )
        },
    )


@pytest.mark.parametrize(("name", "cells"), list(odd_parquet()))
def test_types_of_parquet_come_out_the_same(name: str, cells: Any, tmp_path: Path) -> None:
    from pyarrow import parquet

    parquet.write_table(pyarrow.table(cells), tmp_path / "table.parquet", row_group_size=7)
    both(tmp_path / "table.parquet")


def test_an_index_that_pandas_keeps_is_no_column_in_either_way(tmp_path: Path) -> None:
    import pandas

    frame = pandas.DataFrame(PLAIN, columns=list(LONG))
    frame.set_index("sample").to_parquet(tmp_path / "index.parquet")
    both(tmp_path / "index.parquet")
    frame.to_parquet(tmp_path / "range.parquet")
    assert both(tmp_path / "range.parquet").by_column


def test_a_damaged_parquet_file_is_refused_as_ever(tmp_path: Path) -> None:
    path = written(tmp_path, "parquet", list(LONG), many())
    data = bytearray(path.read_bytes())
    for place in range(len(data) // 8, len(data) // 2, 40):
        data[place] ^= 0xFF
    path.write_bytes(data)
    both(path)


def every_table() -> list[Path]:
    folders = [SAMPLES, ROOT / "tests" / "data", SHARED / "formats", SHARED / "data" / "real"]
    kinds = ("*.csv", "*.tsv", "*.jsonl", "*.ndjson", "*.parquet")
    return sorted({path for folder in folders for kind in kinds for path in folder.rglob(kind)})


@pytest.mark.parametrize("path", every_table(), ids=lambda path: path.name)
def test_samples_and_real_files_come_out_the_same(path: Path) -> None:
    both(path)
    both(path, format="long-table")


def test_small_files_are_left_to_the_reader_of_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def taken(kind: str, more: int) -> bool:
        path = written(tmp_path, kind, list(LONG), PLAIN)
        monkeypatch.setattr(table_files, "SMALLEST_BYTES", path.stat().st_size + more)
        monkeypatch.setattr(table_files, "SMALLEST_ROWS", len(PLAIN) + more)
        return counted_file(str(path), "auto", Options()) is not None

    assert not any(taken(kind, 1) for kind in KINDS)
    assert all(taken(kind, 0) for kind in KINDS)


def test_lines_of_json_have_no_settings_of_a_trainer_by_column_either(tmp_path: Path) -> None:
    said = Options(seed_key="config")
    for kind, expected in (("csv", True), ("arrow", True), ("jsonl", False)):
        path = written(tmp_path, kind, list(LONG), PLAIN)
        assert (counted_file(str(path), "auto", said) is not None) is expected


def test_parquet_is_large_by_its_rows_and_not_by_its_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    rows = [("a", 1, f"t{n}", 0, n % 2) for n in range(table_files.SMALLEST_ROWS)]
    path = written(tmp_path, "parquet", list(LONG), rows)
    assert path.stat().st_size < table_files.SMALLEST_BYTES
    assert counted_file(str(path), "auto", Options()) is not None
