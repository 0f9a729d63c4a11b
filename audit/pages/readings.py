"""What a verdict, an interval, a floor and a design say, in sentences a person can act on."""

from __future__ import annotations

from audit import numerals
from audit.analysis import Comparison, Floor, Interval, NotMeasured
from audit.reasons import find_reason
from audit.views.comparison_view import ComparisonView

_KINDS = {
    "tasks": "for new tasks like these, training variance included",
    "benchmark": "for these tasks only, training variance included",
    "these-runs": "over tasks, for these very models; training variance is not in it",
}


def kind(interval: Interval) -> str:
    """Say of what an interval tells."""
    words = _KINDS[interval.about]
    return f"{words}, as the source printed it" if interval.method == "printed" else words


def meaning(comparison: Comparison) -> str:
    """Say what a verdict means and what it does not."""
    verdict = comparison.verdict
    if verdict.refused:
        reason = find_reason(verdict.detail or "")
        line = verdict.line[:1].upper() + verdict.line[1:]
        why = "" if reason is None else reason.why
        return " ".join(part for part in (f"{line}." if line else "", why) if part)
    found = (find_reason(qualifier) for qualifier in verdict.qualifiers)
    sentences = [_word(comparison), *(reason.why for reason in found if reason is not None)]
    return " ".join(sentences)


def _word(comparison: Comparison) -> str:
    verdict = comparison.verdict
    if verdict.word in ("gain", "loss"):
        return "The interval excludes zero."
    if verdict.detail == "equivalent":
        margin = numerals.fraction(comparison.settings.margin, 3)
        level = numerals.level(comparison.settings.equivalence_level)
        return f"The whole {level} interval lies within {margin} of zero."
    ends = comparison.deciding
    if isinstance(ends, Interval) and not ends.low <= 0 <= ends.high:
        return "What is shown depends on how the answers are counted, so neither way is claimed."
    return "The interval includes zero: neither a difference nor the absence of one is shown."


def sees(comparison: Comparison) -> str:
    """Say what effect a design sees at 80% power."""
    design = comparison.design
    if isinstance(design, NotMeasured):
        return f"not measured: {design.reason}"
    return ComparisonView(comparison).sees


def floor(found: Floor | NotMeasured) -> str:
    """Say what re-evaluating the base tells of the evaluation's noise."""
    if isinstance(found, NotMeasured):
        return f"not checked: {found.reason}"
    noise = found.noise
    runs = numerals.spelled(noise.runs)
    if noise.value is None:
        return _no_floor(found, runs)
    parts = [f"run_std {numerals.fraction(noise.run_std, 4)} over {runs} evaluations of the base"]
    if noise.printed is not None:
        parts.append(
            f"a floor of {numerals.fraction(noise.printed * found.span, 3)} by 1.96·√2·run_std"
        )
    if noise.t_form is not None:
        parts.append(
            f"{numerals.fraction(noise.t_form * found.span, 3)} with Student's quantile, which "
            f"{runs} values call for"
        )
    if noise.method == "shrink4":
        parts.append(f"{numerals.fraction(found.value, 3)} with the variation by task pooled in")
    return "; ".join(parts) + ". It tells of evaluating again, not of training again."


def _no_floor(found: Floor, runs: str) -> str:
    noise = found.noise
    reason = {
        "deterministic-eval": f"{runs} identical evaluations of the base: they show that the "
        "evaluation repeats itself and carry no information about its noise. A spread of "
        f"{numerals.fraction(noise.run_std, 1)} is no floor",
        "no-variation-seen": f"no variation in {runs} evaluations of the base, which is no floor",
    }.get(noise.reason or "", f"{runs} evaluation of the base, two are the least")
    if noise.bernoulli_bound is None:
        return f"unknown: {reason}."
    bound = numerals.fraction(noise.bernoulli_bound * found.span, 2)
    return f"unknown: {reason}. From the rate and the number of answers alone it is below {bound}."
