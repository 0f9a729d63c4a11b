"""Writing files whole or not at all."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from audit.errors import UsageError


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
    try:
        _replace(Path(os.path.realpath(path)), data)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        name = str(path).replace("\0", "\\0")
        raise UsageError(f"cannot be written: {reason}", path=name) from None


def _replace(target: Path, data: bytes) -> None:
    if target.exists() and not target.is_file():  # /dev/stdout, a pipe: nothing to replace
        if target.is_dir():
            raise IsADirectoryError(21, "it is a folder")
        target.write_bytes(data)
        return
    temporary = target.with_name(f".{target.name[:100]}.{secrets.token_hex(6)}.part")
    try:
        with temporary.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            temporary.chmod(target.stat().st_mode & 0o7777)
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
