"""The tiny study in a fresh environment: time, memory, the same file twice, and ten kills.

Makes a virtual environment, installs the package with its extra `train`, runs `audit train` there
twice without interruption and compares the files; then kills it with SIGKILL at ten random moments,
starting again after each, until a last start finishes, and compares that file.

    python benchmarks/training_resume.py --write benchmarks/training_resume.md
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
KILLS = 10
STUDY = """\
seeds = [1, 2]
[task]
name = "addition"
holdout_tasks = 100
[training]
rounds = 5
[arms.adaptive-clip]
role = "method"
clip = "adaptive"
epsilon_low = 0.2
epsilon_high_max = 0.28
[arms.fixed-clip]
role = "control"
clip = "fixed"
epsilon_low = 0.2
epsilon_high = 0.28
"""


class Environment(NamedTuple):
    """A fresh virtual environment, seconds its install took, its size and what it holds."""

    program: Path
    seconds: float
    megabytes: float
    packages: str


def fresh_environment(folder: Path) -> Environment:
    begun = time.monotonic()
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    # torch alone first: an index may have a CPU build of it under one version only.
    for wanted in ("torch==2.13.0", f"{ROOT}[train]"):
        subprocess.run([python, "-m", "pip", "install", "-q", wanted], check=True)
    seconds = time.monotonic() - begun
    size = sum(path.lstat().st_size for path in folder.rglob("*"))
    code = (
        "from importlib.metadata import version; "
        "print(*(f'{n} {version(n)}' for n in ('torch', 'trl', 'transformers')), sep=', ')"
    )
    said = subprocess.run([python, "-c", code], check=True, capture_output=True, text=True)
    return Environment(folder / "bin" / "audit", seconds, size / 1e6, said.stdout.strip())


def start(program: Path, study: Path, output: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [program, "train", str(study), "-o", str(output), "--quiet"],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        cwd=study.parent,
        stdout=subprocess.DEVNULL,
    )


def finish(process: subprocess.Popen[bytes]) -> resource.struct_rusage:
    """Wait for the command and return what it alone used."""
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"audit train ended with status {process.returncode}")
    return used


def without_times(path: Path) -> Any:
    document = json.loads(path.read_text())
    arms = [document["seed_results"], *(c["seed_results"] for c in document["controls"].values())]
    for run in (run for arm in arms for run in arm):
        del run["cost"]["minutes"]
    for one in (one for part in (document["base_evaluations"], *arms) for one in part):
        del one["evaluation"]["date"]
    return document


def differences(ours: Any, theirs: Any, place: str = "") -> Iterator[str]:
    """Yield the places at which two documents differ."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for key in sorted({*ours, *theirs}):
            yield from differences(ours.get(key), theirs.get(key), f"{place}/{key}")
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for index, pair in enumerate(zip(ours, theirs, strict=True)):
            yield from differences(*pair, f"{place}/{index}")
    elif ours != theirs:
        yield place


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seed", type=int, default=1, help="of the moments of the kills")
    parser.add_argument("--write", metavar="FILE")
    options = parser.parse_args()
    moments = random.Random(options.seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        environment = fresh_environment(folder / "environment")
        study = folder / "study.toml"
        study.write_text(STUDY)
        seconds, used = [], []
        for copy in ("first", "second"):
            begun = time.monotonic()
            used.append(finish(start(environment.program, study, folder / copy / "results.json")))
            seconds.append(time.monotonic() - begun)
        peak = max(u.ru_maxrss for u in used) / 1024
        cpu = sum(u.ru_utime + u.ru_stime for u in used) / 2
        first = without_times(folder / "first" / "results.json")
        same_twice = first == without_times(folder / "second" / "results.json")
        rows, same_killed = kill_and_resume(
            environment.program, folder, study, moments, min(seconds), first
        )
    text = table(environment, seconds, cpu, peak, same_twice, rows, same_killed, options.seed)
    print(text, end="")
    if options.write:
        Path(options.write).write_text(text)
    return int(not (same_twice and same_killed))


def kill_and_resume(
    program: Path, folder: Path, study: Path, moments: random.Random, whole: float, first: Any
) -> tuple[list[tuple[float, int]], bool]:
    """Kill ten times; (seconds until the kill, pieces finished by then) and whether files agree."""
    output = folder / "killed" / "results.json"
    rows: list[tuple[float, int]] = []
    while len(rows) < KILLS:
        delay = moments.uniform(0.3, 1.0) * whole
        process = start(program, study, output)
        time.sleep(delay)
        if process.poll() is not None:
            # It finished before the moment came: begin anew, so that all ten kills are kills.
            for path in output.with_name(output.name + ".runs").glob("*.json"):
                path.unlink()
            output.unlink()
            continue
        process.send_signal(signal.SIGKILL)
        process.wait()
        rows.append((delay, len(list(output.with_name(output.name + ".runs").glob("*.json")))))
    finish(start(program, study, output))
    different = list(differences(without_times(output), first))
    for place in different[:20]:
        print(f"differs: {place}", file=sys.stderr)
    return rows, not different


def table(
    environment: Environment,
    seconds: list[float],
    cpu: float,
    peak: float,
    same_twice: bool,
    rows: list[tuple[float, int]],
    same_killed: bool,
    seed: int,
) -> str:
    lines = [
        "# A tiny study in a fresh environment: time, memory, and ten kills",
        "",
        "Written by `python benchmarks/training_resume.py --write benchmarks/training_resume.md`.",
        "Two arms x 2 seeds of 5 rounds at 16 x 8 responses, 100 holdout tasks x 4 samples, three",
        "base evaluations; one process, one thread. Other work may have shared the machine. Python "
        f"{platform.python_version()}, {environment.packages};",
        f"{os.cpu_count()} cores, {platform.machine()}.",
        "",
        "| figure | value |",
        "|---|---:|",
        f"| fresh environment: install | {environment.seconds:.0f} s |",
        f"| fresh environment: on disk | {environment.megabytes:.0f} MB |",
        f"| wall time, from start to file | {seconds[0]:.0f} s and {seconds[1]:.0f} s |",
        f"| CPU time of one | {cpu:.0f} s |",
        f"| peak memory (resident) | {peak:.0f} MB |",
        f"| the same file twice, but for times | {'yes' if same_twice else 'NO'} |",
        f"| the same file after ten kills | {'yes' if same_killed else 'NO'} |",
        "",
        f"Kills (SIGKILL, moments drawn with seed {seed}); of the 7 pieces (3 base evaluations, 4 "
        "runs). A start that",
        "finished before its kill was cleared away and begun anew, so the count may fall.",
        "",
        "| kill | seconds after start | pieces finished by then |",
        "|---:|---:|---:|",
    ]
    lines += [f"| {n} | {delay:.1f} | {done} |" for n, (delay, done) in enumerate(rows, start=1)]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
