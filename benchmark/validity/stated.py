"""Validity that comes with the responses: a boolean for each, or a reward for each and the lowest that counts."""

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from benchmark.metrics.metric import Missing
from divbench.core.errors import ConfigurationError, InputError
from submissions.checking.response_kinds import is_scorable

Verdicts = tuple[bool | None, ...]  # [k], whether each response is valid; None: not stated
NOT_VALID = "stated as not valid"
_NOT_STATED = Missing("validity is not stated for all responses")


@dataclass(frozen=True, slots=True)
class StatedValidity:
    """What is stated of response sets, and the rule behind it, which is part of signatures."""

    rule: str  # such as `valid` or `skywork-reward-from-0.5`
    verdicts: Mapping[str, Verdicts]  # by the set's id or name

    @property
    def digest(self) -> str:
        """Return the SHA-256 of the verdicts, by which a result is identified."""
        rows = sorted((name, *map(str, verdicts)) for name, verdicts in self.verdicts.items())
        return hashlib.sha256(repr(rows).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class StatedJudge:
    """Judges which responses are valid by what is stated of them."""

    def reasons(
        self, sets: Sequence[Sequence[str]], verdicts: Sequence[Verdicts | None]
    ) -> list[tuple[str | None, ...] | Missing]:
        """Judge every response of every set; missing where nothing is stated of a response that is no blank."""
        return [self._reasons(texts, stated) for texts, stated in zip(sets, verdicts, strict=True)]

    def _reasons(self, texts: Sequence[str], stated: Verdicts | None) -> tuple[str | None, ...] | Missing:
        known = stated or (None,) * len(texts)
        if any(verdict is None and is_scorable(text) for text, verdict in zip(texts, known, strict=True)):
            return _NOT_STATED
        return tuple(None if verdict else NOT_VALID for verdict in known)


def lowest_reward(rewards: Iterable[float | None], threshold: float | None, quantile: float | None) -> float:
    """Return the lowest reward that counts as valid: the threshold, or a quantile of all rewards."""
    if (threshold is None) == (quantile is None):
        hint = "a threshold (any number), or a quantile of all rewards (0.5: the better half counts)"
        raise ConfigurationError("rewards need one statement of what is valid", hint)
    if threshold is not None:
        if not math.isfinite(threshold):
            raise ConfigurationError(f"the threshold is {threshold}", "give a finite number")
        return float(threshold)
    if quantile is None or not 0 < quantile < 1:
        raise ConfigurationError(f"the quantile is {quantile}", "give a number between 0 and 1")
    given = [reward for reward in rewards if reward is not None]
    if not given:
        raise InputError("no response has a reward", "give one for each")
    return float(np.quantile(given, quantile))


def stated_by_rewards(
    rewards: Mapping[str, Sequence[float | None]], source: str, threshold: float | None, quantile: float | None
) -> StatedValidity:
    """State the validity of responses by their rewards; `source` names where these come from."""
    lowest = lowest_reward((reward for values in rewards.values() for reward in values), threshold, quantile)
    rule = f"{source}-from-{lowest:g}" if quantile is None else f"{source}-from-quantile-{quantile:g}"
    verdicts = {
        name: tuple(None if reward is None else reward >= lowest for reward in values)
        for name, values in rewards.items()
    }
    return StatedValidity(rule, verdicts)
