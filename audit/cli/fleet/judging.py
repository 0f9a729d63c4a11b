"""One file judged to the end, keeping only what a table of studies prints."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass

from audit.claims import Claim
from audit.cli.fleet.row import Row, judged_rows, study_name, unjudged_row
from audit.cli.formats.groups import grouped
from audit.cli.outcomes import FileOutcome, read_file
from audit.cli.verify import with_options
from audit.errors import AuditError
from audit.finding import Severity
from audit.policy import Policy
from audit.report import Report, verify
from audit.results import Results
from audit.safetext import shortened


class BrokenCheckError(AuditError):
    """A check of ours stopped on one file: exit status 3, so that a gate fails closed."""

    exit_status = 3


@dataclass(frozen=True, slots=True)
class JudgedFile(FileOutcome):
    """What came of one file, its rows, and its errors that are no claims, one a line."""

    rows: tuple[Row, ...] = ()
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Judge:
    """Judges a file by its name; it and what it returns can cross to another process.

    ``located`` asks for line and column of every finding.
    """

    policy: Policy
    options: argparse.Namespace
    claims: tuple[Claim, ...]
    located: bool

    def __call__(self, path: str) -> JudgedFile:
        """Return what came of one file, whatever happens to it."""
        try:
            outcome = read_file(path, self._check)
            return judged(outcome, located=self.located)
        except AuditError as error:
            return _failed(path, error)
        except MemoryError:
            return _failed(path, AuditError("not enough memory for this file", path=path))
        except Exception as error:
            what = shortened(f"{type(error).__name__}: {error}", 200)
            return _failed(path, BrokenCheckError(f"a check itself failed: {what}", path=path))

    def _check(self, results: Results) -> Report:
        policy = with_options(self.policy.for_path(results.name), self.options)
        return verify(results, claims=self.claims, policy=policy)


def lost(path: str) -> JudgedFile:
    """Return what stands for a file whose process died, e.g. for want of memory."""
    return _failed(path, BrokenCheckError("the process that judged this file died", path=path))


def rows_of(file: FileOutcome) -> tuple[Row, ...]:
    """Return the rows of a file; one that was never opened has one that says so."""
    if isinstance(file, JudgedFile):
        return file.rows
    return (unjudged_row(file.name, file.exit_status, "could not be read"),)


def problems_of(file: FileOutcome) -> tuple[str, ...]:
    """Return the errors of a file that are no claims, one a line."""
    return file.problems if isinstance(file, JudgedFile) else ()


def _failed(path: str, error: AuditError) -> JudgedFile:
    reason = "could not be read" if error.exit_status == 2 else "a check itself failed"
    row = unjudged_row(path, error.exit_status, reason)
    return JudgedFile(path, None, error, error.exit_status, rows=(row,))


def judged(outcome: FileOutcome, *, located: bool = False) -> JudgedFile:
    """Return the rows of a file that was verified, or why it was not."""
    report = outcome.report
    if report is None:
        return _failed(outcome.name, outcome.error or AuditError("not read", path=outcome.name))
    return JudgedFile(
        outcome.name,
        report.detached(located=located),
        None,
        outcome.exit_status,
        outcome.summary,
        tuple(_rows(outcome.name, report)),
        tuple(_problems(outcome.name, report)),
    )


def _rows(name: str, report: Report) -> Iterator[Row]:
    analysis = report.analysis
    if analysis is not None:
        yield from judged_rows(name, report.exit_status, analysis)
        return
    reason = "a check itself failed" if report.exit_status == 3 else "breaks the contract"
    yield unjudged_row(name, report.exit_status, reason)


def _problems(name: str, report: Report) -> Iterator[str]:
    for group in grouped(report.found):
        finding = group.first
        fails = finding.severity is Severity.ERROR or report.policy.fail_on == "warning"
        about_claims = finding.rule.startswith("CLAIM") or finding.rule == "SEED001"
        if not fails or finding.severity is Severity.INFO or finding.waiver or about_claims:
            continue
        more = f" (+{group.places - 1} more)" if group.places > 1 else ""
        place = f"{finding.pointer or 'whole file'}{more}"
        head = f"{study_name(name)}: {finding.rule} {finding.slug} at {place}"
        yield f"{shortened(head, 200)}: {shortened(finding.message, 300)}"
