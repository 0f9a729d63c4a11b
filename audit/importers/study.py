"""Several foreign files into one study: arms, seeds, the untrained model, one results document."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Any

from audit import __version__
from audit.errors import ImportRefused, UsageError
from audit.importers.draft import Draft, DraftRun, Options
from audit.importers.foreign import Foreign
from audit.importers.metric_names import ACCURACY, reading_of

_RUN_KEYS = (
    "run_id",
    "status",
    "failure",
    "method_metrics",
    "evaluation",
    "evaluations",
    "telemetry",
    "training",
)
# Members of a run's figures that are no metric.
_COUNTS = frozenset({"examples", "generated_tokens", "truncated_responses"})
_CONTROL_WORDS = ("control", "baseline")


@dataclass(frozen=True, slots=True)
class Layout:
    """How the user lays several files out as one study.

    Attributes
    ----------
    method : str or None
        The top arm; else the format's own, else the first that is no control.
    controls : tuple of str
        Arms the top arm is compared with.
    base : tuple of str
        Arms that are the untrained model.
    seed_from : str or None
        ``{seed}`` pattern or regular expression that finds the training seed in a path.
    """

    method: str | None = None
    controls: tuple[str, ...] = ()
    base: tuple[str, ...] = ()
    seed_from: str | None = None


@dataclass(frozen=True, slots=True)
class Placed:
    """A file, the arm the user puts it in, and the name of the importer that reads it."""

    file: Foreign
    arm: str | None
    importer: str


@dataclass(frozen=True, slots=True)
class _Run:
    """A run with its arm and seed settled."""

    arm: str
    seed: int | None
    draft: DraftRun


def seed_of(path: str, pattern: str) -> int:
    """Return the training seed a path holds.

    Parameters
    ----------
    path : str
        As the user named it; backslashes count as slashes.
    pattern : str
        Text with ``{seed}`` where the digits stand (``*`` for anything else), or a regular
        expression whose group ``seed``, or first group, is the digits.

    Raises
    ------
    UsageError
        When the pattern is no regular expression, finds nothing, or finds several seeds.
    """
    plain = path.replace("\\", "/")
    if "{seed}" in pattern:
        parts = [re.escape(part).replace(r"\*", ".*?") for part in pattern.split("{seed}")]
        pattern = r"(?<!\d)(\d+)(?!\d)".join(parts)
    try:
        expression = re.compile(pattern)
    except re.error as error:
        raise UsageError(f"--seed-from is no regular expression: {error}") from None
    if not expression.groups:
        raise UsageError("--seed-from needs {seed} or a group, e.g. 'seed{seed}' or 'seed(\\d+)'")
    group = "seed" if "seed" in expression.groupindex else 1
    found = {match[group] for match in expression.finditer(plain) if match[group]}
    seeds = {int(digits) for digits in found if digits.isdecimal() and len(digits) < 16}
    if len(seeds) != 1 or len(seeds) != len({*found}):
        what = ", ".join(sorted(found)) if found else "nothing"
        raise UsageError(f"--seed-from finds {what}, where one number is due", path=path)
    return seeds.pop()


def assemble(
    placed: Sequence[Placed], options: Options, layout: Layout
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Read the files and put one results document together.

    Returns
    -------
    document : dict
        schema_version 2.
    notes : tuple of str
        What was missing, dropped, averaged, left out or decided.

    Raises
    ------
    UsageError
        When the layout names an arm that is not there.
    ImportRefused
        When runs cannot be told apart or fit together.
    """
    _refuse_same_bytes(placed)
    notes: dict[str, None] = {}
    drafts: list[Draft] = []
    runs: list[_Run] = []
    for group, seed in _groups(placed, layout):
        draft = _reader(group[0].importer)([entry.file for entry in group], options)
        drafts.append(draft)
        notes |= dict.fromkeys(draft.notes)
        runs += [_settled(run, group, seed) for run in draft.runs]
    runs = _joined(runs)
    _refuse_one_model_twice(runs, layout)
    _refuse_other_questions(runs)
    arms = _arms(runs, drafts, layout, notes)
    document = _document(arms, drafts, _metrics(runs, drafts, options, notes))
    document["provenance"] = {"imported": _imported(placed, drafts, tuple(notes))}
    _refuse_broken_contract(document, placed)
    return document, tuple(notes)


def _refuse_broken_contract(document: dict[str, Any], placed: Sequence[Placed]) -> None:
    """Refuse figures that no results file may hold, such as a share above 1."""
    from audit.schema import schema_faults

    for fault in schema_faults(document, limit=1):
        raise ImportRefused(
            f"what would come over breaks the contract at {fault.pointer}: {fault.message}",
            path=placed[0].file.name,
        )


def _reader(name: str) -> Any:
    from audit.importers import importer

    return importer(name).read


def _refuse_same_bytes(placed: Sequence[Placed]) -> None:
    seen: dict[str, Placed] = {}
    for entry in placed:
        other = seen.setdefault(entry.file.source.sha256, entry)
        if other is entry:
            continue
        if other.file.name != entry.file.name:
            raise ImportRefused(f"the same bytes as {other.file.name}", path=entry.file.name)
        arms = f", under {other.arm} and {entry.arm}" if other.arm != entry.arm else ""
        raise ImportRefused(f"given twice{arms}", path=entry.file.name)


def _groups(placed: Sequence[Placed], layout: Layout) -> list[tuple[list[Placed], int | None]]:
    """Group files that are read together: same importer, arm and seed."""
    groups: dict[tuple[str, str | None, int | None], list[Placed]] = {}
    for entry in placed:
        seed = _seed_in_path(entry, layout)
        groups.setdefault((entry.importer, entry.arm, seed), []).append(entry)
    return [(group, seed) for (_, _, seed), group in groups.items()]


def _seed_in_path(entry: Placed, layout: Layout) -> int | None:
    """Return the seed of a file's path; the untrained model has none, so its path needs none."""
    if layout.seed_from is None or (entry.arm is not None and _may_be_base(entry.arm, layout)):
        return None
    return seed_of(entry.file.name, layout.seed_from)


def _may_be_base(arm: str, layout: Layout) -> bool:
    named = arm == layout.method or arm in layout.controls
    return arm in layout.base or (arm.lower() == "base" and not named)


def _settled(run: DraftRun, group: Sequence[Placed], seed: int | None) -> _Run:
    path = group[0].file.name
    if seed is not None and run.seed is not None and seed != run.seed:
        raise ImportRefused(f"the path says seed {seed}, the file {run.seed}", path=path)
    if group[0].arm is not None and run.arm is not None and run.arm != group[0].arm:
        run = replace(run, document={"run_id": run.arm} | run.document)
    arm = group[0].arm or run.arm or run.document.get("run_id") or PurePath(path).stem
    return _Run(str(arm), run.seed if seed is None else seed, run)


def _joined(runs: Iterable[_Run]) -> list[_Run]:
    """Join what several files say about one run: more benchmarks, or its training log."""
    joined: list[_Run] = []
    waiting: list[_Run] = []
    for run in runs:
        if not run.draft.evaluated:
            if "telemetry" not in run.draft.document:
                raise ImportRefused(f"{_label(run)}: no finite value in it")
            waiting.append(run)
            continue
        index = next((i for i, other in enumerate(joined) if _same_run(run, other)), None)
        if index is None:
            joined.append(run)
        else:
            joined[index] = _with(joined[index], run)
    for log in waiting:
        mine = [i for i, run in enumerate(joined) if run.arm == log.arm and run.seed == log.seed]
        if len(mine) != 1:
            label = _label(log)
            raise ImportRefused(
                f"{label}: a training log without an evaluation is no result; give the "
                "evaluation's file of the same arm and seed beside it"
                if not mine
                else f"{label}: {len(mine)} runs this training log could be of; use --seed-from"
            )
        joined[mine[0]] = _with(joined[mine[0]], log)
    return joined


def _label(run: _Run) -> str:
    return run.arm if run.seed is None else f"{run.arm}, seed {run.seed}"


def _same_run(run: _Run, other: _Run) -> bool:
    if run.arm != other.arm or run.seed != other.seed:
        return False
    if run.seed is not None:
        return True
    same = run.draft.identity is not None and run.draft.identity == other.draft.identity
    return same and not _places(run) & _places(other)


def _places(run: _Run) -> set[tuple[Any, Any]]:
    """Return the (benchmark, metric) pairs a run was evaluated on."""
    return {(block.get("benchmark"), block.get("metric")) for block in _blocks(run.draft.document)}


def _blocks(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    first = document.get("evaluation")
    return [*([first] if first else []), *(document.get("evaluations") or ())]


def _with(run: _Run, more: _Run) -> _Run:
    """Return a run with what another file says about it.

    Raises
    ------
    ImportRefused
        When both say the same thing.
    """
    label = _label(run)
    twice = _places(run) & _places(more)
    plain = {"method_metrics", "training"} & set(run.draft.document) & set(more.draft.document)
    clash = set(run.draft.document.get("method_metrics", {})) & set(
        more.draft.document.get("method_metrics", {})
    )
    if twice or clash or "training" in plain:
        names = sorted(str(benchmark or metric) for benchmark, metric in twice) or sorted(clash)
        raise ImportRefused(f"{label} is there twice" + (f" ({names[0]})" if names else ""))
    document = dict(more.draft.document) | dict(run.draft.document)
    blocks = _blocks(run.draft.document) + _blocks(more.draft.document)
    scores = dict(run.draft.document.get("method_metrics", {})) | dict(
        more.draft.document.get("method_metrics", {})
    )
    if scores:
        document["method_metrics"] = scores
    if blocks:
        document["evaluation"] = blocks[0]
    if len(blocks) > 1:
        document["evaluations"] = blocks[1:]
    tasks = {**run.draft.tasks, **more.draft.tasks}
    return _Run(run.arm, run.seed, replace(run.draft, document=document, tasks=tasks))


def _refuse_one_model_twice(runs: Sequence[_Run], layout: Layout) -> None:
    """Refuse two evaluations of one trained model as two runs; the untrained one may have many."""
    seen: set[tuple[str, str]] = set()
    for run in runs:
        base = run.draft.base or _may_be_base(run.arm, layout)
        if run.seed is not None or run.draft.identity is None or base:
            continue
        key = (run.arm, run.draft.identity)
        if key in seen:
            raise ImportRefused(
                f"{run.arm}: two files evaluate the same model, and no seed tells training runs "
                "apart: name it with --seed-from, or import one"
            )
        seen.add(key)


def _refuse_other_questions(runs: Sequence[_Run]) -> None:
    """Refuse runs in which one task id stands for different questions."""
    seen: dict[tuple[str, str], tuple[str, str]] = {}
    for run in runs:
        label = _label(run)
        for task, digest in run.draft.tasks.items():
            other, where = seen.setdefault(task, (digest, label))
            if other != digest:
                raise ImportRefused(
                    f"task {task[1]} of {task[0]} is another question in {label} (hash "
                    f"{digest[:12]}) than in {where} ({other[:12]}); they cannot be paired"
                )


@dataclass(frozen=True, slots=True)
class _Arms:
    """The arms of a study in order, the top one first, and the untrained model's evaluations."""

    method: str
    runs: dict[str, list[_Run]]
    roles: dict[str, str]
    base: list[_Run]


def _arms(
    runs: Sequence[_Run], drafts: Sequence[Draft], layout: Layout, notes: dict[str, None]
) -> _Arms:
    known = dict.fromkeys(run.arm for run in runs)
    for name in (*layout.controls, *layout.base, *([layout.method] if layout.method else [])):
        if name not in known:
            raise UsageError(f"no arm {name!r}; there are {', '.join(known)}")
    if layout.method in (*layout.controls, *layout.base):
        raise UsageError(f"{layout.method} is the top arm by --method: no control or base as well")
    untrained = {*layout.base, *_called_base(runs, layout, notes)}
    base = [run for run in runs if run.draft.base or run.arm in untrained]
    trained: dict[str, list[_Run]] = {}
    for run in runs:
        if not run.draft.base and run.arm not in untrained:
            trained.setdefault(run.arm, []).append(run)
    if not trained:
        raise ImportRefused("no training run among the files, only the untrained model")
    roles = {name: role for draft in drafts for name, role in draft.roles.items()}
    roles |= dict.fromkeys(layout.controls, "control")
    for name in trained:
        if any(word in name.lower() for word in _CONTROL_WORDS):
            roles.setdefault(name, "control")
    method = _method(list(trained), drafts, layout, roles, notes)
    others = [name for name in trained if name != method]
    if len(others) == 1 and not layout.controls:
        roles.setdefault(others[0], "control")
    ordered = {name: _in_order(trained[name]) for name in [method, *others]}
    return _Arms(method, ordered, roles, base)


def _called_base(runs: Sequence[_Run], layout: Layout, notes: dict[str, None]) -> Iterator[str]:
    """Yield the arm called base: in a results file that name means the untrained model."""
    arms = {run.arm for run in runs if not run.draft.base}
    for arm in sorted(arms - set(layout.base)):
        seeded = any(run.arm == arm and run.seed is not None for run in runs)
        if _may_be_base(arm, layout) and len(arms) > 1 and not seeded:
            notes.setdefault(f"{arm} is taken as the untrained model (--control {arm} otherwise)")
            yield arm


def _method(
    names: list[str],
    drafts: Sequence[Draft],
    layout: Layout,
    roles: Mapping[str, str],
    notes: dict[str, None],
) -> str:
    fixed = layout.method or next((draft.method for draft in drafts if draft.method), None)
    if fixed in names:
        return str(fixed)
    free = [name for name in names if roles.get(name) != "control"] or names
    if len(names) > 1 and (len(free) > 1 or len(free) == len(names)):
        notes.setdefault(f"{free[0]} is taken as the top arm, the first named (--method NAME)")
    return free[0]


def _in_order(runs: list[_Run]) -> list[_Run]:
    """Sort runs with a seed by it; the others follow as they came, which their source orders."""
    labelled = sorted((r for r in runs if r.seed is not None), key=lambda r: (r.seed or 0,))
    return labelled + [run for run in runs if run.seed is None]


def _metrics(
    runs: Sequence[_Run], drafts: Sequence[Draft], options: Options, notes: dict[str, None]
) -> dict[str, Any]:
    """Return scale and direction of every metric the runs have.

    What the user says fills what neither the source nor the name tells; a scale that nobody says
    has no bounds, never those of a fraction.
    """
    names = {block["metric"] for run in runs for block in _blocks(run.draft.document)}
    names |= {name for run in runs for name in run.draft.document.get("method_metrics", {})}
    if options.higher_is_better is False and names - _COUNTS == {ACCURACY}:
        raise UsageError("--lower-is-better: the only metric is accuracy, of which more is better")
    found: dict[str, dict[str, Any]] = {}
    known = {name: reading for draft in drafts for name, reading in draft.metrics.items()}
    for name in sorted(names - _COUNTS):
        reading = dict(known.get(name) or reading_of(name))
        if name != ACCURACY and options.metric in (None, name):
            if options.scale is not None:
                reading["scale"] = list(options.scale)
            if options.higher_is_better is not None:
                reading["higher_is_better"] = options.higher_is_better
        if "scale" not in reading:
            reading["scale"] = [None, None]
            notes.setdefault(f"{name}: its scale is not said, so no bounds are assumed (--scale)")
        found[name] = {key: reading[key] for key in ("scale", "higher_is_better") if key in reading}
    return found


def _document(arms: _Arms, drafts: Sequence[Draft], metrics: dict[str, Any]) -> dict[str, Any]:
    document: dict[str, Any] = {"schema_version": 2, "method": arms.method}
    top: dict[str, Any] = {}
    reported: dict[str, Any] = {}
    for draft in drafts:
        top |= draft.top
        reported |= draft.reported
    document |= top
    if metrics:
        document["metrics"] = metrics
    if arms.base:
        document["base_evaluations"] = [_base(run) for run in arms.base]
    document["seed_results"] = [_block(run) for run in arms.runs[arms.method]]
    controls = {
        name: {"role": arms.roles.get(name, "other"), "seed_results": [_block(r) for r in runs]}
        for name, runs in arms.runs.items()
        if name != arms.method
    }
    if controls:
        document["controls"] = controls
    if reported:
        document["reported"] = reported
    return document


def _block(run: _Run) -> dict[str, Any]:
    document = run.draft.document
    known = {key: document[key] for key in _RUN_KEYS if key in document}
    return {"seed": run.seed} | known | document


def _base(run: _Run) -> dict[str, Any]:
    """Return a run of the untrained model as an entry of ``base_evaluations``."""
    document = run.draft.document
    block: dict[str, Any] = {"run": document.get("run") or document.get("run_id") or run.arm}
    scores = document.get("method_metrics", {})
    for key in ("accuracy", "examples", "generated_tokens"):
        value = scores.get(key, document.get(key))
        if value is not None:
            block[key] = value
    return block | {k: document[k] for k in ("evaluation", "evaluations") if k in document}


def _imported(
    placed: Sequence[Placed], drafts: Sequence[Draft], notes: tuple[str, ...]
) -> dict[str, Any]:
    tools = dict.fromkeys((draft.tool, draft.version) for draft in drafts if draft.tool)
    block: dict[str, Any] = {
        "by": f"audit {__version__}",
        "study": next((draft.study for draft in drafts if draft.study), None),
        "tools": [
            {"name": name} | ({"version": version} if version else {}) for name, version in tools
        ],
        "files": [
            {
                "path": entry.file.name.replace("\\", "/"),
                "format": entry.importer,
                "sha256": entry.file.source.sha256,
                "bytes": len(entry.file.source.data),
            }
            for entry in placed
        ],
        "notes": list(notes),
    }
    return {key: value for key, value in block.items() if value not in ([], None)}
