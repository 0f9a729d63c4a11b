"""The hash of parameters: the same for the same values, whatever holds them."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from audit.recording.parameter_hash import parameters_digest

ARRAYS = st.dictionaries(
    st.text(min_size=1, max_size=5),
    arrays.arrays(st.sampled_from([np.float32, np.int64, np.uint8]), arrays.array_shapes()),
    min_size=1,
    max_size=4,
)


def digest(parameters: object) -> str:
    return parameters_digest(parameters, "final")


@given(ARRAYS)
def test_the_order_of_names_and_the_layout_in_memory_do_not_count(
    named: dict[str, np.ndarray[tuple[int, ...], np.dtype[np.generic]]],
) -> None:
    turned = {name: np.asfortranarray(named[name]) for name in reversed(list(named))}
    swapped = {name: array.astype(array.dtype.newbyteorder(">")) for name, array in named.items()}
    assert digest(named) == digest(turned) == digest(swapped)


@given(ARRAYS)
def test_any_other_value_name_type_or_shape_is_another_hash(
    named: dict[str, np.ndarray[tuple[int, ...], np.dtype[np.generic]]],
) -> None:
    name = sorted(named)[0]
    others = [
        named | {name: named[name] + np.array(1, named[name].dtype)},
        {(key if key != name else f"{key}'"): array for key, array in named.items()},
        named | {name: named[name].astype(np.float64)},
        named | {name: named[name][None]},
    ]
    # NaN + 1 is NaN, and large floats may not change.
    changed = [other for other in others if repr(other) != repr(named)]
    assert digest(named) not in {digest(other) for other in changed}


def test_it_is_the_sha256_of_names_types_shapes_and_bytes() -> None:
    weights = np.array([[1.5, -2.0]], dtype=np.float32)
    expected = hashlib.sha256(b"w float32 (1, 2)\n" + weights.tobytes()).hexdigest()
    assert digest({"w": weights}) == expected


def test_nested_trees_are_named_by_their_paths() -> None:
    leaf = np.zeros(2, dtype=np.float32)
    assert digest({"a": {"b": leaf}}) == digest({"a/b": leaf})


def test_digests_and_bytes_are_taken_as_they_are() -> None:
    known = hashlib.sha256(b"x").hexdigest()
    assert (
        digest(known) == digest(known.upper()) == digest(b"x") == digest(bytearray(b"x")) == known
    )


def test_tensors_are_hashed_with_their_own_types() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    tensor = torch.arange(6, dtype=torch.float32).reshape(2, 3)
    turned = tensor.t().contiguous().t()  # the same values in another layout
    assert digest({"w": tensor}) == digest({"w": turned}) == digest({"w": tensor.requires_grad_()})
    half = torch.ones(3, dtype=torch.bfloat16)
    assert digest({"w": half}) != digest({"w": half.float()})
    expected = hashlib.sha256(b"w torch.bfloat16 (3,)\n" + b"\x80\x3f" * 3).hexdigest()
    assert digest({"w": half}) == expected
