"""Time and memory of ``audit gate`` over many files: in processes, on Dask workers, from a cache.

Run on Linux with ``check-jsonschema`` and ``distributed`` beside this Python::

    python benchmarks/fleet.py [--files 1000] [--cached 10000] [--write benchmarks/fleet.md]

The files are the project's results files in turn, each with run ids and hashes of its own, so that
each is a study by itself. Their size and the hash of what they are made from stand above the table.
What is compared:

* ``audit gate`` over the folder with one process, with one a processor, and on a Dask cluster of
  two workers on this machine: contract, arithmetic, statistics and verdict of every file;
* the same with ``--cache``: the call that fills it, and one after which nothing has changed;
* ``check-jsonschema`` given all files at once: the contract alone, one process;
* ``check-jsonschema`` in a shell loop, a process a file: run on a sample spread evenly over the
  files and multiplied up, the sample's size and its standard error in the table.

CPU seconds and memory (proportional set size) are those of the process and its children together,
those of the cluster's workers too, read every 50 ms; what lives shorter than that can be missed.
``--cached 10000`` fills and uses a cache of so many small files, too.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from measuring import add_load_option, conditions, publish, quiet

ROOT = Path(__file__).resolve().parent.parent
SCHEMA = ROOT / "schemas" / "results.v2.schema.json"
# The studies, and the samples that do not grow with the record.
_SAMPLES = ("adaptive-clip-claimed", "minimal", "talk-to-solve", "unfinished")
SOURCES = (
    *sorted((ROOT / "reports").glob("*/results.json")),
    *(ROOT / "tests" / "data" / "results" / f"{name}.json" for name in _SAMPLES),
)
# Of these files together: figures of two inputs do not compare.
PINNED = "9cc4a26cddcc1a5072aee2546eddbc55a27d9e3bbfe449db074dcd7443236fae"
# A small results file: some runs with their scores and a claim.
SMALL_BYTES = 10_000
KEY = {"AUDIT_CACHE_KEY": "of this benchmark alone"}


@dataclass(frozen=True, slots=True)
class Measured:
    """Wall seconds, CPU seconds, and peak memory in MB of a process and its children."""

    wall: float
    cpu: float
    memory: float


def measured(command: Sequence[str], workers: Sequence[int] = ()) -> Measured:
    """Run a command to its end; 0 and 1 are both an answer.

    Parameters
    ----------
    command : sequence of str
    workers : sequence of int
        Other processes whose CPU seconds and memory count.
    """
    before = sum(map(cpu_seconds, workers))
    start = time.perf_counter()
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        env=os.environ | KEY,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    peak, used = 0.0, dict[int, float]()
    while True:
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        if pid:
            break
        processes = tree(process.pid)
        peak = max(peak, sum(map(proportional_set, [*processes, *workers])))
        used |= {p: max(cpu_seconds(p), used.get(p, 0.0)) for p in processes}
        time.sleep(0.05)
    # What a helper process starts is no child of ours to be waited for, so its last reading counts.
    waited = usage.ru_utime + usage.ru_stime
    wall = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 1):
        raise SystemExit(f"{command} ended with {process.returncode}")
    there = sum(map(cpu_seconds, workers)) - before
    return Measured(wall, max(waited, sum(used.values())) + there, peak)


def tree(process: int) -> list[int]:
    """Return a process and all its descendants."""
    found = [process]
    for parent in found:
        try:
            children = Path(f"/proc/{parent}/task/{parent}/children").read_text("ascii").split()
        except OSError:
            continue
        found += map(int, children)
    return found


def cpu_seconds(process: int) -> float:
    """Return the CPU seconds a process has used; 0 where it ended meanwhile."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text("utf-8").rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def proportional_set(process: int) -> float:
    """Return a process's memory in MB, shared pages divided by those who share them."""
    try:
        text = Path(f"/proc/{process}/smaps_rollup").read_text("ascii")
    except OSError:  # it ended meanwhile
        return 0.0
    return sum(int(line.split()[1]) for line in text.splitlines() if line.startswith("Pss:")) / 1e3


def fleet(folder: Path, files: int, largest: float = math.inf) -> list[Path]:
    """Write files made from sources of at most so many bytes, and return their paths."""
    sources = [path for path in SOURCES if path.stat().st_size <= largest]
    documents = [json.loads(path.read_text(encoding="utf-8")) for path in sources]
    paths = []
    for number in range(files):
        document = of_its_own(documents[number % len(documents)], number)
        path = folder / f"study-{number:05}" / "results.json"
        path.parent.mkdir()
        path.write_text(json.dumps(document), encoding="utf-8")
        paths.append(path)
    return paths


def of_its_own(document: dict[str, Any], number: int) -> dict[str, Any]:
    """Return a document whose runs are no other's: copies of one study would be one family."""
    made: dict[str, Any] = _renamed(document, number)
    imported = made.get("provenance", {}).get("imported", {})
    for file in imported.get("files", ()):
        file["sha256"] = _other(file["sha256"], number)
    return made


def _renamed(value: Any, number: int) -> Any:
    if isinstance(value, list):
        return [_renamed(item, number) for item in value]
    if not isinstance(value, dict):
        return value
    made = {key: _renamed(item, number) for key, item in value.items()}
    if isinstance(made.get("run_id"), str):
        made["run_id"] += f"-{number}"
    if "final_parameters_sha256" in made:
        made["final_parameters_sha256"] = _other(made["final_parameters_sha256"], number)
    return made


def _other(digest: str, number: int) -> str:
    return hashlib.sha256(f"{digest} {number}".encode()).hexdigest()


def input_sha256() -> str:
    """Return the hash of the files that the fleet is made from, after holding it to the pin."""
    digest = hashlib.sha256()
    for path in SOURCES:
        digest.update(path.read_bytes())
    found = digest.hexdigest()
    if found != PINNED:
        raise SystemExit(f"the fleet is made from {found}, pinned is {PINNED}: another input")
    return found


def gate(folder: str | Path, *options: str) -> list[str]:
    """Return the command that judges a folder."""
    words = [sys.executable, "-m", "audit", "gate", str(folder), "--quiet", "--format", "json"]
    return [*words, *options]


@contextmanager
def cluster() -> Iterator[tuple[str, list[int]]]:
    """Give the address of two Dask workers on this machine, and their processes."""
    from distributed import Client, LocalCluster

    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as made:
        with Client(made) as client:
            processes = list(client.run(os.getpid).values())
        yield made.scheduler_address, processes


@contextmanager
def made(files: int, largest: float = math.inf) -> Iterator[tuple[Path, list[Path], Path]]:
    """Give a folder with its files, and a place for a cache, until they are measured."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name, "fleet")
        folder.mkdir()
        yield folder, fleet(folder, files, largest), Path(name, "cache")


def gated(folder: Path, cache: Path) -> Iterator[tuple[str, Measured]]:
    """Yield what judging all files of a folder takes, in every way."""
    cores = len(os.sched_getaffinity(0))
    yield "audit gate, one process", measured(gate(folder, "-j", "1"))
    yield f"audit gate, {cores} processes", measured(gate(folder, "-j", str(cores)))
    with cluster() as (address, workers):
        words = gate(folder, "--scheduler", address)
        yield "audit gate, two Dask workers", measured(words, workers)
    yield from cached(folder, cache, "1")


def cached(folder: Path, cache: Path, jobs: str) -> Iterator[tuple[str, Measured]]:
    """Yield what filling a cache takes, and what it takes to find nothing changed."""
    words = gate(folder, "-j", jobs, "--cache", str(cache))
    yield f"audit gate --cache, the first call, {counted(int(jobs))}", measured(words)
    yield "audit gate --cache, nothing changed", measured(words)


def counted(processes: int) -> str:
    return "one process" if processes == 1 else f"{processes} processes"


def checked(paths: Sequence[Path], sample: int) -> Iterator[str]:
    """Yield the rows of ``check-jsonschema``."""
    checker = [str(Path(sys.executable).parent / "check-jsonschema"), "--schemafile", str(SCHEMA)]
    together = measured([*checker, *map(str, paths)])
    yield row("check-jsonschema, all files at once", together, len(paths))
    picked = paths[:: max(1, len(paths) // sample)][:sample]
    singles = [measured([*checker, str(path)]) for path in picked]
    walls = [one.wall for one in singles]
    error = len(paths) * statistics.stdev(walls) / len(walls) ** 0.5
    cpu = statistics.mean(one.cpu for one in singles)
    cells = (
        f"check-jsonschema, a process a file ({len(singles)} of {len(paths)} run, multiplied up)",
        f"{len(paths) * statistics.mean(walls):.0f} ± {error:.0f}",
        f"{len(paths) * cpu:.0f}",
        f"{cpu * 1e3:.0f}",
        f"{max(one.memory for one in singles):.0f}",
    )
    yield f"| {' | '.join(cells)} |"


def row(name: str, found: Measured, files: int) -> str:
    per_file = found.cpu / files * 1e3
    return f"| {name} | {found.wall:.1f} | {found.cpu:.1f} | {per_file:.1f} | {found.memory:.0f} |"


def section(kind: str, paths: Sequence[Path], rows: Sequence[str]) -> list[str]:
    megabytes = sum(path.stat().st_size for path in paths) / 1e6
    return [
        f"## {len(paths):,} {kind}",
        "",
        f"{megabytes:.0f} MB, {megabytes / len(paths) * 1e3:.0f} KB a file.",
        "",
        "| | seconds | CPU seconds | CPU ms a file | peak MB |",
        "| --- | --- | --- | --- | --- |",
        *rows,
        "",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", type=int, default=1000)
    parser.add_argument("--cached", type=int, help="fill and use a cache of so many files, too")
    parser.add_argument("--sample", type=int, default=40)
    parser.add_argument("--write", type=Path)
    add_load_option(parser)
    options = parser.parse_args()
    digest = input_sha256()
    load = quiet(options)
    measured([*gate(ROOT / "reports")[:4], "--help"])  # compiled modules
    lines = [
        "# A fleet of results files",
        "",
        f"By `python benchmarks/fleet.py`. {conditions(load, 'check-jsonschema', 'distributed')} "
        f"The files are made from {len(SOURCES)} of this project, sha256 {digest[:12]} together.",
        "",
        "`audit gate` checks contract, arithmetic and statistics and gives verdicts;",
        "`check-jsonschema` checks the contract alone.",
        "",
    ]
    with made(options.files) as (folder, paths, cache):
        rows = [row(what, found, len(paths)) for what, found in gated(folder, cache)]
        lines += section("files of all sizes", paths, [*rows, *checked(paths, options.sample)])
    small = f"files of at most {SMALL_BYTES / 1e3:g} KB"
    with made(options.files, SMALL_BYTES) as (folder, paths, cache):
        rows = [row(what, found, len(paths)) for what, found in gated(folder, cache)]
        lines += section(small, paths, rows)
    if options.cached:
        with made(options.cached, SMALL_BYTES) as (folder, paths, cache):
            jobs = str(len(os.sched_getaffinity(0)))
            rows = [row(what, found, len(paths)) for what, found in cached(folder, cache, jobs)]
            lines += section(small, paths, rows)
    publish("\n".join(lines).rstrip() + "\n", options)


if __name__ == "__main__":
    main()
