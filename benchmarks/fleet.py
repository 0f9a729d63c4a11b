"""Time and memory of ``audit gate`` over 1,000 files, beside ``check-jsonschema`` over the same.

Run on Linux with ``check-jsonschema`` beside this Python::

    python benchmarks/fleet.py [--files 1000] [--sample 40] [-o benchmarks/fleet.md]

The files are the project's results files in turn, each with a method name of its own. What is
compared:

* ``audit gate`` over the folder, with one process and with one a processor: contract, arithmetic,
  statistics and verdict of every file;
* ``check-jsonschema`` given all files at once: the contract alone, one process;
* ``check-jsonschema`` in a shell loop, a process a file: run on a sample spread evenly over the
  files and multiplied up, the sample's size and its standard error in the table.

CPU seconds and memory (proportional set size) are those of the process and its children together,
read every 50 ms; what lives shorter than that can be missed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SCHEMA = ROOT / "schemas" / "results.v2.schema.json"
SOURCES = (
    *sorted((ROOT / "reports").glob("*/results.json")),
    *sorted((ROOT / "tests" / "data" / "results").glob("*.json")),
)


@dataclass(frozen=True, slots=True)
class Measured:
    """Wall seconds, CPU seconds, and peak memory in MB of a process and its children."""

    wall: float
    cpu: float
    memory: float


def measured(command: Sequence[str]) -> Measured:
    """Run a command to its end; 0 and 1 are both an answer."""
    start = time.perf_counter()
    process = subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    peak, used = 0.0, dict[int, float]()
    while True:
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        if pid:
            break
        processes = tree(process.pid)
        peak = max(peak, sum(map(proportional_set, processes)))
        used |= {p: max(cpu_seconds(p), used.get(p, 0.0)) for p in processes}
        time.sleep(0.05)
    # What a helper process starts is no child of ours to be waited for, so its last reading counts.
    waited = usage.ru_utime + usage.ru_stime
    wall = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 1):
        raise SystemExit(f"{command} ended with {process.returncode}")
    return Measured(wall, max(waited, sum(used.values())), peak)


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


def fleet(folder: Path, files: int) -> list[Path]:
    """Write the files and return their paths."""
    documents = [json.loads(path.read_text(encoding="utf-8")) for path in SOURCES]
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
    made: dict[str, Any] = _renamed(document, number) | {"notes": f"study {number}"}
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", type=int, default=1000)
    parser.add_argument("--sample", type=int, default=40)
    parser.add_argument("-o", "--output", type=Path)
    options = parser.parse_args()
    lines = []
    with tempfile.TemporaryDirectory() as name:
        paths = fleet(Path(name), options.files)
        size = sum(path.stat().st_size for path in paths)
        gate = [sys.executable, "-m", "audit", "gate", name, "--quiet", "--format", "json"]
        checker = [str(Path(sys.executable).parent / "check-jsonschema"), "--schemafile"]
        checker.append(str(SCHEMA))
        measured([*gate[:-2], "--help"])  # compiled modules and a warm file cache
        cores = len(os.sched_getaffinity(0))
        rows = [
            ("audit gate, one process", measured([*gate, "-j", "1"])),
            (f"audit gate, {cores} processes", measured([*gate, "-j", str(cores)])),
            ("check-jsonschema, all files at once", measured([*checker, *map(str, paths)])),
        ]
        picked = paths[:: max(1, len(paths) // options.sample)][: options.sample]
        singles = [measured([*checker, str(path)]) for path in picked]
        lines = list(table(rows, singles, options.files))
    text = "\n".join([*heading(options.files, size), "", *lines]) + "\n"
    if options.output:
        options.output.write_text(text, encoding="utf-8")
    print(text, end="")


def table(rows: list[tuple[str, Measured]], singles: list[Measured], files: int) -> list[str]:
    lines = ["| | seconds | CPU seconds | peak MB |", "| --- | --- | --- | --- |"]
    lines += [f"| {name} | {m.wall:.1f} | {m.cpu:.1f} | {m.memory:.0f} |" for name, m in rows]
    walls = [m.wall for m in singles]
    error = files * statistics.stdev(walls) / len(walls) ** 0.5
    wall = f"{files * statistics.mean(walls):.0f} ± {error:.0f}"
    cpu = files * statistics.mean(m.cpu for m in singles)
    peak = max(m.memory for m in singles)
    name = f"check-jsonschema, a process a file ({len(singles)} of {files} run, multiplied up)"
    return [*lines, f"| {name} | {wall} | {cpu:.0f} | {peak:.0f} |"]


def heading(files: int, size: int) -> list[str]:
    load = os.getloadavg()[0]
    return [
        "# A fleet of results files",
        "",
        f"{files} files, {size / 1e6:.0f} MB, by `python benchmarks/fleet.py`; "
        f"Python {platform.python_version()}, check-jsonschema {version('check-jsonschema')}, "
        f"{len(os.sched_getaffinity(0))} processors, load {load:.1f} when it ended.",
        "",
        "`audit gate` checks contract, arithmetic and statistics and gives verdicts;",
        "`check-jsonschema` checks the contract alone.",
    ]


if __name__ == "__main__":
    main()
