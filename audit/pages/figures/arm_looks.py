"""How an arm looks in every figure of a study: one colour, one marker, one dash and one label."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from audit.pages.figures import canvas

if TYPE_CHECKING:
    from audit.pages.variables import Variables


@dataclass(frozen=True, slots=True)
class ArmLook:
    """Label, colour, marker and dash of one arm."""

    label: str
    colour: str
    marker: str
    dash: Any


def arm_looks(variables: Variables) -> dict[str, ArmLook]:
    """Return the look of every arm by its name; the top arm has the first, the base is faint."""
    looks: dict[str, ArmLook] = {}
    trained = [arm for arm in variables.arms if not arm.is_base]
    number = len(canvas.ARM_COLOURS)
    for place, arm in enumerate(reversed(trained)):  # the top arm is the last a page shows
        place %= number
        look = canvas.ARM_COLOURS[place], canvas.ARM_MARKERS[place], canvas.ARM_DASHES[place]
        looks[arm.name] = ArmLook(canvas.short(arm.label, 30), *look)
    for arm in variables.arms:
        if arm.is_base:
            looks[arm.name] = ArmLook(canvas.short(arm.label, 30), canvas.FAINT, "o", "-")
    return looks
