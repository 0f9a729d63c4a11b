"""Reading and checking what the user named: one result per file, none hiding another."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from audit.errors import AuditError, InputError, NotResultsError
from audit.finding import Waiver
from audit.fleet.history import Listing
from audit.paths import exists
from audit.report import Report
from audit.sources import PassedOver, Target, expand
from audit.views.claim_view import ClaimView
from audit.views.decision_view import DecisionView


@dataclass(frozen=True, slots=True)
class FileResult:
    """What came of one file.

    Attributes
    ----------
    name : str
        The file as the user named it.
    report : Report or None
        What was found; None where the file could not be read, and where the rows of a table are
        all that is wanted of it.
    error : AuditError or None
        Why it could not be read.
    exit_status : int
        0 clean, 1 refused or wrong, 2 could not be read, 3 a bug of ours.
    summary : str
        The study in a few words: name, seeds, arms, data, model.
    sha256 : str
        Of the file's bytes; empty where it could not be read.
    errors, warnings : int
        Findings of these severities, waived ones left out.
    waived : tuple of (Waiver, int)
        Waivers that cover findings, and how many each.
    claims : tuple of ClaimView
        The file's claims, or its comparisons where it claims nothing.
    problems : tuple of str
        What fails apart from claims, one a line.
    run_keys : frozenset of str
        What its training runs share with no other study's, see `audit.facts.siblings`.
    family : tuple of float
        P-values of its claims before Holm's correction; guardrails stand outside.
    siblings : tuple of str
        Files of the same study whose claims were judged in one family with these.
    decision : DecisionView or None
        Ship, discuss or don't; None where no claim is guarded.
    since : tuple of str
        What the branch under judgement changed about it, a line a kind.
    not_searched : str
        Why earlier versions of the file were not searched, or not all, for looks that it does
        not record; empty where they were, or need not be.
    may_hide_looks : bool
        Whether an earlier version of the file could undo a claim.
    listing : Listing or None
        What git says of earlier versions; None where it was not asked.
    beside : tuple of (str, str)
        Files that were read beside it, by their path from its folder, and their SHA-256.
    """

    name: str
    report: Report | None
    error: AuditError | None
    exit_status: int
    summary: str = ""
    sha256: str = ""
    errors: int = 0
    warnings: int = 0
    waived: tuple[tuple[Waiver, int], ...] = ()
    claims: tuple[ClaimView, ...] = ()
    problems: tuple[str, ...] = ()
    run_keys: frozenset[str] = frozenset()
    family: tuple[float, ...] = ()
    siblings: tuple[str, ...] = ()
    decision: DecisionView | None = None
    since: tuple[str, ...] = ()
    not_searched: str = ""
    may_hide_looks: bool = False
    listing: Listing | None = None
    beside: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class FileResults:
    """The results of one command, and what folders hold that is no results file.

    Attributes
    ----------
    files : tuple of FileResult
    skipped : tuple of str
        JSON files without a ``schema_version``.
    passed_over : tuple of PassedOver
        Files and folders that were not opened, and why.
    policy_change : str
        What the branch under judgement changed about the policy; empty for nothing.
    base : str
        The revision that the branch is held against; empty for none.
    removed : tuple of (str, str)
        Results files that the branch removed, and what each claimed.
    """

    files: tuple[FileResult, ...]
    skipped: tuple[str, ...] = ()
    passed_over: tuple[PassedOver, ...] = ()
    policy_change: str = ""
    base: str = ""
    removed: tuple[tuple[str, str], ...] = ()

    @property
    def exit_status(self) -> int:
        """The highest over the files."""
        return max((file.exit_status for file in self.files), default=0)

    def not_judged(self) -> dict[str, list[str]]:
        """Return what folders hold that was not judged, by the reason."""
        groups = {"no schema_version": list(self.skipped)} if self.skipped else {}
        for passed in self.passed_over:
            groups.setdefault(passed.why, []).append(passed.path)
        return groups


def collect(
    paths: Iterable[str],
    visit: Callable[[Sequence[str]], Iterable[FileResult]],
    *,
    wanted: Callable[[str], bool] = lambda path: True,
) -> FileResults:
    """Read and check every file behind ``paths``.

    A file that cannot be read gives a result with status 2. JSON without a ``schema_version``
    is skipped where a folder held it, and refused where the user named it; a folder in which
    nothing else was found gives a result with status 2 too.

    Parameters
    ----------
    paths : iterable of str
        Files, folders, patterns, or ``-``.
    visit : callable
        Gives the result of every file, in order.
    wanted : callable
        Whether a file that exists is looked at.
    """
    plan, passed_over = _planned(paths, wanted)
    named: dict[str, bool] = {}
    for _, targets in plan:
        for target in targets if isinstance(targets, tuple) else ():
            named[target.path] = named.get(target.path, False) or target.named
    results = dict(zip(named, visit(tuple(named)), strict=True))
    skipped = {
        path: result.error
        for path, result in results.items()
        if isinstance(result.error, NotResultsError) and not named[path]
    }
    files: dict[str, FileResult] = {}
    for path, targets in plan:
        if isinstance(targets, InputError):
            files[path] = _refused(path, targets)
            continue
        files |= {t.path: results[t.path] for t in targets if t.path not in skipped}
        if targets and all(target.path in skipped for target in targets):
            error = _nothing_below([skipped[target.path] for target in targets])
            files[path] = _refused(path, InputError(error, path=path))
    return FileResults(tuple(files.values()), tuple(sorted(skipped)), tuple(passed_over))


def _planned(
    paths: Iterable[str], wanted: Callable[[str], bool]
) -> tuple[list[tuple[str, tuple[Target, ...] | InputError]], list[PassedOver]]:
    plan: list[tuple[str, tuple[Target, ...] | InputError]] = []
    passed_over: list[PassedOver] = []
    for path in paths:
        try:
            found = expand([path])
        except InputError as error:
            plan.append((path, error))
            continue
        targets = (t for t in found.targets if wanted(t.path) or not exists(t.path))
        plan.append((path, tuple(targets)))
        passed_over += found.passed_over
    return plan, passed_over


def _refused(path: str, error: AuditError) -> FileResult:
    return FileResult(error.path or path, None, error, error.exit_status)


def _nothing_below(errors: Sequence[NotResultsError]) -> str:
    """Say that a folder holds no results file, and what the first of its files looks like."""
    number = len(errors)
    files = "1 JSON file has" if number == 1 else f"{number} JSON files have"
    what = errors[0].message.partition("no schema_version")[2]
    first = errors[0].path if number > 1 and what else ""
    hint = f"; {first}{what.lstrip(';') if first else what.lstrip('; ')}" if what else ""
    return f"no results file below: {files} no schema_version{hint}"
