"""SEED: whether the runs are independent trainings, and all of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from audit.facts import copies
from audit.finding import ERROR, INFO, WARNING, Severity
from audit.pointer import join
from audit.results import Arm, Run
from audit.rules.case import Case
from audit.rules.check import CheckResult, Failed, Passed, Unchecked
from audit.rules.rule import rule

# How what two runs share goes on to the other run.
_JOINTS = {
    copies.IDENTICAL: " as ",
    copies.NEARLY: " from those of ",
    copies.STEPS: ", as in ",
    copies.EQUAL_SCORES: ", as in ",
}
_NO_EVIDENCE = "runs with parameter hashes, a training log or enough outcomes"


# Longer ones are a job's or a tracker's ids, which no two runs share.
_LONGEST_RUN_NUMBER = 4


@rule("SEED002", "duplicate-seed", ERROR, each=Case)
def duplicate_seed(case: Case) -> Iterator[CheckResult]:
    """Duplicate seed in one arm.

    Why
        Two runs with one seed are one run counted twice: there are fewer seeds than it seems, and
        their spread is too small.
    Fix
        Give each run its own seed; leave out copies and re-evaluations.
    Bad
        runs with seeds 0, 0, 1
    Good
        runs with seeds 0, 1, 2
    """
    for arm in case.results.arms:
        for pair in case.copies[arm.pointer]:
            if pair.reason == copies.SEED:
                pointer, first = pair.pointers
                yield Failed(pointer, f"{pair.text} is that of {first} too", "seeds of their own")
        labelled = {run.seed for run in arm.runs} - {None}
        yield Passed(len(labelled))
        if not labelled:
            yield Unchecked("no run has a seed", join(arm.pointer, "seed_results"))


def _pairs(case: Case, reason: str, expected: str) -> Iterator[CheckResult]:
    """Speak on the runs that are another's copy for one reason; the others pass."""
    for arm in case.results.arms:
        joined = {p.second: p for p in case.copies[arm.pointer] if p.reason == reason}
        telling = [run for run in arm.runs if copies.has_evidence(run)]
        if len(telling) > 1 or joined:
            yield Passed(sum(run.index not in joined for run in telling))
        for place, pair in joined.items():
            run, twin = arm.runs[place], arm.runs[pair.first]
            yield Failed(run.pointer, f"{pair.text}{_JOINTS[reason]}{twin.label}", expected)


@rule("SEED003", "identical-runs", ERROR, each=Case, missing=f"no arm has two {_NO_EVIDENCE}")
def identical_runs(case: Case) -> Iterator[CheckResult]:
    """Two runs of an arm are the same training under different labels.

    Why
        A copy adds no evidence but shrinks the spread between seeds. It also happens when the seed
        is not passed on to the trainer.
    Fix
        Check that the seed reaches model, data order and sampling; leave out copies.
    Bad
        seeds 42 and 43 with one final_parameters_sha256
    Good
        a hash of its own for every seed
    """
    return _pairs(case, copies.IDENTICAL, "a training of its own")


@rule("SEED004", "identical-arms", WARNING, each=Case, missing=f"no two arms have {_NO_EVIDENCE}")
def identical_arms(case: Case) -> Iterator[CheckResult]:
    """Runs of two arms are the same training.

    Why
        The arms do not differ there: the change was not switched on, or one run was filed under
        both arms.
    Fix
        Check that the change reaches the trainer, and that each run belongs to one arm.
    Bad
        method and control at seed 42 with one final_parameters_sha256
    Good
        a hash of its own for every run
    """
    results = case.results
    twins = {pair.second: pair for pair in copies.same_across_arms(results)}
    earlier = False  # whether an arm before this one has a run to compare with
    for arm in results.arms:
        telling = [run for run in arm.runs if copies.has_evidence(run)]
        if earlier:
            yield Passed(sum(run.pointer not in twins for run in telling))
        earlier = earlier or bool(telling)
    for twin in twins.values():
        message = f"{twin.text} as {twin.label} of {twin.arm}"
        yield Failed(twin.second, message, "arms that differ")


@rule(
    "SEED009", "nearly-identical-runs", WARNING, each=Case, missing=f"no arm has two {_NO_EVIDENCE}"
)
def nearly_identical_runs(case: Case) -> Iterator[CheckResult]:
    """Two runs of an arm agree more closely than one model answering twice.

    Why
        Answers drawn again differ by chance, and those of two trainings differ more. Runs that
        agree more closely are one run with small changes, or were sampled from nearly the same
        model with one sampling seed; either way they are not independent.
    Fix
        Check that each run was trained from its own seed and that its own answers were drawn;
        record final_parameters_sha256 and the training log of each run.
    Bad
        seeds 1 and 2 whose right answers out of 4 differ on 3 of 120 tasks
    Good
        seeds whose right answers differ as two draws of 4 do
    """
    return _pairs(case, copies.NEARLY, "answers of its own")


@rule("SEED010", "one-run-many-steps", ERROR, each=Case, missing=f"no arm has two {_NO_EVIDENCE}")
def one_run_many_steps(case: Case) -> Iterator[CheckResult]:
    """Two runs of an arm are steps of one training.

    Why
        Checkpoints of one run share its luck; counted as separate runs, they make the spread far
        too small.
    Fix
        Evaluate one step of every run and train more seeds; record further steps of a run among its
        evaluations, each with its checkpoint_step.
    Bad
        run_id "grpo/checkpoint-100" and run_id "grpo/checkpoint-200"
    Good
        run_id "grpo-seed1" and run_id "grpo-seed2"
    """
    return _pairs(case, copies.STEPS, "a training of its own")


@rule("SEED011", "equal-scores", WARNING, each=Case, missing="no arm has three runs with a score")
def equal_scores(case: Case) -> Iterator[CheckResult]:
    """All runs of an arm have the same score, which separate trainings rarely do.

    Why
        Even one model evaluated again would agree this exactly in fewer than one of a thousand
        studies: one score may have been written several times.
    Fix
        Record each run's own score, with its per-task outcomes and final_parameters_sha256.
    Bad
        "accuracy": 0.354814 of 1319 examples in all three runs
    Good
        "accuracy": 0.625 of 8 examples in three runs, which happens by chance
    """
    for arm in case.results.arms:
        pairs = [p for p in case.copies[arm.pointer] if p.reason == copies.EQUAL_SCORES]
        if pairs:
            yield Failed(arm.runs[0].pointer, pairs[0].text, "a score of its own for every run")
        elif len(arm.runs) > 2 and all(run.metrics or run.evaluations for run in arm.runs):
            yield Passed()


@rule("SEED005", "seeds-not-listed", ERROR, each=Case)
def seeds_not_listed(case: Case) -> Iterator[CheckResult]:
    """A seed that was launched has no run, or a run was never launched.

    Why
        Reporting the best of several runs turns noise into a gain; the runs left out are the
        evidence against it.
    Fix
        Record every run that was launched, the failed ones with their status.
    Bad
        "launched_seeds": {"method": [1, 2, 3, 4, 5]} and three runs
    Good
        "launched_seeds": {"method": [1, 2, 3]} and three runs
    """
    launched = case.results.block("launched_seeds")
    severity = ERROR if case.claimed else WARNING
    if not launched:
        yield Unchecked("the seeds that were launched are not recorded")
    for name, started in launched.items():
        place = join("/launched_seeds", name)
        arm = case.results.arm(name)
        if arm is None:
            yield Failed(place, "launched, and no such arm is recorded", severity=severity)
        else:
            yield from _unlisted(arm, place, started, severity)


def _unlisted(
    arm: Arm, place: str, started: list[int | None], severity: Severity
) -> Iterator[CheckResult]:
    left = Counter(run.seed for run in arm.runs)
    for index, seed in enumerate(started):
        if left[seed] > 0:
            left[seed] -= 1
            yield Passed()
        else:
            message = f"launched in {arm.name}, and no run is recorded"
            yield Failed(join(place, index), message, "a run", str(seed), severity)
    for run in reversed(arm.runs):
        if left[run.seed] > 0:
            left[run.seed] -= 1
            message = "the run's seed is not among those launched"
            yield Failed(join(run.pointer, "seed"), message, actual=str(run.seed))


@rule("SEED006", "failed-runs", WARNING, each=Run)
def failed_runs(run: Run) -> Failed | None:
    """A run did not finish.

    Why
        A recipe that diverges on one seed in three is not the recipe that the other two show.
    Fix
        Train the seed again only if the machine failed, and say so; otherwise report the run as it
        is.
    Bad
        "status": "diverged"
    Good
        "status": "finished"
    """
    if run.finished:
        return None
    reason = run.document.get("failure")
    message = f"the run {run.status}: {reason}" if reason else f"the run is {run.status}"
    return Failed(join(run.pointer, "status"), message, "finished", run.status)


@rule("SEED007", "unlabelled-runs", INFO, each=Arm)
def unlabelled_runs(arm: Arm) -> Iterator[CheckResult]:
    """Runs have no seed: they count as runs but are never paired.

    Why
        It is not known which run of one arm belongs to which run of the other, and numbering them
        would be guessing.
    Fix
        Record the seed each run was started with.
    Bad
        "seed": null
    Good
        "seed": 42
    """
    bare = [run for run in arm.runs if run.seed is None]
    yield Passed(len(arm.runs) - len(bare))
    if bare:
        message = f"{len(bare)} of {len(arm.runs)} runs of {arm.name} have no seed"
        yield Failed(join(bare[0].pointer, "seed"), message)


@rule("SEED008", "duplicate-run-id", ERROR, each=Case, missing="no run has a run_id")
def duplicate_run_id(case: Case) -> Iterator[CheckResult]:
    """Two runs have the same run_id.

    Why
        One of them is a copy, or was filed under another's name. A plain number, such as run 1 of
        each arm, tells runs apart within their arm only.
    Fix
        Give every run the id of the job that made it.
    Bad
        "run_id": "job-17" in two runs
    Good
        "run_id": "job-17" and "job-18"
    """
    first: dict[tuple[str, str], str] = {}
    for run in case.results.runs:
        if run.run_id is None:
            continue
        number = run.run_id.isdecimal() and len(run.run_id) <= _LONGEST_RUN_NUMBER
        key = (run.arm if number else "", run.run_id)
        if key in first:
            message = f"{first[key]} has this run_id too"
            yield Failed(join(run.pointer, "run_id"), message, "an id of its own", run.run_id)
        first.setdefault(key, run.pointer)
    yield Passed(len(first))
