"""What a model would train: whether it is sound, and a hash, the proof that arms start alike."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import nn


def all_finite(model: nn.Module) -> bool:
    """Whether all parameters are finite numbers."""
    return all(bool(parameter.isfinite().all()) for parameter in model.parameters())


def parameters_sha256(model: nn.Module) -> str:
    """SHA-256 over the trainable parameters: name, type, shape and bytes, in name order."""
    import torch

    digest = hashlib.sha256()
    for name, parameter in sorted(model.named_parameters()):
        if parameter.requires_grad:
            values = parameter.detach().cpu().contiguous()
            digest.update(f"{name} {values.dtype} {tuple(values.shape)}\n".encode())
            digest.update(values.view(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()
