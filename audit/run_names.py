"""The training run and the step that the name of a model or checkpoint speaks of."""

from __future__ import annotations

import re
from typing import NamedTuple


class RunName(NamedTuple):
    """A model's name taken apart.

    Attributes
    ----------
    run : str
        What is left of the name without steps; empty where it named a step alone, which is no
        evidence of anything.
    step : int, float or None
        The last step named, in the name's own unit; None where it names none.
    """

    run: str
    step: int | float | None


# A word for a step and its number, with no letter or digit on either side: "steps10" is a setting.
_TOKEN = re.compile(
    r"(?<![A-Za-z0-9])"
    r"(?:checkpoint|ckpt|global[-_]?step|step|iteration|iter|epoch|ep|update)"
    r"[-_=:]?([0-9]{1,18}(?:\.[0-9]{1,9})?)([kKmM]?)(?![A-Za-z0-9])",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"[0-9]{1,18}")
_REVISION = re.compile(r",revision=([^,]*)|(?<=[^/\\@])@([^,/\\@]*)")
_ARTIFACT = re.compile(r":(?:v(\d+)|latest|best)$", re.IGNORECASE)
_WEIGHTS = re.compile(
    r"\.(?:ckpt|pt|pth|bin|safetensors|gguf|h5|msgpack|onnx|npz|pkl)$", re.IGNORECASE
)
_SEPARATORS = "-_=:., "

_FOLDERS = frozenset({"checkpoints", "ckpts", "sampler_weights", "steps", "saves"})
_ALIASES = frozenset({"latest", "last", "best", "final"})
_BELOW_A_STEP = frozenset(
    {"hf", "huggingface", "merged", "actor", "critic", "policy", "model", "adapter", "lora",
     "weights", "consolidated", "main"}
)  # fmt: skip
_THOUSANDS = {"": 1, "k": 1_000, "m": 1_000_000}


def run_of(name: str) -> RunName:
    """Return the run and the step of a model's or checkpoint's name.

    Parameters
    ----------
    name : str
        A path, a hub name, an artifact's name, or the model argument of an evaluation harness;
        never the name of an evaluation's file.

    Returns
    -------
    RunName
        Two names with equal, not empty, runs are steps of one training run.

    Notes
    -----
    Cut out are step tokens (``checkpoint-100``, ``global_step_50``, ``step2k``, ``epoch=3``), a
    number alone below a folder of checkpoints, artifact versions (``:v7``, ``:latest``), a
    revision (``@step100``, ``,revision=step100``), the parts latest, last, best and final, below
    these and below a step the folders that trainers make for formats (``hf``, ``actor``,
    ``merged``), and the endings of weight files. A revision that names a seed stays in the run:
    several trainings may be kept as branches of one repository. Renamed checkpoints are not seen.
    """
    revised, named = _without_revision(name.strip())
    step: int | float | None = None
    version: int | None = None
    kept: list[str] = []
    below, above = False, ""
    for part in re.split(r"[/\\]+", revised):
        here = part.lower()
        if here in _ALIASES:
            below, above = True, here
            continue
        if part in ("", ".") or (below and _WEIGHTS.sub("", here) in _BELOW_A_STEP):
            above = here or above
            continue
        rest, found = _cut(_WEIGHTS.sub("", part))
        if found is None and above in _FOLDERS and _NUMBER.fullmatch(rest):
            rest, found = "", int(rest)
        artifact = _ARTIFACT.search(rest)
        if artifact:
            rest = rest[: artifact.start()]
            version = int(artifact[1]) if artifact[1] else version
        if found is not None:
            step, below = found, True
        if rest:
            kept.append(rest)
        above = here
    while kept and kept[-1].lower() in _FOLDERS:
        kept.pop()
    revision, of_revision = _cut(named)
    if "seed" in revision.lower() and kept:
        kept[-1] += f"@{revision}"
    steps = (of_revision, step, version)
    return RunName("/".join(kept), next((s for s in steps if s is not None), None))


def _without_revision(name: str) -> tuple[str, str]:
    """Return the name without its revision, and the revision."""
    revisions = [first or second for first, second in _REVISION.findall(name)]
    return _REVISION.sub("", name), revisions[-1] if revisions else ""


def _cut(part: str) -> tuple[str, int | float | None]:
    """Return a part without its step tokens, and the last of their steps."""
    tokens = list(_TOKEN.finditer(part))
    if not tokens:
        return part, None
    starts, ends = [0, *(t.end() for t in tokens)], [*(t.start() for t in tokens), len(part)]
    between = (part[start:end].strip(_SEPARATORS) for start, end in zip(starts, ends, strict=True))
    return "-".join(filter(None, between)), _number(*tokens[-1].groups())


def _number(digits: str, unit: str) -> int | float:
    scale = _THOUSANDS[unit.lower()]
    if "." not in digits:
        return int(digits) * scale
    value = float(digits) * scale
    return int(value) if value.is_integer() else value
