"""The policy: limits, margins and waivers, from ``audit.toml`` or ``[tool.audit]``."""

from __future__ import annotations

import datetime
import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from audit.config import Config, Fault, build, parse_config, read_config
from audit.errors import UsageError
from audit.finding import Waiver
from audit.git import git
from audit.paths import is_file, is_url

# The rules that speak on refused claims, by id and slug: no policy lets those by.
CLAIM_RULES = {
    "SEED001": "one-seed-claim",
    "CLAIM001": "interval-reaches-zero",
    "CLAIM002": "below-noise-floor",
    "CLAIM003": "claim-not-carried",
}
# What a policy that nobody wrote calls itself.
BUILT_IN = "built-in defaults"
LONGEST_WAIVER = datetime.timedelta(days=365)

_OWN_FILE, _SHARED_FILE = "audit.toml", "pyproject.toml"
_SHARED_TABLE = ("tool", "audit")


@dataclass(frozen=True, slots=True)
class Override:
    """Other values for files whose path matches one of the patterns (``fnmatch`` style)."""

    paths: tuple[str, ...]
    values: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Guardrail:
    """A metric in which no arm under test may lose more than ``margin``, in the metric's unit."""

    metric: str
    margin: float
    benchmark: str | None = None


@dataclass(frozen=True, slots=True)
class Policy:
    """What a gate asks of a results file.

    Attributes
    ----------
    min_seeds : int
        Fewest training runs per arm for a claim to be supported.
    level : float
        Confidence level of the intervals that decide, in (0, 1).
    margin : float
        Smallest difference of any interest, on the metric's scale.
    target : str
        ``tasks`` (claims speak of new tasks) or ``benchmark`` (of these tasks only).
    evidence : str
        Least evidence that runs are trainings: ``A``, ``B`` or ``C``.
    pairs : str
        ``show`` the paired interval, or ``agree``: a gain needs it too.
    require : tuple of str
        Top-level blocks that must be present, e.g. ``base_evaluations``.
    failed_runs, unplanned_looks, format_only, same_draws, base : str
        ``refuse`` or ``allow``: an arm with failed or diverged runs; seeds added after a look
        without a plan; a gain that is half parsing or more; runs sampled with one sampling seed; a
        claim over the untrained model alone.
    fail_on : str
        Severity from which the exit status is 1: ``error`` or ``warning``.
    select, ignore : tuple of str
        Rule ids, slugs or families to run, or not to run; an empty ``select`` means all.
    guardrails : tuple of Guardrail
        Metrics that must not fall.
    overrides : tuple of Override
        Other values for some paths, see `for_path`.
    waivers : tuple of Waiver
        Findings that are let by until a day, 365 days at most after they were added.
    source : str
        Where the policy was read, for printing.
    file : Path or None
        The file, as it lies or lay in the work tree; None for the built-in defaults.
    """

    min_seeds: int = 3
    level: float = 0.95
    margin: float = 0.03
    target: str = "tasks"
    evidence: str = "C"
    pairs: str = "show"
    require: tuple[str, ...] = ()
    failed_runs: str = "refuse"
    unplanned_looks: str = "allow"
    format_only: str = "refuse"
    same_draws: str = "refuse"
    base: str = "refuse"
    fail_on: str = "error"
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    guardrails: tuple[Guardrail, ...] = ()
    overrides: tuple[Override, ...] = ()
    waivers: tuple[Waiver, ...] = ()
    source: str = field(default=BUILT_IN, compare=False)
    file: Path | None = field(default=None, compare=False)

    def for_path(self, path: str) -> Policy:
        """Return the policy for one file, with the overrides that match its path applied."""
        policy = self
        shown = path if is_url(path) else _slashed(Path(path).as_posix())
        for override in self.overrides:
            if any(fnmatch(shown, _slashed(pattern)) for pattern in override.paths):
                policy = replace(policy, **override.values)
        return policy

    def document(self) -> dict[str, Any]:
        """Return what the policy asks of one file as JSON values, every key with its value.

        Overrides and waivers are left out: paths and days decide on them. See `policy_of`.
        """
        told = asdict(self)
        for key in ("overrides", "waivers", "source", "file"):
            del told[key]
        return {key: _without_none(value) for key, value in told.items()}

    def runs(self, rule_id: str, slug: str) -> bool:
        """Whether ``select`` and ``ignore`` leave a rule to run."""
        names = {rule_id, slug, rule_id.rstrip("0123456789")}
        return (not self.select or bool(names & set(self.select))) and not names & set(self.ignore)


def policy_of(document: Mapping[str, Any]) -> Policy:
    """Return the policy that `Policy.document` gave; the schema must have judged the document."""
    return build(Policy, {**document, **_typed(document)}, overrides=(), waivers=())


def _without_none(value: Any) -> Any:
    """Return lists of tables without the keys that have no value."""
    if isinstance(value, tuple):
        return [_without_none(item) for item in value]
    if isinstance(value, dict):
        return {key: item for key, item in value.items() if item is not None}
    return value


def _slashed(path: str) -> str:
    """Return a path as it is written in a policy, whichever way its slashes lean."""
    return path.replace("\\", "/")


def today() -> datetime.date:
    """Return the date waivers are held against; ``SOURCE_DATE_EPOCH`` sets it for reproduction."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    if epoch.isdigit():
        return datetime.datetime.fromtimestamp(int(epoch), tz=datetime.UTC).date()
    return datetime.datetime.now(tz=datetime.UTC).date()


def find_policy(start: Path, explicit: str | None = None) -> Policy:
    """Read the policy in force: ``explicit``, else the nearest file upwards that holds one.

    In a folder ``audit.toml`` comes first; a ``pyproject.toml`` without a table ``[tool.audit]``
    holds no policy, and the search goes on above it.

    Parameters
    ----------
    start : Path
        Folder from which to look upwards.
    explicit : str, optional
        A policy file named by the user.

    Raises
    ------
    InputError
        When a policy file cannot be read or holds a key or value that means nothing.
    """
    if explicit is not None:
        return read_policy(Path(explicit))
    start = start.resolve()
    for folder in (start, *start.parents):
        for path in (folder / _OWN_FILE, folder / _SHARED_FILE):
            policy = _policy(_config(path), path) if is_file(path) else None
            if policy is not None:
                return policy
    return Policy()


def read_policy(path: Path) -> Policy:
    """Read one policy file; a ``pyproject.toml`` without ``[tool.audit]`` gives the defaults."""
    return _policy(_config(path), path.resolve()) or Policy()


def at_revision(repo: Path, revision: str, path: str | None = None) -> Policy:
    """Read the policy as it was at a git revision, whatever the working tree says now.

    Parameters
    ----------
    repo : Path
        Folder inside a work tree. The nearest policy is looked for from here up to the top of the
        work tree at that revision, and above it, which no revision covers, in the file system.
    revision : str
        A commit, branch or tag.
    path : str, optional
        A policy file named by the user, relative to ``repo``.

    Returns
    -------
    Policy
        Its ``source`` names the file and the revision.

    Raises
    ------
    UsageError
        Outside a work tree, without git, or for a revision git does not know.
    InputError
        When the file is not there at that revision, or is no policy.
    """
    top = Path(os.fsdecode(git(repo, "rev-parse", "--show-toplevel")).rstrip("\r\n")).resolve()
    wanted = ("rev-parse", "--verify", "--quiet", "--end-of-options", revision + "^{commit}")
    try:
        commit = git(repo, *wanted).decode().strip()
    except UsageError:
        raise UsageError(
            f"git knows no commit {revision[:80]!r} here; fetch it first (in CI: fetch-depth: 0)"
        ) from None
    repo = repo.resolve()
    if path is not None:
        named = Path(os.path.normpath(repo / path))
        config = _config_at(top, commit, revision, named) if named.is_relative_to(top) else None
        if config is None:
            raise UsageError(f"is not there at revision {revision}", path=path)
        return _policy(config, named) or Policy()
    for folder in (repo, *repo.parents):
        for name in (_OWN_FILE, _SHARED_FILE):
            config = _config_at(top, commit, revision, folder / name)
            policy = None if config is None else _policy(config, folder / name)
            if policy is not None:
                return policy
        if folder == top:
            break
    return find_policy(top.parent)


def _config_at(top: Path, commit: str, revision: str, file: Path) -> Config | None:
    name = file.relative_to(top).as_posix()
    if not git(top, "ls-tree", "-z", "--full-tree", commit, "--", name):
        return None
    data = git(top, "cat-file", "blob", f"{commit}:{name}")
    return parse_config(f"{name} at {revision}", data, "policy", _table(file))


def _config(path: Path) -> Config:
    return read_config(path, "policy", _table(path))


def _table(path: Path) -> tuple[str, ...]:
    return _SHARED_TABLE if path.name == _SHARED_FILE else ()


def _policy(config: Config, file: Path) -> Policy | None:
    """Return the policy of a file, None for a ``pyproject.toml`` that has no table for it."""
    if config.table and not config.has_table:
        return None
    content = config.content
    waivers = tuple(build(Waiver, entry) for entry in content.get("waivers", ()))
    config.refuse(
        fault for index, one in enumerate(waivers) for fault in _faults(one, f"waivers[{index}]")
    )
    overrides = tuple(
        Override(tuple(entry["paths"]), {k: v for k, v in _typed(entry).items() if k != "paths"})
        for entry in content.get("overrides", ())
    )
    return build(
        Policy,
        {**content, **_typed(content)},
        overrides=overrides,
        waivers=waivers,
        source=config.path,
        file=file,
    )


def _typed(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a table as a policy holds them."""
    values = {k: tuple(v) if isinstance(v, list) else v for k, v in table.items()}
    if "guardrails" in table:
        values["guardrails"] = tuple(build(Guardrail, one) for one in table["guardrails"])
    return values


def _faults(waiver: Waiver, where: str) -> Iterator[Fault]:
    if waiver.rule in CLAIM_RULES or waiver.rule in CLAIM_RULES.values():
        yield f"{where}.rule", f"{waiver.rule} refuses a claim, which cannot be waived"
    days = {}
    for key in ("added", "expires"):
        written = getattr(waiver, key)
        try:
            days[key] = today() if written is None else datetime.date.fromisoformat(written)
        except ValueError:
            yield f"{where}.{key}", f"no such day: {written}"
            return
    if days["added"] > today():
        yield f"{where}.added", f"{waiver.added} is still to come"
    latest = days["added"] + LONGEST_WAIVER
    if not days["added"] <= days["expires"] <= latest and (
        waiver.added or days["expires"] > latest
    ):
        since = "the day it was added" if waiver.added else "today"
        yield (
            f"{where}.expires",
            f"expected a day up to {latest}, 365 days after {since}, found {waiver.expires}",
        )
