"""SEED001 and CLAIM: claims that the data do not support."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from audit.analysis.claiming import ClaimResult
from audit.claims import BASE
from audit.finding import ERROR, INFO
from audit.rules.case import Case
from audit.rules.check import CheckResult, Failed, Passed, Unchecked
from audit.rules.rule import rule
from audit.views.claim_view import claim_view, unclaimed_view

_OWN_RULES = ("one-seed", "interval-reaches-zero", "below-noise-floor")
_NOTHING = "nothing is claimed"


def _refused(case: Case, wanted: Callable[[ClaimResult], bool]) -> Iterator[CheckResult]:
    """Speak on the refused claims that are wanted; the others pass."""
    for result in case.analysis.claims:
        if result.stands or not wanted(result):
            yield Passed()
            continue
        view = claim_view(result)
        acts = "; ".join(result.acts("FILE"))  # a finding is the same whatever the file's name
        message = f"{view.sentence}: {view.why}" + (f"; next: {acts}" if acts else "")
        yield Failed(result.claim.pointer or "", message, result.claim.direction, view.verdict)


@rule("SEED001", "one-seed-claim", ERROR, each=Case, missing=_NOTHING)
def one_seed_claim(case: Case) -> Iterator[CheckResult]:
    """A gain, a loss or an equivalence is claimed with one training run in an arm.

    Why
        Training again moves a score by more than evaluating again. With one run per arm, recipe
        and luck cannot be told apart, whatever the interval over tasks; more tasks make it worse.
    Fix
        Train at least three seeds in every arm, five where a small effect matters.
    Bad
        "claims": [{"direction": "gain", ...}] and one run in seed_results
    Good
        the same claim and seed_results of seeds 1, 2 and 3 in both arms
    """
    return _refused(case, lambda result: result.slug == "one-seed")


@rule("CLAIM001", "interval-reaches-zero", ERROR, each=Case, missing=_NOTHING)
def interval_reaches_zero(case: Case) -> Iterator[CheckResult]:
    """A gain or a loss is claimed and the confidence interval includes zero.

    Why
        The data allow that there is no difference at all.
    Fix
        Withdraw the claim, or train the number of seeds that the report names.
    Bad
        "direction": "gain" with a verdict interval of [-0.29, +0.46]
    Good
        "direction": "gain" with a verdict interval of [+0.02, +0.11]
    """
    return _refused(case, lambda result: result.slug == "interval-reaches-zero")


@rule("CLAIM002", "below-noise-floor", ERROR, each=Case, missing=_NOTHING)
def below_noise_floor(case: Case) -> Iterator[CheckResult]:
    """The claimed difference is within evaluation noise.

    Why
        Evaluating the same model twice already gives differences of this size.
    Fix
        Evaluate on more tasks or draw more answers, or train more seeds.
    Bad
        a claimed gain of 0.010 with an evaluation floor of 0.024
    Good
        a claimed gain of 0.080 with an evaluation floor of 0.024
    """

    def below(result: ClaimResult) -> bool:
        comparison = result.comparison
        listed = result.slug in ("below-noise-floor", "interval-reaches-zero")
        return listed and comparison is not None and comparison.below_floor

    return _refused(case, below)


@rule("CLAIM003", "claim-not-carried", ERROR, each=Case, missing=_NOTHING)
def claim_not_carried(case: Case) -> Iterator[CheckResult]:
    """The data do not support a claim, for another reason than those above.

    Why
        A claim is supported only if the verdict says the same, for the same target, after
        correction for all claims made; too little data is never a pass.
    Fix
        The message says what would settle it.
    Bad
        "direction": "gain", "target": "tasks" in a file with one score per run
    Good
        the same claim with task_ids, correct and samples in every run's evaluation
    """
    return _refused(case, lambda result: result.slug not in _OWN_RULES)


@rule("CLAIM004", "no-verdict", INFO, each=Case, missing="there is no comparison without a claim")
def no_verdict(case: Case) -> Iterator[CheckResult]:
    """A comparison that nobody makes a claim about gets no verdict.

    Why
        The figures are shown, but the data do not allow a verdict.
    Fix
        Nothing is wrong as long as nothing is claimed. The message says what is missing.
    Bad
        one training run per arm
    Good
        three training runs per arm
    """
    if case.analysis.left_out:
        yield Unchecked(f"{case.analysis.left_out} more comparisons without a claim were not made")
    claimed = {id(result.comparison) for result in case.analysis.claims}
    for comparison in case.analysis.comparisons:
        if id(comparison) in claimed or comparison.against == BASE:
            continue
        if not comparison.verdict.refused:
            yield Passed()
            continue
        arm = case.results.arm(comparison.arm)
        place = f"{arm.pointer}/seed_results" if arm is not None else ""
        view = unclaimed_view(comparison)
        yield Failed(place, f"{view.sentence}: {view.verdict}; {view.why}")
