"""Are recorded mean bounds possible under the formulas, for any probabilities of the tokens?

A response's mean lower and upper bound are means of two functions of p_old over its tokens. They
are possible together exactly if some distribution on (0, 1] has both means: a linear programme.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy.optimize import linprog

from audit.training.trust_region import (
    DivergenceRegion,
    FixedClip,
    TrustRegion,
    cap_at_certainty,
)

HERE = Path(__file__).resolve()
PLACES = {
    "seed artifact": HERE.parents[3] / "shared" / "seeds" / "results-gppo.json",
    "shipped report": HERE.parents[2] / "reports" / "gppo-framework" / "results.json",
}
GRID = np.unique(
    np.concatenate([np.geomspace(1e-5, 1, 4000), np.linspace(0.001, 1, 4000), [0.04, 0.25]])
)


def columns(region: TrustRegion, *, capped: bool = True) -> tuple[Any, Any]:
    old = torch.tensor(np.log(GRID)).unsqueeze(0)
    lower, upper = region.bounds(old, torch.tensor([1]), 4)
    upper = cap_at_certainty(upper, old) if capped else upper.expand(old.shape)
    return lower.expand(old.shape)[0].numpy(), upper[0].numpy()


def feasible(means: tuple[float, float], functions: tuple[Any, Any]) -> bool:
    tolerance = 1e-4  # float32 means, and a grid in place of all probabilities
    low, high = functions
    rows = np.vstack([low, -low, high, -high])
    slack = tolerance * np.array([1, 1, max(1, means[1]), max(1, means[1])])
    right = np.array([means[0], -means[0], means[1], -means[1]]) + slack
    answer = linprog(
        np.zeros(len(GRID)),
        A_ub=rows,
        b_ub=right,
        A_eq=np.ones((1, len(GRID))),
        b_eq=[1.0],
        bounds=(0, None),
        method="highs",
    )
    return bool(answer.status == 0)


def recorded_means(arm: list[dict[str, Any]]) -> list[tuple[float, float]]:
    return [
        (audit["lower_mean"], audit["upper_mean"])
        for run in arm
        for step in run["training"]
        for audit in step["updates"][0]["response_audits"]
    ]


@pytest.fixture(params=sorted(PLACES))
def artifact(request: pytest.FixtureRequest) -> dict[str, Any]:
    path = PLACES[request.param]
    if not path.is_file():
        pytest.skip(f"the {request.param} is not in this checkout")
    document: dict[str, Any] = json.loads(path.read_text())
    return document


def test_the_published_chi2_atomic_means_are_possible(artifact: dict[str, Any]) -> None:
    means = recorded_means(artifact["seed_results"])
    functions = columns(DivergenceRegion("chi2", "atomic", 0.04))
    assert len(means) == 36
    assert sum(feasible(m, functions) for m in means) == 36


def test_other_readings_of_chi2_are_not_possible(artifact: dict[str, Any]) -> None:
    means = recorded_means(artifact["seed_results"])
    constant = columns(DivergenceRegion("chi2", "mc", 0.04))
    uncapped = columns(DivergenceRegion("chi2", "atomic", 0.04), capped=False)
    assert sum(feasible(m, constant) for m in means) == 0
    assert 0 < sum(feasible(m, uncapped) for m in means) < 36


def test_the_published_fixed_clip_means_are_those_of_tv_mc(artifact: dict[str, Any]) -> None:
    means = recorded_means(artifact["controls"]["grpo-control"]["seed_results"])
    for region in (DivergenceRegion("tv", "mc", 0.2), FixedClip(0.2, 0.2)):
        functions = columns(region)
        assert all(feasible(m, functions) for m in means)
    assert {round(low, 6) for low, _ in means} == {0.8}
    assert not any(feasible(m, columns(FixedClip(0.2, 0.2), capped=False)) for m in means)


def test_the_linear_programme_can_say_no_and_yes() -> None:
    """On means made here: a true mixture is possible, one beyond the bounds is not."""
    region = DivergenceRegion("chi2", "atomic", 0.04)
    low, high = columns(region)
    weights = np.random.default_rng(0).dirichlet(np.ones(len(GRID)))
    assert feasible((float(low @ weights), float(high @ weights)), (low, high))
    assert not feasible((0.9, 1.5), (low, high))
    assert not feasible((float(low @ weights), 1.0), (low, high))
    assert math.isclose(low.max(), 0.8, abs_tol=1e-6)
