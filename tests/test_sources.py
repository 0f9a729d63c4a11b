from __future__ import annotations

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
    assert [t.path for t in expand(["."])] == ["a/results.json", "b/results.json"]
    assert not any(t.named for t in expand(["."]))


def test_a_file_named_and_found_counts_once_as_named(tree: Path) -> None:
    targets = expand(["a", "a/results.json"])
    assert [(t.path, t.named) for t in targets] == [("a/results.json", True)]


def test_a_pattern_gives_what_it_matches(tree: Path) -> None:
    assert [t.path for t in expand(["*/results.json"])] == ["a/results.json", "b/results.json"]
    assert [t.path for t in expand(["**/*.txt"])] == ["a/notes.txt"]


def test_standard_input_is_a_dash(tree: Path) -> None:
    assert [(t.path, t.named) for t in expand(["-"])] == [("-", True)]


@pytest.mark.parametrize("path", ["*.yaml", "a/*.csv"])
def test_a_pattern_without_a_match_is_refused(tree: Path, path: str) -> None:
    with pytest.raises(InputError, match="no file matches"):
        expand([path])


def test_a_folder_without_json_is_refused(tree: Path) -> None:
    (tree / "empty").mkdir()
    with pytest.raises(InputError, match="no JSON file"):
        expand(["empty"])


def test_a_missing_file_is_left_to_the_reader_to_refuse(tree: Path) -> None:
    assert [t.path for t in expand(["none.json"])] == ["none.json"]
