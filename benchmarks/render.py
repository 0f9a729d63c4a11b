"""Time and memory of rendering a page with six figures, each run a process of its own.

The study is the sample results file of the tests, which has data for every figure. Wall and CPU
seconds are the median of the runs, memory is the largest resident set of any::

    python benchmarks/render.py --write benchmarks/render.md
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import tempfile
import time
from importlib import metadata
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parent.parent
FULL = ROOT / "tests" / "data" / "results" / "full.json"
RUNS = 5

# What is measured: the name, the arguments, and how many figures the page must have.
CASES: list[tuple[str, list[str], int]] = [
    ("recipe.md.j2, six figures", ["--template", "recipe.md.j2"], 6),
    ("recipe.html.j2, six figures inline", ["--template", "recipe.html.j2"], 6),
    ("summary.md.j2, no figure", ["--template", "summary.md.j2"], 0),
]


def once(arguments: list[str], figures: int) -> tuple[float, float, float]:
    """Return wall seconds, CPU seconds and MiB of one run, the page checked."""
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "page"
        command = [sys.executable, "-m", "audit", "render", str(FULL), "-o", str(page), *arguments]
        start = time.perf_counter()
        child = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.DEVNULL)
        _, status, used = os.wait4(child.pid, 0)
        wall = time.perf_counter() - start
        if status:
            raise SystemExit(f"{' '.join(command)} ended with status {status}")
        drawn = len(list(Path(folder).glob("figures/*.svg"))) or page.read_text().count("<figure>")
        if drawn != figures:
            raise SystemExit(f"{drawn} figures where {figures} were expected")
        return wall, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def table() -> str:
    lines = [
        "| page | wall s | CPU s | peak MiB |",
        "| --- | --- | --- | --- |",
    ]
    for name, arguments, figures in CASES:
        runs = [once(arguments, figures) for _ in range(RUNS)]
        wall, cpu = (median(run[n] for run in runs) for n in (0, 1))
        lines.append(f"| {name} | {wall:.2f} | {cpu:.2f} | {max(run[2] for run in runs):.0f} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", metavar="FILE", type=Path)
    options = parser.parse_args()
    packages = ", ".join(f"{name} {metadata.version(name)}" for name in ("matplotlib", "jinja2"))
    text = (
        "# Rendering a page\n\n"
        f"Median of {RUNS} cold processes each, {FULL.stat().st_size / 1024:.0f} KiB of results, "
        f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} at the start, "
        f"Python {platform.python_version()}, {packages}.\n\n{table()}\n"
    )
    print(text)
    if options.write:
        options.write.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
