from __future__ import annotations

from typing import Any

import pytest
from cases import full, gppo, patched, places, reasons

RUN = "/seed_results/0"
STEP = RUN + "/training/1"

BROKEN: list[tuple[str, dict[str, Any], list[str], str, set[str]]] = [
    # base, values set, members taken out, rule, where it speaks
    ("gppo", {STEP + "/step": 3}, [], "STEP001", {STEP + "/step"}),
    ("gppo", {}, [RUN + "/training/0"], "STEP001", {RUN + "/training/0/step", STEP + "/step"}),
    ("gppo", {}, [RUN + "/training/2"], "STEP002", {RUN + "/protocol/steps"}),
    ("gppo", {RUN + "/protocol/steps": 4}, [], "STEP002", {RUN + "/protocol/steps"}),
    (
        "gppo",
        {STEP + "/updates/1/inner_update": 3},
        [],
        "STEP003",
        {STEP + "/updates/1/inner_update"},
    ),
    ("gppo", {}, [STEP + "/updates/1"], "STEP003", {STEP + "/updates"}),
    (
        "gppo",
        {RUN + "/protocol/inner_updates": 3},
        [],
        "STEP003",
        {RUN + "/protocol/inner_updates"},
    ),
    (
        "gppo",
        {RUN + "/status": "failed"},
        [STEP + "/updates/1"],
        "STEP003",
        {STEP + "/updates"},
    ),
    ("gppo", {}, [STEP + "/rewards/3"], "STEP004", {STEP + "/rewards"}),
    (
        "gppo",
        {RUN + "/status": "failed"},
        [STEP + "/rewards/3"],
        "STEP004",
        {STEP + "/rewards"},
    ),
    ("gppo", {}, [STEP + "/advantages/0"], "STEP004", {STEP + "/advantages"}),
    ("gppo", {RUN + "/protocol/group": 5}, [], "STEP004", {RUN + "/protocol/group"}),
    (
        "full",
        {RUN + "/protocol/group": 8},
        [],
        "STEP004",
        {RUN + "/telemetry/responses_per_group"},
    ),
    (
        "gppo",
        {},
        [STEP + "/updates/0/response_audits/3"],
        "STEP005",
        {STEP + "/updates/0/response_audits"},
    ),
    (
        "full",
        {STEP + "/updates/0/response_audits/3/sequence": 2},
        [],
        "STEP005",
        {STEP + "/updates/0/response_audits"},
    ),
    (
        "full",
        {STEP + "/updates/0/response_audits/3/sequence": 8},
        [],
        "STEP005",
        {STEP + "/updates/0/response_audits"},
    ),
    (
        "full",
        {},
        [STEP + "/updates/0/response_audits/3/sequence"],
        "STEP005",
        {STEP + "/updates/0/response_audits"},
    ),
]

SILENT: list[tuple[str, dict[str, Any], list[str], str]] = [
    ("gppo", {RUN + "/telemetry": {"level": "sparse"}}, [STEP], "STEP001"),
    ("gppo", {RUN + "/status": "failed"}, [RUN + "/training/2"], "STEP002"),
    ("full", {}, [STEP + "/updates/0/response_audits/3"], "STEP005"),
    # a run that failed may end in the middle of a step
    ("gppo", {RUN + "/status": "failed"}, [RUN + "/training/2/updates/1"], "STEP003"),
    ("gppo", {RUN + "/status": "failed"}, [RUN + "/training/2/rewards/3"], "STEP004"),
]

BASES = {"gppo": gppo, "full": full}
RULES = [f"STEP{n:03}" for n in range(1, 6)]


@pytest.mark.parametrize(("base", "patches", "removed", "rule", "where"), BROKEN)
def test_a_broken_count_is_found_where_it_stands(
    base: str, patches: dict[str, Any], removed: list[str], rule: str, where: set[str]
) -> None:
    assert places(patched(BASES[base](), patches, removed), rule) == where


@pytest.mark.parametrize(("base", "patches", "removed", "rule"), SILENT)
def test_what_the_log_says_it_leaves_out_is_no_finding(
    base: str, patches: dict[str, Any], removed: list[str], rule: str
) -> None:
    assert places(patched(BASES[base](), patches, removed), rule) == set()


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("base", BASES)
def test_the_samples_count_right(base: str, rule: str) -> None:
    assert places(BASES[base](), rule) == set()


@pytest.mark.parametrize("rule", RULES)
def test_a_file_without_a_log_is_not_checked_and_says_so_once_an_arm(rule: str) -> None:
    document = {
        "schema_version": 2,
        "method": "a",
        "seed_results": [{"seed": 1, "method_metrics": {"accuracy": 0.5}}],
    }
    assert reasons(document, rule) == {"no training log"}
