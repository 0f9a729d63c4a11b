"""The checks table: each row with where its figure comes from, or why it was not checked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from audit import numerals
from audit.analysis import Analysis
from audit.facts.clip_activity import clip_activity
from audit.facts.conditions import changed_fields
from audit.facts.curves import reward_values
from audit.facts.groups import groups_of_arm
from audit.facts.lengths import (
    characters_before,
    characters_per_response,
    tokens_before,
    tokens_per_response,
)
from audit.facts.pins import pins, unpinned, versions
from audit.facts.starts import starts
from audit.facts.tokens import GENERATED, spent
from audit.facts.training_logs import read_logs
from audit.finding import Severity
from audit.pages import readings
from audit.pages.deltas import floor_of
from audit.report import Report
from audit.results import Results, Run
from audit.safetext import shortened

NOT_CHECKED = "not checked"


@dataclass(frozen=True, slots=True)
class CheckRow:
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
) -> tuple[CheckRow, ...]:
    """Return the rows: the built-in ones, those of ``own`` replacing the ones they name.

    Parameters
    ----------
    results, analysis, report
    own : iterable of mapping
        The ``checks`` of ``recipe.toml`` with ``id``, ``check``, ``source`` and ``result``.
    """
    subject = Subject(results, analysis, report)
    rows = {
        slug: CheckRow(slug, name, *_judged(subject, slug, make)) for slug, name, make in _BUILT_IN
    }
    last = {slug: rows.pop(slug) for slug in _LAST}
    for number, row in enumerate(own, 1):
        slug = str(row["id"]) or f"own-{number}"
        name = row["check"] or (rows[slug].name if slug in rows else slug)
        rows[slug] = CheckRow(slug, name, row["source"] or "recipe.toml", row["result"])
    return (*rows.values(), *last.values())


def _judged(subject: Subject, slug: str, make: Callable[[Subject], Row]) -> Row:
    """Return a row with the finding of the rule that judges the same fact, where it has one."""
    source, result = make(subject)
    rule = _RULES.get(slug)
    if rule is not None and subject.report.rule(rule).state == "failed":
        result = f"{result} (see {rule} below)"
    return source, result


def _eval_noise(subject: Subject) -> Row:
    found = floor_of(subject.analysis)
    sources = {
        "base_evaluations": "/base_evaluations",
        "baseline": "/seed_results/*/baseline",
        "reported": "/reported/run_std",
    }
    return sources.get(getattr(found, "source", ""), "/base_evaluations"), readings.floor(found)


def _change(subject: Subject) -> Row:
    source, fields = "/change/fields", changed_fields(subject.results)
    if not fields:
        return source, f"{NOT_CHECKED}: what the arms differ in is not declared"
    mechanism = subject.results.block("change").get("mechanism")
    acts = f"; acts through: {mechanism}" if mechanism else ""
    return source, f"{shortened(', '.join(fields), 200)}{acts}"


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
    results = subject.results
    told: dict[str, list[str]] = {}
    for arm in (*results.controls, results.arms[0]):
        for line in dict.fromkeys(map(_rewarded, arm.runs)):
            told.setdefault(line, []).append(arm.name)
    if set(told) - {_UNRECORDED}:
        source = ", ".join(f"/seed_results/*/{key}" for key in _REWARDED)
        return source, "; ".join(f"{', '.join(names)} {line}" for line, names in told.items())
    source = "/seed_results/*/training/*/rewards"
    values = reward_values(subject.results)
    if values and values <= {0.0, 1.0}:
        return source, (
            "the logged reward is right or wrong, as the metric is; whether one program decides "
            "both is not recorded"
        )
    return source, f"{NOT_CHECKED}: whether the reward is the metric is not recorded"


_REWARDED = ("protocol/reward", "protocol/grader", "rewards")
_UNRECORDED = "not recorded"


def _rewarded(run: Run) -> str:
    """Say what a run was rewarded by and what its evaluation grades by."""
    reward, grader = run.protocol.get("reward"), run.protocol.get("grader")
    parts = run.document.get("rewards") or ()
    if parts and all(part.get("function") == grader for part in parts):
        reward = grader  # by whatever weight
    elif parts and reward in (None, grader):
        reward = " + ".join(f"{p.get('weight', 1):g} {p.get('name', 'unnamed')}" for p in parts)
    if not isinstance(reward, str) or not isinstance(grader, str):
        return _UNRECORDED
    graded = f"graded by {shortened(grader, 80)}"
    if reward == grader:
        return f"rewarded and {graded}"
    return f"rewarded by {shortened(reward, 80)}, {graded}"


def _surface(subject: Subject) -> Row:
    source = "/seed_results/*/surface_scan"
    results = subject.results
    scans = [
        (arm.name, [run.document["surface_scan"] for run in arm.runs if _scanned(run)])
        for arm in (*results.controls, results.arms[0])
    ]
    blocks = [block for _, found in scans for block in found]
    if not blocks:
        return source, f"{NOT_CHECKED}: what the reward correlates with is not recorded"
    of = f"{numerals.count(sum(block['responses'] for block in blocks))} training responses"
    if len(blocks) < len(results.runs):
        of += f" of {len(blocks)} of {len(results.runs)} runs"
    strongest = [f"{name} {_strongest(found)}" for name, found in scans if found]
    shown = ", ".join(strongest)
    return source, f"strongest correlation of a surface feature with the reward: {shown} ({of})"


def _scanned(run: Run) -> bool:
    return bool((run.document.get("surface_scan") or {}).get("responses"))


def _strongest(scans: Iterable[Mapping[str, Any]]) -> str:
    """Return the feature of an arm's runs that correlates most, with its correlation."""
    features = [one for scan in scans for one in scan.get("features") or ()]
    known = [
        (one["correlation"], one["feature"])
        for one in features
        if "correlation" in one and "feature" in one
    ]
    if not known:
        return "none"
    correlation, feature = max(known, key=lambda one: abs(one[0]))
    return f"{shortened(feature, 40)} {numerals.signed(correlation, 2)}"


def _length(subject: Subject) -> Row:
    results = subject.results
    top = results.arms[0]
    sources, parts = [], []
    for unit, key, mean, before in (
        ("tokens", "generated_tokens", tokens_per_response, tokens_before(results)),
        ("characters", "mean_response_chars", characters_per_response, characters_before(results)),
    ):
        after = [(arm.name, mean(arm)) for arm in (*results.controls, top)]
        known = [f"{name} {numerals.count(round(n))}" for name, n in after if n is not None]
        if known:
            start = "" if before is None else f"untrained {numerals.count(round(before))} → "
            sources.append(f"/seed_results/*/method_metrics/{key}")
            parts.append(f"mean {unit} per answer: {start}{', '.join(known)}")
    if parts:
        return ", ".join(sources), "; ".join(parts)
    source = "/seed_results/*/method_metrics/generated_tokens"
    return source, f"{NOT_CHECKED}: lengths of the evaluated answers are not recorded"


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
        text += ". With one update per batch no clip can act"
    return source, text


def _zero_groups(subject: Subject) -> Row:
    source = "/seed_results/*/sampling"
    counts = [(log.arm.name, groups_of_arm(log)) for log in read_logs(subject.results)]
    known = [
        f"{name} {count.without} of {count.drawn} ({numerals.percent(count.share)})"
        for name, count in counts
        if count is not None
    ]
    if not known:
        return source, _unchecked(subject, "MECH002")
    return source, "groups of equal rewards, which teach nothing: " + "; ".join(known)


def _alike(subject: Subject) -> Row:
    source, found = "/seed_results/*/training/0", starts(subject.results)
    logged = [start for start in found if start.logged]
    hashed = [start.hashes for start in found if start.hashes is not None]
    if logged and subject.report.rule("START001").checked:
        alike, of, by = (
            sum(not start.differences for start in logged),
            len(logged),
            "first step's log",
        )
    elif hashed:
        alike, of = sum(one == other for one, other in hashed), len(hashed)
        by = "initial parameters"
    else:
        return source, _unchecked(subject, "START001")
    return source, f"{alike} of {of} seeds start alike in both arms ({by})"


def _unchecked(subject: Subject, rule: str) -> str:
    """Return a cell that says why a rule could not check anything."""
    return f"{NOT_CHECKED}: {'; '.join(subject.report.rule(rule).reasons)}"


def _compute(subject: Subject) -> Row:
    source = f"/seed_results/*/sampling/{GENERATED}"
    counts = [(arm.name, spent(arm)) for arm in subject.results.arms]
    totals = [(name, sum(tokens)) for name, tokens in counts if tokens is not None]
    if len(totals) < 2:
        return source, f"{NOT_CHECKED}: tokens generated in training are not recorded"
    shown = ", ".join(f"{name} {numerals.count(total)}" for name, total in totals)
    most, least = max(t for _, t in totals), min(t for _, t in totals)
    apart = f" ({numerals.percent(most / least - 1)} apart)" if least else ""
    return source, f"tokens generated in training: {shown}{apart}"


def _pins(subject: Subject) -> Row:
    results = subject.results
    pinned = [f"{name} {_short(revision)}" for name, revision in pins(results).items()]
    pinned += [f"{name} {version}" for name, version in sorted(versions(results).items())]
    source = "/checkpoint, /dataset, /provenance, /verified/versions"
    seeds = sorted({run.seed for run in results.runs if run.seed is not None})
    if seeds:
        pinned.append(f"seeds {', '.join(str(seed) for seed in seeds)}")
    missing = [what for _, what in unpinned(results)]
    if not pinned:
        return source, f"{NOT_CHECKED}: nothing is pinned; missing: {', '.join(missing)}"
    return source, "; ".join(pinned) + (f". Not pinned: {', '.join(missing)}" if missing else "")


def _short(revision: str) -> str:
    """Shorten a hash; a revision in words stays whole."""
    return revision[:12] if set(revision) <= set("0123456789abcdef") else revision


def _integrity(subject: Subject) -> Row:
    report = subject.report
    errors, warnings = report.count(Severity.ERROR), report.count(Severity.WARNING)
    return "audit verify", (
        f"{numerals.count(report.passed)} checks passed, "
        f"{numerals.counted(errors, 'error')}, {numerals.counted(warnings, 'warning')}"
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
    return (
        "audit verify -v",
        f"{numerals.counted(len(entries), 'check')} lacked data: {listed}{more}",
    )


# The rules that judge what a row shows.
_RULES = {
    "change": "PROTO003",
    "eval-noise": "BASE001",
    "holdout": "LEAK005",
    "length": "CONF001",
    "clip": "MECH001",
    "zero-groups": "MECH002",
    "start": "START001",
    "compute": "COMP001",
    "pins": "PROV003",
}
# What sums up the others comes below a study's own rows.
_LAST = ("integrity", "not-checked")
_BUILT_IN: tuple[tuple[str, str, Callable[[Subject], Row]], ...] = (
    ("change", "Settings changed on purpose", _change),
    ("eval-noise", "Noise of the evaluation, from re-evaluating the base", _eval_noise),
    ("holdout", "Holdout is clean", _holdout),
    ("reward", "Reward", _reward),
    ("proxy", "Proxy and target", _proxy),
    ("surface-scan", "Surface of the rewarded responses", _surface),
    ("length", "Length of the answers", _length),
    ("clip", "Clip activity", _clip),
    ("zero-groups", "Groups without advantage", _zero_groups),
    ("start", "Seeds start alike in both arms", _alike),
    ("compute", "Compute of the arms", _compute),
    ("pins", "Pinned", _pins),
    ("integrity", "The file agrees with itself", _integrity),
    ("not-checked", "Not checked", _not_checked),
)
