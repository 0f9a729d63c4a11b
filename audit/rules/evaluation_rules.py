"""EVAL: the totals of an evaluation, what they can be and whether all arms had the same."""

from __future__ import annotations

from collections.abc import Iterator

from audit.facts.measurements import Measurement
from audit.facts.rounding import tolerance
from audit.finding import Severity
from audit.pointer import join
from audit.results import Run
from audit.rules.agreement import Stated, agreement
from audit.rules.case import Case
from audit.rules.check import CheckResult, Failed, Passed, Unchecked
from audit.rules.rule import rule


@rule(
    "EVAL001",
    "impossible-accuracy",
    Severity.ERROR,
    each=Case,
    missing="no accuracy is recorded as a total",
)
def impossible_accuracy(case: Case) -> Iterator[CheckResult]:
    """An accuracy is no whole number of right answers (GRIM test, Brown and Heathers 2017).

    Why
        With n answers an accuracy is k/n. Any other figure was not counted on these examples: it
        is an average over several sets, a typing error, or an edit.
    Fix
        Record the accuracy unrounded, and in examples the answers it is the share of: tasks times
        samples a task.
    Bad
        "accuracy": 0.71, "examples": 8
    Good
        "accuracy": 0.75, "examples": 8
    """
    measured = [m for m in case.measurements if "accuracy" in m.totals]
    near = tolerance([float(m.totals["accuracy"]) for m in measured], 1.0)
    for measurement in measured:
        if measurement.evaluation is None or not measurement.evaluation.per_task:
            yield _share(measurement, near)  # else held against the outcomes themselves


def _share(measurement: Measurement, near: float) -> CheckResult:
    pointer, drawn = join(measurement.pointer, "accuracy"), measurement.responses
    if not drawn:
        return Unchecked("the number of examples is not recorded", measurement.pointer)
    accuracy = measurement.totals["accuracy"]
    right = round(accuracy * drawn)
    if 2 * near * drawn >= 1:
        return Unchecked(f"rounded too far to tell with {drawn} answers", pointer)
    if abs(accuracy - right / drawn) <= near:
        return Passed()
    message = f"{accuracy!r} of {drawn} answers is no whole number of right ones"
    return Failed(pointer, message, f"{right}/{drawn} = {right / drawn!r}", repr(accuracy))


@rule(
    "EVAL002",
    "truncated-count",
    Severity.ERROR,
    each=Measurement,
    needs=("responses", "truncated_responses"),
)
def truncated_count(measurement: Measurement) -> Failed | None:
    """More responses are cut off than were drawn.

    Why
        Such a count belongs to another evaluation.
    Fix
        Count the responses of this evaluation that reached the token limit.
    Bad
        "examples": 8, "truncated_responses": 9
    Good
        "examples": 8, "truncated_responses": 1
    """
    truncated, drawn = measurement.totals["truncated_responses"], measurement.responses or 0
    if truncated <= drawn:
        return None
    pointer = join(measurement.pointer, "truncated_responses")
    return Failed(pointer, "more than were drawn", f"at most {drawn}", str(truncated))


@rule(
    "EVAL003",
    "token-bounds",
    Severity.ERROR,
    each=Measurement,
    needs=("generated_tokens", "responses", "limit"),
    missing="no evaluation records tokens, responses and the limit of a response",
)
def token_bounds(measurement: Measurement) -> Failed | None:
    """The generated tokens are fewer or more than the responses can hold.

    Why
        A response that was cut off has as many tokens as the limit, none has more. A total outside
        belongs to another evaluation or to another limit.
    Fix
        Record the limit of the evaluation in condition.max_tokens, and the sum over its responses.
    Bad
        8 examples, limit 512, "generated_tokens": 5000
    Good
        8 examples, limit 512, one cut off, "generated_tokens": 2619
    """
    drawn, limit = measurement.responses or 0, measurement.limit or 0
    right = round(measurement.totals.get("accuracy", 0.0) * drawn)  # an answer takes a token
    low, high = max((measurement.truncated or 0) * limit, right), drawn * limit
    tokens = measurement.totals["generated_tokens"]
    if low <= tokens <= high:
        return None
    pointer = join(measurement.pointer, "generated_tokens")
    message = "more or fewer tokens than the responses can hold"
    return Failed(pointer, message, f"{low} to {high}", str(tokens))


@rule(
    "EVAL004",
    "evaluation-set",
    Severity.ERROR,
    each=Case,
    missing="no two evaluations say on what they were made",
)
def evaluation_set(case: Case) -> Iterator[CheckResult]:
    """Runs were evaluated on different sets.

    Why
        A difference between arms then is also a difference between sets of tasks.
    Fix
        Evaluate the base and every run of every arm on the same tasks and the same split.
    Bad
        "examples": 8 in one run, 16 in another
    Good
        "examples": 8 in every run and in the baseline
    """
    stated = _stated_sets(case)
    for what, places in stated.items():
        yield from agreement(places, what)


def _stated_sets(case: Case) -> dict[str, list[Stated]]:
    stated: dict[str, list[Stated]] = {}
    for measurement in case.measurements:
        if "examples" in measurement.totals:
            place = (join(measurement.pointer, "examples"), measurement.totals["examples"])
            stated.setdefault("the number of examples", []).append(place)
    for evaluation in case.evaluations:
        own = evaluation.pointer.endswith("/evaluation")
        group = "" if own else f" of {evaluation.benchmark}, {evaluation.metric},"
        for key in ("benchmark", "metric", "split") if own else ("split",):
            if key in evaluation.document:
                place = (join(evaluation.pointer, key), evaluation.document[key])
                stated.setdefault(f"the {key}{group}", []).append(place)
    return stated


@rule("EVAL006", "benchmark-sets", Severity.WARNING, each=Case)
def benchmark_sets(case: Case) -> Iterator[CheckResult]:
    """A benchmark was evaluated in some runs and not in others.

    Why
        A benchmark that is shown only where it went well is selection.
    Fix
        Evaluate every run of every arm on the same benchmarks.
    Bad
        a run with evaluations on "addition" alone, the others on "addition" and "subtraction"
    Good
        the same benchmarks and metrics in every run
    """
    stated: list[Stated] = []
    for run in case.results.runs:
        if run.finished and run.evaluations:
            named = sorted(f"{e.benchmark}: {e.metric}" for e in run.evaluations)
            stated.append((run.pointer, named))
    yield from agreement(stated, "the list of benchmarks")
    if len(stated) < 2:
        yield Unchecked("no two runs name their benchmarks")


@rule("EVAL007", "checkpoint-choice", Severity.WARNING, each=Case)
def checkpoint_choice(case: Case) -> Iterator[CheckResult]:
    """Runs were evaluated at different steps, or their checkpoints chosen on different splits.

    Why
        Choosing a checkpoint for one arm and taking the last of the other favours the first.
    Fix
        Fix the step beforehand, or choose in all arms by one rule on one split.
    Bad
        "checkpoint_step": 40 in one arm, 60 in the other
    Good
        the same checkpoint_step and selected_on in every run
    """
    stated: dict[str, list[Stated]] = {"checkpoint_step": [], "selected_on": []}
    for run in case.results.runs:
        for evaluation in run.evaluations:
            for key, places in stated.items():
                if key in evaluation.document:
                    places.append((join(evaluation.pointer, key), evaluation.document[key]))
    for key, places in stated.items():
        yield from agreement(places, key)
    if not any(len(places) > 1 for places in stated.values()):
        yield Unchecked("no two evaluations say which checkpoint they were made with")


@rule(
    "EVAL005",
    "checkpoint-step",
    Severity.ERROR,
    each=Run,
    missing="no run records its steps and the checkpoint that was evaluated",
)
def checkpoint_step(run: Run) -> Iterator[CheckResult]:
    """A checkpoint was evaluated that training did not reach.

    Why
        The figure is then that of another run.
    Fix
        Record the step of the checkpoint that was evaluated.
    Bad
        "checkpoint_step": 500 with protocol.steps 3, inner_updates 2
    Good
        "checkpoint_step": 3
    """
    steps = run.protocol.get("steps")
    for evaluation in run.evaluations:
        reached = evaluation.document.get("checkpoint_step")
        if steps is None or reached is None:
            continue
        last = steps * run.protocol.get("inner_updates", 1)
        if reached <= last:
            yield Passed()
        else:
            pointer = join(evaluation.pointer, "checkpoint_step")
            yield Failed(pointer, "training ended before", f"at most {last}", str(reached))
