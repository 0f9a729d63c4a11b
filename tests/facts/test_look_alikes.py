"""Arms whose names look the same."""

from __future__ import annotations

import json

import pytest

import audit
from audit.analysis import analyse
from audit.facts.look_alikes import look_alikes
from audit.results import Results, from_document
from audit.simulation import Cell, simulate

ALIKE = {
    "case": ("grpo", "GRPO"),
    "blanks": ("grpo", " grpo "),
    "a wide blank": ("my grpo", "my\u2003grpo"),
    "full width": ("grpo", "\uff47rpo"),
    "a ligature": ("fine", "\ufb01ne"),
    "a zero-width space": ("grpo", "gr\u200bpo"),
    "a Cyrillic letter": ("grpo", "grp\u043e"),
    "a Greek capital": ("Base", "\u0392ase"),
    "zero for o": ("grpo", "grp0"),
    "capital I for l": ("gail", "gaiI"),
    "one for l": ("gail", "gai1"),
    "a dash": ("adaptive-clip", "adaptive\u2013clip"),
    "composed and decomposed": ("caf\u00e9", "cafe\u0301"),
}
APART = [
    ("grpo", "dapo"),
    ("lr-1", "lr-2"),
    ("adaptive-clip", "adaptive_clip"),
    ("seed-3", "seed-e"),
    ("\u03b2", "\u00df"),
    ("caf\u00e9", "cafe"),
]


def study(first: str, second: str) -> Results:
    cell = Cell("arms", 40, (3, 3), (0.02, 0.02), delta=0.3)
    document = simulate(cell, cell.generator()).document()
    text = json.dumps(document, ensure_ascii=False)
    text = text.replace('"recipe"', json.dumps(first)).replace('"control"', '"control"')
    document = json.loads(text)
    document["controls"] = {second: document["controls"]["control"]}
    return from_document(document)


@pytest.mark.parametrize("how", ALIKE)
def test_names_that_look_the_same_refuse_every_claim(how: str) -> None:
    results = study(*ALIKE[how])
    (pair,) = look_alikes(results)
    assert "U+" in pair.text
    (claim,) = analyse(results, claims=["gain accuracy method over control"]).claims
    assert claim.slug == "look-alike-names"
    assert pair.text in claim.reason
    found = [f for f in audit.verify(results).findings if f.slug == "look-alike-names"]
    assert len(found) == 1


def test_the_code_points_in_which_they_differ_are_named() -> None:
    (pair,) = look_alikes(study("grpo", "grp\u043e"))
    assert pair.text.endswith("(U+006F LATIN SMALL LETTER O and U+043E CYRILLIC SMALL LETTER O)")


@pytest.mark.parametrize(("first", "second"), APART)
def test_names_that_a_reader_tells_apart_are_left_alone(first: str, second: str) -> None:
    results = study(first, second)
    assert look_alikes(results) == ()
    (claim,) = analyse(results, claims=["gain accuracy method over control"]).claims
    assert claim.slug != "look-alike-names"
