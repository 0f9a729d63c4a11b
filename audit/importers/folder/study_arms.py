"""Settled runs to a study: attempts folded, the untrained model apart, the top arm first."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

from audit.errors import ImportRefused, UsageError
from audit.importers.folder.arm_names import CONTROLS, ArmNames
from audit.importers.folder.composing import ComposedStudy
from audit.importers.folder.declaring import declared_roles
from audit.importers.folder.said import Said
from audit.importers.folder.settling import Settled

_UNTRAINED = frozenset({"base", "pretrained", "init", "untrained", "step0"})


def one_a_seed(runs: list[Settled], notes: dict[str, None]) -> tuple[list[Settled], list[str]]:
    """Return the runs with failed attempts folded into the one that finished, and questions."""
    groups: dict[tuple[str, int | None], list[Settled]] = defaultdict(list)
    for run in runs:
        groups[run.arm, run.seed].append(run)
    kept: list[Settled] = []
    questions: list[str] = []
    for (arm, seed), twins in groups.items():
        if seed is None or len(twins) == 1:
            kept += twins
            continue
        done = [run for run in twins if run.judged]
        if len(done) == 1:
            final = done[0]
            for run in twins:
                if run is not final:
                    final.earlier_failures.append(run.failure or run.status)
                    notes.setdefault(
                        f"{arm}, seed {seed}: {run.run.label} is an earlier attempt at "
                        f"{final.run.label}"
                    )
            kept.append(final)
            continue
        kept += twins
        names = " and ".join(run.run.label or run.run.run_id or "?" for run in twins)
        questions.append(
            f"{arm}, seed {seed} is there {len(twins)} times: {names}: which is the run? "
            f"--exclude '{twins[-1].run.label}'"
        )
    return kept, questions


def study_of(
    runs: list[Settled],
    arms: ArmNames,
    long: dict[str, str],
    said: Said,
    notes: dict[str, None],
) -> tuple[ComposedStudy | None, list[str]]:
    """Return the study: the untrained model apart, the top arm first."""
    base_arm = _base_arm(runs, said, notes)
    untrained = [run for run in runs if run.arm == base_arm]
    trained = [run for run in runs if run.arm != base_arm]
    if not trained:
        raise ImportRefused("no training run among the files, only the untrained model")
    renamed = _rename_base(trained, said, notes)
    grouped: dict[str, list[Settled]] = {}
    for run in trained:
        grouped.setdefault(run.arm, []).append(run)
    ends = Counter(text.rpartition("/")[2] for text in long.values())
    known = {text.rpartition("/")[2]: name for name, text in long.items()}
    known = {end: name for end, name in known.items() if ends[end] == 1}
    known |= {text: name for name, text in long.items()}
    known |= {name: name for name in grouped} | renamed
    roles = declared_roles([run.run for run in trained], list(grouped), said)
    controls, method, question = (*roles, None) if roles else _roles(list(grouped), known, said)
    if question:
        return None, [question]
    grouped.setdefault(method, [])  # a study may be recorded from its control on
    ordered = {
        name: sorted(grouped[name], key=lambda r: (r.seed is None, r.seed or 0, r.run.label))
        for name in (method, *(name for name in grouped if name != method))
    }
    base = [(run.run.label, e) for run in untrained for e in (*run.judged, *run.untrained)]
    if _one_start(trained, notes):
        base += [(run.run.label, e) for r in ordered.values() for run in r for e in run.untrained]
    differ = {
        key: {renamed.get(a, a): v for a, v in values.items()}
        for key, values in arms.differ.items()
    }
    return ComposedStudy(method, controls, ordered, base, differ), []


def _base_arm(runs: Sequence[Settled], said: Said, notes: dict[str, None]) -> str | None:
    """Return the arm that is the untrained model: named so, and without a trace of training."""
    names = dict.fromkeys(run.arm for run in runs)
    if said.base is not None:
        if said.base not in names:
            raise UsageError(f"no arm {said.base!r}; there are {', '.join(names)}")
        return said.base
    for name in names:
        own = [run for run in runs if run.arm == name]
        named = name.lower() in _UNTRAINED and name not in (*said.control, said.method)
        if named and len(names) > 1 and not any(_was_trained(run) for run in own):
            notes.setdefault(f"{name} is taken as the untrained model (--control {name} otherwise)")
            return name
    return None


def _was_trained(run: Settled) -> bool:
    return run.run.trained or run.seed is not None or any(e.step for e in run.judged)


def _rename_base(runs: Sequence[Settled], said: Said, notes: dict[str, None]) -> dict[str, str]:
    """Rename a trained arm called base: in a results file that name is the untrained model."""
    if not any(run.arm == "base" for run in runs):
        return {}
    for run in runs:
        if run.arm == "base":
            run.arm = "base_trained"
    notes.setdefault(
        "the arm base was trained and comes over as base_trained: base names the untrained model"
    )
    return {"base": "base_trained"}


def _roles(
    names: Sequence[str], known: dict[str, str], said: Said
) -> tuple[tuple[str, ...], str, str | None]:
    """Return the controls and the top arm, or the question that asks for them."""
    for name in (*said.control, *([said.method] if said.method else [])):
        if name not in known or known[name] not in names:
            raise UsageError(f"no arm {name!r}; there are {', '.join(names)}")
    controls = tuple(known[name] for name in said.control)
    method = known[said.method] if said.method else None
    controls = controls or tuple(n for n in names if n.casefold() in said.claimed and n != method)
    if not controls and len(names) > 1:
        called = [name for name in names if CONTROLS.match(name) and name != method]
        if len(called) == 1:
            controls = (called[0],)
        elif method is not None and len(names) == 2:
            controls = tuple(name for name in names if name != method)
    if not controls and len(names) > 1:
        return (), "", f"which arm is the control? --control {'|'.join(names)}"
    free = [name for name in names if name not in controls]
    if not free:
        raise UsageError(f"--control names every arm: {', '.join(names)}")
    return controls, method or free[0], None


def _one_start(runs: Sequence[Settled], notes: dict[str, None]) -> bool:
    models = {run.run.first("model") for run in runs} - {None}
    if len(models) > 1 and any(run.untrained for run in runs):
        shown = ", ".join(sorted(models))
        notes.setdefault(f"runs start from {shown}: evaluations at step 0 are left out")
        return False
    return True
