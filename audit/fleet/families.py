"""Files of one study make one family of claims, however the study is split over files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from audit.fleet.files import FileResult, FileResults
from audit.fleet.judging import BothPolicies, Judge

if TYPE_CHECKING:
    from audit.fleet.visiting import Visit


def joined(results: FileResults, judge: Judge | BothPolicies, visit: Visit) -> FileResults:
    """Judge files that share training runs again, with each other's claims in their families.

    Parameters
    ----------
    results : FileResults
        Each file judged alone.
    judge : Judge or BothPolicies
        What judged them.
    visit : callable
        Judges files, each with its own judge.

    Returns
    -------
    FileResults
        The same where no two files with claims share a run. Names join nothing: two files are
        one study where they hold the same run, by its final parameters, its id with its seed, or
        the file it was converted from.
    """
    siblings = _siblings(results.files)
    if not siblings:
        return results
    files = list(results.files)
    works = [(_beside(judge, files, siblings[place]), files[place].name) for place in siblings]
    for place, again in zip(siblings, visit(works), strict=True):
        names = tuple(results.files[other].name for other in siblings[place])
        files[place] = replace(again, siblings=names)
    return replace(results, files=tuple(files))


def _siblings(files: Sequence[FileResult]) -> dict[int, list[int]]:
    """Return for every file the others of its study, by their places, where any claims something.

    Files are one study where a chain of shared runs joins them.
    """
    parent = list(range(len(files)))

    def root(place: int) -> int:
        while parent[place] != place:
            parent[place] = parent[parent[place]]
            place = parent[place]
        return place

    first: dict[str, int] = {}
    for place, file in enumerate(files):
        for key in sorted(file.run_keys):
            earlier = first.setdefault(key, place)
            parent[max(root(earlier), root(place))] = min(root(earlier), root(place))
    groups: dict[int, list[int]] = {}
    for place in range(len(files)):
        groups.setdefault(root(place), []).append(place)
    return {
        place: [other for other in group if other != place and files[other].family]
        for group in groups.values()
        for place in group
        if files[place].family and any(files[o].family for o in group if o != place)
    }


def _beside(
    judge: Judge | BothPolicies, files: Sequence[FileResult], others: Sequence[int]
) -> Judge | BothPolicies:
    return judge.beside(tuple(p for other in others for p in files[other].family))
