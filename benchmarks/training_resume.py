"""The tiny study in a fresh environment: time, memory, the same file twice, and twenty kills.

Makes a virtual environment, installs the package with its extra `train`, runs `audit train` there
twice without interruption and compares the files; then kills it with SIGKILL at ten random moments,
starting again after each, until a last start finishes, and compares that file. Then the same with
longer runs that keep checkpoints (`save_steps`), killed at ten points within them: after a given
number of updates, while a checkpoint is written, while it is declared whole. At last two starts at
once, of which one is refused; `--within` measures this part alone, in the environment at hand.

    python benchmarks/training_resume.py --write benchmarks/training_resume.md
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
KILLS = 10
STUDY = """\
seeds = [1, 2]
[task]
name = "addition"
holdout_tasks = 100
[training]
rounds = 5
[arms.adaptive-clip]
role = "method"
clip = "adaptive"
epsilon_low = 0.2
epsilon_high_max = 0.28
[arms.fixed-clip]
role = "control"
clip = "fixed"
epsilon_low = 0.2
epsilon_high = 0.28
"""


# Whatever a run may have to take up: an adapter with dropout, a reference, a schedule, a second
# epoch, prompts in place of flat groups, a reward that raises, evaluations before and within.
LONG = """\
seeds = [1]
[task]
name = "addition"
limit = 10
train_prompts = 30
holdout_tasks = 40
warm_up_steps = 120
[training]
rounds = 24
prompts_per_round = 4
learning_rate = 1e-3
lr_scheduler_type = "cosine"
save_steps = SAVED
[evaluation]
samples = 2
checkpoints = [9]
baseline = true
[telemetry]
level = "full"
[arms.adaptive-clip]
role = "method"
clip = "adaptive"
epsilon_low = 0.2
epsilon_high_max = 0.28
[arms.adaptive-clip.training]
zero_groups = "reject"
lora_rank = 4
lora_dropout = 0.1
beta = 0.05
[[arms.adaptive-clip.training.rewards]]
function = "exact_match"
[[arms.adaptive-clip.training.rewards]]
function = "odd:odd"
weight = 0.2
on_error = "wrong"
[arms.fixed-clip]
role = "control"
clip = "fixed"
epsilon_low = 0.2
epsilon_high = 0.01
"""
ODD = """\
def odd(response, answer):
    if len(response) > 2:
        raise ValueError("long")
    return len(response) % 2 == 0
"""
# What differs between a file that was killed and one that was not.
TIMED = re.compile(r"/cost/minutes$|/date$|/resumed$|^/provenance/study_sha256$")


WITHIN = "## Killed within runs that keep checkpoints"


class Kill(NamedTuple):
    """A point within a run: before the call of so high a number, in one process."""

    name: str
    call: str
    number: int


KILLS_WITHIN = (
    Kill("in the second update of a run", "audit.training.run:_Run._tell", 3),
    Kill("before its first checkpoint", "audit.training.run:_Run._tell", 6),
    Kill("while its first checkpoint is written", "torch:save", 1),
    Kill("before it is declared whole", "audit.training.resuming:Unfinished.add", 1),
    Kill("within a batch of rollouts, later", "audit.training.run:_Run._tell", 20),
    Kill("in the evaluation within the run", "audit.training.run:_Run._evaluated", 1),
    Kill("while older checkpoints are removed", "shutil:rmtree", 2),
    Kill("in the evaluation after its last update", "audit.training.run:_Run._evaluated", 1),
    Kill("in the other run, in its second epoch", "audit.training.run:_Run._tell", 24),
    Kill("there, while a checkpoint is written", "torch:save", 3),
)
KILLER = """\
import importlib, os, signal, sys
where, number = os.environ["KILL_BEFORE"], int(os.environ["KILL_NUMBER"])
module, _, path = where.partition(":")
holder = importlib.import_module(module)
*outer, last = path.split(".")
for name in outer:
    holder = getattr(holder, name)
sound, calls = getattr(holder, last), 0
def counted(*args, **kwargs):
    global calls
    calls += 1
    if calls == number:
        os.kill(os.getpid(), signal.SIGKILL)
    return sound(*args, **kwargs)
setattr(holder, last, counted)
from audit.cli.main import run
sys.argv = ["audit", *sys.argv[1:]]
run()
"""


class Environment(NamedTuple):
    """A fresh virtual environment, seconds its install took, its size and what it holds."""

    program: Path
    seconds: float
    megabytes: float
    packages: str


def fresh_environment(folder: Path) -> Environment:
    begun = time.monotonic()
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    # torch alone first: an index may have a CPU build of it under one version only.
    for wanted in ("torch==2.13.0", f"{ROOT}[train]"):
        subprocess.run([python, "-m", "pip", "install", "-q", wanted], check=True)
    seconds = time.monotonic() - begun
    size = sum(path.lstat().st_size for path in folder.rglob("*"))
    code = (
        "from importlib.metadata import version; "
        "print(*(f'{n} {version(n)}' for n in ('torch', 'trl', 'transformers')), sep=', ')"
    )
    said = subprocess.run([python, "-c", code], check=True, capture_output=True, text=True)
    return Environment(folder / "bin" / "audit", seconds, size / 1e6, said.stdout.strip())


def start(program: Path, study: Path, output: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [program, "train", str(study), "-o", str(output), "--quiet"],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        cwd=study.parent,
        stdout=subprocess.DEVNULL,
    )


def finish(process: subprocess.Popen[bytes]) -> resource.struct_rusage:
    """Wait for the command and return what it alone used."""
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"audit train ended with status {process.returncode}")
    return used


def differences(ours: Any, theirs: Any, place: str = "") -> Iterator[str]:
    """Yield the places at which two documents differ."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for key in sorted({*ours, *theirs}):
            yield from differences(ours.get(key), theirs.get(key), f"{place}/{key}")
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for index, pair in enumerate(zip(ours, theirs, strict=True)):
            yield from differences(*pair, f"{place}/{index}")
    elif ours != theirs:
        yield place


def untimed_differences(ours: Path, theirs: Path) -> list[str]:
    """Return the places at which two results files differ and need not; the first ones are said."""
    documents = (json.loads(path.read_text()) for path in (ours, theirs))
    found = [place for place in differences(*documents) if not TIMED.search(place)]
    for place in found[:20]:
        print(f"differs: {place}", file=sys.stderr)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seed", type=int, default=1, help="of the moments of the kills")
    parser.add_argument("--write", metavar="FILE")
    parser.add_argument("--within", action="store_true", help="the kills within runs alone, here")
    options = parser.parse_args()
    if options.within:
        return within_alone(options.write)
    moments = random.Random(options.seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        environment = fresh_environment(folder / "environment")
        study = folder / "study.toml"
        study.write_text(STUDY)
        seconds, used = [], []
        for copy in ("first", "second"):
            begun = time.monotonic()
            used.append(finish(start(environment.program, study, folder / copy / "results.json")))
            seconds.append(time.monotonic() - begun)
        peak = max(u.ru_maxrss for u in used) / 1024
        cpu = sum(u.ru_utime + u.ru_stime for u in used) / 2
        first = folder / "first" / "results.json"
        same_twice = not untimed_differences(folder / "second" / "results.json", first)
        rows, same_killed = kill_and_resume(
            environment.program, folder, study, moments, min(seconds), first
        )
        within, different = kill_within(environment.program, folder / "within")
        refused = two_at_once(environment.program, folder / "within")
    text = table(environment, seconds, cpu, peak, same_twice, rows, same_killed, options.seed)
    text += table_within(within, different, refused)
    print(text, end="")
    if options.write:
        Path(options.write).write_text(text)
    return int(not (same_twice and same_killed and not different and refused))


def within_alone(write: str | None) -> int:
    """Measure the second part with the environment of this process, and keep the first part."""
    with tempfile.TemporaryDirectory() as name:
        program, folder = Path(sys.executable).with_name("audit"), Path(name) / "within"
        rows, different = kill_within(program, folder)
        refused = two_at_once(program, folder)
    text = table_within(rows, different, refused)
    print(text, end="")
    if write:
        before = Path(write).read_text().partition(WITHIN)[0].rstrip()
        Path(write).write_text(f"{before}\n{text}")
    return int(bool(different) or not refused)


def kill_and_resume(
    program: Path, folder: Path, study: Path, moments: random.Random, whole: float, first: Path
) -> tuple[list[tuple[float, int]], bool]:
    """Kill ten times; (seconds until the kill, pieces finished by then) and whether files agree."""
    output = folder / "killed" / "results.json"
    rows: list[tuple[float, int]] = []
    while len(rows) < KILLS:
        delay = moments.uniform(0.3, 1.0) * whole
        process = start(program, study, output)
        time.sleep(delay)
        if process.poll() is not None:
            # It finished before the moment came: begin anew, so that all ten kills are kills.
            for path in output.with_name(output.name + ".runs").glob("*.json"):
                path.unlink()
            output.unlink()
            continue
        process.send_signal(signal.SIGKILL)
        process.wait()
        rows.append((delay, len(list(output.with_name(output.name + ".runs").glob("*.json")))))
    finish(start(program, study, output))
    return rows, not untimed_differences(output, first)


def kill_within(program: Path, folder: Path) -> tuple[list[tuple[Kill, str]], list[str]]:
    """Kill ten times within runs; where the next start took each up, and places that differ.

    The file is held against one that was neither interrupted nor kept a checkpoint.
    """
    folder.mkdir()
    (folder / "odd.py").write_text(ODD)
    killer = folder / "killer.py"
    killer.write_text(KILLER)
    for name, saved in (("plain", 0), ("saved", 3)):
        (folder / f"{name}.toml").write_text(LONG.replace("SAVED", str(saved)))
    finish(start(program, folder / "plain.toml", folder / "plain.json"))
    output = folder / "saved.json"
    unfinished = folder / "saved.json.runs" / "unfinished"
    rows = []
    for kill in KILLS_WITHIN:
        point = {"KILL_BEFORE": kill.call, "KILL_NUMBER": str(kill.number)}
        ended = subprocess.run(
            [program.with_name("python"), killer, "train", "saved.toml", "-o", output, "--quiet"],
            env={**os.environ, "OMP_NUM_THREADS": "1", **point},
            cwd=folder,
        )
        if ended.returncode != -signal.SIGKILL:
            raise SystemExit(f"{kill.name}: ended with {ended.returncode}, not killed")
        whole = sorted(
            (
                len(path.parent.name),
                f"{path.parent.parent.name.partition('.')[0]} {path.parent.name}",
            )
            for path in unfinished.glob("*/checkpoint-*/whole.json")
        )
        rows.append((kill, whole[-1][1] if whole else "none"))
    finish(start(program, folder / "saved.toml", output))
    return rows, untimed_differences(output, folder / "plain.json")


def two_at_once(program: Path, folder: Path) -> bool:
    """Whether of two starts at once one trains and the other is refused, with the holder named."""
    output = folder / "twice.json"
    begun = [
        subprocess.Popen(
            [program, "train", "plain.toml", "-o", output, "--quiet"],
            env={**os.environ, "OMP_NUM_THREADS": "1"},
            cwd=folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    said = [process.communicate()[1] for process in begun]
    status = sorted(process.returncode for process in begun)
    places = untimed_differences(output, folder / "plain.json")
    return status == [0, 2] and any("trains here since" in one for one in said) and not places


def table_within(rows: list[tuple[Kill, str]], different: list[str], refused: bool) -> str:
    lines = [
        "",
        WITHIN,
        "",
        "Two arms x 1 seed of 24 rounds, `save_steps = 3`; one arm with an adapter, dropout, a",
        "reference, prompts drawn in place of flat groups and a reward that raises, both with four",
        "epochs, evaluated before, within and after. SIGKILL at ten points,",
        "each given by the call before which the process ends; the file is then held against that",
        "of runs that were not killed and kept no checkpoint. Only what must differ does: minutes,",
        "dates, the list of starts (`resumed`) and the hash of the study file.",
        "",
        f"The same file after ten kills within runs: {'NO' if different else 'yes'}.",
        f"Two starts at once, one trains and the other is refused: {'yes' if refused else 'NO'}.",
        "",
        "| kill | point | last whole checkpoint then |",
        "|---:|---|---|",
    ]
    lines += [f"| {n} | {kill.name} | {at} |" for n, (kill, at) in enumerate(rows, start=1)]
    return "\n".join(lines) + "\n"


def table(
    environment: Environment,
    seconds: list[float],
    cpu: float,
    peak: float,
    same_twice: bool,
    rows: list[tuple[float, int]],
    same_killed: bool,
    seed: int,
) -> str:
    lines = [
        "# A tiny study in a fresh environment: time, memory, and twenty kills",
        "",
        "Written by `python benchmarks/training_resume.py --write benchmarks/training_resume.md`.",
        "Two arms x 2 seeds of 5 rounds at 16 x 8 responses, 100 holdout tasks x 4 samples, three",
        "base evaluations; one process, one thread. Other work may have shared the machine. Python "
        f"{platform.python_version()}, {environment.packages};",
        f"{os.cpu_count()} cores, {platform.machine()}.",
        "",
        "| figure | value |",
        "|---|---:|",
        f"| fresh environment: install | {environment.seconds:.0f} s |",
        f"| fresh environment: on disk | {environment.megabytes:.0f} MB |",
        f"| wall time, from start to file | {seconds[0]:.0f} s and {seconds[1]:.0f} s |",
        f"| CPU time of one | {cpu:.0f} s |",
        f"| peak memory (resident) | {peak:.0f} MB |",
        f"| the same file twice, but for times | {'yes' if same_twice else 'NO'} |",
        f"| the same file after ten kills | {'yes' if same_killed else 'NO'} |",
        "",
        f"Kills (SIGKILL, moments drawn with seed {seed}); of the 7 pieces (3 base evaluations, 4 "
        "runs). A start that",
        "finished before its kill was cleared away and begun anew, so the count may fall.",
        "",
        "| kill | seconds after start | pieces finished by then |",
        "|---:|---:|---:|",
    ]
    lines += [f"| {n} | {delay:.1f} | {done} |" for n, (delay, done) in enumerate(rows, start=1)]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
