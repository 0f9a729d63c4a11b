"""How many true gains are still supported: each study judged now and by an older version.

    git worktree add ../old REVISION     # PYTHON: of an environment with it installed
    python benchmarks/power_kept.py --before PYTHON --write benchmarks/power_kept.md

One process, about two minutes of CPU. What is in the state file is not run again. Exit status 1
where an honest design loses more than 0.01 beyond the chance of these studies.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from calibration_cells import UNEVEN
from judged import Document, elsewhere, judge
from study_kinds import (
    Counts,
    Random,
    Recipe,
    answered,
    arm_chances,
    gain,
    labelled,
    runs,
    scores_document,
    study,
)

from audit.stats import wilson

STUDIES = {1319: 60}
MOST_STUDIES = 200
MOST_LOST = 0.01


@dataclass(frozen=True)
class Design:
    """Studies with a true gain.

    ``honest`` are those that should lose nothing: sampled answers with seeds of their own, at most
    1% of the answers errored, runs that somebody says are trainings. Of the others ``why`` says
    what they pay for.
    """

    name: str
    recipe: Recipe
    make: Callable[[Recipe, Random], Document]
    why: str = ""

    @property
    def honest(self) -> bool:
        """Whether it should lose nothing."""
        return not self.why

    @property
    def studies(self) -> int:
        """Fewer of those that take long."""
        return STUDIES.get(self.recipe.tasks, MOST_STUDIES)


@dataclass
class Kept:
    """What became of a design's studies: supported now, before, only before, only now."""

    studies: int = 0
    now: int = 0
    before: int = 0
    lost: int = 0
    won: int = 0
    reasons: dict[str, int] = field(default_factory=dict)
    seconds: float = 0.0


def _plain(recipe: Recipe, random: Random, **lists: Any) -> Document:
    control, treatment = answered(recipe, random)
    k = recipe.samples
    return study(runs(control, k, **lists), runs(treatment, k, **lists))


def _named(recipe: Recipe, random: Random) -> Document:
    sizes = [10] * (recipe.tasks // 10)
    names = [f"{text}/q{place}" for place, text in enumerate(labelled(sizes))]
    return _plain(recipe, random, task_ids=names)


def _clusters(recipe: Recipe, random: Random) -> Document:
    return _plain(recipe, random, clusters=labelled(recipe.clusters or [10] * 12))


def _errored(shares: tuple[float, float], recipe: Recipe, random: Random) -> Document:
    sides = []
    for right, share in zip(answered(recipe, random), shares, strict=True):
        hit, missed = random.binomial(right, share), random.binomial(4 - right, share)
        sides.append(runs(right - hit, 4, errored=hit + missed))
    return study(sides[0], sides[1])


def _parsed(shares: tuple[float, float], recipe: Recipe, random: Random) -> Document:
    sides = []
    for right, share in zip(answered(recipe, random), shares, strict=True):
        kept = random.binomial(right, share)
        sides.append(runs(kept, 4, unparsed=4 - kept - random.binomial(4 - right, share)))
    return study(sides[0], sides[1])


def _imported(recipe: Recipe, random: Random) -> Document:
    return {**_plain(recipe, random), "provenance": {"imported": {"tool": "table"}}}


def _one_stream(recipe: Recipe, random: Random) -> Document:
    """Evaluate all runs with one sampling seed, so that answers are fully coupled."""
    stream = random.random((recipe.samples, recipe.tasks))
    sides: list[Counts] = [
        (stream[None] < chances[:, None]).sum(axis=1) for chances in arm_chances(recipe, random)
    ]
    return study(runs(sides[0], recipe.samples), runs(sides[1], recipe.samples))


def _greedy(said: bool, recipe: Recipe, random: Random) -> Document:
    condition = {"temperature": 0} if said else {}
    control, treatment = answered(recipe, random)
    return study(runs(control, 1, condition=condition), runs(treatment, 1, condition=condition))


def _barely_moved(recipe: Recipe, random: Random) -> Document:
    """Greedy answers of runs that training has hardly told apart."""
    control, treatment = arm_chances(recipe, random)
    sides = [
        (part[:1] + random.normal(0, 0.01, part.shape) > 0.5).astype(np.int64)
        for part in (control, treatment)
    ]
    condition = {"temperature": 0}
    return study(runs(sides[0], 1, condition=condition), runs(sides[1], 1, condition=condition))


def _scores(known: bool, recipe: Recipe, random: Random) -> Document:
    arms = [random.binomial(1, part).mean(axis=1) for part in arm_chances(recipe, random)]
    return scores_document(arms, "accuracy", 4, recipe.tasks if known else None)


def _over_base(recipe: Recipe, random: Random) -> Document:
    control, treatment = answered(recipe, random)
    document = study([], runs(treatment, 4), gain(against="base"))
    del document["controls"]
    again = random.binomial(4, np.repeat(control[:1] / 4, 3, axis=0))
    document["base_evaluations"] = [
        {"run": place, "evaluation": run["evaluation"]} for place, run in enumerate(runs(again, 4))
    ]
    return document


def _recipe(seeds: int = 5, sd: float = 0.03, delta: float = 0.1, **more: Any) -> Recipe:
    return Recipe(seeds=(seeds, seeds), sd=(sd, sd), delta=delta, **more)


DESIGNS = (
    Design("3 seeds, gain 0.10", _recipe(3), _plain),
    Design("5 seeds, gain 0.10", _recipe(5), _plain),
    Design("5 seeds, gain 0.05", _recipe(5, delta=0.05), _plain),
    Design("5 seeds, sd 0.05, gain 0.10", _recipe(5, 0.05), _plain),
    Design("10 seeds, gain 0.05", _recipe(10, delta=0.05), _plain),
    Design("5 seeds, sd 0, gain 0.05", _recipe(5, 0.0, 0.05), _plain),
    Design("5 seeds, 30 tasks, gain 0.10", _recipe(tasks=30), _plain),
    Design("5 seeds, 1,319 tasks, gain 0.05", _recipe(delta=0.05, tasks=1319), _plain),
    Design("5 seeds, base rate 0.8, gain 0.10", _recipe(rate=0.8), _plain),
    Design("5 seeds, 1 answer per task, gain 0.10", _recipe(samples=1), _plain),
    Design("5 seeds, 16 answers per task, gain 0.10", _recipe(samples=16), _plain),
    Design("3 v 6 seeds, gain 0.10", Recipe(seeds=(3, 6), delta=0.1), _plain),
    Design("5 seeds, ids with 12 stems, no cluster effect", _recipe(), _named),
    Design("5 seeds, 1% errored in both", _recipe(), partial(_errored, (0.01, 0.01))),
    Design("5 seeds, 0.5% and 1% errored", _recipe(), partial(_errored, (0.005, 0.01))),
    Design("5 seeds, parsed 0.95 in both", _recipe(), partial(_parsed, (0.95, 0.95))),
    Design(
        "5 seeds, 2% errored in both",
        _recipe(),
        partial(_errored, (0.02, 0.02)),
        "errors may decide",
    ),
    Design(
        "5 seeds, 4% errored in both",
        _recipe(),
        partial(_errored, (0.04, 0.04)),
        "errors may decide",
    ),
    Design(
        "3 seeds, parsed 0.85 and 0.95",
        _recipe(3),
        partial(_parsed, (0.85, 0.95)),
        "a gain that may be format alone",
    ),
    Design(
        "5 seeds, 12 clusters of 10 declared, shared effect",
        _recipe(rate=0.5, effect_sd=0.5, clusters=(10,) * 12),
        _clusters,
        "12 texts, not 120 tasks",
    ),
    Design(
        "5 seeds, ids with 12 stems, shared effect",
        _recipe(rate=0.5, effect_sd=0.5, clusters=(10,) * 12),
        _named,
        "12 texts, not 120 tasks",
    ),
    Design(
        "5 seeds, clusters of 20 down to 1 declared, shared effect",
        _recipe(rate=0.5, effect_sd=0.5, clusters=UNEVEN),
        _clusters,
        "clusters of very different size",
    ),
    Design(
        "5 seeds, greedy and said so, gain 0.10",
        _recipe(samples=1),
        partial(_greedy, True),
        "runs that hardly differ cannot be told from copies",
    ),
    Design(
        "5 seeds, greedy, runs that barely move, 500 tasks",
        _recipe(tasks=500, samples=1),
        _barely_moved,
        "runs that hardly differ cannot be told from copies; hashes and logs tell them apart",
    ),
    Design(
        "5 seeds, 1 answer per task, decoding not said, gain 0.10",
        _recipe(samples=1),
        partial(_greedy, False),
        "counts as greedy",
    ),
    Design(
        "5 seeds, one sampling seed for all runs",
        _recipe(),
        _one_stream,
        "draws that agree look like copies; evaluate each run with a seed of its own",
    ),
    Design(
        "5 seeds, from a table with a bare seed column",
        _recipe(),
        _imported,
        "nobody says that they are trainings; one word settles it",
    ),
    Design(
        "5 seeds, one score of 1,319 answers per run, known",
        _recipe(tasks=1319, samples=1),
        partial(_scores, True),
        "another rule: floor from recorded answers",
    ),
    Design(
        "5 seeds, one score of 1,319 answers per run, not known",
        _recipe(tasks=1319, samples=1),
        partial(_scores, False),
        "another rule: no number of answers is guessed",
    ),
    Design(
        "5 seeds, over the untrained model, gain 0.10",
        _recipe(),
        _over_base,
        "refused by default: compare with a trained control",
    ),
)


def measure(state: Path, python: Path) -> dict[str, Kept]:
    """Run what the state file lacks; return all by the name of the design."""
    done = recorded(state)
    state.parent.mkdir(parents=True, exist_ok=True)
    with elsewhere(python) as older, state.open("a", encoding="utf-8") as log:
        print(f"before: {older.package}", file=sys.stderr)
        for design in DESIGNS:
            if design.name in done:
                continue
            start, kept, reasons = time.process_time(), Kept(), Counter[str]()
            random = np.random.default_rng(zlib.crc32(design.name.encode()))
            for _ in range(design.studies):
                document = design.make(design.recipe, random)
                now, before = judge(document), older.judge(document)
                kept.studies += 1
                kept.now += now.supported
                kept.before += before.supported
                kept.lost += before.supported and not now.supported
                kept.won += now.supported and not before.supported
                if before.supported and not now.supported:
                    reasons[now.slug] += 1
            kept.reasons = dict(reasons.most_common())
            kept.seconds = round(time.process_time() - start, 2)
            done[design.name] = kept
            log.write(json.dumps({"design": design.name, "kept": asdict(kept)}) + "\n")
            log.flush()
            print(f"{design.name}  {kept.seconds} s", file=sys.stderr)
    return done


def recorded(state: Path) -> dict[str, Kept]:
    """Return what an earlier run found."""
    if not state.exists():
        return {}
    lines = map(json.loads, state.read_text(encoding="utf-8").splitlines())
    return {line["design"]: Kept(**line["kept"]) for line in lines}


def page(done: Mapping[str, Kept], revision: str) -> str:
    """Return the page."""
    lines = [
        "# Power, now and before",
        "",
        "The share of studies with a true gain whose claim is supported, of the same documents "
        "now and at",
        f"revision {revision}. *Lost* were supported before alone, *won* now alone. 120 tasks, 4 "
        "answers per task,",
        "training sd 0.03, base rate 0.34, gain 0.10 unless a row says otherwise; evidence C.",
        "",
        f"Python {platform.python_version()}, numpy {np.__version__}. Made by "
        "`benchmarks/power_kept.py`.",
        "",
        "## Honest designs",
        "",
        *_table(done, honest=True),
        "",
        "## Others, and what the loss pays for",
        "",
        *_table(done, honest=False),
    ]
    return "\n".join(lines) + "\n"


def _table(done: Mapping[str, Kept], *, honest: bool) -> Iterator[str]:
    header = ["design", "studies", "now", "before", "lost", "won", "lost as"]
    if not honest:
        header.append("why")
    yield f"| {' | '.join(header)} |"
    yield "|" + "---|" * len(header)
    for design in DESIGNS:
        kept = done.get(design.name)
        if kept is None or design.honest != honest:
            continue
        found = wilson(kept.now, kept.studies)
        row = [design.name, str(kept.studies)]
        row.append(f"{found.rate:.3f} [{found.low:.3f}, {found.high:.3f}]")
        row.append(f"{kept.before / kept.studies:.3f}")
        row += [str(kept.lost), str(kept.won), ", ".join(kept.reasons)]
        yield f"| {' | '.join(row if honest else [*row, design.why])} |"


def loses_too_much(kept: Kept) -> bool:
    """Whether more was lost, less what was won, than 0.01 beyond the chance of these studies."""
    return wilson(max(kept.lost - kept.won, 0), kept.studies).low > MOST_LOST


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--state", type=Path, default=Path("build/power_kept.jsonl"))
    parser.add_argument("--before", type=Path, required=True, help="python of an older version")
    parser.add_argument("--revision", default="80d2e5b", help="what the older version is called")
    parser.add_argument("--write", type=Path)
    options = parser.parse_args()
    done = measure(options.state, options.before)
    text = page(done, options.revision)
    if options.write:
        options.write.write_text(text, encoding="utf-8")
    else:
        print(text)
    wrong = [d.name for d in DESIGNS if d.honest and loses_too_much(done[d.name])]
    for name in wrong:
        print(f"loses more than {MOST_LOST:g}: {name}", file=sys.stderr)
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
