"""Judge claims of the form "training recipe B beats baseline A" from the files the runs left.

The library in four calls::

    import audit

    results = audit.load("results.json")      # strict reading, a frozen typed view
    report = audit.verify(results)            # findings, what was not checked, the exit status
    analysis = audit.analyse(results)         # deltas, intervals, verdicts
    frame = results.to_frame()                # one row per training run, a pandas frame

and :class:`audit.Study` records one's own training loop.

Everything heavy is imported where it is used, so ``import audit`` costs a few milliseconds.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from audit.analysis import Analysis, analyse
    from audit.errors import AuditError, InputError, UsageError
    from audit.finding import Finding, NotChecked, Severity
    from audit.policy import Policy
    from audit.recording import Study
    from audit.report import Report, verify
    from audit.results import Results, load

__version__ = "0.1.0"

__all__ = [
    "Analysis",
    "AuditError",
    "Finding",
    "InputError",
    "NotChecked",
    "Policy",
    "Report",
    "Results",
    "Severity",
    "Study",
    "UsageError",
    "__version__",
    "analyse",
    "load",
    "verify",
]

_HOME = {
    "Analysis": "audit.analysis",
    "AuditError": "audit.errors",
    "Finding": "audit.finding",
    "InputError": "audit.errors",
    "NotChecked": "audit.finding",
    "Policy": "audit.policy",
    "Report": "audit.report",
    "Results": "audit.results",
    "Severity": "audit.finding",
    "Study": "audit.recording",
    "UsageError": "audit.errors",
    "analyse": "audit.analysis",
    "load": "audit.results",
    "verify": "audit.report",
}


def __getattr__(name: str) -> Any:
    """Import a public name from its home on first use (PEP 562)."""
    if name not in _HOME:
        raise AttributeError(f"module 'audit' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
