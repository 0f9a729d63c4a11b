"""The comments on pull requests of a repository with a history, as they are kept."""

from __future__ import annotations

from pathlib import Path

import pytest
from pull_requests import PULL_REQUESTS, SAMPLES, commented, sample

# What a reader of the comment has to see.
SEEN = {
    "pass": ["2 claims: 2 supported", "2 runs per arm more", "new study"],
    "refused": ["1 claim: 1 refused", "one-seed", "new study"],
    "policy-loosened": ["**The policy changed (audit.toml&#58; min&#95;seeds 4 to 3)", "too-few"],
    "file-removed": ["lost&#58; recipe 3", "removed&#58; reports/warmup/results.json"],
}


@pytest.mark.parametrize("name", PULL_REQUESTS)
def test_the_comment_on_a_pull_request_is_the_one_that_is_kept(name: str, tmp_path: Path) -> None:
    status, comment = commented(name, tmp_path)
    assert status == PULL_REQUESTS[name].status
    for text in SEEN[name]:
        assert text in comment
    assert comment == sample(name).read_text(encoding="utf-8"), "run: python tests/refresh.py"


def test_every_comment_that_is_kept_is_made() -> None:
    assert {path.stem for path in SAMPLES.glob("*.md")} == set(PULL_REQUESTS)
