"""Settings of runs: YAML and JSON read without running anything, flattened to dotted keys."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from audit.errors import InputError
from audit.importers.numbers import integer
from audit.importers.readers.found import Found

LARGEST_YAML_BYTES = 4 << 20
MOST_LEAVES = 100_000

# YAML 1.2's core schema: `1e-6` is a number; `no`, `on`, `1:30` and `012` stay text.
_SCALARS = (
    ("tag:yaml.org,2002:null", re.compile(r"^(?:~|null|Null|NULL|)$"), ["~", "n", "N", ""]),
    ("tag:yaml.org,2002:bool", re.compile(r"^(?:true|True|TRUE|false|False|FALSE)$"), list("tTfF")),
    ("tag:yaml.org,2002:int", re.compile(r"^[-+]?(?:0|[1-9][0-9]*)$"), list("-+0123456789")),
    (
        "tag:yaml.org,2002:float",
        re.compile(
            r"^(?:[-+]?(?:\.[0-9]+|[0-9]+\.[0-9]*|[0-9]+(?=[eE]))(?:[eE][-+]?[0-9]+)?"
            r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$"
        ),
        list("-+.0123456789"),
    ),
)


def yaml_document(text: str, where: str) -> Any:
    """Return a YAML document of plain values; tags that name classes become what they hold.

    Raises
    ------
    InputError
        When the text is no YAML, is larger than 4 MiB, or nests too deeply.
    """
    import yaml

    if len(text) > LARGEST_YAML_BYTES:
        raise InputError("YAML larger than 4 MiB, the most that is read", path=where)
    try:
        return yaml.load(text, Loader=_plain_loader())
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = mark.line + 1 if mark is not None else None
        what = getattr(error, "problem", None) or "not readable"
        raise InputError(f"not YAML: {what}", path=where, line=line) from None
    except (RecursionError, ValueError, TypeError):
        raise InputError("not YAML that any settings file holds", path=where) from None


@cache
def _plain_loader() -> Any:
    """Return the loader, made when the first document is read."""
    import yaml

    parent: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

    class PlainLoader(parent):  # type: ignore[misc]
        """Values of the core schema and nothing else."""

        yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012 - the base class's own shape

    for tag, pattern, first in _SCALARS:
        PlainLoader.add_implicit_resolver(tag, pattern, first)
    PlainLoader.add_multi_constructor("", _untagged)
    return PlainLoader


def _untagged(loader: Any, suffix: str, node: Any) -> Any:
    import yaml

    if isinstance(node, yaml.MappingNode):
        return loader.construct_mapping(node, deep=True)
    if isinstance(node, yaml.SequenceNode):
        return loader.construct_sequence(node, deep=True)
    return node.value


def yaml_of(found: Found) -> Any:
    """Return the YAML document of a file; raises like :func:`yaml_document`."""
    return yaml_document(found.text(), found.name)


def flat(document: Any, where: str = "settings") -> dict[str, Any]:
    """Return nested settings by dotted keys; lists stay whole as values.

    Raises
    ------
    InputError
        When there are more than 100,000 values, as aliases can make of a small file.
    """
    found: dict[str, Any] = {}
    stack: list[tuple[str, Any]] = [("", document)]
    while stack:
        prefix, value = stack.pop()
        if isinstance(value, dict) and value:
            stack += [
                (f"{prefix}.{key}" if prefix else str(key), value[key])
                for key in reversed(list(value))
            ]
        elif prefix:
            found[prefix] = value
        if len(found) + len(stack) > MOST_LEAVES:
            raise InputError("more than 100,000 settings", path=where)
    return found


def whole_number(value: Any) -> int | None:
    """Return a whole number, also one written as text, as seeds in trackers are."""
    if isinstance(value, str):
        text = value.strip()
        if re.fullmatch(r"[+-]?\d{1,15}(?:\.0+)?", text):
            return int(float(text))
        return None
    return integer(value)
