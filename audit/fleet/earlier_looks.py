"""Looks that a file does not record and the git history beside it shows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from audit.analysis.claiming import ClaimResult
from audit.analysis.earlier import may_hide_looks, spent_looks
from audit.analysis.study import SpentLook
from audit.errors import AuditError
from audit.fleet.history import EarlierVersion, history_of
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
    return _spent(claims, history.versions), history.missing


def _spent(
    claims: Sequence[ClaimResult], versions: Iterable[EarlierVersion]
) -> tuple[SpentLook, ...]:
    """Return the looks that earlier versions show, each at the last version that shows it.

    A version that is no results file shows none.
    """
    found: dict[tuple[str, int], SpentLook] = {}
    for version in versions:
        name = f"commit {version.commit}"
        try:
            earlier = from_source(Source(name, version.data, ""))
        except AuditError:
            continue
        for look in spent_looks(claims, earlier, name):
            found.setdefault((look.claim, look.seeds), look)
    return tuple(found.values())
