"""JSON text that every parser takes: no lone surrogates, no NaN, ASCII only."""

from __future__ import annotations

import json
import re
from typing import Any

_SURROGATE = re.compile(r"[\ud800-\udfff]")


def json_text(value: Any) -> str:
    """Return indented JSON with a newline at its end.

    Raises
    ------
    ValueError
        When a number is not finite.
    """
    return json.dumps(_well_formed(value), indent=2, allow_nan=False) + "\n"


def _well_formed(value: Any) -> Any:
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value)
    if isinstance(value, dict):
        return {_well_formed(key): _well_formed(member) for key, member in value.items()}
    if isinstance(value, list | tuple):
        return [_well_formed(item) for item in value]
    return value
