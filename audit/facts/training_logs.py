"""The training logs of a file as flat lists, made once and shared by all that reads them.

A log can hold a hundred thousand response audits. Rules therefore compare whole columns, and
build the pointer of a place only when something is found there.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import accumulate, chain, repeat
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from audit.facts.memo import once
from audit.pointer import join
from audit.results import Arm, Results, Run

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    FloatArray = NDArray[np.float64]

# Audits from which arrays are made.
_MANY = 20_000
# Loss terms and weights, by the names of TRL's settings, that the relations on losses leave out.
_OTHER_TERMS = (
    "beta",
    "entropy_coef",
    "top_entropy_quantile",
    "use_vllm",
    "mask_truncated_completions",
)


class Batch(NamedTuple):
    """Rewards and advantages of a step, by its place in ``training``."""

    place: int
    rewards: tuple[float, ...]
    advantages: tuple[float, ...]


@dataclass(frozen=True)
class RunLog:
    """The training log of one run and the settings it was made with."""

    run: Run

    @property
    def document(self) -> Mapping[str, Any]:
        """The run's block in the file."""
        return self.run.document

    @cached_property
    def steps(self) -> list[dict[str, Any]]:
        """Entries of ``training``."""
        return self.run.training

    @cached_property
    def whole_steps(self) -> list[dict[str, Any]]:
        """The steps that came to their end: a run that did not finish may break off in its last."""
        return self.steps if self.run.finished else self.steps[:-1]

    @cached_property
    def batches(self) -> list[Batch]:
        """The steps that have rewards and advantages."""
        return [
            Batch(place, tuple(step["rewards"]), tuple(step["advantages"]))
            for place, step in enumerate(self.steps)
            if step.get("rewards") and step.get("advantages")
        ]

    def every(self, name: str) -> list[Any]:
        """Return the values of one list of all steps, such as ``rewards``, one after another."""
        return list(chain.from_iterable(step.get(name) or () for step in self.steps))

    @cached_property
    def full(self) -> bool:
        """Whether every step and response is recorded."""
        return (self.run.telemetry.get("level") or "full") == "full"

    @cached_property
    def groups(self) -> int:
        """Groups trained on in a step."""
        return int(self.run.telemetry.get("groups_per_step") or 1)

    @cached_property
    def group_size(self) -> int | None:
        """Responses in a group; None where the file does not say."""
        size = self.run.telemetry.get("responses_per_group") or self.run.protocol.get("group")
        return None if size is None else int(size)

    @cached_property
    def rejects(self) -> bool:
        """Whether groups without variance were rejected before training."""
        return (self.run.telemetry.get("zero_groups") or "rejected") == "rejected"

    @property
    def in_order(self) -> bool:
        """Whether a step is one group, drawn in order until one has variance."""
        counted = (self.run.telemetry.get("row_order") or "attempts") == "attempts"
        return counted and self.rejects and self.groups == 1

    @property
    def advantage(self) -> tuple[int, float, bool]:
        """Delta degrees of freedom and epsilon of the advantages, and whether they are scaled."""
        settings = self.run.telemetry.get("advantage") or {}
        scaled = settings.get("scale") != "none"
        return int(settings.get("ddof", 0)), float(settings.get("epsilon", 1e-6)), scaled

    @cached_property
    def token_ratios(self) -> bool:
        """Whether ratios are of tokens, not of whole responses."""
        return self.run.protocol.get("importance_sampling_level") != "sequence"

    @cached_property
    def mean_loss(self) -> bool:
        """Whether the loss is the mean over responses of token means, with no term beside it."""
        protocol = self.run.protocol
        kind = self.run.telemetry.get("loss_type") or protocol.get("loss_type") or "grpo"
        return (
            kind == "grpo"
            and self.token_ratios
            and not any(protocol.get(name) for name in _OTHER_TERMS)
        )


class LoggedUpdate(NamedTuple):
    """One optimizer step; its audits are ``audits[first:end]`` of the arm's log."""

    log: RunLog
    step: int
    place: int
    document: Mapping[str, Any]
    first: int
    end: int

    @property
    def pointer(self) -> str:
        """JSON Pointer of the update."""
        return join(self.log.run.pointer, "training", self.step, "updates", self.place)


@dataclass(frozen=True)
class ArmLog:
    """The training logs of an arm's runs.

    Attributes
    ----------
    runs : list of RunLog
        Those that have a log.
    updates : list of LoggedUpdate
        In the order of the file.
    audits : list of dict
        Response audits of all updates.
    spans : list of (RunLog, int, int)
        ``audits[first:end]`` are those of one run.
    """

    arm: Arm
    runs: list[RunLog] = field(default_factory=list)
    updates: list[LoggedUpdate] = field(default_factory=list)
    audits: list[Mapping[str, Any]] = field(default_factory=list)
    spans: list[tuple[RunLog, int, int]] = field(default_factory=list)
    _columns: dict[str, list[Any]] = field(default_factory=dict)
    _known: dict[str, int] = field(default_factory=dict)
    _arrays: dict[str, FloatArray] = field(default_factory=dict)

    def column(self, name: str) -> list[Any]:
        """Return one field of all audits, None where it is absent."""
        if name not in self._columns:
            column = self._shared.get(name)
            if column is not None:
                self._known[name] = len(column)
            elif self._shared:
                column, self._known[name] = [None] * len(self.audits), 0
            else:
                column = [audit.get(name) for audit in self.audits]
                self._known[name] = len(column) - column.count(None)
            self._columns[name] = column
        return self._columns[name]

    def array(self, name: str) -> FloatArray | None:
        """Return a column of numbers as an array, to be looked over at once.

        None where an audit lacks the field, and where NumPy takes longer to load than to go
        through the column.
        """
        if len(self.audits) < _MANY or not self.complete(name):
            return None
        if name not in self._arrays:
            import numpy as np

            column = self.column(name)
            self._arrays[name] = np.fromiter(column, float, len(column))
        return self._arrays[name]

    @cached_property
    def _shared(self) -> dict[str, list[Any]]:
        return _columns(self.audits)

    def known(self, name: str) -> int:
        """Return how many audits have the field."""
        self.column(name)
        return self._known[name]

    def complete(self, name: str) -> bool:
        """Whether every audit has the field."""
        return self.known(name) == len(self.audits)

    def largest(self, name: str) -> list[float | None]:
        """Return the largest value of a column in each update; None where an audit lacks it."""
        array = self.array(name)
        if array is not None and self.all_audited:
            import numpy as np

            found: list[float | None]
            found = np.maximum.reduceat(array, [update.first for update in self.updates]).tolist()
            return found
        column = self.column(name)
        parts = (column[first:end] for *_, first, end in self.updates)
        return [max(part) if part and None not in part else None for part in parts]

    @cached_property
    def has_metrics(self) -> bool:
        """Whether any update has figures under a trainer's own names."""
        if self._of_updates:
            return "metrics" in self._of_updates
        return any("metrics" in update.document for update in self.updates)

    @cached_property
    def all_audited(self) -> bool:
        """Whether every update has response audits."""
        return all(first < end for *_, first, end in self.updates)

    def update_column(self, name: str) -> list[Any]:
        """Return one field of all updates, None where it is absent."""
        column = self._of_updates.get(name)
        if column is None:
            column = [update.document.get(name) for update in self.updates]
        return column

    @cached_property
    def _of_updates(self) -> dict[str, list[Any]]:
        return _columns([update.document for update in self.updates])

    @property
    def losses(self) -> list[float | None]:
        """Field ``loss`` of all updates, None where it is absent."""
        return self.update_column("loss")

    @cached_property
    def advantages(self) -> list[list[float]]:
        """Advantages of the responses in each update; empty where they cannot be told."""
        return [self._advantages(update) for update in self.updates]

    def _advantages(self, update: LoggedUpdate) -> list[float]:
        log, step, _, _, first, end = update  # faster than by name, in a loop this long
        every: list[float] = log.steps[step].get("advantages") or []
        if end - first in (0, len(every)):
            return every
        # Below level full the audits may be some of the responses that were trained on.
        if self.sequences is None or not log.full:
            return []
        present = self.sequences[first:end]
        known = [number for number in present if number is not None and number < len(every)]
        return [every[number] for number in known] if len(known) == len(present) else []

    @cached_property
    def of_first_updates(self) -> bytearray:
        """One byte per audit, 1 where it is of the first update of a step."""
        return bytearray().join(
            bytes(end - first) if place else b"\x01" * (end - first)
            for _, _, place, _, first, end in self.updates
        )

    def update_of(self, index: int) -> LoggedUpdate:
        """Return the update that an audit belongs to."""
        return self.updates[bisect_right(self._starts, index) - 1]

    def pointer(self, index: int, name: str) -> str:
        """Return the pointer of a field of an audit."""
        update = self.update_of(index)
        return join(update.pointer, "response_audits", index - update.first, name)

    @cached_property
    def sequences(self) -> list[int | None] | None:
        """Field ``sequence`` of all audits; None where no audit has it."""
        return self.column("sequence") if self.known("sequence") else None

    @cached_property
    def _starts(self) -> list[int]:
        # An update without audits shares its start with the next one, which must win.
        return [update.first for update in self.updates]

    def steps(self) -> Iterator[tuple[RunLog, int, Mapping[str, Any]]]:
        """Every step with its log and its place in it."""
        for log in self.runs:
            for place, step in enumerate(log.steps):
                yield log, place, step


def _columns(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Return every column of rows, read in one pass, where all have the same fields; else none."""
    names = tuple(rows[0]) if rows else ()
    if len(names) < 2 or set(map(len, rows)) != {len(names)}:
        return {}
    try:
        flat = list(chain.from_iterable(map(itemgetter(*names), rows)))
    except KeyError:
        return {}
    return {name: flat[place :: len(names)] for place, name in enumerate(names)}


def step_pointer(log: RunLog, place: int, *tokens: str | int) -> str:
    """Return the pointer of a step, or of a member below it."""
    return join(log.run.pointer, "training", place, *tokens)


# What ``LoggedUpdate._make`` does, without a call of Python for each of many thousand updates.
_logged_update = cast(
    "Callable[[tuple[Any, ...]], LoggedUpdate]", partial(tuple.__new__, LoggedUpdate)
)


@once
def read_logs(results: Results) -> tuple[ArmLog, ...]:
    """Return the training logs of every arm, top arm first."""
    return tuple(_arm_log(arm) for arm in results.arms)


def _arm_log(arm: Arm) -> ArmLog:
    result = ArmLog(arm)
    for run in arm.runs:
        if run.training:
            _append(result, RunLog(run))
    return result


def _append(result: ArmLog, log: RunLog) -> None:
    start = len(result.audits)
    updates = [step.get("updates") or () for step in log.steps]
    documents = list(chain.from_iterable(updates))
    audits = [document.get("response_audits") or () for document in documents]
    counts = list(map(len, updates))
    steps = chain.from_iterable(map(repeat, range(len(counts)), counts))
    places = chain.from_iterable(map(range, counts))
    bounds = list(accumulate(map(len, audits), initial=start))
    rows = zip(repeat(log), steps, places, documents, bounds, bounds[1:], strict=False)
    result.runs.append(log)
    result.updates.extend(map(_logged_update, rows))
    result.audits.extend(chain.from_iterable(audits))
    result.spans.append((log, start, len(result.audits)))
