"""Write ``requirements.txt`` anew: the newest wheels that the action installs, with their hashes.

python .github/action/lock.py
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
PLATFORMS = ("manylinux2014_x86_64", "manylinux_2_17_x86_64", "manylinux_2_28_x86_64")
HEAD = """\
# What the action installs on Linux x86-64 with Python 3.13: wheels alone, each by its hash, so that
# a cache which another job of a pull request wrote can hold nothing else.
# Made by `python .github/action/lock.py`.
"""


def main() -> int:
    """Download what the package needs and write down what came."""
    project = tomllib.loads((HERE.parent.parent / "pyproject.toml").read_text(encoding="utf-8"))
    words = ["--only-binary", ":all:", "--python-version", "3.13", "--implementation", "cp"]
    words += [word for name in PLATFORMS for word in ("--platform", name)]
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "download", "--quiet", *words, "--dest", folder]
        subprocess.run([*command, *project["project"]["dependencies"]], check=True)
        lines = [_line(wheel) for wheel in sorted(Path(folder).glob("*.whl"))]
    (HERE / "requirements.txt").write_text(HEAD + "".join(lines), encoding="utf-8")
    return 0


def _line(wheel: Path) -> str:
    name, version = wheel.name.split("-")[:2]
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    return f"{name.replace('_', '-')}=={version} --hash=sha256:{digest}\n"


if __name__ == "__main__":
    sys.exit(main())
