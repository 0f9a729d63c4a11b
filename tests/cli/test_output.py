"""No command destroys what it reads, or what it did not write, unless told to."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from made_fleet import CARRIED, ONE_SEED

from audit.cli.main import main
from audit.pages.render import Job, render


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A results file, another one, a link and a hard link to the first."""
    (tmp_path / "a.json").write_bytes(CARRIED.read_bytes())
    (tmp_path / "b.json").write_bytes(ONE_SEED.read_bytes())
    (tmp_path / "link.json").symlink_to("a.json")
    os.link(tmp_path / "a.json", tmp_path / "hard.json")
    monkeypatch.chdir(tmp_path)
    return tmp_path


COMMANDS = {
    "verify": ["verify", "a.json", "-o"],
    "gate": ["gate", "a.json", "-o"],
    "gate --also": ["gate", "a.json", "-q", "--also"],
    "plan": ["plan", "a.json", "-o"],
    "compare": ["compare", "a.json", "b.json", "-o"],
    "render": ["render", "a.json", "-o"],
    "export": ["export", "a.json", "--to", "model-index", "-o"],
}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("name", ["a.json", "./a.json", "link.json", "hard.json", "{absolute}"])
@pytest.mark.parametrize("force", [[], ["--force"]])
def test_an_input_is_never_written_over(
    command: str, name: str, force: list[str], study: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = name.format(absolute=study / "a.json")
    words = [*COMMANDS[command], f"json={output}" if command.endswith("also") else output]
    assert main([*words, *force]) == 2
    err = capsys.readouterr().err
    assert "is an input of this command and is kept" in err
    assert err.count("\n") == 1
    assert (study / "a.json").read_bytes() == CARRIED.read_bytes()


def test_another_results_file_is_replaced_only_when_forced(
    study: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["verify", "a.json", "-o", "b.json"]) == 2
    assert "is a results file; --force replaces it" in capsys.readouterr().err
    assert (study / "b.json").read_bytes() == ONE_SEED.read_bytes()
    main(["verify", "a.json", "-o", "b.json", "--force"])
    assert "SUPPORTED" in (study / "b.json").read_text("utf-8")
    assert main(["verify", "a.json", "-o", "b.json"]) == main(["verify", "a.json"])


def test_a_page_written_by_hand_is_kept(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (study / "page.md").write_text("# My own words\n", "utf-8")
    assert main(["render", "a.json", "-o", "page.md"]) == 2
    assert "was not written by audit; --force replaces it" in capsys.readouterr().err
    assert (study / "page.md").read_text("utf-8") == "# My own words\n"
    assert not (study / "figures").exists()
    assert main(["render", "a.json", "-o", "page.md", "--force"]) == 0
    assert main(["render", "a.json", "-o", "page.md"]) == 0  # what render wrote, it replaces


BY_HAND = ("README", "README.md", "page.html", "notes.rst", "scores.csv", "audit2.toml")
ALL_THAT_WRITE = {
    "verify": ["verify", "a.json", "-o"],
    "gate": ["gate", "a.json", "-o"],
    "gate --also": ["gate", "a.json", "-q", "--also"],
    "plan": ["plan", "--effect", "0.05", "--tasks", "100", "--seed-sd", "0.03", "-o"],
    "render": ["render", "a.json", "-o"],
    "export": ["export", "a.json", "--to", "model-index", "-o"],
    "next": ["next", "a.json", "-o"],
    "import": ["import", "table.csv", "--control", "b", "--seed-is", "training", "-o"],
}


@pytest.mark.parametrize("command", ALL_THAT_WRITE)
@pytest.mark.parametrize("name", BY_HAND)
def test_no_command_writes_over_a_page_by_hand(
    command: str, name: str, study: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [f"{arm},{seed},t{task},1" for arm in "ab" for seed in range(3) for task in range(9)]
    (study / "table.csv").write_text("\n".join(["arm,seed,task,correct", *rows]), "utf-8")
    (study / name).write_text("What we found.\n", "utf-8")
    target = f"markdown={name}" if command.endswith("also") else name
    assert main([*ALL_THAT_WRITE[command], target]) == 2
    assert "; --force replaces it" in capsys.readouterr().err
    assert (study / name).read_text("utf-8") == "What we found.\n"
    assert main([*ALL_THAT_WRITE[command], target, "--force"]) != 2
    assert (study / name).read_text("utf-8") != "What we found.\n"


@pytest.mark.parametrize("made", ["markdown", "html"])
def test_what_the_gate_wrote_it_writes_again(made: str, study: Path) -> None:
    name = {"markdown": "summary.md", "html": "fleet.html"}[made]
    for results in ("b.json", "a.json"):
        main(["gate", results, "-q", "--also", f"{made}={name}"])
    assert "1 claim: 1 supported" in (study / name).read_text("utf-8")


def test_no_page_of_a_folder_is_written_where_one_is_by_hand(
    study: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("one", "two"):
        (study / "st" / name).mkdir(parents=True)
        (study / "st" / name / "results.json").write_bytes(CARRIED.read_bytes())
        (study / "st" / name / "recipe.toml").write_text('title = "x"\n', "utf-8")
    (study / "st" / "two" / "page.md").write_text("by hand\n", "utf-8")
    assert main(["render", "st"]) == 2
    assert not (study / "st" / "one" / "page.md").exists()
    assert (study / "st" / "two" / "page.md").read_text("utf-8") == "by hand\n"


@pytest.mark.parametrize(
    "template", ["recipe.md.j2", "recipe.html.j2", "summary.md.j2", "fleet.md.j2"]
)
def test_every_shipped_page_says_who_wrote_it(template: str) -> None:
    from audit.cli.output import _RENDERED

    assert _RENDERED.search(render(Job((str(CARRIED),), template)).text.encode())


@pytest.mark.parametrize("command", ["verify", "gate"])
def test_a_closed_standard_input_is_one_line(command: str) -> None:
    words = [sys.executable, "-m", "audit", command, "-"]
    done = subprocess.run(
        ["bash", "-c", 'exec "$@" <&-', "-", *words], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr == "audit: <stdin>: standard input is closed\n"


@pytest.mark.parametrize(
    ("key", "known"),
    [
        ("claim", "claims"),
        ("Claims", "claims"),
        ("\u0441laims", "claims"),
        ("seed-results", "seed_results"),
        ("seed_result", "seed_results"),
        ("control", "controls"),
    ],
)
def test_a_key_that_is_nearly_known_is_shown_by_the_gate(
    key: str, known: str, study: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import json

    document = json.loads(CARRIED.read_text("utf-8"))
    if known == "seed_results":
        document["controls"]["fixed-clip"][key] = document["controls"]["fixed-clip"].pop(known)
    else:
        document[key] = document.pop(known)
    (study / "a.json").write_text(json.dumps(document), "utf-8")
    main(["gate", "a.json"])
    assert "SCHEMA002 unknown-key at " in (out := capsys.readouterr().out)
    assert f"did you mean {known}?" in out
