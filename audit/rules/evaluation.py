"""EVAL: the totals of an evaluation, what they can be and whether all arms had the same."""

from __future__ import annotations

from collections.abc import Iterator

from audit.finding import Severity
from audit.pointer import join
from audit.results import Results
from audit.rules.agreement import Stated, agreement
from audit.rules.measurements import Measurement, all_evaluations, all_measurements
from audit.rules.rounding import tolerance
from audit.rules.rule import Case, Found, Held, Outcome, Rule, Skipped


def impossible_accuracy(case: Case) -> Iterator[Outcome]:
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
    measured = [m for m in all_measurements(case.results) if "accuracy" in m.totals]
    peers = [float(m.totals["accuracy"]) for m in measured]
    near = tolerance(peers, 1.0)
    skipped: dict[str, str] = {}
    for measurement in measured:
        if measurement.evaluation is not None and measurement.evaluation.per_task:
            continue  # held against the outcomes themselves
        outcome = _share(measurement, near)
        if isinstance(outcome, Skipped):
            skipped.setdefault(outcome.reason, outcome.pointer)
        else:
            yield outcome
    for reason, pointer in skipped.items():
        yield Skipped(reason, pointer)
    if not measured:
        yield Skipped("no accuracy is recorded as a total")


def _share(measurement: Measurement, near: float) -> Outcome:
    pointer, drawn = join(measurement.pointer, "accuracy"), measurement.responses
    if not drawn:
        return Skipped("the number of examples is not recorded", measurement.pointer)
    accuracy = measurement.totals["accuracy"]
    right = round(accuracy * drawn)
    if 2 * near * drawn >= 1:
        return Skipped(f"rounded too far to tell with {drawn} answers", pointer)
    if abs(accuracy - right / drawn) <= near:
        return Held()
    message = f"{accuracy!r} of {drawn} answers is no whole number of right ones"
    return Found(pointer, message, f"{right}/{drawn} = {right / drawn!r}", repr(accuracy))


def truncated_count(case: Case) -> Iterator[Outcome]:
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
    compared = False
    for measurement in all_measurements(case.results):
        truncated, drawn = measurement.totals.get("truncated_responses"), measurement.responses
        if truncated is None or drawn is None:
            continue
        compared = True
        if truncated <= drawn:
            yield Held()
        else:
            pointer = join(measurement.pointer, "truncated_responses")
            yield Found(pointer, "more than were drawn", f"at most {drawn}", str(truncated))
    if not compared:
        yield Skipped("no evaluation counts its responses and those cut off")


def token_bounds(case: Case) -> Iterator[Outcome]:
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
    compared = False
    for measurement in all_measurements(case.results):
        bounds = _bounds(measurement)
        if bounds is None:
            continue
        compared = True
        low, high = bounds
        tokens = measurement.totals["generated_tokens"]
        if low <= tokens <= high:
            yield Held()
        else:
            pointer = join(measurement.pointer, "generated_tokens")
            message = "more or fewer tokens than the responses can hold"
            yield Found(pointer, message, f"{low} to {high}", str(tokens))
    if not compared:
        yield Skipped("no evaluation records tokens, responses and the limit of a response")


def _bounds(measurement: Measurement) -> tuple[int, int] | None:
    drawn, limit = measurement.responses, measurement.limit
    if "generated_tokens" not in measurement.totals or drawn is None or limit is None:
        return None
    right = round(measurement.totals.get("accuracy", 0.0) * drawn)  # an answer takes a token
    return max((measurement.truncated or 0) * limit, right), drawn * limit


def evaluation_set(case: Case) -> Iterator[Outcome]:
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
    stated = _stated_sets(case.results)
    for what, places in stated.items():
        yield from agreement(places, what)
    if not any(len(places) > 1 for places in stated.values()):
        yield Skipped("no two evaluations say on what they were made")


def _stated_sets(results: Results) -> dict[str, list[Stated]]:
    stated: dict[str, list[Stated]] = {}
    for measurement in all_measurements(results):
        if "examples" in measurement.totals:
            place = (join(measurement.pointer, "examples"), measurement.totals["examples"])
            stated.setdefault("the number of examples", []).append(place)
    for evaluation in all_evaluations(results):
        own = evaluation.pointer.endswith("/evaluation")
        group = "" if own else f" of {evaluation.benchmark}, {evaluation.metric},"
        for key in ("benchmark", "metric", "split") if own else ("split",):
            if key in evaluation.document:
                place = (join(evaluation.pointer, key), evaluation.document[key])
                stated.setdefault(f"the {key}{group}", []).append(place)
    return stated


def benchmark_sets(case: Case) -> Iterator[Outcome]:
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
        yield Skipped("no two runs name their benchmarks")


def checkpoint_choice(case: Case) -> Iterator[Outcome]:
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
        yield Skipped("no two evaluations say which checkpoint they were made with")


def checkpoint_step(case: Case) -> Iterator[Outcome]:
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
    compared = False
    for run in case.results.runs:
        steps = run.protocol.get("steps")
        for evaluation in run.evaluations:
            reached = evaluation.document.get("checkpoint_step")
            if steps is None or reached is None:
                continue
            compared = True
            last = steps * run.protocol.get("inner_updates", 1)
            if reached <= last:
                yield Held()
            else:
                pointer = join(evaluation.pointer, "checkpoint_step")
                yield Found(pointer, "training ended before", f"at most {last}", str(reached))
    if not compared:
        yield Skipped("no run records its steps and the checkpoint that was evaluated")


RULES = (
    Rule("EVAL001", "impossible-accuracy", Severity.ERROR, impossible_accuracy),
    Rule("EVAL002", "truncated-count", Severity.ERROR, truncated_count),
    Rule("EVAL003", "token-bounds", Severity.ERROR, token_bounds),
    Rule("EVAL004", "evaluation-set", Severity.ERROR, evaluation_set),
    Rule("EVAL005", "checkpoint-step", Severity.ERROR, checkpoint_step),
    Rule("EVAL006", "benchmark-sets", Severity.WARNING, benchmark_sets),
    Rule("EVAL007", "checkpoint-choice", Severity.WARNING, checkpoint_choice),
)
