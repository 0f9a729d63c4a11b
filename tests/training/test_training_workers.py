from __future__ import annotations

import concurrent.futures
import json
import os
import queue
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from audit.errors import UsageError
from audit.training.executors import Crew, completed, crew_for
from audit.training.ledger import Ledger
from audit.training.progress import Bars, Report
from audit.training.study import pieces, prepare, run_study
from audit.training.study_file import read_study
from training.studies import ROOT, audit_train, without_times


@pytest.mark.slow
def test_two_worker_processes_give_the_same_file(
    reference: Any, study_path: Any, tmp_path: Path
) -> None:
    output = tmp_path / "results.json"
    assert audit_train(str(study_path()), "-o", str(output), "--workers", "2") == 0
    assert without_times(output) == reference


def gpu_and_count(name: str, report: Report) -> tuple[str, str | None]:
    for done in (1, 2):
        report(name, "counting", done, 2)
    return name, os.environ.get("CUDA_VISIBLE_DEVICES")


@pytest.mark.slow
def test_processes_report_their_progress_and_have_a_gpu_each() -> None:
    heard: list[tuple[Any, ...]] = []
    jobs = [(name,) for name in "abcdef"]
    with crew_for(2, None, gpus=("5", "7")) as crew:
        made = dict(
            result for _, result in completed(jobs, gpu_and_count, crew, lambda *m: heard.append(m))
        )
    assert set(made) == set("abcdef")
    assert set(made.values()) <= {"5", "7"}
    assert {m[1:] for m in heard} <= {("counting", 1, 2), ("counting", 2, 2)}
    assert {m[0] for m in heard} <= set("abcdef")
    assert heard


def test_a_report_is_passed_on_twice_a_second_at_most_and_when_a_part_is_complete(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from audit.training import progress

    clock = iter([0.0, 0.1, 0.6, 0.7, 0.8])
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    heard: list[tuple[Any, ...]] = []
    throttled = progress.Throttled(lambda *message: heard.append(message), "a")
    for done in range(1, 5):
        throttled("training", done, 5)
    throttled("training", 5, 5)
    assert heard == [("a", "training", done, 5) for done in (1, 3, 5)]


def test_without_a_terminal_a_long_piece_speaks_once_a_minute(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:

    now = 0.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    bars = Bars(2)
    for now in (0.0, 30.0, 61.0, 90.0, 125.0):
        bars.inside("a-seed1", "training", int(now), 200)
    bars.finished("a-seed1", "finished")
    bars.close()
    assert capsys.readouterr().err.splitlines() == [
        "a-seed1: training 61 of 200",
        "a-seed1: training 125 of 200",
        "a-seed1: finished",
    ]


def test_on_a_terminal_each_piece_under_way_has_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    import io
    import sys

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    bars = Bars(2)
    bars.inside("a-seed1", "training", 3, 9)
    bars.inside("b-seed1", "evaluation", 40, 80)
    bars.inside("a-seed1", "evaluation", 80, 80)
    bars.finished("a-seed1", "finished")
    bars.inside("c-seed1", "training", 1, 9)
    bars.close()
    said = screen.getvalue()
    for words in ("a-seed1 training", "b-seed1 evaluation", "a-seed1 evaluation", "c-seed1 train"):
        assert words in said
    assert "1/2" in said


@pytest.mark.slow
def test_two_gloo_processes_train_one_run_together(study_path: Any, tmp_path: Path) -> None:
    study = study_path(("seeds = [1, 2]", "seeds = [1]"))
    output = tmp_path / "results.json"
    driver = tmp_path / "both.py"
    driver.write_text(
        "import argparse, json, os, sys\n"
        "from audit.training import study as module\n"
        "from audit.cli import train\n"
        "sound = module.run_study\n"
        "def run_study(*args, **kwargs):\n"
        "    document = sound(*args, **kwargs)\n"
        "    path = os.environ['RANK_FOLDER'] + '/rank' + os.environ['RANK'] + '.json'\n"
        "    json.dump(document, open(path, 'w'))\n"
        "    return document\n"
        "module.run_study = run_study\n"
        "parser = argparse.ArgumentParser()\n"
        "train.configure(parser)\n"
        "sys.exit(train.main(parser.parse_args()))\n"
    )
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "OMP_NUM_THREADS": "1",
        "RANK_FOLDER": str(tmp_path),
    }
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "torch.distributed.run",
            "--standalone",
            "--nproc_per_node",
            "2",
            str(driver),
            str(study),
            "-o",
            str(output),
            "--quiet",
        ],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    document = json.loads(output.read_text())
    ranks = [json.loads((tmp_path / f"rank{rank}.json").read_text()) for rank in (0, 1)]
    assert ranks[0] == ranks[1] == document
    for run in document["seed_results"]:
        assert run["status"] == "finished"
        assert run["environment"]["world_size"] == 2
        assert "evaluation" in run
        for step in run["training"]:
            assert len(step["rewards"]) == 32
            assert len(step["training_rows"]) == 4
            for update in step["updates"]:
                assert len(update["response_audits"]) == 32
            for group, count in enumerate(step["correct_counts"]):
                assert sum(step["rewards"][8 * group : 8 * group + 8]) == count


@pytest.mark.slow
def test_a_dask_cluster_that_loses_a_worker_finishes_with_the_same_file(
    reference: Any, study_path: Any, tmp_path: Path
) -> None:
    distributed = pytest.importorskip("distributed", reason="Dask is not installed")
    study, output = study_path(), tmp_path / "results.json"
    environment = {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, env=environment
    ) as cluster:
        ledger = Ledger(output.with_name("results.json.runs"))
        bench = prepare(read_study(study), str(study), ledger)
        with distributed.Client(cluster) as client:
            workers = client.run(os.getpid)
        killed: list[int] = []

        class Watch(Bars):
            def finished(self, name: str, how: str) -> None:
                super().finished(name, how)
                if name.endswith("seed1") and not killed:
                    killed.append(next(iter(workers.values())))
                    os.kill(killed[0], signal.SIGKILL)

            def inside(self, name: str, what: str, done: int, total: int) -> None:
                heard.append((name, what, done, total))

        heard: list[tuple[str, str, int, int]] = []
        bars = Watch(len(pieces(bench)), quiet=True)
        run_study(bench, ledger, output, bars, scheduler=cluster.scheduler_address)
    assert killed
    assert without_times(output) == reference
    assert ("base-1", "evaluation", 40, 40) in heard
    assert any(what == "training" for _, what, _, _ in heard)


def test_no_scheduler_at_the_address_is_one_clear_line(study_path: Any, tmp_path: Path) -> None:
    pytest.importorskip("distributed", reason="Dask is not installed")
    from audit.training import executors

    with (
        pytest.raises(UsageError, match="no Dask scheduler answers at"),
        executors.crew_for(1, "tcp://127.0.0.1:1", timeout=1),
    ):
        pass


FOREVER = """\
import signal, time
from audit.training.executors import Crew, completed, crew_for

def job(number, report):
    print("under way", flush=True)
    time.sleep(600)

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a background shell ignores it
    with crew_for(2, None) as crew:
        for _ in completed([(1,), (2,), (3,)], job, crew, print):
            pass
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_no_worker_outlives_the_process_that_started_it(number: int, tmp_path: Path) -> None:
    script = tmp_path / "forever.py"
    script.write_text(FOREVER)
    process = subprocess.Popen(
        [sys.executable, str(script)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert process.stdout is not None
    assert [process.stdout.readline() for _ in range(2)] == [b"under way\n"] * 2
    process.send_signal(number)
    # The pipe ends when the last of its holders does, and the workers hold it.
    assert process.communicate(timeout=30)[0] == b""


def test_a_worker_with_another_base_stops_the_study_and_spoils_no_run(
    study_path: Any, tmp_path: Path
) -> None:
    from audit.training.run import run

    study = study_path()
    bench = prepare(read_study(study), str(study), Ledger(tmp_path / "runs"))
    other = replace(bench, checkpoint={**bench.checkpoint, "parameters_sha256": "0" * 64})
    with pytest.raises(UsageError, match=r"has parameters .*, that of the study 000000000000: let"):
        run(other, bench.study.arms[0], 1)


class KilledWorker(Exception):  # noqa: N818 - Dask's name for it
    """As Dask raises it for a task that took its workers down."""


@pytest.mark.parametrize("error", [KilledWorker("run"), concurrent.futures.CancelledError()])
def test_workers_that_are_gone_are_one_clear_line(error: BaseException) -> None:
    def job(number: int, report: Report) -> None:
        raise error

    with ThreadPoolExecutor(1) as executor:
        crew = Crew(executor, lambda *_: None, queue.SimpleQueue())
        with pytest.raises(UsageError, match=r"a worker was killed .*; finished runs are kept"):
            list(completed([(1,)], job, crew, lambda *_: None))


def test_another_error_of_a_job_is_not_called_a_killed_worker() -> None:
    def job(number: int, report: Report) -> None:
        raise ValueError(f"job {number}")

    with ThreadPoolExecutor(1) as executor:
        crew = Crew(executor, lambda *_: None, queue.SimpleQueue())
        with pytest.raises(ValueError, match="job 1"):
            list(completed([(1,)], job, crew, lambda *_: None))
