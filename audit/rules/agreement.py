"""Places that state one fact, and which of them is out of step."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from audit.finding import Severity
from audit.pointer import join
from audit.results import Results
from audit.rules.check import CheckResult, Failed, Passed

Stated = tuple[str, Any]
"""A pointer and the value found there."""

_LONGEST = 80


_text = json.JSONEncoder(sort_keys=True).encode


def owners(results: Results) -> list[tuple[str, Mapping[str, Any]]]:
    """Return everything that repeats the file's blocks: the top, each other arm, each run."""
    arms = [(arm.pointer, arm.document) for arm in results.controls]
    runs = [(run.pointer, run.document) for run in results.runs]
    return [("", results.usable), *arms, *runs]


def shown(value: Any) -> str:
    """Return a value as short JSON text."""
    text = _text(value)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def same_key(value: Any) -> str:
    """Return a text that equal JSON values share: 1 and 1.0 do, 1 and true do not."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return repr(float(value)) if abs(value) < 2**53 else repr(value)
    return _text(value)


def agreement(
    stated: Sequence[Stated], what: str, severity: Severity | None = None
) -> Iterator[CheckResult]:
    """Say which places state another value than most do; without a majority all are named.

    Parameters
    ----------
    stated : sequence of (pointer, value)
        Every place that states the fact. Fewer than two say nothing.
    what : str
        The fact, as the subject of a sentence.
    """
    if len(stated) < 2:
        return
    keys = [same_key(value) for _, value in stated]
    ranked = Counter(keys).most_common(2)
    if len(ranked) == 1:
        yield Passed(len(stated) - 1)
        return
    majority = ranked[0][0] if ranked[0][1] > ranked[1][1] else None
    usual = next(
        (value for key, (_, value) in zip(keys, stated, strict=True) if key == majority), None
    )
    for key, (pointer, value) in zip(keys, stated, strict=True):
        if majority is None:
            message = f"{what} is stated in {len(stated)} places that do not agree"
            yield Failed(pointer, message, "one value", shown(value), severity)
        elif key != majority:
            message = f"{what} differs from what {ranked[0][1]} of {len(stated)} places state"
            yield Failed(pointer, message, shown(usual), shown(value), severity)


def block_agreement(
    blocks: Sequence[tuple[str, Mapping[str, Any]]], what: str, severity: Severity | None = None
) -> Iterator[CheckResult]:
    """Hold every leaf of blocks that should be equal; a leaf left out is no contradiction."""
    if len(blocks) > 1 and len({same_key(block) for _, block in blocks}) == 1:
        yield Passed((len(blocks) - 1) * sum(1 for _ in leaves(blocks[0][1])))
        return
    paths: dict[tuple[str | int, ...], None] = {}
    flat = []
    for pointer, block in blocks:
        found = dict(leaves(block))
        flat.append((pointer, found))
        paths.update(dict.fromkeys(found))
    for path in paths:
        stated = [(join(pointer, *path), found[path]) for pointer, found in flat if path in found]
        yield from agreement(stated, f"{what} {'.'.join(map(str, path))}", severity)


def leaves(
    value: Any, path: tuple[str | int, ...] = ()
) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """Yield the path and value of everything that is no container, and of empty containers."""
    members: Iterable[tuple[str | int, Any]] = ()
    if isinstance(value, dict):
        members = value.items()
    elif isinstance(value, list):
        members = enumerate(value)
    if not value or not isinstance(value, dict | list):
        yield path, value
    for key, member in members:
        yield from leaves(member, (*path, key))
