"""Statistics: arrays in, frozen records out; knows no JSON, no rules, no pages.

Everything is exact or a closed form: no function draws a random number. Names are imported from
their home on first use (PEP 562), so asking for one does not load the rest.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from audit.stats.base import base_delta
    from audit.stats.bootstrap import exact_bootstrap, exact_bootstrap_counts
    from audit.stats.delta import seed_delta
    from audit.stats.draws import PairAgreement, RunPair, pair_agreement, pair_agreements
    from audit.stats.floor import bernoulli_bound, floor_from_run_std, noise_floor, run_level_f_test
    from audit.stats.multiple import holm
    from audit.stats.paired import one_seed_interval, paired_t, seed_correlation
    from audit.stats.planning import (
        minimum_detectable_effect,
        power,
        samples_needed,
        seeds_needed,
        tasks_needed,
    )
    from audit.stats.rates import pass_at_k, pass_at_k_counts, unseen_collapse_bound, wilson
    from audit.stats.records import (
        ArmVariance,
        BaseDelta,
        Components,
        HolmResult,
        IntervalEstimate,
        NoiseFloor,
        PairedT,
        Proportion,
        Replication,
        ScoreArm,
        ScoreDelta,
        SeedDelta,
        SeedSpread,
    )
    from audit.stats.relatedness import DistanceRatio, PairDistance, distance_ratios, pair_distance
    from audit.stats.replicates import replication, tipping_sd
    from audit.stats.resampling import BootstrapDistribution
    from audit.stats.scores import score_delta
    from audit.stats.signflip import seed_permutation_p_value, sign_flip_p_value
    from audit.stats.spread import (
        pooled_score_spread,
        pooled_seed_spread,
        score_spread,
        seed_spread,
        variance_split,
    )
    from audit.stats.ties import EqualScores, equal_scores, equal_scores_chance
    from audit.stats.twolevel import two_level_bootstrap, two_level_sd

_HOME = {
    "ArmVariance": "records",
    "BaseDelta": "records",
    "BootstrapDistribution": "resampling",
    "Components": "records",
    "DistanceRatio": "relatedness",
    "EqualScores": "ties",
    "HolmResult": "records",
    "IntervalEstimate": "records",
    "NoiseFloor": "records",
    "PairAgreement": "draws",
    "PairDistance": "relatedness",
    "PairedT": "records",
    "Proportion": "records",
    "Replication": "records",
    "RunPair": "draws",
    "ScoreArm": "records",
    "ScoreDelta": "records",
    "SeedDelta": "records",
    "SeedSpread": "records",
    "base_delta": "base",
    "bernoulli_bound": "floor",
    "distance_ratios": "relatedness",
    "equal_scores": "ties",
    "equal_scores_chance": "ties",
    "exact_bootstrap": "bootstrap",
    "exact_bootstrap_counts": "bootstrap",
    "floor_from_run_std": "floor",
    "holm": "multiple",
    "minimum_detectable_effect": "planning",
    "noise_floor": "floor",
    "one_seed_interval": "paired",
    "pair_agreement": "draws",
    "pair_agreements": "draws",
    "pair_distance": "relatedness",
    "paired_t": "paired",
    "pass_at_k": "rates",
    "pass_at_k_counts": "rates",
    "pooled_score_spread": "spread",
    "pooled_seed_spread": "spread",
    "power": "planning",
    "replication": "replicates",
    "run_level_f_test": "floor",
    "samples_needed": "planning",
    "score_delta": "scores",
    "score_spread": "spread",
    "seed_correlation": "paired",
    "seed_delta": "delta",
    "seed_permutation_p_value": "signflip",
    "seed_spread": "spread",
    "seeds_needed": "planning",
    "sign_flip_p_value": "signflip",
    "tasks_needed": "planning",
    "tipping_sd": "replicates",
    "two_level_bootstrap": "twolevel",
    "two_level_sd": "twolevel",
    "unseen_collapse_bound": "rates",
    "variance_split": "spread",
    "wilson": "rates",
}

__all__ = [
    "ArmVariance",
    "BaseDelta",
    "BootstrapDistribution",
    "Components",
    "DistanceRatio",
    "EqualScores",
    "HolmResult",
    "IntervalEstimate",
    "NoiseFloor",
    "PairAgreement",
    "PairDistance",
    "PairedT",
    "Proportion",
    "Replication",
    "RunPair",
    "ScoreArm",
    "ScoreDelta",
    "SeedDelta",
    "SeedSpread",
    "base_delta",
    "bernoulli_bound",
    "distance_ratios",
    "equal_scores",
    "equal_scores_chance",
    "exact_bootstrap",
    "exact_bootstrap_counts",
    "floor_from_run_std",
    "holm",
    "minimum_detectable_effect",
    "noise_floor",
    "one_seed_interval",
    "pair_agreement",
    "pair_agreements",
    "pair_distance",
    "paired_t",
    "pass_at_k",
    "pass_at_k_counts",
    "pooled_score_spread",
    "pooled_seed_spread",
    "power",
    "replication",
    "run_level_f_test",
    "samples_needed",
    "score_delta",
    "score_spread",
    "seed_correlation",
    "seed_delta",
    "seed_permutation_p_value",
    "seed_spread",
    "seeds_needed",
    "sign_flip_p_value",
    "tasks_needed",
    "tipping_sd",
    "two_level_bootstrap",
    "two_level_sd",
    "unseen_collapse_bound",
    "variance_split",
    "wilson",
]


def __getattr__(name: str) -> Any:
    """Import a public name from its home on first use."""
    if name not in _HOME:
        raise AttributeError(f"module 'audit.stats' has no attribute {name!r}")
    value = getattr(import_module(f"audit.stats.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
