"""Ship, discuss or don't: a gain, and what must not get worse."""

from __future__ import annotations

from typing import Any

import pytest
from made_studies import analysed
from test_averages import Document, study

from audit.policy import Guardrail

SIZES = {"math": 200, "mmlu": 300}
GAIN = "gain accuracy dapo over grpo on math"
WITHIN = "no loss accuracy dapo over grpo within {} on mmlu"


@pytest.mark.parametrize(
    ("rates", "margin", "word"),
    [
        ({"math": (0.3, 0.5), "mmlu": (0.5, 0.5)}, 0.1, "ship"),
        ({"math": (0.3, 0.5), "mmlu": (0.5, 0.5)}, 0.005, "discuss"),
        ({"math": (0.3, 0.5), "mmlu": (0.6, 0.4)}, 0.05, "don't"),
        ({"math": (0.4, 0.4), "mmlu": (0.5, 0.5)}, 0.1, "discuss"),
        ({"math": (0.5, 0.3), "mmlu": (0.5, 0.5)}, 0.1, "don't"),
    ],
)
def test_a_change_ships_on_a_gain_that_its_guardrails_allow(
    rates: dict[str, tuple[float, float]], margin: float, word: str
) -> None:
    analysis = analysed(study(rates, SIZES), GAIN, WITHIN.format(margin))
    assert analysis.decision is not None
    assert analysis.decision.word == word
    assert (not analysis.decision.against) is (word == "ship")


def test_a_guardrail_stands_in_the_file_in_the_claim_or_in_the_policy() -> None:
    rates = {"math": (0.3, 0.5), "mmlu": (0.5, 0.5)}
    entry: Document = {"metric": "accuracy", "benchmark": "mmlu", "margin": 0.1}
    words = []
    in_file = study(rates, SIZES)
    in_file["decision"] = {"guardrails": [entry]}
    policy: dict[str, Any] = {"guardrails": (Guardrail("accuracy", 0.1, "mmlu"),)}
    for document, claims, terms in (
        (in_file, [GAIN], {}),
        (study(rates, SIZES), [GAIN, WITHIN.format(0.1)], {}),
        (study(rates, SIZES), [GAIN], policy),
    ):
        decision = analysed(document, *claims, **terms).decision
        assert decision is not None
        words.append((decision.word, len(decision.guardrails)))
    assert words == [("ship", 1)] * 3


def test_guardrails_do_not_enter_the_correction_of_the_claims() -> None:
    document = study({"math": (0.3, 0.5), "mmlu": (0.5, 0.5)}, SIZES)
    alone = analysed(document, GAIN).claims[0]
    guarded = analysed(document, GAIN, WITHIN.format(0.1), WITHIN.format(0.2)).claims[0]
    assert guarded.holm_p_value == alone.holm_p_value


def test_without_a_guardrail_there_is_no_decision() -> None:
    document = study({"math": (0.3, 0.5), "mmlu": (0.5, 0.5)}, SIZES)
    assert analysed(document, GAIN).decision is None
