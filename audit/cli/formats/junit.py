"""JUnit XML: a suite a file, a test case a rule.

What a policy fails on is a failure, a check without its data is skipped with the reason, a file
that cannot be read is an error. All text passes through ``visible``, which leaves no character
that XML 1.0 forbids.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterable

from audit.cli.formats import Style
from audit.finding import Finding, Severity
from audit.fleet.files import FileResult, FileResults
from audit.report import BUG, Report
from audit.rules import CATALOGUE
from audit.safetext import inert, shortened, visible
from audit.views.finding_view import details


def render(results: FileResults, style: Style) -> str:
    """Return one XML document; the style changes nothing."""
    suites = ET.Element("testsuites", name="audit")
    for file in results.files:
        suites.append(_suite(file))
    _tally(suites, suites.iter("testcase"))
    ET.indent(suites)
    body = ET.tostring(suites, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{inert(body)}\n'


def _suite(file: FileResult) -> ET.Element:
    name = visible(file.name)
    suite = ET.Element("testsuite", name=name)
    if file.error is not None:
        case = ET.SubElement(suite, "testcase", classname=name, name="the file can be read")
        message = shortened(file.error.message, 500)
        ET.SubElement(case, "error", message=message).text = visible(str(file.error))
    if file.report is not None:
        properties = ET.SubElement(suite, "properties")
        ET.SubElement(properties, "property", name="sha256", value=file.report.sha256)
        suite.extend(_cases(file.report, name))
        suite.extend(_bugs(file.report, name))
    _tally(suite, suite.iter("testcase"))
    return suite


def _cases(report: Report, classname: str) -> Iterable[ET.Element]:
    fails = Severity.ERROR if report.policy.fail_on == "error" else Severity.WARNING
    for rule in CATALOGUE:
        if not report.policy.runs(rule.id, rule.slug):
            continue
        case = ET.Element("testcase", classname=classname, name=f"{rule.id} {rule.slug}")
        found = [finding for finding in report.findings if finding.rule == rule.id]
        failing = [f for f in found if f.waiver is None and f.severity >= fails]
        reasons = [entry.reason for entry in report.not_checked if entry.rule == rule.id]
        if failing:
            message = shortened(failing[0].message, 500)
            failure = ET.SubElement(case, "failure", message=message, type=rule.slug)
            failure.text = "\n\n".join(_lines(finding) for finding in failing)
        elif reasons and not found:
            message = shortened("; ".join(dict.fromkeys(reasons)), 1000)
            ET.SubElement(case, "skipped", message=message)
        rest = [finding for finding in found if finding not in failing]
        if rest:
            output = "\n\n".join(_lines(finding) for finding in rest)
            ET.SubElement(case, "system-out").text = output
        yield case


def _bugs(report: Report, classname: str) -> Iterable[ET.Element]:
    for finding in report.findings:
        if finding.rule == BUG:
            case = ET.Element("testcase", classname=classname, name=f"{BUG} {finding.slug}")
            message = shortened(finding.message, 500)
            ET.SubElement(case, "error", message=message).text = _lines(finding)
            yield case


def _lines(finding: Finding) -> str:
    label = "waived" if finding.waiver else finding.severity.label
    place = shortened(finding.pointer, 500) or "(whole file)"
    if finding.line:
        place += f" (line {finding.line}, column {finding.column})"
    lines = [f"{label} at {place}", shortened(finding.message, 2000), details(finding)]
    if finding.waiver:
        lines.append(f"until {finding.waiver.expires}: {visible(finding.waiver.reason)}")
    else:
        lines += [visible(finding.why), visible(finding.fix)]
    return "\n".join(line for line in lines if line)


def _tally(element: ET.Element, cases: Iterable[ET.Element]) -> None:
    listed = list(cases)
    element.set("tests", str(len(listed)))
    for attribute, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        element.set(attribute, str(sum(case.find(tag) is not None for case in listed)))
