"""JSON summaries that hold, for each arm, one value a training run."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from audit.errors import ImportRefused
from audit.importers.draft import Draft, DraftRun, Options
from audit.importers.foreign import Foreign
from audit.importers.metric_names import ACCURACY, is_accuracy, plain, reading_of
from audit.importers.notes import Notes
from audit.importers.numbers import fraction_of_percent, number, spread_note, whole_cell

# accuracy_per_seed within an arm's block; per_seed_ARM_METRIC beside one another at the top.
_LIST = re.compile(r"^(?:(.+?)_)?per_seed$")
_ACROSS = re.compile(r"^per_seed_(.+)_([a-z0-9@]+)$", re.IGNORECASE)
_DIFFERENCES = frozenset({"delta", "diff", "difference", "gain"})
_SEEDS = ("train_seeds", "training_seeds", "seeds")
# Lists of these names are of evaluations, or nobody says of what.
_SUMMARIES = re.compile(r"^(n|n_.*|mean.*|avg.*|std.*|sd|sem|se|ci.*|min|max|.*_(mean|std|sd|ci))$")


@dataclass(frozen=True, slots=True)
class _List:
    """The values of one arm, one a run.

    ``said`` tells whether the source itself calls them per-seed; ``labels`` are seeds or names
    where it gives any.
    """

    arm: str
    metric: str
    values: Sequence[Any]
    labels: Sequence[Any]
    said: bool
    block: Mapping[str, Any] = field(default_factory=dict)


def sniff(document: Any, name: str) -> bool:
    """Whether a JSON object says itself that it holds one value a training run by arm.

    It does by lists called per-seed, or by a metric of right answers below every arm. Lists that
    nothing names are read where the user asks for this importer: see :func:`readable`.
    """
    if not isinstance(document, dict):
        return False
    if any(_differences(document)):
        return True
    found = list(_lists(document))
    return bool(found) and all(entry.said or is_accuracy(entry.metric) for entry in found)


def readable(document: Any) -> bool:
    """Whether a JSON object can be read as lists of numbers by arm."""
    return isinstance(document, dict) and any(True for _ in _lists(document))


def _lists(document: Mapping[str, Any]) -> Iterator[_List]:
    """Yield the lists of the surest shape that the document has."""
    for shape in (_within_arms, _across_arms, _plain_lists):
        found = list(shape(document))
        if found:
            yield from found
            return


def _within_arms(document: Mapping[str, Any]) -> Iterator[_List]:
    for arm, block in document.items():
        for key, value in block.items() if isinstance(block, dict) else ():
            match = _LIST.match(key)
            if match and isinstance(value, list) and _any_number(value):
                labels = _labels(block, document, len(value))
                yield _List(arm, match[1] or "", value, labels, True, block)


def _across_arms(document: Mapping[str, Any]) -> Iterator[_List]:
    for key, value in document.items():
        match = _ACROSS.match(key)
        if (
            match
            and match[1] not in _DIFFERENCES
            and isinstance(value, list)
            and _any_number(value)
        ):
            labels = _labels(document, document, len(value))
            yield _List(match[1], match[2], value, labels, True)


def _differences(document: Mapping[str, Any]) -> Iterator[str]:
    for key, value in document.items():
        words = set(plain(key).split("_"))
        if key.startswith("per_seed") and words & _DIFFERENCES and isinstance(value, list):
            yield key


def _plain_lists(document: Mapping[str, Any]) -> Iterator[_List]:
    """Yield ``{arm: [..]}``, ``{arm: {metric: [..]}}`` and ``{arm: {metric: {seed: value}}}``.

    Only where every arm of the document has that shape: a list of numbers may be anything.
    """
    arms = {name: value for name, value in document.items() if not _is_aside(name, value)}
    if len(arms) < 2:
        return
    found = [entry for arm, value in arms.items() for entry in _of_arm(arm, value, document)]
    if {entry.arm for entry in found} == set(arms):
        yield from found


def _is_aside(name: str, value: Any) -> bool:
    return not isinstance(value, list | dict) or plain(name) in (*_SEEDS, "metadata", "config")


def _of_arm(arm: str, value: Any, document: Mapping[str, Any]) -> Iterator[_List]:
    if isinstance(value, list):
        if len(value) > 1 and _numbers(value):
            yield _List(arm, "", value, _labels({}, document, len(value)), False)
        return
    for metric, inner in value.items():
        if _SUMMARIES.match(plain(metric)) or plain(metric) in _SEEDS:
            continue
        if isinstance(inner, list) and len(inner) > 1 and _numbers(inner):
            yield _List(arm, metric, inner, _labels(value, document, len(inner)), False, value)
        elif isinstance(inner, dict) and len(inner) > 1 and _numbers(list(inner.values())):
            yield _List(arm, metric, list(inner.values()), list(inner), False, value)


def _any_number(values: Sequence[Any]) -> bool:
    return any(number(value) is not None for value in values)


def _numbers(values: Sequence[Any]) -> bool:
    """Whether a list that nothing calls per-seed holds numbers, and else null for what failed."""
    return _any_number(values) and all(v is None or number(v) is not None for v in values)


def _labels(block: Mapping[str, Any], document: Mapping[str, Any], count: int) -> Sequence[Any]:
    """Return the seeds that a list beside the values names, else none for each."""
    for where in (block, document):
        for name in _SEEDS:
            listed = where.get(name)
            if isinstance(listed, list) and len(listed) == count:
                return listed
    return [None] * count


def read(files: Sequence[Foreign], options: Options) -> Draft:
    """Read lists of one value a training run as that many runs.

    The metric is the first list's unless ``--metric`` names another. Runs have the seeds that the
    source lists beside the values or names them by, else none; a value that is no number is a run
    that failed.

    Raises
    ------
    ImportRefused
        When an accuracy lies outside 0 to 1 and nothing says percent, when a seed is there twice,
        or when there are differences alone.
    """
    notes = Notes()
    runs: list[DraftRun] = []
    for file in files:
        for note in file.notes:
            notes.say(note)
        runs += _file_runs(file, options, notes)
    names = {name for run in runs for name in run.document.get("method_metrics", {})}
    metrics = {name: reading_of(name) for name in sorted(names) if reading_of(name)}
    return Draft(tool=None, version=None, runs=tuple(runs), metrics=metrics, notes=notes.lines)


def _file_runs(file: Foreign, options: Options, notes: Notes) -> Iterator[DraftRun]:
    found = list(_lists(file.content))
    if not found:
        alone = ", ".join(_differences(file.content))
        raise ImportRefused(
            f"{alone} holds differences alone, of no arm's runs: a verdict needs the scores of "
            "both arms",
            path=file.name,
        )
    keys = list(dict.fromkeys(entry.metric for entry in found))
    metric = options.metric if options.metric in keys else keys[0]
    others = [entry.arm for entry in found if entry.metric != metric]
    if others:
        names = ", ".join(key or "per_seed" for key in keys if key != metric)
        notes.say(f"{file.name}: lists of another metric ({names}) left out: " + ", ".join(others))
    arms = {entry.arm for entry in found}
    left = [name for name in file.content if name not in arms and not _ACROSS.match(name)]
    left = [name for name in left if plain(name) not in (*_SEEDS, "n_seeds", "task", "benchmark")]
    if left:
        notes.say(f"{file.name}: no per-seed list, not carried over: " + ", ".join(left))
    benchmark = next(
        (v for v in map(file.content.get, ("benchmark", "task")) if isinstance(v, str) and v), None
    )
    for entry in found:
        if entry.metric == metric:
            yield from _arm_runs(file.name, entry, benchmark, options, notes)


def _name(metric: str, options: Options) -> str:
    if options.metric:
        return options.metric
    return ACCURACY if metric and is_accuracy(metric) else metric or "score"


def _arm_runs(
    path: str, entry: _List, benchmark: str | None, options: Options, notes: Notes
) -> Iterator[DraftRun]:
    arm, name = entry.arm, _name(entry.metric, options)
    scores = [number(value) for value in entry.values]
    known = [score for score in scores if score is not None]
    if len(known) < len(scores):
        notes.missing(f"the per-seed list of {arm}", len(scores) - len(known))
    block = entry.block
    mean = next((number(v) for k, v in block.items() if k.endswith("mean")), None)
    std = next((number(v) for k, v in block.items() if re.search(r"(^|_)(std|sd)$", k)), None)
    note = spread_note(known, mean, std)
    if note:
        notes.say(f"{arm}: {note}")
    seeds = [whole_cell(label) for label in entry.labels]
    numbered = [seed for seed in seeds if seed is not None]
    if not numbered:
        notes.say(f"{arm}: a per-seed list of {len(scores)}, which gives them no seed numbers")
    twice = next((seed for seed in numbered if numbered.count(seed) > 1), None)
    if twice is not None:
        raise ImportRefused(f"{arm}: seed {twice} is there twice", path=path)
    for label, seed, value in zip(entry.labels, seeds, scores, strict=True):
        document = _run(path, arm, name, value, benchmark, options)
        if seed is None and isinstance(label, str) and label:
            document = {"run_id": label} | document
        yield DraftRun(document, arm, seed, identified_by="user" if entry.said else "none")


def _run(
    path: str,
    arm: str,
    name: str,
    value: float | None,
    benchmark: str | None,
    options: Options,
) -> dict[str, Any]:
    if value is None:
        return {"status": "failed", "failure": "no value recorded"}
    percent = name == ACCURACY and options.scale == (0, 100)
    score = fraction_of_percent(value) if percent else value
    if name == ACCURACY and not 0 <= score <= 1:
        raise ImportRefused(f"{arm}: accuracy {value:g}; --scale 0-100 for percent", path=path)
    document: dict[str, Any] = {"method_metrics": {name: score}}
    if name != ACCURACY or benchmark is not None:
        where = {} if benchmark is None else {"benchmark": benchmark}
        document["evaluation"] = where | {"metric": name}
    return document
