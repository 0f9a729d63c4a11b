"""COMP: what the arms spent, and the flags that say it was the same."""

from __future__ import annotations

from collections.abc import Iterator

from audit.finding import Severity
from audit.pointer import join
from audit.results import BUDGET_FIELDS, Arm, Run, spent_ratio
from audit.rules.comparison import GENERATED, opponents, training_tokens
from audit.rules.rule import Case, Found, Held, Outcome, Rule, Skipped

MATCHED_SHARE = 0.1
"""Tokens a run further apart than this, relative to the smaller, are unmatched."""


def _spent(arm: Arm) -> list[int] | None:
    """Return the training tokens of the arm's finished runs; None where one is not recorded."""
    tokens = [training_tokens(run) for run in arm.finished]
    known = [count for count in tokens if count is not None]
    return known if known and len(known) == len(tokens) else None


def unmatched_compute(case: Case) -> Iterator[Outcome]:
    """The arms generated different numbers of training tokens.

    Why
        More samples are more chances to learn; a gain at unequal cost is not yet a better recipe.
        Spoken on when one arm spent over a tenth more a run.
    Fix
        Stop both arms at the same number of tokens, or report score against tokens.
    Bad
        23,762 tokens against 16,276 over three seeds each
    Good
        16,500 tokens against 16,276
    """
    ours = _spent(case.results.arms[0])
    for arm in opponents(case.results):
        theirs = _spent(arm)
        if ours is None or theirs is None:
            yield Skipped("the training tokens of both arms are not recorded", arm.pointer)
        elif spent_ratio(ours, theirs) > 1 + MATCHED_SHARE:
            name = case.results.arms[0].name
            message = (
                f"{name} generated {sum(ours):,} training tokens in {len(ours)} runs, "
                f"{arm.name} {sum(theirs):,} in {len(theirs)}"
            )
            actual = f"a factor of {spent_ratio(ours, theirs):.2f} a run"
            yield Found(arm.pointer, message, f"within {MATCHED_SHARE:.0%}", actual)
        else:
            yield Held()
    if not opponents(case.results):
        yield Skipped("there is no other arm")


def matched_compute_flag(case: Case) -> Iterator[Outcome]:
    """matched_actual_compute and the tokens of the arms contradict.

    Why
        The flag is what a reader looks at before comparing costs.
    Fix
        Set it from the sums: true within a tenth of each other, false when they differ.
    Bad
        "matched_actual_compute": true with 23,762 tokens against 16,276
    Good
        "matched_actual_compute": false
    """
    ours = _spent(case.results.arms[0])
    compared = False
    for arm in case.results.controls:
        flag, theirs = arm.document.get("matched_actual_compute"), _spent(arm)
        if flag is None or ours is None or theirs is None:
            continue
        compared = True
        ratio = spent_ratio(ours, theirs)
        if (flag and ratio > 1 + MATCHED_SHARE) or (not flag and ratio == 1):
            message = f"the arms generated {sum(ours):,} and {sum(theirs):,} training tokens"
            pointer = join(arm.pointer, "matched_actual_compute")
            yield Found(pointer, message, str(not flag).lower(), str(flag).lower())
        else:
            yield Held()
    if not compared:
        yield Skipped("no arm has the flag and recorded training tokens")


def matched_budget_flag(case: Case) -> Iterator[Outcome]:
    """matched_upper_bound_budget and the protocols of the arms contradict.

    Why
        Steps, prompts a step, group size, token limit and updates per batch bound what an arm may
        spend.
    Fix
        Set the flag from the protocols.
    Bad
        "matched_upper_bound_budget": true with 3 steps against 6
    Good
        "matched_upper_bound_budget": true with equal steps, prompts_per_step, group,
        max_tokens and inner_updates
    """
    ours = _budgets(case.results.arms[0])
    compared = False
    for arm in case.results.controls:
        flag, theirs = arm.document.get("matched_upper_bound_budget"), _budgets(arm)
        if flag is None or not ours or not theirs:
            continue
        compared = True
        equal = ours == theirs
        if equal == flag:
            yield Held()
        else:
            message = (
                f"the protocols' {', '.join(BUDGET_FIELDS)} are {'' if equal else 'not '}equal"
            )
            pointer = join(arm.pointer, "matched_upper_bound_budget")
            yield Found(pointer, message, str(equal).lower(), str(flag).lower())
    if not compared:
        yield Skipped("no arm has the flag and recorded budgets")


def _budgets(arm: Arm) -> set[tuple[int | None, ...]]:
    return {
        tuple(run.protocol.get(name) for name in BUDGET_FIELDS)
        for run in arm.runs
        if any(name in run.protocol for name in BUDGET_FIELDS)
    }


def cost_tokens(case: Case) -> Iterator[Outcome]:
    """The tokens in a run's cost contradict what its sampling says.

    Why
        Two counts of one thing; the price and the comparison of costs rest on them.
    Fix
        Count tokens once and write the count to both places; training cannot use more tokens than
        were generated for each update.
    Bad
        "cost": {"generated_tokens": 4000} with 4,513 in sampling
    Good
        "cost": {"generated_tokens": 4513} with 4,513 in sampling
    """
    compared = False
    for run in case.results.runs:
        for outcome in _cost(run):
            compared = True
            yield outcome
    if not compared:
        yield Skipped("no run records its tokens in two places")


def _cost(run: Run) -> Iterator[Outcome]:
    cost = run.document.get("cost") or {}
    sampled, generated = run.sampling.get(GENERATED), cost.get("generated_tokens")
    if sampled is not None and generated is not None:
        if sampled == generated:
            yield Held()
        else:
            message = "sampling counts another number of training tokens"
            place = join(run.pointer, "cost", "generated_tokens")
            yield Found(place, message, str(sampled), str(generated))
    trained, total = cost.get("trained_tokens"), training_tokens(run)
    if trained is not None and total is not None:
        most = total * run.protocol.get("inner_updates", 1)
        if trained <= most:
            yield Held()
        else:
            message = "more tokens than were generated, times the updates on each"
            place = join(run.pointer, "cost", "trained_tokens")
            yield Found(place, message, f"at most {most}", str(trained))


RULES = (
    Rule("COMP001", "unmatched-compute", Severity.WARNING, unmatched_compute),
    Rule("COMP002", "matched-compute-flag", Severity.ERROR, matched_compute_flag),
    Rule("COMP003", "matched-budget-flag", Severity.ERROR, matched_budget_flag),
    Rule("COMP004", "cost-tokens", Severity.ERROR, cost_tokens),
)
