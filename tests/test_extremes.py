"""Files that are valid and extreme: whole floats, sizes, floods; each ends soon and says so."""

from __future__ import annotations

import cProfile
import json
from collections.abc import Callable, Iterable, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

import audit
from audit.analysis.claiming import MOST_CLAIMS
from audit.cli.formats.blocks import verdict_lines
from audit.reading import Source
from audit.report import Report
from audit.results import from_source
from audit.schema import results_schema, schema_faults, with_whole_numbers
from audit.views.analysis_json import analysis_json

DATA = Path(__file__).parent / "data"


def report_of(document: dict[str, Any]) -> Report:
    return audit.verify(from_source(Source("r.json", json.dumps(document).encode(), "")))


def run(seed: int | None, accuracy: float, **more: Any) -> dict[str, Any]:
    return {"seed": seed, "method_metrics": {"accuracy": accuracy, "examples": 100}, **more}


def study(**more: Any) -> dict[str, Any]:
    runs = [run(seed, 0.5 + seed / 10) for seed in range(3)]
    control = [run(seed, 0.3 + seed / 10) for seed in range(3)]
    controls = {"control": {"seed_results": control}}
    return {
        "schema_version": 2,
        "method": "m",
        "seed_results": runs,
        "controls": controls,
        **more,
    }


def counted(number: type) -> dict[str, Any]:
    """Return a study whose counts are written as ``4`` or as ``4.0``."""

    def one(seed: int, shift: int) -> dict[str, Any]:
        correct = [(7 * task + 3 * seed + shift * task) % 5 for task in range(40)]
        evaluation = {
            "benchmark": "b",
            "task_ids": [f"t{task}" for task in range(40)],
            "correct": [number(count) for count in correct],
            "samples": [number(4)] * 40,
        }
        return {"seed": number(seed), "evaluation": evaluation}

    return study(
        seed_results=[one(seed, 0) for seed in range(3)],
        controls={"control": {"seed_results": [one(seed, 1) for seed in range(3)]}},
    )


def test_counts_written_as_floats_are_the_same_counts() -> None:
    whole, floats = report_of(counted(int)), report_of(counted(float))
    assert whole.exit_status == 0
    assert [f.message for f in floats.found] == [f.message for f in whole.found]
    assert whole.analysis is not None
    assert floats.analysis is not None
    assert analysis_json(floats.analysis) == analysis_json(whole.analysis)


def test_only_places_of_integers_are_made_whole() -> None:
    document = study()
    document["seed_results"][0] = run(1.0, 1.0)  # type: ignore[arg-type]
    found = with_whole_numbers(document)["seed_results"][0]
    assert type(found["seed"]) is int
    assert type(found["method_metrics"]["accuracy"]) is float
    assert type(document["seed_results"][0]["seed"]) is float


def test_a_document_without_whole_floats_is_not_copied() -> None:
    document = study()
    assert with_whole_numbers(document) is document


def test_one_whole_float_is_found_at_any_place_that_wants_an_integer() -> None:
    document = json.loads((DATA / "results" / "full.json").read_text(encoding="utf-8"))
    found = [place for place, value in leaves(document) if type(value) is int]
    places = {tuple(map(_kind, place)): place for place in found}.values()
    wanting = 0
    for place in places:
        written = deepcopy(document)
        *above, last = place
        block = at(written, above)
        block[last] = float(block[last])
        wants = _wants_an_integer(results_schema(), place)
        wanting += wants
        assert type(at(with_whole_numbers(written), place)) is (int if wants else float)
    assert 20 < wanting < len(places)


def _kind(key: str | int) -> str | type:
    """Return what is the same in all entries of a list."""
    return int if isinstance(key, int) else key


def at(value: Any, place: Iterable[str | int]) -> Any:
    for key in place:
        value = value[key]
    return value


def leaves(value: Any, *place: str | int) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    if not isinstance(value, dict | list):
        yield place, value
        return
    for key, below in value.items() if isinstance(value, dict) else enumerate(value):
        yield from leaves(below, *place, key)


def _wants_an_integer(fragment: Any, place: tuple[str | int, ...]) -> bool:
    """Walk the published schema itself, one key after another."""
    schema = results_schema()
    if "$ref" in fragment:
        fragment = schema["$defs"][fragment["$ref"].rpartition("/")[2]]
    if not place:
        return "integer" in fragment.get("type", ())
    first, *rest = place
    if isinstance(first, int):
        below = fragment.get("items", {})
    else:
        other = fragment.get("additionalProperties", {})
        below = fragment.get("properties", {}).get(first, other if isinstance(other, dict) else {})
    return _wants_an_integer(below, tuple(rest))


@pytest.mark.parametrize("seed", [1e308, -1e308, 2.0**54])
def test_an_integer_beyond_2_to_the_53_is_refused_in_float_form_too(seed: float) -> None:
    document = study()
    document["seed_results"][1]["seed"] = seed
    (fault,) = schema_faults(document)
    assert fault.pointer == "/seed_results/1/seed"
    assert fault.keyword == ("maximum" if seed > 0 else "minimum")


def test_one_answer_behind_a_score_makes_no_design() -> None:
    document = study()
    for arm in (document, document["controls"]["control"]):
        for place, entry in enumerate(arm["seed_results"]):
            entry["method_metrics"] = {"accuracy": place % 2, "examples": 1}
    analysis = report_of(document).analysis
    assert analysis is not None
    assert any("m over control" in line for line in verdict_lines(analysis, 100))


def test_scores_of_several_answers_a_task_agree_with_their_number() -> None:
    def with_examples(examples: int) -> list[str]:
        document = study()
        evaluation = {"benchmark": "b", "scores": [0.25, 0.5, 0.75, 0.5]}
        document["seed_results"][0]["evaluation"] = evaluation
        document["seed_results"][0]["method_metrics"] = {"accuracy": 0.5, "examples": examples}
        return [f.pointer for f in report_of(document).found if f.rule == "TASK006"]

    assert with_examples(4) == []
    assert with_examples(16) == []
    assert with_examples(15) == ["/seed_results/0/method_metrics/examples"]


def test_the_frame_of_a_file_without_runs_has_its_columns() -> None:
    empty = report_of(study(seed_results=[], controls={})).case.results.to_frame()
    filled = report_of(study()).case.results.to_frame()
    assert len(empty) == 0
    assert list(empty.columns) == list(filled.columns)


def many_runs(seeds: Any) -> dict[str, Any]:
    runs = [run(seed, place % 100 / 100) for place, seed in enumerate(seeds)]
    return study(seed_results=runs, controls={"control": {"seed_results": runs[: len(runs) // 2]}})


FLOODS: dict[str, tuple[int, Callable[[int], dict[str, Any]]]] = {
    "runs": (2000, lambda n: many_runs(range(n))),
    "runs without seeds": (2000, lambda n: many_runs([None] * n)),
    "arms": (3000, lambda n: study(controls={f"c{c}": {"seed_results": []} for c in range(n)})),
    "seeds": (50_000, lambda n: study(seeds=list(range(n)))),
    "claims": (6000, lambda n: study(claims=[{"direction": "gain", "against": "control"}] * n)),
    "rounds": (
        6000,
        lambda n: study(rounds=[{"id": f"r{r}", "replicates": f"r{r - 1}"} for r in range(n)]),
    ),
}


def calls_of_a_verdict(document: dict[str, Any]) -> int:
    """Judge a flood and return how many functions were called, the compiled ones as well."""
    with cProfile.Profile() as profile:
        report = report_of(document)
        assert report.analysis is not None
        lines = verdict_lines(report.analysis, 100)
    assert report.exit_status in (0, 1)
    assert len(lines) < 1000
    return sum(entry.callcount for entry in profile.getstats())


@pytest.mark.parametrize("name", FLOODS)
def test_work_on_a_flood_grows_with_its_size(name: str) -> None:
    size, flood = FLOODS[name]
    half, once = (calls_of_a_verdict(flood(n)) for n in (size // 2, size))
    assert once < 2.2 * half, f"{half:,} calls for {size // 2:,}, {once:,} for {size:,}"


def test_claims_beyond_those_judged_are_refused() -> None:
    claims = [{"direction": "gain", "metric": "accuracy", "arm": "m", "against": "control"}]
    analysis = report_of(study(claims=claims * (MOST_CLAIMS + 5))).analysis
    assert analysis is not None
    slugs = [claim.slug for claim in analysis.claims]
    assert slugs[MOST_CLAIMS:] == ["too-many-claims"] * 5
    assert "too-many-claims" not in slugs[:MOST_CLAIMS]


def test_comparisons_left_out_are_counted_as_not_checked() -> None:
    arms = {f"control-{n}": {"seed_results": [run(0, 0.5), run(1, 0.25)]} for n in range(230)}
    report = report_of(study(controls=arms))
    reasons = [entry.reason for entry in report.not_checked if entry.rule == "CLAIM004"]
    assert reasons == ["30 more comparisons without a claim were not made"]
