from __future__ import annotations

import datetime
import subprocess
from dataclasses import fields
from pathlib import Path

import pytest

from audit.errors import ConfigError, InputError, UsageError
from audit.policy import (
    CLAIM_RULES,
    Guardrail,
    Policy,
    at_revision,
    find_policy,
    read_policy,
    today,
)
from audit.rules import CATALOGUE
from audit.schema import published_schema

FULL = """
min_seeds = 5
level = 0.9
margin = 0.02
target = "benchmark"
fail_on = "warning"
require = ["base_evaluations"]
failed_runs = "allow"
ignore = ["SCHEMA002"]

[[overrides]]
paths = ["reports/old-*/results.json"]
min_seeds = 3

[[waivers]]
rule = "deterministic-baseline"
pointer = "/seed_results/0/baseline"
reason = "greedy evaluation, agreed on"
added = 2026-11-01
expires = 2027-01-31
"""


@pytest.fixture(autouse=True)
def a_fixed_day(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", str(1_796_083_200))  # 1 December 2026


def written(folder: Path, text: str, name: str = "audit.toml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_a_policy_file_is_read_whole(tmp_path: Path) -> None:
    policy = read_policy(written(tmp_path, FULL))
    assert (policy.min_seeds, policy.level, policy.margin) == (5, 0.9, 0.02)
    assert policy.require == ("base_evaluations",)
    assert policy.waivers[0].expires == "2027-01-31"
    assert policy.source.endswith("audit.toml")


def test_an_override_counts_for_its_paths_only(tmp_path: Path) -> None:
    policy = read_policy(written(tmp_path, FULL))
    assert policy.for_path("reports/old-clip/results.json").min_seeds == 3
    assert policy.for_path("reports/new-clip/results.json").min_seeds == 5


def test_the_nearest_file_is_found_and_audit_toml_comes_first(tmp_path: Path) -> None:
    deep = tmp_path / "a" / "b"
    deep.mkdir(parents=True)
    written(tmp_path, "min_seeds = 7")
    assert find_policy(deep).min_seeds == 7
    written(tmp_path / "a", "[tool.audit]\nmin_seeds = 6", "pyproject.toml")
    assert find_policy(deep).min_seeds == 6
    written(tmp_path / "a", "min_seeds = 4")
    assert find_policy(deep).min_seeds == 4


def test_a_pyproject_without_the_table_holds_no_policy_and_hides_none(tmp_path: Path) -> None:
    written(tmp_path, "[project]\nname = 'x'", "pyproject.toml")
    assert find_policy(tmp_path) == read_policy(tmp_path / "pyproject.toml") == Policy()
    inner = tmp_path / "sub"
    inner.mkdir()
    written(inner, "[project]\nname = 'x'\n[tool.other]\na = 1", "pyproject.toml")
    written(tmp_path, "min_seeds = 5")
    assert find_policy(inner).min_seeds == 5
    written(inner, "[tool.audit]", "pyproject.toml")  # an empty table is a policy: the defaults
    assert find_policy(inner).min_seeds == 3


def test_a_fault_in_a_pyproject_names_the_whole_key_and_its_line(tmp_path: Path) -> None:
    text = "[project]\nname = 'x'\n[tool.audit]\nmin_seeds = 1\n[[tool.audit.waivers]]\nrule = 'x'"
    with pytest.raises(ConfigError) as caught:
        read_policy(written(tmp_path, text, "pyproject.toml"))
    assert [line.rpartition("pyproject.toml")[2] for line in caught.value.lines] == [
        ":4: tool.audit.min_seeds: expected 2 or more, found 1",
        ":5: tool.audit.waivers[0].pointer: missing",
        ":5: tool.audit.waivers[0].reason: missing",
        ":5: tool.audit.waivers[0].expires: missing",
    ]


def test_the_defaults_of_the_schema_are_those_of_the_record() -> None:
    schema = published_schema("policy")
    defaults = {f.name: f.default for f in fields(Policy) if f.compare}
    assert list(schema["properties"]) == list(defaults)
    for name, fragment in schema["properties"].items():
        shown = schema["$defs"].get(name, fragment)["default"]
        assert (tuple(shown) if isinstance(shown, list) else shown) == defaults[name]
    overridden = schema["$defs"]["override"]["properties"]
    assert set(overridden) == set(defaults) - {"overrides", "waivers"} | {"paths"}


def test_every_key_is_read_into_the_typed_record(tmp_path: Path) -> None:
    text = """
level = 1e-0
evidence = "B"
pairs = "agree"
unplanned_looks = "refuse"
format_only = "allow"
same_draws = "allow"
base = "allow"
guardrails = [{metric = "accuracy", benchmark = "mmlu", margin = 1}]
overrides = [{paths = ["a/*"], guardrails = [], evidence = "A"}]
""".replace("1e-0", "0.99")
    policy = read_policy(written(tmp_path, text))
    assert (policy.level, policy.evidence, policy.pairs) == (0.99, "B", "agree")
    assert (policy.unplanned_looks, policy.format_only) == ("refuse", "allow")
    assert (policy.same_draws, policy.base) == ("allow", "allow")
    assert policy.guardrails == (Guardrail("accuracy", 1.0, "mmlu"),)
    assert policy.for_path("a/b").guardrails == ()
    assert policy.for_path("a/b").evidence == "A"


def waiver(
    expires: datetime.date, added: datetime.date | None = None, rule: str = "unpinned"
) -> str:
    day = f"added = {added}\n" if added else ""
    return f'[[waivers]]\nrule = "{rule}"\npointer = ""\nreason = "r"\n{day}expires = {expires}\n'


DAY = datetime.timedelta(days=1)


@pytest.mark.parametrize(
    ("added", "expires", "sound"),
    [
        (None, 365, True),
        (None, 366, False),
        (None, -500, True),  # expired long ago: it lets nothing by
        (0, 365, True),
        (0, 366, False),
        (-400, -35, True),
        (-400, -34, False),
        (-10, -11, False),
        (1, 30, False),  # written tomorrow, it would last a day too long
    ],
)
def test_a_waiver_lasts_365_days_at_most(
    added: int | None, expires: int, sound: bool, tmp_path: Path
) -> None:
    now = today()
    text = waiver(now + expires * DAY, None if added is None else now + added * DAY)
    path = written(tmp_path, text)
    if sound:
        assert len(read_policy(path).waivers) == 1
    else:
        with pytest.raises(InputError, match=r"waivers\[0\]\.(expires|added): "):
            read_policy(path)


@pytest.mark.parametrize("rule", [*CLAIM_RULES, *CLAIM_RULES.values()])
def test_a_refused_claim_cannot_be_waived(rule: str, tmp_path: Path) -> None:
    path = written(tmp_path, waiver(today(), rule=rule))
    with pytest.raises(InputError, match=rf":2: waivers\[0\]\.rule: {rule} refuses a claim"):
        read_policy(path)


def test_the_rules_that_refuse_claims_are_those_of_the_catalogue() -> None:
    assert {rule.id: rule.slug for rule in CATALOGUE if rule.id in CLAIM_RULES} == CLAIM_RULES


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    top = tmp_path / "repo"
    (top / "reports").mkdir(parents=True)
    written(top, "min_seeds = 5")
    written(top / "reports", "[project]\nname = 'x'", "pyproject.toml")
    written(top, "[tool.audit]\nmin_seeds = 7", "pyproject.toml")
    who = ["-c", "user.name=a", "-c", "user.email=a@b"]
    for words in (["init", "-q"], ["add", "-A"], [*who, "commit", "-qm", "x"], ["tag", "first"]):
        subprocess.run(["git", "-C", str(top), *words], check=True)
    return top


def test_the_policy_of_a_revision_is_read_whatever_the_working_tree_says(repository: Path) -> None:
    (repository / "audit.toml").unlink()
    written(repository / "reports", "min_seeds = 2")
    policy = at_revision(repository / "reports", "first")
    assert (policy.min_seeds, policy.source) == (5, "audit.toml at first")
    assert at_revision(repository, "first", "pyproject.toml").min_seeds == 7
    assert at_revision(repository / "reports", "first", "../audit.toml").min_seeds == 5


def test_above_the_work_tree_the_file_system_is_asked(repository: Path) -> None:
    bare = ["rm", "-q", "audit.toml", "pyproject.toml"]
    who = ["-c", "user.name=a", "-c", "user.email=a@b"]
    for words in (bare, [*who, "commit", "-qm", "y"]):
        subprocess.run(["git", "-C", str(repository), *words], check=True)
    written(repository, "min_seeds = 2")  # not committed
    assert at_revision(repository, "HEAD") == Policy()
    written(repository.parent, "min_seeds = 6")
    assert at_revision(repository, "HEAD").min_seeds == 6


@pytest.mark.parametrize(
    ("revision", "path", "says"),
    [
        ("nosuch", None, "git knows no commit 'nosuch'"),
        ("--help", None, "git knows no commit '--help'"),
        ("first", "none.toml", "none.toml: is not there at revision first"),
        ("first", "../audit.toml", "is not there at revision first"),
    ],
)
def test_what_no_revision_holds_is_said(
    revision: str, path: str | None, says: str, repository: Path
) -> None:
    with pytest.raises(UsageError) as caught:
        at_revision(repository, revision, path)
    assert says in str(caught.value)


def test_a_fault_at_a_revision_names_it(repository: Path) -> None:
    written(repository, "min_seed = 5")
    who = ["-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run(["git", "-C", str(repository), *who, "commit", "-qam", "y"], check=True)
    with pytest.raises(InputError, match=r"^audit\.toml at HEAD:1: min_seed: unknown key"):
        at_revision(repository, "HEAD")


def test_outside_a_work_tree_git_says_so(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="git: fatal"):
        at_revision(tmp_path, "HEAD")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("min_seed = 3", ":1: min_seed: unknown key; did you mean 'min_seeds'?"),
        ("min_seeds = 1", ":1: min_seeds: expected 2 or more, found 1"),
        ("min_seeds = true", "min_seeds: expected a whole number, found true"),
        ("level = 1.0", "level: expected a number below 1, found 1.0"),
        ("margin = 0", "margin: expected a number above 0, found 0"),
        ("target = 'world'", 'target: expected "tasks" or "benchmark", found "world"'),
        ("fail_on = 'info'", 'fail_on: expected "error" or "warning"'),
        ("ignore = 'SEED001'", "ignore: expected a list"),
        ("[[overrides]]\nmin_seeds = 3", ":1: overrides[0].paths: missing"),
        (
            "[[overrides]]\npaths = ['a']\nmin_seeds = 0",
            ":3: overrides[0].min_seeds: expected 2 or more",
        ),
        ("[[waivers]]\nrule = 'x'", "waivers[0].pointer: missing"),
        (
            "[[waivers]]\nrule='x'\npointer=''\nreason='y'\nexpires='soon'",
            'expires: expected text like "2027-03-31", found "soon"',
        ),
        ("[[waivers]]\nrule='x'\npointer=''\nreason='y'\nexpires='2027-02-30'", "no such day"),
        ("[[guardrails]]\nmetric='accuracy'", "guardrails[0].margin: missing"),
        ("evidence = 'D'", "evidence: expected"),
        ("min_seeds = ", "not TOML"),
    ],
)
def test_a_policy_that_means_nothing_is_refused_in_one_line(
    tmp_path: Path, text: str, says: str
) -> None:
    with pytest.raises(InputError) as caught:
        read_policy(written(tmp_path, text))
    assert any(says in line for line in caught.value.lines)
    assert all("audit.toml" in line and "\n" not in line for line in caught.value.lines)


def test_a_policy_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        find_policy(tmp_path, str(tmp_path / "none.toml"))


def test_rules_are_selected_by_id_slug_or_family() -> None:
    policy = Policy(select=("SEED", "unpinned"), ignore=("SEED004",))
    assert policy.runs("SEED001", "one-seed-claim")
    assert policy.runs("PROV003", "unpinned")
    assert not policy.runs("SEED004", "identical-arms")
    assert not policy.runs("AGG001", "aggregate-mean")
