"""Errors a person can act on: each is one line that names the file and the place."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


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

    @property
    def lines(self) -> list[str]:
        """What to print: one line per thing that is wrong."""
        return [str(self)]


class InputError(AuditError):
    """A file that cannot be read as what it should be: exit status 2."""


class ConfigError(InputError):
    """A configuration file with one fault or several: as text the first, as ``lines`` all."""

    def __init__(self, faults: Sequence[InputError]) -> None:
        first = faults[0]
        super().__init__(first.message, path=first.path, line=first.line)
        self.faults = tuple(faults)

    def __str__(self) -> str:
        more = f" (and {len(self.faults) - 1} more)" if len(self.faults) > 1 else ""
        return super().__str__() + more

    @property
    def lines(self) -> list[str]:
        """One line per fault."""
        return [str(fault) for fault in self.faults]


class NotResultsError(InputError):
    """JSON that is no results file: it has no ``schema_version``."""


class OutcomesError(InputError):
    """A file of outcomes beside a results file that is missing or not what the latter says."""


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
        A slug that verdicts carry, e.g. ``"one-seed"`` or ``"few-tasks"``.
    """

    def __init__(self, message: str, reason: str = "insufficient-data") -> None:
        super().__init__(message)
        self.reason = reason


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a hint at the known name that is nearest, to end a message with; empty for none."""
    import difflib

    near = difflib.get_close_matches(name[:100], list(known), n=1)
    return f"; did you mean {near[0]!r}?" if near else ""
