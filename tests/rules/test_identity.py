from __future__ import annotations

from typing import Any

import pytest
from cases import full, gppo, outcomes, patched, places, reasons

from audit.finding import Severity
from audit.rules import Failed

BASES = {"gppo": gppo, "full": full}
RUN = "/seed_results/1"
ARM = "/controls/grpo-control"
OTHER = ARM + "/seed_results/2"
HASH = "0" * 64

BROKEN: list[tuple[str, dict[str, Any], list[str], str, set[str]]] = [
    ("gppo", {"/method": "gppo-framewor"}, [], "IDENT001", {"/method"}),
    ("gppo", {"/adapter_key": "other"}, [], "IDENT001", {"/adapter_key"}),
    ("gppo", {"/manifest_ref": "reproduction:other"}, [], "IDENT001", {"/manifest_ref"}),
    ("gppo", {"/manifest_ref": "import:gppo-framework"}, [], "IDENT001", {"/manifest_ref"}),
    ("gppo", {OTHER + "/method": "gppo-framework"}, [], "IDENT001", {OTHER + "/method"}),
    ("gppo", {"/seeds/1": 47}, [], "IDENT002", {"/seeds/1"}),
    (
        "gppo",
        {"/evaluation_protocol/seeds/0": 41},
        [],
        "IDENT002",
        {"/evaluation_protocol/seeds/0"},
    ),
    ("gppo", {OTHER + "/seed": 99}, [], "IDENT002", {OTHER + "/seed"}),
    ("gppo", {RUN + "/seed": 42}, [], "IDENT002", {RUN + "/seed"}),
    ("gppo", {}, ["/seeds/2"], "IDENT002", {"/seeds"}),
    ("gppo", {"/dataset/partition": "none"}, [], "IDENT003", {"/dataset/partition"}),
    (
        "gppo",
        {RUN + "/dataset/source_sha256": HASH},
        [],
        "IDENT003",
        {RUN + "/dataset/source_sha256"},
    ),
    (
        "gppo",
        {OTHER + "/checkpoint/verified_mirror/file_sha256/vocab.json": HASH},
        [],
        "IDENT003",
        {OTHER + "/checkpoint/verified_mirror/file_sha256/vocab.json"},
    ),
    (
        "gppo",
        {OTHER + "/checkpoint/verified_mirror/revision": "main"},
        [],
        "IDENT004",
        {OTHER + "/checkpoint/verified_mirror/revision"},
    ),
    ("gppo", {"/checkpoint/public_id": "Qwen/Qwen3"}, [], "IDENT004", {"/checkpoint/public_id"}),
    ("gppo", {"/diagnostic_only": False}, [], "IDENT005", {"/diagnostic_only"}),
    (
        "gppo",
        {RUN + "/evaluation_tier": "l2_mechanism"},
        [],
        "IDENT005",
        {RUN + "/evaluation_tier"},
    ),
    ("gppo", {RUN + "/device": "cpu"}, [], "IDENT005", {RUN + "/device"}),
    ("full", {RUN + "/parameters_changed": False}, [], "IDENT006", {RUN + "/parameters_changed"}),
]


@pytest.mark.parametrize(("base", "patches", "removed", "rule", "where"), BROKEN)
def test_the_place_that_is_out_of_step_is_named(
    base: str, patches: dict[str, Any], removed: list[str], rule: str, where: set[str]
) -> None:
    assert places(patched(BASES[base](), patches, removed), rule) == where


@pytest.mark.parametrize("rule", [f"IDENT00{i}" for i in range(1, 7)])
@pytest.mark.parametrize("base", BASES)
def test_the_samples_agree_with_themselves(base: str, rule: str) -> None:
    assert places(BASES[base](), rule) == set()


def test_without_a_majority_all_places_are_named() -> None:
    document = patched(gppo(), {}, ["/controls"])
    mirror = {
        f"{run}/checkpoint/verified_mirror/revision"
        for run in ("", "/seed_results/0", "/seed_results/1", "/seed_results/2")
    }
    document = patched(document, dict.fromkeys(mirror, "another"))
    plain = {pointer.replace("/verified_mirror", "") for pointer in mirror}
    assert places(document, "IDENT004") == mirror | plain


def test_a_block_that_leaves_a_key_out_does_not_contradict() -> None:
    document = patched(gppo(), {}, [RUN + "/dataset/source_sha256", OTHER + "/checkpoint/revision"])
    assert places(document, "IDENT003") == set()


def test_a_seed_dropped_from_all_lists_but_one_is_found_there() -> None:
    document = patched(gppo(), {}, [OTHER, "/seed_results/2", "/seeds/2"])
    assert places(document, "IDENT002") == {"/evaluation_protocol/seeds/2"}


def test_arms_with_other_seeds_agree_with_a_list_of_all() -> None:
    seeds = [42, 43, 44, 50, 51, 52]
    patches: dict[str, object] = {"/seeds": seeds, "/evaluation_protocol/seeds": seeds}
    patches |= {f"{ARM}/seed_results/{i}/seed": 50 + i for i in range(3)}
    assert places(patched(gppo(), patches), "IDENT002") == set()


def test_runs_without_a_seed_are_not_held_against_the_lists() -> None:
    document = patched(gppo(), {OTHER + "/seed": None})
    assert places(document, "IDENT002") == set()
    assert reasons(document, "IDENT002") == {"a run has no seed"}


def test_another_device_is_a_warning_and_other_limitations_are_information() -> None:
    document = patched(gppo(), {RUN + "/device": "cpu", RUN + "/limitations": ["none"]})
    found = {o.pointer: o.severity for o in outcomes(document, "IDENT005") if isinstance(o, Failed)}
    assert found == {RUN + "/device": Severity.WARNING, RUN + "/limitations": Severity.INFO}


@pytest.mark.parametrize("rule", [f"IDENT00{i}" for i in range(1, 7)])
def test_a_bare_run_leaves_the_check_open(rule: str) -> None:
    run = {"seed": 1, "method_metrics": {"accuracy": 0.5}}
    document = {"schema_version": 2, "method": "m", "seed_results": [run]}
    assert places(document, rule) == set()
    assert len(reasons(document, rule)) == 1
