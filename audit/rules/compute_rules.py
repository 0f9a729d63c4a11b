"""COMP: what the arms spent, and the flags that say it was the same."""

from __future__ import annotations

from collections.abc import Iterator

from audit.facts.tokens import GENERATED, spent, training_tokens
from audit.finding import ERROR, WARNING
from audit.pointer import join
from audit.results import BUDGET_FIELDS, Arm, Run, spent_ratio
from audit.rules.case import Case
from audit.rules.check import CheckResult, Failed, Passed, Unchecked
from audit.rules.rule import rule
from audit.rules.scopes import Versus

MATCHED_SHARE = 0.1
"""Tokens per run further apart than this, relative to the smaller, are unmatched."""


@rule("COMP001", "unmatched-compute", WARNING, each=Versus)
def unmatched_compute(arms: Versus) -> CheckResult | None:
    """The arms generated different numbers of training tokens.

    Why
        More samples are more chances to learn; a gain at higher cost is not yet a better recipe.
        Reported when one arm used over a tenth more tokens per run.
    Fix
        Stop both arms at the same number of tokens, or report score against tokens.
    Bad
        23,762 tokens against 16,276 over three seeds each
    Good
        16,500 tokens against 16,276
    """
    ours, theirs = spent(arms.top), spent(arms.other)
    if ours is None or theirs is None:
        return Unchecked("the training tokens of both arms are not recorded", arms.pointer)
    ratio = spent_ratio(ours, theirs)
    if ratio <= 1 + MATCHED_SHARE:
        return None
    message = (
        f"{arms.top.name} generated {sum(ours):,} training tokens in {len(ours)} runs, "
        f"{arms.other.name} {sum(theirs):,} in {len(theirs)}"
    )
    actual = f"a factor of {ratio:.2f} per run"
    return Failed(arms.pointer, message, f"within {MATCHED_SHARE:.0%}", actual)


@rule(
    "COMP002",
    "matched-compute-flag",
    ERROR,
    each=Case,
    missing="no arm has the flag and recorded training tokens",
)
def matched_compute_flag(case: Case) -> Iterator[CheckResult]:
    """matched_actual_compute contradicts the tokens of the arms.

    Why
        The flag is what a reader looks at before comparing costs.
    Fix
        Set it from the sums: true within a tenth of each other, false when they differ.
    Bad
        "matched_actual_compute": true with 23,762 tokens against 16,276
    Good
        "matched_actual_compute": false
    """
    for arm in case.results.controls:
        flag, ours, theirs = (
            arm.document.get("matched_actual_compute"),
            spent(case.results.arms[0]),
            spent(arm),
        )
        if flag is None or ours is None or theirs is None:
            continue
        ratio = spent_ratio(ours, theirs)
        if (flag and ratio > 1 + MATCHED_SHARE) or (not flag and ratio == 1):
            message = f"the arms generated {sum(ours):,} and {sum(theirs):,} training tokens"
            pointer = join(arm.pointer, "matched_actual_compute")
            yield Failed(pointer, message, str(not flag).lower(), str(flag).lower())
        else:
            yield Passed()


@rule(
    "COMP003",
    "matched-budget-flag",
    ERROR,
    each=Case,
    missing="no arm has the flag and recorded budgets",
)
def matched_budget_flag(case: Case) -> Iterator[CheckResult]:
    """matched_upper_bound_budget contradicts the protocols of the arms.

    Why
        Steps, prompts per step, group size, token limit and updates per batch bound what an arm
        may spend.
    Fix
        Set the flag from the protocols.
    Bad
        "matched_upper_bound_budget": true with 3 steps against 6
    Good
        "matched_upper_bound_budget": true with equal steps, prompts_per_step, group,
        max_tokens and inner_updates
    """
    for arm in case.results.controls:
        flag = arm.document.get("matched_upper_bound_budget")
        ours, theirs = _budgets(case.results.arms[0]), _budgets(arm)
        if flag is None or not ours or not theirs:
            continue
        equal = ours == theirs
        if equal == flag:
            yield Passed()
        else:
            fields = ", ".join(BUDGET_FIELDS)
            message = f"the protocols' {fields} are {'' if equal else 'not '}equal"
            pointer = join(arm.pointer, "matched_upper_bound_budget")
            yield Failed(pointer, message, str(equal).lower(), str(flag).lower())


def _budgets(arm: Arm) -> set[tuple[int | None, ...]]:
    return {
        tuple(run.protocol.get(name) for name in BUDGET_FIELDS)
        for run in arm.runs
        if any(name in run.protocol for name in BUDGET_FIELDS)
    }


@rule("COMP004", "cost-tokens", ERROR, each=Run, missing="no run records its tokens in two places")
def cost_tokens(run: Run) -> Iterator[CheckResult]:
    """The tokens in a run's cost contradict those in its sampling block.

    Why
        Both count the same thing, and prices and comparisons of cost rest on it.
    Fix
        Count tokens once and write the count to both places; training cannot use more tokens than
        were generated for each update.
    Bad
        "cost": {"generated_tokens": 4000} with 4,513 in sampling
    Good
        "cost": {"generated_tokens": 4513} with 4,513 in sampling
    """
    cost = run.document.get("cost") or {}
    sampled, generated = run.sampling.get(GENERATED), cost.get("generated_tokens")
    if sampled is not None and generated is not None:
        if sampled == generated:
            yield Passed()
        else:
            message = "sampling counts another number of training tokens"
            place = join(run.pointer, "cost", "generated_tokens")
            yield Failed(place, message, str(sampled), str(generated))
    trained, total = cost.get("trained_tokens"), training_tokens(run)
    if trained is not None and total is not None:
        most = total * run.protocol.get("inner_updates", 1)
        if trained <= most:
            yield Passed()
        else:
            message = "more tokens than were generated, times the updates on each"
            place = join(run.pointer, "cost", "trained_tokens")
            yield Failed(place, message, f"at most {most}", str(trained))
