"""SEED: whether the runs are independent trainings, and all of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator
from dataclasses import dataclass

from audit.facts.likeness import copied_answers
from audit.finding import Severity
from audit.pointer import join
from audit.results import Arm, Evaluation, Run
from audit.rules.comparison import seeds
from audit.rules.rule import Case, Found, Held, Outcome, Rule, Skipped

# With fewer draws two honest runs may agree on every task.
_FEWEST_DRAWS = 30
_TELLING_STEPS = 50
# Each run is compared with so many before it, so that many runs do not cost their square.
_NEAREST_RUNS = 16


def duplicate_seed(case: Case) -> Iterator[Outcome]:
    """A seed stands twice in one arm.

    Why
        Two runs with one seed are one run counted twice: the seeds are fewer than they look and
        their spread too small.
    Fix
        Give every run a seed of its own; leave out copies and re-evaluations.
    Bad
        runs with seeds 0, 0, 1
    Good
        runs with seeds 0, 1, 2
    """
    for arm in case.results.arms:
        first: dict[int, str] = {}
        labelled = seeds(arm)
        for pointer, seed in labelled:
            if seed in first:
                yield Found(
                    pointer, f"seed {seed} is that of {first[seed]} too", "seeds of their own"
                )
            first.setdefault(seed, pointer)
        yield Held(len(first))
        if not labelled:
            yield Skipped("no run has a seed", join(arm.pointer, "seed_results"))


@dataclass(frozen=True)
class _Evidence:
    """Something two trainings do not share by chance: a cheap key, and all of it to make sure."""

    what: str
    key: Hashable
    content: object


def _evidence(run: Run) -> list[_Evidence]:
    found = []
    parameters = run.document.get("final_parameters_sha256")
    if parameters is not None:
        found.append(_Evidence("the same final parameters", parameters, None))
    if _tells(run):
        log = run.training
        found.append(_Evidence("the same training telemetry", repr(log[0]), log))
    outcomes = _outcomes(run)
    if outcomes:
        sums = tuple(sum(e.counts or e.scores or ()) for e in outcomes)
        contents = tuple(_content(evaluation) for evaluation in outcomes)
        found.append(_Evidence("the same outcome on every task", sums, contents))
    return found


def _tells(run: Run) -> bool:
    """Whether the telemetry holds figures that two trainings would not share by chance."""
    return any(
        update.get("gradient_l2_norm") or update.get("loss")
        for step in run.training[:_TELLING_STEPS]
        for update in step.get("updates", [])
    )


def _content(evaluation: Evaluation) -> tuple[object, ...]:
    keys = ("benchmark", "metric", "task_ids", "correct", "samples", "scores")
    return tuple(evaluation.document.get(key) for key in keys)


def _outcomes(run: Run) -> list[Evaluation]:
    """Return the evaluations of a run, if together they could tell two runs apart."""
    evaluations = [e for e in run.evaluations if e.per_task]
    if sum(map(_draws, evaluations)) < _FEWEST_DRAWS:
        return []
    return evaluations if any(0 < (e.mean or 0) < 1 for e in evaluations) else []


def _draws(evaluation: Evaluation) -> int:
    """Count the answers that chance had a part in; greedy decoding repeats one answer a task."""
    samples = evaluation.samples
    if samples is None:
        return len(evaluation.scores or [])
    return len(samples) if evaluation.greedy else sum(samples)


class _Seen:
    """The evidence of the runs met so far."""

    def __init__(self) -> None:
        self._runs: dict[tuple[str, Hashable], list[tuple[Run, object]]] = {}

    def __bool__(self) -> bool:
        return bool(self._runs)

    def add(self, run: Run, evidence: list[_Evidence]) -> None:
        for one in evidence:
            self._runs.setdefault((one.what, one.key), []).append((run, one.content))

    def twin(self, evidence: list[_Evidence], seed: int | None = None) -> tuple[str, Run] | None:
        """Return what is shared and with which run, leaving out runs of ``seed``."""
        for one in evidence:
            for run, content in self._runs.get((one.what, one.key), []):
                if _same(content, one.content) and (seed is None or run.seed != seed):
                    return one.what, run
        return None


def _same(one: object, other: object) -> bool:
    """Whether two pieces of evidence agree, logs (lists) over the length of the shorter.

    A log that another begins with is that of an earlier checkpoint of the same run.
    """
    if isinstance(one, list) and isinstance(other, list):
        length = min(len(one), len(other))
        return one[:length] == other[:length]
    return one == other


def identical_runs(case: Case) -> Iterator[Outcome]:
    """Two runs of an arm are the same training under different labels.

    Why
        A copy adds no evidence, but halves the spread between seeds. It also happens when the seed
        is not passed on to the trainer.
    Fix
        Check that the seed reaches model, data order and sampling; leave out copies.
    Bad
        seeds 42 and 43 with one final_parameters_sha256
    Good
        a hash of its own for every seed
    """
    compared = False
    for arm in case.results.arms:
        seen, met = _Seen(), 0
        for run in arm.runs:
            evidence = _evidence(run)
            twin = seen.twin(evidence, run.seed)
            compared = compared or bool(evidence and met)
            met += bool(evidence)
            if twin is None:
                seen.add(run, evidence)
                yield Held(int(bool(evidence)))
            else:
                message = f"{twin[0]} as {twin[1].label}"
                yield Found(run.pointer, message, "a training of its own")
    if not compared:
        yield Skipped("no arm has two runs with parameter hashes, telemetry or enough outcomes")


def nearly_identical_runs(case: Case) -> Iterator[Outcome]:
    """Two runs of an arm answer more alike than one model asked twice.

    Why
        Answers drawn anew differ by chance, those of two trainings by more. Runs that agree more
        closely are one run with small changes, or were sampled from nearly one model with one
        sampling seed; either way they are not independent.
    Fix
        Check that each run was trained from its own seed and that its own answers were drawn.
    Bad
        seeds 1 and 2 whose right answers out of 4 differ on 3 of 120 tasks
    Good
        seeds whose right answers differ as two draws of 4 do
    """
    compared = False
    for arm in case.results.arms:
        for index, run in enumerate(arm.runs):
            nearest = arm.runs[max(index - _NEAREST_RUNS, 0) : index]
            alike = [(earlier, _copied(earlier, run)) for earlier in nearest]
            twin = next((earlier for earlier, copied in alike if copied), None)
            told = any(copied is not None for _, copied in alike)
            compared = compared or told
            if twin is not None:
                message = f"differs from {twin.label} by less than drawing answers anew does"
                yield Found(run.pointer, message, "answers drawn anew")
            elif told:
                yield Held()
    if not compared:
        yield Skipped("no arm has two runs with several answers a task to compare")


def _copied(one: Run, other: Run) -> bool | None:
    """Compare the first evaluations of two runs that are of one benchmark and not equal."""
    pairs = ((a, b) for a in one.evaluations for b in other.evaluations)
    for a, b in pairs:
        same = (a.benchmark, a.metric) == (b.benchmark, b.metric) and a.counts != b.counts
        if same:
            return copied_answers(a, b)
    return None


def identical_arms(case: Case) -> Iterator[Outcome]:
    """Runs of two arms are the same training.

    Why
        Then the arms do not differ there: the change was not switched on, or a run was filed under
        both arms.
    Fix
        Check that the change reaches the trainer, and that each run stands in one arm.
    Bad
        method and control at seed 42 with one final_parameters_sha256
    Good
        a hash of its own for every run
    """
    compared = False
    seen = _Seen()
    for arm in case.results.arms:
        evidences = [(run, _evidence(run)) for run in arm.runs]
        for run, evidence in evidences:
            twin = seen.twin(evidence)
            compared = compared or bool(evidence and seen)
            if twin is None:
                yield Held(int(bool(evidence and seen)))
            else:
                message = f"{twin[0]} as {twin[1].label} of {twin[1].arm}"
                yield Found(run.pointer, message, "arms that differ")
        for run, evidence in evidences:
            seen.add(run, evidence)
    if not compared:
        yield Skipped("no two arms have runs with parameter hashes, telemetry or enough outcomes")


def seeds_not_listed(case: Case) -> Iterator[Outcome]:
    """A seed that was launched has no run, or a run was never launched.

    Why
        Showing the best of several runs turns noise into gain; the runs left out are the evidence
        against it.
    Fix
        Record every run that was launched, the failed ones with their status.
    Bad
        "launched_seeds": {"method": [1, 2, 3, 4, 5]} and three runs
    Good
        "launched_seeds": {"method": [1, 2, 3]} and three runs
    """
    launched = case.results.block("launched_seeds")
    claimed = bool(case.claims or case.results.items("claims"))
    severity = Severity.ERROR if claimed else Severity.WARNING
    if not launched:
        yield Skipped("the seeds that were launched are not recorded")
    for name, started in launched.items():
        place = join("/launched_seeds", name)
        arm = case.results.arm(name)
        if arm is None:
            yield Found(place, "launched, and no such arm is recorded", severity=severity)
        else:
            yield from _unlisted(arm, place, started, severity)


def _unlisted(
    arm: Arm, place: str, started: list[int | None], severity: Severity
) -> Iterator[Outcome]:
    left = Counter(run.seed for run in arm.runs)
    for index, seed in enumerate(started):
        if left[seed] > 0:
            left[seed] -= 1
            yield Held()
        else:
            message = f"launched in {arm.name}, and no run is recorded"
            yield Found(join(place, index), message, "a run", str(seed), severity)
    for run in reversed(arm.runs):
        if left[run.seed] > 0:
            left[run.seed] -= 1
            message = "the run's seed is not among those launched"
            yield Found(join(run.pointer, "seed"), message, actual=str(run.seed))


def failed_runs(case: Case) -> Iterator[Outcome]:
    """A run did not come to its end.

    Why
        A recipe that diverges on one seed in three is not the recipe that the other two show.
    Fix
        Run the seed again only if the fault was the machine's, and say so; else report it.
    Bad
        "status": "diverged"
    Good
        "status": "finished"
    """
    for run in case.results.runs:
        if run.finished:
            yield Held()
        else:
            reason = run.document.get("failure")
            message = f"the run {run.status}: {reason}" if reason else f"the run is {run.status}"
            yield Found(join(run.pointer, "status"), message, "finished", run.status)


def unlabelled_runs(case: Case) -> Iterator[Outcome]:
    """Runs have no seed: they count as runs and are never paired.

    Why
        Which run of one arm belongs to which of the other is not known; numbering them would
        invent it.
    Fix
        Record the seed each run was started with.
    Bad
        "seed": null
    Good
        "seed": 42
    """
    for arm in case.results.arms:
        bare = [run for run in arm.runs if run.seed is None]
        yield Held(len(arm.runs) - len(bare))
        if bare:
            message = f"{len(bare)} of {len(arm.runs)} runs of {arm.name} have no seed"
            yield Found(join(bare[0].pointer, "seed"), message)


def duplicate_run_id(case: Case) -> Iterator[Outcome]:
    """Two runs have one run_id.

    Why
        One of them is a copy, or was filed under another's name.
    Fix
        Give every run the id of the job that made it.
    Bad
        "run_id": "job-17" in two runs
    Good
        "run_id": "job-17" and "job-18"
    """
    first: dict[str, str] = {}
    for run in case.results.runs:
        if run.run_id is None:
            continue
        if run.run_id in first:
            message = f"{first[run.run_id]} has this run_id too"
            yield Found(join(run.pointer, "run_id"), message, "an id of its own", run.run_id)
        first.setdefault(run.run_id, run.pointer)
    yield Held(len(first))
    if not first:
        yield Skipped("no run has a run_id")


RULES = (
    Rule("SEED002", "duplicate-seed", Severity.ERROR, duplicate_seed),
    Rule("SEED003", "identical-runs", Severity.ERROR, identical_runs),
    Rule("SEED004", "identical-arms", Severity.WARNING, identical_arms),
    Rule("SEED005", "seeds-not-listed", Severity.ERROR, seeds_not_listed),
    Rule("SEED006", "failed-runs", Severity.WARNING, failed_runs),
    Rule("SEED007", "unlabelled-runs", Severity.INFO, unlabelled_runs),
    Rule("SEED008", "duplicate-run-id", Severity.ERROR, duplicate_run_id),
    Rule("SEED009", "nearly-identical-runs", Severity.WARNING, nearly_identical_runs),
)
