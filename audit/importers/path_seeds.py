"""Training seeds by their names: of keys, and of tokens in paths, the usual or the user's."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from audit.errors import ImportRefused, UsageError
from audit.run_names import run_of

# `--seed-from path`: the usual tokens, the surest first; the first that a path has is taken.
TOKENS = (
    re.compile(r"(?:^|[-_/=.])(?:train_?)?seeds?[-_=]?(\d{1,15})(?!\d)", re.IGNORECASE),
    re.compile(r"(?:^|[-_/])s(\d{1,15})(?=$|[-_/.])"),
    re.compile(r"__(\d{1,15})__\d{9,}"),
    re.compile(r"(?:^|/)seeds?/(\d{1,15})(?=$|/)", re.IGNORECASE),
)
PATH = "path"
# `--seed-from config`: the key of the settings that is the training seed by its name.
CONFIG = "config"
_KEYS = frozenset(
    ["seed", "random_seed", "rng_seed", "train_seed", "training_seed", "manual_seed", "global_seed"]
)
# Words of a key or of the token before it that make the seed somebody else's.
OTHERS = frozenset(
    [
        *("eval", "evaluation", "val", "valid", "validation", "test", "judge", "reward"),
        *("generation", "gen", "sampl", "sampling", "sampler", "rollout", "infer", "inference"),
        *("vllm", "decode", "decoding", "fewshot", "few_shot", "shuffle", "subsample", "subset"),
        *("split", "bootstrap", "user", "simulation", "trial", "env_seed", "task_sampler"),
        *("dataset_seed", "data_seed"),
    ]
)


def is_seed_key(key: str) -> bool:
    """Whether a dotted key of a training's settings is its seed by name."""
    parts = re.split(r"[./]", key.lower())
    words = {word for part in parts[:-1] for word in (part, *part.split("_"))}
    return parts[-1] in _KEYS and not words & OTHERS


def seed_of(path: str, pattern: str) -> int:
    """Return the training seed a path holds.

    Parameters
    ----------
    path : str
        As the user named it; backslashes count as slashes.
    pattern : str
        ``path`` for the usual ways to write a seed (``seed7``, ``_s7``, ``seeds/7``); else text
        with ``{seed}`` where the digits stand (``*`` for anything else), or a regular expression
        whose group ``seed``, or first group, is the digits.

    Raises
    ------
    UsageError
        When the pattern is no regular expression, finds nothing, or finds several seeds.
    ImportRefused
        When the number it finds is the step of a checkpoint.
    """
    plain = path.replace("\\", "/")
    found = _usual(plain) if pattern == PATH else _matches(plain, pattern)
    seeds = {digits for digits, _, _ in found}
    numbers = {int(digits) for digits in seeds if digits.isdecimal() and len(digits) < 16}
    if len(numbers) != 1 or len(numbers) != len(seeds):
        what = ", ".join(sorted(seeds)) if seeds else "nothing"
        raise UsageError(f"--seed-from finds {what}, expected one number", path=path)
    if all(_is_step(plain, start, end) for _, start, end in found):
        raise ImportRefused(
            f"--seed-from finds {next(iter(seeds))}, which is the step of a checkpoint: steps of "
            "one run are no training seeds",
            path=path,
        )
    return numbers.pop()


def seeds_of(paths: Sequence[str], pattern: str) -> list[int]:
    """Return the training seed of each path; raises like :func:`seed_of`.

    With the pattern ``path``, where a path has several seeds, the one counts that varies over the
    paths: of ``data_seed1/run_seed4`` beside ``data_seed1/run_seed5`` the second.
    """
    plain = [path.replace("\\", "/") for path in paths]
    tokens = [_usual(path) for path in plain] if pattern == PATH else []
    if all(len(found) < 2 for found in tokens) or len({len(found) for found in tokens}) != 1:
        return [seed_of(path, pattern) for path in paths]
    columns = list(zip(*[[digits for digits, _, _ in found] for found in tokens], strict=True))
    varying = [column for column in columns if len(set(column)) > 1]
    if len(varying) != 1:
        return [seed_of(path, pattern) for path in paths]
    return [int(digits) for digits in varying[0]]


def _usual(path: str) -> list[tuple[str, int, int]]:
    for token in TOKENS:
        found = [(match[1], *match.span(1)) for match in token.finditer(path)]
        if found:
            return found
    return []


def _matches(path: str, pattern: str) -> list[tuple[str, int, int]]:
    return list(_groups(path, _expression(pattern)))


def _groups(path: str, expression: re.Pattern[str]) -> Iterator[tuple[str, int, int]]:
    group = "seed" if "seed" in expression.groupindex else 1
    for match in expression.finditer(path):
        if match[group]:
            yield match[group], *match.span(group)


def _expression(pattern: str) -> re.Pattern[str]:
    if "{seed}" in pattern:
        parts = [re.escape(part).replace(r"\*", ".*?") for part in pattern.split("{seed}")]
        pattern = r"(?<!\d)(\d+)(?!\d)".join(parts)
    try:
        expression = re.compile(pattern)
    except re.error as error:
        raise UsageError(f"--seed-from is no regular expression: {error}") from None
    if not expression.groups:
        raise UsageError("--seed-from needs {seed} or a group, e.g. 'seed{seed}' or 'seed(\\d+)'")
    return expression


def _is_step(path: str, start: int, end: int) -> bool:
    """Whether the digits at a place of a path are what the name of a checkpoint calls its step."""
    before = path.rfind("/", 0, start) + 1
    after = path.find("/", end)
    part = path[before : len(path) if after < 0 else after]
    folder = f"{PurePosixPath(path[:before]).name}/" if before else ""
    at = start - before
    unmarked = run_of(folder + part).step
    return unmarked is not None and unmarked != run_of(f"{folder}{part[:at]}x{part[at + 1 :]}").step
