"""Studies whose runs have records that name arm, seed and study: nothing is told from names."""

from __future__ import annotations

from collections.abc import Sequence

from audit.errors import ImportRefused, UsageError
from audit.importers.folder.arm_names import ArmNames, declared_arms
from audit.importers.folder.joining import Joined
from audit.importers.folder.run_seeds import Seeds
from audit.importers.folder.said import Said
from audit.importers.readers.piece import Declared


def declared(runs: Sequence[Joined]) -> tuple[Seeds, ArmNames] | None:
    """Return seeds and arms as the records say them; None where no run has a record.

    A run without one, beside others that have, is asked about: nothing says whose it is.
    """
    known = [run.declared for run in runs]
    if not any(known):
        return None
    pairs = list(zip(runs, known, strict=True))
    names = [run.label if found is None else found.arm for run, found in pairs]
    seeds = Seeds(
        [None if found is None else found.seed for found in known],
        [None if found is None else "record" for found in known],
        "the records of the runs",
    )
    seeds.questions = [
        f"{run.label} is of no recorded run: --exclude '{run.label}' leaves it out, and "
        "--from recorded reads the records alone"
        for run, found in pairs
        if found is None
    ]
    return seeds, declared_arms(runs, seeds.values, names)


def declared_roles(
    runs: Sequence[Joined], names: Sequence[str], said: Said
) -> tuple[tuple[str, ...], str] | None:
    """Return the controls and the top arm of recorded runs; what the user says goes first.

    Raises
    ------
    ImportRefused
        When the records are of several studies.
    UsageError
        When the user names an arm that is not there.
    """
    known = [run.declared for run in runs if run.declared is not None]
    if not known:
        return None
    for name in (*said.control, *([said.method] if said.method else [])):
        if name not in names:
            raise UsageError(f"no arm {name!r}; there are {', '.join(names)}")
    method = said.method or _one_method(known)
    controls = said.control or tuple(
        dict.fromkeys(name for found in known for name in found.controls)
    )
    return tuple(name for name in controls if name in names and name != method), method


def _one_method(known: Sequence[Declared]) -> str:
    methods = list(dict.fromkeys(found.method for found in known))
    if len(methods) > 1:
        raise ImportRefused(
            f"records of {len(methods)} studies, of {' and '.join(methods)}: give one folder each, "
            "or say --method NAME"
        )
    return methods[0]
