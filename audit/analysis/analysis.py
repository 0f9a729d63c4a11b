"""The statistics of a results file, gathered."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

from audit.analysis.arms import ArmRates, arm_rates
from audit.analysis.claiming import ClaimResult, judge, without_direction
from audit.analysis.comparisons import Comparison, compare
from audit.analysis.floors import Floor, NotMeasured
from audit.analysis.measures import Measure, measures
from audit.analysis.rounds import RoundPair, Uncompared, round_pairs
from audit.analysis.settings import settings_for
from audit.analysis.ship import StudyDecision, decide_to_ship, guardrail_claims
from audit.analysis.study import SpentLook, Study, study_of
from audit.claims import BASE, Claim, claims_of, parse_claim
from audit.policy import Policy
from audit.results import Results

# Comparisons without a claim that are made; each costs some milliseconds.
MOST_UNCLAIMED = 200


@dataclass(frozen=True)
class Analysis:
    """Everything the statistics say about one results file.

    Attributes
    ----------
    measures : tuple of Measure
        Metrics and benchmarks the runs were measured by.
    comparisons : tuple of Comparison
        Claimed ones first, then the top arm against its controls, then arms against the base.
    claims : tuple of ClaimResult
        Those of the file, then those of the caller.
    rounds : tuple of RoundPair
        Rounds that repeat each other.
    rounds_uncompared : tuple of Uncompared
    left_out : int
        Comparisons that nobody claims anything about and that were too many to make.
    """

    measures: tuple[Measure, ...]
    comparisons: tuple[Comparison, ...]
    claims: tuple[ClaimResult, ...]
    rounds: tuple[RoundPair, ...]
    rounds_uncompared: tuple[Uncompared, ...]
    left_out: int
    study: Study = field(repr=False, compare=False)

    @cached_property
    def floors(self) -> tuple[tuple[Measure, Floor | NotMeasured], ...]:
        """The noise floor of each measure, with the F test of the base's re-evaluations."""
        return tuple((measure, self.study.floor(measure)) for measure in self.measures)

    @cached_property
    def arms(self) -> tuple[ArmRates, ...]:
        """Every arm's pass@1 and pass@k with intervals, the base's last."""
        names = [arm.name for arm in self.study.results.arms]
        return tuple(
            arm_rates(self.study, name, measure)
            for measure in self.measures
            for name in (*names, BASE)
            if self.study.side(name, measure).runs
        )

    @cached_property
    def decision(self) -> StudyDecision | None:
        """Ship, discuss or don't; None where no claim is guarded."""
        return decide_to_ship(self.study, self.claims)

    @property
    def refused_claims(self) -> tuple[ClaimResult, ...]:
        """The claims that do not stand."""
        return tuple(claim for claim in self.claims if not claim.stands)


def analyse(
    results: Results,
    *,
    policy: Policy | None = None,
    claims: Iterable[Claim | str] = (),
    looked: Iterable[int] = (),
    siblings: Iterable[float] = (),
    spent: Iterable[SpentLook] = (),
) -> Analysis:
    """Compute the statistics of a results file.

    Parameters
    ----------
    results : Results
        From :func:`audit.load`.
    policy : Policy, optional
        Level, margin, target and minimum seeds; the built-in defaults when left out.
    claims : iterable of Claim or str
        Claims to judge beside those of the file, in one family; text as on the command line.
    looked : iterable of int
        Runs per arm at which the claims were judged before, without a plan, beside those that
        the file says.
    siblings : iterable of float
        P-values, before Holm's correction, of the claims that other files of the same study make:
        splitting a study over files does not leave its family of claims.
    spent : iterable of SpentLook
        Looks that the file does not record and an earlier version of it shows; they refuse the
        claim, and change no verdict.
    """
    study = study_of(results, policy, looked, spent)
    given = (parse_claim(one) if isinstance(one, str) else one for one in claims)
    made = (*claims_of(results), *given)
    judged = judge(study, (*made, *guardrail_claims(study, made)), tuple(siblings))
    found = measures(results)
    compared = {
        without_direction(c.comparison): c.comparison for c in judged if c.comparison is not None
    }
    claimed = tuple(compared.values())
    pairs, uncompared = round_pairs(results)
    unclaimed, left_out = _unclaimed(study, found, claimed)
    return Analysis(
        measures=found,
        comparisons=claimed + unclaimed,
        claims=judged,
        rounds=pairs,
        rounds_uncompared=uncompared,
        left_out=left_out,
        study=study,
    )


def _unclaimed(
    study: Study, found: tuple[Measure, ...], claimed: tuple[Comparison, ...]
) -> tuple[tuple[Comparison, ...], int]:
    """Return the comparisons that nobody claims anything about, and how many were left out."""
    covered = {(c.measure, c.arm, c.against) for c in claimed}
    settings = settings_for(study.policy)
    opponents = [arm.name for arm in study.opponents()]
    top = study.results.method
    wanted = [(measure, top, other) for measure in found for other in opponents]
    wanted += [
        (measure, name, BASE)
        for measure in found
        if study.side(BASE, measure).runs
        for name in (top, *opponents)
    ]
    left = [one for one in wanted if one not in covered]
    made = [compare(study, *one, settings) for one in left[:MOST_UNCLAIMED]]
    return tuple(made), len(left) - len(made)
