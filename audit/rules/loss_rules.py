"""LOSS: what the definition of the loss and single precision leave in a logged loss."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from audit.facts.training_logs import ArmLog
from audit.finding import ERROR
from audit.pointer import join
from audit.rules.check import CheckResult, Failed, Passed, Unchecked
from audit.rules.float32 import EXACT_PER_ODD
from audit.rules.rule import rule
from audit.rules.scopes import NO_AUDITS

# A float32 mean over n equal values is off by up to log2(n) roundings of 2^-24: 32 covers any n.
_TOKEN_MEAN = 32 * 2.0**-24
# Below this nothing is left to check, and subnormal numbers are out of the way.
_LEAST = 2.0**-60
# A loss of more steps than this is on the lattice too easily to count.
_TELLING = 2.0**20
_CLOSE = 1e-9


@rule(
    "LOSS001",
    "first-loss",
    ERROR,
    each=ArmLog,
    missing="no first update with a loss of type grpo and advantages",
)
def first_loss(arm: ArmLog) -> Iterator[CheckResult]:
    """The loss of a batch's first update is not minus the mean advantage.

    Why
        With ratio 1 the loss of GRPO is minus the mean of the advantages: 0 for whole groups, up
        to float noise. Another value is another loss, or an altered one.
    Fix
        Name the loss in telemetry.loss_type; log it before the optimizer step.
    Bad
        "inner_update": 1 with "loss": 0.003
    Good
        "inner_update": 1 with "loss": 2.98e-08
    """
    held, left = _held_at_once(arm)
    losses = arm.losses
    for place in left:
        update, loss = arm.updates[place], losses[place]
        advantages = arm.advantages_of(update)
        if update.place or loss is None or not advantages or not update.log.mean_loss:
            continue
        expected = -sum(advantages) / len(advantages)
        if abs(loss - expected) <= _TOKEN_MEAN * max(max(advantages), -min(advantages)):
            held += 1
        else:
            shown = "0 up to float noise" if abs(expected) < _TOKEN_MEAN else f"{expected:.7g}"
            pointer = join(update.pointer, "loss")
            yield Failed(pointer, "not minus the mean advantage", shown, repr(loss))
    yield Passed(held)


def _held_at_once(arm: ArmLog) -> tuple[int, Sequence[int]]:
    """Return how many losses clearly agree, and the places of the updates that are left."""
    arrays = arm.update_arrays
    if arrays is None:
        return 0, range(len(arm.updates))
    import numpy as np

    asked = arrays.first & arrays.mean_loss & ~np.isnan(arrays.losses)
    # The sum here may round otherwise than one response after another; a millionth is far more.
    allowed = (1 - 1e-6) * _TOKEN_MEAN * arrays.largest
    agree = asked & (np.abs(arrays.losses + arrays.means) <= allowed)
    return int(agree.sum()), np.flatnonzero(asked & ~agree).tolist()


@rule("LOSS002", "loss-lattice", ERROR, each=ArmLog, needs=("audits",), missing=NO_AUDITS)
def loss_lattice(arm: ArmLog) -> Iterator[CheckResult]:
    """A loss is no multiple of the step that float32 leaves in a mean over the responses.

    A response's mean loss is at least its |advantage| times exp(-max |log ratio|) in size, so as
    a float32 it is a multiple of a known power of two; the mean over 2^k responses is one of that
    power over 2^k, however small the loss. It is checked where most losses of the arm are.

    Why
        A loss that was computed lies on that lattice; one that was typed or scaled does not.
    Fix
        Log the loss as the trainer computed it, unrounded.
    Bad
        "loss": 0.00158237 where all others are multiples of 2^-26
    Good
        "loss": 0.0015807896852493286
    """
    found: list[Failed] = []
    held, left = _on_lattice_at_once(arm)
    losses, ratios = arm.losses, arm.largest("max_abs_log_ratio") if left else []
    for place in left:
        update, loss, ratio = arm.updates[place], losses[place], ratios[place]
        advantages = arm.advantages_of(update)
        if not loss or not advantages or ratio is None or not update.log.mean_loss:
            continue
        least = min(filter(None, map(abs, advantages)), default=0.0)
        step = _loss_step(len(advantages), least, ratio)
        if step is None:
            continue
        if (loss / step).is_integer():
            # Of larger float32 numbers one in eight or more are on the lattice by chance, and a
            # first loss is made of advantages, which may be float32 where later means are not.
            held += update.place > 0 and abs(loss) < step * _TELLING
        else:
            message = "not on the lattice of float32 means over the responses"
            expected = f"a multiple of 2^{round(math.log2(step))}"
            found.append(Failed(join(update.pointer, "loss"), message, expected, repr(loss)))
    if held < max(1, EXACT_PER_ODD * len(found)):
        reason = "not all" if found else "none small enough to tell"
        yield Unchecked(
            f"losses that are float32 means over 2^k responses: {reason}", arm.arm.pointer
        )
    else:
        yield from found
        yield Passed(held)


def _on_lattice_at_once(arm: ArmLog) -> tuple[int, Sequence[int]]:
    """Return how many losses count as on their lattice, and the places of those left to look at."""
    arrays, ratios = arm.update_arrays, arm.largest_array("max_abs_log_ratio")
    if arrays is None or ratios is None:
        return 0, range(len(arm.updates))
    import numpy as np

    asked = arrays.mean_loss & ~np.isnan(arrays.losses) & (arrays.losses != 0)
    asked &= arrays.counts & (arrays.counts - 1) == 0
    with np.errstate(all="ignore"):
        least = arrays.least * np.exp(-ratios) * (1 - _TOKEN_MEAN)
        mantissa, exponent = np.frexp(least)
        step = np.ldexp(1.0, exponent - 24) / arrays.counts
        multiple = arrays.losses / step
    # Beside a power of two the last digit of exp would decide: those are looked at one by one.
    apart = (mantissa > 0.5 + _CLOSE) & (mantissa < 1 - _CLOSE) & (least > 2 * _LEAST)
    on = asked & apart & np.isfinite(multiple) & (multiple == np.trunc(multiple))
    telling = on & ~arrays.first & (np.abs(arrays.losses) < step * _TELLING)
    return int(telling.sum()), np.flatnonzero(asked & ~on).tolist()


def _loss_step(count: int, advantage: float, ratio: float) -> float | None:
    """Power of two that a loss must be a multiple of; None where nothing follows.

    ``advantage`` is the smallest of so many that is not 0, and ``ratio`` the largest log ratio.
    """
    if count & (count - 1):
        return None
    # The margin covers the roundings of the token mean.
    least = advantage * math.exp(-ratio) * (1 - _TOKEN_MEAN)
    return math.ldexp(1.0, math.frexp(least)[1] - 24) / count if least > _LEAST else None
