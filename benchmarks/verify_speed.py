"""Speed of ``audit verify``, side by side with what people would run instead.

Whole processes, alternating, medians of the ratios within each pair. Run::

    python benchmarks/verify_speed.py [-n 9] [--write benchmarks/verify_speed.md]

Needs ``check-jsonschema`` beside this Python. The artifact is the project's own; the 50 MB file is
the same artifact with its training steps repeated. The study of many tasks is made up: three runs
of each of two arms, four answers a task, in one file and with its outcomes beside it.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from measuring import (
    Used,
    add_load_option,
    conditions,
    in_turns,
    median_of,
    publish,
    quiet,
    ratio,
    used,
)

ROOT = Path(__file__).resolve().parent.parent
ARTIFACT = ROOT / "reports" / "gppo-framework" / "results.json"
SCHEMA = ROOT / "schemas" / "results.v2.schema.json"
BIG_BYTES = 50_000_000
TASKS, ANSWERS, RUNS = 1_000_000, 4, 3
# The rules that ask for the statistics.
NO_VERDICT = "CLAIM,PRINT,ROUND,SEED001"


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


def rows_of_many_tasks(folder: Path, turns: int) -> list[str]:
    """Return the rows of the study with many tasks, in one file and with outcomes beside it."""
    inside, beside = folder / "tasks.json", folder / "beside.json"
    # In a process of its own: the peak of a child begins at what its parent holds.
    writer = get_context("spawn").Process(target=many_tasks, args=(inside, TASKS))
    writer.start()
    writer.join()
    if writer.exitcode:
        raise SystemExit("the study of many tasks could not be written")
    audit = [sys.executable, "-m", "audit"]
    used([*audit, "export", str(inside), "--to", "parquet", "-o", str(beside)])
    loaded = [sys.executable, "-c", f"import json; json.load(open({str(inside)!r}))"]
    bare = used([sys.executable, "-c", "pass"]).mib
    rows = []
    for form, path in (("in one file", inside), ("outcomes beside it", beside)):
        name = f"{TASKS:,} tasks in {2 * RUNS} runs, {form}"
        ours, theirs = in_turns([[*audit, "verify", str(path)], loaded], turns)
        rows.append(row(f"{name}: CPU s, other = json.load of the one file", "cpu", ours, theirs))
        above = [[replace(one, mib=one.mib - bare) for one in side] for side in (ours, theirs)]
        rows.append(row(f"{name}: peak MiB above bare Python, other = the same", "mib", *above))
    return rows


def row(name: str, figure: str, one: Sequence[Used], other: Sequence[Used]) -> str:
    a, b = median_of(one, figure), median_of(other, figure)
    return f"| {name} | {a:.3f} | {b:.3f} | {ratio(one, other, figure):.2f} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-n", "--times", type=int, default=9)
    parser.add_argument("--write", type=Path)
    add_load_option(parser)
    options = parser.parse_args()
    load = quiet(options)
    python = sys.executable
    verify = [python, "-m", "audit", "verify"]
    checker = [str(Path(python).parent / "check-jsonschema"), "--schemafile", str(SCHEMA)]
    one_arm = json.loads(ARTIFACT.read_text(encoding="utf-8"))
    one_arm["controls"] = {}
    one_arm["seed_results"] = one_arm["seed_results"][:1]
    packages = ("check-jsonschema", "jsonschema-rs", "msgspec", "numpy")
    lines = [
        "# Speed of `audit verify`",
        "",
        "Command: `python benchmarks/verify_speed.py`. Whole processes in turn in one run, "
        f"{options.times} counted pairs; medians, and the median of the ratios within each pair. "
        + conditions(load, *packages),
        "",
        "| what | audit | other | ratio |",
        "|---|---|---|---|",
    ]
    with tempfile.TemporaryDirectory() as folder:
        small = Path(folder) / "no-verdict.json"
        small.write_text(json.dumps(one_arm), encoding="utf-8")
        without = ["--format", "github", "--ignore", NO_VERDICT]
        for name, path, more in (
            ("one arm, so no verdict", small, []),
            ("the artifact, all rules but the verdict's", ARTIFACT, without),
            ("the artifact, with its verdict", ARTIFACT, []),
        ):
            commands = [[*verify, *more, str(path)], [*checker, str(path)]]
            ours, theirs = in_turns(commands, options.times)
            lines.append(row(f"{name}: CPU s, other = check-jsonschema", "cpu", ours, theirs))
            lines.append(row(f"{name}: wall s, other = check-jsonschema", "wall", ours, theirs))
        lines += rows_of_many_tasks(Path(folder), max(3, options.times // 3))
        big = Path(folder) / "big.json"
        repeated_artifact(big, BIG_BYTES)
        loaded = [python, "-c", f"import json; json.load(open({str(big)!r}))"]
        ours, theirs = in_turns([[*verify, str(big)], loaded], max(3, options.times // 3))
        what = f"{big.stat().st_size / 1e6:.0f} MB artifact"
        lines.append(row(f"{what}: CPU s, other = json.load alone", "cpu", ours, theirs))
        lines.append(row(f"{what}: peak MiB, other = json.load alone", "mib", ours, theirs))
    publish("\n".join(lines) + "\n", options)


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    main()
