"""What a check says: a finding, or that it could not be made and why."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum


class Severity(IntEnum):
    """How bad a finding is; larger is worse, so that severities compare."""

    INFO = 0
    WARNING = 1
    ERROR = 2

    @property
    def label(self) -> str:
        """The word people write in policies: ``info``, ``warning`` or ``error``."""
        return self.name.lower()


INFO, WARNING, ERROR = Severity.INFO, Severity.WARNING, Severity.ERROR


@dataclass(frozen=True, slots=True)
class Waiver:
    """A finding that a policy accepts for a stated reason; it is shown and does not fail.

    ``rule`` is an id or a slug, ``pointer`` a JSON Pointer or a prefix that ends in ``/*``,
    ``expires`` an ISO date (the last day on which it holds), ``added`` the one on which it was
    written, where that is said.
    """

    rule: str
    pointer: str
    reason: str
    expires: str
    added: str | None = None


@dataclass(frozen=True, slots=True)
class Origin:
    """Where an imported field comes from: a file, its SHA-256, and the line or key in it."""

    file: str
    sha256: str | None = None
    line: int | None = None
    key: str | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing a rule found at one place.

    ``pointer`` is a JSON Pointer (RFC 6901) into the document, ``line`` and ``column`` are
    one-based and filled in from the text when the report is made. ``also`` holds further places
    where the same rule found the same thing. ``expected`` and ``actual`` are short texts.
    ``origin`` is the place in another tool's file that the field was brought over from.
    """

    rule: str
    slug: str
    severity: Severity
    pointer: str
    message: str
    expected: str | None = None
    actual: str | None = None
    why: str = ""
    fix: str = ""
    also: tuple[str, ...] = ()
    line: int | None = None
    column: int | None = None
    origin: Origin | None = None
    waiver: Waiver | None = None


@dataclass(frozen=True, slots=True)
class NotChecked:
    """A check that lacked its data, with the reason."""

    rule: str
    slug: str
    reason: str
    pointer: str = ""
