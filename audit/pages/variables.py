"""Everything a template may show of one study, gathered from its file and its statistics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

from audit import numerals
from audit.analysis import Analysis, Floor, NotMeasured, analyse
from audit.facts.clip_activity import ClipActivity, clip_activity
from audit.facts.pins import versions
from audit.finding import Severity
from audit.pages import rounds
from audit.pages.arms import SeedRow, ShownArm, arms, seed_rows, total_cost
from audit.pages.check_table import CheckRow, checks
from audit.pages.deltas import Delta, claims, deltas, floor_of, heads
from audit.pages.prose import computed
from audit.pages.recipe import Recipe
from audit.pages.rounds import ShownReplication, ShownRound
from audit.policy import Policy
from audit.reasons import words_for
from audit.report import Report, verify
from audit.results import Results
from audit.views.claim_view import ClaimView
from audit.views.decision_view import decision_view
from audit.views.finding_view import grouped
from audit.views.headline_view import Headline


@dataclass(frozen=True, slots=True)
class Noise:
    """The noise floor of the evaluation, from re-evaluations of the untrained model.

    Attributes
    ----------
    known : bool
        Whether there is a floor; identical evaluations give none.
    runs : int
        Evaluations of the base.
    run_std : float or None
        Standard deviation of their scores (ddof 1).
    value : float or None
        The floor that counts, for a difference of two single evaluations.
    printed : float or None
        1.96·√2·run_std, as it is often printed; too small at few evaluations.
    t_form : float or None
        The same with Student's quantile.
    reason : str
        Why there is no floor.
    """

    known: bool
    runs: int
    run_std: float | None
    value: float | None
    printed: float | None
    t_form: float | None
    reason: str


@dataclass(frozen=True, slots=True)
class Verified:
    """Who repeated the study last.

    Attributes
    ----------
    date, by, url : str
        Empty where not recorded; the date is the file's, never today's.
    usd : float or None
    versions : dict of str
    """

    date: str
    by: str
    url: str
    usd: float | None
    versions: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ShownFinding:
    """What one rule found, in one place of the file or several.

    Attributes
    ----------
    rule, slug, severity, message : str
        The message is that of the first place.
    places : tuple of str
        JSON Pointers of the first places; empty text is the whole file.
    more : int
        Further places.
    """

    rule: str
    slug: str
    severity: str
    message: str
    places: tuple[str, ...]
    more: int


@dataclass(frozen=True)
class Variables:
    """What templates and prose may name.

    Attributes
    ----------
    method : str
        Name of the top arm.
    file : str
        Name of the results file, without its folder.
    folder : str
        Folder of the results file, from the page.
    sha256 : str
        SHA-256 of the results file's bytes.
    model, data : str
        Public ids of the checkpoint and the data set; empty where not recorded.
    metric : str
        What the score is called.
    benchmark : str
        Benchmark of the first comparison; empty where not recorded.
    arms : tuple of ShownArm
        The untrained model, the controls, then the top arm.
    seed_rows : tuple of SeedRow
        Every seed's runs, arm by arm in the order of ``arms`` without the untrained model.
    total_minutes : float or None
        Training time of all runs; None where one has no record.
    total_usd : float or None
        Cost of all runs and of the base's own evaluations; None where one has no record.
    devices : tuple of str
        Hardware the runs name.
    headline : Delta or None
        The comparison the page is about: the first claim's, else the top arm against its control.
    deltas : tuple of Delta
        All comparisons.
    claims : tuple of ClaimView
    noise : Noise
    rounds : tuple of Round
    replications : tuple of Replication
    clip : tuple of ClipActivity
        By arm, where clip fractions were logged.
    heads : tuple of Headline
        What a page says first: the claims, else what was compared, refused ones first.
    decision : str
        Ship, discuss or don't, and because of what; empty where no claim is guarded.
    policy : str
        What the study was judged by: the name of a policy file, or the built-in defaults.
    findings : tuple of ShownFinding
        Errors and warnings of ``audit verify`` by rule, worst first.
    versions : dict of str
        Versions of packages, by name.
    verified : Verified or None
    results : dict
        The results file as read.
    level, margin : float
        Confidence level and margin of the policy in force.
    """

    method: str
    file: str
    folder: str
    sha256: str
    model: str
    data: str
    metric: str
    benchmark: str
    arms: tuple[ShownArm, ...]
    seed_rows: tuple[SeedRow, ...]
    total_minutes: float | None
    total_usd: float | None
    devices: tuple[str, ...]
    headline: Delta | None
    deltas: tuple[Delta, ...]
    claims: tuple[ClaimView, ...]
    noise: Noise
    rounds: tuple[ShownRound, ...]
    replications: tuple[ShownReplication, ...]
    clip: tuple[ClipActivity, ...]
    heads: tuple[Headline, ...]
    decision: str
    policy: str
    findings: tuple[ShownFinding, ...]
    versions: Mapping[str, str]
    verified: Verified | None
    results: Mapping[str, Any]
    level: float
    margin: float
    source: Results = field(repr=False)
    analysis: Analysis = field(repr=False)
    report: Report = field(repr=False)
    recipe: Recipe = field(repr=False)

    @cached_property
    def prose(self) -> dict[str, Any]:
        """The strings of ``recipe.toml`` with their expressions computed, absent keys empty."""
        return computed(self.recipe, self.for_prose())

    @cached_property
    def checks(self) -> tuple[CheckRow, ...]:
        """The rows of the checks table."""
        return checks(self.source, self.analysis, self.report, self.prose["checks"])

    @cached_property
    def notices(self) -> tuple[str, ...]:
        """What a reader must know first: conflicts, one seed, no mechanism."""
        return tuple(notices(self))

    def for_prose(self) -> dict[str, Any]:
        """Return what expressions in prose may name."""
        hidden = ("source", "analysis", "report", "recipe")
        named = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in hidden}
        return named | {"arm": {arm.name: arm for arm in self.arms}}

    def for_template(self) -> dict[str, Any]:
        """Return what a template may name beside the figures."""
        return self.for_prose() | {
            "prose": self.prose,
            "checks": self.checks,
            "notices": self.notices,
        }


def gather(results: Results, policy: Policy, recipe: Recipe, folder: str = "") -> Variables:
    """Compute what a page shows of one study.

    Parameters
    ----------
    results : Results
    policy : Policy
    recipe : Recipe
        The study's prose.
    folder : str
        Folder of the results file as seen from the page, for links.
    """
    report = verify(results, policy=policy)
    analysis = report.analysis or analyse(results, policy=policy)
    labels = recipe.content.get("labels") or {}
    compared = deltas(analysis, labels)
    measure = analysis.comparisons[0].measure if analysis.comparisons else None
    measure = measure or next(iter(analysis.measures), None)
    shown = arms(results, analysis, measure, labels)
    return Variables(
        method=results.method,
        file=results.name.replace("\\", "/").rpartition("/")[2],
        folder=folder,
        sha256=results.sha256,
        model=_text(results.block("checkpoint").get("public_id")),
        data=_text(results.block("dataset").get("source_id")),
        metric=str(recipe.content.get("score") or (measure.name if measure else "score")),
        benchmark=_text(measure.benchmark if measure else None),
        arms=shown,
        seed_rows=seed_rows(shown),
        total_minutes=_total_minutes(shown),
        total_usd=_total_usd(results),
        devices=_devices(results),
        headline=compared[0] if compared else None,
        deltas=compared,
        claims=claims(analysis),
        noise=_noise(floor_of(analysis)),
        rounds=rounds.rounds(results, labels),
        replications=rounds.replications(analysis),
        clip=clip_activity(results),
        heads=heads(analysis),
        decision="" if analysis.decision is None else decision_view(analysis.decision).line,
        policy=policy.source.replace("\\", "/").rpartition("/")[2],
        findings=_findings(report),
        versions=versions(results),
        verified=_verified(results),
        results=results.usable,
        level=policy.level,
        margin=policy.margin,
        source=results,
        analysis=analysis,
        report=report,
        recipe=recipe,
    )


def _total_minutes(shown: tuple[ShownArm, ...]) -> float | None:
    trained = [arm.minutes for arm in shown if not arm.is_base]
    known = [minutes for minutes in trained if minutes is not None]
    return sum(known) if known and len(known) == len(trained) else None


def _total_usd(results: Results) -> float | None:
    spent = (*results.items("base_evaluations"), *(run.document for run in results.runs))
    return total_cost(spent, "usd")


def _devices(results: Results) -> tuple[str, ...]:
    named = {(run.document.get("cost") or {}).get("device") for run in results.runs}
    return tuple(sorted(device for device in named if isinstance(device, str)))


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _verified(results: Results) -> Verified | None:
    block = results.block("verified")
    if not block:
        return None
    return Verified(
        date=_text(block.get("date")),
        by=_text(block.get("by")),
        url=_text(block.get("url")),
        usd=block.get("usd"),
        versions={str(k): str(v) for k, v in (block.get("versions") or {}).items()},
    )


def _noise(floor: Floor | NotMeasured) -> Noise:
    if isinstance(floor, NotMeasured):
        return Noise(False, 0, None, None, None, None, floor.reason)
    noise, span = floor.noise, floor.span

    def scaled(value: float | None) -> float | None:
        return None if value is None else value * span

    return Noise(
        known=noise.value is not None,
        runs=noise.runs,
        run_std=scaled(noise.run_std),
        value=scaled(noise.value),
        printed=scaled(noise.printed),
        t_form=scaled(noise.t_form),
        reason="" if noise.value is not None else floor.text,
    )


def _findings(report: Report) -> tuple[ShownFinding, ...]:
    told = grouped(
        f for f in report.findings if f.severity >= Severity.WARNING and f.waiver is None
    )
    return tuple(
        ShownFinding(
            group.first.rule,
            group.first.slug,
            group.severity.label,
            group.first.message,
            group.shown_places(),
            group.places - len(group.shown_places()),
        )
        for group in told
    )


def notices(variables: Variables) -> list[str]:
    """Return what must be read first."""
    found = [rounds.conflict_line(pair) for pair in variables.replications if pair.conflict]
    found += _one_seed(variables)
    for clip in variables.clip:
        if clip.arm == variables.method and clip.could and not clip.fired:
            found.append(
                f"The mechanism never acted: {clip.arm} clipped in {clip.fired} of the "
                f"{clip.could} {clip.unit} that could have shown it. "
                "A run whose mechanism never acts cannot test it."
            )
    errors = variables.report.count(Severity.ERROR)
    if errors:
        found.append(
            f"audit verify finds {numerals.counted(errors, 'error')} in this file; see Checks."
        )
    return found


def _one_seed(variables: Variables) -> list[str]:
    short = [arm for arm in variables.arms if not arm.is_base and arm.seeds == 1]
    if not short or any(head.after == words_for("one-seed") for head in variables.heads):
        return []  # nothing to add to the head of the page
    trained = [arm for arm in variables.arms if not arm.is_base]
    whose = (
        "Each arm has"
        if len(short) == len(trained)
        else ", ".join(a.label for a in short) + (" has" if len(short) == 1 else " have")
    )
    return [
        f"{whose} one training seed. A delta between single runs mixes the recipe's effect with "
        "the luck of training, and no interval over tasks can separate the two: treat it as "
        "anecdotal."
    ]
