"""What a study costs: minutes, devices and machines, the same in the dry run and in the record."""

from __future__ import annotations

import json
import re
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.training import forecast as module
from audit.training.document import results_document
from audit.training.forecast import forecast
from audit.training.ledger import Ledger
from audit.training.price import Sharing, schedule, usd
from audit.training.study import prepare, with_attempt
from audit.training.study_file import Cost, read_study


@pytest.mark.parametrize(
    ("per", "shape", "dollars"),
    [
        ("machine", (1, 1, 1), 3.0),
        ("machine", (1, 1, 4), 0.75),  # four runs share the machine
        ("machine", (8, 2, 1), 6.0),  # one run on two machines
        ("device", (1, 1, 4), 3.0),  # each on a device of its own
        ("device", (8, 2, 1), 24.0),
    ],
)
def test_the_price_is_of_machines_or_of_devices(
    per: Any, shape: tuple[int, int, int], dollars: float
) -> None:
    devices, machines, at_once = shape
    price = usd(Cost(6.0, per), 30, devices=devices, machines=machines, at_once=at_once)
    assert price == pytest.approx(dollars)


@given(
    minutes=st.lists(st.floats(0.1, 50), min_size=1, max_size=12),
    workers=st.integers(1, 5),
)
def test_the_shares_of_all_pieces_are_the_time_of_the_machine(
    minutes: list[float], workers: int
) -> None:
    ends = schedule(minutes, workers)
    sharing = Sharing(len(minutes), workers)
    shared = [sharing.finished(end, one) for end, one in ends]
    assert all(0.999 <= each <= workers + 1e-9 for each in shared)
    total = sum(one / each for (_, one), each in zip(ends, shared, strict=True))
    assert total == pytest.approx(ends[-1][0])


# Minutes and runs at once of the failed attempt and of the next one, the minutes that the next one
# counts already as it went on from a checkpoint, and what both are to cost.
ATTEMPTS = [
    ((10.0, 1.0), (4.0, 1.0), None, (14.0, 1.0)),
    ((10.0, 2.0), (4.0, 1.0), None, (14.0, 14 / 9)),
    ((10.0, 1.0), (14.0, 1.0), 10.0, (14.0, 1.0)),
    ((10.0, 1.0), (17.0, 2.0), 13.0, (17.0, 2.0)),  # cut off once in between
    ((10.0, 1.0), (5.0, 1.0), 1.0, (14.0, 1.0)),  # nine minutes before there were checkpoints
    ((0.0, 1.0), (4.0, 1.0), None, (4.0, 1.0)),
]


@pytest.mark.parametrize(("failed", "after", "counted", "both"), ATTEMPTS)
def test_a_run_that_is_trained_again_costs_what_all_its_attempts_did(
    failed: tuple[float, float],
    after: tuple[float, float],
    counted: float | None,
    both: tuple[float, float],
) -> None:
    def attempt(minutes: float, at_once: float, **more: Any) -> dict[str, Any]:
        return {"cost": {"minutes": minutes, "devices": 1, "runs_at_once": at_once}, **more}

    starts: dict[str, Any] = {}
    if counted is not None:
        starts = {"resumed": [{"minutes": 0.5}, {"minutes": counted}]}
    before = attempt(*failed, failure="no memory", earlier_failures=["no disk"])
    run = with_attempt(attempt(*after, **starts), before)
    assert run["earlier_failures"] == ["no disk", "no memory"]
    assert (run["cost"]["minutes"], run["cost"]["runs_at_once"]) == pytest.approx(both, abs=1e-4)


def test_the_last_run_pays_for_idle_workers() -> None:
    sharing = Sharing(3, 2)  # two of ten minutes at once, then one alone
    assert [sharing.finished(end, 10.0) for end in (10.0, 10.0, 20.0)] == [2.0, 2.0, 1.0]
    sharing = Sharing(2, 2)  # the longer one is alone for half of its time
    assert sharing.finished(5.0, 5.0) == 2.0
    assert sharing.finished(10.0, 10.0) == pytest.approx(10 / 7.5)


RUN, BASE = 2.0, 0.5  # minutes


@pytest.mark.parametrize("per", ["machine", "device"])
@pytest.mark.parametrize("workers", [1, 2, 40])
@pytest.mark.parametrize("processes", [1, 4])
def test_the_dry_run_and_the_record_name_one_price(
    per: str,
    workers: int,
    processes: int,
    study_path: Any,
    reference: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = study_path(("[task]", f'[cost]\nusd_per_hour = 60.0\nper = "{per}"\n[task]'))
    bench = prepare(read_study(path), str(path), Ledger(tmp_path / "runs"))
    monkeypatch.setattr(module, "_probe", lambda bench: (RUN, BASE))
    monkeypatch.setenv("WORLD_SIZE", str(processes))
    lines = "\n".join(forecast(bench, Ledger(tmp_path / "runs"), workers))
    (told,) = re.findall(rf"([\d.]+) USD at 60 a {per} hour", lines)
    made = deepcopy(reference)
    runs = {
        "adaptive-clip": made["seed_results"],
        "fixed-clip": made["controls"]["fixed-clip"]["seed_results"],
    }
    pieces = [(RUN, run) for arm in runs.values() for run in arm]
    pieces += [(BASE, one) for one in made["base_evaluations"]]
    pieces.reverse()  # the base is evaluated first
    ends = schedule([minutes for minutes, _ in pieces], workers)
    sharing = Sharing(len(pieces), workers)
    by_length = {minutes: [p for m, p in pieces if m == minutes] for minutes in (RUN, BASE)}
    for end, minutes in ends:
        piece = by_length[minutes].pop()
        piece["cost"] |= {"minutes": minutes, "devices": processes}
        piece["cost"]["runs_at_once"] = sharing.finished(end, minutes)
    document = results_document(bench, made["base_evaluations"], runs)
    arms = [document["seed_results"], document["controls"]["fixed-clip"]["seed_results"]]
    recorded = [run["cost"]["usd"] for arm in arms for run in arm]
    recorded += [one["cost"]["usd"] for one in document["base_evaluations"]]
    assert sum(recorded) == pytest.approx(float(told), abs=0.01)
    if per == "machine":  # at a dollar a minute, what is paid is the time until the last one ends
        assert sum(recorded) == pytest.approx(ends[-1][0], abs=0.01)


def test_a_study_records_the_shape_of_what_it_paid_for(reference: Any) -> None:
    entries = [*reference["seed_results"], *reference["base_evaluations"]]
    assert all(entry["cost"]["devices"] == 1 for entry in entries)
    assert all(entry["cost"]["device"] == "cpu" for entry in entries)


def test_a_price_of_a_run_recorded_without_its_shape_is_that_of_one(study_path: Any) -> None:
    from audit.training.document import _priced

    old = {"cost": {"minutes": 30.0, "device": "cpu"}}
    assert _priced(old, Cost(6.0, "device"))["cost"]["usd"] == 3.0
    assert _priced({"run": 1}, Cost(6.0)) == {"run": 1}
    study = read_study(study_path())
    assert replace(study, cost=Cost(1.0)).cost == Cost(1.0, "machine")
    assert json.dumps(_priced(old, None)) == json.dumps(old)
