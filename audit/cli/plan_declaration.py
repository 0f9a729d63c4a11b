"""Writing a plan down before the first result: a ``[plan]`` in a study file, else a JSON file."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from audit.errors import UsageError
from audit.facts.plans import plan_hash
from audit.paths import exists
from audit.policy import today
from audit.writing import write_whole

_KEPT = "a plan is not changed after a result; --force replaces it"


def plan_block(
    *,
    first: int,
    maximum: int,
    looks: Sequence[int] | None,
    target_effect: float,
    level: float,
    arms: Sequence[str],
) -> dict[str, Any]:
    """Return the plan of a results file, dated today, with the hash of what it says.

    Parameters
    ----------
    first, maximum : int
        Training runs per arm of the first look, and at most.
    looks : sequence of int or None
        The only looks, where they are declared.
    target_effect : float
        In the metric's units.
    level : float
    arms : sequence of str
        Names of the arms; without any the plan speaks of ``method`` and ``control``.
    """
    names = tuple(arms) or ("method", "control")
    block: dict[str, Any] = {"first": first, "maximum": dict.fromkeys(names, maximum)}
    if looks is not None:
        block["looks"] = list(looks)
    block |= {"target_effect": target_effect, "level": level, "declared": today().isoformat()}
    return {**block, "sha256": plan_hash(block)}


def arms_of_study(path: Path) -> tuple[str, ...]:
    """Return the arms that a study file names; none where there is no such file."""
    arms = _content(path).get("arms") if path.suffix == ".toml" else None
    return tuple(arms) if isinstance(arms, dict) else ()


def declare(path: Path, block: Mapping[str, Any], *, force: bool) -> None:
    """Write a plan, whole or not at all.

    Raises
    ------
    UsageError
        The file has a plan already, or is no file of this kind.
    """
    if path.suffix == ".toml":
        write_whole(path, _with_plan(path, block, force=force).encode())
        return
    if exists(path):
        known = _json(path)
        if "schema_version" in known:
            raise UsageError(
                "is a results file; declare in another file, before there are results",
                path=str(path),
            )
        if not force:
            raise UsageError(f"is there already; {_KEPT}", path=str(path))
    write_whole(path, (json.dumps(block, indent=2, ensure_ascii=False) + "\n").encode())


def _with_plan(path: Path, block: Mapping[str, Any], *, force: bool) -> str:
    before = _content(path)
    text = path.read_text(encoding="utf-8") if before else ""
    if "plan" in before:
        if not force:
            raise UsageError(f"has a plan already; {_KEPT}", path=str(path))
        text = _without_plan(text)
    lines = [f"{key} = {_toml(value)}" for key, value in block.items()]
    text = "\n".join([*([text.rstrip("\n"), ""] if text.strip() else []), "[plan]", *lines, ""])
    after = tomllib.loads(text)
    if after != {**before, "plan": dict(block)}:
        raise UsageError(
            "its plan is not a table of its own; take it out first, then declare", path=str(path)
        )
    return text


def _without_plan(text: str) -> str:
    kept, inside = [], False
    for line in text.splitlines(keepends=True):
        head = line.strip()
        if head.startswith("["):
            inside = head.startswith(("[plan]", "[plan."))
        if not inside:
            kept.append(line)
    return "".join(kept)


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        pairs = ", ".join(f"{json.dumps(key)} = {_toml(one)}" for key, one in value.items())
        return f"{{ {pairs} }}"
    return json.dumps(value, ensure_ascii=False)


def _content(path: Path) -> dict[str, Any]:
    if not exists(path):
        return {}
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"cannot be read as TOML: {error}", path=str(path)) from None


def _json(path: Path) -> dict[str, Any]:
    try:
        known = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(f"is there and is no plan: {error}", path=str(path)) from None
    if not isinstance(known, dict):
        raise UsageError("is there and is no plan", path=str(path))
    return known
