"""Which weights an evaluation loaded, as far as the arguments of its model name them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# A model's adapter names the run that trained it; the base below it is many runs' own.
_ADAPTERS = ("peft", "lora_local_path", "lora_path", "adapter", "adapter_path", "delta")
_WEIGHTS = ("model_path", "pretrained", "path", "checkpoint", "checkpoint_path")


def loaded_weights(arguments: str | Mapping[str, Any] | None) -> str | None:
    """Return the path or name of the weights that were loaded, None where nothing names them.

    The name under which a server offers a model is none: several weights may have been behind it.

    Parameters
    ----------
    arguments : str, mapping or None
        Arguments of the model, as ``key=value`` pairs with commas between them, or by key.
    """
    given = _pairs(arguments) if isinstance(arguments, str) else dict(arguments or {})
    for keys in (_ADAPTERS, _WEIGHTS):
        named = next((given[key] for key in keys if isinstance(given.get(key), str)), None)
        if named:
            revision = given.get("revision")
            return f"{named},revision={revision}" if revision else str(named)
    return None


def _pairs(text: str) -> dict[str, Any]:
    pairs = (part.partition("=") for part in text.split(","))
    return {key.strip(): value.strip() for key, sign, value in pairs if sign}
