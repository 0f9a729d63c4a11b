"""Runs as W&B, MLflow, TensorBoard and Trackio keep them, written with made values."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from made_trackers import VERSION, scalar, text_event, tfrecord


def table(path: Path, rows: Sequence[Mapping[str, Any]]) -> Path:
    lines = [list(rows[0]), *([row[name] for name in rows[0]] for row in rows)]
    text = "\n".join(",".join(f'"{cell}"' for cell in line) for line in lines)
    path.write_text(f"{text}\n")
    return path


def row(name: str, arm: str, seed: int, value: object, state: str = "finished") -> dict[str, Any]:
    return {
        "Name": name,
        "State": state,
        "Created": f"2026-01-0{seed}T00:00:00.000Z",
        "Runtime": 60 * seed,
        "algo": arm,
        "eval.seed": 40 + seed,
        "lr": "1e-6",
        "seed": seed,
        "eval/sums/accuracy": value,
        "eval/num_samples": 40,
        "train/reward": 0.5 + seed / 100,
    }


def wandb_folder(folder: Path, run_id: str, data: bytes, day: int = 1) -> Path:
    place = folder / "wandb" / f"offline-run-202601{day:02d}_080000-{run_id}"
    place.mkdir(parents=True)
    (place / f"run-{run_id}.wandb").write_bytes(data)
    return place


def curve(last: float, steps: Sequence[int] = (10, 20)) -> dict[int, dict[str, object]]:
    rows: dict[int, dict[str, object]] = {s: {"train/loss": 1 / (s + last)} for s in steps}
    rows[steps[-1]]["eval/sums/accuracy"] = last
    return rows


STATUS = {"RUNNING": 1, "SCHEDULED": 2, "FINISHED": 3, "FAILED": 4, "KILLED": 5}


def mlflow_run(
    store: Path,
    number: int,
    arm: str,
    seed: int,
    value: float | str,
    status: str = "FINISHED",
    experiment: str = "7",
    **meta: str,
) -> None:
    folder = store / experiment / f"{number:032x}"
    files = {
        "params/actor/rollout/seed": "42",
        "params/data/seed": str(seed),
        "params/algo": arm,
        "metrics/val-core/org/sums/acc/mean_at_4": f"1 0.1 0\n2 {value} 20\n",
        "metrics/train/loss": f"1 {0.5 / number} 10\n2 nan 20\n3 {0.25 / number} 20\n",
        "tags/mlflow.runName": f"{arm}-x",
    }
    described = {"run_id": folder.name, "status": STATUS[status], "lifecycle_stage": "active"}
    lines = [f"{key}: {text}" for key, text in (described | meta).items()]
    files["meta.yaml"] = "\n".join(lines) + "\n"
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (store / experiment / "meta.yaml").write_text(f"experiment_id: '{experiment}'\nname: crates\n")


def trackio_database(path: Path, logged: Sequence[tuple[Any, ...]], as_text: bool = False) -> Path:
    """Write a database of Trackio; older ones hold text and no run_id."""
    column = "" if as_text else "run_id TEXT, "
    connection = sqlite3.connect(path)
    connection.execute(
        f"CREATE TABLE metrics (id INTEGER PRIMARY KEY, {column}run_name TEXT, step INTEGER,"
        " metrics TEXT)"
    )
    connection.execute(
        f"CREATE TABLE configs (id INTEGER PRIMARY KEY, {column}run_name TEXT, config TEXT)"
    )
    for arm, seed, rows in logged:
        name = f"{arm}-{seed}"
        config = {"seed": seed, "max_steps": 20, "eval_seed": 9, "_Group": arm, "_Username": "me"}
        config["beta"] = 0.04 if arm == "plain" else 0.0
        key = () if as_text else (f"id-{name}",)
        marks = ", ".join("?" * (len(key) + 2))
        names = ("" if as_text else "run_id, ") + "run_name, config"
        stored = json.dumps(config) if as_text else json.dumps(config).encode()
        connection.execute(f"INSERT INTO configs ({names}) VALUES ({marks})", (*key, name, stored))
        for step, figures in rows:
            stored = json.dumps(figures) if as_text else json.dumps(figures).encode()
            connection.execute(
                f"INSERT INTO metrics ({names.replace('config', 'step, metrics')})"
                f" VALUES ({marks}, ?)",
                (*key, name, step, stored),
            )
    connection.commit()
    connection.close()
    return path


def logged(value: float, steps: Sequence[int] = (10, 20)) -> list[tuple[int, dict[str, object]]]:
    rows: list[tuple[int, dict[str, object]]] = [(step, {"loss": 0.5}) for step in steps]
    return [*rows, (steps[-1], {"eval/sums/accuracy": value, "kl": "NaN", "up": "-Infinity"})]


def events(folder: Path, rows: Sequence[tuple[int, str, float]], number: int = 1) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    data = VERSION + b"".join(tfrecord(scalar(step, tag, value)) for step, tag, value in rows)
    path = folder / f"events.out.tfevents.100000000{number}.host.1.0"
    path.write_bytes(data)
    return path


def openrlhf(value: float, spread: float, answers: int = 40) -> list[tuple[int, str, float]]:
    return [
        (10, "train/policy_loss", spread),
        (20, "eval/eval_sums_pass4", 0.9),
        (20, "eval/eval_sums_pass1", value),
        (20, "eval/eval_num_samples", answers),
    ]


def trainer_folder(
    folder: Path, number: int, arguments: Mapping[str, object], value: float
) -> None:
    """Write what a Hugging Face trainer leaves below its output folder."""
    rows = [(10, "train/loss", 0.1 + number / 100), (20, "eval/accuracy", value)]
    path = events(folder / "runs" / f"Nov30_08-00-0{number}_node", rows, number)
    text = text_event("args/text_summary", json.dumps(arguments))
    path.write_bytes(path.read_bytes() + tfrecord(text))
