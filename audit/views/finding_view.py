"""Findings of one rule gathered, as people read them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from audit.finding import Finding, Origin, Severity, Waiver
from audit.safetext import shortened

# Places shown of one rule; -v shows all of them.
PLACES = 3


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

    def shown_places(self, most: int = PLACES) -> tuple[str, ...]:
        """Return the pointers of the first places, the whole file as empty text."""
        found: list[str] = []
        for pointer in self._pointers():
            if len(found) == most:
                break
            found.append(pointer)
        return tuple(found)

    def _pointers(self) -> Iterator[str]:
        for finding in self.findings:
            yield finding.pointer
            yield from finding.also

    @property
    def where(self) -> str:
        """The first places on one line, safe to print: ``/a, /b, /c (+5 more)``."""
        shown = [shortened(pointer, 120) or "whole file" for pointer in self.shown_places()]
        more = self.places - len(shown)
        return ", ".join(shown) + (f" (+{more} more)" if more > 0 else "")


def grouped(findings: Iterable[Finding]) -> tuple[Group, ...]:
    """Gather findings by rule, severity and waiver, in the order of the report: worst first."""
    groups: dict[tuple[str, Severity, Waiver | None], list[Finding]] = {}
    for finding in findings:
        groups.setdefault((finding.rule, finding.severity, finding.waiver), []).append(finding)
    return tuple(Group(tuple(members)) for members in groups.values())


def details(finding: Finding, most: int = 200) -> str:
    """Return what was expected, what was found, and its source file, as one line or nothing."""
    parts = []
    if finding.expected is not None:
        parts.append(f"expected {shortened(finding.expected, most)}")
    if finding.actual is not None:
        parts.append(f"found {shortened(finding.actual, most)}")
    if finding.origin is not None:
        parts.append(f"from {shortened(origin_words(finding.origin), most)}")
    return ", ".join(parts)


def origin_words(origin: Origin) -> str:
    """Return file and place: ``grpo/s1/results.jsonl line 17``, ``grpo/s1/args.json seed``."""
    place = [f"line {origin.line}"] if origin.line is not None else []
    return " ".join([origin.file, *place, *([origin.key] if origin.key else [])])
