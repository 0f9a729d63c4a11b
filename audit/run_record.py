"""The record files of :class:`audit.Study`: one file of JSON lines per attempt at a run.

The first line says what is known when a run starts; further lines hold logged figures,
evaluations, hashes of parameters and the end. A file without an end is that of a run that still
goes on, while its writer's lock is seen, and of one that died otherwise.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from audit.errors import InputError

try:
    import fcntl
except ImportError:  # Windows: no lock is seen
    fcntl = None  # type: ignore[assignment]

ENDING = ".run.jsonl"
VERSION = 1
# In one evaluation; they are counted one by one when it is read.
MOST_ANSWERS = 10_000_000
_NO_END = "no end in its record: its process was killed, or goes on where its lock is not seen"


@dataclass(slots=True)
class RunRecord:
    """One attempt at a run, as its file holds it.

    Attributes
    ----------
    name : str
        The file, for messages.
    first : dict
        The first line.
    log : dict
        Step to figures by name; figures that are not finite are text (``"nan"``).
    evaluations : list of dict
        Evaluation blocks as a results file holds them.
    latest : list of bool
        Of each evaluation, whether it was of the model as it was then, and no step was named.
    parameters : dict
        ``initial`` and ``final`` to SHA-256.
    blocks : dict
        Further members of the run, as a results file holds them.
    end : dict
        Status, failure, minutes and environment at the end; empty where the file has no end.
    running : bool
        Whether a process holds the lock of the file.
    torn : int
        Lines that are cut off.
    """

    name: str
    first: dict[str, Any]
    log: dict[int, dict[str, Any]] = field(default_factory=dict)
    evaluations: list[dict[str, Any]] = field(default_factory=list)
    latest: list[bool] = field(default_factory=list)
    parameters: dict[str, str] = field(default_factory=dict)
    blocks: dict[str, Any] = field(default_factory=dict)
    end: dict[str, Any] = field(default_factory=dict)
    running: bool = False
    torn: int = 0

    @property
    def arm(self) -> str:
        """The arm."""
        return str(self.first["arm"])

    @property
    def seed(self) -> int:
        """The training seed."""
        return int(self.first["seed"])

    @property
    def run_id(self) -> str:
        """Name of the run and attempt."""
        return str(self.first["run_id"])

    @property
    def part_of(self) -> str | None:
        """The run whose evaluation, made after its end, this file holds; None for a run."""
        return self.first.get("part_of")

    @property
    def status(self) -> tuple[str, str | None]:
        """Status and reason, of this file alone."""
        if self.end:
            return str(self.end["status"]), self.end.get("failure")
        return ("running", None) if self.running else ("failed", _NO_END)


def is_record(head: bytes) -> bool:
    """Whether a file begins like a record."""
    return head.startswith(b'{"audit_run":')


def read_record(path: Path, name: str, data: bytes | None = None) -> RunRecord:
    """Read one file; lines that are cut off are counted and left out.

    Parameters
    ----------
    path : Path
        Where it is; its lock is looked at there.
    name : str
        The file, for messages.
    data : bytes, optional
        Its content, where that was read already.

    Raises
    ------
    InputError
        When it cannot be read, or its first line is not that of a record.
    """
    running = is_locked(path)  # before it is read: a run that ends in between has its end
    if data is None:
        try:
            data = path.read_bytes()
        except OSError as error:
            raise InputError(f"cannot be read: {error.strerror or error}", path=name) from None
    lines = data.split(b"\n")
    record = RunRecord(name, _first(lines[0], name), running=running)
    for number, line in enumerate(lines[1:], 2):
        if not line.strip():
            continue
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError):
            record.torn += 1
            continue
        try:
            _take(record, entry)
        except (KeyError, TypeError, ValueError, AttributeError):
            raise InputError("not a line of a run's record", path=name, line=number) from None
    return record


def _first(line: bytes, name: str) -> dict[str, Any]:
    try:
        first = json.loads(line)
    except (ValueError, RecursionError):
        first = None
    if not isinstance(first, dict) or not is_record(line) or "run_id" not in first:
        raise InputError("not the record of a run: its first line does not begin one", path=name)
    if first["audit_run"] != VERSION:
        raise InputError(
            f"a record of version {first['audit_run']}, of which this audit knows {VERSION}",
            path=name,
        )
    if not isinstance(first.get("arm"), str) or type(first.get("seed")) is not int:
        raise InputError("its first line names no arm and seed", path=name, line=1)
    return first


def _take(record: RunRecord, entry: Mapping[str, Any]) -> None:
    """Take one line; kinds that a later version may add are left out."""
    if "log" in entry:
        step = int(entry["log"]["step"])
        record.log.setdefault(step, {}).update(entry["log"]["figures"])
    elif "evaluation" in entry:
        record.evaluations.append(dict(entry["evaluation"]))
        record.latest.append(bool(entry.get("latest")))
    elif "parameters" in entry:
        record.parameters.update(entry["parameters"])
    elif "blocks" in entry:
        record.blocks.update(entry["blocks"])
    elif "end" in entry:
        record.end = dict(entry["end"])
        record.end["status"] = str(record.end["status"])


def is_locked(path: Path) -> bool:
    """Whether a process holds the lock of a record file, as far as this machine can see."""
    if fcntl is None:
        return False
    try:
        with path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # a file system without locks
        return False
    return False
