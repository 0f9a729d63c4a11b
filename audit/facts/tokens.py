"""Tokens that training generated, which is the compute that arms are compared by."""

from __future__ import annotations

from audit.results import Arm, Run

GENERATED = "generated_training_tokens_including_rejected_groups"


def training_tokens(run: Run) -> int | None:
    """Return the tokens that a run generated in training, if recorded."""
    tokens = run.sampling.get(GENERATED)
    if tokens is None:
        tokens = (run.document.get("cost") or {}).get("generated_tokens")
    return None if tokens is None else int(tokens)


def spent(arm: Arm) -> list[int] | None:
    """Return the training tokens of the arm's finished runs; None where one is not recorded."""
    tokens = [training_tokens(run) for run in arm.finished]
    known = [count for count in tokens if count is not None]
    return known if known and len(known) == len(tokens) else None
