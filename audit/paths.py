"""What stands at a path that a user typed; a name that no system takes is nothing there.

`pathlib` raises for a name that is too long, before the one place that opens the file can say so.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

# Two letters at least: one is a drive of Windows.
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")


def is_url(path: str | Path) -> bool:
    """Return whether a path names an object in a store, such as ``s3://bucket/results.json``."""
    return isinstance(path, str) and _SCHEME.match(path) is not None


def is_folder(path: str | Path) -> bool:
    """Return whether a folder stands at the path."""
    return os.path.isdir(path)  # noqa: PTH112 - it answers where Path raises


def is_file(path: str | Path) -> bool:
    """Return whether an ordinary file stands at the path."""
    return os.path.isfile(path)  # noqa: PTH113 - it answers where Path raises


def exists(path: str | Path) -> bool:
    """Return whether anything stands at the path."""
    return os.path.exists(path)  # noqa: PTH110 - it answers where Path raises
