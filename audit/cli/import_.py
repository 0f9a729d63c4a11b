"""``audit import``: another tool's files to one results document, on stdout or in a file."""

from __future__ import annotations

import argparse
import glob
import os
import re
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from audit.claims import claimed_controls
from audit.cli import import_folder
from audit.cli.import_words import pair, scale_of
from audit.cli.imported_file import BESIDE, INLINE, finish, guard_import
from audit.cli.outcomes_output import in_json
from audit.cli.output import publish
from audit.errors import InputError, UsageError
from audit.importers import IMPORTERS, importer
from audit.importers.columns import MAPPED, ROLES
from audit.importers.draft import Options
from audit.importers.foreign import ForeignTable, read_foreign
from audit.importers.path_seeds import CONFIG, PATH
from audit.importers.placing import AUTO, counted_file, importer_of
from audit.importers.study import Layout, Placed, assemble
from audit.results import load
from audit.safetext import visible

# The format of our own files, for --to.
RESULTS = "results"

EXAMPLES = """\
examples:
  audit import RUNS/ --control grpo -o results.json
  audit import whileai results.json | audit verify -
  audit import lm-eval --arm tuned='out/tuned/seed*/*' --arm base='out/base/*' \\
        --base base --seed-from 'seed{seed}'
  audit import auto --arm a2='eval/a2_*.json' --arm a2='logs/a2_*/trainer_state.json' \\
        --seed-from 'a2_{seed}'
  audit import wide-table scores.csv --scale 0-100 --control baseline -o results.json

exit status:
  0  brought over; notes on stderr say what was missing, dropped or averaged
  1  of the format, but it cannot be brought over without inventing
  2  not of the format, unreadable, or wrong usage
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``audit import``."""
    formats = "\n".join(f"  {entry.name:<16}{entry.what}" for entry in IMPORTERS)
    first = f"  {'auto':<16}found from the file\n"
    parser.epilog = f"formats:\n{first}{formats}\n\n{EXAMPLES}"
    parser.add_argument(
        "format",
        metavar="PATH",
        help="a folder of runs or a file; or first a format's name (--formats) or auto",
    )
    parser.add_argument("files", nargs="*", metavar="FILE", help="file or pattern, or - for stdin")
    layout = parser.add_argument_group("one study from several files")
    layout.add_argument(
        "--arm",
        action="append",
        default=[],
        metavar="NAME=FILES",
        help="files or pattern that belong to an arm; may be repeated",
    )
    layout.add_argument("--method", metavar="NAME", help="the top arm")
    layout.add_argument(
        "--control",
        action="append",
        default=[],
        metavar="NAME",
        help="arm that the top arm is compared with; may be repeated",
    )
    layout.add_argument(
        "--base",
        action="append",
        default=[],
        metavar="NAME",
        help="arm that is the untrained model",
    )
    layout.add_argument(
        "--seed-from",
        metavar="PATTERN",
        help="where the training seed stands: path, a KEY or column, 'seed{seed}' of a path, or a "
        "regular expression",
    )
    layout.add_argument(
        "--seed-is",
        choices=("training", "decoding"),
        help="what seeds and runs of unknown meaning are: trainings of their own, or evaluations "
        "of one training",
    )
    reading = parser.add_argument_group("what a file does not say itself")
    reading.add_argument("--metric", metavar="NAME", help="which metric, or what a column measures")
    reading.add_argument("--benchmark", metavar="NAME", help="which benchmark; all when left out")
    reading.add_argument("--filter", metavar="NAME", help="answer extraction of lm-eval")
    reading.add_argument("--scale", metavar="LOW-HIGH", help="0-1 or 0-100")
    reading.add_argument(
        "--lower-is-better", action="store_true", help="direction of a metric that is no accuracy"
    )
    reading.add_argument(
        "--map",
        "--column",
        dest="roles",
        action="append",
        default=[],
        metavar="ROLE=POINTER",
        help=f"column, or JSON Pointer within a record, of {', '.join(ROLES)} and others; may be "
        "repeated",
    )
    reading.add_argument(
        "--missing",
        choices=("wrong",),
        help="answers that are absent count as errored and wrong",
    )
    reading.add_argument(
        "--where",
        action="append",
        default=[],
        metavar="COLUMN=TEXT",
        help="rows of a table to keep",
    )
    import_folder.configure(parser)
    parser.add_argument(
        "--to",
        choices=("every-eval-ever",),
        help=argparse.SUPPRESS,  # an older spelling of `audit export`
    )
    parser.add_argument(
        "--retrieved",
        type=int,
        metavar="SECONDS",
        help=argparse.SUPPRESS,
    )
    parser.add_argument(
        "--claim",
        action="append",
        default=[],
        metavar="TEXT",
        help="write a claim into the file, e.g. 'gain accuracy dapo over grpo'; may be repeated",
    )
    parser.add_argument(
        "--outcomes",
        choices=(INLINE, BESIDE),
        default=INLINE,
        help="where the outcomes of tasks go: into the results file, or as Parquet beside it "
        "(needs -o)",
    )
    parser.add_argument(
        "--output",
        "-o",
        metavar="FILE",
        help="write there, not to stdout; claims and plans of the results file there are kept",
    )
    parser.add_argument(
        "--force", action="store_true", help="replace a file that is no results file"
    )
    parser.add_argument("-q", "--quiet", action="store_true", help="no notes on stderr")


def main(options: argparse.Namespace) -> int:
    """Run ``audit import`` and return its exit status.

    Raises
    ------
    UsageError
        On wrong usage.
    InputError
        When a file is unreadable or not of the format.
    ImportRefused
        When a file cannot be brought over without inventing.
    """
    if options.to is None and import_folder.applies(options):
        return import_folder.main(options)
    if import_folder.is_path(options.format):
        options.files, options.format = [options.format, *options.files], "auto"
    import_folder.refuse_for_files(options)
    if options.to and options.retrieved is None:
        raise UsageError("--to needs --retrieved SECONDS: a record names when it was made")
    document, notes = _document(options)
    if options.to:
        records = _records(document, options.retrieved)
        guard_import(options.output, _inputs(options), force=options.force)
        publish(in_json(records), options.output)
        return 0
    kept = finish(document, options, _inputs(options))
    if not options.quiet:
        for note in (*notes, *kept):
            print(f"note: {visible(note)}", file=sys.stderr)
    return 0


def _document(options: argparse.Namespace) -> tuple[dict[str, Any], tuple[str, ...]]:
    if options.format == RESULTS:
        if len(options.files) != 1:
            raise UsageError(f"{RESULTS} takes one file")
        return load(options.files[0]).usable, ()
    placed = list(_placed(options))
    if not placed:
        raise UsageError("no file given")
    pattern, _ = _seed_source(options.seed_from)
    layout = Layout(
        method=options.method,
        controls=tuple(options.control),
        claimed=claimed_controls(options.claim),
        base=tuple(options.base),
        seed_from=pattern,
    )
    document, notes = assemble(placed, _options(options), layout)
    said = _said(options)
    if said:
        document["provenance"]["imported"]["options"] = said
    return document, notes


def _records(document: dict[str, Any], retrieved: int) -> list[dict[str, Any]]:
    from audit.exports.eval_records import records
    from audit.report import verify
    from audit.results import from_document

    return records(verify(from_document(document)), retrieved)


def _inputs(options: argparse.Namespace) -> list[str]:
    named = [*options.files, *(pair(text, "--arm NAME=FILES")[1] for text in options.arm)]
    return [path for pattern in named for path in _files(pattern)]


def _seed_source(text: str | None) -> tuple[str | None, str | None]:
    """Return the pattern for seeds in paths, or the key that holds them in the files."""
    if text is None or text == PATH:
        return text, None
    # A word that is no pattern for a path names a key or a column.
    is_key = re.fullmatch(r"/?[\w.-]+(?:/[\w.-]+)*", text) is not None
    return (None, text) if is_key else (text, None)


def _said(options: argparse.Namespace) -> dict[str, list[str]]:
    """Return the options that say what the files do not, as they were typed."""
    given = {
        f"--{name.replace('_', '-')}": getattr(options, name)
        for name in ("method", "control", "base", "seed_from", "seed_is", "metric", "benchmark")
    }
    given |= {
        "--filter": options.filter,
        "--scale": options.scale,
        "--map": options.roles,
        "--where": options.where,
        "--missing": options.missing,
    }
    listed = {name: value if isinstance(value, list) else [value] for name, value in given.items()}
    return {
        name: list(map(str, value)) for name, value in listed.items() if value not in ([], [None])
    }


def _placed(options: argparse.Namespace) -> Iterator[Placed]:
    """Read every file once and find its importer."""
    named: list[tuple[str | None, str]] = [(None, pattern) for pattern in options.files]
    named += [pair(text, "--arm NAME=FILES") for text in options.arm]
    if options.format != AUTO:
        importer(options.format)
    said = _options(options)
    for arm, pattern in named:
        for path in _files(pattern):
            file = counted_file(path, options.format, said)
            if file is not None:
                yield Placed(file, arm, "long-table")
                continue
            file = read_foreign(path)
            if options.seed_from == CONFIG and not isinstance(file.content, ForeignTable):
                raise UsageError(
                    "--seed-from config: the file comes without a trainer's settings; give the "
                    "folder of the runs, or say path, a key or a pattern",
                    path=file.name,
                )
            yield Placed(file, arm, importer_of(file, options.format, said.columns))


def _files(pattern: str) -> Sequence[str]:
    if pattern == "-" or os.path.lexists(pattern) or not glob.has_magic(pattern):
        return [pattern]
    matches = sorted(glob.glob(pattern, recursive=True))  # noqa: PTH207 - absolute patterns too
    files = [match for match in matches if not os.path.isdir(match)]  # noqa: PTH112 - any name
    if not files:
        raise InputError("no file matches this pattern", path=pattern)
    return files


def _columns(options: argparse.Namespace) -> dict[str, str]:
    columns = dict(pair(text, "--map ROLE=POINTER") for text in options.roles)
    unknown = sorted(set(columns) - set(MAPPED))
    if unknown:
        raise UsageError(f"--map: no role {unknown[0]!r}; there are {', '.join(MAPPED)}")
    return columns


def _options(options: argparse.Namespace) -> Options:
    return Options(
        metric=options.metric,
        benchmark=options.benchmark,
        filter=options.filter,
        scale=scale_of(options.scale),
        higher_is_better=False if options.lower_is_better else None,
        columns=_columns(options),
        where=dict(pair(text, "--where COLUMN=TEXT") for text in options.where),
        seed_is=options.seed_is,
        seed_key=_seed_source(options.seed_from)[1],
        missing=options.missing,
    )
