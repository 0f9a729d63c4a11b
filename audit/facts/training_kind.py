"""What kind of training a file is of, as far as it says: RL, or preferences."""

from __future__ import annotations

from collections.abc import Iterable

from audit.results import Results, Run

# Loss types in the names of TRL.
_LOSSES = {
    "RL": {"grpo", "dapo", "bnpo", "dr_grpo", "cispo", "sapo", "luspo", "gspo", "ppo", "rloo"},
    "DPO": {"sigmoid", "hinge", "ipo", "robust", "exo_pair", "nca_pair", "bco_pair", "sppo_hard"},
    "SFT": {"nll", "dft"},
}


def training_kind(results: Results) -> str | None:
    """Return ``RL``, ``DPO`` or ``SFT`` where all trained runs that tell are of one; else None.

    A run tells by its loss type, or by rewards or groups in its training log.
    """
    found = {kind for run in _runs(results) if (kind := _kind(run)) is not None}
    return found.pop() if len(found) == 1 else None


def _runs(results: Results) -> Iterable[Run]:
    return results.runs


def _kind(run: Run) -> str | None:
    loss = run.telemetry.get("loss_type") or run.protocol.get("loss_type")
    if loss is not None:
        named = str(loss).lower()
        return next((kind for kind, losses in _LOSSES.items() if named in losses), None)
    if any(step.get("rewards") or step.get("advantages") for step in run.training):
        return "RL"
    return None
