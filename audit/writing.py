"""Writing files whole or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from audit.errors import UsageError
from audit.paths import exists, is_file, is_folder


def write_whole(path: str | Path, data: bytes) -> None:
    """Write a file so that a reader sees the old content or all of the new, never a part.

    The bytes go to a new file in the same folder, which then takes the name. A link is followed,
    so that the file it names is replaced and the link stays; permissions of an old file are kept.

    Parameters
    ----------
    path : str or Path
        The file to write; its folder must exist.
    data : bytes
        The whole content.

    Raises
    ------
    UsageError
        When the file cannot be written; nothing is left behind then.
    """
    write_together({path: data})


def write_together(files: Mapping[str | Path, bytes]) -> None:
    """Write files that belong together: none takes its name before all are on the disk.

    Parameters
    ----------
    files : mapping of str or Path to bytes
        In the order in which they take their names; each is written like `write_whole`.

    Raises
    ------
    UsageError
        When a file cannot be written; all are as they were then.
    """
    staged: list[tuple[str | Path, Path, Path]] = []
    try:
        for path, data in files.items():
            with _told(path):
                target = Path(os.path.realpath(path))
                with suppress(FileNotFoundError):
                    target.lstat()  # refuses a name that no system takes, before any is replaced
                if is_folder(target):
                    raise IsADirectoryError(21, "it is a folder")
                if exists(target) and not is_file(target):
                    continue  # /dev/stdout, a pipe: nothing to replace
                part = target.with_name(f".{target.name[:100]}.{secrets.token_hex(6)}.part")
                staged.append((path, target, part))
                _put(part, data, target)
        for path, target, part in staged:
            with _told(path):
                part.replace(target)
        kept = {path for path, _, _ in staged}
        for path, data in files.items():
            if path not in kept:
                with _told(path):
                    Path(os.path.realpath(path)).write_bytes(data)
    finally:
        for _, _, part in staged:
            with suppress(OSError):  # it has its name, or could not be made
                part.unlink()


def _put(part: Path, data: bytes, target: Path) -> None:
    with part.open("xb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    if exists(target):
        part.chmod(target.stat().st_mode & 0o7777)


@contextmanager
def _told(path: str | Path) -> Iterator[None]:
    """Turn what the system says into one line with the name."""
    try:
        yield
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        name = str(path).replace("\0", "\\0")
        raise UsageError(f"cannot be written: {reason}", path=name) from None
