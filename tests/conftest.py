"""Where tests find the material beside the checkout, and what they skip without it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings

# The same examples on every machine, and none that fails because the machine was busy.
settings.register_profile("audit", deadline=None, derandomize=True)
settings.load_profile("audit")

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared"


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real files beside the checkout; not part of the project."""
    if not SHARED.is_dir():
        pytest.skip("the folder `shared` with real files is not beside this checkout")
    return SHARED


@pytest.fixture(scope="session")
def root() -> Path:
    """The top of the checkout, or of the folder the tests were copied to."""
    return ROOT
