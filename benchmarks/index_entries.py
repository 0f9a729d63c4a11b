"""What the index of the benchmarks lists, and which cells of their tables it quotes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Figure:
    """A cell of a committed table and its goal.

    Attributes
    ----------
    name : str
        What it is, in the index.
    row : str
        How the row begins: its first cells, joined by ``" | "``.
    column : str
    most, least : float or None
        The goal, for the first number of the cell.
    section : str
        Heading that the table stands under, where rows of several tables begin alike.
    every : bool
        All rows that begin so, rather than one; the least and the largest are quoted.
    number : int
        Which number of the cell is held against the goal; 1 is the lower limit of an interval.
    """

    name: str
    row: str
    column: str
    most: float | None = None
    least: float | None = None
    section: str = ""
    every: bool = False
    number: int = 0


@dataclass(frozen=True, slots=True)
class Entry:
    """One benchmark or study: a script, its command, and the table it writes, if any."""

    script: str
    title: str
    what: str
    command: str
    table: str | None = None
    figures: tuple[Figure, ...] = ()


CALLED = "gain or loss called"
OVER, OF_ONE = "over plain TRL", "of one process"
ENTRIES = (
    Entry(
        "calibration",
        "Error rates of the verdicts",
        "Simulated studies, each a whole document with its claim, judged as a file would be. A "
        "rate beside its 95% interval; a few hundred studies a cell.",
        "python benchmarks/calibration.py --write benchmarks/calibration.md",
        "calibration.md",
        (
            Figure(
                f"one run per arm: {CALLED}",
                "",
                "called",
                0.0,
                section="One run per arm",
                every=True,
            ),
            Figure(
                f"equal recipes: {CALLED}, lower limit of the interval",
                "",
                "called",
                0.05,
                section="Equal recipes",
                every=True,
                number=1,
            ),
        ),
    ),
    Entry(
        "past_the_gate",
        "Ways past the gate",
        "Tricks that make a claim pass, tried on studies of two equal recipes, before and now.",
        "python benchmarks/past_the_gate.py --write benchmarks/past_the_gate.md",
        "past_the_gate.md",
        (
            Figure(
                "three honest runs per arm: gain claimed and passed, 120 tasks",
                "none: three honest runs per arm",
                "120 tasks: now",
                0.05,
            ),
            Figure("one run per arm, as it is", "one run per arm, as it is", "120 tasks: now", 0.0),
        ),
    ),
    Entry(
        "power_kept",
        "Power of honest designs",
        "The same true gains judged now and by an earlier version: what the stricter rules cost.",
        "python benchmarks/power_kept.py --before PYTHON --write benchmarks/power_kept.md",
        "power_kept.md",
        (
            Figure(
                "honest designs: studies lost, of 200 or 60",
                "",
                "lost",
                1,
                section="Honest designs",
                every=True,
            ),
        ),
    ),
    Entry(
        "plan_power",
        "Power of sequential plans",
        "5,000 simulated studies a cell through the rule, beside the planner's formula.",
        "python benchmarks/plan_power.py --write benchmarks/plan_power.md",
        "plan_power.md",
        (
            Figure(
                "power, +0.05 at sd 0.03, looks 4 to 12",
                "0.03 | 0.05 | plan, every seed 4 to 12",
                "power",
            ),
            Figure(
                "seeds per arm there, on average",
                "0.03 | 0.05 | plan, every seed 4 to 12",
                "seeds",
            ),
        ),
    ),
    Entry(
        "checkpoint_widths",
        "Checkpoints",
        "The committed studies judged by the last checkpoint and by the mean of five.",
        "python benchmarks/checkpoint_widths.py --write benchmarks/checkpoint_widths.md",
        "checkpoint_widths.md",
        (
            Figure(
                "width of the interval, of the last checkpoint's: adaptive clip",
                "addition-adaptive-clip | 5 v 5 | mean of 5",
                "of the last's",
            ),
            Figure(
                "the same: seed lottery",
                "addition-seed-lottery | 10 v 10 | mean of 5",
                "of the last's",
            ),
        ),
    ),
    Entry(
        "estimators",
        "Naming the estimator",
        "Simulated training logs of each advantage estimator, named from rewards and advantages.",
        "python benchmarks/estimators.py --write benchmarks/estimators.md",
        "estimators.md",
        (Figure("logs named rightly, 4 answers a group", "", "4 a group", every=True),),
    ),
    Entry(
        "tamper",
        "Tampering",
        "Every leaf of a results file changed alone: what verify notices.",
        "python benchmarks/tamper.py --write benchmarks/tamper.md",
        "tamper.md",
        (
            Figure("crude edits noticed", "crude | ", "share"),
            Figure("careful floats noticed", "careful, floats", "share"),
            Figure("blocks moved, copied or dropped", "structural", "share"),
        ),
    ),
    Entry(
        "hostile",
        "Hostile input",
        "20,000 mutated files: each ends in a report or in one line.",
        "python benchmarks/hostile.py --inputs 20000 --seed 1 --write benchmarks/hostile.md",
        "hostile.md",
        (Figure("peak memory, times the file", "", "peak memory / file", 40, every=True),),
    ),
    Entry(
        "field",
        "The field",
        "Published comparisons judged by the scores of their own runs.",
        "python benchmarks/field.py",
    ),
    Entry(
        "field_tables",
        "The field's tables",
        "Makes the tables of `reports/field` from a folder of collected scores.",
        "python benchmarks/field_tables.py FOLDER",
    ),
    Entry(
        "importing_outcomes",
        "Real files imported",
        "What comes of a collection of real files, as `docs/importing-outcomes.md` shows.",
        "python benchmarks/importing_outcomes.py",
    ),
    Entry(
        "newcomer",
        "A newcomer's path",
        "From installation to a refused claim in lm-eval output, each command timed.",
        "python benchmarks/newcomer.py --write benchmarks/newcomer.md",
        "newcomer.md",
    ),
    Entry(
        "newcomer_layouts",
        "From ten families of files to a verdict",
        "The commands and questions between a folder of each tool and a judged claim.",
        "python benchmarks/newcomer_layouts.py --write benchmarks/newcomer_layouts.md",
        "newcomer_layouts.md",
        (
            Figure("commands", "", "commands", every=True),
            Figure("questions", "", "questions", every=True),
        ),
    ),
    Entry(
        "stats_speed",
        "Exact resampling against Monte Carlo",
        "Both on the same numbers in one process, taking turns.",
        "python benchmarks/stats_speed.py --write benchmarks/stats_speed.md",
        "stats_speed.md",
        (
            Figure(
                "percentile interval, times faster than scipy.stats.bootstrap",
                "percentile interval over tasks",
                "times faster",
                least=50,
            ),
            Figure("BCa interval, the same", "BCa interval over tasks", "times faster", least=50),
            Figure(
                "sign flips, times faster than scipy.stats.permutation_test",
                "sign-flip p-value",
                "times faster",
                least=20,
            ),
            Figure(
                "interval over tasks, times faster than whileai",
                "interval over tasks, against whileai",
                "times faster",
                least=1000,
            ),
            Figure(
                "two-level interval, times faster than rliable",
                "two-level interval",
                "times faster",
                least=20,
            ),
        ),
    ),
    Entry(
        "planning_speed",
        "Planning and a verdict",
        "CPU time of a boundary, of a plan, of a verdict's dear functions, and of the commands.",
        "python benchmarks/planning_speed.py --write benchmarks/planning_speed.md",
        "planning_speed.md",
        (
            Figure("boundary, looks 4 to 12, ms", "boundary of a plan, looks 4 to 12", "ms", 20),
            Figure("boundary, looks 4 to 40, ms", "boundary of a plan, looks 4 to 40", "ms"),
            Figure("difference of 10 v 10 runs, ms", "difference of 10 v 10 runs", "ms", 5),
            Figure("64 runs compared with one another, ms", "64 runs of 1319 tasks", "ms", 2000),
            Figure("`audit next FILE`, ms", "audit next FILE", "ms", 700),
        ),
    ),
    Entry(
        "render",
        "Pages",
        "Cold processes that render the test suite's fullest study.",
        "python benchmarks/render.py --write benchmarks/render.md",
        "render.md",
        (Figure("page with six figures, CPU s", "recipe.html.j2", "CPU s"),),
    ),
    Entry(
        "verify_speed",
        "Verifying a file",
        "Whole processes beside what people would run instead.",
        "python benchmarks/verify_speed.py --write benchmarks/verify_speed.md",
        "verify_speed.md",
        (
            Figure(
                "cold, with a verdict: CPU, times check-jsonschema",
                "the artifact, with its verdict: CPU s",
                "ratio",
                1.0,
            ),
            Figure(
                "50 MB of telemetry: CPU, times json.load", "50 MB artifact: CPU s", "ratio", 1.8
            ),
            Figure("the same: peak memory", "50 MB artifact: peak MiB", "ratio", 4.0),
            Figure(
                "1,000,000 tasks in 6 runs, outcomes beside the file: CPU s",
                "1,000,000 tasks in 6 runs, outcomes beside it: CPU s",
                "audit",
                5.0,
            ),
            Figure(
                "the same, times json.load of one file with all",
                "1,000,000 tasks in 6 runs, outcomes beside it: CPU s",
                "ratio",
            ),
            Figure(
                "the same in one file: peak memory above Python's, times json.load",
                "1,000,000 tasks in 6 runs, in one file: peak MiB",
                "ratio",
                6.0,
            ),
        ),
    ),
    Entry(
        "fleet",
        "A fleet of files",
        "`audit gate` over many files, in processes, on a cluster and from its cache, beside "
        "check-jsonschema over the same.",
        "python benchmarks/fleet.py --cached 10000 --write benchmarks/fleet.md",
        "fleet.md",
        (
            Figure(
                "1,000 small files in one process: CPU ms a file",
                "audit gate, one process",
                "CPU ms a file",
                5.0,
                section="1,000 files of at most 10 KB",
            ),
            Figure(
                "10,000 small files, unchanged, from the cache: seconds",
                "audit gate --cache, nothing changed",
                "seconds",
                10.0,
                section="10,000 files of at most 10 KB",
            ),
        ),
    ),
    Entry(
        "import_speed",
        "Importing",
        "Large evaluations in files of several tools, and a walk over many files.",
        "python benchmarks/import_speed.py --write benchmarks/import_speed.md",
        "import_speed.md",
        (
            Figure("a walk over 100,000 files, CPU s", "a walk over 100,000 files", "CPU s", 5.0),
            Figure("verl, CPU s", "verl", "CPU s", 6.0),
            Figure("verl, peak MiB", "verl", "peak MiB", 400),
        ),
    ),
    Entry(
        "large_tables",
        "Importing large tables",
        "CSV and Parquet of a million to a hundred million answers, beside one bare `group_by`.",
        "python benchmarks/large_tables.py --largest --write benchmarks/large_tables.md",
        "large_tables.md",
        (
            Figure("10^7 rows of CSV, CPU s", "10,000,000 | csv", "import, CPU s", 10),
            Figure("the same, peak MiB", "10,000,000 | csv", "import, MiB", 2048),
            Figure("10^7 rows of Parquet, CPU s", "10,000,000 | parquet", "import, CPU s", 10),
            Figure("the same, peak MiB", "10,000,000 | parquet", "import, MiB", 2048),
            Figure("10^8 rows of Parquet, CPU s", "100,000,000 | parquet", "import, CPU s", 100),
            Figure("the same, peak MiB", "100,000,000 | parquet", "import, MiB", 3072),
            Figure("its verdict, CPU s", "100,000,000 | parquet", "verify, CPU s", 15),
        ),
    ),
    Entry(
        "training_overhead",
        "The adapter beside plain TRL",
        "CPU time per update, the trainers taking turns, round by round, over the same rollouts.",
        "python benchmarks/training_overhead.py --write benchmarks/training_overhead.md",
        "training_overhead.md",
        (
            Figure("inside `AuditCallback`, %", "inside `AuditCallback`", OVER, 1),
            *(
                Figure(f"{clip} clip, level summary, %", f"audited | {clip} | summary", OVER, 3)
                for clip in ("fixed", "adaptive", "chi2", "kl")
            ),
        ),
    ),
    Entry(
        "training_evaluation",
        "Evaluating with workers and shares",
        "One study evaluated by one process, by two workers, and by two processes under torchrun.",
        "python benchmarks/training_evaluation.py --write benchmarks/training_evaluation.md",
        "training_evaluation.md",
        (
            Figure("whole command, two workers", "two workers", "of one process"),
            Figure(
                "the same, two processes, torchrun", "two processes, torchrun", "of one process"
            ),
        ),
    ),
    Entry(
        "training_recomputed",
        "The record, recomputed",
        "Losses, gradients, bounds, ratios and counts of random arms, computed again.",
        "python benchmarks/training_recomputed.py --arms 40 --write "
        "benchmarks/training_recomputed.md",
        "training_recomputed.md",
        (
            Figure("loss, largest difference", "loss", "largest difference", 1e-5),
            Figure("log ratio, largest difference", "log ratio", "largest difference", 1e-4),
        ),
    ),
    Entry(
        "training_resume",
        "Kills and resumes",
        "A tiny study in a fresh environment: time, memory, and ten kills.",
        "python benchmarks/training_resume.py --write benchmarks/training_resume.md",
        "training_resume.md",
        (Figure("the same file after ten kills", "the same file after ten kills", "value"),),
    ),
    Entry(
        "smollm2_sums",
        "Model and data of the SmolLM2 study",
        "Writes the model folder and the two data files that the committed study starts from.",
        "python benchmarks/smollm2_sums.py model FOLDER",
    ),
)
