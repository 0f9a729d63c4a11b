"""Which keys of a file some check reads."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from audit.coverage import coverage
from audit.report import verify
from audit.results import from_document

SAMPLES = sorted((Path(__file__).parent / "data" / "results").glob("*.json"))


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_every_key_of_a_sample_is_read_or_not(path: Path) -> None:
    document = json.loads(path.read_text(encoding="utf-8"))
    results = from_document(document)
    found = coverage(results)
    assert "/seed_results" in found.read
    assert not set(found.read) & set(found.unread)
    assert all(not pointer.startswith("/our_own") for pointer in (*found.read, *found.unread))
    before = verify(from_document(json.loads(path.read_text(encoding="utf-8"))))
    assert verify(results).found == before.found  # looking changes nothing


def test_of_a_block_that_nobody_reads_the_block_alone_is_named() -> None:
    run = {"seed": 1, "method_metrics": {"accuracy": 0.5}, "cost": {"usd": 1.0}}
    arm = {"seed_results": [{**run, "mine": [{"a": 1}, {"b": {"c": 2}}]}]}
    document = {"schema_version": 2, "method": "m", "seed_results": [run], "controls": {"c": arm}}
    unread = coverage(from_document(document)).unread
    assert "/controls/*/seed_results/*/mine" in unread
    assert "/controls/*/seed_results/*/cost/usd" in unread
    assert not any("/mine/" in pointer for pointer in unread)
