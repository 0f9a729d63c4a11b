"""SEED001 and CLAIM: claims that the verdict does not carry."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from audit.analysis.claiming import ClaimResult
from audit.claims import BASE
from audit.finding import Severity
from audit.rules.rule import Case, Found, Held, Outcome, Rule, Skipped

_OWN_RULES = ("one-seed", "interval-reaches-zero", "below-noise-floor")


def _refused(case: Case, wanted: Callable[[ClaimResult], bool]) -> Iterator[Outcome]:
    """Speak on the refused claims that are wanted; the others hold."""
    results = case.analysis.claims
    if not results:
        yield Skipped("nothing is claimed")
    for result in results:
        if result.stands or not wanted(result):
            yield Held()
            continue
        claim = result.claim
        name = f"{claim.text}: {result.reason}"
        settles = f"; to settle it: {result.settles}" if result.settles else ""
        yield Found(claim.pointer or "", name + settles, claim.direction, result.verdict.text)


def one_seed_claim(case: Case) -> Iterator[Outcome]:
    """A gain, a loss or an equivalence is claimed with one training run in an arm.

    Why
        Training again moves a score by more than evaluating again. One run an arm cannot tell
        the recipe from that, whatever its interval over tasks; more tasks make it worse.
    Fix
        Train at least three seeds in every arm, five where a small effect matters.
    Bad
        "claims": [{"direction": "gain", ...}] and one run in seed_results
    Good
        the same claim and seed_results of seeds 1, 2 and 3 in both arms
    """
    return _refused(case, lambda result: result.slug == "one-seed")


def interval_reaches_zero(case: Case) -> Iterator[Outcome]:
    """A gain or a loss is claimed and the interval of the difference holds zero.

    Why
        No difference at all is among the values the data allows.
    Fix
        Withdraw the claim, or train the number of seeds that the report names.
    Bad
        "direction": "gain" with a verdict interval of [-0.29, +0.46]
    Good
        "direction": "gain" with a verdict interval of [+0.02, +0.11]
    """
    return _refused(case, lambda result: result.slug == "interval-reaches-zero")


def below_noise_floor(case: Case) -> Iterator[Outcome]:
    """A difference is claimed that evaluating one model again would give.

    Why
        Re-evaluations of one and the same model already differ by as much.
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


def claim_not_carried(case: Case) -> Iterator[Outcome]:
    """A claim is made and the verdict does not carry it, for another reason than those above.

    Why
        A claim stands only on a verdict that says the same, about the same target, after
        correction for all claims made; too little data is never a pass.
    Fix
        What would settle it stands in the message.
    Bad
        "direction": "gain", "target": "tasks" in a file with one score a run
    Good
        the same claim with task_ids, correct and samples in every run's evaluation
    """
    return _refused(case, lambda result: result.slug not in _OWN_RULES)


def no_verdict(case: Case) -> Iterator[Outcome]:
    """A comparison that nobody claims anything about gets no verdict.

    Why
        The figures are shown; the data does not allow a word on them.
    Fix
        Nothing is wrong as long as nothing is claimed. The message says what is missing.
    Bad
        one training run an arm
    Good
        three training runs an arm
    """
    claimed = {id(result.comparison) for result in case.analysis.claims}
    for comparison in case.analysis.comparisons:
        if id(comparison) in claimed or comparison.against == BASE:
            continue
        verdict = comparison.verdict
        if not verdict.refused:
            yield Held()
            continue
        arm = case.results.arm(comparison.arm)
        place = f"{arm.pointer}/seed_results" if arm is not None else ""
        what = f"{comparison.arm} over {comparison.against}, {comparison.metric}"
        yield Found(place, f"{what}: {verdict.text}; {verdict.line}")


RULES = (
    Rule("SEED001", "one-seed-claim", Severity.ERROR, one_seed_claim),
    Rule("CLAIM001", "interval-reaches-zero", Severity.ERROR, interval_reaches_zero),
    Rule("CLAIM002", "below-noise-floor", Severity.ERROR, below_noise_floor),
    Rule("CLAIM003", "claim-not-carried", Severity.ERROR, claim_not_carried),
    Rule("CLAIM004", "no-verdict", Severity.INFO, no_verdict),
)
