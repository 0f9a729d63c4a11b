"""The model a task starts from: a folder beside the study file, or a public id."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from audit.errors import UsageError
from audit.partition import file_sha256
from audit.paths import is_folder

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

Dtype = Literal["float32", "bfloat16", "float16"]


def model_beside(folder: Path, model: str) -> str:
    """Return the absolute path of a model's folder, or its public id where there is no folder.

    Raises
    ------
    UsageError
        When nothing is named.
    """
    if not model.strip():
        raise UsageError("model: must name a folder or a public id")
    local = folder / model
    return str(local.resolve()) if is_folder(local) else model


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A pretrained model and its tokenizer; ``model`` is an absolute folder or a public id."""

    model: str
    revision: str
    dtype: Dtype

    def describe(self) -> dict[str, Any]:
        """Return the ``checkpoint`` block: id, revision and hashes.

        Raises
        ------
        UsageError
            When the model cannot be loaded, or has weights that are no finite numbers.
        """
        from audit.training.parameters import all_finite, parameters_sha256

        model = self.fresh_model()
        if not all_finite(model):
            raise UsageError(f"model: {self.model} has weights that are no finite numbers")
        revision = self.revision or getattr(model.config, "_commit_hash", None)
        folder = Path(self.model)
        # A folder's place on a machine identifies nothing; its name and hashes do.
        name = {"public_id": folder.name if is_folder(folder) else self.model}
        if revision:
            name["revision"] = revision
        block: dict[str, Any] = {**name, "parameters_sha256": parameters_sha256(model)}
        if is_folder(folder):
            files = {p.name: file_sha256(p) for p in sorted(folder.iterdir()) if p.is_file()}
            block["verified_mirror"] = {**name, "file_sha256": files}
        return block

    def tokenizer(self) -> PreTrainedTokenizerBase:
        """Load the tokenizer, padding on the left.

        Raises
        ------
        UsageError
            When it cannot be loaded or has no token to pad with.
        """
        from transformers import AutoTokenizer

        with self._loading("tokenizer"):
            tokens = AutoTokenizer.from_pretrained(
                self.model, revision=self.revision or None, padding_side="left"
            )
        if tokens.pad_token is None:
            if tokens.eos_token is None:
                raise UsageError(
                    f"model: the tokenizer of {self.model} has no end and no pad token"
                )
            tokens.pad_token = tokens.eos_token
        return tokens

    def fresh_model(self) -> PreTrainedModel:
        """Load a fresh copy of the model.

        Raises
        ------
        UsageError
            When it cannot be loaded.
        """
        import torch
        from transformers import AutoModelForCausalLM

        with self._loading("model"):
            return AutoModelForCausalLM.from_pretrained(
                self.model, revision=self.revision or None, dtype=getattr(torch, self.dtype)
            )

    @contextmanager
    def _loading(self, what: str) -> Iterator[None]:
        from safetensors import SafetensorError

        try:
            yield
        except (OSError, ValueError, RuntimeError, SafetensorError) as error:
            known = is_folder(self.model)
            place = self.model if known else f"{self.model!r} (no folder beside the study file)"
            reason = str(error).strip().partition("\n")[0] or type(error).__name__
            raise UsageError(f"model: no {what} can be loaded from {place}: {reason}") from error
