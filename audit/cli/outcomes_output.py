"""Writing a results file whose outcomes lie in files beside it, all of them or none."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from audit.errors import AuditError, UsageError
from audit.numerals import counted
from audit.outcomes_file import FOLDER, named_files, set_beside
from audit.paths import is_file
from audit.reading import read_source
from audit.results import read_document
from audit.writing import write_together


def in_json(document: Any) -> str:
    """Return a document as the text of a results file."""
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def publish_beside(document: Mapping[str, Any], output: str | None) -> tuple[str, ...]:
    """Write a document with its outcomes in files beside it; the document takes its name last.

    No file of outcomes is written over: their names hold the hash of their content. What the
    document that is replaced named stays, as another one may name it too.

    Returns
    -------
    tuple of str
        Evaluations whose lists stayed in the document, and files that it no longer names.

    Raises
    ------
    UsageError
        Without a file to write beside, or when something cannot be written; all is as it was then.
    InputError
        Without pyarrow.
    """
    if output is None:
        raise UsageError("outcomes beside the results need a file: -o FILE")
    target = Path(output)
    folder = target.parent / f"{target.stem}{FOLDER}"
    whole, files, kept = set_beside(document, folder.name)
    before = _named_before(output)
    with _folder(folder, wanted=bool(files)):
        new: dict[str | Path, bytes] = {
            target.parent / path: data
            for path, data in files.items()
            if not _is_there(target.parent / path, data)
        }
        new[output] = in_json(whole).encode("utf-8", "backslashreplace")
        write_together(new)
    notes = [f"{line}; it stays in the file" for line in kept]
    left = sorted(path for path in before.keys() - files.keys() if is_file(target.parent / path))
    if left:
        more = f" and {counted(len(left) - 1, 'other')}" if len(left) > 1 else ""
        notes.append(f"{output} no longer names {left[0]}{more}")
    return tuple(notes)


def _is_there(path: Path, data: bytes) -> bool:
    """Whether a file has its content already; one with another is not ours."""
    if not os.path.lexists(path):
        return False
    if is_file(path) and path.read_bytes() == data:
        return True
    raise UsageError("is there with other content and is kept; move it away", path=str(path))


def _named_before(output: str) -> Mapping[str, str]:
    """Return the files of outcomes that the results file to be replaced names."""
    try:
        document, _ = read_document(read_source(output))
    except AuditError:
        return {}
    return named_files(document)


@contextmanager
def _folder(folder: Path, *, wanted: bool) -> Iterator[None]:
    """Make the folder for what is written within, and take it away where nothing was."""
    made = False
    if wanted and not folder.is_dir():
        try:
            folder.mkdir()
        except OSError as error:
            raise UsageError(
                f"cannot be made: {error.strerror or error}", path=str(folder)
            ) from None
        made = True
    elif wanted and folder.is_symlink():
        raise UsageError("is a link; outcomes are read from a folder itself", path=str(folder))
    try:
        yield
    except BaseException:
        if made:
            with suppress(OSError):
                folder.rmdir()
        raise
