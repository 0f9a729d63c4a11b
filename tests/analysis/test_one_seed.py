"""What pairs of single runs would have reported, by hand and recounted from the committed study."""

from __future__ import annotations

import json
from itertools import product
from math import sqrt
from statistics import mean, stdev
from typing import Any

import pytest
from made_studies import base, compared, scores, study

from audit.analysis import Lottery, lottery
from audit.analysis.one_seed import Tally
from audit.resources import resource

CONTROL = [[0, 0, 0, 0], [2, 2, 3, 1], [1, 2, 1, 2]]
TREATMENT = [[2, 2, 3, 1], [0, 0, 0, 0], [2, 1, 2, 1]]


def of(document: dict[str, Any], **policy: Any) -> Lottery:
    found = lottery(compared(document, **policy))
    assert found is not None
    return found


def test_each_pair_has_its_own_interval_over_tasks() -> None:
    won, lost, flat = of(study(CONTROL, TREATMENT)).studies
    # Differences by task 0.5, 0.5, 0.75, 0.25: sd 0.20412, se 0.10206, t(3) 3.18245.
    assert (won.seed, won.delta, won.word) == (1, 0.5, "won")
    assert (won.low, won.high) == pytest.approx((0.5 - 0.32480, 0.5 + 0.32480), abs=1e-5)
    assert (lost.seed, lost.delta, lost.word) == (2, -0.5, "lost")
    assert (lost.low, lost.high) == pytest.approx((-won.high, -won.low))
    # Differences 0.25, -0.25, 0.25, -0.25: sd 0.28868, se 0.14434.
    assert (flat.seed, flat.delta, flat.word) == (3, 0.0, "flat")
    assert (flat.low, flat.high) == pytest.approx((-0.45935, 0.45935), abs=1e-5)


def test_every_run_meets_every_other() -> None:
    found = of(study(CONTROL, TREATMENT))
    assert found.same_seed == Tally(won=1, lost=1, flat=1)
    # Run 1 against control 1, run 3 against control 1; run 2 against controls 2 and 3.
    assert found.any_pair == Tally(won=2, lost=2, flat=5)
    assert found.any_pair.total == 9


def test_runs_without_a_shared_seed_meet_only_in_all_pairs() -> None:
    document = study(CONTROL, TREATMENT)
    for number, entry in enumerate(document["seed_results"], start=11):
        entry["seed"] = number
    found = of(document)
    assert found.studies == ()
    assert found.same_seed.total == 0
    assert found.any_pair == Tally(won=2, lost=2, flat=5)


def test_a_lower_score_wins_where_lower_is_better() -> None:
    document = study(CONTROL, TREATMENT)
    document["metrics"] = {"error": {"scale": [0, 1], "higher_is_better": False}}
    runs = [*document["seed_results"], *document["controls"]["control"]["seed_results"]]
    for entry in runs:
        entry["evaluation"]["metric"] = "error"
    assert [one.word for one in of(document).studies] == ["lost", "won", "flat"]


def test_a_wider_level_reports_less() -> None:
    found = of(study(CONTROL, TREATMENT), level=0.999)
    assert found.level == 0.999
    assert found.same_seed == Tally(0, 0, 3)


@pytest.mark.parametrize(
    "document",
    [
        study(CONTROL[:2], TREATMENT),
        study(CONTROL, TREATMENT[:1]),
        scores([0.1, 0.2, 0.3], [0.2, 0.3, 0.4], 100),
        study([[1], [2], [3]], [[1], [2], [0]]),
        {
            "schema_version": 2,
            "method": "recipe",
            "seed_results": study(CONTROL, TREATMENT)["seed_results"],
            "base_evaluations": base(*CONTROL),
        },
    ],
    ids=["two runs", "one run", "a score per run", "one task", "the untrained model"],
)
def test_there_is_none_of_too_little(document: dict[str, Any]) -> None:
    assert lottery(compared(document)) is None


def test_with_very_many_pairs_only_those_at_one_seed_are_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("audit.analysis.one_seed.MOST_PAIRS", 8)
    found = of(study(CONTROL, TREATMENT))
    assert found.any_pair is None
    assert found.same_seed == Tally(1, 1, 1)


def pooled(run: dict[str, Any]) -> dict[str, float]:
    """Return the share of right answers by task over the five checkpoints of the claim."""
    right: dict[str, int] = {}
    steps = []
    for evaluation in (run["evaluation"], *run["evaluations"]):
        steps.append(evaluation["checkpoint_step"])
        assert set(evaluation["samples"]) == {4}
        for task, correct in zip(evaluation["task_ids"], evaluation["correct"], strict=True):
            right[task] = right.get(task, 0) + correct
    assert sorted(steps) == [80, 85, 90, 95, 100]
    return {task: count / 20 for task, count in right.items()}


@pytest.mark.parametrize(
    ("name", "same", "every"),
    [
        ("addition-seed-lottery", Tally(0, 2, 8), Tally(1, 9, 90)),
        ("addition-adaptive-clip", Tally(2, 1, 2), Tally(5, 5, 15)),
    ],
)
def test_the_committed_studies_are_recounted_from_their_files(
    name: str, same: Tally, every: Tally
) -> None:
    from scipy.stats import t

    document = json.loads(resource(f"reports/{name}/results.json").read_text(encoding="utf-8"))
    method = {r["seed"]: pooled(r) for r in document["seed_results"]}
    fixed = document["controls"]["fixed-clip"]["seed_results"]
    control = {r["seed"]: pooled(r) for r in fixed}
    found = of(document)
    shown = {one.seed: one for one in found.studies}
    words: dict[tuple[int, int], str] = {}
    for a, b in product(method, control):
        differences = [method[a][task] - control[b][task] for task in method[a].keys() & control[b]]
        assert len(differences) == 300
        n = len(differences)
        half = t.ppf(0.975, n - 1) * stdev(differences) / sqrt(n)
        centre = mean(differences)
        words[a, b] = "won" if centre - half > 0 else "lost" if centre + half < 0 else "flat"
        if a == b:
            one = shown[a]
            expected = (centre, centre - half, centre + half)
            assert (one.delta, one.low, one.high) == pytest.approx(expected, abs=1e-12)
            assert one.word == words[a, b]
    counted = [
        Tally(*(chosen.count(word) for word in ("won", "lost", "flat")))
        for chosen in ([words[s, s] for s in method], list(words.values()))
    ]
    assert counted == [same, every]
    assert [found.same_seed, found.any_pair] == counted
