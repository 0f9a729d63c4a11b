from __future__ import annotations

from cases import full, gppo, outcomes, patched, places, reasons

from audit.rules import Failed

RUN = "/seed_results/1/baseline"
OTHER = "/controls/grpo-control/seed_results/1/baseline"


def test_three_identical_evaluations_are_no_noise_floor() -> None:
    (found,) = [o for o in outcomes(gppo(), "BASE001") if isinstance(o, Failed)]
    assert found.pointer == "/seed_results/0/baseline"
    assert "3 identical evaluations" in found.message
    assert "2619 tokens each" in found.message


def test_evaluations_that_vary_are_a_floor() -> None:
    assert places(full(), "BASE001") == set()
    assert places(patched(gppo(), {RUN + "/generated_tokens": 2618}), "BASE001") == set()


def test_repetitions_that_differ_only_in_label_and_sampling_seed_are_identical() -> None:
    first = full()["base_evaluations"][0]
    again = patched(first, {"/run": 2, "/evaluation/condition/seed": 99})
    document = patched(full(), {"/base_evaluations": [first, again]})
    found = places(document, "BASE001")
    again["evaluation"]["correct"][0] += 1
    document = patched(full(), {"/base_evaluations": [first, again]})
    assert (found, places(document, "BASE001")) == ({"/base_evaluations/0"}, set())


def test_the_odd_one_of_identical_evaluations_is_named() -> None:
    for leaf, value in (
        ("accuracy", 0.625),
        ("generated_tokens", 2620),
        ("truncated_responses", 2),
    ):
        document = patched(gppo(), {f"{OTHER}/{leaf}": value})
        assert places(document, "BASE002") == {f"{OTHER}/{leaf}"}
    assert places(gppo(), "BASE002") == set()


def test_evaluations_that_agree_at_each_seed_name_both_sides_of_the_seed_that_does_not() -> None:
    assert places(full(), "BASE002") == set()
    other = "/controls/fixed-clip/seed_results/1/baseline/generated_tokens"
    document = patched(full(), {other: 1000})
    assert places(document, "BASE002") == {other, RUN + "/generated_tokens"}


def test_evaluations_that_vary_throughout_are_not_compared() -> None:
    document = gppo()
    for index, arm in enumerate((document, document["controls"]["grpo-control"])):
        for run in arm["seed_results"]:
            run["baseline"]["generated_tokens"] += run["seed"] + 10 * index
    assert places(document, "BASE002") == set()
    assert reasons(document, "BASE002") == {"the evaluations of the base vary from run to run"}


def test_what_is_not_recorded_is_not_checked() -> None:
    run = {"seed": 1, "method_metrics": {"accuracy": 0.5}}
    document = {"schema_version": 2, "method": "m", "seed_results": [run]}
    assert reasons(document, "BASE001") == {"the base was not evaluated twice"}
    assert len(reasons(document, "BASE002")) == 1
