from __future__ import annotations

import json
from typing import Any

import pytest

from audit.training.recorder import Level, Recorder, ResponseAudit, Update


def audit(sequence: int, clipped: int = 0, largest: float = 0.0) -> ResponseAudit:
    return ResponseAudit(sequence, 4, clipped, clipped // 2, clipped / 4, 0.0, 0.8, 1.25, largest)


def recorder(level: Level, rounds: int = 6) -> Recorder:
    made = Recorder(level, 2, "tv", "mc")
    for number in range(rounds):
        made.begin(
            [0.0, 1.0, 1.0, 1.0], [-0.7, 0.7, 0.0, 0.0], [1, 2], [4] * 4, [False] * 4, [7, 8]
        )
        for inner in range(2):
            audits = tuple(
                audit(i, clipped=inner * (number % 3), largest=inner * 0.3) for i in range(4)
            )
            made.end_update(Update(1e-8, 0.123456789, audits, {"entropy": 0.5, "a": 1.0}))
    return made


def test_full_keeps_every_response_of_every_update() -> None:
    training = recorder("full").training()
    assert [step["step"] for step in training] == [1, 2, 3, 4, 5, 6]
    for step in training:
        assert step["training_rows"] == [7, 8]
        assert step["correct_counts"] == [1, 2]
        assert step["zero_advantage_groups"] == 1
        assert [len(u["response_audits"]) for u in step["updates"]] == [4, 4]
        assert "sequence" not in step["updates"][0]["response_audits"][0]
        assert step["updates"][0]["metrics"]["entropy"] == 0.5
        assert step["updates"][0]["metrics"]["audit/upper_mean"] == 1.25


def test_sparse_keeps_the_ends_in_full_and_sums_up_the_middle() -> None:
    made = recorder("sparse")
    made.edge_rounds = 2
    training = made.training()
    full = ["response_audits" in step["updates"][0] for step in training]
    assert full == [True, True, False, False, True, True]


def test_sparse_can_audit_the_first_groups_alone() -> None:
    made = recorder("sparse")
    made.audited_groups = 1
    first, *_, last = made.training()
    for step in (first, last):
        assert len(step["rewards"]) == 4
        for update in step["updates"]:
            assert [a["sequence"] for a in update["response_audits"]] == [0, 1]


def test_summary_is_small_and_its_metrics_are_token_means() -> None:
    made = recorder("summary")
    training = made.training()
    assert [step["updates"][1]["metrics"]["audit/clip_fraction"] for step in training] == [
        0.0,
        0.25,
        0.5,
        0.0,
        0.25,
        0.5,
    ]
    assert training[0]["updates"][0]["metrics"]["entropy"] == 0.5
    assert "a" not in training[0]["updates"][0]["metrics"]
    assert training[0]["rewards"] == [0.0, 1.0, 1.0, 1.0]
    assert all("rewards" not in step for step in training[1:])
    assert training[0]["updates"][0]["gradient_l2_norm"] == 0.123457
    assert len(json.dumps(training)) < len(json.dumps(recorder("full").training())) / 2


def test_rounds_between_can_be_left_out_but_not_the_first_or_the_last() -> None:
    made = recorder("summary")
    made.every = 4
    assert [step["step"] for step in made.training()] == [1, 4, 6]
    made.level = "full"
    assert [step["step"] for step in made.training()] == [1, 2, 3, 4, 5, 6]


def test_clip_activity_leaves_the_first_update_of_a_round_out() -> None:
    assert recorder("summary").clip_activity() == {
        "updates": 12,
        "updates_after_the_first": 6,
        "updates_that_clipped": 4,
        "tokens": 96,
        "clipped_tokens": 24,
        "gated_clipped_tokens": 8,
    }


def test_an_update_that_holds_part_of_the_responses_names_them() -> None:
    made = Recorder("full", 2, "tv", "mc")
    made.begin([0.0, 1.0, 0.0, 1.0], [0.0] * 4, [1, 1], [4] * 4, [False] * 4, [])
    made.end_update(Update(0.0, 0.1, (audit(3), audit(0)), {}))
    (step,) = made.training()
    assert [a["sequence"] for a in step["updates"][0]["response_audits"]] == [3, 0]
    assert "training_rows" not in step


def test_batches_of_one_accumulation_window_share_a_round() -> None:
    made = Recorder("full", 2, "tv", "mc")
    batch: tuple[Any, ...] = ([0.0, 1.0], [-0.7, 0.7], [1], [4, 4], [False, True], [5])
    assert [made.begin(*batch), made.begin(*batch)] == [0, 2]
    made.end_update(Update(0.0, 0.1, (), {}))
    assert made.begin(*batch) == 0
    assert [len(r.rewards) for r in made.rounds] == [4, 2]
    assert made.groups == 3
    assert made.generated_tokens == 24


@pytest.mark.parametrize("level", ["full", "sparse", "summary"])
def test_every_level_is_plain_json(level: Level) -> None:
    training = recorder(level).training()
    assert json.loads(json.dumps(training, allow_nan=False)) == training
