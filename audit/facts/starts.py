"""Whether arms at one seed start from the same parameters and the same first batch."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from audit.facts.memo import once
from audit.pointer import join
from audit.results import Results, Run

# One computation on one GPU repeats to about 1e-6 where sums are not ordered; 1e-4 leaves room,
# and two independent batches differ in the first digits.
_RELATIVE = 1e-4
# Losses of a first update are float noise around 0.
_ABSOLUTE = 1e-6

# A log that leaves out steps shows its prompts by the rows of the data that it drew.
_ROWS = frozenset({"training_row", "training_rows"})

INITIAL_PARAMETERS = "initial_parameters_sha256"


@dataclass(frozen=True, slots=True)
class Difference:
    """A figure of step 1 that differs, with both values as text."""

    pointer: str
    expected: str
    actual: str


@dataclass(frozen=True)
class PairedStart:
    """A run of the top arm and one of another arm that carry the same seed."""

    top: Run
    other: Run

    @property
    def logged(self) -> bool:
        """Whether both logs begin with step 1 and its prompts: all of it, or the rows it drew."""
        return all(map(_begins, (self.top, self.other)))

    @cached_property
    def differences(self) -> tuple[Difference, ...]:
        """What differs in step 1 beyond the noise of one computation; only where ``logged``."""
        here = join(self.other.pointer, "training", 0)
        return tuple(
            Difference(join(here, *path), expected, actual)
            for path, expected, actual in _differences(self.top, self.other)
        )

    @property
    def hashes(self) -> tuple[str, str] | None:
        """The hashes of the initial parameters of both; None where one is not recorded."""
        one, other = (run.document.get(INITIAL_PARAMETERS) for run in (self.top, self.other))
        return None if one is None or other is None else (str(one), str(other))


def _begins(run: Run) -> bool:
    first = run.training[0] if run.training else {}
    told = run.telemetry.get("level", "full") == "full" or _ROWS & first.keys()
    return bool(first) and first.get("step", 1) == 1 and bool(told)


@once
def starts(results: Results) -> tuple[PairedStart, ...]:
    """Return the runs of the top arm beside those of each other arm at the same seed."""
    arms = results.arms
    top = {run.seed: run for run in arms[0].runs if run.seed is not None} if arms else {}
    return tuple(
        PairedStart(top[run.seed], run) for arm in arms[1:] for run in arm.runs if run.seed in top
    )


def _differences(top: Run, other: Run) -> Iterator[tuple[tuple[str | int, ...], str, str]]:
    """Yield paths below step 1 at which two runs differ, with both values as text."""
    one, two = top.training[0], other.training[0]
    same_formula = top.telemetry.get("advantage") == other.telemetry.get("advantage")
    names = ["training_row", "training_rows", "rewards"] + ["advantages"] * same_formula
    for name in names:
        if name in one and name in two:
            yield from _unequal((name,), one[name], two[name])
    updates = list(zip(one.get("updates") or (), two.get("updates") or (), strict=False))
    for place, (a, b) in enumerate(updates[:2]):
        path: tuple[str | int, ...] = ("updates", place)
        for name in ("loss", "gradient_l2_norm") if place == 0 else ():
            if name in a and name in b and same_formula:
                yield from _unequal((*path, name), a[name], b[name])
        if top.protocol.get("learning_rate") == other.protocol.get("learning_rate"):
            yield from _audits_differ(path, a, b)


def _audits_differ(
    path: tuple[str | int, ...], one: dict[str, Any], other: dict[str, Any]
) -> Iterator[tuple[tuple[str | int, ...], str, str]]:
    audits = zip(one.get("response_audits") or (), other.get("response_audits") or (), strict=False)
    for index, (a, b) in enumerate(audits):
        for name in ("sequence", "tokens", "max_abs_log_ratio"):
            if name in a and name in b:
                yield from _unequal((*path, "response_audits", index, name), a[name], b[name])


def _unequal(
    path: tuple[str | int, ...], one: Any, other: Any
) -> Iterator[tuple[tuple[str | int, ...], str, str]]:
    if isinstance(one, list):
        if len(one) != len(other):
            yield path, f"{len(one)} values", f"{len(other)} values"
        for index, (a, b) in enumerate(zip(one, other, strict=False)):
            yield from _unequal((*path, index), a, b)
    elif one != other and not (_is_real(one, other) and _near(one, other)):
        yield path, repr(one), repr(other)


def _is_real(*values: float) -> bool:
    return any(isinstance(value, float) for value in values)


def _near(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=_RELATIVE, abs_tol=_ABSOLUTE)
