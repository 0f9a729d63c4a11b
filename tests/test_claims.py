"""Claims as people type them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.claims import DIRECTIONS, OVER_BENCHMARKS, OVER_TASKS, Claim, Names, parse_claim
from audit.errors import UsageError

NAMES = Names(
    arms=("dapo over 2 epochs", "dapo", "grpo", "baseline", "a on b", "method", "control", "base"),
    metrics=("accuracy", "f1", "toxicity", "exact match"),
    benchmarks=("math500", "gsm8k", "mmlu", "my bench", "algebra"),
)

TYPED: dict[str, dict[str, object]] = {
    "gain accuracy method over control": {"arm": "method", "against": "control"},
    "gain in accuracy of dapo over grpo": {"metric": "accuracy", "arm": "dapo"},
    "gain accuracy dapo over grpo by 2%": {"margin": 2.0, "percent": True, "exceeds": True},
    "loss toxicity dapo over base": {"direction": "loss", "against": "base"},
    "equivalent accuracy dapo to grpo within 0.02": {"margin": 0.02, "exceeds": False},
    "equivalent accuracy dapo over grpo by 0.2": {"margin": 0.2, "exceeds": False},
    "no loss accuracy dapo over grpo within 0.03 on mmlu": {
        "direction": "no loss",
        "margin": 0.03,
        "benchmark": "mmlu",
    },
    "gain accuracy dapo over grpo on math500": {"benchmark": "math500", "against": "grpo"},
    "gain f1 dapo over grpo on average": {"average": "benchmarks", "benchmarks": ()},
    "gain accuracy dapo over grpo on the mean of math500, gsm8k": {
        "average": "benchmarks",
        "benchmarks": ("math500", "gsm8k"),
    },
    "gain accuracy dapo over grpo on all tasks of math500, gsm8k for these tasks": {
        "average": "tasks",
        "benchmarks": ("math500", "gsm8k"),
        "target": "benchmark",
    },
    "gain accuracy dapo over grpo at steps 80, 85, 90": {"checkpoints": (80, 85, 90)},
    'gain accuracy-given-parsed "dapo over 2 epochs" over grpo': {
        "metric": "accuracy-given-parsed",
        "arm": "dapo over 2 epochs",
    },
    "gain accuracy dapo over 2 epochs over grpo": {"arm": "dapo over 2 epochs"},
    "GAIN Accuracy DAPO over GRPO by .05 on my bench": {
        "direction": "gain",
        "metric": "accuracy",
        "arm": "dapo",
        "against": "grpo",
        "benchmark": "my bench",
        "margin": 0.05,
    },
    "gain in exact match of dapo over grpo": {"metric": "exact match"},
    "gain accuracy a on b over grpo on gsm8k by 0.05": {"arm": "a on b", "benchmark": "gsm8k"},
    "gain pass@4 dapo over grpo on math500 for these tasks": {
        "metric": "pass@4",
        "target": "benchmark",
    },
    # Misspelt names are left for the judge, who knows what they may have meant.
    "gain acuracy dapo over grpo": {"metric": "acuracy", "arm": "dapo"},
    "gain accuracy dappo over grpo on math50": {"arm": "dappo", "benchmark": "math50"},
}


@pytest.mark.parametrize("text", TYPED)
def test_a_claim_means_what_it_says(text: str) -> None:
    claim = parse_claim(text, NAMES)
    assert {name: getattr(claim, name) for name in TYPED[text]} == TYPED[text]


@pytest.mark.parametrize("text", TYPED)
def test_what_is_printed_is_accepted_back(text: str) -> None:
    claim = parse_claim(text, NAMES)
    assert parse_claim(claim.text, NAMES).text == claim.text
    assert parse_claim(claim.typed_text, NAMES).text == claim.text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "gain",
        "gain accuracy",
        "better accuracy dapo over grpo",
        "gain accuracy dapo over grpo by much",
        "gain accuracy dapo over grpo by -1",
        "gain accuracy dapo over grpo by inf",
        "gain accuracy dapo over grpo within 0.02",
    ],
)
def test_words_that_are_no_claim_are_one_line(text: str) -> None:
    with pytest.raises(UsageError) as raised:
        parse_claim(text, NAMES)
    assert "\n" not in str(raised.value)


NAME = st.text("abcxyz019-_.@", min_size=1, max_size=8)
FREE = st.lists(NAME | st.sampled_from(["over", "to", "on", "by", "of"]), min_size=1, max_size=4)


@given(arms=st.lists(FREE.map(" ".join), min_size=2, max_size=2, unique=True), benchmark=NAME)
def test_any_names_of_a_file_survive_being_typed(arms: list[str], benchmark: str) -> None:
    names = Names(tuple(arms), ("accuracy",), (benchmark,))
    typed = f'gain accuracy "{arms[0]}" over "{arms[1]}" on "{benchmark}"'
    claim = parse_claim(typed, names)
    assert (claim.arm, claim.against, claim.benchmark) == (*arms, benchmark)
    again = parse_claim(claim.typed_text, names)
    assert (again.arm, again.against, again.benchmark) == (*arms, benchmark)


ANY_NAME = st.text(
    st.characters(codec="utf-8", exclude_categories=("C", "Zl", "Zp")), min_size=1, max_size=10
).filter(lambda name: name.strip() == name and name)
MARGINS = st.floats(1e-9, 100) | st.sampled_from([0.02, 0.03, 1 / 3, 2.0, 1e-05])


@st.composite
def printed_claims(draw: st.DrawFn) -> tuple[Claim, Names]:
    """A claim as a file may make it, with the names of the file."""
    arms = draw(st.lists(ANY_NAME | FREE.map(" ".join), min_size=2, max_size=3, unique_by=folded))
    marks = draw(st.lists(ANY_NAME | NAME, min_size=2, max_size=3, unique_by=folded))
    metric = draw(st.sampled_from(["accuracy", "exact match", "f1,none", "pass@4"]))
    direction = draw(st.sampled_from(DIRECTIONS))
    margin = draw(st.none() | MARGINS)
    claim = Claim(
        direction,
        metric,
        arms[0],
        arms[1],
        margin=margin,
        exceeds=margin is not None and direction in ("gain", "loss"),
        percent=margin is not None and draw(st.booleans()),
        checkpoints=tuple(sorted(draw(st.sets(st.integers(0, 10**6), max_size=3)))),
        target=draw(st.sampled_from([None, "benchmark"])),
    )
    where = draw(st.sampled_from(["", "benchmark", "average", "mean", "all"]))
    if where == "benchmark":
        claim = replace(claim, benchmark=marks[0])
    elif where == "average":
        claim = replace(claim, average=OVER_BENCHMARKS)
    elif where:
        over = OVER_BENCHMARKS if where == "mean" else OVER_TASKS
        claim = replace(claim, benchmarks=tuple(marks), average=over)
    return claim, Names((*arms, "method", "control", "base"), (metric,), tuple(marks))


def folded(name: str) -> str:
    return " ".join(name.split()).casefold()


@given(printed_claims())
def test_every_claim_that_is_printed_is_accepted_back(made: tuple[Claim, Names]) -> None:
    claim, names = made
    for printed in (claim.typed_text, claim.text):
        again = parse_claim(printed, names)
        assert replace(again, id="", typed=None) == claim
