"""``audit gate --scheduler``: on a cluster of two processes the bytes of one core."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any

import pytest
from made_fleet import CARRIED, DATA, commit, document, repository, study
from made_poison import PoisonedJudge

from audit import __version__
from audit.cli import gate as gate_command
from audit.cli.main import main
from audit.errors import UsageError
from audit.fleet import on_cluster
from audit.fleet.files import FileResult
from audit.fleet.judging import Judge
from audit.outcomes_file import set_beside
from audit.policy import Policy
from audit.resources import resource

distributed = pytest.importorskip("distributed", reason="Dask is not installed")
dask = pytest.importorskip("dask")
FORMATS = ("text", "json", "markdown", "html", "github", "junit", "sarif")
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as made,
    ):
        yield made


@pytest.fixture
def fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Twenty studies in a repository: siblings, outcomes beside, earlier versions, broken files."""
    from test_earlier_looks import study as grown

    top = repository(tmp_path / "work", {})
    reports = top / "reports"
    for sample in sorted(DATA.glob("*.json")):
        study(reports, sample.stem, sample)
    for number in range(12):
        file = study(reports, f"quiet-{number}", DATA / "talk-to-solve.json")
        file.write_bytes(file.read_bytes() + b"\n" * number)
    study(reports, "half", CARRIED)
    named, files, _ = set_beside(document(CARRIED), "results.outcomes")
    for folder in ("beside", "missing"):
        file = study(reports, folder)
        file.write_text(json.dumps(named), "utf-8")
        for name, data in files.items() if folder == "beside" else ():
            (file.parent / name).parent.mkdir(exist_ok=True)
            (file.parent / name).write_bytes(data)
    (reports / "cut.json").write_text('{"schema_version": 2, "method": "m', "utf-8")
    (reports / "other.json").write_text("{}", "utf-8")
    for seeds in (3, 8):
        study(reports, "grown").write_text(json.dumps(grown(seeds)), "utf-8")
        commit(top, f"{seeds} seeds")
    monkeypatch.chdir(top)
    return tmp_path


def gate(folder: Path, *options: str) -> dict[str, Any]:
    """Return what the gate writes in each format, and its exit status."""
    folder.mkdir()
    also = [word for name in FORMATS for word in ("--also", f"{name}={folder / name}")]
    status = main(["gate", "reports", "../nowhere.json", *also, *options])
    return {"status": status, **{name: (folder / name).read_bytes() for name in FORMATS}}


def test_a_worker_that_is_killed_in_the_middle_changes_no_byte(
    fleet: Path,
    cluster: Any,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    alone = gate(fleet / "alone", "-j", "1"), capsys.readouterr()
    assert b"looks-not-recorded" in alone[0]["json"]
    with distributed.Client(cluster) as client:
        workers = client.run(os.getpid)
    killed: list[int] = []

    def killing(results: Iterable[FileResult], total: int, *, wanted: bool) -> Iterator[FileResult]:
        for result in results:
            yield result
            if not killed:
                killed.append(next(iter(workers.values())))
                os.kill(killed[0], signal.SIGKILL)

    monkeypatch.setattr(gate_command, "with_bar", killing)
    # Few files a task, so that there are some for the time after.
    monkeypatch.setattr(on_cluster, "_TASK_FILES", 2)
    together = gate(fleet / "together", "--scheduler", cluster.scheduler_address)
    assert killed
    assert (together, capsys.readouterr()) == alone


def test_a_file_that_takes_down_every_worker_is_the_only_one_lost(
    tmp_path: Path, cluster: Any
) -> None:
    names = ("a", "poison", "b")
    works = [(PoisonedJudge(Policy()), str(study(tmp_path, name))) for name in names]
    with on_cluster.cluster_at(cluster.scheduler_address) as workers:
        found = list(workers.judged(works))
    assert [file.exit_status for file in found] == [0, 3, 0]
    assert str(found[1].error).endswith("the process that judged this file died")


def test_a_file_too_large_to_send_is_judged_here(
    tmp_path: Path, cluster: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = str(study(tmp_path, "full"))
    judge = PoisonedJudge(Policy())
    monkeypatch.setattr(on_cluster, "_LARGEST_SENT", 1000)
    monkeypatch.setattr(on_cluster.Cluster, "_submitted", None)  # nothing is sent
    with on_cluster.cluster_at(cluster.scheduler_address) as workers:
        assert list(workers.judged([(judge, file)])) == [Judge(Policy())(file)]


def test_a_worker_with_other_code_is_refused_by_name(tmp_path: Path) -> None:
    package = Path(on_cluster.__file__).parent.parent
    copied = shutil.copytree(package, tmp_path / "audit")
    for name in ("schemas", "reports/field"):
        if not (copied / name).exists():
            shutil.copytree(str(resource(name)), copied / name)
    (copied / "numerals.py").write_text((copied / "numerals.py").read_text("utf-8") + "#", "utf-8")
    words = [sys.executable, "-m", "distributed.cli.dask_worker", "--no-nanny", "--no-dashboard"]
    with distributed.LocalCluster(n_workers=0, dashboard_address=":0") as other:
        address = other.scheduler_address
        environment = os.environ | {"PYTHONPATH": str(tmp_path)}
        process = subprocess.Popen(
            [*words, address], env=environment, cwd=tmp_path, stderr=subprocess.DEVNULL
        )
        try:
            with distributed.Client(address) as client:
                client.wait_for_workers(1, timeout=60)
                (worker,) = client.nthreads()
            said = f"worker {worker} has audit {__version__} too, with other code in it"
            with pytest.raises(UsageError, match=said), on_cluster.cluster_at(address):
                pass
        finally:
            process.kill()
            process.wait()


class Answers:
    """A client of one worker, by what it answers."""

    def __init__(self, found: object, threads: int = 1) -> None:
        self.found, self.threads = found, threads

    def nthreads(self) -> dict[str, int]:
        return {"tcp://a:1": self.threads} if self.threads else {}

    def run(self, function: object, *_: object, on_error: str) -> dict[str, object]:
        assert on_error == "return"
        return {"tcp://a:1": self.found}


@pytest.mark.parametrize(
    ("client", "said"),
    [
        (Answers("", threads=0), "the Dask cluster at tcp://s:2 has no worker"),
        (Answers(PackageNotFoundError("recipe-audit")), "worker tcp://a:1 has no audit"),
        (Answers("0.0.9"), f"worker tcp://a:1 has audit 0.0.9, this is {__version__}"),
    ],
)
def test_what_workers_lack_is_one_clear_line(client: Answers, said: str) -> None:
    with pytest.raises(UsageError) as refused:
        on_cluster._require_workers(client, "tcp://s:2")
    assert said in str(refused.value)


def test_without_dask_the_line_names_the_extra(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    assert main(["gate", str(CARRIED), "--scheduler", "tcp://127.0.0.1:1"]) == 2
    said = "audit: --scheduler needs Dask: pip install 'recipe-audit[cluster]'\n"
    assert capsys.readouterr() == ("", said)
