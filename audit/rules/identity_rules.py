"""IDENT: names, seeds, data and checkpoint that a file states in several places."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from audit.facts.look_alikes import look_alikes
from audit.finding import ERROR, INFO, WARNING
from audit.pointer import join
from audit.results import Arm, Results, Run
from audit.rules.agreement import Stated, agreement, block_agreement, owners
from audit.rules.case import Case
from audit.rules.check import CheckResult, Failed, Passed, Unchecked
from audit.rules.protocol_rules import BASE_FIELD, DATA_FIELD, declared_fields
from audit.rules.rule import rule

_MANIFEST = "reproduction:"
_SEEDS_SHOWN = 20


@rule(
    "IDENT001", "method-name", ERROR, each=Case, missing="no arm's name is recorded in two places"
)
def method_name(case: Case) -> Iterator[CheckResult]:
    """An arm has different names in different places.

    Why
        A run that names another arm may have been made by it: then the arms are swapped or mixed.
    Fix
        Write the arm's name into every run when it is made, and file each run under its own arm.
    Bad
        controls.grpo-control with a run whose "method" is "gppo-framework"
    Good
        controls.grpo-control with runs whose "method" is "grpo-control"
    """
    document = case.results.usable
    for arm in case.results.arms:
        stated: list[Stated] = [(arm.pointer or "/method", arm.name)]
        if not arm.pointer:
            stated += _keys(document)
        stated += [
            (join(run.pointer, "method"), run.document["method"])
            for run in arm.runs
            if "method" in run.document
        ]
        yield from agreement(stated, "the name of the arm")


def _keys(document: Mapping[str, Any]) -> list[Stated]:
    """Return the names the top arm has in registries; an unknown prefix is part of the name."""
    names = {
        key: document[key].removeprefix(_MANIFEST) if key == "manifest_ref" else document[key]
        for key in ("adapter_key", "manifest_ref")
        if key in document
    }
    return [(join("", key), name) for key, name in names.items()]


@rule("IDENT002", "seed-lists", ERROR, each=Case)
def seed_lists(case: Case) -> Iterator[CheckResult]:
    """The lists of seeds do not agree with the seeds of the runs.

    Why
        A listed seed without a run was lost or dropped; a run without a listed seed was added.
        Dropping the worst of a few seeds is enough to turn flat into gain.
    Fix
        List every seed, and record every run under the seed it was started with.
    Bad
        "seeds": [42, 43, 44] and runs 42, 43
    Good
        "seeds": [42, 43, 44] and runs 42, 43, 44
    """
    results = case.results
    declared = _declared_seeds(results)
    if not declared:
        yield Unchecked("the file lists no seeds beside those of its runs")
        return
    arms = []
    for arm in results.arms:
        if any(run.seed is None for run in arm.runs):
            yield Unchecked("a run has no seed", join(arm.pointer, "seed_results"))
        elif arm.runs:
            arms.append((join(arm.pointer, "seed_results"), _seeds(arm)))
    union = sorted({seed for _, arm_seeds in arms for _, seed in arm_seeds})
    doubled = any(len({s for _, s in found}) < len(found) for _, found in arms)
    if not doubled and all(sorted(s for _, s in listed) == union for _, listed in declared):
        yield Passed(len(declared) * len(arms))
        return
    yield from _odd_lists([*declared, *arms])


def _seeds(arm: Arm) -> list[tuple[str, int]]:
    """Return pointer and seed of every run that has a label."""
    return [(join(run.pointer, "seed"), run.seed) for run in arm.runs if run.seed is not None]


def _declared_seeds(results: Results) -> list[tuple[str, list[tuple[str, int]]]]:
    protocol = results.block("evaluation_protocol")
    lists = [
        ("/seeds", results.usable.get("seeds")),
        ("/evaluation_protocol/seeds", protocol.get("seeds")),
    ]
    return [
        (pointer, [(join(pointer, index), seed) for index, seed in enumerate(found)])
        for pointer, found in lists
        if found is not None
    ]


def _odd_lists(lists: list[tuple[str, list[tuple[str, int]]]]) -> Iterator[CheckResult]:
    """Name the seeds by which a list differs from what most lists say; all where none is usual."""
    kinds = Counter(tuple(sorted(seed for _, seed in found)) for _, found in lists)
    ranked = kinds.most_common(2)
    usual = ranked[0][0] if len(ranked) == 1 or ranked[0][1] > ranked[1][1] else None
    for pointer, found in lists:
        own = tuple(sorted(seed for _, seed in found))
        if own == usual:
            yield Passed()
            continue
        left = Counter(usual)
        surplus = []
        for place, seed in found:
            if usual is not None and left[seed] == 0:
                surplus.append(place)
            left[seed] -= 1
        expected = "one list of seeds" if usual is None else _listed(usual)
        actual = _listed(own)
        for place in surplus or [pointer]:
            yield Failed(place, "the seeds differ from the other lists", expected, actual)


def _listed(seeds: tuple[int, ...]) -> str:
    """Return the seeds as a list, a long one cut."""
    shown = ", ".join(map(str, seeds[:_SEEDS_SHOWN]))
    more = f", and {len(seeds) - _SEEDS_SHOWN} more" if len(seeds) > _SEEDS_SHOWN else ""
    return f"[{shown}{more}]"


@rule(
    "IDENT003",
    "copied-blocks",
    ERROR,
    each=Case,
    missing="no dataset or checkpoint block is recorded twice",
)
def copied_blocks(case: Case) -> Iterator[CheckResult]:
    """The data or the checkpoint of a run differ from those of the others.

    Why
        Runs that started from another checkpoint or saw other data cannot be compared, and a hash
        that differs in one copy was edited or belongs to another run.
    Fix
        Compare the named value with the others; if the run really differs, make it a study of
        its own.
    Bad
        dataset.source_sha256 of one run that differs from the file's
    Good
        the same dataset block at the top and in every run
    """
    declared = declared_fields(case.results) or []
    for key, field in (("dataset", DATA_FIELD), ("checkpoint", BASE_FIELD)):
        copies = list(_copies(case.results, key))
        # Arms that differ in it on purpose are each held against themselves.
        parts = _by_arm(case.results, key, copies) if field in declared else [copies]
        for blocks in parts:
            yield from block_agreement(blocks, key)


def _by_arm(
    results: Results, key: str, copies: list[tuple[str, Mapping[str, Any]]]
) -> list[list[tuple[str, Mapping[str, Any]]]]:
    of_run = dict(copies)
    places = [[join(run.pointer, key) for run in arm.runs] for arm in results.arms]
    return [[(place, of_run[place]) for place in own if place in of_run] for own in places]


def _copies(results: Results, key: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield every copy of a block: at the top, in each arm and in each run."""
    for pointer, owner in owners(results):
        if isinstance(owner.get(key), dict):
            yield join(pointer, key), owner[key]


@rule(
    "IDENT004",
    "checkpoint-mirror",
    ERROR,
    each=Case,
    missing="no checkpoint names the mirror that was loaded",
)
def mirror(case: Case) -> Iterator[CheckResult]:
    """The copy of the checkpoint that was loaded is not the one named.

    Why
        Two revisions of one model are two baselines.
    Fix
        Name the revision that was loaded.
    Bad
        "revision": "7ae5…" and "verified_mirror": {"revision": "c540…"}
    Good
        the same public_id and revision in both
    """
    for key in ("public_id", "revision"):
        stated: list[Stated] = []
        for pointer, checkpoint in _copies(case.results, "checkpoint"):
            copy = checkpoint.get("verified_mirror") or {}
            if key in checkpoint and key in copy:
                stated.append((join(pointer, key), checkpoint[key]))
                stated.append((join(pointer, "verified_mirror", key), copy[key]))
        yield from agreement(stated, f"the checkpoint's {key}")


# A device may differ on purpose, and limitations are free text; the other two describe the study.
_LABELS = {
    "diagnostic_only": None,
    "evaluation_tier": None,
    "device": WARNING,
    "limitations": INFO,
}


@rule("IDENT005", "run-labels", ERROR, each=Case, missing="the runs have no labels")
def run_labels(case: Case) -> Iterator[CheckResult]:
    """A run is labelled differently from the rest of the file.

    Why
        diagnostic_only and evaluation_tier say what may be claimed; a run with another label was
        made for another purpose. Another device has other kernels, and rounds otherwise.
    Fix
        Label all runs of a study alike, or split the study.
    Bad
        "diagnostic_only": false in one run, true at the top
    Good
        "diagnostic_only": true everywhere
    """
    for key, severity in _LABELS.items():
        stated: list[Stated] = [
            (join(run.pointer, key), run.document[key])
            for run in case.results.runs
            if key in run.document
        ]
        if key == "diagnostic_only" and key in case.results.usable:
            stated.append(("/diagnostic_only", case.results.usable[key]))
        yield from agreement(stated, key, severity)


@rule(
    "IDENT006",
    "parameters-flag",
    ERROR,
    each=Run,
    needs=("initial_parameters_sha256", "final_parameters_sha256", "parameters_changed"),
    missing="no run has both parameter hashes and the flag",
)
def parameters_flag(run: Run) -> Failed | None:
    """The parameter hashes contradict the flag that says whether the parameters changed.

    Why
        A run whose parameters are those it started from was not trained.
    Fix
        Hash the trainable parameters before and after training and set the flag from the hashes.
    Bad
        "parameters_changed": true with equal initial and final hashes
    Good
        "parameters_changed": true with two different hashes
    """
    document = run.document
    moved = document["initial_parameters_sha256"] != document["final_parameters_sha256"]
    if moved == document["parameters_changed"]:
        return None
    message = "the hashes before and after training say otherwise"
    pointer = join(run.pointer, "parameters_changed")
    return Failed(pointer, message, str(moved).lower(), str(not moved).lower())


@rule("IDENT007", "look-alike-names", ERROR, each=Case, missing="there are no two arms")
def look_alike_names(case: Case) -> Iterator[CheckResult]:
    """Two arms have names that look the same.

    Why
        A reader takes one for the other, and a claim about one for a claim about the other. Names
        are compared after folding of case, blanks and characters without a shape, and with
        letters of other scripts read as the Latin ones that they look like.
    Fix
        Give every arm a name of its own; the message has the code points.
    Bad
        "controls": {"grpo": ..., "GRPO ": ...}
    Good
        "controls": {"grpo": ..., "grpo-long": ...}
    """
    for pair in look_alikes(case.results):
        yield Failed(pair.second.pointer or "/method", f"two arms look the same: {pair.text}")
    if len(case.results.arms) > 1:
        yield Passed()
