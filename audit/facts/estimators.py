"""Which estimator the logged advantages of each run follow, step by step, and which it declares."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from audit.facts.memo import once
from audit.facts.training_logs import ArmLog, RunLog, read_logs
from audit.results import Results
from audit.stats import EstimatorMatch, matching_estimators
from audit.stats.advantages import DAPO, DR_GRPO, ESTIMATORS, GRPO, written_decimals

# What an importer writes where nothing in the source says how advantages were computed.
UNKNOWN = "unknown"
# Those whose advantages are checked one by one against the declared epsilon and ddof.
WITHIN_GROUPS = frozenset({GRPO, DAPO, DR_GRPO})


@dataclass(frozen=True, slots=True)
class StepMatch:
    """The estimators that give the advantages of one step.

    Attributes
    ----------
    place : int
        Of the step in ``training``.
    step : int
        Its number.
    match : EstimatorMatch
    """

    place: int
    step: int
    match: EstimatorMatch

    @property
    def names(self) -> frozenset[str]:
        """The estimators; none where no formula fits."""
        return self.match.names


def declared(log: RunLog) -> str | None:
    """Return the estimator that a log declares; None where its source does not say.

    Without a word the contract's default holds: GRPO, or Dr. GRPO where nothing is divided.
    """
    settings = log.run.telemetry.get("advantage") or {}
    said = settings.get("estimator")
    if said is None:
        return DR_GRPO if settings.get("scale") == "none" else GRPO
    return None if said == UNKNOWN else str(said)


@once
def step_matches(results: Results) -> dict[str, tuple[StepMatch, ...]]:
    """Return the steps of every run that have rewards and advantages, by the run's pointer.

    Steps whose groups cannot be told are left out.
    """
    return {log.run.pointer: _matches(log) for arm in read_logs(results) for log in arm.runs}


def _matches(log: RunLog) -> tuple[StepMatch, ...]:
    size = log.group_size
    known: dict[tuple[tuple[float, ...], tuple[float, ...]], EstimatorMatch] = {}
    found: list[StepMatch] = []
    batches = [
        (place, step.get("step", place + 1), tuple(step["rewards"]), tuple(step["advantages"]))
        for place, step in enumerate(log.steps)
        if step.get("rewards") and step.get("advantages")
    ]
    if not size or not batches:
        return ()
    decimals = written_decimals([value for *_, drawn in batches for value in drawn])
    for place, number, rewards, advantages in batches:
        if len(rewards) != len(advantages) or len(rewards) % size:
            continue
        key = rewards, advantages
        if key not in known:  # batches of 0/1 rewards repeat
            starts = range(0, len(rewards), size)
            known[key] = matching_estimators(
                [rewards[at : at + size] for at in starts],
                [advantages[at : at + size] for at in starts],
                decimals,
            )
        found.append(StepMatch(place, number, known[key]))
    return tuple(found)


def shared_estimator(matches: Iterable[StepMatch]) -> str | None:
    """Return the estimator that fits most steps, the plainer one of equals; None without any."""
    votes = Counter(name for match in matches for name in match.names)
    return max(ESTIMATORS, key=lambda name: votes[name]) if votes else None


def of_arm(results: Results, arm: ArmLog) -> list[tuple[RunLog, tuple[StepMatch, ...]]]:
    """Return the runs of an arm that have such steps, with them."""
    found = step_matches(results)
    return [(log, found[log.run.pointer]) for log in arm.runs if found[log.run.pointer]]
