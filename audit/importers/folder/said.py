"""What the user says about a folder of runs, because the files do not say it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from audit.importers.draft import Options


@dataclass(frozen=True, slots=True)
class Said:
    """The answers that ``audit import`` takes for a folder; each is written into the file.

    Attributes
    ----------
    method, base : str or None
        The top arm, and the arm that is the untrained model.
    control : tuple of str
        Arms that the top arm is compared with, by their short or long names.
    claimed : frozenset of str
        Arms, in lower case, that claims set others against: the controls where none is named.
    arm : tuple of (str, str)
        Arm and pattern of the runs or files that belong to it.
    arm_from, seed_from : str or None
        ``path``, ``config``, a key of the settings, or a pattern.
    seed_is : str or None
        ``training`` or ``decoding``: what a bare column of seeds numbers.
    metric, benchmark, filter : str or None
    step : int or None
        Step that is judged; the last that every finished run has where None.
    scale : tuple of float or None
    lower_is_better : bool
    missing : str or None
        ``wrong``: answers that were asked for and are not there count as wrong.
    roles : mapping
        Role to JSON pointer, column name or ``@path:REGEX`` of home-made files.
    where : mapping
        Setting or column to the text it must have.
    exclude : tuple of str
        Patterns of files that are left out.
    readers : tuple of str
        ``FORMAT`` or ``FORMAT=GLOB``.
    """

    method: str | None = None
    base: str | None = None
    control: tuple[str, ...] = ()
    claimed: frozenset[str] = frozenset()
    arm: tuple[tuple[str, str], ...] = ()
    arm_from: str | None = None
    seed_from: str | None = None
    seed_is: str | None = None
    metric: str | None = None
    benchmark: str | None = None
    filter: str | None = None
    step: int | None = None
    scale: tuple[float, float] | None = None
    lower_is_better: bool = False
    missing: str | None = None
    roles: Mapping[str, str] = field(default_factory=dict)
    where: Mapping[str, str] = field(default_factory=dict)
    exclude: tuple[str, ...] = ()
    readers: tuple[str, ...] = ()

    def options(self) -> Options:
        """Return what the readers of single files take."""
        return Options(
            metric=self.metric,
            benchmark=self.benchmark,
            filter=self.filter,
            scale=self.scale,
            higher_is_better=False if self.lower_is_better else None,
            columns=self.roles,
            where=self.where,
            seed_is=self.seed_is,
            missing=self.missing,
        )

    def recorded(self) -> dict[str, list[str]]:
        """Return the answers that were given, by option and as they were typed."""
        given: dict[str, list[str]] = {}
        for entry in fields(self):
            value = getattr(self, entry.name)
            # Claims stand in the file itself.
            if entry.name == "claimed" or value in (None, (), {}, False):
                continue
            option = f"--{_OPTIONS.get(entry.name, entry.name.replace('_', '-'))}"
            given[option] = _typed(entry.name, value)
        return given


# Options that are called otherwise than their fields.
_OPTIONS = {"roles": "map", "readers": "from"}


def _typed(name: str, value: Any) -> list[str]:
    if isinstance(value, Mapping):
        return [f"{key}={text}" for key, text in value.items()]
    if name == "arm":
        return [f"{arm}={pattern}" for arm, pattern in value]
    if name == "scale":
        return [f"{value[0]:g}-{value[1]:g}"]
    return [str(part) for part in value] if isinstance(value, tuple) else [str(value)]
