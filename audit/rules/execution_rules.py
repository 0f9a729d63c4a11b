"""EXEC: what an arm says its runs did, against the runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from audit.facts.training_logs import RunLog
from audit.finding import ERROR
from audit.pointer import join
from audit.results import Arm, Run
from audit.rules.case import Case
from audit.rules.check import CheckResult, Failed, Passed, Unchecked
from audit.rules.rule import rule


@rule("EXEC001", "completed-seeds", ERROR, each=Case)
def completed_seeds(case: Case) -> Iterator[CheckResult]:
    """The number of completed seeds is not the number of finished runs.

    Why
        A run that is counted but not shown was left out, and nobody can tell why.
    Fix
        List every run, those that failed with their status.
    Bad
        "completed_seeds": 3 with two runs
    Good
        "completed_seeds": 3 with three finished runs
    """
    for arm, checks in _checks(case):
        if "completed_seeds" not in checks:
            continue
        stated, finished = checks["completed_seeds"], len(arm.finished)
        if stated == finished:
            yield Passed()
        else:
            pointer = join(arm.pointer, "execution_checks", "completed_seeds")
            yield Failed(pointer, "not the number of finished runs", str(finished), str(stated))
    yield from _absent(case, "completed_seeds")


@rule("EXEC002", "rollout-groups", ERROR, each=Case)
def rollout_groups(case: Case) -> Iterator[CheckResult]:
    """The groups trained on by each run are not those of its log.

    Why
        Two counts of the same thing disagree; one of them describes another run.
    Fix
        Count the groups in each run's training log.
    Bad
        "rollout_groups_per_seed": [3, 3, 4] with three steps of one group in each log
    Good
        "rollout_groups_per_seed": [3, 3, 3]
    """
    return _per_run(case, "rollout_groups_per_seed", _groups)


def _groups(run: Run) -> int | None:
    log = RunLog(run)
    if log.steps and log.full:
        return len(log.steps) * log.groups
    planned = run.protocol.get("steps")
    return int(planned * log.groups) if planned is not None and run.finished else None


@rule("EXEC003", "gradient-steps", ERROR, each=Case)
def gradient_steps(case: Case) -> Iterator[CheckResult]:
    """The optimizer steps of each run are not those of its log.

    Why
        Optimizer steps are what arms are matched by.
    Fix
        Count the updates of each run's training log: steps x inner_updates.
    Bad
        "actual_gradient_steps": [6, 6, 5] with three steps of two updates in each log
    Good
        "actual_gradient_steps": [6, 6, 6]
    """
    return _per_run(case, "actual_gradient_steps", _updates)


def _updates(run: Run) -> int | None:
    log = RunLog(run)
    if log.steps and log.full and all("updates" in step for step in log.steps):
        return sum(len(step["updates"]) for step in log.steps)
    steps, inner = run.protocol.get("steps"), run.protocol.get("inner_updates")
    if steps is None or inner is None or not run.finished:
        return None
    return int(steps * inner)


@rule("EXEC004", "rejected-groups", ERROR, each=Case)
def rejected_groups(case: Case) -> Iterator[CheckResult]:
    """The rejected groups of each run are not those of its sampling block.

    Why
        Rejected groups are compute that equal numbers of optimizer steps hide.
    Fix
        Write both counts from one counter.
    Bad
        "rejected_zero_advantage_groups": [4] with "zero_advantage_groups": 3 in the run
    Good
        "rejected_zero_advantage_groups": [4] with "zero_advantage_groups": 4 in the run
    """
    return _per_run(case, "rejected_zero_advantage_groups", _rejected)


def _rejected(run: Run) -> int | None:
    if not RunLog(run).rejects:
        return 0
    sampling = run.sampling
    count = sampling.get("zero_advantage_groups", sampling.get("zero_advantage_groups_retained"))
    return None if count is None else int(count)


@rule("EXEC005", "training-tokens-of-runs", ERROR, each=Case)
def generated_tokens(case: Case) -> Iterator[CheckResult]:
    """The training tokens of each run are not those of its sampling block.

    Why
        A comparison of compute rests on these tokens.
    Fix
        Write both counts from one counter.
    Bad
        "generated_tokens_including_rejected_groups": [6789] with 6788 in the run
    Good
        the same number in both places
    """
    return _per_run(case, "generated_tokens_including_rejected_groups", _tokens)


def _tokens(run: Run) -> int | None:
    count = run.sampling.get("generated_training_tokens_including_rejected_groups")
    return None if count is None else int(count)


@rule("EXEC006", "stated-leakage", ERROR, each=Case)
def stated_leakage(case: Case) -> Iterator[CheckResult]:
    """An arm's statement on leakage is not that of its runs.

    Why
        Whether answers or test tasks were seen decides what a score is worth.
    Fix
        Derive the arm's flags from those of its runs.
    Bad
        "gold_in_policy": false with "gold_in_generation": true in a run
    Good
        "gold_in_policy": false with "gold_in_generation": false in every run
    """
    sources: dict[str, Callable[[Run], Any]] = {
        "gold_in_policy": lambda run: run.protocol.get("gold_in_generation"),
        "official_test_read": lambda run: run.protocol.get("test_opened"),
    }
    for name, source in sources.items():
        for arm, checks in _checks(case):
            flags = [flag for flag in map(source, arm.runs) if flag is not None]
            if name not in checks or not flags:
                continue
            if checks[name] == any(flags):
                yield Passed()
                continue
            pointer = join(arm.pointer, "execution_checks", name)
            expected = "true" if any(flags) else "false"
            yield Failed(pointer, "not what the runs say", expected, str(checks[name]).lower())
        yield from _absent(case, name)


@rule(
    "EXEC007",
    "parameters-changed",
    ERROR,
    each=Run,
    needs=("parameters_changed",),
    missing="no run has parameters_changed and gradient norms or hashes",
)
def parameters_changed(run: Run) -> Iterator[CheckResult]:
    """A run says that its parameters changed, or did not, and its gradients or hashes contradict
    it.

    Why
        Parameters without a gradient do not move, and those that moved had a gradient.
    Fix
        Compare the parameters before and after training.
    Bad
        "parameters_changed": false with "gradient_l2_norm": 0.28 in the log
    Good
        "parameters_changed": true with "gradient_l2_norm": 0.28 in the log
    """
    evidence = _changed(run)
    if evidence is None:
        return
    stated, (changed, reason) = run.document["parameters_changed"], evidence
    if changed == stated:
        yield Passed()
    else:
        pointer = join(run.pointer, "parameters_changed")
        yield Failed(pointer, reason, str(changed).lower(), str(stated).lower())


def _changed(run: Run) -> tuple[bool, str] | None:
    hashes = [run.document.get(f"{end}_parameters_sha256") for end in ("initial", "final")]
    if None not in hashes:
        changed = hashes[0] != hashes[1]
        return changed, f"the hashes before and after {'differ' if changed else 'are equal'}"
    if run.protocol.get("learning_rate") == 0:
        return None
    unknown = not run.training
    for step in run.training:
        for update in step.get("updates") or ():
            norm = update.get("gradient_l2_norm")
            if norm:
                return True, "the log has gradients above 0"
            unknown = unknown or norm is None
    return None if unknown else (False, "every gradient of the log is 0")


def _checks(case: Case) -> Iterator[tuple[Arm, dict[str, Any]]]:
    for arm in case.results.arms:
        checks = arm.document.get("execution_checks")
        if checks:
            yield arm, checks


def _absent(case: Case, name: str) -> Iterator[CheckResult]:
    if not any(name in checks for _, checks in _checks(case)):
        yield Unchecked(f"no arm has execution_checks.{name}")


def _per_run(case: Case, name: str, count: Callable[[Run], int | None]) -> Iterator[CheckResult]:
    """Compare a list with one entry per run against what each run gives."""
    for arm, checks in _checks(case):
        if name not in checks:
            continue
        stated = checks[name]
        pointer = join(arm.pointer, "execution_checks", name)
        runs = arm.finished if len(stated) == len(arm.finished) else arm.runs
        if len(stated) != len(runs):
            yield Failed(pointer, "not one entry per run", str(len(runs)), str(len(stated)))
        for index, (value, run) in enumerate(zip(stated, runs, strict=False)):
            expected = count(run)
            if expected is None:
                yield Unchecked("the run does not record it", run.pointer)
            elif expected == value:
                yield Passed()
            else:
                message = f"not what run {run.label} records"
                yield Failed(join(pointer, index), message, str(expected), str(value))
    yield from _absent(case, name)
