"""Where a run that is cut off goes on: its checkpoints, which of them are whole, and its clock."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from audit.errors import UsageError
from audit.partition import file_sha256
from audit.training.disk_full import held_while_full
from audit.training.environment import now
from audit.training.progress import say
from audit.writing import write_whole

_FOLDER = "unfinished"
_WHOLE = "whole.json"  # written last: what it lists is complete
_CLOCK = "minutes"
_STARTS = "starts.json"
_KEPT = 2  # checkpoints, so that one that is damaged leaves another
_SHOWN = 12  # digits of the fingerprint in a folder's name; the whole of it is inside
_SECONDS_BETWEEN_TICKS = 1.0


@dataclass(frozen=True, slots=True)
class TakenUp:
    """A whole checkpoint: its folder, its step of the record, and what the run kept beside it."""

    folder: Path
    step: int
    kept: Mapping[str, Any]


@dataclass(slots=True)
class Unfinished:
    """The folder of one run that is not finished yet.

    Parameters
    ----------
    folder : Path
        Its own: of this run and these settings.
    fingerprint : str
        Of everything the run depends on.
    environment : mapping
        Software and machine of this process; what was begun on other ones is another run.
    started : float
        Reading of ``time.monotonic`` when this start of the run began.
    resumed : list of dict
        The starts of the run after its first, as the record names them.
    """

    folder: Path
    fingerprint: str
    environment: Mapping[str, Any]
    started: float
    resumed: list[dict[str, Any]] = field(default_factory=list)
    _before: float = 0.0
    _ticked: float = -_SECONDS_BETWEEN_TICKS

    @property
    def minutes(self) -> float:
        """Minutes spent on the run so far, those of starts that were cut off among them."""
        return self._before + (time.monotonic() - self.started) / 60

    def take_up(self) -> TakenUp | None:
        """Begin this start of the run, from the last whole checkpoint where there is one.

        Raises
        ------
        UsageError
            When the checkpoint was made with other software or on another kind of machine, where
            the run that goes on would be another run.
        """
        held_while_full(
            lambda: self.folder.mkdir(parents=True, exist_ok=True), self.folder, self._run
        )
        begun = (self.folder / _CLOCK).exists()
        try:
            self._before = max(0.0, float((self.folder / _CLOCK).read_text(encoding="utf-8")))
        except (OSError, ValueError):  # cut off within the writing of it
            self._before = 0.0
        found = self._latest()
        if begun:
            step, minutes = found.step if found else 0, round(self.minutes, 4)
            self.resumed = [*self._starts(), {"step": step, "date": now(), "minutes": minutes}]
            self._write(self.folder / _STARTS, self.resumed)
        self.tick()
        return found

    def _starts(self) -> list[dict[str, Any]]:
        try:
            found: list[dict[str, Any]] = json.loads((self.folder / _STARTS).read_bytes())
        except FileNotFoundError:
            return []
        return found

    def tick(self) -> None:
        """Note the time, at most once a second; a start that is cut off leaves it behind.

        Where it cannot be noted, on a full disk, the run goes on.
        """
        now = time.monotonic()
        if now - self._ticked >= _SECONDS_BETWEEN_TICKS:
            self._ticked = now
            with suppress(OSError):
                (self.folder / _CLOCK).write_text(repr(self.minutes), encoding="utf-8")

    def _latest(self) -> TakenUp | None:
        """Return the last whole checkpoint; of a damaged one the reason is said.

        One without its list was cut off while it was written, and is removed.
        """
        for folder in self._checkpoints():
            if not (folder / _WHOLE).is_file():
                shutil.rmtree(folder)
                continue
            try:
                found = self._read(folder)
            except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
                say(f"{folder}: not a whole checkpoint ({error}); the one before it is taken")
                shutil.rmtree(folder)
                continue
            self._before = max(self._before, found.kept["minutes"])
            return found
        return None

    def add(self, folder: Path, step: int, kept: Mapping[str, Any]) -> None:
        """Declare a checkpoint whole, and remove those before the last ones."""
        content = {
            "fingerprint": self.fingerprint,
            "environment": dict(self.environment),
            "step": step,
            "kept": {**kept, "minutes": self.minutes},
            "file_sha256": _hashes(folder),
        }
        self._write(folder / _WHOLE, content)
        for old in self._checkpoints()[_KEPT:]:
            shutil.rmtree(old)

    def _write(self, path: Path, content: Any) -> None:
        """Write it whole, once there is room."""
        held_while_full(lambda: write_whole(path, json.dumps(content).encode()), path, self._run)

    @property
    def _run(self) -> str:
        return f"run {self.folder.name}"

    def _checkpoints(self) -> list[Path]:
        """Return the checkpoints, the last one first."""
        found = self.folder.glob("checkpoint-*")
        return sorted(found, key=lambda path: -int(path.name.rpartition("-")[2]))

    def _read(self, folder: Path) -> TakenUp:
        content = json.loads((folder / _WHOLE).read_bytes())
        if content["fingerprint"] != self.fingerprint:
            raise ValueError("it is of other settings")
        for name, value in self.environment.items():
            before = content["environment"].get(name)
            if before != value:
                raise UsageError(
                    f"begun where {name} is {before!r}, and would go on as another run where it is "
                    f"{value!r}; go on there, or delete this folder",
                    path=str(self.folder),
                )
        found = _hashes(folder)
        for name in sorted({*found, *content["file_sha256"]}):
            if found.get(name) != content["file_sha256"].get(name):
                raise ValueError(f"{name}: its content was changed")
        return TakenUp(folder, content["step"], content["kept"])


def unfinished_folder(ledger: Path, name: str, fingerprint: str) -> Path:
    """Return the folder in which a run of these settings keeps its checkpoints."""
    return ledger / _FOLDER / f"{name}.{fingerprint[:_SHOWN]}"


def forget(folder: Path) -> None:
    """Remove what a run kept until it was finished."""
    shutil.rmtree(folder, ignore_errors=True)
    with suppress(OSError):  # other runs are under way
        folder.parent.rmdir()


def begun_with_others(ledger: Path, wanted: Iterator[Path]) -> list[str]:
    """Return the names of folders that runs of other settings have left, sorted."""
    return sorted({path.name for path in (ledger / _FOLDER).glob("*")} - {p.name for p in wanted})


def _hashes(folder: Path) -> dict[str, str]:
    files = (path for path in folder.rglob("*") if path.is_file() and path.name != _WHOLE)
    return {path.relative_to(folder).as_posix(): file_sha256(path) for path in sorted(files)}
