"""``audit plan`` and ``audit self-check``."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from audit.cli.main import main
from audit.facts.plans import declared_plan, plan_hash
from audit.results import from_document
from audit.simulation import Cell, simulate
from audit.stats import SequentialPlan, minimum_detectable_effect, power, seeds_needed
from audit.stats.records import Components

GIVEN = ["plan", "--seed-sd", "0.03", "--effect", "0.05"]
COMPONENTS = Components(0.03, 0.03, 0.065, 0.145, 0.085)


def simulated(seeds: int = 4, tasks: int = 120, sd: float = 0.0, number: int = 0) -> dict[str, Any]:
    """Return the study with that number in a fixed stream."""
    cell = Cell("arms", tasks, (seeds, seeds), (sd, sd), 0.4, 0.0)
    random = cell.generator()
    for _ in range(number):
        simulate(cell, random)
    return simulate(cell, random).document()


def planned(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert main(["plan", *arguments, "--format", "json"]) == 0
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return document


def shown(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["plan", *arguments]) == 0
    return capsys.readouterr().out


def test_the_plan_is_that_of_the_statistics(capsys: pytest.CaptureFixture[str]) -> None:
    plan = planned(capsys, *GIVEN[1:])
    given, typical = plan["designs"]
    assert given["seed_sd_is"] == "given"
    assert given["seeds"] == seeds_needed(0.05, components=COMPONENTS, tasks=120, samples=4)
    assert (given["plan"]["maximum"], round(given["plan"]["expected_seeds"], 1)) == (12, 8.7)
    assert typical["seed_sd"] == plan["typical"]["quartiles"][1]
    five = next(row for row in plan["seen"] if row["seeds"] == 5)
    assert five["power"] == pytest.approx(
        power(0.05, components=COMPONENTS, seeds=5, tasks=120, samples=4)
    )
    assert five["smallest_effect"] == pytest.approx(
        minimum_detectable_effect(components=COMPONENTS, seeds=5, tasks=120, samples=4)
    )
    assert plan["needed"][0] == {"tasks": 120, "seeds": given["seeds"]}


def test_the_screen_shows_one_look_and_a_plan_side_by_side(
    capsys: pytest.CaptureFixture[str],
) -> None:
    lines = shown(capsys, *GIVEN[1:]).splitlines()
    assert lines[0] == "To see +0.050 in 4 of 5 studies: 120 tasks x 4 answers, level 0.95"
    assert lines[4] == "0.030 (given)    11 per arm  12 at most, 8.7 expected"
    assert "No effect: about 6 of 12, if the advice to stop is followed." in lines
    assert max(map(len, lines)) <= 80


def test_without_a_pilot_the_usual_sds_stand_with_arms_and_sources(
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = shown(capsys, "--effect", "0.05")
    for row in ("0.022 (typical, lower quartile)", "0.051 (typical, median)", "0.133 (typical, u"):
        assert row in out
    assert "100 to 500 tasks the training sd of RL is usually 0.022 / 0.051 / 0.133" in out
    assert "RL    37    6        0.022 / 0.051 / 0.133  0.017 / 0.033 / 0.044" in out
    assert "OPD   4     2        0.035 / 0.057 / 0.075  0.023 / 0.039 / 0.055" in out
    assert max(map(len, out.splitlines())) <= 80
    assert "OPD" not in shown(capsys, "--effect", "0.05", "--tasks", "30")
    assert "0.012 (typical, median)" in shown(capsys, "--effect", "0.05", "--tasks", "1319")
    assert "0.062 (typical, median)" in shown(capsys, "--effect", "0.05", "--tasks", "30")


def test_no_plan_has_fewer_than_three_seeds_or_than_the_policy_asks_for(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    easy = ["--tasks", "1319", "--samples", "4", "--seed-sd", "0.005", "--effect", "0.08"]
    assert planned(capsys, *easy)["designs"][0]["seeds"] == 3
    (tmp_path / "audit.toml").write_text("min_seeds = 6\nmargin = 0.04\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    plan = planned(capsys, *easy)
    assert plan["designs"][0]["seeds"] == 6
    assert plan["designs"][0]["plan"]["first"] == 6
    assert min(row["seeds"] for row in plan["seen"]) == 6
    assert planned(capsys, "--seed-sd", "0.01")["effect"] == 0.04


def test_seeds_and_evaluations_are_priced_apart(capsys: pytest.CaptureFixture[str]) -> None:
    prices = ["--usd-per-run", "8", "--usd-per-evaluation", "1", "--usd-per-task", "0.002"]
    plan = planned(capsys, *GIVEN[1:], *prices)
    run = 8 + 1 + 120 * 0.002
    assert plan["designs"][0]["usd"] == pytest.approx(2 * 11 * run)
    assert plan["designs"][0]["plan"]["usd_at_most"] == pytest.approx(24 * run)
    assert "11 per arm ($203.28)" in shown(capsys, *GIVEN[1:], *prices)


def test_the_variances_come_from_a_file(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = root / "reports" / "gppo-framework" / "results.json"
    plan = planned(capsys, str(path))
    assert plan["source"] == str(path)
    assert plan["tasks"] == 8
    assert [d["seed_sd_is"] for d in plan["designs"]] == ["estimate", "upper limit"]
    assert plan["designs"][0]["seed_sd"] == 0.0
    assert plan["typical"] is None


def test_plan_and_verify_name_the_same_seeds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "results.json"
    path.write_text(json.dumps(simulated(seeds=4, sd=0.03, number=1)), encoding="utf-8")
    ends = [d["seeds"] for d in planned(capsys, str(path), "--effect", "0.03")["designs"]]
    main(["verify", str(path)])
    assert f"{ends[0]} to {ends[1]} seeds per arm in a new study" in capsys.readouterr().out


def graded(tmp_path: Path) -> str:
    """Write a study judged from 1 to 10, one grade per task."""
    rows = {
        "recipe": [[7.0, 6.0, 8.5, 5.0] * 10, [6.5, 7.0, 8.0, 5.5] * 10, [7.5, 6.5, 8, 6] * 10],
        "control": [[5.0, 6.0, 7.5, 4.0] * 10, [5.5, 5.0, 7.0, 4.5] * 10, [6.5, 5.5, 6, 5] * 10],
    }

    def arm(name: str) -> list[dict[str, Any]]:
        return [
            {
                "seed": seed,
                "evaluation": {
                    "benchmark": "essays",
                    "metric": "judge",
                    "task_ids": [f"t{t}" for t in range(40)],
                    "scores": [v + ((t * 7 + seed * 3) % 5) / 4 for t, v in enumerate(values)],
                },
            }
            for seed, values in enumerate(rows[name], start=1)
        ]

    document = {
        "schema_version": 2,
        "method": "recipe",
        "metrics": {"judge": {"scale": [1, 10]}},
        "seed_results": arm("recipe"),
        "controls": {"control": {"role": "control", "seed_results": arm("control")}},
    }
    path = tmp_path / "graded.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return str(path)


def test_effects_are_in_the_units_of_the_metric_or_in_percent_of_its_scale(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = graded(tmp_path)
    own, percent = (planned(capsys, path, "--effect", text) for text in ("0.9", "10%"))
    assert (own["scale"], own["effect"], percent["effect"]) == (9, 0.9, 0.9)
    assert own["designs"] == percent["designs"]
    assert "answers per task" not in shown(capsys, path, "--effect", "0.9")
    assert main(["plan", path, "--effect", "9.5"]) == 2
    assert "up to 9, the width of the scale" in capsys.readouterr().err


def test_a_metric_or_benchmark_of_the_file_may_be_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = graded(tmp_path)
    assert planned(capsys, path, "--metric", "judge")["comparison"].endswith("judge on essays")
    assert main(["plan", path, "--benchmark", "poems"]) == 2
    assert "it has judge on essays" in capsys.readouterr().err


def test_a_file_with_one_seed_is_planned_with_usual_sds_and_its_own_size(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = shown(capsys, str(root / "reports" / "adaptive-clip" / "results.json"))
    assert "no training sd in it (recipe has one training run)" in out
    assert "480 tasks" in out.splitlines()[0]
    assert "(typical, median)" in out


def test_missing_outcomes_are_told_as_the_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = simulated(seeds=3, tasks=40)
    for entry in document["seed_results"]:
        evaluation = entry["evaluation"]
        evaluation["task_ids"] = [f"t{t}" for t in range(len(evaluation["correct"]))]
    for entry in document["controls"]["control"]["seed_results"]:
        evaluation = entry["evaluation"]
        evaluation["task_ids"] = [f"t{t + 10}" for t in range(len(evaluation["correct"]))]
    path = tmp_path / "results.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    out = shown(capsys, str(path))
    assert "of the outcomes are missing" in " ".join(out.split())
    assert "training runs" not in out.split("typical")[0]


def test_a_plan_of_ones_own_shows_its_power(capsys: pytest.CaptureFixture[str]) -> None:
    out = shown(capsys, *GIVEN[1:], "--looks", "4,8,12")
    reference = SequentialPlan(12, looks=(4, 8, 12))
    seen = reference.power(0.05, components=COMPONENTS, tasks=120, samples=4)
    assert f"{seen.expected_seeds:.1f} expected, seen in {round(100 * seen.power)}%" in out
    assert "12 at most, 8.7 expected, seen in 81%" in shown(
        capsys, *GIVEN[1:], "--maximum", "12", "--sequential"
    )


def test_an_effect_below_the_reach_of_the_tasks_asks_for_tasks_first(
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = shown(capsys, "--seed-sd", "0.01", "--effect", "0.01", "--tasks", "120")
    assert "With 120 tasks no number of seeds sees it: 568 or more are needed first." in out


def along(tmp_path: Path) -> str:
    """Write a study of which every run was evaluated at steps 60, 80 and 100."""
    document = simulated(seeds=4, sd=0.03, number=1)
    later = [simulated(seeds=4, sd=0.03, number=n) for n in (2, 3)]

    def with_steps(entry: dict[str, Any], others: list[dict[str, Any]]) -> dict[str, Any]:
        final = {**entry["evaluation"], "checkpoint_step": 100}
        more = [
            {**other["evaluation"], "checkpoint_step": step}
            for other, step in zip(others, (60, 80), strict=True)
        ]
        return {**entry, "evaluation": final, "evaluations": more}

    arms = [document["seed_results"], *(c["seed_results"] for c in document["controls"].values())]
    others = [
        [s["seed_results"], *(c["seed_results"] for c in s["controls"].values())] for s in later
    ]
    for place, runs in enumerate(arms):
        for number, entry in enumerate(runs):
            runs[number] = with_steps(entry, [other[place][number] for other in others])
    path = tmp_path / "results.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return str(path)


def test_a_file_with_checkpoints_is_planned_by_their_number(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = along(tmp_path)
    plan = planned(capsys, path, "--effect", "0.05")
    assert [row["checkpoints"] for row in plan["by_checkpoints"]] == [1, 2, 3]
    three = plan["by_checkpoints"][2]
    averaged = planned(capsys, path, "--effect", "0.05", "--checkpoints", "3")
    assert averaged["designs"][0]["seeds"] == three["seeds"]
    assert averaged["designs"][1]["seeds"] == three["seeds_upper"]
    assert averaged["samples"] == 12
    assert "Declare the steps before the next study." in shown(capsys, path)
    assert main(["plan", path, "--checkpoints", "4"]) == 2
    assert "no 4 common checkpoints" in capsys.readouterr().err


def test_checkpoints_without_a_file_need_the_sd_along_a_run(
    capsys: pytest.CaptureFixture[str],
) -> None:
    given = ["--seed-sd", "0.011", "--checkpoints", "5"]
    assert main(["plan", *given]) == 2
    assert "--along-sd" in capsys.readouterr().err
    plan = planned(capsys, *given, "--along-sd", "0.023")
    assert plan["designs"][0]["seed_sd"] == pytest.approx((0.011**2 + 0.023**2 / 5) ** 0.5)
    assert plan["samples"] == 20


def test_a_declared_plan_is_dated_hashed_and_judged_as_declared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1767225600")
    path = tmp_path / "plan.json"
    out = shown(capsys, *GIVEN[1:], "--declare", str(path))
    assert f"wrote the plan to {path}: looks 4..12, target +0.050, declared 2026-01-01" in out
    block = json.loads(path.read_text(encoding="utf-8"))
    assert block["maximum"] == {"method": 12, "control": 12}
    assert block["sha256"] == plan_hash(block)
    assert main(["plan", *GIVEN[1:], "--declare", str(path)]) == 2
    assert "a plan is not changed after a result" in capsys.readouterr().err
    document = {**simulated(seeds=6), "plan": block}
    found = declared_plan(from_document(document))
    assert found is not None
    assert (found.first, found.target_effect) == (4, 0.05)


def test_a_plan_that_was_changed_has_no_date(tmp_path: Path) -> None:
    document = simulated(seeds=3)
    document["seed_results"][0]["evaluation"]["date"] = "2026-05-01"
    block = {"maximum": {"method": 12}, "first": 4, "declared": "2026-01-01"}
    for plan, dated in (
        (block, True),
        ({**block, "sha256": plan_hash(block)}, True),
        ({**block, "sha256": plan_hash({**block, "first": 5})}, None),
    ):
        found = declared_plan(from_document({**document, "plan": plan}))
        assert found is not None
        assert found.dated is dated


def test_a_plan_goes_into_a_study_file_beside_what_stands_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "study.toml"
    text = (
        '# ours\nseeds = [1, 2]\n\n[arms.dapo]\nrole = "method"\n\n[arms."a b"]\nrole = "control"\n'
    )
    path.write_text(text, encoding="utf-8")
    shown(capsys, *GIVEN[1:], "--declare", str(path))
    written = path.read_text(encoding="utf-8")
    assert written.startswith(text)
    plan = tomllib.loads(written)["plan"]
    assert plan["maximum"] == {"dapo": 12, "a b": 12}
    assert plan["sha256"] == plan_hash(plan)
    assert main(["plan", *GIVEN[1:], "--declare", str(path)]) == 2
    assert "has a plan already" in capsys.readouterr().err
    shown(capsys, *GIVEN[1:], "--maximum", "20", "--declare", str(path), "--force")
    again = path.read_text(encoding="utf-8")
    assert again.startswith(text)
    assert tomllib.loads(again)["plan"]["maximum"] == {"dapo": 20, "a b": 20}


def test_a_plan_never_replaces_results(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "results.json"
    path.write_text(json.dumps(simulated(seeds=3)), encoding="utf-8")
    before = path.read_bytes()
    for more in ([], ["--force"]):
        assert main(["plan", *GIVEN[1:], "--declare", str(path), *more]) == 2
    assert "results file" in capsys.readouterr().err
    assert path.read_bytes() == before


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
        (["plan", "--seed-sd", "-1"], "--seed-sd must lie from 0 to 1"),
        (["plan", "--seed-sd", "0.1", "--effect", "0"], "--effect takes a size above 0"),
        (["plan", "--seed-sd", "0.1", "--tasks", "1"], "--tasks must lie from 2"),
        (["plan", "--seed-sd", "nan"], "--seed-sd must lie from 0 to 1"),
        (["plan", "--effect", "much"], "--effect takes a size above 0"),
        (["plan", "--effect", "1.5"], "--effect must lie above 0 and up to 1"),
        (["plan", "--looks", "4,x"], "--looks takes numbers of seeds"),
        (["plan", "--looks", "8,4"], "no such plan"),
        (["plan", "--looks", "2,4"], "the first look must have 3 seeds"),
        (["plan", "--maximum", "500"], "--maximum must lie from 4 to 200"),
        (["plan", "--checkpoints", "3"], "--checkpoints needs a file"),
        (["plan", "--tasks", "20", "--effect", "0.01", "--declare", "p.json"], "no plan of up to"),
        ([*GIVEN, "--plot", "x.pdf"], "writes .svg or .png"),
        (["self-check", "--studies", "0"], "--studies must lie from 1"),
    ],
)
def test_numbers_that_make_no_sense_are_status_2(
    capsys: pytest.CaptureFixture[str], arguments: list[str], complaint: str
) -> None:
    assert main(arguments) == 2
    assert complaint in capsys.readouterr().err


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


FORBIDDEN = ("pandas", "statsmodels", "matplotlib", "torch", "trl", "scipy")


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
    out = shown(capsys, *design)
    assert "120 tasks, one answer each, level 0.95" in out
    assert "with 10 seeds per arm or fewer, no number of tasks or answers is enough" in out


def test_a_first_look_below_the_seeds_that_the_policy_asks_for_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "audit.toml").write_text("min_seeds = 6\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    for more in ([], ["--maximum", "8"]):
        assert main(["plan", "--seed-sd", "0.02", "--first", "4", *more]) == 2
        assert "the first look must have 6 seeds per arm or more, not 4" in capsys.readouterr().err
