"""``audit plan`` and ``audit self-check``."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from audit.cli.main import main
from audit.stats import minimum_detectable_effect, power, seeds_needed
from audit.stats.records import Components

GIVEN = ["plan", "--seed-sd", "0.03", "--effect", "0.05"]
COMPONENTS = Components(0.03, 0.03, 0.065, 0.145, 0.085)


def test_the_plan_is_that_of_the_statistics(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*GIVEN, "--format", "json"]) == 0
    plan = json.loads(capsys.readouterr().out)
    own = power(0.05, components=COMPONENTS, seeds=5, tasks=120, samples=4)
    assert plan["power"]["5"] == pytest.approx(own)
    first = plan["designs"][0]
    smallest = minimum_detectable_effect(
        components=COMPONENTS, seeds=first["seeds"], tasks=120, samples=4
    )
    assert first["smallest_effect"] == pytest.approx(smallest)
    needed = seeds_needed(0.05, components=COMPONENTS, tasks=120, samples=4)
    assert plan["needed"][0]["seeds"] == needed


def test_more_seeds_see_smaller_effects(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*GIVEN, "--format", "json"]) == 0
    designs = json.loads(capsys.readouterr().out)["designs"]
    effects = [d["smallest_effect"] for d in designs if d["tasks"] == 120]
    assert effects == sorted(effects, reverse=True)


def test_seeds_and_tasks_are_priced_apart(capsys: pytest.CaptureFixture[str]) -> None:
    prices = ["--usd-per-run", "8", "--usd-per-task", "0.002"]
    assert main([*GIVEN, *prices]) == 0
    out = capsys.readouterr().out
    assert "US dollars" in out
    # 2 arms x 5 seeds x (8 + 120 x 0.002)
    assert "82.40" in out


def test_the_variances_come_from_a_file(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = root / "reports" / "gppo-framework" / "results.json"
    assert main(["plan", str(path), "--format", "json"]) == 0
    plan = json.loads(capsys.readouterr().out)
    assert plan["source"] == str(path)
    assert plan["tasks"] == 8
    assert plan["components"]["seed_sd_control"] == 0.0
    three = next(d for d in plan["designs"] if d["seeds"] == 3)
    assert three["smallest_effect"] == pytest.approx(0.58, abs=0.005)


@pytest.mark.parametrize("kind", ["svg", "png"])
def test_the_plot_is_the_same_bytes_on_every_run(tmp_path: Path, kind: str) -> None:
    paths = [tmp_path / f"{n}.{kind}" for n in "ab"]
    for path in paths:
        assert main([*GIVEN, "--plot", str(path)]) == 0
    first, second = (path.read_bytes() for path in paths)
    assert first == second
    assert first.startswith(b"<?xml" if kind == "svg" else b"\x89PNG")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["plan"], "give --seed-sd, or a results file"),
        (["plan", "--seed-sd", "-1"], "--seed-sd must lie from 0 to 1"),
        (["plan", "--seed-sd", "0.1", "--effect", "0"], "--effect must lie above 0"),
        (["plan", "--seed-sd", "0.1", "--tasks", "1"], "--tasks must lie from 2"),
        (["plan", "--seed-sd", "nan"], "--seed-sd must lie from 0 to 1"),
        ([*GIVEN, "--plot", "x.pdf"], "writes .svg or .png"),
        (["self-check", "--studies", "0"], "--studies must lie from 1"),
    ],
)
def test_numbers_that_make_no_sense_are_status_2(
    capsys: pytest.CaptureFixture[str], arguments: list[str], complaint: str
) -> None:
    assert main(arguments) == 2
    assert complaint in capsys.readouterr().err


def test_a_file_with_one_seed_gives_no_plan(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", str(root / "reports" / "adaptive-clip" / "results.json")]) == 2
    assert "two training runs in both arms" in capsys.readouterr().err


def test_the_self_check_finds_no_verdict_without_replication(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["self-check", "--studies", "20", "--format", "json"]) == 0
    first = capsys.readouterr()
    cells = json.loads(first.out)["cells"]
    unreplicated = [c for c in cells if c["seeds"] == [1, 1] or c["kind"] == "copies"]
    assert len(unreplicated) == 3
    assert all(cell["called"] == 0 for cell in unreplicated)
    gains = [c["called"] for c in cells if c["delta"]]
    assert min(gains) > 10
    assert "cell 1 of" in first.err
    assert main(["self-check", "--studies", "20", "--format", "json"]) == 0
    assert capsys.readouterr().out == first.out


FORBIDDEN = ("pandas", "statsmodels", "matplotlib", "torch", "trl", "scipy.stats")


@pytest.mark.parametrize("study", ["gppo-framework", "adaptive-clip"])
def test_verifying_loads_nothing_heavy(root: Path, study: str) -> None:
    path = root / "reports" / study / "results.json"
    code = (
        "import sys; from audit.cli.main import main; "
        f"main(['verify', {str(path)!r}]); "
        f"print([m for m in {FORBIDDEN!r} if m in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=root
    )
    assert done.stderr.strip() == "[]"


def test_a_file_without_two_runs_and_printed_figures_needs_no_numpy(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    run = {"seed": 1, "method_metrics": {"accuracy": 0.5, "examples": 8}}
    document = {
        "schema_version": 2,
        "method": "m",
        "seed_results": [run],
        "controls": {"control": {"role": "control", "seed_results": [run]}},
    }
    path.write_text(json.dumps(document), encoding="utf-8")
    code = (
        "import sys; from audit.cli.main import main; "
        f"main(['verify', {str(path)!r}]); print('numpy' in sys.modules, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "False"


def test_a_way_that_never_reaches_is_not_offered(capsys: pytest.CaptureFixture[str]) -> None:
    design = ["--tasks", "120", "--samples", "1", "--seed-sd", "0.1", "--effect", "0.02"]
    assert main(["plan", *design]) == 0
    shown = capsys.readouterr().out
    assert "120 tasks, 1 answer per task, level 0.95" in shown
    assert "with 3 seeds per arm: no number of tasks, nor of answers per task, is enough" in shown


def test_no_plan_offers_fewer_tasks_than_get_a_verdict(capsys: pytest.CaptureFixture[str]) -> None:
    easy = ["--seed-sd", "0", "--task-effect-sd", "0", "--answer-variance", "0.01"]
    assert main(["plan", *easy, "--seed-task-sd", "0", "--effect", "0.5"]) == 0
    assert "with 10 seeds per arm: 8 tasks, or 1 answer per task" in capsys.readouterr().out
