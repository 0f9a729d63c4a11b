"""Columns of long logs are looked over at once: what is found must not depend on it."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import audit
from audit.facts import training_logs
from audit.results import from_document

NUMBERS = ("lower_mean", "upper_mean", "clip_fraction", "max_abs_log_ratio")


def steps(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield every logged step."""
    for arm in (document, *document.get("controls", {}).values()):
        for run in arm["seed_results"]:
            yield from run.get("training", ())


def audits(document: dict[str, Any]) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Yield every response audit with its update."""
    for step in steps(document):
        for update in step.get("updates", ()):
            for one in update.get("response_audits", ()):
                yield update, one


def tampered(document: dict[str, Any], seed: int) -> dict[str, Any]:
    """Return the document with a few numbers of its log changed, left out or made whole."""
    changed = copy.deepcopy(document)
    rng = random.Random(seed)
    places = list(audits(changed))
    for _ in range(6):
        update, one = rng.choice(places)
        name = rng.choice([name for name in NUMBERS if name in one])
        one[name] = rng.choice([one[name] + 0.1234567, 2.5, 0.3, 1, 0, 1e39])
        update[rng.choice(["loss", "gradient_l2_norm"])] = rng.choice([0.28, 3, 1e-9, 2.0**-9, 0])
    if seed == 6:
        for step in steps(changed):
            step["advantages"] = [0.0, *step["advantages"][1:]]
    if seed == 7:
        rng.choice(list(steps(changed))).pop("advantages")
    if seed % 3 == 0:
        rng.choice(places)[1].pop(rng.choice(NUMBERS), None)
    if seed % 3 == 1:
        rng.choice(places)[0].pop("loss", None)
    if seed % 3 == 2:
        rng.choice(places)[0]["response_audits"] = []
    return changed


def said(document: dict[str, Any]) -> list[Any]:
    report = audit.verify(from_document(document))
    assert report.exit_status != 3
    return [report.found, report.not_checked, report.rules]


@pytest.mark.parametrize("name", ["tests/data/results/full", "reports/gppo-framework/results"])
def test_a_column_looked_over_at_once_says_what_its_values_say_one_by_one(
    name: str, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = json.loads((root / f"{name}.json").read_text("utf-8"))
    assert sum(1 for _ in audits(document)) > 50
    failing = 0
    for seed in range(9):
        changed = tampered(document, seed) if seed else document
        monkeypatch.setattr(training_logs, "_MANY", 10**9)
        one_by_one = said(changed)
        monkeypatch.setattr(training_logs, "_MANY", 0)
        assert said(changed) == one_by_one
        failing += any(result.failed for result in one_by_one[2])
    assert failing >= 8
