"""The contract: the schema itself, what it refuses, and two validators that agree on it."""

from __future__ import annotations

import copy
import json
import re
import runpy
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from audit.pointer import from_parts
from audit.schema import (
    MOST_FAULTS,
    SchemaFault,
    keeps_to_named_keys,
    results_schema,
    schema_faults,
    unknown_keys,
)

HERE = Path(__file__).parent
SAMPLES = HERE / "data" / "results"
PLANNED = HERE / "data" / "contract" / "planned.json"
IMPORTED = HERE / "data" / "contract" / "imported.json"
BESIDE = HERE / "data" / "beside" / "results.json"
REPORT = HERE.parent / "reports" / "gppo-framework" / "results.json"
SEED_ARTIFACT = HERE.parent.parent / "shared" / "seeds" / "results-gppo.json"
SCHEMA = results_schema()
REFERENCE = Draft202012Validator(SCHEMA)
FAST = jsonschema_rs.validator_for(SCHEMA)
HASH = "0123456789abcdef" * 4


def load(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


FULL = load(SAMPLES / "full.json")


def ours(document: Any) -> set[tuple[str, str]]:
    return {(fault.pointer, fault.keyword) for fault in schema_faults(document, limit=10**6)}


def reference(document: Any) -> set[tuple[str, str]]:
    return {
        (from_parts(error.absolute_path), str(error.validator))
        for error in REFERENCE.iter_errors(document)
    }


def fast(document: Any) -> set[tuple[str, str]]:
    return {
        (from_parts(error.instance_path), error.kind.name) for error in FAST.iter_errors(document)
    }


def subschemas(node: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every schema that describes a property, with its place; branches of anyOf do not."""
    for name, below in node.get("properties", {}).items():
        yield "/".join((*path, name)), below
        yield from subschemas(below, (*path, name))
    for word in ("items", "additionalProperties"):
        if isinstance(node.get(word), dict):
            yield from subschemas(node[word], (*path, word))
    for name, below in node.get("$defs", {}).items():
        yield f"$defs/{name}", below
        yield from subschemas(below, ("$defs", name))


PROPERTIES = dict(subschemas(SCHEMA))


def resolved(fragment: dict[str, Any]) -> dict[str, Any]:
    reference = fragment.get("$ref")
    return SCHEMA["$defs"][reference.rpartition("/")[2]] if reference else fragment


def types(fragment: dict[str, Any]) -> set[str]:
    """Types of a value, and of what a list or a map of plain values holds."""
    names = fragment.get("type", [])
    found = {names} if isinstance(names, str) else set(names)
    for word in ("items", "additionalProperties"):
        if isinstance(fragment.get(word), dict):
            found |= types(fragment[word])
    return found


def patched(*steps: tuple[str, Any]) -> Any:
    """Return the full sample with values put in, or taken out where the value is ``...``."""
    document = copy.deepcopy(FULL)
    for path, value in steps:
        *way, last = [int(part) if part.isdigit() else part for part in path.split("/")]
        here = document
        for part in way:
            here = here[part]
        if value is ...:
            del here[last]
        else:
            here[last] = value
    return document


# ---- the schema itself


def test_the_schema_is_valid_2020_12() -> None:
    assert SCHEMA["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("place", PROPERTIES)
def test_every_property_is_described_for_an_editor(place: str) -> None:
    fragment = PROPERTIES[place]
    block = resolved(fragment)
    assert fragment["title"]
    assert fragment["description"].endswith(".")
    leaf_list = "items" in block and "$ref" in block["items"]
    assert block.get("examples") or leaf_list, "neither an example nor a list of a described block"


@pytest.mark.parametrize("place", PROPERTIES)
def test_every_number_names_its_unit(place: str) -> None:
    fragment = resolved(PROPERTIES[place])
    if {"number", "integer"} & types(fragment) and "properties" not in fragment:
        texts = PROPERTIES[place]["description"] + fragment["description"]
        assert re.search(r"Unit: [^.]+\.", texts)


@pytest.mark.parametrize("place", PROPERTIES)
def test_examples_and_defaults_keep_their_own_schema(place: str) -> None:
    fragment = PROPERTIES[place]
    validator = REFERENCE.evolve(schema={**fragment, "$defs": SCHEMA["$defs"]})
    samples = [*fragment.get("examples", []), *[fragment[k] for k in ("default",) if k in fragment]]
    for sample in samples:
        assert [error.message for error in validator.iter_errors(sample)] == []


def test_the_example_of_the_whole_file_is_valid() -> None:
    assert schema_faults(SCHEMA["examples"][0]) == []


def test_no_block_forbids_unknown_keys() -> None:
    assert "false" not in re.findall(r'"additionalProperties": (\w+)', json.dumps(SCHEMA))
    assert "unevaluated" not in json.dumps(SCHEMA)


def test_beside_a_reference_stand_annotations_alone() -> None:
    for place, fragment in PROPERTIES.items():
        if "$ref" in fragment:
            assert fragment.keys() <= {"$ref", "title", "description"}, place


def test_only_what_the_contract_requires_is_required() -> None:
    required = {
        place: fragment["required"]
        for place, fragment in PROPERTIES.items()
        if "required" in fragment
    }
    assert SCHEMA["required"] == ["schema_version", "method", "seed_results"]
    assert required == {
        "$defs/run": ["seed"],
        "$defs/outcomes": ["path", "sha256", "format", "rows"],
    }


# ---- what it accepts


@pytest.mark.parametrize(
    "path",
    [*sorted(SAMPLES.glob("*.json")), PLANNED, IMPORTED, BESIDE, REPORT],
    ids=lambda p: p.name,
)
def test_the_files_of_the_project_keep_the_contract(path: Path) -> None:
    document = load(path)
    assert schema_faults(document) == []
    assert unknown_keys(document) == []
    assert reference(document) == fast(document) == set()


def test_the_seed_artifact_keeps_the_contract() -> None:
    if not SEED_ARTIFACT.is_file():
        pytest.skip("the seed artifact is not beside this checkout")
    document = load(SEED_ARTIFACT)
    assert schema_faults(document) == []
    assert unknown_keys(document) == []
    assert reference(document) == set()


def test_the_report_differs_from_the_seed_artifact_in_sentences_alone() -> None:
    if not SEED_ARTIFACT.is_file():
        pytest.skip("the seed artifact is not beside this checkout")

    def figures(node: Any) -> Any:
        sentences = ("limitations", "claim_policy", "artifact_path")
        if isinstance(node, dict):
            return {k: figures(v) for k, v in node.items() if k not in sentences}
        return [figures(v) for v in node] if isinstance(node, list) else node

    assert figures(load(REPORT)) == figures(load(SEED_ARTIFACT))


def test_the_full_sample_is_what_its_script_writes() -> None:
    script = runpy.run_path(str(SAMPLES / "make_full.py"))
    assert script["text"](script["study"]()) + "\n" == (SAMPLES / "full.json").read_text("utf-8")


def test_the_full_sample_uses_every_key_of_the_contract() -> None:
    used: set[tuple[int, str]] = set()

    def walk(fragment: dict[str, Any], value: Any) -> None:
        fragment = resolved(fragment)
        if isinstance(value, dict):
            for key, member in value.items():
                below = fragment.get("properties", {}).get(key)
                if below is not None:
                    used.add((id(fragment), key))
                below = below or fragment.get("additionalProperties")
                if isinstance(below, dict):
                    walk(below, member)
        elif isinstance(value, list) and "items" in fragment:
            for item in value:
                walk(fragment["items"], item)

    for path in (*sorted(SAMPLES.glob("*.json")), PLANNED, IMPORTED, BESIDE, REPORT):
        walk(SCHEMA, load(path))
    blocks = [SCHEMA, *SCHEMA["$defs"].values()]
    unused = [
        f"{block['title']}: {key}"
        for block in blocks
        for key in block.get("properties", {})
        if (id(block), key) not in used
    ]
    assert unused == []


def test_the_counts_and_means_of_the_full_sample_agree() -> None:
    arms = {
        "method_metrics.accuracy": FULL["seed_results"],
        "fixed_clip.validation.accuracy": FULL["controls"]["fixed-clip"]["seed_results"],
    }
    for key, runs in arms.items():
        scores = [run["method_metrics"]["accuracy"] for run in runs]
        for run in runs:
            block = run["evaluation"]
            assert (
                sum(block["correct"]) / sum(block["samples"]) == run["method_metrics"]["accuracy"]
            )
            assert len(block["task_ids"]) == len(block["correct"]) == 10
        assert FULL["aggregate_metrics"][key] == {
            "mean": fmean(scores),
            "std": stdev(scores),
            "n": 3,
        }


# ---- what it refuses: patches of the full sample, and the faults each must give

REFUSED: list[tuple[list[tuple[str, Any]], set[tuple[str, str]]]] = [
    ([("seed_results/0/seed", -(2**70))], {("/seed_results/0/seed", "minimum")}),
    ([("seed_results/0/seed", 1e308)], {("/seed_results/0/seed", "maximum")}),
    ([("method", ...)], {("", "required")}),
    ([("method", "")], {("/method", "minLength")}),
    ([("method", ...), ("seed_results", ...)], {("", "required")}),
    ([("schema_version", 3)], {("/schema_version", "const")}),
    ([("schema_version", "2")], {("/schema_version", "const")}),
    ([("schema_version", True)], {("/schema_version", "const")}),
    ([("seed_results", {})], {("/seed_results", "type")}),
    ([("seed_results/1", 5)], {("/seed_results/1", "type")}),
    ([("seed_results/1/seed", ...)], {("/seed_results/1", "required")}),
    ([("seed_results/1/seed", "17")], {("/seed_results/1/seed", "type")}),
    ([("seed_results/1/seed", 17.5)], {("/seed_results/1/seed", "type")}),
    ([("seed_results/1/seed", True)], {("/seed_results/1/seed", "type")}),
    (
        [("seed_results/0/evaluation", ...), ("seed_results/0/method_metrics", {})],
        {("/seed_results/0", "anyOf")},
    ),
    (
        [("seed_results/0/evaluation", ...), ("seed_results/0/method_metrics", [])],
        {("/seed_results/0", "anyOf"), ("/seed_results/0/method_metrics", "type")},
    ),
    ([("seed_results/0/status", "done")], {("/seed_results/0/status", "enum")}),
    (
        [("seed_results/0/method_metrics/accuracy", 75)],
        {("/seed_results/0/method_metrics/accuracy", "maximum")},
    ),
    (
        [("seed_results/0/method_metrics/accuracy", -0.1)],
        {("/seed_results/0/method_metrics/accuracy", "minimum")},
    ),
    (
        [("seed_results/0/method_metrics/bleu", "high")],
        {("/seed_results/0/method_metrics/bleu", "type")},
    ),
    (
        [("seed_results/0/baseline/examples", 0)],
        {("/seed_results/0/baseline/examples", "minimum")},
    ),
    (
        [("seed_results/0/evaluation/correct/3", -1), ("seed_results/0/evaluation/samples/9", 0.5)],
        {
            ("/seed_results/0/evaluation/correct/3", "minimum"),
            ("/seed_results/0/evaluation/samples/9", "type"),
        },
    ),
    (
        [("seed_results/0/evaluation/condition/top_p", 1.5)],
        {("/seed_results/0/evaluation/condition/top_p", "maximum")},
    ),
    (
        [("seed_results/2/training/1/updates/0/response_audits/7/clip_fraction", "none")],
        {("/seed_results/2/training/1/updates/0/response_audits/7/clip_fraction", "type")},
    ),
    (
        [("seed_results/2/telemetry/advantage/ddof", 2)],
        {("/seed_results/2/telemetry/advantage/ddof", "maximum")},
    ),
    ([("seed_results/0/protocol/delta", "0.04")], {("/seed_results/0/protocol/delta", "type")}),
    (
        [("controls/fixed-clip/seed_results/2/seed", ...)],
        {("/controls/fixed-clip/seed_results/2", "required")},
    ),
    ([("controls/fixed-clip/role", "main")], {("/controls/fixed-clip/role", "enum")}),
    ([("controls", {"a/b~c": 1})], {("/controls/a~1b~0c", "type")}),
    ([("dataset/source_sha256", HASH.upper())], {("/dataset/source_sha256", "pattern")}),
    ([("dataset/source_sha256", HASH + "\n")], {("/dataset/source_sha256", "pattern")}),
    (
        [("dataset/partition_sha256/test", "unknown")],
        {("/dataset/partition_sha256/test", "pattern")},
    ),
    ([("claims/0/direction", "up")], {("/claims/0/direction", "enum")}),
    ([("claims/0/level", 1)], {("/claims/0/level", "exclusiveMaximum")}),
    ([("claims/0/level", 0)], {("/claims/0/level", "exclusiveMinimum")}),
    ([("metrics/accuracy/scale", [0])], {("/metrics/accuracy/scale", "minItems")}),
    ([("metrics/accuracy/scale", [0, 1, 2])], {("/metrics/accuracy/scale", "maxItems")}),
    ([("rounds/1/id", None)], {("/rounds/1/id", "type")}),
    ([("rounds/1/seeds_per_arm/x", 1.5)], {("/rounds/1/seeds_per_arm/x", "type")}),
    ([("verified/date", "18.9.2026")], {("/verified/date", "pattern")}),
    ([("verified/url", "javascript:alert(1)")], {("/verified/url", "pattern")}),
    ([("launched_seeds/chi-clip/1", "18")], {("/launched_seeds/chi-clip/1", "type")}),
    ([("reported/run_std", -0.1)], {("/reported/run_std", "minimum")}),
    ([("limitations", "none")], {("/limitations", "type")}),
]


@pytest.mark.parametrize(("steps", "faults"), REFUSED, ids=lambda v: str(sorted(v))[:50])
def test_a_broken_contract_is_named_by_place_and_keyword(
    steps: list[tuple[str, Any]], faults: set[tuple[str, str]]
) -> None:
    document = patched(*steps)
    assert ours(document) == faults
    assert reference(document) == faults
    assert fast(document) == faults


ACCEPTED: list[list[tuple[str, Any]]] = [
    [("seed_results/0/seed", None)],
    [("seed_results/0/seed", 17.0)],
    [("seed_results/0/seed", -(2**53))],
    [("schema_version", 2.0)],
    [("seed_results/0/evaluation", ...)],
    [("seed_results/0/method_metrics/accuracy", ...)],
    [("seed_results/0/method_metrics", ...)],
    [("seed_results/0/method_metrics/reward", None), ("seed_results/0/baseline/reward", -31.5)],
    [("seed_results/0/protocol/epsilon_high", [0.2, "free"])],
    [("verified/date", "2026-09-18T10:30:00+02:00")],
    [("metrics/perplexity", {"scale": [1, None], "higher_is_better": False})],
    [("controls", {})],
    [("extra", {"deep": [1, {"deeper": None}]})],
]


@pytest.mark.parametrize("steps", ACCEPTED, ids=lambda value: str(value)[:50])
def test_what_the_contract_leaves_open_is_accepted(steps: list[tuple[str, Any]]) -> None:
    document = patched(*steps)
    assert ours(document) == reference(document) == fast(document) == set()


@pytest.mark.parametrize("document", [None, [], "text", 3, True, {}, [{}], {"schema_version": 2}])
def test_validators_agree_on_documents_that_are_no_results_file(document: Any) -> None:
    assert ours(document) == reference(document) == fast(document) != set()


WRONG = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([0.0, 1.0, -0.0, 2.0, 1e300, "", "x", HASH, HASH + "\n", "finished", [], {}]),
    st.text(max_size=3),
    st.lists(st.one_of(st.none(), st.integers(), st.text(max_size=2)), max_size=3),
    st.dictionaries(st.sampled_from(["seed", "accuracy", "a/b", "~"]), st.integers(), max_size=2),
)


def _slim() -> Any:
    """The full sample with one audit an update and one run a control: quicker to check."""
    document = copy.deepcopy(FULL)
    for run in document["seed_results"]:
        del run["training"][1:]
        for update in run["training"][0]["updates"]:
            del update["response_audits"][1:]
    del document["seed_results"][1:]
    document["controls"]["fixed-clip"]["seed_results"] = document["seed_results"]
    return json.loads(json.dumps(document))


SLIM = _slim()


@st.composite
def mutated(draw: st.DrawFn) -> Any:
    """The slim sample with one to four members or entries taken out, replaced or added."""
    document = copy.deepcopy(SLIM)
    for _ in range(draw(st.integers(1, 4))):
        here: Any = document
        for _ in range(draw(st.integers(0, 9))):
            inner = [v for v in _values(here) if isinstance(v, dict | list) and v]
            if not inner:
                break
            here = draw(st.sampled_from(inner))
        keys = list(here) if isinstance(here, dict) else list(range(len(here)))
        key = draw(st.sampled_from(keys))
        match draw(st.sampled_from(["delete", "replace", "add"])):
            case "delete":
                del here[key]
            case "replace":
                here[key] = draw(WRONG)
            case "add" if isinstance(here, dict):
                here[draw(st.sampled_from(["new", "seed", "accuracy", "x/y"]))] = draw(WRONG)
        if not document:
            break
    return document


def _values(node: Any) -> list[Any]:
    return list(node.values()) if isinstance(node, dict) else list(node)


@settings(max_examples=200, deadline=None)
@given(mutated())
def test_both_validators_name_the_same_places_and_keywords(document: Any) -> None:
    assert ours(document) == fast(document) == reference(document)


# ---- how a fault is said


def said(*steps: tuple[str, Any]) -> SchemaFault:
    (fault,) = schema_faults(patched(*steps))
    return fault


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("seed_results/1/seed", ..., "the key 'seed' is missing"),
        ("seed_results/1/seed", "17", "expected a whole number or null, got a string"),
        (
            "seed_results/1/seed",
            1.5,
            "expected a whole number or null, got a number with a fraction",
        ),
        ("seed_results/1/seed", True, "expected a whole number or null, got true"),
        ("seed_results/1/baseline/accuracy", None, "expected a number, got null"),
        ("seed_results/1/baseline/accuracy", 75, "expected a number not above 1, got 75"),
        ("claims/0/level", 1, "expected a number below 1, got 1"),
        (
            "claims/0/direction",
            "up",
            'expected "gain", "loss", "equivalent" or "no loss", got "up"',
        ),
        ("schema_version", 3, "expected 2, got 3"),
        ("method", "", 'expected at least 1 character, got ""'),
        ("metrics/accuracy/scale", [0], "expected at least 2 entries, got a list of 1"),
        ("verified/date", "today", '"today" does not have the form of "2026-09-18"'),
        ("limitations", {}, "expected a list, got an object"),
    ],
)
def test_a_fault_is_said_in_plain_words(path: str, value: Any, message: str) -> None:
    assert said((path, value)).message == message


def test_a_run_without_score_or_status_says_what_would_do() -> None:
    fault = said(("seed_results/0/evaluation", ...), ("seed_results/0/method_metrics", {}))
    assert fault.message == (
        "expected method_metrics with a metric, evaluation "
        "or a status of failed, diverged or running"
    )


@pytest.mark.parametrize("value", ["x" * 10**6, ["y"] * 10**5, {str(i): i for i in range(999)}])
def test_long_values_are_shortened(value: Any) -> None:
    fault = said(("claims/0/direction", value))
    assert len(fault.actual) <= 60
    assert len(fault.message) <= 200


def test_faults_stand_in_the_order_of_places_then_keywords() -> None:
    document = patched(("seed_results/2/seed", "x"), ("claims/0/level", 2), ("method", 1))
    document["seed_results"] = document["seed_results"] * 4
    pointers = [fault.pointer for fault in schema_faults(document)]
    assert pointers == [
        "/claims/0/level",
        "/method",
        *[f"/seed_results/{index}/seed" for index in (2, 5, 8, 11)],
    ]


# ---- hostile documents


def test_faults_beyond_the_limit_are_said_once_and_not_listed() -> None:
    steps: list[Any] = [{"rewards": [""] * 1000}] * 1000
    document = patched(("seed_results/0/training", steps))
    faults = schema_faults(document)
    assert len(faults) == MOST_FAULTS + 1
    assert faults[0].pointer == "/seed_results/0/training/0/rewards/0"
    assert (faults[-1].pointer, faults[-1].keyword) == ("", "limit")
    assert "more than 200 faults" in faults[-1].message


def test_exactly_the_limit_of_faults_is_listed_whole() -> None:
    document = patched(("seed_results/0/training", [{"rewards": [""] * MOST_FAULTS}]))
    assert {fault.keyword for fault in schema_faults(document)} == {"type"}
    assert len(schema_faults(document)) == MOST_FAULTS


def test_one_fault_at_the_end_of_a_long_list_is_found() -> None:
    rewards: list[Any] = [0.0] * 5000 + ["", 1.0]
    document = patched(("seed_results/0/training", [{"rewards": rewards}]))
    assert ours(document) == {("/seed_results/0/training/0/rewards/5000", "type")}


@pytest.mark.parametrize("key", ["extra", "method", "seed_results", "schema_version", "controls"])
def test_deep_nesting_is_judged_without_a_crash(key: str) -> None:
    deep: Any = []
    for _ in range(50_000):
        deep = [deep]
    document = {"schema_version": 2, "method": "m", "seed_results": [], key: deep}
    assert all(len(fault.message) < 200 for fault in schema_faults(document))
    assert bool(schema_faults(document)) == (key != "extra")
    assert unknown_keys(document) == (["/extra"] if key == "extra" else [])


@pytest.mark.parametrize("extra", [{"\ud800": 1}, {1: 2}, {"seeds": "\ud800"}])
def test_what_is_not_plain_json_is_one_fault(extra: Any) -> None:
    (fault,) = schema_faults({**FULL, **extra})
    assert (fault.pointer, fault.keyword) == ("", "json")


@pytest.mark.parametrize(
    "value", [float("nan"), float("inf"), 10**6000], ids=["nan", "inf", "huge"]
)
def test_numbers_json_cannot_hold_are_faults_and_are_shown_shortly(value: Any) -> None:
    fault = said(("seed_results/0/baseline/accuracy", value))
    assert fault.pointer == "/seed_results/0/baseline/accuracy"
    assert len(fault.message) < 120


# ---- keys the schema does not name


def test_unknown_keys_are_named_by_pointer_in_document_order() -> None:
    document = patched(
        ("extra", 1),
        ("seed_results/1/a~b/c".replace("/c", ""), 2),
        ("seed_results/0/training/1/updates/1/response_audits/3/new", 3),
        ("controls/fixed-clip/execution_checks/x", 4),
        ("claims/0/why", 5),
    )
    assert set(unknown_keys(document)) == {
        "/extra",
        "/seed_results/1/a~0b",
        "/seed_results/0/training/1/updates/1/response_audits/3/new",
        "/controls/fixed-clip/execution_checks/x",
        "/claims/0/why",
    }
    assert unknown_keys(document)[0] == "/extra"


def test_an_unknown_key_that_recurs_is_named_at_its_first_place() -> None:
    document = patched(*[(f"seed_results/{index}/note", "x") for index in range(3)])
    assert unknown_keys(document) == ["/seed_results/0/note"]


def test_blocks_with_keys_of_the_authors_own_have_no_unknown_ones() -> None:
    document = patched(
        ("seed_results/0/protocol/beta", 0.0),
        ("seed_results/0/method_metrics/reward", 1.5),
        ("seed_results/0/environment/packages/peft", "0.18"),
        ("launched_seeds/ablation", [1]),
    )
    assert unknown_keys(document) == []


def test_unknown_keys_are_bounded_in_number() -> None:
    document = {**FULL, **{f"key{index}": 0 for index in range(5000)}}
    assert len(unknown_keys(document)) == MOST_FAULTS


@pytest.mark.parametrize("document", [None, [], 3, {"seed_results": 5}, {"controls": [1]}])
def test_unknown_keys_of_an_invalid_document_do_not_fail(document: Any) -> None:
    assert unknown_keys(document) == []


@pytest.mark.parametrize(
    ("steps", "kept"),
    [
        ((), True),
        ((("seed_results", 0, "note"), "x"), False),
        ((("seed_results", 0, "protocol", "own_setting"), 1), True),
        ((("schema_version",), "2"), False),
    ],
)
def test_one_pass_tells_whether_any_fault_or_unknown_key_is_there(
    steps: tuple[Any, ...], kept: bool
) -> None:
    document = copy.deepcopy(FULL)
    if steps:
        path, value = steps
        place = document
        for token in path[:-1]:
            place = place[token]
        place[path[-1]] = value
    assert keeps_to_named_keys(document) is kept
    assert (not schema_faults(document) and not unknown_keys(document)) is kept
