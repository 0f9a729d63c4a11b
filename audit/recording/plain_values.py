"""Numbers, counts and names as a training loop has them, to what JSON holds.

Anything with ``tolist`` or ``item`` (numpy, torch, JAX) is taken by duck typing, so that no array
library is imported here.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from audit.errors import RecordingError

LARGEST_INTEGER = 2**53
_SHOWN = 40
_DEEPEST = 20


def figure(value: Any, what: str) -> float | int | str | None:
    """Return a logged figure: a number, ``"nan"``, ``"inf"``, ``"-inf"``, or None for None.

    Raises
    ------
    RecordingError
        When it is no number, such as text, a bool or an array of several values.
    """
    value = _scalar(value)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise RecordingError(f"{what}: expected a number, got {shown(value)}")
    if isinstance(value, int) and abs(value) <= LARGEST_INTEGER:
        return value
    return float(value) if math.isfinite(value) else str(float(value))


def number(value: Any, what: str) -> float | int:
    """Return a finite number.

    Raises
    ------
    RecordingError
        When it is none.
    """
    found = figure(value, what)
    if found is None or isinstance(found, str):
        raise RecordingError(f"{what}: expected a finite number, got {shown(value)}")
    return found


def whole(value: Any, what: str, least: int | None = None) -> int:
    """Return an integer; a float is refused even where it is whole, and so is a bool.

    Raises
    ------
    RecordingError
        When it is none, or below ``least``.
    """
    found = _scalar(value)
    if isinstance(found, bool) or not isinstance(found, int) or abs(found) > LARGEST_INTEGER:
        raise RecordingError(f"{what}: expected an integer, got {shown(value)}")
    if least is not None and found < least:
        raise RecordingError(f"{what}: expected {least} or more, got {found}")
    return found


def counts(values: Any, what: str, length: int) -> list[int]:
    """Return ``length`` counts; true and false are 1 and 0, and one integer stands for all.

    Raises
    ------
    RecordingError
        When there are more or fewer, or one of them is no count.
    """
    single = _scalar(values)
    if isinstance(single, int) and not isinstance(single, bool):
        return [whole(single, what, 0)] * length
    found = _entries(values, what, length)
    return [
        int(entry) if isinstance(entry, bool) else whole(entry, f"{what}[{place}]", 0)
        for place, entry in enumerate(map(_whole_float, found))
    ]


def numbers(values: Any, what: str, length: int) -> list[float | int]:
    """Return ``length`` finite numbers.

    Raises
    ------
    RecordingError
        When there are more or fewer, or one of them is no finite number.
    """
    found = _entries(values, what, length)
    return [number(entry, f"{what}[{place}]") for place, entry in enumerate(found)]


def labels(values: Any, what: str, length: int | None = None) -> list[str | int]:
    """Return names: text or integers.

    Raises
    ------
    RecordingError
        When one of them is neither, or there are not ``length`` of them.
    """
    found = []
    for place, entry in enumerate(map(_scalar, _entries(values, what, length))):
        if isinstance(entry, bool) or not isinstance(entry, int | str) or entry == "":
            raise RecordingError(
                f"{what}[{place}]: expected text or an integer, got {shown(entry)}"
            )
        found.append(entry)
    return found


def text(value: Any, what: str) -> str:
    """Return text that is not empty.

    Raises
    ------
    RecordingError
        When it is anything else.
    """
    if not isinstance(value, str) or not value.strip():
        raise RecordingError(f"{what}: expected a name, got {shown(value)}")
    return value


def settings(value: Any, depth: int = 0) -> Any:
    """Return a configuration as JSON holds it; what JSON does not know becomes its text.

    Dataclasses and objects with ``to_dict`` (argparse namespaces, OmegaConf's containers and
    Hugging Face's arguments) are taken as the mapping they hold.
    """
    if depth > _DEEPEST:
        return str(value)
    if isinstance(value, str | bool) or value is None:
        return value
    if isinstance(value, Mapping):
        return {str(key): settings(entry, depth + 1) for key, entry in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        entries = sorted(value, key=str) if isinstance(value, set | frozenset) else value
        return [settings(entry, depth + 1) for entry in entries]
    plain = _scalar(value)
    if isinstance(plain, int | float) and not isinstance(plain, bool):
        fits = math.isfinite(plain) and abs(plain) <= LARGEST_INTEGER
        return plain if fits or (isinstance(plain, float) and math.isfinite(plain)) else str(plain)
    members = _members(value)
    return str(value) if members is None else settings(members, depth + 1)


def shown(value: Any) -> str:
    """Return how a message shows a value."""
    said = " ".join(repr(value).split())
    return said if len(said) <= _SHOWN else f"{said[: _SHOWN - 3]}..."


def _members(value: Any) -> Mapping[str, Any] | None:
    to_dict = getattr(value, "to_dict", None)
    if callable(to_dict) and not isinstance(value, type):
        found = to_dict()
        return found if isinstance(found, Mapping) else None
    if isinstance(value, type) or callable(value):
        return None
    if hasattr(value, "__dataclass_fields__"):
        return {name: getattr(value, name) for name in value.__dataclass_fields__}
    if type(value).__name__ in ("Namespace", "SimpleNamespace"):
        return dict(vars(value))
    return None


def _scalar(value: Any) -> Any:
    """Return the one value of a numpy number or of an array or tensor of size 1."""
    if isinstance(value, str | bytes | int | float) or value is None:
        return value
    item = getattr(value, "item", None)
    if not callable(item) or getattr(value, "size", None) == 0:
        return value
    try:
        return item()
    except (TypeError, ValueError, RuntimeError):  # several values
        return value


def _whole_float(value: Any) -> Any:
    """Return a count written as 3.0 as 3: means and sums of arrays are floats."""
    value = _scalar(value)
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _entries(values: Any, what: str, length: int | None) -> list[Any]:
    to_list = getattr(values, "tolist", None)
    if callable(to_list):
        values = to_list()
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        raise RecordingError(f"{what}: expected a list, got {shown(values)}")
    found = list(values)
    if length is not None and len(found) != length:
        raise RecordingError(f"{what}: {len(found)} entries for {length} tasks")
    return found
