from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from cases import full, gppo, outcomes, patched, places, reasons

from audit.finding import Severity
from audit.partition import DataFile, read_data
from audit.reading import Source
from audit.rules import Failed
from audit.rules.provenance_rules import fingerprint

HASH = "0" * 64
AT = "/dataset"


@pytest.mark.parametrize(
    ("patches", "removed", "rule", "where"),
    [
        (
            {"/provenance/dataset_fingerprint": HASH},
            [],
            "PROV001",
            {"/provenance/dataset_fingerprint"},
        ),
        ({"/dataset/verified": False}, [], "PROV001", {"/provenance/dataset_fingerprint"}),
        ({"/provenance/code_commit": "main"}, [], "PROV002", {"/provenance/code_commit"}),
        ({"/provenance/code_commit": "7e125fd"}, [], "PROV002", {"/provenance/code_commit"}),
        ({}, [], "PROV003", {"/seed_results/0"}),
        ({}, ["/checkpoint/revision"], "PROV003", {"/checkpoint"}),
        ({"/checkpoint/revision": "refs/heads/main"}, [], "PROV003", {"/checkpoint"}),
        ({}, ["/dataset"], "PROV003", {""}),
    ],
)
def test_what_does_not_pin_the_study_is_found(
    patches: dict[str, Any], removed: list[str], rule: str, where: set[str]
) -> None:
    assert places(patched(gppo(), patches, removed), rule) == where


@pytest.mark.parametrize("rule", ["PROV001", "PROV002", "PROV003"])
def test_a_fully_pinned_study_has_no_finding(rule: str) -> None:
    assert places(full(), rule) == set()


def test_all_that_is_missing_stands_in_one_finding() -> None:
    run = {"seed": 1, "method_metrics": {"accuracy": 0.5}}
    document = {"schema_version": 2, "method": "m", "seed_results": [run]}
    (found,) = [o for o in outcomes(document, "PROV003") if isinstance(o, Failed)]
    assert found.message.count(",") == 3
    assert reasons(document, "PROV001") == {"no dataset block with a fingerprint"}
    assert reasons(document, "PROV002") == {"no commit of the code is recorded"}


def _data() -> DataFile:
    lines = [json.dumps({"question": f"What is  {i} +\t{i}?"}).encode() + b"\n" for i in range(60)]
    return DataFile(
        Source("train.jsonl", b"".join(lines), hashlib.sha256(b"".join(lines)).hexdigest())
    )


def _hashes(data: DataFile) -> dict[str, Any]:
    """Recompute the partition with arithmetic of its own: exact integers, no floats."""
    kept: dict[str, list[bytes]] = {"train": [], "validation": []}
    for line in data.source.data.splitlines(keepends=True):
        words = json.loads(line)["question"].split()
        prefix = hashlib.sha256(" ".join(words).encode()).hexdigest()[:16]
        kept["validation" if int(prefix, 16) * 10 < 2**64 else "train"].append(line)
    return {name: hashlib.sha256(b"".join(rows)).hexdigest() for name, rows in kept.items()}


def _study(data: DataFile) -> dict[str, Any]:
    block = {"source_sha256": data.sha256, "partition_sha256": _hashes(data)}
    document = patched(gppo(), {AT: {**gppo()["dataset"], **block}})
    return patched(document, {"/provenance/dataset_fingerprint": fingerprint(document["dataset"])})


def test_data_that_fits_is_confirmed_as_information() -> None:
    data = _data()
    (found,) = [o for o in outcomes(_study(data), "PROV004", data=data) if isinstance(o, Failed)]
    assert (found.pointer, found.severity) == (AT, Severity.INFO)
    rows = f"{data.rows('train')} train, {data.rows('validation')} validation rows"
    expected = f"the source, both partitions and the fingerprint recomputed and equal ({rows})"
    assert found.message == expected
    assert data.rows("validation") > 0


@pytest.mark.parametrize(
    "leaf", ["source_sha256", "partition_sha256/train", "partition_sha256/validation"]
)
def test_data_that_does_not_fit_is_an_error_at_the_hash(leaf: str) -> None:
    document = patched(_study(_data()), {f"{AT}/{leaf}": HASH})
    assert places(document, "PROV004", data=_data()) == {f"{AT}/{leaf}"}


def test_runs_that_all_failed_still_say_what_they_were_made_with() -> None:
    document = full()
    for arm in (document, *document["controls"].values()):
        for run in arm["seed_results"]:
            run["status"] = "failed"
    assert places(document, "PROV003") == set()
    del document["seed_results"][1]["environment"]
    del document["verified"]
    assert places(document, "PROV003") == {"/seed_results/1"}


def test_another_partition_rule_is_not_checked() -> None:
    document = patched(
        _study(_data()),
        {AT + "/partition": "every tenth row", AT + "/partition_sha256/train": HASH},
    )
    assert places(document, "PROV004", data=_data()) == {AT}
    assert reasons(document, "PROV004", data=_data()) == {
        "partitioned by another rule than this check knows"
    }
    (found,) = [o for o in outcomes(document, "PROV004", data=_data()) if isinstance(o, Failed)]
    assert found.message == "the source recomputed and equal"  # no rows counted by our own rule


def test_without_data_or_files_both_checks_say_how_to_give_them() -> None:
    assert reasons(gppo(), "PROV004") == {"no training data was given (--data FILE)"}
    assert reasons(gppo(), "PROV005") == {
        "no folder with the checkpoint's files was given (--artifacts DIR)"
    }


def test_files_of_the_checkpoint_are_hashed(tmp_path: Path) -> None:
    contents = {"config.json": b"{}", "model.safetensors": b"weights", "sub/vocab.json": b"[]"}
    (tmp_path / "sub").mkdir()
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    hashes = {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()}
    at = "/checkpoint/verified_mirror/file_sha256"
    document = patched(gppo(), {at: hashes})
    assert places(document, "PROV005", artifacts=tmp_path) == set()
    (tmp_path / "config.json").write_bytes(b"{ }")
    (tmp_path / "model.safetensors").unlink()
    assert places(document, "PROV005", artifacts=tmp_path) == {
        at + "/config.json",
        at + "/model.safetensors",
    }


@pytest.mark.parametrize(
    "name", ["../secret", "/etc/passwd", "a/../../b", "..\\secret", "C:\\secret", "", "\\\\host\\x"]
)
def test_a_name_that_leaves_the_folder_is_not_opened(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    (tmp_path / "secret").write_bytes(b"")
    document = patched(gppo(), {"/checkpoint/verified_mirror/file_sha256": {name: HASH}})
    (found,) = [o for o in outcomes(document, "PROV005", artifacts=folder) if isinstance(o, Failed)]
    assert "not opened" in found.message


def test_a_folder_in_place_of_a_file_is_a_finding(tmp_path: Path) -> None:
    (tmp_path / "config.json").mkdir()
    document = patched(gppo(), {"/checkpoint/verified_mirror/file_sha256": {"config.json": HASH}})
    assert len(places(document, "PROV005", artifacts=tmp_path)) == 1


def test_the_real_training_data_has_the_hashes_of_the_study(shared: Path) -> None:
    data = read_data(shared / "data" / "gsm8k" / "train.jsonl")
    document = json.loads((shared / "seeds" / "results-gppo.json").read_text(encoding="utf-8"))
    (found,) = [o for o in outcomes(document, "PROV004", data=data) if isinstance(o, Failed)]
    assert (found.pointer, found.severity) == (AT, Severity.INFO)
    assert found.message == (
        "the source, both partitions and the fingerprint recomputed and equal "
        "(6757 train, 716 validation rows)"
    )
