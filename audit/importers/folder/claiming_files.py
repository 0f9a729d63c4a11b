"""Which reader reads which file: the surest, by name and head."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatch

from audit.errors import ImportRefused, InputError
from audit.importers.folder.walking import Walked
from audit.importers.readers import READERS, readers_named
from audit.importers.readers.found import Found
from audit.importers.readers.reader import Certainty, Reader
from audit.reading import NOT_FETCHED


@dataclass(slots=True)
class Claimed:
    """Files by reader, in the order of the registry, and what no reader takes."""

    files: dict[str, list[Found]] = field(default_factory=dict)
    readers: dict[str, Reader] = field(default_factory=dict)
    unread: list[Found] = field(default_factory=list)
    questions: list[str] = field(default_factory=list)


def claim(walked: Walked, said: Sequence[str] = ()) -> Claimed:
    """Give every file to the reader that is surest of it.

    Parameters
    ----------
    walked : Walked
    said : sequence of str
        ``--from`` answers: ``FORMAT`` limits the readers, ``FORMAT=GLOB`` gives these files to it.

    Raises
    ------
    InputError
        When a file that a reader would take is a Git LFS pointer.
    ImportRefused
        When such a file is a pickle, whatever its name says.
    """
    limits, fixed = _said(said)
    readers = [r for r in READERS if not limits or r in limits]
    # One search for all names at once: in folders of very many files most fit no reader.
    any_name = re.compile("|".join(f"(?:{reader.named.pattern})" for reader in READERS))
    claimed = Claimed(readers={reader.name: reader for reader in READERS})
    files: dict[str, list[Found]] = {reader.name: [] for reader in READERS}
    for found in walked.files:
        named = next((r for pattern, r in fixed if _fits(found, pattern)), None)
        if named is None and not any_name.search(found.relative):
            claimed.unread.append(found)
            continue
        fitting = [reader for reader in readers if reader.named.search(found.relative)]
        particular = [reader for reader in fitting if not reader.general]
        if any(reader.text for reader in particular):
            refuse_what_is_no_text(found)
        winner = named or _surest(found, fitting, claimed)
        if winner is None:
            claimed.unread.append(found)
        else:
            _refuse_odd_name(found)
            files[winner.name].append(found)
    for pattern, reader in fixed:
        if not any(_fits(found, pattern) for found in walked.files):
            raise InputError(f"no file fits --from {reader.name}={pattern}", path=walked.root)
    claimed.files = {name: taken for name, taken in files.items() if taken}
    return claimed


def _said(said: Sequence[str]) -> tuple[list[Reader], list[tuple[str, Reader]]]:
    limits: list[Reader] = []
    fixed: list[tuple[str, Reader]] = []
    for text in said:
        name, sign, pattern = text.partition("=")
        readers = readers_named(name)
        if sign:
            fixed += [(pattern, reader) for reader in readers]
        else:
            limits += readers
    return limits, fixed


def _fits(found: Found, pattern: str) -> bool:
    return any(fnmatch(text, pattern) for text in (found.relative, found.name, found.base))


def _refuse_odd_name(found: Found) -> None:
    """Refuse a name that no results file can hold."""
    try:
        found.relative.encode("utf-8")
    except UnicodeEncodeError:
        shown = os.fsencode(found.name).decode("utf-8", "backslashreplace")
        raise ImportRefused("its name is not UTF-8: rename it", path=shown) from None


def refuse_what_is_no_text(found: Found) -> None:
    """Refuse a pointer and a pickle under the name of a text or table.

    Raises
    ------
    InputError, ImportRefused
    """
    if found.size == 0:
        return
    if found.is_pointer:
        raise InputError(NOT_FETCHED, path=found.name)
    if found.is_pickle:
        raise ImportRefused(
            "a pickle, which runs code when it is opened, so it is not; "
            "write the samples as JSON Lines",
            path=found.name,
        )


def _surest(found: Found, fitting: Sequence[Reader], claimed: Claimed) -> Reader | None:
    ranked = sorted(((reader.claims(found), -i) for i, reader in enumerate(fitting)), reverse=True)
    if not ranked or ranked[0][0] == Certainty.NO:
        return None
    best = ranked[0][0]
    among = [fitting[-i] for certainty, i in ranked if certainty == best]
    if best == Certainty.LIKELY and len(among) > 1:
        names = " and ".join(reader.name for reader in among)
        claimed.questions.append(
            f"{found.name}: {names} could each read it: --from {among[0].name}={found.relative}"
        )
    return among[0]
