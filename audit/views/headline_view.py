"""What stands above all else on a page: the word, its figures, what to read first, what next."""

from __future__ import annotations

from dataclasses import dataclass

from audit.analysis.verdict import Weakening
from audit.reasons import find_reason, words_for
from audit.views.claim_view import SUPPORTED, UNCLAIMED, ClaimView


@dataclass(frozen=True, slots=True)
class Headline:
    """One claim, or one comparison nobody claims anything about, at the head of a page.

    Attributes
    ----------
    kind : str
        What colours it: ``gain``, ``loss``, ``flat``, ``refused`` or ``open`` (no verdict).
    before, word, after : str
        The word, which is the largest text of a page, with what is smaller before and after it:
        ``flat:``, ``INCONCLUSIVE``, ``claim refused``.
    about : str
        What is claimed or compared.
    figures : str
        Difference and interval with its level; empty where nothing was measured.
    size : str
        Both means, runs with the grade of their evidence, tasks.
    reason : str
        Why it is refused or has no verdict, with names and numbers; empty elsewhere.
    meaning : str
        What the word or the reason means.
    look : str
        At which look of a plan it was judged; empty without one.
    weakened_by : tuple of Weakening
        What to read first.
    next : tuple of str
        What to do next, one act or command each.
    """

    kind: str
    before: str
    word: str
    after: str
    about: str
    figures: str
    size: str
    reason: str
    meaning: str
    look: str
    weakened_by: tuple[Weakening, ...]
    next: tuple[str, ...]

    @property
    def text(self) -> str:
        """The word with what stands around it: ``flat: INCONCLUSIVE, claim refused``."""
        tail = f", {self.after}" if self.after else ""
        return f"{self.before} {self.word}".strip() + tail


def headline(view: ClaimView) -> Headline:
    """Return the head of a page about one claim or comparison."""
    kind, before, word, after = _word(view)
    told = kind in ("refused", "open")
    found = find_reason(view.slug if told else view.detail)
    return Headline(
        kind=kind,
        before=before,
        word=word.upper(),
        after=after,
        about=view.sentence,
        figures=f"seen: {view.figures}" if told and view.figures else view.figures,
        size=view.size,
        reason=view.reason if told else "",
        meaning="" if found is None else found.why,
        look=view.look,
        weakened_by=view.weakened_by,
        next=view.next,
    )


def _word(view: ClaimView) -> tuple[str, str, str, str]:
    """Return the kind, then the word between what stands before and after it."""
    if view.supported:
        return view.word, "", view.direction, SUPPORTED
    if view.word == "flat" and (not view.claimed or view.label == view.detail):
        result = "claim refused" if view.claimed else UNCLAIMED
        margin = view.verdict.partition(f"{view.detail} ")[2].partition(",")[0]
        return "flat", "flat:", view.detail, ", ".join(part for part in (margin, result) if part)
    if view.claimed:
        return "refused", "", "refused", words_for(view.label)
    if view.word == "refused":
        return "open", "", "no verdict", words_for(view.label)
    return view.word, "", view.word, UNCLAIMED
