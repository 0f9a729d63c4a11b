"""Help, versions and completion: what a person sees before any file is read."""

from __future__ import annotations

import argparse
import shlex
import shutil
import subprocess
import sys
from importlib import import_module
from importlib.metadata import version

import pytest
from documented import audit_calls

from audit import __version__
from audit.cli.main import COMMANDS, build_parser, main


def help_of(command: str, capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit) as end:
        main([command, "--help"])
    assert end.value.code == 0
    return capsys.readouterr().out


def examples(page: str) -> list[str]:
    """Return the example lines of a help page, continued ones joined."""
    block = page.split("examples:\n")[1].split("\n\n")[0].replace("\\\n", " ")
    return [line.strip() for line in block.splitlines()]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_example_in_the_help_parses(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    lines = examples(help_of(command, capsys))
    assert lines
    for line in lines:
        calls = audit_calls(line)
        assert command in {call[0] for call in calls}, line
        for call in calls:
            parsed = build_parser((call[0],)).parse_args(call)
            assert parsed.command == call[0]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_help_page_says_what_the_exit_status_means(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "exit status" in help_of(command, capsys).lower()


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_has_help(command: str) -> None:
    parser = argparse.ArgumentParser()
    import_module(COMMANDS[command][0]).configure(parser)
    silent = [
        action.option_strings or action.dest
        for action in parser._actions
        if not action.help and not action.choices
    ]
    assert silent == []


def test_help_is_as_wide_as_the_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    narrow = help_of("gate", capsys).split("examples:")[0]
    assert max(map(len, narrow.splitlines())) <= 60


def test_the_versions_a_figure_depends_on_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["--version"])
    assert end.value.code == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"audit {__version__}"
    assert lines[1].startswith(f"python {sys.version.split()[0]}")
    for package in ("numpy", "jsonschema-rs"):
        assert f"{package} {version(package)}" in lines


def test_printing_versions_imports_none_of_them() -> None:
    code = (
        "import sys\nfrom audit.installed import version_lines\nlist(version_lines())\n"
        "print(sorted({'numpy', 'pandas', 'torch', 'matplotlib'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_takes_the_completion_script(
    shell: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    for name, command in COMMANDS.items():
        assert name in script or not command.group
    assert "changed-since" in script
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"no {shell} here; the script was made and not run")
    done = subprocess.run(
        [program, "-n"], input=script, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def completed(capsys: pytest.CaptureFixture[str], *words: str) -> list[str]:
    """Ask bash what it would offer after these words."""
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("no bash on this machine")
    assert main(["completion", "bash"]) == 0
    script = capsys.readouterr().out
    asked = " ".join(shlex.quote(word) for word in words)
    script += (
        f"\nCOMP_WORDS=({asked}); COMP_CWORD={len(words) - 1}\n"
        '$(complete -p audit | sed "s/.*-F \\([^ ]*\\) .*/\\1/")\n'
        'printf "%s\\n" "${COMPREPLY[@]}"\n'
    )
    done = subprocess.run([bash], input=script, capture_output=True, text=True, check=True)
    return sorted(word.strip() for word in done.stdout.split())


def test_bash_completes_commands_options_and_values(capsys: pytest.CaptureFixture[str]) -> None:
    assert completed(capsys, "audit", "ga") == ["gate"]
    assert completed(capsys, "audit", "gate", "--chang") == ["--changed-since"]
    assert completed(capsys, "audit", "gate", "--sort", "ver") == ["verdict"]
