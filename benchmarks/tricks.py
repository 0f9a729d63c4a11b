"""Studies that should not pass, as somebody makes them who has one run per arm or sees outcomes.

Each makes documents from two equal recipes and claims a gain of the arm that came out ahead. Where
nothing in a file can show what was done, the trick says why.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from calibration_cells import along_training
from study_kinds import (
    Counts,
    Document,
    Floats,
    Random,
    Recipe,
    answered,
    copies_of_one_run,
    edited,
    evaluation,
    gain,
    one_arm,
    one_run_sampled_again,
    runs,
    scores_document,
    seed_noise,
    study,
)

from audit.simulation import TASK_SD

Arms = tuple[Counts, Counts]
Maker = Callable[[int, Random], list[Document]]
K = 4


@dataclass(frozen=True)
class Trick:
    """A way to make a claim pass.

    Attributes
    ----------
    name : str
    make : callable
        Returns the documents of one study of so many tasks; it passes where any of them does.
    nothing : str
        Why nothing in the file can show it; empty where something can.
    refused : bool
        It is refused whatever the outcomes are.
    policy : mapping
        Terms of the policy that the same change sets.
    together : bool
        The documents are files of one study, judged together as the gate does.
    """

    name: str
    make: Maker
    nothing: str = ""
    refused: bool = False
    policy: Mapping[str, Any] = field(default_factory=dict)
    together: bool = False


def ahead(arms: Sequence[Any]) -> tuple[Any, Any]:
    """Return two arms, the one with the lower mean first: the other is claimed to be better."""
    return (arms[0], arms[1]) if arms[0].mean() <= arms[1].mean() else (arms[1], arms[0])


def claimed(arms: Sequence[Any], **lists: Any) -> Document:
    """Return the document of two arms with a claim of the one that is ahead."""
    control, treatment = ahead(arms)
    return study(runs(control, K, **lists), runs(treatment, K, **lists))


def _honest(tasks: int, random: Random) -> list[Document]:
    return [claimed(answered(Recipe(tasks), random))]


def _one_run(tasks: int, random: Random) -> list[Document]:
    return [claimed(answered(Recipe(tasks, (1, 1)), random))]


def _copies(how: str, tasks: int, random: Random) -> list[Document]:
    return [claimed(copies_of_one_run(Recipe(tasks), how, random))]


def _answers_changed(share: float, tasks: int, random: Random) -> list[Document]:
    """Turn over a share of all answers in two copies, each at random."""
    arms = []
    for arm in answered(Recipe(tasks, (1, 1)), random):
        copies = [
            arm[0] - random.binomial(arm[0], share) + random.binomial(K - arm[0], share)
            for _ in range(2)
        ]
        arms.append(np.stack([arm[0], *copies]))
    return [claimed(arms)]


def _sampled_again(grounds: str, tasks: int, random: Random) -> list[Document]:
    document = claimed(one_run_sampled_again(Recipe(tasks), random))
    if grounds == "table":
        document["provenance"] = {"imported": {"tool": "table"}}
    elif grounds == "evaluations":
        document["runs_are"] = {"recipe": "evaluations", "control": "evaluations"}
    elif grounds == "invented":
        _invent(document, random)
    return [document]


def _one_answer_and_invented_hashes(tasks: int, random: Random) -> list[Document]:
    document = claimed(copies_of_one_run(Recipe(tasks), "1", random))
    _invent(document, random)
    return [document]


def _invent(document: Document, random: Random) -> None:
    """Give every run final parameters and a log that no training made."""
    for run in (*document["seed_results"], *document["controls"]["control"]["seed_results"]):
        run["final_parameters_sha256"] = random.bytes(32).hex()
        run["training"] = [
            {"step": step + 1, "updates": [{"loss": round(float(random.normal(0, 1)), 4)}]}
            for step in range(3)
        ]


def _steps(named: bool, tasks: int, random: Random) -> list[Document]:
    """Enter three checkpoints of one run as three runs."""
    recipe = Recipe(tasks, (1, 1), (0.02, 0.02))
    control, treatment = ahead([arm[0] for arm in along_training(recipe, 0.03, 3, random)])
    document = study(runs(control, K), runs(treatment, K))
    if named:
        for arm in (document["seed_results"], document["controls"]["control"]["seed_results"]):
            for step, run in zip((80, 90, 100), arm, strict=True):
                run |= {"seed": None, "run_id": f"out/checkpoint-{step}"}
    return [document]


def _sorted_labels(listed: bool, tasks: int, random: Random) -> list[Document]:
    """Keep the best three and the worst three of six runs of each recipe."""
    control, treatment = ahead(answered(Recipe(tasks, (6, 6)), random))
    places = (
        np.argsort(control.mean(axis=1), kind="stable")[:3],
        np.argsort(treatment.mean(axis=1), kind="stable")[3:],
    )
    document = study(runs(control[places[0]], K), runs(treatment[places[1]], K))
    if listed:
        document["launched_seeds"] = {"recipe": list(range(6)), "control": list(range(6))}
    return [document]


def _dealt_labels(tasks: int, random: Random) -> list[Document]:
    """Call the best three of six runs of one recipe the treatment."""
    recipe = Recipe(tasks, (6, 6))
    whole = answered(recipe, random)[0]
    order = np.argsort(whole.mean(axis=1), kind="stable")
    return [claimed((whole[order[:3]], whole[order[3:]]))]


def _clusters_chosen(tasks: int, random: Random) -> list[Document]:
    """Put the three quarters of the tasks that are worst for the claim in ten clusters."""
    arms = ahead(answered(Recipe(tasks), random))
    order = np.argsort(arms[1].mean(axis=0) - arms[0].mean(axis=0), kind="stable")
    grouped = 3 * tasks // 4
    names = [""] * tasks
    for place, task in enumerate(order.tolist()):
        names[task] = f"g{10 * place // grouped}" if place < grouped else f"s{place}"
    return [claimed(arms, clusters=names)]


def _errors(how: str, tasks: int, random: Random) -> list[Document]:
    """Let 30% of the treatment's wrong answers end in an error: recorded, or left out."""
    control, treatment = answered(Recipe(tasks), random)
    lost = random.binomial(K - treatment, 0.3)
    if how == "recorded":
        return [study(runs(control, K), runs(treatment, K, errored=lost))]
    drawn = K - lost
    made = [
        {"seed": seed, "evaluation": evaluation(row, kept)}
        for seed, (row, kept) in enumerate(zip(treatment, drawn, strict=True))
    ]
    return [study(runs(control, K), made)]


def _control_lost(how: str, tasks: int, random: Random) -> list[Document]:
    """Cut off a tenth of the control's right answers: recorded as errors, or as wrong."""
    control, treatment = answered(Recipe(tasks), random)
    lost = random.binomial(control, 0.1)
    more = {"errored": lost} if how == "recorded" else {}
    return [study(runs(control - lost, K, **more), runs(treatment, K))]


def _format(recorded: bool, tasks: int, random: Random) -> list[Document]:
    """Parse three answers of four in the control, nearly all in the treatment."""
    made = []
    for right, share in zip(answered(Recipe(tasks), random), (0.75, 0.98), strict=True):
        kept = random.binomial(right, share)
        unparsed = K - kept - random.binomial(K - right, share)
        made.append(runs(kept, K, **({"unparsed": unparsed} if recorded else {})))
    return [study(made[0], made[1])]


def _scored_again(tasks: int, random: Random) -> list[Document]:
    """Keep only the score of each time that one run was evaluated."""
    arms = ahead([arm / K for arm in one_run_sampled_again(Recipe(tasks), random)])
    return [scores_document([arm.mean(axis=1) for arm in arms], "accuracy", 4, None)]


def _mixed_scales(per_task: bool, tasks: int, random: Random) -> list[Document]:
    """Divide the control's scores from 0 to 100 by 100, so that the arms' scales differ."""
    recipe = Recipe(tasks, (3, 3), samples=1)
    logits = random.normal(0, TASK_SD, tasks)
    noise = seed_noise(recipe, random)
    arms: list[Floats] = [one_arm(recipe, 0.5 + part, logits, random) for part in noise]
    sides = []
    for arm, by in zip(ahead(arms), (100, 1), strict=True):
        values = np.round(100 * arm / by, 4)
        if per_task:
            side: list[Document] = [
                {
                    "seed": seed,
                    "evaluation": {
                        "benchmark": "simulated",
                        "metric": "score",
                        "scores": row.tolist(),
                    },
                }
                for seed, row in enumerate(values)
            ]
        else:
            side = [
                {"seed": seed, "method_metrics": {"score": round(float(row.mean()), 4)}}
                for seed, row in enumerate(values)
            ]
        sides.append(side)
    claim = gain(metric="score", target="tasks" if per_task else "benchmark")
    return [study(sides[0], sides[1], claim, metrics={"score": {"scale": [0, 100]}})]


def _dead(rate: float, tasks: int, random: Random) -> list[Document]:
    """Claim that arms are equivalent on a benchmark that hardly anybody solves."""
    recipe = Recipe(tasks, sd=(0.0, 0.0), rate=rate)
    arms = answered(recipe, random) if rate else (np.zeros((3, tasks), int),) * 2
    claim = gain(direction="equivalent", margin=0.05)
    return [study(runs(arms[0], K), runs(arms[1], K), claim)]


def _three_files(ids: bool, tasks: int, random: Random) -> list[Document]:
    """Compare three recipes with one control, each claim in a file of its own."""
    recipe = Recipe(tasks)
    logits = random.normal(0, TASK_SD, tasks)

    def arm() -> Counts:
        rates = recipe.rate + random.normal(0, 0.03, 3)
        return random.binomial(K, one_arm(recipe, rates, logits, random))

    control = runs(arm(), K)
    if ids:
        control = [{**run, "run_id": f"control-{run['seed']}"} for run in control]
    return [study(control, runs(arm(), K)) for _ in range(3)]


def _one_file(tasks: int, random: Random) -> list[Document]:
    parts = _three_files(False, tasks, random)
    whole = parts[0]
    whole["claims"][0]["id"] = "c0"
    for place, part in enumerate(parts[1:], start=1):
        name = f"recipe-{place}"
        whole["controls"][name] = {"role": "other", "seed_results": part["seed_results"]}
        whole["claims"].append(gain(id=f"c{place}", arm=name))
    return [whole]


def _every_seed(tasks: int, random: Random) -> list[Document]:
    """Return the files of a study that is judged after every seed from 3 to 8."""
    control, treatment = ahead(answered(Recipe(tasks, (8, 8)), random))
    return [study(runs(control[:seeds], K), runs(treatment[:seeds], K)) for seeds in range(3, 9)]


def _looked(tasks: int, random: Random) -> list[Document]:
    files = _every_seed(tasks, random)
    for place, file in enumerate(files[1:], start=3):
        file["looked"] = list(range(3, place + 1))
    return files


def _best_checkpoint(said: bool, tasks: int, random: Random) -> list[Document]:
    """Take the treatment's best of five checkpoints by this benchmark, the control's last."""
    recipe = Recipe(tasks, sd=(0.02, 0.02))
    control, treatment = along_training(recipe, 0.03, 5, random)
    best = treatment.mean(axis=2).argmax(axis=1)
    chosen = treatment[np.arange(3), best]
    more: dict[str, Any] = {"split": "test"}
    note = {"selected_on": "test"} if said else {}
    return [study(runs(control[:, -1], K, **more), runs(chosen, K, **more, **note))]


def _over_base(policy: str, tasks: int, random: Random) -> list[Document]:
    """Claim a gain over the untrained model, where seeds have a long tail of bad runs."""
    recipe = Recipe(tasks, (5, 5), (0.05, 0.05), tails=(False, True))
    logits = random.normal(0, TASK_SD, tasks)
    base = one_arm(recipe, np.array([recipe.rate]), logits, random)
    trained = one_arm(recipe, recipe.rate + seed_noise(recipe, random)[1], logits, random)
    document = study([], runs(random.binomial(K, trained), K), gain(against="base"))
    del document["controls"]
    again = random.binomial(K, np.repeat(base, 3, axis=0))
    document["base_evaluations"] = [
        {"run": place, "evaluation": evaluation(row, K)} for place, row in enumerate(again)
    ]
    return [document]


def _two_benchmarks(tasks: int, random: Random) -> list[Document]:
    """Enter the second and third benchmark of one run as further runs of the first."""
    recipe = Recipe(3 * tasks, (1, 1))
    arms = [arm.reshape(3, tasks) for arm in answered(recipe, random)]
    return [claimed(arms)]


def _protocol(said: bool, tasks: int, random: Random) -> list[Document]:
    """Evaluate the treatment with a prompt that helps, the control without."""
    control, treatment = answered(Recipe(tasks, delta=0.08), random)
    prompts = ({"condition": {"temperature": 1.0, "prompt_sha256": f"{n}" * 64}} for n in (1, 2))
    first, second = prompts if said else ({}, {})
    return [study(runs(control, K, **first), runs(treatment, K, **second))]


def _chain(tasks: int, random: Random) -> list[Document]:
    """Make a copy of a copy, each with one answer changed on 10% of the tasks."""
    arms = []
    for arm in answered(Recipe(tasks, (1, 1)), random):
        rows = [arm[0]]
        for _ in range(2):
            rows.append(edited(rows[-1], K, "0.1", random))
        arms.append(np.stack(rows))
    return [claimed(arms)]


_WORD = "the author's word that each record is a training; outcomes of one model drawn again are "
_WORD += "those of one model, at any number of tasks and answers"
_RECORD = "what is not recorded is not in the file"

_POLICY = (
    "under the base branch's policy, by which the action judges, the row without the change "
    "holds; elsewhere the change is in the diff"
)
TRICKS = (
    Trick("none: three honest runs per arm", _honest),
    Trick("one run per arm, as it is", _one_run, refused=True),
    Trick(
        "one run sampled three times, seeds written by hand",
        partial(_sampled_again, "hand"),
        nothing=_WORD,
    ),
    Trick(
        "one run sampled three times, from a table with a bare seed column",
        partial(_sampled_again, "table"),
        refused=True,
    ),
    Trick(
        "one run sampled three times, declared as evaluations",
        partial(_sampled_again, "evaluations"),
        refused=True,
    ),
    Trick(
        "one run sampled three times, with invented hashes and logs",
        partial(_sampled_again, "invented"),
        nothing="only a record that somebody else keeps shows that no training made them",
    ),
    Trick("one run copied exactly", partial(_copies, "exact"), refused=True),
    Trick("one run copied, 1 answer changed", partial(_copies, "1"), refused=True),
    Trick(
        "one run copied, 1 answer changed, with invented hashes and logs",
        _one_answer_and_invented_hashes,
        refused=True,
    ),
    Trick(
        "one run copied, 1 answer changed on 2% of the tasks",
        partial(_copies, "0.02"),
        refused=True,
    ),
    Trick(
        "one run copied, 1 answer changed on 10% of the tasks",
        partial(_copies, "0.1"),
        refused=True,
    ),
    Trick(
        "one run copied, 1 answer changed on 20% of the tasks",
        partial(_copies, "0.2"),
        refused=True,
    ),
    Trick("a copy of a copy, 1 answer changed on 10% of the tasks", _chain, refused=True),
    Trick("one run copied, 10% of all answers turned over", partial(_answers_changed, 0.1)),
    Trick("one run copied, 20% of all answers turned over", partial(_answers_changed, 0.2)),
    Trick("one run copied, a quarter of the tasks swapped", partial(_copies, "swapped")),
    Trick("one run copied, half of the tasks drawn again", partial(_copies, "half drawn again")),
    Trick(
        "three steps of one run as seeds, named by their checkpoints",
        partial(_steps, True),
        refused=True,
    ),
    Trick(
        "three steps of one run as seeds, numbered by hand",
        partial(_steps, False),
        nothing="numbers are the author's word; steps that lie apart differ as runs do",
    ),
    Trick(
        "one run on three benchmarks, entered as three runs of one",
        _two_benchmarks,
        nothing="no rule asks whether the runs of an arm find the same tasks hard; task ids would "
        "show it",
    ),
    Trick(
        "three of six seeds kept, the others not named",
        partial(_sorted_labels, False),
        nothing="runs that are nowhere named; `launched_seeds` or a plan would show them",
    ),
    Trick(
        "three of six seeds kept, all launched seeds listed",
        partial(_sorted_labels, True),
        refused=True,
    ),
    Trick(
        "six runs of one recipe, the best three called the treatment",
        _dealt_labels,
        nothing="a label is the author's word; the trainer's record names the recipe",
    ),
    Trick("clusters chosen after seeing the outcomes", _clusters_chosen),
    Trick(
        "30% of the treatment's wrong answers are errors, recorded", partial(_errors, "recorded")
    ),
    Trick(
        "30% of the treatment's wrong answers left out of the file",
        partial(_errors, "left out"),
        nothing="fewer answers of a task are allowed; which were left out is not in the file",
    ),
    Trick(
        "10% of the control's right answers cut off, recorded as errors",
        partial(_control_lost, "recorded"),
    ),
    Trick(
        "10% of the control's right answers cut off, recorded as wrong",
        partial(_control_lost, "wrong"),
        nothing=_RECORD,
    ),
    Trick("only the format changed, unparsed answers recorded", partial(_format, True)),
    Trick(
        "only the format changed, unparsed answers not recorded",
        partial(_format, False),
        nothing=_RECORD,
    ),
    Trick(
        "control in fractions, treatment in percent, per task",
        partial(_mixed_scales, True),
        refused=True,
    ),
    Trick(
        "control in fractions, treatment in percent, one score per run",
        partial(_mixed_scales, False),
        refused=True,
    ),
    Trick(
        "one run scored three times, only the scores kept",
        _scored_again,
        nothing=_WORD,
    ),
    Trick("equivalent where nobody solves a task", partial(_dead, 0.0), refused=True),
    Trick("equivalent where one answer in 200 is right", partial(_dead, 0.005), refused=True),
    Trick(
        "three claims in three files, the control's runs without ids",
        partial(_three_files, False),
        together=True,
        nothing="two files that share no run by hash or id are two studies",
    ),
    Trick(
        "three claims in three files that share the control's runs by id",
        partial(_three_files, True),
        together=True,
    ),
    Trick("three claims in one file", _one_file),
    Trick(
        "judged after every seed from 3 to 8, no word of it",
        _every_seed,
        nothing="looks that are nowhere recorded; a plan needs no record of them",
    ),
    Trick("judged after every seed from 3 to 8, each look recorded", _looked),
    Trick(
        "the treatment's best of five checkpoints by this benchmark, said so",
        partial(_best_checkpoint, True),
        refused=True,
    ),
    Trick(
        "the treatment's best of five checkpoints by this benchmark, not said",
        partial(_best_checkpoint, False),
        nothing=_RECORD,
    ),
    Trick("another prompt for the treatment, recorded", partial(_protocol, True), refused=True),
    Trick(
        "another prompt for the treatment, not recorded", partial(_protocol, False), nothing=_RECORD
    ),
    Trick("a gain over the untrained model alone", partial(_over_base, ""), refused=True),
    Trick(
        'a gain over the untrained model, `base = "allow"` in the same change',
        partial(_over_base, "allow"),
        policy={"base": "allow"},
        nothing=_POLICY,
    ),
    Trick(
        "three honest runs, `level = 0.8` in the policy of the same change",
        _honest,
        policy={"level": 0.8},
        nothing=_POLICY,
    ),
)
