"""Every word a verdict or claim can carry: what it means, why it is there, what settles it.

One table for the analysis, which raises a reason, and for every surface, which words it. It holds
data only. ``audit explain SLUG`` and ``docs/reasons.md`` are made from it.
"""

from __future__ import annotations

from dataclasses import dataclass

REFUSAL = "refusal"
QUALIFIER = "qualifier"
WORD = "word"
RETIRED = "retired"
KINDS = (REFUSAL, QUALIFIER, WORD, RETIRED)

FAMILIES = {
    "runs": "Are the records trainings of their own, and are all of them here?",
    "evaluation": "What was measured, on how many tasks, and under equal conditions?",
    "looks": "Was the number of seeds chosen before the result was seen?",
    "claim": "Do the data say what the claim says?",
    "file": "Can the claim be read against the file at all?",
}


@dataclass(frozen=True, slots=True)
class Reason:
    """One slug.

    Attributes
    ----------
    slug : str
        The name that reports print; never reused.
    kind : str
        ``refusal`` (no verdict, or the claim is refused), ``qualifier`` (weakens or details a
        word), ``word`` (a verdict itself) or ``retired`` (no longer given).
    family : str
        A key of ``FAMILIES``.
    words : str
        The same in a few plain words, e.g. ``one training seed``.
    why : str
        Why it matters, in a sentence or two.
    settles : str
        What to do about it; empty where there is nothing to do.
    """

    slug: str
    kind: str
    family: str
    words: str
    why: str
    settles: str = ""


# The first refusal that applies is the one printed; reports list the others after it. Reasons in
# one group are of one rank and keep the order in which they were found.
ORDER: tuple[tuple[str, ...], ...] = (
    ("too-many-claims", "unknown-claim-key", "no-direction"),
    ("unknown-arm", "unknown-name", "reserved-name", "look-alike-names", "ambiguous-benchmark"),
    ("not-measured", "no-base-evaluations"),
    ("one-seed",),
    ("seeds-not-listed",),
    ("failed-runs",),
    (
        "duplicate-seed",
        "one-run-many-steps",
        "identical-runs",
        "nearly-identical-runs",
        "equal-scores",
    ),
    ("runs-not-identified",),
    ("evidence-below-policy",),
    ("incomplete", "other-checkpoints", "uneven-checkpoints"),
    ("dead-evaluation",),
    ("unknown-scale", "mixed-scales"),
    ("few-tasks",),
    ("selected-here",),
    ("unmatched-protocol",),
    ("pairing-leaves-out",),
    ("no-per-task-outcomes",),
    ("no-room",),
    ("beyond-plan", "unplanned-looks", "looks-not-recorded", "before-first-look"),
    ("too-few-seeds", "too-few-evaluations"),
    ("errors-decide",),
    ("format-only",),
    ("base-only",),
    (
        "wrong-way",
        "interval-reaches-zero",
        "not-equivalent",
        "loss-not-excluded",
        "below-noise-floor",
        "within-margin",
        "not-after-holm",
        "pairs-disagree",
    ),
)

_ROWS: tuple[tuple[str, str, str, str, str, str], ...] = (
    # -- runs ---------------------------------------------------------------------------------
    (
        "one-seed",
        REFUSAL,
        "runs",
        "one training seed",
        "Training the same recipe again moves a score by more than evaluating it again. With one "
        "training run per arm, luck and recipe cannot be told apart, and more tasks do not help.",
        "train at least three seeds per arm",
    ),
    (
        "too-few-seeds",
        REFUSAL,
        "runs",
        "too few training seeds",
        "Two runs per arm give a spread that is too uncertain to rest a claim on; a policy may "
        "ask for more than three.",
        "train the number of seeds per arm that the policy asks for",
    ),
    (
        "seeds-not-listed",
        REFUSAL,
        "runs",
        "launched seeds not listed",
        "Seeds that were launched and are not in the file may have been left out for their result.",
        "list every launched seed with its outcome",
    ),
    (
        "failed-runs",
        REFUSAL,
        "runs",
        "unfinished runs",
        "Runs that failed, diverged or are still running are part of what the recipe does; "
        "leaving them out flatters it.",
        'repeat the failed runs, or set failed_runs = "allow" in the policy and show them',
    ),
    (
        "duplicate-seed",
        REFUSAL,
        "runs",
        "duplicate seed in one arm",
        "One training seed run twice is one run counted twice: the seeds are fewer than they "
        "look, and their spread is too small.",
        "retrain the repeated seed with another one, or remove one of the two and say so",
    ),
    (
        "one-run-many-steps",
        REFUSAL,
        "runs",
        "several steps of one run",
        "Checkpoints of one training share its luck. Counted as runs, they would call a "
        "difference in up to three of four comparisons of equal recipes.",
        "name the step to judge in the claim, and train further seeds",
    ),
    (
        "identical-runs",
        REFUSAL,
        "runs",
        "copied runs",
        "Two runs with the same weights, training log or answers are one run recorded twice.",
        "retrain the copied runs with seeds of their own, or remove the copies and say so",
    ),
    (
        "nearly-identical-runs",
        REFUSAL,
        "runs",
        "nearly identical runs",
        "Their answers agree more closely than two trainings of the same recipe, or even two "
        "evaluations of the same model, would agree by chance.",
        "retrain one of the two, or remove it and say so; if all runs drew their answers with "
        "one sampling seed, evaluate each again with its own",
    ),
    (
        "equal-scores",
        REFUSAL,
        "runs",
        "equal scores in every run",
        "Independent runs would have exactly the same score less often than once in a thousand "
        "studies.",
        "record per-task outcomes and the final weights' hash of each run",
    ),
    (
        "runs-not-identified",
        REFUSAL,
        "runs",
        "no evidence of separate trainings",
        "Nothing shows that the records are separate trainings rather than evaluations of one "
        "model: repeated evaluations are often called seeds, too.",
        "import again with --seed-is training if each is a training of its own, or with "
        "--seed-is decoding if they are evaluations of one",
    ),
    (
        "evidence-below-policy",
        REFUSAL,
        "runs",
        "less evidence than the policy asks for",
        "The policy asks for stronger evidence that the records are separate trainings.",
        "import the trainer's configs or records along with the scores",
    ),
    (
        "provisional",
        QUALIFIER,
        "runs",
        "provisional",
        "Fewer runs than needed for a controlled error rate: two per arm, or a comparison with "
        "the untrained model, where a tail of bad runs makes false gains.",
        "train at least three seeds per arm; compare with a trained control, not with the base",
    ),
    (
        "seeds-lost",
        QUALIFIER,
        "runs",
        "runs without a score",
        "At least one run did not finish and is not in the figures; the recipe as launched may do "
        "worse than shown.",
        "repeat the lost runs",
    ),
    (
        "underpowered",
        QUALIFIER,
        "runs",
        "underpowered",
        "The study would miss an effect of the size that matters more often than once in five, "
        "so flat does not mean that there is none.",
        "train the number of seeds that the report names",
    ),
    (
        "collapse",
        QUALIFIER,
        "runs",
        "collapse not ruled out",
        "So few runs cannot rule out that the recipe sometimes collapses; the gain is one among "
        "runs that did not.",
        "train more seeds; the line gives the number",
    ),
    (
        "other-arms",
        QUALIFIER,
        "claim",
        "what the other arms came to",
        "The study has more arms than the claim names. An arm that is singled out after the "
        "results are known is the luckiest of several.",
        "declare the claim before the runs, or claim something of every arm",
    ),
    (
        "launched-not-recorded",
        QUALIFIER,
        "runs",
        "launched seeds not recorded",
        "How many runs were launched is not recorded, so nobody can tell whether some were left "
        "out for their result.",
        "record launched_seeds: the seeds of every run that was started, by arm",
    ),
    (
        "left-out-of-pairing",
        QUALIFIER,
        "runs",
        "runs without a partner",
        "Pairing by seed was declared, so runs whose seed the other arm does not have are left "
        "out of the figures.",
        "train the missing partners, or do not declare pairing",
    ),
    (
        "pairing-leaves-out",
        REFUSAL,
        "runs",
        "pairing that leaves out many runs",
        "Pairing by seed was declared and more than one run in five of an arm has no partner. "
        "Which runs have one can be chosen after their results are known.",
        "train the missing partners, or do not declare pairing",
    ),
    (
        "pairs-do-not-show-it",
        QUALIFIER,
        "runs",
        "not seen in the shared seeds",
        "The runs that share a seed do not show the difference on their own, or run against each "
        "other.",
        "list all launched seeds of both arms, and train the missing partners",
    ),
    # -- evaluation -----------------------------------------------------------------------------
    (
        "not-measured",
        REFUSAL,
        "evaluation",
        "not measured in both arms",
        "One of the two arms has no score of this metric on this benchmark.",
        "evaluate both arms on the metric and benchmark the claim names",
    ),
    (
        "incomplete",
        REFUSAL,
        "evaluation",
        "missing outcomes",
        "More than one outcome in twenty is missing, or a finished run was not evaluated; what is "
        "missing may be missing for a reason.",
        "evaluate every run on every task",
    ),
    (
        "other-checkpoints",
        REFUSAL,
        "evaluation",
        "a checkpoint not evaluated",
        "A finished run was not evaluated at a step the claim names. Averaging over the steps "
        "that are there would compare different stages of training.",
        "evaluate every run at every step of the claim",
    ),
    (
        "uneven-checkpoints",
        REFUSAL,
        "evaluation",
        "checkpoints evaluated differently",
        "The steps of one run were evaluated on different tasks or with different numbers of "
        "answers, so they would not weigh the same.",
        "evaluate all steps on the same tasks with the same number of answers",
    ),
    (
        "dead-evaluation",
        REFUSAL,
        "evaluation",
        "an evaluation that measured nothing",
        "No answer was drawn or parsed in a run or arm, or both arms have every answer right or "
        "every answer wrong: such an evaluation cannot show a difference.",
        "read ten answers, repair the evaluation and run it again",
    ),
    (
        "unknown-scale",
        REFUSAL,
        "evaluation",
        "a metric without bounds",
        "Without the ends of its scale a metric has no noise floor and no margin.",
        "import again with --scale 0-1, or what its ends are; in a file of your own declare them "
        "in the metrics block",
    ),
    (
        "mixed-scales",
        REFUSAL,
        "evaluation",
        "scores on different scales",
        "Some scores look like fractions and others like percent; compared as they are, the "
        "scale would be the difference.",
        "name the scale of each source at import with --scale",
    ),
    (
        "few-tasks",
        REFUSAL,
        "evaluation",
        "too few tasks",
        "Fewer than eight independent tasks say too little about tasks that were not asked.",
        "evaluate on at least 8 tasks; the error rate is controlled from there, and 100 or more "
        "are better",
    ),
    (
        "selected-here",
        REFUSAL,
        "evaluation",
        "checkpoint chosen on the reported split",
        "The best of several checkpoints on the tasks that are reported is a biased score: the "
        "best of nine against a last checkpoint is called a gain in up to 80% of equal recipes.",
        "choose the checkpoint on another split, or claim the mean over declared checkpoints",
    ),
    (
        "unmatched-protocol",
        REFUSAL,
        "evaluation",
        "arms evaluated differently",
        "Prompt, decoding, scorer or token limit differ between the arms and are not declared as "
        "the change, or the checkpoint was chosen by another rule: the difference may be theirs.",
        "evaluate both arms alike, or name the differing fields in change.fields",
    ),
    (
        "no-per-task-outcomes",
        REFUSAL,
        "evaluation",
        "no per-task outcomes",
        "A claim about new tasks needs to know how much the tasks differ; one score per run does "
        "not say.",
        "record task_ids, correct and samples of every run's evaluation, or claim these tasks "
        'only (target "benchmark")',
    ),
    (
        "no-room",
        REFUSAL,
        "evaluation",
        "no room to lose or gain",
        "The scores lie so near the end of the scale that a difference of the margin could not "
        "have been seen; equivalence there means nothing.",
        "use a benchmark that the control neither fails nor solves, or a smaller margin",
    ),
    (
        "no-base-evaluations",
        REFUSAL,
        "evaluation",
        "the base was not evaluated",
        "A comparison with the untrained model needs its evaluations on the same tasks.",
        "evaluate the untrained model at least 3 times on the same tasks",
    ),
    (
        "too-few-evaluations",
        REFUSAL,
        "evaluation",
        "too few evaluations of the base",
        "Fewer than three evaluations of the untrained model do not show how noisy they are; "
        "identical ones count once.",
        "evaluate the untrained model at least 3 times on the same tasks",
    ),
    (
        "errors-decide",
        REFUSAL,
        "evaluation",
        "errored answers decide",
        "Counting the errored answers as wrong, leaving them out, or the worst case gives "
        "different words: the errors, not the recipe, may be the difference.",
        "evaluate the errored answers again",
    ),
    (
        "format-only",
        REFUSAL,
        "evaluation",
        "the difference is answer format",
        "At least half of the difference comes from answers that could be parsed at all, and the "
        "parsed answers are not shown to be better.",
        "claim accuracy-given-parsed, score with a parser that accepts both arms' answers, or "
        'set format_only = "allow" in the policy',
    ),
    (
        "format",
        QUALIFIER,
        "evaluation",
        "partly answer format",
        "Part of the difference comes from answers that could be parsed at all rather than from "
        "better answers; the line splits it.",
        "score with a parser that accepts both arms' answers",
    ),
    (
        "errored",
        QUALIFIER,
        "evaluation",
        "errored answers",
        "Some answers ended in an error instead of a text; they were counted as wrong, left out, "
        "and in the worst way, and the weakest word is given.",
        "evaluate the errored answers again",
    ),
    (
        "missing-sensitive",
        QUALIFIER,
        "evaluation",
        "depends on missing outcomes",
        "Leaving the missing outcomes out or scoring them against the claim gives different "
        "words; the weaker one is given.",
        "evaluate every run on every task",
    ),
    (
        "cluster-sensitive",
        QUALIFIER,
        "evaluation",
        "depends on groups of tasks",
        "Tasks that belong together, such as variants of one item, were read as groups as well "
        "as alone; the two give different words, and the weaker one is given.",
        "evaluate on more independent tasks",
    ),
    (
        "last-differs",
        QUALIFIER,
        "evaluation",
        "the last checkpoint differs",
        "The arms differ otherwise at the last step than on average over the claimed steps: the "
        "curve still moves, or a run collapsed at the end.",
        "look at the learning curves; train on, or claim the last step",
    ),
    (
        "decoding-not-recorded",
        QUALIFIER,
        "evaluation",
        "decoding not recorded",
        "Nobody says whether the answers were sampled, so copies are looked for with the more "
        "cautious test.",
        "record condition.temperature of the evaluations",
    ),
    (
        "rounded-scores",
        QUALIFIER,
        "evaluation",
        "scores rounded to few decimals",
        "Rounding alone moves such scores, and it is counted into the interval.",
        "record unrounded scores, or per-task outcomes",
    ),
    (
        "skewed-scale",
        QUALIFIER,
        "evaluation",
        "near an end of the scale",
        "Scores near an end of the scale with very different spreads make the interval less "
        "certain than it looks.",
        "use a benchmark of medium difficulty, or more seeds",
    ),
    (
        "below-eval-floor",
        QUALIFIER,
        "evaluation",
        "below evaluation noise",
        "The difference is smaller than what evaluating one model again gives.",
        "draw more answers per task or evaluate on more tasks",
    ),
    (
        "too-few-tasks-for-equivalence",
        QUALIFIER,
        "evaluation",
        "too few tasks for equivalence",
        "The interval lies inside the margin, but so few tasks could miss a whole class of "
        "tasks on which the arms differ.",
        "evaluate on at least 3 / margin tasks",
    ),
    (
        "benchmark-only",
        QUALIFIER,
        "evaluation",
        "shown for these tasks only",
        "On these very tasks the difference is shown; for new tasks like them it is not.",
        'evaluate on more tasks, or claim these tasks only (target "benchmark")',
    ),
    # -- looks ----------------------------------------------------------------------------------
    (
        "beyond-plan",
        REFUSAL,
        "looks",
        "more seeds than a plan allows",
        "Both arms have more runs than the plan's maximum, or it states none that can be read; "
        "adding seeds until a difference shows would find one in time.",
        "write the maximum that was planned and judge the first runs up to it, or declare a new "
        "study",
    ),
    (
        "unplanned-looks",
        REFUSAL,
        "looks",
        "seeds added after a look without a plan",
        "Seeds were added after fewer had been judged, without a plan, and the policy does not "
        "allow it.",
        "declare a plan before the first result of the next study: audit plan --declare",
    ),
    (
        "looks-not-recorded",
        REFUSAL,
        "looks",
        "an earlier look not recorded",
        "An earlier version of the file was judged with fewer seeds and refused, and the file "
        "does not say so: this look is not the first.",
        "add the line that the message prints to the file",
    ),
    (
        "after-unplanned-look",
        QUALIFIER,
        "looks",
        "judged before with fewer seeds",
        "The same study was judged with fewer seeds before, so this look is held to a stricter "
        "threshold.",
        "declare a plan before the first result: audit plan --declare",
    ),
    (
        "plan-not-dated",
        QUALIFIER,
        "looks",
        "a plan whose date cannot be checked",
        "Nothing shows that the plan was declared before the first evaluation.",
        "commit the plan before the first run, or let audit train record it",
    ),
    (
        "futile",
        QUALIFIER,
        "looks",
        "stopping is advised",
        "At the difference seen so far, the target effect is unlikely to be shown within the plan.",
        "stop, or train on knowing that it is unlikely to help; the error rate allows both",
    ),
    (
        "before-first-look",
        REFUSAL,
        "looks",
        "before the first look",
        "The plan asks for more seeds per arm before it is looked at; there is no p-value yet.",
        "train up to the first look of the plan",
    ),
    # -- claim ----------------------------------------------------------------------------------
    (
        "wrong-way",
        REFUSAL,
        "claim",
        "the difference points the other way",
        "The data show the opposite of what is claimed.",
        "nothing settles this: withdraw the claim",
    ),
    (
        "interval-reaches-zero",
        REFUSAL,
        "claim",
        "the interval includes zero",
        "No difference at all is among the values the data allow.",
        "withdraw the claim, or train the number of seeds per arm that the report names",
    ),
    (
        "not-equivalent",
        REFUSAL,
        "claim",
        "equivalence not shown",
        "The interval is not wholly inside the margin, so a difference that matters is among the "
        "values the data allow.",
        "train more seeds, or evaluate on more tasks; a wider margin must be declared beforehand",
    ),
    (
        "loss-not-excluded",
        REFUSAL,
        "claim",
        "a loss beyond the margin not excluded",
        "A loss larger than the margin is among the values the data allow.",
        "train more seeds, or evaluate on more tasks",
    ),
    (
        "below-noise-floor",
        REFUSAL,
        "claim",
        "within evaluation noise",
        "Evaluating one and the same model again already moves the score by as much.",
        "evaluate on more tasks or draw more answers, or train more seeds",
    ),
    (
        "within-margin",
        REFUSAL,
        "claim",
        "not beyond the claimed margin",
        "A difference smaller than the claimed margin is among the values the data allow.",
        "claim a smaller margin in the next study, or train more seeds",
    ),
    (
        "not-after-holm",
        REFUSAL,
        "claim",
        "not after correction for several claims",
        "With several claims one of them is met by luck more easily; after Holm's correction over "
        "all claims of the file this one is not shown.",
        "train more seeds, or make fewer claims in the next study",
    ),
    (
        "pairs-disagree",
        REFUSAL,
        "claim",
        "the shared seeds do not show it",
        "The policy asks that the runs sharing a seed show the difference too, and they do not.",
        "train more shared seeds",
    ),
    (
        "base-only",
        REFUSAL,
        "claim",
        "a gain over the base alone",
        "Any training may improve on the untrained model; a tail of bad runs makes up to one "
        "false gain in six there.",
        'claim against a trained control, or set base = "allow" in the policy',
    ),
    (
        "material",
        QUALIFIER,
        "claim",
        "beyond the margin",
        "The whole interval lies beyond the margin: a difference of a size that matters.",
        "",
    ),
    (
        "below-margin",
        QUALIFIER,
        "claim",
        "smaller than the margin",
        "The whole interval lies inside the margin: shown, and too small to matter.",
        "",
    ),
    # -- file -----------------------------------------------------------------------------------
    (
        "too-many-claims",
        REFUSAL,
        "file",
        "too many claims in one file",
        "Only the first claims of a file are judged, up to a fixed number.",
        "make fewer claims, or spread them over several files",
    ),
    (
        "unknown-claim-key",
        REFUSAL,
        "file",
        "a claim with an unknown key",
        "A claim that says something this version cannot read would be judged as another claim.",
        "correct the key, or update audit",
    ),
    (
        "no-direction",
        REFUSAL,
        "file",
        "a claim without a direction",
        "Without a direction there is nothing to support or refuse.",
        "state direction as gain, loss or equivalent",
    ),
    (
        "unknown-arm",
        REFUSAL,
        "file",
        "an arm the file does not have",
        "The claim names an arm that is not in the file, or compares an arm with itself.",
        "name an arm of the file",
    ),
    (
        "unknown-name",
        REFUSAL,
        "file",
        "a metric or benchmark the file does not have",
        "The claim names a metric or benchmark that is not in the file.",
        "name a metric and benchmark of the file",
    ),
    (
        "reserved-name",
        REFUSAL,
        "file",
        "an arm called base",
        "The word base means the untrained model; an arm of that name makes the claim ambiguous.",
        "give the arm another name",
    ),
    (
        "look-alike-names",
        REFUSAL,
        "file",
        "arms with names that look the same",
        "A reader cannot tell two arms apart whose names differ only in case, in blanks, or in "
        "letters that are drawn alike, so the claim could be about either.",
        "give every arm a name of its own; the message has the code points",
    ),
    (
        "ambiguous-benchmark",
        REFUSAL,
        "file",
        "measured on several benchmarks",
        "The metric was measured on several benchmarks, and the claim does not say on which.",
        "name the benchmark in the claim: ... on NAME",
    ),
    # -- grades of evidence, printed beside the runs: 3 v 3 (C) ----------------------------------
    (
        "A",
        WORD,
        "runs",
        "the trainer's own record",
        "Every run has a hash of its final weights and a training log, all distinct. It shows "
        "mistakes, not lies: hashes and logs can be invented, and only a second party's record "
        "would tell.",
        "",
    ),
    (
        "B",
        WORD,
        "runs",
        "the trainer's configs or logs",
        "The trainer's own files beside each run name its training seed or hold logs that differ, "
        "and the run ids or folders are distinct.",
        "",
    ),
    (
        "C",
        WORD,
        "runs",
        "seeds as declared",
        "Whoever made the file says that the runs are trainings of their own; nothing contradicts "
        "it.",
        "import the trainer's configs along with the scores for a better grade",
    ),
    (
        "D",
        WORD,
        "runs",
        "no evidence",
        "Nothing shows that the records are trainings of their own; no verdict rests on them.",
        "import again with --seed-is training or --seed-is decoding",
    ),
    # -- words ----------------------------------------------------------------------------------
    (
        "supported",
        WORD,
        "claim",
        "supported",
        "The verdict says what the claim says, about the same target, after correction for all "
        "claims made, and nothing refuses it.",
        "",
    ),
    (
        "refused",
        WORD,
        "claim",
        "refused",
        "The data do not support the claim; the slug beside it says why.",
        "the line below it says what would settle it",
    ),
    (
        "not-claimed",
        WORD,
        "claim",
        "not claimed",
        "The file says nothing about this comparison, so nothing is judged: the verdict beside it "
        "is what the data would say.",
        "write the claim down before the result: audit import --claim, or claims in the file",
    ),
    (
        "not-judged",
        WORD,
        "file",
        "not judged",
        "The file could not be read, breaks its contract, or compares nothing.",
        "audit verify names the place",
    ),
    (
        "weakened-by",
        WORD,
        "claim",
        "weakened by",
        "Stands under a supported claim: what the file itself says against resting on it, such as "
        "a warning about its arms, a low grade of evidence, or runs left out of the pairing. The "
        "claim stays supported.",
        "read the slug or rule beside it; a policy can make it a refusal",
    ),
    (
        "passed-over",
        WORD,
        "file",
        "passed over",
        "A file or folder below a named one was not read, for the reason beside it; nothing in it "
        "was judged.",
        "name it on the command line to have it read",
    ),
    (
        "not-checked",
        WORD,
        "file",
        "not checked",
        "A check had nothing to work on, for the reason beside it: the file does not record what "
        "it needs, or it is not at hand. It neither passed nor failed.",
        "record or supply what the reason names",
    ),
    (
        "ship",
        WORD,
        "claim",
        "ship",
        "Every claim that the study rests on is supported, and no guarded measure got worse.",
        "",
    ),
    (
        "discuss",
        WORD,
        "claim",
        "discuss",
        "A claim that the study rests on is not supported, or a loss of a guarded measure is not "
        "excluded.",
        "read the claims that are named beside it",
    ),
    (
        "don't-ship",
        WORD,
        "claim",
        "don't ship",
        "A measure that the study claims or guards got worse.",
        "",
    ),
    (
        "train-on",
        WORD,
        "looks",
        "train on",
        "The plan has seeds left, and the next of them can still settle the claim.",
        "train one more run per arm and look again",
    ),
    (
        "at-maximum",
        WORD,
        "looks",
        "at the maximum of the plan",
        "Every seed that the plan allows is trained, and the claim is not supported.",
        "a new study with a new plan",
    ),
    (
        "no-verdict",
        WORD,
        "claim",
        "no verdict",
        "The runs cannot carry a word about this comparison. Nothing is wrong as long as nothing "
        "is claimed.",
        "the reason beside it says what is missing",
    ),
    (
        "gain",
        WORD,
        "claim",
        "gain",
        "The whole interval lies above zero: the arm is better.",
        "",
    ),
    (
        "flat",
        WORD,
        "claim",
        "flat",
        "The interval includes zero. The second word says whether a difference that matters is "
        "ruled out (equivalent) or not (inconclusive).",
        "",
    ),
    (
        "loss",
        WORD,
        "claim",
        "loss",
        "The whole interval lies below zero: the arm is worse.",
        "",
    ),
    (
        "equivalent",
        WORD,
        "claim",
        "equivalent",
        "The arms differ by less than the margin: the interval of that test lies inside it.",
        "",
    ),
    (
        "inconclusive",
        WORD,
        "claim",
        "inconclusive",
        "Neither a difference nor its absence is shown.",
        "train the number of seeds per arm that the report names",
    ),
)

# Slugs that earlier versions gave; none of them is given again with another meaning.
_RETIRED_ROWS: tuple[tuple[str, str, str, str, str], ...] = (
    (
        "uneven-clusters",
        "evaluation",
        "clusters of very different size",
        "Clusters of any size are judged now: each task keeps its weight, and the degrees of "
        "freedom are those of the effective number of clusters.",
        "nothing; fewer than eight effective clusters are few-tasks",
    ),
    (
        "no-denominator",
        "evaluation",
        "scores that fit no number of answers",
        "The number of answers behind a score is no longer guessed from its decimals.",
        "record examples, the number of answers scored",
    ),
)


def _table() -> dict[str, Reason]:
    reasons = [Reason(*row) for row in _ROWS]
    reasons += [Reason(slug, RETIRED, *rest) for slug, *rest in _RETIRED_ROWS]
    return {reason.slug: reason for reason in reasons}


REASONS: dict[str, Reason] = _table()
_RANK = {slug: rank for rank, slugs in enumerate(ORDER) for slug in slugs}


def rank(slug: str) -> int:
    """Return the place of a refusal in the order of printing; unknown ones come last.

    ``min(refusals, key=lambda r: rank(r.reason))`` is the refusal to print.
    """
    return _RANK.get(slug, len(ORDER))


def find_reason(name: str) -> Reason | None:
    """Return the reason with this slug, whatever the case.

    What is printed is understood too: ``NOT CLAIMED``, ``weakened by:``, ``evidence C``,
    ``benchmark-only gain`` and ``flat: inconclusive``, of which the second word is meant.
    """
    whole = name.strip().rstrip(":").lower().removeprefix("evidence ")
    wanted = whole.partition(": ")[2].partition(",")[0] or whole
    tries = (wanted, wanted.upper(), "-".join(wanted.split()), wanted.partition(" ")[0])
    by_words = (slug for slug, reason in REASONS.items() if reason.words == wanted)
    return next((REASONS[one] for one in (*tries, *by_words) if one in REASONS), None)


def words_for(slug: str) -> str:
    """Return a slug in plain words, e.g. ``one training seed``; an unknown one as it is."""
    reason = find_reason(slug)
    return slug if reason is None else reason.words


def in_family(family: str, *, retired: bool = False) -> tuple[Reason, ...]:
    """Return the reasons of one family, refusals first, in the order they are printed."""
    chosen = [r for r in REASONS.values() if r.family == family and (r.kind == RETIRED) == retired]
    return tuple(sorted(chosen, key=lambda r: (KINDS.index(r.kind), rank(r.slug))))
