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
from audit.stats.clusters import clusters_of
from audit.stats.exact import outcomes
from audit.stats.spread import sampling_variance

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


def stem(given: dict[str, Any]) -> dict[str, Any]:
    return {"stem": stats.stem_of(given["task"])}


def stems(given: dict[str, Any]) -> dict[str, Any]:
    ids = [
        pattern.format(i=i, j=j)
        for pattern, outer, inner in given["ids"]
        for i in range(outer)
        for j in range(inner)
    ]
    result = stats.stem_clusters(ids)
    return {"groups": result.groups, "read_as": result.kind}


def half(interval: Any) -> float:
    return float(interval.high - interval.low) / 2


def interval_parts(result: Any) -> dict[str, Any]:
    return {
        "delta": result.delta,
        "s2": [result.control.s2, result.treatment.s2],
        "u": result.u,
        "x": result.x,
        "df_fixed": result.fixed.df,
        "half_fixed": half(result.fixed),
        "df_raw": result.raw.df,
        "half_raw": half(result.raw),
        "half": half(result.random),
        "p": result.random.p_value,
    }


def clusters(given: dict[str, Any]) -> dict[str, Any]:
    arms, labels = (given["control"], given["treatment"]), given["clusters"]
    result = stats.seed_delta(*arms, samples=given["k"], clusters=labels)
    return interval_parts(result) | {
        "clusters": result.clusters,
        "effective_clusters": result.effective_clusters,
        "q": [result.control.q, result.treatment.q],
        "V": result.v_t,
        "nu": float(clusters_of(labels, len(labels)).df),
    }


def cluster_sizes(given: dict[str, Any]) -> dict[str, Any]:
    labels = [i for i, size in enumerate(given["sizes"]) for _ in range(size)]
    found = clusters_of(labels, len(labels))
    return {"effective": float(found.effective), "nu": float(found.df)}


def samples(given: dict[str, Any]) -> dict[str, Any]:
    correct, drawn = given["correct"], given["samples"]
    split = stats.variance_split(correct, correct, samples=drawn)
    result = stats.seed_delta(correct, correct, samples=np.array(drawn))
    return {
        "pq": split.sampling_variance,
        "of_cell": float(sampling_variance(outcomes(correct, drawn, "arm")).of_cell),
        "harmonic": stats.harmonic_samples(drawn),
        "q": result.control.q,
        "seed_task_sd": split.seed_task_sd,
    }


def errors(given: dict[str, Any]) -> dict[str, Any]:
    result = stats.errored_delta(
        given["control"],
        given["treatment"],
        samples=given["k"],
        errored=(given["control_errored"], given["treatment_errored"]),
        claim="gain",
    )
    readings = {reading.errored: reading.result for reading in result.readings}
    readings["worst"] = readings.pop("worst-for-gain")
    assert result.deciding.errored == "worst-for-gain"
    tasks = len(given["control"][0])
    return {
        "shares": result.shares,
        "worst_decides": result.worst_read,
        **{
            name: interval_parts(one)
            | {"floor": [one.control.q / tasks, one.treatment.q / tasks], "nu": tasks - 1}
            for name, one in readings.items()
        },
    }


def format_split(given: dict[str, Any]) -> dict[str, Any]:
    result = stats.format_split(
        given["control"],
        given["treatment"],
        samples=given["k"],
        parsed=(given["control_parsed"], given["treatment_parsed"]),
    )
    return {
        "parsed": result.parsed,
        "given_parsed": result.given_parsed,
        "format": result.format.delta,
        "content": result.content.delta,
        "total": result.total.delta,
        "format_half": half(result.format.random),
        "content_half": half(result.content.random),
        "format_df": [result.format.fixed.df, result.format.raw.df],
        "content_df": [result.content.fixed.df, result.content.raw.df],
        "total_half": half(result.total.random),
        "qualifier": result.qualifier("gain"),
    }


def one_score(given: dict[str, Any]) -> dict[str, Any]:
    arms = given["control"], given["treatment"]
    result = stats.score_delta(*arms, answers=given.get("answers"), unit=given.get("unit"))
    return {
        "delta": result.delta,
        "s2": [result.control.s2, result.treatment.s2],
        "floor": [result.control.floor, result.treatment.floor],
        "u": result.control.u + result.treatment.u,
        "df": result.fixed.df,
        "half": half(result.fixed),
        "p": result.fixed.p_value,
    }


def room(given: dict[str, Any]) -> dict[str, Any]:
    return {"room": stats.has_room(given["control_mean"], given["margin"])}


def average(weights: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    def averaged(given: dict[str, Any]) -> dict[str, Any]:
        benchmarks = [
            stats.BenchmarkCounts(one["control"], one["treatment"], given["k"])
            for one in (given["first"], given["second"])
        ]
        result = stats.average_delta(benchmarks, weights=weights)
        return interval_parts(result) | {
            "floor": [result.control.floor, result.treatment.floor],
            "nu": result.tasks_df,
        }

    return averaged


def one_benchmark(given: dict[str, Any]) -> dict[str, Any]:
    arms = given["control"], given["treatment"]
    result = stats.average_delta([stats.BenchmarkCounts(*arms, given["k"])])
    plain = stats.seed_delta(*arms, samples=given["k"])
    assert (result.fixed, result.random, result.raw) == (plain.fixed, plain.random, plain.raw)
    return interval_parts(result) | {
        "floor": [result.control.floor, result.treatment.floor],
        "nu": result.tasks_df,
    }


def non_inferior(given: dict[str, Any]) -> dict[str, Any]:
    result = stats.seed_delta(given["control"], given["treatment"], samples=given["k"])
    return {
        "above_minus_005": stats.non_inferiority(result, "0.05").p_value,
        "above_minus_010": stats.non_inferiority(result, "0.10").p_value,
    }


def decision(given: dict[str, Any]) -> dict[str, Any]:
    primary = [None if ends is None else tuple(ends) for ends in given["primary"]]
    return {"decision": stats.ship_decision(primary, given["guardrails"]).word}


def collapse(given: dict[str, Any]) -> dict[str, Any]:
    return {"rate": stats.unseen_collapse_bound(given["runs"], level=given["level"])}


def undone(given: dict[str, Any]) -> dict[str, Any]:
    result = stats.collapse_risk(
        given["delta"], given["mean"], runs=given["runs"], collapsed=given["collapsed_score"]
    )
    return {
        "rate_that_undoes": result.undoing_rate,
        "chance_unseen": result.chance_unseen,
        "runs_to_exclude": result.runs_to_exclude,
    }


# By the beginning of the id, the longest that fits.
FAMILIES: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "run-of-": run_name,
    "alike-": alike,
    "equal-inside-": equal_inside,
    "equal-": equal_scores,
    "nu-": nu,
    "nu-ratio": nu_ratio,
    "stem-": stem,
    "stems-": stems,
    "clusters-": clusters,
    "clusters-effective": cluster_sizes,
    "samples-": samples,
    "errors": errors,
    "format": format_split,
    "scores-": one_score,
    "room-": room,
    "macro": average("macro"),
    "micro": average("micro"),
    "one-benchmark": one_benchmark,
    "non-inferior": non_inferior,
    "decision-": decision,
    "collapse-": collapse,
    "collapse-undoes": undone,
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


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
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
