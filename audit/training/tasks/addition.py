"""Two-number addition, offline: a tiny Qwen2-shaped model that learns in seconds on a CPU.

``"07+45="`` is answered by ``"52"``. The base model is warmed up by supervised steps that stop
early, so that it is right about every second time and reinforcement learning has something to do.
"""

from __future__ import annotations

import hashlib
import json
import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from audit.errors import InputError, UsageError
from audit.training.decontaminate import decontaminate
from audit.training.rewards import Scorer, exact_match
from audit.training.tasks import Item, Partition
from audit.training.tasks.selection import arranged
from audit.writing import write_whole

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

_ALPHABET = "0123456789+="
_PAD, _END, _UNKNOWN = "<pad>", "<end>", "<unk>"


@dataclass(frozen=True, slots=True)
class Addition:
    """Settings of the task.

    ``limit`` bounds both numbers (exclusive); of the ``limit ** 2`` problems the first
    ``train_prompts`` after a shuffle are trained on and the next ``holdout_tasks`` held out.
    The warm-up follows a cosine schedule over ``warm_up_schedule`` steps, cut off at
    ``warm_up_steps``. A problem has the columns ``a``, ``b`` and ``sum``.
    """

    limit: int = 50
    train_prompts: int = 2000
    holdout_tasks: int = 300
    data_seed: int = 0
    base_seed: int = 0
    warm_up_steps: int = 225
    warm_up_schedule: int = 400
    warm_up_batch: int = 64
    warm_up_learning_rate: float = 3e-3
    hidden_size: int = 64
    layers: int = 2
    heads: int = 4
    intermediate_size: int = 128
    where: Mapping[str, Any] = field(default_factory=dict)
    order: str = ""
    ngram: int = 8

    def __post_init__(self) -> None:
        """Refuse settings of which no data or no model can be made."""
        if self.hidden_size % (2 * self.heads):
            raise UsageError("hidden_size: must be an even multiple of heads")
        wanted, there = self.train_prompts + self.holdout_tasks, self.limit**2
        if wanted > there:
            raise UsageError(
                f"holdout_tasks: {self.holdout_tasks} and {self.train_prompts} train_prompts are "
                f"more than the {there} problems below limit {self.limit}"
            )

    def beside(self, folder: Path) -> Addition:
        """Return the task itself: it reads no file."""
        return self

    @property
    def benchmark(self) -> str:
        """Name under which outcomes are reported."""
        return f"addition-{self.limit}"

    @property
    def split(self) -> str:
        """Split of the benchmark that is held out."""
        return "validation"

    @property
    def scorer(self) -> Scorer:
        """The sum to the letter, with its leading zero."""
        return exact_match

    def partition(self, further: Sequence[str] = ()) -> Partition:
        """Shuffle all problems by the data seed and cut them into train and holdout."""
        pairs = [(a, b) for a in range(self.limit) for b in range(self.limit)]
        random.Random(self.data_seed).shuffle(pairs)
        items = [self._item(row, a, b) for row, (a, b) in enumerate(pairs)]
        holdout = items[self.train_prompts : self.train_prompts + self.holdout_tasks]
        offered = items[: self.train_prompts]
        train = [offered[place] for place in arranged(offered, self.where, self.order)]
        held = [*(item.prompt for item in holdout), *further]
        clean = decontaminate([item.prompt for item in train], held, self.ngram)
        dataset = {
            "verified": True,
            "test_read": False,
            "source_id": f"generated:{self.benchmark}",
            "source_revision": f"shuffle seed {self.data_seed}",
            "source_sha256": _lines_sha256(items),
            "partition_sha256": {
                "train": _lines_sha256(train),
                "validation": _lines_sha256(holdout),
            },
            "partition": f"first {self.train_prompts} of the shuffled problems train, "
            f"next {self.holdout_tasks} validation",
        }
        kept = tuple(train[i] for i in clean.kept)
        protocol = {"gold_in_generation": False, "test_opened": False, "reward": "exact_match"}
        return Partition(kept, tuple(holdout), dataset, protocol, len(clean.dropped), self.ngram)

    def _item(self, row: int, a: int, b: int) -> Item:
        digits = len(str(self.limit - 1))
        width = len(str(2 * self.limit - 2))
        prompt = f"{a:0{digits}d}+{b:0{digits}d}="
        columns = {"a": a, "b": b, "sum": a + b}
        return Item(prompt.rstrip("="), prompt, f"{a + b:0{width}d}", row, columns)

    def prepare(self, cache: Path) -> dict[str, Any]:
        """Warm the base up, unless the cache holds it, and describe it.

        Raises
        ------
        UsageError
            When its weights are no finite numbers.
        """
        from audit.training.parameters import all_finite, parameters_sha256

        model = self.fresh_model(cache)
        if not all_finite(model):
            raise UsageError("warm_up_learning_rate: leaves weights that are no finite numbers")
        path = self._base_path(cache)
        name = {
            "public_id": f"generated:{self.benchmark}-qwen2-{self.hidden_size}x{self.layers}",
            "revision": self._fingerprint(),
        }
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        return {
            **name,
            "parameters_sha256": parameters_sha256(model),
            "verified_mirror": {**name, "file_sha256": {path.name: digest}},
        }

    def tokenizer(self, cache: Path) -> PreTrainedTokenizerBase:
        """One token a character."""
        from tokenizers import Tokenizer, decoders, models, pre_tokenizers
        from transformers import PreTrainedTokenizerFast

        words = [_PAD, _END, _UNKNOWN, *_ALPHABET]
        vocabulary = {word: index for index, word in enumerate(words)}
        tokens = Tokenizer(models.WordLevel(vocabulary, unk_token=_UNKNOWN))
        tokens.pre_tokenizer = pre_tokenizers.Split("", "isolated")
        tokens.decoder = decoders.Fuse()
        return PreTrainedTokenizerFast(
            tokenizer_object=tokens,
            pad_token=_PAD,
            eos_token=_END,
            unk_token=_UNKNOWN,
            padding_side="left",
        )

    def fresh_model(self, cache: Path) -> PreTrainedModel:
        """Return the warmed-up base, cached or made now; the random state stays as it was.

        Beside the weights lies their hash, so that damage to them is never taken for a base.

        Raises
        ------
        InputError
            When the cached weights are not those that were made.
        """
        import torch
        from safetensors.torch import load, save

        path = self._base_path(cache)
        digest = path.with_suffix(".sha256")
        with torch.random.fork_rng(devices=[]):  # all of it happens on the CPU
            torch.manual_seed(self.base_seed)
            model = self._build(cache)
            if not (path.exists() and digest.exists()):
                self._warm_up(model, self.tokenizer(cache))
                cache.mkdir(parents=True, exist_ok=True)
                made = save({n: p.detach().clone() for n, p in model.named_parameters()})
                write_whole(path, made)
                write_whole(digest, hashlib.sha256(made).hexdigest().encode())
        try:
            data = path.read_bytes()
            wanted = digest.read_bytes().decode()
        except (OSError, ValueError) as error:
            raise InputError(f"not a base model ({error}); delete it", path=str(path)) from error
        if hashlib.sha256(data).hexdigest() != wanted:
            raise InputError("not the base model that was made; delete it", path=str(path))
        model.load_state_dict(load(data), strict=False)
        model.tie_weights()
        return model

    def _base_path(self, cache: Path) -> Path:
        return cache / f"base-{self._fingerprint()[:16]}.safetensors"

    def _build(self, cache: Path) -> PreTrainedModel:
        from transformers import Qwen2Config, Qwen2ForCausalLM

        tokens = self.tokenizer(cache)
        return Qwen2ForCausalLM(
            Qwen2Config(
                vocab_size=len(tokens),
                hidden_size=self.hidden_size,
                intermediate_size=self.intermediate_size,
                num_hidden_layers=self.layers,
                num_attention_heads=self.heads,
                num_key_value_heads=self.heads,
                max_position_embeddings=64,
                tie_word_embeddings=True,
                pad_token_id=tokens.pad_token_id,
                eos_token_id=tokens.eos_token_id,
                bos_token_id=None,
            )
        )

    def _warm_up(self, model: PreTrainedModel, tokens: PreTrainedTokenizerBase) -> None:
        """Supervised steps on the training problems; the loss counts answer tokens only."""
        import torch

        # Of all training problems: arms that train on some of them start from one base.
        items = replace(self, where={}, order="").partition().train
        rows = torch.tensor(
            [
                tokens.encode(i.prompt, add_special_tokens=False)
                + tokens.encode(i.answer, add_special_tokens=False)
                + [tokens.eos_token_id]
                for i in items
            ]
        )
        prompt = len(items[0].prompt)
        order = torch.Generator().manual_seed(self.base_seed)
        optimizer = torch.optim.AdamW(model.parameters(), lr=self.warm_up_learning_rate)
        schedule = torch.optim.lr_scheduler.LambdaLR(
            optimizer, lambda step: (1 + math.cos(math.pi * step / self.warm_up_schedule)) / 2
        )
        model.train()
        for _ in range(self.warm_up_steps):
            batch = rows[torch.randint(len(rows), (self.warm_up_batch,), generator=order)]
            labels = batch.clone()
            labels[:, :prompt] = -100
            loss = model(input_ids=batch, labels=labels).loss
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()

    def _fingerprint(self) -> str:
        settings = asdict(self)
        del settings["where"], settings["order"]  # all problems are warmed up on
        return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()


def _lines_sha256(items: list[Item]) -> str:
    text = "".join(json.dumps({"question": i.prompt, "answer": i.answer}) + "\n" for i in items)
    return hashlib.sha256(text.encode()).hexdigest()
