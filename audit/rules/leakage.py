"""LEAK: whether the test set, or its answers, reached training or selection."""

from __future__ import annotations

from collections.abc import Iterator

from audit.finding import Severity
from audit.pointer import join
from audit.results import Results
from audit.rules.agreement import Stated, agreement, owners
from audit.rules.measurements import all_evaluations
from audit.rules.rule import Case, Found, Held, Outcome, Rule, Skipped

_NOT_SELECTED = frozenset({"", "none"})


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


def _raised(flags: list[Stated], message: str) -> Iterator[Outcome]:
    raised = [pointer for pointer, flag in flags if flag]
    yield Held(len(flags) - len(raised))
    if raised:
        places = f" ({len(raised)} of {len(flags)} flags say so)" if len(flags) > 1 else ""
        yield Found(raised[0], message + places, "false", "true")
    if not flags:
        yield Skipped("the file has no flag that says so")


def test_split_read(case: Case) -> Iterator[Outcome]:
    """The test split was opened while the study was made.

    Why
        What is seen during a study steers it; the test split then measures memory, not learning.
    Fix
        Develop on a split of the training data, and open the test split once, at the end.
    Bad
        "test_read": true
    Good
        "test_read": false
    """
    return _raised(_test_flags(case.results), "the test split was read")


def gold_in_generation(case: Case) -> Iterator[Outcome]:
    """The reference answers were in what the policy was given.

    Why
        The policy then learns to copy an answer that it will not have.
    Fix
        Keep the answers to the reward.
    Bad
        "gold_in_generation": true
    Good
        "gold_in_generation": false
    """
    return _raised(_gold_flags(case.results), "the policy saw the reference answers")


def selected_on_test(case: Case) -> Iterator[Outcome]:
    """The checkpoint was chosen on the data it is judged by.

    Why
        The best of several checkpoints on a split is too good on that split by construction.
    Fix
        Choose the checkpoint beforehand or on another split, and say which in selected_on.
    Bad
        "split": "test", "selected_on": "test"
    Good
        "split": "test", "selected_on": "validation"
    """
    flag = case.results.block("evaluation_protocol").get("test_used_for_selection")
    compared = flag is not None
    if flag:
        pointer = "/evaluation_protocol/test_used_for_selection"
        yield Found(pointer, "the test split was used for selection", "false", "true")
    elif compared:
        yield Held()
    for evaluation in all_evaluations(case.results):
        chosen, split = evaluation.document.get("selected_on"), evaluation.document.get("split")
        if chosen is None:
            continue
        compared = True
        same = chosen == split and chosen.lower() not in _NOT_SELECTED
        if same or "test" in chosen.lower():
            message = "the checkpoint was chosen on the split it is judged by"
            if not same:
                message = "the checkpoint was chosen on a test split"
            severity = None if "test" in chosen.lower() else Severity.WARNING
            pointer = join(evaluation.pointer, "selected_on")
            yield Found(pointer, message, "another split", chosen, severity)
        else:
            yield Held()
    if not compared:
        yield Skipped("the file does not say on what checkpoints were chosen")


def leakage_flags(case: Case) -> Iterator[Outcome]:
    """Flags that state one fact about leakage contradict.

    Why
        A run that says the test split was opened outweighs a header that says it was not.
    Fix
        Find out which is right, and set all of them from the program that knows.
    Bad
        "test_read": false in the dataset block, "test_opened": true in the protocol
    Good
        both false
    """
    compared = False
    for flags, what in (
        (_test_flags(case.results), "whether the test split was read"),
        (_gold_flags(case.results), "whether the policy saw the answers"),
    ):
        compared = compared or len(flags) > 1
        yield from agreement(flags, what)
    if not compared:
        yield Skipped("no flag stands more than once")


def holdout_counts(case: Case) -> Iterator[Outcome]:
    """The counts of the decontamination cannot be.

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
    if not holdout:
        yield Skipped("no check of the overlap between training and evaluation is recorded")
        return
    rows, dropped = holdout.get("train_rows"), holdout.get("dropped")
    if rows is not None and dropped is not None:
        if dropped <= rows:
            yield Held()
        else:
            message = "more rows dropped than there were"
            yield Found("/holdout/dropped", message, f"at most {rows}", str(dropped))
    held_out = holdout.get("holdout_rows")
    judged = _tasks_judged(case.results)
    if held_out is not None and judged:
        if judged <= held_out:
            yield Held()
        else:
            message = "fewer than the tasks of an evaluation"
            yield Found("/holdout/holdout_rows", message, f"{judged} or more", str(held_out))


def _tasks_judged(results: Results) -> int:
    """Return the most tasks of an evaluation; totals do not say how many tasks there were."""
    lists = [e.task_ids for e in all_evaluations(results) if e.task_ids is not None]
    return max(map(len, lists), default=0)


RULES = (
    Rule("LEAK001", "test-split-read", Severity.WARNING, test_split_read),
    Rule("LEAK002", "gold-in-generation", Severity.ERROR, gold_in_generation),
    Rule("LEAK003", "selected-on-test", Severity.ERROR, selected_on_test),
    Rule("LEAK004", "leakage-flags", Severity.ERROR, leakage_flags),
    Rule("LEAK005", "holdout-counts", Severity.ERROR, holdout_counts),
)
