"""The policy: limits, margins and waivers, from ``audit.toml`` or ``[tool.audit]``."""

from __future__ import annotations

import datetime
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from audit.errors import UsageError
from audit.finding import Waiver

_TARGETS = ("tasks", "benchmark")
_FAIL_ON = ("error", "warning")
_FAILED_RUNS = ("refuse", "allow")
# What a policy that nobody wrote calls itself.
BUILT_IN = "built-in defaults"


@dataclass(frozen=True, slots=True)
class Override:
    """Other values for files whose path matches one of the patterns (``fnmatch`` style)."""

    paths: tuple[str, ...]
    values: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Policy:
    """What a gate asks of a results file.

    Attributes
    ----------
    min_seeds : int
        Training runs an arm needs before a claim may stand.
    level : float
        Confidence level of the intervals that decide, in (0, 1).
    margin : float
        Smallest difference of any interest, on the metric's scale.
    target : str
        ``tasks`` (claims speak of new tasks) or ``benchmark`` (of these tasks only).
    fail_on : str
        Severity from which the exit status is 1: ``error`` or ``warning``.
    require : tuple of str
        Top-level blocks that must be present, e.g. ``base_evaluations``.
    failed_runs : str
        ``refuse`` an arm with failed or diverged runs, or ``allow`` it, marked ``seeds-lost``.
    select, ignore : tuple of str
        Rule ids, slugs or families to run, or not to run; an empty ``select`` means all.
    source : str
        Where the policy was read, for printing.
    """

    min_seeds: int = 3
    level: float = 0.95
    margin: float = 0.03
    target: str = "tasks"
    fail_on: str = "error"
    require: tuple[str, ...] = ()
    failed_runs: str = "refuse"
    evidence: str = "C"
    format_only: str = "refuse"
    base: str = "refuse"
    unplanned_looks: str = "allow"
    pairs: str = "show"
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    overrides: tuple[Override, ...] = ()
    waivers: tuple[Waiver, ...] = ()
    source: str = field(default=BUILT_IN, compare=False)

    def for_path(self, path: str) -> Policy:
        """Return the policy for one file, with the overrides that match its path applied."""
        policy = self
        shown = _slashed(Path(path).as_posix())
        for override in self.overrides:
            if any(fnmatch(shown, _slashed(pattern)) for pattern in override.paths):
                policy = replace(policy, **override.values)
        return policy

    def runs(self, rule_id: str, slug: str) -> bool:
        """Whether ``select`` and ``ignore`` leave a rule to run."""
        names = {rule_id, slug, rule_id.rstrip("0123456789")}
        return (not self.select or bool(names & set(self.select))) and not names & set(self.ignore)


def _slashed(path: str) -> str:
    """Return a path as it is written in a policy, whichever way its slashes lean."""
    return path.replace("\\", "/")


def find_policy(start: Path, explicit: str | None = None) -> Policy:
    """Read the policy in force: ``explicit``, else the nearest ``audit.toml`` or pyproject table.

    Parameters
    ----------
    start : Path
        Folder from which to look upwards.
    explicit : str, optional
        A policy file named by the user.

    Raises
    ------
    UsageError
        When a policy file cannot be read or holds a key or value that means nothing.
    """
    if explicit is not None:
        return read_policy(Path(explicit))
    start = start.resolve()
    for folder in (start, *start.parents):
        if (folder / "audit.toml").is_file():
            return read_policy(folder / "audit.toml")
        if (folder / "pyproject.toml").is_file():
            return read_policy(folder / "pyproject.toml")
    return Policy()


def read_policy(path: Path) -> Policy:
    """Read one policy file; a ``pyproject.toml`` without ``[tool.audit]`` gives the defaults."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise UsageError(f"cannot be read: {error.strerror or error}", path=str(path)) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"not TOML: {error}", path=str(path)) from None
    if path.name == "pyproject.toml":
        table = table.get("tool", {}).get("audit", {})
        if not table:
            return Policy()
    return _policy(table, str(path))


def _policy(table: Mapping[str, Any], path: str) -> Policy:
    values = _values(table, path, {f.name for f in fields(Policy)} - {"source"})
    overrides = []
    for index, entry in enumerate(values.pop("overrides", ())):
        where = f"overrides[{index}]"
        if not isinstance(entry, dict) or not isinstance(entry.get("paths"), list):
            raise UsageError(f"{where}: needs a list `paths` of patterns", path=path)
        allowed = {f.name for f in fields(Policy)} - {"source", "overrides", "waivers"}
        rest = {key: value for key, value in entry.items() if key != "paths"}
        patterns = tuple(str(pattern) for pattern in entry["paths"])
        overrides.append(Override(patterns, _values(rest, path, allowed, where + ".")))
    waivers = tuple(
        _waiver(entry, path, f"waivers[{index}]")
        for index, entry in enumerate(values.pop("waivers", ()))
    )
    return Policy(**values, overrides=tuple(overrides), waivers=waivers, source=path)


def _values(
    table: Mapping[str, Any], path: str, allowed: set[str], prefix: str = ""
) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for key, value in table.items():
        if key not in allowed:
            known = ", ".join(sorted(allowed))
            raise UsageError(f"unknown key {prefix}{key}; known keys are {known}", path=path)
        fault = _fault(key, value)
        if fault:
            raise UsageError(f"{prefix}{key} {fault}, not {value!r}", path=path)
        values[key] = tuple(value) if isinstance(value, list) else value
    return values


def _fault(key: str, value: Any) -> str | None:
    """Return what a policy value must be, if it is not that."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if key == "min_seeds" and not (type(value) is int and value >= 2):
        return "must be a whole number of at least 2 (one seed is never enough)"
    if key == "level" and not (is_number and 0.5 <= value < 1):
        return "must be a number from 0.5 to below 1"
    if key == "margin" and not (is_number and value > 0):
        return "must be a number above 0"
    for name, choices in (
        ("target", _TARGETS),
        ("fail_on", _FAIL_ON),
        ("failed_runs", _FAILED_RUNS),
    ):
        if key == name and value not in choices:
            return f"must be one of {', '.join(choices)}"
    if key in ("require", "select", "ignore") and not (
        isinstance(value, list) and all(isinstance(item, str) for item in value)
    ):
        return "must be a list of strings"
    if key in ("overrides", "waivers") and not isinstance(value, list):
        return "must be an array of tables"
    return None


def _waiver(entry: Any, path: str, where: str) -> Waiver:
    keys = ("rule", "pointer", "reason", "expires")
    if not isinstance(entry, dict) or set(entry) - set(keys):
        raise UsageError(f"{where}: a waiver has the keys {', '.join(keys)}", path=path)
    values = {}
    for key in keys:
        value = entry.get(key)
        if isinstance(value, datetime.date):
            value = value.isoformat()
        if not isinstance(value, str) or (not value.strip() and key != "pointer"):
            raise UsageError(f"{where}: {key} is missing", path=path)
        values[key] = value
    try:
        datetime.date.fromisoformat(values["expires"])
    except ValueError:
        raise UsageError(
            f"{where}: expires must be a date like 2027-01-31, not {values['expires']!r}",
            path=path,
        ) from None
    return Waiver(**values)
