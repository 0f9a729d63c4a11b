"""CRC-32C of very many spans of bytes at once, as the records of event files have it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray


def first_wrong(data: bytes, spans: Sequence[tuple[int, int]]) -> int | None:
    """Return the number of the first span whose masked checksum does not follow it, else None."""
    if not spans:
        return None
    content = np.frombuffer(data, dtype=np.uint8)
    starts, ends = np.array(spans, dtype=np.int64).T
    places = ends[:, None] + np.arange(4)
    written = content[places].astype(np.uint32) << np.arange(0, 32, 8, dtype=np.uint32)
    wrong = masked(crc32c(content, starts, ends)) != written.sum(axis=1, dtype=np.uint32)
    return int(np.argmax(wrong)) if wrong.any() else None


def _table() -> NDArray[np.uint32]:
    one, polynomial = np.uint32(1), np.uint32(0x82F63B78)
    values: NDArray[np.uint32] = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        values = (values >> one) ^ (polynomial * (values & one))
    return values


_TABLE = _table()
_LANES = 1 << 16
_CHUNK = 1 << 12


def crc32c(
    content: NDArray[np.uint8], starts: NDArray[np.int64], ends: NDArray[np.int64]
) -> NDArray[np.uint32]:
    """Return the CRC-32C (Castagnoli) of many spans of bytes at once.

    The register takes byte k of all spans in one step, so that many short spans cost little. Long
    spans are cut into chunks that go through side by side: the register is linear, so what a chunk
    leaves in it is added to what the chunks before leave after as many zeros.

    Parameters
    ----------
    content : array of uint8
        All bytes.
    starts, ends : array of int64, shape (n,)
        The spans.

    Returns
    -------
    array of uint32, shape (n,)
    """
    state = np.full(len(starts), 0xFFFFFFFF, dtype=np.uint32)
    starts = starts.copy()
    for number in np.flatnonzero(ends - starts > _CHUNK):
        chunks = int(ends[number] - starts[number]) // _CHUNK
        begins = starts[number] + _CHUNK * np.arange(chunks)
        alone = _register(content, begins, begins + _CHUNK, np.zeros(chunks, dtype=np.uint32))
        register = int(state[number])
        for added in alone.tolist():
            register = _after_zeros(register) ^ added
        state[number] = register
        starts[number] += _CHUNK * chunks
    return ~_register(content, starts, ends, state)


def _register(
    content: NDArray[np.uint8],
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    state: NDArray[np.uint32],
) -> NDArray[np.uint32]:
    """Return the register after the bytes of each span, from what it holds before."""
    result = state.copy()
    order = np.argsort(starts - ends, kind="stable")
    for low in range(0, len(order), _LANES):
        chosen = order[low : low + _LANES]
        begin = starts[chosen]
        lengths = ends[chosen] - begin
        lanes = result[chosen]
        # Spans are sorted by length, so those that still have a byte k are the first ones.
        alive = np.searchsorted(-lengths, -np.arange(int(lengths.max(initial=0))), side="left")
        for k, count in enumerate(alive):
            part = lanes[:count]
            mixed = (part ^ content[begin[:count] + k]) & 0xFF
            lanes[:count] = _TABLE[mixed] ^ (part >> 8)
        result[chosen] = lanes
    return result


@cache
def _chunk_tables() -> list[list[int]]:
    """Return what each byte of the register becomes after a chunk of zeros."""
    state: NDArray[np.uint32] = np.arange(256, dtype=np.uint32) << np.array(
        [[0], [8], [16], [24]], dtype=np.uint32
    )
    for _ in range(_CHUNK):
        state = _TABLE[state & 0xFF] ^ (state >> 8)
    tables: list[list[int]] = state.tolist()
    return tables


def _after_zeros(register: int) -> int:
    first, second, third, fourth = _chunk_tables()
    return (
        first[register & 0xFF]
        ^ second[register >> 8 & 0xFF]
        ^ third[register >> 16 & 0xFF]
        ^ fourth[register >> 24]
    )


def masked(checksums: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Return checksums as TFRecord masks them: rotated right by 15 bits, plus a constant."""
    rotated = (checksums >> np.uint32(15)) | (checksums << np.uint32(17))
    result: NDArray[np.uint32] = rotated + np.uint32(0xA282EAD8)
    return result
