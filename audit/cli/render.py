"""``audit render``: pages from results files, or whether committed pages are fresh."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from audit.cli.examples import add_examples
from audit.cli.output import add_output, guard_page
from audit.errors import InputError, UsageError
from audit.paths import is_folder

if TYPE_CHECKING:
    from audit.pages import Job, Page

EXAMPLES = (
    "audit render > page.md",
    "audit render study/results.json -o study/page.md",
    "audit render results.json --template recipe.html.j2 -o page.html",
    "audit render reports",
    "audit render results.json -o page.md --figures png",
    "audit render results.json --template tables.tex.j2 -o tables.tex",
    "audit render --check reports",
)
_STUDY = """\
A study is a folder with results.json and recipe.toml. A folder of studies gives page.md in each and
README.md above them, figures beside them. With --check, 1 means that a page is stale or edited.

"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``audit render``."""
    add_examples(parser, EXAMPLES)
    parser.epilog = f"{_STUDY}{parser.epilog}"
    parser.add_argument(
        "paths", nargs="*", metavar="results.json", help="results files, or folders of studies"
    )
    parser.add_argument(
        "--template",
        default="recipe.md.j2",
        help="a shipped template (audit templates lists them) or a path [%(default)s]",
    )
    add_output(parser, "the page; figures go beside it")
    parser.add_argument(
        "--check", action="store_true", help="write nothing; show how committed pages differ"
    )
    parser.add_argument(
        "--recipe", metavar="FILE", help="prose, where it is not recipe.toml beside the results"
    )
    parser.add_argument(
        "--figures",
        choices=("svg", "png"),
        default="svg",
        help="what the figures beside a page are [%(default)s]",
    )
    parser.add_argument("--policy", metavar="FILE", help="levels and margins to judge by")
    parser.add_argument(
        "-j", "--jobs", type=int, metavar="N", help="pages made at once [one a processor]"
    )


def main(options: argparse.Namespace) -> int:
    """Render or check the pages asked for and return the exit status."""
    jobs = list(_jobs(options))
    for job in jobs if not options.check else ():
        read = (*job.results, options.recipe, options.policy)
        guard_page(job.output, read, force=options.force)
    if options.jobs is not None and options.jobs < 1:
        raise UsageError(f"--jobs must be at least 1, not {options.jobs}")
    status = 0
    warned: set[str] = set()
    for number, (job, page) in enumerate(_rendered(jobs, options.jobs), 1):
        fresh = [warning for warning in page.warnings if warning not in warned]
        warned.update(fresh)
        for warning in fresh:
            print(warning, file=sys.stderr)
        status = max(status, _settle(job, page, check=options.check))
        if len(jobs) > 1:
            print(f"{number} of {len(jobs)} pages: {job.output}", file=sys.stderr)
    return status


def _settle(job: Job, page: Page, *, check: bool) -> int:
    """Check, write or print one page."""
    if check:
        lines = list(page.differences(job.output or page.name))
        for line in lines:
            print(line)
        return int(bool(lines))
    if job.output is None:
        sys.stdout.write(page.text)
        if page.files:
            print(f"{len(page.files)} figures not written; -o writes them", file=sys.stderr)
        return 0
    page.write(job.output)
    return 0


def _rendered(jobs: list[Job], workers: int | None) -> Iterator[tuple[Job, Page]]:
    """Make the pages, several at once, and yield them in order."""
    from audit.pages import render

    at_once = min(workers or os.cpu_count() or 1, len(jobs))
    if at_once < 2:
        yield from ((job, render(job)) for job in jobs)
        return
    from audit.fleet.workers import pool

    with pool(at_once) as processes:
        yield from zip(jobs, processes.map(render, jobs), strict=True)


def _jobs(options: argparse.Namespace) -> Iterator[Job]:
    from audit.pages.render import FLEET_PAGE, RECIPE_PAGE, Job, page_name

    paths = options.paths or ["results.json"]
    folders = [path for path in paths if is_folder(path)]
    studies = [study for path in paths for study in _studies(path)]
    if options.recipe and len(studies) != 1:
        raise UsageError("--recipe is for one results file")
    template = options.template
    name = page_name(template)
    if Path(template).name == FLEET_PAGE:
        output = options.output or (
            str(Path(folders[0]) / name) if options.check and folders else None
        )
        yield Job(tuple(studies), template, output, None, options.policy)
        return
    if options.output and len(studies) > 1:
        raise UsageError("-o names one page; several results files give a page each, beside them")
    beside = options.check or len(studies) > 1 or bool(folders)
    for study in studies:
        output = options.output or (str(Path(study).parent / name) if beside else None)
        yield Job((study,), template, output, options.recipe, options.policy, options.figures)
    if template == RECIPE_PAGE:
        for folder in folders:
            yield from _fleet(folder, options)


def _fleet(folder: str, options: argparse.Namespace) -> Iterator[Job]:
    """Yield the job of a folder's table of studies, where it has more than one level."""
    from audit.pages.render import FLEET_PAGE, Job

    studies = tuple(_studies(folder))
    own = str(Path(folder) / "results.json")
    if studies != (own,):
        yield Job(studies, FLEET_PAGE, str(Path(folder) / "README.md"), policy=options.policy)


def _studies(path: str) -> list[str]:
    """Return the results files of the studies a path names, sorted."""
    if not is_folder(path):
        return [path]
    found = []
    for parent, folders, files in os.walk(path):
        folders[:] = [name for name in folders if not name.startswith(".")]
        if {"results.json", "recipe.toml"} <= set(files):
            found.append(str(Path(parent) / "results.json"))
    if not found:
        raise InputError("no study (results.json with recipe.toml) in this folder", path=path)
    return sorted(found)
