"""Graders that a study file may name without a module, and where any grader's program is."""

from __future__ import annotations

from pathlib import Path

from audit.training.math_verifier import NAME, math_verify, require_math_verify
from audit.training.reward_program import RewardProgram, reward_program
from audit.training.rewards import Scorer, exact_match, math_equal

OWN_REWARDS: dict[str, Scorer] = {
    "exact_match": exact_match,
    "math_equal": math_equal,
    NAME: math_verify,
}


def program_of(folder: Path, name: str, key: str = "reward") -> RewardProgram | None:
    """Return the program of a grader or reward; None for one of these.

    Parameters
    ----------
    folder : Path
        That of the study file.
    key : str
        The setting that names it, for messages.

    Raises
    ------
    UsageError
        When its package is missing, its name is none, or there is no such module.
    """
    if name == NAME:
        require_math_verify(key)
    if name in OWN_REWARDS:
        return None
    return reward_program(folder, name, key, tuple(OWN_REWARDS))
