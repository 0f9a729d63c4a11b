"""Speed of ``audit verify``, side by side with what people would run instead.

Whole processes, alternating, medians of the ratios within each pair. Run::

    python benchmarks/verify_speed.py [-n 9] [-o benchmarks/verify_speed.md]

Needs ``check-jsonschema`` beside this Python. The artifact is the project's own; the 50 MB file is
the same artifact with its training steps repeated. The study of many tasks is made up: three runs
of each of two arms, four answers a task, in one file and with its outcomes beside it.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version
from multiprocessing import get_context
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
ARTIFACT = ROOT / "reports" / "gppo-framework" / "results.json"
SCHEMA = ROOT / "schemas" / "results.v2.schema.json"
BIG_BYTES = 50_000_000
TASKS, ANSWERS, RUNS = 1_000_000, 4, 3
# The rules that ask for the statistics.
NO_VERDICT = "CLAIM,PRINT,ROUND,SEED001"


def measured(command: list[str]) -> tuple[float, float, float]:
    """Run a process; return wall seconds, CPU seconds and peak memory in MB."""
    start = time.perf_counter()
    # As installed by pip: with compiled modules, which the first, uncounted round leaves behind.
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    process = subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    wall = time.perf_counter() - start
    if process.returncode not in (0, 1):
        raise SystemExit(f"{command} ended with {process.returncode}")
    return wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024 / 1e6


def side_by_side(
    one: list[str], other: list[str], times: int
) -> tuple[list[tuple[float, ...]], list[tuple[float, ...]]]:
    """Run two commands in turn, the order changing, after one uncounted round."""
    rows: tuple[list[tuple[float, ...]], list[tuple[float, ...]]] = ([], [])
    for number in range(times + 1):
        order = (0, 1) if number % 2 else (1, 0)
        pair = {which: measured((one, other)[which]) for which in order}
        if number:
            rows[0].append(pair[0])
            rows[1].append(pair[1])
    return rows


def repeated_artifact(path: Path, size: int) -> None:
    """Write the artifact with the training steps of every run repeated, its counts kept true."""
    document = json.loads(ARTIFACT.read_text(encoding="utf-8"))
    arms = [document, *document["controls"].values()]
    steps = sum(len(json.dumps(run["training"])) for arm in arms for run in arm["seed_results"])
    times = max(1, size // steps)
    for arm in arms:
        for run in arm["seed_results"]:
            repeat(run, times)
        checks = arm.get("execution_checks")
        if checks:
            for key in (
                "rollout_groups_per_seed",
                "actual_gradient_steps",
                "rejected_zero_advantage_groups",
                "generated_tokens_including_rejected_groups",
            ):
                checks[key] = [value * times for value in checks[key]]
    path.write_text(json.dumps(document), encoding="utf-8")


def repeat(run: dict[str, Any], times: int) -> None:
    """Repeat a run's steps, each time over rows of its own."""
    once, attempted = run["training"], run["sampling"]["tasks_attempted"]
    run["training"] = [
        {
            **step,
            "step": number * len(once) + index + 1,
            "training_row": number * attempted + step["training_row"],
        }
        for number in range(times)
        for index, step in enumerate(once)
    ]
    run["protocol"]["steps"] *= times
    run["sampling"]["tasks_attempted"] *= times
    for name in (
        "zero_advantage_groups_retained",
        "generated_training_tokens_including_rejected_groups",
    ):
        run["sampling"][name] *= times


def many_tasks(path: Path, tasks: int) -> None:
    """Write a study of two arms, the same tasks in every run, with a claim of a gain."""
    import numpy as np

    random = np.random.default_rng(1)
    ids = [f"task-{number:07d}" for number in range(1, tasks + 1)]
    chances = random.beta(1.2, 1.2, tasks)

    def run(arm: str, seed: int, effect: float) -> dict[str, Any]:
        own = np.clip(chances + effect + random.normal(0, 0.01), 0, 1)
        outcomes = {"correct": random.binomial(ANSWERS, own).tolist(), "samples": [ANSWERS] * tasks}
        evaluation = {"benchmark": "made-up", "split": "test", "task_ids": ids, **outcomes}
        return {"seed": seed, "run_id": f"{arm}-{seed}", "evaluation": evaluation}

    study = {
        "schema_version": 2,
        "method": "new",
        "seed_results": [run("new", seed, 0.03) for seed in range(RUNS)],
        "controls": {"old": {"seed_results": [run("old", seed, 0.0) for seed in range(RUNS)]}},
        "claims": [
            {"id": "gain", "metric": "accuracy", "arm": "new", "against": "old"}
            | {"direction": "gain"}
        ],
    }
    path.write_text(json.dumps(study), encoding="utf-8")


def rows_of_many_tasks(folder: Path, tasks: int, times: int) -> list[str]:
    """Return the rows of the study with many tasks, in one file and with outcomes beside it."""
    inside, beside = folder / "tasks.json", folder / "beside.json"
    # In a process of its own: the peak of a child begins at what its parent holds.
    writer = get_context("spawn").Process(target=many_tasks, args=(inside, tasks))
    writer.start()
    writer.join()
    if writer.exitcode:
        raise SystemExit("the study of many tasks could not be written")
    audit = [sys.executable, "-m", "audit"]
    measured([*audit, "export", str(inside), "--to", "parquet", "-o", str(beside)])
    load = [sys.executable, "-c", f"import json; json.load(open({str(inside)!r}))"]
    bare = measured([sys.executable, "-c", "pass"])[2]
    study = f"{tasks:,} tasks in {2 * RUNS} runs, with the verdict,"
    rows = []
    for form, path in (("in one file", inside), ("outcomes beside it", beside)):
        ours, theirs = side_by_side([*audit, "verify", str(path)], load, times)
        name = f"{study} {form}: CPU s, other = json.load of the one file"
        rows.append(row(name, 1, ours, theirs))
        above = f"{study} {form}: peak MB above bare Python, the same"
        rows.append(row(above, 0, less(ours, bare), less(theirs, bare)))
    return rows


def less(used: list[tuple[float, ...]], bare: float) -> list[tuple[float, ...]]:
    """Return the peak memory of processes above that of one that does nothing."""
    return [(peak - bare,) for *_, peak in used]


def row(name: str, unit: int, one: list[tuple[float, ...]], other: list[tuple[float, ...]]) -> str:
    a = statistics.median(values[unit] for values in one)
    b = statistics.median(values[unit] for values in other)
    ratio = statistics.median(x[unit] / y[unit] for x, y in zip(one, other, strict=True))
    return f"| {name} | {a:.3f} | {b:.3f} | {ratio:.2f} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-n", "--times", type=int, default=9)
    parser.add_argument("-o", "--output", type=Path)
    parser.add_argument("--tasks", type=int, default=TASKS, help="of the study of many tasks")
    options = parser.parse_args()
    python = sys.executable
    verify = [python, "-m", "audit", "verify"]
    checker = [str(Path(python).parent / "check-jsonschema"), "--schemafile", str(SCHEMA)]
    one_run = json.loads(ARTIFACT.read_text(encoding="utf-8"))
    lines = [
        "# Speed of `audit verify`",
        "",
        "Command: `python benchmarks/verify_speed.py`. Whole processes in turn in one run, "
        f"{options.times} counted pairs; medians, and the median of the ratios within each pair. "
        f"Python {platform.python_version()}, {os.cpu_count()} cores, "
        f"check-jsonschema {version('check-jsonschema')}, jsonschema-rs "
        f"{version('jsonschema-rs')}, numpy {version('numpy')}, msgspec {version('msgspec')}.",
        "",
        "| what | audit | other | ratio |",
        "|---|---|---|---|",
    ]
    with tempfile.TemporaryDirectory() as folder:
        small = Path(folder) / "no-verdict.json"
        one_run["controls"] = {}
        for key in ("seed_results",):
            one_run[key] = one_run[key][:1]
        small.write_text(json.dumps(one_run), encoding="utf-8")
        for name, path in (
            ("one arm, so no verdict: CPU s, other = check-jsonschema", small),
            (
                "the artifact, all rules but the verdict's: CPU s, other = check-jsonschema",
                ARTIFACT,
            ),
            ("the artifact, with its verdict: CPU s, other = check-jsonschema", ARTIFACT),
        ):
            plain = ["--format", "github", "--ignore", NO_VERDICT] if "but" in name else []
            a, b = side_by_side([*verify, *plain, str(path)], [*checker, str(path)], options.times)
            lines.append(row(name, 1, a, b))
            lines.append(row(name.replace("CPU", "wall"), 0, a, b))
        lines += rows_of_many_tasks(Path(folder), options.tasks, max(3, options.times // 3))
        big = Path(folder) / "big.json"
        repeated_artifact(big, BIG_BYTES)
        load = [python, "-c", f"import json; json.load(open({str(big)!r}))"]
        a, b = side_by_side([*verify, str(big)], load, max(3, options.times // 3))
        megabytes = big.stat().st_size / 1e6
        lines.append(row(f"{megabytes:.0f} MB artifact, CPU s, other = json.load alone", 1, a, b))
        peak = statistics.median(values[2] for values in a)
        lines += [
            "",
            f"Peak memory on the {megabytes:.0f} MB file: {peak:.0f} MB, "
            f"{peak / megabytes:.1f} times the file (json.load alone "
            f"{statistics.median(v[2] for v in b) / megabytes:.1f} times).",
        ]
    text = "\n".join(lines) + "\n"
    if options.output:
        options.output.write_text(text, encoding="utf-8")
    else:
        print(text)


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    main()
