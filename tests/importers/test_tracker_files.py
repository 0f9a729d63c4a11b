"""Binary files of trackers: what the trackers' own writers wrote, cut off, damaged, made up."""

from __future__ import annotations

import gzip
import math
import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_trackers import VERSION, field, framed, scalar, tfrecord

from audit.errors import InputError
from audit.importers.readers import protobuf_wire as wire
from audit.importers.readers.crc32c import crc32c
from audit.importers.readers.event_file import is_event_file, read_event_file
from audit.importers.readers.wandb_log import read_wandb_log

SAMPLES = Path(__file__).resolve().parent.parent / "data" / "trackers"
PLAIN = gzip.decompress((SAMPLES / "wandb_offline" / "run-plain1.wandb.gz").read_bytes())
CLIP = gzip.decompress((SAMPLES / "wandb_offline" / "run-clip2.wandb.gz").read_bytes())
(SCALARS,) = (SAMPLES / "tensorboard" / "plain").glob("events.*")
(TENSORS,) = (SAMPLES / "tensorboard" / "tensors").glob("events.*")


def first_record(data: bytes) -> int:
    """Return where the first record of an event file ends."""
    return int(struct.unpack_from("<Q", data)[0]) + 16


def test_what_wandb_wrote_is_read() -> None:
    log = read_wandb_log(CLIP, "x")
    assert (log.run_id, log.name, log.group, log.project) == ("clip2", "clip-2", "clip", "crates")
    assert log.config["seed"] == 2
    assert log.config["eval"] == {"seed": 7}
    assert log.config["learning_rate"] == 2e-6  # the later update
    assert [row["_step"] for row in log.history] == [10, 20, 30]
    assert log.history[-1]["eval/sums/accuracy"] == 21 / 40
    assert math.isnan(log.history[1]["train/kl"])
    assert log.exit_code == 3
    assert log.broken_at is None


def test_an_exit_record_without_a_code_is_exit_0() -> None:
    assert read_wandb_log(PLAIN, "x").exit_code == 0


def test_records_go_over_the_end_of_a_block() -> None:
    assert len(PLAIN) > 2 * 32768
    log = read_wandb_log(PLAIN, "x")
    assert [len(row["train/filler"]) for row in log.history] == [12_000] * 3
    assert log.history[-1]["eval/sums/accuracy"] == 14 / 40


@pytest.mark.parametrize("data", [PLAIN, CLIP], ids=["plain", "clip"])
def test_a_log_that_is_cut_off_keeps_what_came_before(data: bytes) -> None:
    whole = read_wandb_log(data, "x")
    rows = [repr(row) for row in whole.history]
    for end in range(7, len(data), 1 + len(data) // 150):
        log = read_wandb_log(data[:end], "x")
        assert [repr(row) for row in log.history] == rows[: len(log.history)]
        assert log.broken_at is None or log.broken_at <= end
    assert read_wandb_log(data[:-3], "x").broken_at is not None
    assert read_wandb_log(data[: len(data) // 2], "x").exit_code is None


@given(st.integers(7, len(CLIP) - 1), st.integers(1, 255))
@settings(max_examples=150, deadline=None)
def test_a_damaged_byte_of_a_log_never_becomes_a_figure(place: int, change: int) -> None:
    damaged = bytearray(CLIP)
    damaged[place] ^= change
    whole = [repr(row) for row in read_wandb_log(CLIP, "x").history]
    log = read_wandb_log(bytes(damaged), "x")
    assert [repr(row) for row in log.history] == whole[: len(log.history)]


@given(st.lists(st.integers(0, 70_000), min_size=1, max_size=8))
@settings(max_examples=60, deadline=None)
def test_records_of_any_length_come_back(sizes: list[int]) -> None:
    texts = [f'"{"a" * size}"' for size in sizes]
    records = [field(2, field(1, field(1, b"k") + field(16, text.encode()))) for text in texts]
    log = read_wandb_log(framed(records), "x")
    assert log.broken_at is None
    assert [len(row["k"]) for row in log.history] == sizes


def test_nested_keys_and_removed_settings() -> None:
    history = field(1, field(2, b"actor") + field(2, b"grad_norm") + field(16, b"0.5"))
    step = field(2, b"\x08\x07")
    config = field(1, field(2, b"a") + field(2, b"b") + field(16, b"1"))
    other = field(1, field(1, b"c") + field(16, b"2"))
    removed = field(2, field(1, b"c"))
    records = [field(2, history + step), field(5, config + other), field(5, removed)]
    log = read_wandb_log(framed(records), "x")
    assert log.history == [{"actor.grad_norm": 0.5, "_step": 7}]
    assert log.config == {"a": {"b": 1}}


def test_another_file_is_no_wandb_log() -> None:
    with pytest.raises(InputError, match=r"not a \.wandb file"):
        read_wandb_log(b"SQLite format 3\x00", "x")


def test_what_tensorboard_wrote_is_read() -> None:
    events = read_event_file(SCALARS.read_bytes(), "x")
    assert sorted(events.scalars) == [10, 20, 30]
    values = {tag: value for tag, (_, value) in events.scalars[30].items()}
    assert values["eval/sums/accuracy"] == pytest.approx(14 / 40, abs=6e-8)
    assert math.isnan(values["train/kl"])
    assert "weights" not in values  # a histogram is no scalar
    assert events.texts["args/text_summary"].startswith('{"seed": 1')
    assert events.broken_at is None


def test_tensors_and_hyperparameters_are_read() -> None:
    events = read_event_file(TENSORS.read_bytes(), "x")
    accuracy = {step: row["eval/sums/accuracy"][1] for step, row in events.scalars.items()}
    assert accuracy == pytest.approx({10: 19 / 40, 20: 20 / 40, 30: 21 / 40}, abs=6e-8)
    assert events.settings == {
        "grpo.seed": 2,
        "name": "clip",
        "shuffle": True,
        "learning_rate": 1e-6,
    }
    assert events.status == "finished"


@pytest.mark.parametrize("path", [SCALARS, TENSORS], ids=["scalars", "tensors"])
def test_an_event_file_that_is_cut_off_keeps_what_came_before(path: Path) -> None:
    data = path.read_bytes()
    whole = repr(read_event_file(data, "x").scalars)
    for end in range(first_record(data), len(data) - 1):
        events = read_event_file(data[:end], "x")
        assert all(
            repr(value) in whole for row in events.scalars.values() for value in row.values()
        )


@given(
    st.integers(first_record(SCALARS.read_bytes()), SCALARS.stat().st_size - 1), st.integers(1, 255)
)
@settings(max_examples=150, deadline=None)
def test_a_damaged_byte_of_an_event_file_is_seen(place: int, change: int) -> None:
    data = bytearray(SCALARS.read_bytes())
    data[place] ^= change
    events = read_event_file(bytes(data), "x")
    assert events.broken_at is not None
    assert events.broken_at <= place


@given(
    st.lists(
        st.tuples(
            st.integers(0, 2**40),
            st.text(min_size=1, max_size=130),
            st.floats(width=32, allow_nan=False),
        ),
        max_size=20,
    )
)
@settings(max_examples=40, deadline=None)
def test_scalars_of_any_tag_and_step_come_back(rows: list[tuple[int, str, float]]) -> None:
    data = VERSION + b"".join(tfrecord(scalar(step, tag, value)) for step, tag, value in rows)
    events = read_event_file(data, "x")
    expected = {(step, tag): value for step, tag, value in rows}
    got = {(s, t): value for s, row in events.scalars.items() for t, (_, value) in row.items()}
    assert got == expected


def test_of_two_values_at_a_step_the_later_counts() -> None:
    late, early = scalar(5, "a", 0.5, wall=9.0), scalar(5, "a", 0.25, wall=2.0)
    for order in ((late, early), (early, late)):
        events = read_event_file(VERSION + b"".join(map(tfrecord, order)), "x")
        assert events.scalars == {5: {"a": (9.0, 0.5)}}


def test_a_step_that_is_not_said_is_0() -> None:
    inside = field(1, b"a") + b"\x15" + struct.pack("<f", 0.5)
    data = VERSION + tfrecord(b"\x09" + struct.pack("<d", 1.0) + field(5, field(1, inside)))
    assert list(read_event_file(data, "x").scalars) == [0]


def crc_bit_by_bit(data: bytes) -> int:
    state = 0xFFFFFFFF
    for byte in data:
        state ^= byte
        for _ in range(8):
            state = (state >> 1) ^ (0x82F63B78 if state & 1 else 0)
    return state ^ 0xFFFFFFFF


@given(
    st.lists(
        st.one_of(st.integers(0, 60), st.integers(4090, 4100), st.integers(8190, 12300)),
        min_size=1,
        max_size=6,
    )
)
@settings(max_examples=8, deadline=None)
def test_crc32c_is_the_definition(lengths: list[int]) -> None:
    content = (np.arange(sum(lengths)) * 7919 % 251).astype(np.uint8)
    ends = np.cumsum(lengths)
    starts = ends - np.array(lengths)
    spans = zip(starts.tolist(), ends.tolist(), strict=True)
    expected = [crc_bit_by_bit(content[start:end].tobytes()) for start, end in spans]
    assert crc32c(content, starts, ends).tolist() == expected


def test_crc32c_of_the_digits_is_the_published_one() -> None:
    digits = np.frombuffer(b"123456789", dtype=np.uint8)
    assert crc32c(digits, np.array([0]), np.array([9])).tolist() == [0xE3069283]


@pytest.mark.parametrize(
    "data", [b"", b"\x00" * 8, b"words, and more of them", VERSION[:-5]], ids=repr
)
def test_another_file_is_no_event_file(data: bytes) -> None:
    with pytest.raises(InputError, match="not an event file"):
        read_event_file(data, "x")


def test_an_event_file_is_known_by_its_first_record() -> None:
    assert is_event_file(SCALARS.read_bytes()[:64])
    assert not is_event_file(b"word" * 20)


@pytest.mark.parametrize(
    "data",
    [b"\x08", b"\x0a\x05ab", b"\x0b\x00", b"\x09\x00", b"\xff" * 12],
    ids=["no value", "too short", "a group", "half a double", "no end"],
)
def test_bytes_that_are_no_message_are_told(data: bytes) -> None:
    with pytest.raises(wire.WireError):
        list(wire.fields(data))
