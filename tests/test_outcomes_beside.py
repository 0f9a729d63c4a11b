"""Outcomes beside a results file: read as if they stood in it, strictly, and written whole."""

from __future__ import annotations

import copy
import hashlib
import json
import os
import runpy
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_fleet import commit, repository

import audit
from audit import outcome_columns, writing
from audit.cli.main import main
from audit.errors import InputError
from audit.outcome_columns import COLUMNS, Known, NotExactError, packed, unpacked
from audit.outcomes_file import block_of, set_beside, with_blocks
from audit.results import load

HERE = Path(__file__).resolve().parent
BESIDE = HERE / "data" / "beside"
COMMITTED = sorted((*HERE.glob("data/**/*.json"), *HERE.parent.glob("reports/**/*.json")))
Document = dict[str, Any]


def study() -> Document:
    """Return the study of ``data/beside`` with its lists in it."""
    made: Document = runpy.run_path(str(BESIDE / "make_beside.py"))["study"]()
    return made


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Return a copy of the results file of ``data/beside``, with its outcomes beside it."""
    shutil.copytree(BESIDE, tmp_path / "study")
    return tmp_path / "study" / "results.json"


def written(path: Path, document: Document) -> str:
    path.write_text(json.dumps(document), encoding="utf-8")
    return str(path)


def said(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    status = main(arguments)
    out, err = capsys.readouterr()
    return status, out, err


def judged(path: Path, capsys: pytest.CaptureFixture[str]) -> Document:
    """Return what ``verify --format json`` says, but for the file's name, hash and lines."""
    _, out, _ = said(["verify", str(path), "--format", "json"], capsys)
    (found,) = json.loads(out.replace(str(path), "FILE"))["files"]
    found.pop("sha256")
    for finding in (*found.get("findings", ()), *found.get("waived", ())):
        finding.pop("line")
        finding.pop("column")
    answer: Document = found
    return answer


def results_files() -> list[Path]:
    found = []
    for path in COMMITTED:
        try:
            load(path)
        except InputError:
            continue
        found.append(path)
    return found


# ---- one study in two forms


def test_the_committed_sample_is_what_its_script_makes() -> None:
    assert load(BESIDE / "results.json").usable == study()


@pytest.mark.parametrize("path", results_files(), ids=lambda p: str(p.relative_to(HERE.parent)))
def test_verify_says_the_same_of_outcomes_in_a_file_and_beside_it(
    path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    beside, again = tmp_path / "beside.json", tmp_path / "again.json"
    assert main(["export", str(path), "--to", "parquet", "-o", str(beside)]) == 0
    assert main(["export", str(beside), "--to", "json", "-o", str(again)]) == 0
    capsys.readouterr()
    one, other = load(path), load(again)
    assert other.document == (one.document if not one.beside else one.usable)
    assert judged(beside, capsys) == judged(path, capsys) == judged(again, capsys)


def test_the_document_names_the_files_and_the_typed_view_has_the_lists(file: Path) -> None:
    results = load(file)
    block = results.document["seed_results"][0]["evaluation"]
    assert block["outcomes"]["rows"] == 40
    assert "correct" not in block
    first, *others = (run.evaluations[0].document for run in results.runs)
    assert "outcomes" not in first
    assert all(other["task_ids"] is first["task_ids"] for other in others)


def test_a_table_of_tasks_is_the_same_in_both_forms(file: Path) -> None:
    beside, inside = load(file).to_frame("tasks"), audit.load(study()).to_frame("tasks")
    assert len(beside) == 240
    assert beside.equals(inside)


def test_pages_comparisons_and_statements_read_outcomes_beside_a_file(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    inside = written(file.with_name("inside.json"), study())
    assert said(["compare", inside, str(file)], capsys)[1] == "nothing changed\n"
    other = study()
    other["seed_results"][0]["evaluation"]["correct"][3] ^= 1
    assert main(["export", written(tmp_path / "other.json", other), "--to", "parquet"]) == 2
    changed = tmp_path / "changed.json"
    main(["export", str(tmp_path / "other.json"), "--to", "parquet", "-o", str(changed)])
    capsys.readouterr()
    assert "made-up" in said(["compare", str(file), str(changed)], capsys)[1]
    assert said(["next", inside], capsys)[1] == said(["next", str(file)], capsys)[1]
    pages = []
    for name in (inside, str(file)):
        page = tmp_path / "page.html"
        assert main(["render", name, "-o", str(page), "--force"]) == 0
        digest = load(name).sha256
        pages.append(page.read_text("utf-8").replace(digest, "").replace(digest[:12], ""))
    assert pages[0].replace("inside.json", "results.json") == pages[1]
    statement = file.with_name("results.intoto.json")
    assert main(["export", str(file), "--to", "attestation", "-o", str(statement)]) == 0
    assert main(["verify", str(statement)]) == 0


# ---- what is refused


def sidecar(file: Path) -> Path:
    """Return the outcomes of the first run."""
    block = json.loads(file.read_text("utf-8"))["seed_results"][0]["evaluation"]["outcomes"]
    return file.parent / str(block["path"])


def other_columns(
    file: Path, change: Callable[[pa.Table], pa.Table], rows: int = 40, **written_as: Any
) -> None:
    """Rewrite the first run's outcomes, their hash in the results file put right."""
    path = sidecar(file)
    pq.write_table(change(pq.read_table(path)), path, **written_as)
    _said_of(file, sha256=hashlib.sha256(path.read_bytes()).hexdigest(), rows=rows)


def _said_of(file: Path, **said: Any) -> None:
    document = json.loads(file.read_text("utf-8"))
    document["seed_results"][0]["evaluation"]["outcomes"] |= said
    written(file, document)


def column(name: str, values: list[Any], kind: pa.DataType | None = None) -> Any:
    def change(table: pa.Table) -> pa.Table:
        place = table.column_names.index(name)
        return table.set_column(place, name, pa.array(values, kind))

    return change


FAULTS: list[tuple[str, Callable[[Path], object], str]] = [
    ("missing", lambda f: sidecar(f).unlink(), "is missing"),
    ("changed", lambda f: sidecar(f).write_bytes(b"PAR1"), "has changed: its SHA-256 begins"),
    ("folder", lambda f: _said_of(f, path="results.outcomes"), "is no ordinary file"),
    ("absolute", lambda f: _said_of(f, path=str(sidecar(f))), "is an absolute path"),
    ("above", lambda f: _said_of(f, path="../study/results.json"), "leaves the folder"),
    ("dots", lambda f: _said_of(f, path="results.outcomes/./a.parquet"), "leaves the folder"),
    ("drive", lambda f: _said_of(f, path="C:/a.parquet"), "is no path of names joined by /"),
    ("backslash", lambda f: _said_of(f, path="a\\b.parquet"), "is no path of names"),
    ("null byte", lambda f: _said_of(f, path="a\0b"), "is no path of names"),
    ("rows", lambda f: _said_of(f, rows=41), "has 40 rows, the block says 41"),
    ("no Parquet", lambda f: _no_parquet(f), "not readable as Parquet"),
    (
        "other column",
        lambda f: other_columns(f, lambda t: t.append_column("right", t.column("correct"))),
        "column 'right' is none of task, cluster, correct",
    ),
    (
        "twice",
        lambda f: other_columns(f, lambda t: t.append_column("correct", t.column("correct"))),
        "column 'correct' is there twice",
    ),
    (
        "fractions",
        lambda f: other_columns(f, column("correct", [0.5] * 40)),
        "column 'correct' holds double, expected integers",
    ),
    (
        "truths",
        lambda f: other_columns(f, column("correct", [True] * 40)),
        "column 'correct' holds bool, expected integers",
    ),
    (
        "texts",
        lambda f: other_columns(f, column("mean_tokens", ["1"] * 40)),
        "column 'mean_tokens' holds string, expected numbers",
    ),
    (
        "bytes",
        lambda f: other_columns(f, column("task", [b"\xff"] * 40)),
        "column 'task' holds binary, expected text or integers",
    ),
    (
        "numbers for ids",
        lambda f: other_columns(f, column("task", [0.5] * 40)),
        "column 'task' holds double, expected text or integers",
    ),
    (
        "empty",
        lambda f: other_columns(f, column("samples", [4] * 38 + [None] * 2)),
        "column 'samples' has 2 empty values",
    ),
    (
        "empty id",
        lambda f: other_columns(f, column("task", ["a"] * 39 + [None])),
        "column 'task' has 1 empty value",
    ),
    (
        "negative",
        lambda f: other_columns(f, column("samples", [-1] * 40)),
        "column 'samples' has a negative value",
    ),
    (
        "not finite",
        lambda f: other_columns(f, column("mean_tokens", [float("nan")] * 40)),
        "column 'mean_tokens' has a value that is not finite",
    ),
    (
        "large",
        lambda f: other_columns(f, column("samples", [2**53 + 1] * 40)),
        "column 'samples' has an integer beyond 2^53",
    ),
    (
        "not fetched",
        lambda f: sidecar(f).write_bytes(b"version https://git-lfs.github.com/spec/v1\n"),
        "a Git LFS pointer, the file itself was not fetched; run `git lfs pull`",
    ),
    (
        "texts by what they add",
        lambda f: other_columns(
            f, lambda t: t, use_dictionary=False, column_encoding={"task": "DELTA_BYTE_ARRAY"}
        ),
        "column 'task' is encoded as DELTA_BYTE_ARRAY, expected PLAIN",
    ),
    (
        "a repeated row",
        lambda f: other_columns(f, lambda t: pa.concat_tables([t, t.slice(0, 1)])),
        "has 41 rows, the block says 40",
    ),
]


def _no_parquet(file: Path) -> None:
    sidecar(file).write_bytes(b"PAR1 no more")
    _said_of(file, sha256=hashlib.sha256(b"PAR1 no more").hexdigest())


@pytest.mark.parametrize(("spoil", "why"), [f[1:] for f in FAULTS], ids=[f[0] for f in FAULTS])
def test_one_line_names_the_block_the_file_and_the_fault(
    spoil: Callable[[Path], object],
    why: str,
    file: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    spoil(file)
    status, out, err = said(["verify", str(file)], capsys)
    assert (status, out) == (2, "")
    assert err.startswith(f"audit: {file} /seed_results/0/evaluation/outcomes: ")
    assert why in err
    assert err.count("\n") == 1


def test_a_link_out_of_the_folder_is_refused_and_one_within_it_is_read(file: Path) -> None:
    path = sidecar(file)
    inner = path.with_name("inner.parquet")
    path.rename(inner)
    path.symlink_to(inner)
    assert load(file).usable == study()
    path.unlink()
    outside = inner.rename(file.parent.parent / "outside.parquet")
    path.symlink_to(outside)
    with pytest.raises(InputError, match="is a link out of the folder"):
        load(file)


def test_lists_beside_their_own_outcomes_are_refused(file: Path) -> None:
    document = json.loads(file.read_text("utf-8"))
    document["seed_results"][0]["evaluation"]["samples"] = [4] * 40
    written(file, document)
    with pytest.raises(InputError, match="the block has samples of its own"):
        load(file)


def test_rows_written_as_a_decimal_are_read_as_the_schema_takes_them(file: Path) -> None:
    _said_of(file, rows=40.0)
    assert load(file).usable == study()
    _said_of(file, rows=41.0)
    with pytest.raises(InputError, match="has 40 rows, the block says 41"):
        load(file)


def test_what_all_files_of_a_study_unpack_to_is_limited(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocks = load(file).beside.values()
    largest = max(8 * 40 * len(lists) for lists in blocks)
    monkeypatch.setattr(outcome_columns, "LARGEST_FILE_BYTES", 3 * largest)
    with pytest.raises(InputError, match="unpacks, with those before it, to more than 1 GiB"):
        load(file)
    monkeypatch.setattr(outcome_columns, "LARGEST_FILE_BYTES", 30 * largest)
    assert load(file).usable == study()


def test_outcomes_that_break_the_schema_are_a_finding(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _said_of(file, format="csv")
    status, out, _ = said(["verify", str(file), "--format", "json"], capsys)
    assert status == 1
    errors = [f for f in json.loads(out)["files"][0]["findings"] if f["severity"] == "error"]
    place = "/seed_results/0/evaluation/outcomes/format"
    assert ("SCHEMA001", place) in {(found["rule"], found["pointer"]) for found in errors}


def test_a_document_without_a_folder_cannot_have_outcomes_beside_it(file: Path) -> None:
    document = json.loads(file.read_text("utf-8"))
    with pytest.raises(InputError, match="lies beside a file, and what was read here is none"):
        audit.load(document)


def test_without_pyarrow_one_line_says_how_to_install_it(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "pyarrow"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    status, _, err = said(["verify", str(file)], capsys)
    assert status == 2
    assert "outcomes in Parquet need `pip install recipe-audit[parquet]`" in err
    inside = written(file.with_name("inside.json"), study())
    out = file.with_name("out.json")
    assert main(["export", inside, "--to", "parquet", "-o", str(out)]) == 2
    assert not out.exists()
    assert not out.with_suffix(".outcomes").exists()


# ---- lists become columns, and columns lists


LABELS: st.SearchStrategy[st.SearchStrategy[Any]] = st.sampled_from(
    [st.text(st.characters(exclude_categories=["Cs"])), st.integers(-(2**53), 2**53)]
)
COUNTS = st.integers(0, 2**53)
NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
LENGTHS = st.floats(0, allow_nan=False, allow_infinity=False)


@st.composite
def some_lists(draw: st.DrawFn) -> dict[str, list[Any]]:
    size = draw(st.integers(1, 20))
    kinds = dict.fromkeys(COLUMNS, COUNTS) | {"scores": NUMBERS}
    kinds |= {"mean_tokens": LENGTHS, "mean_seconds": LENGTHS}
    kinds |= {name: draw(LABELS) for name in ("task_ids", "clusters")}
    names = draw(st.lists(st.sampled_from(sorted(kinds)), min_size=1, unique=True))
    return {
        name: draw(st.lists(kinds[name], min_size=size, max_size=size)) for name in sorted(names)
    }


@given(some_lists())
def test_columns_hold_lists_exactly(lists: dict[str, list[Any]]) -> None:
    data = packed(lists)
    assert packed(copy.deepcopy(lists)) == data
    size = len(next(iter(lists.values())))
    found = unpacked(data, size, Known())
    assert found == lists
    assert {n: [*map(type, v)] for n, v in found.items()} == {
        name: [*map(type, values)] for name, values in lists.items()
    }


@pytest.mark.parametrize(
    ("lists", "why"),
    [
        ({"task_ids": ["a", 1], "correct": [1, 1]}, "task_ids holds values of more than one type"),
        ({"task_ids": ["a"], "correct": [1, 1]}, "its lists differ in length"),
        ({"correct": [1, 0.5]}, "correct holds a number with a fraction"),
        ({"correct": [1, None]}, "correct holds values of more than one type"),
        ({"correct": [True]}, "correct holds values of more than one type"),
        ({"correct": [-1]}, "correct has a negative value"),
        ({"correct": "ab"}, "correct is no list"),
        ({"correct": 3}, "correct is no list"),
        ({"correct": [2**53 + 2]}, "correct has an integer beyond 2"),
        ({"task_ids": ["\ud800"]}, "task_ids is no list of texts"),
    ],
)
def test_what_no_column_holds_stays_in_its_block(lists: dict[str, Any], why: str) -> None:
    with pytest.raises(NotExactError, match=why):
        packed(lists)
    document = {"seed_results": [{"seed": 1, "evaluation": {"benchmark": "b", **lists}}]}
    whole, files, kept = set_beside(document, "r.outcomes")
    assert (whole, files) == (document, {})
    assert kept[0].startswith("/seed_results/0/evaluation: ")


def test_every_place_of_an_evaluation_is_visited_once() -> None:
    runs = [{"evaluation": {}, "evaluations": [{}, {}, 3]}, 7, {"evaluations": "no"}]
    document = {
        "seed_results": runs,
        "controls": {"a/b": {"seed_results": runs}, "odd": None},
        "base_evaluations": [{"evaluation": {}}, {"evaluations": [{}]}],
    }
    seen: list[str] = []

    def note(pointer: str, block: Document) -> Document:
        seen.append(pointer)
        return block

    assert with_blocks(document, note) == document
    own = ["/evaluation", "/evaluations/0", "/evaluations/1"]
    assert seen == [
        *(f"/seed_results/0{place}" for place in own),
        *(f"/controls/a~1b/seed_results/0{place}" for place in own),
        "/base_evaluations/0/evaluation",
        "/base_evaluations/1/evaluations/0",
    ]


def test_ids_in_several_groups_of_rows_and_dictionaries_are_read(file: Path) -> None:
    path = sidecar(file)
    table = pq.read_table(path)
    pq.write_table(table, path, row_group_size=7, use_dictionary=True)
    _said_of(file, sha256=hashlib.sha256(path.read_bytes()).hexdigest())
    assert load(file).usable == study()


# ---- writing


ROWS = [
    f"{arm},{seed},t{task},{int((task * 7 + seed + ord(arm)) % 5 > 1)}"
    for arm in "ab"
    for seed in (1, 2, 3)
    for task in range(12)
]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "rows.csv"
    path.write_text("\n".join(["arm,train_seed,task,correct", *ROWS]), "utf-8")
    return path


def imported(table: Path, *words: object) -> int:
    return main(["import", "long-table", str(table), "-q", "--control", "a", *map(str, words)])


def below(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def test_an_import_writes_outcomes_beside_the_file_the_same_each_time(
    table: Path, tmp_path: Path
) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        assert imported(table, "--outcomes", "beside", "-o", tmp_path / name / "results.json") == 0
    first = below(tmp_path / "one")
    assert len(first) == 7
    assert first == below(tmp_path / "two")
    assert imported(table, "-o", tmp_path / "inline.json") == 0
    assert load(tmp_path / "one" / "results.json").usable == load(tmp_path / "inline.json").document


def test_outcomes_beside_need_a_file_to_lie_beside(
    table: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert imported(table, "--outcomes", "beside") == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "-o FILE" in err


def test_a_second_import_writes_over_no_outcomes_and_names_what_it_left(
    table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    results = tmp_path / "results.json"
    words = ["import", "long-table", str(table), "--control", "a", "--outcomes", "beside"]
    words += ["-o", str(results)]
    assert main([*words, "--claim", "gain accuracy b over a"]) == 0
    before = below(tmp_path / "results.outcomes")
    table.write_text(table.read_text("utf-8").replace("t3,1", "t3,0"), "utf-8")
    capsys.readouterr()
    assert main(words) == 0
    err = capsys.readouterr().err
    after = below(tmp_path / "results.outcomes")
    assert before.items() <= after.items()
    assert len(after) > len(before)
    assert f"note: kept from {results}: 1 claim" in err
    assert f"{results} no longer names results.outcomes/" in err
    assert load(results).document["claims"]


def test_a_file_of_others_in_the_place_of_outcomes_is_kept(table: Path, tmp_path: Path) -> None:
    results = tmp_path / "results.json"
    assert imported(table, "--outcomes", "beside", "-o", results) == 0
    taken = next((tmp_path / "results.outcomes").iterdir())
    taken.write_bytes(b"mine")
    results.unlink()
    before = below(tmp_path)
    assert imported(table, "--outcomes", "beside", "-o", results) == 2
    assert below(tmp_path) == before


@pytest.mark.parametrize("failing", [0, 3, 6])
def test_where_one_file_cannot_be_written_none_is(
    failing: int, table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = below(tmp_path)
    put, calls = writing._put, iter(range(100))

    def full_disk(part: Path, data: bytes, target: Path) -> None:
        if next(calls) == failing:
            raise OSError(28, "No space left on device")
        put(part, data, target)

    monkeypatch.setattr(writing, "_put", full_disk)
    assert imported(table, "--outcomes", "beside", "-o", tmp_path / "results.json") == 2
    assert below(tmp_path) == before
    assert not (tmp_path / "results.outcomes").exists()


def test_an_import_of_a_folder_passes_over_the_outcomes_beside_a_results_file(
    tmp_path: Path,
) -> None:
    for arm, seed in ((arm, seed) for arm in "ab" for seed in (1, 2)):
        path = tmp_path / arm / f"seed{seed}" / "eval.csv"
        path.parent.mkdir(parents=True)
        rows = [f"t{task},{int(task < 3 * seed + ord(arm) % 3)}" for task in range(12)]
        path.write_text("\n".join(["task,correct", *rows]), "utf-8")
    words = ["import", str(tmp_path), "--seed-from", "path", "--control", "a"]
    words += ["--outcomes", "beside", "-o", str(tmp_path / "results.json")]
    assert main(words) == 0
    first = load(tmp_path / "results.json")
    assert len(first.beside) == 4
    assert main(words) == 0
    again = load(tmp_path / "results.json")
    assert again.document["seed_results"] == first.document["seed_results"]
    assert again.document["controls"] == first.document["controls"]


def test_an_export_refuses_what_its_text_would_lose(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "nan.json"
    path.write_text(json.dumps(study()).replace("101.5", "NaN"), encoding="utf-8")
    out = tmp_path / "out.json"
    assert main(["export", str(path), "--to", "parquet", "-o", str(out)]) == 2
    assert "non-finite NaN would be lost" in capsys.readouterr().err
    assert not out.exists()


def test_a_linked_folder_is_not_written_into(file: Path, tmp_path: Path) -> None:
    inside = written(tmp_path / "inside.json", study())
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "out.outcomes").symlink_to(tmp_path / "elsewhere")
    out = str(tmp_path / "out.json")
    assert main(["export", inside, "--to", "parquet", "-o", out]) == 2
    assert not os.listdir(tmp_path / "elsewhere")  # noqa: PTH208


# ---- git


@pytest.fixture
def committed(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    top = repository(tmp_path / "work", {})
    shutil.move(file.parent, top / "study")
    monkeypatch.chdir(top)
    commit(top, "study")
    return top / "study" / "results.json"


def test_a_revision_is_read_with_the_outcomes_it_had(
    committed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    changed = study()
    changed["seed_results"][0]["evaluation"]["correct"][0] ^= 1
    inside = written(committed.parent.parent.parent / "changed.json", changed)
    words = ["export", inside, "--to", "parquet", "-o", str(committed), "--force"]
    assert main(words) == 0
    shutil.rmtree(committed.parent / "results.outcomes")
    assert main(words) == 0  # the outcomes of the first commit are in git alone
    commit(committed.parent.parent, "changed")
    capsys.readouterr()
    status, out, _ = said(["compare", "HEAD~1:study/results.json", str(committed)], capsys)
    assert "score changed" in out
    assert status in (0, 1)
    status, out, _ = said(["compare", "HEAD~1:study", "HEAD:study", "--format", "json"], capsys)
    assert "scores" in out


def test_outcomes_that_no_commit_holds_are_missing_at_a_revision(
    committed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = sidecar(committed).rename(committed.parent / "kept")
    commit(committed.parent.parent, "without")
    kept.rename(sidecar(committed))
    status, _, err = said(["compare", "HEAD:study/results.json", str(committed)], capsys)
    assert status == 2
    assert "is not there at commit" in err


@pytest.mark.parametrize("act", ["changed", "removed", "moved away", "behind a link"])
def test_a_branch_that_changes_only_outcomes_has_their_study_judged(
    act: str, committed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = sidecar(committed)
    if act == "changed":
        path.write_bytes(path.read_bytes() + b"\n")
    elif act == "moved away":
        path.rename(committed.parent / "kept.parquet")
    elif act == "behind a link":
        path.parent.rename(committed.parent.parent / "elsewhere")
        path.parent.symlink_to(committed.parent.parent / "elsewhere")
    else:
        path.unlink()
    written(committed.parent / "other.json", {**study(), "method": "other"})
    commit(committed.parent.parent, "others")
    words = ["gate", ".", "--changed-since", "HEAD~1", "--format", "json"]
    status, out, _ = said(words, capsys)
    assert status == 2
    named = {row["path"] for row in json.loads(out)["rows"]}
    assert "study/results.json" in named


def test_a_block_that_names_a_file_is_made_from_its_bytes() -> None:
    data = packed({"correct": [1, 0]})
    block = block_of("r.outcomes/a.parquet", data, 2)
    assert block["sha256"] == hashlib.sha256(data).hexdigest()
    assert unpacked(data, block["rows"], Known()) == {"correct": [1, 0]}
