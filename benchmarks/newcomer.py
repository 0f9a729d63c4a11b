"""A newcomer's path timed: from ``pip install`` to a refused claim in his own lm-eval output.

    python benchmarks/newcomer.py [--write benchmarks/newcomer.md]

Makes an empty virtual environment first, which is not counted; then runs the commands a user would
type, each timed, over lm-evaluation-harness output of two arms with three runs each. Needs a
package index; how long the installation takes depends on it.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from measuring import add_load_option, conditions, publish, quiet

ROOT = Path(__file__).resolve().parent.parent
OUTPUT = "tests/data/foreign/lm_eval"
COMMANDS = (
    "pip install {root}",
    "audit import lm-eval --arm tuned='{output}/tuned/seed*/*/*' "
    "--arm control='{output}/control/seed*/*/*' --control control --seed-from 'seed{{seed}}' "
    "-o results.json",
    'audit gate results.json --claim "gain accuracy tuned over control"',
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", type=Path, help="write the table to this file")
    add_load_option(parser)
    options = parser.parse_args()
    load = quiet(options)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
        path = f"{folder / 'venv' / 'bin'}{os.pathsep}{os.environ['PATH']}"
        environment = os.environ | {"PATH": path, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
        rows, status = [], 0
        for command in COMMANDS:
            line = command.format(root=ROOT, output=ROOT / OUTPUT)
            start = time.perf_counter()
            done = subprocess.run(
                line, shell=True, cwd=folder, env=environment, capture_output=True, check=False
            )
            seconds, status = time.perf_counter() - start, done.returncode
            shown = command.format(root=".", output=OUTPUT)
            rows.append(f"| `{shown}` | {seconds:.1f} | {status} |")
            if status > 1:
                raise SystemExit(done.stderr.decode())
        if status != 1:
            raise SystemExit("the claim was not refused")
    lines = [
        "# A newcomer's path",
        "",
        f"Written by `python benchmarks/newcomer.py`. {conditions(load)}",
        "The last command prints the refused claim and what would settle it.",
        "",
        "| command | seconds | exit status |",
        "| --- | --- | --- |",
        *rows,
    ]
    publish("\n".join(lines) + "\n", options)


if __name__ == "__main__":
    main()
