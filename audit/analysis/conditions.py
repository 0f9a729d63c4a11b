"""Conditions under which a comparison cannot support a claim, whatever its numbers say."""

from __future__ import annotations

from collections.abc import Iterator

from audit.analysis.measures import Side
from audit.analysis.verdict import Refusal
from audit.claims import BASE, Claim
from audit.facts.conditions import chosen_on, condition_differences, selected_here
from audit.results import Evaluation, Results

# Declared pairing may leave out one run in five for want of a partner.
LARGEST_SHARE_LEFT_OUT = 0.2
_SHOWN = 40


def refusals_by_conditions(
    results: Results, claim: Claim, control: Side, treatment: Side
) -> Iterator[Refusal]:
    """Yield the conditions that refuse a claim about two sides."""
    ours, theirs = judged(treatment), judged(control)
    for evaluation in (*ours, *theirs):
        if selected_here(evaluation):
            where = evaluation.document["selected_on"]
            yield Refusal(
                "selected-here",
                f"a checkpoint was chosen on {where}, by which it is judged ({evaluation.pointer})",
            )
            break
    if control.name != BASE and len(chosen_on((*ours, *theirs))) > 1:
        rules = "; ".join(
            f"of {name} on {', '.join(chosen_on(evaluations)) or 'none'}"
            for name, evaluations in ((treatment.name, ours), (control.name, theirs))
        )
        yield Refusal("unmatched-protocol", f"checkpoints were not chosen by one rule: {rules}")
    differences = condition_differences(results, ours, theirs)
    if differences:
        listed = "; ".join(
            f"{d.name} {_values(d.ours)} against {_values(d.theirs)}" for d in differences
        )
        yield Refusal(
            "unmatched-protocol",
            f"{treatment.name} and {control.name} were evaluated differently: {listed}",
        )
    if claim.pairing == "seeds":
        yield from _left_out(treatment, control)


def _left_out(*sides: Side) -> Iterator[Refusal]:
    for side in sides:
        if left_out_of_pairing(side) > LARGEST_SHARE_LEFT_OUT:
            labels = ", ".join(run.label for run in side.set_aside)
            yield Refusal(
                "pairing-leaves-out",
                f"{len(side.set_aside)} of {len(side.runs) + len(side.set_aside)} runs of "
                f"{side.name} are without a partner ({labels}), more than one in five",
            )


def judged(side: Side) -> list[Evaluation]:
    """Return the evaluations that a side's figures are from."""
    return [run.evaluation for run in side.runs if run.evaluation is not None]


def _values(values: tuple[object, ...]) -> str:
    shown = [str(value) for value in values]
    return ", ".join(v if len(v) <= _SHOWN else v[: _SHOWN - 1] + "…" for v in shown)


def left_out_of_pairing(side: Side) -> float:
    """Return the share of a side's runs that declared pairing leaves out."""
    total = len(side.runs) + len(side.set_aside)
    return len(side.set_aside) / total if total and side.name != BASE else 0.0
