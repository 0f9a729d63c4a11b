"""``audit train``: arms x seeds with TRL, evaluated per task, written as a results file."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from audit import numerals
from audit.cli.examples import add_examples
from audit.errors import UsageError
from audit.paths import exists, is_file, is_folder
from audit.writing import write_whole

if TYPE_CHECKING:
    from audit.analysis.advice import Advice
    from audit.training.until_decided import LookTaken

EXAMPLES = (
    "audit train study.toml --dry-run",
    "audit train study.toml -o results.json --workers 2",
    "audit train study.toml --until decided",
    "audit train --selftest",
)

_RUNS = ".runs"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("study", nargs="?", help="the study file, TOML")
    parser.add_argument(
        "-o",
        "--output",
        metavar="RESULTS",
        help="results file to write (default: results.json beside the study file)",
    )
    parser.add_argument(
        "--dry-run",
        action="store_true",
        help="say what would be run, how long it takes and what effect the design can see",
    )
    parser.add_argument(
        "--selftest",
        action="store_true",
        help="check schedule, clamp and record against plain TRL, offline, in seconds",
    )
    parser.add_argument(
        "--workers", type=int, default=1, metavar="N", help="runs at a time, in processes"
    )
    parser.add_argument("--scheduler", metavar="ADDRESS", help="run on this Dask cluster instead")
    parser.add_argument(
        "--retry-failed",
        action="store_true",
        help="train once more what failed (not what diverged); the file says what went before",
    )
    parser.add_argument(
        "--until",
        choices=("decided",),
        help="train seed by seed under the plan of the study file, and stop once its claims are "
        "decided",
    )
    parser.add_argument("--quiet", action="store_true", help="no progress on stderr")
    parser.description = (
        "Train every arm with every seed, evaluate per task, and write a results file.\n\n"
        "Finished runs are kept in a folder beside the results file (RESULTS.runs); after a crash\n"
        "the same command goes on where it stopped. One run across several GPUs:\n"
        "torchrun --nproc_per_node N -m audit train study.toml"
    )
    add_examples(parser, EXAMPLES)


def main(options: argparse.Namespace) -> int:
    """Run the command; 1 when a run failed or a selftest did."""
    _require_extra()
    if options.workers < 1:
        raise UsageError("--workers must be 1 or more")
    if options.selftest:
        return _selftest()
    if options.study is None:
        raise UsageError("name a study file, or --selftest")
    from audit.training.ledger import Ledger
    from audit.training.progress import hide_loading_bars
    from audit.training.run import is_main_process
    from audit.training.study import prepare
    from audit.training.study_file import read_study

    if options.quiet:
        hide_loading_bars()
    study = read_study(options.study)
    if options.until is not None:
        from audit.training.until_decided import plan_of_study, seeds_for

        most = plan_of_study(study, options.study).most
        study = replace(study, seeds=seeds_for(study, most))
    output = _output(options)
    with ExitStack() as stack:
        ledger = Ledger(stack.enter_context(_runs_folder(output, dry=options.dry_run)))
        if not options.dry_run and is_main_process():
            stack.enter_context(ledger.held())
        with _told_when_stopped():
            bench = prepare(study, options.study, ledger)
            if options.dry_run:
                from audit.training.forecast import forecast

                for line in forecast(bench, ledger, options.workers):
                    if is_main_process():  # each process takes part in the short run
                        print(line)
                return 0
        if options.until is not None:
            return _until_decided(options, bench, ledger, output)
        return _run(options, bench, ledger, output)


@contextmanager
def _told_when_stopped() -> Iterator[None]:
    """Say, where Ctrl-C ends what comes before the training, that none was begun."""
    from audit.training.progress import say
    from audit.training.run import is_main_process

    try:
        yield
    except KeyboardInterrupt:
        if is_main_process():
            say("stopped before the study was begun; the same command begins it")
        raise


def _output(options: argparse.Namespace) -> Path:
    """Return the results file to write, refused before hours are spent on it."""
    study = Path(options.study)
    output = Path(options.output or study.with_name("results.json"))
    if is_folder(output):
        raise UsageError("is a folder; name a file for the results", path=str(output))
    if exists(output) and not is_file(output):
        raise UsageError("is no file, and finished runs lie beside one", path=str(output))
    if output.suffix == _RUNS:
        raise UsageError("is the name of a folder of finished runs", path=str(output))
    if output.resolve() == study.resolve():
        raise UsageError("the results file would replace the study file", path=str(output))
    return output


@contextmanager
def _runs_folder(output: Path, *, dry: bool) -> Iterator[Path]:
    """Yield the folder of finished runs; a dry run without one leaves none behind."""
    runs = output.with_name(output.name + _RUNS)
    if dry and not is_folder(runs):
        with tempfile.TemporaryDirectory() as folder:
            yield Path(folder)
        return
    try:
        runs.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot be made: {error.strerror or error}", path=str(runs)) from error
    if not all(os.access(folder, os.W_OK) for folder in (output.resolve().parent, runs)):
        raise UsageError("its folder cannot be written to", path=str(output))
    yield runs


def _run(options: argparse.Namespace, bench: Any, ledger: Any, output: Path) -> int:
    from audit.training.run import is_main_process

    document = _trained(options, bench, ledger, output)
    runs = _runs_of(document)
    if is_main_process():
        _report(document, runs, output)
    return int(any(run["status"] != "finished" for _, run in runs))


def _trained(
    options: argparse.Namespace, bench: Any, ledger: Any, output: Path
) -> Mapping[str, Any]:
    """Train what is missing and return the results; Ctrl-C says what is kept."""
    from audit.training.progress import Bars
    from audit.training.run import is_main_process
    from audit.training.study import pieces, run_study

    wanted = pieces(bench)
    bars = Bars(len(wanted), quiet=options.quiet or not is_main_process())
    try:
        return run_study(
            bench,
            ledger,
            output,
            bars,
            workers=options.workers,
            scheduler=options.scheduler,
            retry_failed=options.retry_failed,
        )
    except KeyboardInterrupt:
        bars.close()
        if is_main_process():
            kept = sum(is_file(ledger.path(p.name, p.fingerprint)) for p in wanted)
            print(
                f"audit: stopped; {kept} of {numerals.counted(len(wanted), 'piece')} of the study "
                f"are finished and kept in {ledger.folder}; the same command goes on with the rest",
                file=sys.stderr,
            )
        raise
    finally:
        bars.close()


def _runs_of(document: Mapping[str, Any]) -> list[tuple[str, Any]]:
    runs = [(document["method"], run) for run in document["seed_results"]]
    for arm, control in document["controls"].items():
        runs += [(arm, run) for run in control["seed_results"]]
    return runs


def _until_decided(options: argparse.Namespace, bench: Any, ledger: Any, output: Path) -> int:
    """Train look by look; 1 where a run was lost or the advice cannot be given."""
    from audit.policy import find_policy
    from audit.training.document import to_text
    from audit.training.run import is_main_process
    from audit.training.until_decided import plan_of_study, until_decided

    study, speaks = bench.study, is_main_process()
    document: Mapping[str, Any] = {}

    def train(seeds: tuple[int, ...]) -> Mapping[str, Any]:
        nonlocal document
        part = replace(bench, study=replace(study, seeds=seeds))
        document = _trained(options, part, ledger, output)
        return document

    policy = find_policy(Path.cwd()).for_path(str(output))
    plan = plan_of_study(study, options.study)
    taken: list[dict[str, Any]] = []
    word = None
    if speaks:
        print(_LOOKS.format("look", "delta", "p", "needs", "runs", "then"), flush=True)
    for look in until_decided(plan, study.seeds, train, policy):
        taken, word = [*taken, look.record], look.word
        if speaks:
            whole = to_text({**document, "looks_taken": taken})
            write_whole(output, whole.encode())
        for line in _look_lines(look) if speaks else ():
            print(line, flush=True)
    if speaks:
        print(f"wrote {output} with its plan and {numerals.counted(len(taken), 'look')}")
        print(f"next: audit gate {shlex.quote(str(output))}")
    return int(word is None)


_LOOKS = "{:<7}{:<9}{:<9}{:<9}{:<9}{}"


def _look_lines(look: LookTaken) -> Iterator[str]:
    """Yield a row for each claim at a look."""
    for place, advice in enumerate(look.advice):
        found = advice.result.look
        needs = None if found is None else found.threshold
        yield _LOOKS.format(
            look.seeds if place == 0 else "",
            numerals.signed(advice.delta) if advice.delta is not None else "-",
            numerals.p_value(advice.p_value) if advice.p_value is not None else "-",
            numerals.p_value(needs) if needs is not None else "-",
            f"{look.seeds} v {look.seeds}",
            _then(look, advice),
        ).rstrip()


def _then(look: LookTaken, advice: Advice) -> str:
    if advice.word is None:
        return f"stopped: {advice.result.reason}"
    if advice.word == "train-on":
        return "train on"
    unused = look.most - look.seeds
    rest = f", {unused} of {look.most} unused" if unused and look.word != "train-on" else ""
    words = {"supported": "decided: supported", "futile": "stopped: futile"}
    return words.get(advice.word, "at the maximum: not supported") + rest


def _report(document: Mapping[str, Any], runs: list[tuple[str, Any]], output: Path) -> None:
    base = [b["accuracy"] for b in document["base_evaluations"]]
    low, high = (numerals.fraction(end, 3) for end in (min(base), max(base)))
    print(f"{output}   base accuracy {low} to {high} ({len(base)} evaluations)")
    for arm, run in runs:
        if run["status"] == "finished":
            metrics = run["method_metrics"]
            outcome = f"accuracy {numerals.fraction(metrics['accuracy'], 3)}"
        else:
            outcome = f"{run['status']}: {run['failure']}"
        print(f"  {arm:<24} seed {run['seed']:<6} {outcome}")
    if any(run["status"] == "failed" for _, run in runs):
        print("failed runs stay as they are; --retry-failed trains them once more")
    print(f"next: audit verify {shlex.quote(str(output))}")


def _selftest() -> int:
    from audit.training.selftest import selftest

    failed = 0
    for check in selftest():
        failed += not check.passed
        print(f"{'ok  ' if check.passed else 'FAIL'}  {check.name}: {check.detail}", flush=True)
    return 1 if failed else 0


def _require_extra() -> None:
    from importlib.util import find_spec

    missing = [name for name in ("torch", "trl") if find_spec(name) is None]
    if missing:
        raise UsageError(f"{' and '.join(missing)} missing: pip install 'recipe-audit[train]'")
