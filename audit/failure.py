"""How a results file and a message tell of an exception."""

from __future__ import annotations

import traceback
from pathlib import Path

_LONGEST = 500


def described(error: BaseException) -> str:
    """Type, message and the line that raised it, such as ``KeyError: 'a' (my_reward.py:3)``.

    One line that JSON and a terminal carry, of 500 characters at most. The file's folder is left
    out: it is one machine's.
    """
    frames = traceback.extract_tb(error.__traceback__)
    place = f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
    said = " ".join(f"{type(error).__name__}: {error}".split())[: _LONGEST - len(place)]
    return "".join(c if c.isprintable() else "?" for c in said + place)
