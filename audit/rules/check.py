"""What a check gives: it passed, it failed at a place, or it could not be made."""

from __future__ import annotations

from dataclasses import dataclass

from audit.finding import Severity


@dataclass(frozen=True, slots=True)
class Failed:
    """What is wrong at one place; ``severity`` replaces the rule's own where a case is milder."""

    pointer: str
    message: str
    expected: str | None = None
    actual: str | None = None
    severity: Severity | None = None


@dataclass(frozen=True, slots=True)
class Passed:
    """So many checks passed."""

    count: int = 1


@dataclass(frozen=True, slots=True)
class Unchecked:
    """The check could not be made here, with the reason."""

    reason: str
    pointer: str = ""


CheckResult = Failed | Passed | Unchecked
