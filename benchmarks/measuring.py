"""Whole processes measured side by side: what every benchmark of speed and memory here uses.

CPU seconds are those of the process and of all that it waited for, as the system counts them; they
depend little on other work, but not nothing: shared caches and a shared clock slow everything down,
and one side more than the other. So sides take turns, a ratio is taken within each turn, its median
is what a table shows, and nothing is measured on a machine with other work.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

# One other process that computes all the time is too many. A run of one's own ends at about 1.
MOST_LOAD = 0.7
_WAIT_SECONDS, _PAUSE_SECONDS = 240, 5


@dataclass(frozen=True, slots=True)
class Used:
    """What a whole process took: seconds on the clock, CPU seconds, peak resident MiB."""

    wall: float
    cpu: float
    mib: float
    status: int


def used(
    command: Sequence[str],
    *,
    allowed: Sequence[int] = (0, 1),
    cwd: Path | str | None = None,
    environment: Mapping[str, str] | None = None,
) -> Used:
    """Run a command to its end and return what it and what it waited for used.

    Raises
    ------
    SystemExit
        When it ends with another status than those allowed, with the end of what it said.
    """
    # As installed by pip: with compiled modules, which a first, uncounted run leaves behind.
    inherited = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    with tempfile.TemporaryFile() as said:
        start = time.perf_counter()
        child = subprocess.Popen(
            command,
            cwd=cwd,
            env=inherited | dict(environment or {}),
            stdout=subprocess.DEVNULL,
            stderr=said,
        )
        _, status, usage = os.wait4(child.pid, 0)
        wall = time.perf_counter() - start
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode not in allowed:
            said.seek(0)
            end = said.read().decode("utf-8", "replace")[-2000:]
            raise SystemExit(f"{' '.join(command)} ended with {child.returncode}\n{end}")
    cpu = usage.ru_utime + usage.ru_stime
    return Used(wall, cpu, usage.ru_maxrss / 1024, child.returncode)


def in_turns(commands: Sequence[Sequence[str]], turns: int) -> list[list[Used]]:
    """Return what each command used in each turn; the order changes, the first turn is not counted.

    Returns
    -------
    list of list of Used
        For each command its turns.
    """
    found: list[list[Used]] = [[] for _ in commands]
    places = list(range(len(commands)))
    for turn in range(turns + 1):
        shift = turn % len(places)
        for place in places[shift:] + places[:shift]:
            one = used(commands[place])
            if turn:
                found[place].append(one)
    return found


def median_of(turns: Sequence[Used], figure: str = "cpu") -> float:
    """Return the median of a figure (``wall``, ``cpu`` or ``mib``) over turns."""
    return statistics.median(_figures(turns, figure))


def ratio(ours: Sequence[Used], theirs: Sequence[Used], figure: str = "cpu") -> float:
    """Return the median of the ratios within each turn."""
    pairs = zip(_figures(ours, figure), _figures(theirs, figure), strict=True)
    return statistics.median(a / b for a, b in pairs)


def _figures(turns: Sequence[Used], figure: str) -> list[float]:
    return [float(getattr(one, figure)) for one in turns]


def add_load_option(parser: argparse.ArgumentParser) -> None:
    """Add the option that measures on a busy machine, which nothing committed may do."""
    parser.add_argument(
        "--loaded",
        action="store_true",
        help=f"measure although the load average is above {MOST_LOAD:g}, to try the script; "
        "nothing is written",
    )


def quiet(options: argparse.Namespace) -> float:
    """Wait until the machine has no other work and return its load average.

    Raises
    ------
    SystemExit
        Status 2 where it stays loaded, unless ``--loaded`` is given without a file to write.
    """
    load = os.getloadavg()[0]
    written = getattr(options, "write", None)
    if options.loaded:
        if written is not None:
            raise SystemExit("--loaded is for trying a script; it writes no table")
        return load
    end = time.monotonic() + _WAIT_SECONDS
    while load > MOST_LOAD and time.monotonic() < end:
        time.sleep(_PAUSE_SECONDS)
        load = os.getloadavg()[0]
    if load > MOST_LOAD:
        print(
            f"load average {load:.1f}: other work would be measured with it; at most {MOST_LOAD:g} "
            "(--loaded tries the script all the same)",
            file=sys.stderr,
        )
        raise SystemExit(2)
    return load


def conditions(load: float, *packages: str) -> str:
    """Return one sentence: Python, packages, processors and load."""
    versions = "".join(f", {name} {version(name)}" for name in packages)
    processors = len(os.sched_getaffinity(0))
    return (
        f"Python {platform.python_version()}{versions}; {processors} processors, "
        f"{platform.machine()}, load average {load:.2f} before the first run."
    )


def require_sha256(path: Path, expected: str) -> str:
    """Return the beginning of a file's hash, as tables show it.

    Raises
    ------
    SystemExit
        When the input is not the one whose hash is pinned: figures of two inputs do not compare.
    """
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != expected:
        raise SystemExit(f"{path}: sha256 is {found}, pinned is {expected}; another input")
    return found[:12]


def publish(text: str, options: argparse.Namespace) -> None:
    """Print a table and write it where ``--write`` names a file."""
    print(text, end="")
    if options.write is not None:
        options.write.write_text(text, encoding="utf-8")
