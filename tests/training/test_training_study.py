from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from audit.errors import InputError, UsageError
from audit.training.ledger import Ledger
from audit.training.study import prepare
from audit.training.study_file import read_study
from training.studies import STUDY, audit_train, save_character_model, verified


def test_the_results_file_holds_what_a_reader_looks_for(reference: Any) -> None:
    assert reference["method"] == "adaptive-clip"
    assert reference["launched_seeds"] == {"adaptive-clip": [1, 2], "fixed-clip": [1, 2]}
    assert reference["change"]["fields"] == ["clip", "epsilon_high", "epsilon_high_max"]
    assert reference["holdout"] == {
        "train_rows": 300,
        "holdout_rows": 20,
        "ngram": 8,
        "dropped": 0,
    }
    control = reference["controls"]["fixed-clip"]
    assert control["execution_checks"]["rollout_groups_per_seed"] == [12, 12]
    assert control["execution_checks"]["actual_gradient_steps"] == [6, 6]
    for run in (*reference["seed_results"], *control["seed_results"]):
        evaluation = run["evaluation"]
        accuracy = sum(evaluation["correct"]) / sum(evaluation["samples"])
        assert run["method_metrics"]["accuracy"] == accuracy
        assert run["method_metrics"]["examples"] == 40
        assert run["initial_parameters_sha256"] == reference["checkpoint"]["parameters_sha256"]
        assert run["parameters_changed"]
        assert run["telemetry"]["clip_reachable"] is True
        assert run["environment"]["threads"] == 1
        assert run["environment"]["processor"].rpartition(", ")[2].isupper()
        assert run["environment"]["packages"]["trl"]
        assert len(run["training"]) == 3
        first = run["training"][0]
        assert len(first["rewards"]) == 32 == len(first["updates"][0]["response_audits"])


def test_base_evaluations_differ_by_their_seed_and_are_by_task(reference: Any) -> None:
    base = [b["evaluation"] for b in reference["base_evaluations"]]
    assert [b["condition"]["seed"] for b in base] == [0, 1, 2]
    assert len({tuple(b["correct"]) for b in base}) > 1
    runs = reference["seed_results"]
    assert all(b["task_ids"] == runs[0]["evaluation"]["task_ids"] for b in base)


def test_aggregates_are_of_the_runs(reference: Any) -> None:
    import numpy as np

    def values(runs: Any) -> Any:
        return np.array([r["method_metrics"]["accuracy"] for r in runs])

    top = values(reference["seed_results"])
    control = values(reference["controls"]["fixed-clip"]["seed_results"])
    expected = {
        "method_metrics.accuracy": top,
        "fixed_clip.validation.accuracy": control,
        "paired_accuracy_difference_vs_fixed-clip": top - control,
    }
    assert set(reference["aggregate_metrics"]) == set(expected)
    for name, found in reference["aggregate_metrics"].items():
        assert found["mean"] == pytest.approx(expected[name].mean())
        assert found["std"] == pytest.approx(expected[name].std(ddof=1))
        assert found["n"] == 2


def test_arms_at_one_seed_start_alike_and_then_part(reference: Any) -> None:
    pairs = zip(
        reference["seed_results"], reference["controls"]["fixed-clip"]["seed_results"], strict=True
    )
    for ours, theirs in pairs:
        assert ours["initial_parameters_sha256"] == theirs["initial_parameters_sha256"]
        first, second = ours["training"][0], theirs["training"][0]
        for key in ("training_rows", "rewards", "advantages"):
            assert first[key] == second[key]
        norms = [s["updates"][0]["gradient_l2_norm"] for s in (first, second)]
        assert norms[0] == norms[1]
        assert ours["final_parameters_sha256"] != theirs["final_parameters_sha256"]


def test_the_file_keeps_to_the_contract(reference: Any) -> None:
    from audit.schema import schema_faults

    assert schema_faults(reference) == []


def test_a_diverging_run_is_recorded_as_such_and_the_command_says_so(
    study_path: Any, tmp_path: Path
) -> None:
    study = study_path(
        ("learning_rate = 1e-3", "learning_rate = 1e30\nmax_grad_norm = 0.0"),
        ("seeds = [1, 2]", "seeds = [1]"),
    )
    output = tmp_path / "results.json"
    assert audit_train(str(study), "-o", str(output)) == 1
    document = json.loads(output.read_text())
    for runs in (document["seed_results"], document["controls"]["fixed-clip"]["seed_results"]):
        (run,) = runs
        assert run["status"] == "diverged"
        assert "nan" in run["failure"] or "inf" in run["failure"]
        assert run["training"]
        assert "method_metrics" not in run
    assert document["launched_seeds"]["adaptive-clip"] == [1]
    assert document["aggregate_metrics"] == {}
    # Started again, the loss stays a loss: no retry until it looks better.
    assert audit_train(str(study), "-o", str(output)) == 1


def test_a_run_that_fails_is_kept_beside_those_that_finish(
    study_path: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from audit.training import run as module

    sound = module._Run._train

    def train_or_fail(self: Any) -> None:
        if self.seed == 2 and self.arm.name == "fixed-clip":
            raise OSError("disk full")
        sound(self)

    monkeypatch.setattr(module._Run, "_train", train_or_fail)
    output = tmp_path / "results.json"
    assert audit_train(str(study_path()), "-o", str(output)) == 1
    document = json.loads(output.read_text())
    first, second = document["controls"]["fixed-clip"]["seed_results"]
    assert first["status"] == "finished"
    assert second["status"] == "failed"
    assert second["failure"].startswith("OSError: disk full (test_training_study.py:")
    assert second["seed"] == 2
    assert document["aggregate_metrics"]["fixed_clip.validation.accuracy"]["n"] == 1
    assert "std" not in document["aggregate_metrics"]["fixed_clip.validation.accuracy"]


def test_the_base_is_made_on_as_many_threads_as_the_study_says(
    study_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    from audit.training.tasks.addition import Addition

    seen = []
    sound = Addition.prepare

    def watched(self: Any, cache: Path) -> Any:
        seen.append(torch.get_num_threads())
        return sound(self, cache)

    monkeypatch.setattr(Addition, "prepare", watched)
    path = study_path()
    torch.set_num_threads(2)
    prepare(read_study(path), str(path), Ledger(path.parent / "x"))
    assert seen == [1]


@pytest.mark.parametrize(
    ("note", "commit"),
    [
        (
            '{"url": "https://x", "vcs_info": {"vcs": "git", "commit_id": "%s"}}' % ("a" * 40),
            "a" * 40,
        ),
        ('{"url": "file:///x", "dir_info": {}}', None),
        (None, None),
    ],
)
def test_what_pip_installed_from_a_repository_is_of_the_commit_that_pip_noted(
    note: str | None, commit: str | None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from audit.training import environment as module

    class Distribution:
        def read_text(self, name: str) -> str | None:
            return note if name == "direct_url.json" else None

    monkeypatch.setattr(module, "__file__", str(tmp_path / "audit" / "training" / "x.py"))
    monkeypatch.setattr(module, "distribution", lambda name: Distribution())
    assert module.code_commit() == commit


UNREACHABLE = ("rounds = 3", "rounds = 3\nsteps_per_generation = 2\naccumulation = 4")


@pytest.mark.parametrize("calls", [0, 1, 3])
def test_a_run_that_ends_in_the_middle_of_a_round_is_no_error_of_the_file(
    calls: int, study_path: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from audit.training.trainer import AuditedGRPOTrainer

    sound = AuditedGRPOTrainer._compute_loss

    def loss_or_fail(self: Any, *args: Any) -> Any:
        if self.args.seed == 2 and self.recorder.updates == calls:
            raise SystemExit("a reward\nthat \x1b[31m ends \ud800 the process")
        return sound(self, *args)

    monkeypatch.setattr(AuditedGRPOTrainer, "_compute_loss", loss_or_fail)
    output = tmp_path / "results.json"
    assert audit_train(str(study_path()), "-o", str(output)) == 1
    document = json.loads(output.read_text())
    _, failed = document["seed_results"]
    said, _, place = failed["failure"].partition(" (")
    assert said == "SystemExit: a reward that ?[31m ends ? the process"
    assert place.startswith("test_training_study.py:")
    assert sum(len(step["updates"]) for step in failed["training"]) == calls
    report = verified(document, tmp_path)
    assert not [f for f in report.findings if f.severity.label == "error"]


def test_rounds_that_one_update_takes_in_are_one_step_of_the_file(
    study_path: Any, tmp_path: Path
) -> None:
    together = "rounds = 4\naccumulation = 4\nallow_unreachable_clip = true"
    study = study_path(("rounds = 3", together), ("seeds = [1, 2]", "seeds = [1]"))
    output = tmp_path / "results.json"
    assert audit_train(str(study), "-o", str(output)) == 0
    document = json.loads(output.read_text())
    (run,) = document["seed_results"]
    assert (run["protocol"]["steps"], run["protocol"]["prompts_per_step"]) == (2, 8)
    assert run["telemetry"]["groups_per_step"] == 8
    assert [len(step["rewards"]) for step in run["training"]] == [64, 64]
    assert run["evaluation"]["checkpoint_step"] == 2
    report = verified(document, tmp_path)
    assert not [f for f in report.findings if f.severity.label == "error"]


def test_an_update_that_the_end_of_the_prompts_would_cut_short_is_refused(
    study_path: Any, tmp_path: Path
) -> None:
    settings = "rounds = 4\naccumulation = 4\nallow_unreachable_clip = true"
    prompts = ("train_prompts = 300", "train_prompts = 12")  # three rounds, two to an update
    path = study_path(("rounds = 3", settings), prompts)
    with pytest.raises(InputError, match=r"training\.accumulation: an update takes in 2 rounds"):
        prepare(read_study(path), str(path), Ledger(tmp_path / "x"))


def test_an_unreachable_clip_is_refused_before_a_step_is_spent(
    study_path: Any, tmp_path: Path
) -> None:
    output = tmp_path / "results.json"
    study = study_path(UNREACHABLE)
    for more in ((), ("--dry-run",)):
        with pytest.raises(
            InputError, match=r"study\.toml:\d+: training\.accumulation: the clip cannot"
        ):
            audit_train(str(study), "-o", str(output), *more)
    assert list(tmp_path.iterdir()) == [study]


def test_a_forced_unreachable_clip_is_written_down(study_path: Any, tmp_path: Path) -> None:
    forced = (UNREACHABLE[0], UNREACHABLE[1] + "\nallow_unreachable_clip = true")
    study = study_path(forced, ("seeds = [1, 2]", "seeds = [1]"))
    output = tmp_path / "results.json"
    assert audit_train(str(study), "-o", str(output)) == 0
    document = json.loads(output.read_text())
    (run,) = document["seed_results"]
    assert run["telemetry"]["clip_reachable"] is False
    assert run["clip_activity"]["clipped_tokens"] == 0
    audits = [a for s in run["training"] for u in s["updates"] for a in u["response_audits"]]
    assert audits
    assert {a["clip_fraction"] for a in audits} == {0.0}
    report = verified(document, tmp_path)
    assert {"mechanism-never-acted", "clip-unreachable"} <= {f.slug for f in report.findings}
    assert not [f for f in report.findings if f.severity.label == "error"]
    # Two arms whose clips never act are one arm.
    (other,) = document["controls"]["fixed-clip"]["seed_results"]
    assert other["final_parameters_sha256"] == run["final_parameters_sha256"]


def test_arms_that_differ_in_their_training_say_so_in_the_file(
    study_path: Any, tmp_path: Path
) -> None:
    own = "[arms.fixed-clip.training]\nrounds = 2\nlearning_rate = 5e-4\n[arms.fixed-clip]"
    study = study_path(("[arms.fixed-clip]", own), ("seeds = [1, 2]", "seeds = [1]"))
    output = tmp_path / "results.json"
    assert audit_train(str(study), "-o", str(output)) == 0
    document = json.loads(output.read_text())
    (ours,), control = document["seed_results"], document["controls"]["fixed-clip"]
    (theirs,) = control["seed_results"]
    assert {"learning_rate", "steps"} <= set(document["change"]["fields"])
    assert (ours["protocol"]["steps"], theirs["protocol"]["steps"]) == (3, 2)
    assert (len(ours["training"]), len(theirs["training"])) == (3, 2)
    assert theirs["evaluation"]["checkpoint_step"] == 2
    assert control["matched_upper_bound_budget"] is False
    assert ours["initial_parameters_sha256"] == theirs["initial_parameters_sha256"]
    report = verified(document, tmp_path)
    assert not [f for f in report.findings if f.severity.label == "error"]
    assert "unmatched-compute" in {f.slug for f in report.findings}


@pytest.mark.parametrize(
    ("advantage", "formula"),
    [
        ("trl", {"ddof": 1, "epsilon": 1e-4}),
        ("population", {"ddof": 0, "epsilon": 1e-6}),
        ("unscaled", {"scale": "none"}),
    ],
)
def test_the_advantages_in_the_file_are_of_the_formula_it_states(
    advantage: str, formula: Any, study_path: Any, tmp_path: Path
) -> None:
    setting = f'rounds = 3\nadvantage = "{advantage}"\nloss_type = "dr_grpo"'
    study = study_path(("rounds = 3", setting), ("seeds = [1, 2]", "seeds = [1]"))
    assert audit_train(str(study), "-o", str(tmp_path / "results.json")) == 0
    document = json.loads((tmp_path / "results.json").read_text())
    (run,) = document["seed_results"]
    assert run["telemetry"]["advantage"] == formula
    report = verified(document, tmp_path)
    assert not [f for f in report.findings if f.severity.label == "error"]
    assert "advantage-formula" not in {n.slug for n in report.not_checked}


# What a full record of a study of two fixed regions cannot hold: claims, printed figures, repeated
# rounds, clusters, rejected groups, data handed to verify beside the file.
BEYOND_THE_RECORD = {
    "formal-diagnostic",  # what the study means to say is its author's to say
    "one-seed-claim", "interval-reaches-zero", "below-noise-floor", "claim-not-carried",
    "diagnostic-claim", "replication-conflict", "baseline-mismatch", "score-scale",
    "task-clusters", "required-block", "data-hashes", "checkpoint-files", "code-commit",
    "verdict-contradicts-interval", "verdict-not-carried", "printed-interval", "printed-score",
    "printed-run-std", "training-rows", "trained-without-variance", "loss-lattice",
    "log-ratio-in-region", "means-feasible",
    # Three tiny runs have groups without spread, no score that could be impossible, and no ties.
    "rewards-without-spread", "retained-groups", "equal-scores", "impossible-accuracy",
    "nearly-identical-runs",  # asks for more tasks than this tiny study has
    # What an import keeps of its sources: nothing was imported here.
    "copied-file", "no-time-taken", "one-configured-seed", "printed-answer-count", "stale-average",
}  # fmt: skip


def test_verify_finds_no_error_and_checks_all_that_a_run_can_record(
    reference: Any, tmp_path: Path
) -> None:
    report = verified(reference, tmp_path)
    assert report.exit_status == 0
    assert not [f for f in report.findings if f.severity.label == "error"]
    unchecked = {n.slug for n in report.not_checked}
    assert unchecked <= BEYOND_THE_RECORD
    assert "arms-start-alike" in {f.slug for f in report.findings}


def test_a_study_that_would_train_nothing_is_refused(study_path: Any, tmp_path: Path) -> None:
    path = study_path(("prompts_per_round = 4", "prompts_per_round = 301"))
    with pytest.raises(InputError, match="prompts_per_round: 301 is more than the 300 training"):
        prepare(read_study(path), str(path), Ledger(tmp_path / "x"))
    assert not (tmp_path / "x").exists()


def test_no_memory_for_the_base_names_the_task(
    study_path: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    from audit.training.tasks.addition import Addition

    path = study_path()
    monkeypatch.setattr(Addition, "_build", lambda self, cache: torch.empty(1 << 50))
    with pytest.raises(InputError, match=r"study\.toml: task: no memory for its base model"):
        prepare(read_study(path), str(path), Ledger(tmp_path / "x"))


def test_a_disk_that_is_full_is_named_by_the_file_that_did_not_fit(
    study_path: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from audit import writing

    def full(part: Path, data: bytes, target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(writing, "_put", full)
    path = study_path(("warm_up_steps = 60", "warm_up_steps = 0"))
    with pytest.raises(UsageError, match=r"^\S+\.safetensors: cannot be written: No space left"):
        prepare(read_study(path), str(path), Ledger(tmp_path / "x"))


def test_a_damaged_base_is_named(study_path: Any, tmp_path: Path) -> None:
    path, ledger = study_path(("warm_up_steps = 60", "warm_up_steps = 1")), Ledger(tmp_path / "x")
    prepare(read_study(path), str(path), ledger)
    (base,) = ledger.folder.glob("*.safetensors")
    sound = base.read_bytes()
    for damaged in (sound[:100], sound[:-4] + b"\1\2\3\4", b""):
        base.write_bytes(damaged)
        with pytest.raises(InputError, match=rf"{base.name}: not the base model .*; delete it"):
            prepare(read_study(path), str(path), ledger)
    base.unlink()
    prepare(read_study(path), str(path), ledger)
    assert base.read_bytes() == sound


def test_one_arm_compares_nothing(study_path: Any, tmp_path: Path) -> None:
    path = study_path()
    study = read_study(path)
    alone = replace(study, arms=study.arms[:1])
    with pytest.raises(InputError, match="at least two arms"):
        prepare(alone, str(path), Ledger(tmp_path / "x"))


def test_gsm8k_trains_on_chat_prompts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A tiny character model on made rows: the whole path, with a LoRA adapter."""
    from audit.training.tasks import gsm8k

    rows = [
        json.dumps({"question": f"What is {n} plus {n}?", "answer": f"#### {2 * n}"}).encode()
        + b"\n"
        for n in range(60)
    ]
    monkeypatch.setattr(gsm8k, "verified_lines", lambda path: rows)
    save_character_model(tmp_path / "tiny-chat")
    path = tmp_path / "study.toml"
    text = STUDY.replace(
        STUDY[STUDY.index("name =") : STUDY.index("[training]")],
        'name = "gsm8k"\ndata = "train.jsonl"\nmodel = "tiny-chat"\nngram = 20\n'
        "holdout_tasks = 3\n",
    ).replace("rounds = 3", "rounds = 1\nlora_rank = 2\nmax_tokens = 6")
    path.write_text(text.replace("seeds = [1, 2]", "seeds = [1]"))
    output = tmp_path / "results.json"
    assert audit_train(str(path), "-o", str(output)) == 0
    document = json.loads(output.read_text())
    (run,) = document["seed_results"]
    assert run["status"] == "finished"
    assert document["checkpoint"]["public_id"] == "tiny-chat"
    assert run["evaluation"]["benchmark"] == "gsm8k"
    assert sum(run["evaluation"]["samples"]) == 2 * document["holdout"]["holdout_rows"]
    (other,) = document["controls"]["fixed-clip"]["seed_results"]
    assert run["initial_parameters_sha256"] == other["initial_parameters_sha256"]
    assert str(tmp_path) not in json.dumps(document)


def test_a_budget_that_differs_by_accumulation_alone_is_not_called_equal(
    study_path: Any, tmp_path: Path
) -> None:
    """One pass in two updates or in one over two rounds: the protocols count other steps."""
    one_pass = "iterations = 1\nallow_unreachable_clip = true"
    own = "[arms.fixed-clip.training]\naccumulation = 2\n[arms.fixed-clip]"
    study = study_path(
        ("rounds = 3", f"rounds = 4\n{one_pass}"),
        ("[arms.fixed-clip]", own),
        ("seeds = [1, 2]", "seeds = [1]"),
    )
    assert audit_train(str(study), "-o", str(tmp_path / "results.json")) == 0
    document = json.loads((tmp_path / "results.json").read_text())
    assert document["controls"]["fixed-clip"]["matched_upper_bound_budget"] is False
    report = verified(document, tmp_path)
    assert not [f for f in report.findings if f.severity.label == "error"]


CLAIMED = '[[claims]]\nmetric = "accuracy"\narm = "adaptive-clip"\nagainst = "fixed-clip"\n'


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("", "", None),
        ('"accuracy"', '"pass@2"', None),
        (
            '"accuracy"',
            '"pass@3"',
            r"claims\[0\]: .* pass@3 needs 3 answers per task, a task has 2",
        ),
        ("[[", '[[claims]]\ndirection = "loss"\nid = "b"\n[[', None),
        ("[[claims]]", "[[claims]]\ncheckpoints = [3]", None),
        ("[[claims]]", "[[claims]]\ncheckpoints = [2, 3]", r"claims\[0\]: .*no .*at step 2"),
        ('"accuracy"', '"acuracy"', r"claims\[0\]: .*acuracy"),
        ("[[claims]]\n", '[[claims]]\nbenchmark = "nope"\n', r"claims\[0\]: .*nope"),
        ('"fixed-clip"', '"adaptive-clip"', r"claims\[0\]: adaptive-clip is compared with itself"),
        ('"adaptive-clip"', '"base"', r"claims\[0\]: "),
        (
            "[[claims]]",
            '[[claims]]\ndirection = "loss"\nid = "main"\n[[claims]]',
            "claims\\[1\\].id: 'main' is the id",
        ),
    ],
)
def test_a_claim_that_the_study_could_never_carry_is_refused_before_it_trains(
    old: str, new: str, message: str | None, study_path: Any, tmp_path: Path
) -> None:
    claim = f'{CLAIMED}id = "main"\ndirection = "gain"\n'
    study = study_path(("seeds = [1, 2]", "seeds = [1, 2]\n"))
    text = study.read_text()
    study.write_text(text + claim.replace(old, new, 1))
    if message is None:
        assert prepare(read_study(study), str(study), Ledger(tmp_path / "x")).study.claims
    else:
        with pytest.raises(InputError, match=rf"study\.toml:\d+: {message}"):
            prepare(read_study(study), str(study), Ledger(tmp_path / "x"))


def test_what_a_finished_piece_depends_on_is_in_its_fingerprint(
    study_path: Any, tmp_path: Path
) -> None:
    from dataclasses import replace

    from audit.training.study import pieces

    study = study_path()
    bench = prepare(read_study(study), str(study), Ledger(tmp_path / "x"))

    def changed(edited: Any) -> set[str]:
        before = {p.name: p.fingerprint for p in pieces(bench)}
        return {p.name for p in pieces(edited) if before[p.name] != p.fingerprint}

    everything = {p.name for p in pieces(bench)}
    on_gpu = replace(bench.study, training=replace(bench.study.training, device="auto"))
    assert changed(replace(bench, study=on_gpu)) == everything
    renamed = replace(bench, task=replace(bench.task, limit=21))  # type: ignore[type-var]
    assert changed(renamed) == everything
    # A price, a role or a longer patience that is settled later trains nothing anew.
    priced = study_path(
        ("[task]", "[cost]\nusd_per_hour = 2.0\n[task]"),
        ('role = "control"', 'role = "ablation"'),
        ("[evaluation]", "[training.trl]\nddp_timeout = 7200\n[evaluation]"),
    )
    later = prepare(read_study(priced), str(priced), Ledger(tmp_path / "x"))
    assert changed(later) == set()
    assert later.protocol(later.study.method) == bench.protocol(bench.study.method)


def test_the_price_is_of_the_minutes(study_path: Any, tmp_path: Path) -> None:
    study, output = study_path(("seeds = [1, 2]", "seeds = [1]")), tmp_path / "results.json"
    assert audit_train(str(study), "-o", str(output)) == 0
    assert "usd" not in json.loads(output.read_text())["seed_results"][0]["cost"]
    study_path(("seeds = [1, 2]", "seeds = [1]"), ("[task]", "[cost]\nusd_per_hour = 90.0\n[task]"))
    assert audit_train(str(study), "-o", str(output)) == 0
    cost = json.loads(output.read_text())["seed_results"][0]["cost"]
    assert cost["usd"] == pytest.approx(cost["minutes"] * 1.5, abs=1e-4)


@pytest.mark.parametrize(
    ("ours", "theirs", "flag"), [((5, 7), (7, 5), True), ((5, 7), (5, 8), False), ((), (5,), False)]
)
def test_compute_is_called_equal_where_the_arms_spent_the_same_in_all(
    ours: tuple[int, ...], theirs: tuple[int, ...], flag: bool, reference: Any, study_path: Any
) -> None:
    from copy import deepcopy

    from audit.training.document import _control

    def spent(runs: Any, tokens: tuple[int, ...]) -> list[Any]:
        made = deepcopy([*runs][: max(1, len(tokens))])
        for run, count in zip(made, tokens, strict=False):
            run["sampling"]["generated_training_tokens_including_rejected_groups"] = count
        if not tokens:
            made[0]["status"] = "failed"
        return made

    arm = read_study(study_path()).arms[1]
    top = spent(reference["seed_results"], ours)
    control = spent(reference["controls"]["fixed-clip"]["seed_results"], theirs)
    assert _control(arm, control, top)["matched_actual_compute"] is flag
