"""From a results file to its statistics: deltas, intervals, floors, verdicts, claims, rounds."""

from __future__ import annotations

from audit.analysis.analysis import Analysis, analyse
from audit.analysis.claiming import ClaimResult
from audit.analysis.comparisons import Comparison
from audit.analysis.floors import Floor, NotMeasured
from audit.analysis.numbers import Interval
from audit.analysis.one_seed import Lottery, OneSeedStudy, Tally, lottery
from audit.analysis.rounds import RoundPair
from audit.analysis.verdict import Verdict

__all__ = [
    "Analysis",
    "ClaimResult",
    "Comparison",
    "Floor",
    "Interval",
    "Lottery",
    "NotMeasured",
    "OneSeedStudy",
    "RoundPair",
    "Tally",
    "Verdict",
    "analyse",
    "lottery",
]
