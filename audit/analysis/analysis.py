"""The statistics of a results file, gathered."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from audit.analysis.arms import ArmRates, arm_rates
from audit.analysis.claiming import ClaimResult, judge, without_direction
from audit.analysis.comparisons import Comparison, compare
from audit.analysis.floors import Floor, NotMeasured
from audit.analysis.measures import Measure, measures
from audit.analysis.numbers import Interval
from audit.analysis.rounds import RoundPair, Uncompared, round_pairs
from audit.analysis.settings import settings_for
from audit.analysis.ship import StudyDecision, decide_to_ship, guardrail_claims
from audit.analysis.study import SpentLook, Study, study_of
from audit.claims import BASE, Claim, claims_of, parse_claim
from audit.display import Displayed
from audit.policy import Policy
from audit.results import Results

if TYPE_CHECKING:
    import pandas

# Comparisons without a claim that are made; each costs some milliseconds.
MOST_UNCLAIMED = 200


@dataclass(frozen=True, repr=False)
class Analysis(Displayed):
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

    def to_frame(self) -> pandas.DataFrame:
        """Return one row per claim, then one per comparison that nobody claims anything about.

        Returns
        -------
        pandas.DataFrame
            Columns ``claim`` (NA where nothing is claimed), ``supported``, ``reason`` (the slug
            of a refusal), ``metric``, ``benchmark``, ``arm``, ``against``, ``delta``, ``low``,
            ``high`` (in the metric's units), ``level``, ``p_value`` (Holm's, of claims; else the
            comparison's), ``runs``, ``runs_against``, ``tasks``, ``word`` and ``detail`` of the
            verdict. An interval is given where the verdict rests on it.
        """
        import pandas

        rows = [_row_of(claim.comparison, claim) for claim in self.claims]
        claimed = {id(claim.comparison) for claim in self.claims}
        rows += [_row_of(one) for one in self.comparisons if id(one) not in claimed]
        return pandas.DataFrame(rows, columns=list(_COLUMNS))

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


_COLUMNS = (
    "claim",
    "supported",
    "reason",
    "metric",
    "benchmark",
    "arm",
    "against",
    "delta",
    "low",
    "high",
    "level",
    "p_value",
    "runs",
    "runs_against",
    "tasks",
    "word",
    "detail",
)


def _row_of(comparison: Comparison | None, claim: ClaimResult | None = None) -> tuple[Any, ...]:
    """Return a row of the frame, in the order of its columns."""
    said: tuple[Any, ...] = (None, None, None)
    if claim is not None:
        said = (claim.claim.text, claim.supported, claim.slug if claim.refusals else None)
    if comparison is None:
        assert claim is not None  # only a claim can name what is not there
        named = (claim.claim.metric, claim.claim.benchmark, claim.claim.arm, claim.claim.against)
        blank = (None,) * (len(_COLUMNS) - len(said) - len(named) - 2)
        return (*said, *named, *blank, claim.verdict.word, claim.verdict.detail)
    named = (comparison.metric, comparison.benchmark, comparison.arm, comparison.against)
    deciding = comparison.deciding
    found = None
    if isinstance(deciding, Interval) and not comparison.verdict.refused:
        found = deciding
    ends = (None, None) if found is None else (found.low, found.high)
    own = None if found is None else found.p_value
    return (
        *said,
        *named,
        comparison.delta,
        *ends,
        comparison.settings.level,
        own if claim is None else claim.holm_p_value,
        *comparison.seeds,
        None if comparison.standing is None else comparison.standing.tasks,
        comparison.verdict.word,
        comparison.verdict.detail,
    )
