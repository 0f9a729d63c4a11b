"""One comparison in words: what was compared, what came out, and on what it rests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from audit import numerals
from audit.analysis.comparisons import Comparison
from audit.analysis.conditions import judged
from audit.analysis.design import Design
from audit.analysis.floors import Floor, NotMeasured
from audit.analysis.numbers import Interval, Numbers
from audit.analysis.remedy_text import seeds_text
from audit.analysis.verdict import Verdict
from audit.analysis.what_settles import figures_unclaimed
from audit.claims import BASE
from audit.facts.conditions import chosen_on
from audit.reasons import words_for
from audit.views.run_view import mean_score, run_views

if TYPE_CHECKING:
    from audit.stats import Remedy

TIMES = "x"
_SEEDS_SHOWN = 20
_GROUPINGS = {"clusters": "with clusters", "stems": "with groups read from task ids"}


def verdict_words(verdict: Verdict) -> str:
    """Return a verdict in words: ``flat: inconclusive, underpowered``.

    Where none can be given the reason is in plain words: ``no verdict: one training seed``.
    """
    if verdict.refused:
        return f"no verdict: {words_for(verdict.detail or 'not-measured')}"
    where = " on this benchmark" if verdict.target == "benchmark" else ""
    more = ", ".join(word for word in (verdict.detail, *verdict.qualifiers) if word)
    return f"{verdict.word}{where}" + (f": {more}" if more else "")


def interval_text(interval: Interval | NotMeasured | None) -> str:
    """Return an interval of a difference in brackets; empty when there is none."""
    if interval is None or isinstance(interval, NotMeasured):
        return ""
    return numerals.interval(interval.low, interval.high, 3)


def reading_text(comparison: Comparison, numbers: Numbers) -> str:
    """Return how answers and tasks entered a test: ``errored as wrong, with clusters``.

    What goes without saying, no errors and every task on its own, is left out.
    """
    reading, aligned = numbers.reading, comparison.aligned
    parts = []
    if aligned is not None and aligned.has_errors:
        parts.append(f"errored {'as wrong' if reading.errors == 'wrong' else reading.errors}")
    if reading.grouping != "tasks":
        parts.append(_GROUPINGS[reading.grouping])
    if reading.missing != "none":
        parts.append(f"missing {reading.missing}")
    return ", ".join(parts)


@dataclass(frozen=True, eq=False)
class ComparisonView:
    """What every surface says of one comparison; each text is made when first asked for.

    Parameters
    ----------
    comparison : Comparison
    """

    comparison: Comparison

    @property
    def title(self) -> str:
        """What is compared: ``dapo over grpo, accuracy on math500``."""
        found = self.comparison
        where = f" on {found.benchmark}" if found.benchmark else ""
        return f"{found.arm} over {found.against}, {found.metric}{where}"

    @property
    def verdict(self) -> str:
        """The verdict in words; an equivalence with its margin."""
        words = verdict_words(self.comparison.verdict)
        margin = f"equivalent within {self.comparison.settings.margin:g}"
        return words.replace("equivalent", margin, 1) if self._equivalent else words

    @property
    def _equivalent(self) -> bool:
        verdict = self.comparison.verdict
        return verdict.word == "flat" and verdict.detail == "equivalent"

    @property
    def delta(self) -> str:
        """The difference with its sign; empty where there is none."""
        value = self.comparison.delta
        return "" if value is None else numerals.signed(value)

    @cached_property
    def shown(self) -> Interval | None:
        """The interval printed beside the difference.

        It is the one the verdict is about; where one training run per arm allows no verdict, the
        interval over tasks or as printed, which leaves the training out; else none.
        """
        found = self.comparison
        if not found.verdict.refused:
            return None if isinstance(found.deciding, NotMeasured) else found.deciding
        interval = found.description.one_seed
        if interval is None or found.delta is None:
            return interval
        # A printed interval that leaves the difference out is of something else.
        return interval if interval.low <= found.delta <= interval.high else None

    @cached_property
    def estimate(self) -> str:
        """Difference and interval: ``+0.061 [0.030, 0.092]``; empty without a difference."""
        return f"{self.delta} {interval_text(self.shown)}".strip() if self.delta else ""

    @cached_property
    def figures(self) -> str:
        """The difference with the level of its interval: ``+0.061, 95% interval [0.030, 0.092]``.

        An interval that leaves the training variance out says so; empty without a difference.
        """
        shown = self.shown
        if not self.delta or shown is None:
            return self.delta
        text = f"{self.delta}, {numerals.level(shown.level)} interval {interval_text(shown)}"
        if shown.about != "these-runs":
            return text
        how = "as printed" if shown.method == "printed" else "over tasks"
        return f"{text} {how}, without the variance between trainings"

    @cached_property
    def means(self) -> str:
        """Both arms' means, the control's first: ``0.412 to 0.473``; empty without scores."""
        ends = [mean_score(side) for side in (self.comparison.control, self.comparison.treatment)]
        if None in ends:
            return ""
        return " to ".join(numerals.fraction(end, 3) for end in ends)

    @cached_property
    def resampled(self) -> tuple[tuple[str, str], ...]:
        """Resampled figures with what was resampled: shown, not judged by; empty without any."""
        found = self.comparison.resampled
        if isinstance(found, NotMeasured):
            return ()
        rows = []
        for label, figure in (
            ("Resampled over tasks", found.percentile),
            ("Resampled over tasks, BCa", found.bca),
            ("Resampled over seeds and tasks", found.two_level),
        ):
            if isinstance(figure, NotMeasured):
                rows.append((label, f"not measured: {figure.reason}"))
            else:
                how = " (normal approximation)" if figure.kind == "normal" else ""
                rows.append((label, numerals.interval(figure.low, figure.high, 3) + how))
        for label, p_value in (
            ("Signs flipped by task", found.sign_flip_p_value),
            ("Runs exchanged between the arms", found.label_p_value),
        ):
            if isinstance(p_value, NotMeasured):
                rows.append((label, f"not measured: {p_value.reason}"))
            else:
                rows.append((label, numerals.p_equals(p_value)))
        return tuple(rows)

    @property
    def runs(self) -> str:
        """Training runs of both arms: ``5 v 5``, ``5 v base``."""
        mine, theirs = self.comparison.seeds
        return f"{mine} v base" if self.comparison.against == BASE else f"{mine} v {theirs}"

    @cached_property
    def tasks(self) -> str:
        """Tasks, answers per task and steps averaged; empty where unknown.

        ``500 tasks x 4``, ``300 tasks x 4 at 5 checkpoints``.
        """
        found = self.comparison
        aligned = found.aligned
        if aligned is None or found.kind == "scores":
            number = found.standing.tasks if found.standing is not None else None
            return "" if number is None else numerals.counted(number, "answer")
        text = numerals.counted(len(aligned.tasks), "task")
        rows = (*aligned.control.samples, *aligned.treatment.samples)
        drawn = set().union(*rows) - {0}
        steps = len(found.measure.checkpoints)
        each = aligned.independent or 0
        if steps > 1 and drawn == {steps * each}:
            text += f" {TIMES} {each}" if each > 1 else ""
        elif len(drawn) == 1 and drawn != {1} and aligned.independent is None:
            text += f" {TIMES} {drawn.pop()}"
        return f"{text} at {steps} checkpoints" if steps > 1 else text

    @property
    def grade(self) -> str:
        """Grade of the evidence that the runs are trainings; empty below two runs per arm."""
        found = self.comparison.evidence
        return "" if found is None else found.grade

    @property
    def graded_runs(self) -> str:
        """The runs with the grade of evidence beside them: ``5 v 5 (B)``."""
        return f"{self.runs} ({self.grade})" if self.grade else self.runs

    @cached_property
    def size(self) -> str:
        """Means, runs and tasks: ``0.412 to 0.473; 5 v 5 runs (B), 500 tasks x 4``."""
        runs = self.runs if self.comparison.against == BASE else f"{self.runs} runs"
        beside = f" ({self.grade})" if self.grade else ""
        paired = ", paired by seed" if self.comparison.paired else ""
        parts = [f"{runs}{beside}{paired}", self.tasks]
        sizes = ", ".join(part for part in parts if part)
        return "; ".join(part for part in (self.means, sizes) if part)

    @cached_property
    def judged_by(self) -> str:
        """Level, target, degrees of freedom and p behind a verdict; empty where there is none."""
        found, shown = self.comparison, self.comparison.deciding
        if found.verdict.refused or found.standing is None or not isinstance(shown, Interval):
            return ""
        about = (
            "new tasks, training included"
            if shown.about == "tasks"
            else "these tasks only, training included"
        )
        text = f"{numerals.level(shown.level)} interval for {about}; df {shown.df or 0:.3g}"
        if shown.p_value is not None:
            text += f", {numerals.p_equals(shown.p_value)}"
        if shown.about == "tasks":
            text += f"; for these tasks only {interval_text(found.interval('benchmark'))}"
        read = reading_text(found, found.standing)
        parts = (text, self.checkpoints, self.chosen, read)
        return "; ".join(part for part in parts if part)

    @cached_property
    def checkpoints(self) -> str:
        """The steps averaged, with the difference at the last of them; empty for one step."""
        last, steps = self.comparison.at_last_step, sorted(self.comparison.measure.checkpoints)
        if last is None:
            return ""
        text = f"mean of {len(steps)} checkpoints, steps {steps[0]} to {steps[-1]}"
        at_end = ComparisonView(last).estimate
        return f"{text}; at the last {at_end}" if at_end else text

    @property
    def chosen(self) -> str:
        """On what the checkpoint was chosen; empty where none was, or not by one rule."""
        sides = (self.comparison.treatment, self.comparison.control)
        found = chosen_on(e for side in sides if side.name != BASE for e in judged(side))
        return f"of the checkpoint chosen on {found[0]}" if len(found) == 1 else ""

    @cached_property
    def other_readings(self) -> str:
        """The readings of the answers that give another word; empty where all agree."""
        found = self.comparison
        parts = [
            f"{reading_text(found, other) or 'errored as wrong, tasks alone'}: "
            f"{other.decision(found.settings).word} {numerals.signed(other.delta)}"
            for other in found.other_words
        ]
        return "; ".join(parts)

    @cached_property
    def reason(self) -> str:
        """Why there is no verdict, in one line with names and numbers; empty where there is one."""
        return self.comparison.verdict.line if self.comparison.verdict.refused else ""

    @cached_property
    def per_seed(self) -> str:
        """The difference at every seed, or both arms' scores where seeds are not shared."""
        found = self.comparison.description
        if found.pairs and (self.comparison.paired or not found.unpaired):
            shown = _capped([f"{p.seed} {numerals.signed(p.delta)}" for p in found.pairs])
            if found.correlation is not None and len(found.pairs) > 2:
                shown.append(f"(correlation of the arms {numerals.signed(found.correlation, 2)})")
            return "    ".join(shown)
        arms = []
        for side in (self.comparison.treatment, self.comparison.control):
            scores = _capped([run.text for run in run_views(side) if run.score is not None])
            arms.append(f"{side.name}: " + ("  ".join(scores) or "no score"))
        return ";   ".join(arms)

    @cached_property
    def left_out(self) -> str:
        """The runs that declared pairing leaves out, and why; empty when none are."""
        alone = self.comparison.description.unpaired if self.comparison.paired else ()
        return "; ".join(f"{one.arm} {one.run}: {one.reason}" for one in alone)

    @cached_property
    def paired(self) -> str:
        """The interval of the differences by seed, which decides nothing; empty below 3 pairs."""
        found = self.comparison.description
        interval = found.paired_t
        if interval is None or len(found.pairs) < 3 or self.comparison.verdict.refused:
            return ""
        around = numerals.interval(interval.low, interval.high, 3)
        text = f"{numerals.signed(interval.mean)} {around}"
        text += f" ({numerals.p_equals(interval.p_value)}) by Student's t"
        if found.unpaired:
            runs = ", ".join(f"{one.arm} {one.run}" for one in found.unpaired[:_SEEDS_SHOWN])
            text += f", {numerals.counted(len(found.pairs), 'shared seed')}; no partner: {runs}"
        return f"{text}; shown, not judged by"

    @cached_property
    def missing(self) -> str:
        """Which outcomes are missing and what they change; empty when none are."""
        aligned = self.comparison.aligned
        if aligned is None or not aligned.missing:
            return ""
        first = aligned.missing[0]
        settings = self.comparison.settings
        ways = [
            f"{numbers.missing}: {numbers.decision(settings).word} {numerals.signed(numbers.delta)}"
            for numbers in self.comparison.numbers
        ]
        number = numerals.counted(len(aligned.missing), "outcome")
        share = numerals.percent(aligned.missing_share, 1)
        place = f"task {first.task} in {first.arm} {first.run}"
        return "; ".join([f"{number} ({share}), the first of {place}", *ways])

    @cached_property
    def errored(self) -> str:
        """The difference with errored answers left out; empty when none errored."""
        numbers = self.comparison.without_errors
        if numbers is None:
            return ""
        word = numbers.decision(self.comparison.settings).word
        return f"counted as wrong above; left out: {word} {numerals.signed(numbers.delta)}"

    @cached_property
    def collapse(self) -> str:
        """How often runs may collapse although none was seen to; empty below two runs per arm."""
        bounds = self.comparison.description.collapse_bound
        sizes = {
            side.name: len(side.runs)
            for side in (self.comparison.treatment, self.comparison.control)
        }
        if len(bounds) == 2 and len(set(bounds.values())) == 1:
            number, bound = next(iter(sizes.values())), next(iter(bounds.values()))
            return f"none of {number} runs per arm; up to {numerals.percent(bound)} could (95%)"
        parts = [
            f"none of {sizes[arm]} {arm} runs; up to {numerals.percent(bound)} could"
            for arm, bound in bounds.items()
        ]
        return f"{'; '.join(parts)} (95%)" if parts else ""

    @cached_property
    def floor(self) -> str:
        """The noise floor with the form often printed beside it, or why there is none."""
        floor = self.comparison.floor
        if not isinstance(floor, Floor):
            return f"unknown: {floor.reason}"
        printed = floor.noise.printed
        if floor.value is None or printed is None:
            return floor.text
        form = numerals.fraction(printed * floor.span, 4)
        return f"{numerals.fraction(floor.value, 4)} ({form} with 1.96)"

    @cached_property
    def training_sd(self) -> str:
        """The spread between training runs with its interval; empty where not measured."""
        design = self.comparison.design
        if not isinstance(design, Design):
            return ""
        spread, span = design.spread, self._span
        around = numerals.interval(spread.low * span, spread.high * span, 3)
        return f"{numerals.fraction(spread.sd * span, 3)} {around}"

    @cached_property
    def published_place(self) -> str:
        """Where the sd of the scores lies among published ones; empty where it cannot be placed."""
        place = self.comparison.published_place
        if isinstance(place, NotMeasured):
            return ""
        usual = place.typical
        sd = numerals.fraction(place.sd, 3)
        quartiles = ", ".join(numerals.fraction(value, 3) for value in usual.quartiles)
        return (
            f"{sd} with evaluation noise: above {place.above} of {usual.arms} {usual.kind} arms "
            f"({usual.sources} sources, {usual.size}; quartiles {quartiles})"
        )

    @cached_property
    def sees(self) -> str:
        """The smallest effect this design sees, in words; empty where not measured."""
        design, span = self.comparison.design, self._span
        if not isinstance(design, Design):
            return ""
        if design.smallest_effect is not None:
            seen = numerals.fraction(design.smallest_effect * span, 3)
            return f"{seen} at 80% power, each arm's training sd at its upper limit"
        at_estimate = design.smallest_effect_at_estimate
        if at_estimate is None:
            return "no effect on this scale at 80% power"
        seen = numerals.fraction(at_estimate * span, 3)
        return f"no effect on this scale ({seen} were the sd as seen)"

    @property
    def goal(self) -> str:
        """The effect that matters: the claim's target, else its margin, else the policy's."""
        return numerals.signed(self.comparison.settings.target_effect)

    @cached_property
    def needs(self) -> str:
        """The seeds that show ``goal`` at 80% power; empty beside a gain or loss."""
        if self.comparison.verdict.word in ("gain", "loss") or self._remedy is None:
            return ""
        text = seeds_text(self._remedy.to_see)
        return f"{text} in a new study" if text else ""

    @cached_property
    def needs_for_seen(self) -> str:
        """The seeds needed if the true difference is the one seen; empty beside a gain or loss."""
        found = self.comparison
        if not found.delta or found.verdict.word in ("gain", "loss"):
            return ""
        return "" if self._remedy is None else seeds_text(self._remedy.if_seen)

    @cached_property
    def _remedy(self) -> Remedy | None:
        return figures_unclaimed(self.comparison)

    @cached_property
    def one_seed(self) -> str:
        """What single runs say, and how little training noise would undo it; mostly empty."""
        interval = self.comparison.description.one_seed
        if interval is None:
            return ""
        origin = {"printed": "as printed", "task-t": "over tasks"}[interval.method]
        return f"{interval_text(interval)} {origin}, for these very models"

    @cached_property
    def tipping(self) -> str:
        """How little training noise would undo a difference of single runs; mostly empty."""
        sd = self.comparison.description.tipping_sd
        if not sd or not self.delta:
            return ""
        return f"a training sd of {numerals.fraction(sd, 4)} per arm would undo {self.delta}"

    @property
    def _span(self) -> float:
        return self.comparison.measure.span or 1.0


def _capped(shown: Sequence[str]) -> list[str]:
    if len(shown) <= _SEEDS_SHOWN:
        return list(shown)
    return [*shown[:_SEEDS_SHOWN], f"and {len(shown) - _SEEDS_SHOWN} more"]
