from __future__ import annotations

from typing import Any

import pytest
from cases import full, gppo, outcomes, patched, places, reasons

from audit.finding import Severity
from audit.rules import Failed

LATER = "/seed_results/0/training/0/updates/1"


def only(document: dict[str, Any], rule: str) -> Failed:
    (found,) = (o for o in outcomes(document, rule) if isinstance(o, Failed))
    return found


def logged() -> dict[str, Any]:
    """A study whose log alone tells what the clip did."""
    document = full()
    for run in document["seed_results"]:
        del run["clip_activity"]
    return document


def test_a_clip_that_never_fired_is_counted_against_the_control_that_did() -> None:
    found = only(gppo(), "MECH001")
    assert found.pointer == LATER
    assert found.severity is None
    assert "0 of the 36 response audits that could have shown it" in found.message
    assert "0 of 72 in all" in found.message
    assert "grpo-control in 34 of 36" in found.message


def test_one_clipped_response_is_enough() -> None:
    document = patched(gppo(), {LATER + "/response_audits/0/clip_fraction": 0.01})
    assert places(document, "MECH001") == set()
    assert places(full(), "MECH001") == set()


def test_tokens_outside_the_bounds_are_no_act_where_no_gradient_was_stopped() -> None:
    gated = {
        f"/seed_results/{run}/training/{step}/updates/{inner}/response_audits/{audit}"
        "/gated_clip_fraction": 0.0
        for run in range(3)
        for step in range(2)
        for inner in range(2)
        for audit in range(8)
    }
    assert "0 of the 48 response audits" in only(patched(logged(), dict(gated)), "MECH001").message


@pytest.mark.parametrize("share", [0.0, 0.01])
def test_a_summary_tells_by_its_updates(share: float) -> None:
    summary: dict[str, object] = {}
    for arm in ("", "/controls/grpo-control"):
        for run in range(3):
            updates = [
                {"metrics": {"audit/clip_fraction": f}} for f in (0.0, share if run else 0.0)
            ]
            summary[f"{arm}/seed_results/{run}/training"] = [{"step": 1, "updates": updates}]
    document = patched(gppo(), summary)
    if share:
        assert places(document, "MECH001") == set()
    else:
        found = only(document, "MECH001")
        assert found.pointer == LATER
        assert "0 of the 3 updates that could have shown it (0 of 6 in all)" in found.message


@pytest.mark.parametrize(
    ("mechanism", "severity"), [("clip", None), ("reward", Severity.INFO), ("other", Severity.INFO)]
)
def test_a_change_that_is_not_the_clip_makes_it_information(
    mechanism: str, severity: Severity | None
) -> None:
    document = patched(gppo(), {"/change": {"mechanism": mechanism}})
    assert only(document, "MECH001").severity is severity


@pytest.mark.parametrize(
    ("change", "severity"), [({}, Severity.INFO), ({"mechanism": "clip"}, None)]
)
def test_one_update_a_batch_is_benign_unless_the_change_is_the_clip(
    change: dict[str, str], severity: Severity | None
) -> None:
    second = [
        f"/seed_results/{run}/training/{step}/updates/1" for run in range(3) for step in range(3)
    ]
    found = only(patched(gppo(), {"/change": change}, second), "MECH001")
    assert found.severity is severity
    assert "one update per batch" in found.message


def test_half_the_groups_without_advantage_are_a_warning() -> None:
    found = only(gppo(), "MECH002")
    assert found.pointer == "/seed_results/0/sampling"
    assert "gppo-framework 11 of 20" in found.message
    assert "grpo-control 7 of 16" in found.message
    assert places(full(), "MECH002") == set()


def test_flat_groups_are_counted_from_rewards_where_they_are_kept() -> None:
    steps = full()["seed_results"][0]["training"]
    flat = {
        f"/seed_results/{run}/training/{step}": entry
        | {"rewards": [0.0] * 8, "zero_advantage_groups": 2}
        for run in range(3)
        for step, entry in enumerate(steps)
    }
    sampling = [f"/seed_results/{run}/sampling/zero_advantage_groups" for run in range(3)]
    document = patched(full(), flat, sampling)
    assert only(document, "MECH002").actual == "100% in chi-clip"


def test_groups_of_steps_that_were_not_logged_are_counted_too() -> None:
    """A sparse log holds two of the twelve steps; sampling counts the groups of all of them."""
    runs = [f"/seed_results/{run}" for run in range(3)]
    sparse: dict[str, object] = {}
    for run in runs:
        sparse |= {
            f"{run}/telemetry/level": "sparse",
            f"{run}/sampling/tasks_attempted": 24,
            f"{run}/sampling/zero_advantage_groups": 3,
        }
    assert places(patched(full(), sparse), "MECH002") == set()
    flat = {f"{run}/sampling/zero_advantage_groups": 13 for run in runs}
    assert only(patched(full(), sparse | flat), "MECH002").actual == "54% in chi-clip"


def test_a_clip_out_of_reach_is_a_warning_and_a_false_statement_an_error() -> None:
    pointer = "/seed_results/0/telemetry/clip_reachable"
    moved = only(patched(full(), {pointer: False}), "MECH003")
    assert (moved.pointer, moved.severity) == (pointer, Severity.ERROR)
    still: dict[str, object] = {
        f"/seed_results/0/training/{step}/updates/1/response_audits": []
        for step in range(len(full()["seed_results"][0]["training"]))
    }
    unreachable = only(patched(logged(), still | {pointer: False}), "MECH003")
    counted = only(patched(full(), still | {pointer: False}), "MECH003")
    assert (counted.pointer, counted.severity) == (pointer, Severity.ERROR)
    assert (unreachable.pointer, unreachable.severity) == (pointer, None)
    assert reasons(gppo(), "MECH003") == {"telemetry.clip_reachable is not recorded"}


COUNTS = "/seed_results/0/clip_activity"


def test_the_count_over_all_updates_decides_where_the_log_leaves_some_out() -> None:
    """A sparse log whose few audits show no clipping, of a run that clipped elsewhere."""
    counts = {"updates": 200, "updates_after_the_first": 100, "clipped_tokens": 9, "tokens": 99}
    for clipped, gated, acted in ((7, 5, True), (7, 0, False), (0, 0, False)):
        activity = {**counts, "updates_that_clipped": clipped, "gated_clipped_tokens": gated}
        document = patched(
            gppo(), {f"/seed_results/{run}/clip_activity": dict(activity) for run in range(3)}
        )
        if acted:
            assert places(document, "MECH001") == set()
        else:
            assert "0 of the 300 updates" in only(document, "MECH001").message


def test_a_count_without_its_wholes_leaves_the_audits_to_decide() -> None:
    partial = {"updates_that_clipped": 0}
    document = patched(gppo(), {f"/seed_results/{run}/clip_activity": partial for run in range(3)})
    assert "0 of the 36 response audits" in only(document, "MECH001").message


def test_a_count_in_some_runs_only_leaves_the_audits_to_decide() -> None:
    activity = {"updates": 6, "updates_after_the_first": 3, "updates_that_clipped": 3}
    document = patched(gppo(), {COUNTS: activity})
    assert "0 of the 36 response audits" in only(document, "MECH001").message


@pytest.mark.parametrize(
    ("changes", "where"),
    [
        ({COUNTS + "/updates": 5}, {COUNTS + "/updates"}),
        ({COUNTS + "/updates_that_clipped": 3}, {COUNTS + "/updates_that_clipped"}),
        ({COUNTS + "/tokens": 1000}, {COUNTS + "/tokens"}),
        ({COUNTS + "/gated_clipped_tokens": 0}, {COUNTS + "/gated_clipped_tokens"}),
        (
            {COUNTS + "/updates": 400, "/seed_results/0/telemetry/level": "sparse"},
            {COUNTS + "/updates"},  # every = 1: all steps are in the log
        ),
        (
            {
                COUNTS + "/updates": 400,
                "/seed_results/0/telemetry/level": "sparse",
                "/seed_results/0/telemetry/every": 4,
            },
            set(),
        ),
        (
            {
                COUNTS + "/updates": 3,
                "/seed_results/0/telemetry/level": "sparse",
                "/seed_results/0/telemetry/every": 4,
            },
            {COUNTS + "/updates"},
        ),
    ],
)
def test_counts_of_the_clip_must_be_those_of_the_log(
    changes: dict[str, Any], where: set[str]
) -> None:
    assert places(full(), "MECH004") == set()
    assert places(patched(full(), changes), "MECH004") == where


def test_a_part_is_never_more_than_its_whole() -> None:
    counts = {"updates": 4, "updates_after_the_first": 2, "clipped_tokens": 5, "tokens": 4}
    document = patched(gppo(), {COUNTS: counts, "/seed_results/0/training": []})
    assert places(document, "MECH004") == set()  # without a log the rule has nothing to compare
    assert "no clip_activity" in reasons(gppo(), "MECH004")
