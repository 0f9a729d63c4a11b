"""The arm of each run: from settings that differ, from paths and names without their seeds."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from audit.importers.folder.joining import Joined
from audit.importers.place_names import telling, without_dates

# Settings that differ between runs of one recipe: where and when a run took place.
_PLACES = re.compile(
    r"(?:^|[._/-])(?:seed|seeds|path|paths|dir|dirs|directory|folder|file|files|name|names|host"
    r"|hostname|port|id|ids|date|time|timestamp|started|created|device|devices|gpu|gpus|cuda|nnodes"
    r"|nproc|world_size|local_rank|global_rank|node_rank|logger|loggers|logging|report_to|wandb|mlflow|tensorboard"
    r"|swanlab|project|output|outputs|resume|resume_from|user|username|tags|notes|runtime|version"
    r"|url|uri|address|pid|cwd|argv|command|commit|add_version)(?:$|[._/-])",
    re.I,
)
_TOKEN = re.compile(r"(?P<sep>^|[-_/:=, ])(?P<text>(?:[^-_/:=, ]|(?<=\de)-(?=\d))+)")
RESERVED = frozenset({"base", "pretrained", "init", "untrained", "step0", "method", "control"})
CONTROLS = re.compile(r"^(?:control|baseline|vanilla|reference|default|grpo-baseline)", re.I)


@dataclass(slots=True)
class ArmNames:
    """The arms found, run by run.

    Attributes
    ----------
    names, long : list of str
        Short and long name of each run's arm.
    said : str
        In a sentence, what told them apart.
    differ : dict
        Setting to its value by arm, for those that differ between arms.
    questions : list of str
    """

    names: list[str]
    long: list[str]
    said: str = ""
    differ: dict[str, dict[str, Any]] = field(default_factory=dict)
    questions: list[str] = field(default_factory=list)


def find_arms(
    runs: Sequence[Joined], seeds: Sequence[int | None], arm_from: str | None, fallback: str
) -> ArmNames:
    """Return the arm of each run.

    Parameters
    ----------
    runs : sequence of Joined
    seeds : sequence of int or None
    arm_from : str or None
        The user's answer: ``path``, ``config``, a key of the settings, or a pattern with
        ``{arm}``.
    fallback : str
        What a study of one arm without a name is called.
    """
    groups = {run.group for run in runs}
    grouped, alike = all(groups) and len(groups) > 1, _same_everywhere(runs)
    texts = [
        _text_of(run, seed, grouped=grouped, alike=alike)
        for run, seed in zip(runs, seeds, strict=True)
    ]
    settings = _telling_settings(runs, seeds)
    configs = [tuple((key, _plain(s.get(key))) for key in _all_keys(settings)) for s in settings]
    if arm_from not in (None, "path", "config"):
        return _as_said(runs, str(arm_from), settings)
    by_path = len(set(texts)) > 1 and all(texts)
    by_config = any(configs) and len(set(configs)) > 1
    if by_config and by_path and _names_of_runs(texts, configs, seeds):
        by_path = False
    if arm_from == "config" or (arm_from is None and by_config and not by_path):
        names = _config_names(settings)
        return ArmNames(names, names, "settings", _differ(names, settings))
    short = _shortened(texts, fallback)
    found = ArmNames(short, [text or fallback for text in texts])
    found.said = "groups that the files name" if any(groups) else "names of folders, files or runs"
    found.differ = _differ(short, settings)
    telling_config = any(not _PLACES.search(key) for run in runs for key in run.config)
    if arm_from is None and by_path and telling_config:
        found.questions = _disagreements(runs, short, settings)
    if found.differ:
        found.said += f"; settings differ in {_differences(found.differ)}"
    return found


def _names_of_runs(
    texts: Sequence[str], configs: Sequence[tuple[object, ...]], seeds: Sequence[int | None]
) -> bool:
    """Whether names are those of single runs, as trackers draw them, and settings tell the arms.

    That is so where no name is there twice, and the settings part the runs into groups of several
    in which each has a seed of its own.
    """
    if len(set(texts)) < len(texts) or len(set(configs)) == len(configs) or None in seeds:
        return False
    placed = set(zip(configs, seeds, strict=True))
    return len(placed) == len(configs)


def declared_arms(
    runs: Sequence[Joined], seeds: Sequence[int | None], names: Sequence[str]
) -> ArmNames:
    """Return arms that the records of the runs name, with the settings that differ."""
    settings = _telling_settings(runs, seeds)
    found = ArmNames(list(names), list(names), "the records of the runs")
    found.differ = _differ(names, settings)
    if found.differ:
        found.said += f"; settings differ in {_differences(found.differ)}"
    return found


def _differences(differ: dict[str, dict[str, Any]]) -> str:
    shown = [
        f"{key}: " + ", ".join(f"{_plain(value)} ({arm})" for arm, value in values.items())
        for key, values in list(differ.items())[:3]
    ]
    more = len(differ) - len(shown)
    return "; ".join(shown) + (f" and {more} more" if more > 0 else "")


def _plain(value: Any) -> str:
    return "not set" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def _text_of(run: Joined, seed: int | None, *, grouped: bool, alike: bool) -> str:
    """Return the name of a run's arm with everything of the single run cut out.

    ``grouped``: groups tell the runs apart; ``alike``: their folders do not.
    """
    if grouped and run.group is not None:
        return _without(run.group, seed)
    named = "/".join(telling(run.root or ""))
    if not named or alike:
        named = _name(run) or named
    return _without(named, seed, run.run_id)


def _same_everywhere(runs: Sequence[Joined]) -> bool:
    """Whether the folders of several runs tell none from another."""
    return len(runs) > 1 and len({"/".join(telling(run.root or "")) for run in runs}) == 1


def _name(run: Joined) -> str:
    name = run.name or next((piece.name for piece in run.pieces if piece.name), "") or ""
    return "/".join(telling(name))


def _without(text: str, seed: int | None, run_id: str | None = None) -> str:
    if run_id and text != run_id:
        text = text.replace(run_id, "")
    text = without_dates(text)
    if seed is not None:
        number = f"0*{seed}"
        for pattern in (
            rf"(^|[-_/=.,: ])(?:train(?:ing)?_?)?seeds?[-_=/]?{number}(?![0-9])",
            rf"(^|[-_/,: ])s{number}(?=$|[-_/.,: ])",
            rf"(^|[-_/,: ]){number}(?=$|[-_/.,: ])",
        ):
            cut, times = re.subn(pattern, r"\1", text, flags=re.I)
            if times:
                text = cut
                break
    text = re.sub(r"[-_=.,: ]+(?=/|$)|(?<=/)[-_=.,: ]+|^[-_=.,: ]+", "", text)
    text = re.sub(r"([-_])[-_]+", r"\1", text)
    return "/".join(telling(text))


def _telling_settings(runs: Sequence[Joined], seeds: Sequence[int | None]) -> list[dict[str, Any]]:
    """Return the settings that differ between runs and are not of a single run."""
    configs = [run.config for run in runs]
    having = [config for config in configs if config]
    if not having:
        return [{} for _ in runs]
    keys = dict.fromkeys(key for config in having for key in config)
    kept = []
    for key in keys:
        if _PLACES.search(key):
            continue
        values = [_plain(config.get(key)) for config in having]
        if len(set(values)) > 1 and not _of_the_run(key, configs, seeds):
            kept.append(key)
    return [{key: config.get(key) for key in kept} if config else {} for config in configs]


def _of_the_run(key: str, configs: Sequence[dict[str, Any]], seeds: Sequence[int | None]) -> bool:
    """Whether a setting holds the seed's digits in every run that has both."""
    pairs = [
        (str(config[key]), seed)
        for config, seed in zip(configs, seeds, strict=True)
        if config.get(key) is not None and seed is not None
    ]
    return bool(pairs) and all(
        re.search(rf"(?<![0-9.]){seed}(?![0-9.])", value) for value, seed in pairs
    )


def _all_keys(settings: Sequence[dict[str, Any]]) -> list[str]:
    return list(dict.fromkeys(key for found in settings for key in found))


def _disagreements(
    runs: Sequence[Joined], names: Sequence[str], settings: Sequence[dict[str, Any]]
) -> list[str]:
    """Return questions where names and settings part the runs differently."""
    keys = _all_keys(settings)
    by_name: dict[str, set[tuple[str, ...]]] = defaultdict(set)
    by_config: dict[tuple[str, ...], set[str]] = defaultdict(set)
    for run, name, found in zip(runs, names, settings, strict=True):
        if run.config:
            values = tuple(_plain(found.get(key)) for key in keys)
            by_name[name].add(values)
            by_config[values].add(name)
    for name, several in by_name.items():
        if len(several) > 1:
            varying = [
                key for i, key in enumerate(keys) if len({values[i] for values in several}) > 1
            ]
            shown = ", ".join(varying[:4])
            return [
                f"{name}: its runs differ in more than their seed ({shown}): "
                "--arm-from path if that is no other recipe, --arm-from config if it is"
            ]
    for several_names in by_config.values():
        if len(several_names) > 1:
            shown = " and ".join(sorted(several_names))
            return [
                f"{shown} have the same settings: --arm-from path if the recipe stands elsewhere, "
                "else they are one recipe"
            ]
    return []


def _differ(names: Sequence[str], settings: Sequence[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for key in _all_keys(settings):
        values: dict[str, Any] = {}
        for name, config in zip(names, settings, strict=True):
            if config:
                values.setdefault(name, config.get(key))
        if len({_plain(value) for value in values.values()}) > 1:
            found[key] = values
    return found


def _config_names(settings: Sequence[dict[str, Any]]) -> list[str]:
    keys = [
        key
        for key in _all_keys(settings)
        if len({_plain(config.get(key)) for config in settings}) > 1
    ]
    texts = [k for k in keys if all(isinstance(c.get(k), str) for c in settings if c)]
    if len(texts) == 1 or (texts and len(keys) == 1):
        return [str(config.get(texts[0], "unknown")) for config in settings]
    return [
        ", ".join(f"{key.rsplit('.', 1)[-1]}={_plain(config.get(key))}" for key in keys)
        for config in settings
    ]


def _as_said(runs: Sequence[Joined], arm_from: str, settings: Sequence[dict[str, Any]]) -> ArmNames:
    configs = [run.config for run in runs]
    if any(arm_from in config for config in configs):
        names = [_plain(config.get(arm_from)) for config in configs]
    else:
        pattern = _pattern(arm_from)
        names = []
        for run in runs:
            match = pattern.search(run.label)
            if not match:
                return ArmNames(
                    [""] * len(runs),
                    [""] * len(runs),
                    questions=[f"{run.label}: --arm-from {arm_from} finds nothing in it"],
                )
            names.append(match["arm"] if "arm" in match.groupdict() else match[1])
    return ArmNames(names, names, f"--arm-from {arm_from}", _differ(names, settings))


def _pattern(text: str) -> re.Pattern[str]:
    if "{arm}" in text:
        plain = re.escape(text).replace(r"\*", ".*?")
        plain = plain.replace(r"\{arm\}", r"(?P<arm>[^/]+?)").replace(r"\{seed\}", r"\d+")
        return re.compile(rf"(?:^|/){plain}(?:$|/)")
    return re.compile(text)


def _shortened(texts: Sequence[str], fallback: str) -> list[str]:
    """Return the names without leading and trailing tokens that all arms share."""
    arms = list(dict.fromkeys(text or fallback for text in texts))
    parts = {arm: [(m["sep"], m["text"]) for m in _TOKEN.finditer(arm)] for arm in arms}
    if len(arms) > 1:
        parts = _cut(parts, leading=True)
        parts = _cut(parts, leading=False)
    short = {arm: _written(parts[arm]) or arm for arm in arms}
    return [short[text or fallback] for text in texts]


def _written(tokens: Sequence[tuple[str, str]]) -> str:
    return "".join(sep + text for sep, text in tokens).lstrip("-_/:=, ")


def _cut(
    parts: dict[str, list[tuple[str, str]]], *, leading: bool
) -> dict[str, list[tuple[str, str]]]:
    while True:
        ends = {tokens[0 if leading else -1][1] for tokens in parts.values() if tokens}
        if len(ends) != 1 or not all(parts.values()):
            return parts
        cut = {arm: tokens[1:] if leading else tokens[:-1] for arm, tokens in parts.items()}
        names = [_written(tokens) for tokens in cut.values()]
        if not all(names) or any(name.lower() in RESERVED for name in names):
            return parts
        parts = cut
