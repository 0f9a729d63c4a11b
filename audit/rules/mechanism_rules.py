"""MECH: whether the thing under study could act, and did."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from audit.facts.clip_activity import ClipActivity, activity_of, counted_in_log
from audit.facts.groups import groups_of_arm
from audit.facts.training_health import (
    steps_cut_off,
    steps_without_gradient,
    steps_without_spread,
)
from audit.facts.training_logs import ArmLog, RunLog
from audit.finding import ERROR, INFO, WARNING
from audit.pointer import join
from audit.rules.case import Case
from audit.rules.check import CheckResult, Failed, Passed, Unchecked
from audit.rules.rule import rule

# Each count is part of the next.
_NESTED = (
    ("updates_that_clipped", "updates_after_the_first"),
    ("updates_after_the_first", "updates"),
    ("gated_clipped_tokens", "clipped_tokens"),
    ("clipped_tokens", "tokens"),
)


@rule(
    "MECH001",
    "mechanism-never-acted",
    WARNING,
    each=Case,
    missing="the top arm logs no clip fractions",
)
def mechanism_never_acted(case: Case) -> Iterator[CheckResult]:
    """The clip of the top arm fired in no logged update.

    Information only where the declared change acts through something else, or where there is one
    update per batch and no clip is declared: the ratio is then 1 and nothing can be clipped.

    Why
        A mechanism that never acts is not tested: without it the run would have been the same.
    Fix
        More updates per batch, a higher learning rate or a tighter region; or declare the change
        (change.mechanism) where it is not the clip.
    Bad
        "clip_fraction": 0.0 in every response audit of the arm
    Good
        "clip_fraction": 0.0117 in some audits after the first update
    """
    top = activity_of(case.logs[0]) if case.logs else None
    if top is None or not top.total:
        return
    if top.fired:
        yield Passed()
        return
    declared = case.results.block("change").get("mechanism")
    benign = declared != "clip" if not top.could else declared not in (None, "clip")
    yield Failed(
        top.first or join(case.logs[0].runs[0].run.pointer, "training"),
        _in_words(top, case.logs),
        "a clip fraction above 0 somewhere",
        "0 everywhere",
        INFO if benign else None,
    )


def _in_words(top: ClipActivity, logs: tuple[ArmLog, ...]) -> str:
    if not top.could:
        return (
            f"the method's clip fired in 0 of {top.total} {top.unit}, and none could have shown "
            "it: there is one update per batch"
        )
    text = (
        f"the method's clip fired in 0 of the {top.could} {top.unit} that could have shown it "
        f"(0 of {top.total} in all)"
    )
    others = [activity_of(log) for log in logs[1:]]
    told = [f"that of {a.arm} in {a.fired} of {a.could}" for a in others if a.could]
    return "; ".join([text, *told])


@rule("MECH002", "zero-variance-groups", WARNING, each=Case)
def zero_variance_groups(case: Case) -> Iterator[CheckResult]:
    """Half or more of an arm's groups had equal rewards, and so no advantage.

    Why
        Such groups teach nothing, so the study had less power than its batch size suggests, and a
        flat result is not evidence of no effect.
    Fix
        Draw tasks the model sometimes solves and sometimes not, or more responses per group.
    Bad
        11 of 20 groups without advantage
    Good
        2 of 20 groups without advantage
    """
    counts = [(arm, groups_of_arm(arm)) for arm in case.logs]
    told = [f"{arm.arm.name} {c.without} of {c.drawn}" for arm, c in counts if c is not None]
    for arm, count in counts:
        if count is None:
            reason = "neither rewards nor sampling count groups without advantage"
            yield Unchecked(reason, arm.arm.pointer)
        elif 2 * count.without < count.drawn:
            yield Passed()
        else:
            yield Failed(
                count.pointer,
                f"groups without advantage: {', '.join(told)}",
                "fewer than half",
                f"{count.share:.0%} in {arm.arm.name}",
            )


@rule(
    "MECH003",
    "clip-unreachable",
    WARNING,
    each=Case,
    missing="telemetry.clip_reachable is not recorded",
)
def clip_unreachable(case: Case) -> Iterator[CheckResult]:
    """The log says that no clip could act because every update is on-policy.

    Why
        With the ratio at 1 all clips are the same, and so are the arms.
    Fix
        Make more updates per batch than one gradient accumulation window holds.
    Bad
        "telemetry": {"clip_reachable": false} in a study of a clip
    Good
        "telemetry": {"clip_reachable": true}
    """
    declared = case.results.block("change").get("mechanism")
    for arm in case.logs:
        for log in arm.runs:
            reachable = log.run.telemetry.get("clip_reachable")
            pointer = join(log.run.pointer, "telemetry", "clip_reachable")
            if reachable:
                yield Passed()
            elif reachable is False and _moved(arm, log):
                message = "a ratio left 1 in this run, so a clip could act"
                yield Failed(pointer, message, "true", "false", ERROR)
            elif reachable is False:
                severity = INFO if declared not in (None, "clip") else None
                yield Failed(pointer, "no clip can act in this run", "true", "false", severity)


def _moved(arm: ArmLog, log: RunLog) -> bool:
    if (log.run.document.get("clip_activity") or {}).get("clipped_tokens"):
        return True
    ratios = arm.column("max_abs_log_ratio")
    return any(
        any(ratios[update.first : update.end]) for update in arm.updates if update.log is log
    )


@rule(
    "MECH004",
    "clip-activity-counts",
    ERROR,
    each=RunLog,
    needs=("clip_activity",),
    missing="no clip_activity",
)
def clip_activity_counts(log: RunLog) -> Iterator[CheckResult]:
    """A run's counts of what its clip did contradict each other or its training log.

    Why
        Where the log leaves out steps or responses, these counts decide whether the mechanism
        acted.
    Fix
        Count over all updates during training.
    Bad
        "clip_activity": {"updates": 4, "updates_after_the_first": 2, "updates_that_clipped": 3}
    Good
        "clip_activity": {"updates": 4, "updates_after_the_first": 2, "updates_that_clipped": 1}
    """
    counts = log.document["clip_activity"]
    pointer = join(log.run.pointer, "clip_activity")
    for part, whole in _NESTED:
        if part in counts and whole in counts:
            if counts[part] <= counts[whole]:
                yield Passed()
            else:
                message = f"more {part} than {whole}"
                place = join(pointer, part)
                yield Failed(place, message, f"{counts[whole]} at most", str(counts[part]))
    whole_log = log.full or log.run.telemetry.get("every") == 1
    for name, least in counted_in_log(log).items():
        if name not in counts:
            continue
        if counts[name] == least or (counts[name] > least and not whole_log):
            yield Passed()
        else:
            message = "not what the training log holds"
            expected = str(least) if whole_log else f"{least} at least"
            yield Failed(join(pointer, name), message, expected, str(counts[name]))


def _of_arm(
    arm: ArmLog, steps_if_dead: Callable[[RunLog], int | None], what: str
) -> Iterator[CheckResult]:
    """Name the first run of an arm in which every logged step is wrong; the others pass."""
    counts = [(log, steps_if_dead(log)) for log in arm.runs]
    told = [(log, steps) for log, steps in counts if steps is not None]
    dead = [(log, steps) for log, steps in told if steps]
    yield Passed(len(told) - len(dead))
    if dead:
        log, steps = dead[0]
        many = f"; so in {len(dead)} of {len(told)} runs of {arm.arm.name}" if told[1:] else ""
        message = f"{what} in all {steps} logged steps{many}"
        yield Failed(join(log.run.pointer, "training"), message)


@rule("MECH005", "no-gradient", WARNING, each=ArmLog, missing="no training log has gradient norms")
def no_gradient(arm: ArmLog) -> Iterator[CheckResult]:
    """The gradient norm is 0 in every logged step of a run.

    Why
        The run did not learn: its score is that of the starting model.
    Fix
        Look at the rewards of a step: equal rewards, or answers that are all cut off, give no
        gradient. Train the run again, or report that it did not train.
    Bad
        "grad_norm": 0.0 in all 200 logged steps
    Good
        "grad_norm": 0.28 in some of them
    """
    return _of_arm(arm, steps_without_gradient, "a gradient norm of 0")


@rule(
    "MECH006",
    "rewards-without-spread",
    WARNING,
    each=ArmLog,
    missing="no training log says how far rewards spread",
)
def rewards_without_spread(arm: ArmLog) -> Iterator[CheckResult]:
    """Rewards did not vary within any group in any logged step of a run.

    Logs with every response's reward are counted group by group in MECH002.

    Why
        Equal rewards in a group give no advantage, and without an advantage nothing is learned.
    Fix
        Check that the reward sees the answer, and draw tasks the model sometimes solves.
    Bad
        "reward_std": 0.0 in all 200 logged steps
    Good
        "reward_std": 0.31 in some of them
    """
    return _of_arm(arm, steps_without_spread, "rewards without spread")


@rule(
    "MECH007",
    "training-cut-off",
    WARNING,
    each=ArmLog,
    missing="no training log says which responses were cut off",
)
def training_cut_off(arm: ArmLog) -> Iterator[CheckResult]:
    """All responses were cut off in every logged step of a run.

    Why
        A response that is cut off has no final answer, so the rewards of this run do not measure
        answers.
    Fix
        Raise the token limit of the training until few responses reach it.
    Bad
        "completions/clipped_ratio": 1.0 in all 200 logged steps
    Good
        "completions/clipped_ratio": 0.04
    """
    if not (arm.known("truncated") or arm.has_metrics):
        return iter(())
    return _of_arm(arm, steps_cut_off, "all responses cut off")
