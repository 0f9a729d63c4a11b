from __future__ import annotations

import itertools
import math
from contextlib import AbstractContextManager, nullcontext
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from trl import GRPOTrainer

from audit.errors import UsageError
from audit.training.parameters import parameters_sha256
from audit.training.trainer import Diverged, of_all_draws
from audit.training.trust_region import AdaptiveClip, DivergenceRegion, FixedClip, TrustRegion


@pytest.mark.parametrize("loss_type", ["grpo", "dapo"])
def test_a_fixed_clip_gives_the_weights_of_plain_trl_bit_for_bit(
    loss_type: str, arguments: Any, parts: Any, audited: Any
) -> None:
    args = {
        "loss_type": loss_type,
        "per_device_train_batch_size": 16,
        "steps_per_generation": 4,
        "gradient_accumulation_steps": 2,
        "max_steps": 40,
    }
    plain = GRPOTrainer(args=arguments(**args), **parts())
    start = parameters_sha256(plain.model)
    plain.train()
    ours = audited(args=args)
    ours.train()
    assert ours.initial_parameters_sha256 == start
    assert parameters_sha256(ours.model) == parameters_sha256(plain.model)
    assert parameters_sha256(ours.model) != start
    logged = [log for log in plain.state.log_history if "grad_norm" in log]
    updates = [u for r in ours.recorder.rounds for u in r.updates]
    assert [u.gradient_l2_norm for u in updates] == [log["grad_norm"] for log in logged]
    gated = sum(log["clip_ratio/region_mean"] for log in logged)
    assert gated > 0  # the run did clip, so the comparison covers the clamp
    for update, log in zip(updates, logged, strict=True):
        assert update.metrics["clip_ratio/region_mean"] == log["clip_ratio/region_mean"]


@pytest.fixture(scope="module")
def regions() -> dict[str, TrustRegion]:
    return {
        "fixed": FixedClip(0.2, 0.28),
        "adaptive": AdaptiveClip(0.2, 0.28),
        "chi2": DivergenceRegion("chi2", "atomic", 0.04),
        "kl": DivergenceRegion("kl", "mc", 0.02),
    }


@pytest.mark.parametrize("name", ["fixed", "adaptive", "chi2", "kl"])
def test_bounds_follow_their_sequence_after_the_shuffle(
    name: str, regions: dict[str, TrustRegion], audited: Any
) -> None:
    """Four slices a round, two passes: each audited bound is its own group's."""
    trainer = audited(
        trust_region=regions[name],
        args={
            "per_device_train_batch_size": 16,
            "steps_per_generation": 4,
            "gradient_accumulation_steps": 2,
            "max_steps": 8,
        },
    )
    trainer.train()
    assert len(trainer.recorder.rounds) == 2
    for r in trainer.recorder.rounds:
        assert len(r.updates) == 4
        for first, second in (r.updates[:2], r.updates[2:]):
            seen = sorted([a.sequence for u in (first, second) for a in u.audits])
            assert seen == list(range(64))
        by_sequence: dict[int, set[tuple[float, float, int]]] = {}
        for audit in itertools.chain.from_iterable(u.audits for u in r.updates):
            bounds = audit.lower_mean, audit.upper_mean, audit.tokens
            by_sequence.setdefault(audit.sequence, set()).add(bounds)
            assert audit.tokens == r.tokens[audit.sequence]
            if name == "adaptive":
                count = max(1, r.correct[audit.sequence // 8])
                ceiling = 1 + 0.2 + 0.08 * (8 - count) / 7
                assert audit.upper_mean <= ceiling + 1e-6
        assert all(len(bounds) == 1 for bounds in by_sequence.values())


def test_the_adaptive_ceiling_of_each_audit_is_its_group_s(audited: Any, monkeypatch: Any) -> None:
    """Without the cap at 1 / p the recorded ceiling is the schedule itself."""
    import audit.training.trainer as module

    monkeypatch.setattr(module, "cap_at_certainty", lambda upper, old: upper)
    trainer = audited(
        trust_region=AdaptiveClip(0.2, 0.28),
        args={
            "per_device_train_batch_size": 16,
            "steps_per_generation": 4,
            "gradient_accumulation_steps": 2,
            "max_steps": 4,
        },
    )
    trainer.train()
    (r,) = trainer.recorder.rounds
    assert len(set(r.correct)) > 2
    for audit in itertools.chain.from_iterable(u.audits for u in r.updates):
        count = max(1, r.correct[audit.sequence // 8])
        assert audit.upper_mean == pytest.approx(1.2 + 0.08 * (8 - count) / 7, abs=2e-7)


def test_the_ratio_is_exactly_one_on_the_first_update_of_a_round(audited: Any) -> None:
    trainer = audited()
    trainer.train()
    for r in trainer.recorder.rounds:
        first, second = r.updates
        assert {a.max_abs_log_ratio for a in first.audits} == {0.0}
        assert {a.clipped_tokens for a in first.audits} == {0}
        assert abs(first.loss) < 1e-6
        assert max(a.max_abs_log_ratio for a in second.audits) > 0


def test_what_trl_calls_clipped_is_what_the_record_calls_gated(audited: Any) -> None:
    trainer = audited(args={"learning_rate": 3e-3, "max_steps": 12})
    trainer.train()
    clipped = 0
    for update in (u for r in trainer.recorder.rounds for u in r.updates):
        tokens = sum(a.tokens for a in update.audits)
        gated = sum(a.gated_clipped_tokens for a in update.audits)
        clipped += gated
        assert update.metrics["clip_ratio/region_mean"] == pytest.approx(gated / tokens, rel=1e-6)
        assert all(a.gated_clipped_tokens <= a.clipped_tokens for a in update.audits)
    assert clipped > 0


def test_counts_advantages_and_lengths_are_those_of_the_rollouts(audited: Any) -> None:
    trainer = audited(args={"max_steps": 2})
    trainer.train()
    (r,) = trainer.recorder.rounds
    for group in range(4):
        rewards = r.rewards[8 * group : 8 * group + 8]
        assert r.correct[group] == sum(rewards)
        mean = sum(rewards) / 8
        sd = math.sqrt(sum((x - mean) ** 2 for x in rewards) / 7)
        expected = [(x - mean) / (sd + 1e-4) for x in rewards]
        assert r.advantages[8 * group : 8 * group + 8] == pytest.approx(expected, abs=1e-5)
    assert all(1 <= n <= 4 for n in r.tokens)
    assert all(n == 4 for n, cut in zip(r.tokens, r.truncated, strict=True) if cut)


def test_population_advantages_replace_trl_s(audited: Any) -> None:
    trainer = audited(args={"max_steps": 2}, advantage="population")
    trainer.train()
    (r,) = trainer.recorder.rounds
    split = next(g for g in range(4) if 0 < r.correct[g] < 8)
    share = r.correct[split] / 8
    sd = math.sqrt(share * (1 - share))
    expected = [(x - share) / (sd + 1e-6) for x in r.rewards[8 * split : 8 * split + 8]]
    assert r.advantages[8 * split : 8 * split + 8] == pytest.approx(expected, abs=1e-5)


def test_sequence_level_ratios_are_audited_as_one_ratio_a_response(audited: Any) -> None:
    trainer = audited(
        args={"importance_sampling_level": "sequence", "learning_rate": 3e-3, "max_steps": 8},
        trust_region=AdaptiveClip(0.05, 0.08),
    )
    trainer.train()
    later = [a for r in trainer.recorder.rounds for a in r.updates[1].audits]
    assert {a.clip_fraction for a in later} == {0.0, 1.0}


def test_the_random_state_around_a_run_changes_nothing(audited: Any) -> None:
    from peft import LoraConfig

    def run(draws: int) -> tuple[str, str, list[float], float]:
        torch.manual_seed(draws)
        torch.rand(draws)
        lora = LoraConfig(r=4, target_modules=["q_proj", "v_proj"])
        trainer = audited(args={"max_steps": 2}, peft_config=lora)
        torch.rand(draws)  # as an evaluation of the base would
        trainer.train()
        (r,) = trainer.recorder.rounds
        end = parameters_sha256(trainer.model)
        return trainer.initial_parameters_sha256, end, r.rewards, r.updates[0].gradient_l2_norm

    assert run(1) == run(1000)


def test_both_arms_start_alike_at_one_seed(audited: Any) -> None:
    first, second = (
        audited(trust_region=region, args={"max_steps": 2})
        for region in (FixedClip(0.2, 0.28), AdaptiveClip(0.2, 0.28))
    )
    for trainer in (first, second):
        trainer.train()
    a, b = first.recorder.rounds[0], second.recorder.rounds[0]
    assert first.initial_parameters_sha256 == second.initial_parameters_sha256
    assert (a.rewards, a.rows, a.tokens) == (b.rewards, b.rows, b.tokens)
    assert a.updates[0].gradient_l2_norm == b.updates[0].gradient_l2_norm
    assert [x.max_abs_log_ratio for x in a.updates[1].audits] == [
        x.max_abs_log_ratio for x in b.updates[1].audits
    ]


def test_a_model_wrapped_by_the_caller_is_caught(audited: Any, parts: Any) -> None:
    from peft import LoraConfig, get_peft_model

    wrapped = get_peft_model(parts()["model"], LoraConfig(r=4, target_modules=["q_proj"]))
    with pytest.raises(UsageError, match="peft_config"):
        audited(model=wrapped)


@pytest.mark.parametrize(
    ("args", "region", "word"),
    [
        ({"loss_type": "cispo"}, FixedClip(), "no clamp"),
        ({"loss_type": "sapo"}, FixedClip(), "no clamp"),
        ({"loss_type": "vespo"}, FixedClip(), "no clamp"),
        (
            {"importance_sampling_level": "sequence"},
            DivergenceRegion("chi2", "atomic", 0.04),
            "one ratio per sequence",
        ),
        ({"logging_steps": 2}, FixedClip(), "logging_steps"),
        ({"logging_strategy": "epoch"}, FixedClip(), "logging_steps"),
        ({"bf16": True}, FixedClip(), "bf16"),
        ({"delta": 3.0}, FixedClip(), "delta"),
        ({"scale_rewards": "batch"}, FixedClip(), "scale_rewards must be 'group' or 'none', not"),
        (
            {"multi_objective_aggregation": "normalize_then_sum"},
            FixedClip(),
            "multi_objective_aggregation",
        ),
        ({"mask_truncated_completions": True}, FixedClip(), "mask_truncated_completions"),
        ({"top_entropy_quantile": 0.2}, FixedClip(), "top_entropy_quantile"),
        ({"entropy_coef": 0.01}, FixedClip(), "entropy_coef"),
        ({"off_policy_mask_threshold": 0.5}, FixedClip(), "off_policy_mask_threshold"),
        (
            {
                "per_device_train_batch_size": 16,
                "steps_per_generation": 2,
                "gradient_accumulation_steps": 4,
            },
            FixedClip(),
            "cannot be reached",
        ),
        ({"num_iterations": 1}, AdaptiveClip(), "cannot be reached"),
        (
            {
                "per_device_train_batch_size": 16,
                "steps_per_generation": 4,
                "gradient_accumulation_steps": 3,
            },
            FixedClip(),
            "mix two batches",
        ),
    ],
)
def test_settings_that_spoil_the_clip_or_its_record_are_refused_before_a_step(
    args: dict[str, Any], region: TrustRegion, word: str, audited: Any
) -> None:
    with pytest.raises(UsageError, match=word):
        audited(args=args, trust_region=region)


def test_a_recorder_of_other_groups_or_of_another_training_is_refused(
    arguments: Any, parts: Any
) -> None:
    from audit.training.recorder import Recorder
    from audit.training.trainer import AuditedGRPOTrainer

    used = Recorder("full", 8, "tv", "mc")
    used.begin([1.0] * 8, [0.0] * 8, [8], [1] * 8, [False] * 8, [0])
    for recorder, word in (
        (Recorder("full", 4, "tv", "mc"), "group size"),
        (Recorder("full", 8, "chi2", "atomic"), "geometry"),
        (used, "another training"),
    ):
        with pytest.raises(UsageError, match=word):
            AuditedGRPOTrainer(
                args=arguments(), trust_region=FixedClip(), recorder=recorder, **parts()
            )


def test_liger_is_refused(audited: Any, arguments: Any, parts: Any) -> None:
    from audit.training.guards import check_arguments

    args = arguments()
    args.use_liger_kernel = True  # set after construction, which would import liger
    with pytest.raises(UsageError, match="liger"):
        check_arguments(args, FixedClip())


@pytest.mark.parametrize(
    ("trl", "device", "triton", "interpret", "runs"),
    [
        ("1.15.0", "cuda", True, None, True),
        ("1.15.0", "xpu", True, None, True),
        ("1.15.0", "cuda", False, None, False),
        ("1.15.0", "cpu", True, None, False),
        ("1.15.0", "cpu", True, "0", False),
        ("1.15.0", "cpu", True, "1", True),
        ("1.15.0", "cpu", False, "1", False),
        ("1.15.0", "mps", False, None, False),
        ("1.16.0", "cpu", False, None, True),
        ("1.20.0", "cpu", False, None, True),
    ],
)
def test_a_trl_that_needs_triton_is_refused_where_triton_cannot_run(
    trl: str,
    device: str,
    triton: bool,
    interpret: str | None,
    runs: bool,
    arguments: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from audit.training import guards

    monkeypatch.setattr(guards, "version", {"trl": trl}.__getitem__)
    monkeypatch.setattr(guards, "find_spec", {"triton": object() if triton else None}.get)
    monkeypatch.delenv("TRITON_INTERPRET", raising=False)
    if interpret is not None:
        monkeypatch.setenv("TRITON_INTERPRET", interpret)
    args = SimpleNamespace(**vars(arguments()), device=SimpleNamespace(type=device))
    refused = pytest.raises(UsageError, match=r"use trl>=1\.16, or install triton")
    expected: AbstractContextManager[object] = nullcontext() if runs else refused
    with expected:
        guards.check_arguments(args, FixedClip())


def test_an_unreachable_clip_that_is_forced_never_clips_and_says_so(audited: Any) -> None:
    trainer = audited(
        args={
            "per_device_train_batch_size": 16,
            "steps_per_generation": 2,
            "gradient_accumulation_steps": 4,
            "max_steps": 4,
            "learning_rate": 3e-3,
        },
        allow_unreachable_clip=True,
    )
    trainer.train()
    assert trainer.clip_reachable is False
    assert trainer.recorder.clip_activity()["updates_after_the_first"] == 0
    audits = [a for r in trainer.recorder.rounds for u in r.updates for a in u.audits]
    assert {a.max_abs_log_ratio for a in audits} == {0.0}
    assert len(trainer.recorder.rounds) == 4
    # Both passes fall into one update, and each sequence is audited once in it.
    (update,) = trainer.recorder.rounds[0].updates
    assert [a.sequence for a in update.audits] == list(range(32))


# In Triton's interpreter NumPy computes TRL's kernel, and warns of what is not finite.
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_loss_that_is_not_finite_ends_the_run(audited: Any) -> None:
    trainer = audited(args={"learning_rate": 1e30, "max_grad_norm": 0.0})
    with pytest.raises((Diverged, RuntimeError)) as caught:
        trainer.train()
    assert isinstance(caught.value, Diverged)


@pytest.mark.parametrize(
    ("name", "values", "whole"),
    [
        ("rewards/equal/mean", [0.5, 1.0], [0.6]),
        ("completions/max_length", [3.0, 4.0], [4.0]),
        ("completions/min_terminated_length", [3.0, 4.0], [3.0]),
        ("num_tokens", [120.0], [120.0]),
    ],
)
def test_what_is_logged_of_each_draw_is_put_together_by_its_responses(
    name: str, values: list[float], whole: list[float]
) -> None:
    assert of_all_draws(name, values, [16, 4]) == pytest.approx(whole)


def test_population_advantages_contradict_unscaled_ones(audited: Any) -> None:
    with pytest.raises(UsageError, match=r"scale_rewards is 'none'"):
        audited(args={"scale_rewards": "none"}, advantage="population")
