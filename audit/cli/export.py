"""``audit export``: a study into another tool's format, with its verdicts."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from audit.cli.examples import add_examples
from audit.cli.import_words import pair
from audit.cli.judging_options import (
    add_policy_source,
    not_searched,
    policy_named,
    report_not_searched,
)
from audit.cli.outcomes_output import in_json, publish_beside
from audit.cli.output import add_output, guard, publish
from audit.errors import ImportRefused, InputError, UsageError
from audit.policy import Policy
from audit.reading import Source, read_source
from audit.report import Report
from audit.safetext import visible

EXAMPLES = (
    "audit export results.json --to attestation -o results.intoto.json",
    "audit export results.json --to eval-results --dataset 'gsm8k=openai/gsm8k:default'",
    "audit export results.json --to model-index --arm dapo",
    "audit export results.json --to every-eval-ever --retrieved 1700000000 -o records.json",
    "audit export results.json --to parquet -o beside/results.json",
)
ATTESTATION, RECORDS = "attestation", "every-eval-ever"
EVAL_RESULTS, MODEL_INDEX = "eval-results", "model-index"
# Results files again: with the outcomes of tasks beside them, or in them.
OUTCOMES_BESIDE, OUTCOMES_INLINE = "parquet", "json"
_FORMATS = (
    *(ATTESTATION, EVAL_RESULTS, MODEL_INDEX, RECORDS),
    *(OUTCOMES_BESIDE, OUTCOMES_INLINE),
)
_TOLD = f"""\
formats:
  {ATTESTATION:<16}an in-toto statement that `audit verify` computes again
  {EVAL_RESULTS:<16}a file for .eval_results/ of a model on the Hugging Face Hub
  {MODEL_INDEX:<16}the front matter of a Hugging Face model card
  {RECORDS:<16}one Every Eval Ever record per training run
  {OUTCOMES_BESIDE:<16}a results file with the outcomes of tasks as Parquet beside it
  {OUTCOMES_INLINE:<16}a results file with the outcomes of tasks in it

"""
# Which formats an option is about.
_ABOUT = {
    "arm": (EVAL_RESULTS, MODEL_INDEX),
    "dataset": (EVAL_RESULTS, MODEL_INDEX),
    "even_refused": (EVAL_RESULTS, MODEL_INDEX),
    "retrieved": (RECORDS,),
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``audit export``."""
    add_examples(parser, EXAMPLES)
    parser.epilog = f"{_TOLD}{parser.epilog}"
    parser.add_argument("results", metavar="FILE", help="results file")
    parser.add_argument(
        "--to",
        required=True,
        choices=_FORMATS,
        metavar="FORMAT",
        help=f"{', '.join(_FORMATS[:-1])} or {_FORMATS[-1]}",
    )
    hub = parser.add_argument_group(f"{EVAL_RESULTS} and {MODEL_INDEX}")
    hub.add_argument("--arm", metavar="NAME", help="the arm that is the model (the top arm)")
    hub.add_argument(
        "--dataset",
        action="append",
        default=[],
        metavar="BENCHMARK=ID[:TASK]",
        help="a benchmark's id and task on the Hub; may be repeated",
    )
    hub.add_argument(
        "--even-refused",
        action="store_true",
        help="write scores that a refused claim is about, with the refusal beside them",
    )
    parser.add_argument(
        "--retrieved",
        type=int,
        metavar="SECONDS",
        help=f"when the records of {RECORDS} are made, in seconds since 1970; they need it",
    )
    add_policy_source(parser)
    add_output(parser)


def main(options: argparse.Namespace) -> int:
    """Run ``audit export`` and return its exit status."""
    _refuse_foreign_options(options)
    policy = policy_named(options)
    read = (options.results, options.policy, policy.source)
    guard(options.output, read, force=options.force)
    if options.to in (OUTCOMES_BESIDE, OUTCOMES_INLINE):
        _write_again(options)
        return 0
    publish(_WRITERS[options.to](options, policy), options.output)
    return 0


def _refuse_foreign_options(options: argparse.Namespace) -> None:
    """Refuse an option that the format does not heed, and records without their time."""
    for name, formats in _ABOUT.items():
        if getattr(options, name) not in (None, [], False) and options.to not in formats:
            spelt = name.replace("_", "-")
            raise UsageError(f"--{spelt} is for --to {' and '.join(formats)}, not {options.to}")
    if options.to == RECORDS and options.retrieved is None:
        raise UsageError(
            f"--to {RECORDS} needs --retrieved SECONDS: a record names when it is made"
        )


def _attestation(options: argparse.Namespace, policy: Policy) -> str:
    from audit.exports.attestation import canonical, statement

    path = options.results
    if path == "-":
        raise InputError("a statement names its file, which standard input does not", path="-")
    source = read_source(path)
    named = replace(source, name=Path(path).name)
    document = statement(named, policy.for_path(path))
    _refuse_unrecorded_looks(path, policy)
    return canonical(document).decode("ascii")


def _refuse_unrecorded_looks(path: str, policy: Policy) -> None:
    """Refuse to attest what the gate refuses for the looks that the file's history shows.

    A statement rests on the file alone, which whoever reads it may have without its history.
    """
    from audit.fleet.files import FileResults
    from audit.fleet.judging import Choices, Judge

    found = Judge(policy, Choices())(path)
    report_not_searched(not_searched(FileResults((found,))))
    for view in found.claims:
        if view.slug == "looks-not-recorded":
            raise ImportRefused(f"{view.sentence}: {view.reason}; {view.settles}", path=path)


def _write_again(options: argparse.Namespace) -> None:
    """Write the results file with its outcomes beside it, or in it; nothing else changes."""
    from audit.outcomes_file import inlined
    from audit.results import load

    results = load(options.results)
    if results.defects:
        worst = results.defects[0]
        raise InputError(
            f"{worst.kind} {visible(worst.text)} would be lost; audit verify names all of them",
            path=options.results,
            pointer=worst.pointer,
        )
    document = inlined(results.document, results.beside)
    if options.to == OUTCOMES_INLINE:
        publish(in_json(document), options.output)
        return
    for note in publish_beside(document, options.output):
        print(f"audit: {visible(note)}", file=sys.stderr)


def _hub_form(options: argparse.Namespace, policy: Policy) -> str:
    from audit.exports.arm_scores import one_arm
    from audit.exports.hub_forms import eval_results, model_index

    datasets = dict(pair(text, "--dataset BENCHMARK=ID[:TASK]") for text in options.dataset)
    report = _report(read_source(options.results), policy)
    scores = one_arm(report, options.arm, even_refused=options.even_refused)
    known = {score.benchmark or "unknown" for score in scores}
    for benchmark in datasets:
        if benchmark not in known:
            raise UsageError(
                f"--dataset: no benchmark {benchmark!r}; the file has {', '.join(sorted(known))}"
            )
    if options.to == EVAL_RESULTS:
        text, left_out = eval_results(scores, datasets)
        for name in left_out:
            print(f"audit: not written: {visible(name)}", file=sys.stderr)
        return text
    return model_index(scores[0].arm, scores, datasets)


def _records(options: argparse.Namespace, policy: Policy) -> str:
    from audit.exports.eval_records import records

    report = _report(read_source(options.results), policy)
    return json.dumps(records(report, options.retrieved), indent=2, allow_nan=False) + "\n"


def _report(source: Source, policy: Policy) -> Report:
    """Return the report of a file that can be judged.

    Raises
    ------
    InputError
        When it breaks its contract so that nothing can.
    """
    from audit.report import verify
    from audit.results import from_source

    report = verify(from_source(source), policy=policy.for_path(source.name))
    if report.analysis is None:
        raise InputError("cannot be judged; audit verify says where", path=source.name)
    return report


_WRITERS: dict[str, Callable[[argparse.Namespace, Policy], str]] = {
    ATTESTATION: _attestation,
    EVAL_RESULTS: _hub_form,
    MODEL_INDEX: _hub_form,
    RECORDS: _records,
}
