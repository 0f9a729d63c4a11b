"""``audit train --until decided``: look by look under the plan, and stop where it is decided."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from audit.errors import InputError, UsageError
from audit.simulation import Cell, simulate
from audit.stats import SequentialPlan
from audit.training.study_file import read_study
from audit.training.until_decided import LookTaken, plan_of_study, seeds_for, until_decided

STUDY = """\
seeds = [3, 5]
[task]
name = "addition"
limit = 20
[arms.wide]
role = "method"
clip = "fixed"
epsilon_low = 0.2
epsilon_high = 0.28
[arms.plain]
role = "control"
clip = "fixed"
epsilon_low = 0.2
epsilon_high = 0.2
"""
CLAIM = '[[claims]]\ndirection = "gain"\narm = "wide"\nagainst = "plain"\n'


def plan_of(tmp_path: Path, text: str) -> SequentialPlan:
    path = tmp_path / "study.toml"
    path.write_text(text, encoding="utf-8")
    return plan_of_study(read_study(path), str(path))


@pytest.mark.parametrize(
    ("plan", "planned"),
    [
        ("maximum = { wide = 6, plain = 6 }", (4, 5, 6)),
        ("maximum = { method = 5, control = 5 }\nfirst = 3", (3, 4, 5)),
        ("maximum = { wide = 8, plain = 8 }\nlooks = [4, 8]", (4, 8)),
        ("maximum = { wide = 8.0, plain = 8 }\nlooks = [4.0, 8]", (4, 8)),
    ],
)
def test_the_plan_of_the_study_file_is_carried_out(
    tmp_path: Path, plan: str, planned: tuple[int, ...]
) -> None:
    assert plan_of(tmp_path, f"{STUDY}{CLAIM}[plan]\n{plan}\n").planned == planned


@pytest.mark.parametrize(
    ("more", "complaint"),
    [
        (CLAIM, "needs a claim and a plan"),
        ("[plan]\nmaximum = { wide = 6, plain = 6 }\n", "needs a claim and a plan"),
        (CLAIM + "[plan]\nmaximum = { wide = 6, plain = 8 }\n", "one maximum for all arms"),
        (CLAIM + "[plan]\nmaximum = { wide = 6 }\n", "one maximum for all arms"),
        (CLAIM + "[plan]\nmaximum = { wide = 6, plain = 6 }\nlooks = [4, 5]\n", "plan: "),
    ],
)
def test_what_cannot_be_carried_out_is_refused_before_anything_is_trained(
    tmp_path: Path, more: str, complaint: str
) -> None:
    with pytest.raises(UsageError, match=complaint):
        plan_of(tmp_path, STUDY + more)


@pytest.mark.parametrize(
    ("plan", "complaint"),
    [
        ("maximum = 3", r"plan\.maximum: expected a table, found 3"),
        ('maximum = { wide = "x", plain = "x" }', r"plan\.maximum\.plain: expected a whole"),
        ("maximum = { wide = [1], plain = [1] }", r"plan\.maximum\.plain: expected a whole"),
        ("maximum = { wide = 4.5, plain = 4.5 }", r"plan\.maximum\.plain: expected a whole"),
        ("maximum = { wide = 6, plain = 6 }\nlooks = 3", r"plan\.looks: expected a list, found 3"),
        (
            'maximum = { wide = 6, plain = 6 }\nlooks = ["a"]',
            r"plan\.looks\[0\]: expected a whole number",
        ),
        (
            'maximum = { wide = 6, plain = 6 }\nfirst = "x"',
            r"plan\.first: expected a whole number",
        ),
        ('maximum = { wide = 6, plain = 6 }\nlevel = "x"', r"plan\.level: expected a number"),
    ],
)
def test_a_plan_of_other_types_is_named_with_line_and_key(
    tmp_path: Path, plan: str, complaint: str
) -> None:
    with pytest.raises(InputError, match=rf"study\.toml:\d+: {complaint}"):
        plan_of(tmp_path, f"{STUDY}{CLAIM}[plan]\n{plan}\n")


def test_seeds_are_those_of_the_study_and_then_new_ones(tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    path.write_text(STUDY, encoding="utf-8")
    study = read_study(path)
    assert seeds_for(study, 4) == (3, 5, 6, 7)
    assert seeds_for(study, 1) == (3,)
    for seeds, wanted in (
        ((4294967295,), (4294967295, 0, 1)),
        ((1, 4294967294), (1, 4294967294, 4294967295, 0, 2)),
    ):
        assert seeds_for(replace(study, seeds=seeds), len(wanted)) == wanted


class Training:
    """Stands for the training: it hands out the runs of one simulated study."""

    def __init__(self, delta: float, *, failing: int | None = None) -> None:
        cell = Cell("arms", 120, (12, 12), (0.03, 0.03), 0.4, delta)
        self.document: dict[str, Any] = simulate(cell, cell.generator()).document()
        self.failing = failing
        self.asked: list[tuple[int, ...]] = []

    def __call__(self, seeds: tuple[int, ...]) -> Mapping[str, Any]:
        self.asked.append(seeds)
        (control,) = self.document["controls"].values()
        arms = []
        for runs in (self.document["seed_results"], control["seed_results"]):
            kept = [{**run, "seed": s} for run, s in zip(runs, seeds, strict=False)]
            if self.failing in seeds:
                kept[seeds.index(self.failing)] = {
                    "seed": self.failing,
                    "status": "failed",
                    "failure": "out of memory",
                }
            arms.append(kept)
        return {
            **self.document,
            "seed_results": arms[0],
            "controls": {"control": {**control, "seed_results": arms[1]}},
            "plan": {"maximum": {"method": 12, "control": 12}, "target_effect": 0.05},
            "claims": [
                {"direction": "gain", "arm": "recipe", "against": "control", "metric": "accuracy"}
            ],
        }


def looks(training: Training) -> list[LookTaken]:
    return list(until_decided(SequentialPlan(12), tuple(range(1, 13)), training))


def test_a_clear_gain_stops_at_the_first_look() -> None:
    training = Training(0.3)
    (only,) = looks(training)
    assert (only.seeds, only.word) == (4, "supported")
    assert training.asked == [(1, 2, 3, 4)]


def test_one_seed_per_arm_is_trained_between_looks_until_the_claim_is_decided() -> None:
    training = Training(0.05)
    taken = looks(training)
    assert [look.seeds for look in taken] == list(range(4, 4 + len(taken)))
    assert [look.word for look in taken[:-1]] == ["train-on"] * (len(taken) - 1)
    assert taken[-1].word in ("supported", "futile", "at-maximum")
    assert len(taken) > 1
    assert training.asked[1] == (1, 2, 3, 4, 5)
    result = taken[-1].advice[0].result
    assert result.look is not None
    assert result.look.threshold == SequentialPlan(12).threshold(
        taken[-1].seeds, final=taken[-1].seeds == 12
    )


def test_a_recipe_that_loses_is_given_up_early() -> None:
    taken = looks(Training(-0.2))
    assert taken[-1].word == "futile"
    assert taken[-1].seeds < 12


def test_a_run_that_failed_stops_the_loop_without_advice() -> None:
    taken = looks(Training(0.05, failing=2))
    assert [look.word for look in taken] == [None]
    assert taken[0].advice[0].result.slug in ("failed-runs", "seeds-not-listed")
