"""The dispatcher: usage, exit statuses, and how a run ends when something goes wrong."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from audit.cli import main as dispatcher
from audit.cli.main import COMMANDS, Command, main, run
from audit.errors import UsageError


def ended(arguments: list[str]) -> int:
    try:
        status: object = main(arguments)
    except SystemExit as end:  # argparse's own way out
        status = end.code
    assert isinstance(status, int)
    return status


def install(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    """Put a command in the place of ``rules`` that raises."""
    module = ModuleType("made_command")

    def fail(options: argparse.Namespace) -> int:
        raise error

    module.configure = lambda parser: None  # type: ignore[attr-defined]
    module.main = fail  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "made_command", module)
    monkeypatch.setitem(dispatcher.COMMANDS, "rules", Command("made_command", "made"))
    monkeypatch.setattr(sys, "argv", ["audit", "rules"])


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        ([], 2),
        (["frobnicate"], 2),
        (["verify"], 2),
        (["verify", "a.json", "--format", "pdf"], 2),
        (["verify", "a.json", "--no-such-option"], 2),
        (["--help"], 0),
        (["--version"], 0),
        (["verify", "--help"], 0),
        (["explain", "--help"], 0),
    ],
)
def test_usage_ends_with_the_right_status(
    arguments: list[str], status: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ended(arguments) == status
    out, err = capsys.readouterr()
    assert bool(out) == (status == 0)
    assert bool(err) == (status == 2)


def test_help_lists_every_command_and_every_exit_status(
    capsys: pytest.CaptureFixture[str],
) -> None:
    ended(["--help"])
    out = capsys.readouterr().out
    for name, command in COMMANDS.items():
        assert (f" {name} " in out and command.summary in out) is bool(command.group)
    assert "exit:     0 all right   1 refused or wrong   2 could not run   3 bug in audit" in out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["verfy", "a.json"], "no command 'verfy'; did you mean verify?"),
        (["gate", "a.json", "--fromat", "json"], "did you mean --format?"),
        (["demo", "one"], "audit demo has no further argument 'one'"),
    ],
)
def test_a_misspelt_command_or_option_is_met_with_the_nearest(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ended(arguments) == 2
    assert words in capsys.readouterr().err


def test_help_is_asked_for_in_either_way(capsys: pytest.CaptureFixture[str]) -> None:
    assert ended(["help", "gate"]) == 0
    one = capsys.readouterr().out
    assert ended(["gate", "--help"]) == 0
    assert capsys.readouterr().out == one


def test_every_command_has_help_that_names_its_options(capsys: pytest.CaptureFixture[str]) -> None:
    for name in COMMANDS:
        assert ended([name, "--help"]) == 0
        assert f"usage: audit {name}" in capsys.readouterr().out


def test_an_error_a_person_can_act_on_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    install(monkeypatch, UsageError("no \x1b[31m such\nthing", path="a\rb"))
    assert main(["rules"]) == 2
    assert capsys.readouterr().err == "audit: a\\x0db: no \\x1b[31m such\\x0athing\n"


def test_too_little_memory_is_status_2(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    install(monkeypatch, MemoryError())
    assert main(["rules"]) == 2
    assert capsys.readouterr().err == "audit: not enough memory for this input\n"


@pytest.mark.parametrize(
    ("error", "status", "words"),
    [
        (KeyboardInterrupt(), 130, ""),
        (ZeroDivisionError("by\nnought"), 3, "internal error, please report it: ZeroDivisionError"),
        (RecursionError(), 3, "internal error"),
    ],
)
def test_a_run_that_breaks_ends_in_one_line_without_a_traceback(
    error: BaseException,
    status: int,
    words: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    install(monkeypatch, error)
    monkeypatch.delenv("AUDIT_DEBUG", raising=False)
    with pytest.raises(SystemExit) as end:
        run()
    assert end.value.code == status
    err = capsys.readouterr().err
    assert words in err
    assert "Traceback" not in err
    assert err.count("\n") == bool(words)


def test_debugging_shows_where_a_bug_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    install(monkeypatch, ZeroDivisionError())
    monkeypatch.setenv("AUDIT_DEBUG", "1")
    with pytest.raises(SystemExit):
        run()
    assert "Traceback" in capsys.readouterr().err


def test_a_reader_that_goes_away_is_no_error(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    path.write_text('{"schema_version": 2}', encoding="utf-8")
    command = [sys.executable, "-m", "audit", "verify", str(path)]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": _path()},
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    errors = process.stderr.read()
    process.stderr.close()
    assert process.wait(30) == 0  # and not 1, which the file's faults would give
    assert errors == b""


def _path() -> str:
    import audit

    (home,) = audit.__path__
    return str(Path(home).parent)
