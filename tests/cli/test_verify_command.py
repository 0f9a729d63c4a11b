"""``audit verify``: exit statuses, folders, policies, outputs."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import audit
from audit.cli import main as dispatcher
from audit.cli.formats import FORMATS
from audit.cli.main import main
from audit.finding import Severity
from audit.rules import CATALOGUE, Case, Failed
from audit.rules import rule as declared

Verify = Callable[..., tuple[int, str, str]]


def study(**changes: Any) -> dict[str, Any]:
    def runs(*scores: float) -> list[dict[str, Any]]:
        return [
            {"seed": seed, "method_metrics": {"accuracy": score, "examples": 8}}
            for seed, score in zip((1, 2, 3), scores, strict=True)
        ]

    return {
        "schema_version": 2,
        "method": "clip-study",
        "seed_results": runs(0.5, 0.625, 0.5),
        "controls": {"plain-control": {"seed_results": runs(0.5, 0.5, 0.375)}},
        **changes,
    }


GOOD = study()
BAD = study(seed_results=[{"seed": "one", "method_metrics": {"accuracy": 0.5}}])


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with good, bad, foreign and broken files, and a policy of no consequence."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)
    (tmp_path / "pyproject.toml").write_text("[tool.other]\n", encoding="utf-8")
    for name, content in {
        "good.json": json.dumps(GOOD),
        "bad.json": json.dumps(BAD),
        "foreign.json": '{"accuracy": 1}',
        "broken.json": '{"schema_version": 2,',
        "runs/a/results.json": json.dumps(GOOD),
        "runs/b/notes.json": "{}",
        "runs/c/notes.txt": "no JSON",
        "notes/notes.json": "{}",
        "nothing/readme.txt": "no JSON",
    }.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    return tmp_path


@pytest.fixture
def verify(folder: Path, capsys: pytest.CaptureFixture[str]) -> Verify:
    def run(*arguments: str) -> tuple[int, str, str]:
        status = main(["verify", *arguments])
        out, err = capsys.readouterr()
        return status, out, err

    return run


@pytest.mark.parametrize(
    ("arguments", "status", "on_stderr"),
    [
        ("good.json", 0, ""),
        ("bad.json", 1, ""),
        ("good.json bad.json", 1, ""),
        ("foreign.json", 2, "no schema_version"),
        ("broken.json", 2, "cut off"),
        ("missing.json", 2, "No such file"),
        ("good.json missing.json", 2, "No such file"),
        ("bad.json broken.json good.json", 2, "cut off"),
        ("runs", 0, ""),
        ("runs/a/*.json", 0, ""),
        ("r*/**/results.json", 0, ""),
        ("*.nothing", 2, "no file matches"),
        ("notes", 2, "no results file below: 1 JSON file has no schema_version"),
        ("nothing", 2, "no JSON file in this folder"),
        ("nothing good.json", 2, "no JSON file in this folder"),
        ("notes runs", 2, "no results file below"),
        (".", 2, "cut off"),
        ("good.json --select NOPE", 2, "no rule is called 'NOPE'"),
        ("good.json --ignore schema-violatio", 2, "did you mean SCHEMA001"),
        ("good.json --policy missing.toml", 2, "missing.toml: cannot be read"),
        ("good.json --data missing.jsonl", 2, "missing.jsonl: cannot be read"),
        ("good.json --artifacts good.json", 2, "not a folder"),
        ("good.json --claim nonsense", 2, "nonsense"),
        ("good.json --output missing/out.txt", 2, "cannot be written"),
        ("good.json --output runs", 2, "cannot be written"),
        ("bad.json --ignore SCHEMA001", 0, ""),
        ("bad.json --select READ", 0, ""),
    ],
)
def test_the_exit_status_and_the_line_on_stderr(
    arguments: str, status: int, on_stderr: str, verify: Verify
) -> None:
    got, _, err = verify(*arguments.split())
    assert (got, bool(err)) == (status, bool(on_stderr)), err
    assert on_stderr in err
    assert "Traceback" not in err


def test_a_file_that_cannot_be_read_does_not_hide_the_others(verify: Verify) -> None:
    status, out, err = verify("broken.json", "good.json", "missing.json", "bad.json")
    assert status == 2
    assert out.index("good.json") < out.index("bad.json")
    assert [line.split(":")[1].strip() for line in err.splitlines()] == [
        "broken.json",
        "missing.json",
    ]


def test_a_folder_counts_the_json_that_is_no_results_file(verify: Verify) -> None:
    status, out, _ = verify("runs")
    assert status == 0
    assert "passed over: runs/b/notes.json: no schema_version" in out
    _, out, _ = verify("runs", "--format", "json")
    assert json.loads(out)["skipped"] == ["runs/b/notes.json"]


def test_a_file_named_twice_is_checked_once(verify: Verify) -> None:
    _, out, _ = verify("runs", "runs/a/results.json", "runs/a", "--format", "json")
    assert [file["name"] for file in json.loads(out)["files"]] == ["runs/a/results.json"]


def test_a_named_file_is_refused_even_where_its_folder_was_named_too(verify: Verify) -> None:
    status, _, err = verify("runs", "runs/b/notes.json")
    assert status == 2
    assert "runs/b/notes.json: not a results file" in err


def test_standard_input_is_read(verify: Verify, monkeypatch: pytest.MonkeyPatch) -> None:
    stdin = io.TextIOWrapper(io.BytesIO(json.dumps(GOOD).encode()))
    monkeypatch.setattr(sys, "stdin", stdin)
    status, out, err = verify("-")
    assert (status, err) == (0, "")
    assert out.startswith("<stdin>   clip-study, 3 seeds")


def test_warnings_fail_only_when_told_to(verify: Verify, monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, Severity.WARNING)
    assert verify("good.json", "--select", "made-up")[0] == 0
    assert verify("good.json", "--select", "made-up", "--fail-on", "warning")[0] == 1


def install(monkeypatch: pytest.MonkeyPatch, severity: Severity, error: bool = False) -> None:
    """Add a rule to the catalogue that always speaks at ``/method``, or breaks."""

    @declared("READ901", "made-up", severity, each=Case)
    def made_up(case: Case) -> Failed:
        """It is made up."""
        if error:
            raise ZeroDivisionError("made up")
        return Failed("/method", "made up")

    catalogue = (*CATALOGUE, made_up)
    for module in ("audit.rules", "audit.report", "audit.cli.formats.sarif"):
        monkeypatch.setattr(f"{module}.CATALOGUE", catalogue)


def test_a_rule_that_breaks_is_status_3_and_does_not_hide_the_rest(
    verify: Verify, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(monkeypatch, Severity.INFO, error=True)
    status, out, _ = verify("bad.json")
    assert status == 3
    assert "SCHEMA001" in out
    assert "a check itself failed: ZeroDivisionError" in out
    assert "audit explain BUG" not in out


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_shows_that_a_rule_broke(
    name: str, verify: Verify, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(monkeypatch, Severity.INFO, error=True)
    status, out, _ = verify("good.json", "--format", name)
    assert status == 3
    assert "ZeroDivisionError" in out


def policy(folder: Path, text: str, name: str = "audit.toml") -> None:
    (folder / name).write_text(text, encoding="utf-8")


def test_the_policy_in_force_is_printed(verify: Verify, folder: Path) -> None:
    assert "policy" not in verify("good.json")[1]
    policy(folder, 'ignore = ["SCHEMA001"]\n')
    status, out, _ = verify("bad.json")
    assert status == 0
    assert f"policy: {folder / 'audit.toml'}" in out
    policy(folder, "", "other.toml")
    status, out, _ = verify("bad.json", "--policy", "other.toml")
    assert status == 1
    assert "policy: other.toml" in out


def test_the_command_line_goes_over_the_policy(verify: Verify, folder: Path) -> None:
    policy(folder, 'select = ["READ"]\nfail_on = "warning"\n')
    assert verify("bad.json")[0] == 0
    assert verify("bad.json", "--select", "SCHEMA")[0] == 1


def test_an_override_holds_for_its_paths_only(verify: Verify, folder: Path) -> None:
    policy(folder, '[[overrides]]\npaths = ["bad*"]\nignore = ["SCHEMA001"]\n')
    assert verify("bad.json")[0] == 0
    assert verify("./bad.json")[0] == 0
    (folder / "worse.json").write_text(json.dumps(BAD), encoding="utf-8")
    assert verify("worse.json")[0] == 1


WAIVER = """
[[waivers]]
rule = "schema-violation"
pointer = "/seed_results/0/seed"
reason = "labels are words here"
expires = 2026-05-31
"""


@pytest.mark.parametrize(("day", "status"), [("1780185600", 0), ("1780272000", 1)])
def test_a_waiver_holds_to_its_last_day_and_its_end_is_told(
    day: str, status: int, verify: Verify, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", day)  # 31 May and 1 June 2026
    policy(folder, WAIVER)
    got, out, err = verify("bad.json")
    assert got == status
    assert ("waived until 2026-05-31: labels are words here" in out) == (status == 0)
    assert ("expired on 2026-05-31" in err) == (status == 1)


def test_a_policy_that_names_no_rule_is_refused(verify: Verify, folder: Path) -> None:
    policy(folder, WAIVER.replace("schema-violation", "schema-violations"))
    status, _, err = verify("good.json")
    assert status == 2
    assert "audit.toml: no rule is called 'schema-violations'; did you mean SCHEMA001" in err


def test_output_to_a_file_is_what_stdout_would_get(verify: Verify, folder: Path) -> None:
    for name in FORMATS:
        status, out, _ = verify("bad.json", "--format", name)
        assert verify("bad.json", "--format", name, "--output", "out.txt") == (status, "", "")
        assert (folder / "out.txt").read_text(encoding="utf-8") == out


def test_a_failed_write_leaves_the_old_file_and_nothing_else(
    verify: Verify, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = folder / "kept" / "out.txt"
    target.parent.mkdir()
    target.write_text("old", encoding="utf-8")

    def full(*arguments: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    status, _, err = verify("good.json", "--output", str(target))
    assert status == 2
    assert "No space left on device" in err
    assert [path.name for path in target.parent.iterdir()] == ["out.txt"]
    assert target.read_text(encoding="utf-8") == "old"


def test_a_linked_output_stays_a_link_and_keeps_its_permissions(
    verify: Verify, folder: Path
) -> None:
    target = folder / "out.txt"
    target.write_text("old", encoding="utf-8")
    target.chmod(0o640)
    (folder / "link.txt").symlink_to(target)
    verify("good.json", "--output", "link.txt")
    assert (folder / "link.txt").is_symlink()
    assert "clip-study" in target.read_text(encoding="utf-8")
    assert target.stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("name", FORMATS)
def test_hostile_names_of_files_and_keys_are_shown_escaped(
    name: str, verify: Verify, folder: Path
) -> None:
    file = "a\x1b[31m\n::error::b|`\u202e.json"
    hostile = study(
        **{"key\x1b[2J\n::warning::|`\u202e\ud800": 1, "seed_results": [{"seed": "\x1b"}]}
    )
    (folder / file).write_text(json.dumps(hostile), encoding="utf-8")
    status, out, err = verify(file, "missing\x1b[31m\n.json", "--format", name, "-v")
    assert status == 2
    assert err == "audit: missing\\x1b[31m\\x0a.json: no file matches this pattern\n"
    assert all(char == "\n" or char.isprintable() for char in out)


def test_quiet_leaves_out_clean_files(verify: Verify) -> None:
    assert verify("good.json", "-q")[1] == ""
    assert "bad.json" in verify("good.json", "bad.json", "-q")[1]


def command(*arguments: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    (home,) = audit.__path__
    base = {key: value for key, value in os.environ.items() if key not in ("LC_ALL", "TZ")}
    return subprocess.run(
        [sys.executable, "-m", "audit", *arguments],
        env=base | {"PYTHONPATH": str(Path(home).parent)} | environment,
        capture_output=True,
        check=False,
        timeout=60,
    )


def test_locale_time_zone_and_hash_seed_change_no_byte(folder: Path) -> None:
    name = "r\N{LATIN SMALL LETTER E WITH ACUTE}sultats.json"
    strange = study(method="\N{GREEK SMALL LETTER ALPHA}\x1b[31m", seed_results=[{"seed": "x"}])
    (folder / name).write_text(json.dumps(strange), encoding="utf-8")
    arguments = ("verify", name, "bad.json", "-v")
    first = command(*arguments, LC_ALL="C.UTF-8", TZ="UTC", PYTHONHASHSEED="0")
    for environment in (
        {"LC_ALL": "C", "TZ": "Pacific/Kiritimati", "PYTHONHASHSEED": "1"},
        {"LC_ALL": "POSIX", "TZ": "America/Los_Angeles", "PYTHONHASHSEED": "2"},
    ):
        other = command(*arguments, **environment)
        assert (other.returncode, other.stdout, other.stderr) == (1, first.stdout, first.stderr)
    assert b"\x1b" not in first.stdout


HEAVY = ("pandas", "matplotlib", "statsmodels", "torch", "trl", "jinja2")


def test_verifying_a_valid_file_loads_nothing_heavy(folder: Path) -> None:
    program = (
        "import sys\n"
        "from audit.cli.main import main\n"
        "status = main(['verify', 'good.json'])\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules], status, file=sys.stderr)\n"
    )
    (home,) = audit.__path__
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | {"PYTHONPATH": str(Path(home).parent)},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stderr == "[] 0\n"


def test_no_command_pays_for_the_imports_of_another() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import sys, audit.cli.main; print('audit.report' in sys.modules)"],
        env=os.environ | {"PYTHONPATH": str(Path(audit.__path__[0]).parent)},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stdout == "False\n"
    assert set(dispatcher.COMMANDS) >= {"verify", "rules", "explain", "demo"}
