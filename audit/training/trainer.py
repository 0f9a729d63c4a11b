"""TRL's GRPO trainer with a trust region of choice and a record of what each update did.

TRL's loss is never copied: its clip widths are set around the call to it, and everything recorded
is computed beside it without touching the random state or the gradient.
"""

from __future__ import annotations

import json
import math
import random
from collections import deque
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import torch
from accelerate.utils import set_seed
from transformers.trainer_utils import get_last_checkpoint
from trl import GRPOTrainer

from audit.errors import UsageError
from audit.training.callback import AuditCallback
from audit.training.disk_full import held_together
from audit.training.guards import check_arguments, check_model, check_recorder, clip_reachable
from audit.training.parameters import parameters_sha256
from audit.training.recorder import Recorder, ResponseAudit, Update
from audit.training.rewards import text_of
from audit.training.trust_region import FixedClip, TrustRegion, cap_at_certainty

if TYPE_CHECKING:
    from torch import Tensor, nn
    from trl import GRPOConfig

Advantage = Literal["trl", "population"]

_INDEX_KEY = "audit_sequence"
_COUNT_KEY = "audit_correct"
_MOST_DRAWS = 50
_UNTIMED = ("step_time",)  # a clock reading would make two identical runs differ


class Diverged(RuntimeError):  # noqa: N818 - a result of a run, not a fault of the program
    """A loss or gradient norm that is not finite; the run ends here and is kept as diverged."""


class AuditedGRPOTrainer(GRPOTrainer):  # type: ignore[misc]  # trl ships no type information
    """GRPO with a trust region, recorded; an `AuditCallback` gets its record too.

    Parameters
    ----------
    *args, **kwargs
        As ``trl.GRPOTrainer`` takes them. A LoRA adapter comes through ``peft_config``.
    trust_region : TrustRegion
        Replaces ``epsilon`` and ``epsilon_high`` of the arguments.
    recorder : Recorder
        Receives every round and update, of all processes.
    advantage : {"trl", "population"}
        TRL's ``(r - mean) / (std_ddof1 + 1e-4)``, or ``(r - mean) / (std_ddof0 + 1e-6)``. With
        ``scale_rewards="none"`` in the arguments it is TRL's ``r - mean``.
    correct_at : float
        A response counts as right when its first reward reaches this.
    zero_groups : {"keep", "reject"}
        Keep groups whose rewards are all equal, as TRL does, or draw further prompts in their
        place; in one process, from text alone.
    allow_unreachable_clip : bool
        Train although no update can see a ratio other than 1; the record then says so.

    Raises
    ------
    audit.errors.UsageError
        For settings under which the clip or the record would be wrong, before anything is built.
    """

    def __init__(
        self,
        model: Any,
        reward_funcs: Any,
        args: GRPOConfig,
        *,
        trust_region: TrustRegion,
        recorder: Recorder,
        advantage: Advantage = "trl",
        correct_at: float = 1.0,
        zero_groups: Literal["keep", "reject"] = "keep",
        allow_unreachable_clip: bool = False,
        **kwargs: Any,
    ) -> None:
        check_arguments(args, trust_region, allow_unreachable_clip=allow_unreachable_clip)
        check_recorder(args, trust_region, recorder)
        check_model(model, seed=args.seed)
        if advantage == "population" and args.scale_rewards == "none":
            raise UsageError("advantage='population' is scaled, and scale_rewards is 'none'")
        super().__init__(model, reward_funcs, args, **kwargs)
        if zero_groups == "reject" and self.accelerator.num_processes > 1:
            raise UsageError("zero_groups: further prompts are drawn in one process alone")
        self.zero_groups = zero_groups
        self._further: Iterator[int] = iter(())
        self._further_drawn = 0
        self._epochs_before = 0
        self.trust_region = trust_region
        self.recorder = recorder
        self.advantage = advantage
        self.correct_at = correct_at
        if isinstance(trust_region, FixedClip):
            # Plain numbers, so that the arithmetic is TRL's own to the last bit.
            self.epsilon_low = trust_region.epsilon_low
            self.epsilon_high = trust_region.epsilon_high
        self.clip_reachable = clip_reachable(
            args.gradient_accumulation_steps, args.steps_per_generation, args.num_iterations
        )
        self.initial_parameters_sha256 = parameters_sha256(self.model)
        self._reward_table: Tensor | None = None
        self._responses: tuple[list[list[int]], list[str]] = ([], [])
        self._logps: Tensor | None = None
        self._bounds: tuple[Tensor, Tensor] | None = None
        self._losses: list[Tensor] = []
        self._audits: list[Tensor] = []

    def train(self, resume_from_checkpoint: str | Path | bool | None = None, **kwargs: Any) -> Any:
        """Train from the seed, whatever was drawn between building the trainer and now.

        Parameters
        ----------
        resume_from_checkpoint : str, Path or bool, optional
            A checkpoint that this class wrote, between two batches of rollouts: with the record of
            the rounds before it, so that the run that goes on is the run that was cut off. True
            stands for the last one in ``args.output_dir``.

        Raises
        ------
        audit.errors.UsageError
            For a checkpoint without the record, one within a batch of rollouts, or one beside an
            `AuditCallback`, whose record would begin there.
        """
        self._further = _endlessly(len(self.train_dataset), self.args.seed)
        for callback in self.callback_handler.callbacks:
            if isinstance(callback, AuditCallback):
                if resume_from_checkpoint:
                    raise UsageError(
                        "resume_from_checkpoint: the steps before the checkpoint would be missing "
                        "from the record of AuditCallback; train from the start"
                    )
                callback.further = self.record
        # The call that TRL ends its construction with, so plain TRL's run is the same run.
        set_seed(self.args.seed, device_specific=True)
        if not resume_from_checkpoint:
            return super().train(**kwargs)
        folder = str(resume_from_checkpoint)
        if resume_from_checkpoint is True:
            folder = get_last_checkpoint(self.args.output_dir) or self.args.output_dir
        step = self._take_up(folder)
        if step >= self.args.max_steps > 0:  # the loop of transformers would make one more update
            self._load_from_checkpoint(folder)
            return None
        return super().train(resume_from_checkpoint=folder, **kwargs)

    def _take_up(self, folder: str) -> int:
        """Take the record of the rounds before a checkpoint, and return its optimizer step."""
        path = Path(folder, self._record_name())
        try:
            kept = json.loads(path.read_text(encoding="utf-8"))
            state = json.loads(Path(folder, "trainer_state.json").read_text(encoding="utf-8"))
        except FileNotFoundError as error:
            raise UsageError(
                "resume_from_checkpoint: the rounds before it are missing, as it was written by "
                "another trainer; train from the start",
                path=str(error.filename),
            ) from None
        if kept["within_a_batch"]:
            raise UsageError(
                "resume_from_checkpoint: lies within a batch of rollouts, which is not kept; set "
                "save_steps so that batches end there",
                path=folder,
            )
        self.recorder.restore(kept["recorder"])
        self._further_drawn = kept["further_drawn"]
        deque(islice(self._further, self._further_drawn), maxlen=0)
        self._epochs_before = int(state["epoch"])
        step: int = state["global_step"]
        return step

    def _get_train_sampler(self, *args: Any, **kwargs: Any) -> Any:
        sampler = super()._get_train_sampler(*args, **kwargs)
        for _ in range(self._epochs_before):
            next(iter(sampler))  # each epoch's order is the next draw from one generator
        return sampler

    def _save_checkpoint(self, model: Any, trial: Any) -> None:
        args, save = self.args, super()._save_checkpoint
        folder = Path(self._get_output_dir(trial=trial), f"checkpoint-{self.state.global_step}")
        passes = self.state.global_step * args.gradient_accumulation_steps
        content = {
            "within_a_batch": passes % (args.steps_per_generation * args.num_iterations) > 0,
            "further_drawn": self._further_drawn,
            "recorder": self.recorder.state(),
        }

        def write() -> None:
            save(model, trial)
            (folder / self._record_name()).write_text(json.dumps(content), encoding="utf-8")

        held_together(write, folder, "the checkpoint")

    def _record_name(self) -> str:
        """Name the file beside a checkpoint with the record; each process has its own share."""
        process = self.accelerator.process_index
        return f"audit_record{f'-{process}' if process else ''}.json"

    def record(self) -> dict[str, Any]:
        """Return what a results file says of this training in its run.

        Returns
        -------
        dict
            The blocks ``telemetry``, ``clip_activity``, ``training``, ``sampling`` and
            ``surface_scan`` of schema_version 2, of the responses of all processes (the scan: of
            this process's share).
        """
        recorder = self.recorder
        args = self.args
        passes = args.steps_per_generation * args.num_iterations
        # Batches that one update takes in together are one step of the record.
        batches = max(1, args.gradient_accumulation_steps // passes)
        return {
            "telemetry": {
                "level": recorder.level,
                "every": recorder.every,
                "groups_per_step": batches * args.generation_batch_size // self.num_generations,
                "responses_per_group": self.num_generations,
                "advantage": self._formula(),
                "loss_type": args.loss_type,
                "zero_groups": "kept" if self.zero_groups == "keep" else "rejected",
                "row_order": "source",
                "clip_reachable": self.clip_reachable,
            },
            "clip_activity": recorder.clip_activity(),
            "training": recorder.training(),
            "sampling": {
                "zero_advantage_groups": recorder.zero_advantage_groups,
                "tasks_attempted": recorder.groups,
                "generated_training_tokens_including_rejected_groups": recorder.generated_tokens,
            },
            "surface_scan": recorder.surface.block(),
        }

    def _formula(self) -> dict[str, Any]:
        if self.scale_rewards == "none":
            return {"scale": "none"}
        if self.advantage == "population":
            return {"ddof": 0, "epsilon": 1e-6}
        return {"ddof": 1, "epsilon": 1e-4}

    # Rollouts ---------------------------------------------------------------------------------

    def _calculate_rewards(
        self, inputs: Any, prompts: Any, completions: Any, completion_ids_list: Any
    ) -> Tensor:
        table: Tensor = super()._calculate_rewards(
            inputs, prompts, completions, completion_ids_list
        )
        self._reward_table = table
        self._responses = (completion_ids_list, [text_of(c) for c in completions])
        return table

    def _generate_and_score_completions(self, inputs: Any) -> dict[str, Any]:
        if not self.model.training:
            output: dict[str, Any] = super()._generate_and_score_completions(inputs)
            return output
        if self.zero_groups == "reject":
            output, inputs, correct, rewards = self._without_zero_groups(inputs)
        else:
            output, correct, rewards = self._drawn(inputs)
        size = output["advantages"].shape[0]
        first = self.accelerator.process_index * size
        offset = self._begin_round(inputs, output["advantages"], rewards, correct)
        # Extra (B,) tensors are shuffled and split together with their sequences.
        counts = correct.repeat_interleave(self.num_generations)
        output[_COUNT_KEY] = counts[first : first + size]
        output[_INDEX_KEY] = torch.arange(
            offset + first, offset + first + size, device=correct.device
        )
        return output

    def _drawn(self, inputs: Any) -> tuple[dict[str, Any], Tensor, Tensor]:
        """Let TRL generate and score; right responses by group, and rewards, of all processes."""
        output: dict[str, Any] = super()._generate_and_score_completions(inputs)
        if self._reward_table is None:
            raise RuntimeError("TRL no longer scores completions through _calculate_rewards")
        right = (self._reward_table[:, 0] >= self.correct_at).view(-1, self.num_generations)
        # nansum, as TRL adds rewards up: a response that a function leaves out adds nothing.
        rewards = (self._reward_table * self.reward_weights.to(right.device)).nansum(dim=1)
        self._reward_table = None
        if self.advantage == "population":
            size = output["advantages"].shape[0]
            first = self.accelerator.process_index * size
            every = population_advantages(rewards, self.num_generations)
            output["advantages"] = every[first : first + size]
        return output, right.sum(dim=1), rewards

    def _without_zero_groups(
        self, inputs: list[dict[str, Any]]
    ) -> tuple[dict[str, Any], list[dict[str, Any]], Tensor, Tensor]:
        """Draw prompts until as many groups as asked have rewards that differ.

        Rejected groups are counted with their tokens, and TRL's figures about responses are of all
        that were drawn; its reward is that of the groups which are trained on. Where
        ``_MOST_DRAWS`` do not suffice the run fails: what it was to be trained on is not there.
        """
        k, wanted = self.num_generations, len(inputs) // self.num_generations
        kept: list[tuple[dict[str, Any], Tensor, Tensor]] = []
        rows: list[dict[str, Any]] = []
        ids: list[list[int]] = []
        texts: list[str] = []
        groups = 0
        logged = self._metrics["train"]
        before = {name: len(values) for name, values in logged.items()}
        drawn: list[int] = []
        for _ in range(_MOST_DRAWS):
            output, correct, rewards = self._drawn(inputs)
            drawn.append(len(inputs))
            by_group = rewards.view(-1, k)
            varied = (by_group != by_group[:, :1]).any(dim=1)
            every = varied.repeat_interleave(k)
            places = every.nonzero().flatten().tolist()
            drawn_ids, drawn_texts = self._responses
            rejected = [n for n in range(len(inputs)) if not every[n]]
            self.recorder.reject(len(rejected) // k, sum(len(drawn_ids[n]) for n in rejected))
            if places:
                kept.append((_rows(output, every), correct[varied], rewards[every]))
                rows += [inputs[n] for n in places]
                ids += [drawn_ids[n] for n in places]
                texts += [drawn_texts[n] for n in places]
                groups += len(places) // k
            if groups == wanted:
                self._responses = (ids, texts)
                outputs, counts, scores = zip(*kept, strict=True)
                whole = _joined(outputs, self._tokenizer.pad_token_id)
                every_score = torch.cat(scores)
                for name, values in logged.items():
                    start = before.get(name, 0)
                    values[start:] = of_all_draws(name, values[start:], drawn)
                logged["reward"][-1] = every_score.mean().item()
                logged["reward_std"][-1] = every_score.std().item()
                return whole, rows, torch.cat(counts), every_score
            missing = wanted - groups
            self._further_drawn += missing
            further = [self.train_dataset[next(self._further)] for _ in range(missing)]
            inputs = [row for row in further for _ in range(k)]
        raise RuntimeError(
            f"in {_MOST_DRAWS} draws {groups} of {wanted} groups had rewards that differ"
        )

    def _begin_round(
        self, inputs: Any, advantages: Tensor, rewards: Tensor, correct: Tensor
    ) -> int:
        ids, texts = self._responses
        ends = {*self.eos_token_ids, self._tokenizer.pad_token_id}
        # A column of this name tells the place of a prompt in its source; another's is no number.
        places = (row.get("row") for row in inputs)
        rows = [place if isinstance(place, int) else -1 for place in places]
        local = torch.tensor(
            [
                [len(tokens), not tokens or tokens[-1] not in ends, row]
                for tokens, row in zip(ids, rows, strict=True)
            ],
            device=rewards.device,
        )
        lengths, truncated, row = self.accelerator.gather(local).T.tolist()
        known = [r for r in row[:: self.num_generations] if r >= 0]
        everywhere = self.accelerator.gather(advantages)
        first = self.accelerator.process_index * len(texts)
        self.recorder.surface.add(texts, rewards[first : first + len(texts)].tolist())
        return self.recorder.begin(
            rewards.tolist(),
            everywhere.tolist(),
            correct.tolist(),
            lengths,
            [bool(t) for t in truncated],
            known,
        )

    # Updates ----------------------------------------------------------------------------------

    def _get_per_token_logps_and_entropies(self, *args: Any, **kwargs: Any) -> Any:
        answer = super()._get_per_token_logps_and_entropies(*args, **kwargs)
        self._logps = answer[0].detach()
        return answer

    def _compute_loss(self, model: nn.Module, inputs: dict[str, Any]) -> Tensor:
        if not self.model.training:
            loss: Tensor = super()._compute_loss(model, inputs)
            return loss
        old = inputs.get("old_per_token_logps")
        if not isinstance(self.trust_region, FixedClip) and old is not None:
            loss = self._loss_in_region(model, inputs, old)
        else:
            # Without old log-probabilities the ratio is exactly 1, inside every region.
            loss = super()._compute_loss(model, inputs)
        self._losses.append(loss.detach())
        with torch.no_grad():
            self._audits.append(self._audit(inputs, self._logps if old is None else old))
        self._logps = None
        return loss

    def _loss_in_region(self, model: nn.Module, inputs: dict[str, Any], old: Tensor) -> Tensor:
        before = self.epsilon_low, self.epsilon_high
        lower, upper = self.trust_region.bounds(old, inputs[_COUNT_KEY], self.num_generations)
        # torch.clamp takes two numbers or two tensors, so both are tensors.
        self.epsilon_low, self.epsilon_high = 1 - lower, upper - 1
        self._bounds = lower, upper
        try:
            loss: Tensor = super()._compute_loss(model, inputs)
        finally:
            self.epsilon_low, self.epsilon_high = before
        return loss

    def _audit(self, inputs: dict[str, Any], old: Tensor) -> Tensor:
        mask = inputs["completion_mask"]
        if "tool_mask" in inputs:
            mask = mask * inputs["tool_mask"]
        lower, upper = self._bounds or self.trust_region.bounds(
            old, inputs[_COUNT_KEY], self.num_generations
        )
        self._bounds = None
        columns = audit_columns(
            self._logps - old,
            mask,
            inputs["advantages"],
            lower,
            upper,
            old,
            sequence_level=self.importance_sampling_level == "sequence",
        )
        index = inputs[_INDEX_KEY].to(columns.dtype).unsqueeze(1)
        gathered: Tensor = self.accelerator.gather(torch.cat([index, columns], dim=1))
        return gathered

    def log(self, logs: dict[str, float], start_time: float | None = None) -> None:
        """Close the update that TRL logs, then let TRL log it."""
        if self.model.training and "grad_norm" in logs and self._losses:
            self._end_update(float(logs["grad_norm"]), logs.get("learning_rate"))
        super().log(logs, start_time)

    def _end_update(self, gradient_norm: float, learning_rate: float | None) -> None:
        loss = self.accelerator.gather(torch.stack(self._losses).sum()).mean().item()
        if not (math.isfinite(loss) and math.isfinite(gradient_norm)):
            raise Diverged(
                f"loss {loss} and gradient norm {gradient_norm} "
                f"at optimizer step {self.state.global_step}"
            )
        # Where one update passes over a sequence more than once, its ratio is the same each time.
        passes = (_response_audit(row) for row in torch.cat(self._audits).tolist())
        by_sequence = {audit.sequence: audit for audit in passes}
        self._losses, self._audits = [], []
        metrics = {
            name: math.fsum(values) / len(values)
            for name, values in self._metrics["train"].items()
            if name not in _UNTIMED and values and all(map(math.isfinite, values))
        }
        if learning_rate is not None:
            metrics["learning_rate"] = learning_rate
        audits = tuple(a for _, a in sorted(by_sequence.items()) if a.tokens)
        self.recorder.end_update(Update(loss, gradient_norm, audits, metrics))


def _endlessly(rows: int, seed: int) -> Iterator[int]:
    """Yield the places of rows over and over, each time in another order of the seed's."""
    order = random.Random(seed)
    while True:
        places = list(range(rows))
        order.shuffle(places)
        yield from places


def of_all_draws(name: str, values: list[float], sizes: Sequence[int]) -> list[float]:
    """Put what TRL logged of each draw of a batch together as it logs one of a whole batch.

    Parameters
    ----------
    name : str
        TRL's, which says where it is the largest or smallest of the responses.
    values : list of float
        One of each draw; any other number of them is returned as it is.
    sizes : sequence of int
        Responses of each draw.
    """
    if len(values) != len(sizes):
        return values
    if "/max" in name or "/min" in name:
        return [max(values) if "/max" in name else min(values)]
    return [math.fsum(v * n for v, n in zip(values, sizes, strict=True)) / sum(sizes)]


def _rows(output: dict[str, Any], chosen: Tensor) -> dict[str, Any]:
    """Return the chosen sequences of a batch; what is of no sequence is left out."""
    size = chosen.shape[0]
    return {
        name: value[chosen]
        for name, value in output.items()
        if isinstance(value, torch.Tensor) and value.ndim and value.shape[0] == size
    }


def _joined(outputs: Sequence[dict[str, Any]], pad: int) -> dict[str, Any]:
    """Put batches together: prompts padded on the left, completions on the right."""
    whole: dict[str, Any] = {}
    for name in outputs[0]:
        parts = [output[name] for output in outputs]
        if parts[0].ndim == 2:
            width = max(part.shape[1] for part in parts)
            value = pad if name.endswith("_ids") else 0
            left = name.startswith("prompt_")
            parts = [
                torch.nn.functional.pad(
                    part,
                    (width - part.shape[1], 0) if left else (0, width - part.shape[1]),
                    value=value,
                )
                for part in parts
            ]
        whole[name] = torch.cat(parts)
    # As TRL counts it: the tokens that enter the loss.
    whole["num_items_in_batch"] = whole["completion_mask"].sum()
    return whole


def audit_columns(
    log_ratio: Tensor,
    mask: Tensor,
    advantages: Tensor,
    lower: Tensor,
    upper: Tensor,
    old_logps: Tensor,
    *,
    sequence_level: bool = False,
) -> Tensor:
    """Say what each response's ratios did against its bounds.

    Parameters
    ----------
    log_ratio, old_logps, mask : Tensor, shape (B, T)
        ``log p_new - log p_old``, ``log p_old`` and 1 where a token is trained.
    advantages : Tensor, shape (B,)
    lower, upper : Tensor, shape (B, 1) or (B, T)
    sequence_level : bool
        One ratio a response, the exponential of its mean log ratio, in place of one a token.

    Returns
    -------
    Tensor, shape (B, 8)
        Tokens, tokens outside the bounds, those of them on the side that the advantage's sign
        lets the clip act on, both as shares of the tokens, mean lower bound, mean upper bound
        capped at ``1 / p_old``, and the largest ``|log ratio|``.
    """
    tokens = mask.sum(dim=1)
    inside = mask.bool()
    if sequence_level:
        mean = (log_ratio * mask).sum(dim=1) / tokens.clamp(min=1)
        log_ratio = mean.unsqueeze(1).expand(mask.shape)
    ratio = log_ratio.exp()
    below, above = (ratio < lower) & inside, (ratio > upper) & inside
    sign = advantages.unsqueeze(1)
    gated = (below & (sign < 0)) | (above & (sign > 0))
    capped = cap_at_certainty(upper.expand(mask.shape), old_logps)
    count = tokens.clamp(min=1)
    outside, stopped = (below | above).sum(dim=1), gated.sum(dim=1)
    return torch.stack(
        [
            tokens.to(ratio.dtype),
            outside.to(ratio.dtype),
            stopped.to(ratio.dtype),
            outside / count,
            stopped / count,
            (lower.expand(mask.shape) * mask).sum(dim=1) / count,
            (capped * mask).sum(dim=1) / count,
            log_ratio.abs().masked_fill(~inside, 0).amax(dim=1),
        ],
        dim=1,
    )


def population_advantages(rewards: Tensor, group_size: int) -> Tensor:
    """``(r - mean) / (std_ddof0 + 1e-6)`` within groups of consecutive rewards, shape (B,)."""
    groups = rewards.view(-1, group_size)
    centred = groups - groups.mean(dim=1, keepdim=True)
    return (centred / (groups.std(dim=1, correction=0, keepdim=True) + 1e-6)).flatten()


def _response_audit(row: list[float]) -> ResponseAudit:
    sequence, tokens, clipped, gated, *means = row
    return ResponseAudit(int(sequence), int(tokens), int(clipped), int(gated), *means)
