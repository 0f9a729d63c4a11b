"""A results file as the comparisons see it: sides and floors, each collected once."""

from __future__ import annotations

from dataclasses import dataclass, field

from audit.analysis.floors import Floor, NotMeasured, floor_of
from audit.analysis.measures import Measure, Side, arm_side, base_side
from audit.claims import BASE
from audit.policy import Policy
from audit.results import Arm, Results


@dataclass(frozen=True, slots=True)
class Study:
    """A results file with the policy in force."""

    results: Results
    policy: Policy
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

    def floor(self, measure: Measure) -> Floor | NotMeasured:
        """Return the noise floor of a measure."""
        if measure not in self._floors:
            self._floors[measure] = floor_of(self.results, measure, self.policy.level)
        return self._floors[measure]

    def opponents(self) -> tuple[Arm, ...]:
        """Return the arms the top one is compared with: the controls, or all where none is."""
        others = sorted(self.results.controls, key=lambda arm: arm.name)
        return tuple(arm for arm in others if arm.is_control) or tuple(others)
