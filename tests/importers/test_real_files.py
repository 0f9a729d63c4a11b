"""Every real file beside the checkout imports, or is refused with its reason."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from audit.schema import schema_faults


@pytest.fixture(scope="module")
def outcomes(root: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        "importing_outcomes", root / "benchmarks" / "importing_outcomes.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def real(shared: Path) -> Path:
    return shared / "data" / "real"


@pytest.fixture(scope="module")
def found(outcomes: ModuleType, real: Path) -> dict[str, Any]:
    cases = outcomes.cases(real)
    return {
        f"{case.files[0][1]} {case.words}".strip(): outcomes.outcome(case, real) for case in cases
    }


def test_the_page_of_outcomes_is_fresh(outcomes: ModuleType, real: Path, root: Path) -> None:
    page = (root / "docs" / "importing-outcomes.md").read_text(encoding="utf-8")
    assert page == outcomes.page(real)


def test_what_is_imported_keeps_the_contract_and_has_no_error(
    outcomes: ModuleType, found: dict[str, Any]
) -> None:
    brought = {name: case.document for name, case in found.items() if case.document is not None}
    assert len(brought) > 20
    for name, document in brought.items():
        assert schema_faults(document) == [], name
        # A claim the source published and its seeds do not carry is the source's, not ours.
        ours = [e for e in outcomes.errors(document) if "claim" not in e.split(" ")[0]]
        assert ours == [], name


@pytest.mark.parametrize(
    ("file", "status", "reason"),
    [
        ("broken/lfs_pointer_details.parquet", 2, "Git LFS pointer"),
        ("broken/lfs_pointer_results.json", 2, "Git LFS pointer"),
        ("broken/zero_bytes.json", 2, "empty"),
        ("inspect/popularity_dPi.eval", 1, "no score in the log: 10 samples"),
        ("multiseed/dopamine_alien.vg.json", 2, "no importer"),
        ("multiseed/xling_stats.csv", 1, "seeds cannot be joined"),
        ("trainer_state/trainer_state_a2_vi_42.json", 1, "without an evaluation"),
        ("whileai/doc-extraction-harness__results.json", 1, "no arms"),
        ("whileai/meta-harness__results.json", 1, "no arm was trained"),
    ],
)
def test_a_refusal_has_the_right_reason(
    file: str, status: int, reason: str, found: dict[str, Any]
) -> None:
    assert found[file].status == status
    assert reason in found[file].line


def test_cancelled_evaluations_are_no_finished_runs(found: dict[str, Any]) -> None:
    for name in ("no-samples", "popularity"):
        case = found[f"inspect/2025-05-12T20-28-13-04-00_{name}.json"]
        assert case.document["seed_results"][0]["status"] == "failed"


def test_the_deviation_of_three_seeds_is_over_n_minus_1(found: dict[str, Any]) -> None:
    from statistics import pstdev, stdev

    document = found["multiseed/asi_ceiling_analysis_summary.json"].document
    runs = document["controls"]["stationary_adamw_control"]["seed_results"]
    scores = [run["method_metrics"]["avg_online"] for run in runs]
    assert scores == [0.764, 0.77079999, 0.76639998]
    assert round(stdev(scores), 5) == 0.00345
    assert round(pstdev(scores), 5) == 0.00282


def test_the_evaluation_s_seed_is_not_taken_for_training_s(found: dict[str, Any]) -> None:
    key = "peritem/xling_a2_vi_42_aime2024.json --arm a2=… --seed-from 'a2_vi_{seed}'"
    runs = found[key].document["seed_results"]
    assert [run["seed"] for run in runs] == [7, 42]  # both files say "seed": 42 of the evaluation
    assert len(runs[1]["training"]) == 10


def test_a_published_gain_that_its_seeds_do_not_carry_is_refused(found: dict[str, Any]) -> None:
    from audit.analysis import analyse
    from audit.results import from_document

    document = found["whileai/talk-to-solve__results.json"].document
    runs = [run["method_metrics"]["accuracy"] for run in document["seed_results"]]
    assert runs == [0.4025, 0.145, 0.3475]
    assert document["reported"]["arms"]["recipe"] == {
        "score": 0.4025,
        "low": 0.355,
        "high": 0.44666666666666666,
        "pass_at_k": 0.62,
        "seeds": 1,
    }
    assert len(analyse(from_document(document)).refused_claims) == 1


def test_no_standard_error_is_a_score(
    found: dict[str, Any],
) -> None:
    for name in ("lmeval_v0_arc_challenge_res", "pythia160m_5shot_step3000"):
        document = found[f"lm_eval/{name}.json"].document
        assert not any("stderr" in metric for metric in document["metrics"])
