"""EVAL: the totals of an evaluation, what they can be and whether all arms had the same."""

from __future__ import annotations

import json
from collections.abc import Iterator

from audit.facts.evaluations import AnswerCounts, answer_counts
from audit.facts.measurements import Measurement
from audit.facts.rounding import tolerance
from audit.finding import ERROR, WARNING
from audit.pointer import join
from audit.results import DEFAULT_METRIC, Evaluation, Run
from audit.rules.agreement import Stated, agreement
from audit.rules.case import Case
from audit.rules.check import CheckResult, Failed, Passed, Unchecked
from audit.rules.rule import rule


@rule(
    "EVAL001", "impossible-accuracy", ERROR, each=Case, missing="no accuracy is recorded as a total"
)
def impossible_accuracy(case: Case) -> Iterator[CheckResult]:
    """An accuracy is not a whole number of right answers (GRIM test, Brown and Heathers 2017).

    Why
        With n answers an accuracy is k/n. Any other figure was not counted on these examples: it is
        an average over several sets, a typing error, or an edit.
    Fix
        Record the accuracy unrounded, and in examples the answers it is the share of: tasks times
        samples per task.
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
    ERROR,
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
    ERROR,
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
    ERROR,
    each=Case,
    missing="no two evaluations say on what they were made",
)
def evaluation_set(case: Case) -> Iterator[CheckResult]:
    """Runs were evaluated on different sets.

    Why
        A difference between arms may then be a difference between task sets.
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


@rule("EVAL006", "benchmark-sets", WARNING, each=Case)
def benchmark_sets(case: Case) -> Iterator[CheckResult]:
    """A benchmark was evaluated in some runs and not in others.

    Why
        Reporting a benchmark only where it went well is selection.
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


@rule("EVAL007", "checkpoint-choice", WARNING, each=Case)
def checkpoint_choice(case: Case) -> Iterator[CheckResult]:
    """Runs were evaluated at different steps, or their checkpoints chosen on different splits.

    Why
        Choosing the best checkpoint of one arm and taking the last of the other favours the first.
    Fix
        Fix the step beforehand, or choose by the same rule on the same split in all arms.
    Bad
        "checkpoint_step": 40 in one arm, 60 in the other
    Good
        the same checkpoint_step and selected_on in every run
    """
    stated: dict[str, list[Stated]] = {"checkpoint_step": [], "selected_on": []}
    for run in case.results.runs:
        for key, places in stated.items():
            found: dict[tuple[str | None, str], list[Stated]] = {}
            for evaluation in run.evaluations:
                if key in evaluation.document:
                    place = join(evaluation.pointer, key), evaluation.document[key]
                    found.setdefault((evaluation.benchmark, evaluation.metric), []).append(place)
            # A run evaluated at several steps states all of them; every run states the same.
            for several in found.values():
                values = list(dict.fromkeys(value for _, value in several))
                one = values[0] if len(values) == 1 else sorted(values, key=str)
                places.append((several[0][0], one))
    for key, places in stated.items():
        yield from agreement(places, key)
    if not any(len(places) > 1 for places in stated.values()):
        yield Unchecked("no two evaluations say which checkpoint they were made with")


@rule(
    "EVAL005",
    "checkpoint-step",
    ERROR,
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
        reached = evaluation.checkpoint_step
        if steps is None or reached is None:
            continue
        last = steps * run.protocol.get("inner_updates", 1)
        if reached <= last:
            yield Passed()
        else:
            pointer = join(evaluation.pointer, "checkpoint_step")
            yield Failed(pointer, "training ended before", f"at most {last}", str(reached))


MOST_EMPTY = 0.1
"""A larger share of empty answers is reported."""
_FEWEST_ANSWERS = 8
_NO_ANSWERS = "no run has per-task outcomes"


def _answers(run: Run) -> Iterator[tuple[Evaluation, AnswerCounts]]:
    """Yield the evaluations of a run that hold answers, with what became of them."""
    for evaluation in run.evaluations:
        counts = answer_counts(evaluation)
        if counts is not None and counts.drawn:
            yield evaluation, counts


@rule("EVAL008", "nothing-answered", WARNING, each=Run, missing=_NO_ANSWERS)
def nothing_answered(run: Run) -> Iterator[CheckResult]:
    """An evaluation produced no answer: every one ended in an error or has no token.

    Why
        The evaluation did not run, so its score of 0 says nothing about the model.
    Fix
        Look at the log of the evaluation, and run it again.
    Bad
        "mean_tokens": [0, 0, 0] for all tasks
    Good
        "mean_tokens": [212, 187, 240]
    """
    for evaluation, counts in _answers(run):
        if counts.nothing_drawn:
            message = f"none of {counts.drawn:,} answers came out"
            yield Failed(evaluation.pointer, message, "answers", _lost(counts))
        else:
            yield Passed()


def _lost(counts: AnswerCounts) -> str:
    parts = [f"{counts.errored:,} errored"] if counts.errored else []
    parts += [f"{counts.empty:,} empty"] if counts.empty else []
    return ", ".join(parts)


@rule("EVAL009", "all-answers-wrong", WARNING, each=Run, missing=_NO_ANSWERS)
def all_answers_wrong(run: Run) -> Iterator[CheckResult]:
    """No answer of a run is right, or none could be parsed.

    Why
        The run collapsed, or answers and scorer do not match: a broken template, another answer
        format, or a scorer that reads the wrong part.
    Fix
        Read ten answers of the run. A collapsed run stays in the study.
    Bad
        "correct": [0, 0, 0] for all tasks
    Good
        "correct": [0, 2, 1]
    """
    for evaluation, counts in _answers(run):
        if counts.nothing_drawn or counts.drawn < _FEWEST_ANSWERS:
            continue
        if counts.all_unparsed:
            yield Failed(evaluation.pointer, f"none of {counts.drawn:,} answers could be read")
        elif counts.all_wrong:
            yield Failed(evaluation.pointer, f"none of {counts.drawn:,} answers is right")
        else:
            yield Passed()


@rule(
    "EVAL010",
    "empty-answers",
    WARNING,
    each=Run,
    missing="no run records the lengths of its answers or counts the empty ones",
)
def empty_answers(run: Run) -> Iterator[CheckResult]:
    """More than a tenth of a run's answers hold nothing, or have no token.

    Why
        An empty answer counts as wrong although the model did not give it: the engine stopped, or
        the prompt was truncated.
    Fix
        Count such answers as errored, and run them again.
    Bad
        "mean_tokens": [0, 0, 212] for three tasks
    Good
        "mean_tokens": [198, 187, 212]
    """
    for evaluation, counts in _answers(run):
        if counts.empty is None or counts.nothing_drawn:
            continue
        if counts.empty > MOST_EMPTY * counts.drawn:
            message = f"{counts.empty:,} of {counts.drawn:,} answers are empty"
            name = "empty" if "empty" in evaluation.document else "mean_tokens"
            pointer = join(evaluation.pointer, name)
            yield Failed(pointer, message, f"at most {MOST_EMPTY:.0%}")
        else:
            yield Passed()


@rule(
    "EVAL011",
    "all-answers-cut-off",
    WARNING,
    each=Run,
    missing="no run counts the answers that were cut off per task",
)
def all_answers_cut_off(run: Run) -> Iterator[CheckResult]:
    """Every answer of an evaluation was cut off.

    Why
        An answer that reaches the token limit is incomplete; the score measures the limit.
    Fix
        Raise condition.max_tokens until few answers reach it.
    Bad
        "samples": [4, 4], "truncated": [4, 4]
    Good
        "samples": [4, 4], "truncated": [0, 1]
    """
    for evaluation, counts in _answers(run):
        if counts.all_cut_off:
            pointer = join(evaluation.pointer, "truncated")
            yield Failed(pointer, f"all {counts.drawn:,} answers were cut off")
        elif counts.cut_off is not None:
            yield Passed()


@rule(
    "EVAL012",
    "accuracy-described-otherwise",
    ERROR,
    each=Case,
    missing="the file does not say how to read accuracy",
)
def accuracy_described_otherwise(case: Case) -> Iterator[CheckResult]:
    """The file says how to read accuracy, and says something else than what accuracy is.

    Why
        Accuracy is a share of right answers: it lies between 0 and 1, and more is better. It is
        read so whatever the file says, and a claim made under another reading would be turned
        round.
    Fix
        Call the figure by another name, an error rate error_rate, and describe that.
    Bad
        "metrics": {"accuracy": {"scale": [0, 1], "higher_is_better": false}}
    Good
        "metrics": {"error_rate": {"scale": [0, 1], "higher_is_better": false}}
    """
    described = case.results.block("metrics").get(DEFAULT_METRIC)
    if not isinstance(described, dict):
        return
    for key, meant in (("higher_is_better", True), ("scale", [0, 1])):
        if key not in described:
            continue
        if described[key] == meant:
            yield Passed()
            continue
        place = join("/metrics", DEFAULT_METRIC, key)
        message = "accuracy is a share of right answers, whatever is said here"
        yield Failed(place, message, json.dumps(meant), json.dumps(described[key]))
