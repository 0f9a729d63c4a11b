"""What a rule is: a function that checks one thing, and how it is asked of a whole file."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sized
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

from audit.finding import Severity
from audit.rules.case import Case
from audit.rules.check import CheckResult, Failed, Passed, Unchecked
from audit.rules.scopes import SCOPES

_SECTIONS = ("Why", "Fix", "Bad", "Good")

Item = TypeVar("Item")
Said = CheckResult | Iterable[CheckResult] | None
"""What a check may give. None is passed; of several results all are given, passed ones too."""


@dataclass(frozen=True)
class Rule:
    """One check with its id, its slug and the page that explains it.

    The page is the docstring of ``function``: a statement, then the sections Why, Fix, Bad and
    Good, each a heading on a line of its own with indented text below.

    Attributes
    ----------
    id, slug : str
        Names of the rule; never reused.
    severity : Severity
        How bad its findings are, unless one says otherwise.
    each : type
        What the function is asked of, a key of :data:`audit.rules.scopes.SCOPES`.
    needs : tuple of str
        What an item must record to be checked: attributes of it, or keys of its block.
    missing : str
        Why nothing was checked, where nothing was.
    function : callable
        Takes one item and returns what it found.
    """

    id: str
    slug: str
    severity: Severity
    each: type
    needs: tuple[str, ...]
    missing: str
    function: Callable[[Any], Said]

    def check(self, case: Case) -> Iterator[CheckResult]:
        """Ask the function of every item of the file; what was lacking is said once a reason."""
        told: set[str] = set()
        silent = True
        for item in SCOPES[self.each].items(case):
            for result in self._results(item):
                if isinstance(result, Passed) and not result.count:
                    continue
                silent = False
                if isinstance(result, Unchecked):
                    if result.reason in told:
                        continue
                    told.add(result.reason)
                yield result
        if silent:
            yield Unchecked(self.missing)

    def _results(self, item: Any) -> Iterable[CheckResult]:
        if isinstance(item, Unchecked):
            return (item,)
        if self.needs and not all(_records(item, name) for name in self.needs):
            return ()
        said = self.function(item)
        if said is None:
            return (Passed(),)
        return (said,) if isinstance(said, Failed | Passed | Unchecked) else said

    @property
    def family(self) -> str:
        """The word the id starts with."""
        return self.id.rstrip("0123456789")

    @cached_property
    def _page(self) -> Mapping[str, str]:
        text = inspect.cleandoc(self.function.__doc__ or _docstring_in_source(self.function))
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
        """What is wrong when the rule reports something."""
        return _joined(self._page["Statement"])

    @cached_property
    def why(self) -> str:
        """Why it matters."""
        return _joined(self._page.get("Why", ""))

    @cached_property
    def fix(self) -> str:
        """What to do about it."""
        return _joined(self._page.get("Fix", ""))

    @property
    def bad(self) -> str:
        """An example that fails."""
        return self._page.get("Bad", "")

    @property
    def good(self) -> str:
        """An example that passes."""
        return self._page.get("Good", "")


def rule(
    identifier: str,
    slug: str,
    severity: Severity,
    *,
    each: type[Item],
    needs: tuple[str, ...] = (),
    missing: str = "",
) -> Callable[[Callable[[Item], Said]], Rule]:
    """Declare that the function below is a rule.

    Parameters
    ----------
    identifier, slug, severity
        Its names, and how bad its findings are.
    each : type
        What the function is given, one at a time: ``Case`` (the whole file), ``Arm``, ``Versus``,
        ``PairedStart``, ``Run``, ``Measurement``, ``Evaluation``, ``RunLog`` or ``ArmLog``.
    needs : tuple of str
        What an item must record; one that lacks any is passed over.
    missing : str
        What is said where no item was checked; left out, it names ``needs``.

    Returns
    -------
    callable
        A decorator: the function becomes a :class:`Rule`. It returns None where the check
        passed, or a :class:`Failed`; a generator yields every result, passed ones too.
    """
    noun = SCOPES[each].noun
    what = f"no {noun} records {_listed(needs)}" if needs else f"the file has no {noun} to check"

    def declare(function: Callable[[Item], Said]) -> Rule:
        return Rule(identifier, slug, severity, each, needs, missing or what, function)

    return declare


def _records(item: Any, name: str) -> bool:
    """Whether an item has a value of this name, not empty: an attribute, else a key."""
    value = getattr(item, name) if hasattr(item, name) else item.document.get(name)
    return value is not None and not (isinstance(value, Sized) and not len(value))


def _listed(names: tuple[str, ...]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def _docstring_in_source(function: Callable[..., object]) -> str:
    """Return a docstring that ``python -OO`` left out of the compiled code."""
    try:
        tree = ast.parse(inspect.getsource(function))
    except (OSError, TypeError):  # no source beside the code
        return ""
    (definition,) = tree.body
    assert isinstance(definition, ast.FunctionDef)
    return ast.get_docstring(definition, clean=False) or ""


def _joined(text: str) -> str:
    """Return prose from a docstring as one line, whatever its indentation was."""
    return " ".join(text.split())
