"""PRINT: what a source printed, against itself and against the runs. Never used for a verdict."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from fractions import Fraction
from math import comb, sqrt
from typing import Any

from audit.analysis.measures import Measure, arm_side, base_side, measures
from audit.claims import BASE
from audit.facts.rounding import tolerance
from audit.finding import ERROR, WARNING, Severity
from audit.pointer import join
from audit.results import DEFAULT_METRIC, Evaluation, Run
from audit.rules.case import Case
from audit.rules.check import CheckResult, Failed, Passed, Unchecked
from audit.rules.rule import rule
from audit.rules.wording import contradiction, says_moved


@rule(
    "PRINT001",
    "verdict-contradicts-interval",
    ERROR,
    each=Case,
    missing="no verdict is printed beside an interval",
)
def verdict_contradicts_interval(case: Case) -> Iterator[CheckResult]:
    """A printed verdict contradicts its printed interval.

    Why
        An interval wholly below zero is a loss, not "flat, wrong way"; one that includes zero is
        neither a gain nor a loss. The word is what gets quoted.
    Fix
        Print the word that the interval gives. In an earlier round this is a warning; in a
        comparison that the source reports it is an error.
    Bad
        "low": -0.117, "high": -0.013, "verdict": "flat (wrong way)"
    Good
        "low": -0.117, "high": -0.013, "verdict": "loss"
    """
    for pointer, entry, severity in _printed_verdicts(case):
        low, high = float(entry["low"]), float(entry["high"])
        problem = contradiction(str(entry["verdict"]), low, high)
        if problem is None:
            yield Passed()
        else:
            ends = f"[{low:+.4g}, {high:+.4g}]"
            yield Failed(pointer, f"{entry['verdict']!r} with {ends}: {problem}", severity=severity)


def _printed_verdicts(case: Case) -> Iterator[tuple[str, Mapping[str, Any], Severity]]:
    for index, entry in enumerate(case.results.block("reported").get("comparisons") or ()):
        if _whole(entry) and entry.get("verdict"):
            yield f"/reported/comparisons/{index}/verdict", entry, ERROR
    for index, entry in enumerate(case.results.items("rounds")):
        delta = entry.get("delta") or {}
        if _whole(delta) and entry.get("verdict"):
            merged = {**delta, "verdict": entry["verdict"]}
            yield f"/rounds/{index}/verdict", merged, WARNING


def _whole(entry: Mapping[str, Any]) -> bool:
    return entry.get("low") is not None and entry.get("high") is not None


@rule(
    "PRINT002",
    "verdict-not-carried",
    WARNING,
    each=Case,
    missing="no difference is printed as moved",
)
def verdict_not_carried(case: Case) -> Iterator[CheckResult]:
    """A printed verdict says that something moved, but the runs of this file do not support it.

    Why
        A verdict from one pair of runs, or from tasks alone, ignores the variation of training.
    Fix
        Print the verdict over all seeds, or none.
    Bad
        "verdict": "moved" beside three seeds per arm whose interval includes zero
    Good
        "verdict": "flat" beside them
    """
    for index, entry in enumerate(case.results.block("reported").get("comparisons") or ()):
        if not says_moved(str(entry.get("verdict") or "")):
            continue
        for comparison in case.analysis.comparisons:
            if not _about(case, entry, comparison.arm, comparison.against):
                continue
            if comparison.measure != _printed_measure(case):
                continue
            own = comparison.verdict
            if own.word in ("gain", "loss"):
                yield Passed()
            else:
                yield Failed(
                    f"/reported/comparisons/{index}/verdict",
                    f"the source printed {entry['verdict']!r}; the runs give {own.text}",
                    own.text,
                    str(entry["verdict"]),
                )


def _about(case: Case, entry: Mapping[str, Any], arm: str, against: str) -> bool:
    names = []
    for key in ("arm", "against"):
        name = entry.get(key)
        known = case.results.arm(name) if isinstance(name, str) and name != BASE else None
        names.append(known.name if known is not None else name)
    return names == [arm, against]


def _printed_measure(case: Case) -> Measure | None:
    """Return what a source's figures without a metric are about: the main metric."""
    found = [m for m in measures(case.results) if m.metric in (DEFAULT_METRIC, "pass@1")]
    return found[0] if found else None


@rule("PRINT003", "printed-interval", ERROR, each=Case)
def printed_interval(case: Case) -> Iterator[CheckResult]:
    """A printed difference lies outside its own interval, or is not the difference of the printed
    scores.

    Why
        One of the figures was copied from another run or another table.
    Fix
        Compute delta and interval from the scores that are printed.
    Bad
        "delta": 0.12, "low": 0.0, "high": 0.1
    Good
        "delta": 0.05, "low": 0.0, "high": 0.1
    """
    entries = list(_deltas(case))
    if not entries:
        yield Unchecked("no difference is printed")
    for pointer, value, entry, scores in entries:
        slack = _half_unit(value)
        outside = _whole(entry) and not (entry["low"] - slack <= value <= entry["high"] + slack)
        if outside:
            ends = f"[{entry['low']:+.4g}, {entry['high']:+.4g}]"
            yield Failed(pointer, "the difference lies outside its interval", ends, f"{value:+.4g}")
        elif scores is not None and abs(value - (scores[0] - scores[1])) > slack + sum(
            map(_half_unit, scores)
        ):
            of_scores = f"{scores[0] - scores[1]:+.4g}"
            yield Failed(pointer, "not the difference of the scores", of_scores, f"{value:+.4g}")
        else:
            yield Passed()


def _deltas(
    case: Case,
) -> Iterator[tuple[str, float, Mapping[str, Any], tuple[float, float] | None]]:
    reported = case.results.block("reported")
    arms = reported.get("arms") or {}
    for index, entry in enumerate(reported.get("comparisons") or ()):
        if entry.get("delta") is not None:
            scores = _scores(arms, entry.get("arm"), entry.get("against"))
            yield f"/reported/comparisons/{index}/delta", float(entry["delta"]), entry, scores
    for index, entry in enumerate(case.results.items("rounds")):
        delta = entry.get("delta") or {}
        if delta.get("value") is not None:
            yield f"/rounds/{index}/delta/value", float(delta["value"]), delta, None


def _scores(arms: Mapping[str, Any], arm: Any, against: Any) -> tuple[float, float] | None:
    first = (arms.get(arm) or {}).get("score")
    second = (arms.get(against) or {}).get("score")
    return None if first is None or second is None else (float(first), float(second))


def _half_unit(value: float) -> float:
    """Return half a unit of the last printed decimal; JSON drops trailing zeros, so two at least.

    A figure with more than eight decimals was computed, not printed.
    """
    text = repr(float(value))
    decimals = len(text.partition(".")[2]) if "e" not in text else 9
    return 1e-9 if decimals > 8 else 0.5 * 10.0 ** -max(decimals, 2)


@rule("PRINT004", "printed-score", ERROR, each=Case)
def printed_score(case: Case) -> Iterator[CheckResult]:
    """A printed score of an arm is not the mean of its runs.

    Why
        A score of one run of several, or of runs that are not in the file, says nothing about
        the recipe.
    Fix
        Print the mean over all runs, and how many there are.
    Bad
        "score": 0.4025 for runs that score 0.4025, 0.145 and 0.3475
    Good
        "score": 0.2983, "seeds": 3
    """
    measure = _printed_measure(case)
    arms = case.results.block("reported").get("arms") or {}
    if measure is None or not arms:
        yield Unchecked("no score is printed")
        return
    for name, entry in arms.items():
        pointer = join("/reported/arms", name)
        scores = _run_scores(case, name, measure)
        printed = entry.get("score")
        if printed is None or not scores:
            yield Unchecked("no run of it is in the file", pointer)
            continue
        yield _against_runs(pointer + "/score", float(printed), scores)


def _run_scores(case: Case, name: str, measure: Measure) -> list[float]:
    arm = case.results.arm(name) if name != BASE else None
    if arm is None and name != BASE:
        return []
    side = base_side(case.results, measure) if arm is None else arm_side(case.results, arm, measure)
    return [float(run.score) for run in side.runs if run.score is not None]


def _against_runs(pointer: str, printed: float, scores: list[float]) -> CheckResult:
    slack = _half_unit(printed)
    mean = sum(scores) / len(scores)
    # Runs that are themselves rounded to the digits of the finest have a mean as far off.
    if abs(printed - mean) <= slack + min(map(_half_unit, scores)) + 1e-12:
        return Passed()
    if any(abs(printed - score) <= slack + 1e-12 for score in scores):
        message = f"the score of one run; the mean of the {len(scores)} runs is another"
        return Failed(pointer, message, f"{mean:.4f}", f"{printed:.4g}", WARNING)
    message = f"neither the mean nor the score of one of the {len(scores)} runs"
    return Failed(pointer, message, f"{mean:.4f}", f"{printed:.4g}")


@rule("PRINT005", "printed-run-std", ERROR, each=Case)
def printed_run_std(case: Case) -> Iterator[CheckResult]:
    """A printed standard deviation of re-evaluations is not that of the evaluations in the file.

    Why
        With n instead of n - 1 in the denominator three evaluations look 18% closer than they
        are, and the noise floor with them.
    Fix
        Divide by n - 1 (ddof=1; numpy divides by n unless told).
    Bad
        "run_std": 0.0071 for 0.335, 0.340 and 0.352
    Good
        "run_std": 0.0087
    """
    reported = case.results.block("reported")
    printed, measure = reported.get("run_std"), _printed_measure(case)
    runs = [] if measure is None else base_side(case.results, measure).runs
    scores = [float(run.score) for run in runs if run.score is not None]
    if printed is None:
        yield Unchecked("no standard deviation of re-evaluations is printed")
        return
    if len(scores) < 2:
        yield Unchecked("the re-evaluations behind it are not in the file", "/reported/run_std")
        return
    pointer, slack = "/reported/run_std", _half_unit(printed) + 1e-12
    mean = sum(scores) / len(scores)
    squares = sum((score - mean) ** 2 for score in scores)
    right, wrong = sqrt(squares / (len(scores) - 1)), sqrt(squares / len(scores))
    if abs(printed - right) <= slack:
        yield Passed()
    elif abs(printed - wrong) <= slack:
        yield Failed(pointer, "divided by n instead of n - 1", f"{right:.6g}", f"{printed:.6g}")
    else:
        message = f"not the standard deviation of the {len(scores)} evaluations"
        yield Failed(pointer, message, f"{right:.6g}", f"{printed:.6g}")
    count = reported.get("run_std_runs")
    if count is not None and count != len(scores):
        message = "not the number of evaluations in the file"
        yield Failed("/reported/run_std_runs", message, str(len(scores)), str(count))


@rule("PRINT006", "impossible-pass-at-k", ERROR, each=Case, missing="no pass@k is recorded")
def impossible_pass_at_k(case: Case) -> Iterator[CheckResult]:
    """A pass@k is smaller than pass@1, or k is larger than the number of answers drawn.

    Why
        One of k answers is right at least as often as the first. With fewer than k answers per task
        pass@k cannot be estimated without bias.
    Fix
        Compute it as 1 - C(n - c, k) / C(n, k) from n answers with c right, n at least k.
    Bad
        "score": 0.52, "pass_at_k": 0.47
    Good
        "score": 0.52, "pass_at_k": 0.74
    """
    for name, entry in (case.results.block("reported").get("arms") or {}).items():
        if entry.get("score") is not None and entry.get("pass_at_k") is not None:
            place = join("/reported/arms", name) + "/pass_at_k"
            yield _not_below(place, float(entry["pass_at_k"]), float(entry["score"]))
    for run in case.results.runs:
        for key, value in sorted(run.metrics.items()):
            match = re.fullmatch(r"pass[@_](?:at_)?([1-9][0-9]*)", key)
            if match is None or not isinstance(value, int | float) or match[1] == "1":
                continue
            place = join(run.pointer + "/method_metrics", key)
            drawn = [k for e in run.evaluations for k in e.samples or ()]
            if drawn and min(drawn) < int(match[1]):
                yield Failed(
                    place, "more than the answers drawn", f"at most {min(drawn)}", match[1]
                )
            elif run.metrics.get(DEFAULT_METRIC) is not None:
                yield _not_below(place, float(value), float(run.metrics[DEFAULT_METRIC]))


def _not_below(pointer: str, at_k: float, at_1: float) -> CheckResult:
    if at_k + _half_unit(at_k) + _half_unit(at_1) < at_1:
        return Failed(pointer, "pass@k is below pass@1", f"at least {at_1:.4g}", f"{at_k:.4g}")
    return Passed()


# pass@k and best@k: any of k answers is right; pass^k: all of them are.
_OF_K = re.compile(r"(pass|best)(@|_at_|\^)([1-9][0-9]*)")


@rule(
    "PRINT007",
    "recomputed-pass-at-k",
    ERROR,
    each=Run,
    missing="no pass@k is printed beside counts of answers",
)
def recomputed_pass_at_k(run: Run) -> Iterator[CheckResult]:
    """A printed pass@k is not the one that the counts of answers give.

    Why
        Drawing k of the n answers with replacement, or plugging the rate into 1 - (1 - p)^k, gives
        another quantity: both are biased where n is not much larger than k.
    Fix
        Compute 1 - C(n - c, k) / C(n, k) from n answers with c right, and average over the tasks;
        for pass^k the share of subsets in which all are right, C(c, k) / C(n, k).
    Bad
        "pass@4": 0.751 beside four answers per task of which one is right in 0.792 of the tasks
    Good
        "pass@4": 0.792 beside the same counts
    """
    counted = [e for e in run.evaluations if e.counts is not None and e.samples]
    if len(counted) != 1:
        return
    (evaluation,) = counted
    places = [(f"{run.pointer}/method_metrics", run.metrics)]
    places.append((evaluation.pointer, evaluation.document))
    for place, block in places:
        printed = {name: value for name, value in block.items() if _OF_K.fullmatch(name)}
        for name, value in sorted(printed.items()):
            expected = _of_k(name, evaluation)
            if expected is None or not isinstance(value, int | float):
                continue
            # Divided in decimals: 64.7 per cent are 0.647, rounded to 0.001.
            share = float(Fraction(repr(float(value))) / 100) if value > 1 else float(value)
            if abs(share - expected) <= tolerance([share], 1.0):
                yield Passed()
            else:
                message = "not what the counts of answers give"
                yield Failed(join(place, name), message, f"{expected:.6g}", f"{share:.6g}")


def _of_k(name: str, evaluation: Evaluation) -> float | None:
    """Return a printed quantity from counts of answers; None where they do not determine it."""
    match = _OF_K.fullmatch(name)
    counts, samples = evaluation.counts or [], evaluation.samples or []
    cells = Counter((int(c), int(n)) for c, n in zip(counts, samples, strict=False) if n)
    if match is None or not cells:
        return None
    k, every = int(match[3]), match[2] == "^"
    if any(n < k or c > n for c, n in cells):
        return None
    rates = (  # many tasks have the same counts
        tasks * Fraction(comb(c, k) if every else comb(n, k) - comb(n - c, k), comb(n, k))
        for (c, n), tasks in cells.items()
    )
    return float(sum(rates, Fraction(0)) / cells.total())
