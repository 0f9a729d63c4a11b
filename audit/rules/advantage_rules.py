"""ADV: advantages follow from rewards, group by group."""

from __future__ import annotations

import math
from collections.abc import Iterator
from operator import itemgetter

from audit.facts import estimators
from audit.facts.estimators import Printed, StepMatch
from audit.facts.training_logs import Batch, RunLog, step_pointer
from audit.finding import ERROR, INFO, WARNING
from audit.rules.case import Case
from audit.rules.check import CheckResult, Failed, Passed, Unchecked
from audit.rules.rule import rule

# float32 rounds to a relative 2^-24. A mean, a standard deviation, a difference and a quotient
# pass through a handful of roundings; 8 covers groups of some hundreds summed pairwise.
_ROUNDINGS = 8 * 2.0**-24
_BINARY = frozenset((0, 1))
_FEWEST = 20


@rule(
    "ADV001", "advantage-formula", ERROR, each=RunLog, missing="no step has rewards and advantages"
)
def advantage_formula(log: RunLog) -> Iterator[CheckResult]:
    """An advantage is not (reward - mean) / (std + epsilon) of its group, to float32.

    Where telemetry.advantage.scale is none it is reward - mean. Advantages, and rewards of more
    than a handful of values, that were rounded for the log may be off by half their last decimal.
    A warning where only the largest differ, all cut off at one size, and where whole steps differ
    by a constant factor, as by whitening afterwards or a weight of the reward.

    Why
        Advantages weight every token of the update. Rewards that do not give these advantages are
        not the rewards the run trained on.
    Fix
        Write both lists from one batch in one order; state telemetry.advantage (TRL has ddof 1,
        epsilon 1e-4), without which ddof 0 and 1e-6 are taken.
    Bad
        "rewards": [0, 1, 0, 1], "advantages": [1.0, 1.0, -1.0, -1.0]
    Good
        "rewards": [0, 1, 0, 1], "advantages": [-1.0, 1.0, -1.0, 1.0]
    """
    if estimators.declared(log) not in estimators.WITHIN_GROUPS:
        yield Unchecked("its advantages are not declared as those of GRPO", log.run.pointer)
        return
    held = 0
    size = log.group_size
    formula = log.advantage
    wrong: list[tuple[int, list[tuple[int, float]]]] = []
    rounded = estimators.printed(log)
    cut: list[tuple[int, int]] = []
    found: list[Failed] = []
    rescaled = True
    for (rewards, advantages), places in log.batches.items():
        if len(rewards) != len(advantages):
            continue
        errors = list(_wrong(rewards, advantages, size or len(rewards), formula, rounded))
        held += len(places) * (len(rewards) - len(errors))
        if errors:
            wrong += [(place, errors) for place in places]
    for place, errors in sorted(wrong, key=itemgetter(0)):
        rewards, advantages = _as_written(log, place)
        ends = [
            index
            for index, right in errors
            if abs(advantages[index]) == rounded.limit < abs(right)
            and advantages[index] * right > 0
        ]
        cut += [(place, index) for index in ends]
        others = [(index, right) for index, right in errors if index not in ends]
        rescaled = rescaled and (not others or estimators.rescaled(log, rewards, advantages))
        for index, expected in others:
            pointer = step_pointer(log, place, "advantages", index)
            message = f"not the advantage of reward {rewards[index]!r} in its group"
            found.append(Failed(pointer, message, f"{expected:.9g}", repr(advantages[index])))
    if found and rescaled:
        message = f"{len(found)} advantages are off by a constant factor of their step"
        yield Failed(found[0].pointer, message, found[0].expected, found[0].actual, WARNING)
    else:
        yield from found
    if cut:
        place, index = cut[0]
        message = f"{len(cut)} advantages are cut off at {rounded.limit:g}"
        yield Failed(step_pointer(log, place, "advantages", index), message, severity=WARNING)
    yield Passed(held)


def _as_written(log: RunLog, place: int) -> Batch:
    """Return a step's rewards and advantages with 1 and 1.0 as they stand, which are equal."""
    step = log.steps[place]
    return tuple(step["rewards"]), tuple(step["advantages"])


def _wrong(
    rewards: tuple[float, ...],
    advantages: tuple[float, ...],
    size: int,
    formula: tuple[int, float, bool],
    rounded: Printed,
) -> Iterator[tuple[int, float]]:
    ddof, epsilon, scaled = formula
    off = rounded.off(advantages)
    for start in range(0, len(rewards), size):
        group = rewards[start : start + size]
        expected = group_advantages(group, ddof, epsilon, scaled=scaled)
        if expected is None:
            continue
        width = max(_spread(group, ddof) + epsilon, 1e-300) if scaled else 1.0
        scale = max(map(abs, group)) / width
        for index, (value, right) in enumerate(
            zip(advantages[start : start + size], expected, strict=True), start
        ):
            allowed = _ROUNDINGS * (abs(right) + scale) + off[index]
            allowed += rounded.reward * (2 + abs(right)) / width
            if not abs(value - right) <= allowed:
                yield index, right


def group_advantages(
    rewards: tuple[float, ...], ddof: int = 0, epsilon: float = 1e-6, *, scaled: bool = True
) -> list[float] | None:
    """Return (r - mean) / (std + epsilon) of one group, shape (responses,); None below ddof + 1.

    Where they are not ``scaled``, r - mean. Sources: Shao et al. 2024, DeepSeekMath
    (arXiv:2402.03300), section 4.1, outcome supervision; without the scale, Liu et al. 2025, Dr.
    GRPO (arXiv:2503.20783).
    """
    mean = sum(rewards) / max(1, len(rewards))
    if not scaled:
        return [reward - mean for reward in rewards]
    if len(rewards) <= ddof:
        return None
    width = _spread(rewards, ddof) + epsilon
    return [(reward - mean) / width if width else 0.0 for reward in rewards]


def _spread(rewards: tuple[float, ...], ddof: int) -> float:
    mean = sum(rewards) / len(rewards)
    return math.sqrt(sum((r - mean) * (r - mean) for r in rewards) / (len(rewards) - ddof))


@rule("ADV002", "trained-without-variance", ERROR, each=RunLog)
def trained_without_variance(log: RunLog) -> Iterator[CheckResult]:
    """A group whose rewards are all equal was trained on, though such groups are rejected.

    Why
        It has no advantage, so the step could not have learned from it: the log contradicts
        either its rewards or its sampling.
    Fix
        Set telemetry.zero_groups to kept where such groups stay in the batch.
    Bad
        "rewards": [1, 1, 1, 1] in a step of a run that rejects flat groups
    Good
        "rewards": [1, 0, 1, 1]
    """
    held = 0
    if not log.rejects:
        yield Unchecked("groups without variance are kept (telemetry.zero_groups)", log.run.pointer)
        return
    flat: list[tuple[int, int]] = []
    for rewards, places in log.reward_lists.items():
        size = log.group_size or len(rewards)
        starts = range(0, len(rewards), size)
        alike = [start for start in starts if len(set(rewards[start : start + size])) == 1]
        held += len(places) * (len(starts) - len(alike))
        flat += [(place, start) for place in places for start in alike]
    for place, start in sorted(flat):
        reward = log.steps[place]["rewards"][start]
        pointer = step_pointer(log, place, "rewards")
        message = f"the group from response {start} has no variance"
        yield Failed(pointer, message, "rewards that differ", f"all {reward!r}")
    yield Passed(held)


@rule(
    "ADV003",
    "correct-counts",
    ERROR,
    each=RunLog,
    missing="no step has counts of right responses and rewards of 0 and 1",
)
def correct_counts(log: RunLog) -> Iterator[CheckResult]:
    """A group's count of right responses is not the number of its rewards equal to 1.

    Why
        Clips that depend on the count use it, and accuracy curves are drawn from it.
    Fix
        Count the right responses per group, in the order of rewards.
    Bad
        "rewards": [0, 1, 0, 1], "correct_counts": [3]
    Good
        "rewards": [0, 1, 0, 1], "correct_counts": [2]
    """
    held = 0
    size = log.group_size
    for place, step in enumerate(log.steps):
        rewards, counts = step.get("rewards"), step.get("correct_counts")
        if not rewards or not counts or not size or not _BINARY.issuperset(rewards):
            continue
        for group, count in enumerate(counts):
            right = rewards[group * size : (group + 1) * size].count(1)
            if count == right:
                held += 1
                continue
            pointer = step_pointer(log, place, "correct_counts", group)
            yield Failed(pointer, "not the number of rewards 1", str(right), str(count))
    yield Passed(held)


@rule("ADV004", "odd-reward", WARNING, each=Case)
def odd_reward(case: Case) -> Iterator[CheckResult]:
    """Exactly one reward of the file is neither 0 nor 1.

    Where all of at least 20 rewards but one are 0 or 1, that one is a rare kind of reward or a
    slip. Advantages do not tell: they stay the same when the one reward that differs is scaled.

    Why
        Mean rewards and curves drawn from them are off by it.
    Fix
        Compare the value with the run's own log; correct it, or waive it.
    Bad
        "rewards": [0, 0, 0, 1.07] among rewards of 0 and 1
    Good
        "rewards": [0, 0, 0, 1]
    """
    count, odd = 0, []
    for log in (log for arm in case.logs for log in arm.runs):
        for rewards, places in log.reward_lists.items():
            count += len(rewards) * len(places)
            if not _BINARY.issuperset(rewards):
                others = [at for at, reward in enumerate(rewards) if reward not in _BINARY]
                odd += [(log, place, at) for place in places for at in others]
    if count < _FEWEST or len(odd) > 1:
        yield Unchecked("rewards are not all 0 or 1" if odd else f"fewer than {_FEWEST} rewards")
    elif odd:
        log, place, at = odd[0]
        reward = log.steps[place]["rewards"][at]
        message = f"the only one of {count} rewards that is neither 0 nor 1"
        yield Failed(step_pointer(log, place, "rewards", at), message, "0 or 1", repr(reward))
    else:
        yield Passed(count)


# The estimators in the words of this field.
_NAMES = {
    "grpo": "GRPO",
    "dapo": "DAPO",
    "dr_grpo": "Dr. GRPO (reward - mean)",
    "rloo": "RLOO",
    "grpo_batch": "GRPO scaled by the standard deviation of the batch",
    "reinforce_plus_plus_baseline": "REINFORCE++ with the group mean as baseline",
    "reinforce_plus_plus": "REINFORCE++ without a baseline",
    "rewards": "no estimator (the rewards as they are)",
}
_NO_BATCHES = "no step has rewards and advantages of groups of known size"
_NOTHING_FITS = (
    "the advantages fit no known estimator: their rewards may hold a KL term, a penalty or weights "
    "that are not logged"
)


def _named(names: frozenset[str]) -> str:
    """Return estimators in words, those that give the same values joined by ``or``."""
    return " or ".join(words for name, words in _NAMES.items() if name in names)


@rule("ADV005", "declared-estimator", ERROR, each=Case)
def declared_estimator(case: Case) -> Iterator[CheckResult]:
    """The advantages of a run are not those of the estimator that it declares.

    They are recomputed from the rewards of each step by the formulas of GRPO, DAPO, Dr. GRPO, RLOO,
    GRPO scaled over the batch, and REINFORCE++. Where nothing is declared, what fits is said. A
    warning where the advantages may be the declared ones, whitened over the batch afterwards, and
    where other steps of the run fit no formula, so that one may fit by chance.

    Why
        The run then trained by another algorithm than the one whose gain is reported.
    Fix
        Find where the trainer left the recipe (a fallback, a flag that was not passed), and run it
        again; if the recipe is right, correct telemetry.advantage.estimator.
    Bad
        "estimator": "rloo" with "rewards": [0, 1], "advantages": [-0.5, 0.5]
    Good
        "estimator": "dr_grpo" with "rewards": [0, 1], "advantages": [-0.5, 0.5]
    """
    checked = False
    for arm in case.logs:
        for log, matches in estimators.of_arm(case.results, arm):
            checked = True
            due = estimators.declared(log)
            if due is None:
                yield _undeclared(log, matches)
            else:
                yield from _against(due, log, matches)
    if not checked:
        yield Unchecked(_NO_BATCHES)


def _undeclared(log: RunLog, matches: tuple[StepMatch, ...]) -> CheckResult:
    fits = frozenset(_NAMES).intersection(*(m.names for m in matches if m.names))
    if not any(m.names for m in matches):
        return Unchecked(_NOTHING_FITS, log.run.pointer)
    if not fits:
        return Unchecked("its steps follow no one estimator, see ADV006", log.run.pointer)
    pointer = step_pointer(log, matches[0].place, "advantages")
    return Failed(pointer, f"the advantages are those of {_named(fits)}", severity=INFO)


def _against(due: str, log: RunLog, matches: tuple[StepMatch, ...]) -> Iterator[CheckResult]:
    yield Passed(sum(due in match.names for match in matches))
    other = [match for match in matches if match.names and due not in match.names]
    untold = [match for match in matches if not match.names]
    if other:
        fits = frozenset(_NAMES).intersection(*(m.names for m in other)) or other[0].names
        pointer = step_pointer(log, other[0].place, "advantages")
        where = _where(other, matches)
        told, severity = f"another estimator {where}", ERROR
        if all(match.rescaled for match in other):
            told, severity = f"{told}, or whitened afterwards", WARNING
        elif untold:
            told, severity = f"{told}; {len(untold)} steps fit none", WARNING
        yield Failed(pointer, told, _NAMES[due], _named(fits), severity=severity)
    if untold and due in estimators.WITHIN_GROUPS:
        yield Unchecked(f"{_NOTHING_FITS}; see ADV001", log.run.pointer)
    elif untold:
        pointer = step_pointer(log, untold[0].place, "advantages")
        where = _where(untold, matches)
        yield Failed(pointer, f"{_NOTHING_FITS} ({where})", _NAMES[due], severity=WARNING)


def _not_contrary(due: str | None, matches: tuple[StepMatch, ...]) -> tuple[StepMatch, ...]:
    """Return the steps that a formula fits, without those that contradict the declared one."""
    if due is None:
        return tuple(match for match in matches if match.names)
    return tuple(match for match in matches if due in match.names)


def _where(some: list[StepMatch], matches: tuple[StepMatch, ...]) -> str:
    """Return the steps that differ, in words: ``from step 5 on``, else how many from which."""
    if len(some) == len(matches):
        return "in all steps"
    if some == list(matches[-len(some) :]):
        return f"from step {some[0].step} on"
    return f"in {len(some)} of {len(matches)} steps, the first step {some[0].step}"


@rule("ADV006", "estimator-changes", WARNING, each=Case)
def estimator_changes(case: Case) -> Iterator[CheckResult]:
    """The runs of an arm do not follow one estimator from their first step to their last.

    Steps that contradict what their run declares are left to ADV005.

    Why
        A fallback that some runs take, or one run from some step on, makes the arm a mixture of
        two algorithms.
    Fix
        Find what switched, and run what differs again.
    Bad
        steps 1 to 40 with the advantages of GRPO, steps 41 to 60 with the rewards themselves
    Good
        all steps of all runs with the advantages of GRPO
    """
    checked = False
    for arm in case.logs:
        runs = [
            (log, _not_contrary(estimators.declared(log), matches))
            for log, matches in estimators.of_arm(case.results, arm)
        ]
        shared = estimators.shared_estimator(m for _, matches in runs for m in matches)
        if shared is None:
            continue
        checked = True
        for log, matches in runs:
            other = [match for match in matches if shared not in match.names]
            yield Passed(len(matches) - len(other))
            if other:
                pointer = step_pointer(log, other[0].place, "advantages")
                message = (
                    f"another estimator than the rest of {arm.arm.name} {_where(other, matches)}"
                )
                yield Failed(pointer, message, _NAMES[shared], _named(other[0].names))
    if not checked:
        yield Unchecked(_NO_BATCHES)
