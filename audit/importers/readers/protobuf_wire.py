"""Protocol Buffers on the wire: fields by number, without a schema.

The encoding is https://protobuf.dev/programming-guides/encoding. Reading it takes no library, and
what a message means is known by the readers that use this.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

# Wire types: varint, 64 bits, length and bytes, 32 bits. 3 and 4 are groups, which no writer uses.
VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5


class WireError(ValueError):
    """Bytes that are no message."""


def fields(data: bytes | memoryview) -> Iterator[tuple[int, int, int | bytes]]:
    """Yield number, wire type and value of each field, in the order of the bytes.

    Values of 64 and 32 bits come as their bytes; :func:`double` and :func:`single` read them.

    Raises
    ------
    WireError
        Where the bytes end within a field or hold an unknown wire type.
    """
    data = bytes(data)
    place, end = 0, len(data)
    while place < end:
        key, place = _varint(data, place)
        number, kind = key >> 3, key & 7
        if kind == VARINT:
            value, place = _varint(data, place)
            yield number, kind, value
            continue
        if kind == BYTES:
            size, place = _varint(data, place)
        elif kind == FIXED64:
            size = 8
        elif kind == FIXED32:
            size = 4
        else:
            raise WireError(f"wire type {kind}")
        if number == 0 or place + size > end:
            raise WireError("a field beyond the end of its message")
        yield number, kind, data[place : place + size]
        place += size


def message(data: bytes) -> dict[int, list[int | bytes]]:
    """Return the values of a message by field number, in order; raises like :func:`fields`."""
    found: dict[int, list[int | bytes]] = {}
    for number, _, value in fields(data):
        found.setdefault(number, []).append(value)
    return found


def inner(parts: dict[int, list[int | bytes]], number: int) -> Iterator[bytes]:
    """Yield the values of a field that are messages, texts or bytes."""
    for value in parts.get(number, ()):
        if isinstance(value, bytes):
            yield value


def text(parts: dict[int, list[int | bytes]], number: int) -> str | None:
    """Return the last text of a field, None where it is absent or empty (proto3's default)."""
    found = None
    for value in inner(parts, number):
        found = value.decode("utf-8", "replace")
    return found or None


def integer(parts: dict[int, list[int | bytes]], number: int, default: int = 0) -> int:
    """Return the last integer of a field, signed; an absent field is proto3's default of 0."""
    found = default
    for value in parts.get(number, ()):
        if isinstance(value, int):
            found = value - (1 << 64) if value >= 1 << 63 else value
    return found


def double(value: int | bytes) -> float:
    """Return the double that 8 bytes are."""
    if not isinstance(value, bytes) or len(value) != 8:
        raise WireError("no double")
    return float(struct.unpack("<d", value)[0])


def single(value: int | bytes) -> float:
    """Return the float that 4 bytes are."""
    if not isinstance(value, bytes) or len(value) != 4:
        raise WireError("no float")
    return float(struct.unpack("<f", value)[0])


def _varint(data: bytes, place: int) -> tuple[int, int]:
    result = shift = 0
    end = len(data)
    while place < end:
        byte = data[place]
        place += 1
        result |= (byte & 0x7F) << shift
        if byte < 0x80:
            return result, place
        shift += 7
        if shift > 63:
            break
    raise WireError("a number that does not end")
