"""Findings of one rule gathered, as people read them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from audit.finding import Finding, Severity, Waiver
from audit.safetext import shortened


@dataclass(frozen=True, slots=True)
class Group:
    """Findings of one rule with one severity, all waived alike or none; the first one speaks."""

    findings: tuple[Finding, ...]

    @property
    def first(self) -> Finding:
        """The finding that is shown."""
        return self.findings[0]

    @property
    def severity(self) -> Severity:
        """How bad all of them are."""
        return self.first.severity

    @property
    def places(self) -> int:
        """In how many places the rule found something."""
        return sum(1 + len(finding.also) for finding in self.findings)


def grouped(findings: Iterable[Finding]) -> tuple[Group, ...]:
    """Gather findings by rule, severity and waiver, in the order of the report: worst first."""
    groups: dict[tuple[str, Severity, Waiver | None], list[Finding]] = {}
    for finding in findings:
        groups.setdefault((finding.rule, finding.severity, finding.waiver), []).append(finding)
    return tuple(Group(tuple(members)) for members in groups.values())


def comparison(finding: Finding, most: int = 200) -> str:
    """Return what was expected and what stands there instead, as one visible line or nothing."""
    parts = []
    if finding.expected is not None:
        parts.append(f"expected {shortened(finding.expected, most)}")
    if finding.actual is not None:
        parts.append(f"found {shortened(finding.actual, most)}")
    return ", ".join(parts)


def count(number: int, noun: str) -> str:
    """Return a number with its noun, e.g. ``1 warning``, ``2 warnings``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
