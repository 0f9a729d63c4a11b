"""TASK: per-task outcomes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from audit.column import total
from audit.facts.measurements import Measurement
from audit.facts.rounding import DOUBLE, decimals, tolerance
from audit.finding import ERROR, WARNING
from audit.pointer import join
from audit.results import Evaluation
from audit.rules.agreement import Stated, agreement, shown
from audit.rules.case import Case
from audit.rules.check import CheckResult, Failed, Passed, Unchecked
from audit.rules.rule import rule

_LISTS = (
    "task_ids",
    "correct",
    "samples",
    "scores",
    "errored",
    "truncated",
    "unparsed",
    "mean_tokens",
    "mean_seconds",
    "empty",
    "clusters",
)
_NO_OUTCOMES = "no per-task outcomes are recorded"


def _lists(evaluation: Evaluation) -> dict[str, list[Any]]:
    return {name: evaluation.document[name] for name in _LISTS if name in evaluation.document}


@rule("TASK001", "list-lengths", ERROR, each=Evaluation, missing=_NO_OUTCOMES)
def list_lengths(evaluation: Evaluation) -> Iterator[CheckResult]:
    """The lists of an evaluation have different lengths.

    Why
        Entry i of each list belongs to task i; with one entry missing, all later ones belong to the
        wrong task.
    Fix
        Write one entry per task into every list, 0 included.
    Bad
        "correct": [1, 0], "samples": [4, 4, 4]
    Good
        "correct": [1, 0, 2], "samples": [4, 4, 4]
    """
    lengths = {name: len(entries) for name, entries in _lists(evaluation).items()}
    if len(lengths) < 2:
        return
    usual, count = Counter(lengths.values()).most_common(1)[0]
    yield Passed(count - 1)
    for name, length in lengths.items():
        if length != usual:
            pointer = join(evaluation.pointer, name)
            yield Failed(pointer, "not one entry per task", str(usual), str(length))


@rule(
    "TASK002",
    "counts-exceed-samples",
    ERROR,
    each=Evaluation,
    needs=("samples",),
    missing="no evaluation counts answers and samples per task",
)
def counts_exceed_samples(evaluation: Evaluation) -> Iterator[CheckResult]:
    """A task has more right, failed or cut-off answers than answers in all.

    Why
        The counts are not of the same draws, and the task's rate is above 1 or below 0.
    Fix
        Count right, errored, unparsed and truncated among the samples of the task; errored and
        unparsed ones count as wrong.
    Bad
        "correct": [5], "samples": [4]
    Good
        "correct": [3], "samples": [4]
    """
    lists, samples = _lists(evaluation), evaluation.samples or []
    for name in ("correct", "errored", "unparsed", "truncated"):
        right = None if name in ("correct", "truncated") else lists.get("correct")
        if lists.get(name):
            yield from _exceeding(evaluation, name, lists[name], right, samples)


def _exceeding(
    evaluation: Evaluation,
    name: str,
    counts: list[int],
    right: list[int] | None,
    samples: list[int],
) -> Iterator[CheckResult]:
    import numpy as np

    right = right or []
    tasks = min(map(len, (counts, right or counts, samples)))
    count, drawn = (np.asarray(values)[:tasks] for values in (counts, samples))
    taken = np.asarray(right)[:tasks] if right else 0
    exceeding = ((count != 0) & (count + taken > drawn)).nonzero()[0].tolist()
    for index in exceeding:
        left = max(samples[index] - (right[index] if right else 0), 0)
        room = f"at most {left} of {samples[index]} samples"
        pointer = join(evaluation.pointer, name, index)
        yield Failed(pointer, f"too many {name}", room, str(counts[index]))
    yield Passed(tasks - len(exceeding))


@rule("TASK003", "duplicate-task", ERROR, each=Evaluation, needs=("task_ids",))
def duplicate_task(evaluation: Evaluation) -> Iterator[CheckResult]:
    """Duplicate task in one evaluation.

    Why
        The task counts twice, and outcomes can no longer be paired by task.
    Fix
        One entry per task, with its samples added up.
    Bad
        "task_ids": ["gsm8k/1", "gsm8k/1"]
    Good
        "task_ids": ["gsm8k/1", "gsm8k/2"]
    """
    ids = evaluation.task_ids or ()
    if len(evaluation.task_set) == len(ids):
        yield Passed()
        return
    seen: set[str] = set()
    for index, task in enumerate(ids):
        if task in seen:
            pointer = join(evaluation.pointer, "task_ids", index)
            yield Failed(pointer, "the task is listed before", "once", shown(task))
        seen.add(task)


# Up to this share of tasks may be missing: they are then counted both ways when arms are compared.
_MOST_MISSING = 0.05


@rule("TASK004", "task-sets", ERROR, each=Case, missing="no two evaluations name their tasks")
def task_sets(case: Case) -> Iterator[CheckResult]:
    """Two evaluations of one benchmark have different tasks.

    Why
        Leaving out a few hard tasks raises a score as well as training does.
    Fix
        Evaluate all runs on the same tasks; record a task that could not be run as errored.
    Bad
        task_ids of one run without "gsm8k/7"
    Good
        the same task_ids in all runs
    """
    groups: dict[tuple[str | None, str], list[tuple[Evaluation, frozenset[str]]]] = {}
    for evaluation in case.evaluations:
        if evaluation.task_ids is not None:
            entry = (evaluation, evaluation.task_set)
            groups.setdefault((evaluation.benchmark, evaluation.metric), []).append(entry)
    for members in groups.values():
        if all(tasks is members[0][1] for _, tasks in members):
            yield Passed(len(members) - 1)
            continue
        usual, count = Counter(tasks for _, tasks in members).most_common(1)[0]
        yield Passed(count - 1)
        for evaluation, tasks in members:
            if tasks != usual:
                yield _odd_tasks(evaluation, tasks, usual)


def _odd_tasks(evaluation: Evaluation, tasks: frozenset[str], usual: frozenset[str]) -> Failed:
    lacking, further = sorted(usual - tasks), sorted(tasks - usual)
    mild = len(lacking) + len(further) <= _MOST_MISSING * len(usual)
    parts = [
        f"{len(names)} {word} ({', '.join(names[:3])}{', …' if len(names) > 3 else ''})"
        for word, names in (("missing", lacking), ("further", further))
        if names
    ]
    return Failed(
        join(evaluation.pointer, "task_ids"),
        f"other tasks than in the other evaluations: {', '.join(parts)}",
        f"{len(usual)} tasks",
        f"{len(tasks)} tasks",
        WARNING if mild else ERROR,
    )


def _by_task(case: Case, name: str, what: str) -> Iterator[CheckResult]:
    """Hold one list's entry of each task against the other evaluations of the benchmark."""
    groups: dict[tuple[str | None, str], list[Evaluation]] = {}
    for evaluation in case.evaluations:
        if evaluation.task_ids is not None and name in evaluation.document:
            metric = "" if name == "clusters" else evaluation.metric
            groups.setdefault((evaluation.benchmark, metric), []).append(evaluation)
    compared = [members for members in groups.values() if len(members) > 1]
    for members in compared:
        yield from _entries_agree(members, name, what)
    if not compared:
        yield Unchecked(f"no two evaluations of named tasks record {name}")


def _entries_agree(members: list[Evaluation], name: str, what: str) -> Iterator[CheckResult]:
    first = members[0].document
    keys = ("task_ids", name)
    if all(m.document[key] == first[key] for m in members[1:] for key in keys):
        yield Passed(len(first[name]))  # the usual case, at the speed of comparing lists
        return
    stated: dict[str, list[Stated]] = {}
    for evaluation in members:
        ids, entries = evaluation.task_ids or (), evaluation.document[name]
        for index, (task, entry) in enumerate(zip(ids, entries, strict=False)):
            stated.setdefault(task, []).append((join(evaluation.pointer, name, index), entry))
    for task, places in stated.items():
        yield from agreement(places, f"{what} {task}")


@rule("TASK008", "task-clusters", ERROR, each=Case)
def task_clusters(case: Case) -> Iterator[CheckResult]:
    """A task belongs to different clusters in different evaluations.

    Why
        Tasks of one cluster are not independent; with clusters mixed up the interval is too narrow.
    Fix
        Derive the cluster from the task, once.
    Bad
        gsm8k/1 in cluster "a" in one run, in "b" in the others
    Good
        one cluster per task
    """
    return _by_task(case, "clusters", "the cluster of")


@rule("TASK009", "unequal-samples", WARNING, each=Case)
def unequal_samples(case: Case) -> Iterator[CheckResult]:
    """A task was sampled more often in one evaluation than in the others.

    Why
        Sampling until a task is solved, or dropping failed samples, raises a score.
    Fix
        Draw the same number of answers for a task everywhere; count failed draws as errored.
    Bad
        4 samples of a task in five runs, 3 in the sixth
    Good
        4 samples of every task in every run
    """
    return _by_task(case, "samples", "the number of samples of")


@rule(
    "TASK005", "score-scale", ERROR, each=Case, missing="no evaluation has scores on a known scale"
)
def score_scale(case: Case) -> Iterator[CheckResult]:
    """A score lies outside its metric's scale.

    Why
        Percentages are mixed with fractions, or the metric is not what its name says.
    Fix
        Give the scale in metrics.<name>.scale, and all scores on it.
    Bad
        "scores": [0.5, 75.0] for accuracy
    Good
        "scores": [0.5, 0.75]
    """
    scales = {"accuracy": (0, 1)}
    for name, entry in case.results.block("metrics").items():
        if "scale" in entry:
            scales[name] = tuple(entry["scale"])
    for evaluation in case.evaluations:
        scale = scales.get(evaluation.metric)
        if evaluation.scores is None or scale is None:
            continue
        low = float("-inf") if scale[0] is None else scale[0]
        high = float("inf") if scale[1] is None else scale[1]
        outside = [i for i, score in enumerate(evaluation.scores) if not low <= score <= high]
        yield Passed(len(evaluation.scores) - len(outside))
        for index in outside:
            pointer = join(evaluation.pointer, "scores", index)
            actual = repr(evaluation.scores[index])
            yield Failed(pointer, "outside the metric's scale", f"{low} to {high}", actual)


@rule(
    "TASK006",
    "totals-of-outcomes",
    ERROR,
    each=Case,
    missing="no evaluation has both totals and per-task outcomes",
)
def totals_of_outcomes(case: Case) -> Iterator[CheckResult]:
    """A total is not what the per-task outcomes add up to.

    Why
        One of the two belongs to another evaluation; the total is what gets quoted.
    Fix
        Compute the totals from the lists when the file is written.
    Bad
        "accuracy": 0.8 with correct [1, 0] of samples [2, 2]
    Good
        "accuracy": 0.25 with correct [1, 0] of samples [2, 2]
    """
    measured = [m for m in case.measurements if m.evaluation is not None]
    peers = [
        float(m.totals[m.evaluation.metric])
        for m in measured
        if m.evaluation is not None and m.totals.get(m.evaluation.metric) is not None
    ]
    for measurement in measured:
        for name, exact, near in _sums(measurement, tolerance(peers, 1.0)):
            recorded = measurement.totals.get(name)
            if recorded is None:
                continue
            if any(abs(recorded - value) <= near for value in exact):
                yield Passed()
            else:
                pointer = join(measurement.pointer, name)
                message = "the per-task outcomes give another figure"
                yield Failed(pointer, message, repr(exact[0]), repr(recorded))


def _sums(measurement: Measurement, near: float) -> Iterator[tuple[str, list[float], float]]:
    """Yield a total's name, what it may be (both weightings of tasks), and the tolerance."""
    evaluation = measurement.evaluation
    if evaluation is None:
        return
    lists = _lists(evaluation)
    if evaluation.mean is not None:
        yield evaluation.metric, [evaluation.mean, *_pooled(lists)], near
    if "samples" in lists:
        yield "examples", [total(lists["samples"])], 0.0
    elif lists.get("scores"):  # a score may be a mean of any number of answers, the same a task
        tasks, answers = len(lists["scores"]), measurement.totals.get("examples") or 0
        yield "examples", [max(round(answers / tasks), 1) * tasks], 0.0
    if "truncated" in lists:
        yield "truncated_responses", [sum(lists["truncated"])], 0.0
    tokens = measurement.tokens_by_task
    if tokens is not None:
        unit = 10.0 ** -max(map(decimals, lists["mean_tokens"]), default=0)
        rounding = 0.5 * unit * sum(lists["samples"])
        yield "generated_tokens", [tokens], rounding + DOUBLE * tokens


def _pooled(lists: dict[str, list[Any]]) -> list[float]:
    drawn = total(lists.get("samples", []))
    return [total(lists["correct"]) / drawn] if drawn and "correct" in lists else []


@rule(
    "TASK007", "per-task-outcomes-missing", WARNING, each=Case, missing="there is no finished run"
)
def outcomes_missing(case: Case) -> Iterator[CheckResult]:
    """There are no per-task outcomes, only one score per run.

    Why
        Without them nothing separates the noise of the evaluation from that of training, nor says
        how far the result holds on new tasks; intervals then rest on the runs' scores alone.
    Fix
        Record evaluation.task_ids with correct and samples (or scores) in every run.
    Bad
        "method_metrics": {"accuracy": 0.75, "examples": 8} alone
    Good
        "evaluation": {"task_ids": […], "correct": […], "samples": […]}
    """
    runs = [run for arm in case.results.arms for run in arm.finished]
    lacking = [run for run in runs if not any(e.per_task for e in run.evaluations)]
    yield Passed(len(runs) - len(lacking))
    if lacking:
        message = f"no per-task outcomes in {len(lacking)} of {len(runs)} finished runs"
        yield Failed(lacking[0].pointer, message, "correct and samples, or scores")
