"""MECH: whether the thing under study could act, and did."""

from __future__ import annotations

from collections.abc import Iterator

from audit.finding import Severity
from audit.pointer import join
from audit.rules.activity import Activity, activity_of
from audit.rules.rule import Case, Found, Held, Outcome, Rule, Skipped
from audit.rules.sampling import flat_groups
from audit.rules.telemetry import ArmLog, RunLog


def mechanism_never_acted(case: Case) -> Iterator[Outcome]:
    """The clip of the top arm fired in no logged update.

    Information only where the declared change acts through something else, or where there is one
    update a batch and no clip is declared: the ratio is then 1 and nothing can be clipped.

    Why
        A run whose mechanism never acts cannot test it: without it the run would have been the
        same.
    Fix
        More updates per batch, a higher learning rate or a tighter region; or declare the change
        (change.mechanism) where it is not the clip.
    Bad
        "clip_fraction": 0.0 in every response audit of the arm
    Good
        "clip_fraction": 0.0117 in some audits after the first update
    """
    logs = case.logs
    top = activity_of(logs[0]) if logs else Activity("updates", 0, 0, 0, None)
    if not top.total:
        yield Skipped("the top arm logs no clip fractions")
        return
    if top.fired:
        yield Held()
        return
    declared = case.results.block("change").get("mechanism")
    benign = declared != "clip" if not top.later else declared not in (None, "clip")
    yield Found(
        top.first_later or join(logs[0].runs[0].run.pointer, "training"),
        _in_words(top, logs),
        "a clip fraction above 0 somewhere",
        "0 everywhere",
        Severity.INFO if benign else None,
    )


def _in_words(top: Activity, logs: tuple[ArmLog, ...]) -> str:
    if not top.later:
        return (
            f"the method's clip fired in 0 of {top.total} {top.unit}, and none could have shown "
            "it: there is one update a batch"
        )
    text = (
        f"the method's clip fired in 0 of the {top.later} {top.unit} that could have shown it "
        f"(0 of {top.total} in all)"
    )
    others = [(log.arm.name, activity_of(log)) for log in logs[1:]]
    told = [f"that of {name} in {a.fired} of {a.later}" for name, a in others if a.later]
    return "; ".join([text, *told])


def zero_variance_groups(case: Case) -> Iterator[Outcome]:
    """Half or more of an arm's groups had equal rewards, and so no advantage.

    Why
        Such groups teach nothing: the study had less power than its batch says. A flat result
        is then no evidence of no effect.
    Fix
        Draw tasks the model sometimes solves and sometimes not, or more responses a group.
    Bad
        11 of 20 groups without advantage
    Good
        2 of 20 groups without advantage
    """
    shares = {arm.arm.name: _zero_share(arm) for arm in case.logs}
    told = [f"{name} {s[0]} of {s[1]}" for name, s in shares.items() if s]
    for arm in case.logs:
        share = shares[arm.arm.name]
        if share is None:
            yield Skipped("neither rewards nor sampling count such groups", arm.arm.pointer)
        elif 2 * share[0] < share[1]:
            yield Held()
        else:
            yield Found(
                join(arm.runs[0].run.pointer, "sampling"),
                f"groups without advantage: {', '.join(told)}",
                "fewer than half",
                f"{share[0] / share[1]:.0%} in {arm.arm.name}",
            )


def _zero_share(arm: ArmLog) -> tuple[int, int] | None:
    """Groups without advantage and all groups, over the runs that tell."""
    counts = [count for count in map(_zero_of_run, arm.runs) if count is not None]
    total = sum(drawn for _, drawn in counts)
    return (sum(zero for zero, _ in counts), total) if total > 0 else None


def _zero_of_run(log: RunLog) -> tuple[int, int] | None:
    sampling = log.run.sampling
    recorded = sampling.get("zero_advantage_groups", sampling.get("zero_advantage_groups_retained"))
    # A log that leaves out steps does not hold all the groups that were counted.
    trained = len(log.steps) * log.groups if log.full else 0
    outside = log.rejects or not log.full
    drawn = (sampling.get("tasks_attempted") if outside else None) or trained
    if recorded is not None and drawn and recorded <= drawn:
        return int(recorded), int(drawn)
    flat = [
        step.get("zero_advantage_groups", flat_groups(step.get("rewards"), log.group_size))
        for step in log.steps
    ]
    known = [count for count in flat if count is not None]
    return (sum(known), len(known) * log.groups) if known and not log.rejects else None


def clip_unreachable(case: Case) -> Iterator[Outcome]:
    """The log says that no clip could act, for every update is on-policy.

    Why
        With the ratio at 1 all clips are the same, and so are the arms.
    Fix
        Make more updates a batch than one gradient accumulation window holds.
    Bad
        "telemetry": {"clip_reachable": false} in a study of a clip
    Good
        "telemetry": {"clip_reachable": true}
    """
    declared = case.results.block("change").get("mechanism")
    seen = False
    for arm in case.logs:
        for log in arm.runs:
            reachable = log.run.telemetry.get("clip_reachable")
            seen = seen or reachable is not None
            pointer = join(log.run.pointer, "telemetry", "clip_reachable")
            moved = _moved(arm, log) if reachable is False else False
            if reachable is False and moved:
                message = "a ratio left 1 in this run, so a clip could act"
                yield Found(pointer, message, "true", "false", Severity.ERROR)
            elif reachable is False:
                severity = Severity.INFO if declared not in (None, "clip") else None
                yield Found(pointer, "no clip can act in this run", "true", "false", severity)
            elif reachable:
                yield Held()
    if not seen:
        yield Skipped("telemetry.clip_reachable is not recorded")


def _moved(arm: ArmLog, log: RunLog) -> bool:
    if (log.run.document.get("clip_activity") or {}).get("clipped_tokens"):
        return True
    ratios = arm.column("max_abs_log_ratio")
    return any(
        any(ratios[update.first : update.end]) for update in arm.updates if update.log is log
    )


RULES = (
    Rule("MECH001", "mechanism-never-acted", Severity.WARNING, mechanism_never_acted),
    Rule("MECH002", "zero-variance-groups", Severity.WARNING, zero_variance_groups),
    Rule("MECH003", "clip-unreachable", Severity.WARNING, clip_unreachable),
)
