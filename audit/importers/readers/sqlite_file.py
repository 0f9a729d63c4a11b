"""SQLite files of trackers, opened so that nothing can be written to them or beside them."""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from audit.errors import InputError
from audit.importers.readers.found import Found

MAGIC = b"SQLite format 3\x00"


def has_tables(found: Found, *names: str) -> bool:
    """Whether a file is an SQLite database with all of these tables.

    The schema is in the first pages as text, and may go on behind the head; then it is asked.
    """
    if not found.head.startswith(MAGIC):
        return False
    try:
        with database(found) as connection:
            rows = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            return set(names) <= {name for (name,) in rows}
    except InputError:
        return False


@contextmanager
def database(found: Found) -> Iterator[sqlite3.Connection]:
    """Open a database for reading.

    Beside a write-ahead log that is not empty, file and log are copied first: reading the two
    together takes files that SQLite makes next to them.

    Raises
    ------
    InputError
        When it cannot be read as a database.
    """
    log = found.path.with_name(f"{found.path.name}-wal")
    try:
        if log.is_file() and log.stat().st_size:
            with tempfile.TemporaryDirectory(prefix="audit-") as folder:
                copy = Path(folder) / "copy.db"
                shutil.copyfile(found.path, copy)
                shutil.copyfile(log, f"{copy}-wal")
                with closing(_connect(copy, "mode=rw")) as connection:
                    yield connection
        else:
            with closing(_connect(found.path, "mode=ro&immutable=1")) as connection:
                yield connection
    except (sqlite3.Error, UnicodeDecodeError) as error:  # the latter in SQLite's own message
        raise InputError(f"not a readable SQLite database: {error}", path=found.name) from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", path=found.name) from None


def _connect(path: Path, how: str) -> sqlite3.Connection:
    # as_uri quotes what a path may hold and a URI may not.
    connection = sqlite3.connect(f"{path.resolve().as_uri()}?{how}", uri=True)
    connection.text_factory = _decoded
    connection.execute("PRAGMA trusted_schema = OFF")
    return connection


def _decoded(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def text_of(value: object) -> str:
    """Return a column's value as text: SQLite keeps any type in any column."""
    return _decoded(value) if isinstance(value, bytes) else str(value)


def columns(connection: sqlite3.Connection, table: str) -> frozenset[str]:
    """Return the names of a table's columns; ``table`` is a name of this program's own."""
    return frozenset(row[1] for row in connection.execute(f"PRAGMA table_info({table})"))
