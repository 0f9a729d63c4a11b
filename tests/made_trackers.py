"""Files of trackers made byte by byte, and files damaged in every way."""

from __future__ import annotations

import json
import random
import re
import struct
import zlib
from collections.abc import Mapping

import numpy as np

from audit.importers.readers import protobuf_wire as wire
from audit.importers.readers.crc32c import crc32c, masked
from audit.importers.readers.wandb_log import MAGIC


def varint(number: int) -> bytes:
    encoded = b""
    while number > 0x7F:
        encoded += bytes([number & 0x7F | 0x80])
        number >>= 7
    return encoded + bytes([number])


def field(number: int, content: bytes) -> bytes:
    return varint(number << 3 | wire.BYTES) + varint(len(content)) + content


def framed(records: list[bytes]) -> bytes:
    """Write records as W&B does: blocks of 32 KiB, padded where no header fits."""
    data = bytearray(MAGIC + b"\x00")
    for record in records:
        left, first = record, True
        while True:
            room = 32768 - len(data) % 32768
            if room < 7:
                data += b"\x00" * room
                room = 32768
            part, left = left[: room - 7], left[room - 7 :]
            kind = {(True, True): 1, (True, False): 2, (False, False): 3, (False, True): 4}[
                (first, not left)
            ]
            data += struct.pack("<IHB", zlib.crc32(bytes([kind]) + part), len(part), kind) + part
            first = False
            if not left:
                break
    return bytes(data)


def tfrecord(content: bytes) -> bytes:
    length = struct.pack("<Q", len(content))
    return length + checksum(length) + content + checksum(content)


def checksum(data: bytes) -> bytes:
    spans = np.array([0]), np.array([len(data)])
    (found,) = masked(crc32c(np.frombuffer(data, dtype=np.uint8), *spans)).tolist()
    return struct.pack("<I", found)


def scalar(step: int, tag: str, value: float, wall: float = 1.0) -> bytes:
    inside = field(1, tag.encode()) + b"\x15" + struct.pack("<f", value)
    return b"\x09" + struct.pack("<d", wall) + b"\x10" + varint(step) + field(5, field(1, inside))


VERSION = tfrecord(b"\x09" + struct.pack("<d", 1.0) + field(3, b"brain.Event:2"))


def text_event(tag: str, words: str) -> bytes:
    """Write an event of TensorBoard's text plugin."""
    tensor = field(8, varint(1 << 3) + varint(7) + field(8, words.encode()))
    plugin = field(9, field(1, field(1, b"text")))
    return (
        b"\x09"
        + struct.pack("<d", 1.0)
        + field(5, field(1, field(1, tag.encode()) + plugin + tensor))
    )


def history(step: int, figures: Mapping[str, object]) -> bytes:
    items = b"".join(
        field(1, field(1, name.encode()) + field(16, json.dumps(value).encode()))
        for name, value in (*figures.items(), ("_step", step))
    )
    return field(2, items)


def wandb_log(
    run_id: str,
    arm: str,
    seed: int,
    rows: Mapping[int, Mapping[str, object]],
    exit_code: int | None = 0,
) -> bytes:
    settings: dict[str, object] = {"seed": seed, "eval": {"seed": 9}, "algo": arm}
    config = b"".join(
        field(1, field(1, name.encode()) + field(16, json.dumps(value).encode()))
        for name, value in settings.items()
    )
    run = field(1, run_id.encode()) + field(4, config) + field(6, arm.encode())
    records = [field(17, run + field(8, f"{arm}-{seed}".encode()))]
    records += [history(step, row) for step, row in rows.items()]
    if exit_code is not None:
        records.append(field(18, b"" if exit_code == 0 else b"\x08" + varint(exit_code)))
    return framed(records)


OTHERS = (b"null", b"[]", b"{}", b"-1", b"1e999", b'"x"', b"NaN", b"true", b"9" * 30, b"\xff")


def damaged(data: bytes, draw: random.Random) -> bytes:
    """Return bytes with one changed, some gone, the end cut off, or a value become another."""
    start = draw.randrange(len(data))
    values = [match.span() for match in re.finditer(rb'[0-9.]+|"[^"]*"', data)] or [(start, start)]
    low, high = draw.choice(values)
    return draw.choice(
        [
            data[:start] + bytes([draw.randrange(256)]) + data[start + 1 :],
            data[:start] + data[start + draw.randrange(1, 40) :],
            data[:start],
            data[:low] + draw.choice(OTHERS) + data[high:],
        ]
    )
