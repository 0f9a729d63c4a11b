"""Which importer reads a file, and whether it does so by column."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from audit.errors import InputError
from audit.importers import fitting, importer, long_table
from audit.importers.by_column.plain import NotPlain
from audit.importers.by_column.table_files import opened
from audit.importers.columns import table_of
from audit.importers.draft import Options
from audit.importers.foreign import Foreign, ForeignTable
from audit.importers.path_seeds import CONFIG
from audit.importers.seed_lists import readable
from audit.importers.sniff import other_kind

AUTO = "auto"
_LONG = "long-table"


def counted_file(path: str, format: str, options: Options) -> Foreign | None:
    """Return a large plain table with its rows counted, or None for any other file.

    Parameters
    ----------
    path : str
        The file; it is read as a stream.
    format : str
        The importer that the user names, or ``auto``.
    options : Options
        What the user says about the table.
    """
    if format != AUTO and importer(format).name != _LONG:
        return None
    try:
        file = opened(path)
        if file is None or importer_of(file.few, format, options.columns) != _LONG:
            return None
        if options.seed_key == CONFIG and not isinstance(file.few.content, ForeignTable):
            return None
        return long_table.by_column(file, options)
    except (NotPlain, InputError):
        return None


def importer_of(file: Foreign, format: str, columns: Mapping[str, str]) -> str:
    """Return the name of the importer that reads a file.

    Parameters
    ----------
    file : Foreign
        The file.
    format : str
        What the user names, or ``auto``.
    columns : mapping
        Role to column, as the user says it.

    Raises
    ------
    InputError
        When none reads it, or the one that is named does not.
    """
    found = fitting(file.content, file.name)
    if format == AUTO:
        if found is None and isinstance(file.content, ForeignTable):
            return _LONG  # which says what columns it misses
        if found is None:
            what = other_kind(file.content)
            looks = "" if what is None else f": it looks like {what}"
            raise InputError(f"no importer reads this file{looks}", path=file.name)
        return found.name
    chosen = importer(format)
    if chosen.sniff(file.content, file.name):
        return chosen.name
    if _is_asked_for(chosen.name, file.content, columns.get("records")):
        return chosen.name
    looks = f"; it looks like {found.what} ({found.name})" if found else ""
    raise InputError(f"not {chosen.what}{looks}", path=file.name)


def _is_asked_for(name: str, content: Any, records: str | None) -> bool:
    """Whether content that does not say what it is can be read as what the user says it is.

    The columns of a table may need --map to fit, as may the list of a document.
    """
    if name == "seed-lists":
        return readable(content)
    return name in (_LONG, "wide-table") and table_of(content, records) is not None
