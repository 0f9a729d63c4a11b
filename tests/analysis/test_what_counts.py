"""What counts as a training run, an answer, a score: each fault with its right value."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from made_studies import Document, analysed, base, scores, study

from audit.analysis import analyse
from audit.facts.siblings import run_keys
from audit.results import from_document
from audit.stats import SeedDelta

GAIN = "gain accuracy recipe over control"
TASKS = 120


def draws(rate: float | np.ndarray, number: int, k: int = 4, tasks: int = TASKS) -> list[int]:
    drawn: list[int] = np.random.default_rng(number).binomial(k, rate, tasks).tolist()
    return drawn


DIFFICULTY = np.random.default_rng(1).beta(0.7, 0.9, TASKS)


def honest(shift: float = 0.0, runs: int = 3, first: int = 10) -> list[list[int]]:
    """Return runs that are trainings of their own: each has its own rate on every task."""
    rows = []
    for run in range(runs):
        moved = np.random.default_rng(100 + first + run).normal(0, 0.08, TASKS)
        rows.append(draws(np.clip(DIFFICULTY + moved + shift, 0, 1), first + run))
    return rows


def copies(row: Sequence[int], changed: int, runs: int = 3) -> list[list[int]]:
    """Return one run several times, with so many answers changed in each copy."""
    rows = [list(row)]
    for copy_number in range(1, runs):
        other = list(row)
        for task in np.random.default_rng(copy_number).permutation(TASKS)[:changed].tolist():
            other[task] += 1 if other[task] < 4 else -1
        rows.append(other)
    return rows


def judged(document: Document, claim: str = GAIN, **policy: Any) -> tuple[bool, str]:
    (result,) = analysed(document, claim, **policy).claims
    return result.supported, result.slug


@pytest.mark.parametrize("changed", [1, 3, 12])
def test_edited_copies_of_one_run_are_one_run(changed: int) -> None:
    control, treatment = honest()[0], honest(0.15, first=20)[0]
    document = study(copies(control, changed), copies(treatment, changed))
    (result,) = analysed(document, GAIN).claims
    assert not result.supported
    assert "nearly-identical-runs" in [refusal.reason for refusal in result.refusals]
    # Three records that are one run lack two: to train "0 more" would settle nothing.
    assert all(" 0 more" not in act for act in result.next)
    assert result.next


def test_an_uneven_number_of_answers_hides_no_copy() -> None:
    document = study(copies(honest()[0], 1), copies(honest(0.15, first=20)[0], 1))
    document["seed_results"][1]["evaluation"]["samples"][0] = 5
    assert not judged(document)[0]


def test_a_second_benchmark_hides_no_copy() -> None:
    document = study(copies(honest()[0], 1), copies(honest(0.15, first=20)[0], 1))
    for runs in (document["seed_results"], document["controls"]["control"]["seed_results"]):
        for number, entry in enumerate(runs):
            decoy = {"benchmark": "decoy", "correct": draws(0.5, 900 + number)}
            entry["evaluations"] = [entry["evaluation"]]
            entry["evaluation"] = {**decoy, "samples": [4] * TASKS}
    assert not judged(document, f"{GAIN} on b")[0]


def test_honest_runs_that_agree_a_lot_stay() -> None:
    sure = np.where(np.arange(TASKS) < 60, 0.99, 0.02)
    control = [draws(sure, n) for n in range(3)]
    treatment = [draws(np.where(np.arange(TASKS) < 90, 0.99, 0.02), n) for n in range(10, 13)]
    assert judged(study(control, treatment)) == (True, "supported")


def test_equal_scores_of_a_thousand_answers_are_one_run_and_of_eight_are_not() -> None:
    claim = f"{GAIN} for these tasks"
    large = scores([416 / 1319] * 3, [468 / 1319] * 3, 1319)
    assert judged(large, claim)[1] in ("equal-scores", "one-seed")
    small = analysed(scores([3 / 8, 4 / 8, 3 / 8], [5 / 8] * 3, 8)).comparisons[0]
    assert small.verdict.detail == "inconclusive"


@pytest.mark.parametrize(
    ("mark", "slug"),
    [
        (lambda d: None, "supported"),
        (lambda d: d.update(provenance={"imported": {"tool": {"name": "csv"}}}),
         "runs-not-identified"),
        (lambda d: d.update(runs_are={"recipe": "evaluations"}), "one-seed"),
    ],
    ids=["written by hand", "converted, nobody says so", "said to be evaluations"],
)  # fmt: skip
def test_seeds_are_trainings_only_on_somebodys_word(
    mark: Callable[[Document], object], slug: str
) -> None:
    document = study(honest(), honest(0.2, first=20))
    mark(document)
    assert judged(document)[1] == slug


@pytest.mark.parametrize(("said", "grade"), [("user", "C"), ("trainer-config", "B"), ("none", "D")])
def test_who_says_that_runs_are_trainings_is_their_grade(said: str, grade: str) -> None:
    document = study(honest(), honest(0.2, first=20))
    for name, runs in (("recipe", document["seed_results"]), ("control", None)):
        for entry in runs or document["controls"]["control"]["seed_results"]:
            entry |= {"identified_by": said, "run_id": f"{name}-{entry['seed']}"}
    (result,) = analysed(document, GAIN).claims
    assert result.evidence == grade
    assert result.supported is (grade != "D")
    if grade == "C":
        assert judged(document, evidence="B")[1] == "evidence-below-policy"


def test_clusters_never_change_the_difference() -> None:
    document = study(honest(), honest(0.1, first=20))
    plain = analysed(document).comparisons[0]
    names = ["big"] * 20 + [f"c{t // 5}" for t in range(20, TASKS)]
    for runs in (document["seed_results"], document["controls"]["control"]["seed_results"]):
        for entry in runs:
            entry["evaluation"]["clusters"] = names
    clustered = analysed(document).comparisons[0]
    assert {n.delta for n in clustered.numbers} == {plain.delta}


def test_variants_of_one_item_are_read_from_their_ids() -> None:
    item = np.repeat(np.random.default_rng(5).normal(0, 0.25, 12), 10)
    rows = [draws(np.clip(0.5 + item, 0, 1), n) for n in range(40, 43)]
    document = study([draws(0.5, n) for n in range(3)], rows)
    for runs in (document["seed_results"], document["controls"]["control"]["seed_results"]):
        for entry in runs:
            ids = [f"item-{task // 10}/variant-{task % 10}" for task in range(TASKS)]
            entry["evaluation"]["task_ids"] = ids
    (comparison,) = analysed(document).comparisons
    by_grouping = {n.reading.grouping: n for n in comparison.numbers}
    assert by_grouping["stems"].tasks == 12
    stems, tasks = (by_grouping[name].result for name in ("stems", "tasks"))
    assert isinstance(stems, SeedDelta)
    assert isinstance(tasks, SeedDelta)
    assert stems.random.se > 2 * tasks.random.se
    assert comparison.reading is not None
    assert comparison.reading.grouping == "stems"


def test_a_gain_that_is_answer_format_is_refused() -> None:
    document = study(honest(), honest(first=20))
    for runs, share in ((document["seed_results"], 0.02),
                        (document["controls"]["control"]["seed_results"], 0.5)):  # fmt: skip
        for number, entry in enumerate(runs):
            block, random = entry["evaluation"], np.random.default_rng(number)
            lost = random.binomial(4, share, TASKS)
            kept = [int(random.binomial(c, 1 - share)) for c in block["correct"]]
            block["unparsed"] = [min(int(u), 4 - c) for u, c in zip(lost, kept, strict=True)]
            block["correct"] = kept
    (result,) = analysed(document, GAIN).claims
    assert result.slug == "format-only"
    assert result.comparison is not None
    parts = result.comparison.parsing
    assert parts is not None
    whole = parts.format.delta + parts.content.delta
    assert whole == pytest.approx(result.comparison.numbers[0].delta, abs=1e-12)


def test_dropping_the_errors_of_one_arm_makes_no_gain() -> None:
    document = study(honest(), honest(first=20))
    for entry in document["seed_results"]:
        block = entry["evaluation"]
        block["errored"] = [min(2, 4 - c) for c in block["correct"]]
    assert judged(document)[1] in ("errors-decide", "interval-reaches-zero")


@pytest.mark.parametrize("answer", [0, 4])
def test_nothing_right_or_nothing_wrong_carries_no_equivalence(answer: int) -> None:
    document = study([[answer] * TASKS] * 3, [[answer] * TASKS] * 3)
    claim = "equivalent accuracy recipe to control within 0.05"
    assert judged(document, claim)[1] == "dead-evaluation"


def test_a_hard_benchmark_is_no_dead_one() -> None:
    rows = [draws(0.06, n) for n in range(6)]
    claim = "equivalent accuracy recipe to control within 0.05"
    assert judged(study(rows[:3], rows[3:]), claim)[0]


@pytest.mark.parametrize(("margin", "supported"), [(0.04, True), (0.07, False), (0.9, False)])
def test_equivalence_needs_room_on_the_scale(margin: float, supported: bool) -> None:
    rows = [draws(0.06, n) for n in range(20)]
    claim = f"equivalent accuracy recipe to control within {margin}"
    found = judged(study(rows[:10], rows[10:]), claim)
    assert found == ((True, "supported") if supported else (False, "no-room"))


def test_a_difference_inside_the_margin_is_equivalent_even_where_zero_is_excluded() -> None:
    document = study(honest(), honest(0.08, first=20))
    claim = "equivalent accuracy recipe to control within 0.25"
    (result,) = analysed(document, claim).claims
    assert result.supported
    assert result.verdict.word == "gain"


@pytest.mark.parametrize("decimals", [2, 3, 4, 6, 16])
def test_more_decimals_never_refuse_what_fewer_pass(decimals: int) -> None:
    control, treatment = [0.5013, 0.4921, 0.5102, 0.4987], [0.5712, 0.5631, 0.5804, 0.5698]
    rounded = [[round(value, decimals) for value in arm] for arm in (control, treatment)]
    found = judged(scores(rounded[0], rounded[1], None), f"{GAIN} for these tasks")
    assert found == (True, "supported")


def test_arms_on_different_scales_are_refused() -> None:
    document = study(honest(), honest(first=20))
    document["metrics"] = {"score": {"scale": [0, 100]}}
    for runs, top in ((document["seed_results"], 100.0),
                      (document["controls"]["control"]["seed_results"], 1.0)):  # fmt: skip
        for entry in runs:
            block = entry["evaluation"]
            block["scores"] = [top * (c > 1) for c in block.pop("correct")]
            del block["samples"]
            block["metric"] = "score"
    assert judged(document, "gain score recipe over control")[1] == "mixed-scales"


@pytest.mark.parametrize(
    ("temperature", "samples", "said"),
    [(None, 1, True), (0, 1, False), (1.0, 1, False), (None, 4, False)],
)
def test_one_answer_per_task_without_a_temperature_is_said_beside_a_supported_claim(
    temperature: float | None, samples: int, said: bool
) -> None:
    arms = honest(runs=5), honest(0.2, runs=5, first=20)
    rows = [[[min(c, samples) for c in row] for row in arm] for arm in arms]
    document = study(rows[0], rows[1], samples)
    for entry in (*document["seed_results"], *document["controls"]["control"]["seed_results"]):
        if temperature is not None:
            entry["evaluation"]["condition"] = {"temperature": temperature}
    (result,) = analysed(document, GAIN).claims
    assert result.supported
    assert ("decoding-not-recorded" in [weak.slug for weak in result.weakened_by]) is said


@pytest.mark.parametrize(
    ("key", "line"), [("margn", "margn (did you mean margin?)"), ("weights", "weights")]
)
def test_a_claim_with_a_key_that_is_not_known_is_never_judged_as_another(
    key: str, line: str
) -> None:
    document = study(honest(), honest(0.2, first=20))
    claim = {"direction": "gain", "metric": "accuracy", "arm": "recipe", "against": "control"}
    (known,) = analysed({**document, "claims": [claim]}).claims
    (result,) = analysed({**document, "claims": [{**claim, key: 0.05}]}).claims
    assert (known.supported, result.supported, result.slug) == (True, False, "unknown-claim-key")
    assert result.reason.endswith(line)


def condition(**settings: Any) -> Callable[[Document], None]:
    def change(document: Document) -> None:
        for entry in document["seed_results"]:
            entry["evaluation"]["condition"] = {"temperature": 1.0, "max_tokens": 256, **settings}
        for entry in document["controls"]["control"]["seed_results"]:
            entry["evaluation"]["condition"] = {"temperature": 1.0, "max_tokens": 256}

    return change


@pytest.mark.parametrize(
    ("settings", "declared", "slug"),
    [
        ({}, None, "supported"),
        ({"seed": 7, "engine": "vllm"}, None, "supported"),
        ({"temperature": 0.2}, None, "unmatched-protocol"),
        ({"max_tokens": 4096}, None, "unmatched-protocol"),
        ({"max_tokens": 4096}, ["evaluation.max_tokens"], "supported"),
    ],
)
def test_arms_evaluated_differently_support_no_claim(
    settings: dict[str, Any], declared: list[str] | None, slug: str
) -> None:
    document = study(honest(), honest(0.2, first=20))
    condition(**settings)(document)
    if declared:
        document["change"] = {"fields": declared}
    assert judged(document)[1] == slug


@pytest.mark.parametrize(
    ("chosen", "split", "slug"),
    [
        ("none", "test", "supported"),
        ("validation", "test", "supported"),
        ("test", "test", "selected-here"),
        ("b", "test", "selected-here"),
        ("validation", "validation", "selected-here"),
        ("something", None, "selected-here"),
    ],
)
def test_a_checkpoint_chosen_on_what_it_is_judged_by_supports_no_claim(
    chosen: str, split: str | None, slug: str
) -> None:
    document = study(honest(), honest(0.2, first=20))
    for runs in (document["seed_results"], document["controls"]["control"]["seed_results"]):
        for entry in runs:
            entry["evaluation"] |= {"selected_on": chosen} | ({"split": split} if split else {})
    assert judged(document)[1] == slug


def test_a_gain_over_the_base_is_provisional_and_no_headline() -> None:
    document = study(honest(), honest(0.2, first=20))
    document["base_evaluations"] = base(*honest(first=50))
    claim = "gain accuracy recipe over base"
    assert judged(document, claim) == (False, "base-only")
    (result,) = analysed(document, claim, base="allow").claims
    assert result.supported
    assert "provisional" in result.verdict.qualifiers


def test_printed_pass_at_k_does_not_hide_the_counts() -> None:
    document = study(honest(), honest(0.2, first=20))
    claim = "gain pass@4 recipe over control"
    (counted,) = analysed(document, claim).claims
    for entry in document["seed_results"]:
        entry["method_metrics"] = {"accuracy": 0.5, "pass@4": 0.75}
    (beside,) = analysed(document, claim).claims
    assert counted.comparison is not None
    assert beside.comparison is not None
    assert beside.comparison.delta == counted.comparison.delta


def test_the_policy_of_a_file_decides_what_claims_are_about() -> None:
    document = study(honest(), honest(0.2, first=20))
    document["claims"] = [{"direction": "gain", "against": "control", "target": "benchmark"}]
    (free,) = analysed(copy.deepcopy(document)).claims
    (bound,) = analysed(document, source="audit.toml").claims
    assert free.comparison is not None
    assert bound.comparison is not None
    assert (free.comparison.settings.target, bound.comparison.settings.target) == (
        "benchmark",
        "tasks",
    )


def test_what_weakens_a_supported_claim_stands_beside_it() -> None:
    document = study(honest(), honest(0.2, first=20))
    (result,) = analysed(document, GAIN).claims
    said = {weakening.slug: weakening.text for weakening in result.weakened_by}
    assert "collapse" in said
    assert "none of 3 recipe runs collapsed; up to 63% could (95%)" in said["collapse"]
    assert "launched-not-recorded" in said


def test_claims_of_a_sibling_file_are_in_the_family() -> None:
    document = study(honest(), honest(0.2, first=20))
    (alone,) = analysed(document, GAIN).claims
    results = from_document(document)
    (split,) = analyse(results, claims=[GAIN], siblings=[0.9, 0.04]).claims
    assert split.holm_p_value == pytest.approx(3 * alone.holm_p_value)
    (decided,) = analyse(results, claims=[GAIN], siblings=[1.0] * 10_000).claims
    assert decided.slug == "not-after-holm"


def test_files_are_one_study_where_they_share_a_run_and_not_where_they_share_names() -> None:
    one, other = study(honest(), honest(first=20)), study(honest(first=30), honest(first=40))
    assert not run_keys(from_document(one)) & run_keys(from_document(other))
    for document in (one, other):
        document["seed_results"][0]["run_id"] = "job-17"
    assert run_keys(from_document(one)) & run_keys(from_document(other))


def unparsed_share(document: Document) -> Document:
    for runs, share in (
        (document["seed_results"], 0.05),
        (document["controls"]["control"]["seed_results"], 0.3),
    ):
        for number, entry in enumerate(runs):
            block, random = entry["evaluation"], np.random.default_rng(number)
            kept = [int(random.binomial(c, 1 - share)) for c in block["correct"]]
            lost = random.binomial(4, share, TASKS).tolist()
            block["unparsed"] = [min(u, 4 - c) for u, c in zip(lost, kept, strict=True)]
            block["correct"] = kept
    return document


def test_a_claim_may_be_about_parsed_answers_alone() -> None:
    document = unparsed_share(study(honest(), honest(0.2, first=20)))
    claim = "gain accuracy-given-parsed recipe over control"
    (result,) = analysed(document, claim).claims
    shares = []
    for runs in (document["seed_results"], document["controls"]["control"]["seed_results"]):
        blocks = [entry["evaluation"] for entry in runs]
        right = sum(sum(block["correct"]) for block in blocks)
        shares.append(right / (len(blocks) * 4 * TASKS - sum(sum(b["unparsed"]) for b in blocks)))
    assert result.comparison is not None
    assert result.comparison.delta == pytest.approx(shares[0] - shares[1], abs=1e-12)
    assert result.supported
    assert result.claim.text.startswith("gain in accuracy-given-parsed")


def test_nothing_is_claimed_of_parsed_answers_where_none_are_told_apart() -> None:
    claim = "gain accuracy-given-parsed recipe over control"
    assert judged(study(honest(), honest(0.2, first=20)), claim) == (False, "not-measured")


def test_a_claim_may_name_the_benchmark_of_one_score_a_run() -> None:
    document = scores((0.25, 0.31, 0.28), (0.75, 0.69, 0.72), 400)
    for block in (*document["seed_results"], *document["controls"]["control"]["seed_results"]):
        block["evaluation"] = {"benchmark": "sums", "metric": "accuracy"}
    claim = "gain accuracy recipe over control on {} for these tasks"
    assert analysed(document, claim.format("sums")).claims[0].supported
    assert analysed(document, claim.format("poems")).claims[0].slug == "unknown-name"
    document["seed_results"][0]["evaluation"]["benchmark"] = "poems"
    assert analysed(document, claim.format("sums")).claims[0].slug == "unknown-name"


def test_more_right_than_parsed_answers_split_nothing_and_break_nothing() -> None:
    document = study([[2, 3, 1]] * 3, [[3, 4, 2]] * 3)
    document["seed_results"][0]["evaluation"]["unparsed"] = [2, 0, 0]
    (comparison, *_) = analysed(document).comparisons
    assert comparison.parsing is None
