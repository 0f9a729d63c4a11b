"""The protocol of a reader: which files it claims, and the pieces of runs it reads from them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import IntEnum

from audit.importers.draft import Options
from audit.importers.readers.found import Found
from audit.importers.readers.piece import RunPiece


class Certainty(IntEnum):
    """How sure a reader is of a file; the surest reads it."""

    NO = 0
    MAYBE = 1
    LIKELY = 2
    SURE = 3


@dataclass(slots=True)
class FolderReading:
    """What a reader may look at beside the files it claimed.

    Attributes
    ----------
    options : Options
        What the user says about the files.
    files : mapping
        Every file of the walk by its place below the given folder.
    columns : set of str
        Columns that rows of the files had, filled by the readers that ``--where`` chooses in.
    """

    options: Options
    files: dict[str, Found] = field(default_factory=dict)
    columns: set[str] = field(default_factory=set)

    def beside(self, found: Found, *names: str) -> Found | None:
        """Return the first file of these names in the folder of another; ``../`` goes up."""
        for name in names:
            parts = found.folder.split("/") if found.folder else []
            for part in name.split("/"):
                if part == "..":
                    parts = parts[:-1]
                else:
                    parts.append(part)
            other = self.files.get("/".join(parts))
            if other is not None:
                return other
        return None


@dataclass(frozen=True, slots=True)
class Reader:
    """One layout of files.

    Attributes
    ----------
    name : str
        What ``--from`` takes.
    what : str
        In words, for the list of formats.
    named : re.Pattern
        Searched in a file's place below the given folder, before a byte is read. Of folders with
        very many files it decides alone which are opened.
    claims : callable
        How sure the reader is of a file whose name fits; looks at its head alone.
    read : callable
        All files it won, in the order of their paths, to pieces of runs.
    also : tuple of str
        Other names that mean this reader: the framework's, where it has several files.
    text : bool
        Whether its files are text or tables: then a pickle under such a name is refused.
    general : bool
        Whether it reads any file of a kind: then only where no other reader found an evaluation,
        or the user names its roles.
    """

    name: str
    what: str
    named: re.Pattern[str]
    claims: Callable[[Found], Certainty]
    read: Callable[[Sequence[Found], FolderReading], Iterable[RunPiece] | Iterator[RunPiece]]
    also: tuple[str, ...] = ()
    text: bool = True
    general: bool = False
