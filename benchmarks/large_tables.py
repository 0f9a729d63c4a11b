"""What tables of a million to a hundred million answers cost `audit import`.

    python benchmarks/large_tables.py [--largest] [--write benchmarks/large_tables.md]

Two arms of five seeds, each task answered several times, as CSV and as Parquet: 10^6 rows (10,000
tasks, 10 answers), 10^7 (100,000 tasks, 10 answers), and with ``--largest`` 10^8 in Parquet
(100,000 tasks, 100 answers). Beside the import stands one bare ``group_by`` of pyarrow over the
same file, which sums and counts the outcomes by arm, seed and task and writes nothing. The outcomes
lie beside the results file, which `audit verify` then judges. Whole processes, in turns.

The answers come from whole-number arithmetic, so that every machine makes the same; the SHA-256 of
the rows as CSV is pinned, for Parquet too, whose bytes change with the version that writes it.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from measuring import add_load_option, conditions, in_turns, median_of, publish, quiet, ratio, used
from pyarrow import csv, parquet

ARMS, SEEDS = ("grpo", "dapo"), 5
HEADER = b"arm,seed,task,sample,correct\n"
# What an import of 10^7 rows may cost.
MOST_SECONDS, MOST_MIB = 10.0, 2048
_CHUNK_ROWS = 1_000_000
_GROUP = """
import sys
if sys.argv[1].endswith(".csv"):
    from pyarrow import csv
    table = csv.read_csv(sys.argv[1])
else:
    from pyarrow import parquet
    table = parquet.read_table(sys.argv[1])
table.group_by(["arm", "seed", "task"]).aggregate([("correct", "sum"), ("correct", "count")])
"""


@dataclass(frozen=True)
class Size:
    """How many tasks and answers a run has, and the SHA-256 of all rows as CSV."""

    tasks: int
    answers: int
    sha256: str
    kinds: tuple[str, ...] = ("csv", "parquet")
    turns: int = 3

    @property
    def rows(self) -> int:
        """All rows of the table."""
        return len(ARMS) * SEEDS * self.tasks * self.answers


SIZES = (
    Size(10_000, 10, "b46db7c353dc68161a6a6cae608e029e062eb448cab76fb159abe3fd087de890"),
    Size(100_000, 10, "165141c33725a74e005a47c2149977c4e8de71e3e0b798b0b65ce6a0a9e5544c"),
)
LARGEST = Size(
    100_000,
    100,
    "d8567a71f767293d3bc39d8c2af70eadf52ac1776d7542f22a909e11ee8f3905",
    ("parquet",),
    turns=1,
)


def chunks(size: Size) -> Iterator[pa.Table]:
    """Yield the rows of a table, one run after another."""
    names = pa.array([f"t{task:06d}" for task in range(size.tasks)])
    step = max(1, _CHUNK_ROWS // size.answers)
    for place, arm in enumerate(ARMS):
        for seed in range(SEEDS):
            for first in range(0, size.tasks, step):
                tasks = np.arange(first, min(first + step, size.tasks), dtype=np.int64)
                rows = np.repeat(tasks, size.answers)
                samples = np.tile(np.arange(size.answers, dtype=np.int64), len(tasks))
                yield pa.table(
                    {
                        "arm": pa.array([arm]).take(pa.array(np.zeros(len(rows), np.int64))),
                        "seed": np.full(len(rows), seed, np.int64),
                        "task": names.take(pa.array(rows)),
                        "sample": samples,
                        "correct": _answers(rows, samples, place, seed),
                    }
                )


def _answers(tasks: Any, samples: Any, arm: int, seed: int) -> Any:
    """Return answers, each right with a chance that its task and arm decide (SplitMix64)."""
    hard = _mixed(tasks.astype(np.uint64)) % 1000
    drawn = _mixed(
        tasks.astype(np.uint64) * 1009 + samples.astype(np.uint64) * 10 + (2 * seed + arm)
    )
    return (drawn % 1000 < hard + 20 * arm).astype(np.int64)


def _mixed(state: Any) -> Any:
    state = (state + 1) * np.uint64(0x9E3779B97F4A7C15)
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state ^ (state >> np.uint64(31))


def made(size: Size, folder: Path) -> dict[str, Path]:
    """Write a table in each of its kinds.

    Raises
    ------
    SystemExit
        When its rows are not the pinned ones.
    """
    paths = {kind: folder / f"{size.rows}.{kind}" for kind in size.kinds}
    digest = hashlib.sha256(HEADER)
    schema = next(chunks(size)).schema
    as_text = paths["csv"].open("wb") if "csv" in paths else None
    if as_text is not None:
        as_text.write(HEADER)
    with parquet.ParquetWriter(paths["parquet"], schema) as writer:
        for table in chunks(size):
            writer.write_table(table)
            text = pa.BufferOutputStream()
            told = csv.WriteOptions(include_header=False, quoting_style="none")
            csv.write_csv(table, text, told)
            digest.update(text.getvalue())
            if as_text is not None:
                as_text.write(text.getvalue())
    if as_text is not None:
        as_text.close()
    if digest.hexdigest() != size.sha256:
        raise SystemExit(f"{size.rows:,} rows: sha256 is {digest.hexdigest()}; another input")
    return paths


def line(size: Size, kind: str, path: Path, folder: Path) -> str:
    """Measure one file and return its row of the table."""
    results = folder / "results.json"
    audit = [sys.executable, "-m", "audit"]
    bring = [*audit, "import", str(path), "--control", ARMS[0], "-q", "--outcomes", "beside"]
    ours, theirs = in_turns(
        [[*bring, "-o", str(results)], [sys.executable, "-c", _GROUP, str(path)]], size.turns
    )
    judged = used([*audit, "verify", str(results)])
    cells = [
        f"{size.rows:,}",
        kind,
        f"{path.stat().st_size / 1e6:,.0f}",
        f"{median_of(ours):.1f}",
        f"{median_of(ours, 'mib'):,.0f}",
        f"{median_of(theirs):.1f}",
        f"{median_of(theirs, 'mib'):,.0f}",
        f"{ratio(ours, theirs):.2f}",
        f"{judged.cpu:.1f}",
        f"{judged.mib:,.0f}",
        size.sha256[:12],
    ]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--largest", action="store_true", help="measure 10^8 rows too")
    parser.add_argument("--write", type=Path, help="where the table goes")
    add_load_option(parser)
    options = parser.parse_args()
    load = quiet(options)
    lines = [
        "# What large tables cost",
        "",
        "By `python benchmarks/large_tables.py --largest`. "
        + conditions(load, "numpy", "pyarrow", "pandas"),
        "Whole processes in turns, the median of three (of 10^8 rows one). At most "
        f"{MOST_SECONDS:g} CPU s and {MOST_MIB:,} MiB are allowed for 10,000,000 rows.",
        "",
        "| rows | kind | MB | import, CPU s | import, MiB | group_by, CPU s | group_by, MiB "
        "| ratio | verify, CPU s | verify, MiB | rows' SHA-256 |",
        "|---:|---|---:|---:|---:|---:|---:|---:|---:|---:|---|",
    ]
    for size in (*SIZES, *([LARGEST] if options.largest else [])):
        with tempfile.TemporaryDirectory() as folder:
            paths = made(size, Path(folder))
            lines += [line(size, kind, path, Path(folder)) for kind, path in paths.items()]
    publish("\n".join(lines) + "\n", options)


if __name__ == "__main__":
    main()
