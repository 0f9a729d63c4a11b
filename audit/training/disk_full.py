"""No run is lost because the disk is full: what it writes is held until there is room."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from audit.training.progress import say

T = TypeVar("T")

SECONDS_BETWEEN_TRIES = 30.0
_FULL = (errno.ENOSPC, errno.EDQUOT)
# Libraries keep the words alone, and torch not even those.
_WORDS = ("No space left on device", "Disk quota exceeded", "iostream error", "StreamWriter failed")


def held_while_full(write: Callable[[], T], path: Path, what: str) -> T:
    """Write, and where the disk is full say so and try again until there is room.

    Parameters
    ----------
    write : callable
        Writes the whole again at each call.
    path : Path
        What is written, for the message.
    what : str
        What is held meanwhile.
    """
    said = False
    while True:
        try:
            written = write()
        except Exception as error:
            if not is_disk_full(error):
                raise
            if not said:
                say(
                    f"{path}: the disk is full; {what} is held in memory and tried again every "
                    f"{SECONDS_BETWEEN_TRIES:g} s: make room, or Ctrl-C gives it up"
                )
            said = True
            time.sleep(SECONDS_BETWEEN_TRIES)
            continue
        if said:
            say(f"{path}: written")
        return written


def held_together(write: Callable[[], None], path: Path, what: str) -> None:
    """Do the same where each process of a run writes a part: while one has no room, all try again.

    What they ask of one another while they write is then asked by all, as often.
    """
    from accelerate.utils import gather_object

    def together() -> None:
        full: Exception | None = None
        try:
            write()
        except Exception as error:
            if not is_disk_full(error):
                raise
            full = error
        if any(gather_object([full is not None])):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)) from full

    held_while_full(together, path, what)


def is_disk_full(error: BaseException) -> bool:
    """Whether an error, or the one it was raised over, means that there is no room."""
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, OSError) and seen.errno in _FULL:
            return True
        if any(words in str(seen) for words in _WORDS):
            return True
        seen = seen.__cause__ or seen.__context__
    return False
