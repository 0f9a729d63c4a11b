"""``audit import PATH...`` where a path is a folder of runs, or a file that only they have."""

from __future__ import annotations

import argparse
import glob
import json
import os
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from audit.claims import claimed_controls
from audit.cli.import_words import pair, role_of, scale_of
from audit.cli.imported_file import finish
from audit.errors import AuditError, InputError, UsageError
from audit.importers import IMPORTERS
from audit.importers.folder.bringing_in import Brought, bring_in
from audit.importers.folder.claiming_files import claim
from audit.importers.folder.said import Said
from audit.importers.folder.walking import walk
from audit.importers.readers import READERS
from audit.safetext import visible

WORDS = ("study", "run")


def formats() -> str:
    """Return the names of all formats, one a line: those of files, then those of folders."""
    single = [f"  {entry.name:<18}{entry.what}" for entry in IMPORTERS]
    listed = {entry.name for entry in IMPORTERS}
    folders = [f"  {r.name:<18}{r.what}" for r in READERS if r.name not in listed]
    return "\n".join(["files:", *single, "", "folders and trackers:", *folders]) + "\n"


class _Formats(argparse.Action):
    """Print the formats and stop, as --version does."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        sys.stdout.write(formats())
        parser.exit()


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options that folders of runs take beside those of single files."""
    parser.add_argument("--formats", action=_Formats, nargs=0, help="list all formats and stop")
    folder = parser.add_argument_group("a folder of runs")
    folder.add_argument(
        "--from",
        "--as",
        dest="readers",
        action="append",
        default=[],
        metavar="FORMAT[=GLOB]",
        help="read the folder, or these files, as this format; may be repeated",
    )
    folder.add_argument(
        "--arm-from",
        metavar="WHERE",
        help="what tells arms apart: path, config, KEY or '{arm}/seed{seed}'",
    )
    folder.add_argument(
        "--step", metavar="last|N", help="step that is judged (the last that every run has)"
    )
    folder.add_argument(
        "--exclude",
        action="append",
        default=[],
        metavar="GLOB",
        help="files or folders to leave out; may be repeated",
    )
    folder.add_argument(
        "--dry-run", action="store_true", help="print what was found, write nothing"
    )
    folder.add_argument("--answers", metavar="FILE", help="a TOML file that holds these options")
    folder.add_argument(
        "--format",
        dest="screen",
        choices=("text", "json"),
        default="text",
        help="of what --dry-run prints",
    )


def applies(options: argparse.Namespace) -> bool:
    """Whether what is named is read as a folder of runs.

    It is where the first word says so, names a reader of folders, or is a path itself; and where
    ``auto`` is given a folder or a file that only such a reader takes.
    """
    word = options.format
    if word in WORDS or options.readers or options.dry_run or options.answers:
        return True
    of_files = {entry.name for entry in IMPORTERS}
    known = any(word in (reader.name, *reader.also) for reader in READERS)
    if known and word not in of_files:
        return True
    if not known and word != "auto" and not is_path(word):
        return False
    paths = _paths(options)
    if any(path != "-" and not os.path.lexists(path) for path in paths):
        return is_path(word)  # where reading says that it is not there
    if any(os.path.isdir(path) for path in paths):  # noqa: PTH112 - takes any name
        return True
    files = [path for path in paths if path != "-" and os.path.lexists(path)]
    if word in of_files or not files:
        return False
    try:
        claimed = claim(walk(files))
    except AuditError:
        return False
    folders = {name for name in claimed.files if not claimed.readers[name].general}
    return bool(folders - of_files)  # a single log of an evaluation has an importer of its own


def refuse_for_files(options: argparse.Namespace) -> None:
    """Refuse what chooses among the runs of a folder where single files are read.

    Raises
    ------
    UsageError
        Naming the option, rather than reading the file as if it had not been given.
    """
    for name in ("arm_from", "step", "exclude"):
        if getattr(options, name):
            option = f"--{name.replace('_', '-')}"
            raise UsageError(
                f"{option} chooses among the runs of a folder, and this is read as single files "
                "(--where COLUMN=TEXT keeps rows of a table)"
            )


def is_path(word: str) -> bool:
    """Whether the first word is what to read, and not the name of a format."""
    known = {"auto", "results", *WORDS, *(entry.name for entry in IMPORTERS)}
    told = os.path.lexists(word) or glob.has_magic(word) or "/" in word
    return word not in known and told


def _paths(options: argparse.Namespace) -> list[str]:
    words = [options.format] if is_path(options.format) else []
    paths: list[str] = []
    for pattern in (*words, *options.files):
        if os.path.lexists(pattern) or not glob.has_magic(pattern):
            paths.append(pattern)
        else:
            matches = sorted(glob.glob(pattern, recursive=True))  # noqa: PTH207 - absolute too
            if not matches:
                raise InputError("no file matches this pattern", path=pattern)
            paths += matches
    return paths


def main(options: argparse.Namespace) -> int:
    """Bring the folder in; returns 0 where it is written, 1 where a question is open."""
    paths = _paths(options)
    if not paths:
        raise UsageError("no folder or file given")
    brought = bring_in(paths, _said(options))
    if options.dry_run:
        sys.stdout.write(_as_json(brought) if options.screen == "json" else brought.text)
        return 0
    if options.quiet:
        for question in brought.questions:
            print(f"audit import: {visible(question)}", file=sys.stderr)
    else:
        sys.stderr.write("\n".join(visible(line) for line in brought.text.split("\n")))
        for note in brought.notes:
            print(f"note: {visible(note)}", file=sys.stderr)
    if brought.document is None:
        return 1
    kept = finish(brought.document, options, paths)
    if not options.quiet:
        for note in kept:
            print(f"note: {visible(note)}", file=sys.stderr)
    return 0


def _as_json(brought: Brought) -> str:
    data = {
        "heading": brought.heading,
        "runs": brought.rows,
        "found": brought.lines,
        "questions": brought.questions,
        "notes": list(brought.notes),
    }
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"


def _said(options: argparse.Namespace) -> Said:
    given = _answers(options.answers)
    readers = list(options.readers)
    word = options.format
    if word not in (*WORDS, "auto") and not is_path(word):
        readers.append(word)
    step = _one(options.step, given, "step")
    bases = [*options.base, *_list(given, "base")]
    if len(bases) > 1:
        raise UsageError("--base names one arm where a folder is read")
    return Said(
        method=_one(options.method, given, "method"),
        base=bases[0] if bases else None,
        control=(*options.control, *_list(given, "control")),
        claimed=claimed_controls(options.claim),
        arm=tuple(pair(text, "--arm NAME=FILES") for text in (*options.arm, *_list(given, "arm"))),
        arm_from=_one(options.arm_from, given, "arm_from"),
        seed_from=_one(options.seed_from, given, "seed_from"),
        seed_is=_one(options.seed_is, given, "seed_is"),
        metric=_one(options.metric, given, "metric"),
        benchmark=_one(options.benchmark, given, "benchmark"),
        filter=_one(options.filter, given, "filter"),
        step=_step(step),
        scale=scale_of(_one(options.scale, given, "scale")),
        lower_is_better=options.lower_is_better or bool(given.get("lower_is_better")),
        missing=_one(options.missing, given, "missing"),
        roles=dict(role_of(text) for text in (*options.roles, *_pairs(given, "map"))),
        where=dict(
            pair(text, "--where KEY=TEXT") for text in (*options.where, *_pairs(given, "where"))
        ),
        exclude=(*options.exclude, *_list(given, "exclude")),
        readers=(*readers, *_list(given, "from")),
    )


def _answers(path: str | None) -> dict[str, Any]:
    """Return the options of an answers file, dashes and underscores alike.

    Raises
    ------
    InputError
        When it is unreadable or no TOML.
    UsageError
        When it holds an option that there is none of.
    """
    if path is None:
        return {}
    try:
        found = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", path=path) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"not TOML: {error}", path=path) from None
    given = {key.replace("-", "_"): value for key, value in found.items()}
    known = {*Said.__dataclass_fields__, "map", "from"} - {"roles", "readers"}
    unknown = sorted(set(given) - known)
    if unknown:
        raise UsageError(
            f"no option {unknown[0]!r}; there are {', '.join(sorted(known))}", path=path
        )
    return given


def _one(option: str | None, given: dict[str, Any], key: str) -> str | None:
    if option is not None:
        return option
    return None if given.get(key) is None else str(given[key])


def _list(given: dict[str, Any], key: str) -> Sequence[str]:
    value = given.get(key, [])
    return [str(part) for part in value] if isinstance(value, list) else [str(value)]


def _pairs(given: dict[str, Any], key: str) -> Sequence[str]:
    value = given.get(key, {})
    if isinstance(value, dict):
        return [f"{name}={text}" for name, text in value.items()]
    return _list(given, key)


def _step(text: str | None) -> int | None:
    if text in (None, "last"):
        return None
    if text is not None and text.isdecimal():
        return int(text)
    raise UsageError(f"--step {text!r}: say last or a number")
