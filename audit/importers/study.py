"""Several foreign files into one study: arms, seeds, the untrained model, one results document."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Any

from audit import __version__
from audit.errors import ImportRefused, UsageError
from audit.importers.absent import with_absent_as_errors
from audit.importers.draft import Draft, DraftRun, Options
from audit.importers.foreign import Foreign
from audit.importers.metric_names import ACCURACY, reading_of
from audit.importers.notes import gathered
from audit.importers.one_scale import refuse_mixed_scales
from audit.importers.path_seeds import seeds_of
from audit.importers.same_run import COUNTS, SETTLE, ArmRun, blocks_of, joined, with_blocks
from audit.run_names import run_of

_READING = ("scale", "higher_is_better", "kind")
_BASE_COUNTS = ("accuracy", "examples", "generated_tokens")
_CONTROL_WORDS = frozenset({"control", "baseline"})
_RUN_KEYS = (
    "run_id",
    "identified_by",
    "status",
    "failure",
    "method_metrics",
    "evaluation",
    "evaluations",
    "telemetry",
    "training",
)


@dataclass(frozen=True, slots=True)
class Layout:
    """How the user lays several files out as one study.

    Attributes
    ----------
    method : str or None
        The top arm; else the format's own, else the first that is no control.
    controls : tuple of str
        Arms the top arm is compared with.
    claimed : frozenset of str
        Arms, in lower case, that claims set others against: the controls where none is named.
    base : tuple of str
        Arms that are the untrained model.
    seed_from : str or None
        ``{seed}`` pattern or regular expression that finds the training seed in a path.
    """

    method: str | None = None
    controls: tuple[str, ...] = ()
    claimed: frozenset[str] = frozenset()
    base: tuple[str, ...] = ()
    seed_from: str | None = None


@dataclass(frozen=True, slots=True)
class Placed:
    """A file, the arm the user puts it in, and the name of the importer that reads it."""

    file: Foreign
    arm: str | None
    importer: str


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
    said: list[str] = []
    drafts: list[Draft] = []
    records: list[ArmRun] = []
    for group, seed in _groups(placed, layout):
        draft = _reader(group[0].importer)([entry.file for entry in group], options)
        drafts.append(draft)
        said += draft.notes
        records += [_settled(run, group, seed, layout, options) for run in draft.runs]
    runs, decided = joined(records, options)
    notes = dict.fromkeys(gathered(said, [entry.file.name for entry in placed]))
    notes |= dict.fromkeys(decided)
    _refuse_other_questions(runs)
    refuse_mixed_scales(runs, options)
    if options.missing is not None:
        runs = with_absent_as_errors(runs, notes)
    arms = _arms(runs, drafts, layout, notes)
    notes |= dict.fromkeys(_said_of_evidence(arms, options))
    document = _document(arms, drafts, _metrics(runs, drafts, options, notes))
    document |= _what_runs_are(arms, options)
    document["provenance"] = {"notes": list(notes), "imported": _imported(placed, drafts)}
    if not notes:
        del document["provenance"]["notes"]
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
    seeds = _seeds_in_paths(placed, layout)
    for index, entry in enumerate(placed):
        seed = seeds.get(index)
        groups.setdefault((entry.importer, entry.arm, seed), []).append(entry)
    return [(group, seed) for (_, _, seed), group in groups.items()]


def _seeds_in_paths(placed: Sequence[Placed], layout: Layout) -> dict[int, int]:
    """Return the seeds of files' paths by their places; the untrained model has none."""
    if layout.seed_from is None:
        return {}
    trained = [
        index
        for index, entry in enumerate(placed)
        if entry.arm is None or not _may_be_base(entry.arm, layout)
    ]
    paths = [placed[index].file.name for index in trained]
    return dict(zip(trained, seeds_of(paths, layout.seed_from), strict=True))


def _may_be_base(arm: str, layout: Layout) -> bool:
    named = arm == layout.method or arm in layout.controls
    return arm in layout.base or (arm.lower() == "base" and not named)


def _settled(
    run: DraftRun, group: Sequence[Placed], seed: int | None, layout: Layout, options: Options
) -> ArmRun:
    path = group[0].file.name
    if seed is not None and run.seed is not None and seed != run.seed:
        raise ImportRefused(f"the path says seed {seed}, the file {run.seed}", path=path)
    named = run_of(run.model) if run.model else None
    own = run.arm or (named.run if named else None) or run.name
    arm = str(group[0].arm or own or PurePath(path).stem)
    said = seed is not None or options.seed_is == "training"
    if said and run.identified_by == "none":
        run = replace(run, identified_by="user")
    if options.seed_is == "decoding" and run.identified_by == "none":
        unnamed = {key: value for key, value in run.document.items() if key != "run_id"}
        run = replace(run, seed=None, document=unnamed)
    if named is not None and isinstance(named.step, int):
        run = replace(run, document=_at_step(run.document, named.step))
    untrained = run.base or _may_be_base(arm, layout)
    return ArmRun(arm, run.seed if seed is None else seed, run, untrained)


def _at_step(document: dict[str, Any], step: int) -> dict[str, Any]:
    """Return a run whose evaluations are of the checkpoint of a step, unless they say another."""
    blocks = blocks_of(document)
    if not blocks and ACCURACY in document.get("method_metrics", {}):
        blocks = [{"metric": ACCURACY}]
    return with_blocks(document, [{"checkpoint_step": step} | block for block in blocks])


def _refuse_other_questions(runs: Sequence[ArmRun]) -> None:
    """Refuse runs in which one task id stands for different questions."""
    seen: dict[tuple[str, str], tuple[str, str]] = {}
    for run in runs:
        label = run.label
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
    runs: dict[str, list[ArmRun]]
    roles: dict[str, str]
    base: list[ArmRun]


def _arms(
    runs: Sequence[ArmRun], drafts: Sequence[Draft], layout: Layout, notes: dict[str, None]
) -> _Arms:
    known = dict.fromkeys(run.arm for run in runs)
    for name in (*layout.controls, *layout.base, *([layout.method] if layout.method else [])):
        if name not in known:
            raise UsageError(f"no arm {name!r}; there are {', '.join(known)}")
    if layout.method in (*layout.controls, *layout.base):
        raise UsageError(f"{layout.method} is the top arm by --method: no control or base as well")
    untrained = {*layout.base, *_called_base(runs, layout, notes)}
    base = [run for run in runs if run.draft.base or run.arm in untrained]
    trained: dict[str, list[ArmRun]] = {}
    for run in runs:
        if not run.draft.base and run.arm not in untrained:
            trained.setdefault(run.arm, []).append(run)
    if not trained:
        raise ImportRefused("no training run among the files, only the untrained model")
    roles = {name: role for draft in drafts for name, role in draft.roles.items()}
    claimed = [n for n in trained if n.casefold() in layout.claimed and n != layout.method]
    roles |= dict.fromkeys(layout.controls or claimed, "control")
    for name in _controls_by_name(trained):
        roles.setdefault(name, "control")
    method = _method(list(trained), drafts, layout, roles, notes)
    others = [name for name in trained if name != method]
    if len(others) == 1 and not layout.controls:
        roles.setdefault(others[0], "control")
    ordered = {name: _in_order(trained[name]) for name in [method, *others]}
    return _Arms(method, ordered, roles, base)


def _called_base(runs: Sequence[ArmRun], layout: Layout, notes: dict[str, None]) -> Iterator[str]:
    """Yield the arm called base: in a results file that name means the untrained model."""
    arms = {run.arm for run in runs if not run.draft.base}
    for arm in sorted(arms - set(layout.base)):
        seeded = any(run.arm == arm and run.seed is not None for run in runs)
        if _may_be_base(arm, layout) and len(arms) > 1 and not seeded:
            notes.setdefault(f"{arm} is taken as the untrained model (--control {arm} otherwise)")
            yield arm


def _controls_by_name(names: Iterable[str]) -> list[str]:
    """Return the arms that their names call controls, those of exactly that name before others.

    Beside ``baseline`` an arm such as ``baseline-without-warmup`` is no control.
    """
    words = {
        name: [word for word in re.split(r"[^a-z0-9]+", name.lower()) if word] for name in names
    }
    exact = [
        name for name, parts in words.items() if len(parts) == 1 and parts[0] in _CONTROL_WORDS
    ]
    return exact or [name for name, parts in words.items() if _CONTROL_WORDS & {*parts}]


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


def _in_order(runs: list[ArmRun]) -> list[ArmRun]:
    """Sort runs with a seed by it; the others follow as they came, which their source orders."""
    labelled = sorted((r for r in runs if r.seed is not None), key=lambda r: (r.seed or 0,))
    return labelled + [run for run in runs if run.seed is None]


def _metrics(
    runs: Sequence[ArmRun], drafts: Sequence[Draft], options: Options, notes: dict[str, None]
) -> dict[str, Any]:
    """Return scale and direction of every metric the runs have.

    What the user says fills what neither the source nor the name tells; a scale that nobody says
    has no bounds, never those of a fraction.
    """
    names = {block["metric"] for run in runs for block in blocks_of(run.draft.document)}
    names |= {name for run in runs for name in run.draft.document.get("method_metrics", {})}
    if options.higher_is_better is False and names - COUNTS == {ACCURACY}:
        raise UsageError("--lower-is-better: the only metric is accuracy, of which more is better")
    found: dict[str, dict[str, Any]] = {}
    known = {name: reading for draft in drafts for name, reading in draft.metrics.items()}
    for name in sorted(names - COUNTS):
        reading = dict(known.get(name) or known.get(name.rsplit("/", 1)[-1]) or reading_of(name))
        if name != ACCURACY and options.metric in (None, name):
            if options.scale is not None:
                reading["scale"] = list(options.scale)
            if options.higher_is_better is not None:
                reading["higher_is_better"] = options.higher_is_better
        if "scale" not in reading:
            reading["scale"] = [None, None]
            notes.setdefault(f"{name}: its scale is not said, so no bounds are assumed (--scale)")
        found[name] = {key: reading[key] for key in _READING if key in reading}
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
    printed = _printed(arms)
    if printed and "arms" not in reported:
        reported["arms"] = printed
    if reported:
        document["reported"] = reported
    return document


def _printed(arms: _Arms) -> dict[str, dict[str, Any]]:
    """Return the mean score that a source printed beside the outcomes of every run of an arm."""
    found = {}
    for name, runs in arms.runs.items():
        firsts = [next(iter(blocks_of(run.draft.document)), {}).get("metric") for run in runs]
        scores = [r.draft.printed.get(m) for r, m in zip(runs, firsts, strict=True) if m]
        known = [score for score in scores if score is not None]
        if len(set(firsts)) == 1 and len(known) == len(runs):
            found[name] = {"score": sum(known) / len(known), "seeds": len(known)}
    return found


def _said_of_evidence(arms: _Arms, options: Options) -> Iterator[str]:
    """Yield a sentence on arms whose runs nothing tells to be trainings of their own."""
    untold = {
        name: len(runs)
        for name, runs in arms.runs.items()
        if len(runs) > 1 and any(run.draft.identified_by == "none" for run in runs)
    }
    if untold:
        which = " and ".join(f"the {count} runs of {name}" for name, count in untold.items())
        yield f"nothing says that {which} are trainings of their own: {SETTLE}"
    if options.seed_is == "decoding":
        yield "what has no training seed is taken as evaluations of one run per arm, as said"


def _what_runs_are(arms: _Arms, options: Options) -> dict[str, Any]:
    word = {"training": "trainings", "decoding": "evaluations"}.get(options.seed_is or "")
    said = {
        name: word
        for name, runs in arms.runs.items()
        if word == "trainings" or (word and all(run.seed is None for run in runs))
    }
    return {"runs_are": said} if said else {}


def _block(run: ArmRun) -> dict[str, Any]:
    document = run.draft.document | {"identified_by": run.draft.identified_by}
    known = {key: document[key] for key in _RUN_KEYS if key in document}
    return {"seed": run.seed} | known | document


def _base(run: ArmRun) -> dict[str, Any]:
    """Return a run of the untrained model as an entry of ``base_evaluations``."""
    document = run.draft.document
    block: dict[str, Any] = {"run": document.get("run") or document.get("run_id") or run.arm}
    scores = {name: document[name] for name in _BASE_COUNTS if name in document}
    scores |= document.get("method_metrics", {})
    block |= {name: value for name, value in scores.items() if value is not None}
    return block | {k: document[k] for k in ("evaluation", "evaluations") if k in document}


def _imported(placed: Sequence[Placed], drafts: Sequence[Draft]) -> dict[str, Any]:
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
                "bytes": entry.file.size,
            }
            for entry in placed
        ],
    }
    return {key: value for key, value in block.items() if value not in ([], None)}
