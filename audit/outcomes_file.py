"""Outcomes beside a results file: an evaluation's per-task lists in a file of their own.

A block holds its lists, or in their place ``outcomes`` with the path of a Parquet file that holds
them, its SHA-256 and its rows. Lists that columns cannot hold exactly stay in the block.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeGuard

from audit.column import Column
from audit.errors import InputError, OutcomesError
from audit.outcome_columns import COLUMNS, Known, NotExactError, packed, unpacked
from audit.pointer import join, parts
from audit.reading import LFS_POINTER, NOT_FETCHED, Source

KEY = "outcomes"
FORMAT = "parquet"
# The files of results.json lie in results.outcomes/.
FOLDER = ".outcomes"
_SHA256 = re.compile(r"[0-9a-f]{64}")
_NO_PART = frozenset({"", ".", ".."})
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9._-]+")

Change = Callable[[str, dict[str, Any]], dict[str, Any]]


def has_lists(block: Mapping[str, Any]) -> bool:
    """Whether an evaluation block holds lists with one entry per task."""
    return any(name in block for name in COLUMNS)


def block_of(path: str, data: bytes, rows: int) -> dict[str, Any]:
    """Return what stands in an evaluation block for lists that lie in a file."""
    digest = hashlib.sha256(data).hexdigest()
    return {"path": path, "sha256": digest, "format": FORMAT, "rows": rows}


def set_beside(
    document: Mapping[str, Any], folder: str
) -> tuple[dict[str, Any], dict[str, bytes], list[str]]:
    """Take the per-task lists out of every evaluation of a document.

    Parameters
    ----------
    document : mapping
        A results document; it is not changed. Lists may be arrays.
    folder : str
        Name of the folder for the files, from that of the results file.

    Returns
    -------
    document : dict
        With ``outcomes`` in the place of the lists.
    files : dict of str to bytes
        What to write, by the path from the folder of the results file. A name holds the hash of
        its content, so that none is ever written over another.
    kept : list of str
        Evaluations whose lists stay in the document, each with the reason.

    Raises
    ------
    InputError
        Without pyarrow.
    """
    files: dict[str, bytes] = {}
    kept: list[str] = []

    def out(pointer: str, block: dict[str, Any]) -> dict[str, Any]:
        if not has_lists(block) or KEY in block:
            return block
        try:
            data = packed(block)
        except NotExactError as error:
            kept.append(f"{pointer}: {error}")
            return block
        path = f"{folder}/{_file_name(document, pointer, block, data)}"
        files[path] = data
        rows = max(len(block[name]) for name in COLUMNS if name in block)
        return _replaced(block, {KEY: block_of(path, data, rows)})

    return with_blocks(document, out), files, kept


def read_beside(document: Any, source: Source) -> dict[str, dict[str, Any]]:
    """Return the lists that lie beside a results file, by the pointer of their block.

    A block whose ``outcomes`` break the schema is passed over: the schema has the word then.
    Ids equal to those of an earlier block are the same object.

    Raises
    ------
    OutcomesError
        When a file is missing, has changed or does not hold what its block says; it names the
        file and the block.
    """
    found: dict[str, dict[str, Any]] = {}
    known = Known()

    def read(pointer: str, block: dict[str, Any]) -> dict[str, Any]:
        said = block.get(KEY)
        if said is not None and _keeps_the_schema(said):
            with _placed(source.name, join(pointer, KEY), said["path"]):
                inline = [name for name in COLUMNS if name in block]
                if inline:
                    raise InputError(f"the block has {inline[0]} of its own")
                found[pointer] = _read(said, source, known)
        return block

    if isinstance(document, dict):
        with_blocks(document, read)
    return found


def named_files(document: Any) -> dict[str, str]:
    """Return the SHA-256, by path, that a document says of the files its evaluations name."""
    found: dict[str, str] = {}

    def note(pointer: str, block: dict[str, Any]) -> dict[str, Any]:
        said = block.get(KEY)
        if said is not None and _keeps_the_schema(said):
            found[said["path"]] = said["sha256"]
        return block

    if isinstance(document, dict):
        with_blocks(document, note)
    return found


def inlined(document: dict[str, Any], lists: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the document with lists in the place of ``outcomes``; what is unchanged is shared.

    Parameters
    ----------
    document : dict
    lists : mapping of str to mapping
        What `read_beside` found.
    """

    def back(pointer: str, block: dict[str, Any]) -> dict[str, Any]:
        return _replaced(block, lists[pointer]) if pointer in lists else block

    return with_blocks(document, back) if lists else document


def with_columns(document: dict[str, Any]) -> dict[str, Any]:
    """Return a document whose per-task lists are columns, equal ids one object."""
    known: dict[Any, list[Column]] = {}

    def change(pointer: str, block: dict[str, Any]) -> dict[str, Any]:
        return {**block, **_columns(block, known)} if has_lists(block) else block

    return with_blocks(document, change)


def make_columns(document: Any) -> None:
    """Put columns in the place of the per-task lists of a document that nobody else holds."""
    known: dict[Any, list[Column]] = {}

    def change(pointer: str, block: dict[str, Any]) -> dict[str, Any]:
        block.update(_columns(block, known))
        return block

    if isinstance(document, dict):
        with_blocks(document, change)


def _columns(block: Mapping[str, Any], known: dict[Any, list[Column]]) -> dict[str, Column]:
    lists = {name: block[name] for name in COLUMNS if isinstance(block.get(name), list)}
    return {
        name: _shared(values, known) if name == "task_ids" else _column(values)
        for name, values in lists.items()
    }


def _shared(ids: list[Any], known: dict[Any, list[Column]]) -> Column:
    """Return equal ids that are known, else these as a column."""
    kinds = set(map(type, ids))
    if kinds not in ({str}, {int}):  # true equals 1, and is not the same
        return _column(ids)
    # Few lists are alike in this and differ, so that each is compared with few.
    alike = known.setdefault((len(ids), ids[0], ids[-1]), [])
    for other in alike:
        if other is ids or other == ids:
            return other
    alike.append(_column(ids))
    return alike[-1]


def _column(values: list[Any]) -> Column:
    return values if isinstance(values, Column) else Column(values)


def with_blocks(document: Mapping[str, Any], change: Change) -> dict[str, Any]:
    """Return the document with every evaluation block changed; containers on the way are copied.

    Parameters
    ----------
    document : mapping
        Of any content: what is no block is passed over.
    change : callable
        From the pointer of a block and the block to what stands there afterwards.
    """

    def holder(pointer: str, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        held = dict(value)
        if isinstance(value.get("evaluation"), dict):
            held["evaluation"] = change(f"{pointer}/evaluation", value["evaluation"])
        if isinstance(value.get("evaluations"), list):
            held["evaluations"] = [
                change(f"{pointer}/evaluations/{index}", entry)
                if isinstance(entry, dict)
                else entry
                for index, entry in enumerate(value["evaluations"])
            ]
        return held

    def holders(pointer: str, value: Mapping[str, Any], key: str) -> dict[str, Any]:
        entries = value.get(key)
        if not isinstance(entries, list):
            return dict(value)
        below = f"{pointer}/{key}"
        return {
            **value,
            key: [holder(f"{below}/{index}", entry) for index, entry in enumerate(entries)],
        }

    changed = holders("", document, "seed_results")
    if isinstance(document.get("controls"), dict):
        changed["controls"] = {
            name: holders(join("/controls", name), arm, "seed_results")
            if isinstance(arm, dict)
            else arm
            for name, arm in document["controls"].items()
        }
    return holders("", changed, "base_evaluations")


def _replaced(block: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """Return a block with its lists, or what stood for them, replaced at the place of the first."""
    gone = {*COLUMNS, KEY}
    changed: dict[str, Any] = {}
    for key, value in block.items():
        if key in gone:
            changed |= new
        else:
            changed[key] = value
    return changed


def _file_name(document: Any, pointer: str, block: Mapping[str, Any], data: bytes) -> str:
    """Return a name of arm, place of the run and benchmark, with the content's hash."""
    *above, place = [part for part in parts(pointer) if not part.startswith("evaluation")]
    arm = above[1] if above[0] == "controls" else document.get("method")
    first = "base" if above[0] == "base_evaluations" else arm
    words = (first, place, block.get("benchmark"), block.get("checkpoint_step"))
    told = "-".join(str(word) for word in words if word is not None)
    name = _NOT_IN_NAMES.sub("_", told)[:80].lstrip(".-")
    return f"{name}-{hashlib.sha256(data).hexdigest()[:12]}.{FORMAT}"


def _keeps_the_schema(said: Any) -> TypeGuard[Mapping[str, Any]]:
    return (
        isinstance(said, dict)
        and isinstance(said.get("path"), str)
        and isinstance(said.get("sha256"), str)
        and _SHA256.fullmatch(said["sha256"]) is not None
        and said.get("format") == FORMAT
        and isinstance(said.get("rows"), int | float)
        and not isinstance(said["rows"], bool)
        and said["rows"] == said["rows"] // 1  # JSON Schema takes 3.0 for an integer
    )


@contextmanager
def _placed(name: str, pointer: str, path: str) -> Iterator[None]:
    """Put the name of the outcomes' file and of the block to what is wrong."""
    try:
        yield
    except InputError as error:
        raise OutcomesError(f"{path}: {error.message}", path=name, pointer=pointer) from None


def _read(said: Mapping[str, Any], source: Source, known: Known) -> Any:
    _refuse_other_places(said["path"])
    if source.beside is None:
        raise InputError("lies beside a file, and what was read here is none; name the file")
    data = source.beside(said["path"])
    if data.startswith(LFS_POINTER):
        raise InputError(NOT_FETCHED)
    digest = hashlib.sha256(data).hexdigest()
    if digest != said["sha256"]:
        raise InputError(
            f"has changed: its SHA-256 begins {digest[:12]}, the block says {said['sha256'][:12]}"
        )
    return unpacked(data, int(said["rows"]), known)


def _refuse_other_places(path: str) -> None:
    if "\\" in path or ":" in path or "\0" in path:
        raise InputError("is no path of names joined by /")
    if path.startswith("/"):
        raise InputError("is an absolute path; one from the folder of the results file is read")
    if not _NO_PART.isdisjoint(path.split("/")):
        raise InputError("leaves the folder of the results file, or names no file")
