"""Which estimator the logged advantages of each run follow, step by step, and which it declares."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from math import inf
from operator import itemgetter
from typing import NamedTuple

from audit.facts.memo import once
from audit.facts.training_logs import ArmLog, RunLog, read_logs
from audit.results import Results
from audit.stats import EstimatorMatch, matching_estimators
from audit.stats.advantages import (
    BATCH_SCALED,
    COARSEST_DECIMALS,
    DAPO,
    DR_GRPO,
    ESTIMATORS,
    GRPO,
    MOST_DECIMALS,
    WHITENED,
    WHITENED_GROUPS,
    half_units,
    is_rescaled,
    written_decimals,
)

# What an importer writes where nothing in the source says how advantages were computed.
UNKNOWN = "unknown"
# Those whose advantages are checked one by one against the declared epsilon and ddof.
WITHIN_GROUPS = frozenset({GRPO, DAPO, DR_GRPO})
# Rewards of more values than sums of a few parts have were rounded to the decimals they have.
_MOST_LEVELS = 20
_FEWEST_LEVELS = 3
# What other advantages look like that were whitened over the batch after they were computed.
WHITENINGS = frozenset({WHITENED, WHITENED_GROUPS})


class StepMatch(NamedTuple):
    """The estimators that give the advantages of one step.

    Attributes
    ----------
    place : int
        Of the step in ``training``.
    step : int
        Its number.
    match : EstimatorMatch
    rescaled : bool
        Whether the step's advantages are not those of the declared estimator, but become so by a
        constant factor and a shift, as when they are whitened over the batch afterwards.
    """

    place: int
    step: int
    match: EstimatorMatch
    rescaled: bool = False

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


@dataclass(frozen=True, slots=True)
class Printed:
    """How the rewards and advantages of a log were rounded.

    Attributes
    ----------
    decimals : int
        Of the advantages.
    reward : float
        How far a reward may be from the one the run trained on.
    limit : float
        Size of the largest advantages; infinite where one alone has it.
    """

    decimals: int
    reward: float
    limit: float

    def off(self, advantages: Sequence[float]) -> list[float]:
        """Return how far each advantage may be from the one the run trained on."""
        if self.decimals >= MOST_DECIMALS:
            return [0.0] * len(advantages)
        return [float(v) for v in half_units(advantages, self.decimals, COARSEST_DECIMALS)]


def printed(log: RunLog) -> Printed:
    """Return how the rewards and advantages of a log were rounded.

    A handful of values, such as 0, 0.5 and 1, are exact as they stand.
    """
    levels = set(log.every("rewards"))
    decimals = written_decimals(sorted(levels))
    rounded = len(levels) > _MOST_LEVELS and 1 < decimals < MOST_DECIMALS
    drawn = log.every("advantages")
    sizes = set(map(abs, set(drawn)))
    largest = max(sizes, default=inf)
    often = sum(map(drawn.count, {largest, -largest}))
    return Printed(
        written_decimals(sorted(sizes)),
        0.5 * 10.0**-decimals if rounded else 0.0,
        largest if often > 1 else inf,
    )


@once
def step_matches(results: Results) -> dict[str, tuple[StepMatch, ...]]:
    """Return the steps of every run that have rewards and advantages, by the run's pointer.

    Steps whose groups cannot be told are left out.
    """
    return {log.run.pointer: _matches(log) for arm in read_logs(results) for log in arm.runs}


def rescaled(log: RunLog, rewards: Sequence[float], advantages: Sequence[float]) -> bool:
    """Return whether a step's advantages are those of the declared estimator, rescaled.

    A line through two values, or within one group, fits too easily to be told.
    """
    size, due = log.group_size, declared(log)
    if not size or due is None or len(rewards) % size or len(rewards) == size:
        return False
    if len(set(advantages)) < _FEWEST_LEVELS:
        return False
    return is_rescaled(
        due,
        _groups(rewards, size),
        _groups(advantages, size),
        written_decimals(advantages),
        log.advantage[1],
    )


def _groups(values: Sequence[float], size: int) -> list[Sequence[float]]:
    return [values[at : at + size] for at in range(0, len(values), size)]


def _matches(log: RunLog) -> tuple[StepMatch, ...]:
    size, due = log.group_size, declared(log)
    found: list[StepMatch] = []
    batches = log.batches
    if not size or not batches:
        return ()
    decimals = written_decimals(
        list(set(chain.from_iterable(advantages for _, advantages in batches)))
    )
    _, epsilon, _ = log.advantage
    for (rewards, advantages), places in batches.items():
        if len(rewards) != len(advantages) or len(rewards) % size:
            continue
        match, again = _match(rewards, advantages, size, due, decimals, epsilon)
        found += [
            StepMatch(place, log.steps[place].get("step", place + 1), match, again)
            for place in places
        ]
    return tuple(sorted(found, key=itemgetter(0)))


@lru_cache(maxsize=4096)  # batches of 0/1 rewards repeat from run to run
def _match(
    rewards: tuple[float, ...],
    advantages: tuple[float, ...],
    size: int,
    due: str | None,
    decimals: int,
    epsilon: float,
) -> tuple[EstimatorMatch, bool]:
    """Return what fits one batch, and whether it is the declared estimator's, rescaled."""
    groups, theirs = _groups(rewards, size), _groups(advantages, size)
    match = matching_estimators(groups, theirs, decimals, epsilon)
    apart = due is not None and due not in match.names
    apart = apart and (bool(match.names & WHITENINGS) or (due == BATCH_SCALED and not match.names))
    again = apart and is_rescaled(str(due), groups, theirs, decimals, epsilon)
    if again and due == BATCH_SCALED and match.names <= WHITENINGS and match.ddof is None:
        # Its standard deviation may be that of a larger batch, of which this is a part.
        return EstimatorMatch(match.names | {due}), False
    return match, again


def shared_estimator(matches: Iterable[StepMatch]) -> str | None:
    """Return the estimator that fits most steps, the plainer one of equals; None without any."""
    votes = Counter[str]()
    for names, steps in Counter(match.names for match in matches).items():
        votes.update(dict.fromkeys(names, steps))
    return max(ESTIMATORS, key=lambda name: votes[name]) if votes else None


def of_arm(results: Results, arm: ArmLog) -> list[tuple[RunLog, tuple[StepMatch, ...]]]:
    """Return the runs of an arm that have such steps, with them."""
    found = step_matches(results)
    return [(log, found[log.run.pointer]) for log in arm.runs if found[log.run.pointer]]
