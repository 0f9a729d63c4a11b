"""Put finished runs together into a results file, schema_version 2."""

from __future__ import annotations

import hashlib
import json
import statistics
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from audit.results import BUDGET_FIELDS, spent_ratio
from audit.training.arms import changed
from audit.training.price import usd

if TYPE_CHECKING:
    from audit.training.run import Bench
    from audit.training.study_file import Cost, PlannedArm, StudyFile

Run = dict[str, Any]

_OWN = ("adapter_key", "manifest_ref", "diagnostic_only")

# An arm's names for what its runs' protocol says was seen.
_SEEN = {"gold_in_policy": "gold_in_generation", "official_test_read": "test_opened"}


def results_document(
    bench: Bench,
    base: list[dict[str, Any]],
    runs: dict[str, list[Run]],
    commit: str | None = None,
) -> dict[str, Any]:
    """Build the results file.

    Parameters
    ----------
    base : list of dict
        Evaluations of the untrained base.
    runs : dict
        Runs by arm name, in the order of the study's seeds.
    commit : str, optional
        The commit of the code that made all of them.
    """
    study = bench.study
    top = study.method
    base = [_priced(one, study.cost) for one in base]
    runs = {
        arm.name: [_priced(_said(run, study, arm), study.cost) for run in runs[arm.name]]
        for arm in study.arms
    }
    stated = dict(study.stated)
    fields = changed(
        [bench.protocol(arm) for arm in sorted(study.arms, key=lambda arm: arm is not top)]
    )
    document: dict[str, Any] = {
        "schema_version": 2,
        "method": top.name,
        **{key: stated[key] for key in _OWN if key in stated},
        "seeds": list(study.seeds),
        "launched_seeds": {arm.name: list(study.seeds) for arm in study.arms},
        "measured_locally": True,
        "change": {
            **({"summary": study.change.summary} if study.change else {}),
            "fields": fields,
            "mechanism": (study.change and study.change.mechanism) or mechanism_of(fields),
        },
        **({"claims": [dict(claim) for claim in study.claims]} if study.claims else {}),
        **({"plan": dict(study.plan)} if study.plan else {}),
        "metrics": metrics(bench),
        "dataset": bench.partition.dataset,
        "checkpoint": bench.checkpoint,
        "holdout": {
            "train_rows": len(bench.partition.train) + bench.partition.dropped,
            "holdout_rows": len(bench.partition.holdout),
            "ngram": bench.partition.ngram,
            "dropped": bench.partition.dropped,
        },
        "aggregate_metrics": aggregates(study, runs),
        "base_evaluations": base,
        "seed_results": runs[top.name],
        "controls": {
            arm.name: _control(arm, runs[arm.name], runs[top.name])
            for arm in study.arms
            if arm is not top
        },
        "evaluation_protocol": {
            "tier": bench.task.benchmark,
            "seeds": list(study.seeds),
            "test_used_for_selection": False,
            **stated.get("evaluation_protocol", {}),
        },
        "provenance": {
            **stated.get("provenance", {}),
            "dataset_fingerprint": fingerprint(bench.partition.dataset),
            **({"code_commit": commit} if commit else {}),
            "study_sha256": study.source_sha256,
        },
        **({"verified": dict(study.verified)} if study.verified else {}),
        **({"limitations": list(study.limitations)} if study.limitations else {}),
    }
    return document


def mechanism_of(fields: Sequence[str]) -> str:
    """Tell through what arms can differ from the settings in which they do.

    Parameters
    ----------
    fields : sequence of str
        Names of the protocol.

    Returns
    -------
    {"clip", "reward", "data", "other"}
    """
    kinds = (kind for kind, own in _MECHANISMS.items() if set(fields) <= own)
    return next(kinds, "other")


_MECHANISMS = {
    "clip": {
        *("clip", "epsilon_low", "epsilon_high", "epsilon_high_max"),
        *("geometry", "topology", "delta"),
    },
    "reward": {"reward", "reward_sha256", "rewards"},
    "data": {
        *("training_data_sha256", "task_train", "task_train_prompts"),
        *("task_where", "task_order", "task_mixture"),
    },
}


def metrics(bench: Bench) -> dict[str, Any]:
    """Return the ``metrics`` block: the grader's accuracy, and each component of a reward."""
    return {
        "accuracy": {"scale": [0, 1], "higher_is_better": True},
        **{
            one.name: {"scale": [0, 1], "kind": "score", "higher_is_better": True}
            for one in bench.components
        },
    }


def fingerprint(dataset: dict[str, Any]) -> str:
    """SHA-256 of the dataset block as JSON with sorted keys."""
    return hashlib.sha256(json.dumps(dataset, sort_keys=True).encode()).hexdigest()


def aggregates(study: StudyFile, runs: dict[str, list[Run]]) -> dict[str, Any]:
    """Mean, standard deviation (n - 1) and n over finished runs, and paired differences."""
    top = study.method.name
    found = {"method_metrics.accuracy": _spread(list(_accuracies(runs[top]).values()))}
    before = [r["baseline"]["accuracy"] for r in runs[top] if "baseline" in r]
    found["baseline.accuracy"] = _spread(before)
    for arm in study.arms:
        if arm.name == top:
            continue
        ours, theirs = _accuracies(runs[top]), _accuracies(runs[arm.name])
        key = arm.name.replace("-", "_")
        found[f"{key}.validation.accuracy"] = _spread(list(theirs.values()))
        differences = [ours[seed] - theirs[seed] for seed in ours if seed in theirs]
        found[f"paired_accuracy_difference_vs_{arm.name}"] = _spread(differences)
    return {name: value for name, value in found.items() if value is not None}


def _accuracies(runs: list[Run]) -> dict[int, float]:
    return {r["seed"]: r["method_metrics"]["accuracy"] for r in runs if r["status"] == "finished"}


def _spread(values: list[float]) -> dict[str, Any] | None:
    if not values:
        return None
    std = {"std": statistics.stdev(values)} if len(values) > 1 else {}
    return {"mean": statistics.fmean(values), **std, "n": len(values)}


def _control(arm: PlannedArm, runs: list[Run], top: list[Run]) -> dict[str, Any]:
    finished = [r for r in runs if r["status"] == "finished"]
    tokens = "generated_training_tokens_including_rejected_groups"
    ours = [r["sampling"][tokens] for r in top if r["status"] == "finished"]
    theirs = [r["sampling"][tokens] for r in finished]
    seen = runs[0]["protocol"]  # the arm's runs have one protocol
    return {
        "role": arm.role,
        "seed_results": runs,
        "execution_checks": {
            "completed_seeds": len(finished),
            "rollout_groups_per_seed": [
                r["sampling"]["tasks_attempted"] - _rejected(r) for r in finished
            ],
            "actual_gradient_steps": [r["clip_activity"]["updates"] for r in finished],
            "rejected_zero_advantage_groups": [_rejected(r) for r in finished],
            "generated_tokens_including_rejected_groups": theirs,
            **{name: seen[source] for name, source in _SEEN.items() if source in seen},
        },
        "matched_upper_bound_budget": _budget(runs[0]) == _budget(top[0]),
        "matched_actual_compute": bool(ours and theirs) and spent_ratio(ours, theirs) == 1,
    }


def _rejected(run: Run) -> int:
    """Return how many groups without variance were not trained on; kept ones are in the batch."""
    rejects = run["telemetry"]["zero_groups"] == "rejected"
    groups: int = run["sampling"]["zero_advantage_groups"] if rejects else 0
    return groups


def _budget(run: Run) -> list[Any]:
    """Return what bounds the tokens that a run may generate and train on."""
    return [run["protocol"][name] for name in BUDGET_FIELDS]


def _said(run: Run, study: StudyFile, arm: PlannedArm) -> Run:
    """Return the run with what its author says of it."""
    said = {
        "diagnostic_only": study.stated.get("diagnostic_only"),
        "evaluation_tier": arm.evaluation_tier,
        "limitations": list(arm.limitations) or None,
    }
    return {**run, **{key: value for key, value in said.items() if value is not None}}


def _priced(one: Run, cost: Cost | None) -> Run:
    """Return a run or an evaluation with its price, which may be learned later.

    What was recorded without devices or runs at once had one of each.
    """
    if cost is None or "cost" not in one:
        return one
    block = one["cost"]
    price = usd(
        cost,
        block["minutes"],
        devices=block.get("devices", 1),
        machines=block.get("machines", 1),
        at_once=block.get("runs_at_once", 1),
    )
    return {**one, "cost": {**block, "usd": round(price, 4)}}


def to_text(document: dict[str, Any]) -> str:
    """JSON text with a line for each entry of the outer levels and for each run.

    Raises
    ------
    ValueError
        When a number is not finite.
    """
    return _lines(document, "", depth=4) + "\n"


def _lines(value: Any, indent: str, depth: int) -> str:
    inner = indent + " "
    if isinstance(value, dict) and value and depth > 1:
        parts = [f"{json.dumps(k)}: {_lines(v, inner, depth - 1)}" for k, v in value.items()]
        return "{\n" + ",\n".join(inner + part for part in parts) + f"\n{indent}}}"
    if isinstance(value, list) and value and isinstance(value[0], dict):
        parts = [json.dumps(v, allow_nan=False) for v in value]
        return "[\n" + ",\n".join(inner + part for part in parts) + f"\n{indent}]"
    return json.dumps(value, allow_nan=False)
