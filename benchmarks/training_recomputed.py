"""Recompute what the audited trainer recorded, without its code and without TRL's loss.

Each of many random arms (clip, loss, level of the ratio, group size, passes, learning rate,
temperature) trains a few rounds of the addition task. Beside every update the batch, the rewards
and the weights before it are kept. From these alone, in float64, this script computes
log-probabilities, ratios, bounds, loss and the norm of the gradient again: bounds by bisection of
their definition, the losses from the papers' formulas, the gradient by automatic differentiation.
Counts of tokens must agree exactly where no ratio lies within 1e-5 of a bound; of figures the
largest difference is shown.

    python benchmarks/training_recomputed.py --arms 60 --write benchmarks/training_recomputed.md
"""

from __future__ import annotations

import argparse
import copy
import math
import os
import platform
import random
import sys
import tempfile
import warnings
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

GOAL = {
    "loss": 1e-5,
    "gradient norm from 0.01 on, as a share": 1e-4,
    "gradient norm below 0.01": 1e-5,
    "bounds, as a share from 1 on": 1e-5,
    "log ratio": 1e-4,
}
"""Most that float32 may differ from float64. A small gradient is what is left of large ones of
both signs, and a bound of a rare token is large: 1 over its old probability."""
_SMALL_NORM = 0.01
_CLOSE = 1e-5  # a ratio this near a bound is on either side by its last bits


def drawn(draw: random.Random) -> dict[str, Any]:
    """Draw an arm."""
    kind = draw.choice(["fixed", "adaptive", "tv", "chi2", "kl"])
    topology = draw.choice(["mc", "atomic"])
    per_token = kind in ("tv", "chi2", "kl") and topology == "atomic"
    radius = {"tv": (0.05, 0.3), "chi2": (0.003, 0.08), "kl": (0.001, 0.03)}.get(kind, (0, 0))
    return {
        "kind": kind,
        "topology": topology,
        "low": round(draw.uniform(0.02, 0.3), 3),
        "wide": round(draw.uniform(0, 0.2), 3),
        "radius": round(draw.uniform(*radius), 4),
        "loss_type": draw.choice(["grpo", "bnpo", "dr_grpo", "dapo"]),
        "level": "token" if per_token else draw.choice(["token", "token", "sequence"]),
        "group": draw.choice([2, 4, 8]),
        "prompts": draw.choice([2, 4, 8]),
        "parts": draw.choice([1, 1, 2]),
        "iterations": draw.choice([2, 2, 3]),
        "rate": 10 ** draw.uniform(-4, -2.5),
        "temperature": draw.choice([1.0, 0.8]),
        "advantage": draw.choice(["trl", "population", "unscaled"]),
        "seed": draw.randrange(10**6),
    }


def train(arm: dict[str, Any], task: Any, folder: Path) -> tuple[list[dict[str, Any]], Any]:
    """Train the arm; return what each backward pass saw, and the recorder."""
    from datasets import Dataset
    from transformers import PrinterCallback

    from audit.training.arguments import grpo_arguments
    from audit.training.recorder import Recorder
    from audit.training.rewards import ScoreReward
    from audit.training.study_file import Training
    from audit.training.trainer import AuditedGRPOTrainer
    from audit.training.trust_region import AdaptiveClip, DivergenceRegion, FixedClip

    region: Any
    if arm["kind"] == "fixed":
        region = FixedClip(arm["low"], arm["low"] + arm["wide"])
    elif arm["kind"] == "adaptive":
        region = AdaptiveClip(arm["low"], arm["low"] + arm["wide"])
    else:
        region = DivergenceRegion(arm["kind"], arm["topology"], arm["radius"])
    training = Training(
        rounds=3,
        prompts_per_round=arm["prompts"],
        group_size=arm["group"],
        iterations=arm["iterations"],
        steps_per_generation=arm["parts"],
        learning_rate=arm["rate"],
        loss_type=arm["loss_type"],
        importance_sampling_level=arm["level"],
        temperature=arm["temperature"],
        advantage=arm["advantage"],
    )
    passes: list[dict[str, Any]] = []

    class Watched(AuditedGRPOTrainer):
        def _compute_loss(self, model: Any, inputs: dict[str, Any]) -> Any:
            kept = {
                name: inputs[name].clone()
                for name in ("prompt_ids", "prompt_mask", "completion_ids", "completion_mask")
            }
            kept["sequence"] = inputs["audit_sequence"].clone()
            kept["weights"] = copy.deepcopy(self.model.state_dict())
            passes.append(kept)
            return super()._compute_loss(model, inputs)

    items = task.partition().train
    trainer = Watched(
        task.fresh_model(folder),
        ScoreReward(task.scorer),
        grpo_arguments(
            training, seed=arm["seed"], folder=folder / "out", world_size=1, on_cpu=True
        ),
        trust_region=region,
        recorder=Recorder("full", arm["group"], region.geometry, region.topology),
        advantage="population" if arm["advantage"] == "population" else "trl",
        train_dataset=Dataset.from_list(
            [{"prompt": i.prompt, "answer": i.answer, "row": i.row} for i in items]
        ),
        processing_class=task.tokenizer(folder),
    )
    trainer.remove_callback(PrinterCallback)
    trainer.train()
    return passes, trainer.recorder


def log_probabilities(model: Any, seen: dict[str, Any], temperature: float) -> Any:
    """Log-probabilities of the completion's tokens, from the logits."""
    import torch

    ids = torch.cat([seen["prompt_ids"], seen["completion_ids"]], dim=1)
    mask = torch.cat([seen["prompt_mask"], seen["completion_mask"]], dim=1)
    logits = model(input_ids=ids, attention_mask=mask).logits[:, :-1] / temperature
    width = seen["completion_ids"].shape[1]
    chosen = ids[:, 1:].unsqueeze(2)
    every = torch.log_softmax(logits, dim=2).gather(2, chosen).squeeze(2)
    return every[:, -width:]


def advantages(arm: dict[str, Any], rewards: list[float]) -> list[float]:
    """Advantage of each response within its group, in plain Python."""
    found: list[float] = []
    for start in range(0, len(rewards), arm["group"]):
        group = rewards[start : start + arm["group"]]
        mean = math.fsum(group) / len(group)
        squares = math.fsum((r - mean) ** 2 for r in group)
        scale = {
            "unscaled": 1.0,
            "population": math.sqrt(squares / len(group)) + 1e-6,
            "trl": math.sqrt(squares / (len(group) - 1)) + 1e-4,
        }[arm["advantage"]]
        found += [(r - mean) / scale for r in group]
    return found


def bounds(arm: dict[str, Any], old: float, right: int) -> tuple[float, float]:
    """Bounds of one token's ratio, from the definition of the region."""
    if arm["kind"] == "fixed":
        return 1 - arm["low"], 1 + arm["low"] + arm["wide"]
    if arm["kind"] == "adaptive":
        share = (arm["group"] - min(max(right, 1), arm["group"])) / (arm["group"] - 1)
        return 1 - arm["low"], 1 + arm["low"] + arm["wide"] * share
    weight = math.exp(old) if arm["topology"] == "atomic" else 1.0
    divergences: dict[str, Callable[[float], float]] = {
        "tv": lambda r: abs(r - 1),
        "chi2": lambda r: (r - 1) ** 2,
        "kl": lambda r: r - 1 - math.log(r),
    }
    divergence, radius = divergences[arm["kind"]], float(arm["radius"])

    def outside(r: float) -> bool:
        return weight * divergence(r) > radius

    low, high = 1e-300, 1.0  # the lower bound: the least ratio that is inside
    if outside(low):
        for _ in range(1100):
            middle = math.sqrt(low * high) if low < 1e-9 else (low + high) / 2
            low, high = (middle, high) if outside(middle) else (low, middle)
    lower = 0.0 if not outside(1e-300) else high
    low, high = 1.0, 2.0
    while not outside(high):
        high *= 2
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (low, middle) if outside(middle) else (middle, high)
    return lower, low


def compare(arm: dict[str, Any], task: Any, folder: Path, worst: dict[str, float]) -> list[int]:
    """Train an arm and recompute it; return audits, tokens, audits near a bound, unequal ones."""
    import torch

    seen, recorder = train(arm, task, folder)
    model = task.fresh_model(folder).double().eval()
    passes = arm["parts"] * arm["iterations"]
    audits = tokens = near = unequal = 0
    for number, record in enumerate(recorder.rounds):
        given = advantages(arm, record.rewards)
        own = seen[number * passes : (number + 1) * passes]
        model.load_state_dict(own[0]["weights"])
        with torch.no_grad():
            first = [log_probabilities(model, one, arm["temperature"]) for one in own]
        # dapo divides by the tokens of the whole batch, which the passes of one part make up.
        whole = sum(int(one["completion_mask"].sum()) for one in own[: arm["parts"]])
        for one, old, update in zip(own, first, record.updates, strict=True):
            model.load_state_dict(one["weights"])
            model.zero_grad()
            now, mask = log_probabilities(model, one, arm["temperature"]), one["completion_mask"]
            places = one["sequence"].tolist()
            advantage = torch.tensor([given[p] for p in places], dtype=torch.float64).unsqueeze(1)
            pairs = [
                [bounds(arm, value, record.correct[place // arm["group"]]) for value in row]
                for place, row in zip(places, old.tolist(), strict=True)
            ]
            lower, upper = torch.tensor(pairs, dtype=torch.float64).unbind(2)
            difference = now - old
            if arm["level"] == "sequence":
                mean = (difference * mask).sum(1, keepdim=True) / mask.sum(1, keepdim=True)
                difference = mean.expand(mask.shape)
            ratio = difference.exp()
            clipped = torch.minimum(torch.maximum(ratio, lower), upper)
            terms = -torch.minimum(ratio * advantage, clipped * advantage) * mask
            loss = {
                "grpo": lambda: (terms.sum(1) / mask.sum(1)).mean(),  # noqa: B023 - called at once
                "bnpo": lambda: terms.sum() / mask.sum(),  # noqa: B023
                "dr_grpo": lambda: terms.sum() / (4 * len(mask)),  # noqa: B023 - max_tokens is 4
                "dapo": lambda: terms.sum() / (whole / arm["parts"]),  # noqa: B023
            }[arm["loss_type"]]()
            loss.backward()
            squares = [float((p.grad**2).sum()) for p in model.parameters() if p.grad is not None]
            norm = math.sqrt(math.fsum(squares))
            _more(worst, "loss", abs(loss.item() - update.loss))
            off = abs(norm - update.gradient_l2_norm)
            if norm >= _SMALL_NORM:
                _more(worst, "gradient norm from 0.01 on, as a share", off / norm)
            else:
                _more(worst, "gradient norm below 0.01", off)
            by_place = {audit.sequence: audit for audit in update.audits}
            for row, place in enumerate(places):
                audit, inside = by_place[place], mask[row].bool()
                r, lo, up = ratio[row][inside], lower[row][inside], upper[row][inside]
                capped = torch.minimum(up, (-old[row][inside]).exp())
                below, above, sign = r < lo, r > up, advantage[row].item()
                for bound, mean in ((lo, audit.lower_mean), (capped, audit.upper_mean)):
                    found = bound.mean().item()
                    share = abs(found - mean) / max(1.0, found)
                    _more(worst, "bounds, as a share from 1 on", share)
                largest = difference[row][inside].abs().max().item()
                _more(worst, "log ratio", abs(largest - audit.max_abs_log_ratio))
                audits, tokens = audits + 1, tokens + int(inside.sum())
                if min((r - lo).abs().min(), (r - up).abs().min()) < _CLOSE:
                    near += 1
                    continue
                counted = int((below | above).sum())
                stopped = int((below if sign < 0 else above).sum()) if sign else 0
                unequal += (counted, stopped, int(inside.sum())) != (
                    audit.clipped_tokens,
                    audit.gated_clipped_tokens,
                    audit.tokens,
                )
    return [audits, tokens, near, unequal]


def _more(worst: dict[str, float], name: str, value: float) -> None:
    worst[name] = max(worst.get(name, 0.0), value)


def page(arms: int, totals: list[int], worst: dict[str, float]) -> str:
    """Return the report as Markdown."""
    audits, tokens, near, unequal = totals
    rows = "\n".join(
        f"| {name} | {worst.get(name, 0):.1e} | {goal:.0e} |" for name, goal in GOAL.items()
    )
    versions = ", ".join(f"{name} {version(name)}" for name in ("torch", "trl", "transformers"))
    return f"""\
# The record, recomputed

Written by `python benchmarks/training_recomputed.py --arms {arms} --write
benchmarks/training_recomputed.md`. {arms} random arms of three rounds each: {audits:,} response
audits of {tokens:,} tokens, computed again in float64 from batch, rewards and weights alone.
Python {platform.python_version()}, {versions}.

Counts of tokens, of those outside their bounds and of those that the clip acts on: {unequal} of
{audits - near:,} audits unequal; {near:,} more have a ratio within {_CLOSE:.0e} of a bound, where
float32 may count either way.

| figure | largest difference | accepted |
|---|---:|---:|
{rows}
"""


def main() -> int:
    """Compare, print, and end with 1 where something differs by more than is accepted."""
    import transformers

    from audit.training.tasks.addition import Addition

    warnings.filterwarnings("ignore")
    transformers.utils.logging.set_verbosity_error()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--arms", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--write", metavar="PAGE")
    options = parser.parse_args()
    draw = random.Random(options.seed)
    task = Addition(limit=20, train_prompts=300, holdout_tasks=40, warm_up_steps=120)
    worst: dict[str, float] = {}
    totals = [0, 0, 0, 0]
    with tempfile.TemporaryDirectory() as name:
        for number in range(1, options.arms + 1):
            arm = drawn(draw)
            found = compare(arm, task, Path(name), worst)
            totals = [a + b for a, b in zip(totals, found, strict=True)]
            if found[3]:
                print(f"unequal counts in {found[3]} audits of {arm}")
            print(f"{number}: {totals} {worst}", file=sys.stderr, flush=True)
    text = page(options.arms, totals, worst)
    print(text)
    if options.write:
        Path(options.write).write_text(text, encoding="utf-8")
    return int(totals[3] > 0 or any(worst.get(name, 0) > goal for name, goal in GOAL.items()))


if __name__ == "__main__":
    sys.exit(main())
