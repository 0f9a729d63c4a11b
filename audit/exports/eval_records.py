"""Every Eval Ever: one aggregate record per finished training run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from audit.analysis.measures import MeasuredRun
from audit.errors import ImportRefused
from audit.exports.arm_scores import ArmScore, arm_scores
from audit.report import Report
from audit.results import Run

SCHEMA_VERSION = "0.3.0"


def records(report: Report, retrieved: int) -> list[dict[str, Any]]:
    """Return a study as aggregate records.

    Parameters
    ----------
    report : Report
        One with an analysis; what it says of a run's arm stands in the details of each score.
    retrieved : int
        When the records are made, in seconds since 1970; the format requires it.

    Raises
    ------
    ImportRefused
        When no finished run has a score.
    """
    results = report.case.results
    scores = list(arm_scores(report))
    base = results.block("checkpoint").get("public_id")
    found = []
    for arm in results.arms:
        mine = [score for score in scores if score.arm == arm.name]
        for run in arm.finished:
            listed = list(_results_of(run, mine))
            if listed:
                found.append(_record(run, listed, base, retrieved))
    if not found:
        raise ImportRefused("no finished run has a score to write", path=results.name)
    return found


def _record(run: Run, listed: list[dict[str, Any]], base: object, retrieved: int) -> dict[str, Any]:
    label = f"seed-{run.seed}" if run.seed is not None else f"run-{run.index}"
    details = {"deployment_type": "unknown", "model_availability": "unknown", "arm": run.arm}
    if run.seed is not None:
        details["training_seed"] = str(run.seed)
    if base:
        details["base_model"] = str(base)
    model = run.run_id or f"{run.arm}/{label}"
    return {
        "schema_version": SCHEMA_VERSION,
        "evaluation_id": f"{run.arm}/{label}/{retrieved}",
        "retrieved_timestamp": str(retrieved),
        "source_metadata": {
            "source_type": "evaluation_run",
            "source_organization_name": "unknown",
            "evaluator_relationship": "other",
        },
        "eval_library": {"name": "unknown", "version": "unknown"},
        "model_info": {"name": model, "id": model, "additional_details": details},
        "evaluation_results": listed,
    }


def _results_of(run: Run, scores: list[ArmScore]) -> Iterator[dict[str, Any]]:
    for score in scores:
        mine = next((m for m in score.runs if m.run is not None and m.run.index == run.index), None)
        if mine is not None:
            yield _result(score, mine)


def _result(score: ArmScore, run: MeasuredRun) -> dict[str, Any]:
    measure, benchmark = score.measure, score.benchmark or "unknown"
    assert run.score is not None  # `ArmScore.runs` has those with a score
    details: dict[str, Any] = {"score": float(run.score)}
    if score.views:
        details["details"] = {"audit": "; ".join(score.remarks[1:])}
    examples = run.examples if run.outcomes is None else len(run.outcomes.samples)
    if examples:
        details["uncertainty"] = {"num_samples": examples}
    return {
        "evaluation_name": benchmark,
        "source_data": {"dataset_name": benchmark, "source_type": "other"},
        "metric_config": {
            "metric_id": score.metric,
            "lower_is_better": not measure.higher_is_better,
            "score_type": "continuous",
            "min_score": "-Infinity" if measure.low is None else measure.low,
            "max_score": "Infinity" if measure.high is None else measure.high,
        },
        "score_details": details,
    }
