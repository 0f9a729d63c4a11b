"""DeepSpeed and FSDP, which were not tried, are refused by name before a model is loaded."""

from __future__ import annotations

import datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from audit.errors import AuditError, UsageError
from audit.training.guards import check_sharding, sharding
from audit.training.ledger import Ledger
from audit.training.study import prepare
from audit.training.study_file import read_study


@pytest.mark.parametrize(
    ("option", "value"), [("deepspeed", '"zero3.json"'), ("fsdp", '"full_shard"')]
)
def test_a_study_that_asks_for_it_is_refused_by_file_and_key(
    option: str, value: str, study_path: Any, tmp_path: Path
) -> None:
    path = study_path(("[evaluation]", f"[training.trl]\n{option} = {value}\n[evaluation]"))
    ledger = Ledger(tmp_path / "runs")
    with pytest.raises(AuditError, match=rf"training\.trl: {option}: not tried .* not supported"):
        prepare(read_study(path), str(path), ledger)
    assert not ledger.folder.exists()  # no base was made


@pytest.mark.parametrize("variable", ["ACCELERATE_USE_DEEPSPEED", "ACCELERATE_USE_FSDP"])
def test_a_launcher_that_asks_for_it_is_named(
    variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert sharding({}) is None
    monkeypatch.setenv(variable, "false")
    check_sharding({"deepspeed": None, "fsdp": []})
    monkeypatch.setenv(variable, "true")
    with pytest.raises(UsageError, match=variable):
        check_sharding({})


def test_the_trainer_refuses_it_as_the_study_does(audited: Any, arguments: Any, parts: Any) -> None:
    from audit.training.recorder import Recorder
    from audit.training.trainer import AuditedGRPOTrainer
    from audit.training.trust_region import FixedClip

    region, args = FixedClip(0.2, 0.28), arguments()
    args.deepspeed = "zero3.json"  # set after construction, which would import deepspeed
    recorder = Recorder("full", 8, region.geometry, region.topology)
    with pytest.raises(UsageError, match="deepspeed"):
        AuditedGRPOTrainer(args=args, trust_region=region, recorder=recorder, **parts())


@pytest.mark.parametrize(("given", "seconds"), [("", 1800), ("ddp_timeout = 7200", 7200)])
def test_processes_wait_for_one_another_as_long_as_the_study_says(
    given: str, seconds: int, study_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    import accelerate

    from audit.training.study import _process_group

    asked: dict[str, Any] = {}

    def started(**how: Any) -> SimpleNamespace:
        asked.update(how)
        return SimpleNamespace()

    monkeypatch.setattr(accelerate, "PartialState", started)
    path = study_path(("[evaluation]", f"[training.trl]\n{given}\n[evaluation]"))
    _process_group(read_study(path))
    assert asked == {"cpu": True, "timeout": datetime.timedelta(seconds=seconds)}


def test_the_timeout_is_one_for_all_arms(study_path: Any) -> None:
    own = "[arms.fixed-clip.training.trl]\nddp_timeout = 60\n"
    path = study_path()
    path.write_text(path.read_text() + own)
    with pytest.raises(AuditError, match=r"ddp_timeout: is one for all arms"):
        read_study(path)
