"""Looks that a file does not record and the git history beside it shows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from audit.analysis.claiming import ClaimResult
from audit.analysis.earlier import may_hide_looks, spent_looks
from audit.analysis.study import SpentLook
from audit.errors import AuditError, InputError, OutcomesError
from audit.fleet.history import MOST_BYTES, EarlierVersion, Listing, listing_of, versions_in
from audit.paths import is_url
from audit.reading import Source
from audit.results import Results, from_source


@dataclass(frozen=True, slots=True)
class Unrecorded:
    """What the git history of a file says of looks that the file does not record.

    Attributes
    ----------
    looks : tuple of SpentLook
        Those that earlier versions show.
    missing : str
        Why some may be unseen; empty for no reason.
    wanted : bool
        Whether a claim of the file is supported: no other can be undone.
    listing : Listing or None
        What was asked of git; None where it was not.
    """

    looks: tuple[SpentLook, ...] = ()
    missing: str = ""
    wanted: bool = False
    listing: Listing | None = None


def unrecorded_looks(
    path: str | None, results: Results, claims: Sequence[ClaimResult]
) -> Unrecorded:
    """Return the looks that earlier versions show, and why some of these may be unseen.

    The history is read only where a claim of the file is supported.

    Parameters
    ----------
    path : str or None
        Of the file; ``-`` and an object in a store have no history. None where the history is
        read elsewhere.
    results : Results
    claims : sequence of ClaimResult
        Of that file, judged by what it records.
    """
    wanted = any(map(may_hide_looks, claims))
    if path is None or path == "-" or is_url(path) or not wanted:
        return Unrecorded(wanted=wanted)
    listing = listing_of(path, results.source.data)
    history = versions_in(listing, path)
    spent, unread = _spent(claims, history.versions)
    beside = f"the outcomes beside {unread:,} of them cannot be read, or are too large"
    missing = "; ".join(filter(None, (history.missing, beside if unread else "")))
    return Unrecorded(spent, missing, wanted, listing)


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
