"""Reading and checking what the user named: one outcome a file, none hiding another."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from audit.cli.headline import headline
from audit.errors import AuditError, InputError, NotResultsError
from audit.report import Report
from audit.results import Results, load
from audit.sources import Target, expand


@dataclass(frozen=True, slots=True)
class FileOutcome:
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
    """

    name: str
    report: Report | None
    error: AuditError | None
    exit_status: int
    summary: str = ""


@dataclass(frozen=True, slots=True)
class Outcomes:
    """The outcomes of one command, and the files in folders that are no results files."""

    files: tuple[FileOutcome, ...]
    skipped: tuple[str, ...] = ()

    @property
    def exit_status(self) -> int:
        """The highest over the files."""
        return max((file.exit_status for file in self.files), default=0)


# Applies a function to paths, in order.
Visit = Callable[[Callable[[str], FileOutcome], Sequence[str]], Iterable[FileOutcome]]


def read_file(path: str, check: Callable[[Results], Report]) -> FileOutcome:
    """Read and check one file; a file that cannot be read gives an outcome with its error.

    What ``check`` raises stops the command.
    """
    try:
        results = load(path)
    except InputError as error:
        return _refused(path, error)
    report = check(results)
    return FileOutcome(results.name, report, None, report.exit_status, headline(results))


def collect(
    paths: Iterable[str],
    read: Callable[[str], FileOutcome],
    visit: Visit = map,
    *,
    wanted: Callable[[str], bool] = lambda path: True,
) -> Outcomes:
    """Read and check every file behind ``paths``.

    A file that cannot be read gives an outcome with status 2. JSON without a ``schema_version``
    is skipped where a folder held it, and refused where the user named it; a folder in which
    nothing else was found gives an outcome with status 2 too.

    Parameters
    ----------
    paths : iterable of str
        Files, folders, patterns, or ``-``.
    read : callable
        Makes the outcome of one file, e.g. by :func:`read_file`.
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
    outcomes = dict(zip(named, visit(read, tuple(named)), strict=True))
    skipped = {
        path
        for path, outcome in outcomes.items()
        if isinstance(outcome.error, NotResultsError) and not named[path]
    }
    files: dict[str, FileOutcome] = {}
    for path, targets in plan:
        if isinstance(targets, InputError):
            files[path] = _refused(path, targets)
            continue
        files |= {t.path: outcomes[t.path] for t in targets if t.path not in skipped}
        if targets and all(target.path in skipped for target in targets):
            files[path] = _refused(path, InputError(_nothing_below(len(targets)), path=path))
    return Outcomes(tuple(files.values()), tuple(sorted(skipped)))


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


def _refused(path: str, error: AuditError) -> FileOutcome:
    return FileOutcome(error.path or path, None, error, error.exit_status)


def _nothing_below(count: int) -> str:
    files = "1 JSON file has" if count == 1 else f"{count} JSON files have"
    return f"no results file below: {files} no schema_version"
