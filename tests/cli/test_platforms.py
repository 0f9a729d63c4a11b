"""What other systems do, played here: slashes, code pages, line ends, long names, terminals."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from made_fleet import CARRIED, ONE_SEED, study

from audit.cli.main import main
from audit.policy import Override, Policy, read_policy


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        (r"reports\*\results.json", "reports/a/results.json"),
        ("reports/*/results.json", r"reports\a\results.json"),
        (r"reports\*", r"reports\a\results.json"),
        ("reports/*", "./reports/a/results.json"),
        (r"C:\runs\*", r"C:\runs\a.json"),
    ],
)
def test_an_override_matches_whichever_way_the_slashes_lean(pattern: str, path: str) -> None:
    policy = Policy(overrides=(Override((pattern,), {"min_seeds": 7}),))
    assert policy.for_path(path).min_seeds == 7
    assert policy.for_path("elsewhere/results.json").min_seeds == 3


def test_a_policy_written_on_windows_is_read(tmp_path: Path) -> None:
    path = tmp_path / "audit.toml"
    text = "\ufeffmin_seeds = 5\r\n[[overrides]]\r\npaths = ['reports\\a\\*']\r\nmargin = 0.1\r\n"
    path.write_bytes(text.encode())
    policy = read_policy(path)
    assert policy.min_seeds == 5
    assert policy.for_path("reports/a/results.json").margin == 0.1


def test_line_ends_change_nothing_but_the_hash(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = []
    for name, end in (("unix", b"\n"), ("windows", b"\r\n"), ("mac", b"\r")):
        path = study(tmp_path / name, "same", ONE_SEED)
        path.write_bytes(path.read_bytes().replace(b"\r\n", b"\n").replace(b"\n", end))
        status = main(["verify", str(path), "--format", "json"])
        # Commands name the file, and its folder is another one each time.
        (file,) = json.loads(capsys.readouterr().out.replace(f"/{name}/", "/"))["files"]
        found = [(f["rule"], f["pointer"], f["message"]) for f in file["findings"]]
        shown.append((status, found, file["verdicts"]))
    assert shown[0] == shown[1] == shown[2]


def printed(*arguments: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    import audit

    (home,) = audit.__path__
    return subprocess.run(
        [sys.executable, "-m", "audit", *arguments],
        env=os.environ | {"PYTHONPATH": str(Path(home).parent)} | environment,
        capture_output=True,
        check=False,
    )


@pytest.mark.parametrize("encoding", ["cp1252", "ascii", "cp437", "utf-16"])
def test_the_output_to_a_file_is_utf_8_whatever_the_code_page(
    encoding: str, tmp_path: Path
) -> None:
    path = study(tmp_path, "\u4e00\u2192", CARRIED)
    plain = printed("verify", str(path))
    coded = printed("verify", str(path), PYTHONIOENCODING=encoding)
    assert coded.stdout == plain.stdout
    assert "\N{MULTIPLICATION SIGN}" in plain.stdout.decode()
    assert b"\r" not in plain.stdout


@pytest.mark.skipif(sys.platform == "win32", reason="played with a pseudo-terminal of POSIX")
@pytest.mark.parametrize("encoding", ["cp1252", "ascii"])
def test_a_terminal_with_a_small_code_page_gets_escapes_and_no_error(
    encoding: str, tmp_path: Path
) -> None:
    path = study(tmp_path, "\u4e00", CARRIED)
    status, out = on_a_terminal(["verify", str(path)], environment={"PYTHONIOENCODING": encoding})
    assert status == 0
    assert b"\\u4e00" in out
    assert b"Traceback" not in out


def on_a_terminal(
    arguments: list[str], columns: int = 100, *, environment: Mapping[str, str] | None = None
) -> tuple[int, bytes]:
    """Run audit with a pseudo-terminal of so many columns; return status and what it showed."""
    import fcntl
    import pty
    import struct
    import termios

    import audit

    (home,) = audit.__path__
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    unset = ("NO_COLOR", "TERM", "COLUMNS")
    base = {k: v for k, v in os.environ.items() if k not in unset}
    process = subprocess.Popen(
        [sys.executable, "-m", "audit", *arguments],
        env=base
        | {"PYTHONPATH": str(Path(home).parent), "TERM": "xterm"}
        | dict(environment or {}),
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    out = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # Linux says so when the other side is closed
            break
        if not part:
            break
        out += part
    os.close(ours)
    return process.wait(60), out


@pytest.mark.skipif(sys.platform == "win32", reason="played with a pseudo-terminal of POSIX")
@pytest.mark.parametrize(
    ("environment", "coloured"),
    [({}, True), ({"NO_COLOR": "1"}, False), ({"NO_COLOR": ""}, True), ({"TERM": "dumb"}, False)],
)
def test_colour_is_for_terminals_that_want_it(environment: dict[str, str], coloured: bool) -> None:
    _, out = on_a_terminal(["verify", str(ONE_SEED)], environment=environment)
    assert (b"\x1b[" in out) == coloured
    assert b"\x1b" not in printed("verify", str(ONE_SEED), **environment).stdout


@pytest.mark.skipif(sys.platform == "win32", reason="played with a pseudo-terminal of POSIX")
@pytest.mark.parametrize("columns", [40, 90, 200])
def test_lines_are_wrapped_to_the_terminal(columns: int) -> None:
    _, out = on_a_terminal(["verify", "-v", str(ONE_SEED)], columns, environment={"NO_COLOR": "1"})
    lines = [line for line in out.decode().splitlines() if line.startswith(" " * 11)]
    prose = [line for line in lines if not line.strip().startswith("audit ")]  # to be copied
    assert columns - 25 < max(map(len, prose)) <= columns


@pytest.mark.skipif(sys.platform == "win32", reason="played with a pseudo-terminal of POSIX")
def test_a_gate_on_a_terminal_shows_a_bar_and_wipes_it(tmp_path: Path) -> None:
    study(tmp_path, "a")
    _, out = on_a_terminal(["gate", str(tmp_path)])
    assert b"] 1 of 1 files" in out
    assert out.index(b"1 of 1") < out.index(b"SUPPORTED")
    assert b"] 1 of 1 files" not in on_a_terminal(["gate", "-q", str(tmp_path)])[1]


def test_quiet_leaves_out_what_is_clean(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    clean = str(study(tmp_path, "clean", CARRIED))
    assert main(["verify", clean, "--quiet"]) == 0
    assert capsys.readouterr().out == ""
    assert main(["gate", clean, "--quiet"]) == 0
    assert "clean" not in capsys.readouterr().out


def deep(folder: Path) -> Path:
    """A path longer than Windows and old tools allow."""
    for _ in range(6):
        folder = folder / ("long" * 15)
    return folder


def test_a_path_longer_than_260_characters_is_read_and_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if sys.platform == "win32":
        pytest.skip("whether Windows takes long paths is a setting of the machine")
    path = study(deep(tmp_path), "a", CARRIED)
    assert len(str(path)) > 260
    output = path.with_name("o" * 200 + ".md")
    assert main(["gate", str(path), "--format", "markdown", "-o", str(output)]) == 0
    assert output.read_text("utf-8").startswith("## audit gate: 1 study")
    assert main(["verify", str(path)]) == 0
    assert len(capsys.readouterr().out.splitlines()[0]) < 400


@pytest.mark.parametrize(
    "name", ["n" * 300 + ".json", "d/" * 3000 + "r.json"], ids=["name", "path"]
)
@pytest.mark.parametrize(
    "words",
    [
        "verify NAME",
        "gate NAME",
        "gate FILE -o NAME",
        "gate FILE --policy NAME",
        "gate FILE --also json=NAME",
        "verify NAME.intoto.json",
        "compare NAME FILE",
        "plan NAME",
        "plan --effect 0.05 --declare NAME",
        "next NAME",
        "render NAME",
        "render FILE --template NAME",
        "render FILE -o NAME",
        "import NAME",
        "export FILE --to attestation -o NAME",
    ],
)
def test_a_name_no_system_takes_is_one_line(
    words: str,
    name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    given = words.replace("NAME", name).replace("FILE", str(ONE_SEED))
    assert main(given.split()) == 2
    lines = capsys.readouterr().err.splitlines()
    told = [line for line in lines if " hint: " not in line]
    assert len(told) == 1
    assert Path(name).as_posix()[:20] in told[0]
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]
