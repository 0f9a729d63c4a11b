"""An analysis as JSON values: floats unrounded, keys in a fixed order."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from audit.analysis.arms import ArmRates, Rate
from audit.analysis.claiming import ClaimResult
from audit.analysis.comparisons import Comparison
from audit.analysis.design import Design
from audit.analysis.floors import Floor, NotMeasured
from audit.analysis.measures import Measure
from audit.analysis.numbers import Interval
from audit.analysis.rounds import RoundPair
from audit.analysis.verdict import Verdict
from audit.analysis.what_settles import figures_unclaimed
from audit.views.claim_view import claim_view
from audit.views.comparison_view import verdict_words
from audit.views.decision_view import decision_view

if TYPE_CHECKING:
    from audit.analysis.analysis import Analysis
    from audit.stats import Needed

# A design costs a tenth of a second; the claimed comparisons come first.
_MOST_PLANNED = 40
_UNPLANNED = f"made for the first {_MOST_PLANNED} comparisons of a file"


def analysis_json(analysis: Analysis) -> dict[str, Any]:
    """Return all figures of an analysis."""
    return {
        "comparisons": [
            comparison_json(comparison, planned=place < _MOST_PLANNED)
            for place, comparison in enumerate(analysis.comparisons)
        ],
        "comparisons_left_out": analysis.left_out,
        "claims": [claim_json(c) for c in analysis.claims],
        "decision": _decision(analysis),
        "arms": [_arm(arm) for arm in analysis.arms],
        "floors": [{**_measure(m), **floor_json(floor)} for m, floor in analysis.floors],
        "rounds": [round_json(pair) for pair in analysis.rounds],
        "rounds_not_compared": [asdict(entry) for entry in analysis.rounds_uncompared],
    }


def _decision(analysis: Analysis) -> dict[str, Any] | None:
    found = analysis.decision
    if found is None:
        return None
    return {
        "word": found.word,
        "text": decision_view(found).text,
        "primary": [claim.claim.id for claim in found.primary],
        "guardrails": [claim.claim.id for claim in found.guardrails],
        "against": [claim.claim.id for claim in found.against],
    }


def comparison_json(comparison: Comparison, *, planned: bool = True) -> dict[str, Any]:
    """Return one comparison's figures, those of a planner where ``planned``."""
    settings = comparison.settings
    return {
        **_measure(comparison.measure),
        "arm": comparison.arm,
        "against": comparison.against,
        "kind": comparison.kind,
        "settings": {
            "level": settings.level,
            "margin": settings.margin,
            "target_effect": settings.target_effect,
            "target": settings.target,
            "pairing": "seeds" if settings.paired else "none",
        },
        "seeds": dict(zip((comparison.arm, comparison.against), comparison.seeds, strict=True)),
        "tasks": comparison.standing.tasks if comparison.standing else None,
        "delta": comparison.delta,
        "verdict": verdict_json(comparison.verdict),
        "deciding": _or_reason(comparison.deciding),
        "random_tasks": _both_levels(comparison, "tasks"),
        "fixed_benchmark": _both_levels(comparison, "benchmark"),
        "variance": _variance(comparison),
        "floor": {**floor_json(comparison.floor), "of_delta": comparison.floor_of_delta},
        "design": _design(comparison) if planned else {"reason": _UNPLANNED},
        "published_spread": _published(comparison),
        **_description(comparison),
        "reading": None if comparison.reading is None else asdict(comparison.reading),
        "format_and_content": _parsing(comparison),
        "resampled": _resampled(comparison) if planned else {"reason": _UNPLANNED},
        "last_step": _last_step(comparison),
        "shared_seeds": _shared_seeds(comparison),
        "missing": _missing(comparison),
        "without_errored": _without_errors(comparison),
        "pass_at_k": _pass_at_k(comparison),
    }


def verdict_json(verdict: Verdict) -> dict[str, Any]:
    """Return a verdict with its words."""
    return {
        "word": verdict.word,
        "detail": verdict.detail,
        "qualifiers": list(verdict.qualifiers),
        "target": verdict.target,
        "text": verdict_words(verdict),
        "line": verdict.line,
    }


def claim_json(result: ClaimResult) -> dict[str, Any]:
    """Return a claim and what became of it."""
    claim, view = result.claim, claim_view(result)
    return {
        "id": claim.id,
        "text": claim.text,
        "estimate": view.estimate,
        "pointer": claim.pointer,
        "direction": claim.direction,
        "metric": claim.metric,
        "benchmark": claim.benchmark,
        "arm": claim.arm,
        "against": claim.against,
        "margin": claim.margin,
        "supported": result.supported,
        "stands": result.supported,
        "slug": result.slug,
        "label": view.label or None,
        "reason": result.reason,
        "settles": view.settles,
        "settling": None if result.settling is None else asdict(result.settling),
        "evidence": result.evidence,
        "weakened_by": [asdict(weakening) for weakening in result.weakened_by],
        "next": list(view.next),
        "look": _look(result),
        "advice": view.advice or None,
        "verdict": verdict_json(result.verdict),
        "p_value": result.p_value,
        "holm_p_value": result.holm_p_value,
    }


def _look(result: ClaimResult) -> dict[str, Any] | None:
    look = result.look
    if look is None:
        return None
    p_value, needs = result.held
    return {
        "kind": look.kind,
        "seeds": look.seeds,
        "first": look.first,
        "maximum": look.maximum,
        "p": p_value,
        "threshold": look.threshold if needs is None else needs,
        "next": look.next,
        "dated": look.dated,
        "total_error": look.total_error,
    }


def floor_json(floor: Floor | NotMeasured) -> dict[str, Any]:
    """Return a noise floor in the metric's units, or the reason there is none."""
    if isinstance(floor, NotMeasured):
        return {"value": None, "reason": floor.reason}
    noise, span = floor.noise, floor.span

    return {
        "value": floor.value,
        "reason": noise.reason,
        "method": noise.method,
        "source": floor.source,
        "evaluations": noise.runs,
        "run_std": _scaled(noise.run_std, span),
        "sampling_sd": _scaled(noise.sampling_sd, span),
        "printed_form": _scaled(noise.printed, span),
        "t_form": _scaled(noise.t_form, span),
        "bernoulli_bound": _scaled(noise.bernoulli_bound, span),
        "f_statistic": noise.f_statistic,
        "f_p_value": noise.f_p_value,
        "level": noise.level,
    }


def round_json(pair: RoundPair) -> dict[str, Any]:
    """Return the agreement of two rounds."""
    found = pair.replication
    return {
        "original": pair.original,
        "repeat": pair.repeat,
        "pointer": pair.pointer,
        "deltas": list(pair.deltas),
        "swing": pair.swing,
        "z": found.z,
        "q": found.q,
        "p_value": found.p_value,
        "conflict": pair.conflict,
        "omega": found.omega,
        "omega_interval": list(found.omega_interval),
        "per_arm_sd": found.per_arm_sd,
        "per_arm_sd_interval": list(found.per_arm_interval),
        "level": found.level,
    }


def _measure(measure: Measure) -> dict[str, Any]:
    return {
        "metric": measure.name,
        "benchmark": measure.benchmark,
        "split": measure.split,
        "higher_is_better": measure.higher_is_better,
    }


def _or_reason(interval: Interval | NotMeasured | None) -> dict[str, Any] | None:
    return None if interval is None else asdict(interval)


def _both_levels(comparison: Comparison, about: str) -> dict[str, Any]:
    narrow = comparison.settings.equivalence_level
    return {
        "declared": _or_reason(comparison.interval(about)),
        "equivalence": _or_reason(comparison.interval(about, narrow)),
    }


def _variance(comparison: Comparison) -> dict[str, Any] | None:
    """Return the components, on a scale of [0, 1]."""
    if comparison.standing is None:
        return None
    result = comparison.standing.result
    control = getattr(result, "control", None)
    return {
        comparison.arm: asdict(result.treatment),
        comparison.against: None if control is None else asdict(control),
        "task_variance_of_delta": getattr(result, "x", None),
        "df_if_equal": getattr(result, "df_eq", None),
        "base_evaluation_variance": getattr(result, "w2", None),
    }


def _design(comparison: Comparison) -> dict[str, Any]:
    design = comparison.design
    if not isinstance(design, Design):
        return {"reason": design.reason}
    span = comparison.measure.span or 1.0

    spread, remedy = design.spread, figures_unclaimed(comparison)
    assert remedy is not None  # a design has figures
    return {
        "seed_sd": _scaled(spread.sd, span),
        "seed_sd_interval": [spread.low * span, spread.high * span],
        "seed_sd_limits": [limit * span for limit in design.spread_limits],
        "smallest_effect": _scaled(design.smallest_effect, span),
        "smallest_effect_at_estimate": _scaled(design.smallest_effect_at_estimate, span),
        "power_for_target_effect": design.power(comparison.settings.target_effect / span),
        "to_see": _needed(remedy.to_see, span),
        "if_seen": _needed(remedy.if_seen, span),
    }


def _published(comparison: Comparison) -> dict[str, Any]:
    """Return where the sd of run scores lies among published ones, on a scale of [0, 1]."""
    place = comparison.published_place
    if isinstance(place, NotMeasured):
        return {"reason": place.reason}
    return {"sd": place.sd, "above": place.above, "of": asdict(place.typical), "decides": False}


def _scaled(value: float | None, span: float) -> float | None:
    """Return a figure on [0, 1] in the metric's units."""
    return None if value is None else value * span


def _needed(needed: Needed | None, span: float) -> dict[str, Any] | None:
    """Return the seeds of an effect, which is in the metric's units."""
    return None if needed is None else {**asdict(needed), "effect": needed.effect * span}


def _description(comparison: Comparison) -> dict[str, Any]:
    found = comparison.description
    return {
        "scores": {arm: [asdict(run) for run in runs] for arm, runs in found.scores.items()},
        "pairs": [asdict(pair) for pair in found.pairs],
        "unpaired": [asdict(run) for run in found.unpaired],
        "seed_correlation": found.correlation,
        "paired_t": None if found.paired_t is None else asdict(found.paired_t),
        "one_seed_interval": _or_reason(found.one_seed),
        "tipping_sd": found.tipping_sd,
        "collapse_bound": found.collapse_bound,
    }


def _parsing(comparison: Comparison) -> dict[str, Any] | None:
    found = comparison.parsing
    if found is None:
        return None
    form, content = found.intervals(comparison.settings)
    return {
        "format": found.format.delta,
        "format_interval": asdict(form),
        "content": found.content.delta,
        "content_interval": asdict(content),
        "parsed": dict(zip((comparison.arm, comparison.against), found.parsed, strict=True)),
        "given_parsed": dict(
            zip((comparison.arm, comparison.against), found.given_parsed, strict=True)
        ),
    }


def _resampled(comparison: Comparison) -> dict[str, Any]:
    """Return resampled figures, which are shown and decide nothing."""
    found = comparison.resampled
    if isinstance(found, NotMeasured):
        return {"reason": found.reason}
    figures: dict[str, Any] = {"decides": False}
    for name in ("percentile", "bca", "two_level"):
        figures[name] = asdict(getattr(found, name))
    for name in ("sign_flip_p_value", "label_p_value"):
        value = getattr(found, name)
        figures[name] = asdict(value) if isinstance(value, NotMeasured) else value
    return figures


def _last_step(comparison: Comparison) -> dict[str, Any] | None:
    last, contrast = comparison.at_last_step, comparison.last_contrast
    if last is None:
        return None
    return {
        "step": max(comparison.measure.checkpoints),
        "delta": last.delta,
        "interval": _or_reason(last.deciding),
        "last_minus_mean": None if contrast is None else asdict(contrast),
    }


def _shared_seeds(comparison: Comparison) -> dict[str, Any] | None:
    """Return what the runs that share a seed show, on a scale of [0, 1]."""
    found = comparison.shared_seeds
    return None if found is None else {**asdict(found), "warns": found.warns}


def _missing(comparison: Comparison) -> dict[str, Any] | None:
    aligned = comparison.aligned
    if aligned is None or not aligned.missing:
        return None
    return {
        "share": aligned.missing_share,
        "tasks": [asdict(cell) for cell in aligned.missing],
        "ways": [
            {
                "missing": numbers.missing,
                "delta": numbers.delta,
                "word": numbers.decision(comparison.settings).word,
                "detail": numbers.decision(comparison.settings).detail,
            }
            for numbers in comparison.numbers
        ],
    }


def _without_errors(comparison: Comparison) -> dict[str, Any] | None:
    numbers = comparison.without_errors
    if numbers is None:
        return None
    found = numbers.decision(comparison.settings)
    return {"delta": numbers.delta, "word": found.word, "detail": found.detail}


def _pass_at_k(comparison: Comparison) -> dict[str, Any] | None:
    other = comparison.pass_at_k
    if other is None:
        return None
    return {
        "metric": other.metric,
        "delta": other.delta,
        "verdict": verdict_json(other.verdict),
        "random_tasks": _or_reason(other.interval("tasks")),
        "fixed_benchmark": _or_reason(other.interval("benchmark")),
    }


def _arm(arm: ArmRates) -> dict[str, Any]:
    return {
        "arm": arm.arm,
        **_measure(arm.measure),
        "rate": _rate(arm.rate),
        "at_k": _rate(arm.at_k),
    }


def _rate(rate: Rate | NotMeasured) -> dict[str, Any]:
    return asdict(rate)
