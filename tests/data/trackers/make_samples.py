"""Write the samples of this folder with the trackers' own writers. Run by hand, not by tests.

    python -m venv tools
    tools/bin/pip install wandb tensorboard tensorboardX mlflow-skinny sqlalchemy alembic trackio
    tools/bin/python tests/data/trackers/make_samples.py FOLDER

The samples in the repository were written by the versions in ``versions.json``. Databases and
event files hold times, so that another run of this script gives other bytes and the same figures.
"""

# mypy: ignore-errors
# The trackers are installed where this is run, and not beside the tests.

from __future__ import annotations

import gzip
import importlib.metadata
import json
import math
import os
import shutil
import sqlite3
import sys
from pathlib import Path

STEPS = (10, 20, 30)
VERSIONS = ("mlflow-skinny", "tensorboard", "tensorboardX", "trackio", "wandb")


def share(arm: str, seed: int, step: int) -> float:
    """Return an invented share of 40 answers."""
    return (8 + 3 * seed + step // 10 + (4 if arm == "clip" else 0)) / 40


def pack(path: Path, folder: Path) -> None:
    """Move a file into a folder, compressed."""
    with gzip.GzipFile(folder / f"{path.name}.gz", "wb", mtime=0) as packed:
        packed.write(path.read_bytes())
    path.unlink()


def wandb_offline(folder: Path) -> None:
    import wandb

    for arm, seed in (("plain", 1), ("clip", 2)):
        settings = wandb.Settings(
            mode="offline",
            host="host",
            username="user",
            email="",
            root_dir=str(folder),
            program="train.py",
            program_relpath="train.py",
            disable_git=True,
            save_code=False,
            console="off",
            quiet=True,
            x_disable_meta=True,
            x_disable_stats=True,
            x_disable_machine_info=True,
        )
        run = wandb.init(
            project="crates",
            id=f"{arm}{seed}",
            name=f"{arm}-{seed}",
            group=arm,
            config={"seed": seed, "eval": {"seed": 7}, "learning_rate": 1e-6, "arm": arm},
            settings=settings,
        )
        run.config.update({"learning_rate": 2e-6}, allow_val_change=True)
        for step in STEPS:
            figures = {"train/loss": 1 / step, "train/text": "words"}
            if step == 20:
                figures["train/kl"] = math.nan
            # A long key makes records that go over the end of a block of 32 KiB.
            figures["train/filler"] = "x" * (12_000 if arm == "plain" else 10)
            run.log(figures, step=step)
        run.log({"eval/sums/accuracy": share(arm, seed, 30), "eval/num_samples": 40}, step=30)
        run.finish(exit_code=0 if arm == "plain" else 3)
    for left in folder.glob("wandb/*"):
        if left.is_symlink() or left.is_file():
            left.unlink()
    for run_folder in folder.glob("wandb/offline-run-*"):
        for left in run_folder.iterdir():
            if left.suffix != ".wandb":
                shutil.rmtree(left) if left.is_dir() else left.unlink()
        (log,) = run_folder.iterdir()
        pack(log, folder)
    shutil.rmtree(folder / "wandb")


def tensorboard(folder: Path) -> None:
    import tensorboardX
    from tensorboard.compat.proto import event_pb2, summary_pb2
    from tensorboard.summary.writer.event_file_writer import EventFileWriter
    from tensorboard.util import tensor_util
    from tensorboardX.summary import hparams

    writer = tensorboardX.SummaryWriter(str(folder / "plain"))
    writer.add_text("args", json.dumps({"seed": 1, "max_steps": 30, "eval_seed": 9}))
    for step in STEPS:
        writer.add_scalar("train/loss", 1 / step, step)
        writer.add_scalars("eval/sums", {"accuracy": share("plain", 1, step)}, step)
        writer.add_scalar("eval/sums/accuracy", share("plain", 1, step), step)
    writer.add_histogram("weights", [0.0, 0.5, 1.0], 30, bins=[0, 0.5, 1])
    writer.add_scalar("train/kl", math.nan, 30)
    writer.close()

    raw = EventFileWriter(str(folder / "tensors"))
    for step in STEPS:
        value = summary_pb2.Summary.Value(
            tag="eval/sums/accuracy",
            tensor=tensor_util.make_tensor_proto(share("clip", 2, step), dtype="float32"),
        )
        value.metadata.plugin_data.plugin_name = "scalars"
        event = event_pb2.Event(wall_time=1.0e9 + step, step=step)
        event.summary.value.append(value)
        raw.add_event(event)
    settings = {"grpo.seed": 2, "name": "clip", "shuffle": True, "learning_rate": 1e-6}
    for part in hparams(settings, {"eval/sums/accuracy": 0.5}):
        copied = summary_pb2.Summary.FromString(part.SerializeToString())
        raw.add_event(event_pb2.Event(wall_time=1.0e9, summary=copied))
    raw.close()
    for place, path in enumerate(sorted(folder.rglob("events.out.tfevents.*"))):
        # The writers put the host's name into the file's name.
        path.rename(path.with_name(f"events.out.tfevents.1000000000.host.{place}"))


def mlflow(folder: Path) -> None:
    os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"
    import mlflow
    from mlflow.entities import Metric, Param, RunTag

    database = folder / "mlflow.db"
    stores = {"files": (folder / "mlruns").as_uri(), "database": f"sqlite:///{database}"}
    for store in stores.values():
        client = mlflow.MlflowClient(tracking_uri=store)
        experiment = client.create_experiment("crates", artifact_location="mlruns/1")
        for arm, seed, status in (
            ("plain", 1, "FINISHED"),
            ("plain", 2, "FAILED"),
            ("clip", 1, "KILLED"),
            ("clip", 2, "RUNNING"),
            ("clip", 3, "FINISHED"),
        ):
            tags = {"mlflow.user": "user"}
            run = client.create_run(experiment, run_name=f"{arm}-x", tags=tags)
            metrics = [
                Metric("eval/sums/accuracy", share(arm, seed, s), 1000 + s, s) for s in STEPS
            ]
            metrics.append(Metric("train/kl", math.nan, 1000, 10))
            metrics.append(Metric("train/loss", 0.5, 1000, 10))
            client.log_batch(
                run.info.run_id,
                metrics,
                [Param("data/seed", str(seed)), Param("algo", arm), Param("eval.seed", "7")],
                [RunTag("note", "two\nlines")],
            )
            if status != "RUNNING":
                client.set_terminated(run.info.run_id, status)
            if (arm, seed) == ("clip", 3):
                client.delete_run(run.info.run_id)
    for meta in (folder / "mlruns").rglob("meta.yaml"):
        lines = meta.read_text().splitlines(keepends=True)
        kept = [line for line in lines if not line.startswith(("artifact_", "user_id"))]
        meta.write_text("".join(kept))
    connection = sqlite3.connect(database)
    connection.execute("UPDATE runs SET artifact_uri = 'a', user_id = 'user'")
    connection.execute("UPDATE experiments SET artifact_location = 'a'")
    connection.commit()
    connection.execute("VACUUM")
    connection.close()
    pack(database, folder)


def trackio(folder: Path) -> None:
    os.environ["TRACKIO_DIR"] = str(folder)
    import trackio

    for arm, seed in (("plain", 7), ("clip", 8)):
        config = {"seed": seed, "eval_seed": 9, "max_steps": 30}
        run = trackio.init(
            project="crates", name=f"{arm}-{seed}", group=arm, config=config, embed=False
        )
        for step in STEPS:
            trackio.log({"train/loss": 1 / step, "train/kl": math.nan}, step=step)
        trackio.log({"eval/sums/accuracy": share(arm, seed - 6, 30)}, step=30)
        trackio.finish()
        del run
    pack(folder / "crates.db", folder)
    (folder / "crates.lock").unlink()


def main() -> None:
    folder = Path(sys.argv[1]).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    for make in (wandb_offline, tensorboard, mlflow, trackio):
        if len(sys.argv) < 3 or make.__name__ in sys.argv[2:]:
            place = folder / make.__name__
            place.mkdir()
            make(place)
    versions = {name: importlib.metadata.version(name) for name in VERSIONS}
    (folder / "versions.json").write_text(json.dumps(versions, indent=1) + "\n")


if __name__ == "__main__":
    main()
