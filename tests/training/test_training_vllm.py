"""vLLM needs a GPU: an engine of the same calls stands in for it, with TRL's own code around it."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from audit.errors import InputError
from audit.training.checks import check_machine
from audit.training.parameters import parameters_sha256
from audit.training.study_file import read_study


class Engine:
    """Samples with the trained model; its probabilities are a little off, as vLLM's are."""

    made: list[Engine]

    def __init__(self, **settings: Any) -> None:
        self.settings = settings
        self.synced = 0
        Engine.made.append(self)

    def sync_weights(self) -> None:
        self.synced += 1

    def generate(self, prompts: list[list[int]], **_: Any) -> tuple[Any, ...]:
        import torch

        model = self.settings["model"]
        ids = torch.tensor(prompts)
        length = self.settings["max_completion_length"]
        with torch.no_grad():
            out = model.generate(
                input_ids=ids,
                attention_mask=torch.ones_like(ids),
                do_sample=True,
                max_new_tokens=length,
                top_k=0,
                return_dict_in_generate=True,
                output_scores=True,
            )
        end = model.generation_config.eos_token_id
        completions, logprobs = [], []
        for row, tokens in enumerate(out.sequences[:, ids.shape[1] :].tolist()):
            size = tokens.index(end) + 1 if end in tokens else len(tokens)
            completions.append(tokens[:size])
            logprobs.append(
                [[out.scores[t][row].log_softmax(-1)[tokens[t]].item() - 0.01] for t in range(size)]
            )
        return prompts, completions, logprobs, None


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> type[Engine]:
    from trl.trainer import grpo_trainer

    monkeypatch.setattr(grpo_trainer, "VLLMGeneration", Engine)
    Engine.made = []
    return Engine


WITH_VLLM = {"use_vllm": True, "vllm_mode": "colocate", "vllm_importance_sampling_correction": True}


def test_weights_are_plain_trls_where_another_engine_generates(
    engine: type[Engine], audited: Any, arguments: Any, parts: Any
) -> None:
    from trl import GRPOTrainer

    plain = GRPOTrainer(args=arguments(**WITH_VLLM), **parts())
    plain.train()
    ours = audited(args=WITH_VLLM)
    ours.train()
    assert parameters_sha256(ours.model) == parameters_sha256(plain.model)
    assert [made.synced for made in engine.made] == [3, 3]
    for r in ours.recorder.rounds:
        assert max(a.max_abs_log_ratio for a in r.updates[0].audits) == 0
        assert max(a.max_abs_log_ratio for a in r.updates[1].audits) > 0
        importance = r.updates[0].metrics["sampling/importance_sampling_ratio/mean"]
        tokens = sum(r.tokens) / len(r.tokens)  # a response's ratio is the product of its tokens'
        assert importance == pytest.approx(math.exp(0.01 * tokens), rel=1e-3)


STUDY = """\
seeds = [1, 2]
[task]
name = "addition"
[training]
use_vllm = true
[training.vllm]
mode = "colocate"
gpu_memory_utilization = 0.4
[arms.wide]
role = "method"
clip = "fixed"
epsilon_low = 0.2
epsilon_high = 0.3
[arms.plain]
role = "control"
clip = "fixed"
epsilon_low = 0.2
epsilon_high = 0.2
"""


def test_options_of_the_study_reach_trl(tmp_path: Path) -> None:
    from audit.training.arguments import grpo_arguments

    path = tmp_path / "study.toml"
    path.write_text(STUDY)
    args = grpo_arguments(
        read_study(path).training, seed=1, folder=tmp_path, world_size=1, on_cpu=True
    )
    assert args.use_vllm is True
    assert args.vllm_mode == "colocate"
    assert args.vllm_gpu_memory_utilization == 0.4


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "mode =",
            "mod =",
            r"training\.vllm\.mod: TRL has no option vllm_mod; did you mean 'mode'",
        ),
        ("mode =", "xyzzy =", r"training\.vllm\.xyzzy: TRL has no option vllm_xyzzy$"),
        ("mode =", "mode =", r"training\.use_vllm: vLLM is not installed"),
    ],
)
def test_vllm_that_cannot_be_is_refused_before_anything_is_run(
    old: str, new: str, message: str, tmp_path: Path
) -> None:
    from importlib.util import find_spec

    if "not installed" in message and find_spec("vllm"):
        pytest.skip("vLLM is installed here")
    path = tmp_path / "study.toml"
    path.write_text(STUDY.replace(old, new))
    with pytest.raises(InputError, match=message):
        check_machine(read_study(path), 1, str(path))
