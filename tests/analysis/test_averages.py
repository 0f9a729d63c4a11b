"""Claims about the mean over several benchmarks."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
from made_studies import analysed

Document = dict[str, Any]


def counts(rate: float, tasks: int, number: int) -> list[int]:
    drawn: list[int] = np.random.default_rng(number).binomial(4, rate, tasks).tolist()
    return drawn


def evaluated(benchmark: str, rate: float, tasks: int, number: int) -> Document:
    return {
        "benchmark": benchmark,
        "correct": counts(rate, tasks, number),
        "samples": [4] * tasks,
        "task_ids": [f"{benchmark}{task}" for task in range(tasks)],
    }


def study(rates: dict[str, tuple[float, float]], sizes: dict[str, int], seeds: int = 5) -> Document:
    def arm(side: int) -> list[Document]:
        runs = []
        for seed in range(seeds):
            blocks = [
                evaluated(name, rates[name][side], sizes[name], 1000 * side + 10 * seed + place)
                for place, name in enumerate(rates)
            ]
            runs.append({"seed": seed, "evaluation": blocks[0], "evaluations": blocks[1:]})
        return runs

    return {
        "schema_version": 2,
        "method": "dapo",
        "seed_results": arm(1),
        "controls": {"grpo": {"role": "control", "seed_results": arm(0)}},
    }


RATES = {"algebra": (0.3, 0.5), "geometry": (0.5, 0.6)}
SIZES = {"algebra": 40, "geometry": 160}


def mean(document: Document, name: str) -> float:
    """Return the difference of the arms' means on one benchmark, counted out by hand."""
    ends = []
    for runs in (document["seed_results"], document["controls"]["grpo"]["seed_results"]):
        scores = []
        for run in runs:
            (block,) = [
                b for b in (run["evaluation"], *run["evaluations"]) if b["benchmark"] == name
            ]
            scores.append(sum(block["correct"]) / 4 / len(block["correct"]))
        ends.append(sum(scores) / len(scores))
    return float(ends[0] - ends[1])


@pytest.mark.parametrize(
    ("where", "weights"),
    [
        ("on average", (0.5, 0.5)),
        ("on the mean of algebra, geometry", (0.5, 0.5)),
        ("on all tasks of algebra, geometry", (0.2, 0.8)),
    ],
)
def test_an_average_weighs_benchmarks_or_tasks(where: str, weights: tuple[float, float]) -> None:
    document = study(RATES, SIZES)
    (claim,) = analysed(document, f"gain accuracy dapo over grpo {where}").claims
    expected = sum(w * mean(document, name) for w, name in zip(weights, RATES, strict=True))
    assert claim.comparison is not None
    assert claim.comparison.delta == pytest.approx(expected, abs=1e-12)
    assert claim.supported


def test_an_average_needs_every_run_on_every_benchmark() -> None:
    document = study(RATES, SIZES)
    document["seed_results"][2]["evaluations"] = []
    (claim,) = analysed(document, "gain accuracy dapo over grpo on average").claims
    assert claim.slug == "incomplete"
    assert "geometry" in claim.reason


def test_a_misspelt_benchmark_of_an_average_is_named() -> None:
    text = "gain accuracy dapo over grpo on the mean of algebra, geometri"
    (claim,) = analysed(study(RATES, SIZES), text).claims
    assert claim.slug == "unknown-name"
    assert "did you mean geometry?" in claim.reason


def test_a_copied_run_refuses_an_average() -> None:
    document = study(RATES, SIZES)
    runs = document["seed_results"]
    for key in ("evaluation", "evaluations"):
        runs[1][key] = copy.deepcopy(runs[0][key])
    (claim,) = analysed(document, "gain accuracy dapo over grpo on average").claims
    assert claim.slug == "identical-runs"


def test_one_benchmark_of_several_can_be_claimed() -> None:
    document = study(RATES, SIZES)
    (claim,) = analysed(document, "gain accuracy dapo over grpo on geometry").claims
    assert claim.comparison is not None
    assert claim.comparison.delta == pytest.approx(mean(document, "geometry"), abs=1e-12)
