"""The checks table: each row with where its figure comes from, or why it was not checked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from audit import numerals
from audit.analysis import Analysis
from audit.finding import Severity
from audit.pages import readings
from audit.pages.deltas import floor_of
from audit.pages.telemetry import clip_activity, reward_values, zero_share
from audit.report import Report
from audit.results import Results, Run

NOT_CHECKED = "not checked"


@dataclass(frozen=True, slots=True)
class Check:
    """One row of the checks table.

    Attributes
    ----------
    id : str
        Short name, by which ``recipe.toml`` may replace the row.
    name : str
        What is checked.
    source : str
        Place in the results file as a JSON Pointer (``*`` for each), or what computed it.
    result : str
        What was found; starts with "not checked" where it could not be.
    """

    id: str
    name: str
    source: str
    result: Any

    @property
    def checked(self) -> bool:
        """Whether the check could be made."""
        return not str(self.result).startswith(NOT_CHECKED)


@dataclass(frozen=True, slots=True)
class Subject:
    """What the rows are made from."""

    results: Results
    analysis: Analysis
    report: Report


Row = tuple[str, str]


def checks(
    results: Results, analysis: Analysis, report: Report, own: Iterable[Mapping[str, Any]] = ()
) -> tuple[Check, ...]:
    """Return the rows: the built-in ones, those of ``own`` replacing the ones they name.

    Parameters
    ----------
    results, analysis, report
    own : iterable of mapping
        The ``checks`` of ``recipe.toml`` with ``id``, ``check``, ``source`` and ``result``.
    """
    subject = Subject(results, analysis, report)
    rows = {slug: Check(slug, name, *make(subject)) for slug, name, make in _BUILT_IN}
    last = {slug: rows.pop(slug) for slug in _LAST}
    for number, row in enumerate(own, 1):
        slug = str(row["id"]) or f"own-{number}"
        name = row["check"] or (rows[slug].name if slug in rows else slug)
        rows[slug] = Check(slug, name, row["source"] or "recipe.toml", row["result"])
    return (*rows.values(), *last.values())


def _eval_noise(subject: Subject) -> Row:
    found = floor_of(subject.analysis)
    sources = {
        "base_evaluations": "/base_evaluations",
        "baseline": "/seed_results/*/baseline",
        "reported": "/reported/run_std",
    }
    return sources.get(getattr(found, "source", ""), "/base_evaluations"), readings.floor(found)


def _holdout(subject: Subject) -> Row:
    block = subject.results.block("holdout")
    if block.get("dropped") is None:
        return "/holdout", f"{NOT_CHECKED}: no train rows were compared with the holdout"
    of = f" of {numerals.count(block['train_rows'])}" if block.get("train_rows") else ""
    against = (
        f" against {numerals.count(block['holdout_rows'])} held out"
        if block.get("holdout_rows")
        else ""
    )
    words = f", {block['ngram']}-grams" if block.get("ngram") else ""
    return "/holdout", f"{numerals.count(block['dropped'])}{of} train rows dropped{against}{words}"


def _reward(subject: Subject) -> Row:
    source = "/seed_results/*/training/*/rewards"
    values = reward_values(subject.results)
    if not values:
        return source, f"{NOT_CHECKED}: no rewards were logged"
    if values <= {0.0, 1.0}:
        return source, "every logged reward is 0 or 1"
    shown = f"{numerals.fraction(min(values), 3)} to {numerals.fraction(max(values), 3)}"
    return source, f"{len(values)} distinct rewards logged, {shown}"


def _proxy(subject: Subject) -> Row:
    source = "/seed_results/*/training/*/rewards"
    values = reward_values(subject.results)
    if values and values <= {0.0, 1.0}:
        return source, (
            "the logged reward is right or wrong, as the metric is; whether one program decides "
            "both is not recorded"
        )
    return source, f"{NOT_CHECKED}: whether the reward is the metric is not recorded"


def _length(subject: Subject) -> Row:
    for unit, mean in (("tokens", _tokens), ("characters", _characters)):
        top = subject.results.arms[0]
        after = [
            (arm.name, mean([run.metrics for run in arm.runs]))
            for arm in (*subject.results.controls, top)
        ]
        known = [f"{name} {numerals.count(round(n))}" for name, n in after if n is not None]
        if known:
            before = mean([run.baseline for run in top.runs])
            start = "" if before is None else f"untrained {numerals.count(round(before))} → "
            key = "generated_tokens" if unit == "tokens" else "mean_response_chars"
            source = f"/seed_results/*/method_metrics/{key}"
            return source, f"mean {unit} an answer: {start}{', '.join(known)}"
    source = "/seed_results/*/method_metrics/generated_tokens"
    return source, f"{NOT_CHECKED}: lengths of the evaluated answers are not recorded"


def _tokens(blocks: list[Mapping[str, Any]]) -> float | None:
    tokens, examples = (_all(blocks, key) for key in ("generated_tokens", "examples"))
    return sum(tokens) / sum(examples) if tokens and examples and sum(examples) else None


def _characters(blocks: list[Mapping[str, Any]]) -> float | None:
    means = _all(blocks, "mean_response_chars")
    return sum(means) / len(means) if means else None


def _all(blocks: list[Mapping[str, Any]], key: str) -> list[float]:
    """Return a number of every block; empty where one lacks it."""
    found = [block.get(key) for block in blocks]
    known = [float(value) for value in found if isinstance(value, int | float)]
    return known if len(known) == len(found) else []


_AUDITS = "/seed_results/*/training/*/updates/*/response_audits"


def _clip(subject: Subject) -> Row:
    found = clip_activity(subject.results)
    if not found:
        return _AUDITS, f"{NOT_CHECKED}: no clip fractions were logged"
    counted = any("clip_activity" in run.document for run in subject.results.runs)
    source = "/seed_results/*/clip_activity" if counted else _AUDITS
    parts = [f"{a.arm} clipped in {a.fired} of {a.could}" for a in found]
    first = found[0]
    text = (
        f"{'; '.join(parts)} {first.unit} that could have shown it "
        f"({numerals.count(sum(a.total for a in found))} in all)"
    )
    if first.arm == subject.results.method and first.could and not first.fired:
        text += f". The mechanism never acted: {first.arm} could not have been tested"
    if not any(a.could for a in found):
        text += ". With one update a batch no clip can act"
    return source, text


def _zero_groups(subject: Subject) -> Row:
    source = "/seed_results/*/sampling"
    shares = [(arm.name, zero_share(arm.finished)) for arm in subject.results.arms]
    known = [
        f"{name} {share[0]} of {share[1]} ({numerals.percent(share[0] / share[1])})"
        for name, share in shares
        if share is not None
    ]
    if not known:
        return source, f"{NOT_CHECKED}: groups without advantage are not recorded"
    return source, "groups of equal rewards, which teach nothing: " + "; ".join(known)


def _alike(subject: Subject) -> Row:
    source = "/seed_results/*/training/0"
    pairs = [
        (run, other)
        for control in subject.results.controls
        for run in subject.results.arms[0].finished
        for other in control.finished
        if run.seed is not None and run.seed == other.seed
    ]
    if not pairs:
        return source, f"{NOT_CHECKED}: no seed stands in both arms"
    starts = [(_start(run), _start(other)) for run, other in pairs]
    if any(None in pair for pair in starts):
        return source, f"{NOT_CHECKED}: the first step or the initial parameters are not recorded"
    same = sum(first == second for first, second in starts)
    return source, f"{same} of {len(pairs)} seeds start alike in both arms (first step's log)"


def _start(run: Run) -> object:
    """Return what a run shows of its start: initial parameters, else its first step."""
    digest = run.document.get("initial_parameters_sha256")
    if digest:
        return digest
    if not run.training or not run.training[0].get("updates"):
        return None
    step, update = run.training[0], run.training[0]["updates"][0]
    shown = (step.get("rewards"), update.get("loss"), update.get("gradient_l2_norm"))
    return None if None in shown else (step.get("training_row"), *shown)


def _compute(subject: Subject) -> Row:
    key = "generated_training_tokens_including_rejected_groups"
    totals = []
    for arm in subject.results.arms:
        tokens = _all([run.sampling for run in arm.finished], key)
        if tokens:
            totals.append((arm.name, sum(tokens)))
    source = f"/seed_results/*/sampling/{key}"
    if len(totals) < 2:
        return source, f"{NOT_CHECKED}: tokens generated in training are not recorded"
    shown = ", ".join(f"{name} {numerals.count(total)}" for name, total in totals)
    most, least = max(t for _, t in totals), min(t for _, t in totals)
    apart = f" ({numerals.percent(most / least - 1)} apart)" if least else ""
    return source, f"tokens generated in training: {shown}{apart}"


def _pins(subject: Subject) -> Row:
    results = subject.results
    checkpoint, dataset = results.block("checkpoint"), results.block("dataset")
    pins = [
        f"{name} {_short(block[key])}"
        for name, block, key in (
            ("model", checkpoint, "revision"),
            ("data", dataset, "source_revision"),
            ("code", results.block("provenance"), "code_commit"),
        )
        if isinstance(block.get(key), str)
    ]
    pins += [f"{name} {version}" for name, version in sorted(versions(results).items())]
    source = "/checkpoint, /dataset, /provenance, /verified/versions"
    seeds = sorted({run.seed for run in results.runs if run.seed is not None})
    if seeds:
        pins.append(f"seeds {', '.join(str(seed) for seed in seeds)}")
    return source, "; ".join(pins) or f"{NOT_CHECKED}: nothing is pinned"


def _short(revision: str) -> str:
    """Shorten a hash; a revision in words stays whole."""
    return revision[:12] if set(revision) <= set("0123456789abcdef") else revision


def versions(results: Results) -> dict[str, str]:
    """Return the package versions a file names: of its verification, else of its runs."""
    found: dict[str, Any] = dict(results.block("verified").get("versions") or {})
    for run in results.runs:
        packages = (run.document.get("environment") or {}).get("packages") or {}
        for name, version in packages.items():
            found.setdefault(name, version)
    return {str(name): str(version) for name, version in found.items()}


def _integrity(subject: Subject) -> Row:
    report = subject.report
    errors, warnings = report.count(Severity.ERROR), report.count(Severity.WARNING)
    return "audit verify", (
        f"{numerals.count(report.held)} relations hold, "
        f"{_number(errors, 'error')}, {_number(warnings, 'warning')}"
    )


def _not_checked(subject: Subject) -> Row:
    entries = subject.report.not_checked
    if not entries:
        return "audit verify", "nothing was left unchecked"
    reasons: dict[str, int] = {}
    for entry in entries:
        reasons[entry.reason] = reasons.get(entry.reason, 0) + 1
    shown = sorted(reasons, key=lambda r: (-reasons[r], r))[:5]
    more = f"; {len(reasons) - 5} more reasons" if len(reasons) > 5 else ""
    listed = "; ".join(f"{r} ({reasons[r]})" if reasons[r] > 1 else r for r in shown)
    return "audit verify -v", f"{_number(len(entries), 'check')} lacked data: {listed}{more}"


def _number(value: int, noun: str) -> str:
    return f"{numerals.count(value)} {noun}" + ("" if value == 1 else "s")


# What sums up the others stands below a study's own rows.
_LAST = ("integrity", "not-checked")
_BUILT_IN: tuple[tuple[str, str, Callable[[Subject], Row]], ...] = (
    ("eval-noise", "Noise of the evaluation, from re-evaluating the base", _eval_noise),
    ("holdout", "Holdout is clean", _holdout),
    ("reward", "Reward", _reward),
    ("proxy", "Proxy and target", _proxy),
    ("length", "Length of the answers", _length),
    ("clip", "Clip activity", _clip),
    ("zero-groups", "Groups without advantage", _zero_groups),
    ("start", "Seeds start alike in both arms", _alike),
    ("compute", "Compute of the arms", _compute),
    ("pins", "Pinned", _pins),
    ("integrity", "The file agrees with itself", _integrity),
    ("not-checked", "Not checked", _not_checked),
)
