"""From intervals to a word: gain, loss, flat or refused."""

from __future__ import annotations

from dataclasses import dataclass

from audit.analysis.settings import Settings

FEWEST_FOR_EQUIVALENCE = 3
FEWEST_TASKS = 8
LARGEST_MISSING_SHARE = 0.05
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
        where = " on this benchmark" if self.target == "benchmark" and not self.refused else ""
        more = [word for word in (self.detail, *self.qualifiers) if word]
        word = "no verdict" if self.refused else self.word
        return f"{word}{where}" + (": " + ", ".join(more) if more else "")


@dataclass(frozen=True, slots=True)
class Decision:
    """Word and detail of a verdict before its qualifiers.

    ``too_few_tasks`` is set where only the number of tasks keeps arms from being equivalent,
    ``no_room`` where only the scale does. ``equivalent`` is whether the test of equivalence is
    passed, whatever the word: a small gain can lie wholly inside the margin.
    """

    word: str
    detail: str | None = None
    too_few_tasks: bool = False
    no_room: bool = False
    equivalent: bool = False

    @property
    def strength(self) -> int:
        """Rank from the weakest, inconclusive, upwards."""
        if self.word != "flat":
            return 2
        return 1 if self.detail == "equivalent" else 0


def decide(
    deciding: tuple[float, float],
    narrow: tuple[float, float],
    *,
    settings: Settings,
    tasks: int | None,
    fewest_runs: int,
    room: bool,
    span: float,
) -> Decision:
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
    room : bool
        A difference of the margin either way would lie on the metric's scale.
    span : float
        Width of that scale.

    Notes
    -----
    Equivalence needs 3 / margin tasks: a class of 3 / T of the tasks can be missed entirely.
    """
    low, high = deciding
    margin = settings.margin
    inside = -margin < narrow[0] and narrow[1] < margin and fewest_runs >= FEWEST_FOR_EQUIVALENCE
    enough = tasks is not None and tasks * margin / span >= 3 - 1e-9
    equivalent = inside and enough and room
    if low > 0:
        return Decision("gain", equivalent=equivalent)
    if high < 0:
        return Decision("loss", equivalent=equivalent)
    if equivalent:
        return Decision("flat", "equivalent", equivalent=True)
    return Decision("flat", "inconclusive", too_few_tasks=inside and room, no_room=not room)


def weakest(decisions: list[Decision]) -> Decision:
    """Return the decision that says least; a gain and a loss together say nothing."""
    words = {one.word for one in decisions}
    if {"gain", "loss"} <= words:
        return Decision("flat", "inconclusive")
    return min(decisions, key=lambda one: one.strength)


def size_qualifier(word: str, deciding: tuple[float, float], margin: float) -> str | None:
    """Return whether a gain or loss lies wholly beyond or wholly inside the margin."""
    low, high = deciding if word == "gain" else (-deciding[1], -deciding[0])
    if low > margin:
        return "material"
    return "below-margin" if high < margin else None
