"""TensorBoard's event files: TFRecord framing around Protocol Buffers.

A record is its length (64 bits), a masked CRC-32C of that, its bytes, and a masked CRC-32C of
them. The messages are ``tensorflow/core/util/event.proto`` and TensorBoard's ``hparams`` plugin.
"""

from __future__ import annotations

import math
import re
import struct
from dataclasses import dataclass, field
from typing import Any

from audit.errors import InputError
from audit.importers.readers import protobuf_wire as wire

_LENGTH = struct.Struct("<QI")
_CHECKSUM = struct.Struct("<I")
_FLOAT, _DOUBLE = 1, 2
_HPARAMS = "hparams"
_STATUSES = {1: "finished", 2: "failed", 3: "running"}


@dataclass(slots=True)
class EventFile:
    """What one event file says.

    Attributes
    ----------
    scalars : dict
        Step to tag to (wall time in seconds, value). Of two at one step the later wins.
    texts : dict
        Tag to text.
    settings : dict
        Hyperparameters of the ``hparams`` plugin.
    status : str or None
        ``finished``, ``failed`` or ``running``, where ``hparams`` says it.
    broken_at : int or None
        Offset of the first record that is cut off or damaged; nothing after it is read.
    """

    scalars: dict[int, dict[str, tuple[float, float]]] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    status: str | None = None
    broken_at: int | None = None


def read_event_file(data: bytes, name: str) -> EventFile:
    """Read the file; a torn end is left out and told by ``broken_at``.

    Raises
    ------
    InputError
        When its first record is not that of an event file.
    """
    found = EventFile()
    offsets, found.broken_at = _records(data)
    for number, (start, end) in enumerate(offsets):
        record = data[start:end]
        if number and _take_plain(found, record):
            continue
        try:
            event = wire.message(record)
            if number == 0 and not (wire.text(event, 3) or "").startswith("brain.Event:"):
                raise InputError("not an event file of TensorBoard", path=name)
            _take(found, event)
        except wire.WireError:
            found.broken_at = start - _LENGTH.size
            break
    if not offsets:
        raise InputError("not an event file of TensorBoard", path=name)
    return found


def is_event_file(head: bytes) -> bool:
    """Whether a file's first record is that of an event file."""
    if len(head) < _LENGTH.size:
        return False
    length, _ = _LENGTH.unpack_from(head)
    return length < 1024 and b"brain.Event:" in head[_LENGTH.size : _LENGTH.size + length]


def _records(data: bytes) -> tuple[list[tuple[int, int]], int | None]:
    """Return where the records' bytes begin and end, up to the first that is damaged."""
    offsets: list[tuple[int, int]] = []
    place, size = 0, len(data)
    broken: int | None = None
    while place < size:
        if place + _LENGTH.size > size:
            broken = place
            break
        length, _ = _LENGTH.unpack_from(data, place)
        start = place + _LENGTH.size
        end = start + length
        if end + _CHECKSUM.size > size:
            broken = place
            break
        offsets.append((start, end))
        place = end + _CHECKSUM.size
    wrong = _first_wrong(data, offsets)
    if wrong is not None:
        broken = offsets[wrong][0] - _LENGTH.size
        del offsets[wrong:]
    return offsets, broken


def _first_wrong(data: bytes, offsets: list[tuple[int, int]]) -> int | None:
    """Return the number of the first record of which a checksum is wrong."""
    from audit.importers.readers.crc32c import first_wrong  # loads numpy

    lengths = [(start - _LENGTH.size, start - _CHECKSUM.size) for start, _ in offsets]
    wrong = [first_wrong(data, spans) for spans in (lengths, offsets)]
    return min((number for number in wrong if number is not None), default=None)


# One scalar as torch, tensorboardX and most others write it: wall time, step, tag, value, with
# lengths of one byte: of a large file nearly every record, which takes less than half the time so.
_PLAIN = re.compile(
    rb"\x09(.{8})(?:\x10([\x80-\xff]{0,8}[\x00-\x7f]))?\x2a(.)\x0a(.)\x0a(.)(.*)\x15(.{4})", re.S
)
_WALL, _VALUE = struct.Struct("<d"), struct.Struct("<f")


def _take_plain(found: EventFile, record: bytes) -> bool:
    """Take a record of one plain scalar; False where it is anything else."""
    match = _PLAIN.fullmatch(record)
    if match is None:
        return False
    wall, written, outer, middle, inside, tag, value = match.groups()
    size = len(tag)
    if (outer[0], middle[0], inside[0]) != (size + 9, size + 7, size) or size > 118:
        return False
    step = 0
    for shift, byte in enumerate(written or b""):
        step |= (byte & 0x7F) << 7 * shift
    _keep(found, step, tag.decode("utf-8", "replace"), _WALL.unpack(wall)[0], value)
    return True


def _keep(found: EventFile, step: int, tag: str, wall: float, value: bytes | float) -> None:
    row = found.scalars.get(step)
    if row is None:
        row = found.scalars[step] = {}
    if tag not in row or row[tag][0] <= wall:
        row[tag] = (wall, value if isinstance(value, float) else _VALUE.unpack(value)[0])


def _take(found: EventFile, event: dict[int, list[int | bytes]]) -> None:
    wall = next((wire.double(value) for value in wire.inner(event, 1)), 0.0)
    step = wire.integer(event, 2)
    for summary in wire.inner(event, 5):
        for content in wire.inner(wire.message(summary), 1):
            value = wire.message(content)
            tag = wire.text(value, 1) or ""
            plugin, plugin_content = _plugin(value)
            if plugin == _HPARAMS:
                _hparams(found, plugin_content)
                continue
            scalar = _scalar(value)
            if scalar is not None:
                _keep(found, step, tag, wall, scalar)
            elif plugin == "text":
                words = _text(value)
                if words is not None:
                    found.texts[tag] = words


def _plugin(value: dict[int, list[int | bytes]]) -> tuple[str | None, bytes]:
    for metadata in wire.inner(value, 9):
        for data in wire.inner(wire.message(metadata), 1):
            parts = wire.message(data)
            return wire.text(parts, 1), next(wire.inner(parts, 2), b"")
    return None, b""


def _scalar(value: dict[int, list[int | bytes]]) -> float | None:
    for simple in wire.inner(value, 2):
        return wire.single(simple)
    for content in wire.inner(value, 8):
        tensor = wire.message(content)
        kind = wire.integer(tensor, 1)
        if kind not in (_FLOAT, _DOUBLE):
            return None
        # tensor_content, or float_val or double_val, which are packed: of a scalar one value.
        for raw in (*wire.inner(tensor, 4), *wire.inner(tensor, 5 if kind == _FLOAT else 6)):
            if len(raw) == (4 if kind == _FLOAT else 8):
                return wire.single(raw) if kind == _FLOAT else wire.double(raw)
    return None


def _text(value: dict[int, list[int | bytes]]) -> str | None:
    for content in wire.inner(value, 8):
        for words in wire.inner(wire.message(content), 8):
            return words.decode("utf-8", "replace")
    return None


def _hparams(found: EventFile, content: bytes) -> None:
    data = wire.message(content)
    for start in wire.inner(data, 3):
        for entry in wire.inner(wire.message(start), 1):
            parts = wire.message(entry)
            key = wire.text(parts, 1)
            if key is not None:
                found.settings[key] = next(map(_value, wire.inner(parts, 2)), None)
    for end in wire.inner(data, 4):
        found.status = _STATUSES.get(wire.integer(wire.message(end), 1), found.status)


def _value(content: bytes) -> Any:
    """Return a ``google.protobuf.Value``: number, text or truth."""
    for number, _, value in wire.fields(content):
        if number == 2:
            figure = wire.double(value)
            whole = math.isfinite(figure) and figure.is_integer() and abs(figure) < 2**53
            return int(figure) if whole else figure
        if number == 3 and isinstance(value, bytes):
            return value.decode("utf-8", "replace")
        if number == 4:
            return bool(value)
    return None
