"""Runs that did not take place as they say are found after an import, at their source's line."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import run_folders as made
from cases import SHARED

from audit.cli.main import main
from audit.errors import ImportRefused
from audit.finding import Finding, Severity
from audit.importers.folder.bringing_in import bring_in
from audit.importers.folder.said import Said
from audit.report import verify
from audit.results import from_document
from audit.views.finding_view import details

# Rules that ask whether a run was real, or followed the estimator it declares.
ASKED = ("REAL", "ADV", "EVAL")


def document_of(root: Path, first: str = "plain", **said: Any) -> dict[str, Any]:
    found = bring_in([str(root)], Said(control=(first,), **said))
    assert found.questions == []
    assert found.document is not None
    return found.document


def spoken(document: dict[str, Any], families: tuple[str, ...] = ASKED) -> dict[str, Finding]:
    """Return warnings and errors of some families by rule and pointer."""
    found = verify(from_document(document)).found
    return {
        f"{f.rule} {f.pointer}": f
        for f in found
        if f.rule.rstrip("0123456789") in families and f.severity >= Severity.WARNING
    }


@pytest.mark.parametrize("name", [*made.PER_TASK, *made.SCORES])
def test_runs_that_took_place_raise_no_alarm(name: str, tmp_path: Path) -> None:
    make = made.PER_TASK[name][0] if name in made.PER_TASK else made.SCORES[name]
    first = next(iter(make(tmp_path)))
    stale = "REAL001 /controls/plain/seed_results/0/evaluation/printed/mean"
    # One of the verifiers' folders is made with an average that was printed too early.
    assert set(spoken(document_of(tmp_path, first))) == ({stale} if name == "verifiers" else set())


def folder_of(root: Path, arm: str, seed: int) -> Path:
    return next(root.glob(f"outputs/evals/sums--made__{arm}-s{seed}/*"))


def rewritten(path: Path, change: Callable[[int, dict[str, Any]], None]) -> None:
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    for place, row in enumerate(rows):
        change(place, row)
    made.put_lines(path, rows)


def timed(root: Path, milliseconds: Callable[[str, int, int], float]) -> None:
    """Write into every row how long its answer took."""
    for arm in made.ARMS:
        for seed in made.SEEDS:

            def change(place: int, row: dict[str, Any], arm: str = arm, seed: int = seed) -> None:
                row["generation_ms"] = milliseconds(arm, seed, place)

            rewritten(folder_of(root, arm, seed) / "results.jsonl", change)


def honest(arm: str, seed: int, place: int) -> float:
    return 300.25 + 7 * place + seed * 1.37 + len(arm)


def metadata(root: Path, arm: str, seed: int, **more: Any) -> None:
    path = folder_of(root, arm, seed) / "metadata.json"
    made.put_json(path, json.loads(path.read_text(encoding="utf-8")) | more)


def good(root: Path) -> None:
    """Write six evaluations without a fault."""
    right = made.verifiers(root)
    timed(root, honest)
    for arm, seeds in right.items():
        for seed, count in seeds.items():
            metadata(root, arm, seed, avg_reward=count / (3 * made.TASKS))


def stale_average(root: Path) -> None:
    metadata(root, "curr", 5, avg_reward=0.0)


def no_rollouts(root: Path) -> None:
    metadata(root, "curr", 5, rollouts_per_example=0)


def no_time(root: Path) -> None:
    timed(root, lambda arm, seed, at: 0.0 if (arm, seed) == ("curr", 5) else honest(arm, seed, at))


def times_of_another_run(root: Path) -> None:
    timed(root, lambda arm, seed, at: honest(arm, 4 if (arm, seed) == ("curr", 5) else seed, at))


def some_empty(root: Path) -> None:
    def change(place: int, row: dict[str, Any]) -> None:
        if place in (4, 9, 17):
            row |= {"completion": [{"role": "assistant", "content": ""}], "reward": 0.0}

    rewritten(folder_of(root, "curr", 5) / "results.jsonl", change)
    rows = (folder_of(root, "curr", 5) / "results.jsonl").read_text(encoding="utf-8")
    rewards = [json.loads(line)["reward"] for line in rows.splitlines()]
    metadata(root, "curr", 5, avg_reward=sum(rewards) / len(rewards))


RUN = "/seed_results/1/evaluation"
PLACE = "outputs/evals/sums--made__curr-s5/a0b1c2d5"


@pytest.mark.parametrize(
    ("plant", "found", "at"),
    [
        (good, None, ""),
        (
            stale_average,
            f"REAL001 {RUN}/printed/mean",
            f"from {PLACE}/metadata.json avg_reward",
        ),
        (
            no_rollouts,
            f"REAL002 {RUN}/printed/answers_per_task",
            f"from {PLACE}/metadata.json rollouts_per_example",
        ),
        (no_time, f"REAL003 {RUN}/mean_seconds", f"from {PLACE}/results.jsonl generation_ms"),
        (
            times_of_another_run,
            f"REAL004 {RUN}/mean_seconds",
            f"from {PLACE}/results.jsonl generation_ms",
        ),
        (some_empty, f"EVAL010 {RUN}/empty", f"from {PLACE}/results.jsonl line 5 completion"),
    ],
)
def test_a_planted_fault_is_found_alone_and_at_its_source(
    plant: Callable[[Path], None], found: str | None, at: str, tmp_path: Path
) -> None:
    good(tmp_path)
    plant(tmp_path) if plant is not good else None
    said = spoken(document_of(tmp_path))
    assert list(said) == ([] if found is None else [found])
    for finding in said.values():
        assert details(finding).endswith(at)
        assert finding.origin is not None
        assert len(finding.origin.sha256 or "") == 64


def test_of_58_folders_those_that_are_stale_or_never_ran_are_found_and_no_other(
    tmp_path: Path,
) -> None:
    """Nine averages of 0 over answers that score, five empty folders that are copies, 44 good."""
    stale: set[Path] = set()
    dead: set[Path] = set()
    place = 0
    for copy in range(10):
        part = tmp_path / f"part{copy}"
        good(part)
        for arm in made.ARMS:
            for seed in made.SEEDS:
                folder, place = folder_of(part, arm, seed), place + 1
                if place > 58:
                    shutil.rmtree(folder.parent)
                elif place % 6 == 1 and len(stale) < 9:
                    metadata(part, arm, seed, avg_reward=0.0, rollouts_per_example=3)
                    stale.add(folder)
                elif place % 6 == 4 and len(dead) < 5:
                    metadata(part, arm, seed, avg_reward=0.0, rollouts_per_example=0)
                    rewritten(
                        folder / "results.jsonl",
                        lambda _, row: row.update(completion=[], reward=0.0, generation_ms=0.0),
                    )
                    dead.add(folder)
    folders = sorted(tmp_path.glob("part*/outputs/evals/*/*"))
    assert (len(folders), len(stale), len(dead)) == (58, 9, 5)
    refused: dict[Path, str] = {}
    warned = set()
    for folder in folders:
        try:
            found = bring_in([str(folder)], Said())
        except ImportRefused as error:
            refused[folder] = error.message
            continue
        assert found.document is not None
        said = spoken(found.document)
        if said:
            assert [name[:7] for name in said] == ["REAL001"]
            warned.add(folder)
    assert (set(refused), warned) == (dead, stale)
    assert all("completions are empty: nothing was drawn" in said for said in refused.values())


def logs(root: Path, steps: Callable[[int], list[int]], seeds: Callable[[int], int]) -> None:
    """Write ms-swift's logs of two arms, the evaluation at the last step but where said."""
    for arm in ("plain", "curr"):
        for seed in (1, 2, 3):
            rows = [
                {"loss": 0.1 * seed + 0.01 * n * len(arm), "global_step/max_steps": f"{n}/40"}
                for n in steps(seed)
            ]
            rows[-1]["eval_accuracy"] = 0.2 + 0.1 * seed
            made.put_lines(root / arm / f"seed{seed}" / "logging.jsonl", rows)
            settings = {"seed": seeds(seed), "model": "m", "beta": 0.1 * len(arm)}
            made.put_json(root / arm / f"seed{seed}" / "args.json", settings)


def test_steps_that_go_back_are_found_at_the_line_where_they_do(tmp_path: Path) -> None:
    logs(tmp_path, lambda seed: [10, 20, 15, 30, 40] if seed == 2 else [10, 20, 30, 40], int)
    said = spoken(document_of(tmp_path))
    assert set(said) == {
        f"REAL005 {arm}/seed_results/1/telemetry/went_back" for arm in ("", "/controls/plain")
    }
    finding = said["REAL005 /seed_results/1/telemetry/went_back"]
    assert finding.message == "step 15 follows step 20 in the source"
    assert details(finding) == "from curr/seed2/logging.jsonl line 3"


def test_one_seed_in_all_settings_is_found_where_the_user_takes_that_of_the_paths(
    tmp_path: Path,
) -> None:
    logs(tmp_path, lambda seed: [10, 20, 30, 40], lambda seed: 42)
    assert bring_in([str(tmp_path)], Said(control=("plain",))).questions
    document = document_of(tmp_path, seed_from="path")
    said = spoken(document)
    assert set(said) == {
        f"REAL007 {arm}/seed_results/0/configured_seed" for arm in ("", "/controls/plain")
    }
    finding = said["REAL007 /seed_results/0/configured_seed"]
    assert details(finding) == "expected 1, 2, 3, found 42, from curr/seed1/args.json seed"


def test_seeds_that_the_settings_tell_have_their_key_as_their_source(tmp_path: Path) -> None:
    logs(tmp_path, lambda seed: [10, 20, 30, 40], int)
    document = document_of(tmp_path)
    fields = {entry["pointer"]: entry for entry in document["provenance"]["imported"]["fields"]}
    assert fields["/seed_results/2/seed"] == {
        "pointer": "/seed_results/2/seed",
        "file": "curr/seed3/args.json",
        "key": "seed",
    }
    assert fields["/seed_results/2/training"]["lines"] == [1, 2, 3, 4]
    files = {file["path"] for file in document["provenance"]["imported"]["files"]}
    assert {entry["file"] for entry in fields.values()} <= files


def test_a_step_of_an_imported_log_has_its_own_line(tmp_path: Path) -> None:
    from audit.facts.origins import origin_of

    logs(tmp_path, lambda seed: [10, 20, 30, 40], int)
    results = from_document(document_of(tmp_path))
    origin = origin_of(results, "/seed_results/0/training/2/updates/0/metrics/loss")
    assert origin is not None
    assert (origin.file, origin.line) == ("curr/seed1/logging.jsonl", 3)
    assert origin_of(results, "/seed_results/0/status") is None


SAMPLES = SHARED / "formats"


@pytest.mark.skipif(not SAMPLES.is_dir(), reason="the shared samples are not beside the checkout")
@pytest.mark.parametrize(
    ("sample", "folder", "rules"),
    [
        ("verifiers_real_good", "math-python--gpt-4.1-mini/dbaac595", set()),
        ("verifiers_real_stale", "wordle--gpt-5-mini/019a631c", {"REAL001", "REAL003"}),
    ],
)
def test_public_folders_tell_stale_from_good(sample: str, folder: str, rules: set[str]) -> None:
    found = bring_in([str(SAMPLES / sample / "evals" / folder)], Said())
    assert found.document is not None
    assert {name[:7] for name in spoken(found.document)} == rules


@pytest.mark.skipif(not SAMPLES.is_dir(), reason="the shared samples are not beside the checkout")
def test_a_public_folder_that_never_ran_does_not_come_over(tmp_path: Path) -> None:
    root = SAMPLES / "verifiers_real_copied" / "evals"
    for folder in sorted(root.glob("*/*")):
        with pytest.raises(ImportRefused, match="150 of 150 completions are empty"):
            bring_in([str(folder)], Said())
    with pytest.raises(ImportRefused, match=r"the same bytes|completions are empty"):
        bring_in([str(root)], Said())


def test_the_report_as_json_names_file_line_and_hash(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good(tmp_path / "runs")
    stale_average(tmp_path / "runs")
    made.put_json(tmp_path / "results.json", document_of(tmp_path / "runs"))
    main(["verify", str(tmp_path / "results.json"), "--format", "json"])
    findings = json.loads(capsys.readouterr().out)["files"][0]["findings"]
    (origin,) = [f["origin"] for f in findings if f["rule"] == "REAL001"]
    assert origin["file"] == f"{PLACE}/metadata.json"
    assert origin["key"] == "avg_reward"
    assert origin["line"] is None
    files = document_of(tmp_path / "runs")["provenance"]["imported"]["files"]
    assert {"path": origin["file"], "sha256": origin["sha256"]} in [
        {"path": f["path"], "sha256": f["sha256"]} for f in files
    ]
