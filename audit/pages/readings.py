"""What a verdict, an interval, a floor and a design say, in sentences a person can act on."""

from __future__ import annotations

from audit import numerals
from audit.analysis import Comparison, Floor, Interval, NotMeasured

_KINDS = {
    "tasks": "for new tasks like these, training variance included",
    "benchmark": "for these tasks only, training variance included",
    "these-runs": "over tasks, for these very models; training variance is not in it",
}

_REFUSALS = {
    "one-seed": "An interval over tasks knows nothing of training variance, so no interval from "
    "one training run an arm can carry a verdict, however far from zero it lies.",
    "no-per-task-outcomes": "Record the outcomes of every task.",
    "identical-runs": "Copies of one run are one run.",
    "few-tasks": "So few tasks cannot speak for others.",
    "incomplete": "Outcomes that are missing may be missing for a reason.",
    "failed-runs": "Runs that did not finish are part of the recipe's result.",
    "seeds-not-listed": "Seeds that were launched and not shown may have been dropped for it.",
    "duplicate-seed": "One seed run twice is no second run.",
}

_QUALIFIERS = {
    "underpowered": "The study would miss an effect of the size that matters ({target}) more "
    "often than one time in five, so flat does not mean that there is none.",
    "provisional": "Two training runs an arm are the least that can be judged; the verdict is "
    "provisional.",
    "material": "The whole interval lies beyond the margin of {margin}.",
    "below-margin": "The whole interval lies inside the margin of {margin}: real and small.",
    "below-eval-floor": "The difference is smaller than the noise of evaluating alone.",
    "skewed-scale": "Scores near an end of the scale with very different spreads make the "
    "interval less sure than it looks.",
    "too-few-tasks-for-equivalence": "The interval would show equivalence, and the tasks are too "
    "few to vouch for it.",
    "seeds-lost": "Runs that did not finish are left out.",
    "missing-sensitive": "The word depends on how missing outcomes are counted.",
    "benchmark-only gain": "On exactly these tasks it is a gain; about others it says nothing.",
    "benchmark-only loss": "On exactly these tasks it is a loss; about others it says nothing.",
}


def kind(interval: Interval) -> str:
    """Say of what an interval tells."""
    words = _KINDS[interval.about]
    return f"{words}, as the source printed it" if interval.method == "printed" else words


def meaning(comparison: Comparison) -> str:
    """Say what a verdict means and what it does not."""
    verdict = comparison.verdict
    if verdict.refused:
        why = _REFUSALS.get(verdict.detail or "", "")
        line = verdict.line[:1].upper() + verdict.line[1:]
        return " ".join(part for part in (f"{line}." if line else "", why) if part)
    settings = comparison.settings
    values = {
        "target": numerals.fraction(settings.target_effect, 3),
        "margin": numerals.fraction(settings.margin, 3),
    }
    sentences = [_word(comparison)]
    sentences += [_QUALIFIERS[q].format(**values) for q in verdict.qualifiers if q in _QUALIFIERS]
    return " ".join(sentences)


def _word(comparison: Comparison) -> str:
    verdict = comparison.verdict
    if verdict.word in ("gain", "loss"):
        return "The interval excludes zero."
    if verdict.detail == "equivalent":
        margin = numerals.fraction(comparison.settings.margin, 3)
        level = numerals.percent(comparison.settings.equivalence_level)
        return f"The whole {level} interval lies within {margin} of zero."
    return "The interval reaches zero: neither a difference nor the absence of one is shown."


def sees(comparison: Comparison) -> str:
    """Say what effect a design sees at 80% power."""
    design = comparison.design
    if isinstance(design, NotMeasured):
        return f"not measured: {design.reason}"
    span = comparison.measure.span or 1.0
    if design.smallest_effect is not None:
        return f"{numerals.signed(design.smallest_effect * span)} at 80% power"
    at_estimate = design.smallest_effect_at_estimate
    if at_estimate is None:
        return "no effect on this scale at 80% power"
    return (
        "no effect on this scale at 80% power with the training sd at its upper limit "
        f"({numerals.fraction(max(design.spread_limits) * span, 3)}); "
        f"{numerals.signed(at_estimate * span)} were it as estimated "
        f"({numerals.fraction(design.spread.sd * span, 3)})"
    )


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
