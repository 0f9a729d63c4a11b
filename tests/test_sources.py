from __future__ import annotations

import os
from pathlib import Path

import pytest

from audit.errors import InputError
from audit.sources import expand


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("b/results.json", "a/results.json", "a/notes.txt", ".git/x.json", ".venv/y.json"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_folder_gives_its_json_files_in_order_without_hidden_folders(tree: Path) -> None:
    assert [t.path for t in expand(["."]).targets] == ["a/results.json", "b/results.json"]
    assert not any(t.named for t in expand(["."]).targets)


def test_a_file_named_and_found_counts_once_as_named(tree: Path) -> None:
    targets = expand(["a", "a/results.json"]).targets
    assert [(t.path, t.named) for t in targets] == [("a/results.json", True)]


def test_a_pattern_gives_what_it_matches(tree: Path) -> None:
    assert [t.path for t in expand(["*/results.json"]).targets] == [
        "a/results.json",
        "b/results.json",
    ]
    assert [t.path for t in expand(["**/*.txt"]).targets] == ["a/notes.txt"]


def test_standard_input_is_a_dash(tree: Path) -> None:
    assert [(t.path, t.named) for t in expand(["-"]).targets] == [("-", True)]


@pytest.mark.parametrize("path", ["*.yaml", "a/*.csv"])
def test_a_pattern_without_a_match_is_refused(tree: Path, path: str) -> None:
    with pytest.raises(InputError, match="no file matches"):
        expand([path])


def test_a_folder_without_json_is_refused(tree: Path) -> None:
    (tree / "empty").mkdir()
    with pytest.raises(InputError, match="no JSON file"):
        expand(["empty"])


def test_a_missing_file_is_left_to_the_reader_to_refuse(tree: Path) -> None:
    assert [t.path for t in expand(["none.json"]).targets] == ["none.json"]


def test_what_a_folder_holds_beside_is_named_with_the_reason(tree: Path) -> None:
    (tree / "a" / "data.JSON").write_text("{}")
    (tree / "a" / "results.jsonl").write_text("{}")
    (tree / "a" / "results").write_text("{}")
    (tree / "a" / "study").write_text('{"method": "m", "schema_version": 2}')
    (tree / "a" / "old.json.txt").write_text('\ufeff {"seed_results": []}', "utf-8")
    (tree / "a" / "weights.bin").write_bytes(b"\x00" * 10)
    (tree / ".hidden").mkdir()
    (tree / "__pycache__").mkdir()
    (tree / "b" / "__pycache__").mkdir()
    (tree / "b" / "__pycache__" / "x.pyc").write_bytes(b"")
    (tree / "__pycache__" / "results.json").write_text("{}")
    (tree / "linked").symlink_to(tree / "b", target_is_directory=True)
    found = expand(["."])
    paths = [target.path for target in found.targets]
    assert paths == ["a/data.JSON", "a/results.json", "b/results.json"]
    assert {passed.path: passed.why for passed in found.passed_over} == {
        ".hidden": "a hidden folder",
        ".venv": "no folder of results",
        "linked": "a linked folder; name it to have it read",
        "a/results": "its name does not end in .json",
        "a/results.jsonl": "its name does not end in .json",
        "a/study": "its name does not end in .json",
        "a/old.json.txt": "its name does not end in .json",
        "__pycache__": "no folder of results",
    }
    assert [target.path for target in expand(["linked"]).targets] == ["linked/results.json"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes are of POSIX")
def test_a_pipe_in_a_folder_is_named_and_never_opened(tree: Path) -> None:
    os.mkfifo(tree / "a" / "waits.json")
    found = expand(["a"])
    assert [t.path for t in found.targets] == ["a/results.json"]
    assert [passed.path for passed in found.passed_over] == ["a/waits.json"]
