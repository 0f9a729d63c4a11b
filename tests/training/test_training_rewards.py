from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.training.decontaminate import decontaminate
from audit.training.rewards import ScoreReward, exact_match, final_number, math_equal
from audit.training.surface import SurfaceScan, pearson


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("#### 72", 72),
        ("#### 1,234", 1234),
        ("1,234,567", 1234567),
        ("The answer is $10.", 10),
        ("so 3/4 of it", Fraction(3, 4)),
        ("about 1 1/2 cups", Fraction(3, 2)),
        ("-5", -5),
        ("5-3", 3),
        ("x = -0.50", Fraction(-1, 2)),
        ("\u2212 7 degrees", -7),
        (".5 km", Fraction(1, 2)),
        ("10%", 10),
        (r"\boxed{\frac{3}{8}}", Fraction(3, 8)),
        (r"first \boxed{1} then \boxed{2,000} and 5", 2000),
        (r"\boxed{1{,}000}", 1000),
        ("12 apples and 13 pears", 13),
        ("#### 5 apples\nno more", 5),
        ("-$3.50", Fraction(-7, 2)),
        ("$-3", -3),
        ("1,23", 23),
        ("no number", None),
        ("", None),
        ("7/0", None),
        ("1" * 5000, None),
        ("7/" + "1" * 5000, None),
        ("3." + "1" * 5000, None),
        ("1" * 5000 + " or rather 3", 3),
    ],
)
def test_the_final_number_is_read_as_people_write_it(text: str, value: Fraction | None) -> None:
    assert final_number(text) == value


@given(st.integers(-(10**12), 10**12))
def test_thousands_separators_change_no_integer(number: int) -> None:
    assert final_number(f"{number:,}") == number == final_number(f"it is {number:,}.")


@given(st.fractions(min_value=-1000, max_value=1000, max_denominator=999))
def test_a_fraction_equals_itself_unreduced(value: Fraction) -> None:
    written = f"{3 * value.numerator}/{3 * value.denominator}"
    assert math_equal(written, f"{value.numerator}/{value.denominator}").correct


@given(st.decimals(-10000, 10000, places=3))
def test_a_decimal_is_exact(value: object) -> None:
    assert final_number(f"#### {value}") == Fraction(str(value))


def test_a_half_is_a_half_however_written() -> None:
    for text in ("0.5", "1/2", "2/4", ".50", r"\frac{1}{2}", "$0.50"):
        assert math_equal(text, "#### 0.5").correct


def test_a_response_without_a_number_is_wrong_and_unparsed() -> None:
    score = math_equal("I do not know", "#### 3")
    assert (score.correct, score.parsed) == (False, False)


def test_a_gold_answer_without_a_number_is_an_error() -> None:
    with pytest.raises(ValueError, match="no number"):
        math_equal("3", "three")


def test_exact_match_ignores_only_surrounding_space() -> None:
    assert exact_match(" 07 ", "07").correct
    assert not exact_match("7", "07").correct
    assert not exact_match("", "07").parsed


def test_the_reward_function_reads_text_and_chat_alike() -> None:
    reward = ScoreReward(math_equal)
    completions = ["#### 4", [{"role": "assistant", "content": "It is 5."}]]
    assert reward(completions=completions, answer=["4", "4"], prompts=None) == [1.0, 0.0]


def test_a_shared_ngram_drops_the_training_row() -> None:
    holdout = ["Natalia sold clips to 48 of her friends in April, and then half as many."]
    train = [
        "Yesterday NATALIA sold clips to 48 of her friends in April for fun",
        "Weng earns 12 dollars an hour for babysitting and worked fifty minutes",
        "short one",
    ]
    found = decontaminate(train, holdout, ngram=8)
    assert found.dropped == (0,)
    assert found.kept == (1, 2)


def test_a_short_prompt_is_dropped_only_where_it_is_identical() -> None:
    found = decontaminate(["07+45=", "07+46="], ["07+45=", "45+07="], ngram=8)
    assert found.dropped == (0,)


def scanned(batches: Sequence[tuple[Sequence[str], Sequence[float]]]) -> SurfaceScan:
    scan = SurfaceScan()
    for texts, rewards in batches:
        scan.add(texts, rewards)
    return scan


def test_the_scan_finds_the_feature_that_wins_the_reward() -> None:
    scan = scanned([(["yes indeed"] * 10, [1.0] * 10), (["no indeed not so"] * 10, [0.0] * 10)])
    assert abs(scan.correlations()[0].r) == pytest.approx(1)
    block = scan.block(top=3)
    assert block["responses"] == 20
    assert len(block["features"]) == 3


def test_a_constant_reward_correlates_with_nothing() -> None:
    assert scanned([(["a", "bb", "ccc"], [1.0, 1.0, 1.0])]).correlations() == []
    assert scanned([]).block() == {"responses": 0, "features": []}


@given(
    st.lists(
        st.tuples(st.text("ab 1.\n", max_size=8), st.sampled_from([0.0, 0.5, 1.0])),
        min_size=2,
        max_size=30,
    ),
    st.integers(1, 29),
)
def test_the_scan_agrees_with_numpy_however_the_responses_come(
    responses: list[tuple[str, float]], cut: int
) -> None:
    import numpy as np

    texts, rewards = [t for t, _ in responses], [r for _, r in responses]
    scan = scanned([(texts[:cut], rewards[:cut]), (texts[cut:], rewards[cut:])])
    assert scan.correlations() == scanned([(texts, rewards)]).correlations()
    for found in scan.correlations():
        kind, word = found.feature.split(":", 1)
        if kind == "contains":
            column = [float(word in text.split()) for text in texts]
        elif word == "characters":
            column = [float(len(text)) for text in texts]
        else:
            continue
        assert found.r == pytest.approx(np.corrcoef(column, rewards)[0, 1], abs=1e-9)


@given(st.lists(st.tuples(st.integers(-9, 9), st.integers(-9, 9)), min_size=3, max_size=20))
def test_pearson_agrees_with_scipy(pairs: list[tuple[int, int]]) -> None:
    from scipy.stats import pearsonr

    x, y = [float(a) for a, _ in pairs], [float(b) for _, b in pairs]
    ours = pearson(x, y)
    if ours is None:
        assert len(set(x)) == 1 or len(set(y)) == 1
    else:
        assert ours == pytest.approx(pearsonr(x, y).statistic, abs=1e-12)
