from __future__ import annotations

from typing import Any

import pytest
from cases import full, gppo, patched, places, reasons

RUN = "/seed_results/0"
STEP = RUN + "/training/1"
TOKENS = RUN + "/sampling/generated_training_tokens_including_rejected_groups"

BROKEN: list[tuple[str, dict[str, Any], list[str], str, set[str]]] = [
    # base, values set, members taken out, rule, where it speaks
    ("gppo", {STEP + "/training_row": 1}, [], "SAMPLE001", {STEP + "/training_row"}),
    (
        "gppo",
        {RUN + "/sampling/tasks_attempted": 5},
        [],
        "SAMPLE001",
        {RUN + "/training/2/training_row"},
    ),
    (
        "gppo",
        {RUN + "/sampling/zero_advantage_groups_retained": 2},
        [],
        "SAMPLE002",
        {RUN + "/sampling/zero_advantage_groups_retained"},
    ),
    (
        "full",
        {RUN + "/sampling/zero_advantage_groups": 2},
        [],
        "SAMPLE002",
        {RUN + "/sampling/zero_advantage_groups"},
    ),
    (
        "full",
        {STEP + "/zero_advantage_groups": 0},
        [],
        "SAMPLE003",
        {STEP + "/zero_advantage_groups"},
    ),
    ("gppo", {}, [], "SAMPLE004", {RUN + "/sampling/zero_advantage_groups_retained"}),
    (
        "gppo",
        {TOKENS: 8193},
        [],
        "SAMPLE005",
        {TOKENS},
    ),
    (
        "full",
        {TOKENS: 110},
        [],
        "SAMPLE005",
        {TOKENS},
    ),
]

SILENT: list[tuple[str, dict[str, Any], list[str], str]] = [
    (
        "gppo",
        {RUN + "/telemetry": {"zero_groups": "kept"}, STEP + "/training_row": 9},
        [],
        "SAMPLE001",
    ),
    (
        "gppo",
        {RUN + "/telemetry": {"row_order": "source"}, STEP + "/training_row": 9},
        [],
        "SAMPLE001",
    ),
    ("full", {}, [], "SAMPLE004"),
    (
        "gppo",
        {TOKENS: 8192},
        [],
        "SAMPLE005",
    ),
]

BASES = {"gppo": gppo, "full": full}
RULES = ["SAMPLE001", "SAMPLE002", "SAMPLE003", "SAMPLE005"]


@pytest.mark.parametrize(("base", "patches", "removed", "rule", "where"), BROKEN)
def test_a_count_the_log_does_not_give_is_found(
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
def test_the_samples_draw_what_they_count(base: str, rule: str) -> None:
    assert places(BASES[base](), rule) == set()


@pytest.mark.parametrize("rule", RULES)
def test_a_file_without_a_log_is_not_checked_and_says_so_once_an_arm(rule: str) -> None:
    document = {
        "schema_version": 2,
        "method": "a",
        "seed_results": [{"seed": 1, "method_metrics": {"accuracy": 0.5}}],
    }
    assert reasons(document, rule) == {"no training log"}


def test_more_groups_retained_than_there_were_is_a_warning() -> None:
    sampling = "/seed_results/0/sampling"
    counts = {"zero_advantage_groups": 2, "zero_advantage_groups_retained": 15}
    document = patched(gppo(), {sampling: {"tasks_attempted": 20, **counts}})
    assert places(document, "SAMPLE006") == {sampling + "/zero_advantage_groups_retained"}
    assert places(gppo(), "SAMPLE006") == set()
