"""Claims over several checkpoints, and the seeds that both arms share."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made_studies import Document, analysed, simulated
from scipy import stats

from audit.analysis.claiming import ClaimResult
from audit.report import verify
from audit.results import from_document
from audit.views.claim_view import claim_view

DATA = Path(__file__).parents[1] / "data" / "checkpoint_scores.json"
STEPS = (80, 85, 90, 95, 100)


def curves() -> dict[str, Any]:
    data: dict[str, Any] = json.loads(DATA.read_text(encoding="utf-8"))
    return data


def counts(data: dict[str, Any], arm: str, seed: int, step: int) -> list[int]:
    return [int(digit) for digit in data["runs"][arm][str(seed)][data["steps"].index(step)]]


def along(data: dict[str, Any], arm: str, seeds: range) -> list[Document]:
    """Return runs whose evaluations along the training are all in the file."""
    found = []
    for number, seed in enumerate(seeds, start=1):
        blocks = [
            {
                "benchmark": "sums",
                "checkpoint_step": step,
                "correct": counts(data, arm, seed, step),
                "samples": [data["samples"]] * data["tasks"],
            }
            for step in data["steps"]
        ]
        found.append({"seed": number, "evaluation": blocks[-1], "evaluations": blocks[:-1]})
    return found


def study(treatment: list[Document], control: list[Document], **more: Any) -> Document:
    return {
        "schema_version": 2,
        "method": "recipe",
        "seed_results": treatment,
        "controls": {"control": {"role": "control", "seed_results": control}},
        **more,
    }


def judged(document: Document, text: str, **policy: Any) -> ClaimResult:
    return analysed(document, text, **policy).claims[0]


# Arm, its seeds and the control's, steps; the difference and its interval about new tasks.
REFERENCE = [
    ("fixed", range(11, 21), range(1, 11), (), 0.0074166667, -0.02214480, 0.03697813),
    ("fixed", range(11, 21), range(1, 11), STEPS, 0.0032833333, -0.01042486, 0.01699152),
    ("adaptive", range(1, 6), range(1, 6), (), 0.0371666667, -0.01910876, 0.09344209),
    ("adaptive", range(1, 6), range(1, 6), STEPS, 0.0069666667, -0.01138112, 0.02531445),
    ("lower-rate", range(1, 6), range(1, 6), (), 0.0520000000, -0.00352556, 0.10752556),
    ("lower-rate", range(1, 6), range(1, 6), STEPS, 0.0227000000, 0.00445884, 0.04094116),
]


@pytest.mark.parametrize(("arm", "seeds", "control", "steps", "delta", "low", "high"), REFERENCE)
def test_several_checkpoints_are_judged_as_one_measurement_of_a_run(
    arm: str,
    seeds: range,
    control: range,
    steps: tuple[int, ...],
    delta: float,
    low: float,
    high: float,
) -> None:
    data = curves()
    document = study(along(data, arm, seeds), along(data, "fixed", control))
    where = f" at steps {', '.join(map(str, steps))}" if steps else ""
    result = judged(document, f"gain accuracy recipe over control{where}")
    assert result.comparison is not None
    found = result.comparison.interval("tasks", 0.95)
    assert result.comparison.delta == pytest.approx(delta, abs=1e-9)
    assert (found.low, found.high) == pytest.approx((low, high), abs=1e-7)  # type: ignore[union-attr]


def test_pooled_counts_are_a_hand_count() -> None:
    data = curves()
    runs = along(data, "adaptive", range(1, 4))
    document = study(runs, along(data, "fixed", range(1, 4)))
    result = judged(document, "gain accuracy recipe over control at steps 90, 100")
    assert result.comparison is not None
    first = result.comparison.treatment.runs[0].outcomes
    assert first is not None
    parts = [counts(data, "adaptive", 1, step) for step in (90, 100)]
    assert first.counts == [a + b for a, b in zip(*parts, strict=True)]
    assert first.samples == [2 * data["samples"]] * data["tasks"]
    assert first.mean == Fraction(sum(map(sum, parts)), 2 * data["samples"] * data["tasks"])


def test_a_run_without_a_claimed_step_refuses_the_claim() -> None:
    data = curves()
    runs = along(data, "adaptive", range(1, 4))
    runs[1]["evaluations"] = [one for one in runs[1]["evaluations"] if one["checkpoint_step"] != 90]
    document = study(runs, along(data, "fixed", range(1, 4)))
    result = judged(document, "gain accuracy recipe over control at steps 90, 100")
    assert result.slug == "other-checkpoints"
    assert "step 90" in result.reason


@pytest.mark.parametrize("what", ["samples", "tasks"])
def test_checkpoints_of_other_tasks_or_answers_refuse_the_claim(what: str) -> None:
    data = curves()
    runs = along(data, "adaptive", range(1, 4))
    block = next(one for one in runs[1]["evaluations"] if one["checkpoint_step"] == 90)
    if what == "samples":
        block["samples"] = [8] * data["tasks"]
    else:
        block["correct"], block["samples"] = block["correct"][:-1], block["samples"][:-1]
    document = study(runs, along(data, "fixed", range(1, 4)))
    result = judged(document, "gain accuracy recipe over control at steps 90, 100")
    assert result.slug == "uneven-checkpoints"


AVERAGE = {"average": "exponential", "decay": 0.98}


def averaged(runs: list[Document], *, every_step: bool) -> list[Document]:
    """Return runs whose last evaluation, or each, is of a model with averaged weights."""
    for run in runs:
        for block in (run["evaluation"], *(run["evaluations"] if every_step else ())):
            block["averaged_weights"] = AVERAGE
    return runs


def test_averaged_weights_are_a_measure_of_their_own() -> None:
    data = curves()
    sides = (("lower-rate", range(1, 6)), ("fixed", range(1, 6)))
    plain = study(*(along(data, *side) for side in sides))
    both = study(*(averaged(along(data, *side), every_step=False) for side in sides))
    steps = "at steps 80, 85, 90, 95, 100"
    # The averaged model at step 100 is no checkpoint of step 100, and no fallback for it.
    pooled = judged(both, f"gain accuracy recipe over control {steps}")
    assert (pooled.slug, "step 100" in pooled.reason) == ("other-checkpoints", True)
    earlier = judged(both, "gain accuracy recipe over control")
    assert earlier.delta == judged(plain, "gain accuracy recipe over control at steps 95").delta
    named = judged(both, 'gain "accuracy of averaged weights" recipe over control')
    assert named.comparison is not None
    assert named.comparison.measure.averaged_weights is not None
    assert named.delta == judged(plain, "gain accuracy recipe over control at steps 100").delta


def test_an_arm_of_averaged_weights_is_not_compared_with_one_of_checkpoints() -> None:
    data = curves()
    runs = averaged(along(data, "lower-rate", range(1, 6)), every_step=True)
    document = study(runs, along(data, "fixed", range(1, 6)))
    for metric in ("accuracy", '"accuracy of averaged weights"'):
        assert judged(document, f"gain {metric} recipe over control").slug == "not-measured"
    alone = study(runs, averaged(along(data, "fixed", range(1, 6)), every_step=True))
    found = judged(alone, "gain accuracy recipe over control at steps 80, 100").comparison
    assert found is not None
    assert found.measure.name == "accuracy of averaged weights"


@pytest.mark.parametrize("steps", [[80, 80, 100], [80, True], [], ["80"]])
def test_checkpoints_that_are_no_set_of_steps_fail_the_file(steps: list[object]) -> None:
    data = curves()
    claim = {"direction": "gain", "arm": "recipe", "against": "control", "checkpoints": steps}
    arms = (along(data, arm, range(1, 4)) for arm in ("lower-rate", "fixed"))
    report = verify(from_document(study(*arms, claims=[claim])))
    assert "schema-violation" in {finding.slug for finding in report.found}
    assert report.exit_status == 1


@pytest.mark.parametrize(
    ("ours", "theirs", "slug"),
    [
        (["dev"] * 5, ["dev"] * 5, "supported"),
        (["none"] * 5, [None] * 5, "supported"),
        (["dev"] * 5, ["none"] * 5, "unmatched-protocol"),
        ([None] * 5, ["dev"] * 5, "unmatched-protocol"),
        (["dev"] * 4 + [None], ["dev"] * 5, "unmatched-protocol"),
        (["dev"] * 4 + ["other"], ["dev"] * 5, "unmatched-protocol"),
    ],
)
def test_checkpoints_are_chosen_by_one_rule_in_all_runs_or_the_claim_is_refused(
    ours: list[str | None], theirs: list[str | None], slug: str
) -> None:
    data = curves()
    runs, control = (along(data, arm, range(1, 6)) for arm in ("lower-rate", "fixed"))
    for run, chosen in zip((*runs, *control), (*ours, *theirs), strict=True):
        run["evaluations"] = []
        run["evaluation"]["split"] = "test"
        if chosen is not None:
            run["evaluation"]["selected_on"] = chosen
    for run in runs:
        run["evaluation"]["correct"] = [min(4, n + 1) for n in run["evaluation"]["correct"]]
    result = judged(study(runs, control), "gain accuracy recipe over control")
    assert result.slug == slug
    if slug != "supported":
        assert "not chosen by one rule" in result.reason
    said = claim_view(result).judged_by
    assert ("of the checkpoint chosen on dev" in said) is (ours == theirs == ["dev"] * 5)


def parting(shift: float) -> Document:
    """Return arms that are alike at the first two steps and part by ``shift`` at the third."""
    random = np.random.default_rng(20260101)

    def runs(arm: int) -> list[Document]:
        found = []
        for seed in range(1, 6):
            blocks = [
                {
                    "benchmark": "sums",
                    "checkpoint_step": step,
                    "correct": random.binomial(4, 0.4 + shift * (arm and step == 30), 60).tolist(),
                    "samples": [4] * 60,
                }
                for step in (10, 20, 30)
            ]
            found.append({"seed": seed, "evaluation": blocks[-1], "evaluations": blocks[:-1]})
        return found

    return study(runs(1), runs(0))


CLAIM = "gain accuracy recipe over control at steps 10, 20, 30"


def test_arms_that_part_at_the_last_step_are_told() -> None:
    result = judged(parting(0.3), CLAIM)
    assert result.comparison is not None
    contrast, last = result.comparison.last_contrast, result.comparison.at_last_step
    assert contrast is not None
    assert last is not None
    assert contrast.differs
    assert "last-differs" in result.comparison.verdict.qualifiers
    assert last.delta is not None
    assert result.comparison.delta is not None
    gap = last.delta - result.comparison.delta
    assert contrast.treatment - contrast.control == pytest.approx(gap)
    assert result.supported
    line = next(w.text for w in result.weakened_by if w.slug == "last-differs")
    assert "over three checkpoints" in line
    alike = judged(parting(0), CLAIM).comparison
    assert alike is not None
    assert alike.last_contrast is not None
    assert not alike.last_contrast.differs


def test_the_contrast_is_that_of_welch_on_last_minus_mean() -> None:
    data = curves()
    arms = {
        "recipe": along(data, "adaptive", range(1, 6)),
        "control": along(data, "fixed", range(1, 6)),
    }
    steps = ", ".join(map(str, STEPS))
    document = study(arms["recipe"], arms["control"])
    result = judged(document, f"gain accuracy recipe over control at steps {steps}")
    assert result.comparison is not None
    contrast = result.comparison.last_contrast
    assert contrast is not None
    drawn = data["samples"] * data["tasks"]

    def last_minus_mean(arm: str) -> list[float]:
        rows = [[sum(counts(data, arm, seed, s)) / drawn for s in STEPS] for seed in range(1, 6)]
        return [row[-1] - sum(row) / len(row) for row in rows]

    reference = stats.ttest_ind(
        last_minus_mean("adaptive"), last_minus_mean("fixed"), equal_var=False
    )
    assert contrast.estimate.p_value == pytest.approx(reference.pvalue, rel=1e-6)


def test_the_difference_at_the_last_step_is_shown_beside_the_mean() -> None:
    from audit.views.claim_view import claim_view

    data = curves()
    steps = ", ".join(map(str, STEPS))
    document = study(along(data, "lower-rate", range(1, 6)), along(data, "fixed", range(1, 6)))
    result = judged(document, f"gain accuracy recipe over control at steps {steps}")
    assert result.supported
    assert (
        "mean of 5 checkpoints, steps 80 to 100; at the last +0.052 [-0.004, +0.108]"
        in claim_view(result).judged_by
    )


def test_one_step_has_no_contrast() -> None:
    data = curves()
    document = study(along(data, "adaptive", range(1, 4)), along(data, "fixed", range(1, 4)))
    result = judged(document, "gain accuracy recipe over control")
    assert result.comparison is not None
    assert result.comparison.measure.checkpoints == (100,)
    assert result.comparison.last_contrast is None
    assert result.comparison.at_last_step is None


# -- seeds that both arms share ------------------------------------------------------------------


def against_each_other() -> Document:
    """Return a clear gain whose shared seeds run against each other."""
    document = simulated(seeds=5, delta=0.25, tasks=200)
    (control,) = document["controls"].values()
    tasks = len(document["seed_results"][0]["evaluation"]["correct"])
    for place, run in enumerate(document["seed_results"]):
        move = (place - 2) * tasks // 14
        run["seed"] = place
        run["evaluation"]["correct"] = moved(run["evaluation"]["correct"], move)
    for place, run in enumerate(control["seed_results"]):
        move = -(place - 2) * tasks // 14
        run["seed"] = place
        run["evaluation"]["correct"] = moved(run["evaluation"]["correct"], move)
    return document


def moved(right: list[int], change: int) -> list[int]:
    """Return counts with so many answers more, or fewer, spread over the tasks."""
    right, step = list(right), 1 if change > 0 else -1
    left, place = abs(change) * 2, 0
    while left and place < 10 * len(right):
        task = (place * 7) % len(right)
        if 0 <= right[task] + step <= 4:
            right[task] += step
            left -= 1
        place += 1
    return right


def test_pairs_that_do_not_show_a_gain_are_told_and_change_no_word() -> None:
    document = against_each_other()
    result = judged(document, "gain accuracy recipe over control")
    assert result.comparison is not None
    shared = result.comparison.shared_seeds
    assert shared is not None
    assert shared.pairs == 5
    assert shared.correlation is not None
    assert shared.correlation < -0.3
    assert result.supported
    line = next(w.text for w in result.weakened_by if w.slug == "pairs-do-not-show-it")
    assert "over 5 shared seeds, r = -0." in line


def test_the_paired_interval_is_students() -> None:
    result = judged(against_each_other(), "gain accuracy recipe over control")
    assert result.comparison is not None
    shared = result.comparison.shared_seeds
    assert shared is not None
    assert shared.interval is not None
    sides = (result.comparison.treatment, result.comparison.control)
    first, second = ([float(run.score or 0) for run in side.runs] for side in sides)
    reference = stats.ttest_rel(first, second)
    ends = reference.confidence_interval(0.95)
    assert (shared.interval.low, shared.interval.high) == pytest.approx((ends.low, ends.high))


def test_a_policy_may_ask_that_the_pairs_agree() -> None:
    document = against_each_other()
    result = judged(document, "gain accuracy recipe over control")
    assert result.comparison is not None
    shared = result.comparison.shared_seeds
    assert shared is not None
    asked = judged(document, "gain accuracy recipe over control", pairs="agree")
    assert (asked.slug == "pairs-disagree") is (shared.agrees is False)
    agreeing = judged(
        simulated(seeds=5, delta=0.3), "gain accuracy recipe over control", pairs="agree"
    )
    assert agreeing.supported


def test_a_gain_that_its_pairs_lose_is_refused_where_they_must_agree() -> None:
    """Few pairs of many runs: the unpaired interval is clear of zero, the paired one is not."""
    document = simulated(seeds=9, delta=0.12, sd=0.06, number=0)
    (control,) = document["controls"].values()
    for number in range(60):
        document = simulated(seeds=9, delta=0.12, sd=0.06, number=number)
        (control,) = document["controls"].values()
        for place, run in enumerate(document["seed_results"]):
            run["seed"] = place
        for place, run in enumerate(control["seed_results"]):
            run["seed"] = place + 5  # seeds 5 to 8 are shared
        result = judged(document, "gain accuracy recipe over control")
        shared = result.comparison.shared_seeds if result.comparison else None
        if result.supported and shared is not None and shared.agrees is False:
            break
    else:
        pytest.fail("no study in the stream has pairs that disagree")
    asked = judged(document, "gain accuracy recipe over control", pairs="agree")
    assert asked.slug == "pairs-disagree"
    assert "over 4 shared seeds" in asked.reason
    assert "without a partner: recipe 0, 1, 2, 3, 4; control 9" in asked.reason


def test_declared_pairs_are_not_held_against_themselves() -> None:
    document = simulated(seeds=5, delta=0.3)
    document["claims"] = [
        {
            "direction": "gain",
            "metric": "accuracy",
            "arm": "recipe",
            "against": "control",
            "pairing": "seeds",
        }
    ]
    result = analysed(document, pairs="agree").claims[0]
    assert result.comparison is not None
    assert result.comparison.shared_seeds is None
    assert result.supported
