"""Tasks of lm-evaluation-harness as benchmarks, held against the harness itself."""

from __future__ import annotations

import json
import pickle
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from audit.errors import InputError, UsageError
from audit.training.ledger import Ledger
from audit.training.study import pieces, prepare
from audit.training.study_file import BenchmarkSettings, read_study
from audit.training.tasks.lm_eval_task import read_lm_eval
from training.studies import STUDY, audit_train

installed = pytest.mark.skipif(find_spec("lm_eval") is None, reason="lm-eval is not installed")

BENCHMARK = """\
[[evaluation.benchmarks]]
benchmark = "sums"
task = "lm_eval:audit_sums"
include_path = "tasks"
filter = "last"
"""
TASK = """\
task: audit_sums
dataset_path: json
dataset_kwargs:
  data_files:
    test: FOLDER/test.jsonl
    train: FOLDER/train.jsonl
output_type: generate_until
training_split: train
test_split: test
doc_to_text: "{{sum}}"
doc_to_target: "{{total}}"
generation_kwargs:
  until: ["\\n", "+"]
  do_sample: false
  max_gen_toks: 4
filter_list:
  - name: first
    filter:
      - function: regex
        regex_pattern: "(\\\\d+)"
      - function: take_first
  - name: last
    filter:
      - function: regex
        regex_pattern: "(\\\\d+)"
        group_select: -1
      - function: take_first
metric_list:
  - metric: exact_match
    aggregation: mean
    higher_is_better: true
"""
CHOICE = """\
output_type: multiple_choice
doc_to_choice: ["1", "2"]
metric_list:
  - metric: acc
"""


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    config = pytest.importorskip("datasets").config
    monkeypatch.setattr(config, "HF_DATASETS_CACHE", str(tmp_path / "cache"))
    for name, first in (("test", 0), ("train", 1)):
        rows = [{"sum": f"{n:02d}+{n:02d}=", "total": 2 * n} for n in range(first, 20, 2)]
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    tasks = tmp_path / "tasks"
    tasks.mkdir()
    whole = TASK.replace("FOLDER", str(tmp_path))
    (tasks / "sums.yaml").write_text(whole)
    shots = whole.replace("audit_sums", "audit_shots") + "num_fewshot: 2\n"
    (tasks / "shots.yaml").write_text(shots)
    head = whole.partition("output_type")[0].replace("audit_sums", "audit_choice")
    rest = 'test_split: test\ndoc_to_text: "{{sum}}"\ndoc_to_target: 0\n'
    (tasks / "choice.yaml").write_text(head + CHOICE + rest)
    changed = {
        "repeats": "repeats: 3\n",
        "prefix": 'gen_prefix: "It is"\n',
        "code": "unsafe_code: true\n",
    }
    for name, more in changed.items():
        (tasks / f"{name}.yaml").write_text(whole.replace("audit_sums", f"audit_{name}") + more)
    both = "group: audit_both\ntask: [audit_repeats, audit_shots]\n"
    (tasks / "both.yaml").write_text(both)
    other = whole.replace("audit_sums", "audit_bleu").replace("exact_match", "bleu")
    (tasks / "bleu.yaml").write_text(other)
    path = tmp_path / "study.toml"
    text = STUDY.replace("rounds = 3", "rounds = 1").replace("seeds = [1, 2]", "seeds = [1]")
    greedy = text.replace("samples = 2\n", "samples = 2\ntemperature = 0\n")
    path.write_text(greedy.replace("[telemetry]", f"{BENCHMARK}[telemetry]"))
    return path


def prepared(path: Path) -> Any:
    return prepare(read_study(path), str(path), Ledger(path.parent / "x.runs"))


@installed
@pytest.mark.slow
def test_the_base_is_found_as_good_as_the_harness_finds_it(path: Path) -> None:
    assert audit_train(str(path)) == 0
    document = json.loads(path.with_name("results.json").read_text())
    (found,) = document["base_evaluations"][0]["evaluations"]
    assert found["benchmark"] == "sums"
    assert found["task_ids"] == [str(n) for n in range(10)]
    assert found["samples"] == [2] * 10
    assert found["split"] == "test"
    assert document["dataset"]["test_read"] is True
    import lm_eval
    from lm_eval.models.huggingface import HFLM
    from lm_eval.tasks import TaskManager

    bench = prepared(path)
    harness = lm_eval.simple_evaluate(
        model=HFLM(
            pretrained=bench.task.fresh_model(bench.cache),
            tokenizer=bench.task.tokenizer(bench.cache),
            device="cpu",
            max_length=64,
        ),
        tasks=["audit_sums"],
        task_manager=TaskManager(include_path=str(path.parent / "tasks"), include_defaults=False),
        bootstrap_iters=0,
    )
    samples = [s for s in harness["samples"]["audit_sums"] if s["filter"] == "last"]
    theirs = {str(s["doc_id"]): s["exact_match"] for s in samples}
    ours = dict(zip(found["task_ids"], (n / 2 for n in found["correct"]), strict=True))
    assert ours == theirs
    assert 0 < sum(ours.values()) < 10
    (run,) = document["seed_results"]
    said = run["protocol"]["benchmarks"]["sums"]
    assert said["grader"] == "lm_eval:audit_sums last"
    assert said["tasks"] == 10


@installed
def test_the_prompts_are_those_of_the_harness_with_its_examples(path: Path) -> None:
    from lm_eval.tasks import TaskManager

    path.write_text(path.read_text().replace("audit_sums", "audit_shots"))
    (further,) = prepared(path).further
    manager = TaskManager(include_path=str(path.parent / "tasks"), include_defaults=False)
    task = manager.load("audit_shots")["tasks"]["audit_shots"]
    task.set_fewshot_seed(1234)
    task.build_all_requests()
    theirs = [instance.arguments[0] for instance in task.instances]
    assert [item.prompt for item in further.chosen.items] == theirs
    assert all(prompt.count("=") == 3 for prompt in theirs)


@installed
@pytest.mark.parametrize(
    ("response", "right"),
    [
        ("8", True),
        (" 8 apples", True),
        ("7 8", True),  # the filter `last`
        ("8 7", False),
        ("8\n7", True),  # cut at a stop string
        ("8+7", True),
        ("", False),
    ],
)
def test_a_response_is_cut_and_filtered_by_the_task(path: Path, response: str, right: bool) -> None:
    (further,) = prepared(path).further
    judge = pickle.loads(pickle.dumps(further)).judge
    assert judge.scorer(response, json.dumps({"sum": "04+04=", "total": 8})).correct is right


@installed
def test_training_prompts_of_a_task_are_dropped_and_its_settings_are_in_every_fingerprint(
    path: Path,
) -> None:
    bench = prepared(path)
    assert not {f"{n:02d}+{n:02d}=" for n in range(0, 20, 2)} & {
        item.prompt for item in bench.partition.train
    }
    before = {piece.fingerprint for piece in pieces(bench)}
    assert before == {piece.fingerprint for piece in pieces(prepared(path))}
    path.write_text(path.read_text().replace('"last"', '"first"'))
    assert not before & {piece.fingerprint for piece in pieces(prepared(path))}


@installed
@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("audit_sums", "audit_choice", r"audit_choice compares likelihoods \(multiple_choice\)"),
        ("audit_sums", "audit_bleu", "audit_bleu has no exact_match, only bleu"),
        ("audit_sums", "audit_repeats", "audit_repeats judges 3 responses together"),
        ("audit_sums", "audit_prefix", "audit_prefix begins the response itself"),
        ("audit_sums", "audit_code", "audit_code runs what a model writes"),
        ("audit_sums", "audit_sum", r"has no task 'audit_sum'.*audit_sums"),
        ("audit_sums", "audit_both", "audit_both stands for 2 tasks; name one of them"),
        ('filter = "last"\n', "", "audit_sums has several, name one: first, last"),
        ('"last"', '"lst"', "audit_sums has no 'lst'.*last"),
        ('"last"', '"last"\nholdout_tasks = 11', "holdout_tasks: 11 is more than the 10 documents"),
        ('"tasks"', '"nowhere"', "include_path: nowhere is no folder"),
    ],
)
def test_a_task_that_cannot_be_asked_is_refused_with_its_place(
    path: Path, old: str, new: str, message: str
) -> None:
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises(InputError, match=rf"benchmarks\[0\].*({message})"):
        prepared(path)


@pytest.mark.parametrize("name", ["nowhere", "n" * 300, "n\0"])
def test_a_folder_of_tasks_that_is_none_is_named(name: str, tmp_path: Path) -> None:
    setting = BenchmarkSettings("sums", task="lm_eval:audit_sums", include_path=name)
    with pytest.raises(UsageError, match=f"^include_path: {name} is no folder$"):
        read_lm_eval(setting, tmp_path)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("lm_eval:audit_sums", "helm:sums", r"benchmarks\[0\]\.task: "),
        ('"last"', '"last"\ngrader = "math_equal"', r"\.grader: means nothing with a task"),
        ('task = "lm_eval:audit_sums"\n', "", r"\.holdout: missing.*or a task"),
        (
            'task = "lm_eval:audit_sums"\n',
            'holdout = "rows.jsonl"\ngrader = "math_equal"\n',
            r"\.include_path: means nothing without a task",
        ),
    ],
)
def test_keys_of_a_file_and_of_a_task_do_not_mix(
    path: Path, old: str, new: str, message: str
) -> None:
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises(InputError, match=message):
        read_study(path)


def test_without_the_harness_its_install_command_is_said(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from audit.training.tasks import lm_eval_task

    lm_eval_task._load.cache_clear()
    monkeypatch.setattr(lm_eval_task, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"benchmarks\[0\]\.task: .*recipe-audit\[lm-eval\]"):
        prepared(path)
