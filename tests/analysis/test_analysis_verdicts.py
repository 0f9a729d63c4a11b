"""Every word, qualifier and refusal of a verdict, as a table of studies."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from made_studies import Document, analysed, base, compared, scores, simulated, study

from audit.analysis import Interval, NotMeasured
from audit.analysis.design import Design
from audit.views.analysis_json import analysis_json

CONTROL_6 = [[0, 4, 1, 2, 0, 3], [1, 4, 0, 2, 0, 3], [0, 3, 1, 1, 1, 4]]
TREATMENT_6 = [[3, 4, 1, 1, 4, 3], [4, 4, 0, 2, 3, 2], [4, 4, 1, 1, 3, 4]]


def twice(counts: list[list[int]]) -> list[list[int]]:
    return [row * 2 for row in counts]


def near_one(misses: list[int]) -> list[list[int]]:
    """Return runs with so many tasks of which one answer is wrong, other tasks in each run."""
    rows = []
    for run, number in enumerate(misses):
        missed = {(7 * place + 31 * run) % 100 for place in range(number)}
        rows.append([3 if task in missed else 4 for task in range(100)])
    return rows


def drawn(rates: list[float]) -> list[list[int]]:
    random = np.random.default_rng(7)
    return [random.binomial(4, rate, 100).tolist() for rate in rates]


WORDS: list[tuple[str, Document, dict[str, Any], str]] = [
    ("gain", simulated(delta=0.2), {}, "gain: material"),
    ("loss", simulated(delta=-0.2), {}, "loss: material"),
    ("plain gain", simulated(delta=0.2), {"margin": 0.2}, "gain"),
    ("small gain", simulated(delta=0.2, seeds=10), {"margin": 0.5}, "gain: below-margin"),
    ("two seeds", simulated(300, 2, delta=0.4, rate=0.3), {}, "gain: material, provisional"),
    ("inconclusive", simulated(seeds=3, sd=0.03), {}, "flat: inconclusive, underpowered"),
    ("equivalent", simulated(300, 10), {"margin": 0.05}, "flat: equivalent"),
    (
        "tasks few for equivalence",
        simulated(50, 10),
        {"margin": 0.05},
        "flat: inconclusive, too-few-tasks-for-equivalence, underpowered",
    ),
    (
        "these tasks only",
        study(twice(CONTROL_6), twice(TREATMENT_6)),
        {},
        "flat: inconclusive, underpowered, benchmark-only gain",
    ),
    (
        "target benchmark",
        study(twice(CONTROL_6), twice(TREATMENT_6)),
        {"target": "benchmark"},
        "gain on this benchmark: material",
    ),
    ("scores", scores([0.5, 0.52, 0.54], [0.8, 0.81, 0.83], 400), {}, "gain on this benchmark: "),
    (
        "skewed",
        study(drawn([0.985, 0.985, 0.99]), drawn([0.70, 0.78, 0.86])),
        {"margin": 0.4},
        "loss: below-margin, skewed-scale",
    ),
]


@pytest.mark.parametrize(
    ("document", "policy", "text"), [w[1:] for w in WORDS], ids=[w[0] for w in WORDS]
)
def test_a_study_gets_its_word(document: Document, policy: dict[str, Any], text: str) -> None:
    verdict = compared(document, **policy).verdict
    assert verdict.text == text or (text.endswith(": ") and verdict.text.startswith(text))


def edited(document: Document, change: Callable[[Document], object]) -> Document:
    document = copy.deepcopy(document)
    change(document)
    return document


def both_runs(key: str, value: Any) -> Callable[[Document], object]:
    def change(document: Document) -> None:
        for entry in document["seed_results"][:2]:
            entry[key] = value

    return change


def first_run(key: str, value: Any) -> Callable[[Document], object]:
    return lambda document: document["seed_results"][0].update({key: value})


def first_evaluation(key: str, value: Any) -> Callable[[Document], object]:
    return lambda document: document["seed_results"][0]["evaluation"].update({key: value})


def without_tasks(count: int) -> Callable[[Document], object]:
    def change(document: Document) -> None:
        evaluation = document["seed_results"][0]["evaluation"]
        for task in range(count):
            evaluation["samples"][task] = evaluation["correct"][task] = 0

    return change


def clustered(names: list[str]) -> Callable[[Document], object]:
    def change(document: Document) -> None:
        for entry in (*document["seed_results"], *document["controls"]["control"]["seed_results"]):
            entry["evaluation"]["clusters"] = names

    return change


def copied_outcomes(document: Document) -> None:
    first, second = document["seed_results"][:2]
    second["evaluation"] = copy.deepcopy(first["evaluation"])


GAIN = simulated(delta=0.2)
STEP = {"step": 1, "rewards": [0.0, 1.0], "updates": [{"loss": 0.25}]}
REFUSED: list[tuple[str, Document, str, str]] = [
    ("one seed", simulated(seeds=1, delta=0.4), "one-seed", "recipe has one training run"),
    ("one in the control", simulated(seeds=(1, 5)), "one-seed", "control has one training run"),
    (
        "no run at all",
        edited(GAIN, lambda d: d["controls"]["control"].update(seed_results=[])),
        "one-seed",
        "control has no finished training run",
    ),
    (
        "one run, one failed",
        edited(simulated(seeds=2), first_run("status", "failed")),
        "one-seed",
        "recipe has one training run",
    ),
    (
        "the same seed twice",
        edited(simulated(seeds=2), both_runs("seed", 7)),
        "one-seed",
        "recipe has one training run",
    ),
    (
        "a seed repeated among others",
        edited(GAIN, both_runs("seed", 7)),
        "duplicate-seed",
        "recipe: seed 7 is there twice (4 independent of 5)",
    ),
    ("copied outcomes", simulated(kind="copies"), "one-seed", "its 5 records are one"),
    (
        "copied outcomes among others",
        edited(GAIN, copied_outcomes),
        "identical-runs",
        "runs 0 and 1 are one run: the same outcome on all 120 tasks on simulated "
        "(4 independent of 5)",
    ),
    (
        "equal parameters",
        edited(GAIN, both_runs("final_parameters_sha256", "0" * 64)),
        "identical-runs",
        "runs 0 and 1 are one run: the same final parameters",
    ),
    (
        "equal training logs",
        edited(GAIN, both_runs("training", [STEP])),
        "identical-runs",
        "the same training log",
    ),
    (
        "no variation between runs",
        study([[1] * 7 + [0]] * 3, [[1] * 8] * 3, 1),
        "identical-runs",
        "control: its runs agree on every task",
    ),
    (
        "failed runs",
        edited(GAIN, first_run("status", "diverged")),
        "failed-runs",
        "0 (diverged)",
    ),
    (
        "seeds left out",
        {**GAIN, "launched_seeds": {"recipe": [0, 1, 2, 3, 4, 9]}},
        "seeds-not-listed",
        "absent: 9",
    ),
    (
        "lists of different length",
        edited(GAIN, lambda d: d["seed_results"][0]["evaluation"]["samples"].pop()),
        "incomplete",
        "its lists have different lengths",
    ),
    (
        "more right than drawn",
        edited(GAIN, first_evaluation("correct", [9] * 120)),
        "incomplete",
        "more right answers than answers",
    ),
    (
        "many outcomes missing",
        edited(GAIN, without_tasks(61)),
        "incomplete",
        "5.1% of the outcomes are missing",
    ),
    (
        "unmatched tasks",
        edited(GAIN, first_evaluation("task_ids", [str(t) for t in range(120)])),
        "incomplete",
        "some runs have task ids and some have none",
    ),
    ("few tasks", study(CONTROL_6, TREATMENT_6), "few-tasks", "6 tasks, at least 8"),
    (
        "few clusters",
        edited(GAIN, clustered([str(t % 7) for t in range(120)])),
        "few-tasks",
        "7 effective clusters",
    ),
    (
        "one cluster much larger than the others",
        edited(GAIN, clustered(["big"] * 60 + [str(t) for t in range(60)])),
        "few-tasks",
        "3.93 effective clusters",
    ),
    ("few answers", scores([0.25, 0.5], [0.5, 0.75], 4), "few-tasks", "4 tasks"),
]


@pytest.mark.parametrize(
    ("document", "reason", "line"), [r[1:] for r in REFUSED], ids=[r[0] for r in REFUSED]
)
def test_a_study_is_refused_with_its_reason(document: Document, reason: str, line: str) -> None:
    comparison = compared(document)
    assert comparison.verdict.text == f"no verdict: {reason}"
    assert line in comparison.verdict.line


def test_scores_of_unknown_answers_are_judged_by_their_spread() -> None:
    document = scores([0.123456789012, 0.2], [0.3, 0.4], None)
    comparison = compared(document)
    assert (
        comparison.verdict.text
        == "flat on this benchmark: inconclusive, underpowered, provisional, rounded-scores"
    )
    assert comparison.standing is not None
    assert comparison.standing.tasks is None


def test_a_run_that_was_not_evaluated_on_the_benchmark_refuses_it() -> None:
    document = edited(GAIN, first_evaluation("benchmark", "other"))
    found = {c.benchmark: c.verdict for c in analysed(document).comparisons}
    assert found["simulated"].text == "no verdict: incomplete"
    assert found["simulated"].line == "recipe has finished runs without a score: 0"
    assert found["other"].text == "no verdict: not-measured"


def test_more_tasks_do_not_help_one_seed() -> None:
    comparison = compared(simulated(1319, 1, delta=0.3))
    assert comparison.verdict.detail == "one-seed"
    assert comparison.kind == "one-seed"
    assert isinstance(comparison.deciding, NotMeasured)
    shown = comparison.description
    assert shown.one_seed is not None
    assert shown.one_seed.low > 0
    assert shown.tipping_sd is not None
    assert shown.tipping_sd > 0.05


def test_a_refusal_still_returns_the_interval_where_two_runs_allow_it() -> None:
    comparison = compared(study(CONTROL_6, TREATMENT_6))
    assert comparison.verdict.refused
    interval = comparison.interval("tasks")
    assert isinstance(interval, Interval)
    assert interval.low == pytest.approx(-0.1959244005074463, abs=1e-12)
    assert interval.high == pytest.approx(0.6959244005074462, abs=1e-12)


def test_runs_that_agree_on_few_answers_are_no_copies() -> None:
    control = [[1, 0, 1, 1, 0, 1, 0, 1], [1, 0, 1, 1, 0, 1, 0, 1], [0, 0, 1, 1, 0, 1, 1, 1]]
    treatment = [[1, 1, 1, 1, 0, 1, 0, 1], [1, 0, 1, 1, 1, 1, 0, 1], [0, 1, 1, 1, 0, 1, 1, 1]]
    assert not compared(study(control, treatment, 1)).verdict.refused


def test_arms_that_are_always_right_measure_nothing_and_are_no_copies() -> None:
    comparison = compared(study([[4] * 30] * 3, [[4] * 30] * 3))
    assert [refusal.reason for refusal in comparison.refusals] == ["dead-evaluation"]
    assert "no answer of any run of either arm is wrong" in comparison.verdict.line


def test_an_arm_that_is_always_right_is_compared_with_one_that_is_not() -> None:
    assert compared(study(near_one([20, 30, 40]), [[4] * 100] * 3)).verdict.word == "gain"


def test_unlabelled_records_are_no_runs_without_a_word() -> None:
    document = simulated(delta=0.2)
    for entry in document["seed_results"]:
        entry["seed"] = None
    comparison = compared(document)
    assert comparison.verdict.text == "no verdict: runs-not-identified"
    assert comparison.evidence is not None
    assert comparison.evidence.grade == "D"


def test_unlabelled_runs_count_and_never_pair() -> None:
    document = simulated(delta=0.2)
    for entry in document["seed_results"]:
        entry["seed"] = None
    document["runs_are"] = {"recipe": "trainings"}
    comparison = compared(document)
    assert comparison.evidence is not None
    assert comparison.evidence.grade == "C"
    assert comparison.verdict.word == "gain"
    assert comparison.description.pairs == ()
    reasons = {entry.reason for entry in comparison.description.unpaired}
    assert "its seed was not recorded" in reasons


def test_checkpoints_of_a_run_are_not_runs() -> None:
    document = simulated(seeds=1)
    entry = document["seed_results"][0]
    final = entry["evaluation"]
    entry["evaluations"] = [{**final, "checkpoint_step": step} for step in (10, 20, 30)]
    assert compared(document).verdict.detail == "one-seed"


def test_the_last_checkpoint_is_the_model() -> None:
    document = simulated(delta=0.2)
    entry = document["seed_results"][0]
    early = {**entry["evaluation"], "correct": [0] * 120, "checkpoint_step": 1}
    entry["evaluations"] = [early]
    entry["evaluation"]["checkpoint_step"] = 2
    assert compared(document).delta == compared(simulated(delta=0.2)).delta


def test_failed_runs_may_be_allowed_and_are_then_marked() -> None:
    document = edited(simulated(delta=0.2), first_run("status", "failed"))
    assert compared(document, failed_runs="allow").verdict.text == "gain: material, seeds-lost"


def test_a_gain_below_the_evaluation_floor_says_so() -> None:
    document = simulated(delta=0.1)
    for entry in (*document["seed_results"], *document["controls"]["control"]["seed_results"]):
        entry["evaluation"]["benchmark"] = "b"
    document["base_evaluations"] = base([4] * 120, [0] * 120, [2] * 120)
    comparison = compared(document)
    assert comparison.verdict.word == "gain"
    assert "below-eval-floor" in comparison.verdict.qualifiers
    assert comparison.floor_of_delta is not None
    assert comparison.delta is not None
    assert comparison.floor_of_delta > comparison.delta


def test_missing_tasks_count_against_the_gain() -> None:
    document = simulated(delta=0.06, number=2)
    for entry in document["seed_results"]:
        evaluation = entry["evaluation"]
        evaluation["samples"][:8] = evaluation["correct"][:8] = [0] * 8
    comparison = compared(document)
    ways = {n.missing: n.decision(comparison.settings).word for n in comparison.numbers}
    assert ways == {"dropped": "gain", "against treatment": "flat", "against control": "gain"}
    assert comparison.verdict.word == "flat"
    assert "missing-sensitive" in comparison.verdict.qualifiers
    assert comparison.aligned is not None
    assert comparison.aligned.missing[0].run == "0"


def test_a_claimed_loss_has_its_missing_tasks_scored_the_other_way() -> None:
    document = simulated(delta=0.06, number=2)
    document["seed_results"][0]["evaluation"]["samples"][0] = 0
    document["seed_results"][0]["evaluation"]["correct"][0] = 0
    document["claims"] = [{"direction": "loss", "arm": "recipe", "against": "control"}]
    ways = [n.missing for n in analysed(document).comparisons[0].numbers]
    assert ways == ["dropped", "against control"]


def test_errored_answers_are_counted_both_ways() -> None:
    document = simulated(delta=0.2)
    for entry in document["controls"]["control"]["seed_results"]:
        evaluation = entry["evaluation"]
        wrong = [k - c for k, c in zip(evaluation["samples"], evaluation["correct"], strict=True)]
        evaluation["errored"] = [min(w, 2) for w in wrong]
    comparison = compared(document)
    assert comparison.without_errors is not None
    assert comparison.without_errors.delta == pytest.approx(0.029166666666666667, abs=1e-12)
    assert comparison.without_errors.decision(comparison.settings).word == "flat"
    # Counted as right in the control the errored answers turn the gain into a loss.
    words = {n.reading.errors: n.decision(comparison.settings).word for n in comparison.numbers}
    assert words == {
        "wrong": "gain",
        "dropped": "flat",
        "worst for treatment": "loss",
        "worst for control": "gain",
    }
    assert comparison.verdict.word == "flat"
    assert "errors-decide" in comparison.verdict.qualifiers


def test_clusters_change_the_interval_and_never_the_difference() -> None:
    names = [str(t // 4) for t in range(120)]
    comparison = compared(edited(simulated(delta=0.2), clustered(names)))
    tasks = {n.reading.grouping: n.tasks for n in comparison.numbers}
    assert tasks == {"tasks": 120, "clusters": 30}
    plain = compared(simulated(delta=0.2))
    assert {n.delta for n in comparison.numbers} == {plain.delta}


def test_a_metric_that_should_fall_gains_by_falling() -> None:
    document = simulated(delta=-0.2)
    document["metrics"] = {"error": {"scale": [0, 1], "higher_is_better": False}}
    for entry in (*document["seed_results"], *document["controls"]["control"]["seed_results"]):
        entry["evaluation"]["metric"] = "error"
    comparison = compared(document)
    assert comparison.verdict.text == "gain: material"
    assert comparison.delta is not None
    assert comparison.delta < 0


def test_scores_on_another_scale_keep_their_units() -> None:
    document = simulated(tasks=40, delta=0.3)
    runs = (*document["seed_results"], *document["controls"]["control"]["seed_results"])
    for entry in runs:
        evaluation = entry["evaluation"]
        evaluation["metric"] = "rating"
        counts = evaluation.pop("correct")
        evaluation.pop("samples")
        evaluation["scores"] = [1 + c for c in counts]  # 0 to 4 right becomes 1 to 5
    document["metrics"] = {"rating": {"scale": [1, 5]}}
    comparison = compared(document, margin=0.5)
    plain = compared(simulated(tasks=40, delta=0.3), margin=0.125)
    assert comparison.delta == pytest.approx(4 * (plain.delta or 0), abs=1e-12)
    assert comparison.verdict.word == plain.verdict.word == "gain"
    low = comparison.deciding.low if isinstance(comparison.deciding, Interval) else None
    assert isinstance(plain.deciding, Interval)
    assert low == pytest.approx(4 * plain.deciding.low, abs=1e-12)


def test_graded_scores_are_planned_as_one_answer_per_task() -> None:
    """Their lattice is no number of answers: a finer one would promise what more answers give."""
    document = simulated(tasks=40, delta=0.3)
    for entry in (*document["seed_results"], *document["controls"]["control"]["seed_results"]):
        evaluation = entry["evaluation"]
        evaluation["scores"] = [c / 4 for c in evaluation.pop("correct")]
        evaluation.pop("samples")
    graded, counted = compared(document).design, compared(simulated(tasks=40, delta=0.3)).design
    assert isinstance(graded, Design)
    assert isinstance(counted, Design)
    assert (graded.samples, counted.samples) == (1, 4)
    assert graded.components.sampling_variance == 0
    assert graded.components.seed_task_sd > counted.components.seed_task_sd
    # Both see the same with the answers at hand.
    assert graded.power(0.1) == pytest.approx(counted.power(0.1), abs=1e-9)


def test_an_unbounded_metric_is_refused() -> None:
    document = scores([10.0, 12.0, 11.0], [20.0, 21.0, 22.0], 100)
    for entry in (*document["seed_results"], *document["controls"]["control"]["seed_results"]):
        entry["method_metrics"]["reward"] = entry["method_metrics"].pop("accuracy") * 3
    document["metrics"] = {"reward": {"scale": [None, None]}}
    for entry in (*document["seed_results"], *document["controls"]["control"]["seed_results"]):
        entry["status"] = "finished"
        entry["method_metrics"]["accuracy"] = 0.5
    found = {c.metric: c.verdict.detail for c in analysed(document).comparisons}
    assert found["reward"] == "unknown-scale"


BASE_CASES = [
    ((0, 5), 3, 0.3, "gain"),
    ((0, 3), 3, 0.3, "gain"),
    ((0, 3), 3, 0.0, "flat"),
    ((0, 1), 3, 0.3, "refused"),
    ((0, 2), 3, 0.3, "refused"),
    ((0, 3), 2, 0.3, "refused"),
]


@pytest.mark.parametrize(("seeds", "evaluations", "delta", "word"), BASE_CASES)
def test_an_arm_against_the_base(
    seeds: tuple[int, int], evaluations: int, delta: float, word: str
) -> None:
    document = simulated(seeds=seeds, delta=delta, kind="base")
    del document["base_evaluations"][evaluations:]
    (comparison,) = analysed(document).comparisons
    assert (comparison.kind, comparison.against) == ("base", "base")
    assert comparison.verdict.word == word
    assert ("provisional" in comparison.verdict.qualifiers) is (word == "gain")


def test_the_base_without_outcomes_per_task_gets_no_verdict() -> None:
    document = simulated(delta=0.2)
    document["base_evaluations"] = [{"run": i, "accuracy": 0.3, "examples": 480} for i in range(3)]
    found = {c.against: c.verdict.text for c in analysed(document).comparisons}
    assert found == {"control": "gain: material", "base": "no verdict: no-per-task-outcomes"}


CLAIM: Document = {"direction": "equivalent", "arm": "recipe", "against": "control"}
TINY: Document = {"arm": "recipe", "against": "control", "delta": 0, "low": 0, "high": 1e-300}
ROUNDS: list[Document] = [
    {"id": 1, "delta": {"value": 0, "low": -1e-300, "high": 1e-300}},
    {"id": 2, "replicates": 1, "delta": {"value": 1e308, "low": -1e308, "high": 1e308}},
]
HOSTILE: list[tuple[str, Callable[[Document], object]]] = [
    ("counts as floats", first_evaluation("correct", [2.0] * 120)),
    ("samples as floats", first_evaluation("samples", [4.0] * 120)),
    ("samples beyond counting", first_evaluation("samples", [1e300] * 120)),
    ("one task", first_evaluation("samples", [4] + [0] * 119)),
    ("one cluster", clustered(["x"] * 120)),
    ("a level near 0", lambda d: d.update(claims=[{**CLAIM, "level": 1e-9}])),
    ("a level of a half", lambda d: d.update(claims=[{**CLAIM, "level": 0.5}])),
    ("a huge margin", lambda d: d.update(claims=[{**CLAIM, "margin": 1e300}])),
    ("rounds of no width", lambda d: d.update(rounds=ROUNDS)),
    ("a printed interval of no width", lambda d: d.update(reported={"comparisons": [TINY]})),
]


@pytest.mark.parametrize("change", [h[1] for h in HOSTILE], ids=[h[0] for h in HOSTILE])
@pytest.mark.parametrize("seeds", [1, 3])
def test_odd_values_give_figures_or_reasons_and_no_error(
    change: Callable[[Document], object], seeds: int
) -> None:
    analysis = analysed(edited(simulated(seeds=seeds), change), "gain accuracy method over control")
    assert json.loads(json.dumps(analysis_json(analysis), allow_nan=False))["comparisons"]


def test_whole_numbers_written_as_floats_are_the_same_counts() -> None:
    document = simulated(delta=0.2)
    plain = compared(document)
    evaluation = document["seed_results"][0]["evaluation"]
    for key in ("correct", "samples"):
        evaluation[key] = [float(value) for value in evaluation[key]]
    assert compared(document).deciding == plain.deciding


def test_a_claim_cannot_ask_for_less_confidence_than_the_policy() -> None:
    document = simulated(seeds=3, sd=0.03)
    document["claims"] = [
        {"direction": "gain", "arm": "recipe", "against": "control", "level": 0.01}
    ]
    (result,) = analysed(document).claims
    assert result.comparison is not None
    assert result.comparison.settings.level == 0.95
    document["claims"][0]["level"] = 0.99
    (stricter,) = analysed(document).claims
    assert stricter.comparison is not None
    assert stricter.comparison.settings.level == 0.99
