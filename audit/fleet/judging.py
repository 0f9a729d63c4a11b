"""The one engine behind ``verify`` and ``gate``: a file judged to the end, whatever happens."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from audit.analysis import Analysis
from audit.analysis.study import SpentLook
from audit.claims import Claim
from audit.errors import AuditError
from audit.facts.siblings import run_keys
from audit.finding import NotChecked, Severity, Waiver
from audit.fleet.earlier_looks import Unrecorded, unrecorded_looks
from audit.fleet.files import FileResult
from audit.outcomes_file import named_files
from audit.policy import CLAIM_RULES, Policy
from audit.reading import Source, read_source
from audit.report import Report, verify
from audit.results import Results, from_source
from audit.safetext import shortened
from audit.views.claim_view import views_of
from audit.views.decision_view import decision_view
from audit.views.finding_view import grouped
from audit.views.study_view import study_in_words

# What is kept of a file that was judged, most first.
WHOLE, PLACES, FINDINGS, ROWS = "whole", "places", "findings", "rows"


class BrokenCheckError(AuditError):
    """A check of ours stopped on one file: exit status 3, so that a gate fails closed."""

    exit_status = 3


@dataclass(frozen=True, slots=True)
class Choices:
    """What a command line says over the policy: rules to run or leave out, what fails."""

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    fail_on: str | None = None

    def over(self, policy: Policy) -> Policy:
        """Return the policy with these choices put over it."""
        return replace(
            policy,
            select=self.select or policy.select,
            ignore=policy.ignore + self.ignore,
            fail_on=self.fail_on or policy.fail_on,
        )


@dataclass(frozen=True, slots=True)
class Judge:
    """Judges a file by its name; it and what it returns can cross to another process.

    Attributes
    ----------
    policy : Policy
    choices : Choices
    claims : tuple of Claim
        Claims to judge in every file, beside its own.
    keeps : str
        What is kept of a file: ``whole`` with content and statistics, for a report in full;
        ``places``, its findings with line and column; ``findings`` without these; or ``rows``,
        what a table of many files shows.
    siblings : tuple of float
        P-values of the claims that other files of the same study make.
    looked : tuple of int
        Runs per arm at which the claims were judged before, without a plan.
    data, artifacts : str or None
        Training data and the checkpoint's folder, to hash again.
    """

    policy: Policy
    choices: Choices = Choices()
    claims: tuple[Claim, ...] = ()
    keeps: str = ROWS
    siblings: tuple[float, ...] = ()
    looked: tuple[int, ...] = ()
    data: str | None = None
    artifacts: str | None = None

    def __call__(self, path: str) -> FileResult:
        """Return what came of one file, whatever happens to it."""
        return self._judged(path, lambda: read_source(path), history=path)

    def of_source(self, source: Source) -> FileResult:
        """Return the same of a file that was read elsewhere, earlier versions left aside."""
        return self._judged(source.name, lambda: source, history=None)

    def _judged(self, path: str, read: Callable[[], Source], *, history: str | None) -> FileResult:
        try:
            results = from_source(read())
            report, unrecorded = self._with_history(history, results)
            found = replace(
                judged(report, study_in_words(results)),
                not_searched=unrecorded.missing,
                may_hide_looks=unrecorded.wanted,
                listing=unrecorded.listing,
                beside=_files_beside(results),
            )
        except AuditError as error:
            return failed(path, error)
        except MemoryError:
            return failed(path, AuditError("not enough memory for this file", path=path))
        except Exception as error:
            if os.environ.get("AUDIT_DEBUG"):
                raise
            what = shortened(f"{type(error).__name__}: {error}", 200)
            return failed(path, BrokenCheckError(f"a check itself failed: {what}", path=path))
        if self.keeps == WHOLE or found.report is None:
            return found
        if self.keeps == ROWS:
            return replace(found, report=None)
        return replace(found, report=found.report.detached(located=self.keeps == PLACES))

    def beside(self, p_values: tuple[float, ...]) -> Judge:
        """Return a judge whose Holm correction runs over these claims of other files, too."""
        return replace(self, siblings=p_values)

    def _with_history(self, path: str | None, results: Results) -> tuple[Report, Unrecorded]:
        """Return the report, and what earlier versions of the file say of its looks."""
        report = self._verified(results)
        claims = () if report.analysis is None else report.analysis.claims
        unrecorded = unrecorded_looks(path, results, claims)
        if unrecorded.looks:
            report = self._verified(results, unrecorded.looks)
        if not unrecorded.missing:
            return report, unrecorded
        reason = f"earlier versions of the file: {unrecorded.missing}"
        unseen = NotChecked("CLAIM003", CLAIM_RULES["CLAIM003"], reason, "/claims")
        return replace(report, not_checked=(*report.not_checked, unseen)), unrecorded

    def policy_for(self, path: str) -> Policy:
        """Return the policy that judges a file."""
        return self.choices.over(self.policy.for_path(path))

    def _verified(self, results: Results, spent: tuple[SpentLook, ...] = ()) -> Report:
        return verify(
            results,
            self.data,
            artifacts=self.artifacts,
            claims=self.claims,
            policy=self.policy_for(results.name),
            siblings=self.siblings,
            looked=self.looked,
            spent=spent,
        )


@dataclass(frozen=True, slots=True)
class BothPolicies:
    """Judges a file by two policies and returns the worse result.

    A branch that changes the policy is held to the one it began with and to its own.
    """

    now: Judge
    then: Judge

    def __call__(self, path: str) -> FileResult:
        """Return what came of one file under the stricter of the two."""
        return worse(self.now(path), self.then(path))

    def of_source(self, source: Source) -> FileResult:
        """Return the same of a file that was read elsewhere."""
        return worse(self.now.of_source(source), self.then.of_source(source))

    def beside(self, p_values: tuple[float, ...]) -> BothPolicies:
        """Return the same with claims of other files in the family of both."""
        return BothPolicies(self.now.beside(p_values), self.then.beside(p_values))


def worse(now: FileResult, then: FileResult) -> FileResult:
    """Return the result with the higher exit status, the first one where they are equal."""
    return then if then.exit_status > now.exit_status else now


def judged(report: Report, summary: str = "") -> FileResult:
    """Return the result of a file that was verified, with its claims and problems in words."""
    analysis = report.analysis
    decision = None if analysis is None else analysis.decision
    return FileResult(
        name=report.name,
        report=report,
        error=None,
        exit_status=report.exit_status,
        summary=summary,
        sha256=report.sha256,
        errors=report.count(Severity.ERROR),
        warnings=report.count(Severity.WARNING),
        waived=_waived(report),
        claims=() if analysis is None else tuple(views_of(analysis, report.found)),
        problems=tuple(_problems(report)),
        run_keys=run_keys(report.case.results),
        family=() if analysis is None else _family(analysis),
        decision=None if decision is None else decision_view(decision),
    )


def _files_beside(results: Results) -> tuple[tuple[str, str], ...]:
    """Return path and SHA-256 of the files that were read beside it, which are as it says."""
    return tuple(sorted(named_files(results.document).items())) if results.beside else ()


def _family(analysis: Analysis) -> tuple[float, ...]:
    return tuple(c.family_p_value for c in analysis.claims if not c.claim.guardrail)


def _waived(report: Report) -> tuple[tuple[Waiver, int], ...]:
    """Return the waivers that cover findings, and how many each, in the order of the report."""
    covered = Counter(finding.waiver for finding in report.found if finding.waiver is not None)
    return tuple(covered.items())


def lost(path: str) -> FileResult:
    """Return what stands for a file whose process died, e.g. for want of memory."""
    return failed(path, BrokenCheckError("the process that judged this file died", path=path))


def failed(path: str, error: AuditError) -> FileResult:
    """Return what stands for a file that was not judged."""
    return FileResult(path, None, error, error.exit_status)


def _problems(report: Report) -> Iterator[str]:
    """Yield what fails the file, or comes near to it, apart from claims."""
    for group in grouped(report.found):
        finding = group.first
        misspelt = finding.rule == "SCHEMA002"  # a claim may be in it that nobody judged
        strict = report.policy.fail_on == "warning"
        fails = finding.severity is Severity.ERROR or strict or misspelt
        if not fails or finding.severity is Severity.INFO or finding.waiver:
            continue
        if finding.rule in CLAIM_RULES:
            continue
        head = f"{finding.rule} {finding.slug} at {group.where}"
        yield f"{shortened(head, 240)}: {shortened(finding.message, 300)}"
