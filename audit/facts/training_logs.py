"""The training logs of a file as flat lists, made once and shared by all that reads them.

A log can hold a hundred thousand response audits. Rules therefore compare whole columns, and
build the pointer of a place only when something is found there.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import accumulate, chain, repeat
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from audit.facts.memo import once
from audit.facts.row_columns import Columns
from audit.pointer import join
from audit.results import Arm, Results, Run

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    FloatArray = NDArray[np.float64]
    IntegerArray = NDArray[np.int64]
    BooleanArray = NDArray[np.bool_]

# Audits from which arrays are made.
_MANY = 20_000
AUDIT_NUMBERS = (
    "clip_fraction",
    "gated_clip_fraction",
    "lower_mean",
    "upper_mean",
    "max_abs_log_ratio",
)
UPDATE_NUMBERS = ("loss", "gradient_l2_norm")
"""Fields of response audits, and of updates, that rules look over as arrays."""
# Loss terms and weights, by the names of TRL's settings, that the relations on losses leave out.
_OTHER_TERMS = (
    "beta",
    "entropy_coef",
    "top_entropy_quantile",
    "use_vllm",
    "mask_truncated_completions",
)


Batch = tuple[tuple[float, ...], tuple[float, ...]]
"""Rewards and advantages of a step."""


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
    def batches(self) -> dict[Batch, list[int]]:
        """Rewards with their advantages, and the places in ``training`` of the steps with these.

        Batches of 0/1 rewards repeat, and what holds for one holds for its equals.
        """
        found: dict[Batch, list[int]] = {}
        for place, step in enumerate(self.steps):
            rewards, advantages = step.get("rewards"), step.get("advantages")
            if rewards and advantages:
                key = tuple(rewards), tuple(advantages)
                found.setdefault(key, []).append(place)
        return found

    @cached_property
    def reward_lists(self) -> dict[tuple[float, ...], list[int]]:
        """The rewards of a step, and the places in ``training`` of the steps with these."""
        found: dict[tuple[float, ...], list[int]] = {}
        if sum(map(len, self.batches.values())) == len(self.steps):
            for (rewards, _), places in self.batches.items():
                found.setdefault(rewards, []).extend(places)
            return found
        for place, step in enumerate(self.steps):
            if step.get("rewards"):
                found.setdefault(tuple(step["rewards"]), []).append(place)
        return found

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


@dataclass(frozen=True, slots=True)
class UpdateArrays:
    """One entry per update of an arm, in the order of the file; but of ``advantages``.

    Attributes
    ----------
    advantages : ndarray
        Of all responses of all steps.
    losses : ndarray
        NaN where none is logged.
    first : ndarray of bool
        Whether it is the first update of its step.
    mean_loss : ndarray of bool
        As :attr:`RunLog.mean_loss`.
    counts : ndarray of int
        Advantages of its step.
    means, least, largest : ndarray
        The mean of these; the smallest that is not 0 and the largest in size, 0 where all are 0.
    """

    advantages: FloatArray
    losses: FloatArray
    first: BooleanArray
    mean_loss: BooleanArray
    counts: IntegerArray
    means: FloatArray
    least: FloatArray
    largest: FloatArray


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

    def column(self, name: str) -> list[Any]:
        """Return one field of all audits, None where it is absent."""
        return self._of_audits.values(name)

    def array(self, name: str) -> FloatArray | None:
        """Return a column of numbers as an array, to be looked over at once.

        None where an audit lacks the field, and where NumPy takes longer to load than to go
        through the column.
        """
        return self._of_audits.array(name)

    @cached_property
    def _of_audits(self) -> Columns:
        return Columns(self.audits, AUDIT_NUMBERS if len(self.audits) >= _MANY else ())

    def known(self, name: str) -> int:
        """Return how many audits have the field."""
        return self._of_audits.known(name)

    def complete(self, name: str) -> bool:
        """Whether every audit has the field."""
        return self.known(name) == len(self.audits)

    def largest(self, name: str) -> list[float | None]:
        """Return the largest value of a column in each update; None where an audit lacks it."""
        array = self.largest_array(name)
        if array is not None:
            found: list[float | None] = array.tolist()
            return found
        column = self.column(name)
        parts = (column[first:end] for *_, first, end in self.updates)
        return [max(part) if part and None not in part else None for part in parts]

    def largest_array(self, name: str) -> FloatArray | None:
        """Return the same as an array; None where :meth:`array` has none, and without audits."""
        array = self.array(name)
        if array is None or not self.all_audited:
            return None
        import numpy as np

        largest: FloatArray = np.maximum.reduceat(array, [update.first for update in self.updates])
        return largest

    @cached_property
    def has_metrics(self) -> bool:
        """Whether any update has figures under a trainer's own names."""
        return self._of_updates.known("metrics") > 0

    @cached_property
    def all_audited(self) -> bool:
        """Whether every update has response audits."""
        return 0 not in self.audit_counts

    @cached_property
    def audit_counts(self) -> list[int]:
        """How many response audits each update has."""
        bounds = itemgetter(4, 5)
        return [end - first for first, end in map(bounds, self.updates)]

    def update_array(self, name: str) -> FloatArray | None:
        """Return ``loss`` or ``gradient_l2_norm`` as :meth:`array` does fields of audits."""
        return self._of_updates.array(name)

    def update_column(self, name: str) -> list[Any]:
        """Return one field of all updates, None where it is absent."""
        return self._of_updates.values(name)

    @cached_property
    def _of_updates(self) -> Columns:
        numbers = UPDATE_NUMBERS if len(self.audits) >= _MANY else ()
        return Columns([update.document for update in self.updates], numbers)

    @property
    def losses(self) -> list[float | None]:
        """Field ``loss`` of all updates, None where it is absent."""
        return self.update_column("loss")

    @cached_property
    def update_arrays(self) -> UpdateArrays | None:
        """The updates as arrays, to be looked over at once.

        None where NumPy takes longer to load than to go through them, where a step has no
        advantages, and where an update has audits of some of its step's responses only.
        """
        return _update_arrays(self) if len(self.audits) >= _MANY else None

    def advantages_of(self, update: LoggedUpdate) -> list[float]:
        """Return the advantages of the responses in an update; none where they cannot be told."""
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


def _update_arrays(arm: ArmLog) -> UpdateArrays | None:
    advantages: list[Sequence[float]] = [step.get("advantages") or () for _, _, step in arm.steps()]
    if not arm.updates or not all(advantages):
        return None
    import numpy as np

    logs, steps, places, *_ = zip(*arm.updates, strict=True)
    updates = Counter(map(id, logs))
    of_run = [updates[id(log)] for log in arm.runs]
    before = list(accumulate((len(log.steps) for log in arm.runs), initial=0))[:-1]
    step = np.array(steps, np.int64) + np.repeat(np.array(before, np.int64), of_run)
    sizes = np.fromiter(map(len, advantages), np.int64, len(advantages))
    audits = np.array(arm.audit_counts)
    if ((audits != 0) & (audits != sizes[step])).any():
        return None
    starts = np.cumsum(sizes) - sizes
    flat = np.fromiter(chain.from_iterable(advantages), float, int(sizes.sum()))
    size = np.abs(flat)
    least = np.minimum.reduceat(np.where(size == 0, np.inf, size), starts)
    least[np.isinf(least)] = 0.0
    losses = arm.update_array("loss")
    return UpdateArrays(
        advantages=flat,
        losses=np.array(arm.losses, float) if losses is None else losses,
        first=np.array(places) == 0,
        mean_loss=np.repeat(np.array([log.mean_loss for log in arm.runs]), of_run),
        counts=sizes[step],
        means=(np.add.reduceat(flat, starts) / sizes)[step],
        least=least[step],
        largest=np.maximum.reduceat(size, starts)[step],
    )


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
