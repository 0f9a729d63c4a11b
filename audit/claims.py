"""Claims: what a results file, or a person on the command line, says the data shows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import isfinite

from audit.errors import UsageError, did_you_mean
from audit.results import DEFAULT_METRIC, Results
from audit.schema import keys_of

DIRECTIONS = ("gain", "loss", "equivalent", "no loss")
BASE = "base"
GRAMMAR = (
    '"DIRECTION METRIC ARM over ARM [by MARGIN | within MARGIN] [on BENCHMARK] '
    '[at steps N, ...] [for these tasks]"'
)
# Averages over several benchmarks: each benchmark weighs the same, or each task.
OVER_BENCHMARKS, OVER_TASKS = "benchmarks", "tasks"


@dataclass(frozen=True, slots=True)
class Claim:
    """One statement about two arms, written down before the result is known.

    Attributes
    ----------
    direction : str
        ``gain``, ``loss``, ``equivalent`` or ``no loss``: what ``arm`` is said to be against
        ``against``. ``no loss`` is a guardrail: no worse than by ``margin``.
    metric, benchmark : str, str or None
        What is measured; without a benchmark the only one.
    arm, against : str
        Names of arms; ``method`` is the top arm, ``control`` the only control, ``base`` the
        untrained checkpoint.
    margin : float or None
        Smallest difference of interest, on the metric's scale; the policy's when None.
    target_effect : float or None
        Effect the study was designed to see.
    pairing : str
        ``none``, or ``seeds`` where runs at one seed were declared to be pairs.
    target : str or None
        ``tasks`` (new tasks) or ``benchmark`` (these tasks); the policy's when None.
    level : float or None
        Confidence level, where it is above the policy's.
    exceeds : bool
        The whole interval must lie beyond ``margin``: "by MARGIN" on the command line.
    percent : bool
        ``margin`` is in hundredths of the metric's scale.
    benchmarks : tuple of str
        Benchmarks of an average; empty with ``average`` means all of the metric.
    average : str or None
        ``benchmarks`` (each weighs the same), ``tasks`` (each task does), or None.
    checkpoints : tuple of int
        Training steps whose evaluations are averaged; empty for the last.
    id : str
        Name of the claim.
    pointer : str or None
        Its place in the file; None for one from the command line.
    typed : str or None
        The words of a claim from the command line, fitted again to the names of each file.
    unknown_keys : tuple of str
        What the file says of the claim and the contract has no word for: it cannot be judged.
    """

    direction: str
    metric: str
    arm: str
    against: str
    benchmark: str | None = None
    margin: float | None = None
    target_effect: float | None = None
    pairing: str = "none"
    target: str | None = None
    level: float | None = None
    exceeds: bool = False
    percent: bool = False
    benchmarks: tuple[str, ...] = ()
    average: str | None = None
    checkpoints: tuple[int, ...] = ()
    id: str = ""
    pointer: str | None = None
    typed: str | None = None
    unknown_keys: tuple[str, ...] = ()

    @property
    def guardrail(self) -> bool:
        """Whether it asks only for no loss beyond a margin."""
        return self.direction == "no loss"

    @property
    def text(self) -> str:
        """The claim in a sentence, e.g. ``gain in accuracy of recipe over control``."""
        what = f"{self.direction or 'no direction'} in {self.metric}"
        return f"{what} of {self.arm} {self._joint} {self.against}{self._terms}"

    @property
    def typed_text(self) -> str:
        """The claim as one types it, e.g. ``gain accuracy recipe over control``."""
        names = [quoted(name) for name in (self.metric, self.arm)]
        return f"{self.direction} {' '.join(names)} {self._joint} {quoted(self.against)}" + (
            self._terms
        )

    @property
    def _joint(self) -> str:
        return "to" if self.direction == "equivalent" else "over"

    @property
    def _terms(self) -> str:
        terms = ""
        if self.margin is not None and self.direction in ("equivalent", "no loss"):
            terms = f" within {_typed(self.margin)}"
        elif self.margin is not None and self.exceeds:
            terms = f" by {_typed(self.margin)}"
        if terms and self.percent:
            terms += "%"
        terms += self._where
        if self.checkpoints:
            terms += f" at steps {', '.join(map(str, self.checkpoints))}"
        return terms + (" for these tasks" if self.target == "benchmark" else "")

    @property
    def _where(self) -> str:
        names = ", ".join(map(quoted, self.benchmarks))
        if self.average is not None and not names:
            return " on average"
        if self.average == OVER_TASKS:
            return f" on all tasks of {names}"
        if self.average == OVER_BENCHMARKS:
            return f" on the mean of {names}"
        return f" on {quoted(self.benchmark)}" if self.benchmark else ""


def _typed(number: float) -> str:
    """Return a number in the fewest digits that are read back as the same."""
    short = f"{number:g}"
    return short if float(short) == number else repr(number)


def quoted(name: str) -> str:
    """Return a name as a claim writes it: in quotation marks where it would be read otherwise."""
    plain = re.fullmatch(r'[^\s",]+(?: (?!over |to |on |by |within |at |for )[^\s",]+)*', name)
    return name if plain and not _JOINTS.search(name) else f'"{name}"'


@dataclass(frozen=True, slots=True)
class Names:
    """The names a claim about one file may use.

    Attributes
    ----------
    arms, metrics, benchmarks : tuple of str
    """

    arms: tuple[str, ...]
    metrics: tuple[str, ...]
    benchmarks: tuple[str, ...]


_JOINTS = re.compile(r"(?:^|\s)(?:over|to|on|by|within|at steps|for)(?:\s|$)", re.IGNORECASE)
_QUOTED = r'"[^"]+"'
_ANY_METRIC = rf"(?:{_QUOTED}|[^\s\"]+)"
_ANY_NAME = rf'(?:{_QUOTED}|[^"]+?)'
_MADE_METRICS = (r"(?:pass|maj)@\d+", "accuracy-given-parsed")
_SHAPE = (
    r"(?P<direction>no\s+loss|\S+)\s+(?:in\s+)?(?P<metric>{metric})\s+(?:of\s+)?(?P<arm>{arm})"
    r"\s+(?:over|to)\s+(?P<against>{arm})"
    r"(?P<terms>(?:\s+(?:by|within)\s+[^\s%]+\s?%?|\s+on\s+{where}"
    r"|\s+at\s+steps\s+\d+(?:\s*,\s*\d+)*|\s+for\s+(?:these|new)\s+tasks)*)"
)
_LIST = r"{name}(?:\s*,\s*{name})*"
_WHERE = r"(?:average|the\s+mean\s+of\s+{names}|all\s+tasks\s+of\s+{names}|{name})"
_AVERAGES = (
    (r"the\s+mean\s+of\s+", OVER_BENCHMARKS),
    (r"all\s+tasks\s+of\s+", OVER_TASKS),
)
_TERM = (
    r"(?:(?P<how>by|within)\s+(?P<margin>[^\s%]+)\s?(?P<percent>%?)"
    r"|on\s+(?P<where>{where})"
    r"|at\s+steps\s+(?P<steps>\d+(?:\s*,\s*\d+)*)|for\s+(?P<scope>these|new)\s+tasks)"
    r"(?=\s+(?:by|within|on|at\s+steps|for\s+(?:these|new)\s+tasks)\b|\s*$)\s*"
)


def claimed_controls(texts: Iterable[str]) -> frozenset[str]:
    """Return the arms that claims set others against, and that no claim is itself about.

    In lower case, as claims may be typed in any; a claim that cannot be read names none.
    """
    over: set[str] = set()
    about: set[str] = set()
    for text in texts:
        try:
            claim = parse_claim(text)
        except UsageError:
            continue
        over.add(claim.against.casefold())
        about.add(claim.arm.casefold())
    return frozenset(over - about)


def parse_claim(text: str, names: Names | None = None) -> Claim:
    """Read a claim as people type it.

    Parameters
    ----------
    text : str
        ``DIRECTION METRIC ARM over ARM`` with a margin, a benchmark, steps or a scope behind it,
        e.g. ``gain accuracy dapo over grpo by 2% on math500``. Names may hold spaces, and stand
        in quotation marks where they would be read otherwise.
    names : Names, optional
        The names of a file: the longest that fit win, whatever the case of the letters. Without
        them the words are split at ``over`` and what follows.

    Raises
    ------
    UsageError
        When the words do not form a claim.
    """
    words = " ".join(text.split())
    shapes = [] if names is None else [_shape_of(names)]
    shapes.append(_Shape(_ANY_METRIC, _ANY_NAME, _ANY_NAME))
    found = next(((s, m) for s in shapes if (m := s.claim.fullmatch(words))), None)
    if found is None:
        raise UsageError(f"claim {text!r} is not of the form {GRAMMAR}")
    shape, match = found
    direction = " ".join(match["direction"].lower().split())
    if direction not in DIRECTIONS:
        choices = ", ".join(DIRECTIONS)
        raise UsageError(
            f"claim {text!r}: direction must be one of {choices}, not {match['direction']!r}"
            f"{did_you_mean(direction, DIRECTIONS)}"
        )
    claim = Claim(
        direction=direction,
        metric=_named(match["metric"], names.metrics if names else ()),
        arm=_named(match["arm"], names.arms if names else ()),
        against=_named(match["against"], names.arms if names else ()),
        id=text.strip(),
        typed=words,
    )
    benchmarks = names.benchmarks if names else ()
    for term in shape.term.finditer(match["terms"]):
        claim = _with_term(claim, term, text, benchmarks)
    return claim


def fitted(claim: Claim, results: Results) -> Claim:
    """Return a claim from the command line with its words fitted to the names of a file."""
    if claim.typed is None:
        return claim
    again = parse_claim(claim.typed, names_of(results))
    return replace(again, id=claim.id)


def names_of(results: Results) -> Names:
    """Return the names that a claim about a file may use."""
    evaluations = [e for run in results.runs for e in run.evaluations]
    metrics = dict.fromkeys([DEFAULT_METRIC, *results.block("metrics")])
    metrics |= dict.fromkeys(e.metric for e in evaluations)
    metrics |= dict.fromkeys(name for run in results.runs for name in run.metrics)
    benchmarks = dict.fromkeys(e.benchmark for e in evaluations if e.benchmark)
    return Names(
        tuple(dict.fromkeys([*(arm.name for arm in results.arms), "method", "control", BASE])),
        tuple(metrics),
        tuple(benchmarks),
    )


class _Shape:
    """Patterns of a claim and of each term behind its second arm."""

    def __init__(self, metric: str, arm: str, benchmark: str) -> None:
        where = _WHERE.format(names=_LIST.format(name=benchmark), name=benchmark)
        self.claim = re.compile(_SHAPE.format(metric=metric, arm=arm, where=where), re.IGNORECASE)
        self.term = re.compile(_TERM.format(where=where), re.IGNORECASE)


def _shape_of(names: Names) -> _Shape:
    metric = _choice(names.metrics, _MADE_METRICS)
    return _Shape(metric, _choice(names.arms), _choice(names.benchmarks))


def _choice(names: Iterable[str], also: Iterable[str] = ()) -> str:
    """Return a pattern of any of these names, longest first, bare or in quotation marks."""
    escaped = [r"\s+".join(map(re.escape, name.split())) for name in names if name.split()]
    ordered = [*sorted(escaped, key=lambda name: (-len(name), name)), *also]
    if not ordered:
        return r"(?!)"
    return "(?:" + "|".join(f'{name}|"{name}"' for name in ordered) + ")"


def _named(words: str, names: Iterable[str]) -> str:
    """Return the one name of a file that words mean, else the words."""
    bare, known = words.strip(), list(names)
    if bare in known:
        return bare
    if len(bare) > 1 and bare[0] == bare[-1] == '"':
        bare = bare[1:-1]
    for read in (_folded, lambda name: _folded(name).casefold()):
        same = [name for name in known if read(name) == read(bare)]
        if len(same) == 1:
            return same[0]
    return bare


def _folded(name: str) -> str:
    """Return a name with its white space as a claim has it: blanks, one at a time."""
    return " ".join(name.split())


def _with_term(claim: Claim, term: re.Match[str], text: str, known: Sequence[str]) -> Claim:
    """Return the claim with one term that stands behind the second arm."""
    if term["how"]:
        return _with_margin(claim, term, text)
    if term["where"]:
        return _on(claim, term["where"], known)
    if term["steps"]:
        steps = tuple(sorted({int(step) for step in term["steps"].split(",")}))
        return replace(claim, checkpoints=steps)
    return replace(claim, target="benchmark" if term["scope"].lower() == "these" else "tasks")


def _with_margin(claim: Claim, match: re.Match[str], text: str) -> Claim:
    directed = claim.direction in ("gain", "loss")
    if directed and match["how"].lower() == "within":
        raise UsageError(
            f"claim {text!r}: a {claim.direction} lies beyond its margin; write by, not within"
        )
    margin = _margin(match["margin"], text)
    return replace(claim, margin=margin, percent=bool(match["percent"]), exceeds=directed)


def _on(claim: Claim, words: str, known: Sequence[str]) -> Claim:
    """Return the claim on one benchmark, or on an average of several."""
    for opening, average in _AVERAGES:
        match = re.match(opening, words, re.IGNORECASE)
        if match is not None:
            names = tuple(_named(name, known) for name in _listed(words[match.end() :], known))
            return replace(claim, benchmarks=names, average=average)
    if words.lower() == "average" and "average" not in known:
        return replace(claim, average=OVER_BENCHMARKS)
    return replace(claim, benchmark=_named(words, known))


def _listed(words: str, known: Iterable[str]) -> Iterator[str]:
    """Split names at their commas, but not inside a known name or quotation marks."""
    name = rf"{_choice(known)}(?=\s*(?:,|$))|{_QUOTED}|[^,\"]+"
    found = (match[0].strip() for match in re.finditer(name, words, re.IGNORECASE))
    return (name for name in found if name)


def _margin(word: str, text: str) -> float:
    try:
        margin = float(word)
    except ValueError:
        margin = float("nan")
    if not (isfinite(margin) and margin > 0):
        raise UsageError(f"claim {text!r}: margin must be a number above 0, not {word!r}")
    return margin


def claims_of(results: Results) -> tuple[Claim, ...]:
    """Return the claims a results file declares, in its order.

    An entry without ``arm`` speaks of the top arm. One without ``direction``, or without
    ``against`` where there are several other arms, declares nothing that can be judged; it comes
    back with an empty ``direction`` or ``against``, and judging it refuses it.
    """
    return tuple(
        _claim(results, entry, index)
        for index, entry in enumerate(results.items("claims"))
        if isinstance(entry, dict)
    )


def _claim(results: Results, entry: dict[str, object], index: int) -> Claim:
    only = results.controls[0].name if len(results.controls) == 1 else ""

    def number(key: str) -> float | None:
        value = entry.get(key)
        return float(value) if isinstance(value, int | float) else None

    def word(key: str) -> str:
        value = entry.get(key)
        return value if isinstance(value, str) else ""

    def several(key: str) -> list[object]:
        value = entry.get(key)
        return value if isinstance(value, list) else []

    return Claim(
        direction=word("direction"),
        metric=word("metric") or DEFAULT_METRIC,
        arm=word("arm") or results.method,
        against=word("against") or only,
        benchmark=word("benchmark") or None,
        margin=number("by") or number("margin") or None,
        exceeds=number("by") is not None,
        target_effect=number("target_effect") or None,
        pairing=word("pairing") or "none",
        target=word("target") or None,
        level=number("level"),
        benchmarks=tuple(str(name) for name in several("benchmarks")),
        average=word("average") or (OVER_BENCHMARKS if several("benchmarks") else None),
        checkpoints=tuple(int(step) for step in several("checkpoints") if isinstance(step, int)),
        id=word("id") or f"claim {index + 1}",
        pointer=f"/claims/{index}",
        unknown_keys=tuple(key for key in entry if key not in keys_of("claim")),
    )
