from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from audit.errors import InputError
from audit.training import math_verifier
from audit.training.math_verifier import NoVerdict, math_verify
from audit.training.rewards import Score
from audit.training.tasks.questions import Questions
from audit.training.tasks.rows import read_rows
from training.studies import ARMS, audit_train, save_character_model

here = pytest.mark.skipif(find_spec("math_verify") is None, reason="math-verify is not installed")

RIGHT = [
    ("The answer is 42.", "42"),
    (r"so \boxed{\frac{1}{2}}", "0.5"),
    (r"\boxed{\frac{1}{2}}", "1/2"),
    (r"\boxed{\frac{1}{2}}", r"$\frac12$"),
    (r"$x = \sqrt{8}$", r"2\sqrt{2}"),
    (r"\boxed{(1,3)}", "(1,3)"),
    (r"\boxed{\{1,2\}}", r"\{2,1\}"),
    (r"\boxed{[0, 1)}", "[0,1)"),
    (r"\boxed{x^2+2x+1}", "(x+1)^2"),
    (r"\boxed{5\text{ cm}}", "5"),
    (r"\boxed{\text{A}}", "A"),
    ("1,000", "1000"),
]
WRONG = [
    (r"\boxed{3}", "4", True),
    (r"\boxed{(3,1)}", "(1,3)", True),
    (r"\boxed{\frac{1}{3}}", "0.333", True),
    (r"\boxed{(0, 1)}", "[0,1)", True),
    ("no number here", "42", False),
    ("", "42", False),
]


@here
@pytest.mark.parametrize(("response", "answer"), RIGHT)
def test_answers_that_are_equal_are_right(response: str, answer: str) -> None:
    assert math_verify(response, answer) == Score(correct=True, parsed=True)


@here
@pytest.mark.parametrize(("response", "answer", "parsed"), WRONG)
def test_answers_that_differ_or_are_missing_are_wrong(
    response: str, answer: str, parsed: bool
) -> None:
    assert math_verify(response, answer) == Score(correct=False, parsed=parsed)


@here
def test_an_answer_that_takes_too_long_is_an_error_and_no_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(math_verifier, "SECONDS", 1)
    with pytest.raises(NoVerdict, match="math_verify: more than 1 s"):
        math_verify(r"\boxed{10^{10^{10}}}", "3")


@here
def test_a_gold_answer_that_cannot_be_read_has_no_verdict() -> None:
    with pytest.raises(NoVerdict, match="no answer in ''"):
        math_verify("3", "")


def study(folder: Path, answers: list[str], grader: str = "math_verify") -> str:
    save_character_model(folder / "model")
    for name, digit in (("train", "1"), ("held", "2")):
        rows = [{"question": f"{digit}{n}?", "answer": a} for n, a in enumerate(answers)]
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    path = folder / "study.toml"
    path.write_text(
        f"""\
seeds = [1]
[task]
name = "jsonl"
benchmark = "formulas"
train = "train.jsonl"
holdout = "held.jsonl"
reward = "{grader}"
model = "model"
[training]
rounds = 1
prompts_per_round = 2
group_size = 2
max_tokens = 3
[evaluation]
samples = 2
"""
        + ARMS
    )
    return str(path)


@here
def test_what_it_gives_up_on_is_counted_as_errored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def sometimes(response: str, answer: str) -> Any:
        return "TypeError: cannot compare" if answer == "1" else Score(False, True)

    monkeypatch.setattr(math_verifier, "_verdict", sometimes)
    assert audit_train(study(tmp_path, ["1", "2", "1", "2"])) == 0
    document = json.loads((tmp_path / "results.json").read_text())
    (run,) = document["seed_results"]
    assert run["status"] == "finished"
    assert run["evaluation"]["errored"] == [2, 0, 2, 0]
    assert run["protocol"]["grader"] == "math_verify"
    assert {"math-verify", "latex2sympy2-extended"} <= set(run["environment"]["packages"])
    (part,) = run["rewards"]
    answers = [["1", "2", "1", "2"][row] for row in run["training"][0]["training_rows"]]
    assert part["errored"] == 2 * answers.count("1")


@here
def test_a_row_whose_answer_it_cannot_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"train\.jsonl:2: .*math_verify reads no answer in"):
        audit_train(study(tmp_path, ["1", "$", "3", "4"]))


@here
@pytest.mark.parametrize("late", [True, False])
def test_a_row_whose_answer_it_gives_up_on_is_named(
    late: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from math_verify.errors import TimeoutException

    def gives_up(answer: str) -> Any:
        raise TimeoutException("late") if late else TypeError("two\nlines")

    monkeypatch.setattr(math_verifier, "_gold", gives_up)
    (tmp_path / "train.jsonl").write_text('{"question": "1?", "answer": "1"}\n')
    rows = read_rows(tmp_path / "train.jsonl")
    reason = "more than 5 s" if late else "TypeError: two lines"
    with pytest.raises(InputError, match=rf"train\.jsonl:1: answer: math_verify: {reason}"):
        Questions("question", "answer", "", "", "math_verify", None).candidates(rows, ["a"])


def test_where_it_is_not_installed_the_command_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(math_verifier, "find_spec", lambda name: None)
    wanted = r"task\.reward: math_verify is not installed: pip install 'recipe-audit\[math\]'"
    with pytest.raises(InputError, match=wanted):
        audit_train(study(tmp_path, ["1", "2"]))
