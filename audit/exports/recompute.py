"""Whether a statement is what its results file gives: computed again, and held byte for byte."""

from __future__ import annotations

import json
import stat
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

from audit import __version__
from audit.errors import AuditError, InputError
from audit.exports.attestation import (
    PREDICATE_TYPE,
    STATEMENT_TYPE,
    canonical,
    is_plain_name,
    statement,
)
from audit.pointer import join
from audit.policy import Policy, policy_of
from audit.reading import Source, parse, read_source, source_of
from audit.schema import schema_faults

LARGEST_STATEMENT_BYTES = 1 << 24
MOST_DIFFERENCES = 5
_SCHEMA = "attestation.v1"
_LONGEST = 60


@dataclass(frozen=True, slots=True)
class Recomputed:
    """What came of one statement.

    Attributes
    ----------
    name, subject : str
        The statement as the user named it, and its results file.
    sha256 : str
        Of the results file, as it is.
    differences : tuple of str
        What is not as the results file gives it, each a JSON Pointer with both values; empty
        where every byte is the same.
    predicate : dict
        What the statement says.
    """

    name: str
    subject: str
    sha256: str
    differences: tuple[str, ...]
    predicate: dict[str, Any]

    @property
    def holds(self) -> bool:
        """Whether every byte is the same."""
        return not self.differences

    @property
    def loosened(self) -> dict[str, Any]:
        """What its policy asks other than the built-in defaults."""
        usual = Policy().document()
        return {k: v for k, v in self.predicate["policy"].items() if v != usual[k]}


class OtherVersionError(AuditError):
    """A statement of another version of audit, which this one cannot compute again."""


def recompute(path: str) -> Recomputed:
    """Compute a statement again from the results file that lies beside it.

    Parameters
    ----------
    path : str
        The statement. Its first subject is looked for in the same folder and nowhere else.

    Raises
    ------
    InputError
        When it is no statement of this kind, or its results file is not there, is a link, or
        cannot be read.
    OtherVersionError
        When another version of audit made it.
    """
    data = _bounded(path)
    document = _document(path, data)
    first, predicate = document["subject"][0], document["predicate"]
    source = _beside(path, first["name"])
    digest = first["digest"]["sha256"]
    if source.sha256 != digest:
        difference = _difference("/subject/0/digest/sha256", digest, source.sha256)
        return Recomputed(path, source.name, source.sha256, (difference,), predicate)
    version = predicate["tool"]["version"]
    if version != __version__:
        raise OtherVersionError(
            f"was made by audit {_shown(version)} and this is {__version__}, whose verdicts may "
            f"differ, so it was not compared (the digest of {source.name} is right)",
            path=path,
            pointer="/predicate/tool/version",
        )
    again = statement(source, policy_of(predicate["policy"]))
    found = tuple(islice(_differences(document, again, ""), MOST_DIFFERENCES + 1))
    if len(found) > MOST_DIFFERENCES:
        found = (*found[:MOST_DIFFERENCES], "and more")
    if not found and data != canonical(again):
        found = ("the content is the same and the bytes are not as `audit export` writes them",)
    return Recomputed(path, source.name, source.sha256, found, predicate)


def _bounded(path: str) -> bytes:
    """Read a statement, or refuse one that is larger than any."""
    try:
        size = Path(path).stat().st_size
    except (OSError, ValueError):
        size = 0  # what is wrong is said by reading it
    if size > LARGEST_STATEMENT_BYTES:
        raise InputError("larger than 16 MiB, which no statement is", path=path)
    return read_source(path).data


def _document(path: str, data: bytes) -> dict[str, Any]:
    """Return a statement that keeps its schema."""
    document, defects = parse(source_of(path, data))
    if defects:
        worst = defects[0]
        raise InputError(
            f"no statement: {worst.kind} {_shown(worst.text)}", path=path, pointer=worst.pointer
        )
    kinds = {"_type": STATEMENT_TYPE, "predicateType": PREDICATE_TYPE}
    for key, kind in kinds.items():
        said = document.get(key) if isinstance(document, dict) else None
        if said != kind:
            raise InputError(
                f"no statement that audit makes: {key} is {_shown(said)}, expected {kind}",
                path=path,
            )
    faults = [(fault.pointer, fault.message) for fault in schema_faults(document, 1, _SCHEMA)]
    if not faults:
        asked = document["predicate"]["policy"]
        faults = [
            (f"/predicate/policy{fault.pointer}", fault.message)
            for fault in schema_faults(asked, 1, "policy")
        ]
    if faults:
        raise InputError(f"no statement: {faults[0][1]}", path=path, pointer=faults[0][0])
    return dict(document)


def _beside(path: str, name: str) -> Source:
    """Read the results file of a statement: a plain file of its own folder, under its plain name.

    A statement comes from elsewhere, so no path in it is followed, and no link.
    """
    pointer = "/subject/0/name"
    if not is_plain_name(name):
        what = f"{_shown(name)} is no plain file name; the results file lies beside the statement"
        raise InputError(what, path=path, pointer=pointer)
    beside = Path(path).parent / name
    try:
        mode = beside.lstat().st_mode
    except (OSError, ValueError):
        what = f"{_shown(name)} is not beside the statement"
        raise InputError(what, path=path, pointer=pointer) from None
    if not stat.S_ISREG(mode):
        kind = "a link" if stat.S_ISLNK(mode) else "no file"
        what = f"{_shown(name)} is {kind}; the results file lies beside the statement"
        raise InputError(what, path=path, pointer=pointer)
    return replace(read_source(beside), name=name)


def _differences(said: Any, found: Any, pointer: str) -> Iterator[str]:
    """Yield where a statement is not what was computed, in the order of the latter."""
    if isinstance(said, dict) and isinstance(found, dict):
        for key in sorted({*said, *found}):
            below = join(pointer, key)
            if key not in said:
                yield f"{below}: is missing, computed {_shown(found[key])}"
            elif key not in found:
                yield f"{below}: says {_shown(said[key])}, computed without it"
            else:
                yield from _differences(said[key], found[key], below)
    elif isinstance(said, list) and isinstance(found, list) and len(said) == len(found):
        for place, (one, other) in enumerate(zip(said, found, strict=True)):
            yield from _differences(one, other, join(pointer, place))
    elif isinstance(said, list) and isinstance(found, list):
        yield f"{pointer}: holds {len(said)} entries, computed {len(found)}"
    elif type(said) is not type(found) or said != found:
        yield _difference(pointer, said, found)


def _difference(pointer: str, said: Any, found: Any) -> str:
    if isinstance(said, str) and isinstance(found, str):
        pairs = enumerate(zip(said, found, strict=False))
        alike = next((i for i, (one, other) in pairs if one != other), min(len(said), len(found)))
        if alike > _LONGEST // 2:  # show where they part
            cut = alike - _LONGEST // 4
            said, found = f"...{said[cut:]}", f"...{found[cut:]}"
    return f"{pointer}: says {_shown(said)}, computed {_shown(found)}"


def _shown(value: Any) -> str:
    text = json.dumps(value, sort_keys=True)
    return text if len(text) <= _LONGEST + 8 else f"{text[:_LONGEST]}..."
