from __future__ import annotations

from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

import pytest

from audit.cli.main import main
from audit.errors import ConfigError, InputError
from audit.schema import published_schema
from audit.training.arms import changed_fields, protocol, task_of
from audit.training.checks import (
    check_arms,
    check_claims,
    check_data,
    check_machine,
    check_statements,
)
from audit.training.run import Bench
from audit.training.study_file import (
    BenchmarkSettings,
    Evaluating,
    PlannedArm,
    StudyFile,
    Telemetry,
    Training,
    read_study,
)
from audit.training.tasks import Item, Partition
from audit.training.tasks.addition import Addition
from audit.training.tasks.gsm8k import Gsm8k
from audit.training.tasks.jsonl import JsonlSettings

GOOD = """\
seeds = [1, 2]
[task]
name = "addition"
limit = 20
[arms.wide]
role = "method"
clip = "adaptive"
epsilon_low = 0.2
epsilon_high_max = 0.28
[arms.plain]
role = "control"
clip = "fixed"
epsilon_low = 0.2
epsilon_high = 0.28
"""


def read(tmp_path: Path, text: str) -> StudyFile:
    path = tmp_path / "study.toml"
    path.write_text(text)
    return read_study(path)


def test_a_study_file_is_read_with_its_defaults(tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    path.write_text(GOOD)
    study = read_study(path)
    assert study.method.name == "wide"
    assert [(arm.name, seed) for arm, seed in study.launched] == [
        ("wide", 1),
        ("plain", 1),
        ("wide", 2),
        ("plain", 2),
    ]
    assert study.training.updates == 200
    assert changed_fields(study) == ["clip", "epsilon_high", "epsilon_high_max"]
    wide, plain = (protocol(arm, study.evaluation) for arm in study.arms)
    assert wide["epsilon_high"] is None
    assert plain["epsilon_high_max"] is None


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("seeds = [1, 2]", "", "seeds: missing"),
        ("seeds = [1, 2]", "seeds = []", "seeds: expected at least 1 entry"),
        ("seeds = [1, 2]", "seeds = [1, 1]", "seeds: expected distinct entries"),
        ("seeds = [1, 2]", "seeds = [1, 1.0]", "seeds: expected distinct entries"),
        ("seeds = [1, 2]", "seeds = [1, true]", "seeds[1]: expected a whole number"),
        ("seeds = [1, 2]", "seeds = [1, -2]", "seeds[1]: expected 0 or more, found -2"),
        ("seeds = [1, 2]", "seed = [1, 2]", "1: seed: unknown key; did you mean 'seeds'"),
        ('name = "addition"', 'name = "sums"', '3: task.name: expected "addition", "gsm8k" or'),
        ('role = "method"', 'role = "best"', '6: arms.wide.role: expected "method", '),
        (
            'role = "control"',
            'role = "method"',
            "arms: exactly one arm has the role 'method', not 2",
        ),
        ('clip = "fixed"', 'clip = "region"', "arms.plain.epsilon_low: means nothing"),
        ("epsilon_high = 0.28", "", "arms.plain.epsilon_high: missing"),
        (
            "epsilon_high = 0.28",
            'epsilon_high = "wide"',
            "14: arms.plain.epsilon_high: expected a number",
        ),
        ("epsilon_high = 0.28", "epsilon_high = 0.28\nradius = 1.0", "radius: means nothing"),
        ("epsilon_high = 0.28", "epsilon_hi = 0.28", "did you mean 'epsilon_high'"),
        (
            "[task]",
            "[training.trl]\nchat_template_kwargs = '{}'\n[task]",
            "training.trl.chat_template_kwargs: expected a table",
        ),
        (
            "[arms.plain]",
            "[arms.plain.training.trl]\nchat_template_kwargs = {a = 1}\n[arms.plain]",
            "arms.plain.training.trl.chat_template_kwargs: differs from that of wide",
        ),
        ("[task]", "[training]\nrounds = 0\n[task]", "training.rounds: expected 1 or more"),
        ("[task]", "[training]\nrounds = 1.5\n[task]", "expected a whole number, found 1.5"),
        ("[task]", "[training]\nuse_vllm = 1\n[task]", "expected true or false, found 1"),
        ("[task]", "[training]\ngroup_size = 1\n[task]", "group_size: expected 2 or more"),
        ("[task]", "[training]\nsteps_per_generation = 3\n[task]", "must divide"),
        (
            "[task]",
            "[training]\nuse_vllm = true\nsave_steps = 5\n[task]",
            "training.save_steps: vLLM keeps a random state of its own",
        ),
        (
            "epsilon_high = 0.28",
            "epsilon_high = 0.28\n[arms.plain.training]\nsave_steps = 5",
            "save_steps: is one for all arms",
        ),
        ("[task]", "[training]\nrounds = 1\naccumulation = 4\n[task]", "cut short"),
        ("[task]", "[telemetry]\nlevel = 'all'\n[task]", 'telemetry.level: expected "full", '),
        ("[task]", "verified = 3\n[task]", "verified: expected a table, found 3"),
        ("[task]", "[[task]]", "task: expected a table, found a list of 1"),
        ("[task]", "[task", ":2:6: not TOML: Expected ']'"),
        (
            "[task]",
            "[training]\nlearning_rate = nan\n[task]",
            "expected a finite number, found nan",
        ),
        ("[task]", "[training]\nbeta = -0.1\n[task]", "training.beta: expected 0 or more"),
        ("[task]", "[training]\nbeta = 0.1\n[task]", "training.beta: needs a lora_rank"),
        (
            "[task]",
            "[training]\nsteps_per_generation = 2\naccumulation = 4\n[task]",
            "training.accumulation: the clip cannot be reached: all 4 passes over a round",
        ),
        (
            "[task]",
            "[training]\nsteps_per_generation = 2\naccumulation = 3\nrounds = 3\n[task]",
            "training.accumulation: 3 does not divide the 4 passes over a round",
        ),
        ("[task]", "[training]\nvllm = 1\n[task]", "training.vllm: expected a table"),
        ("[task]", "[training.vllm]\nmode = 'colocate'\n[task]", "means nothing without use_vllm"),
        ("[task]", "training = 3\n[task]", "training: expected a table"),
        ("[arms.plain]", "training = 3\n[arms.plain]", "arms.wide.training: expected a table"),
        (
            "[arms.plain]",
            "training.threads = 2\n[arms.plain]",
            "arms.wide.training.threads: is one for all arms; set it in [training]",
        ),
        (
            "[arms.plain]",
            "training.learning_rat = 2\n[arms.plain]",
            "arms.wide.training.learning_rat: unknown key; did you mean 'learning_rate'",
        ),
        (
            "[arms.plain]",
            "training.rounds = 0\n[arms.plain]",
            "arms.wide.training.rounds: expected 1 or more",
        ),
        (
            "[task]",
            "[evaluation]\nbase_repeats = 2\n[task]",
            "base_repeats: expected 3 or more, found 2",
        ),
        ("[task]", "[training]\nlora_rank = -1\n[task]", "lora_rank: expected 0 or more"),
        ("[task]", "[training]\nwarmup_updates = -1\n[task]", "updates: expected 0 or more"),
        ("[task]", "[training]\nmax_grad_norm = -1.0\n[task]", "grad_norm: expected 0 or more"),
        ("[task]", "[training]\ntemperature = 0\n[task]", "temperature: expected a number above 0"),
        ("[task]", "[training]\nthreads = 100000\n[task]", "threads: expected 1024 or less"),
        ("[task]", "[training]\ndtype = 'bfloat16'\n[task]", "dtype: bfloat16 needs a GPU"),
        ("[task]", "[training]\nloss_type = 'cispo'\n[task]", 'loss_type: expected "grpo", '),
        ("[task]", "[evaluation]\ntemperature = -1\n[task]", "temperature: expected 0 or more"),
        ("[task]", "[evaluation]\nseed = -5\n[task]", "evaluation.seed: expected 0 or more"),
        (
            "[task]",
            "[evaluation]\nseed = 4294967296\n[task]",
            "evaluation.seed: expected 4294967295 or less",
        ),
        ("[task]", "[cost]\nusd_per_hour = -1\n[task]", "usd_per_hour: expected 0 or more"),
        ("[task]", "[verified]\nx.y = [inf]\n[task]", "verified.x.y[0]: expected a finite number"),
        ("[task]", "[[claims]]\ndelta = nan\n[task]", "claims[0].delta: expected a finite"),
        ("seeds = [1, 2]", "seeds = [1, 4294967296]", "seeds[1]: expected 4294967295 or less"),
        ("seeds = [1, 2]", "seeds = " + "[" * 5000, "not TOML: nested too deeply"),
        ("[arms.plain]", '[arms."../../plain"]', '10: arms."../../plain": expected text like'),
        ("[arms.plain]", '[arms.""]', 'arms."": expected text like'),
        ("[arms.plain]", f"[arms.{'a' * 101}]", 'expected text like "adaptive-clip"'),
        ("[task]", f"[training]\nrounds = {'1' * 5000}\n[task]", "not TOML: Exceeds the limit"),
        ("[task]", f"[training]\nrounds = 0x{'f' * 5000}\n[task]", "rounds: a whole number beyond"),
        ("[task]", f"[training]\nlearning_rate = 1{'0' * 400}\n[task]", "rate: a whole number bey"),
        ("[task]", "[training]\nrounds = 1000001\n[task]", "rounds: expected 1000000 or less"),
        (
            "[task]",
            "[evaluation]\nsamples = 2147483648\n[task]",
            "samples: expected 1000000 or less",
        ),
        (
            "[task]",
            f"[training]\nrounds = '{'z' * 999}'\n[task]",
            'a whole number, found "zzzzz',
        ),
        ("[task]", f"[training]\n{'z' * 999} = 1\n[task]", f"training.{'z' * 71}...: unknown key"),
        ("[task]", f"[verified]\n{'.'.join('a' * 3000)} = 1\n[task]", "verified.a.a.a"),
        ("[task]", f"[verified]\nx = {'[' * 150}{']' * 150}\n[task]", ": nested too deeply"),
    ],
)
def test_a_faulty_study_file_gets_one_line_with_the_place(
    old: str, new: str, message: str, tmp_path: Path
) -> None:
    assert old in GOOD
    with pytest.raises(InputError) as caught:
        read(tmp_path, GOOD.replace(old, new, 1))
    lines = caught.value.lines
    assert any(message in line for line in lines)
    assert all("study.toml" in line and "\n" not in line.split("not TOML")[0] for line in lines)


def rewarded(arm: str, function: str, more: str = "") -> str:
    return f"[[{arm}.rewards]]\nfunction = '{function}'\n{more}"


@pytest.mark.parametrize("first", ["arms.wide.training", "training"])
def test_one_name_of_a_component_stands_for_one_function_in_all_arms(
    first: str, tmp_path: Path
) -> None:
    plain = "arms.plain.training"
    text = GOOD + rewarded(first, "ra:score")
    read(tmp_path, text + rewarded(plain, "ra:score", "weight = 2\n"))
    read(tmp_path, text + rewarded(plain, "rb:score", "name = 'other'\n"))
    wanted = (
        r"study\.toml:\d+: arms\.plain\.training\.rewards\[0\]\.function: 'score' is the name of "
        r"ra:score in another arm; set name"
    )
    with pytest.raises(InputError, match=wanted):
        read(tmp_path, text + rewarded(plain, "rb:score"))


def test_a_whole_number_written_with_a_point_is_an_integer(tmp_path: Path) -> None:
    text = GOOD.replace("[1, 2]", "[1.0, 2]")
    evaluating = "[evaluation]\nsamples = 2.0\ncheckpoints = [1.0, 2]\n"
    study = read(tmp_path, text + "[training]\nrounds = 3.0\n" + evaluating)
    whole = (
        *(*study.seeds, *study.evaluation.checkpoints, study.evaluation.samples),
        study.training.rounds,
    )
    assert whole == (1, 2, 1, 2, 2, 3)
    assert {type(number) for number in whole} == {int}


def test_a_byte_order_mark_is_passed_over(tmp_path: Path) -> None:
    assert read(tmp_path, "\ufeff" + GOOD).method.name == "wide"


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nothing\.toml: cannot be read: No such file"):
        read_study(tmp_path / "nothing.toml")


def test_an_unknown_setting_of_the_task_is_named(tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    path.write_text(GOOD.replace("limit = 20", "limits = 20"))
    with pytest.raises(InputError, match=r":4: task\.limits: unknown key; did you mean 'limit'"):
        read_study(path)


def test_a_declared_plan_is_read_and_kept_for_the_results(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "study.toml"
    path.write_text(GOOD)
    assert main(["plan", "--seed-sd", "0.03", "--effect", "0.05", "--declare", str(path)]) == 0
    capsys.readouterr()
    study = read_study(path)
    assert study.plan is not None
    assert study.plan["maximum"] == {"wide": 12, "plain": 12}
    check_statements(study, str(path))


def test_a_plan_that_breaks_the_results_contract_is_named(tmp_path: Path) -> None:
    study = read(tmp_path, GOOD + "[plan]\nmaximum = { wide = 1 }\n")
    with pytest.raises(InputError, match=r"study\.toml.*plan\.maximum\.wide"):
        check_statements(study, str(tmp_path / "study.toml"))


def test_a_date_in_toml_becomes_text_at_any_depth(tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    verified = "[verified]\ndate = 2026-09-18\nusd = 0.5\nbegun = {at = [10:30:00]}\n"
    path.write_text(GOOD + verified + "[[claims]]\nmade = 2026-09-18\n")
    study = read_study(path)
    assert study.verified == {"date": "2026-09-18", "usd": 0.5, "begun": {"at": ["10:30:00"]}}
    assert study.claims == ({"made": "2026-09-18"},)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ("limit = 0", "task.limit: expected 1 or more"),
        ("limit = 1001", "task.limit: expected 1000 or less"),
        ("layers = 1000001", "task.layers: expected 1000000 or less"),
        ("heads = 3", "task.hidden_size: must be an even multiple of heads"),
        ("layers = 0", "task.layers: expected 1 or more"),
        ("ngram = 0", "task.ngram: expected 1 or more"),
        ("warm_up_steps = -1", "task.warm_up_steps: expected 0 or more"),
        ("warm_up_schedule = 0", "task.warm_up_schedule: expected 1 or more"),
        ("warm_up_batch = 0", "task.warm_up_batch: expected 1 or more"),
        ("warm_up_learning_rate = -1", "task.warm_up_learning_rate: expected a number above 0"),
        ("base_seed = -1", "task.base_seed: expected 0 or more"),
        ("holdout_tasks = 501", "501 and 2000 train_prompts are more than the 2500 problems"),
    ],
)
def test_settings_of_which_no_task_can_be_made_are_refused(
    settings: str, message: str, tmp_path: Path
) -> None:
    path = tmp_path / "study.toml"
    path.write_text(GOOD.replace("limit = 20", settings))
    with pytest.raises(InputError) as caught:
        task_of(read_study(path).task, str(path))
    assert f"{path}:4: task." in str(caught.value) or f"{path}:2: task." in str(caught.value)
    assert message in str(caught.value)


def test_counts_of_which_no_gsm8k_can_be_made_are_refused(tmp_path: Path) -> None:
    task = 'name = "gsm8k"\ndata = "x"\nmodel = "y"\nholdout_tasks = 0'
    with pytest.raises(InputError, match=r":6: task\.holdout_tasks: expected 1 or more, found 0"):
        read(tmp_path, GOOD.replace('name = "addition"\nlimit = 20', task))


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("training", Training),
        ("evaluation", Evaluating),
        ("benchmark", BenchmarkSettings),
        ("telemetry", Telemetry),
        ("addition", Addition),
        ("gsm8k", Gsm8k),
        ("jsonl", JsonlSettings),
        ("arm", PlannedArm),
    ],
)
def test_the_schema_has_the_keys_and_defaults_of_the_record(name: str, kind: type[Any]) -> None:
    schema = published_schema("study")["$defs"][name]
    keys = {key: below for key, below in schema["properties"].items() if "const" not in below}
    given = {"name"} if kind is PlannedArm else set()
    assert set(keys) == {f.name for f in fields(kind)} - given
    for f in fields(kind):
        default = f.default_factory() if callable(f.default_factory) else f.default
        if default in (MISSING, None):
            assert "default" not in keys.get(f.name, {})
        else:
            shown = keys[f.name]["default"]
            assert (tuple(shown) if isinstance(shown, list) else shown) == default


def test_all_faults_are_told_at_once_in_the_order_of_their_lines(tmp_path: Path) -> None:
    text = GOOD.replace("seeds = [1, 2]", "seed = [1, 2]").replace('"fixed"', '"fixt"')
    with pytest.raises(ConfigError) as caught:
        read(tmp_path, text.replace("limit = 20", "limit = 0"))
    said = [line.rpartition("study.toml")[2] for line in caught.value.lines]
    assert said == [
        ": seeds: missing",
        ":1: seed: unknown key; did you mean 'seeds'?",
        ":4: task.limit: expected 1 or more, found 0",
        ':12: arms.plain.clip: expected "fixed", "adaptive" or "region", found "fixt"',
    ]
    assert str(caught.value).endswith("seeds: missing (and 3 more)")


OVERRIDING = (
    GOOD.replace(
        "[arms.plain]",
        "[arms.wide.training]\nlearning_rate = 1e-3\nrounds = 50\n[arms.plain]",
    )
    + "[training]\nwarmup_updates = 4\n"
)


def test_an_arm_may_set_its_own_training_and_takes_the_rest_from_the_shared(
    tmp_path: Path,
) -> None:
    path = tmp_path / "study.toml"
    path.write_text(OVERRIDING)
    study = read_study(path)
    wide, plain = (arm.training for arm in study.arms)
    assert (wide.learning_rate, wide.rounds, wide.warmup_updates) == (1e-3, 50, 4)
    assert plain == study.training
    assert (plain.learning_rate, plain.rounds, plain.warmup_updates) == (5e-4, 100, 4)
    assert changed_fields(study) == [
        "clip",
        "epsilon_high",
        "epsilon_high_max",
        "learning_rate",
        "steps",
    ]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            'clip = "fixed"\nepsilon_low = 0.2\nepsilon_high = 0.28',
            'clip = "region"\ndivergence = "chi2"\ntopology = "atomic"\nradius = 0.04\n'
            'training.importance_sampling_level = "sequence"',
            r"study\.toml:\d+: arms\.plain\.training\.importance_sampling_level: 'sequence'",
        ),
        (
            "epsilon_high = 0.28",
            "epsilon_high = -1",
            r"study\.toml:\d+: arms\.plain: epsilon_high must",
        ),
    ],
)
def test_an_arm_of_which_no_region_can_be_made_is_named(
    old: str, new: str, message: str, tmp_path: Path
) -> None:
    path = tmp_path / "study.toml"
    assert old in GOOD
    path.write_text(GOOD.replace(old, new))
    with pytest.raises(InputError, match=message):
        check_arms(read_study(path), str(path))


CLAIM = """
[[claims]]
metric = "accuracy"
arm = "wide"
against = "plain"
direction = "gain"
"""


@pytest.mark.parametrize("named", [("wide", "plain"), ("method", "base"), ("plain", "base")])
def test_a_claim_about_arms_of_the_study_and_the_base_is_taken(
    named: tuple[str, str], tmp_path: Path
) -> None:
    path = tmp_path / "study.toml"
    arm, against = named
    claim = CLAIM.replace('"wide"', f'"{arm}"').replace('"plain"', f'"{against}"')
    path.write_text(f'{GOOD}{claim}[verified]\ndate = 2026-11-29\nby = "me"\n')
    check_statements(read_study(path), str(path))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"plain"', '"plane"', r"claims\[0\]\.against: no arm 'plane'; there are wide, plain, "),
        ('"wide"', '"wild"', r"claims\[0\]\.arm: no arm 'wild'"),
        ('direction = "gain"', "", r"claims\[0\]\.direction: missing"),
        (
            '"gain"',
            '"up"',
            r'claims\[0\]\.direction: expected "gain", "loss", "equivalent" or "no loss", ',
        ),
        ('"gain"', '"gain"\nmargn = 0.1', r"claims\[0\]\.margn: unknown key"),
        ('"gain"', '"gain"\n[verified]\nby = 3', r"verified\.by: expected a string, found 3"),
        ('"gain"', '"gain"\nid = 3', r"claims\[0\]\.id: expected a string, found 3"),
        (
            '"gain"',
            '"gain"\n[verified]\nn = 9007199254740993',
            r"verified\.n: a whole number beyond",
        ),
    ],
)
def test_a_claim_that_could_not_be_judged_is_refused_before_anything_is_trained(
    old: str, new: str, message: str, tmp_path: Path
) -> None:
    path = tmp_path / "study.toml"
    assert old in CLAIM
    path.write_text(GOOD + CLAIM.replace(old, new))
    with pytest.raises(InputError, match=rf"study\.toml:\d+: {message}"):
        check_statements(read_study(path), str(path))


def claims_checked(tmp_path: Path, text: str, tasks: int) -> None:
    study = read(tmp_path, text)
    items = tuple(Item(str(n), "1+1=", "2", n) for n in range(tasks))
    partition = Partition(items, items, {}, {"reward": "exact_match"}, 0, 8)
    bench = Bench(study, Addition(limit=100), partition, tmp_path, {})
    check_claims(bench, str(tmp_path / "study.toml"))


@pytest.mark.parametrize("tasks", [10, 300, 301])
@pytest.mark.parametrize("seeds", ["[1, 2]", "[1, 2, 3]", "[10, 20, 30]"])
def test_a_claim_at_a_checkpoint_that_is_not_evaluated_is_refused_with_any_seeds_and_tasks(
    seeds: str, tasks: int, tmp_path: Path
) -> None:
    text = "evaluation.checkpoints = [25]\n" + GOOD.replace("[1, 2]", seeds) + CLAIM
    for steps in ("[25]", "[25, 100]"):
        claims_checked(tmp_path, text + f"checkpoints = {steps}\n", tasks)
    with pytest.raises(InputError, match=r"toml:\d+: claims\[0\]: .*no evaluation at step 50"):
        claims_checked(tmp_path, text + "checkpoints = [50]\n", tasks)


@pytest.mark.parametrize(("method", "control"), [("a", "A"), ("o", "0")])
def test_a_claim_about_arms_that_look_the_same_is_refused(
    method: str, control: str, tmp_path: Path
) -> None:
    text = GOOD + CLAIM
    for old, new in (("wide", method), ("plain", control)):
        text = text.replace(f"arms.{old}", f"arms.{new}").replace(f'"{old}"', f'"{new}"')
    with pytest.raises(InputError, match=r"claims\[0\]: arms that look the same"):
        claims_checked(tmp_path, text, 300)


def test_with_several_controls_a_claim_says_against_which(tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    third = GOOD.partition("[arms.plain]")[2].replace("0.28", "0.3")
    unsaid = CLAIM.replace('against = "plain"\n', "")
    path.write_text(GOOD + unsaid)
    check_statements(read_study(path), str(path))
    path.write_text(GOOD + "[arms.third]" + third + unsaid)
    with pytest.raises(InputError, match=r"claims\[0\]\.against: missing"):
        check_statements(read_study(path), str(path))


def test_too_few_prompts_for_a_round_are_named_with_the_arm_that_wants_them(
    tmp_path: Path,
) -> None:
    path = tmp_path / "study.toml"
    path.write_text(OVERRIDING.replace("rounds = 50", "prompts_per_round = 9"))
    items = tuple(Item(str(n), "1+1=", "2", n) for n in range(8))
    with pytest.raises(InputError, match=r"arms\.wide\.training\.prompts_per_round: 9 is more"):
        check_data(read_study(path), Partition(items, items, {}, {}, 0, 8), str(path))
    with pytest.raises(InputError, match="no training or no holdout tasks are left"):
        check_data(read_study(path), Partition((), items, {}, {}, 0, 8), str(path))


@pytest.mark.parametrize(("processes", "sound"), [(1, True), (2, True), (3, False), (128, True)])
def test_responses_of_a_round_must_divide_over_the_processes(
    processes: int, sound: bool, tmp_path: Path
) -> None:
    path = tmp_path / "study.toml"
    path.write_text(GOOD)
    study = read_study(path)
    if sound:
        check_machine(study, processes, str(path))
    else:
        with pytest.raises(InputError, match=f"128 responses .* over {processes} processes"):
            check_machine(study, processes, str(path))


def test_reading_a_study_file_loads_neither_torch_nor_trl() -> None:
    import subprocess
    import sys

    code = (
        "import sys, audit.training.study_file, audit.training.checks, audit.training.recorder, "
        "audit.training.ledger, audit.training.rewards, audit.training.decontaminate\n"
        "print([m for m in ('torch', 'trl', 'transformers', 'numpy') if m in sys.modules])"
    )
    root = Path(__file__).resolve().parents[2]
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=root
    )
    assert answer.stdout.strip() == "[]"
