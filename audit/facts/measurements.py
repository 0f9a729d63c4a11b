"""Every place where a file records what an evaluation gave, as totals and per task."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from audit.column import total
from audit.facts.memo import once
from audit.pointer import join
from audit.results import Arm, Evaluation, Results, Run


@dataclass(frozen=True)
class Measurement:
    """Totals of one evaluation, and the outcomes they were made from and the run, if any."""

    pointer: str
    totals: Mapping[str, Any]
    evaluation: Evaluation | None
    run: Run | None

    @property
    def document(self) -> Mapping[str, Any]:
        """The block that holds the totals."""
        return self.totals

    @property
    def responses(self) -> int | None:
        """Responses that were drawn."""
        if self.evaluation is not None and self.evaluation.samples is not None:
            return int(total(self.evaluation.samples))
        return self.totals.get("examples")

    @property
    def truncated(self) -> int | None:
        """Responses that were cut off."""
        recorded = self.totals.get("truncated_responses")
        if recorded is None and self.evaluation is not None:
            per_task = self.evaluation.document.get("truncated")
            return None if per_task is None else int(total(per_task))
        return recorded

    @property
    def tokens(self) -> float | None:
        """Tokens that were generated."""
        recorded = self.totals.get("generated_tokens")
        return self.tokens_by_task if recorded is None else recorded

    @property
    def tokens_by_task(self) -> float | None:
        """Tokens from the mean lengths per task."""
        if self.evaluation is None:
            return None
        means, samples = self.evaluation.document.get("mean_tokens"), self.evaluation.samples
        if means is None or samples is None or len(means) != len(samples):
            return None
        return float(sum(mean * drawn for mean, drawn in zip(means, samples, strict=True)))

    @property
    def limit(self) -> int | None:
        """Most tokens of a response."""
        limit = self.evaluation.condition.get("max_tokens") if self.evaluation else None
        return self.run.protocol.get("max_tokens") if limit is None and self.run else limit


def primary(document: Mapping[str, Any], pointer: str) -> Evaluation | None:
    """Return the ``evaluation`` block of a run or base evaluation."""
    block = document.get("evaluation")
    return Evaluation(join(pointer, "evaluation"), block) if block else None


def trained(arm: Arm) -> Iterator[Measurement]:
    """Yield what the arm's finished runs gave after training."""
    for run in arm.finished:
        pointer = join(run.pointer, "method_metrics")
        yield Measurement(pointer, run.metrics, primary(run.document, run.pointer), run)


def untrained(results: Results) -> Iterator[Measurement]:
    """Yield what the base gave: the runs' baseline blocks, then ``base_evaluations``."""
    for run in results.runs:
        if run.baseline:
            yield Measurement(join(run.pointer, "baseline"), run.baseline, None, run)
    for index, entry in enumerate(results.items("base_evaluations")):
        pointer = join("/base_evaluations", index)
        yield Measurement(pointer, entry, primary(entry, pointer), None)


@once
def all_measurements(results: Results) -> tuple[Measurement, ...]:
    """Return those of every arm, then those of the base."""
    return (*(m for arm in results.arms for m in trained(arm)), *untrained(results))


@once
def all_evaluations(results: Results) -> tuple[Evaluation, ...]:
    """Return every evaluation with per-task outcomes, or room for them."""
    of_runs = (evaluation for run in results.runs for evaluation in run.evaluations)
    return (*of_runs, *base_evaluations(results))


def base_evaluations(results: Results) -> Iterator[Evaluation]:
    """Yield the base's evaluations on every benchmark."""
    for index, entry in enumerate(results.items("base_evaluations")):
        pointer = join("/base_evaluations", index)
        first = primary(entry, pointer)
        if first:
            yield first
        for place, block in enumerate(entry.get("evaluations") or []):
            yield Evaluation(join(pointer, "evaluations", place), block)
