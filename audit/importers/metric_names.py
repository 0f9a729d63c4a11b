"""Which names other tools give to the share of right answers, and how to read other metrics."""

from __future__ import annotations

import re
from typing import Any

from audit.errors import ImportRefused

ACCURACY = "accuracy"
REWARD = "reward"

# Names of a mean of right (1) and wrong (0) answers, in lower case with _ for every separator.
_ACCURACY_NAMES = frozenset(
    [
        "accuracy",
        "acc",
        "exact_match",
        "em",
        "pass_1",
        "pass_at_1",
        "correct",
        "is_correct",
        "passed",
        "is_pass",
        "pass",
        "mean_accuracy",
        "success",
        "success_rate",
        "solve_rate",
        "pass_rate",
    ]
)

# Larger is worse. Whole words of the name, so that "glossary" is not a loss.
_LOWER_IS_BETTER = frozenset(
    [
        "loss",
        "nll",
        "perplexity",
        "ppl",
        "bits_per_byte",
        "word_perplexity",
        "byte_perplexity",
        "wer",
        "cer",
        "ter",
        "brier",
        "brier_score",
        "error",
        "error_rate",
        "mae",
        "mse",
        "rmse",
        "toxicity",
    ]
)

_FROM_ONE = frozenset(["perplexity", "ppl", "word_perplexity", "byte_perplexity"])

# Shares of something other than right answers: between 0 and 1, larger is better.
_SHARES = re.compile(
    r"^(acc_norm|acc_mutual_info|acc_bytes|f1|mcc_share|maj_(at_)?\d+|pass_(at_)?\d+)$"
)

_PASS_AT = re.compile(r"^pass(?:_at)?_(\d+)$")


def plain(name: str) -> str:
    """Return a metric's name in lower case with one _ for every run of other signs."""
    return re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")


def is_accuracy(name: str) -> bool:
    """Whether a metric of this name is the share of right answers."""
    return plain(name.rsplit("/", 1)[-1]) in _ACCURACY_NAMES


def reading_of(name: str) -> dict[str, Any]:
    """Return ``scale`` and ``higher_is_better`` of a metric, as far as its name tells.

    An empty dict where the name tells nothing: what is unknown stays unknown.
    """
    word = plain(name.rsplit("/", 1)[-1].split(",")[0])
    if word in _ACCURACY_NAMES or _SHARES.match(word):
        return {"scale": [0, 1], "higher_is_better": True}
    if word in _LOWER_IS_BETTER:
        return {"scale": [1 if word in _FROM_ONE else 0, None], "higher_is_better": False}
    return {}


def refuse_impossible_pass_at_k(name: str, samples: int | None, path: str) -> None:
    """Refuse pass@k drawn from fewer than k samples a problem.

    Raises
    ------
    ImportRefused
        When the samples a problem are known and fewer than k.
    """
    match = _PASS_AT.match(plain(name.rsplit("/", 1)[-1].split(",")[0]))
    if match and samples is not None and int(match[1]) > samples:
        raise ImportRefused(
            f"{name} needs at least {match[1]} samples a problem, the file says {samples}",
            path=path,
        )
