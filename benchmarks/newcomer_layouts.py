"""A newcomer's path from the files of ten families of tools to a verdict: commands and questions.

    python benchmarks/newcomer_layouts.py [--write benchmarks/newcomer_layouts.md]

Six trainings (two arms of three seeds) are written in each layout by the makers of the tests, then
`audit import FOLDER --control NAME -o results.json` is run with no other option, and `audit gate`
with the claim of a gain on the metric and benchmark that the import printed. Where the import asks,
or the gate names an option to import again with, that option is added as it stands, and both are
run again. Commands are counted to the last verdict.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import re
import shlex
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests" / "importers"), str(ROOT / "tests")]

import run_folders as made  # noqa: E402
import tracker_runs as tracked  # noqa: E402
from made_trackers import wandb_log  # noqa: E402

from audit.cli.main import main as audit  # noqa: E402

_MOST_COMMANDS = 6
# The first option of a line, with its value: --seed-from path, --scale 0-1.
_OPTION = re.compile(r"--[a-z-]+ (?:'[^']*'|[^\s|;,]+)")


@dataclass(frozen=True)
class Layout:
    """Six runs in the files of one tool."""

    tool: str
    make: Callable[[Path], object]
    control: str = made.ARMS[0]


@dataclass(frozen=True)
class Walked:
    """What a newcomer needed: commands until a file was written, questions, the verdict."""

    layout: Layout
    commands: tuple[str, ...]
    questions: tuple[str, ...]
    verdict: str


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", type=Path)
    options = parser.parse_args()
    text = page([walk(layout) for layout in LAYOUTS])
    if options.write:
        options.write.write_text(text, encoding="utf-8")
    print(text, end="")


def walk(layout: Layout) -> Walked:
    """Bring the layout's runs in and judge them, every option added as audit prints it."""
    with tempfile.TemporaryDirectory() as name, contextlib.chdir(name):
        layout.make(Path("runs"))
        command = ["import", "runs/", "--control", layout.control, "-o", "results.json"]
        commands: list[str] = []
        questions: list[str] = []
        verdict = "no file"
        while len(commands) < _MOST_COMMANDS:
            commands.append(shlex.join(["audit", *command]))
            status, _, words = _run(command)
            if status:
                asked = [
                    line.split("asked: ")[1] for line in words.splitlines() if "asked: " in line
                ]
                question = asked[0] if asked else words.strip().splitlines()[-1]
            else:
                judging = ["gate", "results.json", "--claim", _claim()]
                commands.append(shlex.join(["audit", *judging]))
                verdict, question = _judged(judging)
            option = _OPTION.search(question)
            if question:
                questions.append(question)
            if option is None or not question:
                break
            command = [*command, *shlex.split(option[0])]
            if "--force" not in command:
                command.append("--force")
        return Walked(layout, tuple(commands), tuple(questions), verdict)


def _claim() -> str:
    """Return a gain on the metric and benchmark of the file's first run."""
    document = json.loads(Path("results.json").read_text(encoding="utf-8"))
    first = document["seed_results"][0]["evaluation"]
    return f'gain {first["metric"]} method over control on "{first["benchmark"]}" for these tasks'


def _judged(command: Sequence[str]) -> tuple[str, str]:
    """Return what the gate says of the claim, and the option it asks for where it asks for one."""
    status, out, words = _run([*command, "--format", "json"])
    if status > 1:
        return words.strip(), ""
    (row,) = json.loads(out)["rows"]
    if row["supported"]:
        return "supported", ""
    asked = [line for line in row["next"] if line.startswith("import again")]
    return f"refused: {row['slug']}", f"{row['slug']}: {asked[0]}" if asked else ""


def _run(arguments: Sequence[str]) -> tuple[int, str, str]:
    """Run a command of audit in this process; returns status, output and messages."""
    out, messages = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(messages):
        status = audit(list(arguments))
    return status, out.getvalue(), messages.getvalue()


def page(walked: Sequence[Walked]) -> str:
    """Return the table."""
    asked = sum(bool(one.questions) for one in walked)
    lines = [
        "# From ten families of files to a verdict",
        "",
        "By `python benchmarks/newcomer_layouts.py`: six trainings in each layout, no option but",
        f"`--control`. {len(walked)} layouts; {len(walked) - asked} ask nothing. Where one asks,",
        "the option that is printed was added as it stands.",
        "",
        "| files of | commands | questions | asked | gate |",
        "| --- | --- | --- | --- | --- |",
    ]
    for one in walked:
        asked_for = "; ".join(one.questions).replace("|", "\\|")
        cells = (one.layout.tool, len(one.commands), len(one.questions), asked_for, one.verdict)
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines) + "\n"


def _six() -> Iterator[tuple[int, str, int, float]]:
    """Yield number, arm, seed and share of right answers of every run."""
    for number, (arm, seed, drawn) in enumerate(made.runs(4), 1):
        yield number, arm, seed, sum(map(sum, drawn)) / (4 * made.TASKS)


def _wandb_table(root: Path) -> None:
    root.mkdir()
    rows = [
        {**tracked.row(f"{arm}-{seed}", arm, seed, share), "eval/num_samples": 4 * made.TASKS}
        for _, arm, seed, share in _six()
    ]
    tracked.table(root / "runs.csv", rows)


def _wandb_folders(root: Path) -> None:
    for _, arm, seed, share in _six():
        name = f"{arm}{seed}"
        tracked.wandb_folder(root, name, wandb_log(name, arm, seed, tracked.curve(share)))


def _mlflow(root: Path) -> None:
    for number, arm, seed, share in _six():
        tracked.mlflow_run(root / "mlruns", number, arm, seed, share)


def _tensorboard(root: Path) -> None:
    for number, arm, seed, share in _six():
        rows = tracked.openrlhf(share, 0.1 + number / 100, 4 * made.TASKS)
        tracked.events(root / f"{arm}_seed{seed}", rows, number)


def _trainer(root: Path) -> None:
    for number, arm, seed, share in _six():
        settings = {"seed": seed, "learning_rate": 1e-6 if arm == made.ARMS[0] else 2e-6}
        tracked.trainer_folder(root / f"{arm}-seed{seed}", number, settings, share)


def _default_seed(root: Path) -> None:
    for number, arm, seed, share in _six():
        tracked.trainer_folder(root / f"{arm}_seed{seed}", number, {"seed": 42}, share)


def _lm_eval(root: Path) -> None:
    for arm in ("control", "tuned"):
        shutil.copytree(ROOT / "tests" / "data" / "foreign" / "lm_eval" / arm, root / arm)


def _trackio(root: Path) -> None:
    root.mkdir()
    runs = [(arm, seed, tracked.logged(share)) for _, arm, seed, share in _six()]
    tracked.trackio_database(root / "study.db", runs)


# In the order of docs: trackers, trainers, home-made files, evaluations.
LAYOUTS = (
    Layout("W&B, runs table", _wandb_table),
    Layout("W&B, run folders", _wandb_folders),
    Layout("MLflow", _mlflow),
    Layout("TensorBoard", _tensorboard),
    Layout("TRL, output folders", _trainer),
    Layout("TRL, seed 42 in every config, others in the names", _default_seed),
    Layout("ms-swift", made.ms_swift),
    Layout("verl", made.verl),
    Layout("verl, console log alone", made.verl_console),
    Layout("verifiers", made.verifiers),
    Layout("prime-rl", made.prime_rl),
    Layout("home-made JSON Lines", made.home_made),
    Layout("home-made lists", made.home_lists),
    Layout("NeMo-RL", made.nemo_rl),
    Layout("SkyRL", made.skyrl),
    Layout("tinker-cookbook", made.tinker),
    Layout("SWE-bench", made.swebench),
    Layout("BFCL", made.bfcl),
    Layout("EvalPlus", made.evalplus),
    Layout("tau2", made.tau2),
    Layout("lm-eval", _lm_eval, "control"),
    Layout("Trackio", _trackio),
)

if __name__ == "__main__":
    main()
