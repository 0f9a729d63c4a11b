"""``verify``: run the catalogue over a results file and say what was found, and what was not."""

from __future__ import annotations

import datetime
import traceback
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from audit.display import Displayed
from audit.facts.origins import origin_of
from audit.finding import Finding, NotChecked, Severity, Waiver
from audit.pointer import locate, natural_key
from audit.policy import CLAIM_RULES, Policy, today
from audit.reading import Source
from audit.results import Results
from audit.rules import CATALOGUE, Case, CheckResult, Failed, Passed, Rule, Unchecked

if TYPE_CHECKING:
    from audit.analysis import Analysis
    from audit.analysis.study import SpentLook
    from audit.claims import Claim

# More findings of one rule than a person reads; the rest are counted in a last one.
MOST_PER_RULE = 100

# The id of the finding that reports a check that raised.
BUG = "BUG001"


@dataclass(frozen=True, slots=True)
class RuleResult:
    """What one rule said of one file.

    Attributes
    ----------
    rule : str
        Its id.
    passed : int
        Checks that passed.
    failed : int
        Findings, those that only inform left out.
    reasons : tuple of str
        Why it could not be checked, where it could not.
    """

    rule: str
    passed: int
    failed: int
    reasons: tuple[str, ...]

    @property
    def state(self) -> str:
        """``failed`` where anything did, else ``passed``, else ``not checked``."""
        return "failed" if self.failed else "passed" if self.passed else "not checked"

    @property
    def checked(self) -> bool:
        """Whether anything was checked."""
        return self.state != "not checked"


@dataclass(frozen=True, repr=False)
class Report(Displayed):
    """What verifying one file gave.

    Attributes
    ----------
    name, sha256 : str
        The file as the user named it, and the SHA-256 of its bytes.
    found : tuple of Finding
        Worst first, then by rule and place; without line and column, see ``findings``.
    not_checked : tuple of NotChecked
        Checks that lacked their data, with the reason.
    passed : int
        Checks that passed.
    exit_status : int
        0 clean, 1 refused or wrong, 3 a rule raised (a bug of ours).
    rules : tuple of RuleResult
        What each rule that ran said, in the order of the catalogue.
    """

    name: str
    sha256: str
    found: tuple[Finding, ...]
    not_checked: tuple[NotChecked, ...]
    passed: int
    exit_status: int
    case: Case = field(repr=False, compare=False)
    rules: tuple[RuleResult, ...] = ()

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """What was found, with line and column; the text is searched when first asked for."""
        source = self.case.results.source
        if not source.data or not self.found:
            return self.found
        places = locate(source.text, {finding.pointer for finding in self.found})
        return tuple(
            replace(f, line=places[f.pointer][0], column=places[f.pointer][1]) for f in self.found
        )

    def rule(self, identifier: str) -> RuleResult:
        """Return what one rule said; one that did not run was not checked."""
        found = next((result for result in self.rules if result.rule == identifier), None)
        return found or RuleResult(identifier, 0, 0, ("the rule was not selected",))

    @property
    def policy(self) -> Policy:
        """The policy in force for this file."""
        return self.case.policy

    @property
    def analysis(self) -> Analysis | None:
        """The statistics, computed when first asked for; None where the file cannot be used."""
        usable = self.case.results.sound is not None and self.exit_status != 3
        return self.case.analysis if usable else None

    def detached(self, *, located: bool) -> Report:
        """Return the report without the file's content: little to keep, or to send elsewhere.

        Its findings have line and column where ``located`` is set; it has no analysis, and
        nothing of rules that found nothing.
        """
        emptied = Results({}, Source(self.name, b"", self.sha256))
        found = self.findings if located else self.found
        return replace(self, found=found, case=Case(emptied, self.policy), rules=())

    def count(self, severity: Severity) -> int:
        """Return the number of findings of one severity, waived ones left out."""
        return sum(f.severity is severity and f.waiver is None for f in self.found)


def verify(
    results: Results,
    data: str | Path | None = None,
    *,
    artifacts: str | Path | None = None,
    claims: Iterable[Claim] = (),
    policy: Policy | None = None,
    siblings: Iterable[float] = (),
    looked: Iterable[int] = (),
    spent: Iterable[SpentLook] = (),
) -> Report:
    """Check a results file against its contract, itself and the data at hand.

    Parameters
    ----------
    results : Results
        From :func:`audit.load`.
    data : str or Path, optional
        The training data as JSON Lines, to recompute its hashes.
    artifacts : str or Path, optional
        A folder with the checkpoint's files, to recompute theirs.
    claims : iterable of Claim
        Claims to judge beside those of the file.
    policy : Policy, optional
        Limits and waivers; the built-in defaults when left out.
    siblings : iterable of float
        P-values, before Holm's correction, of claims that other files of the same study make.
    looked : iterable of int
        Runs per arm at which the claims were judged before, without a plan, beside those that the
        file says.
    spent : iterable of SpentLook
        Looks that the file does not record and an earlier version of it shows.

    Raises
    ------
    InputError
        When ``data`` or ``artifacts`` cannot be read.
    """
    policy = policy or Policy()
    case = replace(
        _case(results, data, artifacts, tuple(claims), policy),
        siblings=tuple(siblings),
        looked=tuple(looked),
        spent=tuple(spent),
    )
    tally = _Tally()
    for rule in _chosen(policy, claimed=case.claimed):
        tally.run(rule, case)
    found = _sorted(_waived(tally.findings, policy.waivers))
    fails = {"error": Severity.ERROR, "warning": Severity.WARNING}[policy.fail_on]
    refused = any(f.severity >= fails and f.waiver is None for f in found)
    return Report(
        name=results.name,
        sha256=results.sha256,
        found=found,
        not_checked=tuple(tally.not_checked),
        passed=sum(result.passed for result in tally.rules),
        exit_status=3 if tally.raised else int(refused),
        case=case,
        rules=tuple(tally.rules),
    )


def _chosen(policy: Policy, *, claimed: bool) -> tuple[Rule, ...]:
    """Return the rules that run.

    A refused claim fails whatever rules are selected; only a waiver, with a reason, lets it by.
    """
    if not (policy.select or policy.ignore):
        return CATALOGUE
    kept = CLAIM_RULES if claimed else ()
    return tuple(r for r in CATALOGUE if r.id in kept or policy.runs(r.id, r.slug))


def _case(
    results: Results,
    data: str | Path | None,
    artifacts: str | Path | None,
    claims: tuple[Claim, ...],
    policy: Policy,
) -> Case:
    from audit.partition import artifacts_folder, read_data

    return Case(
        results=results,
        policy=policy,
        claims=claims,
        data=None if data is None else read_data(data),
        artifacts=None if artifacts is None else artifacts_folder(artifacts),
    )


class _Tally:
    """Collects what the rules say."""

    def __init__(self) -> None:
        self.findings: list[Finding] = []
        self.not_checked: list[NotChecked] = []
        self.rules: list[RuleResult] = []
        self.raised = False

    def run(self, rule: Rule, case: Case) -> None:
        """Ask one rule; a bug in it must not hide the rest, nor pass."""
        said = _Said()
        try:
            for result in _results(rule, case):
                said.add(result)
        except Exception as error:
            self.raised = True
            self.findings.append(_bug(error))
        failed = 0
        reasons: tuple[str, ...] = ()
        if shown := said.shown():
            self.findings += [_finding(rule, one, case.results) for one in shown]
            failed = said.failed(rule)
        if unchecked := said.unchecked:
            self.not_checked += [
                NotChecked(rule.id, rule.slug, one.reason, one.pointer) for one in unchecked
            ]
            reasons = tuple(one.reason for one in unchecked)
        self.rules.append(RuleResult(rule.id, said.passed, failed, reasons))


class _Said:
    """What one rule says; a flood of findings is counted, not kept."""

    __slots__ = ("_count", "_first", "_last", "passed", "unchecked")

    def __init__(self) -> None:
        self.passed = 0
        self.unchecked: list[Unchecked] = []
        self._first: list[Failed] = []
        self._last: Failed | None = None
        self._count = 0

    def add(self, result: CheckResult) -> None:
        if isinstance(result, Passed):
            self.passed += result.count
        elif isinstance(result, Unchecked):
            self.unchecked.append(result)
        else:
            self._count += 1
            if self._count <= MOST_PER_RULE:
                self._first.append(result)
            else:
                self._last = result

    def failed(self, rule: Rule) -> int:
        """Count what failed, without what only informs."""
        informs = sum(_severity(rule, one) == Severity.INFO for one in self._first)
        return self._count - informs

    def shown(self) -> list[Failed]:
        if self._last is None:
            return self._first
        message = f"and {self._count - MOST_PER_RULE} more like this, the last one here"
        return [*self._first, replace(self._last, message=message)]


def _results(rule: Rule, case: Case) -> Iterable[CheckResult]:
    """Ask a rule; without a sound document only the families that read the text run."""
    if case.results.sound is None and rule.family not in ("READ", "SCHEMA"):
        return (Unchecked("the file breaks its contract, see the schema findings"),)
    return rule.check(case)


def _finding(rule: Rule, found: Failed, results: Results) -> Finding:
    return Finding(
        rule=rule.id,
        slug=rule.slug,
        severity=_severity(rule, found),
        pointer=found.pointer,
        message=found.message,
        expected=found.expected,
        actual=found.actual,
        why=rule.why,
        fix=rule.fix,
        origin=origin_of(results, found.pointer),
    )


def _severity(rule: Rule, found: Failed) -> Severity:
    return rule.severity if found.severity is None else found.severity


def _bug(error: Exception) -> Finding:
    frame = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{Path(frame.filename).name}:{frame.lineno}"
    return Finding(
        rule=BUG,
        slug="audit-failed",
        severity=Severity.ERROR,
        pointer="",
        message=f"a check itself failed: {type(error).__name__}: {str(error)[:120]} ({place})",
        why="This is a bug in audit, not in the file; the gate fails closed.",
        fix="Please report it with the file, if you may share it.",
    )


def _waived(findings: list[Finding], waivers: tuple[Waiver, ...]) -> list[Finding]:
    in_force = [w for w in waivers if datetime.date.fromisoformat(w.expires) >= today()]
    if not in_force:
        return findings
    return [
        replace(finding, waiver=next((w for w in in_force if _covers(w, finding)), None))
        for finding in findings
    ]


def _covers(waiver: Waiver, finding: Finding) -> bool:
    if waiver.rule not in (finding.rule, finding.slug):
        return False
    if waiver.pointer.endswith("/*"):
        return finding.pointer.startswith(waiver.pointer[:-1])
    return finding.pointer == waiver.pointer


def _sorted(findings: list[Finding]) -> tuple[Finding, ...]:
    if findings:
        order = {rule.id: index for index, rule in enumerate(CATALOGUE)}
        order[BUG] = -1
        findings.sort(key=lambda f: (-f.severity, order[f.rule], natural_key(f.pointer), f.message))
    return tuple(findings)
