"""A file of JSON lines that one process appends to, and that says whether the process lives.

A name is taken by linking a finished first line to it, which fails where the name exists: of
several processes that want it, on one machine or on many that share the folder, one gets it. The
file stays locked (``flock``) while it is open, and the kernel releases that lock however the
process ends. Each line is one write to a file opened for appending, so that a killed process
leaves whole lines and at most one torn one at the end.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import threading
import warnings
from pathlib import Path
from typing import Any

from audit.errors import RecordingError

try:
    import fcntl
except ImportError:  # Windows: a record without an end is then one of a process that died
    fcntl = None  # type: ignore[assignment]


class AppendOnlyFile:
    """An open record file.

    Parameters
    ----------
    path : Path
        The name to take.
    first : dict
        The first line; it is in the file before the name is.

    Raises
    ------
    FileExistsError
        When the name is taken.
    RecordingError
        When the file cannot be written.
    """

    def __init__(self, path: Path, first: dict[str, Any]) -> None:
        self.path = path
        self._mutex = threading.Lock()
        self._waiting: list[bytes] = []
        self._owner = os.getpid()
        self._torn = False
        temporary = path.with_name(f".{path.name[:80]}.{secrets.token_hex(6)}.part")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            flags = os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_APPEND
            self._descriptor = os.open(temporary, flags, 0o666)
        except OSError as error:
            raise _unwritable(path, error) from None
        try:
            if fcntl is not None:
                # A file system without locks is no reason not to record.
                with contextlib.suppress(OSError):
                    fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._write(_line(first))
            os.fsync(self._descriptor)
            _take_name(temporary, path)
        except FileExistsError:
            self.close()
            raise
        except OSError as error:
            self.close()
            raise _unwritable(path, error) from None
        finally:
            temporary.unlink(missing_ok=True)

    @property
    def owned(self) -> bool:
        """Whether this process opened the file, and not one it was forked from."""
        return self._owner == os.getpid()

    def append(self, entry: dict[str, Any], keep: bool = False) -> None:
        """Write one line; where the disk fails, hold it back and try again with the next.

        Parameters
        ----------
        entry : dict
            What to write; it must be JSON.
        keep : bool
            Whether it must be on the disk when this returns.

        Raises
        ------
        RecordingError
            When it must be kept and cannot be written.
        """
        with self._mutex:
            if self._descriptor < 0:
                raise RecordingError("the record of this run is closed", path=str(self.path))
            self._waiting.append(_line(entry))
            try:
                while self._waiting:
                    self._write(self._waiting[0])
                    del self._waiting[0]
                if keep:
                    os.fsync(self._descriptor)
            except OSError as error:
                if keep:
                    raise _unwritable(self.path, error) from None
                message = f"{_unwritable(self.path, error)}; the line is kept and tried again"
                warnings.warn(message, RuntimeWarning, stacklevel=3)

    def close(self) -> None:
        """Close the file and release its lock."""
        with self._mutex:
            if self._descriptor >= 0:
                os.close(self._descriptor)
                self._descriptor = -1

    def _write(self, line: bytes) -> None:
        # After a torn line, such as on a full disk, the next attempt begins one of its own.
        left = memoryview(b"\n" + line if self._torn else line)
        self._torn = True
        while left:
            left = left[os.write(self._descriptor, left) :]
        self._torn = False


def _take_name(temporary: Path, path: Path) -> None:
    """Give the file its name unless the name is taken."""
    try:
        os.link(temporary, path)
    except FileExistsError:
        raise
    except OSError:  # a file system without links, such as FAT
        os.close(os.open(path, os.O_CREAT | os.O_EXCL))
        temporary.replace(path)


def _line(entry: dict[str, Any]) -> bytes:
    return json.dumps(entry, allow_nan=False, separators=(",", ":")).encode() + b"\n"


def _unwritable(path: Path, error: OSError) -> RecordingError:
    return RecordingError(f"cannot be written: {error.strerror or error}", path=str(path))
