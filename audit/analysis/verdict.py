"""From intervals to a word: gain, loss, flat or refused."""

from __future__ import annotations

from dataclasses import dataclass

from audit.analysis.settings import Settings
from audit.reasons import words_for

FEWEST_FOR_EQUIVALENCE = 3
FEWEST_TASKS = 8
LARGEST_MISSING_SHARE = 0.05
LARGEST_CLUSTER_IMBALANCE = 3
LARGEST_SD_RATIO = 3


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why no verdict is given: a slug, and one line with the names and numbers."""

    reason: str
    line: str


@dataclass(frozen=True, slots=True)
class Weakening:
    """What weakens a supported claim: a slug of the table of reasons or of a rule, and a line."""

    slug: str
    text: str


@dataclass(frozen=True, slots=True)
class LookTaken:
    """Which look of a plan a claim was judged at.

    Attributes
    ----------
    seeds : int
        Training runs per arm at this look.
    first, maximum : int or None
        The first look and the most seeds of the plan; None for a look without a plan.
    p : float
        The p-value that is held against ``threshold``.
    threshold : float
        What p must be below at this look.
    next : int or None
        Seeds per arm of the next look; None where this is the last one.
    next_threshold : float or None
        What p must be below there.
    """

    seeds: int
    first: int | None
    maximum: int | None
    p: float
    threshold: float
    next: int | None = None
    next_threshold: float | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """The word about one comparison.

    Attributes
    ----------
    word : str
        ``gain``, ``loss``, ``flat`` or ``refused``.
    detail : str or None
        ``equivalent`` or ``inconclusive`` beside flat, the reason beside refused.
    qualifiers : tuple of str
    target : str
        ``tasks`` (new tasks like these) or ``benchmark`` (these tasks).
    line : str
        Beside refused: what is missing, in one line.
    """

    word: str
    detail: str | None = None
    qualifiers: tuple[str, ...] = ()
    target: str = "tasks"
    line: str = ""

    @property
    def refused(self) -> bool:
        """Whether no verdict could be given."""
        return self.word == "refused"

    @property
    def text(self) -> str:
        """The verdict with its slugs: ``flat on this benchmark: inconclusive, underpowered``."""
        return self._joined(self.detail)

    @property
    def words(self) -> str:
        """The same with a refusal's reason in words: ``refused: one training seed``."""
        detail = self.detail
        return self._joined(words_for(detail or "") if self.refused else detail)

    def _joined(self, detail: str | None) -> str:
        where = " on this benchmark" if self.target == "benchmark" and not self.refused else ""
        more = [word for word in (detail, *self.qualifiers) if word]
        return f"{self.word}{where}" + (": " + ", ".join(more) if more else "")


@dataclass(frozen=True, slots=True)
class Outcome:
    """Word and detail of a verdict before its qualifiers.

    ``too_few_tasks`` is set where only the number of tasks keeps arms from being equivalent.
    """

    word: str
    detail: str | None = None
    too_few_tasks: bool = False

    @property
    def strength(self) -> int:
        """Rank from the weakest, inconclusive, upwards."""
        if self.word != "flat":
            return 2
        return 1 if self.detail == "equivalent" else 0


def outcome(
    deciding: tuple[float, float],
    narrow: tuple[float, float],
    *,
    settings: Settings,
    tasks: int | None,
    fewest_runs: int,
) -> Outcome:
    """Return the word for an interval of improvements.

    Parameters
    ----------
    deciding : tuple of float
        Interval at the declared level; above 0 is better.
    narrow : tuple of float
        Interval at twice the level less one, for equivalence.
    settings : Settings
    tasks : int or None
        Independent tasks; None where unknown.
    fewest_runs : int
        Training runs of the smaller arm.

    Notes
    -----
    Equivalence needs 3 / margin tasks: a class of 3 / T of the tasks can be missed entirely.
    """
    low, high = deciding
    if low > 0:
        return Outcome("gain")
    if high < 0:
        return Outcome("loss")
    margin = settings.margin
    inside = -margin < narrow[0] and narrow[1] < margin and fewest_runs >= FEWEST_FOR_EQUIVALENCE
    enough = tasks is not None and tasks * margin >= 3 - 1e-9
    if inside and enough:
        return Outcome("flat", "equivalent")
    return Outcome("flat", "inconclusive", too_few_tasks=inside)


def weakest(outcomes: list[Outcome]) -> Outcome:
    """Return the outcome that says least; a gain and a loss together say nothing."""
    words = {o.word for o in outcomes}
    if {"gain", "loss"} <= words:
        return Outcome("flat", "inconclusive")
    return min(outcomes, key=lambda o: o.strength)


def size_qualifier(word: str, deciding: tuple[float, float], margin: float) -> str | None:
    """Return whether a gain or loss lies wholly beyond or wholly inside the margin."""
    low, high = deciding if word == "gain" else (-deciding[1], -deciding[0])
    if low > margin:
        return "material"
    return "below-margin" if high < margin else None
