"""The table of studies: one row per claim, or per comparison of a file that claims nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePath

from audit.fleet.files import FileResult, FileResults
from audit.numerals import counted
from audit.safetext import shortened
from audit.views.claim_view import REFUSED, SUPPORTED, ClaimView

NOT_JUDGED = "not judged"
_NAME_LENGTH = 40
_RESULTS = (NOT_JUDGED, REFUSED)
_WORDS = ("refused", "loss", "flat", "gain")


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the table.

    Attributes
    ----------
    badness : int
        What fails sorts first.
    study, path : str
        What people call the study, and its file.
    view : ClaimView or None
        The claim or comparison; None where the file could not be judged.
    reason : str
        Why it could not be.
    """

    badness: int
    study: str
    path: str
    view: ClaimView | None
    reason: str = ""

    @property
    def result(self) -> str:
        """``supported``, ``refused``, ``not claimed`` or ``not judged``."""
        return NOT_JUDGED if self.view is None else self.view.result

    @property
    def word(self) -> str:
        """The verdict in one word; a refused claim is ``refused`` whatever its verdict."""
        return "" if self.view is None else self.view.shown_word


def rows_of(results: FileResults, order: str = "worst") -> list[Row]:
    """Return the rows of all files, sorted."""
    return in_order((row for file in results.files for row in _rows(file)), order)


def _rows(file: FileResult) -> Iterator[Row]:
    study, bad = shortened(study_name(file.name), _NAME_LENGTH), file.exit_status * 10
    if file.claims:
        for view in file.claims:
            yield Row(bad + 5 * view.refused, study, file.name, view)
        return
    yield Row(bad + 5 * (file.exit_status > 0), study, file.name, None, unjudged(file))


def unjudged(file: FileResult) -> str:
    """Return why a file has no row of its own."""
    if file.exit_status == 3:
        return "a check itself failed"
    if file.error is not None:
        return "could not be read"
    return "breaks the contract" if file.exit_status else "nothing to compare"


def _worst_first(row: Row) -> tuple[int, str, str]:
    return -row.badness, row.study, row.path


def _by_verdict(row: Row) -> tuple[int, float, str, str]:
    place = _WORDS.index(row.word) if row.word in _WORDS else -1
    return place, _size(row), row.study, row.path


def _by_delta(row: Row) -> tuple[bool, float, str, str]:
    known = row.view is not None and row.view.improvement is not None
    return not known, -_size(row), row.study, row.path


def _by_study(row: Row) -> tuple[str, str]:
    return row.study, row.path


def _size(row: Row) -> float:
    found = None if row.view is None else row.view.improvement
    return 0.0 if found is None else found.value


ORDERS = {
    "worst": _worst_first,
    "verdict": _by_verdict,
    "delta": _by_delta,
    "study": _by_study,
}


def in_order(rows: Iterable[Row], order: str) -> list[Row]:
    """Return the rows sorted; rows that compare equal stay in the order of their files.

    ``worst`` puts first what fails; ``verdict`` goes from what could not be judged over refused,
    loss and flat to gain; ``delta`` from the largest improvement down; ``study`` by name.
    """
    return sorted(rows, key=ORDERS[order])


def study_name(path: str) -> str:
    """Return what people call a study: the folder of a ``results.json``, else the file's name."""
    parts = PurePath(path.replace("\\", "/"))
    named_by_folder = parts.name.lower() == "results.json" and parts.parent.name
    return str(parts.parent.name if named_by_folder else parts.stem or path)


@dataclass(frozen=True, slots=True)
class Counts:
    """How many studies were read, and what became of their claims.

    ``silent`` studies claim nothing, ``failing`` ones do not pass, for whatever reason.
    """

    studies: int
    claims: int
    supported: int
    refused: int
    silent: int
    failing: int
    unjudged: int

    @property
    def text(self) -> str:
        """``2 studies, 2 claims: 1 supported, 1 refused``; that nothing was claimed is said."""
        studies = counted(self.studies, "study", "studies")
        if not self.studies:
            return f"{studies}, nothing to judge"
        if not self.claims and self.unjudged:
            text = f"{studies}, {self.unjudged} not judged"
        elif not self.claims:
            text = f"{studies}, nothing claimed, so nothing judged"
        else:
            kinds = ((self.supported, SUPPORTED), (self.refused, REFUSED))
            parts = ", ".join(f"{number} {word}" for number, word in kinds if number)
            text = f"{studies}, {counted(self.claims, 'claim')}: {parts}"
            if self.silent:
                text += f"; {counted(self.silent, 'study claims', 'studies claim')} nothing"
        if self.failing:
            text += f"; {counted(self.failing, 'study does', 'studies do')} not pass"
        return text


def counts_of(rows: Sequence[Row], results: FileResults) -> Counts:
    """Count the rows' claims and the files that fail."""
    claims = [row.view for row in rows if row.view is not None and row.view.claimed]
    silent = [file for file in results.files if file.claims and not file.claims[0].claimed]
    return Counts(
        studies=len(results.files),
        claims=len(claims),
        supported=sum(view.result == SUPPORTED for view in claims),
        refused=sum(view.refused for view in claims),
        silent=len(silent),
        failing=sum(file.exit_status > 0 for file in results.files),
        unjudged=sum(not file.claims for file in results.files),
    )
