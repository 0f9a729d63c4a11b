"""PROTO: the settings of the arms, and what differs between them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from audit.facts.conditions import changed_fields
from audit.facts.measurements import base_evaluations
from audit.facts.starts import INITIAL_PARAMETERS, starts
from audit.finding import ERROR, INFO, WARNING
from audit.pointer import join
from audit.results import Arm, Evaluation, Results, Run
from audit.rules.agreement import block_agreement, leaves, same_key, shown
from audit.rules.case import Case
from audit.rules.check import CheckResult, Failed, Passed, Unchecked
from audit.rules.rule import rule
from audit.rules.scopes import Versus, opponents

# Protocol settings that say what a run was trained on and started from.
DATA_FIELD = "training_data_sha256"
BASE_FIELD = "base_parameters_sha256"
START_FIELDS = (BASE_FIELD, "lora_rank", "lora_alpha", "lora_targets", "lora_dropout")


@rule("PROTO001", "protocol-varies", ERROR, each=Arm, missing="no arm has two runs with a protocol")
def protocol_varies(arm: Arm) -> Iterator[CheckResult]:
    """The runs of one arm were made with different settings.

    Why
        The runs of an arm count as repetitions; a run with another setting is another recipe.
    Fix
        Give each setting its own arm.
    Bad
        "learning_rate": 1e-05 in two runs of an arm, 2e-05 in the third
    Good
        one protocol in all runs of an arm
    """
    blocks = [(join(run.pointer, "protocol"), run.protocol) for run in arm.runs if run.protocol]
    return block_agreement(blocks, f"in the runs of {arm.name}, protocol")


def _with_protocol(arm: Arm) -> Run | None:
    return next((run for run in arm.runs if run.protocol), None)


def _differing(top: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    names = dict.fromkeys([*top, *other])
    return [n for n in names if same_key(top.get(n)) != same_key(other.get(n))]


def _undeclared(top: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    return [n for n in _differing(top, other) if other.get(n) is None and top.get(n) is not None]


def declared_fields(results: Results) -> list[str] | None:
    """Return the protocol fields the file says differ on purpose; None where it does not say."""
    stated = results.block("change").get("fields") is not None
    return list(changed_fields(results)) if stated else None


def starts_apart(results: Results) -> bool:
    """Whether the arms start from other parameters, or train others, on purpose."""
    return any(field in START_FIELDS for field in declared_fields(results) or ())


@rule(
    "PROTO002", "undeclared-change", INFO, each=Case, missing="the arms' protocols are not recorded"
)
def undeclared_change(case: Case) -> Iterator[CheckResult]:
    """The change under test is not declared, so it is inferred from the protocols.

    Why
        Without a declaration, settings that are null in the control and set in the arm are taken
        as the change, and everything else that differs as a confounder.
    Fix
        Add "change": {"summary": …, "fields": […], "mechanism": …}.
    Bad
        no change block, protocol.delta null in the control and 0.04 in the arm
    Good
        "change": {"fields": ["geometry", "topology", "delta"], "mechanism": "clip"}
    """
    if declared_fields(case.results) is not None:
        yield Passed()
        return
    top = _with_protocol(case.results.arms[0])
    for arm in opponents(case.results):
        other = _with_protocol(arm)
        if top is None or other is None:
            continue
        fields = _undeclared(top.protocol, other.protocol)
        if fields:
            message = f"taken as the change against {arm.name}: {', '.join(fields)}"
            yield Failed(join(top.pointer, "protocol"), message, "a declared change")
        else:
            yield Passed()


@rule(
    "PROTO003",
    "unmatched-protocol",
    WARNING,
    each=Versus,
    missing="nothing that both arms record can be compared",
)
def unmatched_protocol(arms: Versus) -> Iterator[CheckResult]:
    """The arms differ in more than the change under test.

    Why
        A difference in steps, decoding, learning rate, seeds or starting weights can be the whole
        effect.
    Fix
        Train and evaluate both arms alike except for the change, or declare all changes in
        change.fields.
    Bad
        "learning_rate": 1e-05 in the arm, 2e-05 in the control
    Good
        protocols that are equal but for the declared fields
    """
    top, other = arms.top, arms.other
    yield from _settings(arms.results, top, other)
    yield from _decoding(top, other)
    yield from _environments(top, other)
    if not starts_apart(arms.results):
        yield from _starts(arms)
    yield from _seed_sets(top, other)


def _settings(results: Results, top: Arm, arm: Arm) -> Iterator[CheckResult]:
    ours, theirs = _with_protocol(top), _with_protocol(arm)
    if ours is None or theirs is None:
        return
    allowed = declared_fields(results)
    if allowed is None:
        allowed = _undeclared(ours.protocol, theirs.protocol)
    names = [
        name for name in dict.fromkeys([*ours.protocol, *theirs.protocol]) if name not in allowed
    ]
    differing = set(_differing(ours.protocol, theirs.protocol))
    yield Passed(len(names) - len(differing.intersection(names)))
    place = join(theirs.pointer, "protocol")
    for name in names:
        if name in differing:
            pointer = join(place, name) if name in theirs.protocol else place
            yield _found(pointer, name, top, ours.protocol.get(name), theirs.protocol.get(name))


def _found(pointer: str, what: str, top: Arm, expected: Any, actual: Any) -> Failed:
    return Failed(
        pointer, f"{what} differs from that of {top.name}", shown(expected), shown(actual)
    )


def _environments(top: Arm, arm: Arm) -> Iterator[CheckResult]:
    """Compare the environment and the log of the first run of each arm."""
    for key in ("environment", "telemetry"):
        ours, theirs = (next((r for r in a.runs if key in r.document), None) for a in (top, arm))
        if ours is None or theirs is None:
            continue
        expected, actual = dict(leaves(ours.document[key])), dict(leaves(theirs.document[key]))
        for path in [path for path in expected if path in actual]:
            if same_key(expected[path]) == same_key(actual[path]):
                yield Passed()
            else:
                what = f"{key} {'.'.join(map(str, path))}"
                place = join(theirs.pointer, key, *path)
                yield _found(place, what, top, expected[path], actual[path])


def _decoding(top: Arm, arm: Arm) -> Iterator[CheckResult]:
    """Compare the decoding of the first evaluation of each benchmark; its seed may differ."""
    ours, theirs = _conditions(top), _conditions(arm)
    for benchmark in [name for name in ours if name in theirs]:
        expected, actual = ours[benchmark].condition, theirs[benchmark].condition
        for name in dict.fromkeys([*expected, *actual]):
            if name == "seed":
                continue
            if same_key(expected.get(name)) == same_key(actual.get(name)):
                yield Passed()
            else:
                place = join(theirs[benchmark].pointer, "condition")
                pointer = join(place, name) if name in actual else place
                yield _found(pointer, name, top, expected.get(name), actual.get(name))


def _conditions(arm: Arm) -> dict[tuple[str | None, str], Evaluation]:
    found: dict[tuple[str | None, str], Evaluation] = {}
    for run in arm.finished:
        for evaluation in run.evaluations:
            if evaluation.condition:
                found.setdefault((evaluation.benchmark, evaluation.metric), evaluation)
    return found


def _starts(arms: Versus) -> Iterator[CheckResult]:
    for start in starts(arms.results):
        if start.other.arm != arms.other.name or start.hashes is None:
            continue
        expected, actual = start.hashes
        if expected == actual:
            yield Passed()
        else:
            what = f"the starting parameters at seed {start.other.seed}"
            pointer = join(start.other.pointer, INITIAL_PARAMETERS)
            yield _found(pointer, what, arms.top, expected, actual)


def _seed_sets(top: Arm, arm: Arm) -> Iterator[CheckResult]:
    ours, theirs = ({run.seed for run in side.runs} - {None} for side in (top, arm))
    if not ours or not theirs:
        return
    if ours == theirs:
        yield Passed()
    else:
        pointer = join(arm.pointer, "seed_results")
        yield _found(pointer, "the set of seeds", top, sorted(ours), sorted(theirs))


@rule(
    "PROTO005",
    "settings-vary",
    WARNING,
    each=Case,
    missing="no arm has two runs that record their environment or decoding",
)
def settings_vary(case: Case) -> Iterator[CheckResult]:
    """Runs of one arm differ in software, device, logging or decoding.

    Why
        Such differences add to the spread between seeds, or are mistaken for it.
    Fix
        Make all runs of an arm in one environment and evaluate them alike; the sampling seed of an
        evaluation may differ.
    Bad
        "packages": {"torch": "2.12.0"} in one run of an arm, "2.13.0" in the others
    Good
        one environment, one telemetry block and one condition in all runs
    """
    for arm in case.results.arms:
        yield from _varying(arm)
    base = [(e.pointer, e) for e in base_evaluations(case.results)]
    top = [(e.pointer, e) for run in case.results.arms[0].runs for e in run.evaluations]
    if base:
        yield from _conditions_vary([*top, *base], "the base and the top arm")


def _varying(arm: Arm) -> Iterator[CheckResult]:
    for key in ("environment", "telemetry"):
        blocks = [(join(r.pointer, key), r.document[key]) for r in arm.runs if key in r.document]
        yield from block_agreement(blocks, f"in {arm.name}, {key}")
    evaluations = [(e.pointer, e) for run in arm.runs for e in run.evaluations]
    yield from _conditions_vary(evaluations, arm.name)


def _conditions_vary(
    evaluations: list[tuple[str, Evaluation]], where: str
) -> Iterator[CheckResult]:
    groups: dict[tuple[str | None, str], list[tuple[str, Mapping[str, Any]]]] = {}
    for pointer, evaluation in evaluations:
        condition = {k: v for k, v in evaluation.condition.items() if k != "seed"}
        key = (evaluation.benchmark, evaluation.metric)
        groups.setdefault(key, []).append((join(pointer, "condition"), condition))
    for (benchmark, _), blocks in groups.items():
        yield from block_agreement(blocks, f"in {where}, condition on {benchmark or 'the tasks'},")


@rule("PROTO004", "change-without-effect", WARNING, each=Case)
def change_without_effect(case: Case) -> Iterator[CheckResult]:
    """A field that is declared as changed is the same in both arms.

    Why
        Either the change was not applied or the declaration is out of date; the study does not test
        what it claims to test.
    Fix
        Compare the protocols; correct change.fields or run the study again.
    Bad
        "change": {"fields": ["delta"]} with "delta": 0.04 in both arms
    Good
        "change": {"fields": ["delta"]} with "delta": 0.04 in the arm and null in the control
    """
    fields = declared_fields(case.results)
    top = _with_protocol(case.results.arms[0])
    others = [_with_protocol(arm) for arm in opponents(case.results)]
    protocols = [run.protocol for run in others if run is not None]
    if fields is None or top is None or not protocols:
        yield Unchecked("no declared fields and protocols of two arms")
        return
    for index, field in enumerate(fields):
        if field not in top.protocol and not any(field in other for other in protocols):
            yield Unchecked(f"no protocol records {field}", f"/change/fields/{index}")
        elif any(field in _differing(top.protocol, other) for other in protocols):
            yield Passed()
        else:
            message = f"{field} is declared as changed and is the same in both arms"
            yield Failed(f"/change/fields/{index}", message)
