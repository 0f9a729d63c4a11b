"""A table's values on the scale the user or the cells say, accuracy always as a fraction."""

from __future__ import annotations

from typing import Any

from audit.errors import ImportRefused
from audit.importers.draft import Options
from audit.importers.metric_names import ACCURACY, reading_of
from audit.importers.notes import Notes
from audit.importers.numbers import cell, fraction_of_percent

PERCENT = (0, 100)


def scaled(value: Any, metric: str | None, options: Options, path: str, place: str) -> float | None:
    """Return a cell's number, or None where it holds none.

    A metric that nothing names is read as accuracy.

    Raises
    ------
    ImportRefused
        When an accuracy lies outside 0 to 1 and nothing says percent.
    """
    found, percent = cell(value)
    if found is None:
        return None
    if metric not in (None, ACCURACY):
        return float(found)
    share = fraction_of_percent(found) if percent or options.scale == PERCENT else float(found)
    if not 0 <= share <= 1:
        unnamed = "no metric is named and " if metric is None else ""
        raise ImportRefused(
            f"{unnamed}{place} is {found}: say --scale 0-100 for percent, or --metric NAME for "
            "something other than accuracy",
            path=path,
        )
    return share


def lowest(metric: str, options: Options) -> float | None:
    """Return the lowest value of a metric, as its name or the user says it; else None."""
    low: float | None = (reading_of(metric).get("scale") or [None])[0]
    if low is None and metric != ACCURACY and options.scale is not None:
        return options.scale[0]
    return low


def say_unnamed(path: str, options: Options, notes: Notes) -> None:
    """Say that a metric without a name is read as accuracy."""
    low, high = options.scale or (0, 1)
    notes.say(
        f"{path}: no metric is named; read as accuracy on the scale {low:g}-{high:g} "
        "(--metric NAME otherwise)"
    )
