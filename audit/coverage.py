"""Which keys of a results file some check reads, and which none does."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from audit.pointer import from_parts
from audit.results import Results, from_document
from audit.rules import CATALOGUE, Case

_Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Coverage:
    """Keys of a file as pointers with ``*`` for places in lists and names of arms.

    Attributes
    ----------
    read : tuple of str
        Keys that a rule, or the analysis a rule asks, looks at.
    unread : tuple of str
        Keys that none looks at; of a block that none looks at, the block alone.
    """

    read: tuple[str, ...]
    unread: tuple[str, ...]


def coverage(results: Results) -> Coverage:
    """Run every rule over a file and return which keys were looked at.

    The schema's rules look at every key and do not count.
    """
    document = results.usable
    read: set[_Path] = set()
    watched = from_document({}, results.name)
    watched.__dict__["sound"] = _watched(document, (), read)
    case = Case(watched)
    for rule in CATALOGUE:
        if rule.family not in ("READ", "SCHEMA"):
            for _ in rule.check(case):
                pass
    present = dict.fromkeys(_keys(document, ()))
    unread = {path for path in present if path not in read}
    return Coverage(
        read=tuple(from_parts(path) for path in present if path in read),
        unread=tuple(from_parts(p) for p in present if p in unread and _owner(p) not in unread),
    )


def _owner(path: _Path) -> _Path:
    """Return the path of the key that holds a key, past places in lists."""
    owner = path[:-1]
    return owner[:-1] if owner[-1:] == ("*",) and owner[:-1] != ("controls",) else owner


def _below(path: _Path, key: str) -> _Path:
    return (*path, "*" if path == ("controls",) else key)


def _keys(value: Any, path: _Path) -> Iterator[_Path]:
    """Yield the path of every key of objects, in the order of the file."""
    if isinstance(value, dict):
        for key, member in value.items():
            yield _below(path, key)
            yield from _keys(member, _below(path, key))
    elif isinstance(value, list):
        for member in value:
            yield from _keys(member, (*path, "*"))


def _watched(value: Any, path: _Path, read: set[_Path]) -> Any:
    """Return a copy whose objects note every key that is looked at."""
    if isinstance(value, dict):
        members = {k: _watched(member, _below(path, k), read) for k, member in value.items()}
        return _Watched(members, path, read)
    if isinstance(value, list):
        return [_watched(member, (*path, "*"), read) for member in value]
    return value


class _Watched(dict[str, Any]):
    """An object that notes in ``read`` which of its keys are looked at."""

    def __init__(self, members: dict[str, Any], path: _Path, read: set[_Path]) -> None:
        super().__init__(members)
        self._path, self._read = path, read

    def _note(self, key: Any) -> None:
        if dict.__contains__(self, key):
            self._read.add(_below(self._path, key))

    def __getitem__(self, key: Any) -> Any:
        self._note(key)
        return super().__getitem__(key)

    def __contains__(self, key: object) -> bool:
        self._note(key)
        return super().__contains__(key)

    def get(self, key: Any, default: Any = None) -> Any:
        self._note(key)
        return super().get(key, default)

    def __iter__(self) -> Iterator[str]:
        # Without this, dict(...) and {**...} would copy past the methods above.
        return super().__iter__()

    def items(self) -> Any:
        for key in self:
            self._note(key)
        return super().items()

    def values(self) -> Any:
        for key in self:
            self._note(key)
        return super().values()

    def __eq__(self, other: object) -> bool:
        for key in self:
            self._note(key)
        return super().__eq__(other)

    __hash__ = None
