from __future__ import annotations

from typing import Any

import pytest
from cases import full, gppo, messages_of, patched, places, reasons

RUN = "/seed_results/0"
EVALUATION = RUN + "/evaluation"


def timed(times: list[float], seed: int = 1, **more: Any) -> dict[str, Any]:
    tasks = [f"t{n}" for n in range(len(times))]
    return {
        "seed": seed,
        "evaluation": {
            "benchmark": "b",
            "task_ids": tasks,
            "correct": [n % 2 for n in range(len(times))],
            "samples": [1] * len(times),
            "mean_seconds": times,
        },
        **more,
    }


def study(*runs: dict[str, Any], **top: Any) -> dict[str, Any]:
    return {"schema_version": 2, "method": "a", "seed_results": list(runs), **top}


TIMES = [1.5, 2.25, 0.75, 3.125, 4.0, 1.0]


@pytest.mark.parametrize("rule", [f"REAL00{n}" for n in range(1, 9)])
@pytest.mark.parametrize("base", [gppo, full])
def test_the_samples_took_place(base: Any, rule: str) -> None:
    assert places(base(), rule) == set()


@pytest.mark.parametrize(
    ("printed", "errored", "found"),
    [
        ({"mean": 0.5}, None, False),
        ({"mean": 0.5004}, None, False),
        ({"mean": 0.0}, None, True),
        ({"mean": 0.6}, None, True),
        ({"mean": 0.6}, [1, 0, 0, 0, 0, 0], False),
    ],
)
def test_a_printed_average_is_held_against_the_answers(
    printed: dict[str, float], errored: list[int] | None, found: bool
) -> None:
    run = timed(TIMES)
    run["evaluation"]["printed"] = printed
    if errored:
        run["evaluation"]["errored"] = errored
    assert places(study(run), "REAL001") == ({EVALUATION + "/printed/mean"} if found else set())


@pytest.mark.parametrize(("said", "found"), [(1, False), (0, True), (3, True)])
def test_a_printed_count_of_answers_is_held_against_them(said: int, found: bool) -> None:
    run = timed(TIMES)
    run["evaluation"]["printed"] = {"answers_per_task": said}
    where = {EVALUATION + "/printed/answers_per_task"} if found else set()
    assert places(study(run), "REAL002") == where


def test_answers_that_took_no_time_are_found_above_a_tenth() -> None:
    assert places(study(timed([0.0] * 2 + TIMES)), "REAL003") == {EVALUATION + "/mean_seconds"}
    assert places(study(timed([0.0, *TIMES, *TIMES])), "REAL003") == set()
    assert reasons(gppo(), "REAL003") == {"no evaluation records mean_seconds"}


def test_times_that_are_equal_to_the_digit_are_found_and_round_ones_are_not() -> None:
    two = study(timed(TIMES), timed(TIMES, 2))
    assert places(two, "REAL004") == {"/seed_results/1/evaluation/mean_seconds"}
    assert places(study(timed(TIMES), timed([*TIMES[:-1], 1.01], 2)), "REAL004") == set()
    for minutes, found in ((42.3178, True), (42.0, False), (42.25, False)):
        runs = [timed(TIMES[:3], seed, cost={"minutes": minutes}) for seed in (1, 2)]
        where = {"/seed_results/1/cost/minutes"} if found else set()
        assert places(study(*runs), "REAL004") == where, minutes


def test_a_runtime_that_two_trainings_share_is_found() -> None:
    runs = [
        timed(
            TIMES[:3],
            seed,
            telemetry={"level": "summary"},
            training=[{"step": 1, "updates": [{"metrics": {"train_runtime": 812.4471}}]}],
        )
        for seed in (1, 2)
    ]
    assert set(messages_of(study(*runs), "REAL004").values()) == {
        "train_runtime 812.4471, as in seed 1 of a"
    }


def test_steps_that_go_back_are_found_in_the_log_and_in_what_its_source_says() -> None:
    log = {"telemetry": {"level": "summary"}, "training": [{"step": s} for s in (10, 60, 41)]}
    assert places(study(timed(TIMES, 1, **log)), "REAL005") == {RUN + "/training/2/step"}
    log = {"telemetry": {"level": "summary", "went_back": [[60, 41]]}, "training": [{"step": 10}]}
    assert messages_of(study(timed(TIMES, 1, **log)), "REAL005") == {
        RUN + "/telemetry/went_back": "step 41 follows step 60 in the source"
    }


@pytest.mark.parametrize(
    ("evaluated", "more", "found"),
    [
        (100, {}, False),
        (97, {}, False),
        (60, {}, True),
        (60, {"selected_on": "validation"}, False),
        (60, {"selected_on": "none"}, True),
    ],
)
def test_another_checkpoint_than_the_last_is_found_unless_its_choice_is_said(
    evaluated: int, more: dict[str, str], found: bool
) -> None:
    log = [{"step": step} for step in (20, 60, 100)]
    run = timed(TIMES, 1, telemetry={"level": "summary"}, training=log)
    run["evaluation"] |= {"checkpoint_step": evaluated, **more}
    where = {EVALUATION + "/checkpoint_step"} if found else set()
    assert places(study(run), "REAL006") == where


def test_the_rest_of_an_interval_between_evaluations_is_no_other_checkpoint() -> None:
    log = [{"step": step} for step in (50, 100, 130)]
    run = timed(TIMES, 1, telemetry={"level": "summary"}, training=log)
    run["evaluation"]["checkpoint_step"] = 100
    assert places(study(run), "REAL006") == {EVALUATION + "/checkpoint_step"}
    run["evaluations"] = [run["evaluation"] | {"checkpoint_step": 50}]
    assert places(study(run), "REAL006") == set()


@pytest.mark.parametrize(
    ("configured", "found"),
    [
        ([42, 42, 42], True),
        ([42, 42, None], False),
        ([101, 102, 103], False),
        ([None, None, None], False),
    ],
)
def test_one_seed_in_the_settings_of_all_runs_is_found(
    configured: list[int | None], found: bool
) -> None:
    runs = [
        timed(TIMES[:3], seed, **({} if said is None else {"configured_seed": said}))
        for seed, said in enumerate(configured, 1)
    ]
    where = {RUN + "/configured_seed"} if found else set()
    assert places(study(*runs), "REAL007") == where
    if configured[-1] is None and configured[0]:
        runs[-1]["seed"] = 42
        assert places(study(*runs), "REAL007") == {RUN + "/configured_seed"}, "the last is its own"


def test_two_runs_of_files_with_one_hash_are_found() -> None:
    files = [{"path": f"s{n}/results.jsonl", "sha256": "0" * 64} for n in (1, 2)]
    fields = [
        {"pointer": f"/seed_results/{n}/evaluation", "file": f"s{n + 1}/results.jsonl"}
        for n in (0, 1)
    ]
    provenance = {"imported": {"by": "audit", "files": files, "fields": fields}}
    document = study(timed(TIMES), timed(TIMES[::-1], 2), provenance=provenance)
    assert places(document, "REAL008") == {"/seed_results/1/evaluation"}
    other = patched(document, {"/provenance/imported/files/1/sha256": "1" * 64})
    assert places(other, "REAL008") == set()
    assert reasons(study(timed(TIMES)), "REAL008") == {
        "the file does not say which of its fields come from which source file"
    }
