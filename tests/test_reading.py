from __future__ import annotations

import hashlib
import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.errors import InputError
from audit.reading import DEEPEST, Defect, Source, parse, parse_strictly, read_plain, read_source


def source(data: bytes | str, name: str = "results.json") -> Source:
    raw = data.encode() if isinstance(data, str) else data
    return Source(name, raw, hashlib.sha256(raw).hexdigest())


def refusal(data: bytes | str) -> InputError:
    with pytest.raises(InputError) as caught:
        parse(source(data))
    return caught.value


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "empty (0 bytes)"),
        (b"  \n\t ", "only white space"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:ab\nsize 3\n", "git lfs pull"),
        (b"PK\x03\x04rest", "zip archive"),
        (b"PAR1rest", "Parquet"),
        (b"\x1f\x8brest", "gzip"),
        (b"\xff\xfe{\x00}\x00", "UTF-16"),
        ('{"a": "é"}'.encode("latin-1"), "not UTF-8: byte 0xe9 at offset 7"),
        (b'{"a": [1, 2', "cut off"),
        (b'{"a": 1}\n{"a": 2}', "more text after the end"),
        (b"{'a': 1}", "not JSON"),
        (b"[" * 100_000, "nested deeper"),
        (b"[" * 100_000 + b"]" * 100_000, "nested deeper"),
        (b"[" * (DEEPEST + 1) + b"]" * (DEEPEST + 1), "nested deeper"),
    ],
)
def test_what_is_not_json_is_named_in_one_line(data: bytes, says: str) -> None:
    message = str(refusal(data))
    assert says in message
    assert message.startswith("results.json")
    assert "\n" not in message


def test_a_syntax_fault_names_line_and_column() -> None:
    error = refusal('{"a": 1,\n "b": ,\n "c": 2}')
    assert (error.line, error.column) == (2, 7)


def test_nesting_up_to_the_limit_is_read() -> None:
    document, defects = parse(source("[" * DEEPEST + "]" * DEEPEST))
    assert not defects
    assert document != []


def test_a_byte_order_mark_is_no_part_of_the_text() -> None:
    assert parse(source(b'\xef\xbb\xbf{"a": 1}')) == ({"a": 1}, ())


@pytest.mark.parametrize(
    ("text", "kind", "shown"),
    [
        ("NaN", "non-finite", "NaN"),
        ("Infinity", "non-finite", "Infinity"),
        ("-Infinity", "non-finite", "-Infinity"),
        ("1e999", "non-finite", "1e999"),
        ("-1e400", "non-finite", "-1e400"),
        ("9007199254740993", "large-integer", "9007199254740993"),
        ("-9007199254740993", "large-integer", "-9007199254740993"),
        ("1" * 10_000, "large-integer", "1" * 37 + "..."),
    ],
)
def test_a_number_no_figure_may_rest_on_is_taken_out(text: str, kind: str, shown: str) -> None:
    document, defects = parse(source(f'{{"a": [0, {{"b": {text}}}]}}'))
    assert document == {"a": [0, {"b": None}]}
    assert defects == (Defect(kind, "/a/1/b", shown),)


@pytest.mark.parametrize("text", ["9007199254740992", "-9007199254740992", "1e308", "0.1", "-0"])
def test_numbers_that_readers_agree_on_stay(text: str) -> None:
    document, defects = parse(source(f"[{text}]"))
    assert document == [json.loads(text)]
    assert defects == ()


def test_duplicate_keys_are_named_once_each_and_the_last_value_stays() -> None:
    document, defects = parse(source('{"a": {"x/y": 1, "x/y": 2, "x/y": 3, "z": 4}}'))
    assert document == {"a": {"x/y": 3, "z": 4}}
    assert defects == (Defect("duplicate-key", "/a/x~1y", "x/y"),)


def test_an_unpaired_surrogate_is_replaced_and_named() -> None:
    document, defects = parse(source(r'{"a": "x\ud83d", "\udc00": 1, "b": "\ud83d\ude00"}'))
    assert document == {"a": "x\ufffd", "\ufffd": 1, "b": "\U0001f600"}
    assert [d.kind for d in defects] == ["unpaired-surrogate", "unpaired-surrogate"]


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8")),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(st.characters(codec="utf-8")), inner, max_size=4)
    ),
    max_leaves=20,
)


@given(JSON)
def test_sound_json_is_read_as_the_standard_library_reads_it(document: Any) -> None:
    for ascii_only in (True, False):
        text = json.dumps(document, ensure_ascii=ascii_only)
        assert parse(source(text)) == (json.loads(text), ())


@given(st.lists(st.tuples(st.sampled_from([*':"\\{}[],a', '":', "a:b"]), st.text(':"\\{}[]'))))
def test_a_repeated_key_is_seen_whatever_the_strings_around_it(
    pairs: list[tuple[str, str]],
) -> None:
    members = ", ".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in pairs)
    document, defects = parse(source(f'[{{"b": {{{members}}}}}]'))
    keys = [key for key, _ in pairs]
    assert document == [{"b": dict(pairs)}]
    assert {defect.text for defect in defects} == {key for key in keys if keys.count(key) > 1}


@given(st.binary(max_size=200))
def test_any_bytes_give_a_document_or_one_line(data: bytes) -> None:
    try:
        parse(source(data))
    except InputError as error:
        assert "\n" not in str(error)  # noqa: PT017 - either outcome is right


def test_the_hash_is_that_of_the_bytes(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    path.write_bytes(b"\xef\xbb\xbf{}\r\n")
    assert read_source(path).sha256 == hashlib.sha256(b"\xef\xbb\xbf{}\r\n").hexdigest()


@pytest.mark.parametrize("path", ["missing.json", ".", "nul\0byte.json", "x" * 300])
def test_what_cannot_be_opened_is_one_line(path: str) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        read_source(path)


def test_a_dash_is_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b'{"a": 1}')))
    read = read_source("-")
    assert (read.name, read.data) == ("<stdin>", b'{"a": 1}')


PLAIN = st.recursive(
    st.sampled_from(["0", "-0", "1", "-1.5", "1e5", "1E-400", "0.12345678901234567", "2.5e-324"])
    | st.sampled_from(["9007199254740992", "9007199254740993", "-12345678901234567890", "1e999"])
    | st.sampled_from(["true", "null", "NaN", '"é"', '"{:[\\""', r'"\ud83d\ude00"', r'"\ud83d"'])
    | st.floats(allow_nan=False, allow_infinity=False).map(repr)
    | st.text(st.characters(codec="utf-8"), max_size=4).map(json.dumps),
    lambda inner: (
        st.lists(inner, max_size=4).map(lambda items: f"[{' , '.join(items)}]")
        | st.lists(st.tuples(st.sampled_from("abcd"), inner), max_size=4).map(
            lambda pairs: "{" + ",\n".join(f'"{key}" : {value}' for key, value in pairs) + "}"
        )
    ),
    max_leaves=25,
)


def strictly(data: bytes) -> tuple[Any, tuple[Defect, ...]] | str:
    """Read by the reader whose words count."""
    try:
        return parse_strictly(source(data))
    except InputError as error:
        return str(error)


def held_to_the_strict_reader(data: bytes) -> bool:
    """Whether the quick reader took these bytes; then it must say what the strict one says."""
    quick = read_plain(data)
    if quick is not None:
        assert repr((quick[0], ())) == repr(strictly(data))  # types, -0.0 and order too
    return quick is not None


@given(PLAIN, st.binary(max_size=3), st.integers(0, 60))
def test_the_quick_reader_says_what_the_strict_one_says_or_nothing(
    text: str, put_in: bytes, place: int
) -> None:
    data = text.encode()
    held_to_the_strict_reader(data)
    held_to_the_strict_reader(data[:place] + put_in + data[place:])


def test_the_quick_reader_takes_sound_files_and_leaves_the_rest(root: Path) -> None:
    for path in [*root.glob("reports/*/results.json"), *root.glob("tests/data/**/*.json")]:
        held_to_the_strict_reader(path.read_bytes())
    for path in root.glob("reports/*/results.json"):
        assert held_to_the_strict_reader(path.read_bytes())


def test_the_quick_reader_says_nothing_else_of_hostile_files() -> None:
    hostile = pytest.importorskip(
        "hostile",
        reason="benchmarks/ is not beside these tests: they run against an installed wheel",
    )
    taken = [held_to_the_strict_reader(data) for _, data in hostile.inputs(80, 3)]
    assert 8 < sum(taken) < 72


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1, "a": 2}',
        '{"a": {"b": []}, "a": 2}',
        '[{"a": 9007199254740993}]',
        "[-9007199254740993]",
        "[12345678901234567890]",
        "9007199254740993",
        "[NaN]",
        "[1e999]",
        r'["\ud83d"]',
        '\ufeff{"a": 1}',
        "[" * (DEEPEST + 1) + "]" * (DEEPEST + 1),
        "[" * 100_000,
    ],
)
def test_the_quick_reader_leaves_what_has_a_defect(text: str) -> None:
    assert read_plain(text.encode()) is None


def test_a_container_that_no_sample_shows_is_read_by_the_strict_reader() -> None:
    rows = [{"a": 1, "b": 2} for _ in range(100)]
    rows[3] = {"a": {"c": 1}, "b": 2}  # type: ignore[dict-item]
    assert read_plain(json.dumps(rows).encode()) is None
    rows[0] = rows[3]
    assert read_plain(json.dumps(rows).encode()) == (rows,)


def test_nesting_up_to_the_limit_is_read_quickly() -> None:
    text = "[" * DEEPEST + "]" * DEEPEST
    assert read_plain(text.encode()) == (json.loads(text),)


@pytest.mark.parametrize("broken", ["", ', "a": 1', ', "b": NaN', ', "c": 9007199254740993'])
def test_a_large_file_says_what_a_small_one_says(broken: str) -> None:
    rows = ", ".join(f'{{"step": {n}, "loss": {n / 7!r}}}' for n in range(20_000))
    text = f'{{"rows": [{rows}], "a": [0, -0.0]{broken}}}'
    assert len(text) > 1 << 19
    document, defects = parse(source(text))
    assert document["rows"][7] == {"step": 7, "loss": 1.0}
    small = f'{{"a": [0, -0.0]{broken}}}'
    assert defects == parse_strictly(source(small))[1]
