"""The command where its surroundings are odd: no docstrings, closed or full output, waivers."""

from __future__ import annotations

import datetime
import subprocess
import sys
from pathlib import Path

import pytest

from audit.policy import today

ROOT = Path(__file__).resolve().parents[2]
MINIMAL = ROOT / "tests" / "data" / "results" / "minimal.json"


def command(*arguments: str, **more: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # type: ignore[call-overload, no-any-return]
        [sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True, check=False, **more
    )


@pytest.mark.parametrize("arguments", [["rules"], ["explain", "MECH001"]])
def test_rules_explain_themselves_without_docstrings(arguments: list[str]) -> None:
    plain = command("-m", "audit", *arguments)
    optimised = command("-OO", "-m", "audit", *arguments)
    assert plain.returncode == optimised.returncode == 0
    assert "fired in no logged update" in " ".join(plain.stdout.split())
    assert optimised.stdout == plain.stdout


@pytest.mark.skipif(sys.platform == "win32", reason="closes a descriptor in a POSIX shell")
def test_a_closed_stdout_leaves_the_status() -> None:
    shell = f'"{sys.executable}" -m audit verify "{MINIMAL}" >&-'
    found = subprocess.run(shell, shell=True, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (found.returncode, found.stderr) == (0, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_full_disk_is_one_line_and_status_2() -> None:
    with Path("/dev/full").open("w") as full:
        found = subprocess.run(
            [sys.executable, "-m", "audit", "verify", str(MINIMAL)],
            cwd=ROOT,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert found.returncode == 2
    assert found.stderr.splitlines() == ["audit: stdout cannot be written: No space left on device"]


def test_a_waiver_that_meets_no_finding_is_told(tmp_path: Path) -> None:
    last = today() + datetime.timedelta(days=300)
    waiver = f'[[waivers]]\nrule = "unpinned"\npointer = "{{}}"\nreason = "r"\nexpires = "{last}"\n'
    policy = tmp_path / "audit.toml"
    policy.write_text(waiver.format("/nowhere"), encoding="utf-8")
    unused = command("-m", "audit", "verify", str(MINIMAL), "--policy", str(policy))
    assert unused.stderr == f"audit: {policy}: the waiver of unpinned /nowhere met no finding\n"
    assert "waived" not in unused.stdout
    policy.write_text(waiver.format(""), encoding="utf-8")
    used = command("-m", "audit", "verify", str(MINIMAL), "--policy", str(policy))
    assert used.stderr == ""
    assert f"waived until {last}: r" in used.stdout
