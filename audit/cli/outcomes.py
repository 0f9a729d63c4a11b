"""Reading and checking what the user named: one outcome a file, none hiding another."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

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


def collect(paths: Iterable[str], check: Callable[[Results], Report]) -> Outcomes:
    """Read and check every file behind ``paths``.

    A file that cannot be read gives an outcome with status 2. JSON without a ``schema_version``
    is skipped where a folder held it, and refused where the user named it; a folder in which
    nothing else was found gives an outcome with status 2 too.

    Parameters
    ----------
    paths : iterable of str
        Files, folders, patterns, or ``-``.
    check : callable
        Makes the report; what it raises stops the command.
    """
    collected = _Collected(check)
    for path in paths:
        collected.add(path)
    return Outcomes(tuple(collected.files.values()), tuple(sorted(collected.skipped)))


class _Collected:
    def __init__(self, check: Callable[[Results], Report]) -> None:
        self.check = check
        self.files: dict[str, FileOutcome] = {}
        self.skipped: set[str] = set()

    def add(self, path: str) -> None:
        try:
            targets = expand([path])
        except InputError as error:
            self._refuse(path, error)
            return
        for target in targets:
            self._read(target)
        if all(target.path in self.skipped for target in targets):
            self._refuse(path, InputError(_nothing_below(len(targets)), path=path))

    def _read(self, target: Target) -> None:
        if target.path in self.files or (target.path in self.skipped and not target.named):
            return
        try:
            results = load(target.path)
        except NotResultsError as error:
            if target.named:
                self.skipped.discard(target.path)
                self._refuse(target.path, error)
            else:
                self.skipped.add(target.path)
        except InputError as error:
            self._refuse(target.path, error)
        else:
            report = self.check(results)
            self.files[target.path] = FileOutcome(
                results.name, report, None, report.exit_status, headline(results)
            )

    def _refuse(self, path: str, error: AuditError) -> None:
        self.files[path] = FileOutcome(error.path or path, None, error, error.exit_status)


def _nothing_below(count: int) -> str:
    files = "1 JSON file has" if count == 1 else f"{count} JSON files have"
    return f"no results file below: {files} no schema_version"
