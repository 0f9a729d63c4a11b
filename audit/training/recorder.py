"""Turn what a trainer saw into the ``training`` records of a results file. No torch.

Three levels. ``full`` keeps every response of every update. ``sparse`` keeps the first and last
rounds response by response, of all groups or of the first few, and sums up the others.
``summary`` sums up all of them: right answers of each group and a few metrics to six significant
digits; the rewards and rows are those of step 1 alone (they show that two arms started alike).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal

from audit.training.surface import SurfaceScan

Level = Literal["full", "sparse", "summary"]

_DIGITS = 6
_SUMMARY_METRICS = (
    "audit/clip_fraction",
    "audit/max_abs_log_ratio",
    "audit/upper_mean",
    "clip_ratio/region_mean",
    "completions/clipped_ratio",
    "completions/mean_length",
    "entropy",
    "kl",
    "learning_rate",
    "reward",
)


@dataclass(frozen=True, slots=True)
class ResponseAudit:
    """One response in one update.

    ``clipped_tokens`` counts ratios outside the bounds, ``gated_clipped_tokens`` those of them
    whose side the sign of the advantage lets the clip act on. ``lower_mean`` and ``upper_mean``
    are means of the bounds over the trained tokens, the upper one capped at ``1 / p_old``.
    """

    sequence: int
    tokens: int
    clipped_tokens: int
    gated_clipped_tokens: int
    clip_fraction: float
    gated_clip_fraction: float
    lower_mean: float
    upper_mean: float
    max_abs_log_ratio: float


@dataclass(frozen=True, slots=True)
class Update:
    """One optimizer step: the loss before it and the gradient norm before any clipping of it."""

    loss: float
    gradient_l2_norm: float
    audits: tuple[ResponseAudit, ...]
    metrics: Mapping[str, float]


@dataclass(slots=True)
class RoundRecord:
    """One batch of rollouts and the updates made on it; sequences in group order."""

    rewards: list[float] = field(default_factory=list)
    advantages: list[float] = field(default_factory=list)
    correct: list[int] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)
    truncated: list[bool] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)
    updates: list[Update] = field(default_factory=list)


@dataclass(slots=True)
class Recorder:
    """Collects rounds and writes them at a level.

    Parameters
    ----------
    level : {"full", "sparse", "summary"}
    group_size : int
        Responses in a group.
    every : int
        Below level ``full``, keep one round in so many, and the first and the last.
    edge_rounds : int
        At level ``sparse``, how many rounds at each end are kept response by response.
    audited_groups : int
        At level ``sparse``, of how many groups of such a round the responses are audited; 0 stands
        for all.
    """

    level: Level
    group_size: int
    geometry: str
    topology: str
    every: int = 1
    edge_rounds: int = 1
    audited_groups: int = 0
    rounds: list[RoundRecord] = field(default_factory=list)
    surface: SurfaceScan = field(default_factory=SurfaceScan)
    rejected_groups: int = 0
    rejected_tokens: int = 0

    def begin(
        self,
        rewards: Sequence[float],
        advantages: Sequence[float],
        correct: Sequence[int],
        tokens: Sequence[int],
        truncated: Sequence[bool],
        rows: Sequence[int],
    ) -> int:
        """Take one generated batch, and return the index its first sequence has in its round.

        A batch generated before the previous one saw an optimizer step joins its round: both
        are parts of one accumulation window.
        """
        if not self.rounds or self.rounds[-1].updates:
            self.rounds.append(RoundRecord())
        current = self.rounds[-1]
        offset = len(current.rewards)
        current.rewards.extend(rewards)
        current.advantages.extend(advantages)
        current.correct.extend(correct)
        current.tokens.extend(tokens)
        current.truncated.extend(truncated)
        current.rows.extend(rows)
        return offset

    def reject(self, groups: int, tokens: int) -> None:
        """Count groups without an advantage that are not trained on, and their tokens."""
        self.rejected_groups += groups
        self.rejected_tokens += tokens

    def end_update(self, update: Update) -> None:
        """Take one optimizer step made on the current round."""
        self.rounds[-1].updates.append(update)

    def state(self) -> dict[str, Any]:
        """Return what was taken so far as JSON has it, for `restore`."""
        return {
            "rounds": [
                {**_columns(r, _ROUND), "updates": [_update_state(u) for u in r.updates]}
                for r in self.rounds
            ],
            "surface": self.surface.state(),
            "rejected_groups": self.rejected_groups,
            "rejected_tokens": self.rejected_tokens,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take up what another recorder of the same settings had taken."""
        self.rounds = [
            RoundRecord(**{**r, "updates": [_update_of(u) for u in r["updates"]]})
            for r in state["rounds"]
        ]
        self.surface.restore(state["surface"])
        self.rejected_groups = state["rejected_groups"]
        self.rejected_tokens = state["rejected_tokens"]

    @property
    def generated_tokens(self) -> int:
        """Tokens sampled during training, those of rejected groups included."""
        return self.rejected_tokens + sum(sum(r.tokens) for r in self.rounds)

    @property
    def trained_tokens(self) -> int:
        """Tokens that entered a loss, counted once for each update they were part of."""
        return sum(a.tokens for r in self.rounds for u in r.updates for a in u.audits)

    @property
    def groups(self) -> int:
        """Groups sampled during training, rejected ones included."""
        return self.rejected_groups + sum(len(r.rewards) // self.group_size for r in self.rounds)

    @property
    def zero_advantage_groups(self) -> int:
        """Groups whose rewards are all equal, so that no response has an advantage."""
        kept = sum(_flat_groups(r, self.group_size) for r in self.rounds)
        return self.rejected_groups + kept

    @property
    def updates(self) -> int:
        """Optimizer steps made."""
        return sum(len(r.updates) for r in self.rounds)

    def clip_activity(self) -> dict[str, int]:
        """Count updates after the first of their round, those that clipped, and tokens."""
        later = [u for r in self.rounds for u in r.updates[1:]]
        return {
            "updates": self.updates,
            "updates_after_the_first": len(later),
            "updates_that_clipped": sum(any(a.clipped_tokens for a in u.audits) for u in later),
            "tokens": sum(a.tokens for u in later for a in u.audits),
            "clipped_tokens": sum(a.clipped_tokens for u in later for a in u.audits),
            "gated_clipped_tokens": sum(a.gated_clipped_tokens for u in later for a in u.audits),
        }

    def training(self) -> list[dict[str, Any]]:
        """Return the ``training`` list of a run, one entry a round, steps counted from 1."""
        last = len(self.rounds)
        edge = {"full": last, "sparse": self.edge_rounds, "summary": 0}[self.level]
        every = 1 if self.level == "full" else self.every
        kept = []
        for step, r in enumerate(self.rounds, start=1):
            if step <= edge or step > last - edge:
                kept.append(self._full(step, r))
            elif step in (1, last) or step % every == 0:
                kept.append(self._summary(step, r))
        return kept

    def _full(self, step: int, r: RoundRecord) -> dict[str, Any]:
        limit = len(r.rewards)
        if self.level == "sparse" and self.audited_groups:
            limit = min(limit, self.audited_groups * self.group_size)
        audited = [[a for a in u.audits if a.sequence < limit] for u in r.updates]
        partial = any(len(audits) < len(r.rewards) for audits in audited)
        return {
            "step": step,
            **self._rows(r),
            "rewards": r.rewards,
            "advantages": r.advantages,
            "correct_counts": r.correct,
            "zero_advantage_groups": _flat_groups(r, self.group_size),
            "updates": [
                {
                    "inner_update": inner,
                    "loss": u.loss,
                    "gradient_l2_norm": u.gradient_l2_norm,
                    "response_audits": [self._audit(a, r, partial) for a in audits],
                    "metrics": _metrics(u),
                }
                for inner, (u, audits) in enumerate(zip(r.updates, audited, strict=True), start=1)
            ],
        }

    def _audit(self, audit: ResponseAudit, r: RoundRecord, partial: bool) -> dict[str, Any]:
        place = {"sequence": audit.sequence} if partial else {}
        return {
            **place,
            "geometry": self.geometry,
            "topology": self.topology,
            "clip_fraction": audit.clip_fraction,
            "gated_clip_fraction": audit.gated_clip_fraction,
            "lower_mean": audit.lower_mean,
            "upper_mean": audit.upper_mean,
            "max_abs_log_ratio": audit.max_abs_log_ratio,
            "tokens": audit.tokens,
            "truncated": r.truncated[audit.sequence],
        }

    def _summary(self, step: int, r: RoundRecord) -> dict[str, Any]:
        start = {**self._rows(r), "rewards": r.rewards} if step == 1 else {}
        return {
            "step": step,
            **start,
            "correct_counts": r.correct,
            "zero_advantage_groups": _flat_groups(r, self.group_size),
            "updates": [
                {
                    "inner_update": inner,
                    "loss": _short(u.loss),
                    "gradient_l2_norm": _short(u.gradient_l2_norm),
                    "metrics": {
                        name: _short(value)
                        for name, value in _metrics(u).items()
                        if name in _SUMMARY_METRICS or _is_reward(name)
                    },
                }
                for inner, u in enumerate(r.updates, start=1)
            ],
        }

    def _rows(self, r: RoundRecord) -> dict[str, Any]:
        if not r.rows:
            return {}
        if len(r.rows) == 1:
            return {"training_row": r.rows[0]}
        return {"training_rows": r.rows}


_ROUND = tuple(f.name for f in fields(RoundRecord) if f.name != "updates")
_AUDIT = tuple(f.name for f in fields(ResponseAudit))


def _columns(one: object, names: Sequence[str]) -> dict[str, Any]:
    return {name: getattr(one, name) for name in names}


def _update_state(update: Update) -> dict[str, Any]:
    audits = [[getattr(audit, name) for name in _AUDIT] for audit in update.audits]
    return {**_columns(update, ("loss", "gradient_l2_norm", "metrics")), "audits": audits}


def _update_of(state: Mapping[str, Any]) -> Update:
    return Update(**{**state, "audits": tuple(ResponseAudit(*audit) for audit in state["audits"])})


def _metrics(update: Update) -> dict[str, float]:
    """Return the trainer's metrics, and the token means and maximum of the audits beside them."""
    tokens = max(1, sum(a.tokens for a in update.audits))
    ours = {
        "audit/clip_fraction": sum(a.clipped_tokens for a in update.audits) / tokens,
        "audit/lower_mean": math.fsum(a.lower_mean * a.tokens for a in update.audits) / tokens,
        "audit/upper_mean": math.fsum(a.upper_mean * a.tokens for a in update.audits) / tokens,
        "audit/max_abs_log_ratio": max((a.max_abs_log_ratio for a in update.audits), default=0.0),
    }
    return dict(sorted({**update.metrics, **ours}.items()))


def _is_reward(name: str) -> bool:
    """Whether a metric is the mean of one reward function, of which a run may have several."""
    return name.startswith("rewards/") and name.endswith("/mean")


def _flat_groups(r: RoundRecord, group_size: int) -> int:
    groups = (r.rewards[i : i + group_size] for i in range(0, len(r.rewards), group_size))
    return sum(len(set(group)) == 1 for group in groups)


def _short(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")
