"""Reading and checking what the user named: one result per file, none hiding another."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from audit.errors import AuditError, InputError, NotResultsError
from audit.report import Report
from audit.sources import Target, expand
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
        What was found; None where the file could not be read.
    error : AuditError or None
        Why it could not be read.
    exit_status : int
        0 clean, 1 refused or wrong, 2 could not be read, 3 a bug of ours.
    summary : str
        The study in a few words: name, seeds, arms, data, model.
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
    """

    name: str
    report: Report | None
    error: AuditError | None
    exit_status: int
    summary: str = ""
    claims: tuple[ClaimView, ...] = ()
    problems: tuple[str, ...] = ()
    run_keys: frozenset[str] = frozenset()
    family: tuple[float, ...] = ()
    siblings: tuple[str, ...] = ()
    decision: DecisionView | None = None


@dataclass(frozen=True, slots=True)
class FileResults:
    """The results of one command, and the files in folders that are no results files."""

    files: tuple[FileResult, ...]
    skipped: tuple[str, ...] = ()

    @property
    def exit_status(self) -> int:
        """The highest over the files."""
        return max((file.exit_status for file in self.files), default=0)


# Applies a function to paths, in order.
Visit = Callable[[Callable[[str], FileResult], Sequence[str]], Iterable[FileResult]]


def collect(
    paths: Iterable[str],
    read: Callable[[str], FileResult],
    visit: Visit = map,
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
    read : callable
        Makes the result of one file, e.g. a :class:`audit.fleet.judging.Judge`.
    visit : callable
        Applies it to every file, in order; several processes may share the work.
    wanted : callable
        Whether a file that exists is looked at.
    """
    plan = _planned(paths, wanted)
    named: dict[str, bool] = {}
    for _, targets in plan:
        for target in targets if isinstance(targets, tuple) else ():
            named[target.path] = named.get(target.path, False) or target.named
    results = dict(zip(named, visit(read, tuple(named)), strict=True))
    skipped = {
        path
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
            files[path] = _refused(path, InputError(_nothing_below(len(targets)), path=path))
    return FileResults(tuple(files.values()), tuple(sorted(skipped)))


def _planned(
    paths: Iterable[str], wanted: Callable[[str], bool]
) -> list[tuple[str, tuple[Target, ...] | InputError]]:
    plan: list[tuple[str, tuple[Target, ...] | InputError]] = []
    for path in paths:
        try:
            targets = tuple(
                t for t in expand([path]) if wanted(t.path) or not Path(t.path).exists()
            )
        except InputError as error:
            plan.append((path, error))
        else:
            plan.append((path, targets))
    return plan


def _refused(path: str, error: AuditError) -> FileResult:
    return FileResult(error.path or path, None, error, error.exit_status)


def _nothing_below(count: int) -> str:
    files = "1 JSON file has" if count == 1 else f"{count} JSON files have"
    return f"no results file below: {files} no schema_version"
