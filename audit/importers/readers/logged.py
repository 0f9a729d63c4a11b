"""Which logged figures are evaluations: their benchmark, metric and number of answers by name."""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from audit.importers.metric_names import ACCURACY, REWARD, is_accuracy, plain
from audit.importers.numbers import integer, number
from audit.importers.readers.piece import Evaluated

# verl: val-core/{source, may hold slashes}/{var}/mean@{k}; MLflow takes no @ and has _at_.
_VERL = re.compile(r"^val-(core|aux)/(?P<source>.+)/(?P<var>[^/]+)/mean(?:@|_at_)(?P<k>\d+)$")
# OpenRLHF: eval/eval_{source}_pass1, the mean reward over the k answers.
_OPENRLHF = re.compile(r"^eval/eval_(?P<source>.+)_pass1$")
_STAGE = re.compile(r"^(?:(?:eval|evaluation|val|valid|validation|test)(?:[/_.-]|$))+", re.I)
_SCORES = frozenset({"reward", "score", "f1", "return", "avg_score", "mean_reward"})
_COUNTS = ("num_samples", "num_examples", "n_eval", "n_samples", "n_examples")
_AVERAGES = frozenset({"all", "average", "avg", "overall", "mean", "macro", "micro"})


@dataclass(frozen=True, slots=True)
class Measured:
    """What the name of a logged figure says."""

    benchmark: str | None
    metric: str
    samples: int | None = None
    counts: bool = True
    fits_count: bool = False


@lru_cache(maxsize=4096)  # a log has few names and many rows
def measured(name: str) -> Measured | None:
    """Return what a logged figure measures, or None where it is no evaluation.

    Names of verl, OpenRLHF and what others write as ``eval/gsm8k/accuracy``,
    ``eval_gsm8k_accuracy``, ``test/accuracy`` or ``eval_reward`` are known. Spreads, best-of-n
    and majorities are none.
    """
    verl = _VERL.match(name)
    if verl:
        var = verl["var"]
        if name.startswith("val-aux") and not is_accuracy(var):
            return None
        return Measured(verl["source"], _metric(var), int(verl["k"]))
    if name.startswith(("val-core/", "val-aux/")):
        return None
    openrlhf = _OPENRLHF.match(name)
    if openrlhf:
        return Measured(openrlhf["source"], REWARD, fits_count=True)
    stage = _STAGE.match(name)
    if not stage:
        return None
    rest = name[stage.end() :]
    for cut in (i for i in range(len(rest) + 1) if i == 0 or rest[i - 1] in "/_."):
        tail, benchmark = rest[cut:], rest[:cut].rstrip("/_.")
        if "/" in tail:
            continue
        if is_accuracy(tail) or plain(tail) in _SCORES:
            if benchmark == "env/all":  # tinker-cookbook: all environments of its one test set
                benchmark = ""
            counts = plain(benchmark.rsplit("/", 1)[-1]) not in _AVERAGES
            return Measured(benchmark or None, _metric(tail), counts=counts)
    return None


def _metric(word: str) -> str:
    return ACCURACY if is_accuracy(word) else plain(word)


def evaluations_of(log: Mapping[int, Mapping[str, Any]]) -> list[Evaluated]:
    """Return the evaluations that logged figures by step hold, in the order of their steps.

    A step of 0 is the untrained model. Missing and non-finite figures are no evaluation. A number
    of answers logged beside the figure (``num_samples``) is its ``examples``.
    """
    found: list[Evaluated] = []
    for step in sorted(log):
        row = log[step]
        core = {m.benchmark for n in row if n.startswith("val-core/") and (m := measured(n))}
        for name in sorted(row):
            known, value = measured(name), number(row[name])
            if known is None or value is None:
                continue
            if name.startswith("val-aux/") and known.benchmark in core:
                continue
            examples = _examples(name, row)
            metric = known.metric
            fits = examples is not None and _fits(value, examples)
            if known.fits_count and fits:
                metric = ACCURACY
            if metric == ACCURACY and fits and examples and _of_32_bits(value):
                value = round(value * examples) / examples
            found.append(
                Evaluated(
                    known.benchmark,
                    metric,
                    step,
                    value=value,
                    examples=examples,
                    counts=known.counts,
                    by_count=known.fits_count,
                )
            )
    return found


def _examples(name: str, row: Mapping[str, Any]) -> int | None:
    """Return the number of answers logged beside a figure: of its benchmark, else of the stage."""
    parts = re.split(r"(?<=[/_])", name)
    for end in range(len(parts) - 1, 0, -1):
        prefix = "".join(parts[:end])
        for word in _COUNTS:
            for key in (f"{prefix}{word}", f"{prefix}eval_{word}"):
                count = integer(row.get(key))
                if count is not None and count > 0:
                    return count
    return None


def _of_32_bits(value: float) -> bool:
    """Whether a figure is one of an event file, which has 32 bits and digits that nobody wrote."""
    return len(repr(value)) > 11 and struct.unpack("f", struct.pack("f", value))[0] == value


def _fits(share: float, examples: int) -> bool:
    """Whether a share is a whole number of right answers, as far as six printed decimals tell."""
    nearest = round(share * examples) / examples if 0 <= share <= 1 else math.inf
    return abs(share - nearest) <= 6e-7
