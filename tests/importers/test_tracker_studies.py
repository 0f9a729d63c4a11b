"""Studies that trackers hold: seeds, arms, endings and values of W&B, MLflow, TensorBoard, Trackio.

The files are made here, so that each trap stands in the test that is about it; what the tools'
own writers write is read in ``test_tracker_files.py`` and at the end of this file.
"""

from __future__ import annotations

import gzip
import json
import random
import shutil
import sqlite3
import struct
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from made_trackers import damaged, wandb_log
from tracker_runs import (
    curve,
    events,
    logged,
    mlflow_run,
    openrlhf,
    row,
    table,
    trackio_database,
    trainer_folder,
    wandb_folder,
)

from audit.errors import AuditError, ImportRefused, InputError
from audit.importers.folder.bringing_in import Brought, bring_in
from audit.importers.folder.said import Said
from audit.schema import schema_faults

SAMPLES = Path(__file__).resolve().parent.parent / "data" / "trackers"
Runs = dict[str, dict[int | None, dict[str, Any]]]


def study(path: Path, **said: Any) -> Brought:
    return bring_in([str(path)], Said(**{"control": ("plain",), **said}))


def runs(brought: Brought) -> Runs:
    """Return the runs of a study by arm and seed."""
    assert brought.document is not None, brought.questions
    document = brought.document
    assert schema_faults(document) == []
    arms = {document["method"]: document["seed_results"]}
    arms |= {name: arm["seed_results"] for name, arm in document.get("controls", {}).items()}
    return {name: {run["seed"]: run for run in own} for name, own in arms.items()}


def values(brought: Brought) -> dict[tuple[str, int | None], float | str]:
    """Return the score of each run, or how it ended where it has none."""
    return {
        (arm, seed): run["method_metrics"]["accuracy"]
        if "method_metrics" in run
        else f"{run['status']}: {run.get('failure')}"
        for arm, own in runs(brought).items()
        for seed, run in own.items()
    }


TABLE = [
    row("plain-1", "plain", 1, 0.25),
    row("plain-2", "plain", 2, 0.5),
    row("clip-1", "clip", 1, 0.75),
    row("clip-2", "clip", 2, 0.625),
]


def test_a_runs_table_says_arm_seed_and_value(tmp_path: Path) -> None:
    brought = study(table(tmp_path / "runs.csv", TABLE))
    assert values(brought) == {
        ("plain", 1): 0.25,
        ("plain", 2): 0.5,
        ("clip", 1): 0.75,
        ("clip", 2): 0.625,
    }
    only = runs(brought)["clip"][1]
    assert only["identified_by"] == "trainer-config"
    assert only["run_id"] == "clip-1"
    assert only["method_metrics"]["examples"] == 40


@pytest.mark.parametrize("state", ["crashed", "failed", "killed", "preempted", "Crashed"])
def test_a_run_that_crashed_is_failed_and_its_value_is_not_used(state: str, tmp_path: Path) -> None:
    rows = [*TABLE, row("clip-3", "clip", 3, 0.99, state)]
    brought = study(table(tmp_path / "runs.csv", rows))
    assert str(values(brought)["clip", 3]).startswith("failed")
    assert "0.99" not in json.dumps(brought.document)
    assert any("clip, seed 3 did not finish" in note for note in brought.notes)


def test_a_run_that_still_runs_is_no_finished_one(tmp_path: Path) -> None:
    brought = study(
        table(tmp_path / "runs.csv", [*TABLE, row("clip-3", "clip", 3, 0.99, "running")])
    )
    assert runs(brought)["clip"][3]["status"] == "running"


def test_a_table_without_states_takes_a_run_without_a_value_for_failed(tmp_path: Path) -> None:
    rows = [*TABLE, row("clip-3", "clip", 3, "")]
    for entry in rows:
        entry = entry.pop("State")
    try:
        brought = study(table(tmp_path / "runs.csv", rows))
    finally:
        for entry in TABLE:
            entry["State"] = "finished"
    assert values(brought)["clip", 3] == "failed: no evaluation"


@pytest.mark.parametrize("blank", ["", "NaN", "Infinity"])
def test_a_value_that_is_no_number_is_no_value(blank: str, tmp_path: Path) -> None:
    brought = study(table(tmp_path / "runs.csv", [*TABLE, row("clip-3", "clip", 3, blank)]))
    assert values(brought)["clip", 3] == "failed: no evaluation"
    assert not any("--metric" in note for note in brought.notes)


def test_names_that_are_there_twice_are_no_run_ids(tmp_path: Path) -> None:
    rows = [entry | {"Name": entry["algo"]} for entry in TABLE]
    found = runs(study(table(tmp_path / "runs.csv", rows)))
    assert "run_id" not in found["clip"][1]
    ids = [entry | {"ID": f"id{place}"} for place, entry in enumerate(rows)]
    assert runs(study(table(tmp_path / "ids.csv", ids)))["plain"][2]["run_id"] == "id1"


def test_a_bare_accuracy_is_taken_only_where_it_is_named(tmp_path: Path) -> None:
    rows = [
        {("accuracy" if k == "eval/sums/accuracy" else k): v for k, v in entry.items()}
        for entry in TABLE
    ]
    path = table(tmp_path / "runs.csv", rows)
    with pytest.raises(ImportRefused, match="without an evaluation"):
        study(path)
    assert values(study(path, metric="accuracy"))["clip", 1] == 0.75


def chart(path: Path, curves: Mapping[str, Sequence[object]], axis: str = "Step") -> Path:
    steps = range(0, 10 * len(next(iter(curves.values()))), 10)
    rows = []
    for place, step in enumerate(steps):
        cells: dict[str, object] = {axis: step}
        for name, points in curves.items():
            for band in ("", "__MIN", "__MAX"):
                cells[f"{name}{band}"] = points[place]
        rows.append(cells)
    return table(path, rows)


METRIC = "val-core/org/sums/acc/mean@4"
CURVES: dict[str, list[object]] = {
    f"qwen-plain-seed1 - {METRIC}": [0.1, 0.25, 0.25],
    f"qwen-plain-seed2 - {METRIC}": [0.1, "", 0.5],
    f"qwen-clip-seed1 - {METRIC}": [0.2, 0.5, 0.75],
    f"qwen-clip-seed2 - {METRIC}": [0.2, 0.5, 0.625],
}


def test_a_chart_holds_a_run_for_each_curve_and_none_for_its_bands(tmp_path: Path) -> None:
    brought = study(chart(tmp_path / "chart.csv", CURVES))
    assert values(brought) == {
        ("plain", 1): 0.25,
        ("plain", 2): 0.5,
        ("clip", 1): 0.75,
        ("clip", 2): 0.625,
    }
    block = runs(brought)["clip"][1]["evaluation"]
    assert (block["benchmark"], block["checkpoint_step"]) == ("org/sums", 20)
    assert brought.document is not None
    assert len(brought.document["base_evaluations"]) == 4
    assert any("500 points" in note for note in brought.notes)


def test_a_curve_that_ends_early_is_a_failed_run(tmp_path: Path) -> None:
    curves = CURVES | {f"qwen-clip-seed2 - {METRIC}": [0.2, 0.9, ""]}
    assert values(study(chart(tmp_path / "chart.csv", curves)))["clip", 2] == (
        "failed: stopped at step 10 of 20"
    )


def test_charts_of_one_metric_each_are_one_study(tmp_path: Path) -> None:
    chart(tmp_path / "a.csv", CURVES)
    chart(tmp_path / "b.csv", {k.replace("sums", "products"): v for k, v in CURVES.items()})
    found = runs(study(tmp_path))["clip"][1]
    blocks = [found["evaluation"], *found["evaluations"]]
    assert {block["benchmark"] for block in blocks} == {"org/sums", "org/products"}


@pytest.mark.parametrize(
    "curves",
    [
        {"algo: plain - eval/sums/accuracy": [0.1, 0.2]},
        {"plain - eval/sums/accuracy": [0.1, 0.2]},
    ],
    ids=["named", "with a band"],
)
def test_a_grouped_chart_is_refused(curves: dict[str, list[object]], tmp_path: Path) -> None:
    path = chart(tmp_path / "chart.csv", curves)
    if "algo" not in next(iter(curves)):
        lines = path.read_text().splitlines()
        path.write_text("\n".join([*lines[:-1], '"10","0.2","0.1","0.3"']) + "\n")
    with pytest.raises(ImportRefused, match=r"grouped chart.*export it ungrouped"):
        study(path)


def test_a_chart_over_time_is_refused(tmp_path: Path) -> None:
    path = chart(tmp_path / "chart.csv", CURVES, axis="Relative Time (Process)")
    with pytest.raises(ImportRefused, match=r"no training step.*export the chart over Step"):
        study(path)


FOUR = [("plain", 1, 0.25), ("plain", 2, 0.5), ("clip", 1, 0.75), ("clip", 2, 0.625)]


def four_wandb(folder: Path) -> None:
    for arm, seed, value in FOUR:
        data = wandb_log(f"{arm}{seed}", arm, seed, curve(value))
        wandb_folder(folder, f"{arm}{seed}", data)


def test_a_wandb_log_alone_is_a_run(tmp_path: Path) -> None:
    four_wandb(tmp_path)
    brought = study(tmp_path)
    assert values(brought) == {(arm, seed): value for arm, seed, value in FOUR}
    only = runs(brought)["clip"][2]
    assert (only["run_id"], only["identified_by"]) == ("clip2", "trainer-config")
    assert [step["step"] for step in only["training"]] == [10, 20]


@pytest.mark.parametrize(
    ("exit_code", "failure"),
    [
        (1, "failed: exit code 1 after step 20"),
        (None, "failed: no exit record after step 20: the process died, or still runs"),
    ],
)
def test_a_run_that_did_not_exit_in_order_stays_as_failed(
    exit_code: int | None, failure: str, tmp_path: Path
) -> None:
    four_wandb(tmp_path)
    data = wandb_log("clip3", "clip", 3, curve(0.99), exit_code)
    wandb_folder(tmp_path, "clip3", data)
    brought = study(tmp_path)
    assert values(brought)["clip", 3] == failure
    assert brought.document is not None
    assert brought.document["launched_seeds"]["clip"] == [1, 2, 3]


def test_a_loss_that_stays_nan_is_a_divergence_even_where_the_process_exits_in_order(
    tmp_path: Path,
) -> None:
    four_wandb(tmp_path)
    rows: dict[int, dict[str, object]] = {10: {"loss": 0.5}, 20: {"loss": float("nan")}}
    wandb_folder(tmp_path, "clip3", wandb_log("clip3", "clip", 3, rows))
    assert values(study(tmp_path))["clip", 3] == "diverged: loss not finite from step 20"


def test_of_a_long_log_steps_are_kept_that_all_runs_have(tmp_path: Path) -> None:
    lengths = {("plain", 1): 400, ("plain", 2): 501, ("clip", 1): 1000, ("clip", 2): 4001}
    for (arm, seed), length in lengths.items():
        rows: dict[int, dict[str, object]] = {
            step: {"train/loss": seed / step + 0.1} for step in range(1, length + 1)
        }
        rows[400] = {"train/loss": 0.1, "eval/sums/accuracy": seed / 10}
        wandb_folder(tmp_path, f"{arm}{seed}", wandb_log(f"{arm}{seed}", arm, seed, rows))
    brought = study(tmp_path)
    kept = {
        (arm, seed): [step["step"] for step in run["training"]]
        for arm, own in runs(brought).items()
        for seed, run in own.items()
    }
    assert [len(kept[key]) for key in lengths] == [400, 251, 501, 251]
    assert [kept[key][-1] for key in lengths] == list(lengths.values())
    assert set.intersection(*map(set, kept.values())) == set(range(1, 401, 16))
    assert "of long training logs one step in 16 is kept, and the last" in brought.notes


def test_a_resumed_run_is_one_run(tmp_path: Path) -> None:
    four_wandb(tmp_path)
    first: dict[int, dict[str, object]] = {10: {"train/loss": 0.5}}
    wandb_folder(tmp_path, "clip3", wandb_log("clip3", "clip", 3, first, 255), day=2)
    later = curve(0.875, (20, 30))
    wandb_folder(tmp_path, "clip3", wandb_log("clip3", "clip", 3, later), day=3)
    for run_id in ("clip1", "clip2", "plain1", "plain2"):
        shutil.rmtree(next(tmp_path.glob(f"wandb/*-{run_id}")))
    wandb_folder(tmp_path, "plain3", wandb_log("plain3", "plain", 3, curve(0.5, (20, 30))))
    brought = study(tmp_path)
    assert values(brought) == {("clip", 3): 0.875, ("plain", 3): 0.5}
    assert [step["step"] for step in runs(brought)["clip"][3]["training"]] == [10, 20, 30]
    assert any("2 folders are one run" in note for note in brought.notes)


def test_a_folder_that_was_copied_is_no_second_run(tmp_path: Path) -> None:
    four_wandb(tmp_path)
    (one,) = tmp_path.glob("wandb/*-clip1")
    shutil.copytree(one, one.with_name("offline-run-20260105_080000-clip1"))
    try:
        brought = study(tmp_path)
    except ImportRefused:
        return
    assert brought.document is None
    assert any("clip, seed 1 is there 2 times" in question for question in brought.questions)


def test_config_and_summary_beside_a_missing_log_are_read(tmp_path: Path) -> None:
    four_wandb(tmp_path)
    files = tmp_path / "wandb" / "run-20260101_080000-clip3" / "files"
    files.mkdir(parents=True)
    (files / "config.yaml").write_text(
        "_wandb:\n  value: {}\nseed:\n  desc: null\n  value: 3\nalgo:\n  value: clip\n"
        "eval:\n  value:\n    seed: 9\n"
    )
    (files / "wandb-summary.json").write_text('{"_step": 20, "eval/sums/accuracy": 0.875}')
    commit = "5" * 40
    metadata = {"host": "laptop", "email": "me@example.org", "git": {"commit": commit}}
    (files / "wandb-metadata.json").write_text(json.dumps(metadata))
    brought = study(tmp_path, arm_from="config")
    assert values(brought)["clip", 3] == 0.875
    assert brought.document is not None
    assert brought.document["provenance"]["code_commit"] == commit
    assert "example.org" not in json.dumps(brought.document)
    assert "laptop" not in json.dumps(brought.document)


def test_steps_of_the_trainer_go_before_the_count_of_log_calls(tmp_path: Path) -> None:
    for arm, seed, value in FOUR:
        rows: dict[int, dict[str, object]] = {
            7: {"train/global_step": 100, "train/loss": value / 3},
            8: {"train/global_step": 200, "eval/sums/accuracy": value},
        }
        wandb_folder(tmp_path, f"{arm}{seed}", wandb_log(f"{arm}{seed}", arm, seed, rows))
    block = runs(study(tmp_path))["clip"][1]["evaluation"]
    assert block["checkpoint_step"] == 200


def four_mlflow(store: Path) -> None:
    for number, (arm, seed, value) in enumerate(FOUR, 1):
        mlflow_run(store, number, arm, seed, value)
    (store / "0").mkdir()
    (store / "0" / "meta.yaml").write_text("experiment_id: '0'\nname: Default\n")


def test_a_tree_of_mlflow_holds_its_runs_and_none_for_the_default_experiment(
    tmp_path: Path,
) -> None:
    four_mlflow(tmp_path / "mlruns")
    brought = study(tmp_path)
    assert values(brought) == {(arm, seed): value for arm, seed, value in FOUR}
    only = runs(brought)["clip"][1]
    assert only["evaluation"]["benchmark"] == "org/sums"
    # Of two values at one step the last counts: nan was written over.
    assert only["training"][1]["updates"][0]["metrics"]["train/loss"] == 0.25 / 3


@pytest.mark.parametrize(
    ("status", "ending"),
    [
        ("FAILED", "failed"),
        ("KILLED", "failed"),
        ("RUNNING", "running"),
        ("SCHEDULED", "running"),
    ],
)
def test_every_status_of_mlflow_but_one_is_no_finish(
    status: str, ending: str, tmp_path: Path
) -> None:
    four_mlflow(tmp_path / "mlruns")
    mlflow_run(tmp_path / "mlruns", 9, "clip", 3, 0.99, status)
    brought = study(tmp_path)
    only = runs(brought)["clip"][3]
    assert only["status"] == ending
    assert not {"method_metrics", "evaluation"} & set(only)


def test_a_deleted_run_is_left_out_and_counted(tmp_path: Path) -> None:
    four_mlflow(tmp_path / "mlruns")
    mlflow_run(tmp_path / "mlruns", 9, "clip", 3, 0.99, lifecycle_stage="deleted")
    brought = study(tmp_path)
    assert set(runs(brought)["clip"]) == {1, 2}
    assert "0.99" not in json.dumps(brought.document)
    assert "mlruns: 1 deleted run is left out" in brought.notes


def test_several_experiments_are_asked_about(tmp_path: Path) -> None:
    four_mlflow(tmp_path / "mlruns")
    mlflow_run(tmp_path / "mlruns", 9, "clip", 3, 0.99, experiment="8")
    (tmp_path / "mlruns" / "8" / "meta.yaml").write_text("name: others\n")
    with pytest.raises(ImportRefused, match="2 experiments hold evaluations: crates, others"):
        study(tmp_path)
    brought = study(tmp_path, where={"experiment": "crates"})
    assert set(runs(brought)["clip"]) == {1, 2}
    with pytest.raises(ImportRefused, match="no experiment 'x'; there are crates, others"):
        study(tmp_path, where={"experiment": "x"})


def test_of_nested_runs_the_children_count(tmp_path: Path) -> None:
    store = tmp_path / "mlruns"
    four_mlflow(store)
    mlflow_run(store, 10, "sweep", 1, 0.5)
    shutil.rmtree(store / "7" / f"{10:032x}" / "metrics")
    shutil.rmtree(store / "7" / f"{10:032x}" / "params")
    for number in range(1, 5):
        tag = store / "7" / f"{number:032x}" / "tags" / "mlflow.parentRunId"
        tag.write_text(f"{10:032x}")
    assert values(study(tmp_path)) == {(arm, seed): value for arm, seed, value in FOUR}


@pytest.mark.parametrize("line", ["1 2.5", "one 0.5 3", "1 0.5 x", "nonsense"])
def test_a_metric_file_is_read_or_named(line: str, tmp_path: Path) -> None:
    four_mlflow(tmp_path / "mlruns")
    metric = tmp_path / "mlruns" / "7" / f"{1:032x}" / "metrics" / "train" / "loss"
    metric.write_text(f"1 0.5 3 ctx extra\n{line}\n")
    if line in ("1 2.5", "one 0.5 3"):
        assert len(values(study(tmp_path))) == 4
        return
    with pytest.raises(InputError, match="not a line of an MLflow metric") as raised:
        study(tmp_path)
    assert raised.value.line == 2


def mlflow_database(path: Path, rows: Sequence[tuple[Any, ...]]) -> Path:
    connection = sqlite3.connect(path)
    connection.executescript(
        "CREATE TABLE experiments (experiment_id INTEGER, name TEXT);"
        "CREATE TABLE runs (run_uuid TEXT, name TEXT, status TEXT, start_time INTEGER,"
        " lifecycle_stage TEXT, experiment_id INTEGER);"
        "CREATE TABLE params (key TEXT, value TEXT, run_uuid TEXT);"
        "CREATE TABLE tags (key TEXT, value TEXT, run_uuid TEXT);"
        "CREATE TABLE metrics (key TEXT, value REAL, timestamp INTEGER, run_uuid TEXT,"
        " step INTEGER, is_nan INTEGER);"
        "CREATE TABLE latest_metrics (key TEXT); CREATE TABLE alembic_version (version_num TEXT);"
        "INSERT INTO experiments VALUES (1, 'crates');"
    )
    for number, (arm, seed, value, status, stage) in enumerate(rows):
        run = f"{number:032x}"
        connection.execute(
            "INSERT INTO runs VALUES (?, ?, ?, 1, ?, 1)", (run, f"r{number}", status, stage)
        )
        for key, text in (("seed", seed), ("algo", arm), ("eval.seed", 5)):
            connection.execute("INSERT INTO params VALUES (?, ?, ?)", (key, str(text), run))
        metrics = (("eval/sums/accuracy", value, 0), ("train/loss", 0.0, 1))
        for key, figure, is_nan in metrics:
            connection.execute(
                "INSERT INTO metrics VALUES (?, ?, 1, ?, 20, ?)", (key, figure, run, is_nan)
            )
    connection.commit()
    connection.close()
    return path


FINISHED = [(arm, seed, value, "FINISHED", "active") for arm, seed, value in FOUR]


def test_a_database_of_mlflow_holds_its_runs(tmp_path: Path) -> None:
    rows = [
        *FINISHED,
        ("clip", 3, 0.99, "FINISHED", "deleted"),
        ("clip", 4, 0.98, "RUNNING", "active"),
        ("clip", 5, 0.97, "KILLED", "active"),
    ]
    brought = study(mlflow_database(tmp_path / "mlflow.db", rows))
    found = values(brought)
    assert {key: found[key] for key in list(found) if isinstance(found[key], float)} == {
        (arm, seed): value for arm, seed, value in FOUR
    }
    assert found["clip", 4] == "running: None"
    assert found["clip", 5] == "failed: killed"
    assert "0.99" not in json.dumps(brought.document)
    assert any("1 deleted run is left out" in note for note in brought.notes)
    figures = runs(brought)["clip"][1]["training"][0]["updates"][0]["metrics"]
    assert figures["train/loss"] is None  # is_nan, not the 0 that stands in its place


TRACKED = [(arm, seed, logged(value)) for arm, seed, value in FOUR]


@pytest.mark.parametrize("as_text", [False, True])
def test_a_database_of_trackio_holds_its_runs(as_text: bool, tmp_path: Path) -> None:
    path = trackio_database(tmp_path / "crates.db", TRACKED, as_text)
    brought = study(path)
    assert values(brought) == {(arm, seed): value for arm, seed, value in FOUR}
    figures = runs(brought)["clip"][1]["training"][-1]["updates"][0]["metrics"]
    assert (figures["kl"], figures["up"]) == (None, None)
    assert "_Username" not in json.dumps(brought.document)


def test_trackio_writes_no_status_so_a_run_that_stops_early_is_failed(tmp_path: Path) -> None:
    short = ("clip", 3, [(10, {"loss": 0.5})])
    path = trackio_database(tmp_path / "crates.db", [*TRACKED, short])
    assert values(study(path))["clip", 3] == "failed: stopped at step 10 of 20"


def test_steps_that_begin_again_are_a_second_attempt_and_a_late_one_is_none(
    tmp_path: Path,
) -> None:
    again = ("clip", 3, [*logged(0.99, (5, 15)), *logged(0.875, (5, 20))])
    late = ("clip", 4, [(10, {"a": 1}), (20, {"a": 1}), (19, {"a": 2}), *logged(0.5, (20,))])
    path = trackio_database(tmp_path / "crates.db", [*TRACKED, again, late])
    brought = study(path)
    assert values(brought)["clip", 3] == 0.875
    assert runs(brought)["clip"][3]["earlier_failures"] == ["stopped at step 15 and begun again"]
    assert values(brought)["clip", 4] == 0.5
    assert "earlier_failures" not in runs(brought)["clip"][4]


DATABASES: list[Callable[[Path], Path]] = [
    lambda folder: trackio_database(folder / "crates.db", TRACKED),
    lambda folder: mlflow_database(folder / "mlflow.db", FINISHED),
]


@pytest.mark.parametrize("make", DATABASES, ids=["trackio", "mlflow"])
def test_a_database_is_opened_for_reading_alone(
    make: Callable[[Path], Path], tmp_path: Path
) -> None:
    path = make(tmp_path)
    before = (path.read_bytes(), path.stat().st_mtime_ns, sorted(tmp_path.iterdir()))
    study(path)
    assert (path.read_bytes(), path.stat().st_mtime_ns, sorted(tmp_path.iterdir())) == before


@pytest.mark.parametrize("make", DATABASES, ids=["trackio", "mlflow"])
def test_what_is_in_a_write_ahead_log_is_read_and_nothing_is_written_beside_it(
    make: Callable[[Path], Path], tmp_path: Path
) -> None:
    path = make(tmp_path)
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA wal_autocheckpoint = 0")
    if "crates" in path.name:
        connection.execute("DELETE FROM configs WHERE run_name = 'clip-2'")
        connection.execute("DELETE FROM metrics WHERE run_name = 'clip-2'")
    else:
        connection.execute(f"DELETE FROM runs WHERE run_uuid = '{3:032x}'")
    connection.commit()
    before = {entry: entry.read_bytes() for entry in tmp_path.iterdir()}
    assert any(entry.name.endswith("-wal") and data for entry, data in before.items())
    found = values(study(path))
    assert {entry: entry.read_bytes() for entry in tmp_path.iterdir()} == before
    connection.close()
    assert set(found) == {("plain", 1), ("plain", 2), ("clip", 1)}


def test_a_database_that_is_cut_off_is_named(tmp_path: Path) -> None:
    path = trackio_database(tmp_path / "crates.db", TRACKED)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with pytest.raises(InputError, match=r"crates\.db"):
        study(path)


def four_folders(folder: Path, one: float = 0.25) -> None:
    for place, (arm, seed, value) in enumerate(FOUR):
        rows = openrlhf(one if place == 0 else value, 0.1 + place / 100)
        events(folder / f"{arm}_seed{seed}", rows, place)


def test_event_files_alone_are_a_study_and_pass4_is_no_accuracy(tmp_path: Path) -> None:
    four_folders(tmp_path)
    brought = study(tmp_path)
    assert values(brought) == {(arm, seed): value for arm, seed, value in FOUR}
    assert "0.9" not in json.dumps(brought.document).replace("]", " ").replace("}", " ").split()
    only = runs(brought)["clip"][1]
    assert only["method_metrics"]["examples"] == 40
    assert only["identified_by"] == "user"  # the folder names the seed, the log is the trainer's


def test_a_share_of_a_known_number_of_answers_is_that_share(tmp_path: Path) -> None:
    four_folders(tmp_path, one=13 / 40)
    assert values(study(tmp_path))["plain", 1] == 13 / 40  # and not 32 bits of it


def test_a_mean_reward_that_is_no_share_in_one_run_is_none_in_any(tmp_path: Path) -> None:
    four_folders(tmp_path, one=0.26)  # of 40 answers
    found = runs(study(tmp_path))
    metrics = {tuple(run["method_metrics"]) for own in found.values() for run in own.values()}
    assert metrics == {("reward", "examples")}


def test_several_event_files_of_a_folder_are_one_run(tmp_path: Path) -> None:
    four_folders(tmp_path)
    events(tmp_path / "clip_seed1", [(30, "train/policy_loss", 0.3)], 7)
    only = runs(study(tmp_path))["clip"][1]
    assert [step["step"] for step in only["training"]] == [10, 20, 30]


@pytest.mark.parametrize("place", ["eval_sums_accuracy", "eval/sums/accuracy"])
def test_a_curve_of_add_scalars_belongs_to_the_run_around_it(place: str, tmp_path: Path) -> None:
    for number, (arm, seed, value) in enumerate(FOUR):
        folder = tmp_path / f"{arm}_seed{seed}"
        events(folder, [(20, "train/loss", 0.1 + number / 100)], number)
        events(folder / place, [(20, "eval/sums", value)], number + 5)
    found = values(study(tmp_path))
    assert found == pytest.approx({(arm, seed): value for arm, seed, value in FOUR})


def test_the_arguments_of_a_trainer_say_seed_and_settings(tmp_path: Path) -> None:
    for number, (arm, seed, value) in enumerate(FOUR):
        rate = 1e-6 if arm == "plain" else 2e-6
        arguments = {"seed": seed, "data_seed": None, "learning_rate": rate}
        trainer_folder(tmp_path / f"out{number}", number, arguments, value)
    found = values(study(tmp_path, control=("learning_rate=1e-06",)))
    expected = {"plain": "learning_rate=1e-06", "clip": "learning_rate=2e-06"}
    assert found == pytest.approx({(expected[arm], seed): value for arm, seed, value in FOUR})


def test_a_default_seed_in_every_run_is_asked_about_where_the_folders_say_others(
    tmp_path: Path,
) -> None:
    for number, (arm, seed, value) in enumerate(FOUR):
        trainer_folder(tmp_path / f"{arm}_seed{seed}", number, {"seed": 42}, value)
    brought = study(tmp_path)
    assert brought.document is None
    assert "the names say seeds 1, 2; args.seed is 42" in brought.questions[0]
    assert set(values(study(tmp_path, seed_from="path"))) == {(arm, seed) for arm, seed, _ in FOUR}


def test_the_settings_that_lightning_writes_beside_its_events_are_read(tmp_path: Path) -> None:
    for number, (arm, seed, value) in enumerate(FOUR):
        folder = tmp_path / "lightning_logs" / f"version_{number}"
        events(folder, [(10, "train_loss", number / 9), (20, "test_acc", value)], number)
        (folder / "hparams.yaml").write_text(f"seed: {seed}\nalgo: {arm}\n")
    assert values(study(tmp_path)) == {(arm, seed): value for arm, seed, value in FOUR}


def test_a_torn_event_file_is_read_as_far_as_it_goes_and_that_is_said(tmp_path: Path) -> None:
    four_folders(tmp_path)
    path = next((tmp_path / "clip_seed1").iterdir())
    path.write_bytes(path.read_bytes() + struct.pack("<Q", 999))
    brought = study(tmp_path)
    assert values(brought)["clip", 1] == 0.75
    assert any("cut off or damaged at byte" in note for note in brought.notes)


MAKERS: dict[str, Callable[[Path], object]] = {
    "runs table": lambda folder: table(folder / "runs.csv", TABLE),
    "chart": lambda folder: chart(folder / "chart.csv", CURVES),
    "wandb": four_wandb,
    "mlflow": lambda folder: four_mlflow(folder / "mlruns"),
    "mlflow.db": lambda folder: mlflow_database(folder / "mlflow.db", FINISHED),
    "trackio": lambda folder: trackio_database(folder / "crates.db", TRACKED),
    "tensorboard": four_folders,
}


@pytest.mark.parametrize("kind", MAKERS)
def test_a_file_that_is_damaged_in_any_way_is_read_or_refused_in_one_line(
    kind: str, tmp_path: Path
) -> None:
    MAKERS[kind](tmp_path)
    files = sorted(path for path in tmp_path.rglob("*") if path.is_file())
    draw = random.Random(kind)
    for _ in range(15):
        path = draw.choice(files)
        whole = path.read_bytes()
        path.write_bytes(damaged(whole, draw))
        refused = ""
        try:
            study(path if len(files) == 1 else tmp_path)
        except AuditError as error:
            refused = str(error)
        assert "\n" not in refused
        path.write_bytes(whole)


def test_the_untrained_model_in_a_log_is_no_evaluation_of_a_run(tmp_path: Path) -> None:
    for number, (arm, seed, value) in enumerate(FOUR):
        rows = [(0, "eval/eval_sums_pass1", 0.1 + number / 40), *openrlhf(value, number / 9)]
        rows.insert(1, (0, "eval/eval_num_samples", 40))
        events(tmp_path / f"{arm}_seed{seed}", rows, number)
    brought = study(tmp_path)
    assert values(brought) == {(arm, seed): value for arm, seed, value in FOUR}
    assert brought.document is not None
    assert len(brought.document["base_evaluations"]) == 4


def test_what_the_user_says_is_recorded_by_option(tmp_path: Path) -> None:
    brought = study(
        table(tmp_path / "runs.csv", TABLE), method="clip", step=None, where={"lr": "1e-06"}
    )
    assert runs(brought)
    assert brought.document is not None
    assert brought.document["provenance"]["imported"]["options"] == {
        "--control": ["plain"],
        "--method": ["clip"],
        "--where": ["lr=1e-06"],
    }


def unpacked(folder: Path, *parts: str) -> Path:
    packed = SAMPLES.joinpath(*parts)
    path = folder / packed.stem
    path.write_bytes(gzip.decompress(packed.read_bytes()))
    return path


def test_what_mlflow_wrote_is_one_study_in_both_stores(tmp_path: Path) -> None:
    expected: dict[tuple[str, int | None], float | str] = {
        ("plain", 1): 14 / 40,
        ("plain", 2): "failed: None",
        ("clip", 1): "failed: killed",
        ("clip", 2): "running: None",
    }
    assert values(study(unpacked(tmp_path, "mlflow", "mlflow.db.gz"))) == expected
    assert values(study(SAMPLES / "mlflow" / "mlruns")) == expected


def test_what_trackio_wrote_is_a_study(tmp_path: Path) -> None:
    brought = study(unpacked(tmp_path, "trackio", "crates.db.gz"), arm_from="path")
    assert values(brought) == {("plain", 7): 14 / 40, ("clip", 8): 21 / 40}


def test_what_wandb_wrote_is_a_study(tmp_path: Path) -> None:
    for run_id in ("plain1", "clip2"):
        packed = SAMPLES / "wandb_offline" / f"run-{run_id}.wandb.gz"
        wandb_folder(tmp_path, run_id, gzip.decompress(packed.read_bytes()))
    assert values(study(tmp_path)) == {
        ("plain", 1): 14 / 40,
        ("clip", 2): "failed: exit code 3 after step 30",
    }


def test_what_tensorboard_wrote_is_a_study() -> None:
    found = values(study(SAMPLES / "tensorboard"))
    assert found == pytest.approx({("plain", 1): 14 / 40, ("tensors", 2): 21 / 40}, abs=6e-8)
