"""The release workflow: what it may do, in which order, and what stops a release."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

import audit

ROOT = Path(__file__).resolve().parent.parent
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
CHECK = ROOT / ".github" / "release" / "check.py"
NAME = "recipe-audit"

pytestmark = pytest.mark.skipif(
    not CHECK.is_file(), reason=".github is not beside these tests: they run against a wheel"
)


def jobs() -> dict[str, Any]:
    path = ROOT / ".github" / "workflows" / "release.yml"
    found: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"]
    return found


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_every_action_is_named_by_a_whole_commit(path: Path) -> None:
    used = re.findall(r"uses: (\S+)", path.read_text(encoding="utf-8"))
    assert used
    for action in used:
        assert action == "./" or re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", action), action


def test_a_release_is_built_tested_then_published() -> None:
    found = jobs()
    assert [found[job].get("needs") for job in ("build", "test", "publish", "release")] == [
        None,
        "build",
        "test",
        "publish",
    ]
    for job in ("publish", "release"):
        assert found[job]["if"] == "github.ref_type == 'tag'"


def test_only_the_publishing_job_has_an_identity_and_it_runs_no_code_of_the_checkout() -> None:
    found = jobs()
    identities = {name for name, job in found.items() if "id-token" in job.get("permissions", {})}
    assert identities == {"publish"}
    assert not any("checkout" in step.get("uses", "") for step in found["publish"]["steps"])
    assert not any("run" in step for step in found["publish"]["steps"])


def wrong(root: Path, *words: str) -> list[str]:
    spec = importlib.util.spec_from_file_location("release_check", CHECK)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return list(module.wrong(root, *words))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository at version 1.2.3."""
    (tmp_path / "audit").mkdir()
    (tmp_path / "audit" / "__init__.py").write_text('__version__ = "1.2.3"\n')
    (tmp_path / "pyproject.toml").write_text(f'[project]\nname = "{NAME}"\n')
    (tmp_path / "CHANGELOG.md").write_text("## 1.2.3\n")
    return tmp_path


def test_a_tag_that_agrees_with_everything_is_released(root: Path) -> None:
    assert wrong(root, "v1.2.3", NAME, "someone", "someone") == []


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("v1.2.3", NAME, "", "someone"), "OWNER is not filled in"),
        (("v1.2.3", NAME, "someone", "a-fork"), "belongs to a-fork"),
        (("v1.2.3", "audit", "someone", "someone"), "pyproject.toml builds recipe-audit"),
        (("v1.2.4", NAME, "someone", "someone"), "the version is 1.2.3"),
    ],
)
def test_what_disagrees_stops_a_release(root: Path, words: tuple[str, ...], told: str) -> None:
    (line,) = wrong(root, *words)
    assert told in line


def test_a_version_that_the_changelog_calls_unreleased_is_not_released(root: Path) -> None:
    (root / "CHANGELOG.md").write_text("## 1.2.3 (unreleased)\n")
    assert wrong(root, "v1.2.3", NAME, "me", "me") == ["CHANGELOG.md calls 1.2.3 unreleased"]


def test_this_repository_has_the_name_that_the_workflow_has() -> None:
    found = wrong(ROOT, f"v{audit.__version__}", NAME, "me", "me")
    assert not [line for line in found if "NAME" in line or "the version is" in line]
