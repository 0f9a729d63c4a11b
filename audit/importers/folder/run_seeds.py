"""The training seed of each run: from its settings, from its path or name, or from the user."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from audit.importers.folder.joining import Joined
from audit.importers.path_seeds import OTHERS, TOKENS, is_seed_key, seed_of
from audit.importers.readers.piece import SeedSaid
from audit.importers.readers.settings import whole_number

_SECONDARY = frozenset({"data_seed", "dataset_seed"})


@dataclass(slots=True)
class Seeds:
    """The seeds found, run by run.

    Attributes
    ----------
    values : list of int or None
    sources : list of str or None
        ``config``, ``path``, ``user`` or None, run by run.
    said : str
        In a sentence, where they come from.
    questions : list of str
        Lines that ask what cannot be told.
    """

    values: list[int | None]
    sources: list[str | None]
    said: str = ""
    questions: list[str] = field(default_factory=list)


def path_seeds(text: str) -> list[tuple[int, str]]:
    """Return the seeds that the tokens of a path name, each with its token, in order.

    The first pattern that fits anything decides: ``seed42``, then ``s1``, then
    ``__1__1777600001``, then ``seeds/7``.
    """
    for pattern in TOKENS:
        found = []
        for match in pattern.finditer(text):
            before = re.split(r"[-_/=.]", text[: match.start()].rstrip("-_/=."))[-1].lower()
            if before not in OTHERS:
                found.append((int(match[1]), match[0]))
        if found:
            return found
    return []


def find_seeds(runs: Sequence[Joined], seed_from: str | None) -> Seeds:
    """Return the training seed of each run.

    Parameters
    ----------
    runs : sequence of Joined
    seed_from : str or None
        The user's answer: ``path``, ``config``, a key of the settings, a pattern with ``{seed}``
        or a regular expression.
    """
    from_path, path_said, asked = _from_paths(runs)
    from_config, config_said, unclear = _from_config(runs, from_path)
    count = len(runs)
    if seed_from == "path":
        sources = [None if value is None else "user" for value in from_path]
        return Seeds(from_path, sources, f"{path_said}, as --seed-from path says", asked)
    if seed_from == "config":
        sources = [None if value is None else "user" for value in from_config]
        return Seeds(from_config, sources, f"{config_said}, as --seed-from config says", unclear)
    if seed_from is not None:
        return _as_said(runs, seed_from)
    if unclear:
        return Seeds([None] * count, [None] * count, "", unclear)
    values: list[int | None] = []
    sources = []
    for config, path in zip(from_config, from_path, strict=True):
        values.append(path if config is None else config)
        sources.append("config" if config is not None else None if path is None else "path")
    seeds = Seeds(values, sources, config_said or path_said)
    if not any(source == "config" for source in sources):
        seeds.questions = asked
        return seeds
    clash = [
        (run, config, path)
        for run, config, path in zip(runs, from_config, from_path, strict=True)
        if config is not None and path is not None and config != path
    ]
    if clash:
        seeds.questions.append(_clash_line(runs, clash, from_config, from_path, config_said))
        if len({value for value in from_config if value is not None}) == 1:
            seeds.values = from_path  # so that arms are named without them
    elif any(path is not None for path in from_path):
        seeds.said += "; names agree"
    return seeds


def _clash_line(
    runs: Sequence[Joined],
    clash: Sequence[tuple[Joined, int, int]],
    from_config: Sequence[int | None],
    from_path: Sequence[int | None],
    said: str,
) -> str:
    distinct = {value for value in from_config if value is not None}
    if len(distinct) == 1 and len({v for v in from_path if v is not None}) > 1:
        names = ", ".join(str(v) for v in sorted({v for v in from_path if v is not None}))
        return (
            f"the names say seeds {names}; {said} is {distinct.pop()} in all of them: "
            "--seed-from path if the seed was set another way, else these are not "
            "runs of different seeds"
        )
    run, config, path = clash[0]
    return (
        f"{run.label}: the name says seed {path}, {said} says {config}: "
        "--seed-from path or --seed-from config"
    )


def _as_said(runs: Sequence[Joined], seed_from: str) -> Seeds:
    configs = [run.config for run in runs]
    if any(seed_from in config for config in configs):
        values = [whole_number(config.get(seed_from)) for config in configs]
    else:
        values = [seed_of(_with_files(run), seed_from) for run in runs]
    sources = [None if value is None else "user" for value in values]
    return Seeds(values, sources, f"--seed-from {seed_from}")


def _with_files(run: Joined) -> str:
    """Return the longest path that names a run: its folder, or its file where it has none."""
    files = [found.relative for piece in run.pieces for found in piece.files]
    if run.root is not None:
        return run.root or (files[0] if files else run.label)
    return run.name or run.label


def _from_config(
    runs: Sequence[Joined], from_path: Sequence[int | None]
) -> tuple[list[int | None], str, list[str]]:
    """Return the seeds of the settings; the framework's own key goes before any other."""
    own = [_own_keys(run) for run in runs]
    named = [_named_keys(run) for run in runs]
    secondary = [_named_keys(run, _SECONDARY) for run in runs]
    for ranked in (own, named, secondary):
        keys = list(dict.fromkeys(key for found in ranked for key in found))
        if not keys:
            continue
        varying = [k for k in keys if len({f[k] for f in ranked if k in f}) > 1]
        if not varying and ranked is own and any(_varies(named, k) for k in _keys(named)):
            continue  # the default was never touched; another key tells the runs apart
        used = varying or keys
        values: list[int | None] = []
        for run, found in zip(runs, ranked, strict=True):
            said = {key: found[key] for key in used if key in found}
            if len(set(said.values())) > 1:
                listed = ", ".join(f"{key} {value}" for key, value in sorted(said.items()))
                first = min(said)
                question = f"{run.label}: several seeds: {listed}: --seed-from {first}"
                return [None] * len(runs), "", [question]
            values.append(next(iter(said.values()), None))
        if not varying and ranked is not own and _varied(from_path):
            # A key called seed that never varies is no evidence against names that do.
            continue
        agree = " (agree)" if len(used) > 1 else ""
        return values, ", ".join(sorted(used)) + agree, []
    return [None] * len(runs), "", []


def _own_keys(run: Joined) -> dict[str, int]:
    return {said.key: said.value for piece in run.pieces for said in piece.seeds}


def _named_keys(run: Joined, words: frozenset[str] | None = None) -> dict[str, int]:
    found: dict[str, int] = {}
    for key, value in run.config.items():
        last = re.split(r"[./]", key.lower())[-1]
        fits = is_seed_key(key) if words is None else last in words
        number = whole_number(value) if fits else None
        if number is not None and number >= 0:
            found[key] = number
    return found


def configured_seed(run: Joined) -> SeedSaid | None:
    """Return the one training seed that a run's settings name; None where they name several."""
    own = [said for piece in run.pieces for said in piece.seeds]
    said = own or [
        SeedSaid(value, key, _file_of(run, key)) for key, value in _named_keys(run).items()
    ]
    return said[0] if len({one.value for one in said}) == 1 else None


def _file_of(run: Joined, key: str) -> str:
    """Return the file whose settings hold a key; empty where none is told."""
    piece = next((p for p in run.pieces if key in p.config and p.files), None)
    return piece.files[-1].relative if piece is not None else ""


def _keys(ranked: Sequence[dict[str, int]]) -> list[str]:
    return list(dict.fromkeys(key for found in ranked for key in found))


def _varies(ranked: Sequence[dict[str, int]], key: str) -> bool:
    return len({found[key] for found in ranked if key in found}) > 1


def _varied(values: Sequence[int | None]) -> bool:
    return len({value for value in values if value is not None}) > 1


def _from_paths(runs: Sequence[Joined]) -> tuple[list[int | None], str, list[str]]:
    """Return the seeds of paths and names; of several tokens, the one that varies."""
    tokens = [_tokens_of(run) for run in runs]
    length = max(map(len, tokens), default=0)
    if length == 0:
        return [None] * len(runs), "", []
    if length == 1:
        values = [found[0][0] if found else None for found in tokens]
        return values, "names of folders, files or runs", []
    full = [found for found in tokens if len(found) == length]
    slots = [s for s in range(length) if len({found[s][0] for found in full}) > 1]
    same = all(len({found[s][0] for s in slots}) == 1 for found in full)
    if len(full) < sum(bool(found) for found in tokens) or (len(slots) != 1 and not same):
        shown = next(found for found in tokens if len(found) == length)
        words = ", ".join(token for _, token in shown)
        question = f"several seeds in one name ({words}): --seed-from 'TEXT{{seed}}'"
        return [None] * len(runs), "", [question]
    slot = slots[0] if slots else 0
    return [found[slot][0] if found else None for found in tokens], "names", []


def _tokens_of(run: Joined) -> list[tuple[int, str]]:
    for text in run.names:
        found = path_seeds(text)
        if found:
            return found
    return []
