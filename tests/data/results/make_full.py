"""Write ``full.json``: a made-up study in which every block of the contract occurs.

Nothing in it was measured. What looks random comes from SHA-256, so the bytes are the same on every
machine; what can be computed from something else in the file is computed, so that all its parts
agree. Run ``python tests/data/results/make_full.py`` after a change of the contract.
"""

from __future__ import annotations

import hashlib
import json
import math
import struct
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

SEEDS = (17, 18, 19)
TOP, CONTROL = "chi-clip", "fixed-clip"
STEPS, GROUPS, GROUP, UPDATES, MAX_TOKENS = 2, 2, 4, 2, 16
DELTA, RADIUS = 0.04, 0.2
SAMPLES = 4
T_975_DF2 = 4.302652729911275
RIGHT = {
    "base": [0.10, 0.45, 0.25, 0.40, 0.35, 0.10, 0.45, 0.35, 0.40, 0.10],
    CONTROL: [0.15, 0.50, 0.35, 0.45, 0.50, 0.15, 0.45, 0.40, 0.50, 0.15],
    TOP: [0.60, 0.90, 0.80, 0.90, 0.95, 0.60, 0.90, 0.80, 0.95, 0.60],
}


def sha(*words: object) -> str:
    return hashlib.sha256(" ".join(map(str, words)).encode()).hexdigest()


def unit(*words: object) -> float:
    """Return a number in [0, 1) that depends on the words alone."""
    return int(sha(*words)[:12], 16) / 16**12


def float32(value: float) -> float:
    return float(struct.unpack("f", struct.pack("f", value))[0])


def spread(values: list[float]) -> dict[str, Any]:
    return {"mean": fmean(values), "std": stdev(values), "n": len(values)}


def t_interval(values: list[float]) -> tuple[float, float]:
    half = T_975_DF2 * stdev(values) / math.sqrt(len(values))
    return fmean(values) - half, fmean(values) + half


def bounds(arm: str, probability: float) -> tuple[float, float]:
    """Trust region of the ratio of one token: chi2/atomic, or the fixed clip, capped at 1/p."""
    if arm == TOP:
        width = math.sqrt(DELTA / probability)
        return max(0.0, 1 - width), min(1 / probability, 1 + width)
    return 1 - RADIUS, min(1 / probability, 1 + RADIUS)


def advantages(rewards: list[float]) -> list[float]:
    """(r - mean) / (sample standard deviation + 1e-4) within each group, as float32."""
    out = []
    for start in range(0, len(rewards), GROUP):
        group = rewards[start : start + GROUP]
        out += [float32((r - fmean(group)) / (stdev(group) + 1e-4)) for r in group]
    return out


def response(
    arm: str, key: tuple[object, ...], index: int, inner: int, advantage: float
) -> tuple[dict[str, Any], float]:
    """Return the audit of one response in one update, and its share of the loss."""
    size = 5 + int(6 * unit("size", *key, index))
    outside = gated = 0
    lowers, uppers, logs, terms = [], [], [], []
    for token in range(size):
        low, high = bounds(arm, 0.3 + 0.7 * unit("p", *key, index, token))
        log = 0.0 if inner == 1 else 0.9 * (unit("log", *key, index, token) - 0.5)
        ratio = math.exp(log)
        outside += not low <= ratio <= high
        gated += (ratio < low and advantage < 0) or (ratio > high and advantage > 0)
        lowers.append(low)
        uppers.append(high)
        logs.append(abs(log))
        terms.append(min(ratio * advantage, min(max(ratio, low), high) * advantage))
    audit = {
        "sequence": index,
        "geometry": "chi2" if arm == TOP else "tv",
        "topology": "atomic" if arm == TOP else "mc",
        "clip_fraction": float32(outside / size),
        "gated_clip_fraction": float32(gated / size),
        "lower_mean": float32(fmean(lowers)),
        "upper_mean": float32(fmean(uppers)),
        "max_abs_log_ratio": float32(max(logs)),
        "tokens": size,
        "truncated": False,
    }
    return audit, -fmean(terms)


def training_step(arm: str, seed: int, step: int) -> dict[str, Any]:
    """One step; both arms at a seed share the rollouts of step 1, as they share the model."""
    key: tuple[object, ...] = (seed, step) if step == 1 else (arm, seed, step)
    counts = [1 + int(3 * unit("right", *key, group)) for group in range(GROUPS)]
    if step == 2 and seed == SEEDS[0]:
        counts[1] = GROUP  # one group without variance, kept in the batch
    rewards = [float(member < right) for right in counts for member in range(GROUP)]
    gains = advantages(rewards)
    updates = []
    for inner in range(1, UPDATES + 1):
        pairs = [response(arm, key, i, inner, gain) for i, gain in enumerate(gains)]
        norm_key = key if inner == 1 else (arm, *key)
        updates.append(
            {
                "inner_update": inner,
                "loss": float32(fmean([loss for _, loss in pairs])),
                "gradient_l2_norm": float32(0.2 + 0.2 * unit("norm", *norm_key, inner)),
                "response_audits": [audit for audit, _ in pairs],
                "metrics": {"entropy": float32(0.3 + 0.1 * unit("entropy", *norm_key, inner))},
            }
        )
    first = 1 + (step - 1) * GROUPS
    return {
        "step": step,
        "training_rows": list(range(first, first + GROUPS)),
        "rewards": rewards,
        "advantages": gains,
        "correct_counts": counts,
        "zero_advantage_groups": sum(right == GROUP for right in counts),
        "updates": updates,
    }


def evaluation(model: str, seed: int, benchmark: str, tasks: int) -> dict[str, Any]:
    """Outcomes task by task: the chance of the arm, moved a little by seed and task."""
    chances = RIGHT[model][:tasks]
    correct = [
        min(SAMPLES, int(SAMPLES * chance + 0.25 + 0.5 * unit(benchmark, model, seed, task)))
        for task, chance in enumerate(chances)
    ]
    return {
        "benchmark": benchmark,
        "split": "validation",
        "metric": "accuracy",
        "checkpoint_step": 0 if model == "base" else STEPS,
        "selected_on": "none",
        "task_ids": [f"{benchmark}-{task:02d}" for task in range(tasks)],
        "correct": correct,
        "samples": [SAMPLES] * tasks,
        "errored": [0] * tasks,
        "truncated": [0] * (tasks - 1) + [1],
        "unparsed": [0] * tasks,
        "mean_tokens": [
            5.0 + int(8 * unit("length", benchmark, model, seed, task)) / SAMPLES
            for task in range(tasks)
        ],
        "clusters": [f"{benchmark}-text-{task:02d}" for task in range(tasks)],
        "condition": {
            "temperature": 1.0,
            "top_p": 1.0,
            "top_k": 0,
            "max_tokens": MAX_TOKENS,
            "seed": seed,
            "batch_size": 40,
            "engine": "none, made up",
            "dtype": "float32",
            "prompt_sha256": sha("prompt"),
        },
    }


def digit_share(model: str, seed: int) -> dict[str, Any]:
    """An evaluation by scores: the share of right digits in each answer."""
    block = evaluation(model, seed, "addition", 10)
    scores = [min(1.0, right / SAMPLES + 0.125) for right in block["correct"]]
    kept = ("benchmark", "split", "checkpoint_step", "selected_on", "task_ids", "condition")
    return {**{key: block[key] for key in kept}, "metric": "digit_share", "scores": scores}


def measurement(block: dict[str, Any]) -> dict[str, Any]:
    drawn = sum(block["samples"])
    return {
        "accuracy": sum(block["correct"]) / drawn,
        "examples": drawn,
        "generated_tokens": int(sum(SAMPLES * mean for mean in block["mean_tokens"])),
        "truncated_responses": sum(block["truncated"]),
        "pass_at_4": fmean([float(right > 0) for right in block["correct"]]),
    }


DATASET = {
    "verified": True,
    "test_read": False,
    "source_id": "made-up/addition",
    "source_revision": sha("revision")[:40],
    "source_sha256": sha("source"),
    "partition_sha256": {"train": sha("train"), "validation": sha("validation")},
    "partition": "the first 4 rows train, the other 20 validation",
}
CHECKPOINT = {
    "public_id": "made-up/tiny-adder",
    "revision": sha("model")[:40],
    "parameters_sha256": sha("parameters"),
    "verified_mirror": {
        "public_id": "made-up/tiny-adder",
        "revision": sha("model")[:40],
        "file_sha256": {"config.json": sha("config"), "model.safetensors": sha("weights")},
    },
}


def clip_activity(training: list[dict[str, Any]]) -> dict[str, int]:
    later = [update for step in training for update in step["updates"][1:]]
    audits = [audit for update in later for audit in update["response_audits"]]
    return {
        "updates": STEPS * UPDATES,
        "updates_after_the_first": len(later),
        "updates_that_clipped": sum(
            any(audit["clip_fraction"] for audit in update["response_audits"]) for update in later
        ),
        "tokens": sum(audit["tokens"] for audit in audits),
        "clipped_tokens": sum(round(a["clip_fraction"] * a["tokens"]) for a in audits),
        "gated_clipped_tokens": sum(round(a["gated_clip_fraction"] * a["tokens"]) for a in audits),
    }


def run(arm: str, seed: int) -> dict[str, Any]:
    training = [training_step(arm, seed, step) for step in range(1, STEPS + 1)]
    tokens = sum(
        audit["tokens"] for step in training for audit in step["updates"][0]["response_audits"]
    )
    block = evaluation(arm, seed, "addition", 10)
    return {
        "method": arm,
        "seed": seed,
        "run_id": f"{arm}-{seed}",
        "status": "finished",
        "device": "cpu",
        "diagnostic_only": True,
        "evaluation_tier": "made-up",
        "dataset": DATASET,
        "checkpoint": CHECKPOINT,
        "initial_parameters_sha256": sha("initial", seed),
        "final_parameters_sha256": sha("final", arm, seed),
        "parameters_changed": True,
        "adapter": {
            "folder": f"adapter-{arm}-seed{seed}",
            "file_sha256": {"adapter_model.safetensors": sha("adapter", arm, seed)},
        },
        "weights": {
            "folder": f"weights-{arm}-seed{seed}",
            "file_sha256": {"model.safetensors": sha("weights", arm, seed)},
        },
        "baseline": measurement(evaluation("base", seed, "addition", 10)),
        "method_metrics": measurement(block),
        "evaluation": block,
        "evaluations": [evaluation(arm, seed, "subtraction", 8), digit_share(arm, seed)],
        **({"earlier_failures": ["OSError: made up too"]} if seed == SEEDS[0] else {}),
        "resumed": [{"step": 1, "date": "2026-03-04T18:20:00+00:00", "minutes": 2.5}],
        "telemetry": {
            "level": "full",
            "every": 1,
            "groups_per_step": GROUPS,
            "responses_per_group": GROUP,
            "advantage": {"ddof": 1, "epsilon": 0.0001, "scale": "group"},
            "loss_type": "grpo",
            "zero_groups": "kept",
            "row_order": "source",
            "clip_reachable": True,
        },
        "rewards": [
            {
                "name": "right",
                "weight": 1.0,
                "function": "made_up:right",
                "sha256": sha("made_up.py"),
                "on_error": "wrong",
                "errored": 0,
            }
        ],
        "clip_activity": clip_activity(training),
        "surface_scan": {
            "responses": STEPS * GROUPS * GROUP,
            "features": [{"feature": "n:digits", "correlation": 0.25}],
        },
        "training": training,
        "sampling": {
            "zero_advantage_groups": sum(step["zero_advantage_groups"] for step in training),
            "tasks_attempted": STEPS * GROUPS,
            "generated_training_tokens_including_rejected_groups": tokens,
        },
        "protocol": {
            "steps": STEPS,
            "group": GROUP,
            "max_tokens": MAX_TOKENS,
            "inner_updates": UPDATES,
            "learning_rate": 0.0005,
            "geometry": "chi2" if arm == TOP else None,
            "topology": "atomic" if arm == TOP else None,
            "delta": DELTA if arm == TOP else None,
            "gold_in_generation": False,
            "test_opened": False,
        },
        "cost": {
            "minutes": 0.25,
            "usd": 0.0,
            "device": "cpu",
            "devices": 1,
            "machines": 1,
            "runs_at_once": 1,
            "generated_tokens": tokens,
            "trained_tokens": tokens,
        },
        "environment": {
            "python": "3.11.9",
            "packages": {"torch": "2.13.0", "trl": "1.16.0"},
            "device": "cpu",
            "processor": "made up, AVX2",
            "deterministic": True,
            "threads": 1,
            "world_size": 1,
        },
        "limitations": ["No model was trained; the outcomes are made up."],
    }


def aggregates(top: list[dict[str, Any]], control: list[dict[str, Any]]) -> dict[str, Any]:
    out = {}
    for metric in ("accuracy", "pass_at_4"):
        ours = [run["method_metrics"][metric] for run in top]
        theirs = [run["method_metrics"][metric] for run in control]
        out[f"baseline.{metric}"] = spread([run["baseline"][metric] for run in top])
        out[f"method_metrics.{metric}"] = spread(ours)
        out[f"fixed_clip.validation.{metric}"] = spread(theirs)
        paired = [a - b for a, b in zip(ours, theirs, strict=True)]
        out[f"paired_{metric}_difference_vs_fixed"] = spread(paired)
    return out


def reported_arm(scores: list[float], pass_at_k: float, seeds: int) -> dict[str, Any]:
    low, high = t_interval(scores)
    return {
        "score": round(fmean(scores), 4),
        "low": round(low, 4),
        "high": round(high, 4),
        "pass_at_k": round(pass_at_k, 4),
        "seeds": seeds,
    }


def printed_delta(differences: list[float]) -> dict[str, Any]:
    low, high = t_interval(differences)
    return {"low": round(low, 4), "high": round(high, 4), "level": 0.95, "tasks": 10}


def study() -> dict[str, Any]:
    top = [run(TOP, seed) for seed in SEEDS]
    control = [run(CONTROL, seed) for seed in SEEDS]
    base = [evaluation("base", seed, "addition", 10) for seed in SEEDS]
    scores = {
        name: [run["method_metrics"]["accuracy"] for run in runs]
        for name, runs in ((TOP, top), (CONTROL, control))
    }
    scores["base"] = [measurement(block)["accuracy"] for block in base]
    pass_at_k = {
        TOP: fmean([run["method_metrics"]["pass_at_4"] for run in top]),
        CONTROL: fmean([run["method_metrics"]["pass_at_4"] for run in control]),
        "base": fmean([measurement(block)["pass_at_4"] for block in base]),
    }
    paired = [a - b for a, b in zip(scores[TOP], scores[CONTROL], strict=True)]
    delta = round(fmean(paired), 4)
    now = {name: round(fmean(scores[name]), 4) for name in (TOP, CONTROL)}
    tokens = "generated_training_tokens_including_rejected_groups"
    spent = {
        name: [run["sampling"][tokens] for run in runs]
        for name, runs in ((TOP, top), (CONTROL, control))
    }
    return {
        "$schema": "https://recipe-audit.readthedocs.io/schemas/results.v2.schema.json",
        "schema_version": 2,
        "adapter_key": TOP,
        "method": TOP,
        "manifest_ref": f"reproduction:{TOP}",
        "diagnostic_only": True,
        "measured_locally": False,
        "seeds": list(SEEDS),
        "launched_seeds": {TOP: list(SEEDS), CONTROL: list(SEEDS)},
        "change": {
            "summary": "The clip follows the probability of the token.",
            "fields": ["geometry", "topology", "delta"],
            "mechanism": "clip",
        },
        "claims": [
            {
                "id": "main",
                "metric": "accuracy",
                "benchmark": "addition",
                "arm": TOP,
                "against": CONTROL,
                "direction": "gain",
                "margin": 0.03,
                "target_effect": 0.2,
                "pairing": "none",
                "target": "tasks",
                "level": 0.95,
            }
        ],
        "metrics": {
            "accuracy": {"scale": [0, 1], "higher_is_better": True},
            "pass_at_4": {"scale": [0, 1], "higher_is_better": True},
            "digit_share": {"scale": [0, 1], "higher_is_better": True},
        },
        "dataset": DATASET,
        "checkpoint": CHECKPOINT,
        "holdout": {"train_rows": 4, "holdout_rows": 20, "ngram": 8, "dropped": 0},
        "aggregate_metrics": aggregates(top, control),
        "base_evaluations": [
            {
                "run": number,
                "cost": {"minutes": 0.05, "usd": 0.0, "device": "cpu"},
                **measurement_core(block),
                "evaluation": block,
                "evaluations": [evaluation("base", seed, "subtraction", 8)],
            }
            for number, (seed, block) in enumerate(zip(SEEDS, base, strict=True), start=1)
        ],
        "seed_results": top,
        "controls": {
            CONTROL: {
                "role": "control",
                "seed_results": control,
                "execution_checks": {
                    "completed_seeds": len(SEEDS),
                    "rollout_groups_per_seed": [STEPS * GROUPS] * len(SEEDS),
                    "actual_gradient_steps": [STEPS * UPDATES] * len(SEEDS),
                    "rejected_zero_advantage_groups": [0] * len(SEEDS),
                    "generated_tokens_including_rejected_groups": spent[CONTROL],
                    "gold_in_policy": False,
                    "official_test_read": False,
                },
                "matched_upper_bound_budget": True,
                "matched_actual_compute": sum(spent[TOP]) == sum(spent[CONTROL]),
            }
        },
        "reported": {
            "run_std": round(stdev(scores["base"]), 4),
            "run_std_runs": len(SEEDS),
            "arms": {
                name: reported_arm(scores[name], pass_at_k[name], 0 if name == "base" else 3)
                for name in ("base", CONTROL, TOP)
            },
            "comparisons": [
                {
                    "arm": TOP,
                    "against": CONTROL,
                    "delta": delta,
                    **printed_delta(paired),
                    "verdict": "gain",
                }
            ],
        },
        "rounds": [
            {
                "id": 1,
                "change": "first run",
                "scores": {TOP: round(now[TOP] - 0.02, 4), CONTROL: now[CONTROL]},
                "seeds_per_arm": {TOP: 3, CONTROL: 3},
                "delta": {
                    "value": round(delta - 0.02, 4),
                    "low": round(delta - 0.12, 4),
                    "high": round(delta + 0.08, 4),
                    "level": 0.95,
                    "tasks": 10,
                },
                "verdict": "gain",
            },
            {
                "id": 2,
                "change": "nothing",
                "replicates": 1,
                "scores": now,
                "seeds_per_arm": {TOP: 3, CONTROL: 3},
                "delta": {"value": delta, **printed_delta(paired)},
                "verdict": "gain",
                "results": "full.json",
            },
        ],
        "evaluation_protocol": {
            "tier": "made-up",
            "seeds": list(SEEDS),
            "formal_comparison": False,
            "test_used_for_selection": False,
            "claim_policy": "A sample of the format; it says nothing about any recipe.",
        },
        "provenance": {
            "code_commit": sha("code")[:40],
            "artifact_path": "tests/data/results/full.json",
            "study_sha256": sha("study"),
            "dataset_fingerprint": hashlib.sha256(
                json.dumps(DATASET, sort_keys=True).encode()
            ).hexdigest(),
            "imported": {
                "by": "audit 0.1.0",
                "study": "invented",
                "tools": [{"name": "inspect_ai", "version": "0.3.138"}],
                "files": [
                    {
                        "path": "logs/seed17.eval",
                        "format": "inspect",
                        "sha256": sha("log"),
                        "bytes": 19561,
                    }
                ],
                "notes": ["1 missing value in accuracy"],
            },
        },
        "verified": {
            "date": "2026-09-18",
            "by": "nobody, the study is made up",
            "versions": {"trl": "1.16.0"},
            "usd": 0.0,
            "url": "https://example.org/runs/17",
        },
        "limitations": ["Nothing here was measured; make_full.py made it up."],
    }


def measurement_core(block: dict[str, Any]) -> dict[str, Any]:
    figures = measurement(block)
    return {key: value for key, value in figures.items() if key != "pass_at_4"}


def text(value: Any, indent: int = 0, room: int = 100) -> str:
    """Return JSON with every value on one line that fits in it."""
    line = json.dumps(value)
    if not isinstance(value, dict | list) or len(line) <= room - indent:
        return line
    pad = " " * (indent + 1)
    if isinstance(value, list):
        return "[\n" + ",\n".join(pad + text(v, indent + 1) for v in value) + f"\n{pad[1:]}]"
    members = [f"{pad}{json.dumps(k)}: {text(v, indent + 1)}" for k, v in value.items()]
    return "{\n" + ",\n".join(members) + f"\n{pad[1:]}}}"


if __name__ == "__main__":
    target = Path(__file__).with_name("full.json")
    target.write_text(text(study()) + "\n", encoding="utf-8", newline="\n")
