"""Which formula turned the rewards of a batch into its advantages.

Group-based policy gradients differ in what a reward is compared with and what the difference is
divided by. Both leave traces in the logged advantages, so the formula can be told from one batch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import compress
from math import floor, log10, sqrt
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

GRPO, DAPO, DR_GRPO, RLOO = "grpo", "dapo", "dr_grpo", "rloo"
BATCH_SCALED = "grpo_batch"
WHITENED_GROUPS = "reinforce_plus_plus_baseline"
WHITENED = "reinforce_plus_plus"
UNNORMALISED = "rewards"

ESTIMATORS = (GRPO, DAPO, DR_GRPO, RLOO, BATCH_SCALED, WHITENED_GROUPS, WHITENED, UNNORMALISED)

# Added to a standard deviation by the trainers: none, NumPy-based code, verl, TRL.
_EPSILONS = (0.0, 1e-8, 1e-6, 1e-4)
# Rewards and advantages are float32 where they are computed; see ADV001.
_FLOAT32 = 8 * 2.0**-24
# Doubles of 15 digits or more were not rounded for print; float32 shows 9 at the least.
MOST_DECIMALS = 12
# Fewer printed decimals are taken for values that happen to be round, 0.5 for 0.5000.
_FEWEST_DECIMALS = 4
# Where nothing fits so, advantages may have been printed with two decimals, no fewer.
COARSEST_DECIMALS = 2
# A group of equal rewards is divided by epsilon alone; the slack for rounding ends here, or any
# value would pass there.
_STEEPEST = 1e4
# With fewer different values a straight line through them tests nothing.
_FEWEST_LEVELS = 3
# How far a spread weighted by tokens may lie from the plain one where no shift is seen. In batches
# of 64 answers of 20 to 400 tokens it stays well within; a reward weighted by a half does not.
_UNSHIFTED = 0.25


@dataclass(frozen=True, slots=True)
class EstimatorMatch:
    """The estimators whose formula gives the advantages of a batch.

    Attributes
    ----------
    names : frozenset of str
        Of :data:`ESTIMATORS`; several where the formulas agree on these rewards, none where no
        formula fits.
    ddof : int or None
        0 or 1: how the standard deviation of the closest formula is computed; None without one,
        as where responses are weighted.
    epsilon : float or None
        What the closest formula adds to it.
    clipped_at : float or None
        Size at which advantages were cut off, where they fit only so.
    """

    names: frozenset[str]
    ddof: int | None = None
    epsilon: float | None = None
    clipped_at: float | None = None


@dataclass(frozen=True, slots=True)
class _Formula:
    """Advantages by one formula, and how far a unit of reward moves them."""

    name: str
    values: np.ndarray[Any, Any]
    scale: np.ndarray[Any, Any]
    ddof: int | None = None
    epsilon: float | None = None


def matching_estimators(
    rewards: Any,
    advantages: Any,
    decimals: int | None = None,
    epsilon: float | None = None,
) -> EstimatorMatch:
    """Return which estimators give the logged advantages of one batch.

    Parameters
    ----------
    rewards, advantages : array_like, shape (groups, responses)
        Of one step, in the same order. Unit of the advantages: as logged.
    decimals : int, optional
        Decimals of all logged advantages of the run; those of this batch where left out.
    epsilon : float, optional
        What a standard deviation may have added to it besides the usual values.

    Returns
    -------
    EstimatorMatch

    Raises
    ------
    ValueError
        When the two have other shapes, or a value is not finite.

    Notes
    -----
    With r a reward, m and s mean and standard deviation of its group of n, M and S those of the
    batch:

    ============================  ============================================================
    grpo                          (r - m) / (s + epsilon)
    dapo                          the same, and no group whose rewards are all equal
    dr_grpo                       r - m
    rloo                          r - mean of the other n - 1, that is n / (n - 1) (r - m)
    grpo_batch                    (r - m) / (S + epsilon)
    reinforce_plus_plus_baseline  r - m, whitened over the batch
    reinforce_plus_plus           r, whitened over the batch
    rewards                       r
    ============================  ============================================================

    Whitening weights responses alike, or by their numbers of tokens: of the latter, a straight
    line with a shift is looked for whose mean and variance some weights can give, where no formula
    fits. Values may be off by the rounding of their last decimal and by float32; where nothing
    fits, rewards are allowed theirs as well, and then advantages may be cut off at their largest
    size.

    Sources: Shao et al. 2024, arXiv:2402.03300; Yu et al. 2025, arXiv:2503.14476; Liu et al. 2025,
    arXiv:2503.20783; Ahmadian et al. 2024, arXiv:2402.14740; Hu et al. 2025, arXiv:2501.03262.
    """
    import numpy as np

    r = np.asarray(rewards, dtype=float)
    a = np.asarray(advantages, dtype=float)
    if r.ndim != 2 or r.shape != a.shape or not r.size:
        raise ValueError(f"rewards {r.shape} and advantages {a.shape} are not groups of responses")
    if not (np.isfinite(r).all() and np.isfinite(a).all()):
        raise ValueError("rewards and advantages must be finite")
    formulas = list(_formulas(r, _epsilons(epsilon)))
    own = written_decimals(a) if decimals is None else decimals
    off = half_units(a, own)
    in_rewards = written_decimals(r)
    # Rewards of few decimals are counts, halves and quarters, exact as they stand.
    of_rewards = half_units(r, in_rewards) if in_rewards >= _FEWEST_DECIMALS else 0.0
    coarse = half_units(a, own, COARSEST_DECIMALS)
    for rounding, reward_rounding in ((off, 0.0), (off, of_rewards), (coarse, of_rewards)):
        found = _fitting(formulas, r, a, rounding, reward_rounding)
        if found.names:
            return found
    for rounding in (off, coarse):
        if names := _weighted(r, a, rounding):
            return EstimatorMatch(names)
    return _cut_off(formulas, r, a, off)


def is_rescaled(
    name: str, rewards: Any, advantages: Any, decimals: int, epsilon: float | None = None
) -> bool:
    """Return whether logged advantages are those of an estimator, times a constant and shifted.

    So they are where a trainer whitens them over the batch after it has computed them.

    Parameters
    ----------
    name : str
        Of :data:`ESTIMATORS`.
    rewards, advantages : array_like, shape (groups, responses)
    decimals : int
        Of the logged advantages.
    epsilon : float, optional
        As for :func:`matching_estimators`.
    """
    import numpy as np

    r, a = np.asarray(rewards, dtype=float), np.asarray(advantages, dtype=float)
    slack = 2 * half_units(a, decimals, COARSEST_DECIMALS)
    plain = GRPO if name == DAPO else name
    for formula in _formulas(r, _epsilons(epsilon)):
        spread = formula.values - formula.values.mean()
        size = float((spread**2).sum())
        if formula.name != plain or not size:
            continue
        slope = float((spread * a).sum()) / size
        line = slope * spread + a.mean()
        allowed = slack + 4 * _FLOAT32 * (np.abs(a) + slope * float(np.abs(r).max()))
        if slope > 0 and (np.abs(a - line) <= allowed).all():
            return True
    return False


def written_decimals(values: Any) -> int:
    """Return the most decimals of the shortest texts of values, at most 12.

    What is exactly a float32 is taken for one, and has the text of a float32.
    """
    import numpy as np

    most = 0
    different = np.array(sorted(set(np.asarray(values, dtype=float).ravel().tolist())))
    for value in different[different % 1 != 0]:  # whole numbers have none
        with np.errstate(over="ignore"):  # beyond the range of float32
            single = np.float32(value)
        text = str(single) if float(single) == value else repr(float(value))
        mantissa, _, exponent = text.partition("e")
        digits = len(mantissa.partition(".")[2].rstrip("0")) - int(exponent or 0)
        most = max(most, digits)
        if most >= MOST_DECIMALS:
            return MOST_DECIMALS
    return most


def half_units(values: Any, decimals: int, fewest: int = _FEWEST_DECIMALS) -> Any:
    """Return how far each value may be from the exact one, for values printed with ``decimals``.

    Half a unit of the last decimal, or of the ``fewest`` that are taken for printed ones; where all
    were printed with so many digits, large values show fewer decimals than the smallest.
    """
    import numpy as np

    decimals = max(decimals, fewest)
    sizes = np.abs(np.asarray(values, dtype=float))
    half = np.full(sizes.shape, 0.5 * 10.0**-decimals)
    smallest = float(sizes[sizes > 0].min(initial=np.inf))
    if decimals >= MOST_DECIMALS or smallest == np.inf:
        return half
    digits = max(_FEWEST_DECIMALS, decimals + floor(log10(smallest)) + 1)
    exponents = np.floor(np.log10(np.maximum(sizes, smallest)))
    return np.maximum(half, 0.5 * 10.0 ** (exponents - digits + 1))


def _epsilons(own: float | None) -> tuple[float, ...]:
    """Return what a standard deviation may have added to it, each once."""
    return _EPSILONS if own is None else tuple(dict.fromkeys((*_EPSILONS, own)))


def _formulas(r: np.ndarray[Any, Any], epsilons: Sequence[float]) -> Iterator[_Formula]:
    import numpy as np

    n = r.shape[1]
    centred = r - r.mean(axis=1, keepdims=True)
    # A group of equal rewards has no spread; what rounding leaves of its mean is none either.
    flat = (r == r[:, :1]).all(axis=1)
    centred[flat] = 0.0
    one = np.ones_like(r)
    yield _Formula(UNNORMALISED, r, one)
    yield _Formula(DR_GRPO, centred, one)
    if n > 1:
        yield _Formula(RLOO, centred * (n / (n - 1)), one * (n / (n - 1)))
    whole = r - r.mean()
    of_groups = (centred**2).sum(axis=1, keepdims=True)
    of_batch, of_centred = (float((spread**2).sum()) for spread in (whole, centred))
    for ddof in (1, 0):
        for epsilon in epsilons:
            if n > ddof:
                within = np.sqrt(of_groups / (n - ddof)) + epsilon
                scale = np.where(within > 0, 1.0 / np.where(within > 0, within, 1.0), 0.0)
                steep = np.minimum(scale, _STEEPEST)
                yield _Formula(GRPO, centred * scale, one * steep, ddof, epsilon)
            if r.size <= ddof:
                continue
            for name, numerator, squares in (
                (BATCH_SCALED, centred, of_batch),
                (WHITENED_GROUPS, centred, of_centred),
                (WHITENED, whole, of_batch),
            ):
                width = sqrt(squares / (r.size - ddof)) + epsilon
                factor = 1.0 / width if width > 0 else 0.0
                steepest = one * min(factor, _STEEPEST)
                yield _Formula(name, numerator * factor, steepest, ddof, epsilon)


def _fitting(
    formulas: list[_Formula],
    r: np.ndarray[Any, Any],
    a: np.ndarray[Any, Any],
    rounding: np.ndarray[Any, Any],
    in_rewards: Any,
) -> EstimatorMatch:
    import numpy as np

    largest = float(np.abs(r).max())
    values = np.array([formula.values for formula in formulas])
    scale = np.array([formula.scale for formula in formulas])
    size = np.abs(values)
    allowed = rounding + _FLOAT32 * (size + largest * scale) + (2 + size) * scale * in_rewards
    misses = np.abs(a - values)
    fits = (misses <= allowed).all(axis=(1, 2)).tolist()
    best: dict[str, tuple[float, _Formula]] = {}
    for formula, worst in compress(
        zip(formulas, misses.max(axis=(1, 2)).tolist(), strict=True), fits
    ):
        if formula.name not in best or worst < best[formula.name][0]:
            best[formula.name] = (worst, formula)
    closest = min(best.values(), key=lambda pair: pair[0])[1] if best else None
    return EstimatorMatch(
        _with_dapo(set(best), r),
        closest.ddof if closest else None,
        closest.epsilon if closest else None,
    )


def _with_dapo(names: set[str], r: np.ndarray[Any, Any]) -> frozenset[str]:
    flat = (r == r[:, :1]).all(axis=1)
    return frozenset(names | ({DAPO} if GRPO in names and not flat.any() else set()))


def _weighted(
    r: np.ndarray[Any, Any], a: np.ndarray[Any, Any], rounding: np.ndarray[Any, Any]
) -> frozenset[str]:
    """Return what advantages may be that are rewards whitened with some weights of the responses.

    They are then (x - c) / w in all groups, with c between the smallest and the largest x and
    w^2 at most (c - min)(max - c), the largest variance around such a mean (Bhatia and Davis).
    """
    import numpy as np

    for name, x in ((WHITENED_GROUPS, r - r.mean(axis=1, keepdims=True)), (WHITENED, r)):
        means = np.unique(np.round(r.mean(axis=1), 9))
        levels = np.unique(np.round(x, 9))
        if len(means) < 2 or (len(levels) < _FEWEST_LEVELS and name == WHITENED_GROUPS):
            continue
        low, high = x.min(), x.max()
        slope = (a[x == high].mean() - a[x == low].mean()) / (high - low)
        if slope <= 0:
            continue
        shift = float(np.mean(a - slope * x))
        largest = slope * float(np.abs(r).max()) + abs(shift)
        slack = 2 * rounding + 2 * _FLOAT32 * (np.abs(a) + largest)
        if not (np.abs(a - slope * x - shift) <= slack).all():
            continue
        centre, width = -shift / slope, 1 / slope
        # Without a shift any constant factor, as a weight of the reward, gives a straight line.
        if abs(shift) <= slack.max() and abs(width / float(x.std()) - 1) > _UNSHIFTED:
            continue
        most = (centre - low) * (high - centre)
        if low < centre < high and width**2 <= most * r.size / (r.size - 1):
            return frozenset({name})
    return frozenset()


def _cut_off(
    formulas: list[_Formula],
    r: np.ndarray[Any, Any],
    a: np.ndarray[Any, Any],
    rounding: np.ndarray[Any, Any],
) -> EstimatorMatch:
    """Return what fits where advantages beyond the largest one were cut off at its size."""
    import numpy as np

    limit = float(np.abs(a).max())
    largest = float(np.abs(r).max())
    names: set[str] = set()
    closest: _Formula | None = None
    for formula in formulas:
        size = np.abs(formula.values)
        allowed = rounding + _FLOAT32 * (size + largest * formula.scale)
        cut = size > limit + allowed
        inside = ~cut & (size > allowed)
        fits = np.abs(a - np.clip(formula.values, -limit, limit)) <= allowed
        # What was not cut off must be the larger part, and of two sizes at the least, or any
        # formula of large values fits.
        sizes = np.unique(np.round(size[inside & (size < limit - allowed)], _FEWEST_DECIMALS))
        if fits.all() and cut.any() and inside.sum() > cut.sum() and len(sizes) > 1:
            names.add(formula.name)
            closest = closest or formula
    if closest is None:
        return EstimatorMatch(frozenset())
    return EstimatorMatch(_with_dapo(names, r), closest.ddof, closest.epsilon, limit)
