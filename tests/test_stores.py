"""Results files by URL: listed, read and judged as local ones are, and no secret is printed."""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from made_fleet import CARRIED, DATA, document, study

from audit import reading, stores
from audit.cli.main import main
from audit.errors import InputError
from audit.outcomes_file import set_beside
from audit.paths import is_url
from audit.policy import Override, Policy
from audit.sources import Search, expand

fsspec = pytest.importorskip("fsspec", reason="fsspec is not installed")
FORMATS = ("text", "json", "markdown", "html", "github", "junit", "sarif")
TREE = (
    *("b/results.json", "a/results.json", "a/notes.txt", "a/data.JSON", "a.json", "c/d/e/x.json"),
    *(".git/x.json", ".venv/y.json", "a/.hidden/z.json", "a/.hidden/deep/z.json", "old.jsonl"),
    *("results", "a/results.json.gz", "__pycache__/m.pyc", "b/__pycache__/results.json"),
)


@pytest.fixture(autouse=True)
def memory() -> Iterator[Any]:
    system = fsspec.filesystem("memory")
    system.store.clear()
    yield system
    system.store.clear()
    system.pseudo_dirs[:] = [""]


def put(url: str, data: bytes) -> None:
    with fsspec.open(url, "wb") as file:
        file.write(data)


def told(search: Search, start: str) -> tuple[list[Any], list[Any]]:
    def below(path: str) -> str:
        return path.removeprefix(start).lstrip("/\\").replace(os.sep, "/")

    targets = [(below(target.path), target.named) for target in search.targets]
    return targets, sorted((below(one.path), one.why) for one in search.passed_over)


@pytest.mark.parametrize(
    "below", ["", "/a", "/*/results.json", "/**/*.json", "/a/.*/*.json", "/a.json", "/none"]
)
@pytest.mark.parametrize("kind", ["memory", "file"])
def test_a_folder_or_pattern_of_a_store_gives_what_a_local_one_gives(
    below: str, kind: str, tmp_path: Path
) -> None:
    top = tmp_path / "top"
    for name in TREE:
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_bytes(b"{}")
        put(f"memory://top/{name}", b"{}")
    start = "memory://top" if kind == "memory" else f"file://{top}"
    ours, theirs = expand([start + below]), expand([str(top) + below])
    assert told(ours, start) == told(theirs, str(top))
    assert all(target.path.startswith(start) for target in ours.targets)


@pytest.mark.parametrize(
    ("below", "said"),
    [
        ("/empty", "no JSON file in this folder; passed over: {start}/empty/.x (a hidden folder)"),
        ("/*.yaml", "no file matches this pattern"),
    ],
)
def test_what_holds_nothing_is_refused_as_a_local_one_is(
    below: str, said: str, tmp_path: Path
) -> None:
    (tmp_path / "empty" / ".x").mkdir(parents=True)
    (tmp_path / "empty" / ".x" / "a.json").write_bytes(b"{}")
    put("memory://top/empty/.x/a.json", b"{}")
    for start in (str(tmp_path), "memory://top"):
        with pytest.raises(InputError) as refused:
            expand([start + below])
        assert refused.value.message == said.format(start=start)


def test_the_gate_prints_of_a_store_what_it_prints_of_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "300")  # a longer name breaks no line
    for sample in DATA.glob("*.json"):
        study(tmp_path, sample.stem, sample)
    (tmp_path / "cut.json").write_text('{"schema_version": 2, "method": "m', "utf-8")
    (tmp_path / "other.json").write_text("{}", "utf-8")
    for file in tmp_path.rglob("*.json"):
        put(f"memory://there/{file.relative_to(tmp_path).as_posix()}", file.read_bytes())
    made = []
    for number, start in enumerate((tmp_path.as_posix(), "memory://there")):
        out = tmp_path / f"out{number}"
        out.mkdir()
        also = [word for name in FORMATS for word in ("--also", f"{name}={out / name}")]
        status = main(["gate", start, *also, "-j", "1"])
        texts = [(out / name).read_text("utf-8") for name in FORMATS]
        texts += [*capsys.readouterr()]
        made.append((status, [_without_start(text, start) for text in texts]))
    assert made[0] == made[1]


def _without_start(text: str, start: str) -> str:
    escaped = start.replace(":", "&#58;").replace("_", "&#95;")
    for form in (f"file://{start}", start, escaped, start.replace(":", "%3A")):
        text = text.replace(form, "START")
    return text


def test_verify_and_the_library_read_a_url(capsys: pytest.CaptureFixture[str]) -> None:
    import audit

    put("memory://there/full/results.json", CARRIED.read_bytes())
    url = "memory://there/full/results.json"
    assert main(["verify", url]) == 0
    assert capsys.readouterr().out.startswith(url)
    assert audit.load(url).document == document(CARRIED)


def test_outcomes_beside_a_file_in_a_store_are_read_there(
    capsys: pytest.CaptureFixture[str],
) -> None:
    named, files, _ = set_beside(document(CARRIED), "results.outcomes")
    put("memory://there/results.json", json.dumps(named).encode())
    first = min(files)
    for name in files:
        put(f"memory://there/{name}", files[name])
    assert main(["gate", "memory://there/results.json"]) == 0
    fsspec.filesystem("memory").rm(f"/there/{first}")
    assert main(["gate", "memory://there/results.json"]) == 2
    assert "is missing" in capsys.readouterr().err


def test_a_cache_serves_a_store_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("AUDIT_CACHE_KEY", "a key of these tests alone")
    put("memory://there/results.json", CARRIED.read_bytes())
    words = ["gate", "memory://there", "--cache", str(tmp_path / "cache")]
    assert main(words) == 0
    fresh = capsys.readouterr()
    monkeypatch.setattr("audit.fleet.judging.Judge.__call__", None)  # nothing is judged again
    assert main(words) == 0
    assert capsys.readouterr() == fresh


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("memory://none.json", "memory://none.json: cannot be read: No such file or directory"),
        ("foo://x.json", "foo://x.json: cannot be read: Protocol not known: foo"),
        ("zip://a.json::memory://b", "zip://a.json::memory://b: a chain of URLs is not read"),
        ("s3://key:hunter2@b/x.json", "s3://b/x.json: may carry a secret"),
        ("https://u:hunter2@h/x.json", "https://h/x.json: may carry a secret"),
        ("https://h/x.json?sig=hunter2", "https://h/x.json: may carry a secret"),
        ("https://hunter2@h/x.json", "https://h/x.json: may carry a secret"),
    ],
)
def test_what_cannot_be_read_is_one_line_with_the_url_and_no_secret(
    url: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for command in ("gate", "verify"):
        assert main([command, url]) == 2
        out, err = capsys.readouterr()
        assert err.startswith(f"audit: {said}")
        assert err.count("\n") == 1
        assert "hunter2" not in out + err


def test_without_a_package_the_line_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for package, url in (("s3fs", "s3://b/x"), ("gcsfs", "gs://b/x"), ("aiohttp", "http://h/x")):
        monkeypatch.setitem(sys.modules, package, None)
        main(["gate", url])
        said = f"audit: {url}: {url.partition('/')[0]}// needs {package}: pip install {package}\n"
        assert capsys.readouterr().err == said
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    main(["gate", "gs://b/x"])
    said = "audit: gs://b/x: gs:// needs fsspec: pip install 'recipe-audit[remote]'\n"
    assert capsys.readouterr().err == said


def test_an_object_of_more_than_the_limit_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    put("memory://there/large.json", b" " * 101)
    monkeypatch.setattr(reading, "LARGEST_FILE_BYTES", 100)
    with pytest.raises(InputError, match="larger than 1 GiB, the most that is read"):
        reading.read_source("memory://there/large.json")
    put("memory://there/large.json", b" " * 100)
    assert len(reading.read_source("memory://there/large.json").data) == 100


class Refusing(io.BytesIO):
    def read(self, size: int | None = -1) -> bytes:
        raise ConnectionError("the\nnetwork is down")


def test_what_a_store_raises_while_it_is_read_is_one_line(
    memory: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    put("memory://x.json", b"{}")
    monkeypatch.setattr(type(memory), "open", lambda *_, **__: Refusing())
    with pytest.raises(InputError) as refused:
        reading.read_source("memory://x.json")
    assert str(refused.value) == "memory://x.json: cannot be read: the network is down"


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("s3://bucket/x.json", True),
        ("HF://datasets/a/b.json", True),
        ("C:\\studies\\results.json", False),
        ("C://studies/results.json", False),
        ("C:/x", False),
        ("reports/s3://x", False),
        ("main:reports", False),
        ("-", False),
        ("://x", False),
    ],
)
def test_a_drive_of_windows_is_no_store(path: str, expected: bool) -> None:
    assert is_url(path) is expected


def test_a_policy_names_objects_by_their_urls() -> None:
    policy = Policy(overrides=(Override(("memory://pilots/*",), {"min_seeds": 2}),))
    assert policy.for_path("memory://pilots/a/results.json").min_seeds == 2
    assert policy.for_path("memory://others/results.json").min_seeds == 3


def test_a_name_with_magic_in_it_is_that_very_object() -> None:
    put("memory://there/a[1].json", b"{}")
    put("memory://there/a1.json", b"{}")
    assert [t.path for t in expand(["memory://there/a[1].json"]).targets] == [
        "memory://there/a[1].json"
    ]
    assert stores.kind_of("memory://there") == "directory"
