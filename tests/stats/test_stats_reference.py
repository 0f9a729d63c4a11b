"""Every worked example with its known numbers, to 1e-9."""

from __future__ import annotations

import json
from math import isclose
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import audit.stats as stats

HERE = Path(__file__).resolve()
CASES = json.loads((HERE.parents[1] / "data" / "statistics_reference_values.json").read_text())
SHARED = HERE.parents[3] / "shared" / "spec" / "statistics_reference_values.json"


def looked_up(value: Any, path: str) -> Any:
    """Follow a dotted path of attributes, indices and a few derived figures."""
    for step in path.split(".") if path else ():
        if step == "at90":
            value = value.at(0.9)
        elif step == "half":
            value = (value.high - value.low) / 2
        elif step == "p_at_mean":
            value = value.pmf[np.argmin(np.abs(value.support - value.mean))]
        elif step == "sampling_floor":
            value = value.sampling_sd * value.printed / value.run_std
        else:
            value = value[int(step)] if step.isdigit() else getattr(value, step)
    return value


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_a_worked_example_gives_its_known_numbers(case: dict[str, Any]) -> None:
    result = getattr(stats, case["call"])(*case["args"], **case["kwargs"])
    assert case["expect"]
    for path, expected in case["expect"].items():
        found = looked_up(result, path)
        if isinstance(expected, (str, bool)):
            assert found == expected, path
        else:
            assert isclose(found, expected, rel_tol=1e-9, abs_tol=1e-9), (path, found, expected)
            if path.endswith("p_value"):
                assert isclose(found, expected, rel_tol=1e-9), (path, found, expected)


def numbers(value: Any) -> list[float]:
    """All numbers inside nested lists and objects."""
    if isinstance(value, bool):
        return []
    if isinstance(value, (int, float)):
        return [float(value)]
    if isinstance(value, dict):
        return [n for v in value.values() for n in numbers(v)]
    if isinstance(value, list):
        return [n for v in value for n in numbers(v)]
    return []


@pytest.mark.skipif(not SHARED.exists(), reason="the shared reference values are not here")
@pytest.mark.parametrize("example", sorted({case["name"].split()[0] for case in CASES}))
def test_every_shared_number_is_among_ours(example: str) -> None:
    shared = json.loads(SHARED.read_text())
    (name,) = [key for key in shared if key.startswith(f"{example}_")]
    # What the rule does not use: unfloored forms, the variance beside its root, rational text.
    unused = {"unpaired_nofloor", "paired_nofloor", "df_satterthwaite", "var", "t"}
    theirs = {k: v for k, v in shared[name].items() if k not in unused}
    if example == "W16":
        del theirs["k"]  # the answers behind a score are told, not tasks and answers for each
    for part in theirs.values():
        if isinstance(part, dict):
            for key in unused & part.keys():
                del part[key]
    chosen = [case for case in CASES if case["name"].split()[0] == example]
    ours = np.array([n for c in chosen for n in numbers([c["args"], c["kwargs"], c["expect"]])])
    pmf = theirs.pop("boot_pmf_over_27", {})
    for number in numbers(theirs) + [n / 27 for n in numbers(pmf)]:
        assert np.abs(ours - number).min() < 1e-12, (name, number)
