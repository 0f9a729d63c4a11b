"""Finished pieces of a study on disk, so that a killed one goes on where it stopped.

Each run and each evaluation of the base is one file, written whole or not at all, that carries a
fingerprint of everything its content depends on. A piece whose fingerprint no longer fits is made
again; one that fits is never made twice.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from audit.errors import InputError, UsageError


@dataclass(frozen=True, slots=True)
class Ledger:
    """The folder of finished pieces."""

    folder: Path

    def get(self, name: str, fingerprint: str) -> dict[str, Any] | None:
        """Return the piece of that name, or None where it is missing or of other settings.

        Raises
        ------
        InputError
            When the file is there and cannot be read.
        """
        path = self.folder / f"{name}.json"
        try:
            entry = json.loads(path.read_bytes())
            fits = entry["fingerprint"] == fingerprint
            piece: dict[str, Any] = entry["piece"]
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InputError(
                f"not a finished piece ({error}); delete it", path=str(path)
            ) from error
        return piece if fits else None

    def put(self, name: str, fingerprint: str, piece: dict[str, Any]) -> None:
        """Write a finished piece."""
        text = json.dumps({"fingerprint": fingerprint, "piece": piece}, allow_nan=False)
        write_whole(self.folder / f"{name}.json", text)


def fingerprint_of(settings: Any) -> str:
    """SHA-256 of settings as JSON with sorted keys."""
    return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()


def write_whole(path: Path, text: str) -> None:
    """Write a text file so that no reader, and no crash, ever sees half of it.

    Raises
    ------
    UsageError
        Where the file cannot be written.
    """
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        _write(path, part, text)
    except OSError as error:
        raise UsageError(f"cannot be written: {error.strerror or error}", path=str(path)) from error


def _write(path: Path, part: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with part.open("w", encoding="utf-8", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
