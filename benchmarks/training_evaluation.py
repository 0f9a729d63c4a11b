"""Time of an evaluation: one process, two workers, two processes that share the tasks.

A study of four evaluations of the base and two runs of one round is carried out as one process
does it, as two worker processes do (`--workers 2`), and as two processes under `torchrun`, where a
run is trained by both and each evaluates its share of the tasks, of the base too. What a piece took
is its own record (`cost.minutes`), and of a run almost all of it is the evaluation; the wall time
is that of the whole command, with the start of Python, torch and TRL in each process. The ways take
turns; the figures are medians over turns.

Greedy decoding at a learning rate of next to nothing, so that the answers do not depend on who
draws: the right answers of every task must be the same in all three, or it ends with 1.

    python benchmarks/training_evaluation.py --write benchmarks/training_evaluation.md
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from measuring import add_load_option, conditions, publish, quiet

STUDY = """\
seeds = [1]
[task]
name = "addition"
holdout_tasks = 500
[training]
rounds = 1
iterations = 2
learning_rate = 1e-9
[evaluation]
samples = SAMPLES
temperature = 0
base_repeats = 4
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
WAYS = {
    "one process": ("-m", "audit", "train"),
    "two workers": ("-m", "audit", "train", "--workers", "2"),
    "two processes, torchrun": (
        *("-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"),
        *("-m", "audit", "train"),
    ),
}


def start(folder: Path, way: str, turn: int) -> tuple[float, dict[str, Any]]:
    """Run the study in one way, and return the seconds it took and its results."""
    output = folder / f"{turn}-{way.replace(' ', '-').replace(',', '')}.json"
    begun = time.monotonic()
    subprocess.run(
        [sys.executable, *WAYS[way], str(folder / "study.toml"), "-o", str(output), "--quiet"],
        env={**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"},
        stdout=subprocess.DEVNULL,
        check=True,
    )
    seconds = time.monotonic() - begun
    found: dict[str, Any] = json.loads(output.read_text())
    return seconds, found


def piece_seconds(document: dict[str, Any]) -> tuple[float, float]:
    """Median time of an evaluation of the base, and of a run, each with its model loaded."""
    control = document["controls"]["fixed-clip"]["seed_results"]
    base, runs = (
        statistics.median([60 * float(one["cost"]["minutes"]) for one in entries])
        for entries in (document["base_evaluations"], [*document["seed_results"], *control])
    )
    return base, runs


def counts(document: dict[str, Any]) -> list[Any]:
    """Right answers of each task, of the base and of every run."""
    control = document["controls"]["fixed-clip"]["seed_results"]
    entries = [*document["base_evaluations"], *document["seed_results"], *control]
    return [entry["evaluation"]["correct"] for entry in entries]


def table(
    found: dict[str, list[tuple[float, float, float]]], samples: int, same: bool, load: float
) -> str:
    one = statistics.median(wall for wall, _, _ in found["one process"])
    lines = [
        "# Time of an evaluation: one process, workers, shares",
        "",
        "Written by `python benchmarks/training_evaluation.py --write "
        "benchmarks/training_evaluation.md`.",
        f"500 tasks x {samples} greedy answers of the addition model; a study of 4 evaluations of "
        "the base and 2 runs of one",
        f"round, evaluated once each. Medians of {len(found['one process'])} turns; one thread a "
        f"process. {conditions(load, 'torch', 'trl', 'transformers')}",
        f"The same right answers of every task in all three: {'yes' if same else 'NO'}.",
        "",
        "| way | evaluation of the base | run with its evaluation | whole command | "
        "of one process |",
        "|---|---:|---:|---:|---:|",
    ]
    for way, turns in found.items():
        wall, base, run = (statistics.median(column) for column in zip(*turns, strict=True))
        lines.append(f"| {way} | {base:.2f} s | {run:.2f} s | {wall:.1f} s | {wall / one:.2f} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--samples", type=int, default=64)
    parser.add_argument("--write", type=Path, help="write the table to this file")
    add_load_option(parser)
    options = parser.parse_args()
    load = quiet(options)
    found: dict[str, list[tuple[float, float, float]]] = {way: [] for way in WAYS}
    same, first = True, None
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "study.toml").write_text(STUDY.replace("SAMPLES", str(options.samples)))
        for turn in range(options.turns):
            for way in WAYS:
                seconds, document = start(folder, way, turn)
                found[way].append((seconds, *piece_seconds(document)))
                first = first or counts(document)
                same = same and counts(document) == first
    publish(table(found, options.samples, same, load), options)
    return int(not same)


if __name__ == "__main__":
    sys.exit(main())
