"""The cells of the calibration: kinds of studies, what is counted in them, what is expected.

``expected`` are rates that an independent simulation of the rules gave when they were chosen;
``most`` is what a rate of errors may be at most. Where a rule is known to exceed it the cell says
so and stands apart.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from judged import Judged, judge, read
from study_kinds import (
    Counts,
    Document,
    Random,
    Recipe,
    answered,
    arm_chances,
    copies_of_one_run,
    counted,
    evaluated,
    evaluation,
    gain,
    labelled,
    one_arm,
    one_run_sampled_again,
    runs,
    scores_document,
    seed_noise,
    study,
)

from audit.analysis import Analysis, analyse
from audit.policy import Policy
from audit.simulation import SEED_TASK_SD, TASK_SD, success_chances

Events = dict[str, float]
Maker = Callable[[Random], Events]

SEEDS = (3, 5, 10)
EQUAL, WORST, ONE_SIDED = 0.055, 0.07, 0.035


@dataclass(frozen=True)
class Cell:
    """Studies of one design.

    Attributes
    ----------
    section : str
    design : tuple of str
        Values of the section's columns.
    study : callable
        Makes and judges one study; returns its events as 0 or 1, or a number to be averaged.
    studies : int
    expected : mapping
        Rate of each event that was found when the rule was chosen.
    most : mapping
        Rate that an event may have at most, 0 for what must never happen.
    known : str
        Why a cell may exceed it; empty where it may not.
    """

    section: str
    design: tuple[str, ...]
    study: Maker
    studies: int
    expected: Mapping[str, float] = field(default_factory=dict)
    most: Mapping[str, float] = field(default_factory=dict)
    known: str = ""

    @property
    def name(self) -> str:
        """A key that tells cells apart and seeds their generator."""
        return " | ".join((self.section, *self.design))

    def generator(self, batch: int = 0) -> Random:
        """Return the random generator of one batch of the cell's studies."""
        return np.random.default_rng([zlib.crc32(self.name.encode()), batch])


@dataclass(frozen=True)
class Section:
    """A table: its columns before the events, and what a reader must know."""

    title: str
    columns: tuple[str, ...]
    note: str
    cells: Callable[[str], Iterator[Cell]]


def told(found: Judged) -> Events:
    """Return the events of a study whose claim is a gain, where either direction is an error."""
    return {"called": found.called, "refused": found.refused}


def one(values: Sequence[float | None], seeds: int) -> float | None:
    """Return the entry of a triple that belongs to 3, 5 or 10 seeds."""
    return values[SEEDS.index(seeds)]


def rates(**events: float | None) -> dict[str, float]:
    """Return the events that have a figure."""
    return {event.replace("_", " "): rate for event, rate in events.items() if rate is not None}


def number(seeds: int, full: int = 600) -> int:
    """Return how many studies a cell has: fewer of those that take long."""
    return {3: full, 5: full * 5 // 6, 10: full * 5 // 12}.get(seeds, full)


# ---- equal recipes


def _plain(recipe: Recipe, random: Random) -> Events:
    arms = answered(recipe, random)
    return {**told(judge(counted(arms, recipe.samples))), "naive": _naive(arms)}


def _naive(arms: tuple[Counts, Counts]) -> bool:
    """Whether a paired t interval over the tasks of one run of each arm excludes zero."""
    apart = arms[1][0] - arms[0][0]
    error = float(apart.std(ddof=1)) / len(apart) ** 0.5
    return bool(abs(float(apart.mean())) > 1.96 * error)


def one_run(title: str) -> Iterator[Cell]:
    for tasks, sd in product((120, 1319), (0.0, 0.03)):
        maker = partial(_plain, Recipe(tasks, (1, 1), (sd, sd)))
        expected = {(120, 0.03): 0.289, (1319, 0.03): 0.686, (120, 0.0): 0.055}.get((tasks, sd))
        yield Cell(
            title,
            (str(tasks), f"{sd:g}"),
            maker,
            200,
            rates(called=0, refused=1, naive=expected),
            {"called": 0},
        )


NULLS = {
    (120, 0.0): (0.010, None, 0.037),
    (120, 0.03): (0.036, 0.044, 0.045),
    (120, 0.05): (0.039, 0.049, None),
    (1319, 0.03): (0.036, 0.048, None),
}


def equal_recipes(title: str) -> Iterator[Cell]:
    for tasks, sd, seeds in product((30, 120, 1319), (0.0, 0.03, 0.05), SEEDS):
        yield Cell(
            title,
            (str(tasks), "4", str(seeds), f"{sd:g}", "0.34"),
            partial(_plain, Recipe(tasks, (seeds, seeds), (sd, sd))),
            number(seeds, 240 if tasks == 1319 else 600),
            rates(called=one(NULLS.get((tasks, sd), (None,) * 3), seeds)),
            {"called": EQUAL},
        )
    for rate, samples in ((0.05, 4), (0.2, 4), (0.8, 4), (0.95, 4), (0.34, 1), (0.34, 16)):
        yield Cell(
            title,
            ("120", str(samples), "5", "0.03", f"{rate:g}"),
            partial(_plain, Recipe(seeds=(5, 5), rate=rate, samples=samples)),
            500,
            {},
            {"called": EQUAL},
        )


def unequal(title: str) -> Iterator[Cell]:
    cases: list[tuple[int, tuple[int, int], tuple[float, float], float | None]] = [
        (120, (3, 3), (0.01, 0.05), 0.042),
        (120, (5, 5), (0.01, 0.05), 0.046),
        (1319, (3, 3), (0.01, 0.05), 0.060),
        (1319, (5, 5), (0.01, 0.05), 0.058),
        (120, (3, 3), (0.0, 0.05), 0.051),
        (120, (3, 6), (0.05, 0.01), None),
        (120, (3, 6), (0.01, 0.05), None),
    ]
    for tasks, seeds, sds, expected in cases:
        yield Cell(
            title,
            (str(tasks), f"{seeds[0]} v {seeds[1]}", f"{sds[0]:g} v {sds[1]:g}"),
            partial(_plain, Recipe(tasks, seeds, sds)),
            300 if tasks == 1319 else 600,
            rates(called=expected),
            {"called": WORST},
        )
    tailed = Recipe(1319, (5, 5), (0.01, 0.05), effect_sd=0.0, tails=(False, True))
    yield Cell(
        title,
        ("1319", "5 v 5", "0.01 v a long tail of bad runs, 0.05"),
        partial(_plain, tailed),
        240,
        rates(called=0.121),
        {"called": WORST},
        "bad runs that are rare are not among these seeds, and nothing shows them",
    )


# ---- runs that are none


def _sampled_again(tasks: int, grounds: str, random: Random) -> Events:
    document = counted(one_run_sampled_again(Recipe(tasks), random), 4)
    if grounds == "a bare seed column":
        document["provenance"] = {"imported": {"tool": "table"}}
    elif grounds == "declared evaluations":
        document["runs_are"] = {"recipe": "evaluations", "control": "evaluations"}
    return told(judge(document))


def sampled_again(title: str) -> Iterator[Cell]:
    for tasks, expected in ((120, 0.32), (1319, 0.73)):
        for grounds in ("a bare seed column", "declared evaluations", "seeds written by hand"):
            lie = grounds == "seeds written by hand"
            yield Cell(
                title,
                (str(tasks), grounds),
                partial(_sampled_again, tasks, grounds),
                240 if lie else 40,
                rates(called=expected if lie else 0, refused=0 if lie else 1),
                {"called": 0},
                "no figure in a file shows that its author is mistaken" if lie else "",
            )


# With one or two answers the edits that were tried then left some tasks as they were.
COPIES: dict[tuple[int, int], tuple[float | None, ...]] = {
    (1, 120): (0, None, None, None, None, 0.09, 0.02),
    (2, 120): (0, None, None, None, None, 0.18, 0.03),
    (4, 120): (0, 0, 0, 0, 0, 0.32, 0.02),
    (4, 1319): (0, 0, 0, 0, 0, 0.73, 0.03),
}
EDITS = ("1", "0.1", "0.2", "0.3", "swapped", "drawn again", "honest")


def _copied(recipe: Recipe, how: str, random: Random) -> Events:
    arms = answered(recipe, random) if how == "honest" else copies_of_one_run(recipe, how, random)
    return told(judge(counted(arms, recipe.samples)))


def near_copies(title: str) -> Iterator[Cell]:
    words = {"1": "1 answer", "0.1": "10%", "0.2": "20%", "0.3": "30%", "honest": "none: 3 runs"}
    for samples, tasks in COPIES:
        for how, expected in zip(EDITS, COPIES[samples, tasks], strict=True):
            unseen = how == "drawn again" or samples < 4
            yield Cell(
                title,
                (str(samples), str(tasks), words.get(how, how)),
                partial(_copied, Recipe(tasks, samples=samples), how),
                90 if tasks == 1319 else 180,
                rates(called=expected),
                {"called": EQUAL if how == "honest" or unseen else 0},
                "not told from runs by their answers" if unseen and how != "honest" else "",
            )


def _equal(answers: int, seeds: int, random: Random) -> Events:
    scores = random.binomial(answers, 0.34, (2, seeds)) / answers
    scores[1] = scores[1, 0]  # all runs of the treatment agree
    found = judge(scores_document((scores[0], scores[1]), "accuracy", 16, answers))
    return {**told(found), "refused as equal": found.slug in ("one-seed", "equal-scores")}


def equal_scores(title: str) -> Iterator[Cell]:
    for answers, seeds, refused in ((8, 3, 0), (30, 3, 0), (1319, 3, 1), (1319, 5, 1)):
        yield Cell(
            title,
            (str(answers), str(seeds)),
            partial(_equal, answers, seeds),
            60,
            {"refused as equal": refused},
        )


# ---- clusters

UNEVEN = (20,) * 3 + (5,) * 6 + (2,) * 9 + (1,) * 12
SHAPES: dict[str, tuple[tuple[int, ...], tuple[float, float, float]]] = {
    "8 of 15": ((15,) * 8, (0.033, 0.043, 0.051)),
    "12 of 10": ((10,) * 12, (0.037, 0.043, 0.058)),
    "24 of 5": ((5,) * 24, (0.036, 0.052, 0.047)),
    "60 of 2": ((2,) * 60, (0.030, 0.045, 0.052)),
    "3 of 20, 6 of 5, 9 of 2, 12 of 1": (UNEVEN, (0.019, 0.043, 0.040)),
    "10 of 9 and 30 of 1": ((9,) * 10 + (1,) * 30, (0.029, 0.039, 0.056)),
}
FEW = (30, 25, 20, 15, 10, 8, 5, 3, 2, 2)


def _with_lists(recipe: Recipe, random: Random, **lists: Any) -> Document:
    control, treatment = answered(recipe, random)
    return study(runs(control, 4, **lists), runs(treatment, 4, **lists))


def _clustered(recipe: Recipe, random: Random) -> Events:
    return told(judge(_with_lists(recipe, random, clusters=labelled(recipe.clusters))))


def _grouped(sizes: tuple[int, ...], seeds: int, **more: Any) -> Recipe:
    return Recipe(seeds=(seeds, seeds), rate=0.5, effect_sd=0.5, clusters=sizes, **more)


def clusters(title: str) -> Iterator[Cell]:
    for shape, (sizes, expected) in SHAPES.items():
        for seeds in SEEDS:
            yield Cell(
                title,
                (shape, str(seeds)),
                partial(_clustered, _grouped(sizes, seeds)),
                400,
                rates(called=one(expected, seeds)),
                {"called": WORST},
            )
    few = partial(_clustered, _grouped(FEW, 5))
    yield Cell(title, ("10 with 6.1 effective", "5"), few, 30, {"refused": 1}, {"called": 0})


def _stems(recipe: Recipe, sizes: tuple[int, ...], random: Random) -> Events:
    names = [f"{text}/q{place}" for place, text in enumerate(labelled(sizes))]
    return told(judge(_with_lists(recipe, random, task_ids=names)))


def stems(title: str) -> Iterator[Cell]:
    twelve, sixty = SHAPES["12 of 10"][0], SHAPES["60 of 2"][0]
    cases: list[tuple[str, tuple[int, ...], bool, float, tuple[float, ...]]] = [
        ("12 of 10, shared effect", twelve, True, 0.0, (0.032, 0.035, 0.050)),
        ("60 of 2, shared effect", sixty, True, 0.0, (0.035, 0.050, 0.045)),
        ("12 of 10, none", twelve, False, 0.0, (0.029, 0.037, 0.043)),
        ("12 of 10, none, true gain 0.10", twelve, False, 0.1, (0.637, 0.939, 0.998)),
    ]
    for name, sizes, shared, delta, expected in cases:
        for seeds in SEEDS:
            recipe = _grouped(sizes if shared else (), seeds, delta=delta)
            yield Cell(
                title,
                (name, str(seeds)),
                partial(_stems, recipe, sizes),
                number(seeds, 240 if delta else 400),
                rates(called=one(expected, seeds)),
                {} if delta else {"called": WORST},
            )


def _chosen(seeds: int, how: str, random: Random) -> Events:
    arms = answered(Recipe(seeds=(seeds, seeds)), random)
    apart = arms[1].mean(axis=0) - arms[0].mean(axis=0)
    order = np.argsort(apart, kind="stable")
    names = np.empty(120, dtype=object)
    if how == "the worst 90 in tens":
        for place, task in enumerate(order):
            names[task] = f"g{place // 9}" if place < 90 else f"s{place}"
    else:  # each group takes low and high ones, so that groups hardly differ
        for place, task in enumerate(order):
            lap, step = divmod(place, 10)
            names[task] = f"g{step if lap % 2 else 9 - step}"
    lists = {"clusters": list(names)}
    found = judge(study(runs(arms[0], 4, **lists), runs(arms[1], 4, **lists)))
    return {"gain": found.supported}


def chosen(title: str) -> Iterator[Cell]:
    mixed = (0.0125, 0.02, 0.022)
    for how, expected in (("the worst 90 in tens", (0, 0, 0)), ("low with high", mixed)):
        for seeds in SEEDS:
            yield Cell(
                title,
                (how, str(seeds)),
                partial(_chosen, seeds, how),
                number(seeds, 300),
                rates(gain=one(expected, seeds)),
                {"gain": ONE_SIDED},
            )


# ---- answers that ended in an error, answers that were not parsed


def _lost(right: Counts, share: float, random: Random) -> tuple[Counts, Counts]:
    """Return (right, errored) after each answer was lost with one chance."""
    hit = random.binomial(right, share)
    missed = random.binomial(4 - right, share)
    return right - hit, hit + missed


def _errored(how: str, recipe: Recipe, random: Random) -> Events:
    a, b = answered(recipe, random)
    none = np.zeros_like(a), np.zeros_like(b)
    lost_a, lost_b = none
    if how == "B: 30% of the wrong answers time out":
        lost_b = random.binomial(4 - b, 0.3)
    elif how == "A loses 3% of its answers":
        a, lost_a = _lost(a, 0.03, random)
    elif how == "A: 15% of its right answers cut off":
        lost_a = random.binomial(a, 0.15)
        a = a - lost_a
    elif how.startswith("A right"):
        share = 0.1 if "10%" in how else 0.04
        lost_a, lost_b = random.binomial(a, share), random.binomial(4 - b, share)
        a = a - lost_a
    else:
        share = float(how.split("%")[0]) / 100
        (a, lost_a), (b, lost_b) = _lost(a, share, random), _lost(b, share, random)
    found = judge(study(runs(a, 4, errored=lost_a), runs(b, 4, errored=lost_b)))
    return {"gain": found.supported, "errors decide": found.slug == "errors-decide"}


def errored(title: str) -> Iterator[Cell]:
    cases: dict[str, tuple[float, tuple[float, float, float]]] = {
        "B: 30% of the wrong answers time out": (0.34, (0.011, 0.025, 0.025)),
        "A loses 3% of its answers": (0.34, (0.007, 0.004, 0.002)),
        "A: 15% of its right answers cut off": (0.34, (0.013, 0.027, 0.021)),
        "A right 10%, B wrong 10%": (0.5, (0.011, 0.018, 0.024)),
        "A right 4%, B wrong 4%": (0.5, (0.019, 0.037, 0.048)),
        "1% at random in both": (0.34, (0.020, 0.027, 0.023)),
    }
    for how, (rate, expected) in cases.items():
        for seeds in SEEDS:
            yield Cell(
                title,
                (how, f"{rate:g}", str(seeds), "0"),
                partial(_errored, how, Recipe(seeds=(seeds, seeds), rate=rate)),
                number(seeds, 360),
                rates(gain=one(expected, seeds)),
                {"gain": 0.048},
            )
    for share, power in (("0%", 0.945), ("1%", 0.944), ("2%", 0.858), ("4%", 0.536)):
        yield Cell(
            title,
            (f"{share} at random in both", "0.34", "5", "0.1"),
            partial(_errored, f"{share} at random", Recipe(seeds=(5, 5), delta=0.1)),
            300,
            rates(gain=power),
        )


def _parsed(
    recipe: Recipe, shares: tuple[float, float], hard: float, random: Random
) -> tuple[Counts, Counts, Counts, Counts]:
    """Return right and unparsed answers of both arms; hard tasks parse worse by ``hard`` logits."""
    tasks = random.normal(0, TASK_SD, recipe.tasks)
    noise = seed_noise(recipe, random)
    made = []
    for side, seeds in enumerate(recipe.seeds):
        rate = recipe.rate + side * recipe.delta + noise[side]
        chances = one_arm(recipe, rate, tasks, random)
        right = random.binomial(4, chances)
        read = success_chances(shares[side], np.tile(hard * tasks / TASK_SD, (seeds, 1)), hard)
        kept = random.binomial(right, read)
        made += [kept, 4 - kept - random.binomial(4 - right, read)]
    return made[0], made[1], made[2], made[3]


def _format(recipe: Recipe, shares: tuple[float, float], hard: float, random: Random) -> Events:
    a, lost_a, b, lost_b = _parsed(recipe, shares, hard, random)
    document = study(runs(a, 4, unparsed=lost_a), runs(b, 4, unparsed=lost_b))
    claim = analyse(read(document)).claims[0]
    comparison = claim.comparison
    assert comparison is not None
    word = comparison.verdict
    return {
        "word gain": word.word == "gain",
        "format-only": word.word == "gain" and "format-only" in word.qualifiers,
        "supported": claim.stands,
    }


def formats(title: str) -> Iterator[Cell]:
    none = (0.020, 0.030, 0.031), (0.001, 0.002, 0.003)
    equal = (0.725, 0.971, 1.0), (0.712, 0.951, 0.973)
    hard = (0.513, 0.865, 0.991), (0.510, 0.865, 0.991)
    content = (0.555, 0.924, 1.0), (0.004, 0.003, 0.0)
    little = (0.723, 0.979, 1.0), (0.057, 0.017, 0.0)
    much = (0.889, 0.999, 1.0), (0.252, 0.054, 0.0)
    cases = [
        ("0.90 in both", (0.9, 0.9), 0.0, 0.0, none),
        ("0.75 to 0.98", (0.75, 0.98), 0.0, 0.0, equal),
        ("0.75 to 0.98, hard tasks less", (0.75, 0.98), 0.75, 0.0, hard),
        ("0.95 in both", (0.95, 0.95), 0.0, 0.1, content),
        ("0.93 to 0.97", (0.93, 0.97), 0.0, 0.1, little),
        ("0.85 to 0.95", (0.85, 0.95), 0.0, 0.1, much),
    ]
    for name, shares, slope, delta, (words, only) in cases:
        for seeds in SEEDS:
            yield Cell(
                title,
                (name, "0.48", f"{delta:g}", str(seeds)),
                partial(
                    _format, Recipe(seeds=(seeds, seeds), rate=0.48, delta=delta), shares, slope
                ),
                number(seeds, 240),
                {"word gain": words[SEEDS.index(seeds)], "format-only": only[SEEDS.index(seeds)]},
                {} if delta else {"supported": ONE_SIDED},
            )


# ---- one score per run, averages, guardrails


def _scores(kind: str, recipe: Recipe, decimals: int, known: bool, random: Random) -> Events:
    control, treatment = arm_chances(recipe, random)
    if kind == "accuracy":
        arms = [random.binomial(1, chances).mean(axis=1) for chances in (control, treatment)]
    else:
        arms = [control.mean(axis=1), treatment.mean(axis=1)]
    size = recipe.tasks if known else None
    return told(judge(scores_document(arms, kind, decimals, size)))


def scores(title: str) -> Iterator[Cell]:
    cases: list[tuple[str, int, float, bool, tuple[tuple[float | None, ...], ...]]] = [
        ("accuracy", 1319, 0.0, False, ((0.045, 0.045, 0.064), (0.035, 0.048, 0.051))),
        ("accuracy", 1319, 0.02, False, ((None, 0.057, 0.051), (None, 0.057, 0.051))),
        ("accuracy", 1319, 0.02, True, ((0.020, 0.051, 0.051), (0.020, 0.051, 0.051))),
        ("reward", 40, 0.02, False, ((0.033, 0.046, 0.056), (0.034, 0.046, 0.056))),
    ]
    for kind, tasks, sd, known, expected in cases:
        for (decimals, wanted), seeds in product(zip((2, 3), expected, strict=True), SEEDS):
            recipe = Recipe(tasks, (seeds, seeds), (sd, sd), samples=1, effect_sd=0.0)
            yield Cell(
                title,
                (
                    f"{kind} of {tasks}",
                    f"{sd:g}",
                    "yes" if known else "no",
                    str(decimals),
                    str(seeds),
                ),
                partial(_scores, kind, recipe, decimals, known),
                600,
                rates(called=one(wanted, seeds)),
                {"called": WORST},
            )


def _several(
    sizes: Sequence[int],
    seeds: int,
    sds: tuple[float, float],
    deltas: Sequence[float],
    random: Random,
    **document: Any,
) -> Analysis:
    """Judge runs that were evaluated on several benchmarks; ``sds`` are shared and of each."""
    shared = [random.normal(0, sds[0], seeds) for _ in range(2)]
    sides: list[list[list[Document]]] = [[[] for _ in range(seeds)] for _ in range(2)]
    for place, (tasks, delta) in enumerate(zip(sizes, deltas, strict=True)):
        recipe = Recipe(tasks, (seeds, seeds))
        logits = random.normal(0, TASK_SD, tasks)
        for side, made in enumerate(sides):
            own = recipe.rate + side * delta + shared[side] + random.normal(0, sds[1], seeds)
            counts = random.binomial(4, one_arm(recipe, own, logits, random))
            for run, row in zip(made, counts, strict=True):
                run.append(evaluation(row, 4, f"b{place}"))
    arms = [[evaluated(seed, blocks) for seed, blocks in enumerate(made)] for made in sides]
    claims = document.pop("claims")
    return analyse(read(study(arms[0], arms[1], *claims, **document)))


def _averages(
    sizes: tuple[int, ...], seeds: int, sds: tuple[float, float], random: Random
) -> Events:
    names = [f"b{place}" for place in range(len(sizes))]
    claims = [
        gain(id=average, benchmarks=names, average=average) for average in ("benchmarks", "tasks")
    ]
    found = _several(sizes, seeds, sds, [0.0] * len(sizes), random, claims=claims)
    words = [c.comparison.decision for c in found.claims if c.comparison is not None]
    macro, micro = (word is not None and word.word != "flat" for word in words)
    return {"macro": macro, "micro": micro}


def averages(title: str) -> Iterator[Cell]:
    mixed, four = (30, 120, 500), (120,) * 4
    cases = [
        (mixed, (0.03, 0.0), (0.033, 0.052, 0.053), (0.030, 0.049, 0.049)),
        (mixed, (0.02, 0.03), (0.032, 0.047, 0.049), (0.037, 0.049, 0.050)),
        (four, (0.03, 0.0), (0.029, 0.044, 0.047), (0.029, 0.044, 0.047)),
    ]
    for (sizes, sds, macro, micro), seeds in product(cases, SEEDS):
        yield Cell(
            title,
            (", ".join(map(str, sizes)), f"{sds[0]:g}, {sds[1]:g}", str(seeds)),
            partial(_averages, sizes, seeds, sds),
            {3: 240, 5: 200, 10: 300}[seeds],
            rates(macro=one(macro, seeds), micro=one(micro, seeds)),
            {"macro": EQUAL, "micro": EQUAL},
        )


def _guarded(seeds: int, deltas: tuple[float, ...], primary: int, random: Random) -> Events:
    rails = [f"b{place}" for place in range(primary, len(deltas))]
    found = _several(
        (300,) * len(deltas),
        seeds,
        (0.02, 0.01),
        deltas,
        random,
        claims=[gain(id=f"c{place}", benchmark=f"b{place}") for place in range(primary)],
        decision={
            "guardrails": [
                {"metric": "accuracy", "benchmark": name, "margin": 0.05} for name in rails
            ]
        },
    )
    word = None if found.decision is None else found.decision.word
    return {"ship": word == "ship", "don't": word == "don't"}


def guardrails(title: str) -> Iterator[Cell]:
    cases: list[tuple[str, tuple[float, ...], int, tuple[float, ...], float | None]] = [
        ("no gain, 3 guardrails unharmed", (0, 0, 0, 0), 1, (0.004, 0.019, 0.023), ONE_SIDED),
        ("gain of 0.10, one guardrail at -0.05", (0.1, -0.05), 1, (0.006, 0.020), ONE_SIDED),
        ("three null primaries, one guardrail", (0, 0, 0, 0), 3, (0.007, 0.022), ONE_SIDED),
        ("gain of 0.10, 3 guardrails unharmed", (0.1, 0, 0, 0), 1, (0.15, 0.54, 0.94), None),
    ]
    for name, deltas, primary, expected, most in cases:
        for seeds, rate in zip(SEEDS, expected, strict=False):
            yield Cell(
                title,
                (name, str(seeds)),
                partial(_guarded, seeds, deltas, primary),
                {3: 200, 5: 200, 10: 90}[seeds],
                {"ship": rate},
                {} if most is None else {"ship": most},
            )


# ---- the base


def _over_base(recipe: Recipe, random: Random) -> Events:
    tasks = random.normal(0, TASK_SD, recipe.tasks)
    model = one_arm(recipe, np.array([recipe.rate]), tasks, random)
    trained = one_arm(recipe, recipe.rate + seed_noise(recipe, random)[1], tasks, random)
    again = random.binomial(4, np.repeat(model, 3, axis=0))
    document = study([], runs(random.binomial(4, trained), 4), gain(against="base"))
    del document["controls"]
    document["base_evaluations"] = [
        {"run": place, "evaluation": evaluation(row, 4)} for place, row in enumerate(again)
    ]
    allowed = analyse(read(document), policy=Policy(base="allow")).claims[0]
    return {"supported": judge(document).supported, "allowed by policy": allowed.stands}


def over_base(title: str) -> Iterator[Cell]:
    tails = {120: (0.050, 0.054, 0.042), 500: (0.141, 0.120, 0.095)}
    even = {120: (0.029, 0.024, 0.024), 500: (0.035, 0.022, 0.024)}
    for tasks, tail, seeds in product((120, 500), (False, True), SEEDS):
        yield Cell(
            title,
            (str(tasks), "a long tail of bad runs" if tail else "normal", str(seeds)),
            partial(_over_base, Recipe(tasks, (seeds, seeds), (0.05, 0.05), tails=(tail, tail))),
            number(seeds, 240),
            {
                "supported": 0,
                "allowed by policy": (tails if tail else even)[tasks][SEEDS.index(seeds)],
            },
            {"supported": 0},
        )


# ---- looks, several claims, pairs, checkpoints, equivalence


def _first_call(
    arms: tuple[Counts, Counts], looks: Iterable[int], claim: Document, **more: Any
) -> tuple[Judged, int]:
    """Judge after each seed until the claim is supported or the opposite is seen."""
    found, seeds = None, 0
    for seeds in looks:
        cut = arms[0][:seeds], arms[1][:seeds]
        found = judge(counted(cut, 4, claim, **more))
        if found.called:
            break
    assert found is not None
    return found, seeds


def _planned(recipe: Recipe, claim: Document, random: Random) -> Events:
    most = recipe.seeds[0]
    plan: Document = {"maximum": {"recipe": most, "control": most}, "first": 4}
    if claim.get("pairing"):
        plan["paired"] = True
    found, seeds = _first_call(answered(recipe, random), range(4, most + 1), claim, plan=plan)
    if claim["direction"] == "equivalent":
        return {"supported": found.supported, "runs per arm": seeds}
    return {"called": found.called, "gain": found.supported, "runs per arm": seeds}


def plans(title: str) -> Iterator[Cell]:
    def cell(
        name: str, recipe: Recipe, claim: Document, studies: int, expected: Any, most: Any
    ) -> Cell:
        sds = " v ".join(f"{sd:g}" for sd in dict.fromkeys(recipe.sd))
        design = (f"4 to {recipe.seeds[0]}", name, str(recipe.tasks), sds, f"{recipe.delta:g}")
        maker = partial(_planned, recipe, claim)
        return Cell(title, design, maker, studies, expected, most)

    null, worst = {"called": EQUAL}, {"called": WORST}
    eight, twelve, wide = (8, 8), (12, 12), (0.01, 0.05)
    yield cell("gain", Recipe(seeds=eight), gain(), 400, {"called": 0.050}, null)
    yield cell("gain", Recipe(seeds=twelve), gain(), 260, {"called": 0.050}, null)
    yield cell("gain", Recipe(seeds=eight, sd=wide), gain(), 300, {"called": 0.0575}, worst)
    power8 = {"gain": 0.647, "runs per arm": 6.7}
    yield cell("gain", Recipe(seeds=eight, delta=0.05), gain(), 200, power8, {})
    power12 = {"gain": 0.808, "runs per arm": 8.6}
    yield cell("gain", Recipe(seeds=twelve, delta=0.05), gain(), 120, power12, {})
    pairs = Recipe(seeds=eight, sd=(0.05, 0.05), shared=0.6)
    paired = gain(pairing="seeds")
    yield cell("gain, declared pairs", pairs, paired, 240, {"called": 0.050}, null)
    same = gain(direction="equivalent", margin=0.05)
    at_margin = Recipe(seeds=twelve, sd=(0.01, 0.01), delta=0.05)
    edge = {"supported": 0.0385}
    yield cell("equivalent within 0.05", at_margin, same, 120, edge, {"supported": EQUAL})
    at_margin8 = Recipe(seeds=eight, sd=(0.01, 0.01), delta=0.05)
    yield cell("equivalent within 0.05", at_margin8, same, 240, {}, {"supported": EQUAL})
    level = Recipe(seeds=twelve, sd=(0.01, 0.01))
    sure = {"supported": 0.986, "runs per arm": 6.7}
    yield cell("equivalent within 0.05", level, same, 80, sure, {})


def _looked_twice(recipe: Recipe, random: Random) -> Events:
    control, treatment = answered(recipe, random)
    if judge(counted((control[:3], treatment[:3]), 4)).called:
        return {"recorded": True, "not recorded": True}
    whole = counted((control, treatment), 4)
    return {
        "recorded": judge({**whole, "looked": [3]}).called,
        "not recorded": judge(whole).called,
    }


def looked(title: str) -> Iterator[Cell]:
    cases = [
        (Recipe(seeds=(8, 8)), 500, {"recorded": 0.041, "not recorded": 0.073}, EQUAL),
        (
            Recipe(1319, (8, 8), (0.01, 0.05), effect_sd=0.0),
            150,
            {"recorded": 0.067, "not recorded": 0.099},
            WORST,
        ),
    ]
    for recipe, studies, expected, most in cases:
        sds = " v ".join(f"{sd:g}" for sd in dict.fromkeys(recipe.sd))
        maker = partial(_looked_twice, recipe)
        yield Cell(title, (str(recipe.tasks), sds), maker, studies, expected, {"recorded": most})


def _three_claims(deltas: tuple[float, ...], random: Random) -> Events:
    recipe = Recipe(seeds=(5, 5))
    tasks = random.normal(0, TASK_SD, recipe.tasks)

    def arm(delta: float) -> list[Document]:
        expected = recipe.rate + delta + random.normal(0, 0.03, 5)
        return runs(random.binomial(4, one_arm(recipe, expected, tasks, random)), 4)

    document = study(arm(0), arm(deltas[0]), gain(id="c0"))
    for place, delta in enumerate(deltas[1:], start=1):
        name = f"recipe-{place}"
        document["controls"][name] = {"role": "other", "seed_results": arm(delta)}
        document["claims"].append(gain(id=f"c{place}", arm=name))
    claims = analyse(read(document)).claims
    false = [c for c, delta in zip(claims, deltas, strict=True) if not delta]
    return {
        "any false gain": any(c.stands for c in false),
        "without Holm": any(c.p_value < 0.05 for c in false),
    }


def several_claims(title: str) -> Iterator[Cell]:
    for name, deltas in (("all null", (0.0, 0.0, 0.0)), ("two true gains", (0.1, 0.1, 0.0))):
        maker = partial(_three_claims, deltas)
        yield Cell(title, (name,), maker, 300, {}, {"any false gain": EQUAL})


def _paired(recipe: Recipe, declared: bool, random: Random) -> Events:
    claim = gain(pairing="seeds") if declared else gain()
    found = judge(counted(answered(recipe, random), 4, claim))
    return {"called": found.called, "gain": found.supported}


def pairs(title: str) -> Iterator[Cell]:
    for shared, seeds in product((0.0, 0.6), SEEDS):
        recipe = Recipe(seeds=(seeds, seeds), sd=(0.05, 0.05), shared=shared)
        maker = partial(_paired, recipe, True)
        design = ("yes", f"{shared:g}", str(seeds), "0")
        yield Cell(title, design, maker, number(seeds, 300), {}, {"called": 0.06})
    for shared, power in ((0.3, 0.27), (0.6, 0.38), (0.9, 0.65)):
        recipe = Recipe(seeds=(5, 5), sd=(0.05, 0.05), delta=0.05, shared=shared)
        maker = partial(_paired, recipe, True)
        yield Cell(title, ("yes", f"{shared:g}", "5", "0.05"), maker, 240, {"gain": power})
    backwards = Recipe(seeds=(5, 5), sd=(0.05, 0.05), shared=-0.6)
    yield Cell(
        title,
        ("no", "-0.6", "5", "0"),
        partial(_paired, backwards, False),
        900,
        {},
        {"called": WORST},
        "seeds that run against each other; no known reason makes them",
    )


def along_training(recipe: Recipe, along: float, steps: int, random: Random) -> list[Counts]:
    """Return (runs x steps x tasks) right answers of both arms; the last step is the end.

    Along a run its expected score moves by ``along``, with a correlation of 0.7 from one
    checkpoint to the next, and so do its chances on each task.
    """
    tasks = random.normal(0, TASK_SD, recipe.tasks)
    noise = seed_noise(recipe, random)
    spread = float(np.sqrt(recipe.spread**2 + SEED_TASK_SD**2))
    arms = []
    for side, seeds in enumerate(recipe.seeds):
        effect = random.normal(0, recipe.effect_sd, recipe.tasks)
        own = random.normal(0, SEED_TASK_SD, (seeds, recipe.tasks))
        path = random.normal(0, 1, seeds)
        made = []
        for step in range(steps):
            if step:
                path = 0.7 * path + np.sqrt(1 - 0.7**2) * random.normal(0, 1, seeds)
            here = random.normal(0, SEED_TASK_SD, (seeds, recipe.tasks))
            expected = recipe.rate + side * recipe.delta + noise[side] + along * path
            chances = success_chances(expected, tasks + effect + own + here, spread)
            made.append(random.binomial(recipe.samples, chances))
        arms.append(np.stack(made, axis=1))
    return arms


def _checkpoints(recipe: Recipe, along: float, random: Random) -> Events:
    steps = (60, 70, 80, 90, 100)
    arms = along_training(recipe, along, len(steps), random)
    pooled = [
        [
            evaluated(
                seed,
                [
                    evaluation(row, 4, checkpoint_step=step)
                    for step, row in zip(steps, rows, strict=True)
                ],
            )
            for seed, rows in enumerate(arm)
        ]
        for arm in arms
    ]
    apart = [
        [
            {
                "seed": None,
                "run_id": f"seed{seed}/checkpoint-{step}",
                "evaluation": evaluation(row, 4),
            }
            for seed, rows in enumerate(arm)
            for step, row in zip(steps, rows, strict=True)
        ]
        for arm in arms
    ]
    mean = judge(study(pooled[0], pooled[1], gain(checkpoints=list(steps))))
    return {
        "last": judge(study(pooled[0], pooled[1])).called,
        "mean of 5": mean.called,
        "steps as runs": judge(study(apart[0], apart[1])).called,
    }


def checkpoints(title: str) -> Iterator[Cell]:
    for seeds, last, mean in ((3, 0.035, 0.041), (5, 0.048, 0.048)):
        yield Cell(
            title,
            (str(seeds), "120", "0.02", "0.03", "0"),
            partial(_checkpoints, Recipe(seeds=(seeds, seeds), sd=(0.02, 0.02)), 0.03),
            300,
            {"last": last, "mean of 5": mean, "steps as runs": 0},
            {"last": EQUAL, "mean of 5": EQUAL, "steps as runs": 0},
        )


def _equivalent(recipe: Recipe, margin: float, random: Random) -> Events:
    claim = gain(direction="equivalent", margin=margin)
    found = judge(counted(answered(recipe, random), 4, claim))
    return {"supported": found.supported, "no room": found.slug == "no-room"}


def equivalence(title: str) -> Iterator[Cell]:
    cases = [
        ("nobody solves it", Recipe(300, (5, 5), (0.0, 0.0), 0.005), 0.03, 0.0, 0.0),
        ("a fall from 0.02 to 0", Recipe(300, (5, 5), (0.0, 0.0), 0.02, -0.02), 0.03, 0.0, 0.0),
        ("apart by the margin", Recipe(1319, (5, 5), (0.01, 0.01), delta=0.05), 0.05, None, EQUAL),
        ("equal", Recipe(1319, (5, 5), (0.01, 0.01)), 0.03, 0.96, None),
        ("equal", Recipe(1319, (5, 5), (0.03, 0.03)), 0.03, 0.05, None),
    ]
    for name, recipe, margin, expected, most in cases:
        design = (name, str(recipe.tasks), f"{recipe.rate:g}", f"{recipe.sd[0]:g}", f"{margin:g}")
        maker = partial(_equivalent, recipe, margin)
        bound = {} if most is None else {"supported": most}
        studies = 120 if recipe.tasks == 300 else 160
        yield Cell(title, design, maker, studies, rates(supported=expected), bound)


# ---- true gains

GAINS: dict[tuple[int, float, float], tuple[float, float, float]] = {
    (120, 0.05, 0.01): (0.48, 0.83, 0.98),
    (120, 0.05, 0.03): (0.23, 0.47, 0.79),
    (120, 0.1, 0.03): (0.64, 0.96, 1.0),
    (120, 0.1, 0.05): (0.34, 0.68, 0.96),
}


def _power(recipe: Recipe, random: Random) -> Events:
    found = judge(counted(answered(recipe, random), recipe.samples))
    return {"gain": found.supported, "loss": found.slug == "wrong-way"}


def true_gains(title: str) -> Iterator[Cell]:
    for (tasks, delta, sd), expected in GAINS.items():
        for seeds in SEEDS:
            yield Cell(
                title,
                (str(tasks), str(seeds), f"{sd:g}", f"{delta:g}"),
                partial(_power, Recipe(tasks, (seeds, seeds), (sd, sd), delta=delta)),
                number(seeds, 300),
                rates(gain=one(expected, seeds)),
            )


SECTIONS = (
    Section(
        "One run per arm",
        ("tasks", "training sd"),
        "Nothing may be called. `naive` is a paired t interval over the tasks of one run of each "
        "arm that excludes zero: what such a study is usually judged by.",
        one_run,
    ),
    Section(
        "Equal recipes",
        ("tasks", "k", "seeds", "training sd", "base rate"),
        "A gain or a loss is an error.",
        equal_recipes,
    ),
    Section(
        "Equal recipes, unequal spread or numbers of seeds",
        ("tasks", "seeds", "training sd"),
        "Control first.",
        unequal,
    ),
    Section(
        "One run sampled again",
        ("tasks", "grounds for three runs"),
        "One model per arm, equal recipes, its answers drawn three times and entered as three "
        "runs. Where the author writes three training seeds, nothing in the file contradicts it.",
        sampled_again,
    ),
    Section(
        "One run edited into three",
        ("k", "tasks", "changed"),
        "Equal recipes, one run per arm with two edited copies: on a share of the tasks one answer "
        "is turned over; `swapped`: a quarter of the tasks exchange outcomes; `drawn again`: all "
        "answers are.",
        near_copies,
    ),
    Section(
        "Equal scores",
        ("answers per run", "seeds"),
        "One score per run, the same in all runs of one arm. Three equal scores of 30 answers "
        "happen by chance; three of 1,319 do not.",
        equal_scores,
    ),
    Section(
        "Clusters, declared",
        ("clusters of 120 tasks", "seeds"),
        "Equal recipes; all tasks of a cluster share an arm's effect and a run's.",
        clusters,
    ),
    Section(
        "Clusters, read from task ids",
        ("clusters", "seeds"),
        "Nothing is declared, the ids of a cluster share a stem.",
        stems,
    ),
    Section(
        "Clusters, chosen after seeing the outcomes",
        ("how", "seeds"),
        "Equal recipes; a gain is an error, nominally 0.025.",
        chosen,
    ),
    Section(
        "Errored answers",
        ("mechanism", "base rate", "seeds", "true gain"),
        "A is the control, B the treatment. Without a true gain a gain is an error, nominally "
        "0.025. `errors decide`: refused because one way of counting them would carry the claim.",
        errored,
    ),
    Section(
        "Format and content",
        ("answers parsed", "base rate", "true gain in content", "seeds"),
        "`word gain`: the score rose; `format-only`: parsing explains it; `supported`: the claim "
        "passes. Parsing is no better recipe: without a gain in content a pass is an error. Here "
        "parsing varies by chance alone; where it varies between runs `format-only` is rarer.",
        formats,
    ),
    Section(
        "One score per run",
        ("metric", "training sd", "answers known", "decimals", "seeds"),
        "Equal recipes, judged about these tasks.",
        scores,
    ),
    Section(
        "Averages over benchmarks",
        ("tasks", "sd shared, of each", "seeds"),
        "Equal recipes; `macro` weighs benchmarks alike, `micro` tasks.",
        averages,
    ),
    Section(
        "Guardrails",
        ("truth", "seeds"),
        "300 tasks each, training sd 0.02 shared and 0.01 of each benchmark, margin 0.05. To ship "
        "without a gain, or where a guardrail falls by its margin, is an error.",
        guardrails,
    ),
    Section(
        "Against the untrained model",
        ("tasks", "training", "seeds"),
        "Equal to the base on average, training sd 0.05, three evaluations of the base. By default "
        'no such gain passes; `allowed by policy` is what would pass with `base = "allow"`, '
        "nominally 0.025.",
        over_base,
    ),
    Section(
        "Plans, looked at after every seed",
        ("plan", "claim", "tasks", "training sd", "true difference"),
        "Judged at each number of seeds until something is called.",
        plans,
    ),
    Section(
        "Looked at 3 seeds, then at 8, without a plan",
        ("tasks", "training sd"),
        "Equal recipes; called at either look.",
        looked,
    ),
    Section(
        "Three claims about three recipes and one control",
        ("truth",),
        "Five seeds, 120 tasks, training sd 0.03.",
        several_claims,
    ),
    Section(
        "Seeds that both arms share",
        ("pairing declared", "correlation", "seeds", "true gain"),
        "120 tasks, training sd 0.05.",
        pairs,
    ),
    Section(
        "Several checkpoints of a run",
        ("seeds", "tasks", "sd between runs", "sd along a run", "true gain"),
        "Equal recipes, five checkpoints. `steps as runs`: each entered as a run of its own.",
        checkpoints,
    ),
    Section(
        "Equivalence",
        ("truth", "tasks", "base rate", "training sd", "margin"),
        "Five seeds.",
        equivalence,
    ),
    Section(
        "A true gain",
        ("tasks", "seeds", "training sd", "true gain"),
        "Power: the share of studies whose claim is supported.",
        true_gains,
    ),
)


def cells() -> Iterator[Cell]:
    """Yield all cells in the order of the page."""
    for section in SECTIONS:
        yield from section.cells(section.title)
