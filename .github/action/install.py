"""The installing steps of the action: an environment of its own, out of wheels alone.

``python -I install.py key`` says whether the locked packages fit this runner, and under which key
their downloads are cached; ``python -I install.py`` makes the environment. With locked packages pip
asks for the hash of every wheel: whatever another job of a pull request put into the cache, nothing
else is installed. The tool itself is then this action's own checkout, which is put on the path.
"""

from __future__ import annotations

import hashlib
import os
import platform
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent
LOCKED = HERE / "requirements.txt"
# What the locked wheels were built for.
FITTING = ("linux", "x86_64", (3, 13))
WHEELS = ("--only-binary", ":all:")


def fits() -> bool:
    """Whether the locked packages are for this Python and machine, and no other spec is asked."""
    here = (sys.platform, platform.machine(), sys.version_info[:2])
    return here == FITTING and not os.environ.get("SPEC")


def key() -> dict[str, str]:
    """Return the outputs of the step that looks for a cache."""
    digest = hashlib.sha256(LOCKED.read_bytes()).hexdigest()
    return {"locked": str(fits()).lower(), "key": f"audit-gate-{digest[:32]}"}


def install(folder: Path, cache: Path) -> Path:
    """Make the environment and return its Python."""
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    if not python.exists():
        python = folder / "Scripts" / "python.exe"

    def pip(command: str, *words: str) -> None:
        quietly = ("--quiet", "--disable-pip-version-check", *WHEELS)
        subprocess.run([str(python), "-I", "-m", "pip", command, *quietly, *words], check=True)

    if fits():
        words = ("--no-deps", "--require-hashes", "--requirement", str(LOCKED))
        pip("download", *words, "--dest", str(cache))  # a wheel that is there is not fetched again
        pip("install", *words, "--no-index", "--find-links", str(cache))
        place = sysconfig.get_path("purelib", "venv", {"base": str(folder)})
        Path(place, "audit_action.pth").write_text(f"{HERE.parent.parent}\n", encoding="utf-8")
    else:
        spec = os.environ.get("SPEC") or str(HERE.parent.parent)
        pip("install", spec)
    return python


def main() -> int:
    """Run one of the two steps."""
    temp = Path(os.environ["RUNNER_TEMP"])
    if sys.argv[1:] == ["key"]:
        found = key()
    else:
        found = {"python": str(install(temp / "audit-venv", temp / "audit-wheels"))}
    with Path(os.environ["GITHUB_OUTPUT"]).open("a", encoding="utf-8", newline="\n") as file:
        file.writelines(f"{name}={value}\n" for name, value in found.items())
    return 0


if __name__ == "__main__":
    sys.exit(main())
