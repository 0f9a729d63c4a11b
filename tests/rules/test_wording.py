"""What printed verdicts say, and when that contradicts the interval printed with them."""

from __future__ import annotations

import pytest

from audit.rules.wording import contradiction, meanings, says_moved

BELOW, HOLDS, ABOVE = (-0.15, -0.05), (-0.01, 0.05), (0.05, 0.15)


@pytest.mark.parametrize(
    "verdict",
    [
        "flat",
        "flat (wrong way)",
        "FLAT",
        "inconclusive",
        "neutral",
        "a wash",
        "n.s.",
        "insignificant",
        "no change detected",
        "no significant change",
        "no measurable effect",
        "not significant",
        "not statistically significant",
        "statistically indistinguishable",
    ],
)
def test_an_interval_beside_zero_is_not_flat(verdict: str) -> None:
    assert meanings(verdict) == {"flat"}
    for low, high in (BELOW, ABOVE):
        assert "not flat" in (contradiction(verdict, low, high) or "")
    assert contradiction(verdict, *HOLDS) is None
    assert not says_moved(verdict)


@pytest.mark.parametrize(
    "verdict", ["loss", "worse than control", "a regression", "control better", "baseline wins"]
)
def test_a_loss_is_an_interval_below_zero(verdict: str) -> None:
    assert contradiction(verdict, *BELOW) is None
    assert contradiction(verdict, *HOLDS) == "the interval includes zero"
    assert contradiction(verdict, *ABOVE) == "the interval lies wholly above zero"
    assert says_moved(verdict)


@pytest.mark.parametrize("verdict", ["gain", "significant gain", "improved", "beats it", "gains"])
def test_a_gain_is_an_interval_above_zero(verdict: str) -> None:
    assert contradiction(verdict, *ABOVE) is None
    assert contradiction(verdict, *HOLDS) == "the interval includes zero"
    assert contradiction(verdict, *BELOW) == "the interval lies wholly below zero"


@pytest.mark.parametrize("verdict", ["moved", "statistically significant", "real"])
def test_moved_is_an_interval_beside_zero(verdict: str) -> None:
    assert [contradiction(verdict, *ends) for ends in (BELOW, HOLDS, ABOVE)] == [
        None,
        "the interval includes zero",
        None,
    ]


@pytest.mark.parametrize(
    ("verdict", "wrong"),
    [
        ("no improvement", ABOVE),
        ("not a gain", ABOVE),
        ("does not beat the control", ABOVE),
        ("no regression", BELOW),
    ],
)
def test_what_is_denied_is_not_claimed(verdict: str, wrong: tuple[float, float]) -> None:
    assert not says_moved(verdict)
    for ends in (BELOW, HOLDS, ABOVE):
        assert (contradiction(verdict, *ends) is not None) == (ends == wrong)


@pytest.mark.parametrize("verdict", ["", "unclear", "see text", "supported", "upstream"])
def test_other_words_say_nothing(verdict: str) -> None:
    assert meanings(verdict) == frozenset()
