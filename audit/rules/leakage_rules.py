"""LEAK: whether the test set, or its answers, reached training or selection."""

from __future__ import annotations

from collections.abc import Iterator

from audit.facts.conditions import selected_here
from audit.finding import ERROR, WARNING
from audit.pointer import join
from audit.results import Evaluation, Results
from audit.rules.agreement import Stated, agreement, owners
from audit.rules.case import Case
from audit.rules.check import CheckResult, Failed, Passed
from audit.rules.rule import rule

_NO_FLAG = "the file has no flag that says so"


def _flags(results: Results, in_dataset: str, in_protocol: str, in_checks: str) -> list[Stated]:
    """Return every place that holds one of three names of the same fact."""
    names = (("dataset", in_dataset), ("protocol", in_protocol), ("execution_checks", in_checks))
    return [
        (join(pointer, block, name), owner[block][name])
        for pointer, owner in owners(results)
        for block, name in names
        if name in (owner.get(block) or {})
    ]


def _test_flags(results: Results) -> list[Stated]:
    return _flags(results, "test_read", "test_opened", "official_test_read")


def _gold_flags(results: Results) -> list[Stated]:
    return _flags(results, "gold_in_generation", "gold_in_generation", "gold_in_policy")


def _raised(flags: list[Stated], message: str) -> Iterator[CheckResult]:
    if not flags:
        return
    raised = [pointer for pointer, flag in flags if flag]
    yield Passed(len(flags) - len(raised))
    if raised:
        places = f" ({len(raised)} of {len(flags)} flags say so)" if len(flags) > 1 else ""
        yield Failed(raised[0], message + places, "false", "true")


@rule("LEAK001", "test-split-read", WARNING, each=Case, missing=_NO_FLAG)
def test_split_read(case: Case) -> Iterator[CheckResult]:
    """The test split was opened while the study was made.

    Why
        What is seen during a study steers it; the test split then measures how well the study was
        tuned to it.
    Fix
        Develop on a split of the training data, and open the test split once, at the end.
    Bad
        "test_read": true
    Good
        "test_read": false
    """
    return _raised(_test_flags(case.results), "the test split was read")


@rule("LEAK002", "gold-in-generation", ERROR, each=Case, missing=_NO_FLAG)
def gold_in_generation(case: Case) -> Iterator[CheckResult]:
    """The policy was shown the reference answers.

    Why
        It then learns to copy an answer that it will not have later.
    Fix
        Give the answers to the reward only.
    Bad
        "gold_in_generation": true
    Good
        "gold_in_generation": false
    """
    return _raised(_gold_flags(case.results), "the policy saw the reference answers")


@rule(
    "LEAK003",
    "selected-on-test",
    ERROR,
    each=Case,
    missing="the file does not say on what data checkpoints were chosen",
)
def selected_on_test(case: Case) -> Iterator[CheckResult]:
    """The checkpoint was chosen on the data it is judged by.

    Why
        The best of several checkpoints scores too well on the data it was chosen on.
    Fix
        Choose the checkpoint beforehand or on another split, and name that split in selected_on.
    Bad
        "split": "test", "selected_on": "test"
    Good
        "split": "test", "selected_on": "validation"
    """
    flag = case.results.block("evaluation_protocol").get("test_used_for_selection")
    if flag:
        pointer = "/evaluation_protocol/test_used_for_selection"
        yield Failed(pointer, "the test split was used for selection", "false", "true")
    elif flag is not None:
        yield Passed()
    for evaluation in case.evaluations:
        here = selected_here(evaluation)
        if here:
            yield _selected(evaluation)
        elif here is not None:
            yield Passed()


def _selected(evaluation: Evaluation) -> Failed:
    chosen, split = (str(evaluation.document.get(key)) for key in ("selected_on", "split"))
    on_test = "test" in chosen.lower()
    where = "a test split" if on_test and chosen != split else "the data it is judged by"
    return Failed(
        join(evaluation.pointer, "selected_on"),
        f"the checkpoint was chosen on {where}",
        "another split",
        chosen,
        None if on_test else WARNING,
    )


@rule(
    "LEAK004", "leakage-flags", ERROR, each=Case, missing="no such flag is recorded in two places"
)
def leakage_flags(case: Case) -> Iterator[CheckResult]:
    """Flags about the same leakage contradict each other.

    Why
        A run that says the test split was opened outweighs a header that says it was not.
    Fix
        Find out which is right, and set all of them from the same program.
    Bad
        "test_read": false in the dataset block, "test_opened": true in the protocol
    Good
        both false
    """
    yield from agreement(_test_flags(case.results), "whether the test split was read")
    yield from agreement(_gold_flags(case.results), "whether the policy saw the answers")


@rule(
    "LEAK005",
    "holdout-counts",
    ERROR,
    each=Case,
    missing="no check of the overlap between training and evaluation is recorded",
)
def holdout_counts(case: Case) -> Iterator[CheckResult]:
    """The decontamination counts are impossible.

    Why
        More rows dropped than there were, or more tasks judged than held out: the counts are of
        other sets, and the overlap between training and evaluation is not known.
    Fix
        Record the counts of the run of the overlap check that this study used.
    Bad
        "train_rows": 512, "dropped": 600
    Good
        "train_rows": 512, "dropped": 0
    """
    holdout = case.results.block("holdout")
    rows, dropped = holdout.get("train_rows"), holdout.get("dropped")
    if rows is not None and dropped is not None:
        if dropped <= rows:
            yield Passed()
        else:
            message = "more rows dropped than there were"
            yield Failed("/holdout/dropped", message, f"at most {rows}", str(dropped))
    held_out = holdout.get("holdout_rows")
    judged = max((len(e.task_ids) for e in case.evaluations if e.task_ids is not None), default=0)
    if held_out is not None and judged:
        if judged <= held_out:
            yield Passed()
        else:
            message = "fewer than the tasks of an evaluation"
            yield Failed("/holdout/holdout_rows", message, f"{judged} or more", str(held_out))
