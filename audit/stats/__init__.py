"""Statistics: arrays in, frozen records out; knows no JSON, no rules, no pages.

Everything is exact or a closed form: no function draws a random number. Names are imported from
their home on first use (PEP 562), so asking for one does not load the rest.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from audit.stats.base import base_delta
    from audit.stats.best_checkpoint import CrossFittedBest, cross_fitted_best, task_half
    from audit.stats.bootstrap import exact_bootstrap, exact_bootstrap_counts
    from audit.stats.checkpoint_rows import (
        CheckpointDesign,
        checkpoint_designs,
        pooled_components,
    )
    from audit.stats.checkpoint_tables import PooledCheckpoints, pool_checkpoints
    from audit.stats.delta import seed_delta
    from audit.stats.designs import (
        PlannedDesign,
        Prices,
        designs_to_see,
        plan_needed,
        seeds_after_look,
    )
    from audit.stats.draws import PairAgreement, RunPair, pair_agreement, pair_agreements
    from audit.stats.floor import bernoulli_bound, floor_from_run_std, noise_floor, run_level_f_test
    from audit.stats.multiple import holm
    from audit.stats.paired import one_seed_interval, paired_t, seed_correlation
    from audit.stats.planning import (
        equivalence_power,
        equivalence_seeds_needed,
        equivalence_tasks_at_least,
        gain_probability,
        minimum_detectable_effect,
        power,
        samples_needed,
        seeds_needed,
        tasks_at_least,
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
    from audit.stats.sequential import Look, SequentialPlan
    from audit.stats.sequential_power import Chances, LookChance, SequentialPower
    from audit.stats.shared import SharedSeeds, critical_correlation, shared_seeds
    from audit.stats.signflip import seed_permutation_p_value, sign_flip_p_value
    from audit.stats.spread import (
        pooled_score_spread,
        pooled_seed_spread,
        score_spread,
        seed_spread,
        variance_split,
    )
    from audit.stats.ties import EqualScores, equal_scores, equal_scores_chance
    from audit.stats.trajectory import (
        AlongRun,
        LastContrast,
        along_run,
        cheapest_checkpoints,
        last_contrast,
        seed_sd_over_checkpoints,
    )
    from audit.stats.twolevel import two_level_bootstrap, two_level_sd
    from audit.stats.unplanned import UnplannedLook, after_look

_HOME = {
    "AlongRun": "trajectory",
    "ArmVariance": "records",
    "BaseDelta": "records",
    "BootstrapDistribution": "resampling",
    "Chances": "sequential_power",
    "CheckpointDesign": "checkpoint_rows",
    "Components": "records",
    "CrossFittedBest": "best_checkpoint",
    "DistanceRatio": "relatedness",
    "EqualScores": "ties",
    "HolmResult": "records",
    "IntervalEstimate": "records",
    "LastContrast": "trajectory",
    "Look": "sequential",
    "LookChance": "sequential_power",
    "NoiseFloor": "records",
    "PairAgreement": "draws",
    "PairDistance": "relatedness",
    "PairedT": "records",
    "PlannedDesign": "designs",
    "PooledCheckpoints": "checkpoint_tables",
    "Prices": "designs",
    "Proportion": "records",
    "Replication": "records",
    "RunPair": "draws",
    "ScoreArm": "records",
    "ScoreDelta": "records",
    "SeedDelta": "records",
    "SeedSpread": "records",
    "SequentialPlan": "sequential",
    "SequentialPower": "sequential_power",
    "SharedSeeds": "shared",
    "UnplannedLook": "unplanned",
    "after_look": "unplanned",
    "along_run": "trajectory",
    "base_delta": "base",
    "bernoulli_bound": "floor",
    "cheapest_checkpoints": "trajectory",
    "checkpoint_designs": "checkpoint_rows",
    "critical_correlation": "shared",
    "cross_fitted_best": "best_checkpoint",
    "designs_to_see": "designs",
    "distance_ratios": "relatedness",
    "equal_scores": "ties",
    "equal_scores_chance": "ties",
    "equivalence_power": "planning",
    "equivalence_seeds_needed": "planning",
    "equivalence_tasks_at_least": "planning",
    "exact_bootstrap": "bootstrap",
    "exact_bootstrap_counts": "bootstrap",
    "floor_from_run_std": "floor",
    "gain_probability": "planning",
    "holm": "multiple",
    "last_contrast": "trajectory",
    "minimum_detectable_effect": "planning",
    "noise_floor": "floor",
    "one_seed_interval": "paired",
    "pair_agreement": "draws",
    "pair_agreements": "draws",
    "pair_distance": "relatedness",
    "paired_t": "paired",
    "pass_at_k": "rates",
    "pass_at_k_counts": "rates",
    "plan_needed": "designs",
    "pool_checkpoints": "checkpoint_tables",
    "pooled_components": "checkpoint_rows",
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
    "seed_sd_over_checkpoints": "trajectory",
    "seed_spread": "spread",
    "seeds_after_look": "designs",
    "seeds_needed": "planning",
    "shared_seeds": "shared",
    "sign_flip_p_value": "signflip",
    "task_half": "best_checkpoint",
    "tasks_at_least": "planning",
    "tasks_needed": "planning",
    "tipping_sd": "replicates",
    "two_level_bootstrap": "twolevel",
    "two_level_sd": "twolevel",
    "unseen_collapse_bound": "rates",
    "variance_split": "spread",
    "wilson": "rates",
}

__all__ = [
    "AlongRun",
    "ArmVariance",
    "BaseDelta",
    "BootstrapDistribution",
    "Chances",
    "CheckpointDesign",
    "Components",
    "CrossFittedBest",
    "DistanceRatio",
    "EqualScores",
    "HolmResult",
    "IntervalEstimate",
    "LastContrast",
    "Look",
    "LookChance",
    "NoiseFloor",
    "PairAgreement",
    "PairDistance",
    "PairedT",
    "PlannedDesign",
    "PooledCheckpoints",
    "Prices",
    "Proportion",
    "Replication",
    "RunPair",
    "ScoreArm",
    "ScoreDelta",
    "SeedDelta",
    "SeedSpread",
    "SequentialPlan",
    "SequentialPower",
    "SharedSeeds",
    "UnplannedLook",
    "after_look",
    "along_run",
    "base_delta",
    "bernoulli_bound",
    "cheapest_checkpoints",
    "checkpoint_designs",
    "critical_correlation",
    "cross_fitted_best",
    "designs_to_see",
    "distance_ratios",
    "equal_scores",
    "equal_scores_chance",
    "equivalence_power",
    "equivalence_seeds_needed",
    "equivalence_tasks_at_least",
    "exact_bootstrap",
    "exact_bootstrap_counts",
    "floor_from_run_std",
    "gain_probability",
    "holm",
    "last_contrast",
    "minimum_detectable_effect",
    "noise_floor",
    "one_seed_interval",
    "pair_agreement",
    "pair_agreements",
    "pair_distance",
    "paired_t",
    "pass_at_k",
    "pass_at_k_counts",
    "plan_needed",
    "pool_checkpoints",
    "pooled_components",
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
    "seed_sd_over_checkpoints",
    "seed_spread",
    "seeds_after_look",
    "seeds_needed",
    "shared_seeds",
    "sign_flip_p_value",
    "task_half",
    "tasks_at_least",
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
