"""Train look by look under the declared plan, and stop where the claims are decided."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from audit.errors import UsageError
from audit.facts.plans import FIRST_LOOK
from audit.policy import Policy
from audit.results import from_document
from audit.schema import with_whole_numbers
from audit.training.checks import check_statements

if TYPE_CHECKING:
    from audit.analysis.advice import Advice
    from audit.stats import SequentialPlan
    from audit.training.study_file import StudyFile


@dataclass(frozen=True, slots=True)
class LookTaken:
    """One look: its seeds per arm, what is advised on each claim, and the one word for all.

    ``word`` is None where more runs are not what is missing.
    """

    seeds: int
    most: int
    advice: tuple[Advice, ...]
    word: str | None

    @property
    def record(self) -> dict[str, Any]:
        """The look as an entry of ``looks_taken`` in a results file."""
        return {"seeds": self.seeds, "claims": [_seen(one) for one in self.advice]}


def _seen(advice: Advice) -> dict[str, Any]:
    claim, look = advice.result.claim, advice.result.look
    return {
        "claim": claim.id or claim.text,
        "delta": advice.delta,
        "p_value": advice.p_value,
        "threshold": None if look is None else look.threshold,
        "advice": advice.word,
    }


def plan_of_study(study: StudyFile, path: str) -> SequentialPlan:
    """Return the plan of a study file.

    Raises
    ------
    UsageError
        The study declares no plan or claim, or a plan of other arms or of arms that do not grow
        together.
    InputError
        Its plan or a claim breaks the results file's schema, naming the file and the key.
    """
    from audit.stats import SequentialPlan

    check_statements(study, path)
    block = with_whole_numbers({"plan": study.plan or {}})["plan"]
    most = block.get("maximum") or {}
    if not most or not study.claims:
        raise UsageError(
            "--until decided needs a claim and a plan: audit plan --declare study.toml", path=path
        )
    maxima = {most.get(arm.name, most.get(_role(arm.role))) for arm in study.arms}
    maximum = maxima.pop()
    if maxima or maximum is None:
        raise UsageError("--until decided needs one maximum for all arms of the study", path=path)
    looks = block.get("looks")
    try:
        return SequentialPlan(
            maximum,
            first=looks[0] if looks else block.get("first", FIRST_LOOK),
            looks=tuple(looks) if looks else None,
            level=block.get("level", 0.95),
        )
    except ValueError as error:
        raise UsageError(f"plan: {error}", path=path) from None


_LARGEST_SEED = 2**32 - 1  # of NumPy


def _role(role: str) -> str:
    return "method" if role == "method" else "control"


def seeds_for(study: StudyFile, most: int) -> tuple[int, ...]:
    """Return so many training seeds: those of the study, then new ones, first those above them."""
    above = range(max(study.seeds) + 1, _LARGEST_SEED + 1)
    below = (seed for seed in range(max(study.seeds)) if seed not in study.seeds)
    return tuple(islice(chain(study.seeds, above, below), most))


def until_decided(
    plan: SequentialPlan,
    seeds: tuple[int, ...],
    train: Callable[[tuple[int, ...]], Mapping[str, Any]],
    policy: Policy | None = None,
) -> Iterator[LookTaken]:
    """Train up to each look, yield what it says, and go on while training on is advised.

    Parameters
    ----------
    plan : SequentialPlan
    seeds : tuple of int
        Training seeds, as many as the plan has at most.
    train : callable
        Trains what is missing for these seeds in every arm, writes the results and returns them.
    policy : Policy, optional
    """
    from audit.analysis.advice import TRAIN_ON, advise, overall

    for look in plan.planned:
        document = dict(train(seeds[:look]))
        advice = advise(from_document(document), policy=policy)
        word = None if any(one.word is None for one in advice) else overall(advice)
        yield LookTaken(look, plan.most, advice, word)
        if word != TRAIN_ON:
            return
