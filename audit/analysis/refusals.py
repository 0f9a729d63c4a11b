"""What keeps a comparison from getting a verdict."""

from __future__ import annotations

from collections.abc import Iterator

from audit.analysis.independence import copied_runs, distinct_runs, repeated_seed
from audit.analysis.measures import Side
from audit.analysis.tables import Aligned
from audit.analysis.verdict import (
    FEWEST_TASKS,
    LARGEST_CLUSTER_IMBALANCE,
    LARGEST_MISSING_SHARE,
    Refusal,
)
from audit.claims import BASE
from audit.policy import Policy

FEWEST_AGAINST_BASE = 3


def refusal_by_runs(control: Side, treatment: Side, policy: Policy) -> Refusal | None:
    """Return the first reason the runs themselves give, or None.

    Parameters
    ----------
    control, treatment : Side
        ``control`` may be the base, which is exempt from the seed count.
    policy : Policy
    """
    return next(_by_runs(control, treatment, policy), None)


def _by_runs(control: Side, treatment: Side, policy: Policy) -> Iterator[Refusal]:
    arms = [side for side in (treatment, control) if side.name != BASE]
    for side in arms:
        if not side.runs and side.unmeasured:
            yield Refusal("not-measured", f"no run of {side.name} has this metric")
    for side in arms:
        distinct = distinct_runs(side.runs)
        if distinct < 2:
            runs = "no finished training run" if distinct == 0 else "one training run"
            yield Refusal("one-seed", f"{side.name} has {runs}")
    for side in arms:
        yield from _of_arm(side, policy)
    if control.name == BASE:
        yield from _against_base(control, treatment)


def _of_arm(side: Side, policy: Policy) -> Iterator[Refusal]:
    if side.unlisted:
        seeds = ", ".join(map(str, side.unlisted))
        yield Refusal("seeds-not-listed", f"{side.name} launched seeds that are absent: {seeds}")
    if side.lost and policy.failed_runs == "refuse":
        runs = ", ".join(f"{run.label} ({run.status})" for run in side.lost)
        yield Refusal("failed-runs", f"{side.name} has runs that did not finish: {runs}")
    twice = repeated_seed(side.runs)
    if twice is not None:
        yield Refusal("duplicate-seed", f"seed {twice} stands twice in {side.name}")
    copied = copied_runs(side.runs)
    if copied is not None:
        yield Refusal("identical-runs", f"{side.name}: {copied}")
    if side.unmeasured:
        labels = ", ".join(run.label for run in side.unmeasured)
        yield Refusal("incomplete", f"{side.name} has finished runs without a score: {labels}")
    for run in side.runs:
        if run.fault is not None:
            yield Refusal("incomplete", f"evaluation of {side.name} {run.label}: {run.fault}")


def _against_base(base: Side, arm: Side) -> Iterator[Refusal]:
    if not base.runs:
        yield Refusal("no-base-evaluations", "the untrained model was not evaluated on this")
    elif not (base.per_task and arm.per_task):
        yield Refusal(
            "no-per-task-outcomes",
            "a comparison with the base needs outcomes per task of both",
        )
    elif len(base.runs) < FEWEST_AGAINST_BASE:
        yield Refusal(
            "too-few-evaluations",
            f"the base was evaluated {len(base.runs)} time(s), {FEWEST_AGAINST_BASE} are needed",
        )
    elif distinct_runs(arm.runs) < FEWEST_AGAINST_BASE:
        yield Refusal(
            "too-few-seeds",
            f"{arm.name} has {len(arm.runs)} training runs, "
            f"{FEWEST_AGAINST_BASE} are needed against the base",
        )


def refusal_by_tasks(aligned: Aligned) -> Refusal | None:
    """Return the reason the tasks give: too many missing, too few, clusters too uneven."""
    if aligned.missing_share > LARGEST_MISSING_SHARE:
        first = aligned.missing[0]
        return Refusal(
            "incomplete",
            f"{aligned.missing_share:.1%} of the outcomes are missing, at most "
            f"{LARGEST_MISSING_SHARE:.0%} may be; the first is task {first.task} of "
            f"{first.arm} {first.run}",
        )
    if aligned.cluster_imbalance() > LARGEST_CLUSTER_IMBALANCE:
        return Refusal(
            "uneven-clusters",
            f"the largest cluster of tasks is {aligned.cluster_imbalance():.1f} times the mean "
            f"size, at most {LARGEST_CLUSTER_IMBALANCE} are judged",
        )
    kept = aligned.complete().by_cluster()
    return few_tasks(len(kept.tasks), "clusters" if aligned.clusters else "tasks")


def few_tasks(number: int | None, what: str = "tasks") -> Refusal | None:
    """Return the refusal of a benchmark with fewer tasks than can speak for others."""
    if number is None or number >= FEWEST_TASKS:
        return None
    return Refusal("few-tasks", f"{number} {what}, at least {FEWEST_TASKS} are needed")
