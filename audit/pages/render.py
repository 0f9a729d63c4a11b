"""From results files to pages."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from audit.errors import InputError, UsageError
from audit.pages.environment import (
    PageEnvironment,
    csv_environment,
    html_environment,
    latex_environment,
    markdown_environment,
    one_line_errors,
    prose_environment,
)
from audit.pages.figures import draw, figure_paths
from audit.pages.figures.figure import SVG, Figures
from audit.pages.literals import literals
from audit.pages.page import Page
from audit.pages.recipe import read_recipe, recipe_beside
from audit.pages.variables import Variables, gather
from audit.paths import is_file
from audit.policy import Policy, find_policy
from audit.results import load
from audit.safetext import one_line

RECIPE_PAGE, FLEET_PAGE = "recipe.md.j2", "fleet.md.j2"
# What a page is called that was not given a name.
_NAMES = {RECIPE_PAGE: "page.md", "recipe.html.j2": "page.html", FLEET_PAGE: "README.md"}


@dataclass(frozen=True, slots=True)
class Job:
    """One page to make.

    Attributes
    ----------
    results : tuple of str
        Results files; a fleet page takes several.
    template : str
        Name of a shipped template, or the path of one.
    output : str or None
        Where the page will lie; figures and links are named from there.
    recipe : str or None
        The prose, where it does not lie beside the results.
    policy : str or None
        A policy file, where it is not the nearest.
    figures : str
        What the figures beside a page are: ``svg`` or ``png``.
    """

    results: tuple[str, ...]
    template: str = RECIPE_PAGE
    output: str | None = None
    recipe: str | None = None
    policy: str | None = None
    figures: str = SVG


def render(job: Job) -> Page:
    """Make one page.

    Raises
    ------
    InputError
        When a results file or its prose cannot be read.
    UsageError
        When the template or an expression in the prose is wrong; it names file and line.
    """
    made = partial(draw, kind=job.figures)
    return page_of([_study(path, job) for path in job.results], job.template, made)


class _Figures:
    """The figures of a study, drawn when a template first asks for them."""

    def __init__(self, study: Variables, draw: Callable[[Variables], Figures]) -> None:
        self._study = study
        self._draw = draw

    @cached_property
    def made(self) -> Figures:
        return self._draw(self._study)

    @property
    def drawn(self) -> Any:
        """The figures that could be drawn, in order."""
        return self.made.drawn

    @property
    def left_out(self) -> Any:
        """Title of each figure that could not be drawn, and why."""
        return self.made.left_out


def page_of(
    studies: list[Variables], template: str, draw: Callable[[Variables], Figures] = draw
) -> Page:
    """Make one page of studies that were gathered before; raises like `render`."""
    drawings = [_Figures(study, draw) for study in studies]
    name, environment = _environment(template)
    variables = _named(studies, drawings, template)
    with one_line_errors(template):
        text = environment.get_template(name).render(variables)
    figures: dict[str, bytes] = {}
    retired: tuple[str, ...] = ()
    if len(studies) == 1 and "made" in vars(drawings[0]):
        # An HTML page holds its drawings; as PNG they lie beside it all the same, for slides.
        inside = environment.autoescape
        drawn = [f for f in drawings[0].drawn if not inside or f.kind != SVG]
        figures = {figure.path: figure.data for figure in drawn}
        if not inside:
            retired = tuple(path for path in figure_paths() if path not in figures)
    return Page(
        name=page_name(template),
        text=_tidy(text),
        files=figures,
        retired=retired,
        warnings=tuple(
            warning for study in studies for warning in (*_warnings(study), *_left_out(study, name))
        ),
    )


def page_name(template: str) -> str:
    """Return what a page of a template is called: ``page.md`` of ``recipe.md.j2``."""
    base = Path(template).name
    return _NAMES.get(base) or base.removesuffix(".j2")


def _study(path: str, job: Job) -> Variables:
    policy = _policy(path, job.policy)
    recipe = read_recipe(Path(job.recipe)) if job.recipe else recipe_beside(path)
    results = load(path)
    if results.sound is None:
        raise InputError("breaks its contract, so nothing can be shown; audit verify", path=path)
    start = Path(job.output).parent if job.output else Path(path).parent
    folder = os.path.relpath(Path(path).parent, start).replace(os.sep, "/")
    # The commands of a page name the file that lies beside it, not where it was made.
    beside = replace(results, source=replace(results.source, name=Path(path).name))
    return gather(beside, policy, recipe, "" if folder == "." else folder)


def _policy(path: str, named: str | None) -> Policy:
    start = Path.cwd() if path == "-" else Path(path).parent
    return find_policy(start, named).for_path(path)


def _named(studies: list[Variables], drawings: list[_Figures], template: str) -> Mapping[str, Any]:
    several = [
        study.for_template() | {"figures": figures, "page": _page_link(study)}
        for study, figures in zip(studies, drawings, strict=True)
    ]
    if len(several) == 1 and Path(template).name != FLEET_PAGE:
        return several[0] | {"studies": several}
    return {"studies": several}


def _page_link(study: Variables) -> str:
    return f"{study.folder}/page.md" if study.folder else "page.md"


def _environment(template: str) -> tuple[str, PageEnvironment]:
    """Return a template's name and the environment its output needs."""
    path = Path(template)
    own = len(path.parts) > 1 or is_file(path)
    if own and not is_file(path):
        raise UsageError("no such template", path=template)
    base = path.name.removesuffix(".j2")
    make = _WRITTEN_AS.get(Path(base).suffix, markdown_environment)
    return path.name, make(path.parent if own else None)


_WRITTEN_AS: dict[str, Callable[[Path | None], PageEnvironment]] = {
    ".html": html_environment,
    ".htm": html_environment,
    ".tex": latex_environment,
    ".csv": csv_environment,
}


def _tidy(text: str) -> str:
    """Fold blank lines that conditions leave behind, outside code, and end in one newline."""
    kept: list[str] = []
    fence = ""
    for line in text.replace("\r\n", "\n").split("\n"):
        mark = line.strip()
        if fence:
            fence = "" if mark == fence else fence
        elif mark.startswith("```"):
            fence = mark[: len(mark) - len(mark.lstrip("`"))]
        if not fence:
            line = line.rstrip()
            if not line and (not kept or not kept[-1]):
                continue
        kept.append(line)
    return "\n".join(kept).strip("\n") + "\n"


def _warnings(study: Variables) -> Iterable[str]:
    recipe = study.recipe
    known = {arm.name for arm in study.arms}
    for label in recipe.content.get("labels") or {}:
        if label not in known:
            text = f"labels: no arm is called {label!r}; there are {', '.join(sorted(known))}"
            yield one_line(f"{recipe.path}: warning: {text}")
    for found in literals(recipe, prose_environment()):
        place = recipe.path or ""
        line = f":{found.line}" if found.line is not None else ""
        yield one_line(f"{place}{line}: warning: {found.text}")


# Sections of a recipe page that prose fills, and the key that holds it.
_SECTIONS = {"Recipe": "recipe", "Learned": "learned", "References": "references"}


def _left_out(study: Variables, template: str) -> Iterable[str]:
    """Name the sections that a recipe page lacks because nothing is written of them."""
    if not template.startswith("recipe."):
        return
    lacking = {name: key for name, key in _SECTIONS.items() if not study.prose[key]}
    if lacking:
        place = study.recipe.path or study.file
        keys = " and ".join(lacking.values())
        where = "" if study.recipe.path else " in a recipe.toml beside it"
        text = f"no section {', '.join(lacking)}; write {keys}{where}"
        yield one_line(f"{place}: hint: {text}")
