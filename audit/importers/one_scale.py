"""One metric on one scale: sources that give shares beside sources that give percent."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from audit.errors import ImportRefused
from audit.importers.draft import Options
from audit.importers.metric_names import ACCURACY
from audit.importers.same_run import ArmRun, blocks_of
from audit.importers.scaled import PERCENT

# On a narrower scale a hundredth is no place where another scale's values would all lie.
_WIDE = 10
_SMALL = 0.01


def refuse_mixed_scales(runs: Sequence[ArmRun], options: Options) -> None:
    """Refuse runs that are on another scale than the one the user names for all.

    A run is, where all its values but the lowest lie within a hundredth of the scale's width of
    the low end, and another run has values beyond that. Of single scores the runs of an arm are
    looked at together.

    Parameters
    ----------
    runs : sequence of ArmRun
        Of all arms; accuracy has been brought to a fraction.
    options : Options
        ``scale`` is the one said; without one, or on a scale narrower than 10, nothing is known.

    Raises
    ------
    ImportRefused
        When the runs are on two scales.
    """
    if options.scale is None or options.scale[1] - options.scale[0] < _WIDE:
        return
    small: dict[tuple[str | None, str], str] = {}
    beyond: dict[tuple[str | None, str], tuple[str, float]] = {}
    for key, label, values, by_task in _values(runs):
        low, width = (0.0, 1.0) if key[1] == ACCURACY else _ends(options.scale)
        if key[1] == ACCURACY and options.scale != PERCENT:
            continue
        places = [(value - low) / width for value in values if value != low]
        if any(place > _SMALL for place in places):
            beyond.setdefault(key, (label, max(values)))
        elif places and (by_task or max(places) < _SMALL):
            small.setdefault(key, label)
    for key in small:
        if key in beyond:
            label, largest = beyond[key]
            shown = largest * 100 if key[1] == ACCURACY else largest
            raise ImportRefused(
                f"the runs of one study must be on one scale: on {options.scale[0]:g}-"
                f"{options.scale[1]:g}, which was said, all of {small[key]} lies in the lowest "
                f"hundredth, and {label} goes up to {shown:g}; name the scale of each source, or "
                "bring it over alone"
            )


def _ends(scale: tuple[float, float]) -> tuple[float, float]:
    return scale[0], scale[1] - scale[0]


def _values(
    runs: Sequence[ArmRun],
) -> Iterator[tuple[tuple[str | None, str], str, list[float], bool]]:
    """Yield benchmark and metric, whose values, the values, and whether they are of tasks."""
    single: dict[tuple[str | None, str, str], list[float]] = {}
    for run in runs:
        scores = dict(run.draft.document.get("method_metrics", {}))
        for block in blocks_of(run.draft.document):
            metric = str(block.get("metric") or ACCURACY)
            place = block.get("benchmark"), metric
            if "correct" in block:
                yield place, run.label, [float(min(1, count)) for count in block["correct"]], True
            elif "scores" in block:
                yield place, run.label, list(block["scores"]), True
            elif metric in scores:
                single.setdefault((*place, run.arm), []).append(scores.pop(metric))
        if ACCURACY in scores:
            single.setdefault((None, ACCURACY, run.arm), []).append(scores[ACCURACY])
    for (benchmark, metric, arm), values in single.items():
        yield (benchmark, metric), arm, values, False
