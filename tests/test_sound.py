from __future__ import annotations

import copy
from typing import Any

import pytest

from audit.sound import sound_part


def study() -> dict[str, Any]:
    def run(seed: int) -> dict[str, Any]:
        return {
            "seed": seed,
            "method_metrics": {"accuracy": 0.5, "examples": 8},
            "training": [{"step": 1, "rewards": [0.0, 1.0]}],
        }

    return {
        "schema_version": 2,
        "method": "m",
        "seed_results": [run(1), run(2)],
        "controls": {"c": {"seed_results": [run(1), run(2)]}},
    }


def faulty(document: dict[str, Any]) -> list[str]:
    from audit.schema import schema_faults

    return [fault.pointer for fault in schema_faults(document)]


def test_a_document_that_keeps_the_contract_is_its_own_sound_part() -> None:
    document = study()
    assert sound_part(document, []) is document


@pytest.mark.parametrize(
    ("change", "gone"),
    [
        (lambda d: d["seed_results"][0]["method_metrics"].update(examples="8"), "examples"),
        (lambda d: d["seed_results"][0]["training"][0]["rewards"].append("1"), "rewards"),
    ],
)
def test_a_member_of_the_wrong_type_is_left_out(change: Any, gone: str) -> None:
    document = study()
    change(document)
    before = copy.deepcopy(document)
    sound = sound_part(document, faulty(document))
    assert sound is not None
    assert document == before, "the input is not changed"
    assert not faulty(sound)
    assert gone not in sound["seed_results"][0]["method_metrics"] or gone != "examples"
    assert gone not in sound["seed_results"][0]["training"][0] or gone != "rewards"
    assert sound["seed_results"][1] is document["seed_results"][1], "what is sound is shared"


def test_a_list_with_a_faulty_entry_goes_as_a_whole() -> None:
    document = study()
    document["controls"]["c"]["seed_results"][1] = 7
    sound = sound_part(document, faulty(document))
    assert sound is not None
    assert not faulty(sound)
    assert "seed_results" not in sound.get("controls", {}).get("c", {})
    assert len(sound["seed_results"]) == 2


@pytest.mark.parametrize("key", ["seed_results", "method"])
def test_nothing_is_sound_without_the_required_keys(key: str) -> None:
    document = study()
    document[key] = 3
    assert sound_part(document, faulty(document)) is None


@pytest.mark.parametrize("document", [[], None, 3, "x"])
def test_no_document_has_no_sound_part(document: Any) -> None:
    assert sound_part(document, [""]) is None
