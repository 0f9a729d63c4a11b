"""JSON summaries that hold, for each arm, a list the source itself calls per-seed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from audit.errors import ImportRefused
from audit.importers.draft import Draft, DraftRun, Options
from audit.importers.foreign import Foreign
from audit.importers.metric_names import ACCURACY, is_accuracy, reading_of
from audit.importers.notes import Notes
from audit.importers.numbers import fraction_of_percent, number, spread_note

_LIST = re.compile(r"^(?:(.+?)_)?per_seed$")


def sniff(document: Any, name: str) -> bool:
    """Whether some member of a JSON object holds a per-seed list of numbers."""
    return isinstance(document, dict) and any(True for _ in _lists(document))


def _lists(document: dict[str, Any]) -> Iterator[tuple[str, str, list[Any], dict[str, Any]]]:
    """Yield arm, metric (empty when the key names none), list and the arm's block."""
    for arm, block in document.items():
        for key, value in block.items() if isinstance(block, dict) else ():
            match = _LIST.match(key)
            if match and isinstance(value, list) and any(number(v) is not None for v in value):
                yield arm, match[1] or "", value, block


def read(files: Sequence[Foreign], options: Options) -> Draft:
    """Read the per-seed lists of one metric as that many runs without seed numbers.

    The metric is the first list's unless ``--metric`` names another.

    Raises
    ------
    ImportRefused
        When an accuracy lies outside 0 to 1 and nothing says percent.
    """
    notes = Notes()
    runs: list[DraftRun] = []
    for file in files:
        for note in file.notes:
            notes.say(note)
        runs += _file_runs(file, options, notes)
    names = {name for run in runs for name in run.document["method_metrics"]}
    metrics = {name: reading_of(name) for name in sorted(names) if reading_of(name)}
    return Draft(tool=None, version=None, runs=tuple(runs), metrics=metrics, notes=notes.lines)


def _file_runs(file: Foreign, options: Options, notes: Notes) -> Iterator[DraftRun]:
    found = list(_lists(file.content))
    keys = list(dict.fromkeys(metric for _, metric, *_ in found))
    metric = options.metric if options.metric in keys else keys[0]
    chosen = [entry for entry in found if entry[1] == metric]
    others = [arm for arm, other, *_ in found if other != metric]
    if others:
        names = ", ".join(key or "per_seed" for key in keys if key != metric)
        notes.say(f"{file.name}: lists of another metric ({names}) left out: " + ", ".join(others))
    left = [name for name in file.content if name not in {arm for arm, *_ in found}]
    if left:
        notes.say(f"{file.name}: no per-seed list, not carried over: " + ", ".join(left))
    for arm, metric, values, block in chosen:
        yield from _arm_runs(file.name, arm, _name(metric, options), values, block, options, notes)


def _name(metric: str, options: Options) -> str:
    if options.metric:
        return options.metric
    return ACCURACY if metric and is_accuracy(metric) else metric or "score"


def _arm_runs(
    path: str,
    arm: str,
    name: str,
    values: list[Any],
    block: dict[str, Any],
    options: Options,
    notes: Notes,
) -> Iterator[DraftRun]:
    scores = [score for score in map(number, values) if score is not None]
    if len(scores) < len(values):
        notes.missing(f"the per-seed list of {arm}", len(values) - len(scores))
    mean = next((number(v) for k, v in block.items() if k.endswith("mean")), None)
    std = next((number(v) for k, v in block.items() if re.search(r"(^|_)(std|sd)$", k)), None)
    note = spread_note(scores, mean, std)
    if note:
        notes.say(f"{arm}: {note}")
    notes.say(f"{arm}: a per-seed list of {len(scores)}, which gives them no seed numbers")
    for value in scores:
        score = (
            fraction_of_percent(value) if name == ACCURACY and options.scale == (0, 100) else value
        )
        if name == ACCURACY and not 0 <= score <= 1:
            raise ImportRefused(f"{arm}: accuracy {value:g}; --scale 0-100 for percent", path=path)
        document: dict[str, Any] = {"method_metrics": {name: score}}
        if name != ACCURACY:
            document["evaluation"] = {"metric": name}
        yield DraftRun(document, arm)
