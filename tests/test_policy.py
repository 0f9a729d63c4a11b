from __future__ import annotations

from pathlib import Path

import pytest

from audit.errors import UsageError
from audit.policy import Policy, find_policy, read_policy

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
expires = 2027-01-31
"""


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


def test_a_pyproject_without_the_table_gives_the_defaults(tmp_path: Path) -> None:
    written(tmp_path, "[project]\nname = 'x'", "pyproject.toml")
    assert find_policy(tmp_path) == Policy()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("min_seed = 3", "unknown key min_seed"),
        ("min_seeds = 1", "one seed is never enough"),
        ("min_seeds = true", "min_seeds must be"),
        ("level = 1.0", "level must be"),
        ("margin = 0", "margin must be"),
        ("target = 'world'", "tasks, benchmark"),
        ("fail_on = 'info'", "error, warning"),
        ("ignore = 'SEED001'", "list of strings"),
        ("[[overrides]]\nmin_seeds = 3", "list `paths`"),
        ("[[overrides]]\npaths = ['a']\nmin_seeds = 0", "overrides[0].min_seeds"),
        ("[[waivers]]\nrule = 'x'", "pointer is missing"),
        (
            "[[waivers]]\nrule='x'\npointer=''\nreason='y'\nexpires='soon'",
            "must be a date like 2027-01-31",
        ),
        ("min_seeds = ", "not TOML"),
    ],
)
def test_a_policy_that_means_nothing_is_refused_in_one_line(
    tmp_path: Path, text: str, says: str
) -> None:
    with pytest.raises(UsageError) as caught:
        read_policy(written(tmp_path, text))
    assert says in str(caught.value)
    assert "audit.toml" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_policy_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        find_policy(tmp_path, str(tmp_path / "none.toml"))


def test_rules_are_selected_by_id_slug_or_family() -> None:
    policy = Policy(select=("SEED", "unpinned"), ignore=("SEED004",))
    assert policy.runs("SEED001", "one-seed-claim")
    assert policy.runs("PROV003", "unpinned")
    assert not policy.runs("SEED004", "identical-arms")
    assert not policy.runs("AGG001", "aggregate-mean")
