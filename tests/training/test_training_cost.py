"""What a study costs: minutes, devices and machines, the same in the dry run and in the record."""

from __future__ import annotations

import json
import re
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from audit.training import forecast as module
from audit.training.document import results_document
from audit.training.forecast import forecast
from audit.training.ledger import Ledger
from audit.training.price import usd
from audit.training.study import prepare, runs_at_once
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
    for minutes, piece in pieces:
        piece["cost"] |= {"minutes": minutes, "devices": processes}
        piece["cost"]["runs_at_once"] = runs_at_once(len(pieces), workers)
    document = results_document(bench, made["base_evaluations"], runs)
    arms = [document["seed_results"], document["controls"]["fixed-clip"]["seed_results"]]
    recorded = [run["cost"]["usd"] for arm in arms for run in arm]
    recorded += [one["cost"]["usd"] for one in document["base_evaluations"]]
    assert sum(recorded) == pytest.approx(float(told), abs=0.01)


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
