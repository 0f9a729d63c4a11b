"""Errors a person can act on: each is one line that names the file and the place."""

from __future__ import annotations


class AuditError(Exception):
    """Something that stops a command, with the exit status it ends with.

    Parameters
    ----------
    message : str
        What is wrong and what to do, without the name of the file.
    path : str, optional
        The file as the user named it.
    pointer : str, optional
        JSON Pointer of the place inside the file.
    line, column : int, optional
        One-based place in the text.
    """

    exit_status = 2

    def __init__(
        self,
        message: str,
        *,
        path: str | None = None,
        pointer: str | None = None,
        line: int | None = None,
        column: int | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.path = path
        self.pointer = pointer
        self.line = line
        self.column = column

    def __str__(self) -> str:
        where = self.path or ""
        if self.line is not None:
            where += f":{self.line}"
            if self.column is not None:
                where += f":{self.column}"
        if self.pointer:
            where = f"{where} {self.pointer}".strip()
        return f"{where}: {self.message}" if where else self.message


class InputError(AuditError):
    """A file that cannot be read as what it should be: exit status 2."""


class NotResultsError(InputError):
    """JSON that is no results file: it has no ``schema_version``."""


class UsageError(AuditError):
    """A command line, policy or claim that cannot be carried out: exit status 2."""


class RecordingError(AuditError, ValueError):
    """What a training loop hands over to be recorded cannot be recorded: a bad call."""


class ImportRefused(AuditError):  # noqa: N818 - named for what happened to it
    """A file of the named format that cannot be brought over without inventing: exit status 1."""

    exit_status = 1


class InsufficientData(ValueError):  # noqa: N818 - named for what is missing
    """Too few values to compute a statistic; never answered with 0 or NaN.

    Parameters
    ----------
    message : str
        What is missing, in words.
    reason : str
        A slug that verdicts carry, e.g. ``"one-seed"`` or ``"no-denominator"``.
    """

    def __init__(self, message: str, reason: str = "insufficient-data") -> None:
        super().__init__(message)
        self.reason = reason
