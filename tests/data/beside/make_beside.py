"""Write the made-up study whose outcomes lie beside it: ``python make_beside.py``."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

from audit.cli.outcomes_output import publish_beside

HERE = Path(__file__).resolve().parent
TASKS, ANSWERS = 40, 4


def run(arm: str, seed: int, chance: float) -> dict[str, Any]:
    """Return a run with its counts, ids and lengths per task."""
    random = Random(f"{arm} {seed}")
    right = [sum(random.random() < chance for _ in range(ANSWERS)) for _ in range(TASKS)]
    evaluation = {
        "benchmark": "made-up",
        "split": "test",
        "task_ids": [f"task-{number:02d}" for number in range(TASKS)],
        "correct": right,
        "samples": [ANSWERS] * TASKS,
        "errored": [int(count == 0 and number % 9 == 0) for number, count in enumerate(right)],
        "mean_tokens": [100.5 + 3 * number + seed for number in range(TASKS)],
        "clusters": [number // 2 for number in range(TASKS)],
    }
    return {"seed": seed, "run_id": f"{arm}-{seed}", "evaluation": evaluation}


def study() -> dict[str, Any]:
    """Return the study with all lists in it."""
    arms = {"new": 0.75, "old": 0.35}
    runs = {arm: [run(arm, seed, chance) for seed in (1, 2, 3)] for arm, chance in arms.items()}
    return {
        "schema_version": 2,
        "method": "new",
        "seed_results": runs["new"],
        "controls": {"old": {"role": "control", "seed_results": runs["old"]}},
        "claims": [
            {"id": "gain", "metric": "accuracy", "arm": "new", "against": "old"}
            | {"direction": "gain", "benchmark": "made-up"}
        ],
    }


if __name__ == "__main__":
    publish_beside(json.loads(json.dumps(study())), str(HERE / "results.json"))
