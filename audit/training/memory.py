"""Whether an error means that memory did not suffice: torch has three ways to say it."""

from __future__ import annotations


def is_out_of_memory(error: BaseException) -> bool:
    """Tell Python's, the GPU allocator's and the CPU allocator's error from all others."""
    import torch

    if isinstance(error, MemoryError | torch.OutOfMemoryError):
        return True
    return isinstance(error, RuntimeError) and "allocate memory" in str(error)
