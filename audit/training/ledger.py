"""Finished pieces of a study on disk, so that a killed one goes on where it stopped.

Each run and each evaluation of the base is one file, written whole or not at all, named after a
fingerprint of everything its content depends on, with a hash of that content inside. One that fits
is never made twice, and one of other settings is never written over: going back to those settings
finds it again.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from audit.errors import InputError, UsageError
from audit.training.disk_full import held_while_full
from audit.training.environment import now
from audit.writing import write_whole

if sys.platform != "win32":
    import fcntl

_LOCK = "lock"
_SHOWN = 12  # digits of the fingerprint in a file's name; the whole of it is inside


@dataclass(frozen=True, slots=True)
class Ledger:
    """The folder of finished pieces."""

    folder: Path

    def get(self, name: str, fingerprint: str) -> dict[str, Any] | None:
        """Return the piece of that name and those settings, or None where it is missing.

        Raises
        ------
        InputError
            When the file is there and cannot be read.
        """
        path = self.path(name, fingerprint)
        try:
            entry = json.loads(path.read_bytes())
            if entry["fingerprint"] != fingerprint:
                raise ValueError("its content is of other settings")
            piece: dict[str, Any] = entry["piece"]
            if entry.get("sha256") != _sha256(json.dumps(piece)):
                raise ValueError("its content was changed")
        except FileNotFoundError as error:
            if not path.is_symlink():
                return None
            raise InputError("a link to nothing; delete it", path=str(path)) from error
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            raise InputError(
                f"not a finished piece ({error}); delete it", path=str(path)
            ) from error
        return piece

    def put(self, name: str, fingerprint: str, piece: dict[str, Any]) -> None:
        """Write a finished piece; while the disk is full it is held and tried again.

        Raises
        ------
        UsageError
            When it cannot be written for another reason.
        """
        path = self.path(name, fingerprint)
        content = json.dumps(piece, allow_nan=False)
        head = json.dumps({"fingerprint": fingerprint, "sha256": _sha256(content)})
        text = f'{head[:-1]}, "piece": {content}}}'

        def write() -> None:
            try:
                self.folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise UsageError(
                    f"cannot be made: {error.strerror or error}", path=str(self.folder)
                ) from error
            write_whole(path, text.encode())

        held_while_full(write, path, f"finished piece {name}")

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the folder for one study at a time, in one process of one machine.

        A holder that is gone, of this machine, is passed over; of another machine nobody can tell.

        Raises
        ------
        UsageError
            When another process holds it.
        """
        path, own = self.folder / _LOCK, {"process": os.getpid(), "host": platform.node()}
        text = json.dumps({**own, "since": now()})
        while True:
            try:
                _place(path, text)
                break
            except FileExistsError:
                self._pass_over(path)
            except OSError as error:
                raise UsageError(
                    f"cannot be made: {error.strerror or error}", path=str(path)
                ) from error
        try:
            yield
        finally:
            with suppress(FileNotFoundError):  # deleted by hand, as the refusal of it advises
                if path.read_text(encoding="utf-8") == text:
                    path.unlink()

    def _pass_over(self, path: Path) -> None:
        """Remove the lock of a process that is gone; refuse where it may be at work."""
        try:
            text = path.read_text(encoding="utf-8")
            holder = json.loads(text)
            process, host, since = holder["process"], holder["host"], holder["since"]
            if host == platform.node() and not _alive(process):
                _remove(path, text)
                return
        except FileNotFoundError:  # given up in the meantime
            return
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise UsageError(
                f"not the lock of a study ({error}); delete it", path=str(path)
            ) from error
        raise UsageError(
            f"process {process} on {host} trains here since {since}; wait for it, or delete this "
            "file if it is gone",
            path=str(path),
        )

    def path(self, name: str, fingerprint: str) -> Path:
        """Return the file of a piece."""
        return self.folder / f"{name}.{fingerprint[:_SHOWN]}.json"

    def others(self, wanted: set[Path]) -> list[Path]:
        """Return the finished pieces in the folder that are not among the wanted ones, sorted."""
        found = self.folder.glob("*.json") if self.folder.is_dir() else ()
        return sorted(path for path in found if path not in wanted)


def fingerprint_of(settings: Any) -> str:
    """SHA-256 of settings as JSON with sorted keys."""
    return _sha256(json.dumps(settings, sort_keys=True))


def _place(path: Path, text: str) -> None:
    """Make a lock that no reader sees a part of; refused where there is one."""
    part = path.with_name(f".{path.name}.{secrets.token_hex(6)}.part")
    try:
        part.write_text(text, encoding="utf-8")
        try:
            os.link(part, path)
        except FileExistsError:
            raise
        except OSError:  # a file system without hard links
            with path.open("x", encoding="utf-8") as file:
                file.write(text)
    finally:
        part.unlink(missing_ok=True)


def _remove(path: Path, text: str) -> None:
    """Remove the lock with this text, and not one that another start has put there since.

    Who removes one holds its file, so that between the look and the removal nobody else does.
    """
    if sys.platform == "win32":  # where no lock is known to be of a process that is gone
        return
    with path.open("r+", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        same = os.path.samestat(os.fstat(file.fileno()), path.stat())
        if same and file.read() == text:
            path.unlink()


def _alive(process: int) -> bool:
    """Whether a process of this machine runs; in doubt it does."""
    if sys.platform == "win32":  # where signal 0 is an interrupt
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
