"""PROV: hashes, revisions and versions, and what they are hashes of."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

from audit.facts import pins
from audit.finding import ERROR, INFO, WARNING
from audit.partition import DataFile, file_sha256
from audit.pointer import join
from audit.rules.agreement import shown
from audit.rules.case import Case
from audit.rules.check import CheckResult, Failed, Passed, Unchecked
from audit.rules.rule import rule

_COMMIT = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")
_PARTITIONS = ("train", "validation")


def fingerprint(dataset: dict[str, Any]) -> str:
    """Return the SHA-256 of a dataset block as Python's json writes it with sorted keys."""
    return hashlib.sha256(json.dumps(dataset, sort_keys=True).encode("utf-8")).hexdigest()


@rule("PROV001", "dataset-fingerprint", ERROR, each=Case)
def dataset_fingerprint(case: Case) -> Iterator[CheckResult]:
    """The fingerprint is not that of the dataset block.

    Why
        The block was changed after the fingerprint was made, or belongs to another file.
    Fix
        Compute the SHA-256 of json.dumps(dataset, sort_keys=True) when the file is written.
    Bad
        a dataset block edited by hand
    Good
        "dataset_fingerprint" recomputed with the block
    """
    recorded = case.results.block("provenance").get("dataset_fingerprint")
    dataset = case.results.block("dataset")
    if recorded is None or not dataset:
        yield Unchecked("no dataset block with a fingerprint")
        return
    computed = fingerprint(dict(dataset))
    if recorded == computed:
        yield Passed()
    else:
        pointer = "/provenance/dataset_fingerprint"
        yield Failed(pointer, "not the hash of the dataset block", computed, shown(recorded))


@rule("PROV002", "code-commit", WARNING, each=Case)
def commit(case: Case) -> Iterator[CheckResult]:
    """The commit of the code is not a full commit hash.

    Why
        A branch moves, a short hash may become ambiguous, and "-dirty" says that the code was
        never committed: nobody can check out what was run.
    Fix
        Record the output of git rev-parse HEAD in a clean checkout.
    Bad
        "code_commit": "main"
    Good
        "code_commit": "7e125fd08cd492bf69628c289309ba0b83c1e259"
    """
    recorded = case.results.block("provenance").get("code_commit")
    if recorded is None:
        yield Unchecked("no commit of the code is recorded")
    elif _COMMIT.fullmatch(recorded):
        yield Passed()
    else:
        message = "not a full commit hash"
        yield Failed("/provenance/code_commit", message, "40 hexadecimal digits", shown(recorded))


@rule("PROV003", "unpinned", WARNING, each=Case)
def unpinned(case: Case) -> Iterator[CheckResult]:
    """A revision, a version or a hash is missing, so the study cannot be reproduced.

    Why
        The same recipe on another revision of the model, the data or a library is another study.
    Fix
        Record checkpoint.revision, dataset.source_revision or source_sha256,
        provenance.code_commit, and environment.packages in each run.
    Bad
        "checkpoint": {"public_id": "Qwen/Qwen2.5-0.5B-Instruct", "revision": "main"}
    Good
        "checkpoint": {"public_id": …, "revision": "7ae557604adf67be50417f59c2c2f167def9a775"}
    """
    missing = list(pins.unpinned(case.results))
    yield Passed(pins.CHECKED - len(missing))
    if missing:
        message = f"not recorded: {', '.join(what for _, what in missing)}"
        yield Failed(missing[0][0], message)


@rule("PROV004", "data-hashes", ERROR, each=Case)
def data_hashes(case: Case) -> Iterator[CheckResult]:
    """The training data given are not those the file names.

    Why
        The figures then come from other rows, or rows moved between training and validation.
    Fix
        Give the file that training read; if this is that file, correct the hashes at their source.
    Bad
        "source_sha256" of another version of the data
    Good
        hashes that come out again from the data
    """
    dataset = case.results.block("dataset")
    if case.data is None:
        yield Unchecked("no training data was given (--data FILE)")
        return
    equal: list[str] = []
    wrong = False
    for outcome, what in _data_relations(case.data, dict(dataset)):
        wrong = wrong or isinstance(outcome, Failed)
        if isinstance(outcome, Passed):
            equal.append(what)
        yield outcome
    if equal and not wrong:
        recorded = case.results.block("provenance").get("dataset_fingerprint")
        if recorded is not None and recorded == fingerprint(dict(dataset)):
            equal.append("the fingerprint")
        yield Failed("/dataset", _confirmed(equal, case.data), severity=INFO)


def _confirmed(equal: list[str], data: DataFile) -> str:
    # Rows of a partition that was made by another rule are not this check's to count.
    counted = [name for name in _PARTITIONS if f"the {name} partition" in equal]
    rows = ", ".join(f"{data.rows(name)} {name}" for name in counted)
    both = [f"the {name} partition" for name in _PARTITIONS]
    if set(both) <= set(equal):
        equal = [what for what in equal if what not in both]
        equal.insert(1, "both partitions")
    listed = " and ".join([", ".join(equal[:-1]), equal[-1]] if equal[1:] else equal)
    return f"{listed} recomputed and equal" + (f" ({rows} rows)" if rows else "")


def _data_relations(data: DataFile, dataset: dict[str, Any]) -> Iterator[tuple[CheckResult, str]]:
    if "source_sha256" in dataset:
        yield _hash("/dataset/source_sha256", data.sha256, dataset["source_sha256"]), "the source"
    else:
        yield Unchecked("no hash of the source is recorded", "/dataset"), ""
    rule = dataset.get("partition", "")
    for name, recorded in dataset.get("partition_sha256", {}).items():
        pointer = join("/dataset/partition_sha256", name)
        if name not in _PARTITIONS:
            yield Unchecked("a partition this check does not know", pointer), ""
        elif rule and not ("sha256" in rule.lower() and "0.1" in rule):
            yield Unchecked("partitioned by another rule than this check knows", pointer), ""
        else:
            yield _hash(pointer, data.partition_sha256(name), recorded), f"the {name} partition"


def _hash(pointer: str, computed: str, recorded: str) -> CheckResult:
    if recorded == computed:
        return Passed()
    return Failed(pointer, "not the hash of the data at hand", computed, shown(recorded))


@rule("PROV005", "checkpoint-files", ERROR, each=Case)
def checkpoint_files(case: Case) -> Iterator[CheckResult]:
    """A file of the checkpoint is not the one that was hashed.

    Why
        Another weight file is another baseline.
    Fix
        Fetch the revision that the file names, and hash it again.
    Bad
        model.safetensors of another revision
    Good
        every file of the mirror with the recorded hash
    """
    mirror = case.results.block("checkpoint").get("verified_mirror") or {}
    hashes = mirror.get("file_sha256") or {}
    if case.artifacts is None:
        yield Unchecked("no folder with the checkpoint's files was given (--artifacts DIR)")
        return
    if not hashes:
        yield Unchecked("the checkpoint records no hashes of files", "/checkpoint")
    for name, recorded in hashes.items():
        pointer = join("/checkpoint/verified_mirror/file_sha256", name)
        yield _file_outcome(case.artifacts, name, pointer, recorded)


def _file_outcome(folder: Path, name: str, pointer: str, recorded: str) -> CheckResult:
    if not name or _leaves_folder(name):
        return Failed(pointer, "not a name of a file inside the folder; it was not opened")
    try:
        computed = file_sha256(folder / name)
    except FileNotFoundError:
        return Failed(pointer, "the file is not in the folder")
    except (OSError, ValueError) as error:
        return Failed(pointer, f"the file cannot be read: {type(error).__name__}")
    if computed == recorded:
        return Passed()
    return Failed(pointer, "not the hash of the file at hand", computed, shown(recorded))


def _leaves_folder(name: str) -> bool:
    paths = PurePosixPath(name), PureWindowsPath(name)
    return any(p.is_absolute() or p.drive or p.root or ".." in p.parts for p in paths)
