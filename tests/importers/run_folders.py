"""Folders of runs in the layouts that trainers and evaluations leave, written with made values.

Every maker writes two arms of three training seeds below a folder and returns the right number of
answers a run, by arm and seed. Values are drawn from a fixed state; texts are invented.

``python tests/importers/run_folders.py tests/data/run_folders`` writes the sample of the
documentation.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

Right = dict[str, dict[int, int]]
TASKS = 8
ARMS = ("plain", "curr")
SEEDS = (4, 5, 6)


def draws(arm: str, seed: int, answers: int, tasks: int = TASKS) -> list[list[int]]:
    """Return right (1) and wrong (0) of each task's answers, the same at every call."""
    state = random.Random(f"{arm} {seed} {answers}")
    share = 0.4 if arm == ARMS[0] else 0.6
    return [[int(state.random() < share) for _ in range(answers)] for _ in range(tasks)]


def runs(answers: int) -> Iterator[tuple[str, int, list[list[int]]]]:
    for arm in ARMS:
        for seed in SEEDS:
            yield arm, seed, draws(arm, seed, answers)


def right_of(answers: int) -> Right:
    found: Right = {arm: {} for arm in ARMS}
    for arm, seed, drawn in runs(answers):
        found[arm][seed] = sum(map(sum, drawn))
    return found


def put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def put_json(path: Path, document: Any) -> None:
    put(path, json.dumps(document))


def put_lines(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    put(path, "".join(json.dumps(row) + "\n" for row in rows))


def is_unparsed(task: int, draw: int, value: int) -> bool:
    """Whether no answer was found in a draw of the verl samples: in some of the wrong ones."""
    return not value and (task + draw) % 3 == 0


def _verl_rows(drawn: Sequence[Sequence[int]], step: int) -> list[dict[str, Any]]:
    return [
        {
            "input": f"user\nHow much is {task} + {task}?\nassistant\n",
            "output": f"draft {task} {draw}",
            "gts": str(2 * task),
            "score": value * 2.0 - 0.5,
            "step": step,
            "reward": value * 2.0 - 0.5,
            "acc": float(value),
            "pred": "[INVALID]" if is_unparsed(task, draw, value) else str(2 * task),
        }
        for task, values in enumerate(drawn)
        for draw, value in enumerate(values)
    ]


def verl(root: Path) -> Right:
    """Dumps of validation at steps 0 and 60, Hydra's settings, the file logger."""
    for arm, seed, drawn in runs(4):
        run = root / arm / f"seed{seed}"
        clip = 0.2 if arm == ARMS[0] else 0.3
        put(
            run / ".hydra/config.yaml",
            f"data:\n  seed: {seed}\n  val_files: sums.parquet\n"
            "actor_rollout_ref:\n  model:\n    path: made/model\n"
            f"  actor:\n    clip_ratio_high: {clip}\n    data_loader_seed: {seed}\n"
            "  rollout:\n    seed: 42\n    val_kwargs:\n      n: 4\n      temperature: 0.6\n"
            f"trainer:\n  experiment_name: seed{seed}\n  total_training_steps: 60\n",
        )
        overrides = f"- data.seed={seed}\n- actor_rollout_ref.actor.data_loader_seed={seed}\n"
        put(run / ".hydra/overrides.yaml", overrides)
        put_lines(run / "val/0.jsonl", _verl_rows(draws("base", 0, 4), 0))
        put_lines(run / "val/60.jsonl", _verl_rows(drawn, 60))
        base = sum(map(sum, draws("base", 0, 4))) / (4 * TASKS)
        share = sum(map(sum, drawn)) / (4 * TASKS)
        put_lines(
            run / f"sums/seed{seed}.jsonl",
            [
                {"step": 0, "data": {"val-core/made/sums/acc/mean@4": base}},
                {"step": 30, "data": {"actor/pg_loss": 0.01 * seed, "actor/grad_norm": 0.2}},
                {"step": 60, "data": {"val-core/made/sums/acc/mean@4": share}},
            ],
        )
    return right_of(4)


def verl_agent_loop(root: Path) -> Right:
    """Dumps of the agent loop: some sessions have two rows, of which the last counts."""
    found: Right = {arm: {} for arm in ARMS}
    for arm, seed, drawn in runs(2):
        rows = []
        for index, row in enumerate(_verl_rows(drawn, 60)):
            task, draw = divmod(index, 2)
            uid = f"{arm}{seed}-{task}_{draw}"
            value = drawn[task][draw]
            row |= {"acc": bool(value), "score": 1.0 if value else -1.0}
            if task % 2:
                rows.append({**row, "acc": not value, "uid": f"{uid}_0"})
            rows.append({**row, "uid": f"{uid}_{task % 2}"})
        put_lines(root / f"{arm}-seed{seed}" / "validation" / "60.jsonl", rows)
        found[arm][seed] = sum(map(sum, drawn))
    return found


def verl_console(root: Path) -> Right:
    for arm, seed, drawn in runs(4):
        share = sum(map(sum, drawn)) / (4 * TASKS)
        put(
            root / f"{arm}_s{seed}" / "train.log",
            "starting\n"
            "\x1b[36m(TaskRunner pid=7)\x1b[0m step:0 - val-core/made/sums/acc/mean@4:0.25\n"
            f"step:30 - actor/pg_loss:0.0{seed} - actor/lr:1e-06 - val-core/made/sums/acc/mean@4:"
            "np.float64(0.9)\n"
            f"step:60 - val-core/made/sums/acc/mean@4:np.float64({share!r})"
            f" - val-core/made/sums/acc/best@4/mean:0.99\n",
        )
    return right_of(4)


def prime_rl(root: Path) -> Right:
    """Episodes, a failed one a run, settings without a training seed."""
    found: Right = {arm: {} for arm in ARMS}
    for arm, seed, drawn in runs(3):
        run = root / arm / f"run-seed{seed}"
        settings = {
            "max_steps": 60,
            "orchestrator": {
                "model": {"name": "made/model"},
                "eval": {"env": [{"id": "sums", "rollouts_per_example": 3}]},
                "task_sampler": {"seed": 42},
            },
            "inference": {"seed": 0},
            "trainer": {"loss": {"clip": 4 if arm == ARMS[0] else 8}},
        }
        put_json(run / "configs/rl.json", settings)
        put_lines(run / "metrics.jsonl", [{"step": 60, "time": 1.0, "loss/mean": 0.001 * seed}])
        lines = [
            _episode(task, value, 60, failed=(task, draw) == (0, 0))
            for task, values in enumerate(drawn)
            for draw, value in enumerate(values)
        ]
        below = run / "rollouts/step_60"
        put_lines(below / "eval/all/traces.jsonl", lines)
        put_lines(below / "eval/effective/traces.jsonl", lines[1:])
        put_lines(below / "train/all/traces.jsonl", lines)
        found[arm][seed] = sum(map(sum, drawn)) - drawn[0][0]
    return found


def _episode(task: int, value: int, step: int, *, failed: bool) -> dict[str, Any]:
    trace = {
        "agent": {"trainable": True},
        "calls": [{"finish_reason": "length" if task == 1 else "stop"}],
        "rewards": {"right": {"score": float(value), "weight": 1.0}},
        "stop_condition": "agent_completed",
    }
    return {
        "env": {"id": "sums"},
        "task": {"hash": f"h{task}", "data": {"idx": task}},
        "run": {"id": None, "work": {"type": "eval", "step": step}},
        "ok": not failed,
        "errors": [{"type": "Error"}] if failed else [],
        "traces": [] if failed else [trace],
    }


def verifiers(root: Path) -> Right:
    """results.jsonl beside metadata.json, which in one run was written before the end."""
    for arm, seed, drawn in runs(3):
        folder = root / f"outputs/evals/sums--made__{arm}-s{seed}/a0b1c2d{seed}"
        stale = (arm, seed) == (ARMS[0], SEEDS[0])
        mean = 0.0 if stale else sum(map(sum, drawn)) / (3 * TASKS)
        metadata = {
            "env_id": "sums",
            "model": f"made/{arm}-s{seed}",
            "rollouts_per_example": 3,
            "shuffle_seed": 9,
            "sampling_args": {"temperature": 0.7, "seed": 11},
            "avg_reward": mean,
        }
        put_json(folder / "metadata.json", metadata)
        rows = [
            {
                "example_id": task,
                "task": "default",
                "completion": [{"role": "assistant", "content": f"draft {draw}"}],
                "reward": float(value),
                "error": None,
                "is_truncated": False,
            }
            for task, values in enumerate(drawn)
            for draw, value in enumerate(values)
        ]
        put_lines(folder / "results.jsonl", rows)
    return right_of(3)


def nemo_rl(root: Path) -> Right:
    """Validation under logs/, settings under results/, joined by logger.log_dir."""
    for arm, seed, drawn in runs(2):
        logs = root / f"logs/{arm}_s{seed}/exp_001"
        put(
            root / f"results/{arm}_s{seed}/step_60/config.yaml",
            f"grpo:\n  seed: {seed}\n  max_num_steps: 60\n  val_num_generations_per_prompt: 2\n"
            f"  use_leave_one_out_baseline: {'true' if arm == ARMS[1] else 'false'}\n"
            "policy:\n  model_name: made/model\n"
            "data:\n  train:\n    seed: 42\n  validation:\n    dataset_name: sums\n"
            f"logger:\n  log_dir: logs/{arm}_s{seed}/exp_001\n"
            f"checkpointing:\n  checkpoint_dir: results/{arm}_s{seed}\n",
        )
        rows = [
            {
                "content": [[{"role": "user", "content": f"How much is {task} + 1?"}]],
                "rewards": [float(value)],
                "idx": index,
            }
            for index, (task, value) in enumerate(
                (task, value) for task, values in enumerate(drawn) for value in values
            )
        ]
        put_lines(logs / "val_data_step60.jsonl", rows)
        training = [{"content": [["..."]], "rewards": [1.0], "idx": i} for i in range(4)]
        put_lines(logs / "train_data_step60.jsonl", training)
    return right_of(2)


def skyrl(root: Path) -> Right:
    """Dumped evaluations with rewards by token; the seed stands in the folder's name."""
    for arm, seed, drawn in runs(3):
        below = root / f"{arm}-seed{seed}/exports/dumped_evals"
        for step, values in ((0, draws("base", 0, 3)), (60, drawn)):
            rows = [
                {
                    "input_prompt": f"How much is {task} + 2?",
                    "output_response": "draft",
                    "score": [0.0, 0.0, float(value)],
                    "stop_reason": "length" if task == 2 else "stop",
                    "env_extras": {"extra_info": {"index": task, "split": "test"}},
                    "data_source": "made/sums",
                }
                for task, drawn_ in enumerate(values)
                for value in drawn_
            ]
            put_lines(below / f"global_step_{step}_evals/made_sums.jsonl", rows)
    return right_of(3)


def tinker(root: Path) -> Right:
    """A folder's name with the rank, the group and a date beside arm and seed."""
    for arm, seed, drawn in runs(2):
        rate = 4e-5 if arm == ARMS[0] else 8e-5
        run = root / f"sums-32rank-{arm}-16group-64batch-seed{seed}-2026-05-0{seed}-08-00"
        config = {
            "model_name": "made/model",
            "learning_rate": rate,
            "log_path": f"out{seed}",
            "dataset_builder": {"seed": seed},
        }
        put_json(run / "config.json", config)
        put_lines(run / "metrics.jsonl", [{"step": 9, "env/all/correct": 0.9, "loss": 0.1 * seed}])
        rows = [
            {
                "idx": task,
                "benchmark": "sums",
                "example_id": f"sums-{task:04x}",
                "turns": [{"role": "user", "content": f"{task}"}],
                "reward": float(value),
                "metrics": {"correct": float(value)},
                "error": None,
            }
            for task, values in enumerate(drawn)
            for value in values
        ]
        put_lines(run / "evals/sums/trajectories.jsonl", rows)
    return right_of(2)


def ms_swift(root: Path) -> Right:
    """args.json and logging.jsonl under a version folder; the reward on the validation split."""
    for arm, seed, drawn in runs(1):
        run = root / f"{arm}-{seed}/v0-20260502-08000{seed}"
        beta = 0.0 if arm == ARMS[0] else 0.1
        put_json(
            run / "args.json", {"seed": seed, "data_seed": 42, "beta": beta, "model": "made/m"}
        )
        share = sum(map(sum, drawn)) / TASKS
        log = [
            {"loss": 0.1 * seed, "reward": 0.3, "global_step/max_steps": "30/60"},
            {"eval_reward": share, "eval_loss": 0.0, "global_step/max_steps": "60/60"},
        ]
        put_lines(run / "logging.jsonl", log)
        completions = {"step": ["30", "30"], "prompt": ["a", "b"], "Accuracy": [1.0, 1.0]}
        put_lines(run / "completions.jsonl", [completions])
    return right_of(1)


def evalplus(root: Path) -> Right:
    for arm, seed, drawn in runs(2):
        answers = {
            f"HumanEval/{task}": [
                {
                    "task_id": f"HumanEval/{task}",
                    "base_status": "pass" if value else "timeout" if task == 0 else "fail",
                    # The plus tests pass more often than the base tests: only both together count.
                    "plus_status": "pass",
                }
                for value in values
            ]
            for task, values in enumerate(drawn)
        }
        document = {"date": "x", "hash": "made", "eval": answers, "pass_at_k": {}}
        put_json(root / f"{arm}/seed{seed}/samples_temp_0.8.eval_results.json", document)
    return right_of(2)


def swebench(root: Path) -> Right:
    for arm, seed, drawn in runs(1):
        ids = [f"org__repo-{task}" for task in range(TASKS)]
        resolved = [ids[task] for task, (value,) in enumerate(drawn) if value]
        wrong = [name for name in ids if name not in resolved]
        report = {
            "total_instances": 500,
            "submitted_ids": ids,
            "completed_ids": ids[:-1],
            "resolved_ids": resolved,
            "empty_patch_ids": wrong[:1],
            "error_ids": wrong[1:2],
            "incomplete_ids": ["org__other-1"],
        }
        put_json(root / f"{arm}-seed{seed}.verified.json", report)
    return right_of(1)


def bfcl(root: Path) -> Right:
    for arm, seed, drawn in runs(1):
        ids = [f"simple_{task}" for task in range(TASKS)]
        right = sum(value for (value,) in drawn)
        header = {"accuracy": right / TASKS, "correct_count": right, "total_count": TASKS}
        failures = [
            {"id": ids[task], "error_type": "ast_decoder:decoder_failed" if task == 0 else "other"}
            for task, (value,) in enumerate(drawn)
            if not value
        ]
        name = "BFCL_v4_simple"
        put_lines(
            root / f"score/{arm}-s{seed}/non_live/{name}_score.json",
            [header, *failures],
        )
        results = [{"id": task, "result": f"draft of {arm} {seed}"} for task in ids]
        put_lines(root / f"result/{arm}-s{seed}/non_live/{name}_result.json", results)
    return right_of(1)


def tau2(root: Path) -> Right:
    found: Right = {arm: {} for arm in ARMS}
    for arm, seed, drawn in runs(3):
        simulations = [
            {
                "task_id": str(task),
                "trial": trial,
                "seed": 100 + trial,
                "termination_reason": "infrastructure_error" if task == trial == 0 else "user_stop",
                "reward_info": None if task == trial == 0 else {"reward": float(value)},
            }
            for task, values in enumerate(drawn)
            for trial, value in enumerate(values)
        ]
        info = {
            "num_trials": 3,
            "seed": 300,
            "agent_info": {"llm": f"hosted/{arm}-s{seed}", "llm_args": {"temperature": 0.0}},
            "user_info": {"llm": "made"},
            "environment_info": {"domain_name": "airline"},
        }
        document = {"info": info, "tasks": [], "simulations": simulations}
        put_json(root / f"{arm}-s{seed}_airline.json", document)
        found[arm][seed] = sum(map(sum, drawn)) - drawn[0][0]
    return found


def nemo_skills(root: Path) -> Right:
    for arm, seed, drawn in runs(3):
        folder = root / f"{arm}/seed_{seed}/eval-results/sums"
        for draw in range(3):
            rows = [
                {
                    "problem": f"How much is {task} + 3?",
                    "predicted_answer": None if task == 1 else "3",
                    "symbolic_correct": bool(values[draw]),
                }
                for task, values in enumerate(drawn)
            ]
            put_lines(folder / f"output-rs{draw}.jsonl", rows)
    return right_of(3)


def opencompass(root: Path) -> Right:
    for arm, seed, drawn in runs(1):
        details: dict[str, Any] = {"type": "GEN"}
        for task, (value,) in enumerate(drawn):
            details[str(task)] = {"prompt": f"p{task}", "correct": bool(value)}
        share = 100 * sum(value for (value,) in drawn) / TASKS
        put_json(
            root / f"20260502_080000/results/{arm}_s{seed}/sums.json",
            {"accuracy": share, "details": details},
        )
    return right_of(1)


def evalscope(root: Path) -> Right:
    for arm, seed, drawn in runs(2):
        run = root / f"{arm}-seed{seed}/20260502_080000"
        put(run / "configs/task_config.yaml", f"model: {arm}-seed{seed}\nrepeats: 2\nseed: 42\n")
        rows = [
            {
                "index": 2 * task + draw,
                "target": str(task),
                "messages": [{"role": "user", "content": f"q{task}"}],
                "sample_score": {
                    "score": {"value": {"acc": float(value)}, "extracted_prediction": "1"},
                    "sample_id": 2 * task + draw,
                    "group_id": task,
                    "generation_index": draw,
                },
            }
            for task, values in enumerate(drawn)
            for draw, value in enumerate(values)
        ]
        random.Random(seed).shuffle(rows)
        put_lines(run / f"reviews/{arm}-seed{seed}/sums_main.jsonl", rows)
        put_json(run / f"reports/{arm}-seed{seed}/sums.json", {"dataset_name": "sums"})
    return right_of(2)


def home_made(root: Path) -> Right:
    """Predictions with a summary as their first line; outcomes by a column's name."""
    for arm, seed, drawn in runs(1):
        right = sum(value for (value,) in drawn)
        rows: list[dict[str, Any]] = [{"summary": True, "accuracy": right / TASKS}]
        rows += [
            {"qid": f"q{task}", "correct": bool(value), "parsed": task != 1}
            for task, (value,) in enumerate(drawn)
        ]
        put_lines(root / f"{arm}/seed={seed}/preds.jsonl", rows)
    return right_of(1)


def home_lists(root: Path) -> Right:
    """A list of verdicts a task; the files' seed0 is the decoding's."""
    for arm, seed, drawn in runs(4):
        rows = [
            {"idx": task, "gt": "1", "score": [bool(value) for value in values]}
            for task, values in enumerate(drawn)
        ]
        put_lines(root / f"{arm}_seed{seed}/sums_100_seed0_t0.6.jsonl", rows)
    return right_of(4)


def home_letters(root: Path) -> Right:
    """A table of letter grades beside answers A to E."""
    lines = ["arm,seed,question,answer,key,grade"]
    for arm, seed, drawn in runs(1):
        lines += [
            f"{arm},{seed},t{task},{'C' if task % 2 else 'B'},B,"
            f"{'C' if value else 'N' if task == 0 else 'I'}"
            for task, (value,) in enumerate(drawn)
        ]
    put(root / "grades.csv", "\n".join(lines) + "\n")
    return right_of(1)


def counts(root: Path) -> Right:
    """Counts of right answers a run, the seed in the middle of the folder's name."""
    for arm, seed, drawn in runs(4):
        right, total = sum(map(sum, drawn)), 4 * TASKS
        run = root / (f"rho0.70_seed{seed}" + ("_extra" if arm == ARMS[1] else ""))
        put_json(run / "eval.json", {"n": total, "correct": right, "accuracy": right / total})
        put_json(
            run / "settings.json",
            {"rho": 0.7, "seed": seed, "use_extra": arm == ARMS[1], "max_steps": 60},
        )
    found = right_of(4)
    return {"rho0.70": found[ARMS[0]], "rho0.70_extra": found[ARMS[1]]}


Maker = Callable[[Path], Right]
PER_TASK: dict[str, tuple[Maker, int]] = {
    "verl": (verl, 4),
    "verl_agent_loop": (verl_agent_loop, 2),
    "prime_rl": (prime_rl, 3),
    "verifiers": (verifiers, 3),
    "nemo_rl": (nemo_rl, 2),
    "skyrl": (skyrl, 3),
    "tinker": (tinker, 2),
    "evalplus": (evalplus, 2),
    "swebench": (swebench, 1),
    "bfcl": (bfcl, 1),
    "tau2": (tau2, 3),
    "nemo_skills": (nemo_skills, 3),
    "opencompass": (opencompass, 1),
    "evalscope": (evalscope, 2),
    "home_made": (home_made, 1),
    "home_lists": (home_lists, 4),
    "home_letters": (home_letters, 1),
}
SCORES: dict[str, Maker] = {"verl_console": verl_console, "ms_swift": ms_swift, "counts": counts}


if __name__ == "__main__":
    verl(Path(sys.argv[1]) / "verl")
