"""A results file as the comparisons see it: sides and floors, each collected once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from audit.analysis.floors import Floor, NotMeasured, floor_of
from audit.analysis.measures import Measure, Side, arm_side, base_side, common_step
from audit.claims import BASE
from audit.facts import evidence
from audit.facts.copies import SamePair, components, copies_in
from audit.facts.plans import DeclaredPlan, declared_plan, looks_before
from audit.facts.rounding import number
from audit.policy import Policy
from audit.results import Arm, Results

FEWEST_PAIRS = 3
# Two runs per arm are provisional: no policy lets a claim rest on them.
FEWEST_FOR_A_CLAIM = 3


@dataclass(frozen=True, slots=True)
class SpentLook:
    """A look that a file does not record.

    Attributes
    ----------
    claim : str
        Id of the claim that was judged and refused.
    seeds : int
        Training runs per arm at that look.
    version : str
        Where it is seen, e.g. ``commit 1a2b3c4``.
    """

    claim: str
    seeds: int
    version: str


@dataclass(frozen=True, slots=True)
class Study:
    """A results file with the policy in force.

    ``looked`` are the runs per arm at which its claims were judged before, without a plan;
    ``spent`` are the looks that only an earlier version of the file shows.
    """

    results: Results
    policy: Policy
    looked: tuple[int, ...] = ()
    spent: tuple[SpentLook, ...] = ()
    _sides: dict[tuple[str, Measure], Side] = field(default_factory=dict)
    _floors: dict[Measure, Floor | NotMeasured] = field(default_factory=dict)

    def side(self, name: str, measure: Measure) -> Side:
        """Return an arm's runs, or the base's evaluations, as a measure saw them."""
        key = (name, measure)
        if key not in self._sides:
            arm = None if name == BASE else self.results.arm(name)
            self._sides[key] = (
                base_side(self.results, measure)
                if arm is None
                else arm_side(self.results, arm, measure)
            )
        return self._sides[key]

    def sides(
        self, arm: str, against: str, measure: Measure, *, paired: bool
    ) -> tuple[Side, Side, bool]:
        """Return control and treatment, and whether they are paired by seed.

        Where pairing was declared and three seeds or more are shared, only those runs are kept.
        One score per run has no paired analysis: its floor is that of two separate arms.
        """
        control, treatment = self.side(against, measure), self.side(arm, measure)
        per_task = control.per_task and treatment.per_task
        if not paired or against == BASE or not per_task:
            return control, treatment, False
        shared = {r.seed for r in control.runs} & {r.seed for r in treatment.runs} - {None}
        if len(shared) < FEWEST_PAIRS:
            return control, treatment, False
        return control.at_seeds(shared), treatment.at_seeds(shared), True

    def at_common_step(self, measure: Measure, *names: str) -> Measure:
        """Return the measure at the last step that all runs of two arms were evaluated at.

        A measure with checkpoints of its own keeps them. The base is not trained and has no step.
        """
        arms = [arm for name in names if name != BASE and (arm := self.results.arm(name))]
        step = None if measure.checkpoints else common_step(measure, arms)
        return measure if step is None else replace(measure, checkpoints=(step,))

    def floor(self, measure: Measure) -> Floor | NotMeasured:
        """Return the noise floor of a measure."""
        if measure not in self._floors:
            base = self.side(BASE, measure)
            self._floors[measure] = floor_of(self.results, measure, base, self.policy.level)
        return self._floors[measure]

    def evidence(self, side: Side) -> evidence.Evidence | None:
        """Return how well a side's runs are known to be trainings; None below two runs."""
        runs = [run.run for run in side.runs if run.run is not None]
        return evidence.arm_evidence(self.results, side.name, runs)

    def same_runs(self, side: Side) -> tuple[SamePair, ...]:
        """Return which runs of a side are one training; places are in ``side.runs``."""
        arm = self.results.arm(side.name) if side.name != BASE else None
        if arm is None:
            return ()
        pairs = copies_in(self.results)[arm.pointer]
        group = components(len(arm.runs), pairs)
        first: dict[int, int] = {}
        found = []
        for place, run in enumerate(side.runs):
            assert run.run is not None  # only the base's evaluations have no run
            earlier = first.setdefault(group[run.run.index], place)
            if earlier != place:
                found.append(replace(_joining(pairs, run.run.index), first=earlier, second=place))
        return tuple(found)

    def printed_scores(self, measure: Measure) -> list[float]:
        """Return every score of a metric that the file prints for a run."""
        values = (number(run.metrics.get(measure.metric)) for run in self.results.runs)
        return [value for value in values if value is not None]

    @property
    def min_seeds(self) -> int:
        """Training runs per arm that a claim needs."""
        return max(self.policy.min_seeds, FEWEST_FOR_A_CLAIM)

    @property
    def plan(self) -> DeclaredPlan | None:
        """The plan that the study declared; None where it has none."""
        return declared_plan(self.results)

    def opponents(self) -> tuple[Arm, ...]:
        """Return the arms the top one is compared with: the controls, or all where none is."""
        top = self.results.method
        others = sorted(
            (arm for arm in self.results.controls if arm.name != top), key=lambda arm: arm.name
        )
        return tuple(arm for arm in others if arm.is_control) or tuple(others)


def study_of(
    results: Results,
    policy: Policy | None = None,
    looked: Iterable[int] = (),
    spent: Iterable[SpentLook] = (),
) -> Study:
    """Return a file as a study, judged before as it says and as the caller says."""
    before = tuple(sorted({*looked, *looks_before(results)}))
    return Study(results, policy or Policy(), before, tuple(spent))


def _joining(pairs: Sequence[SamePair], run: int) -> SamePair:
    """Return the pair that tells why a run is the same as others."""
    return next((p for p in pairs if p.second == run), None) or next(
        p for p in pairs if p.first == run
    )
