"""Looks that a file does not record and the git history beside it shows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from audit.analysis.claiming import ClaimResult
from audit.analysis.earlier import may_hide_looks, spent_looks
from audit.analysis.study import SpentLook
from audit.errors import AuditError, InputError, OutcomesError
from audit.fleet.history import MOST_BYTES, EarlierVersion, history_of
from audit.reading import Source
from audit.results import Results, from_source


def unrecorded_looks(
    path: str, results: Results, claims: Sequence[ClaimResult]
) -> tuple[tuple[SpentLook, ...], str]:
    """Return the looks that earlier versions show, and why some of these may be unseen.

    The history is read only where a claim of the file is supported: no other can be undone.

    Parameters
    ----------
    path : str
        Of the file; ``-`` has no history.
    results : Results
    claims : sequence of ClaimResult
        Of that file, judged by what it records.
    """
    if path == "-" or not any(map(may_hide_looks, claims)):
        return (), ""
    history = history_of(path, results.source.data)
    spent, unread = _spent(claims, history.versions)
    beside = f"the outcomes beside {unread:,} of them cannot be read, or are too large"
    return spent, "; ".join(filter(None, (history.missing, beside if unread else "")))


def _spent(
    claims: Sequence[ClaimResult], versions: Iterable[EarlierVersion]
) -> tuple[tuple[SpentLook, ...], int]:
    """Return the looks that earlier versions show, each at the last version that shows it.

    A version that is no results file shows none. Beside them stands the number of versions whose
    outcomes lie in files that cannot be read, or are more than is read.
    """
    found: dict[tuple[str, int], SpentLook] = {}
    unread, bound = 0, _Bound(MOST_BYTES)
    for version in versions:
        name = f"commit {version.commit}"
        try:
            earlier = from_source(Source(name, version.data, "", bound.over(version.beside)))
        except OutcomesError:
            unread += 1
            continue
        except AuditError:
            continue
        for look in spent_looks(claims, earlier, name):
            found.setdefault((look.claim, look.seeds), look)
    return tuple(found.values()), unread


class _Bound:
    """How many bytes of outcomes are still read."""

    def __init__(self, left: int) -> None:
        self.left = left

    def over(self, beside: Callable[[str], bytes]) -> Callable[[str], bytes]:
        def read(path: str) -> bytes:
            if self.left <= 0:
                raise InputError("is not read: too much was before it")
            data = beside(path)
            self.left -= len(data)
            return data

        return read
