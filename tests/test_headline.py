"""The head of a page: the word, its figures, why and what next, for each kind of outcome."""

from __future__ import annotations

import copy
from typing import Any

import pytest

import audit
from audit.pages.deltas import heads
from audit.results import from_document
from audit.simulation import Cell, simulate
from audit.views.headline_view import Headline

GAIN = "gain accuracy recipe over control"
WRONG = "loss accuracy recipe over control"


def made(cell: Cell) -> dict[str, Any]:
    return simulate(cell, cell.generator()).document()


def copied(document: dict[str, Any]) -> dict[str, Any]:
    document = copy.deepcopy(document)
    document["seed_results"][1]["evaluation"] = document["seed_results"][0]["evaluation"]
    return document


BETTER = made(Cell("arms", 120, (5, 5), (0.0, 0.0), delta=0.2))
NULL = made(Cell("arms", 40, (3, 3), (0.03, 0.03)))
ALIKE = made(Cell("arms", 2000, (10, 10), (0.0, 0.0)))
ONE = made(Cell("arms", 120, (1, 1), (0.0, 0.0), delta=0.1))


def head(document: dict[str, Any], *claims: str) -> Headline:
    return heads(audit.analyse(from_document(document, "results.json"), claims=claims))[0]


@pytest.mark.parametrize(
    ("document", "claims", "kind", "text"),
    [
        (BETTER, [GAIN], "gain", "GAIN, supported"),
        (BETTER, [], "gain", "GAIN, not claimed"),
        (
            BETTER,
            ["loss accuracy recipe over control"],
            "refused",
            "REFUSED, the difference points the other way",
        ),
        (NULL, [GAIN], "flat", "flat: INCONCLUSIVE, claim refused"),
        (NULL, [], "flat", "flat: INCONCLUSIVE, not claimed"),
        (ALIKE, [], "flat", "flat: EQUIVALENT, within 0.03, not claimed"),
        (ALIKE, ["equivalent accuracy recipe to control"], "flat", "EQUIVALENT, supported"),
        (ONE, [GAIN], "refused", "REFUSED, one training seed"),
        (ONE, [], "open", "NO VERDICT, one training seed"),
        (copied(BETTER), [GAIN], "refused", "REFUSED, copied runs"),
        (BETTER, ["gain speed recipe over control"], "refused", None),
    ],
)
def test_the_word_comes_first(
    document: dict[str, Any], claims: list[str], kind: str, text: str | None
) -> None:
    found = head(document, *claims)
    assert found.kind == kind
    if text is not None:
        assert found.text == text


def test_a_gain_has_its_level_and_what_weakens_it() -> None:
    found = head(BETTER, GAIN)
    assert found.figures.startswith("accuracy +0.")
    assert ", 95% interval [0." in found.figures
    assert "5 v 5 runs (C), 120 tasks" in found.size
    assert {one.slug for one in found.weakened_by} >= {"launched-not-recorded"}
    assert (found.reason, found.next) == ("", ())


def test_what_one_seed_saw_is_called_seen_and_lacks_the_training() -> None:
    found = head(ONE, GAIN)
    assert found.figures.startswith("seen: accuracy +0.")
    assert found.figures.endswith("over tasks, without the variance between trainings")
    assert found.reason == "recipe has one training run"
    assert found.next[0].startswith("train at least 2 more seeds per arm")


def test_copied_runs_are_named_with_the_act_that_mends_them() -> None:
    found = head(copied(BETTER), GAIN)
    assert "recipe" in found.reason
    assert found.next


def test_refused_claims_stand_before_supported_ones() -> None:
    results = from_document(BETTER, "results.json")
    analysis = audit.analyse(results, claims=[GAIN, WRONG])
    assert [one.kind for one in heads(analysis)] == ["refused", "gain"]
