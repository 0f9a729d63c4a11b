"""What an import costs: large evaluations in files of several tools, and a walk over many files.

    python benchmarks/import_speed.py [--write benchmarks/import_speed.md]

Six runs (two arms of three seeds) of 1,000 tasks with 8 answers each, written by the makers of the
tests, and a folder of 100,000 files of which none is a result. Each is given to `audit import` in a
process of its own.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from measuring import add_load_option, conditions, publish, quiet, used

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests" / "importers"), str(ROOT / "tests")]

import run_folders as made  # noqa: E402

TASKS, ANSWERS = 1000, 8
FILES = 100_000
# What each may cost.
MOST_SECONDS, MOST_MIB, MOST_WALK_SECONDS = 6.0, 400, 5.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", type=Path, help="write the table to this file")
    add_load_option(parser)
    options = parser.parse_args()
    load = quiet(options)
    lines = [
        "# What an import costs",
        "",
        f"By `python benchmarks/import_speed.py`. {conditions(load)} Whole processes, peak memory "
        "of each.",
        "",
        f"Six runs of {TASKS:,} tasks x {ANSWERS} answers: at most {MOST_SECONDS:g} CPU s and "
        f"{MOST_MIB} MiB are allowed, {MOST_WALK_SECONDS:g} CPU s for the walk.",
        "",
        "| what | MB on disk | exit status | wall s | CPU s | peak MiB |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for name, make in LAYOUTS:
        with tempfile.TemporaryDirectory() as folder:
            runs = Path(folder) / "runs"
            runs.mkdir()
            make(runs)
            size = sum(path.stat().st_size for path in runs.rglob("*") if path.is_file())
            told = ("--control", made.ARMS[0], "-o", f"{folder}/results.json")
            found = measured("import", str(runs), *told)
            lines.append(f"| {name} | {size / 1e6:.1f} | {found} |")
    memory = "/dev/shm" if Path("/dev/shm").is_dir() else None  # a disk takes minutes to make them
    with tempfile.TemporaryDirectory(dir=memory) as folder:
        _many_files(Path(folder))
        lines.append(f"| a walk over {FILES:,} files | - | {measured('import', folder)} |")
    publish("\n".join(lines) + "\n", options)


def measured(*arguments: str) -> str:
    """Return exit status, wall and CPU seconds and peak memory of one command of audit."""
    found = used([sys.executable, "-m", "audit", *arguments], allowed=(0, 1, 2), cwd="/")
    return f"{found.status} | {found.wall:.1f} | {found.cpu:.1f} | {found.mib:.0f}"


def _large(make: Callable[[Path], object]) -> Callable[[Path], None]:
    """Return a maker whose runs have many tasks and answers."""

    def made_large(root: Path) -> None:
        drawn = made.draws

        def draws(arm: str, seed: int, answers: int, tasks: int = TASKS) -> list[list[int]]:
            return drawn(arm, seed, ANSWERS, tasks)

        made.draws = draws
        try:
            make(root)
        finally:
            made.draws = drawn

    return made_large


def _home_table(root: Path) -> None:
    lines = ["arm,seed,task,sample,correct"]
    for arm, seed, drawn in made.runs(ANSWERS):
        for task, values in enumerate(drawn):
            lines += [f"{arm},{seed},t{task},{n},{value}" for n, value in enumerate(values)]
    (root / "answers.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _many_files(root: Path) -> None:
    for number in range(FILES):
        folder = root / f"run{number // 1000}" / "dumps"
        if number % 1000 == 0:
            folder.mkdir(parents=True)
        (folder / f"step{number % 1000}.txt").write_bytes(b"x")


LAYOUTS = (
    ("verl", _large(made.verl)),
    ("home-made lists, JSON Lines", _large(made.home_lists)),
    ("home-made table, CSV", _large(_home_table)),
    ("NeMo-RL", _large(made.nemo_rl)),
)

if __name__ == "__main__":
    main()
