"""A new user's ways to a verdict, each with its commands counted."""

from __future__ import annotations

import random
import shlex
import shutil
import sys
from pathlib import Path

import pytest
from made_fleet import git, repository

from audit.cli.main import main

SAMPLES = Path(__file__).resolve().parent / "data" / "foreign" / "lm_eval"


def type_in(command: str) -> int:
    """Run what a user types: an audit or a git command."""
    program, *words = shlex.split(command)
    if program == "git":
        git(Path.cwd(), *words)
        return 0
    assert program == "audit"
    return main(words)


def test_own_csv_files_lead_to_a_verdict_in_two_commands(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rng = random.Random(5)
    rows = [
        f"{arm},{seed},{task},{int(rng.random() < rate)}"
        for arm, rate in (("grpo", 0.4), ("dapo", 0.7))
        for seed in range(1, 6)
        for task in range(100)
    ]
    Path("scores.csv").write_text("\n".join(["arm,seed,task,correct", *rows]), "utf-8")
    statuses = [
        type_in(command)
        for command in (
            "audit import scores.csv --seed-is training --claim 'gain accuracy dapo over grpo' "
            "-o results.json",
            "audit gate results.json",
        )
    ]
    assert statuses == [0, 0]
    assert capsys.readouterr().out.startswith("SUPPORTED  gain in accuracy of dapo over grpo")


@pytest.mark.skipif(sys.platform == "win32", reason="a path of Windows is quoted otherwise")
def test_an_lm_eval_study_leads_to_a_gated_pull_request_in_five_commands(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    work = repository(tmp_path / "work", {})
    git(work, "commit", "-q", "--allow-empty", "-m", "before")
    git(tmp_path, "clone", "-q", "--bare", "work", "hub.git")
    git(work, "remote", "add", "origin", str(tmp_path / "hub.git"))
    git(work, "switch", "-q", "-c", "study")
    shutil.copytree(SAMPLES, work / "evals")
    (work / ".gitignore").write_text("evals/\n", "utf-8")
    (work / "reports" / "tuned").mkdir(parents=True)
    monkeypatch.chdir(work)
    statuses = [
        type_in(command)
        for command in (
            "audit import lm-eval --arm 'tuned=evals/tuned/seed*/*/*' "
            "--arm 'control=evals/control/seed*/*/*' --control control --seed-from 'seed{seed}' "
            "--claim 'gain accuracy tuned over control' -o reports/tuned/results.json",
            "audit gate reports",
            "git add .",
            "git commit -qm 'A study of tuning'",
            "git push -q origin study",
        )
    ]
    assert statuses[0] == 0
    told = capsys.readouterr().out
    # What the action finds in the branch that came in.
    git(tmp_path, "clone", "-q", "-b", "study", "hub.git", "runner")
    monkeypatch.chdir(tmp_path / "runner")
    assert (
        type_in("audit gate reports --changed-since origin/main --policy-from origin/main")
        == (statuses[1])
    )
    gated = capsys.readouterr().out
    head = next(line for line in told.splitlines() if "in accuracy of tuned over control" in line)
    assert head in gated.splitlines()
    assert "new study" in gated
