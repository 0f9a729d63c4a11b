"""What a branch did to each study, beside what came of it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from audit.errors import AuditError
from audit.facts.study_changes import of_one_study, version_change
from audit.fleet.changes import Changes
from audit.fleet.files import FileResult, FileResults
from audit.fleet.judging import BothPolicies, Judge
from audit.numerals import counted
from audit.reading import Source
from audit.results import from_source, load
from audit.views.change_view import change_lines

NEW, OTHER_RUNS = "new study", "other runs than before, none of them kept"


def with_history(
    results: FileResults, changes: Changes, judge: Judge | BothPolicies, paths: Iterable[str]
) -> FileResults:
    """Say of every file what the branch changed about it, and which files it removed.

    Parameters
    ----------
    results : FileResults
    changes : Changes
        What git says that the branch changed.
    judge : Judge or BothPolicies
        What judged the files; it judges what they were, too.
    paths : iterable of str
        What the user named: only files below are told of where they are gone.
    """
    files = tuple(
        replace(file, since=tuple(_since(file, changes, judge)))
        if os.path.realpath(file.name) in changes.files
        else file
        for file in results.files
    )
    return replace(results, files=files, removed=tuple(_removed(changes, judge, paths)))


def _since(file: FileResult, changes: Changes, judge: Judge | BothPolicies) -> Iterator[str]:
    before = changes.before(file.name)
    if before is None:
        yield NEW
        return
    moved = changes.moved_from(file.name)
    if moved:
        yield f"moved from {moved}"
    try:
        old, new = from_source(before), load(file.name)
    except AuditError as error:
        yield f"cannot be compared: {error.message}"
        return
    if not of_one_study(old, new):
        yield OTHER_RUNS
    was = judge.of_source(before)
    yield from change_lines(version_change(old, new), was.claims, file.claims)


def _removed(
    changes: Changes, judge: Judge | BothPolicies, paths: Iterable[str]
) -> Iterator[tuple[str, str]]:
    """Yield every results file that is gone, and what it said."""
    tops = [Path(os.path.realpath(path)) for path in paths]
    for real in sorted(changes.removed):
        if real.lower().endswith(".json") and any(Path(real).is_relative_to(top) for top in tops):
            name = os.path.relpath(real)
            before = changes.before(name)
            told = None if before is None else _told(before, judge)
            if told is not None:
                yield name, told


def _told(source: Source, judge: Judge | BothPolicies) -> str | None:
    """Return what a file that is gone claimed; None where it was no results file."""
    try:
        from_source(source)
    except AuditError:
        return None
    claims = [view for view in judge.of_source(source).claims if view.claimed]
    if not claims:
        return "claimed nothing"
    said = "; ".join(f"{view.typed}, {view.result}" for view in claims[:3])
    return f"{counted(len(claims), 'claim')}: {said}" + ("; ..." if len(claims) > 3 else "")
