"""A hash of parameters, of whatever framework, without importing it."""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from audit.errors import RecordingError
from audit.recording.plain_values import shown

_SHA256 = re.compile(r"[0-9a-f]{64}")


def parameters_digest(parameters: Any, what: str) -> str:
    """Return the SHA-256 of parameters, the same for the same values wherever they lie.

    Parameters
    ----------
    parameters : str, bytes or mapping
        64 hexadecimal digits, which are taken as they are; bytes, such as those of a checkpoint's
        file; or arrays or tensors by name, nested as deep as they come (``model.state_dict()``, a
        Flax or Haiku tree). Of each the name, type, shape and bytes are hashed, in the order of
        the names, so neither the order of insertion, the device nor the layout in memory counts.

    Raises
    ------
    RecordingError
        When it is anything else, or a mapping without arrays.
    """
    if isinstance(parameters, str):
        if not _SHA256.fullmatch(parameters.lower()):
            raise RecordingError(
                f"{what}: expected 64 hexadecimal digits, bytes or arrays by name, got "
                f"{shown(parameters)}"
            )
        return parameters.lower()
    if isinstance(parameters, bytes | bytearray | memoryview):
        return hashlib.sha256(parameters).hexdigest()
    if not isinstance(parameters, Mapping):
        raise RecordingError(
            f"{what}: expected 64 hexadecimal digits, bytes or arrays by name, got "
            f"{type(parameters).__name__}; of a torch module give state_dict()"
        )
    arrays = dict(_named(parameters, ""))
    if not arrays:
        raise RecordingError(f"{what}: no arrays in it")
    digest = hashlib.sha256()
    for name in sorted(arrays):
        kind, shape, content = _bytes(arrays[name], f"{what} {name}")
        digest.update(f"{name} {kind} {shape}\n".encode())
        digest.update(content)
    return digest.hexdigest()


def _named(tree: Mapping[Any, Any], path: str) -> Iterator[tuple[str, Any]]:
    for key, value in tree.items():
        name = f"{path}{key}"
        if isinstance(value, Mapping):
            yield from _named(value, f"{name}/")
        else:
            yield name, value


def _bytes(value: Any, what: str) -> tuple[str, tuple[int, ...], Any]:
    torch = sys.modules.get("torch")  # loaded already where there is a tensor
    if torch is not None and isinstance(value, torch.Tensor):
        plain = value.detach().cpu().contiguous()
        # As bytes: numpy has no bfloat16.
        content = plain.reshape(-1).view(torch.uint8).numpy()
        return str(plain.dtype), tuple(plain.shape), content.tobytes()
    import numpy as np

    array = np.asarray(value)
    if array.dtype.hasobject or array.dtype.kind in "USMm":
        raise RecordingError(f"{what}: expected an array of numbers, got {shown(value)}")
    little = array.astype(array.dtype.newbyteorder("<"), order="C", copy=False)
    return array.dtype.name, array.shape, little.tobytes()
