"""How surely the estimator of a training log is named from one step, and a fallback is found.

Logs are simulated: rewards of 16 groups a step, advantages in float32 by each estimator as trainers
compute it, logged with four decimals. A name is right when it is the estimator that was simulated,
alone or beside those that give the same logged values on the same rewards. Then, in a run of 20
steps, the trainer falls back to another estimator from some step on: found at once means that
``audit verify`` names exactly that step. Run::

    python benchmarks/estimators.py [--logs N] [--write benchmarks/estimators.md]
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np

from audit.report import verify
from audit.results import from_document
from audit.stats import matching_estimators

GROUPS, DECIMALS = 16, 4
SIZES = (4, 8, 16)
KINDS = ("binary", "graded", "continuous")
STEPS, SWITCH = 20, 13

Batch = np.ndarray[Any, Any]
Formula = Callable[[Batch, np.random.Generator], Batch]


def rewards(kind: str, size: int, state: np.random.Generator) -> Batch:
    """Draw the rewards of one step, shape (groups, size); tasks differ in difficulty."""
    right = state.beta(1.5, 1.5, (GROUPS, 1))
    if kind == "binary":
        return (state.random((GROUPS, size)) < right).astype(float)
    if kind == "graded":
        return state.binomial(4, right, (GROUPS, size)) / 4
    return np.round(state.normal(right, 0.2, (GROUPS, size)), DECIMALS)


def filtered(kind: str, size: int, state: np.random.Generator) -> Batch:
    """Draw groups until all have variance, as DAPO's dynamic sampling does."""
    kept: list[Batch] = []
    while len(kept) < GROUPS:
        kept += [group for group in rewards(kind, size, state) if len(set(group)) > 1]
    return np.array(kept[:GROUPS])


def _mean(r: Batch) -> Batch:
    found: Batch = r.mean(axis=1, keepdims=True)
    return found


def _whitened(x: Batch, weights: Batch, epsilon: float = 1e-8) -> Batch:
    """Whiten values by the numbers of tokens that carry them, as a masked mean over tokens does."""
    centre = (x * weights).sum() / weights.sum()
    variance = ((x - centre) ** 2 * weights).sum() / (weights.sum() - 1)
    return np.asarray((x - centre) / np.sqrt(variance + epsilon))


def _lengths(r: Batch, state: np.random.Generator) -> Batch:
    return np.asarray(state.integers(20, 400, r.shape), dtype=np.float32)


# Label, name of the estimator, formula in the order and precision of the trainers.
FORMULAS: tuple[tuple[str, str, Formula], ...] = (
    (
        "GRPO, ddof 1, epsilon 1e-4",
        "grpo",
        lambda r, _: (r - _mean(r)) / (r.std(axis=1, ddof=1, keepdims=True) + 1e-4),
    ),
    (
        "GRPO, population, epsilon 1e-8",
        "grpo",
        lambda r, _: (r - _mean(r)) / (r.std(axis=1, keepdims=True) + 1e-8),
    ),
    (
        "DAPO (groups with variance)",
        "dapo",
        lambda r, _: (r - _mean(r)) / (r.std(axis=1, ddof=1, keepdims=True) + 1e-6),
    ),
    ("Dr. GRPO", "dr_grpo", lambda r, _: r - _mean(r)),
    (
        "RLOO",
        "rloo",
        lambda r, _: r - (r.sum(axis=1, keepdims=True) - r) / (r.shape[1] - 1),
    ),
    (
        "GRPO scaled over the batch",
        "grpo_batch",
        lambda r, _: (r - _mean(r)) / (r.std(ddof=1) + 1e-4),
    ),
    (
        "REINFORCE++ baseline, by responses",
        "reinforce_plus_plus_baseline",
        lambda r, _: _whitened(r - _mean(r), np.ones_like(r)),
    ),
    (
        "REINFORCE++ baseline, by tokens",
        "reinforce_plus_plus_baseline",
        lambda r, state: _whitened(r - _mean(r), _lengths(r, state)),
    ),
    (
        "REINFORCE++, by responses",
        "reinforce_plus_plus",
        lambda r, _: _whitened(r, np.ones_like(r)),
    ),
    (
        "REINFORCE++, by tokens",
        "reinforce_plus_plus",
        lambda r, state: _whitened(r, _lengths(r, state)),
    ),
    ("rewards as they are", "rewards", lambda r, _: r),
)


def logged(formula: Formula, r: Batch, state: np.random.Generator) -> Batch:
    """Return the advantages as a log prints them."""
    return np.round(formula(r.astype(np.float32), state).astype(float), DECIMALS)


def drawn(name: str, kind: str, size: int, state: np.random.Generator) -> Batch:
    """Draw a step's rewards as the estimator's sampling does."""
    return (filtered if name == "dapo" else rewards)(kind, size, state)


def same_values(name: str, other: str, r: Batch, a: Batch, state: np.random.Generator) -> bool:
    """Whether another estimator prints the same advantages for these rewards.

    DAPO's are GRPO's, of groups with variance alone.
    """
    if other == "dapo" and (r == r[:, :1]).all(axis=1).any():
        return False
    if {name, other} == {"grpo", "dapo"}:
        return True
    unit = 1.5 * 10.0**-DECIMALS
    return any(
        bool((np.abs(logged(formula, r, state) - a) <= unit).all())
        for _, name, formula in FORMULAS
        if name == other
    )


def named_rightly(label: str, kind: str, size: int, logs: int, seed: int) -> tuple[int, int]:
    """Return in how many of ``logs`` steps the name is right, and in how many it stands alone.

    GRPO and DAPO, one formula, count as alone.
    """
    _, name, formula = next(row for row in FORMULAS if row[0] == label)
    state = np.random.default_rng([seed, size, KINDS.index(kind)])
    right = alone = 0
    for _ in range(logs):
        r = drawn(name, kind, size, state)
        a = logged(formula, r, state)
        names = matching_estimators(r, a).names
        fits = name in names and all(same_values(name, n, r, a, state) for n in names - {name})
        right += fits
        alone += fits and names <= {name, "grpo", "dapo"}
    return right, alone


def study(
    before: Formula,
    after: Formula,
    kind: str,
    size: int,
    state: np.random.Generator,
    estimator: str,
) -> dict[str, Any]:
    """Return a study of two runs, the second of which switches its formula at step 13."""
    runs = []
    for seed in (1, 2):
        training = []
        for step in range(1, STEPS + 1):
            r = rewards(kind, size, state)
            formula = after if seed == 2 and step >= SWITCH else before
            a = logged(formula, r, state)
            training.append(
                {"step": step, "rewards": r.ravel().tolist(), "advantages": a.ravel().tolist()}
            )
        telemetry = {
            "level": "sparse",
            "groups_per_step": GROUPS,
            "responses_per_group": size,
            "zero_groups": "kept",
            "advantage": {"estimator": estimator},
        }
        runs.append(
            {
                "seed": seed,
                "method_metrics": {"accuracy": 0.5},
                "telemetry": telemetry,
                "training": training,
            }
        )
    return {"schema_version": 2, "method": "new", "seed_results": runs}


def found_at(document: dict[str, Any], rule: str) -> list[int]:
    """Return the steps of the second run at which a rule speaks."""
    report = verify(from_document(document))
    marks = [f.pointer.split("/") for f in report.found if f.rule == rule and f.severity > 0]
    return [int(parts[4]) + 1 for parts in marks if parts[2] == "1"]


def switches() -> Iterator[tuple[str, str]]:
    """Yield the labels of formulas of two estimators, in both orders; DAPO is GRPO here."""
    labels = {name: label for label, name, _ in reversed(FORMULAS) if name != "dapo"}
    yield from permutations(labels.values(), 2)


def fallback_found(before: str, after: str, kind: str, size: int, seed: int) -> tuple[bool, bool]:
    """Return whether a switch is found at its step, where the estimator is declared and is not."""
    by_label = {label: (name, formula) for label, name, formula in FORMULAS}
    (name, first), (_, second) = by_label[before], by_label[after]
    found = []
    for estimator, rule in ((name, "ADV005"), ("unknown", "ADV006")):
        state = np.random.default_rng([seed, size, KINDS.index(kind)])
        found.append(found_at(study(first, second, kind, size, state, estimator), rule) == [SWITCH])
    return found[0], found[1]


def page(logs: int) -> str:
    """Return the tables as Markdown."""
    lines = [
        "# Naming the estimator of a training log",
        "",
        "Command: `python benchmarks/estimators.py`.",
        "",
        f"One step of {GROUPS} groups, advantages logged with {DECIMALS} decimals; {logs} simulated"
        " logs a cell. Right: the estimator that was simulated is named, alone or beside those that"
        " give the same logged values. In brackets how many name no other estimator; GRPO and DAPO,"
        " one formula, count as one.",
        "",
        "| estimator | rewards | " + " | ".join(f"{size} a group" for size in SIZES) + " |",
        "|---|---|" + "---|" * len(SIZES),
    ]
    total = hits = 0
    for label, _, _ in FORMULAS:
        for kind in KINDS:
            cells = []
            for size in SIZES:
                right, alone = named_rightly(label, kind, size, logs, 0)
                total, hits = total + logs, hits + right
                cells.append(f"{right / logs:.1%} ({alone / logs:.1%})")
            lines.append(f"| {label} | {kind} | {' | '.join(cells)} |")
    lines += ["", f"In all {hits:,} of {total:,} logs are named rightly ({hits / total:.2%}).", ""]
    cases = [
        fallback_found(before, after, kind, size, 1)
        for before, after in switches()
        for kind in KINDS
        for size in SIZES
    ]
    told, untold = (sum(found[place] for found in cases) for place in (0, 1))
    lines += [
        "## A fallback from some step on",
        "",
        f"Two runs of {STEPS} steps; the second switches to another estimator at step {SWITCH}. All"
        f" ordered pairs of estimators, kinds of rewards and group sizes: {len(cases)} studies.",
        "",
        "| the log | rule | found, at exactly that step |",
        "|---|---|---|",
        f"| declares the estimator | ADV005 | {told} of {len(cases)} |",
        f"| declares nothing | ADV006 | {untold} of {len(cases)} |",
        "",
    ]
    return "\n".join(lines)


def main() -> None:
    """Measure and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--logs", type=int, default=200, help="simulated logs a cell")
    parser.add_argument("--write", type=Path, help="Markdown file; standard output else")
    given = parser.parse_args()
    text = page(given.logs)
    if given.output:
        given.output.write_text(text, encoding="utf-8")
    else:
        print(text)


if __name__ == "__main__":
    main()
