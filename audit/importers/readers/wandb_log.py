"""The ``.wandb`` file of a W&B run: LevelDB's log format around Protocol Buffers.

The file begins with ``:W&B``, 0xBEE1 and a version, then come blocks of 32 KiB. A record is a
CRC-32 of its type and bytes, their length, its type and its bytes; what does not fit a block goes
on in the next. The fields are those of ``wandb_internal.proto``.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from audit.errors import InputError
from audit.importers.readers import protobuf_wire as wire

MAGIC = b":W&B\xe1\xbe"
_FIRST = 7
_BLOCK = 1 << 15
_HEADER = struct.Struct("<IHB")
_FULL, _START, _MIDDLE, _END = 1, 2, 3, 4

# Fields of Record, https://github.com/wandb/wandb, wandb/proto/wandb_internal.proto.
_HISTORY, _SUMMARY, _CONFIG, _RUN, _EXIT = 2, 3, 5, 17, 18


@dataclass(slots=True)
class WandbLog:
    """What one ``.wandb`` file says.

    Attributes
    ----------
    run_id, name, group, project, commit : str or None
        Of the run record.
    config, summary : dict
        With all updates; values as JSON has them, nested keys as nested objects.
    history : list of dict
        One row per call of ``log``, each with ``_step``.
    exit_code : int or None
        None where the file has no exit record: the process died, or still runs.
    broken_at : int or None
        Offset of the first record that is cut off or damaged; nothing after it is read.
    """

    run_id: str | None = None
    name: str | None = None
    group: str | None = None
    project: str | None = None
    commit: str | None = None
    config: dict[str, Any] = field(default_factory=dict)
    summary: dict[str, Any] = field(default_factory=dict)
    history: list[dict[str, Any]] = field(default_factory=list)
    exit_code: int | None = None
    broken_at: int | None = None


def read_wandb_log(data: bytes, name: str) -> WandbLog:
    """Read the file; a torn end is left out and told by ``broken_at``.

    Raises
    ------
    InputError
        When it does not begin like a ``.wandb`` file.
    """
    if not data.startswith(MAGIC):
        raise InputError("not a .wandb file", path=name)
    log = WandbLog()
    reader = _Records(data)
    for offset, record in reader:
        try:
            _take(log, wire.message(record))
        except (wire.WireError, UnicodeDecodeError):
            log.broken_at = offset
            return log
    log.broken_at = reader.broken_at
    return log


class _Records:
    """The records of a file, joined over blocks, with the offset each begins at."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.broken_at: int | None = None

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        parts: list[bytes] = []
        began = _FIRST
        for offset, kind, content in self._pieces():
            if kind in (_FULL, _START) and parts:
                self.broken_at = began  # the rest of a record that was begun is not there
                return
            if kind in (_MIDDLE, _END) and not parts:
                self.broken_at = offset
                return
            if not parts:
                began = offset
            parts.append(content)
            if kind in (_FULL, _END):
                yield began, b"".join(parts)
                parts = []
        if parts and self.broken_at is None:
            self.broken_at = began

    def _pieces(self) -> Iterator[tuple[int, int, bytes]]:
        data, place = self._data, _FIRST
        while place < len(data):
            left = _BLOCK - place % _BLOCK
            if left < _HEADER.size:  # too little for a header: padding
                place += left
                continue
            if place + _HEADER.size > len(data):
                self.broken_at = place
                return
            checksum, length, kind = _HEADER.unpack_from(data, place)
            if checksum == length == kind == 0:
                place += left
                continue
            start, end = place + _HEADER.size, place + _HEADER.size + length
            if (
                kind not in (_FULL, _START, _MIDDLE, _END)
                or length > left - _HEADER.size
                or end > len(data)
                or zlib.crc32(data[start - 1 : end]) != checksum
            ):
                self.broken_at = place
                return
            yield place, kind, data[start:end]
            place = end


def _take(log: WandbLog, record: dict[int, list[int | bytes]]) -> None:
    for content in wire.inner(record, _HISTORY):
        log.history.append(_history(wire.message(content)))
    for content in wire.inner(record, _SUMMARY):
        _update(log.summary, wire.message(content))
    for content in wire.inner(record, _CONFIG):
        _update(log.config, wire.message(content))
    for content in wire.inner(record, _RUN):
        _run(log, wire.message(content))
    for content in wire.inner(record, _EXIT):
        # An exit code of 0 is the default and is not written.
        log.exit_code = wire.integer(wire.message(content), 1)


def _run(log: WandbLog, run: dict[int, list[int | bytes]]) -> None:
    log.run_id = wire.text(run, 1) or log.run_id
    log.project = wire.text(run, 3) or log.project
    for content in wire.inner(run, 4):
        _update(log.config, wire.message(content))
    log.group = wire.text(run, 6) or log.group
    log.name = wire.text(run, 8) or log.name
    for content in wire.inner(run, 21):
        log.commit = wire.text(wire.message(content), 2) or log.commit


def _history(history: dict[int, list[int | bytes]]) -> dict[str, Any]:
    row: dict[str, Any] = {}
    for content in wire.inner(history, 1):
        plain = _plain_figure(content)
        if plain is not None:
            row[plain[0]] = plain[1]
            continue
        path, value = _item(wire.message(content))
        if path:
            row[".".join(path)] = value
    for content in wire.inner(history, 2):
        row.setdefault("_step", wire.integer(wire.message(content), 1))
    return row


def _plain_figure(item: bytes) -> tuple[str, float] | None:
    """Return key and number of an item as nearly all are: a short key, a short number.

    Read so, a log takes less than half the time; None where the item is anything else.
    """
    if len(item) < 6 or item[0] != 0x0A or item[1] > 0x7F:
        return None
    end = 2 + item[1]
    if item[end : end + 2] != b"\x82\x01" or len(item) != end + 3 + item[end + 2]:
        return None
    try:
        # NaN and Infinity are numbers here; text in quotes, true and null are none.
        return item[2:end].decode(), float(item[end + 3 :])
    except ValueError:
        return None


def _update(target: dict[str, Any], changes: dict[int, list[int | bytes]]) -> None:
    for content in wire.inner(changes, 1):
        path, value = _item(wire.message(content))
        inside = target
        for part in path[:-1]:
            deeper = inside.get(part)
            if not isinstance(deeper, dict):
                deeper = inside[part] = {}
            inside = deeper
        if path:
            inside[path[-1]] = value
    for content in wire.inner(changes, 2):
        path, _ = _item(wire.message(content))
        inside = target
        for part in path[:-1]:
            deeper = inside.get(part)
            inside = deeper if isinstance(deeper, dict) else {}
        if path:
            inside.pop(path[-1], None)


def _item(item: dict[int, list[int | bytes]]) -> tuple[list[str], Any]:
    """Return the path of a key and its value; what is no JSON is None."""
    key = wire.text(item, 1)
    path = [key] if key else [part.decode("utf-8", "replace") for part in wire.inner(item, 2)]
    written = wire.text(item, 16)
    try:
        # NaN and Infinity are read as such: whoever uses a value asks whether it is finite.
        return path, None if written is None else json.loads(written)
    except (ValueError, RecursionError):
        return path, None
