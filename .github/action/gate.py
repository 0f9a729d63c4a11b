"""The judging step of the action: ``audit gate``, its summary, annotations and outputs.

Reads the inputs from ``AUDIT_*`` variables, so that no input is ever part of a shell script, and
leaves the gate's exit status as the output ``status`` for the last step.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

# What a step summary holds, less what other steps may have written.
MOST_BYTES = 900_000


def lines(name: str) -> list[str]:
    """Return the lines of an input that are not blank."""
    return [line.strip() for line in os.environ.get(name, "").splitlines() if line.strip()]


def command(folder: Path) -> list[str]:
    """Return the command line that the inputs ask for."""
    # Isolated: the checkout under review is the working folder, and nothing there is imported.
    words = [sys.executable, "-I", "-m", "audit", "gate"]
    for option, name in (
        ("--policy", "AUDIT_POLICY"),
        ("--fail-on", "AUDIT_FAIL_ON"),
        ("--changed-since", "AUDIT_CHANGED_SINCE"),
        ("--policy-from", "AUDIT_POLICY_FROM"),
        ("--cache", "AUDIT_CACHE"),
        ("--claim", "AUDIT_CLAIM"),
    ):
        words += [f"{option}={value}" for value in lines(name)]
    for made in ("json", "markdown", "github"):
        words += ["--also", f"{made}={folder / 'report'}.{made}"]
    return [*words, "--", *lines("AUDIT_PATHS")]


def append(name: str, text: str) -> None:
    """Append to one of the files the runner reads after a step."""
    with Path(os.environ[name]).open("a", encoding="utf-8", newline="\n") as file:
        file.write(text)


def outputs(folder: Path, status: int) -> dict[str, str]:
    """Return the outputs of the step; without a report all that is known is that it did not run."""
    found = {"status": str(status), "verdict": "could not run" if status < 3 else "failed"}
    report = folder / "report.json"
    if report.is_file():
        document = json.loads(report.read_text(encoding="utf-8"))
        counts = document["counts"]
        found |= {key: str(counts[key]) for key in ("errors", "warnings", "supported", "refused")}
        found |= {"verdict": document["verdict"], "report": str(report)}
        found["summary"] = str(folder / "report.markdown")
    return found


def main() -> int:
    """Run the gate; the status is 0 whatever it found, the last step gives the gate's."""
    folder = Path(os.environ["RUNNER_TEMP"]) / "audit-report"
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("report.*"):
        old.unlink()
    done = subprocess.run(command(folder), check=False, stderr=subprocess.PIPE)
    said = done.stderr.decode("utf-8", "replace")
    sys.stderr.write(said)
    summary = folder / "report.markdown"
    if summary.is_file():
        text = summary.read_bytes()[:MOST_BYTES].decode("utf-8", "ignore")
    else:  # wrong usage: what it said is all there is, and no markup
        text = "## audit gate could not run\n\n" + "".join(f"    {x}\n" for x in said.splitlines())
    append("GITHUB_STEP_SUMMARY", text + "\n")
    annotations = folder / "report.github"
    if annotations.is_file():
        sys.stdout.write(annotations.read_text(encoding="utf-8"))
    status = done.returncode if 0 <= done.returncode <= 3 else 3  # killed: fail closed
    found = outputs(folder, status)
    append("GITHUB_OUTPUT", "".join(f"{key}={value}\n" for key, value in found.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
