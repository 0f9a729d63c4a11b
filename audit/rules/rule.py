"""What a rule is, what it is given and what it may say."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from audit.finding import Severity
from audit.policy import Policy
from audit.results import Results

if TYPE_CHECKING:
    from audit.analysis import Analysis
    from audit.claims import Claim
    from audit.partition import DataFile
    from audit.rules.telemetry import ArmLog

_SECTIONS = ("Why", "Fix", "Bad", "Good")


@dataclass(frozen=True, slots=True)
class Found:
    """A rule's finding; ``severity`` replaces the rule's own where one case is milder or worse."""

    pointer: str
    message: str
    expected: str | None = None
    actual: str | None = None
    severity: Severity | None = None


@dataclass(frozen=True, slots=True)
class Held:
    """So many relations were checked and hold."""

    count: int = 1


@dataclass(frozen=True, slots=True)
class Skipped:
    """The check could not be made here, with the reason."""

    reason: str
    pointer: str = ""


Outcome = Found | Held | Skipped


@dataclass(frozen=True)
class Case:
    """All that a rule may look at.

    Attributes
    ----------
    results : Results
        The file; its accessors show only the sound part.
    policy : Policy
        Levels, margins and limits in force for this file.
    claims : tuple of Claim
        Claims from the command line; those of the file are in ``results``.
    data : DataFile or None
        The training data, when the user gave it.
    artifacts : Path or None
        Folder with the checkpoint's files, when the user gave it.
    """

    results: Results
    policy: Policy = field(default_factory=Policy)
    claims: tuple[Claim, ...] = ()
    data: DataFile | None = None
    artifacts: Path | None = None

    @cached_property
    def analysis(self) -> Analysis:
        """The statistics of the file, computed when a rule first asks."""
        from audit.analysis import analyse

        return analyse(self.results, policy=self.policy, claims=self.claims)

    @cached_property
    def logs(self) -> tuple[ArmLog, ...]:
        """The training logs of every arm, flattened when a rule first asks."""
        from audit.rules.telemetry import read_logs

        return read_logs(self.results)


@dataclass(frozen=True)
class Rule:
    """One check with its id, its slug and the page that explains it.

    The page is the docstring of ``check``: a statement, then the sections Why, Fix, Bad and Good,
    each a heading on a line of its own with indented text below.
    """

    id: str
    slug: str
    severity: Severity
    check: Callable[[Case], Iterator[Outcome]]

    @property
    def family(self) -> str:
        """The word the id starts with."""
        return self.id.rstrip("0123456789")

    @cached_property
    def _page(self) -> Mapping[str, str]:
        text = inspect.cleandoc(self.check.__doc__ or "")
        pieces = re.split(rf"^({'|'.join(_SECTIONS)})\n", text, flags=re.MULTILINE)
        page = {"Statement": pieces[0].strip()}
        for heading, body in zip(pieces[1::2], pieces[2::2], strict=True):
            page[heading] = inspect.cleandoc("\n" + body).strip()
        return page

    @property
    def summary(self) -> str:
        """The first paragraph of the statement."""
        return _joined(self._page["Statement"].partition("\n\n")[0])

    @property
    def statement(self) -> str:
        """What is wrong when the rule speaks."""
        return _joined(self._page["Statement"])

    @property
    def why(self) -> str:
        """Why it matters."""
        return _joined(self._page.get("Why", ""))

    @property
    def fix(self) -> str:
        """What to do about it."""
        return _joined(self._page.get("Fix", ""))

    @property
    def bad(self) -> str:
        """An example that the rule speaks on."""
        return self._page.get("Bad", "")

    @property
    def good(self) -> str:
        """An example that passes."""
        return self._page.get("Good", "")


def _joined(text: str) -> str:
    """Return prose from a docstring as one line, whatever its indentation was."""
    return " ".join(text.split())
