"""Known numbers of what counts as a run, a task, an answer and a score, to 1e-9."""

from __future__ import annotations

import json
from collections.abc import Callable
from math import isclose
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from split_tails import split_tail

import audit.stats as stats
from audit.run_names import run_of

HERE = Path(__file__).resolve()
CASES = json.loads((HERE.parents[1] / "data" / "units_reference_values.json").read_text())
BY_ID = {case["id"]: case for case in CASES}
SHARED = HERE.parents[3] / "shared" / "spec" / "units_values.json"
# Known numbers that nothing here computes: a gain over the base is provisional whatever the skew.
NOT_COMPUTED = {"skewness"}


def run_name(given: dict[str, Any]) -> dict[str, Any]:
    return run_of(given["name"])._asdict()


def alike(given: dict[str, Any]) -> dict[str, Any]:
    k = (given.get("k_first", given.get("k")), given.get("k_second", given.get("k")))
    pair = stats.pair_agreement(given["first"], given["second"], samples=k)
    sides = [
        list(zip(np.broadcast_to(np.array(drawn), len(run)).tolist(), run, strict=True))
        for drawn, run in zip(k, (given["first"], given["second"]), strict=True)
    ]
    cells = list(zip(*sides, strict=True))
    return {
        "telling": pair.telling,
        "D": pair.distance,
        "E": pair.expected_distance,
        "rho": pair.rho,
        "matches": pair.matches,
        "matches_expected": pair.expected_matches,
        "kappa": pair.kappa,
        "log10_bound_distance": pair.log10_p_distance,
        "log10_bound_matches": pair.log10_p_matches,
        "refused": pair.copied,
        "p_distance": float(split_tail(cells, matching=False)),
        "p_matches": float(split_tail(cells, matching=True)),
    }


def equal_inside(given: dict[str, Any]) -> dict[str, Any]:
    runs = given["counts"], given["counts"]
    pair = stats.pair_agreement(*runs, samples=given["k"], pairs=given["pairs"])
    return {
        "inside": pair.inside,
        "needed": pair.inside_needed,
        "refused": pair.copied,
        "bound": pair.inside_chance,
    }


def nu(given: dict[str, Any]) -> dict[str, Any]:
    pair = stats.pair_distance(given["y"], given["z"])
    return {
        "nu": pair.nu,
        "expected_if_unrelated": pair.information,
        "differing": pair.differing,
    }


def nu_ratio(given: dict[str, Any]) -> dict[str, Any]:
    if "within" in given:
        within, between = (BY_ID[given[name]]["input"] for name in ("within", "between"))
        given = {"one": within["y"], "copy": within["z"], "other_arm": between["z"]}
    # One other run, so that the median over pairs is that of the first run where both runs of
    # the arm are counted once.
    arm, others = [given["one"], given["copy"]], [given["other_arm"]]
    single = stats.pair_distance(given["one"], given["other_arm"])
    sampled, greedy = (
        stats.distance_ratios(arm, others, decoding=decoding)[0]
        for decoding in ("sampled", "greedy")
    )
    pair = sampled.pair
    assert pair.nu is not None
    assert single.nu is not None
    return {
        "nu_within": pair.nu,
        "nu_between": single.nu,
        "ratio": pair.nu / single.nu,
        "refused_if_sampled": sampled.copied,
        "refused_if_greedy_or_unknown": greedy.copied,
        "differing_between": single.differing,
        "pair_information": pair.information,
    }


def equal_scores(given: dict[str, Any]) -> dict[str, Any]:
    scores, unit = [given["share"]] * given["runs"], given["unit"]
    result = stats.equal_scores(scores, answers=given["answers"], unit=unit)
    return {"chance": result.chance, "refused": result.refused}


# By the beginning of the id, the longest that fits.
FAMILIES: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "run-of-": run_name,
    "alike-": alike,
    "equal-inside-": equal_inside,
    "equal-": equal_scores,
    "nu-": nu,
    "nu-ratio": nu_ratio,
}


def family(name: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return FAMILIES[max((p for p in FAMILIES if name.startswith(p)), key=len)]


def same(found: Any, expected: Any) -> bool:
    if isinstance(expected, dict):
        return all(same(found[key], value) for key, value in expected.items())
    if isinstance(expected, list):
        return len(found) == len(expected) and all(map(same, found, expected))
    if isinstance(expected, float):
        return isclose(found, expected, rel_tol=1e-9, abs_tol=1e-12)
    return bool(found == expected)


DONE = [case for case in CASES if any(case["id"].startswith(f) for f in FAMILIES)]


@pytest.mark.parametrize("case", DONE, ids=[case["id"] for case in DONE])
def test_a_unit_gives_its_known_numbers(case: dict[str, Any]) -> None:
    result = family(case["id"])(case["input"])
    assert case["expected"].keys() <= result.keys()
    for name, expected in case["expected"].items():
        assert same(result[name], expected), (name, result[name], expected)


@pytest.mark.skipif(not SHARED.exists(), reason="the shared reference values are not here")
def test_every_shared_unit_is_among_ours() -> None:
    shared = {case["id"]: case["expected"] for case in json.loads(SHARED.read_text())["values"]}
    assert shared.keys() - BY_ID.keys() == NOT_COMPUTED
    assert {name: BY_ID[name]["expected"] for name in shared.keys() & BY_ID.keys()} == {
        name: shared[name] for name in shared.keys() & BY_ID.keys()
    }
