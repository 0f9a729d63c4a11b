"""What a rule is asked of: the whole file, each arm, each run, each evaluation, each log."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import chain
from typing import Any

from audit.facts.measurements import Measurement
from audit.facts.memo import once
from audit.facts.starts import PairedStart
from audit.facts.training_logs import ArmLog, RunLog, read_logs
from audit.results import Arm, Evaluation, Results, Run
from audit.rules.case import Case
from audit.rules.check import Unchecked

# What rules on response audits say where there are none.
NO_AUDITS = "no response audits in the log"


@dataclass(frozen=True, slots=True)
class Versus:
    """The top arm beside another one that it is compared with."""

    results: Results
    top: Arm
    other: Arm

    @property
    def pointer(self) -> str:
        """JSON Pointer of the other arm."""
        return self.other.pointer


@dataclass(frozen=True, slots=True)
class Scope:
    """The items of one kind in a file, or why there is none here; and their name in a sentence."""

    items: Callable[[Case], Iterable[Any]]
    noun: str


def opponents(results: Results) -> tuple[Arm, ...]:
    """Return the controls by role or name, else every arm but the top one."""
    controls = tuple(arm for arm in results.controls if arm.is_control)
    return controls or results.controls


def _versus(case: Case) -> Iterable[Versus | Unchecked]:
    others = opponents(case.results)
    if not others:
        yield Unchecked("there is no other arm")
    for other in others:
        yield Versus(case.results, case.results.arms[0], other)


@once
def _arm_logs(results: Results) -> tuple[ArmLog | Unchecked, ...]:
    return tuple(arm if arm.runs else _without_log(arm) for arm in read_logs(results))


@once
def _run_logs(results: Results) -> tuple[RunLog | Unchecked, ...]:
    logs = read_logs(results)
    return tuple(chain.from_iterable(arm.runs or (_without_log(arm),) for arm in logs))


def _without_log(arm: ArmLog) -> Unchecked:
    return Unchecked("no training log", arm.arm.pointer)


SCOPES: dict[type, Scope] = {
    Case: Scope(lambda case: (case,), "data"),
    Arm: Scope(lambda case: case.results.arms, "arm"),
    Versus: Scope(_versus, "pair of arms"),
    PairedStart: Scope(lambda case: case.starts, "pair of arms"),
    Run: Scope(lambda case: case.results.runs, "run"),
    Measurement: Scope(lambda case: case.measurements, "evaluation"),
    Evaluation: Scope(lambda case: case.evaluations, "evaluation"),
    ArmLog: Scope(lambda case: _arm_logs(case.results), "training log"),
    RunLog: Scope(lambda case: _run_logs(case.results), "training log"),
}
