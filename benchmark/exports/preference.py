"""Preference pairs that favour diverse responses, for DPO: DivPO (Lanchantin et al. 2025, arXiv:2501.18101).

For each prompt, responses with high rewards form the chosen pool and responses with low rewards the rejected pool; the
pair consists of the most diverse response of the chosen pool and the least diverse of the rejected pool. The caller
chooses the measure of diversity: GSSBench (arXiv:2510.12699) uses leave-one-out EigenScore, the mean negative
log-likelihood or the distance from the mean embedding. This module neither trains nor reads or writes files.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmark.exports.choices import PoolUnit
from benchmark.metrics.eigenscore import min_max

_SLACK = 1e-12  # of the range: a reward on the boundary is in the pool, however the boundary was rounded


@dataclass(frozen=True, slots=True)
class PoolRule:
    """Rule that decides which responses are in the pools.

    Raises:
        ValueError: `rho` outside of 0 … 1.
    """

    # Size of the pools, 0 … 1. At 0 they hold the best and the worst (best-against-worst DPO); from about 0.5 they
    # overlap. GSSBench uses 0.3 with negative log-likelihood, 0.6 with LOOE.
    rho: float
    # Unit of `rho`. *range*: share of the rewards' range; chosen are r ≥ max − rho (max − min), rejected r ≤ min + rho
    # (max − min). *percentile*: share of the responses; chosen are r ≥ the quantile 1 − rho, rejected r ≤ the quantile
    # rho, interpolated linearly.
    by: PoolUnit = "range"

    def __post_init__(self) -> None:
        if not 0 <= self.rho <= 1:
            raise ValueError(f"rho must be in 0 … 1, not {self.rho}")


@dataclass(frozen=True, slots=True)
class Candidates:
    """The K responses to one prompt with their rewards and diversities.

    Raises:
        ValueError: Different lengths, or an infinite number.
    """

    prompt_id: str
    prompt: str
    responses: tuple[str, ...]  # [K]
    rewards: tuple[float | None, ...]  # [K]; higher is better, in the reward model's unit. None or NaN if missing.
    diversities: tuple[float | None, ...]  # [K]; higher is more diverse, in the measure's unit. None or NaN if missing.
    # Reason why rewards or diversities are missing, by which such prompts are counted; None: none given.
    why: str | None = None

    def __post_init__(self) -> None:
        if not len(self.responses) == len(self.rewards) == len(self.diversities):
            raise ValueError("as many rewards and diversities as responses are needed")
        if any(value is not None and math.isinf(value) for value in (*self.rewards, *self.diversities)):
            raise ValueError("rewards and diversities must not be infinite")

    @property
    def known(self) -> dict[int, tuple[float, float]]:
        """Reward and diversity by position, for responses that have both; the others are in neither pool."""
        both = (_number(reward) for reward in self.rewards), (_number(value) for value in self.diversities)
        return {
            position: (reward, diversity)
            for position, (reward, diversity) in enumerate(zip(*both, strict=True))
            if reward is not None and diversity is not None
        }


class NoPair(ValueError):
    """A prompt gives no pair. The message is the reason, in fixed words, since prompts are counted by it."""


@dataclass(frozen=True, slots=True)
class Pools:
    """Positions of responses, ascending; a position may be in both pools."""

    chosen: tuple[int, ...]  # responses of high reward
    rejected: tuple[int, ...]  # responses of low reward


def pools(candidates: Candidates, rule: PoolRule) -> Pools:
    """Return the chosen and the rejected pool, which are never empty.

    Raises:
        NoPair: Fewer than two responses with reward and diversity, or all rewards equal.
    """
    rewards = {position: reward for position, (reward, _) in candidates.known.items()}
    if len(rewards) < 2:
        raise NoPair(candidates.why or "fewer than two responses with reward and diversity")
    low, high = min(rewards.values()), max(rewards.values())
    if low == high:
        raise NoPair("all rewards equal")
    slack = 0.0
    if rule.by == "range":
        least, most = high - rule.rho * (high - low), low + rule.rho * (high - low)
        slack = _SLACK * (high - low) if rule.rho else 0.0
    else:
        ordered = sorted(rewards.values())
        least, most = _quantile(ordered, 1 - rule.rho), _quantile(ordered, rule.rho)
    return Pools(
        chosen=tuple(position for position, reward in rewards.items() if reward >= least - slack),
        rejected=tuple(position for position, reward in rewards.items() if reward <= most + slack),
    )


def _quantile(ordered: Sequence[float], share: float) -> float:
    """Return a quantile, interpolated linearly; exactly a reward where it falls on one but for rounding."""
    place = round(share * (len(ordered) - 1), 9)
    below = int(place)
    lower, upper = ordered[below], ordered[math.ceil(place)]
    return lower + (place - below) * (upper - lower)


def choose(candidates: Candidates, rule: PoolRule) -> tuple[int, int]:
    """Return the positions of the chosen and of the rejected response.

    They are the most diverse of the chosen pool and the least diverse of the rejected pool. Ties go to the higher (for
    the rejected: lower) reward, then to the first response; the papers do not say how to break ties. If the pools
    overlap, the chosen response may have the lower reward.

    Raises:
        NoPair: As in `pools`, or both are the same response, or the same text but for white space.
    """
    found, known = pools(candidates, rule), candidates.known
    chosen = max(found.chosen, key=lambda position: (known[position][1], known[position][0], -position))
    rejected = min(found.rejected, key=lambda position: (known[position][1], known[position][0], position))
    if chosen == rejected:
        raise NoPair("chosen and rejected are one response")
    if candidates.responses[chosen].split() == candidates.responses[rejected].split():  # white space is no preference
        raise NoPair("chosen and rejected are the same text")
    return chosen, rejected


@dataclass(frozen=True, slots=True)
class Provenance:
    """Facts shared by all pairs of a file."""

    metric: str
    rule: PoolRule
    seed: int | None = None  # seed of the sampling; None if unknown
    signature: str | None = None  # all that the diversities depend on besides the texts, in one line; None if unknown
    submission_id: str | None = None  # id of the submission; None if there is none


@dataclass(frozen=True, slots=True)
class PreferencePairs:
    """The pairs of some prompts."""

    # A dict for each pair, in the order of the prompts: `prompt_id`, the texts `prompt`, `chosen` and `rejected`, as
    # DPO trainers read them, and `meta`. Unknown values are None, never NaN.
    rows: tuple[dict[str, Any], ...]
    skipped: Mapping[str, int]


def preference_pairs(prompts: Iterable[Candidates], provenance: Provenance) -> PreferencePairs:
    """Choose a pair for each prompt that gives one.

    `meta` of a row holds `rewards` and `diversities` of all K responses, the positions `chosen_index` and
    `rejected_index`, `k`, `metric`, `rho`, `rule`, `seed`, `signature` and `submission_id`.
    """
    rows, skipped = [], Counter[str]()
    for candidates in prompts:
        try:
            chosen, rejected = choose(candidates, provenance.rule)
        except NoPair as reason:
            skipped[str(reason)] += 1
            continue
        rows.append(
            {
                "prompt_id": candidates.prompt_id,
                "prompt": candidates.prompt,
                "chosen": candidates.responses[chosen],
                "rejected": candidates.responses[rejected],
                "meta": {
                    "rewards": [_number(value) for value in candidates.rewards],
                    "diversities": [_number(value) for value in candidates.diversities],
                    "chosen_index": chosen,
                    "rejected_index": rejected,
                    "k": len(candidates.responses),
                    "metric": provenance.metric,
                    "rho": provenance.rule.rho,
                    "rule": provenance.rule.by,
                    "seed": provenance.seed,
                    "signature": provenance.signature,
                    "submission_id": provenance.submission_id,
                },
            }
        )
    return PreferencePairs(tuple(rows), dict(skipped))


def response_rows(candidates: Candidates, metric: str) -> Iterator[dict[str, Any]]:
    """Yield a dict for each response, with its diversity also normalised to the range of its prompt.

    The keys are `prompt_id`, `prompt`, `index`, `response`, `metric`, `reward`, `diversity` and `normalised_diversity`
    (`min_max`; GSSBench's table A23). A missing number is None.
    """
    values = np.array([np.nan if value is None else value for value in candidates.diversities], dtype=np.float64)
    shares = values if np.isnan(values).all() else min_max(values)
    for position, response in enumerate(candidates.responses):
        yield {
            "prompt_id": candidates.prompt_id,
            "prompt": candidates.prompt,
            "index": position,
            "response": response,
            "metric": metric,
            "reward": _number(candidates.rewards[position]),
            "diversity": _number(candidates.diversities[position]),
            "normalised_diversity": _number(float(shares[position])),
        }


def _number(value: float | None) -> float | None:
    """Return a plain float for JSON, which cannot encode all of NumPy's types; None for NaN."""
    return None if value is None or math.isnan(value) else float(value)
