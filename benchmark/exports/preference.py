"""Preference pairs that favour diverse responses, for DPO: DivPO (Lanchantin et al. 2025, arXiv:2501.18101).

Of one prompt's responses, those of high reward are the chosen pool, those of low reward the rejected pool; the pair is
the most diverse of the one and the least diverse of the other. What measures diversity is the caller's: GSSBench
(arXiv:2510.12699) takes leave-one-out EigenScore (`leave_one_out`), the mean negative log-likelihood (`perplexity` of
each sample) or the distance of an embedding from the centre. Nothing here trains, reads or writes.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from benchmark.metrics.eigenscore import min_max

_SLACK = 1e-12  # of the range: a reward on the border is in the pool, however the border was rounded


@dataclass(frozen=True, slots=True)
class PoolRule:
    """Which responses are in the pools.

    Attributes:
        rho: How far the pools reach, 0 … 1. At 0 they hold the best and the worst (best-against-worst DPO); from about
            0.5 they overlap. GSSBench uses 0.3 with negative log-likelihood, 0.6 with LOOE.
        by: What `rho` is a share of. *range*: of the rewards' range; chosen are r ≥ max − rho (max − min), rejected
            r ≤ min + rho (max − min). *percentile*: of the responses; chosen are r ≥ the quantile 1 − rho, rejected
            r ≤ the quantile rho, interpolated linearly.

    Raises:
        ValueError: `rho` outside of 0 … 1.
    """

    rho: float
    by: Literal["range", "percentile"] = "range"

    def __post_init__(self) -> None:
        if not 0 <= self.rho <= 1:
            raise ValueError(f"rho must be in 0 … 1, not {self.rho}")


@dataclass(frozen=True, slots=True)
class Candidates:
    """The K responses to one prompt, and what is known of each.

    Attributes:
        prompt_id: Of the prompt.
        prompt: Its text.
        responses: [K].
        rewards: [K]; more is better, in the reward model's unit. None or NaN where there is none.
        diversities: [K]; more is more diverse, in the metric's unit. None or NaN where there is none.
        why: Why rewards or diversities lack, in the words under which such prompts are counted; None where nothing
            more is to be said than that they lack.

    Raises:
        ValueError: Different lengths, or an infinite number.
    """

    prompt_id: str
    prompt: str
    responses: tuple[str, ...]
    rewards: tuple[float | None, ...]
    diversities: tuple[float | None, ...]
    why: str | None = None

    def __post_init__(self) -> None:
        if not len(self.responses) == len(self.rewards) == len(self.diversities):
            raise ValueError("as many rewards and diversities as responses are needed")
        if any(value is not None and math.isinf(value) for value in (*self.rewards, *self.diversities)):
            raise ValueError("rewards and diversities must not be infinite")

    @property
    def known(self) -> dict[int, tuple[float, float]]:
        """The places of the responses that have both, with their reward and diversity. The others are in no pool."""
        both = (_number(reward) for reward in self.rewards), (_number(value) for value in self.diversities)
        return {
            place: (reward, diversity)
            for place, (reward, diversity) in enumerate(zip(*both, strict=True))
            if reward is not None and diversity is not None
        }


class NoPair(ValueError):
    """A prompt that gives no pair. The message is the reason, and the same reason has the same words."""


@dataclass(frozen=True, slots=True)
class Pools:
    """Places of responses, in ascending order; a place may be in both.

    Attributes:
        chosen: Of high reward.
        rejected: Of low reward.
    """

    chosen: tuple[int, ...]
    rejected: tuple[int, ...]


def pools(candidates: Candidates, rule: PoolRule) -> Pools:
    """The chosen and the rejected pool, neither of them empty.

    Raises:
        NoPair: Fewer than two responses with reward and diversity (for the reason in `why`, where there is one), or
            all of them of one reward.
    """
    rewards = {place: reward for place, (reward, _) in candidates.known.items()}
    if len(rewards) < 2:
        raise NoPair(candidates.why or "fewer than two responses with reward and diversity")
    low, high = min(rewards.values()), max(rewards.values())
    if low == high:
        raise NoPair("all rewards equal")
    if rule.by == "range":
        least, most = high - rule.rho * (high - low), low + rule.rho * (high - low)
    else:
        least, most = (float(each) for each in np.quantile(list(rewards.values()), [1 - rule.rho, rule.rho]))
    slack = _SLACK * (high - low)
    return Pools(
        chosen=tuple(place for place, reward in rewards.items() if reward >= least - slack),
        rejected=tuple(place for place, reward in rewards.items() if reward <= most + slack),
    )


def choose(candidates: Candidates, rule: PoolRule) -> tuple[int, int]:
    """The places of the chosen and of the rejected response.

    The most diverse of the chosen pool and the least diverse of the rejected pool. Of equally diverse ones the better,
    or the worse, is taken, then the first; the papers do not say. Where pools overlap the chosen response may have the
    lower reward, as the rule has it.

    Raises:
        NoPair: As `pools`, or both are the same response or the same text.
    """
    found, known = pools(candidates, rule), candidates.known
    chosen = max(found.chosen, key=lambda place: (known[place][1], known[place][0], -place))
    rejected = min(found.rejected, key=lambda place: (known[place][1], known[place][0], place))
    if chosen == rejected:
        raise NoPair("chosen and rejected are one response")
    if candidates.responses[chosen] == candidates.responses[rejected]:
        raise NoPair("chosen and rejected are the same text")
    return chosen, rejected


@dataclass(frozen=True, slots=True)
class Provenance:
    """What the pairs of one file have in common.

    Attributes:
        metric: Names the measure of diversity.
        rule: Of the pools.
        seed: That the responses were sampled with; None where not known.
        signature: All that the diversities depend on beside the texts, in one line; None where not known.
        submission_id: Whose responses they are; None where they are of no submission.
    """

    metric: str
    rule: PoolRule
    seed: int | None = None
    signature: str | None = None
    submission_id: str | None = None


@dataclass(frozen=True, slots=True)
class PreferencePairs:
    """What came of some prompts.

    Attributes:
        rows: One dict for each pair, in the order of the prompts: `prompt_id`, the texts `prompt`, `chosen` and
            `rejected`, as trainers of DPO read them, and `meta`. No NaN: what is not known is None, so each is one line
            of JSON Lines.
        skipped: How many prompts gave no pair, by reason.
    """

    rows: tuple[dict[str, Any], ...]
    skipped: Mapping[str, int]


def preference_pairs(prompts: Iterable[Candidates], provenance: Provenance) -> PreferencePairs:
    """A pair for each prompt that gives one.

    `meta` of a row holds `rewards` and `diversities` of all K responses, the places `chosen_index` and
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
    """One dict for each response, with its diversity also over the range of its prompt.

    The keys are `prompt_id`, `prompt`, `index`, `response`, `metric`, `reward`, `diversity` and `normalised_diversity`
    (`min_max`; GSSBench's table A23). A number is None where there is none.
    """
    values = np.array([np.nan if value is None else value for value in candidates.diversities], dtype=np.float64)
    shares = values if np.isnan(values).all() else min_max(values)
    for place, response in enumerate(candidates.responses):
        yield {
            "prompt_id": candidates.prompt_id,
            "prompt": candidates.prompt,
            "index": place,
            "response": response,
            "metric": metric,
            "reward": _number(candidates.rewards[place]),
            "diversity": _number(candidates.diversities[place]),
            "normalised_diversity": _number(float(shares[place])),
        }


def _number(value: float | None) -> float | None:
    """A plain float for JSON (NumPy's are not all written); None for NaN."""
    return None if value is None or math.isnan(value) else float(value)
