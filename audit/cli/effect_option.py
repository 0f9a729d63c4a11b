"""``--effect``: a size in the metric's units, or as a percentage of the metric's scale."""

from __future__ import annotations

import re
from dataclasses import dataclass

from audit.errors import UsageError


@dataclass(frozen=True, slots=True)
class EffectSize:
    """A size as it was typed; ``number`` is in percent of the scale where ``percent`` says so."""

    number: float
    percent: bool

    def on(self, span: float) -> float:
        """Return the size in the units of a metric whose scale has that width."""
        return self.number / 100 * span if self.percent else self.number


def effect_of(text: str) -> EffectSize:
    """Return the size that an option names, above 0.

    Raises
    ------
    UsageError
        When it is no such size.
    """
    found = re.fullmatch(r"\+?([0-9.]+(?:[eE]-?[0-9]+)?)\s*(%?)", text.strip())
    try:
        number = float(found[1]) if found else 0.0
    except ValueError:
        number = 0.0
    if found is None or not 0 < number < float("inf"):
        raise UsageError(f"--effect takes a size above 0, such as 0.05 or 2%, not {text}")
    return EffectSize(number, bool(found[2]))
