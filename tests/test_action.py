"""The action's own steps, run with bash in a repository with a history; the hooks' entries too.

GitHub is played by a server in this process, ``actions/setup-python`` by the Python of the tests.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import threading
import tomllib
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, HTTPServer
from importlib.metadata import packages_distributions, requires
from pathlib import Path
from typing import Any, ClassVar

import pytest
import yaml
from made_fleet import CARRIED, ONE_SEED, commit, document, git, repository, study

ROOT = Path(__file__).resolve().parent.parent
pytestmark = [
    pytest.mark.skipif(
        not (ROOT / "action.yml").is_file(),
        reason="action.yml is not beside these tests: they run against an installed wheel",
    ),
    pytest.mark.skipif(shutil.which("bash") is None, reason="no bash on this machine"),
]


def packages() -> str:
    """Where audit and what it needs are imported from."""
    import audit

    (home,) = audit.__path__
    return os.pathsep.join([str(Path(home).parent), *filter(os.path.isdir, sys.path)])


@pytest.fixture(scope="session")
def installable(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel that puts the audit under test, and its packages, on a new environment's path."""
    wheel = tmp_path_factory.mktemp("wheel") / "audit_under_test-1-py3-none-any.whl"
    about = "audit_under_test-1.dist-info"
    members = {
        "audit_under_test.pth": "\n".join(packages().split(os.pathsep)) + "\n",
        f"{about}/METADATA": "Metadata-Version: 2.1\nName: audit-under-test\nVersion: 1\n",
        f"{about}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{about}/RECORD": "",
    }
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, text in members.items():
            archive.writestr(name, text)
    return wheel


@dataclass
class Ran:
    """What the steps of the action left."""

    status: int = 0
    outputs: dict[str, str] = field(default_factory=dict)
    summary: str = ""
    log: str = ""
    steps: list[str] = field(default_factory=list)


class Runner:
    """As much of the runner as a composite action needs: expressions, conditions, files.

    What a spec installs is kept and used again: an environment takes seconds to make.
    """

    installed: ClassVar[dict[str, dict[str, str]]] = {}

    def __init__(self, work: Path, temp: Path, **environment: str) -> None:
        self.work, self.temp = work, temp
        self.environment = environment
        temp.mkdir(parents=True, exist_ok=True)

    def run(self, **inputs: str) -> Ran:
        action = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
        unknown = set(inputs) - set(action["inputs"])
        assert not unknown
        given = {
            name: inputs.get(name, entry["default"]) for name, entry in action["inputs"].items()
        }
        steps: dict[str, dict[str, str]] = {}
        ran = Ran()
        summary = self.temp / "summary.md"
        summary.write_text("", "utf-8")
        for number, step in enumerate(action["runs"]["steps"]):
            if ran.status or not self.truth(step.get("if", "true"), given, steps):
                continue
            ran.steps.append(step["name"])
            if step.get("id") == "install" and inputs.get("spec", "") in self.installed:
                steps["install"] = self.installed[inputs["spec"]]
                continue
            if "uses" in step:
                known = re.fullmatch(r"actions/(setup-python|cache)@[0-9a-f]{40}", step["uses"])
                assert known
                if known[1] == "setup-python":
                    steps[step["id"]] = {"python-path": sys.executable}
                continue
            assert "${{" not in step["run"], "an input must not be part of a script"
            output = self.temp / f"output-{number}"
            output.write_text("", "utf-8")
            extra = {
                key: self.expanded(str(value), given, steps)
                for key, value in step.get("env", {}).items()
            }
            done = subprocess.run(
                ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
                cwd=self.work,
                env=os.environ
                | {
                    "RUNNER_TEMP": str(self.temp),
                    "GITHUB_OUTPUT": str(output),
                    "GITHUB_STEP_SUMMARY": str(summary),
                    "PIP_NO_INDEX": "1",
                    "SOURCE_DATE_EPOCH": "1800000000",
                }
                | self.environment
                | extra,
                capture_output=True,
                text=True,
                check=False,
            )
            ran.log += done.stdout + done.stderr
            ran.status = done.returncode
            if "id" in step:
                lines = output.read_text("utf-8").splitlines()
                steps[step["id"]] = dict(line.split("=", 1) for line in lines)
            if step.get("id") == "install":
                self.installed[inputs.get("spec", "")] = steps["install"]
        ran.summary = summary.read_text("utf-8")
        ran.outputs = {
            name: self.expanded(entry["value"], given, steps)
            for name, entry in action["outputs"].items()
        }
        return ran

    def expanded(self, text: str, inputs: dict[str, str], steps: dict[str, Any]) -> str:
        return re.sub(r"\$\{\{ (.*?) \}\}", lambda found: self.value(found[1], inputs, steps), text)

    def truth(self, text: str, inputs: dict[str, str], steps: dict[str, Any]) -> bool:
        expression = text.removeprefix("${{ ").removesuffix(" }}")
        if expression == "true":
            return True
        left, right = expression.split(" == ")
        return self.value(left, inputs, steps) == right.strip("'")

    def value(self, expression: str, inputs: dict[str, str], steps: dict[str, Any]) -> str:
        for choice in expression.split(" || "):
            match choice.split("."):
                case ["inputs", name]:
                    found = self.expanded(inputs[name], inputs, steps)
                case ["github", "action_path"]:
                    found = str(ROOT)
                case ["github", "token"]:
                    found = self.environment.get("THE_TOKEN", "")
                case ["steps", step, "outputs", name]:
                    found = steps.get(step, {}).get(name, "")
                case other:
                    raise AssertionError(f"an expression the tests do not know: {other}")
            if found:
                return found
        return ""


@pytest.fixture(scope="module")
def runner(tmp_path_factory: pytest.TempPathFactory, installable: Path) -> tuple[Runner, Path]:
    top = tmp_path_factory.mktemp("work")
    work = repository(top / "repository", {"carried": CARRIED})
    git(work, "switch", "-q", "-c", "topic")
    return Runner(work, top / "temp"), installable


@pytest.fixture
def passing(runner: tuple[Runner, Path]) -> Iterator[tuple[Runner, str]]:
    """The runner in a checkout whose branch adds nothing wrong; put back after each test."""
    it, spec = runner
    yield it, str(spec)
    git(it.work, "reset", "-q", "--hard", "main")
    git(it.work, "clean", "-fdq")


@pytest.fixture
def refused(passing: tuple[Runner, str]) -> tuple[Runner, str]:
    """The same with a study whose claims rest on one seed."""
    it, spec = passing
    study(it.work / "reports", "one-seed", ONE_SEED)
    commit(it.work, "a claim from one seed")
    return it, spec


def test_a_branch_whose_claims_are_carried_passes(passing: tuple[Runner, str]) -> None:
    runner, spec = passing
    ran = runner.run(spec=spec, paths="reports")
    assert ran.status == 0, ran.log
    assert ran.steps == [
        "Set up Python",
        "Look for a cache",
        "Install audit",
        "Judge",
        "Verdict",
    ]
    assert ran.outputs["verdict"] == "passed"
    assert (ran.outputs["refused"], ran.outputs["errors"]) == ("0", "0")
    assert document(Path(ran.outputs["report"]))["counts"]["claims"] == 1
    assert ran.summary.startswith("## audit gate: 1 study, 1 claim: 1 supported\n")


def test_a_branch_that_claims_from_one_seed_is_refused(refused: tuple[Runner, str]) -> None:
    runner, spec = refused
    ran = runner.run(spec=spec, paths="reports")
    assert ran.status == 1, ran.log
    assert ran.outputs["verdict"] == "refused"
    assert ran.outputs["refused"] == "3"
    assert int(ran.outputs["errors"]) >= 1
    assert "| one-seed |" in ran.summary
    assert re.search(r"^::error file=reports/one-seed/results.json,line=\d+", ran.log, re.M)


def shadows() -> set[str]:
    """Names of all modules that Python and what audit needs can import, and of some hooks."""
    needed = {"audit"}
    for requirement in requires("recipe-audit") or ():
        name = re.match(r"[\w.-]+", requirement)
        if name and "extra ==" not in requirement:
            needed |= set(modules_of().get(canonical(name[0]), ()))
    hooks = {"sitecustomize", "usercustomize", "pip", "setuptools", "wheel", "_distutils_hack"}
    return needed | hooks | set(sys.stdlib_module_names)


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def modules_of() -> dict[str, set[str]]:
    """Top-level modules by the distribution that brings them."""
    found: dict[str, set[str]] = {}
    for module, names in packages_distributions().items():
        for name in names:
            found.setdefault(canonical(name), set()).add(module)
    return found


def test_nothing_of_the_checkout_is_imported(refused: tuple[Runner, str]) -> None:
    runner, spec = refused
    names = shadows()
    assert {"audit", "numpy", "jsonschema_rs", "json", "selectors", "venv"} <= names
    for name in names:
        text = f"open({str(runner.work / 'imported.txt')!r}, 'a').write('{name} ')\n"
        (runner.work / f"{name}.py").write_text(text, "utf-8")
    for number in range(34):  # enough for several processes
        study(runner.work / "reports", f"more-{number}", CARRIED)
    commit(runner.work, "modules of the names that Python's own have")
    runner.installed.pop(spec, None)  # so that the environment is made here, too
    shadowed = Runner(runner.work, runner.temp, PYTHONPATH=str(runner.work))
    ran = shadowed.run(spec=spec, paths="reports", **{"changed-since": "main"})
    assert (ran.status, ran.outputs["verdict"]) == (1, "refused"), ran.log
    assert document(Path(ran.outputs["report"]))["counts"]["studies"] == 35
    assert not (runner.work / "imported.txt").exists()


def test_only_what_the_pull_request_changed_is_judged(refused: tuple[Runner, str]) -> None:
    runner, spec = refused
    ran = runner.run(spec=spec, paths="reports", **{"changed-since": "main"})
    assert ran.status == 1
    assert document(Path(ran.outputs["report"]))["counts"]["studies"] == 1
    ran = runner.run(spec=spec, paths="reports", **{"changed-since": "topic"})
    assert (ran.status, ran.outputs["verdict"]) == (0, "passed")


def test_claims_paths_and_a_policy_reach_the_gate_as_they_are(
    passing: tuple[Runner, str], tmp_path: Path
) -> None:
    runner, spec = passing
    study(runner.work / "more of them", "again")
    policy = tmp_path / "strict.toml"
    policy.write_text("min_seeds = 4\n", "utf-8")
    ran = runner.run(
        spec=spec,
        paths="reports\nmore of them\n",
        policy=str(policy),
        claim="gain accuracy method over fixed-clip\nloss accuracy method over fixed-clip",
        **{"fail-on": "warning"},
    )
    report = document(Path(ran.outputs["report"]))
    assert ran.status == 1
    assert report["policy"] == str(policy)
    assert report["counts"]["claims"] == 6
    assert not any(row["stands"] for row in report["rows"])


@pytest.mark.parametrize("name", ["$(touch made)", "`touch made`", "'; touch made; '", '"; ls; "'])
def test_an_input_is_never_run(name: str, passing: tuple[Runner, str]) -> None:
    runner, spec = passing
    ran = runner.run(spec=spec, paths=name, policy="", claim="")
    assert ran.status == 2
    assert ran.outputs["verdict"] == "could not run"
    assert not (runner.work / "made").exists()


def test_wrong_usage_stands_in_the_summary(passing: tuple[Runner, str]) -> None:
    runner, spec = passing
    ran = runner.run(spec=spec, paths="reports", **{"changed-since": "nowhere"})
    assert ran.status == 2
    assert ran.outputs["verdict"] == "could not run"
    assert ran.summary.startswith("## audit gate could not run\n\n    audit: git knows no commit")


class Api(BaseHTTPRequestHandler):
    """GitHub's comments of one pull request; ``refuses`` answers like a fork's token gets."""

    comments: ClassVar[list[dict[str, Any]]]
    calls: ClassVar[list[tuple[str, str]]]
    refuses: int | None

    def answer(self) -> None:
        self.calls.append((self.command, self.path))
        length = int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(length)) if length else {}
        assert self.headers["Authorization"] == "Bearer secret"
        if self.refuses and self.command != "GET":
            self.send(self.refuses, {"message": "Resource not accessible by integration"})
            return
        if self.command == "GET":
            page = int(self.path.rpartition("page=")[2])
            self.send(200, self.comments[100 * (page - 1) : 100 * page])
        elif self.command == "POST":
            assert self.path == "/repos/o/r/issues/7/comments"
            made = {"id": 900, "user": {"type": "Bot"}, "body": body["body"]}
            self.comments.append(made)
            self.send(201, made)
        else:
            number = int(self.path.removeprefix("/repos/o/r/issues/comments/"))
            (own,) = (entry for entry in self.comments if entry["id"] == number)
            own["body"] = body["body"]
            self.send(200, own)

    do_GET = do_POST = do_PATCH = answer  # noqa: N815 - the names http.server calls

    def send(self, status: int, value: Any) -> None:
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        """Stay silent."""


@pytest.fixture
def api() -> Iterator[type[Api]]:
    class Fresh(Api):
        comments: ClassVar[list[dict[str, Any]]] = []
        calls: ClassVar[list[tuple[str, str]]] = []
        refuses = None

    server = HTTPServer(("127.0.0.1", 0), Fresh)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    Fresh.url = f"http://127.0.0.1:{server.server_port}"  # type: ignore[attr-defined]
    yield Fresh
    server.shutdown()
    thread.join()
    server.server_close()


def commented(tmp_path: Path, api: type[Api], text: str = "the table", **changed: str) -> str:
    """Run the comment step's script alone and return what it printed."""
    event = tmp_path / "event.json"
    event.write_text(json.dumps({"pull_request": {"number": 7}}), "utf-8")
    summary = tmp_path / "summary.md"
    summary.write_text(text, "utf-8")
    environment = {
        "GITHUB_API_URL": api.url,  # type: ignore[attr-defined]
        "GITHUB_EVENT_PATH": str(event),
        "GITHUB_REPOSITORY": "o/r",
        "AUDIT_TOKEN": "secret",
        "AUDIT_SUMMARY": str(summary),
    }
    done = subprocess.run(
        [sys.executable, str(ROOT / ".github" / "action" / "comment.py")],
        env=os.environ | environment | changed,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_the_comment_is_made_once_and_then_updated(tmp_path: Path, api: type[Api]) -> None:
    api.comments += [{"id": n, "user": {"type": "User"}, "body": "hm"} for n in range(120)]
    assert commented(tmp_path, api, "first") == "comment made\n"
    assert commented(tmp_path, api, "second") == "comment updated\n"
    assert [c["body"] for c in api.comments[120:]] == ["<!-- audit gate -->\nsecond"]


def test_a_comment_a_person_wrote_is_never_taken_over(tmp_path: Path, api: type[Api]) -> None:
    forged = "<!-- audit gate -->\nall is well"
    api.comments.append({"id": 1, "user": {"type": "User"}, "body": forged})
    assert commented(tmp_path, api) == "comment made\n"
    assert api.comments[0]["body"] == forged


@pytest.mark.parametrize("status", [401, 403, 404, 500])
def test_a_token_that_may_not_write_gives_a_notice(
    status: int, tmp_path: Path, api: type[Api]
) -> None:
    api.refuses = status
    out = commented(tmp_path, api)
    assert out.startswith("::notice title=audit gate::No comment: GitHub answered")
    assert ("fork" in out) == (status < 500)
    assert "step summary" in out


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"AUDIT_TOKEN": ""}, "there is no token"),
        ({"GITHUB_EVENT_PATH": os.devnull}, "this event is about no pull request"),
        ({"AUDIT_SUMMARY": ""}, "the gate could not run"),
        ({"GITHUB_API_URL": "http://127.0.0.1:9"}, "GitHub was not reached"),
    ],
)
def test_what_hinders_a_comment_is_said_and_fails_nothing(
    changed: dict[str, str], why: str, tmp_path: Path, api: type[Api]
) -> None:
    assert f"No comment: {why}" in commented(tmp_path, api, **changed)
    assert api.calls == []


def test_the_whole_action_comments_on_a_refused_pull_request(
    refused: tuple[Runner, str], tmp_path: Path, api: type[Api]
) -> None:
    runner, spec = refused
    event = tmp_path / "event.json"
    event.write_text(json.dumps({"pull_request": {"number": 7}}), "utf-8")
    served = Runner(
        runner.work,
        tmp_path / "temp",
        THE_TOKEN="secret",
        GITHUB_API_URL=api.url,  # type: ignore[attr-defined]
        GITHUB_EVENT_PATH=str(event),
        GITHUB_REPOSITORY="o/r",
    )
    ran = served.run(spec=spec, paths="reports", comment="true")
    assert ran.status == 1
    assert ran.steps[-2:] == ["Comment", "Verdict"]
    (comment,) = api.comments
    assert comment["body"].rstrip() == "<!-- audit gate -->\n" + ran.summary.rstrip()


def test_what_the_action_installs_is_locked_by_hash_and_is_all_that_is_needed() -> None:
    lines = (ROOT / ".github" / "action" / "requirements.txt").read_text("utf-8").splitlines()
    locked = {}
    for line in lines:
        if not line.startswith("#"):
            found = re.fullmatch(r"([\w-]+)==([\w.]+) --hash=sha256:[0-9a-f]{64}", line)
            assert found, line
            locked[canonical(found[1])] = found[2]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    for requirement in project["dependencies"]:
        name, least = requirement.split(">=")
        version = locked[canonical(name)]
        assert [int(n) for n in version.split(".")] >= [int(n) for n in least.split(".")]


def test_every_foreign_action_is_pinned_by_its_commit_and_names_its_version() -> None:
    files = [ROOT / "action.yml", *sorted((ROOT / ".github" / "workflows").glob("*.yml"))]
    used = [
        line.strip()
        for file in files
        for line in file.read_text("utf-8").splitlines()
        if re.search(r"\buses:", line)
    ]
    foreign = [line for line in used if not line.endswith("uses: ./")]
    assert len(used) > len(foreign) >= 3
    for line in foreign:
        assert re.search(r"uses: [\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$", line), line


def hooks() -> list[dict[str, Any]]:
    if not (ROOT / ".pre-commit-hooks.yaml").is_file():
        return []
    loaded: list[dict[str, Any]] = yaml.safe_load(
        (ROOT / ".pre-commit-hooks.yaml").read_text("utf-8")
    )
    return loaded


@pytest.mark.parametrize("hook", hooks(), ids=lambda hook: hook["id"])
def test_a_hook_passes_a_sound_commit_and_stops_a_bad_one(
    hook: dict[str, Any], tmp_path: Path
) -> None:
    from audit.cli.main import COMMANDS

    program, command, *rest = shlex.split(hook["entry"])
    assert program == "audit"
    assert hook["language"] == "python"
    if command not in COMMANDS:
        pytest.skip(f"`audit {command}` is not part of this audit")
    pattern = re.compile(hook["files"])

    def statuses(work: Path) -> int:
        names = git(work, "ls-files").splitlines()
        matched = [name for name in names if pattern.search(name)]
        assert matched
        words = [command, *rest, *hook.get("args", [])]
        words += matched if hook.get("pass_filenames", True) else []
        done = subprocess.run(
            [sys.executable, "-m", "audit", *words],
            cwd=work,
            env=os.environ | {"PYTHONPATH": packages()},
            capture_output=True,
            check=False,
        )
        return done.returncode

    if command == "render":
        sound = repository(tmp_path / "sound", {})
        shutil.copytree(ROOT / "reports", sound / "reports")
        commit(sound, "reports")
        assert statuses(sound) == 0
        (page,) = list((sound / "reports").glob("gppo*/page.md"))
        page.write_text(page.read_text("utf-8") + "\nBetter by far.\n", "utf-8")
        assert statuses(sound) == 1
        return
    assert statuses(repository(tmp_path / "sound", {"carried": CARRIED})) == 0
    assert statuses(repository(tmp_path / "bad", {"claimed": ONE_SEED})) == 1
