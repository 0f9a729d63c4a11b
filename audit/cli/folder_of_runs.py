"""A folder of runs given to gate or verify: imported in memory, judged, and not written."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace

from audit.claims import BASE, Claim
from audit.errors import AuditError, ImportRefused, InputError
from audit.fleet.files import FileResult, FileResults
from audit.paths import is_folder
from audit.reading import Source
from audit.results import document_source
from audit.safetext import visible

_ROLES = frozenset({"method", "control", BASE})


def with_runs(
    options: argparse.Namespace,
    results: FileResults,
    claims: Sequence[Claim],
    judge: Callable[[Source], FileResult],
) -> FileResults:
    """Return what comes of the runs in a folder that was given alone and holds no results file.

    Parameters
    ----------
    options : argparse.Namespace
        Of ``audit gate`` or ``audit verify``. What judges changes in a repository reads results
        files alone, so that one that was deleted is not made again.
    results : FileResults
        What was found without; returned as it is where this does not apply.
    claims : sequence of Claim
        They name the arms.
    judge : callable
        Makes the result of a file that was read elsewhere.
    """
    path = options.paths[0]
    alone = len(options.paths) == 1 and is_folder(path)
    formats = [options.format, *getattr(options, "also", ())]
    in_changes = (
        getattr(options, "changed_since", None)
        or options.policy_from
        or any(name.partition("=")[0] == "github" for name in formats)
    )
    none = [file.name for file in results.files if file.error is not None] == [path]
    if not alone or in_changes or not claims or not none:
        return results
    from audit.importers.folder.bringing_in import bring_in
    from audit.importers.folder.said import Said

    arms = dict.fromkeys(c.arm for c in claims if c.arm not in _ROLES)
    controls = dict.fromkeys(c.against for c in claims if c.against not in _ROLES)
    said = Said(method=next(iter(arms)) if len(arms) == 1 else None, control=tuple(controls))
    line = shlex.join(["audit", "import", path, *(f"--claim={text}" for text in options.claim)])
    try:
        brought = bring_in([path], said)
        if brought.document is None:
            asked = "; ".join(brought.questions)
            raise ImportRefused(f"{asked}; answer it in: {line}", path=path)
        found = judge(document_source(brought.document, path))
    except InputError:
        return results
    except AuditError as error:
        return replace(results, files=(FileResult(path, None, error, error.exit_status),))
    if not options.quiet:
        print(visible(f"audit: nothing written; keep it: {line} -o results.json"), file=sys.stderr)
    return replace(results, files=(found,), passed_over=(), skipped=())
