"""Training rewards of several components, each a fraction, apart from the evaluation's grader."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from pathlib import Path
from typing import Any

from audit.training.own_rewards import OWN_REWARDS, program_of
from audit.training.reward_program import RewardProgram, WrongVerdict
from audit.training.rewards import Score, Scorer, text_of
from audit.training.study_file import OnError, Reward

TARGET = "target"
"""Name under which the grader's own verdict stands beside the components of a training reward."""


# What TRL passes to a reward function itself, or keeps from it; a field of the row is never that.
_TRLS_OWN = (
    *("prompt", "prompts", "completion", "completions", "completion_ids"),
    *("environments", "trainer_state", "log_extra", "log_metric"),
)


@dataclass(frozen=True, slots=True)
class Component:
    """One component: its name, weight and program; it travels to workers and is loaded there."""

    name: str
    weight: float
    on_error: OnError
    function: str
    program: RewardProgram | None

    def load(
        self, columns: Mapping[int, Mapping[str, Any]], *, measuring: bool = False
    ) -> ComponentReward:
        """Load the program.

        Parameters
        ----------
        columns : mapping
            The columns of each row, by its place.
        measuring : bool
            Whether it is measured and not trained on: then no exception ends the run.

        Raises
        ------
        InputError
            When its source is not the one that was hashed, or cannot be run.
        """
        on_error: OnError = "wrong" if measuring else self.on_error
        if self.program is None:
            return ComponentReward(self.name, OWN_REWARDS[self.function], on_error, columns)
        function, batched = self.program.reward()
        return ComponentReward(self.name, function, on_error, columns, batched=batched)

    def block(self, errored: int) -> dict[str, Any]:
        """Return what a run says of the component."""
        return {
            "name": self.name,
            "weight": self.weight,
            "function": self.function,
            **({"sha256": self.program.sha256} if self.program else {}),
            "on_error": self.on_error,
            "errored": errored,
        }


def component(folder: Path, setting: Reward) -> Component:
    """Find the program of a component and hash it.

    Raises
    ------
    UsageError
        When its name is none, or there is no such module.
    """
    return Component(
        name=setting.called,
        weight=setting.weight,
        on_error=setting.on_error,
        function=setting.function,
        program=program_of(folder, setting.function, "function"),
    )


class ComponentReward:
    """A component as the reward function TRL calls: fractions in [0, 1], exceptions counted.

    A function of ``(response, answer)`` is called once per response and returns True, False, a
    number in [0, 1] or a ``Score``. One that has a parameter ``completions`` is called as TRL
    calls it, with every column of the rows but one of a name of TRL's; ``answer`` is the gold
    answer, whatever its field is called. It may return None for a response to which it does not
    apply, as TRL lets it. Where it raises, it is called again for each response alone, so that one
    response cannot spoil the others of its batch.
    """

    def __init__(
        self,
        name: str,
        function: Any,
        on_error: OnError,
        columns: Mapping[int, Mapping[str, Any]],
        *,
        batched: bool = False,
    ) -> None:
        self.__name__ = name
        self.function = function
        self.on_error = on_error
        self.columns = columns
        self.batched = batched
        self.errored = 0

    def __call__(
        self, *, completions: Sequence[Any], answer: Sequence[str], row: Sequence[int], **given: Any
    ) -> list[float | None]:
        """Score a batch; None stands where a function of TRL's kind does not apply.

        Raises
        ------
        WrongVerdict
            When the function returns what is no fraction.
        Exception
            Whatever the function raises, where ``on_error`` is ``fail``.
        """
        if self.batched:
            try:
                return self._batch(completions, answer, row, given)
            except WrongVerdict:
                raise
            except (Exception, SystemExit):
                if self.on_error == "fail":
                    raise
        return [
            self._one(index, completions, answer, row, given) for index in range(len(completions))
        ]

    def _one(
        self,
        index: int,
        completions: Sequence[Any],
        answer: Sequence[str],
        row: Sequence[int],
        given: Mapping[str, Any],
    ) -> float | None:
        here = slice(index, index + 1)
        try:
            if not self.batched:
                return self._fraction(self.function(text_of(completions[index]), answer[index]))
            own = {k: v[here] if _is_column(v, completions) else v for k, v in given.items()}
            return self._batch(completions[here], answer[here], row[here], own)[0]
        except WrongVerdict:
            raise
        except (Exception, SystemExit):
            if self.on_error == "fail":
                raise
            self.errored += 1
            return 0.0

    def _batch(
        self,
        completions: Sequence[Any],
        answer: Sequence[str],
        row: Sequence[int],
        given: Mapping[str, Any],
    ) -> list[float | None]:
        rows = [self.columns.get(place, {}) for place in row]
        names = dict.fromkeys(name for one in rows for name in one if name not in _TRLS_OWN)
        columns = {name: [one.get(name) for one in rows] for name in names}
        whole = {**columns, **given, "completions": completions, "answer": answer, "row": row}
        found = list(self.function(**whole))
        if len(found) != len(completions):
            raise WrongVerdict(
                f"{self.__name__} returned {len(found)} rewards for {len(completions)} responses"
            )
        return [None if value is None else self._fraction(value) for value in found]

    def _fraction(self, value: Any) -> float:
        value = value.correct if isinstance(value, Score) else value
        if not isinstance(value, Real) or not 0 <= float(value) <= 1:
            shown = " ".join(repr(value)[:80].split())
            raise WrongVerdict(f"{self.__name__} returned {shown}, not a fraction in [0, 1]")
        return float(value)


def target_reward(scorer: Scorer) -> ComponentReward:
    """Return the evaluation's grader as a reward that is watched and not trained on."""
    return ComponentReward(TARGET, scorer, "wrong", {})


def _is_column(value: Any, completions: Sequence[Any]) -> bool:
    return isinstance(value, list) and len(value) == len(completions)
