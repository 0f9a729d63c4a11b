"""What options of ``audit import`` say in words: ``LOW-HIGH``, ``NAME=VALUE``."""

from __future__ import annotations

import re

from audit.errors import UsageError


def scale_of(text: str | None) -> tuple[float, float] | None:
    """Return the bounds of ``LOW-HIGH``, None where nothing is said."""
    if text is None:
        return None
    low, _, high = text.partition("-")
    try:
        scale = float(low), float(high)
    except ValueError:
        scale = (1.0, 0.0)
    if not scale[0] < scale[1] < float("inf"):
        raise UsageError(f"--scale {text!r}: say LOW-HIGH, e.g. 0-100")
    return scale


def pair(text: str, usage: str) -> tuple[str, str]:
    """Return the two sides of ``NAME=VALUE``; ``usage`` is what a refusal shows."""
    name, sign, value = text.partition("=")
    if not (name and sign and value):
        raise UsageError(f"{text!r}: say {usage}")
    return name, value


def role_of(text: str) -> tuple[str, str]:
    """Return role and pointer of ``--map ROLE=POINTER``."""
    role, pointer = pair(text, "--map ROLE=POINTER")
    if pointer.startswith("@path:"):
        try:
            re.compile(pointer.removeprefix("@path:"))
        except re.error as error:
            raise UsageError(f"--map {text}: no regular expression: {error}") from None
    return role, pointer
