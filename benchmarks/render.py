"""Time and memory of rendering a page with six figures, each run a process of its own.

The study is the sample results file of the tests, which has data for every figure. Wall and CPU
seconds are the median of the runs, memory is the largest resident set of any::

    python benchmarks/render.py --write benchmarks/render.md
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from measuring import Used, add_load_option, conditions, median_of, publish, quiet, used

ROOT = Path(__file__).resolve().parent.parent
FULL = ROOT / "tests" / "data" / "results" / "full.json"
RUNS = 5

# What is measured: the name, the arguments, and how many figures the page must have.
CASES: list[tuple[str, list[str], int]] = [
    ("recipe.md.j2, six figures", ["--template", "recipe.md.j2"], 6),
    ("recipe.html.j2, six figures inline", ["--template", "recipe.html.j2"], 6),
    ("summary.md.j2, no figure", ["--template", "summary.md.j2"], 0),
]


def once(arguments: list[str], figures: int) -> Used:
    """Return what one run used, the page checked."""
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "page"
        command = [sys.executable, "-m", "audit", "render", str(FULL), "-o", str(page), *arguments]
        found = used(command, allowed=(0,), cwd=ROOT)
        drawn = len(list(Path(folder).glob("figures/*.svg"))) or page.read_text().count("<figure>")
        if drawn != figures:
            raise SystemExit(f"{drawn} figures where {figures} were expected")
        return found


def table() -> str:
    lines = [
        "| page | wall s | CPU s | peak MiB |",
        "| --- | --- | --- | --- |",
    ]
    for name, arguments, figures in CASES:
        runs = [once(arguments, figures) for _ in range(RUNS)]
        wall, cpu = (median_of(runs, figure) for figure in ("wall", "cpu"))
        lines.append(f"| {name} | {wall:.2f} | {cpu:.2f} | {max(run.mib for run in runs):.0f} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", metavar="FILE", type=Path)
    add_load_option(parser)
    options = parser.parse_args()
    load = quiet(options)
    text = (
        "# Rendering a page\n\n"
        f"Median of {RUNS} cold processes each, {FULL.stat().st_size / 1024:.0f} KiB of results. "
        f"{conditions(load, 'matplotlib', 'jinja2')}\n\n{table()}\n"
    )
    publish(text, options)


if __name__ == "__main__":
    main()
