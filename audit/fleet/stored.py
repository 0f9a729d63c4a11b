"""Results of files as plain JSON values and back, each record by its fields."""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any, Union, get_args, get_origin, get_type_hints

from audit.finding import Finding, NotChecked
from audit.fleet.files import FileResult
from audit.policy import Policy
from audit.reading import Source
from audit.report import Report
from audit.results import Results
from audit.rules import Case

_Build = Callable[[Any], Any]
# Of a file that was read there is no error, and its report is stored by what formats print of it.
_APART = ("report", "error")


def stored(file: FileResult) -> list[Any]:
    """Return a file that was read and judged as JSON values.

    Raises
    ------
    TypeError
        Where it holds what `restored_file` could not make again.
    """
    told = [plain(getattr(file, name)) for name in _told()]
    report = file.report
    if report is None:
        return [told, None]
    return [told, [plain(report.found), plain(report.not_checked), report.passed]]


def restored_file(value: list[Any], policy: Policy) -> FileResult:
    """Return the file that `stored` was given, under the policy that judged it.

    Raises
    ------
    Exception
        Of some kind where the value is nothing that `stored` returned.
    """
    told, reported = value
    kept = {name: build(one) for (name, build), one in zip(_told().items(), told, strict=True)}
    report = None
    if reported is not None:
        found, not_checked, passed = reported
        report = Report(
            name=kept["name"],
            sha256=kept["sha256"],
            found=restored(tuple[Finding, ...], found),
            not_checked=restored(tuple[NotChecked, ...], not_checked),
            passed=passed,
            exit_status=kept["exit_status"],
            case=Case(Results({}, Source(kept["name"], b"", kept["sha256"])), policy),
        )
    return FileResult(**kept, report=report, error=None)


@cache
def _told() -> dict[str, _Build]:
    """Return the fields of a file that are stored as they are, and what makes each again."""
    hints = get_type_hints(FileResult)
    return {f.name: _builder(hints[f.name]) for f in fields(FileResult) if f.name not in _APART}


def plain(value: Any) -> Any:
    """Return a value as JSON holds it: a record as the list of its fields, a set sorted.

    Raises
    ------
    TypeError
        For what `restored` could not make again.
    """
    if isinstance(value, Enum):
        return value.value
    if value is None or isinstance(value, str | int | float):
        return value
    if is_dataclass(value):
        return [plain(getattr(value, field.name)) for field in fields(value)]
    if isinstance(value, frozenset):
        return sorted(value)
    if isinstance(value, tuple | list):
        return [plain(item) for item in value]
    if isinstance(value, Mapping):
        return [[plain(key), plain(item)] for key, item in sorted(value.items())]
    if isinstance(value, Path):
        return str(value)
    raise TypeError(f"{type(value).__name__} has no plain form")


def restored(kind: Any, value: Any) -> Any:
    """Return what `plain` made of a record of a class; exact, floats too.

    Raises
    ------
    Exception
        Of some kind where the value is nothing that `plain` made.
    """
    return _builder(kind)(value)


@cache
def _builder(kind: Any) -> _Build:
    """Return what makes a value of a type out of its plain form."""
    if kind in (str, int, float, bool, type(None)):
        return _same
    if is_dataclass(kind):
        return _of_record(kind)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind
    origin, parts = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        (one,) = (part for part in parts if part is not type(None))
        build = _builder(one)
        return lambda value: None if value is None else build(value)
    if origin is frozenset:
        return frozenset
    if origin is tuple and parts[1:] == (...,):
        each = _builder(parts[0])
        return tuple if each is _same else lambda value: tuple([each(item) for item in value])
    if origin is tuple:
        builds = [_builder(part) for part in parts]
        return lambda value: tuple([b(item) for b, item in zip(builds, value, strict=True)])
    raise TypeError(f"{kind} has no plain form")


def _of_record(kind: Any) -> _Build:
    hints = get_type_hints(kind)
    builds = [_builder(hints[field.name]) for field in fields(kind)]
    places = [(place, build) for place, build in enumerate(builds) if build is not _same]

    def build(value: list[Any]) -> Any:
        if len(value) != len(builds):
            raise ValueError(f"{kind.__name__} has {len(builds)} fields")
        values = list(value)
        for place, made in places:
            values[place] = made(values[place])
        return kind(*values)

    return build


def _same(value: Any) -> Any:
    return value
