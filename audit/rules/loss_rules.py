"""LOSS: what the definition of the loss and single precision leave in a logged loss."""

from __future__ import annotations

import math
from collections.abc import Iterator

from audit.facts.training_logs import ArmLog
from audit.finding import ERROR
from audit.pointer import join
from audit.rules.check import CheckResult, Failed, Passed, Unchecked
from audit.rules.float32 import EXACT_PER_ODD
from audit.rules.rule import rule
from audit.rules.scopes import NO_AUDITS

# A float32 mean over n equal values is off by up to log2(n) roundings of 2^-24: 32 covers any n.
_TOKEN_MEAN = 32 * 2.0**-24


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
    held = 0
    for update, loss, advantages in zip(arm.updates, arm.losses, arm.advantages, strict=True):
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
    held = 0
    ratios = arm.largest("max_abs_log_ratio")
    least: dict[int, float] = {}  # by list: the updates of a step share theirs
    rows = zip(arm.updates, arm.losses, arm.advantages, ratios, strict=True)
    for update, loss, advantages, ratio in rows:
        if not loss or not advantages or ratio is None or not update.log.mean_loss:
            continue
        if id(advantages) not in least:
            least[id(advantages)] = min(filter(None, map(abs, advantages)), default=0.0)
        step = _loss_step(len(advantages), least[id(advantages)], ratio)
        if step is None:
            continue
        if (loss / step).is_integer():
            # Of larger float32 numbers one in eight or more are on the lattice by chance, and a
            # first loss is made of advantages, which may be float32 where later means are not.
            held += update.place > 0 and abs(loss) < step * 2.0**20
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


def _loss_step(count: int, advantage: float, ratio: float) -> float | None:
    """Power of two that a loss must be a multiple of; None where nothing follows.

    ``advantage`` is the smallest of so many that is not 0, and ``ratio`` the largest log ratio.
    """
    if count & (count - 1):
        return None
    # The margin covers the roundings of the token mean.
    least = advantage * math.exp(-ratio) * (1 - _TOKEN_MEAN)
    # Below 2^-60 nothing is left to check, and subnormal numbers are out of the way.
    return math.ldexp(1.0, math.frexp(least)[1] - 24) / count if least > 2.0**-60 else None
