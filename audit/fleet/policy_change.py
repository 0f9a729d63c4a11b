"""What a branch did to the policy it is judged by, in words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

from audit.numerals import counted
from audit.policy import Policy

# Values of these are tables: what is in them is counted, not printed.
_TABLES = {"guardrails": "guardrail", "overrides": "override", "waivers": "waiver"}


def policy_change(then: Policy, now: Policy | None) -> str:
    """Return how the policy in force changed; empty where it is the same file and says the same.

    Parameters
    ----------
    then : Policy
        The policy where the branch began.
    now : Policy or None
        The policy that the work tree would be judged by; None where it cannot be read.

    Returns
    -------
    str
        E.g. ``audit.toml: min_seeds 5 to 3``. A file that is gone, that is new, that moved, or
        that takes the place of another is a change even where all values are the same.
    """
    if now is None:
        return f"{_name(then.file)}: cannot be read"
    values = "; ".join(_values(then, now))
    if then.file == now.file:
        return f"{_name(now.file)}: {values}" if values else ""
    if now.file is None:
        what = f"{_name(then.file)} is gone"
    elif then.file is None:
        what = f"{_name(now.file)} is new"
    else:
        ours, theirs = now.file, then.file
        alike = ours.name == theirs.name
        names = [f"{f.parent.name}/{f.name}" if alike else f.name for f in (ours, theirs)]
        what = f"{names[0]} is read in place of {names[1]}"
    return f"{what}: {values}" if values else what


def _name(file: Path | None) -> str:
    return "the policy" if file is None else file.name


def _values(then: Policy, now: Policy) -> Iterator[str]:
    for field in fields(Policy):
        if not field.compare:
            continue
        before, after = getattr(then, field.name), getattr(now, field.name)
        if before != after:
            shown = (_shown(field.name, value) for value in (before, after))
            yield f"{field.name} {' to '.join(dict.fromkeys(shown))}"


def _shown(name: str, value: Any) -> str:
    if name in _TABLES:
        return counted(len(value), _TABLES[name])
    if isinstance(value, tuple):
        return f"[{', '.join(map(str, value))}]"
    return str(value)
