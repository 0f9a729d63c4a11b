"""REAL: whether runs and evaluations took place as the file has them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from audit.facts.durations import equal_durations
from audit.facts.origins import copied_files
from audit.facts.training_logs import RunLog, step_pointer
from audit.finding import ERROR, WARNING
from audit.pointer import join
from audit.results import Arm, Evaluation, Run
from audit.rules.case import Case
from audit.rules.check import CheckResult, Failed, Passed, Unchecked
from audit.rules.rule import rule

# Four printed decimals, and a mean over answers in place of one over tasks, lie within.
_PRINTED = 1e-3
# A larger share of tasks whose answers took no time is reported.
_MOST_INSTANT = 0.1
# Logs go on a little after the last evaluation: a summary, the rest of an interval.
_AFTER_THE_END = 0.05


@rule(
    "REAL001",
    "stale-average",
    WARNING,
    each=Evaluation,
    needs=("printed",),
    missing="no evaluation says what its source printed",
)
def stale_average(evaluation: Evaluation) -> Failed | Unchecked | None:
    """The average that a source printed for an evaluation is not that of its answers.

    Why
        The average was written before the run had ended, or belongs to other answers. Whoever
        reads the source's summary reads another result.
    Fix
        Cite the average of the answers; write the summary again from them.
    Bad
        "printed": {"mean": 0.0} with answers that average 0.61
    Good
        "printed": {"mean": 0.61} with answers that average 0.61
    """
    said = evaluation.document["printed"].get("mean")
    means = list(_means(evaluation))
    if said is None or not means:
        return Unchecked("no printed average beside answers", evaluation.pointer)
    if any(abs(said - mean) <= _PRINTED for mean in means):
        return None
    pointer = join(evaluation.pointer, "printed", "mean")
    message = "printed before the run ended, or of other answers"
    return Failed(pointer, message, f"{means[0]:.6g}", f"{said:g}")


def _means(evaluation: Evaluation) -> Iterator[float]:
    """Yield the mean over tasks, over answers, and over the answers without an error."""
    if evaluation.mean is not None:
        yield evaluation.mean
    counts, samples = evaluation.counts, evaluation.samples
    if counts is None or samples is None:
        return
    errored = sum(evaluation.document.get("errored") or ())
    for drawn in {sum(samples), sum(samples) - errored} - {0}:
        yield sum(counts) / drawn


@rule(
    "REAL002",
    "printed-answer-count",
    WARNING,
    each=Evaluation,
    needs=("printed",),
    missing="no evaluation says what its source printed",
)
def printed_answer_count(evaluation: Evaluation) -> Failed | Unchecked | None:
    """The answers per task that a source says it drew are not those that are there.

    Why
        A count of 0 is that of a run that never started; any other is of another evaluation.
    Fix
        Look whether the settings and the answers are of one run.
    Bad
        "printed": {"answers_per_task": 0} with "samples": [3, 3]
    Good
        "printed": {"answers_per_task": 3} with "samples": [3, 3]
    """
    said = evaluation.document["printed"].get("answers_per_task")
    drawn = set(evaluation.samples or ())
    if said is None or (said and not drawn):
        return Unchecked("no printed count beside counted answers", evaluation.pointer)
    if said in drawn:
        return None
    pointer = join(evaluation.pointer, "printed", "answers_per_task")
    there = f"{min(drawn)} to {max(drawn)}" if len(drawn) > 1 else str(next(iter(drawn), "some"))
    return Failed(pointer, "another number of answers per task is there", there, str(said))


@rule("REAL003", "no-time-taken", WARNING, each=Evaluation, needs=("mean_seconds",))
def no_time_taken(evaluation: Evaluation) -> Failed | None:
    """More than a tenth of the tasks took 0 seconds to answer.

    Why
        Nothing is generated in no time: the answers come from a cache or another run, or were
        never drawn.
    Fix
        Look where the answers come from; evaluate again if that cannot be told.
    Bad
        "mean_seconds": [0, 0, 0]
    Good
        "mean_seconds": [1.2, 0.9, 3.4]
    """
    times = evaluation.document["mean_seconds"]
    instant = times.count(0)
    if instant <= _MOST_INSTANT * len(times):
        return None
    pointer = join(evaluation.pointer, "mean_seconds")
    return Failed(pointer, f"{instant:,} of {len(times):,} tasks took 0 seconds", "time", "0")


@rule("REAL004", "equal-durations", WARNING, each=Case)
def same_durations(case: Case) -> Iterator[CheckResult]:
    """Two runs took the same time to the last digit.

    Why
        Times of two trainings or evaluations differ in the third digit; equal ones were copied.
    Fix
        Find which of the two was run, and leave the other out.
    Bad
        "minutes": 42.3178 in two runs
    Good
        "minutes": 42.3178 and 41.9023
    """
    found = list(equal_durations(case.results))
    for pointer, text, other in found:
        name = other.label if other.seed is None else f"seed {other.seed}"
        yield Failed(pointer, f"{text}, as in {name} of {other.arm}")
    if not found:
        yield Passed(len(case.results.runs) > 1)


@rule("REAL005", "steps-go-back", WARNING, each=RunLog)
def steps_go_back(log: RunLog) -> Iterator[CheckResult]:
    """The steps of a training log go back.

    Why
        Two attempts are in one log, or a run began again at an earlier checkpoint: curves then
        mix both, and the steps between were trained twice.
    Fix
        Keep the log of the attempt that was evaluated; list the other under earlier_failures.
    Bad
        "training": [{"step": 60}, {"step": 41}]
    Good
        "training": [{"step": 60}, {"step": 61}]
    """
    back = log.run.telemetry.get("went_back") or []
    if back:
        (before, after), *others = back
        more = f", and {len(others)} times more" if others else ""
        pointer = join(log.run.pointer, "telemetry", "went_back")
        yield Failed(pointer, f"step {after} follows step {before} in the source{more}")
    steps = [step.get("step", place + 1) for place, step in enumerate(log.steps)]
    for place in range(1, len(steps)):
        if steps[place] < steps[place - 1]:
            message = f"step {steps[place]} follows step {steps[place - 1]}"
            yield Failed(step_pointer(log, place, "step"), message)
            return
    if not back:
        yield Passed()


@rule(
    "REAL006",
    "not-the-last-checkpoint",
    WARNING,
    each=Run,
    missing="no run records its steps and the checkpoint that was evaluated",
)
def not_the_last_checkpoint(run: Run) -> Iterator[CheckResult]:
    """A run went on after the checkpoint that was evaluated, and nothing says how it was chosen.

    Why
        A checkpoint that was chosen after its scores were seen is better than the run.
    Fix
        Evaluate the last checkpoint, or record selected_on.
    Bad
        "checkpoint_step": 60, and "step": 100 at the end of "training"
    Good
        "checkpoint_step": 100, and "step": 100 at the end of "training"
    """
    logged = [step["step"] for step in run.training if "step" in step]
    evaluated = [e for e in run.evaluations if e.checkpoint_step is not None]
    if not run.finished or not logged or not evaluated:
        return
    steps = sorted({e.checkpoint_step or 0 for e in evaluated})
    interval = min((b - a for a, b in pairwise(steps)), default=0)
    last = max(logged)
    final = max(evaluated, key=lambda e: e.checkpoint_step or 0)
    chosen = final.document.get("selected_on", "none") != "none"
    if chosen or last - steps[-1] <= max(interval - 1, _AFTER_THE_END * last):
        yield Passed()
        return
    pointer = join(final.pointer, "checkpoint_step")
    yield Failed(pointer, "the run went on after it", str(last), str(steps[-1]))


@rule("REAL007", "one-configured-seed", WARNING, each=Arm)
def one_configured_seed(arm: Arm) -> Failed | Unchecked | None:
    """The settings of an arm's runs all hold one seed, though the runs are labelled with several.

    Why
        Runs that are started with one seed, by a script that never passed it on, share the order
        of their data and their first parameters: they are not what their labels say.
    Fix
        Look in the script whether the seed reaches the trainer. If it was set another way, remove
        configured_seed.
    Bad
        "seed": 1 and 2 with "configured_seed": 42 in both
    Good
        "seed": 1 and 2 as the settings say
    """
    other = [run for run in arm.runs if "configured_seed" in run.document]
    said = {run.document["configured_seed"] for run in other}
    labels = {run.seed for run in arm.runs}
    if not other:
        return Unchecked("no run has another seed in its settings", arm.pointer)
    unlike = {run.seed for run in arm.runs if run not in other} - said
    if len(said) > 1 or unlike or len(labels) < 2:
        return None
    pointer = join(other[0].pointer, "configured_seed")
    shown = ", ".join(str(seed) for seed in sorted(label for label in labels if label is not None))
    message = f"the settings of all {len(arm.runs)} runs of {arm.name} hold one seed"
    return Failed(pointer, message, shown, str(next(iter(said))))


@rule("REAL008", "copied-file", ERROR, each=Case)
def copied_file(case: Case) -> Iterator[CheckResult]:
    """Two runs were imported from files with the same bytes.

    Why
        One run was copied under another name; counted twice it makes the spread too small.
    Fix
        Leave the copy out, and import what its run really wrote.
    Bad
        seed1/results.jsonl and seed2/results.jsonl with one SHA-256
    Good
        files with hashes of their own
    """
    if not (case.results.block("provenance").get("imported") or {}).get("fields"):
        yield Unchecked("the file does not say which of its fields come from which source file")
        return
    found = list(copied_files(case.results))
    for pointer, file, other in found:
        yield Failed(pointer, f"{file} has the same bytes as {other}")
    if not found:
        yield Passed()
