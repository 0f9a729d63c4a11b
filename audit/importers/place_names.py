"""What the parts of a path or run name say: nothing, a step, or which run it is."""

from __future__ import annotations

import re

from audit.run_names import run_of

# Folders of every run: they tell none from another.
_NOTHING = re.compile(
    r"^(?:checkpoints?|checkpoint-\d+|(?:global_)?step_\d+|logs?|runs?|outputs?|results?|evals?"
    r"|val|valid|validation|val_outputs|log_validation|log_rollout|validation_results|rollouts?"
    r"|eval[-_]results|eval[-_]outputs?|wandb|mlruns|multirun|tensorboard(?:_logs?)?|tb|files"
    r"|exports|dumped_evals|reviews|reports|predictions|details|scores?|configs?"
    r"|v\d+-\d{8}-\d{6}|exp_\d+|version_\d+|attempt_\d+"
    r"|\d{4}-\d\d-\d\d(?:[T_-]\d\d[-:]\d\d[-:]\d\d(?:\.\d+)?)?|\d\d-\d\d-\d\d|\d{8}[-_]\d{6}"
    r"|(?:offline-)?run-\d{8}_\d{6}-\w+|latest(?:-run)?|final|best|last)$",
    re.I,
)
# Dates and times within a name; Unix seconds after two underscores.
_DATES = re.compile(
    r"[-_.]?\d{4}-\d\d-\d\d(?:[T_-]\d\d[-:]\d\d(?:[-:]\d\d)?(?:\.\d+)?)?(?![0-9])"
    r"|[-_.]?(?<!\d)\d{8}[-_T]\d{6}(?!\d)|__\d{9,}(?!\d)"
)


def telling(path: str) -> tuple[str, ...]:
    """Return the parts of a path that can tell runs apart."""
    return tuple(
        part for part in path.split("/") if part not in ("", ".", "..") and not _NOTHING.match(part)
    )


def says_nothing(part: str) -> bool:
    """Whether a folder's name is one that runs of any study have."""
    return bool(_NOTHING.match(part))


def of_model(path: str) -> tuple[str, int | None]:
    """Return a model's path without its checkpoint, and the step that named it.

    ``out/grpo-s1/global_step_100/actor`` is ``out/grpo-s1`` at step 100.
    """
    run, step = run_of(path)
    return run or path, None if step is None or step != int(step) else int(step)


def without_dates(text: str) -> str:
    """Return a name without dates and times."""
    return _DATES.sub("", text)


def shared_tail(one: tuple[str, ...], other: tuple[str, ...]) -> int:
    """Return how many last parts of ``one`` stand one after another in ``other``."""
    for size in range(min(len(one), len(other)), 0, -1):
        tail = one[-size:]
        for start in range(len(other) - size + 1):
            if other[start : start + size] == tail:
                return size
    return 0
